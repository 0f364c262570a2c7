"""What the tests of protocols share: the options of one audit, a changed copy of its data, what was said."""

import polars as pl
import pytest

OPTIONS = [
    *("--outcome", "gagne_sum_t", "--group", "race", "--score", "risk_score_t", "--capacity", "0.1"),
    *("--rule", "linear", "--features", "gagne_sum_tm1,dem_female", "--repetitions", "3", "--draws", "300"),
]


def flip(name: str, column: str) -> None:
    frame = pl.read_csv("people.csv")
    changed = pl.when(pl.int_range(pl.len()) == 100).then(pl.col(column) + 1).otherwise(pl.col(column))
    frame.with_columns(changed.alias(column)).write_csv(name)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """Both streams, each paragraph on one line."""
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())
