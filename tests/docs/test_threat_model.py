"""The page of the threat model names every attack that is played, and every file that it names is there."""

import importlib.util
import re
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evidence" / "threat-model.md"


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("attacks", ROOT / "docs" / "attacks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_of_attacks_is_that_of_the_tests() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert generator().page(text) == text, "run python docs/attacks.py"
    assert text.count("| `tests/trust/attacks/") == len(list((ROOT / "tests" / "trust" / "attacks").glob("test_*.py")))


def test_every_file_that_the_page_names_is_there() -> None:
    named = re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 5
    assert not [name for name in named if not (ROOT / name).exists()]
