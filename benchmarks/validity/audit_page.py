"""The section of the validity page on audits of a fixed candidate."""

from collections.abc import Mapping

from validity.page_parts import (
    WAYS,
    Studies,
    exceeds,
    part,
    pooled,
    shown,
    table,
    times,
)
from validity.schemes import REPETITIONS
from validity.study import ALPHA, Found

SEVERAL_BIND = ("all at once", "near-identical, all", "nearly fair")
"""Processes in which more than one component is at or near its null, so that the level
is below 5% by design.
"""


def audit_table(found: Mapping[str, Found], mark: bool) -> str:
    lines = [
        [
            name,
            *(shown(way(one), mark) for way in WAYS.values()),
            shown(one.below("absolute", ALPHA / 2), mark),
        ]
        for name, one in found.items()
    ]
    return table(["process", *WAYS, "absolute, forward, median at 2.5%"], lines)


def audits_above(found: Studies) -> list[str]:
    """Where a level is above 5% by more than three Monte Carlo errors."""
    levels = part(found["audit"], "audit level").items()
    return [
        f"`audit`, {name}, {way}"
        for name, one in levels
        for way, rate in WAYS.items()
        if exceeds(rate(one))
    ]


def audits_say(found: Studies) -> str:
    binding = [
        one
        for name, one in part(found["audit"], "audit level").items()
        if name not in SEVERAL_BIND
    ]
    ways = [pooled([way(one) for one in binding]) for way in WAYS.values()]
    return f"""\
- Over all [fixed candidates](#an-audit-of-a-fixed-candidate) with which one component binds alone, one repetition at
  5% has a level of {ways[0]} forward and {ways[2]} by the paper's split, and the median of {REPETITIONS} at 2.5% one
  of {ways[1]} and {ways[3]}. The caution of the median is the price of a guarantee that holds however the p-values of
  repetitions depend on each other."""  # noqa: E501


def audit_section(found: Studies) -> str:
    levels, powers = (
        part(found["audit"], "audit level"),
        part(found["audit"], "audit power"),
    )
    return f"""## An audit of a fixed candidate

The same processes with twice the rows; the rule returns the candidate given. {times([*levels.values()])} samples under
the null, {times([*powers.values()])} under the alternative. "One" is the share of the repetitions that reject
at 5%.

Level:

{audit_table(levels, True)}

Power, at the alternatives of the first table:

{audit_table(powers, False)}

"""  # noqa: E501
