"""The page that the validity study writes: every number in it comes from the study's results."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from simulation.hard_page import hard_section, limits_above, unexplained, worst_folded
from simulation.learning_page import learning_above, learning_section, targets_words
from simulation.page_parts import FEWEST, WAYS, Study, cautions, exceeds, part, pooled, shown, table, times, was_run
from simulation.processes import IMPROVABLE, OPTIMAL, PROCESSES, TIED, Process, Truth
from simulation.schemes import REPETITIONS
from simulation.study import ALPHA, DRAWS, Found, Rate

CLAIM = 0.64
HIGH = 1.5
ENOUGH = 500
"""Samples, for a sentence that nothing was found."""
GAPS = ("signed", "absolute")
SEVERAL_BIND = ("all at once", "near-identical, all", "nearly fair")
"""Processes in which more than one component is at or near its null, so that the level is below 5% by design."""


def is_high(found: Found) -> bool:
    """Whether a level, by any procedure, is high enough to be looked at again."""
    return was_run(found) and any(way(found).exceeds(ALPHA, HIGH) for way in WAYS.values())


def utilities(process: Process, truth: Truth) -> str:
    reached = process.reached(truth).items()
    return ", ".join(f"{group} {before:.4g} → {after:.4g}" for group, (before, after) in reached)


def compare_table(study: Study) -> str:
    levels, powers = part(study, "compare level"), part(study, "compare power")
    lines = []
    for process in (one for one in PROCESSES if one.name in levels and one.name in powers):
        level, power = levels[process.name], powers[process.name]
        lines.append(
            [
                process.name,
                process.binds,
                f"{process.rows:,}",
                utilities(process, process.null),
                *(shown(level.below(gap, ALPHA), mark=True) for gap in GAPS),
                utilities(process, process.alternative),
                *(shown(power.below(gap, ALPHA)) for gap in GAPS),
                cautions(level),
            ]
        )
    head = ["process", "what binds", "rows", "null", "level, signed", "absolute", "alternative", "power, signed"]
    return table([*head, "absolute", "cautions under the null"], lines)


def tiny_table(study: Study) -> str:
    accuracy, gap = part(study, "tiny accuracy"), part(study, "tiny gap")
    lines = [
        [
            selected,
            *(shown(one[selected].below(what, ALPHA), True) for one in (accuracy, gap) for what in ("alone", "whole")),
        ]
        for selected in accuracy
        if selected in gap
    ]
    return table(["selected, about", "accuracy alone", "whole test", "gap alone", "whole test"], lines)


def audit_table(found: Mapping[str, Found], mark: bool) -> str:
    lines = [
        [name, *(shown(way(one), mark) for way in WAYS.values()), shown(one.below("absolute", ALPHA / 2), mark)]
        for name, one in found.items()
    ]
    return table(["process", *WAYS, "absolute, forward, median at 2.5%"], lines)


def rule_table(study: Study, scene: str) -> str:
    lines = [
        [f"`{name}`", f"{one.samples:,}", *(shown(way(one), scene != IMPROVABLE.name) for way in WAYS.values())]
        for name, one in part(study, f"rule {scene}").items()
    ]
    return table(["rule", "samples", *WAYS], lines)


def again_table(found: Mapping[str, Study]) -> str:
    lines = []
    first = {**found["audit"], **found["rules"]}
    for name, again in ((name, one) for name, one in found["again"].items() if was_run(one)):
        before = first[name.replace(" again/", "/")]
        for when, one in (("first", before), ("again", again)):
            rates = [shown(way(one), True) for way in WAYS.values()]
            lines.append([name.partition("/")[2], when, f"{one.samples:,}", *rates])
    return (
        table(["process or rule", "run", "samples", *WAYS], lines) if lines or found["again"] else "None was that high."
    )


def gap_table(study: Study, name: str) -> str:
    straight, turned = part(study, name), part(study, f"{name} turned")
    level = ALPHA if name == "gap" else ALPHA / 2
    parts = ("signed alone", "absolute alone", "absolute whole")
    lines = [
        [
            delta,
            *(
                shown(found[delta].below(what, level), True) if delta in found else ""
                for found in (straight, turned)
                for what in parts
            ),
        ]
        for delta in straight
    ]
    head = ["signed", "absolute", "absolute, whole test"]
    return table(["Δ_f", *head, *(f"turned: {one}" for one in head)], lines)


def above(found: Mapping[str, Study]) -> list[str]:
    """Where a level is above 5% by more than three Monte Carlo errors without a caution."""
    compared = part(found["compare"], "compare level")
    out = [f"`compare`, {name}" for name, one in compared.items() if exceeds(one.below("signed", ALPHA))]
    for study, start in (("audit", "audit level"), ("rules", f"rule {TIED.name}"), ("rules", f"rule {OPTIMAL.name}")):
        for name, one in part(found[study], start).items():
            out += [f"`audit`, {name}, {way}" for way, rate in WAYS.items() if exceeds(rate(one))]
    out += [f"{name}, run again" for name, one in found["again"].items() if any(exceeds(w(one)) for w in WAYS.values())]
    for study, level in (("gap", ALPHA), ("gap of an audit", ALPHA / 2)):
        high = [name for name, one in found[study].items() if exceeds(one.below("signed alone", level))]
        out += [f"the application, {name.replace('/', ' at Δ_f = ')}" for name in high]
    out += [f"{name}, without a caution" for name in unexplained(part(found["hard"], "hard level"))]
    out += limits_above(found["limit"]) + learning_above(found)
    for name, one in found["tiny"].items():
        if exceeds(one.below("alone", ALPHA)):
            out.append(f"{name.replace('/', ' with about ')} selected")
    return out


def exceeding_words(exceeding: Sequence[str]) -> str:
    if not exceeding:
        return "no level is above 5% by more than three Monte Carlo errors unless a caution names the reason."
    where = "one place" if len(exceeding) == 1 else f"{len(exceeding)} places"
    return f"above 5% by more than three Monte Carlo errors in {where}: {'; '.join(exceeding)}."


def worst(study: Study, name: str) -> str:
    level = ALPHA if name == "gap" else ALPHA / 2
    rates = {unit: one.below("absolute alone", level) for unit, one in study.items()}
    unit = max(rates, key=lambda one: rates[one].share)
    return f"{shown(rates[unit])} at Δ_f = {unit.partition('/')[2]}"


def verdict(one: Rate) -> str:
    return f"{'above' if exceeds(one) else 'not above'} 5% beyond Monte Carlo error"


def missing_words(found: Mapping[str, Study]) -> str:
    """Which parts of the study have not been run, counted by kind."""
    missing = Counter(name.partition("/")[0] for study in found.values() for name in study if not was_run(study[name]))
    parts = sum(len(study) for study in found.values())
    if not missing:
        return f"All {parts} parts of the study were run."
    kinds = "; ".join(f"{kind} ({number})" for kind, number in missing.items())
    return (
        f"Of {parts} parts of the study, {missing.total()} have fewer than {FEWEST} samples so far and are not on\n"
        f"this page: {kinds}."
    )


def partial_words(found: Mapping[str, Study], full: Mapping[str, int]) -> str:
    """A warning where samples are missing."""
    made = [min(1.0, one.samples / full[name]) for study in found.values() for name, one in study.items()]
    if min(made) == 1.0:
        return ""
    return (
        f"\n**This is not the full study yet.** Over all parts, {np.mean(made):.0%} of the samples have been drawn.\n"
        "Each table says how many; read the Monte Carlo errors. The\n[end](#run-it-again) says what is missing.\n"
    )


def page(everything: Mapping[str, Study], full: Mapping[str, int], seed: int) -> str:
    """The page, from the results of all studies; parts that were not run are left out, and named at the end.

    Parameters
    ----------
    everything : mapping
        By study, what its units found.
    full : mapping from str to int
        How many samples of each unit the full study makes.
    seed : int
    """
    found = {study: {name: one for name, one in units.items() if was_run(one)} for study, units in everything.items()}
    found["again"] = dict(everything["again"])
    hours = sum(one.seconds for study in found.values() for one in study.values()) / 3600
    compared, audited = part(found["compare"], "compare level"), part(found["audit"], "audit level")
    stronger, audits_stronger = part(found["compare"], "compare power"), part(found["audit"], "audit power")
    alone = [one.below("signed", ALPHA) for name, one in compared.items() if name not in SEVERAL_BIND]
    tied = part(found["rules"], f"rule {TIED.name}")
    binding = [*tied.values(), *(one for name, one in audited.items() if name not in SEVERAL_BIND)]
    binding += [*part(found["named"], "named").values()]
    ways = [pooled([way(one) for one in binding]) for way in WAYS.values()]
    single = pooled([one.share("forward, one") for one in tied.values()])
    early = [one.below("signed alone", ALPHA) for name, one in found["gap"].items() if float(name.split("/")[1]) <= 0.5]

    def audit_gap(delta: float, what: str, turned: bool = False) -> Rate:
        return found["gap of an audit"][f"gap of an audit{' turned' * turned}/{delta:g}"].below(what, ALPHA / 2)

    absolute, signed = (audit_gap(CLAIM, f"{gap} alone") for gap in ("absolute", "signed"))
    turned, signed_turned = (audit_gap(CLAIM, f"{gap} alone", True) for gap in ("absolute", "signed"))
    whole, whole_turned = (audit_gap(CLAIM, "absolute whole", way) for way in (False, True))
    one_repetition, at_zero = (
        found["gap"][f"gap/{CLAIM:g}"].below("absolute alone", ALPHA),
        audit_gap(0.0, "absolute alone"),
    )
    return f"""# Is the test valid?

