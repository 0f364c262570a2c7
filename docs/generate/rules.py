"""The table of rules in `reference/rules.md`, from the registry."""

import re
from pathlib import Path

from improvable.algorithms.constraints import honors_of
from improvable.algorithms.rules import FAMILIES, as_rule

PAGE = Path(__file__).parents[1] / "reference" / "rules.md"
BEGIN, END = "<!-- rules -->", "<!-- end of rules -->"


def table() -> str:
    """One row for each rule: how it is written, what it is, and what it honors."""
    lines = ["| rule | what it is | honors |", "|---|---|---|"]
    for family in FAMILIES.values():
        names = dict.fromkeys(
            [
                family.usage,
                f"{family.name}:{family.example}" if family.example else family.usage,
            ]
        )
        honors = ", ".join(sorted(honors_of(as_rule(family.usage)))).replace("_", " ")
        lines.append(
            f"| {', '.join(f'`{name}`' for name in names)} | {family.words} | {honors} "
            "|"
        )
    return "\n".join(lines)


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
