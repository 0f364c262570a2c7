"""Python, the command line, `init` and the page: one question, one verdict, whatever
words the file has.
"""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flat import flat_audit
from improvable.cli import run
from improvable.web.answers import audit_options

N = 800
SMALL: dict[str, Any] = {"rule": "linear", "repetitions": 1, "draws": 200}
Meaning = dict[str, Any]
Said = Callable[[dict[str, Any]], dict[str, Any]]


def make_loans(rows: int = N) -> pl.DataFrame:
    """A hand-coded file: `repaid` and `approved` are 1 where they are meant."""
    rng = np.random.default_rng(8)
    sex = rng.choice(["men", "women"], rows)
    income = rng.normal(size=rows) - 0.3 * (sex == "women")
    debt = rng.normal(size=rows)
    repaid = income - debt + rng.normal(size=rows) > 0
    approved = income + 0.3 * rng.normal(size=rows) > 0
    return pl.DataFrame(
        {
            "row": range(rows),
            "sex": sex,
            "income": income,
            "debt": debt,
            "repaid": repaid,
            "approved": approved,
        }
    ).with_columns(pl.col("repaid", "approved").cast(pl.Int8))


def worded(frame: pl.DataFrame, words: dict[str, tuple[Any, Any]]) -> pl.DataFrame:
    """The same file with other values: the first of each pair stands for 1."""
    return frame.with_columns(
        pl.Series(name, [pair[0] if one else pair[1] for one in frame[name].to_list()])
        for name, pair in words.items()
    )


def said_of(result: dict[str, Any]) -> dict[str, Any]:
    """What a result says that cannot depend on words: every number of every repetition,
    the verdict, who is worse.

    The page calls calibration of two values the predictive value, which it is.
    """
    numbers = [
        {
            "p": one["p_value"],
            "accuracy": one["accuracy"],
            "components": [
                (part["p_value"], part["status_quo"], part["candidate"])
                for part in one["components"]
            ],
        }
        for one in result["repetitions"]
    ]
    worse = {key: result["disparity"][key] for key in ("worse_off", "higher", "lower")}
    return {
        "p": result["p_value"],
        "reject": result["reject"],
        "worse": worse,
        "numbers": numbers,
    }


def all_said(result: dict[str, Any]) -> dict[str, Any]:
    """Everything but which options were written out."""
    return {name: value for name, value in result.items() if name != "protocol"}


def by_python(
    frame: pl.DataFrame, said: Said = said_of, **options: Any
) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "outcome": "repaid",
        "group": "sex",
        "status_quo": "approved",
        "capacity": "same",
        "row_id": "row",
    }
    return said(
        json.loads(json.dumps(flat_audit(frame, **(asked | options)).to_dict()))
    )


def by_options(file: Path, words: list[str], said: Said = said_of) -> dict[str, Any]:
    out = file.with_suffix(".json")
    assert run(["audit", str(file), *words, "--json", str(out)]) == 0
    return said(json.loads(out.read_text()))


PLAIN_OPTIONS = [
    *("--outcome", "repaid", "--group", "sex", "--decision", "approved"),
    *("--capacity", "same", "--row-id", "row"),
]
ROLES = {"repaid": "outcome", "sex": "group", "approved": "decision", "row": "row_id"}


def test_without_options_every_surface_gives_the_same_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of rows with weights, clusters and strata, and of an accuracy that is asked
    for.
    """
    monkeypatch.chdir(tmp_path)
    design = {
        "weight": pl.col("row") % 3 + 1,
        "household": pl.col("row") // 2,
        "stratum": pl.col("row") // 2 % 4,
    }
    frame = make_loans().with_columns(**design)
    frame.write_csv("loans.csv")
    told: Meaning = {
        "accuracy": "true_positive_rate",
        "weight": "weight",
        "cluster": "household",
        "stratum": "stratum",
    }
    found = by_python(frame, all_said, **told)
    assert len(found["repetitions"]) == 7
    options = [
        *PLAIN_OPTIONS,
        *(word for name, value in told.items() for word in (f"--{name}", value)),
    ]
    assert by_options(Path("loans.csv"), options, all_said) == found
    assert run(["init", "loans.toml", "--data", "loans.csv"]) == 0
    guessed = Path("loans.toml").read_text()
    guessed = guessed.replace("[claim]", f'[claim]\naccuracy = "{told["accuracy"]}"')
    Path("loans.toml").write_text(
        guessed.replace("[columns]", '[columns]\nrow_id = "row"')
    )
    assert (
        run(["audit", "loans.toml", "--data", "loans.csv", "--json", "init.json"]) == 0
    )
    assert all_said(json.loads(Path("init.json").read_text())) == found
    meant = {"repaid": "1", "approved": "1"}
    roles = ROLES | {told[role]: role for role in ("weight", "cluster", "stratum")}
    # the page shows both
    question = dict.fromkeys(("accuracy", "fairness"), told["accuracy"])
    page = {
        "roles": roles,
        "positive": meant,
        "flags": ["repaid", "approved"],
        "binary": True,
        "question": question,
    }
    assert by_options(Path("loans.csv"), audit_options(page), all_said) == found


MEANINGS = st.fixed_dictionaries(
    {
        "repaid": st.sampled_from(
            [
                ("yes", "no"),
                ("no", "yes"),
                ("paid", "in default"),
                (0, 1),
                (1, 2),
                (2, 1),
            ]
        ),
        "approved": st.sampled_from(
            [
                ("approved", "declined"),
                ("no", "yes"),
                ("yes", "no"),
                (1, 0),
                (0, 1),
                (2, 1),
            ]
        ),
        "selection": st.sampled_from(["benefit", "burden"]),
        "surface": st.sampled_from(["python", "command line", "page"]),
    }
)


@cache
def hand_coded(selection: str) -> dict[str, Any]:
    return by_python(make_loans(), selection=selection, **SMALL)


@settings(max_examples=18, deadline=None, derandomize=True)
@given(meaning=MEANINGS)
def test_the_verdict_is_that_of_the_hand_coded_file(
    meaning: Meaning, tmp_path_factory: pytest.TempPathFactory
) -> None:
    words = {name: meaning[name] for name in ("repaid", "approved")}
    meant, selection = (
        {name: str(pair[0]) for name, pair in words.items()},
        meaning["selection"],
    )
    found, spoken = hand_coded(selection), worded(make_loans(), words)
    file = tmp_path_factory.mktemp("meaning") / "loans.csv"
    spoken.write_csv(file)
    small = [
        word for name, value in SMALL.items() for word in (f"--{name}", str(value))
    ]
    if meaning["surface"] == "python":
        assert by_python(spoken, selection=selection, positive=meant, **SMALL) == found
    elif meaning["surface"] == "command line":
        pairs = ",".join(f"{name}={value}" for name, value in meant.items())
        assert (
            by_options(
                file,
                [*PLAIN_OPTIONS, "--positive", pairs, "--selection", selection, *small],
            )
            == found
        )
    else:
        flags = [name for name, pair in words.items() if set(pair) == {0, 1}]
        question = {"selection": selection}
        page = {
            "roles": ROLES,
            "positive": meant,
            "flags": flags,
            "binary": True,
            "question": question,
        }
        assert by_options(file, [*audit_options(page), *small]) == found
