"""The page that the validity study writes: every number in it comes from the study's
results.

A section whose studies were not run stays as it is on the page, with what the head of
the page says of it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from validity.audit_page import SEVERAL_BIND, audit_section, audits_above, audits_say
from validity.gap_page import (
    claim_says,
    claim_section,
    gap_section,
    gaps_above,
    gaps_say,
)
from validity.hard_page import hard_section, limits_above, unexplained, worst_folded
from validity.learning_page import learning_above, learning_section, targets_words
from validity.monitor import monitor_above, monitor_says, monitor_section
from validity.page_parts import (
    FEWEST,
    Studies,
    Study,
    cautions,
    exceeds,
    part,
    pooled,
    shown,
    table,
    times,
    was_run,
)
from validity.probabilities_page import (
    probabilities_above,
    probabilities_say,
    probabilities_section,
)
from validity.processes import PROCESSES, Process, Truth
from validity.study import ALPHA, DRAWS
from validity.unknown import unknown_above, unknown_says, unknown_section

GAPS = ("signed", "absolute")


def utilities(process: Process, truth: Truth) -> str:
    reached = process.reached(truth).items()
    return ", ".join(
        f"{group} {before:.4g} → {after:.4g}" for group, (before, after) in reached
    )


def compare_table(study: Study) -> str:
    levels, powers = part(study, "compare level"), part(study, "compare power")
    lines = []
    for process in (
        one for one in PROCESSES if one.name in levels and one.name in powers
    ):
        level, power = levels[process.name], powers[process.name]
        lines.append(
            [
                process.name,
                process.binds,
                f"{process.rows:,}",
                utilities(process, process.null),
                *(shown(level.below(gap, ALPHA), mark=True) for gap in GAPS),
                utilities(process, process.alternative),
                *(shown(power.below(gap, ALPHA)) for gap in ("plain", *GAPS)),
                cautions(level),
            ]
        )
    head = [
        "process",
        "what binds",
        "rows",
        "null",
        "level, signed",
        "absolute",
        "alternative",
        "power, plain",
    ]
    return table([*head, "signed", "absolute", "cautions under the null"], lines)


def tiny_table(study: Study) -> str:
    accuracy, gap = part(study, "tiny accuracy"), part(study, "tiny gap")
    lines = [
        [
            selected,
            *(
                shown(one[selected].below(what, ALPHA), True)
                for one in (accuracy, gap)
                for what in ("alone", "whole")
            ),
        ]
        for selected in accuracy
        if selected in gap
    ]
    return table(
        ["selected, about", "accuracy alone", "whole test", "gap alone", "whole test"],
        lines,
    )


def most_lost(powers: Study) -> str:
    """The most power that corrections of draws cost in a process without few differing
    rows, tested both ways.
    """
    regular = [
        one for one in powers.values() if one.share("caution: differing").share < 0.5
    ]
    lost = [
        one.below("plain", ALPHA).share - one.below("signed", ALPHA).share
        for one in regular
    ]
    return f"{max(lost, default=0.0):.3f}"


def compare_section(found: Studies) -> str:
    levels, powers = (
        part(found["compare"], "compare level"),
        part(found["compare"], "compare power"),
    )
    alone = [
        one.below("signed", ALPHA)
        for name, one in levels.items()
        if name not in SEVERAL_BIND
    ]
    return f"""## One comparison

{times([*levels.values()])} samples under the null, {times([*powers.values()])} under the alternative.
"a 6 → 6.8" is group a's utility under
the status quo and under the candidate. Over all processes in which one component binds alone, the level of the signed
statistic is {pooled(alone)}. "Plain" is the power of the signed statistic without any correction of draws; the
corrections cost at most {most_lost(powers)} of it where no caution says that the algorithms differ in few rows.

{compare_table(found["compare"])}

In "heavy ties" scores take five values, and rows that tie at the cutoff are drawn to meet the capacity, the default;
`ties="strict"` leaves them out.

Where everything binds at once, all components must reject by chance at once, so the level is near zero. Where the gap
must be cut by 90%, the signed statistic needs both of two one-sided tests, whose nulls are both near: with so few rows
it never confirms a nearly perfect gap, right or wrong. The absolute one confirms it, and too often wrongly.

"""  # noqa: E501


def compare_above(found: Studies) -> list[str]:
    levels = part(found["compare"], "compare level")
    return [
        f"`compare`, {name}"
        for name, one in levels.items()
        if exceeds(one.below("signed", ALPHA))
    ]


def tiny_section(found: Studies) -> str:
    return f"""## How few is too few?

