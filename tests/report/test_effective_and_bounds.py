"""Kish's effective number, and ends of intervals that are not bounded, in every
output.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_compare
from improvable.errors import ImprovableWarning


def people(rows: int = 600, index: float = 1.2, gap: float = 1.0) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    group = rng.choice(["a", "b"], rows)
    return pl.DataFrame(
        {
            "group": group,
            "outcome": rng.poisson(np.where(group == "a", 5 + gap, 5)),
            "now": rng.integers(0, 2, rows),
            "new": rng.integers(0, 2, rows),
            "weight": 1 + rng.pareto(index, rows),
            "clinic": rng.integers(0, 60, rows),
            "x": rng.normal(size=rows),
        }
    )


def compare(frame: pl.DataFrame, **options: Any) -> improvable.Comparison:
    return flat_compare(
        frame,
        outcome="outcome",
        group="group",
        status_quo="now",
        candidate="new",
        draws=300,
        n_jobs=1,
        **options,
    )


def kish(frame: pl.DataFrame, group: str, decision: str) -> float:
    weights = frame.filter((pl.col("group") == group) & (pl.col(decision) == 1))[
        "weight"
    ].to_numpy()
    return float(weights.sum() ** 2 / (weights**2).sum())


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
@pytest.mark.parametrize(
    "options", [{}, {"cluster": "clinic"}, {"method": "delta"}], ids=str
)
def test_the_effective_number_is_in_every_output(
    options: dict[str, str], tmp_path: Path
) -> None:
    frame = people()
    result = compare(frame, weight="weight", **options)
    found = json.loads(json.dumps(result.to_dict()))["repetitions"][0]["effective_rows"]
    for group in ("a", "b"):
        expected = {
            "status_quo": kish(frame, group, "now"),
            "candidate": kish(frame, group, "new"),
        }
        assert found[group] == pytest.approx(expected, rel=1e-5)
        words = (
            f"{group} {found[group]['status_quo']:.1f} → "
            f"{found[group]['candidate']:.1f}"
        )
        for name in ("report.html", "report.md"):
            result.report(tmp_path / f"{group}-{name}")
            assert words in (tmp_path / f"{group}-{name}").read_text().replace(
                "&gt;", ">"
            ).replace("\\", "")
        assert words in " ".join(result.summary(verbose=True).split())
        (row,) = result.table().filter(kind="accuracy", group=group).to_dicts()
        assert row["effective_candidate"] == found[group]["candidate"]
    result.save(tmp_path / "kept")
    assert (
        improvable.load(tmp_path / "kept").to_dict()["repetitions"]
        == result.to_dict()["repetitions"]
    )


def test_without_weights_it_is_how_many_count_and_no_sentence() -> None:
    result = compare(people())
    found = result.to_dict()["repetitions"][0]
    assert found["effective_rows"] == found["selected"]
    assert "Kish" not in result.summary(verbose=True)


@pytest.mark.parametrize("options", [{}, {"cluster": "clinic"}], ids=str)
def test_few_effective_rows_are_a_caution_in_clusters_too(
    options: dict[str, str],
) -> None:
    with pytest.warns(
        ImprovableWarning, match="Kish's effective number; fewer than 30"
    ):
        compare(people(index=1.05), weight="weight", **options)


def test_an_end_that_draws_do_not_set_is_not_bounded() -> None:
    """The status quo has next to no gap, so that no ratio of gaps is too large."""
    with pytest.warns(ImprovableWarning):
        result = compare(people(300, gap=0.0))
    ratio = next(
        one
        for one in result.to_dict()["repetitions"][0]["intervals"]
        if one["quantity"] == "ratio" and "minus" in one["group"]
    )
    assert ratio["low"] is None
    assert ratio["high"] is None
    text = result.summary(verbose=True)
    line = next(one for one in text.splitlines() if " minus " in one)
    assert line.endswith("(not bounded)")
    assert "inf" not in text
    assert "none" not in line
