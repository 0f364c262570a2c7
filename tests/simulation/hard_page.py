"""The section of the validity page on processes that break a plain bootstrap."""

from collections.abc import Mapping

from simulation.bootstrap_t import CASES
from simulation.hard import HARD, LIMITS, PRECISIONS
from simulation.page_parts import Study, cautions, exceeds, part, shown, table, times
from simulation.study import ALPHA, Found, Rate

FIRES = 0.95
SMALLER = (0.05, 0.025, 0.01)
"""Levels."""


def hard_table(levels: Mapping[str, Found], powers: Mapping[str, Found]) -> str:
    lines = []
    for process in (one for one in HARD if one.name in levels):
        found = levels[process.name]
        rates = [shown(found.below(way, ALPHA), mark=True) for way in ("plain", "mended")]
        better = powers.get(process.name)
        power = [] if better is None else [f"{better.below(way, ALPHA).share:.3f}" for way in ("plain", "mended")]
        binds = "gap" if process.binds == "gap" else f"accuracy of {process.binds}"
        lines.append([process.name, binds, *rates, cautions(found), " → ".join(power)])
    return table(["process", "what binds", "plain", "as tested", "cautions", "power, plain → as tested"], lines)


def unexplained(levels: Mapping[str, Found]) -> list[str]:
    """Hard processes whose level is too high without a caution in 95% of samples."""
    return [
        name
        for name, found in levels.items()
        if exceeds(found.below("mended", ALPHA)) and max(found.kinds("caution: ").values(), default=0.0) < FIRES
    ]


def limit_table(study: Study) -> str:
    heads = [f"{precision:g} times the error, correlation {rho:g}" for precision, rho in PRECISIONS]
    lines = []
    for limit in LIMITS:
        found = [study.get(f"limit {precision:g} {rho:g}/{limit.name}") for precision, rho in PRECISIONS]
        cells = [
            f"{one.below('plain', ALPHA).share:.3f} → {shown(one.below('mended', ALPHA), True)}" if one else ""
            for one in found
        ]
        lines.append([limit.name, *cells])
    return table(["groups", *heads], lines)


def small_levels_table(study: Study) -> str:
    """The same at smaller levels: the worst of the three precisions."""
    lines = []
    for limit in LIMITS:
        found = [study.get(f"limit {precision:g} {rho:g}/{limit.name}") for precision, rho in PRECISIONS]
        rates = [[one.below("mended", level) for one in found if one] for level in SMALLER]
        worst = [max(some, key=lambda rate: rate.share, default=None) for some in rates]
        cells = [shown(one, True, level) if one else "" for one, level in zip(worst, SMALLER, strict=True)]
        lines.append([limit.name, *cells])
    return table(["groups", *(f"at {level:.1%}" for level in SMALLER)], lines)


def limits_above(study: Study) -> list[str]:
    return [f"in the normal limit, {name.partition('/')[2]}" for name, one in study.items() if _high(one)]


def _high(found: Found) -> bool:
    return exceeds(found.below("mended", ALPHA))


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
    lines = [[errors, *(shown(row[rho], mark=True) for rho in correlations)] for errors, row in rates.items()]
    return table(["gap in standard errors", *(f"correlation {rho}" for rho in correlations)], lines)


def worst_folded(study: Study) -> str:
    rates = [one for row in folded_rates(study).values() for one in row.values()]
    return shown(max(rates, key=lambda one: one.share))


def studentized_table(study: Study) -> str:
    ways = ("centered", "studentized")
    found = part(study, "bootstrap-t")
    lines = [
        [case.name, *(shown(found[case.name].below(way, ALPHA), mark=True) for way in ways)]
        for case in CASES
        if case.name in found
    ]
    return table(["process", "centered draws", "bootstrap-t"], lines)


def studentized_words(study: Study) -> str:
    found = part(study, "bootstrap-t").values()
    high = [one for one in found if exceeds(one.below("centered", ALPHA))]
    still = sum(exceeds(one.below("studentized", ALPHA)) for one in high)
    worse = sum(one.below("studentized", ALPHA).share > one.below("centered", ALPHA).share for one in found)
    right = [one for one in found if not exceeds(one.below("centered", ALPHA))]
    breaks = sum(exceeds(one.below("studentized", ALPHA)) for one in right)
    earns = still + breaks == 0 and worse <= len(found) / 2
    verdict = "So it would earn its place" if earns else "So it does not earn its place"
    return (
        f"Of the {len(high)} processes in which the centered bootstrap's level is too high, the bootstrap-t's is too "
        f"high in {still}.\nIts level is the higher one in {worse} of {len(found)} processes, and too high in {breaks} "
        f"of the {len(right)} in which the centered\none is right. {verdict}. There is no "
        '`method="bootstrap-t"`: where outcomes are skewed, a caution\nsays so instead.'
    )


def unexplained_words(levels: Mapping[str, Found]) -> str:
    names = unexplained(levels)
    return "none lacks it." if not names else f"missing in {', '.join(names)}."


def hard_section(found: Mapping[str, Study]) -> str:
    """The section on processes that break a plain bootstrap."""
    levels, bounds = part(found["hard"], "hard level"), found["bounds"]["bounds"]
    powers = part(found["hard power"], "hard power")
    return f"""## Where a plain bootstrap breaks

{times([*levels.values()])} samples each; how often the binding component rejects on its own. "Plain" is Appendix
A's bootstrap, with the reference pair of groups as if it had been given; "as tested" is what the package does. The last
columns say in which share of samples a caution fired (shares below 5% are left out), and what the correction costs
where the claim is true ({times([*powers.values()])} samples). A level that is high in spite of a correction must
have a caution that names the reason in at least {FIRES:.0%} of samples: {unexplained_words(levels)}

{hard_table(levels, powers)}

- **Tied groups.** `compare`, and forward audits, find the widest gap of the status quo on the rows that they test.
  The critical value is that of the largest deviation among all pairs that may be the widest, and where there are
  several, p-values are multiplied by 1.2. Small p-values count more pairs.
- **Rare outcomes.** 97% repay, and the candidate approves so many more rows of one group, at the same 97%. Draws know
  of outcomes that the sample does not hold.
- **Skewed outcomes.** The status quo's own picks have lognormal outcomes (the logarithm's standard deviation is 1.3);
  about 60 are selected. There is no correction: a sample without the tail cannot tell.
- **Few clusters, strata.** Student's t with as many degrees of freedom as there are clusters, less strata; clusters are
  drawn within strata, with the rescaling of Rao and Wu.
- **Heavy weights.** About 80 are selected. Student's t, with degrees of freedom from Kish's effective number.

### Ties in the normal limit

What the correction for ties does where estimates are normal, apart from all else: groups that tie for the widest gap or
nearly do, of equal sizes and not, with a candidate whose estimates are precise or as uncertain as the status quo's and
correlated with them. {times([*found["limit"].values()])} samples; the reference as if given → as tested.

{limit_table(found["limit"])}

What is near enough at 5% is not at 1%, so small p-values count more pairs. Levels as tested, the highest of the three
columns above:

{small_levels_table(found["limit"])}

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

"""
