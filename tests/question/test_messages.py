"""Messages name an argument once, as Python has it; the command line and reports say it
as an option.
"""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.cli import run
from improvable.question.settings import KNOWN, NAMED, OF_STUDIES, as_options

SOURCE = Path(inspect.getfile(improvable)).parent
OPTION = re.compile(r"(?<![\w-])--[a-z]")
OF_THE_COMMAND_LINE = ("cli", "web", "trust", "report")
"""Packages whose texts are for the command line or a page of its own."""


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Every text in a module that is no docstring; of one with values in it, the parts
    and the names between them.
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(one.value) for one in ast.walk(tree) if isinstance(one, ast.Expr)}
    inside = {
        id(part)
        for one in ast.walk(tree)
        if isinstance(one, ast.JoinedStr)
        for part in one.values
    }
    for one in ast.walk(tree):
        if isinstance(one, ast.JoinedStr):
            parts = (
                part.value if isinstance(part, ast.Constant) else "..."
                for part in one.values
            )
            yield one.lineno, "".join(map(str, parts))
        elif (
            isinstance(one, ast.Constant)
            and isinstance(one.value, str)
            and id(one) not in docstrings | inside
        ):
            yield one.lineno, one.value


def messages() -> list[tuple[str, str]]:
    return [
        (f"{path.relative_to(SOURCE)}:{line}", text)
        for path in sorted(SOURCE.rglob("*.py"))
        if path.relative_to(SOURCE).parts[0] not in OF_THE_COMMAND_LINE
        for line, text in texts(path)
    ]


def test_no_message_of_the_library_spells_an_option() -> None:
    declared = {setting.flag for setting in KNOWN.values()}
    assert [
        (where, text)
        for where, text in messages()
        if OPTION.search(text) and text not in declared
    ] == []


def test_every_argument_that_a_message_names_exists() -> None:
    named = [
        (where, found[1])
        for where, text in messages()
        for found in NAMED.finditer(text)
    ]
    assert len(named) > 50
    assert [
        (where, name) for where, name in named if name not in {*KNOWN, *OF_STUDIES}
    ] == []


def loans() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    repaid, men = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    return pl.DataFrame(
        {
            "default": np.where(repaid, "no", "yes"),
            "sex": np.where(men, "men", "women"),
            "income": repaid + rng.normal(size=400),
            "approved": (rng.random(400) < 0.4 + 0.2 * repaid).astype(int),
        }
    )


def test_an_error_names_the_argument_in_python_and_the_option_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: dict[str, Any] = {
        "outcome": "default",
        "group": "sex",
        "status_quo": "approved",
    }
    with pytest.raises(improvable.DataError) as refused:
        flat_audit(loans(), **asked)
    assert "`read=Read(positive={'default': 'yes'})`" in str(refused.value)
    assert "--" not in str(refused.value)
    loans().write_csv(tmp_path / "loans.csv")
    command = (
        f"audit {tmp_path / 'loans.csv'} --outcome default --group sex --decision "
        "approved"
    )
    assert run([*command.split(), "--train-fraction", "2"]) == 2
    assert "--train-fraction is 2.0" in capsys.readouterr().err
    assert run(command.split()) == 2
    said = capsys.readouterr().err
    assert "--positive default=yes" in said
    assert "`" not in said


def test_a_page_gets_messages_as_python_has_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IMPROVABLE_SPELLING", "python")
    loans().write_csv(tmp_path / "loans.csv")
    assert (
        run(
            (
                f"audit {tmp_path / 'loans.csv'} --outcome default --group sex "
                "--decision approved"
            ).split()
        )
        == 2
    )
    assert "`positive={'default': 'yes'}`" in capsys.readouterr().err


def test_a_caution_is_stored_as_python_has_it_and_reported_as_an_option(
    tmp_path: Path,
) -> None:
    """A rule that may read fewer rows than there are says how to let it read more."""
    with pytest.warns(improvable.ImprovableWarning, match="raise `train_rows`"):
        result = improvable.audit(
            loans(),
            outcome="default",
            group="sex",
            status_quo="approved",
            read=improvable.Read(positive={"default": "no"}),
            rule="linear",
            capacity=0.4,
            test=improvable.Test(repetitions=1, draws=200, train_rows=100),
        )
    told = next(text for text in result.to_dict()["warnings"] if "train_rows" in text)
    assert "raise `train_rows`" in told
    assert "raise `train_rows`" in " ".join(result.summary().split())
    result.report(tmp_path / "report.md")
    reported = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "raise --train-rows" in reported.replace("\\", "")
    assert "train_rows`" not in reported


@pytest.mark.parametrize(
    ("message", "option"),
    [
        ("`capacity='same'`", "--capacity same"),
        ("`na=['9', 'n/a']`, `drop_missing=True`", "--na 9,n/a, --drop-missing"),
        ("`positive={\"it's\": 'no'}`", "--positive 'it'\"'\"'s=no'"),
        ("`simulations` is 0.", "--simulations is 0."),
        ("`somebody's column` is odd.", "`somebody's column` is odd."),
    ],
)
def test_arguments_as_options(message: str, option: str) -> None:
    assert as_options(message) == option
