"""Selection rules: training rows in, a candidate algorithm out (the paper's rho, Section 3.1).

A new rule is a file in this folder and a line in `FAMILIES`. What a rule is called, what may follow its name, which
rules are inside it and what messages propose are all read from there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from improvable.algorithms.rules.base import Selection, SelectionRule, Training
from improvable.algorithms.rules.foreign import ForeignRule, import_rule
from improvable.algorithms.rules.linear.rule import PROGRAM, SEARCH, linear_rule
from improvable.algorithms.rules.predictive import PredictiveRule, boosting, forest, lasso, linear, logistic, ridge
from improvable.algorithms.rules.tournament import CONTENDERS, Tournament, tournament
from improvable.algorithms.rules.variations import Blend, Unnamed, WithoutFeatures, blend
from improvable.errors import OptionError, nearest

__all__ = [
    "FAMILIES",
    "RULES",
    "Family",
    "PredictiveRule",
    "Selection",
    "SelectionRule",
    "Tournament",
    "Training",
    "as_rule",
    "as_tournament",
]

Split = Callable[[str], tuple[str, list[str]]]


def _no_rule(setting: str) -> tuple[str, list[str]]:
    return setting, []


def _rule_after_colon(setting: str) -> tuple[str, list[str]]:
    own, colon, rule = setting.partition(":")
    if not colon:
        raise ValueError("a rule is missing")
    return own, [rule]


def _rules_between_commas(setting: str) -> tuple[str, list[str]]:
    return "", (setting or CONTENDERS).split(",")


@dataclass(frozen=True)
class Family:
    """How a rule is made from its name.

    Attributes
    ----------
    make : callable
        Called with the rule's own setting, and then with the rules inside it.
    example : str
        Of what may follow the name and a colon; empty where nothing may.
    alone : bool
        Whether the name without a setting is proposed as a rule.
    split : callable
        Parts what follows the colon into the rule's own setting and the names of the rules inside. Only so does a rule
        get others inside it: that is how code of somebody else's is known wherever it stands in a name.
    """

    make: Callable[..., SelectionRule]
    example: str = ""
    alone: bool = True
    split: Split = _no_rule


FAMILIES: dict[str, Family] = {
    "linear": Family(linear),
    "lasso": Family(lasso),
    "forest": Family(forest, "100"),
    "boosting": Family(boosting),
    "logistic": Family(logistic),
    SEARCH: Family(partial(linear_rule, SEARCH), "fairest"),
    PROGRAM: Family(partial(linear_rule, PROGRAM), "most_accurate:GROUP"),
    "ridge": Family(ridge, "10", alone=False),
    "drop": Family(WithoutFeatures, "cost_*:linear", alone=False, split=_rule_after_colon),
    "blend": Family(blend, "0.5:linear", alone=False, split=_rule_after_colon),
    "tournament": Family(
        lambda _, *rules: tournament(rules), "linear,boosting", alone=False, split=_rules_between_commas
    ),
}
RULES: dict[str, SelectionRule] = {name: family.make("") for name, family in FAMILIES.items() if family.alone}
"""The rules whose names need nothing more."""


def rule_names() -> list[str]:
    """The names of all rules, those with a setting by an example."""
    return [*RULES, *(f"{name}:{family.example}" for name, family in FAMILIES.items() if family.example)]


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
    name, _, setting = spec.partition(":")
    if name in FAMILIES and FAMILIES[name].example:
        family = FAMILIES[name]
        try:
            own, inside = family.split(setting)
            return family.make(own, *map(as_rule, inside))
        except OptionError:
            raise
        except ValueError as error:
            raise OptionError(f"'{spec}' is not a rule.", f"Write it like {name}:{family.example}.") from error
    if setting:
        return import_rule(name, setting)
    raise OptionError(f"there is no rule '{spec}'.", nearest(spec, rule_names()))


def own_modules(spec: str) -> list[str]:
    """Modules of somebody's own in a rule's name, which are run when the rule is made.

    Examples
    --------
    >>> own_modules("tournament:linear,blend:0.5:their_rules:rule")
    ['their_rules']
    """
    name, colon, setting = spec.partition(":")
    if name not in FAMILIES or not FAMILIES[name].example:
        return [name] if colon else []
    try:
        _, inside = FAMILIES[name].split(setting)
    except ValueError:
        return []
    return [module for rule in inside for module in own_modules(rule)]


def _is_pipeline(estimator: Any) -> bool:
    """Whether an estimator prepares its own columns: a pipeline, or a search over one."""
    inner = getattr(estimator, "estimator", None)
    return hasattr(estimator, "steps") or (inner is not None and _is_pipeline(inner))


# What is known of a rule and of those inside it. ----


def is_own_rule(rule: Any) -> bool:
    """Whether a rule, or one inside it, is code of the caller's own, which may learn from any column."""
    return any(map(_is_foreign, _with_inner(rule)))


def runs_foreign_code(rule: Any) -> bool:
    """Whether code that is neither ours nor of a library that we build on chooses the candidate."""
    return any(map(_runs_code, _with_inner(rule)))


def keeps_state(rule: Any) -> bool:
    """Whether foreign code runs in our own process, where it may remember one block in the next."""
    return any(_runs_code(one) and not isinstance(one, ForeignRule) for one in _with_inner(rule))


def blends(rule: Any) -> bool:
    """Whether candidates of a rule, or of one inside it, read the status quo's score."""
    return any(isinstance(one, Blend) for one in _with_inner(rule))


def _with_inner(rule: Any) -> Iterator[Any]:
    """A rule and, where it is ours, all that it holds."""
    yield rule
    if type(rule).__module__.startswith("improvable."):
        for value in vars(rule).values():
            for inner in value if isinstance(value, tuple) else (value,):
                if hasattr(inner, "select"):
                    yield from _with_inner(inner)


def _is_foreign(rule: Any) -> bool:
    return isinstance(rule, ForeignRule) or not type(rule).__module__.startswith("improvable.")


def _runs_code(rule: Any) -> bool:
    if not isinstance(rule, PredictiveRule):
        return _is_foreign(rule)
    estimator = rule.estimator(False, None)
    parts = [estimator, *estimator.get_params(deep=True).values()]
    return any((hasattr(part, "fit") or callable(part)) and not _is_known(part) for part in parts)


def _is_known(part: Any) -> bool:
    """Whether an estimator, or a function inside one, is of a library that we build on."""
    module = getattr(part, "__module__", None) or type(part).__module__
    return str(module).split(".")[0] in ("improvable", "numpy", "scipy", "skrub", "sklearn")