A test at the 5% level may reject a true null hypothesis at most one time in twenty. This page says how often it
does, by simulation, on populations whose utilities are known exactly and in which the null holds just so. Every share
comes with its Monte Carlo error, one standard deviation; where nothing or everything was rejected, that of a share of
5%. A level above 5% by more than three Monte Carlo errors is in **bold**. All tests use {DRAWS} bootstrap draws (10,000
in ordinary use). Where not said otherwise, utilities are calibration utilities, the mean outcome of those selected, and
settings are the defaults. The page is written by the study itself.
{partial_words(everything, full)}
## What it says

- The defaults: {exceeding_words(above(found))}
{targets_words(found)}
- The paper's statistic, `gap="absolute"`, has the right level where gaps are many standard errors wide, and a wrong one
  near perfect fairness: in one comparison of the application's size, {worst(found["gap"], "gap")}. At Δ_f = 0 it is
  wrong, too, where both gaps are about one standard error wide: {worst_folded(found["folded"])}.
- Few effective rows (rare or skewed outcomes, few clusters, heavy weights) and groups that tie for the widest gap break
  a plain bootstrap. What is corrected, and where a caution must do, is said [below](#where-a-plain-bootstrap-breaks).
- The paper's claim that the gap can be cut by 64% rests on that statistic. If the gap were in truth cut by exactly 64%,
  an audit of {REPETITIONS} repetitions would claim more with probability {shown(absolute)} where black patients stay ahead,
  and {shown(turned)} where white patients are ahead under the candidate. With the signed statistic it would
  with probability {shown(signed)} and {shown(signed_turned)}. More on that [below](#is-the-claim-of-64-safe).
- Over all fixed candidates and rules of the package below in which one component binds alone, a single repetition at 5%
  has a level of {ways[0]} forward and {ways[2]} by the paper's split, and the median of {REPETITIONS} at 2.5% one of
  {ways[1]} and {ways[3]}. The caution of the median is the price of a guarantee that holds however the p-values
  of repetitions depend on each other.

## One comparison

{times([*compared.values()])} samples under the null, {times([*stronger.values()])} under the alternative.
"a 6 → 6.8" is group a's utility under
the status quo and under the candidate. Over all processes in which one component binds alone, the level of the signed
statistic is {pooled(alone)}.

{compare_table(found["compare"])}

In "heavy ties" scores take five values, and rows that tie at the cutoff are drawn to meet the capacity, the default;
`ties="strict"` leaves them out.

Where everything binds at once, all components must reject by chance at once, so the level is near zero. Where the gap
must be cut by 90%, the signed statistic needs both of two one-sided tests, whose nulls are both near: with so few rows
it never confirms a nearly perfect gap, right or wrong. The absolute one confirms it, and too often wrongly.

## How few is too few?

The bootstrap is right for many rows. Here few rows of a tiny group are selected, out of 2,000 rows of all groups;
{times([*found["tiny"].values()])} samples, signed statistic.
"Alone" is how often the binding component rejects on its own: the level of a test
in which nothing else stands in the way. The package warns where fewer than 30 are selected.

{tiny_table(found["tiny"])}

{hard_section(found)}{learning_section(found)}## An audit of a fixed candidate

The same processes with twice the rows; the rule returns the candidate given. {times([*audited.values()])} samples under
the null, {times([*audits_stronger.values()])} under the alternative. "One" is the share of the {REPETITIONS} repetitions that
reject at 5%.

Level:

{audit_table(audited, True)}

Power, at the alternatives of the first table:

{audit_table(audits_stronger, False)}

## An audit with every selection rule

Outcomes are 0/1, accuracy and fairness are classification rates, and of three features two tell the outcome. These
are the package's own rules through `audit`. Slow rules have few samples, and three repetitions: read the Monte Carlo
errors. The programs had a fixed number of nodes. In the first table the null holds with equality; over all rules
one forward repetition at 5% rejects {single} of the time.

Level, where {TIED.words}:

{rule_table(found["rules"], TIED.name)}

Level, where {OPTIMAL.words}:

{rule_table(found["rules"], OPTIMAL.name)}

Power, where {IMPROVABLE.words}:

{rule_table(found["rules"], IMPROVABLE.name)}

### Was it chance?

Among so many levels some come out high by chance. Every audit above with a level that is above 5% by more than {HIGH}
Monte Carlo errors was run again, with three times the samples and fresh seeds:

{again_table(found)}

## The two gap statistics at the size of the application

Held-out rows are as many as in the paper's application: 24,392 of 48,784, of whom 11.4% are black. Shares selected, how
far the selections overlap, and means and spreads of outcomes are those of the public data. The status quo selects about
586 white and 147 black patients, with means of 5.13 and 6.54 conditions; the candidate about 523 and 211; both of them
222 and 95. Outcomes of those selected have a standard deviation of 3.1 to 3.6. The candidate's gap is exactly
(1 - Δ_f) · 1.41, so that "cut by more than Δ_f" is just not true. "Turned" means that the candidate puts white
patients ahead. Decisions are fixed: cutoffs do not move with the training rows. (`compare` with a capacity tests the
rule at the cutoff that these rows give, not at the population's; where outcomes change steeply at the cutoff the two
differ.)

One comparison at 5%, {times([*found["gap"].values()])} samples;
the gap statistic alone, and the whole test, in which accuracy must
improve as well:

{gap_table(found["gap"], "gap")}

For Δ_f up to one half the signed statistic's level is {pooled(early)}, all samples together. Beyond, it falls to
nothing: near perfect fairness it cannot be sure which group is ahead.

An audit by the paper's split, the median of {REPETITIONS} repetitions at 2.5%,
{times([*found["gap of an audit"].values()])} samples:

{gap_table(found["gap of an audit"], "gap of an audit")}

## Is the claim of 64% safe?

The paper reports that the gap can be cut by 64% with no group less accurate: the largest Δ_f at which the median
p-value of {REPETITIONS} repetitions is below 0.025, with the absolute statistic. Such a claim is wrong where the true reduction
is smaller. How often that happens is largest where the truth lies at the boundary, which is what the tables above
simulate.

- At a true reduction of exactly 64% with black patients still ahead, the audit with the absolute statistic claims more
  with probability {shown(absolute)}, {verdict(absolute)}; the whole test with {shown(whole)}.
- With white patients ahead by as much, it claims more with probability {shown(turned)}, {verdict(turned)};
  the whole test with {shown(whole_turned)}, since the gain in accuracy for black patients is small then and must be
  shown, too.
- One comparison at 5% does so with probability {shown(one_repetition)}. The audit is better only because the median is
  cautious: at Δ_f = 0, where this gap of many standard errors leaves the statistic right, its level is
  {shown(at_zero)}.
- The worst that the audit does with the absolute statistic is {worst(found["gap of an audit"], "gap of an audit")}.
- With the signed statistic the audit claims more than 64% with probability {shown(signed)}, and
  {shown(signed_turned)} with white patients ahead.

{claim_words([absolute, turned], [whole, whole_turned])}

This is about the procedure, not about the hospital: the paper's own estimates (gaps of 0.09 to 0.43 against 1.19 to
1.61) point to a reduction larger than 64%.

## Run it again

`make validity`, or `python tests/simulation/validity.py --out docs/validity.md`, took {hours:.1f} hours on one busy
core. What was found in each sample is kept in a folder: a study that was stopped continues, `--share 0.1` draws a tenth
of all samples, and `--page` writes the page of what is there. The seed is {seed}. The processes are in
`tests/simulation/processes.py`, `hard.py`, `learning.py` and `choosing.py`. `make test` runs a short version.
{missing_words(everything)}
"""


def claim_words(alone: Sequence[Rate], whole: Sequence[Rate]) -> str:
    most = {name: f"{max(one.share for one in rates):.1%}" for name, rates in (("a", alone), ("w", whole))}
    if min(one.samples for one in (*alone, *whole)) < ENOUGH and not any(exceeds(one) for one in (*alone, *whole)):
        return "There are too few samples so far to say whether the claim is safe."
    if any(exceeds(one) for one in whole):
        return (
            f"So the claim is not safe: its error is up to {most['w']}, with gains in accuracy like the application's."
        )
    if any(exceeds(one) for one in alone):
        return f"""So the claim is on the edge. With gains in accuracy like the application's, the whole test errs in
up to {most["w"]} of audits: about its level, with nothing to spare. Where gains in accuracy are beyond doubt, so that
only the gap decides, it errs in up to {most["a"]}: above its level. What holds the error down is the caution of the
median, not the statistic, and larger claims are worse: see 0.8 in the table."""
    return "So the simulation does not show the claim to be unsafe: the caution of the median makes up for the fold."
