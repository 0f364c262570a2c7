"""Appendix E from one's own run: calibration against rows, curves against the closed
form and slow simulations.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal

import improvable
from assumed import GROUPS, AlwaysNew, assumed_rows
from conftest import Case
from flat import flat_compare
from improvable._typing import FloatArray
from improvable.studies.power import AssumedGroup
from replication.appendix_e import COVARIANCE, MEAN_GAP, appendix_e
from replication.from_run import gap_rejections, power_from_run
from replication.gap_process import gap_covariance, gap_process

QUICK: dict[str, Any] = {"simulations": 300, "draws": 300}


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    return improvable.audit(
        assumed_rows(3_000, np.random.default_rng(4)),
        outcome="outcome",
        group="group",
        status_quo="now",
        rule=AlwaysNew(),
        test=improvable.Test(draws=400),
    )


def gammas(frame: pl.DataFrame, theta: str) -> FloatArray:
    """(Gamma_0, Gamma_1) of every row by definition, u_tr - u_tb; or how it moves the
    gap, theta being estimated.
    """
    outcome, group = frame["outcome"].to_numpy(), frame["group"].to_numpy()
    columns = []
    for decision in (frame["now"].to_numpy(), frame["new"].to_numpy()):
        total = np.zeros(len(frame))
        for name, sign in (("a", 1.0), ("b", -1.0)):
            u, w = outcome * decision * (group == name), decision * (group == name)
            total += (
                sign
                * (u - (u.mean() / w.mean() * w if theta == "estimated" else 0))
                / w.mean()
            )
        columns.append(total)
    return np.stack(columns)


@pytest.mark.parametrize("theta", ["known", "estimated"])
def test_the_covariance_is_that_of_rows(theta: str) -> None:
    frame = assumed_rows(4_000, np.random.default_rng(1))
    whole = improvable.compare(
        frame,
        outcome="outcome",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=20_000),
    )
    rows = gammas(frame, theta)
    slow, fast = np.cov(rows, ddof=0), gap_covariance(whole, 0, (0, 1), theta)
    assert fast == pytest.approx(slow, rel=0.05)  # 20,000 draws: a relative error of 1%
    if theta == "known":
        values = whole.evidence.values[0][:, 0]
        assert rows.mean(axis=1) == pytest.approx(values[0] - values[1])


def test_the_median_repetition_is_the_one_whose_p_value_is_the_lower_median(
    audit: improvable.Audit,
) -> None:
    process = gap_process(audit)
    ranked = sorted(audit.repetitions, key=lambda repetition: repetition.p_value)
    assert process.p_value == ranked[3].p_value == audit.p_value
    (repetition,) = [
        one for one in audit.repetitions if one.repetition == process.repetition
    ]
    gap = repetition.to_dict()["repetitions"][0]["gap"]
    assert process.status_quo == pytest.approx(gap["status_quo"])
    assert abs(process.candidate) == pytest.approx(gap["candidate"])
    assert process.groups == ("a", "b")
    assert process.rows == repetition.rows
    assert process.scaled("known")[0, 0] == pytest.approx(10)


def signed_power(
    eta: float, delta: float, covariance: FloatArray, size: int, alpha: float
) -> float:
    """Both one-sided tests reject, in the normal limit."""
    maps = np.array([[-(1 - delta), 1.0], [-(1 - delta), -1.0]])
    spread = maps @ covariance @ maps.T / size
    means = maps @ np.array([MEAN_GAP, eta])
    limits = ndtri(alpha) * np.sqrt(np.diag(spread))
    return float(multivariate_normal(means, spread, allow_singular=True).cdf(limits))


def test_curves_are_the_closed_form_where_there_is_one() -> None:
    """4,000 samples: Monte Carlo error at most .008; margins are four of them, and one
    of the bootstrap's own.
    """
    covariance, etas, deltas = (
        np.array(COVARIANCE),
        [0.0, 0.5, 1.0, 1.3, 1.52],
        [0.0, 0.4],
    )
    found = gap_rejections(
        MEAN_GAP,
        covariance,
        etas,
        deltas,
        [300, 20_000],
        alpha=0.05,
        simulations=4_000,
        draws=1_000,
        workers=2,
    )
    for one in found:
        expected = signed_power(one.eta, one.delta, covariance, one.size, 0.05)
        assert one.signed == pytest.approx(expected, abs=0.04)
        across = np.array([-(1 - one.delta), 1.0])
        error = float(np.sqrt(across @ covariance @ across / one.size))
        # far from the fold the absolute value does nothing
        if one.eta > 5 * np.sqrt(covariance[1, 1] / one.size):
            folded = float(
                ndtr(((1 - one.delta) * MEAN_GAP - one.eta) / error + ndtri(0.05))
            )
            assert one.absolute == pytest.approx(folded, abs=0.04)


@pytest.mark.paper("Appendix E")
def test_curves_are_those_of_resampled_rows() -> None:
    """Appendix E draws every row and every resample; 1,500 samples each: error of a
    difference at most .018.
    """
    etas, deltas, sizes = [0.0, 0.6, 1.1, MEAN_GAP], [0.0, 0.5], [100, 400]
    how: dict[str, Any] = {
        "simulations": 1_500,
        "draws": 300,
        "alpha": 0.05,
        "workers": 2,
    }
    slow = appendix_e(etas, deltas, sizes, seed=1, **how)
    fast = gap_rejections(
        MEAN_GAP, np.array(COVARIANCE), etas, deltas, sizes, seed=2, **how
    )
    for one, other in zip(slow, fast, strict=True):
        assert (one.size, one.eta, one.delta) == (other.size, other.eta, other.delta)
        assert one.absolute == pytest.approx(other.absolute, abs=0.06)
        assert one.signed == pytest.approx(other.signed, abs=0.06)


def test_power_is_that_of_fresh_samples_with_theta_estimated() -> None:
    """The test itself on 250 fresh samples; the paper's covariance, theta known, would
    give another power.
    """
    rng, size, samples = np.random.default_rng(7), 900, 250
    how: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
    }
    big = flat_compare(assumed_rows(200_000, rng), draws=4_000, **how)
    gaps = big.evidence.values[0][0, 0] - big.evidence.values[0][1, 0]
    rejected = np.mean(
        [
            flat_compare(
                assumed_rows(size, rng), draws=300, **how
            ).assessment.p_fairness
            < 0.05
            for _ in range(samples)
        ]
    )
    powers = {}
    for theta in ("estimated", "known"):
        covariance = gap_covariance(big, 0, (0, 1), theta)
        (one,) = gap_rejections(
            float(gaps[0]),
            covariance,
            [float(gaps[1])],
            [0.0],
            [size],
            alpha=0.05,
            simulations=2_000,
            draws=300,
        )
        powers[theta] = one.signed
    error = np.sqrt(rejected * (1 - rejected) / samples)
    assert powers["estimated"] == pytest.approx(rejected, abs=4 * error)
    assert powers["known"] < rejected - 4 * error


def test_the_result_is_words_table_json_and_picture(
    audit: improvable.Audit, tmp_path: Path
) -> None:
    audit.save(tmp_path / "run")
    power = power_from_run(tmp_path / "run", **QUICK)
    assert power.to_dict() == power_from_run(audit, workers=2, **QUICK).to_dict()
    sizes = {one.size for one in power.points}
    rows = power.process.rows
    assert sizes == {round(rows / 2), rows, 2 * rows}
    words = " ".join(power.summary().split())
    assert f"Calibrated from repetition {power.process.repetition}" in words
    assert "Monte Carlo error" in words
    assert "is not evidence" in words
    edge = [one for one in power.points if one.eta == power.process.status_quo]
    assert [one.null for one in edge] == [True] * 3
    assert all(one.signed < 0.12 for one in edge)
    facts = json.loads(json.dumps(power.to_dict()))
    assert (
        len(facts["points"])
        == len(power.points)
        == len(power.table())
        == len(power.csv().splitlines()) - 1
    )
    assert {"error_absolute", "error_signed", "null"} <= set(facts["points"][0])
    assert "test rows" in str(power.plot().spec)


def test_deltas_sizes_and_level_can_be_chosen(audit: improvable.Audit) -> None:
    power = power_from_run(
        audit, etas=[0.0, 0.2], sizes=[500], deltas=[0.1, 0.6], alpha=0.01, **QUICK
    )
    assert [(one.size, one.delta, one.eta) for one in power.points] == [
        (500, 0.1, 0.0),
        (500, 0.1, 0.2),
        (500, 0.6, 0.0),
        (500, 0.6, 0.2),
    ]
    assert power.alpha == 0.01
    asked = power_from_run(
        audit.with_claim(delta_fairness=0.25, alpha=0.1),
        etas=[0.0],
        sizes=[500],
        **QUICK,
    )
    assert asked.points[0].delta == 0.25
    assert asked.alpha == 0.1


def test_more_than_one_pair_is_cautioned() -> None:
    groups = (
        *GROUPS,
        AssumedGroup(
            "c", 0.5, rates=(0.3, 0.3), means=(2.9, 3.7), spread=1.0, overlap=0.5
        ),
    )
    audit = improvable.audit(
        assumed_rows(2_000, np.random.default_rng(4), groups),
        outcome="outcome",
        group="group",
        status_quo="now",
        rule=AlwaysNew(),
        test=improvable.Test(draws=200),
        claim=improvable.Claim(protected="b", selection="burden"),
    )
    cautions = " ".join(
        power_from_run(audit, etas=[0.0], sizes=[500], **QUICK).cautions
    )
    assert "pair with the widest gap" in cautions
    assert "one-sided" in cautions


def test_what_cannot_be_calibrated_is_one_line(
    audit: improvable.Audit, tmp_path: Path
) -> None:
    improvable.compare(
        Case().frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
    ).save(tmp_path / "run")
    with pytest.raises(improvable.OptionError, match="holds a comparison"):
        power_from_run(tmp_path / "run")
    same = improvable.audit(
        assumed_rows(600, np.random.default_rng(4)).with_columns(new="now"),
        outcome="outcome",
        group="group",
        status_quo="now",
        rule=AlwaysNew(),
        test=improvable.Test(draws=200),
    )
    with pytest.raises(improvable.OptionError, match="moves exactly with"):
        power_from_run(same)
    difference = audit.with_claim(form="difference", delta_fairness=0.1)
    with pytest.raises(improvable.OptionError, match="is an amount"):
        power_from_run(difference)
    bad: list[dict[str, Any]] = [
        {"etas": []},
        {"sizes": [3]},
        {"theta": "sure"},
        {"alpha": 2},
        {"simulations": 0},
    ]
    for options in bad:
        with pytest.raises(improvable.OptionError):
            power_from_run(audit, **options)
