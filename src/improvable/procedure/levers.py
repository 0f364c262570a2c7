"""Settings that make an audit fail, or succeed, whatever the truth is: allowed, and said beside the verdict."""

from improvable.errors import LEVER, Caution
from improvable.procedure.planning import Plan
from improvable.question.claim import every_delta
from improvable.question.design import Question

LEAST_TRAINED, LEAST_TESTED = 0.1, 0.1
MOST_GAP_CUT, MOST_GAIN = 0.75, 0.5
MOST_ALPHA, MOST_WORSE = 0.2, 0.5


def lever_cautions(plan: Plan) -> list[Caution]:
    """What somebody who wants "not shown", or "shown", would choose."""
    return [*_hard(plan), *easy_cautions(plan.design.question)]


def easy_cautions(question: Question) -> list[Caution]:
    """A level at which chance alone rejects, a margin that allows any loss, a claim that grants what it denies."""
    out, claim = [], question.claim
    if question.alpha > MOST_ALPHA:
        text = f"the level is {question.alpha:g}: chance alone shows an improvement that often. 0.05 is usual."
        out.append(Caution(f"{LEVER} easy level", text))
    if claim.no_worse is not None and claim.no_worse > MOST_WORSE:
        loss = f"{claim.no_worse:.0%} of its accuracy" if claim.form == "ratio" else f"{claim.no_worse:g} of accuracy"
        text = f"the margin lets every group lose {loss}."
        out.append(Caution(f"{LEVER} easy margin", text))
    elif claim.no_worse is None and min(every_delta(claim.delta_accuracy), default=0.0) < 0:
        text = "a delta of accuracy is negative: what is shown allows a loss of accuracy."
        out.append(Caution(f"{LEVER} easy accuracy", text))
    if claim.asks("fairness") and min(every_delta(claim.delta_fairness), default=0.0) < 0:
        text = "a delta of fairness is negative: what is shown allows a wider gap."
        out.append(Caution(f"{LEVER} easy fairness", text))
    return out


def _hard(plan: Plan) -> list[Caution]:
    """Hardly any rows to learn from or to test on, a huge delta."""
    out, claim = [], plan.design.question.claim
    if plan.scheme == "split" and plan.train_fraction < LEAST_TRAINED:
        text = (
            f"the rule learns from only {plan.train_fraction:.0%} of the rows, so that it may find little. Not finding "
            "an improvement then says little; half of the rows is usual."
        )
        out.append(Caution(f"{LEVER} training", text))
    if plan.scheme == "split" and 1 - plan.train_fraction < LEAST_TESTED:
        text = (
            f"candidates are tested on only {1 - plan.train_fraction:.0%} of the rows, so that little can be shown. "
            "Half of the rows is usual."
        )
        out.append(Caution(f"{LEVER} testing", text))
    if claim.form != "ratio":
        return out
    most = max(every_delta(claim.delta_fairness), default=0.0)
    if claim.asks("fairness") and most > MOST_GAP_CUT:
        text = (
            f"the claim asks that the gap shrink by {most:.0%} or more. Not showing that does not mean "
            "that a smaller improvement is out of reach."
        )
        out.append(Caution(f"{LEVER} delta fairness", text))
    most = max(every_delta(claim.delta_accuracy), default=0.0)
    if claim.asks("accuracy") and most > MOST_GAIN:
        text = (
            f"the claim asks that accuracy rise by {most:.0%} or more. Not showing that does not mean that a smaller "
            "improvement is out of reach."
        )
        out.append(Caution(f"{LEVER} delta accuracy", text))
    return out