The bootstrap is right for many rows. Here few rows of a tiny group are selected, out of 2,000 rows of all groups;
{times([*found["tiny"].values()])} samples, signed statistic.
"Alone" is how often the binding component rejects on its own: the level of a test
in which nothing else stands in the way. The package warns where fewer than 30 are selected.

{tiny_table(found["tiny"])}

"""  # noqa: E501


def tiny_above(found: Studies) -> list[str]:
    high = [
        name
        for name, one in found["tiny"].items()
        if exceeds(one.below("alone", ALPHA))
    ]
    return [f"{name.replace('/', ' with about ')} selected" for name in high]


def hard_says(found: Studies) -> str:
    return f"""\
- Few effective rows (rare or skewed outcomes, unequal clusters and weights, margins near 0 or 1) and groups that tie
  for the widest gap break a plain bootstrap. What is corrected, and where a caution must do, is said
  [below](#where-a-plain-bootstrap-breaks), with processes that were [held out](#held-out).
  The absolute statistic is wrong [at Δ_f = 0](#the-absolute-statistic-at-a-cut-of-zero), too, where both gaps are about
  one standard error wide: {worst_folded(found["folded"])}."""  # noqa: E501


def hard_above(found: Studies) -> list[str]:
    hard = [
        f"{name}, without a caution"
        for name in unexplained(part(found["hard"], "hard level"))
    ]
    return hard + limits_above(found["limit"])


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes
    ----------
    title : str
    studies : tuple of str
        What it is written from.
    write : callable
        From what was found to the section, with its heading.
    says : callable, optional
        To what the head of the page says of it.
    above : callable, optional
        To where levels of the defaults are above 5% by more than three Monte Carlo
        errors, without a caution.
    every : bool
        Whether it can only be written where every part of its studies was run.
    """

    title: str
    studies: tuple[str, ...]
    write: Callable[[Studies], str]
    says: Callable[[Studies], str] | None = None
    above: Callable[[Studies], list[str]] | None = None
    every: bool = True

    def was_run(self, found: Studies) -> bool:
        parts = [
            was_run(one) for study in self.studies for one in found[study].values()
        ]
        return all(parts) if self.every else any(parts)


HARD = ("hard", "hard power", "held out", "limit", "bootstrap-t", "bounds", "folded")
PROBABLE = (
    "probabilities",
    "probabilities, many rows",
    "probabilities, power",
    "compas",
)
LEARNING = ("code", "audited", "named", "learning power", "screening")
SECTIONS = (
    Section("One comparison", ("compare",), compare_section, above=compare_above),
    Section("How few is too few?", ("tiny",), tiny_section, above=tiny_above),
    Section(
        "Where a plain bootstrap breaks", HARD, hard_section, hard_says, hard_above
    ),
    Section(
        "Rules that learn",
        LEARNING,
        learning_section,
        targets_words,
        learning_above,
        every=False,
    ),
    Section(
        "Groups known by probability",
        PROBABLE,
        probabilities_section,
        probabilities_say,
        probabilities_above,
    ),
    Section(
        "An audit of a fixed candidate",
        ("audit",),
        audit_section,
        audits_say,
        audits_above,
    ),
    Section(
        "The two gap statistics at the size of the application",
        ("gap", "gap of an audit"),
        gap_section,
        gaps_say,
        gaps_above,
    ),
    Section(
        "Is the claim of 64% safe?",
        ("gap", "gap of an audit"),
        claim_section,
        claim_says,
    ),
    Section(
        "Outcomes nobody has seen",
        ("unknown",),
        unknown_section,
        unknown_says,
        unknown_above,
    ),
    Section(
        "The monitor",
        ("monitor", "monitor price"),
        monitor_section,
        monitor_says,
        monitor_above,
    ),
)


def sections_of(page: str) -> dict[str, str]:
    """The sections of a page, by title."""
    parts = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0]: f"## {part}" for part in parts}


def anchors_of(section: str) -> list[str]:
    """What links to the headings of a section end in."""
    titles = re.findall(r"^##+ (.*)$", section, flags=re.MULTILINE)
    return [
        f"(#{re.sub(r'[^a-z0-9 _-]', '', title.lower()).replace(' ', '-')})"
        for title in titles
    ]


