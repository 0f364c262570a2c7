"""The page that the validity study writes: every number in it comes from the study's results."""

from collections.abc import Sequence
from typing import Any

from simulation.hard_page import hard_section, unexplained, worst_folded
from simulation.levels import ALPHA, DRAWS, MOST_SPLITS, SPLITS, Rate
from simulation.page_parts import Rows, Share, exceeds, shown, table, times
from simulation.processes import IMPROVABLE, OPTIMAL, TIED

CLAIM = 0.64
HIGH = 1.5
WAYS = ("one split", "median", "running_median", "sequential")
SEVERAL_BIND = ("all at once", "near-identical, all", "nearly fair")
"""Processes in which more than one component is at or near its null, so that the level is below 5% by design."""


def is_high(rates: dict[str, Share]) -> bool:
    """Whether a level, by any way of combining, is high enough to be looked at again."""
    return any(Rate(**rates[way]).exceeds(ALPHA, HIGH) for way in WAYS)


def pooled(shares: Sequence[Share]) -> str:
    """One share of several independent studies."""
    total = sum(one["repetitions"] for one in shares)
    share = sum(one["share"] * one["repetitions"] for one in shares) / total
    return f"{share:.4f} ± {(share * (1 - share) / total) ** 0.5:.4f}"


def utilities(truth: dict[str, Sequence[float]]) -> str:
    return ", ".join(f"{group} {before:g} → {after:g}" for group, (before, after) in truth.items())


def compare_table(rows: Rows) -> str:
    gaps = ("signed", "absolute")
    lines = [
        [
            row["name"],
            row["binds"],
            f"{row['rows']:,}",
            utilities(row["null"]),
            *(shown(row["level"][gap], mark=True) for gap in gaps),
            utilities(row["alternative"]),
            *(shown(row["power"][gap]) for gap in gaps),
        ]
        for row in rows
    ]
    head = ["process", "what binds", "rows", "null", "level, signed", "absolute", "alternative", "power, signed"]
    return table([*head, "absolute"], lines)


def tiny_table(rows: Rows) -> str:
    parts = [(binds, part) for binds in ("accuracy", "gap") for part in ("alone", "whole")]
    lines = [[str(row["selected"]), *(shown(row[binds][part], mark=True) for binds, part in parts)] for row in rows]
    return table(["selected, about", "accuracy alone", "whole test", "gap alone", "whole test"], lines)


def audit_table(rows: Rows, part: str) -> str:
    ways = [*WAYS, "absolute, median"]
    lines = [[row["name"], *(shown(row[part][way], part == "level") for way in ways)] for row in rows]
    return table(["process", *ways], lines)


def rule_table(rows: Rows, scene: str) -> str:
    lines = [
        [
            f"`{row['name']}`",
            str(row["splits"]),
            f"{row['rows']:,}",
            str(row[scene]["median"]["repetitions"]),
            *(shown(row[scene][way], scene != IMPROVABLE.name) for way in WAYS),
        ]
        for row in rows
    ]
    return table(["rule", "K", "rows", "repetitions", *WAYS], lines)


def again_table(rows: Rows) -> str:
    lines = [
        [row["name"], when, f"{row[when]['median']['repetitions']:,}", *(shown(row[when][way], True) for way in WAYS)]
        for row in rows
        for when in ("first", "again")
    ]
    return table(["process or rule", "run", "repetitions", *WAYS], lines)


def gap_table(rows: Rows) -> str:
    lines = []
    for delta in dict.fromkeys(row["delta"] for row in rows):
        line = [f"{delta:g}"]
        for turned in (False, True):
            found = [row for row in rows if (row["delta"], row["turned"]) == (delta, turned)]
            parts = (("alone", "signed"), ("alone", "absolute"), ("whole", "absolute"))
            line += [shown(found[0][part][gap], mark=True) if found else "" for part, gap in parts]
        lines.append(line)
    head = ["signed", "absolute", "absolute, whole test"]
    return table(["Δ_f", *head, *(f"turned: {name}" for name in head)], lines)


