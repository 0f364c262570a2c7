"""A reader's words instead of names of columns and utilities.

Labels come from the protocol: column -> words. They are put into a copy of the facts,
so that every sentence, table and picture that is made from the copy has them. The JSON
keeps the names.
"""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

from improvable.question.catalog import short_words
from improvable.results.facts import Facts


def labeled(facts: Facts) -> Facts:
    """The facts in the words of the protocol's labels; themselves where there are
    none.
    """
    labels = facts["about"].get("labels", {})
    return _renamed(facts, labels, utilities=False) if labels else facts


def in_words(facts: Facts) -> Facts:
    """The facts in the words of the labels, with words for the built-in utilities
    too.
    """
    return _renamed(facts, facts["about"].get("labels", {}), utilities=True)


def utility_words(measure: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """A short name of a utility, with the label of its outcome.

    Examples
    --------
    >>> utility_words(
    ...     {"name": "calibration:cost", "outcome": "cost"}, {"cost": "cost of care"}
    ... )
    'mean cost of care of the selected'
    >>> utility_words({"name": "true_positive_rate:sick", "outcome": "sick"}, {})
    'share selected, of those with outcome 1: sick'
    >>> utility_words(
    ...     {"name": "true_positive_rate", "outcome": "sick"}, {"sick": "diabetes"}
    ... )
    'share selected, of those with diabetes'
    """
    name, _, outcome = str(measure["name"]).partition(":")
    short, label = short_words(name), labels.get(measure["outcome"])
    if label and short != name:
        told = short.replace("mean outcome", f"mean {label}")
        told = told.replace("with outcome 1", f"with {label}").replace(
            "with outcome 0", f"without {label}"
        )
        if told != short:
            return told
    return f"{short}: {label or outcome}" if outcome else short


def _renamed(facts: Facts, labels: dict[str, str], *, utilities: bool) -> Facts:
    plain: Any = deepcopy(facts)

    def of(name: Any) -> Any:
        return (
            [of(one) for one in name]
            if isinstance(name, list)
            else labels.get(name, name)
        )

    names: dict[str, str] = {}
    for measure in (*plain["accuracy_utilities"], *plain["fairness_utilities"]):
        names[measure["name"]] = (
            utility_words(measure, labels) if utilities else measure["name"]
        )
        if measure["outcome"] in labels and "mean outcome" in measure["words"]:
            measure["words"] = measure["words"].replace(
                "mean outcome", f"mean {of(measure['outcome'])}"
            )
            measure["outcome"] = ""
        measure["outcome"], measure["name"] = (
            of(measure["outcome"]),
            names[measure["name"]],
        )
    for key in ("outcome", "group", "target", "weight", "cluster", "stratum", "row_id"):
        if plain.get(key):
            plain[key] = of(plain[key])
    for key in (
        "disparity",
        "disparities",
        "estimates",
        "repetitions",
        "diagnostics",
        "shortfall",
    ):
        _rename_in(plain[key], names, labels)
    if plain["tipping_benchmark"]:
        plain["tipping_benchmark"]["what"] = of(plain["tipping_benchmark"]["what"])
    if "features" in plain:
        plain["features"] = {
            of(name): words for name, words in plain["features"].items()
        }
    if "look" in plain:
        look = plain["look"]
        look["roles"] = {role: of(name) for role, name in look["roles"].items()}
        for one in look["outcomes"]:
            one["column"] = of(one["column"])
        for part in (look, *look["features"].values()):
            for key in {
                "features",
                "left_out",
                "features_tell_group",
                "tells_outcome",
                "tells_group",
            } & set(part):
                part[key] = {of(name): value for name, value in part[key].items()}
    return cast(Facts, plain)


def _rename_in(part: Any, names: Mapping[str, str], labels: Mapping[str, str]) -> None:
    """Rename utilities and columns wherever they stand; a `group` is a column where the
    number is a gap.
    """
    for one in part if isinstance(part, list) else ():
        _rename_in(one, names, labels)
    if not isinstance(part, dict):
        return
    gap = part.get("kind") in ("gap", "fairness") or "higher" in part
    for key, value in part.items():
        if key in ("utility", "measure"):
            part[key] = names.get(value, value)
        elif key == "attribute" or (key == "group" and gap):
            part[key] = labels.get(value, value)
        elif key != "rule_notes":
            _rename_in(value, names, labels)
