"""What is claimed of a candidate, in words: the clauses that hypotheses and verdicts are made of."""

from collections.abc import Mapping

from improvable.question.claim import delta_in
from improvable.results.facts import Facts


def claim_words(facts: Facts) -> str:
    """The claim after "an algorithm": what it is, or what holds with it."""
    conditions = claim_conditions(facts)
    if facts["no_worse"] is not None:
        return (
            f"with which {', and '.join(conditions)} than under the status quo"
            if len(conditions) > 1
            else (f"with which {conditions[0]}")
        )
    joined = ", and " if any("," in one for one in conditions) else " and "
    return f"that {joined.join(one.removeprefix('it ') for one in conditions)} than the status quo"


def claim_conditions(facts: Facts) -> list[str]:
    """The conditions asked for, each as a clause about the candidate."""
    if facts["no_worse"] is not None:
        accuracy, gap = _loss(facts), _gap_clause(facts)
    else:
        accuracy, gap = f"it is {_accuracy_claim(facts)}", f"it {_gap_claim(facts)}"
    return [clause for kind, clause in (("accuracy", accuracy), ("fairness", gap)) if facts["ask"] in ("both", kind)]


def _accuracy_claim(facts: Facts) -> str:
    """What the candidate is to be, after "is"."""
    labels = [utility["name"] for utility in facts["accuracy_utilities"]]
    claims = {label: _claim_in(delta_in(facts["delta_accuracy"], label), facts) for label in labels}
    if len(set(claims.values())) == 1:
        return claims[labels[0]]
    return ", and ".join(f"{claim} in {label}" for label, claim in claims.items())


def _claim_in(deltas: float | Mapping[str, float], facts: Facts) -> str:
    """The accuracy claim in one utility."""
    if facts["overall"] is not None:
        whom = "overall" if facts["overall"] == "population" else "in the weighted mean of the groups"
        return f"{_more_accurate(_one(deltas), facts['form'])} {whom}"
    if not isinstance(deltas, Mapping):
        deltas = dict.fromkeys(facts["groups"], deltas)
    if len(set(deltas.values())) == 1:
        return f"{_more_accurate(_one(deltas), facts['form'])} for every group"
    return " and ".join(f"{_more_accurate(d, facts['form'])} for {g}" for g, d in deltas.items())


def _one(deltas: float | Mapping[str, float]) -> float:
    return next(iter(deltas.values())) if isinstance(deltas, Mapping) else deltas


def _more_accurate(delta: float, form: str) -> str:
    if delta == 0:
        return "more accurate"
    if delta > 0:
        return f"more accurate by over {_amount(delta, form)}"
    return f"less accurate by no more than {_amount(delta, form)}"


def _loss(facts: Facts) -> str:
    """The margin of non-inferiority, as a clause: "no group loses more than 1% of its accuracy"."""
    amount = _amount(facts["no_worse"] or 0.0, facts["form"])
    if facts["overall"] is None:
        of = "of its accuracy" if facts["form"] == "ratio" else "of accuracy"
        return f"no group loses more than {amount} {of}"
    whose = "overall accuracy" if facts["overall"] == "population" else "the weighted mean of the groups' accuracies"
    return f"{whose} falls by no more than {amount}"


def _gap_claim(facts: Facts) -> str:
    return "has " + " and ".join(_gap_claim_in(delta, where, facts["form"]) for delta, where in _gaps(facts))


def _gap_claim_in(delta: float, where: str, form: str) -> str:
    if delta == 0:
        return f"a smaller gap {where}"
    if delta > 0:
        return f"a gap {where} smaller by over {_amount(delta, form)}"
    return f"a gap {where} wider by no more than {_amount(delta, form)}"


def _gap_clause(facts: Facts) -> str:
    """The gap that is claimed, as a clause: "the gap between groups is smaller"."""
    return " and ".join(_gap_clause_in(delta, where, facts["form"]) for delta, where in _gaps(facts))


def _gap_clause_in(delta: float, where: str, form: str) -> str:
    size = "smaller" if delta == 0 else f"smaller by over {_amount(delta, form)}"
    size = f"wider by no more than {_amount(delta, form)}" if delta < 0 else size
    return f"the gap {where} is {size}"


def _gaps(facts: Facts) -> list[tuple[float, str]]:
    """The deltas of the gap, each with where it is: one for all utilities, or one for each."""
    delta, where = facts["delta_fairness"], _where(facts)
    if not isinstance(delta, Mapping):
        return [(delta, where)]
    return [(one, f"{where} in {label}") for label, one in delta.items()]


def _where(facts: Facts) -> str:
    return f"to the disadvantage of {' and '.join(facts['protected'])}" if facts["protected"] else "between groups"


def _amount(delta: float, form: str) -> str:
    return f"{abs(delta):.4g}" if form == "difference" else f"{abs(delta):.4%}".rstrip("0%").rstrip(".") + "%"
