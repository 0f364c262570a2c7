"""Utilities by name. A new one is one entry of `UTILITIES`."""

import re
from functools import cache
from typing import Any

from improvable.errors import OptionError, nearest
from improvable.question.utility import Utility

FLAGS: dict[str, Any] = {"binary_decision": True, "binary_outcome": True}
# Means of outcomes, of the selected or of the others: the higher they are, the higher
# is the bar to be selected.
A_BAR: dict[str, Any] = {
    "binary_decision": True,
    "averages_outcome": True,
    "worse_off": ("higher", "lower"),
    "sense": ("a higher bar for the benefit", "a lower bar for the burden"),
}
# Rates of selection: less of a benefit is worse, and more of a burden. Of rejection,
# the reverse.
SELECTED: dict[str, Any] = {
    "binary_decision": True,
    "reads_outcome": False,
    "worse_off": ("lower", "higher"),
    "sense": (
        "selected less often for the benefit",
        "selected more often for the burden",
    ),
}
SENSE = tuple(f"{words} at the same outcome" for words in SELECTED["sense"])
CHOSEN: dict[str, Any] = {**FLAGS, "worse_off": ("lower", "higher"), "sense": SENSE}
PASSED_OVER: dict[str, Any] = {**CHOSEN, "worse_off": ("higher", "lower")}


def _f_score(beta: float) -> Utility:
    """The F-score, F_beta = (1 + beta^2) hits / (selected + beta^2 positives), of three
    means.
    """
    text = f"{beta:.12g}"
    general = f"(1 + {text}**2) * hits / (selected + {text}**2 * positives)"
    return Utility(
        formula="2 * hits / (selected + positives)" if beta == 1 else general,
        means={
            "hits": lambda y, d: y * d,
            "selected": lambda y, d: d,
            "positives": lambda y, d: y,
        },
        name="f_score" if beta == 1 else f"f{text}_score",
        words=f"the F-score (F{text})",
        worse_off="lower",
        sense="more wrong or missed selections",
        **FLAGS,
    )


BUILT_IN = (
    Utility(
        lambda y, d: y == d,
        None,
        "classification_rate",
        "the rate of correct decisions",
        short="share of correct decisions",
        worse_off="lower",
        sense="more wrong decisions",
        **FLAGS,
    ),
    Utility(
        lambda y, d: y * d,
        lambda y, d: d,
        "calibration",
        "the mean outcome among the selected",
        short="mean outcome of the selected",
        **A_BAR,
    ),
    Utility(
        lambda y, d: y * (1 - d),
        lambda y, d: 1 - d,
        "calibration_rejected",
        "the mean outcome among those not selected",
        short="mean outcome of those not selected",
        higher_is_better=False,
        accuracy_instead="calibration",
        **A_BAR,
    ),
    Utility(
        lambda y, d: (1 - y) * d,
        lambda y, d: 1 - y,
        "false_positive_rate",
        "the rate of selection among outcomes of 0",
        short="share selected, of those with outcome 0",
        higher_is_better=False,
        accuracy_instead="true_negative_rate",
        **CHOSEN,
    ),
    Utility(
        lambda y, d: y * (1 - d),
        lambda y, d: y,
        "false_negative_rate",
        "the rate of rejection among outcomes of 1",
        short="share not selected, of those with outcome 1",
        higher_is_better=False,
        accuracy_instead="true_positive_rate",
        **PASSED_OVER,
    ),
    Utility(
        lambda y, d: y * d,
        lambda y, d: y,
        "true_positive_rate",
        "the rate of selection among outcomes of 1",
        short="share selected, of those with outcome 1",
        **CHOSEN,
    ),
    Utility(
        lambda y, d: (1 - y) * (1 - d),
        lambda y, d: 1 - y,
        "true_negative_rate",
        "the rate of rejection among outcomes of 0",
        short="share not selected, of those with outcome 0",
        **PASSED_OVER,
    ),
    Utility(
        lambda y, d: y * d,
        lambda y, d: d,
        "positive_predictive_value",
        "the share of outcomes of 1 among the selected",
        short="share with outcome 1, of the selected",
        binary_outcome=True,
        **A_BAR,
    ),
    Utility(
        lambda y, d: d,
        None,
        "selection_rate",
        "the rate of selection",
        short="share selected",
        **SELECTED,
    ),
    Utility(
        lambda y, d: d * (y >= d),
        None,
        "profit",
        "the mean profit",
        worse_off="higher",
        sense="it pays more",
    ),
    _f_score(1.0),
    Utility(
        formula="chosen / everyone",
        means={
            "chosen": Utility(lambda y, d: y * d, lambda y, d: d),
            "everyone": lambda y, d: y,
        },
        name="lift",
        words="the mean outcome among the selected, over the group's mean outcome",
        short="lift of the mean outcome",
        **A_BAR,
    ),
    Utility(
        lambda y, d: d,
        None,
        "adverse_impact_ratio",
        "the rate of selection",
        short="share selected (ratio)",
        between="ratio",
        **SELECTED,
    ),
)
UTILITIES: dict[str, Utility] = {utility.name: utility for utility in BUILT_IN}

