"""The fast simulation of sums beside audits of rows, which are slow and obvious."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import improvable
from assumed import GROUPS, LEARNED, AlwaysNew, assumed_rows, needs
from conftest import Case
from flat import flat_audit, flat_compare
from improvable._typing import FloatArray
from improvable.inference.components import gaps
from improvable.question.claim import Claim
from improvable.question.settings import Scheme
from improvable.studies.power import AssumedGroup
from improvable.studies.power.assumptions import Outlook, assume
from improvable.studies.power.learning import learn
from improvable.studies.power.margins import margins
from improvable.studies.power.simulate import Rejections, Setting, block_moments, repetition_means, simulate


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


@pytest.mark.parametrize("scheme", ["forward", "split"])
def test_repetitions_share_the_rows_that_they_order(scheme: Scheme) -> None:
    """Variances of one repetition and covariances of two, of rows really put in order and in the simulation.

    What a row teaches is phi = 0.6 of other noise - 0.5 epsilon: Phi is 0.61 Sigma and Gamma + Gamma' is -Sigma.
    """
    n, simulations, outlook = 200, 4_000, assume(GROUPS)
    sigma = outlook.covariances[0]
    outlook = replace(outlook, fit=0.61 * sigma, shared=-sigma)
    setting = Setting(n, 2, Claim(), 0.05, scheme, 0.3, teaching=(20.0, "20 rows"), simulations=simulations)
    ends = [20, 40, 80, 140, n] if scheme == "forward" else [60, n]
    rng = np.random.default_rng(2)
    factor = np.linalg.cholesky(sigma + 1e-9 * np.eye(8))
    observed = np.zeros((simulations, 2, 8))
    for r in range(simulations):
        own, other = rng.standard_normal((2, n, 8)) @ factor.T
        for k in range(2):
            order = rng.permutation(n)
            tested, taught = own[order], (0.6 * other - 0.5 * own)[order]
            for start, end in pairwise(ends):
                observed[r, k] += tested[start:end].sum(axis=0) + (end - start) * taught[:start].mean(axis=0)
    observed /= n - ends[0]
    simulated, _ = repetition_means(outlook, setting, np.zeros(8), sigma)
    _, (tested_twice, taught_twice, both) = block_moments(setting.cuts.ends)
    variance = tested_twice + 0.61 * taught_twice - both
    for means in (observed, simulated.reshape(simulations, 2, 8)):
        one = means.var(axis=0).mean(axis=0) / np.diag(sigma) * n
        two = (means[:, 0] * means[:, 1]).mean(axis=0) / np.diag(sigma) * n
        # Two times 4,000: a variance has an error of 1.6%, and a covariance one of 1.6% of the variance.
        assert np.abs(one / variance - 1).max() < 0.08
        assert np.abs(two - 0.61).max() < 0.08 * variance


@pytest.mark.parametrize(
    ("rows", "training", "reason"),
    [(2_000, (200, 400, 800, 1_400), None), (400, (100, 160, 280), "100 rows"), (150, (75,), "100 rows")],
)
def test_the_first_block_grows_where_rows_are_few(rows: int, training: tuple[int, ...], reason: str | None) -> None:
    setting = Setting(rows, 7, Claim(), 0.05)
    assert setting.training_rows == training
    assert setting.test_rows == rows - training[0]
    assert setting.cuts.reason == reason


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
    result = flat_compare(
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
        teaching=(100.0, "100 rows"),
        basis=(),
        learns=False,
    )


def test_a_candidate_like_the_status_quo_never_rejects() -> None:
    outlook = assume(GROUPS)
    copy = np.array([0, 1, 0, 1, 4, 5, 4, 5])  # the candidate's entries are the status quo's
    same = replace(outlook, means=outlook.means[:, copy], covariances=outlook.covariances[:, copy][:, :, copy])
    assert simulate(same, Setting(1_000, 3, Claim(), 0.05, simulations=200)).power == 0


def agree(rejected: list[bool], fast: Rejections) -> bool:
    """Whether a share of audits is what was forecast: 3.5 of both Monte Carlo errors, and two points."""
    slow = float(np.mean(rejected))
    error = np.hypot(np.sqrt(max(slow * (1 - slow), 0.01) / len(rejected)), fast.error)
    return bool(abs(slow - fast.power) < 3.5 * error + 0.02)


@pytest.mark.parametrize(("scheme", "n", "repetitions"), [("forward", 1_000, 7), ("split", 1_500, 3)])
def test_power_of_a_fixed_candidate_is_that_of_audits(scheme: Scheme, n: int, repetitions: int) -> None:
    rng = np.random.default_rng(4)
    claims: list[dict[str, Any]] = [{}, {"delta_fairness": 0.3}, {"gap": "absolute"}, {"delta_accuracy": 0.1}]
    audits = [
        improvable.audit(
            assumed_rows(n, rng), outcome="outcome", group="group", status_quo="now", rule=AlwaysNew(),
            test=improvable.Test(scheme=scheme, repetitions=repetitions, draws=400), seed=r, n_jobs=1,
        )
        for r in range(40)
    ]  # fmt: skip
    for claim in claims:
        fast = simulate(assume(GROUPS), Setting(n, repetitions, Claim(**claim), 0.05, scheme, simulations=4_000))
        assert agree([one.with_claim(**claim).reject for one in audits], fast), claim


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
            frame, outcome="outcome", group="group", status_quo="now", candidate="new",
            test=improvable.Test(draws=4_000), claim=improvable.Claim(ask="fairness", protected=protected or ()),
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


def test_power_of_a_rule_that_learns_is_that_of_audits() -> None:
    """Candidates and cutoffs that move with the rows before a block; the means are those of the audits themselves."""
    question = LEARNED | {"fairness": "selection_rate", "repetitions": 3}
    audits = [flat_audit(needs(1_500, r), **question, draws=400, seed=r, n_jobs=1) for r in range(40)]
    pilot, *_ = learn(needs(8_000, 99), 1_500, 4, 12, question, 0)
    assert pilot.sizes[0] < 200, "the first block of 1,500 rows is studied too"
    means = [one.evidence.sums.ravel() / one.rows for audit in audits for one in audit.repetitions]
    outlook = replace(pilot, means=np.tile(np.mean(means, axis=0), (len(pilot.sizes), 1)))
    claims: list[dict[str, Any]] = [{}, {"ask": "accuracy"}, {"ask": "fairness", "delta_fairness": 0.3}]
    for claim in claims:
        setting = Setting(1_500, 3, Claim(**claim), 0.05, teaching=pilot.teaching, simulations=4_000)
        fast = simulate(outlook, setting)
        assert agree([one.with_claim(**claim).reject for one in audits], fast), claim
