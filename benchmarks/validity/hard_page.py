"""The section of the validity page on processes that break a plain bootstrap."""

from collections.abc import Mapping, Sequence

import numpy as np

from validity.bootstrap_t import CASES
from validity.hard import HARD, Hard
from validity.held_out import HELD_OUT
from validity.page_parts import Study, exceeds, part, shown, table, times
from validity.reference_pair import (
    CANDIDATES,
    LEVELS,
    LIMITS,
    NARROWER,
    TESTS,
    UNITS,
    Limit,
)
from validity.study import ALPHA, Found, Rate

FIRES = 0.95
MOST = 0.06
"""A level above this must have a caution beside it."""


def hard_table(
    processes: Sequence[Hard], levels: Mapping[str, Found], powers: Mapping[str, Found]
) -> str:
    lines = []
    for process in (one for one in processes if one.name in levels):
        found = levels[process.name]
        rates = [
            shown(found.below(way, ALPHA), mark=True) for way in ("plain", "mended")
        ]
        better = powers.get(process.name)
        power = (
            []
            if better is None
            else [
                f"{better.below(way, ALPHA).share:.3f}" for way in ("plain", "mended")
            ]
        )
        binds = "gap" if process.binds == "gap" else f"accuracy of {process.binds}"
        lines.append([process.name, binds, *rates, _told(found), " → ".join(power)])
    return table(
        [
            "process",
            "what binds",
            "plain",
            "as tested",
            "cautioned, of rejections",
            "power, plain → as tested",
        ],
        lines,
    )


def cautioned(found: Found) -> float | None:
    """The share of rejections that have a caution about few effective rows; None where
    nothing is rejected.
    """
    rejected = found.of("mended") < ALPHA
    fires = [
        found.of(name) > 0 for name in found.values if name.startswith("caution: ")
    ]
    if not rejected.any():
        return None
    return float(np.mean(np.any(fires, axis=0)[rejected])) if fires else 0.0


def _told(found: Found) -> str:
    share = cautioned(found)
    return "" if share is None else f"{share:.2f}"


def unexplained(levels: Mapping[str, Found]) -> list[str]:
    """Hard processes whose level is above `MOST` without a caution in 95% of
    rejections.
    """
    return [
        name
        for name, found in levels.items()
        if found.below("mended", ALPHA).exceeds(MOST, 0.0)
        and (cautioned(found) or 0.0) < FIRES
    ]


def limit_table(study: Study) -> str:
    """Levels in the normal limit, by how the candidate's estimates go with the status
    quo's.
    """
    lines = []
    for limit in LIMITS:
        found, small = _of_limit(study, limit), min(LEVELS)
        given, tested = (
            [batches(one, f"level {ALPHA:g} {way}") for one in found]
            for way in ("given", "tested")
        )
        cells = [
            f"{one.share:.3f} → {shown(other, True)}"
            for one, other in zip(given, tested, strict=True)
        ]
        worst = max(
            (batches(one, f"level {small:g} tested") for one in found),
            key=lambda rate: rate.share,
            default=None,
        )
        lines.append([limit.name, *cells, shown(worst, True, small) if worst else ""])
    return table(
        [
            "groups",
            *(candidate.name for candidate in CANDIDATES),
            f"highest at {min(LEVELS):.0%}",
        ],
        lines,
    )


def limit_power_table(study: Study) -> str:
    lines = []
    for limit in (one for one in LIMITS if one.has_power):
        found = _of_limit(study, limit)
        given, tested = (
            [batches(one, f"power {ALPHA:g} {way}") for one in found]
            for way in ("given", "tested")
        )
        cells = [
            f"{one.share:.3f} → {shown(other)}"
            for one, other in zip(given, tested, strict=True)
        ]
        lines.append([limit.name, *cells])
    return table(["groups", *(candidate.name for candidate in CANDIDATES)], lines)


def batches(found: Found, name: str) -> Rate:
    """The share of all tests. Those of a batch share their draws: its error is no less
    than that of separate tests.
    """
    one = found.share(name)
    tests = TESTS * one.samples
    return Rate(
        one.share, max(one.error, (one.share * (1 - one.share) / tests) ** 0.5), tests
    )


def _of_limit(study: Study, limit: Limit) -> list[Found]:
    found = [
        study.get(f"limit {candidate.name}/{limit.name}") for candidate in CANDIDATES
    ]
    return [one for one in found if one]


def limits_above(study: Study) -> list[str]:
    high = [
        name
        for name, one in study.items()
        if exceeds(batches(one, f"level {ALPHA:g} tested"))
    ]
    return [f"in the normal limit, {name.partition('/')[2]}" for name in high]


def folded_rates(study: Study) -> dict[str, dict[str, Rate]]:
    """Levels of the absolute statistic, by width of the gaps and by correlation."""
    out: dict[str, dict[str, Rate]] = {}
    for name, found in study.items():
        correlation, errors = name.removeprefix("folded ").split("/")
        out.setdefault(errors, {})[correlation] = found.below("absolute", ALPHA)
    return out


def folded_table(study: Study) -> str:
    rates = folded_rates(study)
    correlations = list(next(iter(rates.values())))
    lines = [
        [errors, *(shown(row[rho], mark=True) for rho in correlations)]
        for errors, row in rates.items()
    ]
    return table(
        ["gap in standard errors", *(f"correlation {rho}" for rho in correlations)],
        lines,
    )


def worst_folded(study: Study) -> str:
    rates = [one for row in folded_rates(study).values() for one in row.values()]
    return shown(max(rates, key=lambda one: one.share))


