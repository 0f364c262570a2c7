"""The section of the validity page on rules that learn: forward repetitions beside the
paper's split.
"""

from collections.abc import Iterator, Mapping, Sequence

from validity.choosing import ADVERSARIES, FEW
from validity.learning import Learning
from validity.learning_study import CODE, LEAST_SQUARES, MEMORIZING, NAMED, POWERS
from validity.page_parts import WAYS, Studies, Study, exceeds, part, shown, table
from validity.study import ALPHA, Found, Rate

SINGLE, MIN_ROWS = 0.055, 800
"""What one repetition of a rule of the package is to stay at or below, from so many
rows on.
"""
ONE, MEDIAN = "forward, one at 5%", "forward, median at 2.5%"
MEDIANS = (MEDIAN, "split, median at 2.5%")
HEAD = ("rule or rows", "", "rows", "samples")


def level_table(cases: Sequence[Learning], found: Mapping[str, Found]) -> str:
    """Levels by every way; bold where above 5% by more than three Monte Carlo
    errors.
    """
    lines = [
        [
            *_about(case, found[case.name]),
            *(shown(way(found[case.name]), mark=True) for way in WAYS.values()),
        ]
        for case in cases
        if case.name in found
    ]
    return table([*HEAD, *WAYS], lines)


def power_table(found: Mapping[str, Found]) -> str:
    lines = [
        [
            *_about(case, found[case.name]),
            *(shown(way(found[case.name])) for way in WAYS.values()),
        ]
        for case in POWERS
        if case.name in found
    ]
    return table([*HEAD, *WAYS], lines)


def _about(case: Learning, found: Found) -> list[str]:
    return [case.name, case.words, f"{case.rows:,}", f"{found.samples:,}"]


def promised(found: Studies) -> Iterator[tuple[str, str, Rate]]:
    """Every level that the package answers for: medians of all rules, and one
    repetition of its own rules.

    Forward, one repetition is refused to a rule that is code.
    """
    code, named = part(found["code"], "code"), part(found["named"], "named")
    for name, one in {**code, **named}.items():
        yield from ((name, way, WAYS[way](one)) for way in MEDIANS)
    for case in (
        case for case in NAMED if case.name in named and case.rows >= MIN_ROWS
    ):
        yield case.name, ONE, WAYS[ONE](named[case.name])


def learning_above(found: Studies) -> list[str]:
    """Where one of these is above 5% by more than three Monte Carlo errors."""
    return [f"{name}, {way}" for name, way, rate in promised(found) if exceeds(rate)]


def targets_words(found: Studies) -> str:
    """What was aimed at, and what was missed, whether or not chance explains it."""
    levels = [*promised(found)]
    if not levels:
        return "- Rules that learn were not run."
    missed = [
        f"{name}, {way}: {shown(rate)}"
        for name, way, rate in levels
        if rate.share > (SINGLE if way == ONE else ALPHA)
    ]
    medians = {
        way: [rate for _, other, rate in levels if other == way] for way in MEDIANS
    }
    highest = {
        way: shown(max(rates, key=lambda rate: rate.share))
        for way, rates in medians.items()
    }
    said = (
        "none is above" if not missed else f"above, as simulated: {'; '.join(missed)}"
    )
    return (
        "- [Rules that learn](#rules-that-learn) were to reject true nulls at most 5% "
        "of the time by the median of\n"
        "  seven repetitions, even if they are code that works against the test, and "
        "at most\n"
        f"  {SINGLE:.1%} by one forward repetition of a rule of the package on "
        f"{MIN_ROWS} rows or more: {said}.\n"
        f"  The highest level of a median is {highest[MEDIAN]} forward and "
        f"{highest[MEDIANS[1]]} by the paper's split."
    )