def said_of(section: str, head: str) -> list[str]:
    """What the head of a page says of a section: the points that link to one of its
    headings.
    """
    points = re.findall(r"^- .*(?:\n  .*)*", head, flags=re.MULTILINE)
    return [
        point
        for point in points
        if any(anchor in point for anchor in anchors_of(section))
    ]


def exceeding_words(exceeding: Sequence[str]) -> str:
    if not exceeding:
        return (
            "no level is above 5% by more than three Monte Carlo errors unless a "
            "caution names the reason."
        )
    where = "one place" if len(exceeding) == 1 else f"{len(exceeding)} places"
    return (
        f"above 5% by more than three Monte Carlo errors in {where}: "
        f"{'; '.join(exceeding)}."
    )


def made_words(run: Studies, full: Mapping[str, int], kept: Sequence[str]) -> str:
    """What is not of the full study: how much was drawn, and what stays as an earlier
    run left it.
    """
    made = [
        min(1.0, one.samples / full[name])
        for study in run.values()
        for name, one in study.items()
    ]
    words = []
    if made and min(made) < 1:
        few = sum(
            one.samples < FEWEST for study in run.values() for one in study.values()
        )
        left = f" {few} parts with fewer than {FEWEST} are left out." if few else ""
        words.append(
            f"**This is not the full study yet.** Over all parts, {np.mean(made):.0%} "
            f"of samples were drawn.{left}\n"
            "Each table says how many; read the Monte Carlo errors."
        )
    if kept:
        titles = "; ".join(f"[{title}]{anchors_of(f'## {title}')[0]}" for title in kept)
        words.append(
            "These sections were not run again, and are as an earlier run left them: "
            f"{titles}."
        )
    return "".join(f"\n{one}\n" for one in words)


def page(
    everything: Studies, full: Mapping[str, int], seed: int, before: str = ""
) -> str:
    """The page, from the results of all studies.

    Parameters
    ----------
    everything : mapping
        By study, what its units found.
    full : mapping from str to int
        How many samples of each unit the full study makes.
    seed : int
    before : str
        The page so far.
    """
    found = {
        study: {name: one for name, one in units.items() if was_run(one)}
        for study, units in everything.items()
    }
    ready = [section for section in SECTIONS if section.was_run(everything)]
    run = {study: everything[study] for section in ready for study in section.studies}
    earlier = sections_of(before)
    points, texts, kept = [], [], []
    for section in SECTIONS:
        if section in ready:
            texts.append(section.write(found))
            points += [] if section.says is None else [section.says(found)]
        elif section.title in earlier:
            texts.append(earlier[section.title])
            points += said_of(earlier[section.title], earlier.get("What it says", ""))
            kept.append(section.title)
    above = [
        one
        for section in ready
        if section.above is not None
        for one in section.above(found)
    ]
    hours = sum(one.seconds for study in run.values() for one in study.values()) / 3600
    body = "\n\n".join(text.strip() for text in texts)
    return f"""# Is the test valid?

A test at the 5% level may reject a true null hypothesis at most one time in twenty. This page says how often it
does, by simulation, on populations whose utilities are known exactly and in which the null holds just so. A simulated
data set is called a sample. Every share comes with its Monte Carlo error, one standard deviation; where nothing or
everything was rejected, that of a share of 5%. A level above 5% by more than three Monte Carlo errors is in **bold**.
All tests use {DRAWS} bootstrap draws (10,000 in ordinary use). Where not said otherwise, utilities are calibration
utilities, the mean outcome of those selected, and settings are the defaults. The page is written by the study itself.
{made_words(run, full, kept)}
## What it says

- The defaults{", in what was run now" if kept else ""}: {exceeding_words(above)}
{chr(10).join(points)}

{body}

## Run it again

`make validity`, or `python benchmarks/validity/run_study.py --out docs/evidence/validity.md`. What was run now took
{hours:.1f} hours on a busy core. What was found in each sample is kept in a folder: a study that was stopped continues,
`--share 0.1` draws a tenth of all samples, `--only` runs one study, and `--page` writes the page of what is there.
Sections that nothing was run for stay as they are. The seed is {seed}. The processes are in
`benchmarks/validity/processes.py`, `hard.py`, `held_out.py`, `learning.py`, `choosing.py`, `probabilities.py`,
`unknown.py` and `monitor.py`. `make test` runs a short version.
"""  # noqa: E501
