"""The sentences of every output: hypotheses, verdict, and what the verdict does not say."""

import math
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Decimal
from typing import Any


def p_text(p_value: float, draws: int) -> str:
    """A p-value as it is printed; none of `draws` draws is less than one in `draws`, never zero.

    Examples
    --------
    >>> p_text(0.0, 10_000), p_text(0.0003, 10_000), p_text(0.25, 10_000)
    ('< 0.0001', '0.0003', '0.2500')
    """
    digits = max(4, math.ceil(math.log10(draws)))
    if p_value == 0:
        return f"< {math.ceil(10**digits / draws) / 10**digits:.{digits}f}".rstrip("0")
    return f"{p_value:.{digits}f}"


def value_text(value: float | None) -> str:
    """An estimate with digits enough to compare; a half is rounded up, as readers do who check by hand.

    Examples
    --------
    >>> value_text(6.5625), value_text(1234.5678), value_text(None)
    ('6.563', '1234.6', 'none')
    """
    if value is None:
        return "none"
    digits = 0 if abs(value) >= 10_000 else 1 if abs(value) >= 100 else 3
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):{',' if digits == 0 else ''}f}"


def _amount(delta: float, form: str) -> str:
    return f"{abs(delta):.4g}" if form == "difference" else f"{abs(delta):.4%}".rstrip("0%").rstrip(".") + "%"


def _accuracy_claim(facts: dict[str, Any]) -> str:
    deltas = facts["delta_accuracy"]
    if facts["overall"] is not None:
        whom = "overall" if facts["overall"] == "population" else "in the weighted mean of groups"
        return f"{_more_accurate(deltas, facts['form'])} {whom}"
    if not isinstance(deltas, dict):
        deltas = dict.fromkeys(facts["groups"], deltas)
    if len(set(deltas.values())) == 1:
        return f"{_more_accurate(next(iter(deltas.values())), facts['form'])} for every group"
    return " and ".join(f"{_more_accurate(d, facts['form'])} for {g}" for g, d in deltas.items())


def _more_accurate(delta: float, form: str) -> str:
    if delta == 0:
        return "more accurate"
    if delta > 0:
        return f"more accurate by over {_amount(delta, form)}"
    return f"less accurate by no more than {_amount(delta, form)}, if at all,"


def _gap_claim(facts: dict[str, Any]) -> str:
    delta, form = facts["delta_fairness"], facts["form"]
    where = f"to the disadvantage of {' and '.join(facts['protected'])}" if facts["protected"] else "between groups"
    if delta == 0:
        return f"has a smaller gap {where}"
    if delta > 0:
        return f"has a gap {where} smaller by over {_amount(delta, form)}"
    return f"has a gap {where} wider by no more than {_amount(delta, form)}, if at all"


def measure_words(measure: dict[str, str]) -> str:
    """What a utility measures, with the column it reads."""
    return f"{measure['words']} ({measure['outcome']})" if measure["outcome"] else measure["words"]


def component_title(component: dict[str, Any], facts: dict[str, Any]) -> str:
    """A component of the test in a table: its group, or the gap; with its utility where there are several."""
    accuracy = component["kind"] == "accuracy"
    measures = facts["accuracy_utilities" if accuracy else "fairness_utilities"]
    attributes = {c["group"] for c in facts["splits"][0]["components"] if c["kind"] == "fairness"}
    name = component["group"] if accuracy else "gap" + (f" by {component['group']}" if len(attributes) > 1 else "")
    return name + (f", {component['utility']}" if len(measures) > 1 else "")


def component_name(component: dict[str, Any], facts: dict[str, Any]) -> str:
    """The same where it stands alone: "accuracy of black", "gap"."""
    title = component_title(component, facts)
    return f"accuracy of {title}" if component["kind"] == "accuracy" else title


def combined_name(facts: dict[str, Any]) -> str:
    """What the combined p-value of several splits is called."""
    return "smallest running median" if facts["combine"] == "running_median" else "median"


