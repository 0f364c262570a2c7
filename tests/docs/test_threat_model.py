"""The page of the threat model names every attack that is played, and every file that
it names is there.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evidence" / "threat-model.md"


def test_every_attack_is_in_the_table() -> None:
    played = len(list((ROOT / "tests" / "trust" / "attacks").glob("test_*.py")))
    assert PAGE.read_text(encoding="utf-8").count("| `tests/trust/attacks/") == played


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(
        r"`((?:src|tests|docs)/[\w/.-]+)`", PAGE.read_text(encoding="utf-8")
    )
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
