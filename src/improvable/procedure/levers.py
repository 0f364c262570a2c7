"""Settings that make an audit fail whatever the truth is: allowed, and said beside the verdict."""

from improvable.errors import LEVER, Caution
from improvable.procedure.planning import Plan
from improvable.question.deltas import every_delta

LEAST_TRAINED, LEAST_TESTED = 0.1, 0.1
MOST_GAP_CUT, MOST_GAIN = 0.75, 0.5


def lever_cautions(plan: Plan) -> list[Caution]:
    """What somebody who wants "not shown" would choose: hardly any rows to learn from or to test on, a huge delta."""
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
