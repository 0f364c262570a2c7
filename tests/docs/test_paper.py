"""The page that lists the paper's elements: complete, current, and naming only what
there is.
"""

import importlib

import pytest
from typer.testing import CliRunner

from docs.generate import paper
from improvable.cli import app

COMMANDS = sorted(
    {
        element.command
        for element in paper.ELEMENTS
        if element.command not in ("", paper.MAKE)
    }
)


def test_every_element_has_a_test_and_every_marker_an_element() -> None:
    names = [element.name for element in paper.ELEMENTS]
    assert len(set(names)) == len(names)
    without = [
        element.name
        for element in paper.ELEMENTS
        if element.functions and element.name not in paper.marked()
    ]
    assert not without
    assert set(paper.marked()) <= set(names)


@pytest.mark.parametrize(
    "name", sorted({name for element in paper.ELEMENTS for name in element.functions})
)
def test_what_does_it_here_exists(name: str) -> None:
    whole = name if name.startswith("replication.") else f"improvable.{name}"
    module, _, attribute = whole.rpartition(".")
    try:
        importlib.import_module(f"{module}.{attribute}")
    except ModuleNotFoundError:
        assert hasattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize("command", COMMANDS)
def test_its_option_exists(command: str) -> None:
    name, _, option = command.partition(" ")
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    assert option in shown.output
