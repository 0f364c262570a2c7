"""Settings as options: every command that takes settings gets its options from their declaration."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from improvable.cli.panels import panel_of
from improvable.errors import OptionError
from improvable.question.checks import FLAG, SAME_SHARE, STATUS_QUO, TEXTS, Setting, as_names, check_choice, parse_names
from improvable.question.settings import SETTINGS, STATUS_QUO_KEYS

ASKED = "asked"
"""The parameter of a command whose place the options take, and which gets their values by name."""


def with_settings(command: str, *, required: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command the options of the settings that it takes, in place of its parameter `asked`.

    Parameters
    ----------
    command : str
        Which settings: those that say they belong to it.
    required : bool
        Whether settings without a default must be given. Otherwise they are missing from `asked` where they are not.
    """
    taken = options_of(command)

    def decorate(function: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(function)
        def run(**given: Any) -> int:
            texts = {setting.name: given.pop(setting.name) for setting in taken}
            return function(**given, **{ASKED: parsed(taken, texts)})

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(function).parameters.values():
            here = parameter.name == ASKED
            parameters += [_option(one, required) for one in taken] if here else [parameter]
        in_any_order = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
        vars(run)["__signature__"] = inspect.Signature(in_any_order, return_annotation=int)
        run.__annotations__ = {one.name: one.annotation for one in in_any_order} | {"return": int}
        return run

    return decorate


def options_of(command: str) -> list[Setting]:
    """The settings that a command takes, in order; the status quo's keys stand where it does."""
    every = [
        one
        for setting in SETTINGS.values()
        for one in (STATUS_QUO_KEYS.values() if setting.name == STATUS_QUO else [setting])
    ]
    return [setting for setting in every if command in setting.commands]


def _option(setting: Setting, required: bool) -> inspect.Parameter:
    """A setting as a parameter that typer understands."""
    kind, default = setting.kind, setting.default
    if kind is FLAG:
        default = False
    elif kind is TEXTS:
        default = list(as_names(default)) or None
    elif kind.option is str and isinstance(default, float):
        default = f"{default:g}"
    needed = required and setting.required
    annotation = kind.option if needed or default is not None else kind.option | None
    option = typer.Option(
        setting.flag,
        help=setting.flag_help or setting.help,
        metavar=f"[{'|'.join(setting.choices)}]" if setting.choices else None,
        rich_help_panel=panel_of(setting),
        show_default=setting.unset or True,
    )
    return inspect.Parameter(
        setting.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if needed else default,
        annotation=Annotated[annotation, option],
    )


def parsed(taken: list[Setting], given: Mapping[str, Any]) -> dict[str, Any]:
    """The values of options, by the name of the setting; what was not given and has no default is left out."""
    values: dict[str, Any] = {}
    for setting in taken:
        value = given[setting.name]
        if value is None:
            continue
        if setting.choices:
            check_choice(setting.flag, value, setting.choices)
        if setting.kind is FLAG:
            value = setting.default != value
        else:
            try:
                value = setting.kind.parse(value)
            except ValueError:
                shown = value if isinstance(value, str) else ",".join(value)
                raise OptionError(f"{setting.flag} is '{shown}'.", f"Write {setting.kind.example}.") from None
        if value != []:
            values[setting.name] = value
    return values


def completed(asked: Mapping[str, Any], candidates: str | None) -> dict[str, Any]:
    """The arguments of an audit: the status quo from the options that describe it, the rule from its contenders."""
    arguments = {name: value for name, value in asked.items() if name in SETTINGS}
    described = {name: asked[name] for name in STATUS_QUO_KEYS if name in asked}
    arguments["status_quo"] = status_quo_from(described)
    if candidates is not None:
        arguments["rule"] = f"tournament:{','.join(parse_names(candidates))}"
    return arguments


def status_quo_from(given: Mapping[str, Any]) -> dict[str, Any]:
    """The status quo in writing, from the options --score, --capacity, --above and --decision.

    Examples
    --------
    >>> status_quo_from({"score": "risk", "above": 4.0, "capacity": 0.03})
    {'score': 'risk', 'above': 4.0}
    """
    if ("score" in given) == ("decision" in given):
        raise OptionError(
            "the status quo is a score or a column of decisions.",
            "Give --score S --capacity 0.03, --score S --above 4, or --decision D.",
        )
    if "decision" in given:
        if "above" in given:
            raise OptionError("--above goes with --score.", "A column of decisions needs no cutoff.")
        return {"decision": given["decision"]}
    if given.get("capacity") == SAME_SHARE and "above" not in given:
        raise OptionError(
            "--capacity same is the share that the status quo selects, and --score alone selects none.",
            "Give --capacity 0.03, or --score S --above 4 --capacity same.",
        )
    for key in ("above", "capacity"):
        if key in given:
            return {"score": given["score"], key: given[key]}
    raise OptionError("--score needs --capacity or --above.", "For example --capacity 0.03 selects the top 3%.")
