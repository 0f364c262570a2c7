"""The page that lists the paper's elements: complete, current, and naming only what there is."""

import importlib
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from improvable.cli import app

SCRIPT = Path(__file__).parents[2] / "docs" / "paper.py"


PAPER = SimpleNamespace(**runpy.run_path(str(SCRIPT)))
COMMANDS = sorted({element.command for element in PAPER.ELEMENTS if element.command not in ("", PAPER.MAKE)})


def test_the_page_is_what_the_markers_say() -> None:
    assert PAPER.page() == PAPER.PAGE.read_text(encoding="utf-8"), "run python docs/paper.py"


def test_every_element_has_a_test_and_every_marker_an_element() -> None:
    names = [element.name for element in PAPER.ELEMENTS]
    assert len(set(names)) == len(names)
    without = [element.name for element in PAPER.ELEMENTS if element.functions and element.name not in PAPER.marked()]
    assert not without
    assert set(PAPER.marked()) <= set(names)


@pytest.mark.parametrize("name", sorted({name for element in PAPER.ELEMENTS for name in element.functions}))
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
