"""Figure 1 of the documentation: drawn from its script, and naming only what there
is.
"""

import inspect
import re
import runpy
from dataclasses import fields
from pathlib import Path

import pytest

import improvable

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def test_the_picture_is_what_its_script_draws() -> None:
    drawn = runpy.run_path(str(PICTURES / "figure_1.py"))["figure_1"]()
    assert drawn == (PICTURES / "procedure.svg").read_text(encoding="utf-8")
    assert set(re.findall(r'(?:fill|stroke)="(#\w+)"', drawn)) <= {
        "#1a1a1a",
        "#444444",
        "#f0f0f0",
        "#ffffff",
    }


@pytest.mark.paper("Figure 1")
def test_the_picture_names_functions_that_exist() -> None:
    drawn = (PICTURES / "procedure.svg").read_text(encoding="utf-8")
    code = " ".join(re.findall(r"monospace[^>]*>([^<]*)<", drawn))
    for owner, name in re.findall(r"(Audit|Comparison|SelectionRule)\.(\w+)", code):
        assert hasattr(getattr(improvable, owner), name)
    settings = set(re.findall(r"(\w+)=", code))
    assert {"repetitions", "train_fraction", "seed", "rule"} <= settings
    held = {one.name for one in fields(improvable.Test)}
    assert settings <= {*inspect.signature(improvable.audit).parameters, *held}
