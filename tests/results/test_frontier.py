"""The frontier agrees with the test at every point, and its edge is where the test
stops rejecting.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import improvable
from conftest import Case
from improvable.cli import run
from improvable.inference.critical import Critical, largest_delta, p_values
from reported import compare_case, many_groups


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    case = Case(seed=4, rows=2_000)
    rng = np.random.default_rng(0)
    frame = case.frame().with_columns(
        signal=pl.Series(case.count + rng.normal(0, 1, 2_000) + 0.3 * case.group),
        score=pl.Series(case.count + rng.normal(0, 4, 2_000)),
    )
    return improvable.audit(
        frame,
        outcome="count",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.3),
        rule="linear",
        features=["signal"],
        test=improvable.Test(repetitions=5, draws=1_000),
    )


@pytest.mark.paper("Figure 3")
@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("gap", ["signed", "absolute"])
@pytest.mark.parametrize("options", [{}, {"overall": "population"}])
def test_the_surface_is_the_test_at_every_point(
    audit: improvable.Audit, form: str, gap: str, options: Any
) -> None:
    accuracy, fairness = [-0.4, -0.1, 0.0, 0.07, 0.3], [-0.5, 0.0, 0.2, 0.61, 0.95]
    base = audit.with_claim(gap=gap, form=form, **options)
    surface = base.frontier().surface(accuracy, fairness)
    for i, a in enumerate(accuracy):
        for j, f in enumerate(fairness):
            assert (
                surface[i, j]
                == base.with_claim(delta_accuracy=a, delta_fairness=f).p_value
            ), (a, f)


@pytest.mark.paper("Remark 2")
def test_one_sided_fairness_has_a_frontier_too(audit: improvable.Audit) -> None:
    worse = audit.to_dict()["disparity"]["worse_off"]
    base = audit.with_claim(protected=worse)
    for f in (-0.3, 0.0, 0.4):
        assert (
            base.frontier().p_value(0.0, f) == base.with_claim(delta_fairness=f).p_value
        )


@given(st.integers(0, 10_000))
@example(seed=706)  # a draw reflects the status quo's gap to exactly zero
@settings(max_examples=30, deadline=None)
def test_the_surface_is_the_test_for_random_comparisons(seed: int) -> None:
    case = Case(seed=seed, rows=150)
    try:
        result = improvable.compare(
            case.frame(),
            outcome="count",
            group="group",
            status_quo="now",
            candidate="new",
            test=improvable.Test(draws=200),
        )
    except improvable.DataError:
        return
    rng = np.random.default_rng(seed)
    a, f = float(rng.uniform(-0.5, 0.5)), float(rng.uniform(-0.5, 0.99))
    for gap in ("signed", "absolute"):
        asked = result.with_claim(delta_accuracy=a, delta_fairness=f, gap=gap)
        assert asked.frontier().p_value(a, f) == asked.p_value


@pytest.mark.parametrize("gap", ["signed", "absolute"])
def test_the_edge_is_where_rejection_stops(audit: improvable.Audit, gap: Any) -> None:
    front = audit.frontier()
    corners = front.edge(gap)
    assert corners
    for a, f in corners:
        inside = front.p_value(a - 1e-6, f - 1e-6, gap)
        assert inside < front.level
        assert front.p_value(a + 1e-6, f - 1e-6, gap) >= front.level or any(
            b > a for b, _ in corners
        )
        assert front.p_value(a - 1e-6, f + 1e-6, gap) >= front.level or any(
            g > f for _, g in corners
        )
    rejected = (
        front.surface(np.linspace(-0.5, 1, 61), np.linspace(-0.5, 1, 41), gap)
        < front.level
    )
    by_corner = np.zeros_like(rejected)
    for a, f in corners:
        by_corner |= (np.linspace(-0.5, 1, 61)[:, None] < a) & (
            np.linspace(-0.5, 1, 41)[None, :] < f
        )
    np.testing.assert_array_equal(rejected, by_corner)


def test_bounds_are_the_largest_rejected_claims(audit: improvable.Audit) -> None:
    bounds = {bound.what: bound for bound in audit.bounds()}
    assert set(bounds) == {"fairness", "accuracy", "accuracy of a", "accuracy of b"}
    signed = audit.with_claim(gap="signed")
    claims: dict[str, Callable[[float], dict[str, Any]]] = {
        "fairness": lambda d: {"delta_fairness": d},
        "accuracy": lambda d: {"delta_accuracy": d},
        "accuracy of a": lambda d: {"delta_accuracy": {"a": d, "b": 0.0}},
        "accuracy of b": lambda d: {"delta_accuracy": {"a": 0.0, "b": d}},
    }
    for what, make in claims.items():
        value = bounds[what].value
        if np.isfinite(value):
            assert signed.with_claim(**make(value - 1e-6)).reject, what
            assert not signed.with_claim(**make(value + 1e-6)).reject, what


def test_bounds_speak_in_words_and_never_round_up(audit: improvable.Audit) -> None:
    for bound in audit.bounds():
        if bound.value > 0:
            assert bound.words.startswith("With 95% confidence, the ")
            size = float(bound.words.split("at least ")[1].split("%")[0]) / 100
            assert bound.value - 0.0011 < size <= bound.value
        else:
            assert bound.words.startswith("The data do not show")
    nothing = audit.with_claim(alpha=0.0001)
    assert "do not show that the gap can be cut" in nothing.bounds()[0].words


def test_simultaneous_bounds_share_the_level_among_components(
    audit: improvable.Audit,
) -> None:
    """Two groups and a gap: each bound is the separate one of a third of alpha."""
    front = audit.frontier()
    assert front.components == 3
    third = audit.with_claim(alpha=audit.question.alpha / 3).frontier()
    together = front.bounds(simultaneous=True)
    assert [one.value for one in together] == [one.value for one in third.bounds()]
    assert all(
        wide.value <= one.value
        for wide, one in zip(together, front.bounds(), strict=True)
    )
    assert front.edge(simultaneous=True) == third.edge()
    shown = [one.words for one in together if one.value > 0]
    assert all(
        words.startswith("With 95% confidence in all bounds at once the ")
        for words in shown
    )


def test_order_statistics_are_exact() -> None:
    critical = (Critical(np.arange(100) / 100, np.empty(0)),)
    assert largest_delta(critical, 0.05) == 0.04
    assert (
        p_values(critical, np.array([0.0399, 0.04]))[0]
        < 0.05
        <= p_values(critical, np.array([0.0399, 0.04]))[1]
    )
    assert largest_delta(critical, 0.001) == 0.0


@pytest.mark.parametrize("seed", range(40))
def test_the_edge_is_the_first_delta_from_zero_up_that_is_not_rejected(
    seed: int,
) -> None:
    """Draws that return (the status quo's gap reflected below zero) are counted at each
    delta, not once for all.
    """
    rng = np.random.default_rng(seed)
    one = Critical(
        np.sort(rng.normal(0.6, 0.3, 180)),
        np.sort(rng.normal(0.2, 0.3, rng.integers(0, 20))),
    )
    edge = largest_delta((one,), 0.1)
    steps = np.unique(
        [0.0, *one.turns[one.turns > 0], *(one.returns[one.returns > 0] + 1e-9)]
    )
    rejected = p_values((one,), steps) < 0.1
    if rejected[0]:
        assert edge == (
            steps[np.argmin(rejected)] if not rejected.all() else one.turns[-1]
        )
    else:
        assert edge <= 0
        assert edge == -np.inf or p_values((one,), np.array([edge - 1e-9]))[0] < 0.1


@pytest.mark.parametrize("grid", [[np.inf], [np.nan], [], [[0.0]]])
def test_a_grid_that_is_no_list_of_numbers_is_refused(
    audit: improvable.Audit, grid: Any
) -> None:
    with pytest.raises(improvable.OptionError, match="not a list of numbers"):
        audit.frontier().surface(grid, [0.0])


def test_any_real_delta_has_a_p_value(audit: improvable.Audit) -> None:
    """Delta_A = -1 asks for more than nothing; below it, and above 1 for the gap, the
    statistics are as defined.
    """
    frontier = audit.frontier()
    grid = frontier.surface([-3.0, -1.0, 0.0], [-2.0, 1.0, 1.5], gap="absolute")
    for i, delta_a in enumerate((-3.0, -1.0, 0.0)):
        for j, delta_f in enumerate((-2.0, 1.0, 1.5)):
            p_values = []
            for repetition in audit.repetitions:
                evidence = repetition.evidence
                a0, a1 = (
                    evidence.values[0][:, evidence.accuracy[0], t] for t in (0, 1)
                )
                d0, d1 = (
                    evidence.drawn[0][:, :, evidence.accuracy[0], t] for t in (0, 1)
                )
                gain, gains = a1 - (1 + delta_a) * a0, d1 - (1 + delta_a) * d0
                f0, f1 = (
                    evidence.values[0][:, evidence.fairness[0], t] for t in (0, 1)
                )
                e0, e1 = (
                    evidence.drawn[0][:, :, evidence.fairness[0], t] for t in (0, 1)
                )
                gap = abs(f1[0] - f1[1]) - (1 - delta_f) * abs(f0[0] - f0[1])
                gaps = abs(e1[:, 0] - e1[:, 1]) - (1 - delta_f) * abs(
                    e0[:, 0] - e0[:, 1]
                )
                parts = [(gains[:, g] - gain[g] >= gain[g]).mean() for g in range(2)]
                p_values.append(max(*parts, (gaps - gap <= gap).mean()))
            assert grid[i, j] == pytest.approx(
                sorted(p_values)[(len(p_values) - 1) // 2], abs=1e-9
            )


def test_the_command_draws_the_map_where_there_is_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many_groups(2).save(tmp_path / "shown")
    compare_case(candidate="now").save(tmp_path / "nothing")
    for name in ("shown", "nothing"):
        picture = str(tmp_path / f"{name}.svg")
        assert run(["frontier", str(tmp_path / name), "--plot", picture]) == 0
    assert "sizes of improvement are shown" in (tmp_path / "shown.svg").read_text()
    assert not (tmp_path / "nothing.svg").exists()
    errors = " ".join(capsys.readouterr().err.split())
    assert errors.count("there is no map of sizes to draw") == 1


def test_the_command_reads_a_run_folder(
    audit: improvable.Audit, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    audit.save(tmp_path / "run")
    assert run(["frontier", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert audit.bounds()[0].words.split()[0] in out
    assert "The absolute edge is the paper's" in out
    assert (
        run(
            [
                "frontier",
                str(tmp_path / "run"),
                "--at",
                "0.01,0.2",
                "--json",
                str(tmp_path / "at.json"),
            ]
        )
        == 0
    )
    loaded = improvable.load(tmp_path / "run")
    p = loaded.frontier().p_value(0.01, 0.2)
    assert json.loads((tmp_path / "at.json").read_text())["p_value"] == p
    assert f"{p:.4f} for accuracy 0.01 and gap 0.2" in capsys.readouterr().out or p == 0
    assert (
        run(
            [
                "frontier",
                str(tmp_path / "run"),
                "--at",
                "0.01,0.2",
                "--gap",
                "absolute",
                "--json",
                "-",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["p_value"] == loaded.frontier().p_value(
        0.01, 0.2, "absolute"
    )
    assert run(["frontier", str(tmp_path / "run"), "--at", "much"]) == 2
    capsys.readouterr()
    assert run(["frontier", str(tmp_path / "absent")]) == 2
    assert "there is no folder" in capsys.readouterr().err
    assert run(["frontier", str(tmp_path / "run"), "--form", "share"]) == 2
    assert "form is 'share'" in capsys.readouterr().err
