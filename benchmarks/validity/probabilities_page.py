"""The section of the validity page on groups that are known by probability."""

from collections.abc import Mapping

import numpy as np

from validity.page_parts import Studies, cautions, exceeds, part, shown, table, times
from validity.probabilities import (
    BOTH,
    GAMMA,
    KNOWN,
    LIKELIEST,
    LINEAR,
    POWERS,
    PROCESSES,
    ROWS,
    SOME_KNOWN,
    WEIGHTED,
    WORST,
    Process,
)
from validity.study import ALPHA, Found

WAYS = (BOTH, WEIGHTED, LINEAR, WORST, KNOWN, LIKELIEST, SOME_KNOWN)
OUTSIDE = ("outside", "outside, households")
"""Processes in which the truth does not lie between the two estimates."""


def rates_table(
    processes: Mapping[str, Process], found: Mapping[str, Found], mark: bool
) -> str:
    """The share rejected by every way that was looked at, the worst case where the
    process is within its bound.
    """
    lines = []
    for name in (one for one in processes if one in found):
        process, one = processes[name], found[name]
        rates = [
            shown(one.below(way, ALPHA), mark)
            if way in one.values and (way != WORST or process.departure() <= GAMMA)
            else ""
            for way in WAYS
        ]
        lines.append(
            [process.words, f"{process.departure():.2f}", *rates, cautions(one)]
        )
    return table(["process", "departs by", *WAYS, "cautions"], lines)


def probabilities_above(found: Studies) -> list[str]:
    """Where what the package answers for is above 5%: both estimates where one is
    right, and the worst case.
    """
    levels, out = part(found["probabilities"], "probabilities level"), []
    for name, one in levels.items():
        ways = ([] if name in OUTSIDE else [BOTH]) + [WORST] * (
            PROCESSES[name].departure() <= GAMMA
        )
        high = [way for way in ways if exceeds(one.below(way, ALPHA))]
        out += [
            f"groups by probability, {PROCESSES[name].words}, {way}" for way in high
        ]
    return out


def probabilities_say(found: Studies) -> str:
    levels = part(found["probabilities"], "probabilities level")
    inside = [
        one.below(BOTH, ALPHA) for name, one in levels.items() if name not in OUTSIDE
    ]
    most = shown(max(inside, key=lambda one: one.share))
    ignored = [
        shown(levels["linear right"].below(way, ALPHA)) for way in (WEIGHTED, LIKELIEST)
    ]
    return f"""\
- [Groups known by probability](#groups-known-by-probability): where the truth lies between the two estimates, the
  default rejects at most {most} of true nulls; weighted alone it may be {ignored[0]}, and with the
  likeliest group {ignored[1]}."""  # noqa: E501


def mean(found: Found, name: str) -> str:
    return f"{np.mean(found.of(f'{name}')):.3f}".lstrip("0")


def compas_table(found: Found) -> str:
    """Means over the halves of what is estimated by each way of counting groups, and
    the p-values.
    """
    lines = []
    ways = (
        KNOWN,
        BOTH,
        f"{BOTH}, raked",
        SOME_KNOWN,
        f"{SOME_KNOWN}, raked",
        LIKELIEST,
    )
    for way in ways:
        for estimate in ("weighted", "linear") if way.startswith(BOTH) else ("",):
            group, end = f" ({estimate})" if estimate else "", f" {estimate}".rstrip()
            numbers = [
                " → ".join(
                    mean(found, f"{way}: {what} {whose}{end}")
                    for whose in ("before", "after")
                )
                for what in (f"b{group}", f"a{group}", "gap")
            ]
            p = np.sort(found.of(way))
            said = [
                f"{np.median(p):.2f} ({p[0]:.2f} to {p[-1]:.2f})",
                str(int((p < ALPHA).sum())),
            ]
            lines.append(
                [f"{way}{f', {estimate}' if estimate else ''}", *numbers, *said]
            )
    head = [
        "groups",
        "correct, Black",
        "correct, white",
        "gap in false positives",
        "median p (range)",
        "shown",
    ]
    return table(head, lines)


def compas_words(found: Found | None) -> str:
    if found is None:
        return "*(Not run: the data are not part of the project.)*"
    return f"""\
5,278 people of ProPublica's COMPAS file, with P(Black) from first name and surname, as computed and raked to the true
share. In each of {found.samples} random halves a logistic regression learns, and the other half compares it, at the
same share selected, with a score of 5 or more: accuracy is the rate of correct decisions, the gap that of false
positives. Means over the halves; each half is one test at 5%.

{compas_table(found)}

The weighted gap, and that between the likeliest groups, is half the true one; the linear one and the known 10% find its
size. No way of counting shows an improvement, and with the true race there is none to show."""  # noqa: E501


def many_words(found: Found | None) -> str:
    if found is None:
        return ""
    return f"""
With 8,000 rows in the place of {ROWS:,}, the linear estimate where it is right rejects
{shown(found.below(LINEAR, ALPHA), True)} ({found.samples:,} samples).
"""


def probabilities_section(found: Studies) -> str:
    levels = part(found["probabilities"], "probabilities level")
    powers = part(found["probabilities, power"], "probabilities power")
    return f"""## Groups known by probability

`compare` with {ROWS:,} rows in two groups, of which only probabilities are known;
{times([*levels.values()])} samples each. In every process group b gains nothing and a does, or two equal gaps are
compared. "Both" is the default: the weighted and the linear estimate must both show it. "Departs by" is the largest
factor by which what is measured changes the odds of being in a group beyond the probabilities: the worst case at
Γ = {GAMMA:g} answers for processes up to there. The other columns are the same rows counted otherwise.
[How to audit with probabilities](../how-to/group-probabilities.md) says what each means.

{rates_table(PROCESSES, levels, True)}

Given p, the group does not matter: weighting is right. Given the group, p does not matter: the regression is right. If
both matter in the same direction the truth lies between. In opposite directions it does not, and the default rejects
too often: its assumption fails, and without known groups no data show that. The worst case does not rest on it.
{many_words(found["probabilities, many rows"].get("probabilities, many rows"))}
Power, where b gains, too; {times([*powers.values()])} samples each:

{rates_table(POWERS, powers, False)}

### People whose race is known

{compas_words(found["compas"].get("compas"))}

"""  # noqa: E501