def above(results: dict[str, Any]) -> list[str]:
    """Where the default statistic is above its level by more than three Monte Carlo errors."""
    found = [f"`compare`, {row['name']}" for row in results["compare"]["rows"] if exceeds(row["level"]["signed"])]
    for row in results["audit"]["rows"]:
        found += [f"`audit`, {row['name']}, {way}" for way in WAYS if exceeds(row["level"][way])]
    for row in results["rules"]["rows"]:
        for scene in (TIED, OPTIMAL):
            found += [f"`{row['name']}`, {way}" for way in WAYS if exceeds(row[scene.name][way])]
    for row in results["again"]["rows"]:
        found += [f"{row['name']} run again, {way}" for way in WAYS if exceeds(row["again"][way])]
    for where, words in (("gap", "one comparison"), ("gap_audit", "an audit")):
        rows = [row for row in results[where]["rows"] if exceeds(row["alone"]["signed"])]
        found += [f"the application, {words}, Δ_f = {row['delta']:g}" for row in rows]
    found += [f"{name}, without a caution" for name in unexplained(results["hard"]["rows"])]
    for row in results["tiny"]["rows"]:
        parts = [binds for binds in ("accuracy", "gap") if exceeds(row[binds]["alone"])]
        found += [f"{binds} alone with about {row['selected']} selected in a tiny group" for binds in parts]
    return found


def exceeding_words(exceeding: Sequence[str]) -> str:
    if not exceeding:
        return "no level is above 5% by more than three Monte Carlo errors unless a caution names the reason."
    return f"above 5% by more than three Monte Carlo errors in {len(exceeding)} places: {'; '.join(exceeding)}."


def at(rows: Rows, delta: float, part: str, gap: str, turned: bool = False) -> Share:
    one: Share = next(row for row in rows if (row["delta"], row["turned"]) == (delta, turned))[part][gap]
    return one


def worst(rows: Rows, gap: str) -> str:
    row = max(rows, key=lambda row: float(row["alone"][gap]["share"]))
    return f"{shown(row['alone'][gap])} at Δ_f = {row['delta']:g}"


def verdict(one: Share) -> str:
    return f"{'above' if exceeds(one) else 'not above'} 5% beyond Monte Carlo error"


