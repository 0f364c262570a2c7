"""The sections of the validity page on the two gap statistics, and on the paper's claim
that rests on one of them.
"""

from collections.abc import Sequence

from validity.page_parts import (
    Studies,
    Study,
    exceeds,
    part,
    pooled,
    shown,
    table,
    times,
)
from validity.schemes import REPETITIONS
from validity.study import ALPHA, Rate

CLAIM = 0.64
ENOUGH = 500
"""Samples, for a sentence that nothing was found."""


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


def worst(study: Study, name: str) -> str:
    level = ALPHA if name == "gap" else ALPHA / 2
    rates = {unit: one.below("absolute alone", level) for unit, one in study.items()}
    unit = max(rates, key=lambda one: rates[one].share)
    return f"{shown(rates[unit])} at Δ_f = {unit.partition('/')[2]}"


def verdict(one: Rate) -> str:
    return f"{'above' if exceeds(one) else 'not above'} 5% beyond Monte Carlo error"


def gaps_above(found: Studies) -> list[str]:
    """Where the signed statistic is above its level by more than three Monte Carlo
    errors.
    """
    out = []
    for study, level in (("gap", ALPHA), ("gap of an audit", ALPHA / 2)):
        high = [
            name
            for name, one in found[study].items()
            if exceeds(one.below("signed alone", level))
        ]
        out += [f"the application, {name.replace('/', ' at Δ_f = ')}" for name in high]
    return out


def audit_gap(found: Studies, delta: float, what: str, turned: bool = False) -> Rate:
    return found["gap of an audit"][
        f"gap of an audit{' turned' * turned}/{delta:g}"
    ].below(what, ALPHA / 2)


def gaps_say(found: Studies) -> str:
    return f"""\
- The paper's statistic, `gap="absolute"`, has the right level where gaps are many standard errors wide, and a wrong one
  near perfect fairness: in one comparison [of the application's
  size](#the-two-gap-statistics-at-the-size-of-the-application), {worst(found["gap"], "gap")}."""  # noqa: E501


def claim_says(found: Studies) -> str:
    absolute, signed = (
        audit_gap(found, CLAIM, f"{gap} alone") for gap in ("absolute", "signed")
    )
    turned, signed_turned = (
        audit_gap(found, CLAIM, f"{gap} alone", True) for gap in ("absolute", "signed")
    )
    return f"""\
- The paper's claim that the gap can be cut by 64% rests on that statistic. If the gap were in truth cut by exactly 64%,
  an audit by the paper's split would claim more with probability {shown(absolute)} where black patients stay ahead,
  and {shown(turned)} where white patients are ahead under the candidate. With the signed statistic it would
  with probability {shown(signed)} and {shown(signed_turned)}. More on that [below](#is-the-claim-of-64-safe)."""  # noqa: E501


def gap_section(found: Studies) -> str:
    early = [
        one.below("signed alone", ALPHA)
        for name, one in found["gap"].items()
        if float(name.split("/")[1]) <= 0.5
    ]
    return f"""## The two gap statistics at the size of the application

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

"""  # noqa: E501


def claim_section(found: Studies) -> str:
    absolute, signed = (
        audit_gap(found, CLAIM, f"{gap} alone") for gap in ("absolute", "signed")
    )
    turned, signed_turned = (
        audit_gap(found, CLAIM, f"{gap} alone", True) for gap in ("absolute", "signed")
    )
    whole, whole_turned = (
        audit_gap(found, CLAIM, "absolute whole", way) for way in (False, True)
    )
    one_repetition = found["gap"][f"gap/{CLAIM:g}"].below("absolute alone", ALPHA)
    at_zero = audit_gap(found, 0.0, "absolute alone")
    return f"""## Is the claim of 64% safe?

The paper reports that the gap can be cut by 64% with no group less accurate: the largest Δ_f at which the median
p-value of {REPETITIONS} repetitions is below 0.025, with the absolute statistic. Such a claim is wrong where the true
reduction is smaller. How often that happens is largest where the truth lies at the boundary, which is what the tables
above simulate.

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

"""  # noqa: E501


def claim_words(alone: Sequence[Rate], whole: Sequence[Rate]) -> str:
    most = {
        name: f"{max(one.share for one in rates):.1%}"
        for name, rates in (("a", alone), ("w", whole))
    }
    if min(one.samples for one in (*alone, *whole)) < ENOUGH and not any(
        exceeds(one) for one in (*alone, *whole)
    ):
        return "There are too few samples so far to say whether the claim is safe."
    if any(exceeds(one) for one in whole):
        return (
            f"So the claim is not safe: its error is up to {most['w']}, with gains in "
            "accuracy like the application's."
        )
    if any(exceeds(one) for one in alone):
        return f"""So the claim is on the edge. With gains in accuracy like the application's, the whole test errs in
up to {most["w"]} of audits: about its level, with nothing to spare. Where gains in accuracy are beyond doubt, so that
only the gap decides, it errs in up to {most["a"]}: above its level. What holds the error down is the caution of the
median, not the statistic, and larger claims are worse: see 0.8 in the table."""  # noqa: E501
    return (
        "So the simulation does not show the claim to be unsafe: the caution of the "
        "median makes up for the fold."
    )