def audited_words(study: Study) -> str:
    """How many samples went through `audit` too, and whether that made a difference."""
    found = part(study, "audited").values()
    audits, differ = (
        sum(one.samples for one in found),
        int(sum(one.of("differs").sum() for one in found)),
    )
    if not audits:
        return "None went through `audit` as well."
    each = sorted({one.samples for one in found})
    number = f"{each[0]:,}" if len(each) == 1 else f"{each[0]:,} to {each[-1]:,}"
    return (
        f"The first {number} samples of {len(found)} of these {len(CODE)} rules went "
        "through `audit` as well,\n"
        f"{audits:,} in all: p-values differ in {differ} of them."
    ) + (" (A score equals its cutoff there, and rounding decides.)" if differ else "")


def screening_words(found: Found) -> str:
    words = []
    for scheme in ("forward", "split"):
        p, rate = found.of(scheme), found.below(scheme, ALPHA / 2)
        name = "Forward" if scheme == "forward" else "the paper's split"
        words.append(
            f"{name} gives p from {p.min():.4f} to {p.max():.4f} and rejects with "
            f"{rate.share:.0%} of the seeds"
        )
    return "; ".join(words) + "."


def learning_section(found: Studies) -> str:
    code, named = part(found["code"], "code"), part(found["named"], "named")
    powers, screening = (
        part(found["learning power"], "learning power"),
        found["screening"].get("screening"),
    )
    picture = "*(Not run yet.)*"
    if screening is not None:
        seeds = screening.samples
        picture = f"""One real sample, the survey of `improvable demo`, audited with {seeds} seeds and 10,000 draws.
{screening_words(screening)}

![p-values of one sample over {seeds} seeds, forward and by the paper's split](../pictures/p_values_by_seed.svg)
"""  # noqa: E501
    return f"""## Rules that learn

A forward repetition, the default, tests every block of rows by a candidate that learned from the rows before it. The
paper's split lets one half of the rows teach and tests the other. Either way the lower median of seven p-values must be
below 2.5%. "One" is the share of the seven repetitions that would reject at 5% if there were only that one.

**What is proven**, for many rows ([proofs](../explanation/guarantees.md)): the median by the paper's split rejects a
true null at most 5% of the time, whatever the rule. One forward repetition at 5%, and the median of seven at 2.5%, do
so where the variance of what a block adds, given the rows before it, settles down. A rule may choose by chance among
candidates, and these need not converge. **What is simulated**: how close levels come to that with 400 to 5,000 rows;
and the median where that condition fails, since code can make it fail on purpose. `audit` therefore refuses code fewer
than seven forward repetitions: its column "one" shows why.

In all processes but one, nothing tells the outcomes of group a, so that every candidate is exactly as accurate for a as
the status quo, and group b gains: the accuracy of a binds alone. In "gap" the gap binds instead.

### A few candidates, none of which improves

The status quo tosses coins for group a. A tweak turns its decisions around for some of a's rows, and the rule takes the
tweak that did best for a on the rows that teach. Rows that both teach and are tested would confirm what chance chose.
These rules, and those of the next two tables, are code. Their p-values come from a fast path that equals `audit` to
the last bit. {audited_words(found["audited"])}

{level_table((*FEW, *MEMORIZING), code)}

### Code that works against the test

This code remembers what its own candidates did in the blocks that were tested. One kind stops changing anything for
group a once the test is past its level. Another kind, while the test is behind, changes ten times as many rows. In the
paper's split there is one block, and nothing to act on.

{level_table(ADVERSARIES, code)}

### Rules of the package

In "eight districts" a rule chooses, in effect, the districts in which to select. First many samples of what `linear`
does, by the fast path:

{level_table(LEAST_SQUARES, code)}

And the rules themselves, through `audit`:

{level_table(sorted(NAMED, key=lambda case: (case.rule, case.words, case.rows)), named)}

### Power

The same where the claim is true. The two medians have the same guarantee.

{power_table(powers)}

### How much the seed decides

{picture}
"""  # noqa: E501