def page(results: dict[str, Any], seed: int) -> str:
    """The page, from the results of all studies."""
    rows = {name: one["rows"] for name, one in results.items()}
    gap, audit_gap = rows["gap"], rows["gap_audit"]
    minutes = sum(one["seconds"] for one in results.values()) / 60
    alone = [row["level"]["signed"] for row in rows["compare"] if row["name"] not in SEVERAL_BIND]
    early = [row["alone"]["signed"] for row in gap if row["delta"] <= 0.5]
    audits = [row["level"] for row in rows["audit"] if row["name"] not in SEVERAL_BIND]
    audits += [row[TIED.name] for row in rows["rules"]]
    ways = {way: pooled([one[way] for one in audits]) for way in WAYS[1:]}
    single = [row[TIED.name]["one split"] for row in rows["rules"]]
    absolute, signed = (at(audit_gap, CLAIM, "alone", which) for which in ("absolute", "signed"))
    turned, signed_turned = (at(audit_gap, CLAIM, "alone", which, True) for which in ("absolute", "signed"))
    whole, whole_turned = (at(audit_gap, CLAIM, "whole", "absolute", way) for way in (False, True))
    one_split, at_zero = at(gap, CLAIM, "alone", "absolute"), at(audit_gap, 0.0, "alone", "absolute")
    compared, audited = (
        [times([row[part][way] for row in rows[name]]) for part in ("level", "power")]
        for name, way in (("compare", "signed"), ("audit", "median"))
    )
    tiny = times([row["gap"]["alone"] for row in rows["tiny"]])
    boundary, audit_boundary = (times([row["alone"]["signed"] for row in some]) for some in (gap, audit_gap))
    return f"""# Is the test valid?

A test at the 5% level may reject a true null hypothesis at most one time in twenty. This page says how often it
does, by simulation, on populations whose utilities are known exactly and in which the null holds just so. Every share
comes with its Monte Carlo error, one standard deviation; where nothing or everything was rejected, that of a share of
5%. A level above 5% by more than three Monte Carlo errors is in **bold**. All tests use {DRAWS} bootstrap draws (10,000
in ordinary use). Where not said otherwise, utilities are calibration utilities, the mean outcome of those selected.

## What it says

- The default, `gap="signed"`: {exceeding_words(above(results))}
- The paper's statistic, `gap="absolute"`, has the right level where gaps are many standard errors wide, and a wrong one
  near perfect fairness: in one comparison of the application's size, {worst(gap, "absolute")}. At Δ_f = 0 it is wrong,
  too, where both gaps are about one standard error wide: {worst_folded(rows["folded"])}.
- Few effective rows (rare or skewed outcomes, few clusters, heavy weights) and groups that tie for the widest gap break
  a plain bootstrap. What is corrected, and where a caution must do, is said [below](#where-a-plain-bootstrap-breaks).
- The paper's claim that the gap can be cut by 64% rests on that statistic. If the gap were in truth cut by exactly 64%,
  an audit of {SPLITS} splits would claim more with probability {shown(absolute)} where black patients stay ahead,
  and {shown(turned)} where white patients are ahead under the candidate. With the signed statistic it would
  with probability {shown(signed)} and {shown(signed_turned)}. More on that [below](#is-the-claim-of-64-safe).
- Ways of combining, over all processes and rules below in which one component binds alone: the median of splits at 2.5%
  has a level of {ways["median"]}, the running median {ways["running_median"]}, the sequential median
  {ways["sequential"]}. Caution is the price of a guarantee that holds however the p-values of splits are correlated.

## One comparison

{compared[0]} repetitions under the null, {compared[1]} under the alternative. "a 6 → 6.8" is group a's utility under
the status quo and under the candidate. Over all processes in which one component binds alone, the level of the signed
statistic is {pooled(alone)}.

{compare_table(rows["compare"])}

Where everything binds at once, all components must reject by chance at once, so the level is near zero. Where the gap
must be cut by 90%, the signed statistic needs both of two one-sided tests, whose nulls are both near: with so few rows
it never confirms a nearly perfect gap, right or wrong. The absolute one confirms it, and too often wrongly.

## How few is too few?

The bootstrap is right for many rows. Here few rows of a tiny group are selected, out of 2,000 rows of all groups;
{tiny} repetitions, signed statistic. "Alone" is how often the binding component rejects on its own: the level of a test
in which nothing else stands in the way. The package warns where fewer than 30 are selected.

{tiny_table(rows["tiny"])}

{hard_section(rows)}## An audit of a fixed candidate

The same processes with twice the rows, half of them for testing in each split; the rule returns the candidate given.
{audited[0]} repetitions under the null, {audited[1]} under the alternative. "One split" is the share of the {SPLITS}
splits that reject at 5%; "median" and "running_median" combine them at 2.5%; "sequential" adds splits, up to
{MOST_SPLITS}, until the decision would come out the same again.

Level:

{audit_table(rows["audit"], "level")}

Power, at the alternatives of the first table:

{audit_table(rows["audit"], "power")}

## An audit with every selection rule

Outcomes are 0/1, accuracy and fairness are classification rates, and of three features two tell the outcome. Slow rules
have few repetitions and K = 3 (up to 5 splits if sequential): read the Monte Carlo errors. The programs had half a
second each, so that their numbers may differ on another machine. In the first table the null holds with equality, and
over all rules one split at 5% rejects {pooled_splits(single)} of the time.

Level, where {TIED.words}:

{rule_table(rows["rules"], TIED.name)}

Level, where {OPTIMAL.words}:

{rule_table(rows["rules"], OPTIMAL.name)}

Power, where {IMPROVABLE.words}:

{rule_table(rows["rules"], IMPROVABLE.name)}

### Was it chance?

Among so many levels some come out high by chance. Every audit above with a level that is above 5% by more than {HIGH}
Monte Carlo errors was run again, with three times the repetitions and fresh seeds:

{again_table(rows["again"])}

## The two gap statistics at the size of the application

Held-out rows are as many as in the paper's application: 24,392 of 48,784, of whom 11.4% are black. Shares selected, how
far the selections overlap, and means and spreads of outcomes are those of the public data. The status quo selects about
586 white and 147 black patients, with means of 5.13 and 6.54 conditions; the candidate about 523 and 211; both of them
222 and 95. Outcomes of those selected have a standard deviation of 3.1 to 3.6. The candidate's gap is exactly
(1 - Δ_f) · 1.41, so that "cut by more than Δ_f" is just not true. "Turned" means that the candidate puts white
patients ahead. Decisions are fixed: cutoffs do not move with the training rows. (`compare` with a capacity tests the
rule at the cutoff that these rows give, not at the population's; where outcomes change steeply at the cutoff the two
differ.)

One comparison at 5%, {boundary} repetitions; the gap statistic alone, and the whole test, in which accuracy must
improve as well:

{gap_table(gap)}

For Δ_f up to one half the signed statistic's level is {pooled(early)}, all repetitions together. Beyond, it falls to
nothing: near perfect fairness it cannot be sure which group is ahead.

An audit, the median of {SPLITS} splits at 2.5%, {audit_boundary} repetitions:

{gap_table(audit_gap)}

## Is the claim of 64% safe?

The paper reports that the gap can be cut by 64% with no group less accurate: the largest Δ_f at which the median
p-value of {SPLITS} splits is below 0.025, with the absolute statistic. Such a claim is wrong where the true reduction
is smaller. How often that happens is largest where the truth lies at the boundary, which is what the tables above
simulate.

- At a true reduction of exactly 64% with black patients still ahead, the audit with the absolute statistic claims more
  with probability {shown(absolute)}, {verdict(absolute)}; the whole test with {shown(whole)}.
- With white patients ahead by as much, it claims more with probability {shown(turned)}, {verdict(turned)};
  the whole test with {shown(whole_turned)}, since the gain in accuracy for black patients is small then and must be
  shown, too.
- One comparison at 5% does so with probability {shown(one_split)}. The audit is better only because the median is
  cautious: at Δ_f = 0, where this gap of many standard errors leaves the statistic right, its level is
  {shown(at_zero)}.
- The worst that the audit does with the absolute statistic is {worst(audit_gap, "absolute")}.
- With the signed statistic the audit claims more than 64% with probability {shown(signed)}, and
  {shown(signed_turned)} with white patients ahead.

{claim_words([absolute, turned], [whole, whole_turned])}

This is about the procedure, not about the hospital: the paper's own estimates (gaps of 0.09 to 0.43 against 1.19 to
1.61) point to a reduction larger than 64%.

## Run it again

`make validity`, or `python tests/simulation/validity.py`, took {minutes:.0f} minutes on one busy core. The seed is
{seed}. The processes are in `tests/simulation/processes.py` and `tests/simulation/hard.py`. `make test` runs a short
version.
"""


def pooled_splits(shares: Sequence[Share]) -> str:
    """One share of studies whose repetitions are themselves shares of splits."""
    total = sum(one["repetitions"] for one in shares)
    share = sum(one["share"] * one["repetitions"] for one in shares) / total
    error = sum((one["error"] * one["repetitions"]) ** 2 for one in shares) ** 0.5 / total
    return f"{share:.4f} ± {error:.4f}"


def claim_words(alone: Sequence[Share], whole: Sequence[Share]) -> str:
    most = {name: f"{max(one['share'] for one in shares):.1%}" for name, shares in (("a", alone), ("w", whole))}
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
