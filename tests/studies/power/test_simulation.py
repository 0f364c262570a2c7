"""The fast simulation of sums beside audits of rows, which are slow and obvious."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import improvable
from assumed import GROUPS, LEARNED, AlwaysNew, assumed_rows, needs
from conftest import Case
from improvable.data.arrays import FloatArray
from improvable.inference.components import gaps
from improvable.question.claim import Claim
from improvable.studies.power import AssumedGroup
from improvable.studies.power.assumptions import assume
from improvable.studies.power.claim_margins import margins
from improvable.studies.power.outlook import Outlook
from improvable.studies.power.pilot import learn
from improvable.studies.power.simulation import Setting, simulate, repetition_means


def test_assumed_moments_are_those_of_rows() -> None:
    outlook = assume(GROUPS)
    frame = assumed_rows(400_000, np.random.default_rng(1))
    outcome = frame["outcome"].to_numpy()
    columns = [
        part * (frame["group"] == group.name).to_numpy()
        for group in GROUPS
        for decision in (frame["now"].to_numpy(), frame["new"].to_numpy())
        for part in (outcome * decision, decision)
    ]
    rows = np.stack(columns, axis=1)
    error = rows.std(axis=0) / np.sqrt(len(rows))
    assert np.abs(rows.mean(axis=0) - outlook.means[0]).max() < (5 * error).max()
    np.testing.assert_allclose(np.cov(rows.T), outlook.covariances[0], atol=0.02)


def test_splits_share_the_rows_they_divide() -> None:
    """Var = Sigma / (n t) and Cov = Sigma / n between repetitions, among rows and in the simulation."""
    outlook, setting = assume(GROUPS), Setting(200, 0.3, 2, Claim(), 0.05)
    simulations = 4_000
    rng = np.random.default_rng(2)
    factor = np.linalg.cholesky(outlook.covariances[0] + 1e-9 * np.eye(8))
    observed = np.empty((simulations, 2, 8))
    for r in range(simulations):
        rows = rng.standard_normal((200, 8)) @ factor.T
        for k in range(2):
            observed[r, k] = rows[rng.permutation(200)[60:]].mean(axis=0)
    simulated, _ = repetition_means(outlook, setting, np.zeros(8), outlook.covariances[0], simulations, 0)
    for means in (observed, simulated.reshape(simulations, 2, 8)):
        diagonal = np.diag(outlook.covariances[0])
        own = means.var(axis=0).mean(axis=0) / diagonal * 140
        between = (means[:, 0] * means[:, 1]).mean(axis=0) / diagonal * 200
        # Variances of 4,000 have an error of 2.2%, covariances with a correlation of .7 one of 2.7% of the variance.
        assert np.abs(own - 1).max() < 0.1
        assert np.abs(between - 1).max() < 0.15


CLAIMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "deltas": {"delta_accuracy": {"a": -0.05, "b": 0.02}, "delta_fairness": -4.0},
    "difference": {"delta_accuracy": -0.05, "delta_fairness": -0.1, "form": "difference"},
    "absolute": {"gap": "absolute"},
    "absolute with a delta": {"gap": "absolute", "delta_fairness": 0.3},
    "protected": {"protected": "b"},
    "accuracy": {"ask": "accuracy", "delta_accuracy": 0.02},
    "fairness": {"ask": "fairness"},
    "population": {"overall": "population", "delta_accuracy": 0.02, "delta_fairness": -4.0},
    "weighted": {"overall": {"a": 1.0, "b": 3.0}, "delta_accuracy": 0.02, "delta_fairness": -4.0},
}
UTILITIES: list[dict[str, Any]] = [
    {"outcome": "count", "accuracy": "calibration", "selection": "burden"},
    {"outcome": "binary", "accuracy": "classification_rate", "fairness": "false_positive_rate", "selection": "burden"},
    {"outcome": "binary", "accuracy": ["classification_rate", "true_positive_rate"], "fairness": "selection_rate"},
]


@pytest.mark.parametrize("utilities", UTILITIES, ids=["calibration", "two", "three"])
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_delta_method_gives_the_bootstrap_p_value(claim: dict[str, Any], utilities: dict[str, Any]) -> None:
    if "protected" in claim and utilities.get("fairness") == "false_positive_rate":
        claim = {"protected": "a"}  # the group that a rate of errors puts at a disadvantage
    result = improvable.compare(
        Case(seed=3, rows=3_000).frame(),
        group="group",
        status_quo="now",
        candidate="new",
        draws=8_000,
        **utilities,
        **claim,
    )
    evidence = result.evidence
    mean = evidence.sums.ravel() / result.rows
    covariance = np.cov(evidence.draws.reshape(len(evidence.draws), -1).T) / result.rows**2
    outlook = bare_outlook(evidence, mean, covariance)
    z = margins(outlook, result.question.claim, mean, covariance, evidence.units, mean[None], mean[None])
    p = float(1 - ndtr(z[0]))
    # The bootstrap's own error is .006 at most; 400 draws of the folded gap have .025; the rest is skewness.
    assert p == pytest.approx(result.p_value, abs=0.03 if claim.get("gap") != "absolute" else 0.06)


def bare_outlook(evidence: Any, mean: FloatArray, covariance: FloatArray) -> Outlook:
    nothing = np.zeros_like(covariance)
    return Outlook(
        attributes=evidence.attributes,
        measures=evidence.measures,
        accuracy=evidence.accuracy,
        fairness=evidence.fairness,
        sizes=np.ones(1),
        means=mean[None],
        covariances=covariance[None],
        fit=nothing,
        shared=nothing,
        uncertainty=nothing,
        basis=(),
        learns=False,
    )


def test_a_candidate_like_the_status_quo_never_rejects() -> None:
    outlook = assume(GROUPS)
    copy = np.array([0, 1, 0, 1, 4, 5, 4, 5])  # the candidate's entries are the status quo's
    same = replace(outlook, means=outlook.means[:, copy], covariances=outlook.covariances[:, copy][:, :, copy])
    assert simulate(same, Setting(1_000, 0.5, 3, Claim(), 0.05), 200, 0).power == 0


@pytest.mark.parametrize(("repetitions", "fraction", "folds"), [(1, 0.5, None), (5, 0.3, None), (1, 0.5, 2)])
def test_power_of_a_fixed_candidate_is_that_of_audits(repetitions: int, fraction: float, folds: int | None) -> None:
    rng, simulations, n = np.random.default_rng(4), 200, 1_500 if folds is None else 800
    claims: list[dict[str, Any]] = [{}, {"delta_fairness": 0.3}, {"gap": "absolute"}, {"delta_accuracy": 0.1}]
    rejected = np.zeros((simulations, len(claims)))
    for r in range(simulations):
        result = improvable.audit(
            assumed_rows(n, rng),
            outcome="outcome",
            group="group",
            status_quo="now",
            rule=AlwaysNew(),
            repetitions=repetitions,
            train_fraction=fraction,
            folds=folds,
            draws=300,
            seed=r,
        )
        rejected[r] = [result.reconsider(**claim).reject for claim in claims]
    for j, claim in enumerate(claims):
        fast = simulate(assume(GROUPS), Setting(n, fraction, repetitions, Claim(**claim), 0.05, folds), 4_000, 0)
        slow = float(rejected[:, j].mean())
        error = np.hypot(np.sqrt(max(slow * (1 - slow), 0.01) / simulations), fast.error)
        assert abs(slow - fast.power) < 3.5 * error + 0.02, claim


THREE = (
    AssumedGroup("a", 0.3, rates=(0.3, 0.3), means=(3.0, 3.7), spread=1.5, overlap=0.5),
    AssumedGroup("b", 0.4, rates=(0.3, 0.3), means=(2.4, 3.6), spread=1.5, overlap=0.4),
    AssumedGroup("c", 0.3, rates=(0.3, 0.3), means=(2.5, 3.6), spread=1.5, overlap=0.4),
)


@pytest.mark.parametrize("protected", [None, "a"])
def test_p_values_of_a_reference_chosen_on_the_rows_tested_are_those_of_compare(protected: str | None) -> None:
    """Three groups of which two tie for the worst: several pairs may be the widest.

    A pair on the edge of what counts may count here and not there, which moves a p-value: at most once in 30.
    """
    several, apart = 0, []
    for seed in range(30):
        frame = assumed_rows(700, np.random.default_rng(seed), THREE)
        result = improvable.compare(
            frame, outcome="outcome", group="group", status_quo="now", candidate="new", draws=4_000, ask="fairness",
            protected=protected,
        )  # fmt: skip
        evidence = result.evidence
        (gap,) = gaps(evidence, result.question.claim)
        several += len(gap.references) > 1
        mean = evidence.sums.ravel() / result.rows
        covariance = np.cov(evidence.draws.reshape(len(evidence.draws), -1).T) / result.rows**2
        outlook = bare_outlook(evidence, mean, covariance)
        z = margins(outlook, result.question.claim, mean, covariance, evidence.units, mean[None], None)
        apart.append(abs(float(1 - ndtr(z[0])) - result.p_value))
    assert sorted(apart)[-2] < 0.035
    assert several > 10


@pytest.fixture(scope="module")
def pilot() -> Outlook:
    outlook, *_ = learn(needs(20_000, 99), 5, 20, LEARNED, 0)
    return outlook


@pytest.mark.parametrize(("n", "fraction", "repetitions", "folds"), [(5_000, 0.1, 5, None), (4_000, 0.5, 3, 2)])
def test_power_of_a_rule_that_learns_is_that_of_audits(
    pilot: Outlook, n: int, fraction: float, repetitions: int, folds: int | None
) -> None:
    """Candidates and cutoffs that move with the training rows; the means are those of the audits themselves."""
    simulations, how = 120, LEARNED | {"repetitions": repetitions, "train_fraction": fraction, "folds": folds}
    claims: list[dict[str, Any]] = [{}, {"delta_fairness": 0.3}, {"gap": "absolute"}]
    rejected, means = [], []
    for r in range(simulations):
        result = improvable.audit(needs(n, r), **how, draws=300, seed=r)
        rejected.append([result.reconsider(**claim).reject for claim in claims])
        means += [repetition.evidence.sums.ravel() / repetition.rows for repetition in result.repetitions]
    outlook = replace(pilot, means=np.tile(np.mean(means, axis=0), (len(pilot.sizes), 1)))
    for j, claim in enumerate(claims):
        fast = simulate(outlook, Setting(n, fraction, repetitions, Claim(**claim), 0.05, folds), 4_000, 0)
        slow = float(np.mean([row[j] for row in rejected]))
        error = np.hypot(np.sqrt(max(slow * (1 - slow), 0.01) / simulations), fast.error)
        assert abs(slow - fast.power) < 3.5 * error + 0.03, claim
