"""What `--help` shows: options in panels by what they are about, and commands in whole sentences."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import typer
from typer.core import TyperCommand

from improvable.question.checks import CLAIM, COLUMNS, REPORT, RULE, STATUS_QUO, TEST, Setting

DATA, QUESTION, SEARCH, TESTED, OUTPUT, OTHERS = "Data", "Question", "Search", "Test", "Output", "Options"
PANELS = {COLUMNS: DATA, STATUS_QUO: QUESTION, CLAIM: QUESTION, RULE: SEARCH, TEST: TESTED, REPORT: OUTPUT}
"""Where the settings of a protocol's section stand."""
ORDER = ("Arguments", DATA, QUESTION, SEARCH, TESTED, OUTPUT, OTHERS)
of_data, of_question, of_search, of_test, of_output = (
    partial(typer.Option, rich_help_panel=name) for name in (DATA, QUESTION, SEARCH, TESTED, OUTPUT)
)
METAVARS = {"<str>": "TEXT", "<list[str]>": "A,B,...", "<int>": "N", "<float>": "NUMBER"}
"""What typer calls kinds of values, and what readers do."""


def panel_of(setting: Setting) -> str:
    """Where a setting's option stands; what no protocol has is about the data or about the test."""
    return PANELS.get(setting.section, DATA if setting.name == "engine" else TESTED)


class Paneled(TyperCommand):
    """A command whose help has a panel for each kind of option."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        panels: dict[str, list[tuple[str, str]]] = {name: [] for name in ORDER}
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is None:
                continue
            name, words = record
            if one.param_type_name == "argument":
                panels["Arguments"].append((name.removesuffix(" <str>"), words))
                continue
            for kind, metavar in METAVARS.items():
                name = name.replace(kind, metavar)
            panels[getattr(one, "rich_help_panel", None) or OTHERS].append((name, words))
        for name, records in panels.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records)


def add_command(app: typer.Typer, command: Callable[..., int]) -> None:
    """Make a function a command; its first paragraph is what the list of commands says of it, uncut."""
    short = inspect.cleandoc(command.__doc__ or "").split("\n\n")[0]
    app.command(cls=Paneled, short_help=" ".join(short.split()))(command)
