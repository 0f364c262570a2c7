"""The section of the validity page on rules that learn: the paper's split beside folds."""

from collections.abc import Mapping

import numpy as np

from simulation.learning import LEVELS, POWERS
from simulation.learning_study import MANY_FOLDS, SEEDED
from simulation.page_parts import Study, cautions, exceeds, part, shown, table
from simulation.study import ALPHA, Found, Rate, rate_of

HALVES, FOLDS, MANY = "halves", "2 folds", "5 folds"


def threshold(way: str) -> float:
    """What the package compares the median with."""
    return ALPHA if way == FOLDS else ALPHA / 2


def level(found: Found, way: str) -> Rate:
    return found.below(way, threshold(way))


def level_table(levels: Mapping[str, Found]) -> str:
    lines = []
    for case in (one for one in LEVELS if one.name in levels):
        found = levels[case.name]
        fired = cautions(found, f"{FOLDS}: ")
        rates = [shown(level(found, way), mark=True) for way in (HALVES, FOLDS)]
        lines.append([case.name, case.words, f"{case.rows:,}", f"{found.repetitions:,}", *rates, fired])
    head = ["rule or rows", "", "rows", "repetitions", "halves at 2.5%", "two folds at 5%", "cautions, two folds"]
    return table(head, lines)


def many_table(study: Study) -> str:
    found = part(study, "five folds")
    lines = [
        [name, f"{found[name].repetitions:,}", *(shown(found[name].below(MANY, at), True) for at in (ALPHA, ALPHA / 2))]
        for name in MANY_FOLDS
        if name in found
    ]
    return table(["rule", "repetitions", "five folds at 5%", "five folds at 2.5%"], lines)


def power_table(powers: Mapping[str, Found], levels: Mapping[str, Found]) -> str:
    """Power as tested, and power where both procedures have a level of exactly 5%."""
    lines = []
    for case in (one for one in POWERS if one.name in powers):
        found = powers[case.name]
        null = levels[case.name if case.name in levels else "least squares"]
        cells = [shown(level(found, way)) for way in (HALVES, FOLDS)]
        for way in (HALVES, FOLDS):
            at = float(np.quantile(null.of(way), ALPHA))
            cells.append(shown(rate_of(found.of(way) < at)))
        lines.append([case.name, f"{case.rows:,}", f"{found.repetitions:,}", *cells])
    head = ["rule or rows", "rows", "repetitions", "halves at 2.5%", "two folds at 5%"]
    return table([*head, "halves, level 5%", "two folds, level 5%"], lines)


def learning_above(found: Mapping[str, Study]) -> list[str]:
    """Where a procedure's level is above 5% by more than three Monte Carlo errors."""
    levels = part(found["learning"], "learning level")
    return [f"{name}, {way}" for name, one in levels.items() for way in (HALVES, FOLDS) if exceeds(level(one, way))]


def many_words(study: Study) -> str:
    found = part(study, "five folds")
    high = [name for name, one in found.items() if exceeds(one.below(MANY, ALPHA))]
    if not high:
        return "None is above 5% by three Monte Carlo errors here."
    return f"At 5%, five folds reject too often beyond Monte Carlo error: {', '.join(high)}."


def spread_words(found: Found) -> str:
    words = []
    for way, name in ((HALVES, "Halves"), (FOLDS, "two folds")):
        p, rate = found.of(way), level(found, way)
        words.append(f"{name} give p from {p.min():.3f} to {p.max():.3f} and reject with {rate.share:.0%} of the seeds")
    return "; ".join(words) + "."


def learning_section(found: Mapping[str, Study]) -> str:
    levels, powers = part(found["learning"], "learning level"), part(found["learning power"], "learning power")
    seeds = found["seeds"]["seeds"]
    return f"""## Rules that learn: halves beside folds

The paper's procedure tests on half of the rows in each of seven repetitions, and rejects where the lower median of p-values
is below 2.5%. With two folds every row is tested in each of seven repetitions, and the median must be below 5%
([why](explanation/cross-fitting.md)). Outcomes of group a are coin tosses, so that every candidate is exactly as
accurate for a as the status quo, and group b gains: the accuracy of a binds alone. With a capacity, outcomes are counts
that nothing tells in group a, and utilities are calibration utilities. Some settings are meant to break folds: rules
that memorize, rows that are there twice (with outcomes of their own), a rule that one row turns around, tiny samples.
Rules are a few lines of NumPy, so that audits can be run by the thousand, and cutoffs of a capacity are plain quantiles
of training scores; the rest is the package.

{level_table(levels)}

Rows that are there twice *with the same outcome* are copies, not rows. They let a rule that memorizes see the answer,
and no procedure is right; name a `row_id` or a `cluster` that keeps copies together.

More than two folds leave more of a row's twins among the rows that a rule learns from:

{many_table(found["five folds"])}

{many_words(found["five folds"])} The package cannot tell beforehand whether rows have near-twins and a rule memorizes,
so with more than two folds the median must be below 2.5%, automatically. Two folds need no such care: no level in
the first table is above 5% beyond Monte Carlo error{_except(found)}.

### Power

The same where the claim is true. In the last two columns both procedures reject where p is below the value that it
falls below in 5% of the repetitions under the null, so that both have the same level; the difference that remains is
the number of rows tested.

{power_table(powers, levels)}

### How much the seed decides

One sample of {SEEDED.rows:,} rows, audited with {seeds.repetitions} seeds. {spread_words(seeds)}

![p-values of one sample over {seeds.repetitions} seeds, by halves and by two folds](pictures/p_values_by_seed.svg)

"""


def _except(found: Mapping[str, Study]) -> str:
    high = [name for name in learning_above(found) if name.endswith(FOLDS)]
    return f", except {'; '.join(high)}" if high else ""
