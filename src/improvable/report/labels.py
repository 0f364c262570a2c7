"""A reader's words instead of names of columns and utilities.

Labels come from the protocol: column -> words. They are put into a copy of the facts, so that every sentence, table
and picture that is made from the copy has them. The JSON keeps the names.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from improvable.question.catalog import short_words
from improvable.results.facts import Facts


def labeled(facts: Facts) -> Facts:
    """The facts in the words of the protocol's labels; themselves where there are none."""
    labels = facts["about"].get("labels", {})
    return _renamed(facts, labels, utilities=False) if labels else facts


def in_words(facts: Facts) -> Facts:
    """The facts in the words of the labels, with words for the built-in utilities too."""
    return _renamed(facts, facts["about"].get("labels", {}), utilities=True)


def utility_words(measure: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """A short name of a utility, with the label of its outcome.

    Examples
    --------
    >>> utility_words({"name": "calibration:cost", "outcome": "cost"}, {"cost": "cost of care"})
    'mean cost of care of the selected'
    >>> utility_words({"name": "true_positive_rate:sick", "outcome": "sick"}, {})
    'share selected, of those with outcome 1: sick'
    >>> utility_words({"name": "true_positive_rate", "outcome": "sick"}, {"sick": "diabetes"})
    'share selected, of those with diabetes'
    """
    name, _, outcome = str(measure["name"]).partition(":")
    short, label = short_words(name), labels.get(measure["outcome"])
    if label and short != name:
        told = short.replace("mean outcome", f"mean {label}")
        told = told.replace("with outcome 1", f"with {label}").replace("with outcome 0", f"without {label}")
        if told != short:
            return told
    return f"{short}: {label or outcome}" if outcome else short


def _renamed(facts: Facts, labels: dict[str, str], *, utilities: bool) -> Facts:
    plain: Any = deepcopy(facts)

    def of(name: str) -> str:
        return labels.get(name, name)

    names: dict[str, str] = {}
    for measure in (*plain["accuracy_utilities"], *plain["fairness_utilities"]):
        names[measure["name"]] = utility_words(measure, labels) if utilities else measure["name"]
        if measure["outcome"] in labels and "mean outcome" in measure["words"]:
            measure["words"] = measure["words"].replace("mean outcome", f"mean {of(measure['outcome'])}")
            measure["outcome"] = ""
        measure["outcome"] = of(measure["outcome"])
        measure["name"] = names[measure["name"]]
    for key in ("outcome", "target", "weight", "cluster", "stratum", "row_id"):
        if plain.get(key):
            plain[key] = of(plain[key])
    plain["group"] = [of(name) for name in plain["group"]]
    for disparity in (plain["disparity"], *plain["disparities"]):
        disparity["group"] = of(disparity["group"])
        disparity["utility"] = names.get(disparity["utility"], disparity["utility"])
    for one in plain["estimates"]:
        one["utility"] = names[one["utility"]]
        one["group"] = of(one["group"]) if one["kind"] == "gap" else one["group"]
    for repetition in plain["repetitions"]:
        for component in repetition["components"]:
            component["utility"] = names[component["utility"]]
            if component["kind"] == "fairness":
                component["group"] = of(component["group"])
        for one in repetition["intervals"]:
            one["measure"] = names[one["measure"]]
    _rename_diagnostics(plain["diagnostics"], names, labels)
    if plain["shortfall"]:
        lack = plain["shortfall"]
        lack["utility"] = names[lack["utility"]]
        lack["group"] = of(lack["group"]) if lack["kind"] == "fairness" else lack["group"]
    if "features" in plain:
        plain["features"] = {of(name): words for name, words in plain["features"].items()}
    if "look" in plain:
        plain["look"] = _renamed_look(plain["look"], labels)
    return cast(Facts, plain)


def _rename_diagnostics(plain: Any, names: dict[str, str], labels: dict[str, str]) -> None:
    for one in (*plain["candidate_gaps"], *plain["welfare"]):
        one["utility"] = names[one["utility"]]
    for one in plain["candidate_gaps"]:
        one["group"] = labels.get(one["group"], one["group"])
    for one in plain["selection_rates"]:
        one["attribute"] = labels.get(one["attribute"], one["attribute"])


def _renamed_look(look: Any, labels: dict[str, str]) -> Any:
    def of(name: Any) -> Any:
        return [of(one) for one in name] if isinstance(name, list) else labels.get(name, name)

    look["roles"] = {role: of(name) if name else name for role, name in look["roles"].items()}
    for one in look["outcomes"]:
        one["column"] = of(one["column"])
    for key in ("features", "left_out", "features_tell_group"):
        look[key] = {of(name): value for name, value in look[key].items()}
    for one in look["features"].values():
        for key in ("tells_outcome", "tells_group"):
            one[key] = {of(name): value for name, value in one[key].items()}
    return look
