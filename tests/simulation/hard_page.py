"""The section of the validity page on processes that break a plain bootstrap."""

from collections.abc import Sequence

from simulation.page_parts import Rows, exceeds, shown, table, times

FIRES = 0.95
SELDOM = 0.05


def hard_table(rows: Rows) -> str:
    lines = []
    for row in rows:
        cautions = ", ".join(f"{kind} {share:.0%}" for kind, share in row["cautions"].items() if share >= SELDOM)
        power = row["power"] and f"{row['power']['plain']['share']:.3f} → {row['power']['mended']['share']:.3f}"
        binds = "gap" if row["binds"] == "gap" else f"accuracy of {row['binds']}"
        level = [shown(row["level"][way], mark=True) for way in ("plain", "mended")]
        lines.append([row["name"], binds, *level, cautions or "", power or ""])
    return table(["process", "what binds", "plain", "as tested", "cautions", "power, plain → as tested"], lines)


def unexplained(rows: Rows) -> list[str]:
    """Hard processes whose level is too high without a caution in 95% of repetitions."""
    return [
        row["name"]
        for row in rows
        if exceeds(row["level"]["mended"]) and max(row["cautions"].values(), default=0.0) < FIRES
    ]


def folded_table(rows: Rows) -> str:
    correlations = list(rows[0]["level"])
    lines = [[f"{row['errors']:g}", *(shown(row["level"][rho], mark=True) for rho in correlations)] for row in rows]
    return table(["gap in standard errors", *(f"correlation {rho}" for rho in correlations)], lines)


def worst_folded(rows: Rows) -> str:
    return shown(max((one for row in rows for one in row["level"].values()), key=lambda one: float(one["share"])))


def unexplained_words(names: Sequence[str]) -> str:
    return "none lacks it." if not names else f"{', '.join(names)} lack it."


def hard_section(rows: dict[str, Rows]) -> str:
    """The section on processes that break a plain bootstrap."""
    hard, bounds = rows["hard"], rows["bounds"][0]
    repetitions = times([row["level"]["mended"] for row in hard])
    return f"""## Where a plain bootstrap breaks

{repetitions} repetitions each; how often the binding component rejects on its own. "Plain" is Appendix A's bootstrap,
with the reference pair of groups as if it had been given; "as tested" is what the package does. The last columns say in
which share of repetitions a caution fired, and what the correction costs where the claim is true. A level that is high
in spite of a correction must have a caution that names the reason in at least {FIRES:.0%} of repetitions:
{unexplained_words(unexplained(hard))}

{hard_table(hard)}

- **Tied groups.** `compare` finds the widest gap of the status quo on the rows that it tests. Its critical value is
  that of the largest deviation among all pairs that may be the widest.
- **Rare outcomes.** 97% repay, and the candidate approves so many more rows of one group, at the same 97%. Draws know
  of outcomes that the sample does not hold.
- **Skewed outcomes.** The status quo's own picks have lognormal outcomes (the logarithm's standard deviation is 1.3);
  about 60 are selected. There is no correction: a sample without the tail cannot tell.
- **Few clusters, strata.** Student's t with as many degrees of freedom as there are clusters, less strata; clusters are
  drawn within strata, with the rescaling of Rao and Wu.
- **Heavy weights.** About 80 are selected. Student's t, with degrees of freedom from Kish's effective number.

### Every bound, or all of them?

Each bound of the frontier holds with 95% confidence separately. In one comparison of two groups, *some* bound is above
the truth in {shown(bounds["each"])} of repetitions; of simultaneous bounds (`bounds(simultaneous=True)`) in
{shown(bounds["all"])}.

### The absolute statistic at a cut of zero

The candidate's gap is as wide as the status quo's, and the other group is ahead. In the normal limit, by how many
standard errors wide the gaps are and how the two estimates are correlated:

{folded_table(rows["folded"])}

So the absolute statistic is right at Δ_f = 0 only where gaps are several standard errors wide.

"""
