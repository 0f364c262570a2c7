"""Tables that a script writes into a page stand between two comments that name them."""

import re
from collections.abc import Mapping
from pathlib import Path


def write_between(page: Path, parts: Mapping[str, str]) -> None:
    """Replace what stands between ``<!-- begin NAME -->`` and ``<!-- end NAME -->``."""
    text = page.read_text(encoding="utf-8")
    for name, part in parts.items():
        place = re.compile(f"(<!-- begin {name} -->\n).*?(\n<!-- end {name} -->)", flags=re.DOTALL)
        if not place.search(text):
            raise ValueError(f"{page.name} has no place for '{name}'")
        text = place.sub(lambda found, part=part: f"{found[1]}\n{part}\n{found[2]}", text)
    page.write_text(text, encoding="utf-8")
