"""An input that nobody would write by hand ends a command with a traceback, or is read
in two ways.

Each is one line and exit status 2: codecs that are no encodings, separators of several
bytes, modules that run, bytes as groups, numbers with underscores. Numbers of thirty
digits are numbers. Labels that look alike are named.
"""

from pathlib import Path

import polars as pl
import pytest

import improvable
from improvable.cli import run
from improvable.report.write import write_table

OPTIONS = [
    *(
        "--outcome",
        "gagne_sum_t",
        "--group",
        "race",
        "--score",
        "risk_score_t",
        "--capacity",
        "0.2",
    ),
    *("--features", "gagne_sum_tm1,dem_female", "--repetitions", "7", "--draws", "200"),
]


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    monkeypatch.chdir(tmp_path)
    people = improvable.datasets.care_management(800, seed=4)
    people = people.select(
        "gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female"
    )
    people.write_csv("people.csv")
    return people


def line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    assert run(arguments) == 2
    lines = [
        one
        for one in capsys.readouterr().err.splitlines()
        if not one.startswith("warning: ")
    ]
    assert len(lines) == 1
    return lines[0]


@pytest.mark.usefixtures("people")
@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        *(
            ("--encoding", codec, "It is a name such as utf-8")
            for codec in ("rot13", "hex", "base64", "zlib", "undefined")
        ),
        *(("--separator", text, "It is one character") for text in ("€", "é", "😀")),
        *(("--rule", rule, "cannot be") for rule in ("__main__:x", "a.b:", ":x")),
    ],
)
def test_options(
    option: str, value: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in line(["audit", "people.csv", *OPTIONS, option, value], capsys)


ODD = {
    "bytes as groups": (
        pl.col("race").cast(pl.String).cast(pl.Binary).alias("race"),
        "which are no groups",
    ),
    "underscores": (
        (pl.col("gagne_sum_t").cast(pl.String) + "_000").alias("gagne_sum_t"),
        "where numbers are needed",
    ),
    "bytes as outcomes": (
        pl.col("gagne_sum_t").cast(pl.String).cast(pl.Binary),
        "where numbers are needed",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_columns(
    name: str, people: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    column, words = ODD[name]
    people.with_columns(column).write_parquet("odd.parquet")
    assert words in line(["audit", "odd.parquet", *OPTIONS, "--rule", "linear"], capsys)


def test_thirty_and_five_thousand_digits(
    people: pl.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    many = (
        pl.when(pl.col("gagne_sum_t") > 1)
        .then(pl.lit("9" * 30))
        .otherwise(pl.lit("1" * 30))
    )
    people.with_columns(gagne_sum_t=many).write_csv("odd.csv")
    assert run(["audit", "odd.csv", *OPTIONS, "--rule", "linear"]) == 0
    capsys.readouterr()
    people.with_columns(gagne_sum_t=pl.lit("1" * 5_000)).write_csv("odd.csv")
    assert len(line(["audit", "odd.csv", *OPTIONS, "--rule", "linear"], capsys)) < 600


@pytest.mark.parametrize(
    "twin", ["black\u200b", "bla\u0441k"[:3] + "ck\u00ad", "\uff42lack", "Black "]
)
def test_labels_that_look_alike_are_named(twin: str, people: pl.DataFrame) -> None:
    """Without a homoglyph of another alphabet: which letter is meant, nobody can
    tell.
    """
    odd = people.with_columns(
        race=pl.when(pl.int_range(pl.len()) % 4 == 0)
        .then(pl.lit(twin))
        .otherwise(pl.col("race").cast(pl.String))
    )
    with pytest.warns(
        improvable.ImprovableWarning,
        match="differ only in spaces, capitals or what does not show",
    ):
        improvable.audit(
            odd,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=0.3),
            rule="linear",
            features=["gagne_sum_tm1"],
            test=improvable.Test(repetitions=1, draws=100),
        )


def test_exported_cells_are_no_formulas(people: pl.DataFrame) -> None:
    """A group's name that a spreadsheet would run, in the table and in the rows."""
    formula = '=HYPERLINK("http://example.org")'
    named = people.with_columns(
        race=pl.col("race").cast(pl.String).replace({"black": formula})
    )
    result = improvable.audit(
        named,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.3),
        rule="linear",
        features=["gagne_sum_tm1"],
        test=improvable.Test(repetitions=1, draws=100),
    )
    result.export_rows("rows.csv")
    write_table(result, "table.csv")
    for file in ("rows.csv", "table.csv"):
        texts = [
            one
            for column in pl.read_csv(file).select(pl.col(pl.String))
            for one in column.drop_nulls().unique()
        ]
        assert f"'{formula}" in texts, file
        assert not [one for one in texts if one.startswith("=")], file
