"""The table of attacks in `evidence/threat-model.md`: one row for each test file that
plays one.

The first paragraph of a file's docstring is the attack, the rest is what stops it.
Where there is no rest, the names of its tests say it.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evidence" / "threat-model.md"
ATTACKS = ROOT / "tests" / "trust" / "attacks"
ATTACKS_AT_MOST = 1_000
BEGIN, END = "<!-- attacks -->", "<!-- end of attacks -->"


def table() -> str:
    """The table, one row for each file."""
    lines = ["| attack | what stops it | test |", "|---|---|---|"]
    lines += [_row(path) for path in sorted(ATTACKS.glob("test_*.py"), key=_place)]
    return "\n".join(lines)


def _place(path: Path) -> tuple[int, str]:
    """Numbered attacks by their number, then the others by name."""
    number = re.match(r"test_(\d+)_", path.name)
    return (int(number[1]) if number else ATTACKS_AT_MOST, path.name)


def pages() -> dict[Path, str]:
    """The page with the table as it is now."""
    before = PAGE.read_text(encoding="utf-8")
    return {
        PAGE: re.sub(
            f"{BEGIN}.*?{END}",
            lambda _: f"{BEGIN}\n{table()}\n{END}",
            before,
            flags=re.DOTALL,
        )
    }


def _row(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    attack, _, stops = (ast.get_docstring(tree) or path.stem).partition("\n\n")
    names = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    told = stops or "; ".join(
        name.removeprefix("test_").replace("_", " ") for name in names
    )
    # some are numbered
    attack = re.sub(r"^Attack \d+: (.)", lambda found: found[1].upper(), attack)
    cells = (attack, told, f"`{path.relative_to(ROOT).as_posix()}`")
    return (
        "| "
        + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells)
        + " |"
    )
