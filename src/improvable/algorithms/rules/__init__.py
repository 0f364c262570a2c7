"""Selection rules: training rows in, a candidate algorithm out (the paper's rho,
Section 3.1).

A new rule is a file in this folder, with its `FAMILIES`, and the file's name in
`MODULES`. Its name, what may follow it, which rules are inside it, what it honors and
what help, pages and messages say of it are all read from there.
"""

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from improvable.algorithms.constraints import honors_of
from improvable.algorithms.rules.base import Family, Selection, SelectionRule, Training
from improvable.algorithms.rules.own_code import ForeignRule, import_rule
from improvable.algorithms.rules.predictive import PredictiveRule
from improvable.algorithms.rules.variations import Named, Tournament
from improvable.errors import OptionError, nearest

__all__ = [
    "FAMILIES",
    "RULES",
    "Family",
    "PredictiveRule",
    "Selection",
    "SelectionRule",
    "Training",
    "as_rule",
    "as_tournament",
]

MODULES = ("predictive", "aim", "linear.rule", "variations")
FAMILIES: dict[str, Family] = {
    family.name: family
    for module in MODULES
    for family in import_module(f"{__name__}.{module}").FAMILIES
}
RULES: dict[str, SelectionRule] = {
    name: family.make("") for name, family in FAMILIES.items() if family.alone
}
"""The rules whose names need nothing more."""
OUR_LIBRARIES = ("improvable", "numpy", "scipy", "skrub", "sklearn")


def rule_names() -> list[str]:
    """The names of all rules, those with a setting by an example."""
    return [
        *RULES,
        *(
            f"{name}:{family.example}"
            for name, family in FAMILIES.items()
            if family.example
        ),
    ]


def as_rule(spec: Any) -> SelectionRule:
    """A rule from its name, from any scikit-learn estimator, from ``module:object``, or
    itself.

    Examples
    --------
    >>> as_rule("ridge:10").name, as_rule("blend:0.5:linear").name
    ('ridge:10', 'blend:0.5:linear')
    """
    if isinstance(spec, str):
        return _named(spec)
    if hasattr(spec, "select") and not isinstance(spec, type):
        return (
            spec
            if hasattr(spec, "name")
            else Named(type(spec).__name__, honors_of(spec), spec)
        )
    if hasattr(spec, "fit") and hasattr(spec, "predict") and not isinstance(spec, type):
        return PredictiveRule(
            type(spec).__name__, lambda *_: spec, raw=_is_pipeline(spec)
        )
    kind = spec if isinstance(spec, type) else type(spec)
    how = (
        "Give a rule's name, a scikit-learn estimator (an instance), or an object with "
        "select(training, status_quo)."
    )
    raise OptionError(f"a {kind.__name__} is not a selection rule.", how)


def as_tournament(specs: Sequence[Any]) -> Tournament:
    """A contest of several rules."""
    return Tournament(tuple(map(as_rule, specs)))


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
            raise OptionError(
                f"'{spec}' is not a rule.", f"Write it like {name}:{family.example}."
            ) from error
    if setting:
        return import_rule(name, setting)
    raise OptionError(f"there is no rule '{spec}'.", nearest(spec, rule_names()))


def own_modules(spec: str) -> list[str]:
    """The caller's own modules in a rule's name, which are run when the rule is made.

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
    """Whether an estimator prepares its own columns: a pipeline, or a search over
    one.
    """
    return hasattr(estimator, "steps") or (
        hasattr(estimator, "estimator") and _is_pipeline(estimator.estimator)
    )


# What is known of a rule and of those inside it. ----


def is_own_rule(rule: Any) -> bool:
    """Whether a rule, or one inside it, is the caller's own code, which may learn from
    any column.
    """
    return any(map(_is_foreign, _with_inner(rule)))


def runs_foreign_code(rule: Any) -> bool:
    """Whether code that is neither ours nor of a library that we build on chooses the
    candidate.
    """
    return any(map(_runs_code, _with_inner(rule)))


def keeps_state(rule: Any) -> bool:
    """Whether foreign code runs in our own process, where it may remember one block in
    the next.
    """
    return any(
        _runs_code(each) and not isinstance(each, ForeignRule)
        for each in _with_inner(rule)
    )


def blends(rule: Any) -> bool:
    """Whether candidates of a rule, or of one inside it, read the status quo's
    score.
    """
    return any(getattr(each, "reads_status_quo", False) for each in _with_inner(rule))


def _with_inner(rule: Any) -> Iterator[Any]:
    """A rule and, where it is ours, all that it holds."""
    yield rule
    if type(rule).__module__.startswith("improvable."):
        for value in vars(rule).values():
            for inner in value if isinstance(value, tuple) else (value,):
                if hasattr(inner, "select"):
                    yield from _with_inner(inner)


def _is_foreign(rule: Any) -> bool:
    return isinstance(rule, ForeignRule) or not type(rule).__module__.startswith(
        "improvable."
    )


def _runs_code(rule: Any) -> bool:
    if not isinstance(rule, PredictiveRule):
        return _is_foreign(rule)
    if rule.ours:
        return False  # without loading scikit-learn
    estimator = rule.estimator(False, None)
    parts = [estimator, *estimator.get_params(deep=True).values()]
    code = [part for part in parts if hasattr(part, "fit") or callable(part)]
    modules = [
        str(getattr(part, "__module__", None) or type(part).__module__) for part in code
    ]
    return any(module.split(".")[0] not in OUR_LIBRARIES for module in modules)
