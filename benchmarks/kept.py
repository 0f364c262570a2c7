"""What a long run has found is kept, line by line, and written into a page between two
comments that name it.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def append(log: Path, one: Mapping[str, Any]) -> None:
    """Keep one finished audit."""
    with log.open("a", encoding="utf-8") as file:
        file.write(json.dumps(one) + "\n")


def read_log(log: Path) -> list[dict[str, Any]]:
    """Every finished audit; none where nothing was run."""
    return (
        [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
        if log.exists()
        else []
    )


def read_between(page: Path, name: str) -> str:
    """What stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``; "" where
    they are not on the page.
    """
    _, _, rest = page.read_text(encoding="utf-8").partition(f"<!-- begin {name} -->\n")
    return rest.partition(f"<!-- end {name} -->")[0].strip()


def write_between(page: Path, parts: Mapping[str, str]) -> None:
    """Replace what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        before, begin, rest = text.partition(f"<!-- begin {name} -->\n")
        _, end, after = rest.partition(f"<!-- end {name} -->")
        if not begin or not end:
            raise ValueError(f"{page.name} has no place for '{name}'")
        text = f"{before}{begin}\n{part}\n\n{end}{after}"
    page.write_text(text, encoding="utf-8")
