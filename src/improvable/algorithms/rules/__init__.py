"""Selection rules: training rows in, a candidate algorithm out (the paper's rho, Section 3.1).

A new rule is a file in this folder and a line in `RULES`; one with a setting of its own, such as ``ridge:10``, a line
in `FAMILIES`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from improvable.algorithms.rules.base import Selection, SelectionRule, Training
from improvable.algorithms.rules.foreign import ForeignRule, import_rule
from improvable.algorithms.rules.linear_classifiers import linear_rule
from improvable.algorithms.rules.predictive import PREDICTIVE, PredictiveRule, forest, ridge
from improvable.algorithms.rules.prices import PRICE, price
from improvable.algorithms.rules.reductions import reduction
from improvable.algorithms.rules.tournament import Tournament, tournament
from improvable.algorithms.rules.variations import Blend, Unnamed, WithoutFeatures, blend
from improvable.errors import OptionError, nearest

RULES: dict[str, SelectionRule] = {
    **PREDICTIVE,
    "linear_search": linear_rule("linear_search", ""),
    "linear_program": linear_rule("linear_program", ""),
    "price": PRICE,
}

__all__ = [
    "RULES",
    "PredictiveRule",
    "Selection",
    "SelectionRule",
    "Tournament",
    "Training",
    "as_rule",
    "as_tournament",
]


def as_rule(spec: Any) -> SelectionRule:
    """A rule from its name, from any scikit-learn estimator, from ``module:object``, or itself.

    Examples
    --------
    >>> as_rule("ridge:10").name, as_rule("blend:0.5:linear").name
    ('ridge:10', 'blend:0.5:linear')
    """
    if isinstance(spec, str):
        return _named(spec)
    if hasattr(spec, "select") and not isinstance(spec, type):
        return spec if hasattr(spec, "name") else Unnamed(spec)
    if hasattr(spec, "fit") and hasattr(spec, "predict") and not isinstance(spec, type):
        return PredictiveRule(type(spec).__name__, lambda *_: spec, raw=_is_pipeline(spec))
    raise OptionError(
        f"a {spec.__name__ if isinstance(spec, type) else type(spec).__name__} is not a selection rule.",
        "Give a rule's name, a scikit-learn estimator (an instance), or an object with select(training, status_quo).",
    )


def as_tournament(specs: Sequence[Any]) -> Tournament:
    """A contest of several rules."""
    return tournament([as_rule(spec) for spec in specs])


def _named(spec: str) -> SelectionRule:
    if spec in RULES:
        return RULES[spec]
    family, _, setting = spec.partition(":")
    if family in FAMILIES:
        try:
            return FAMILIES[family](setting)
        except ValueError as error:
            if isinstance(error, OptionError):
                raise
            raise OptionError(f"'{spec}' is not a rule.", f"Write it like {EXAMPLES[family]}.") from error
    if setting:
        return import_rule(family, setting)
    raise OptionError(f"there is no rule '{spec}'.", nearest(spec, [*RULES, *EXAMPLES.values()]))


def is_own_rule(rule: Any) -> bool:
    """Whether a rule, or one inside it, is code of the caller's own, which may learn from any column."""
    return _is_foreign(rule) or any(map(is_own_rule, _inside(rule)))


def _is_foreign(rule: Any) -> bool:
    return isinstance(rule, ForeignRule) or not type(rule).__module__.startswith("improvable.")


def runs_foreign_code(rule: Any) -> bool:
    """Whether code that is neither ours nor of a library that we build on chooses the candidate."""
    if isinstance(rule, PredictiveRule):
        estimator = rule.estimator(False, None)
        parts = [estimator, *estimator.get_params(deep=True).values()]
        return any((hasattr(one, "fit") or callable(one)) and not _known(one) for one in parts)
    return _is_foreign(rule) or any(map(runs_foreign_code, _inside(rule)))


def keeps_state(rule: Any) -> bool:
    """Whether foreign code runs in our own process, where it may remember one block in the next."""
    if isinstance(rule, ForeignRule):
        return False
    inside = _inside(rule)
    return any(map(keeps_state, inside)) if inside else runs_foreign_code(rule)


def _known(part: Any) -> bool:
    """Whether an estimator, or a function inside one, is of a library that we build on."""
    module = getattr(part, "__module__", None) or type(part).__module__
    return str(module).split(".")[0] in ("improvable", "numpy", "scipy", "skrub", "sklearn")


def blends(rule: Any) -> bool:
    """Whether candidates of a rule, or of one inside it, read the status quo's score."""
    return isinstance(rule, Blend) or any(map(blends, _inside(rule)))


def _inside(rule: Any) -> tuple[Any, ...]:
    """The rules that a rule is made of."""
    if not type(rule).__module__.startswith("improvable."):
        return ()
    return (*getattr(rule, "rules", ()), *([rule.rule] if hasattr(rule, "rule") else []))


def own_modules(spec: str) -> list[str]:
    """Modules of somebody's own in a rule's name, which are run when the rule is made.

    Examples
    --------
    >>> own_modules("tournament:linear,blend:0.5:their_rules:rule")
    ['their_rules']
    """
    family, separator, setting = spec.partition(":")
    if family in ("drop", "blend"):
        return own_modules(setting.partition(":")[2])
    if family == "price":
        return own_modules(setting)
    if family == "tournament":
        return [module for one in setting.split(",") for module in own_modules(one)]
    return [family] if separator and family not in FAMILIES else []


def _two(make: Callable[[str, SelectionRule], SelectionRule]) -> Callable[[str], SelectionRule]:
    """A family whose setting is followed by another rule."""

    def parse(setting: str) -> SelectionRule:
        first, separator, rule = setting.partition(":")
        if not separator:
            raise ValueError("a rule is missing")
        return make(first, as_rule(rule))

    return parse


FAMILIES: dict[str, Callable[[str], SelectionRule]] = {
    "forest": forest,
    "ridge": ridge,
    "linear_search": lambda setting: linear_rule("linear_search", setting),
    "linear_program": lambda setting: linear_rule("linear_program", setting),
    "reductions": reduction,
    "price": lambda rule: price(as_rule(rule)),
    "drop": _two(WithoutFeatures),
    "blend": _two(blend),
    "tournament": lambda names: as_tournament((names or CONTENDERS).split(",")),
}
EXAMPLES = {
    "forest": "forest:100",
    "ridge": "ridge:10",
    "linear_search": "linear_search:fairest",
    "linear_program": "linear_program:most_accurate:GROUP",
    "reductions": "reductions:exponentiated_gradient",
    "price": "price:linear",
    "drop": "drop:cost_*:linear",
    "blend": "blend:0.5:linear",
    "tournament": "tournament:linear,boosting",
}
CONTENDERS = "linear,lasso,boosting"
"""Who competes where nobody is named: a plain line, a line of few features, and trees that bend and interact. All three
are fast, take a target of 0/1 or any number, and err differently; a forest takes minutes, and logistic only 0/1."""


def _is_pipeline(estimator: Any) -> bool:
    """Whether an estimator prepares its own columns: a pipeline, or a search over one."""
    inner = getattr(estimator, "estimator", None)
    return hasattr(estimator, "steps") or (inner is not None and _is_pipeline(inner))