ALIASES = {  # other names that people know; results use ours
    "accuracy": "classification_rate",
    "recall": "true_positive_rate",
    "sensitivity": "true_positive_rate",
    "specificity": "true_negative_rate",
    "precision": "positive_predictive_value",
}


def canonical(spec: Any) -> Any:
    """Utilities by the names that results use.

    >>> canonical("recall"), canonical(["precision:sick", "selection_rate"])
    ('true_positive_rate', ['positive_predictive_value:sick', 'selection_rate'])
    """
    if isinstance(spec, list | tuple):
        return type(spec)(canonical(one) for one in spec)
    if not isinstance(spec, str):
        return spec
    name, colon, outcome = spec.partition(":")
    return f"{ALIASES.get(name, name)}{colon}{outcome}"


def as_utility(spec: str | Utility) -> Utility:
    """A utility from its name, ``name:outcome_column``, or itself; ``f2_score`` is an
    F-score with beta 2.

    >>> as_utility("calibration:cost").outcome, as_utility("f0.5_score").words
    ('cost', 'the F-score (F0.5)')
    """
    if isinstance(spec, Utility):
        return spec
    if not isinstance(spec, str):
        raise OptionError(
            f"a utility is a name or a Utility, not a {type(spec).__name__}.",
            _every_utility(""),
        )
    name, _, outcome = canonical(spec).partition(":")
    if beta := re.fullmatch(r"f(\d+(?:\.\d+)?)_score", name):
        utility = _with_beta(float(beta[1]))
    elif name in UTILITIES:
        utility = UTILITIES[name]
    else:
        raise OptionError(f"there is no utility '{name}'.", _every_utility(name))
    return utility.on(outcome) if outcome else utility


def short_words(name: str) -> str:
    """Words for a utility in tables and pictures; of one that is not of this catalog,
    its name.

    >>> short_words("selection_rate"), short_words("f2_score"), short_words("my_own")
    ('share selected', 'F-score (F2)', 'my_own')
    """
    try:
        utility = as_utility(name)
    except OptionError:
        return name
    return utility.short or utility.words.removeprefix("the ")


def _every_utility(name: str) -> str:
    near = nearest(name, [*UTILITIES, *ALIASES])
    return (
        f"{near if near.endswith('?') else ''} Choose from {', '.join(UTILITIES)}."
    ).strip()


@cache
def _with_beta(beta: float) -> Utility:
    """One object for each beta, so that the same name is the same utility."""
    if beta == 0:
        raise OptionError(
            "the F-score has beta 0.", "That is 'positive_predictive_value'."
        )
    return UTILITIES["f_score"] if beta == 1 else _f_score(beta)


def as_accuracy(spec: str | Utility, lower_is_better: bool = False) -> Utility:
    """A utility that can stand for accuracy: higher must be better, or it averages
    outcomes of which lower is.
    """
    utility = as_utility(spec)
    if lower_is_better and utility.reads_outcome:
        if utility.averages_outcome:
            return utility
        raise OptionError(
            (
                f"`lower_is_better` does not turn '{utility.label}' around, which is "
                "not a mean of outcomes."
            ),
            (
                "Recode the outcome so that 1, or more, is what should be selected; or "
                "use 'calibration'."
            ),
        )
    if not utility.higher_is_better:
        instead = (
            f"'{utility.accuracy_instead}'"
            if utility.accuracy_instead
            else "one where higher is better"
        )
        raise OptionError(
            f"'{utility.label}' cannot measure accuracy, because lower is better.",
            f"Use {instead}.",
        )
    return utility
