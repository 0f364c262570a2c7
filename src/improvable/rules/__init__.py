"""Selection rules: training rows in, a candidate algorithm out (the paper's rho, Section 3.1).

A new rule is a file in this folder and a line in `RULES`.
"""

from typing import Any

from improvable.errors import OptionError, nearest
from improvable.rules.predictive import PREDICTIVE, PredictiveRule
from improvable.rules.protocol import SelectionRule, Training

RULES: dict[str, SelectionRule] = {**PREDICTIVE}

__all__ = ["RULES", "PredictiveRule", "SelectionRule", "Training", "as_rule"]


def as_rule(spec: Any) -> SelectionRule:
    """A rule from its name, from any scikit-learn estimator, or itself."""
    if isinstance(spec, str):
        if spec not in RULES:
            raise OptionError(f"there is no rule '{spec}'.", nearest(spec, RULES))
        return RULES[spec]
    if hasattr(spec, "select"):
        return spec  # type: ignore[no-any-return]
    if hasattr(spec, "fit") and hasattr(spec, "predict") and not isinstance(spec, type):
        return PredictiveRule(type(spec).__name__, lambda _: spec, raw=_is_pipeline(spec))
    raise OptionError(
        f"a {spec.__name__ if isinstance(spec, type) else type(spec).__name__} is not a selection rule.",
        "Give a rule's name, a scikit-learn estimator (an instance), or an object with select(training, status_quo).",
    )


def _is_pipeline(estimator: Any) -> bool:
    """Whether an estimator prepares its own columns: a pipeline, or a search over one."""
    inner = getattr(estimator, "estimator", None)
    return hasattr(estimator, "steps") or (inner is not None and _is_pipeline(inner))