def seal_words(facts: dict[str, Any]) -> str:
    """Whether the splits, or the question, could have been chosen after looking."""
    if facts.get("asked_again"):
        return "Asked again of a finished run: this question is not the one that was declared."
    if facts.get("challenge") is None:
        return f"Seed {facts['seed']}, chosen by the analyst: this run is not sealed."
    chosen = f"the challenge '{facts['challenge']}'" if facts["challenge"] else "an empty challenge"
    if facts.get("seal") is None:
        return f"The splits follow from the data and {chosen}, given by whoever ran this: this run is not sealed."
    return f"Sealed ({facts['seal'][:16]}...): the splits follow from the data and {chosen}; no seed was chosen."


def claim_words(facts: dict[str, Any]) -> str:
    return f"is {_accuracy_claim(facts)} and {_gap_claim(facts)}"


def null_hypothesis(facts: dict[str, Any]) -> str:
    """H0 in words."""
    if facts["kind"] == "comparison":
        return f"It is not so that the candidate {claim_words(facts)} than the status quo."
    return f"No algorithm that the rule '{facts['rule']}' can find {claim_words(facts)} than the status quo."


def alternative_hypothesis(facts: dict[str, Any]) -> str:
    """H1 in words."""
    if facts["kind"] == "comparison":
        return f"The candidate {claim_words(facts)} than the status quo."
    return f"The rule '{facts['rule']}' can find an algorithm that {claim_words(facts)} than the status quo."


def verdict(facts: dict[str, Any]) -> str:
    """What was found, in plain words."""
    many = len(facts["splits"]) > 1
    p = f"p = {facts['p_value_text']}" if not facts["p_value_text"].startswith("<") else f"p {facts['p_value_text']}"
    p = f"{combined_name(facts)} {p} of {len(facts['splits'])} splits" if many else p
    bound = f"{facts['threshold']:g}" + (" = alpha / 2" if many else "")
    level = f"{facts['alpha']:.4g}"
    if facts["reject"]:
        return f"REJECTED at level {level} ({p}, below {bound}). {alternative_hypothesis(facts)}"
    found = (
        "It was not shown that the candidate"
        if facts["kind"] == "comparison"
        else f"With these data the rule '{facts['rule']}' did not find an algorithm that"
    )
    return f"NOT REJECTED at level {level} ({p}, not below {bound}). {found} {claim_words(facts)} than the status quo."


def limits(facts: dict[str, Any]) -> str:
    """What the verdict does not say; part of every output."""
    if facts["reject"]:
        return (
            f"Were there no such improvement, this test would reject at most {100 * facts['alpha']:g}% of the time "
            "(in large samples). Rejecting does not say that the status quo is unlawful, nor which algorithm should "
            "replace it."
        )
    if facts["kind"] == "comparison":
        return "Not rejecting is no proof that the candidate does not improve: the rows may be too few to show it."
    return (
        "Not rejecting is no proof that nothing better exists: another rule, other features or more rows may find an "
        "improvement."
    )


def draws_text(facts: Mapping[str, Any]) -> str:
    """How p-values were drawn.

    Examples
    --------
    >>> draws_text({"draws": 10_000, "method": "bootstrap"})
    '10,000 bootstrap draws'
    """
    kinds = {"bootstrap": "bootstrap draws", "delta": "draws of the normal limit (method 'delta')"}
    return f"{facts['draws']:,} {kinds.get(facts['method'], 'draws, of the bootstrap or of its normal limit')}"


def training_text(facts: Mapping[str, Any]) -> str:
    """How an engine divided the rows, and how many of them a rule saw.

    Examples
    --------
    >>> training_text({"train_rows": 100_000, "row_id": "person", "cluster": None})
    "Rows are divided by a hash of 'person'; a rule, and thresholds, see at most 100,000 training rows of each split."
    """
    key = facts["cluster"] or facts["row_id"]
    of = f"'{key}'" if key else "their content"
    return (
        f"Rows are divided by a hash of {of}; a rule, and thresholds, see at most {facts['train_rows']:,} "
        "training rows of each split."
    )