def studentized_table(study: Study) -> str:
    ways = ("centered", "studentized")
    found = part(study, "bootstrap-t")
    lines = [
        [
            case.name,
            *(shown(found[case.name].below(way, ALPHA), mark=True) for way in ways),
        ]
        for case in CASES
        if case.name in found
    ]
    return table(["process", "centered draws", "bootstrap-t"], lines)


def studentized_words(study: Study) -> str:
    found = part(study, "bootstrap-t").values()
    high = [one for one in found if exceeds(one.below("centered", ALPHA))]
    still = sum(exceeds(one.below("studentized", ALPHA)) for one in high)
    worse = sum(
        one.below("studentized", ALPHA).share > one.below("centered", ALPHA).share
        for one in found
    )
    right = [one for one in found if not exceeds(one.below("centered", ALPHA))]
    breaks = sum(exceeds(one.below("studentized", ALPHA)) for one in right)
    earns = still + breaks == 0 and worse <= len(found) / 2
    verdict = "So it would earn its place" if earns else "So it does not earn its place"
    return (
        f"Of the {len(high)} processes in which the centered bootstrap's level is too "
        f"high, the bootstrap-t's is too high in {still}.\nIts level is the higher one "
        f"in {worse} of {len(found)} processes, and too high in {breaks} of the "
        f"{len(right)} in which the centered\none is right. {verdict}. There is no "
        '`method="bootstrap-t"`: where outcomes are skewed, a caution\nsays so instead.'
    )


def unexplained_words(levels: Mapping[str, Found]) -> str:
    names = unexplained(levels)
    return "none lacks it." if not names else f"missing in {', '.join(names)}."


def hard_section(found: Mapping[str, Study]) -> str:
    """The section on processes that break a plain bootstrap."""
    levels, bounds = part(found["hard"], "hard level"), found["bounds"]["bounds"]
    powers, held = (
        part(found["hard power"], "hard power"),
        part(found["held out"], "held out"),
    )
    return f"""## Where a plain bootstrap breaks

{times([*levels.values()])} samples each; how often the binding component rejects on its own. "Plain" is Appendix
A's bootstrap, with the reference pair of groups as if it had been given; "as tested" is what the package does. The last
columns say in which share of *rejections* a caution about few effective rows stands beside the verdict, and what the
correction costs where the claim is true ({times([*powers.values()])} samples). A level above {MOST:g} must have such a
caution in at least {FIRES:.0%} of rejections: {unexplained_words(levels)}

{hard_table(HARD, levels, powers)}

- **Tied groups.** `compare`, and forward audits, find the widest gap of the status quo on the rows that they test.
  Every pair within κ standard errors of the widest counts, and the largest standardized difference over these pairs is
  held against the same maximum of the draws.
- **Rare outcomes.** 97% repay, and the candidate approves so many more rows of one group, at the same 97%. Draws know
  of outcomes that the sample does not hold, however they are written (`inference/corrections.py`).
- **Own picks that may cost more.** Samples that do not hold a single dear one cannot tell: no correction can. The count
  of rows in which the algorithms differ does.
- **Skewed outcomes.** The status quo's own picks have lognormal outcomes (the logarithm's standard deviation is 1.3, or
  1 where there are 30). Draws assume one row more, three times as far out as the worst one seen.
- **Clusters, strata, weights.** Draws have the variance of leaving each cluster out (CV3), and Student's t with the
  degrees of freedom of the effective number of clusters (`inference/influence.py`). Weighted rows are clusters of one.
- **Margins.** The candidate's rate is short of the status quo's by all of the margin. Draws have the variance of the
  null (`inference/corrections.py`).

### Held out

These were written after the corrections were frozen, and nothing was tuned to them;
{times([*held.values()])} samples each. Above {MOST:g} without a caution in {FIRES:.0%} of rejections:
{", ".join(unexplained(held)) or "none"}.

{hard_table(HELD_OUT, held, {})}

### Ties in the normal limit

What accounting for the choice does where estimates are normal, apart from all else. "Tied": all groups but the lowest
tie for the highest. "One pair 2 se clear": the widest gap is two standard errors of the difference wider than all
others, which tie. Estimates of the candidate are ten times as precise as the status quo's ("precise") or as uncertain,
and correlated with them; its gap is widest between the same groups or between another pair. κ is that of {UNITS:,}
rows. {times([*found["limit"].values()])} batches of {TESTS} tests; the reference as if given → as tested.

{limit_table(found["limit"])}

κ does not depend on the level. Where the status quo has no gap at all, which Assumption 1 excludes, and the candidate's
is known far more precisely, two groups keep 5% from 1,000 rows on. With 100 rows they reject 8%, and at levels below 5%
up to twice as often as they may.

Power at 5%, where the candidate's gap is {NARROWER:g} standard errors narrower:

{limit_power_table(found["limit"])}

### Would a bootstrap-t do better?

In a bootstrap-t every draw is divided by its own standard error. The same samples, tested both ways, without any of the
corrections above; {times([*found["bootstrap-t"].values()])} samples:

{studentized_table(found["bootstrap-t"])}

{studentized_words(found["bootstrap-t"])}

### Every bound, or all of them?

Each bound of the frontier holds with 95% confidence separately. In one comparison of two groups, *some* bound is above
the truth in {shown(bounds.share("each"))} of {bounds.samples:,} samples; of simultaneous bounds
(`bounds(simultaneous=True)`) in {shown(bounds.share("all"))}.

### The absolute statistic at a cut of zero

The candidate's gap is as wide as the status quo's, and the other group is ahead. In the normal limit, by how many
standard errors wide the gaps are and how the two estimates are correlated; {times([*found["folded"].values()])}
samples:

{folded_table(found["folded"])}

So the absolute statistic is right at Δ_f = 0 only where gaps are several standard errors wide.

"""  # noqa: E501
