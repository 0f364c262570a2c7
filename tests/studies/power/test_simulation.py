"""The fast simulation of sums beside audits of rows, which are slow and obvious."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
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
from improvable.studies.power.simulate import (
    Rejections,
    Setting,
    block_moments,
    repetition_means,
    simulate,
)
from validity.unknown import Process


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
    """Variances of one repetition and covariances of two, of rows really put in order
    and in the simulation.

    What a row teaches is phi = 0.6 of other noise - 0.5 epsilon: Phi is 0.61 Sigma and
    Gamma + Gamma' is -Sigma.
    """
    n, simulations, outlook = 200, 4_000, assume(GROUPS)
    sigma = outlook.covariances[0]
    outlook = replace(outlook, fit=0.61 * sigma, shared=-sigma)
    setting = Setting(
        n,
        2,
        Claim(),
        0.05,
        scheme,
        0.3,
        teaching=(20.0, "20 rows"),
        simulations=simulations,
    )
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
                observed[r, k] += tested[start:end].sum(axis=0) + (
                    end - start
                ) * taught[:start].mean(axis=0)
    observed /= n - ends[0]
    simulated, _ = repetition_means(outlook, setting, np.zeros(8), sigma)
    _, (tested_twice, taught_twice, both) = block_moments(setting.cuts.ends)
    variance = tested_twice + 0.61 * taught_twice - both
    for means in (observed, simulated.reshape(simulations, 2, 8)):
        one = means.var(axis=0).mean(axis=0) / np.diag(sigma) * n
        two = (means[:, 0] * means[:, 1]).mean(axis=0) / np.diag(sigma) * n
        # Two times 4,000: a variance has an error of 1.6%, and a covariance one of 1.6%
        # of the variance.
        assert np.abs(one / variance - 1).max() < 0.08
        assert np.abs(two - 0.61).max() < 0.08 * variance


@pytest.mark.parametrize(
    ("rows", "training", "reason"),
    [
        (2_000, (200, 400, 800, 1_400), None),
        (400, (100, 160, 280), "100 rows"),
        (150, (75,), "100 rows"),
    ],
)
def test_the_first_block_grows_where_rows_are_few(
    rows: int, training: tuple[int, ...], reason: str | None
) -> None:
    setting = Setting(rows, 7, Claim(), 0.05)
    assert setting.training_rows == training
    assert setting.test_rows == rows - training[0]
    assert setting.cuts.reason == reason


CLAIMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "deltas": {"delta_accuracy": {"a": -0.05, "b": 0.02}, "delta_fairness": -4.0},
    "difference": {
        "delta_accuracy": -0.05,
        "delta_fairness": -0.1,
        "form": "difference",
    },
    "absolute": {"gap": "absolute"},
    "absolute with a delta": {"gap": "absolute", "delta_fairness": 0.3},
    "protected": {"protected": "b"},
    "accuracy": {"ask": "accuracy", "delta_accuracy": 0.02},
    "fairness": {"ask": "fairness"},
    "population": {
        "overall": "population",
        "delta_accuracy": 0.02,
        "delta_fairness": -4.0,
    },
    "weighted": {
        "overall": {"a": 1.0, "b": 3.0},
        "delta_accuracy": 0.02,
        "delta_fairness": -4.0,
    },
}
UTILITIES: list[dict[str, Any]] = [
    {"outcome": "count", "accuracy": "calibration", "selection": "burden"},
    {
        "outcome": "binary",
        "accuracy": "classification_rate",
        "fairness": "false_positive_rate",
        "selection": "burden",
    },
    {
        "outcome": "binary",
        "accuracy": ["classification_rate", "true_positive_rate"],
        "fairness": "selection_rate",
    },
]


@pytest.mark.parametrize("utilities", UTILITIES, ids=["calibration", "two", "three"])
@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_the_delta_method_gives_the_bootstrap_p_value(
    claim: dict[str, Any], utilities: dict[str, Any]
) -> None:
    if "protected" in claim and utilities.get("fairness") == "false_positive_rate":
        # the group that a rate of errors puts at a disadvantage
        claim = {"protected": "a"}
    result = flat_compare(
        Case(seed=3, rows=3_000).frame(),
        group="group",
        status_quo="now",
        candidate="new",
        draws=8_000,
        **utilities,
        **claim,
    )
    # The bootstrap's own error is .006 at most; 400 draws of the folded gap have .025;
    # the rest is skewness.
    assert normal_p(result) == pytest.approx(
        result.p_value, abs=0.03 if claim.get("gap") != "absolute" else 0.06
    )


PROBABLE: dict[str, dict[str, Any]] = {
    name: CLAIMS[name] for name in ("plain", "deltas", "protected")
}
PROBABLE["population"] = {
    "overall": "population",
    "delta_accuracy": 0.06,
    "delta_fairness": -4.0,
}
PROBABLE["three"] = {"delta_accuracy": -0.3, "delta_fairness": -3.0}


@pytest.mark.parametrize(("name", "claim"), PROBABLE.items(), ids=PROBABLE)
def test_the_same_with_groups_known_by_probability(
    name: str, claim: dict[str, Any]
) -> None:
    frame, rng = Case(seed=3, rows=3_000).frame(), np.random.default_rng(0)
    p = rng.beta(0.4, 0.4, len(frame))
    p = np.where((p > 0.5) == (frame["group"].to_numpy() == "b"), p, 1 - p)
    part = rng.random(len(frame)) * 0.9 if name == "three" else np.zeros(len(frame))
    frame = frame.with_columns(p_a=(1 - part) * (1 - p), p_b=p, p_c=part * (1 - p))
    named = {
        one: f"p_{one}" for one in (("a", "b", "c") if name == "three" else ("a", "b"))
    }
    asked = {
        "outcome": "count",
        "accuracy": "calibration",
        "selection": "burden",
    } | claim
    groups = improvable.Groups(probabilities=named)
    result = flat_compare(
        frame, group=groups, status_quo="now", candidate="new", draws=8_000, **asked
    )
    assert len(result.evidence.attributes) == 2, "both estimates are tested"
    assert 0.002 < result.p_value < 0.998
    assert normal_p(result, given=name != "three") == pytest.approx(
        result.p_value, abs=0.03
    )


SEEN: dict[str, dict[str, Any]] = {
    "accuracy": {"ask": "accuracy", "delta_accuracy": -0.22},
    "gap": {"ask": "fairness", "delta_fairness": -0.32},
    "absolute": {"ask": "fairness", "delta_fairness": -0.32, "gap": "absolute"},
    "protected": {
        "ask": "fairness",
        "delta_fairness": -0.3,
        "protected": "b",
        "selection": "burden",
    },
    "lower": {"ask": "fairness", "delta_fairness": -3.0, "lower_is_better": True},
    "protected, lower": {
        "ask": "fairness",
        "delta_fairness": -3.0,
        "protected": "b",
        "lower_is_better": True,
    },
}


@pytest.mark.parametrize("claim", SEEN.values(), ids=SEEN)
def test_the_same_with_outcomes_that_nobody_has_seen(claim: dict[str, Any]) -> None:
    name, most = ("count", 10) if "lower_is_better" in claim else ("binary", 1)
    frame = Case(seed=3, rows=3_000).frame().with_columns(pl.col("count").clip(0, 10))
    frame = frame.with_columns(pl.when(pl.col("now") == 1).then(name).alias(name))
    asked = {
        "outcome": name,
        "accuracy": "calibration",
        "form": "difference",
        "outcome_range": (0, most),
    } | claim
    asked |= {
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "unknown_outcomes": float(most),
    }
    result = flat_compare(frame, draws=8_000, **asked)
    assert 0.002 < result.p_value < 0.998
    assert normal_p(result) == pytest.approx(
        result.p_value, abs=0.03 if claim.get("gap") != "absolute" else 0.06
    )


def normal_p(result: improvable.Comparison, given: bool = True) -> float:
    """The p-value by the delta method, from the sums of a comparison and their
    covariance.

    `given` says that the widest gap of the status quo is taken as given.
    """
    evidence = result.evidence
    mean = evidence.sums.ravel() / result.rows
    covariance = (
        np.cov(evidence.draws.reshape(len(evidence.draws), -1).T) / result.rows**2
    )
    outlook = bare_outlook(evidence, mean, covariance)
    train = mean[None] if given else None
    z = margins(
        outlook,
        result.question.claim,
        mean,
        covariance,
        evidence.units,
        mean[None],
        train,
    )
    return float(1 - ndtr(z[0]))


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
    # the candidate's entries are the status quo's
    copy = np.array([0, 1, 0, 1, 4, 5, 4, 5])
    same = replace(
        outlook,
        means=outlook.means[:, copy],
        covariances=outlook.covariances[:, copy][:, :, copy],
    )
    assert simulate(same, Setting(1_000, 3, Claim(), 0.05, simulations=200)).power == 0


def agree(rejected: list[bool], fast: Rejections) -> bool:
    """Whether a share of audits is what was forecast: 3.5 of both Monte Carlo errors,
    and two points.
    """
    slow = float(np.mean(rejected))
    error = np.hypot(np.sqrt(max(slow * (1 - slow), 0.01) / len(rejected)), fast.error)
    return bool(abs(slow - fast.power) < 3.5 * error + 0.02)


@pytest.mark.parametrize(
    ("scheme", "n", "repetitions"), [("forward", 1_000, 7), ("split", 1_500, 3)]
)
def test_power_of_a_fixed_candidate_is_that_of_audits(
    scheme: Scheme, n: int, repetitions: int
) -> None:
    rng = np.random.default_rng(4)
    claims: list[dict[str, Any]] = [
        {},
        {"delta_fairness": 0.3},
        {"gap": "absolute"},
        {"delta_accuracy": 0.1},
    ]
    audits = [
        improvable.audit(
            assumed_rows(n, rng),
            outcome="outcome",
            group="group",
            status_quo="now",
            rule=AlwaysNew(),
            test=improvable.Test(scheme=scheme, repetitions=repetitions, draws=200),
            seed=r,
            n_jobs=1,
        )
        for r in range(40)
    ]
    for claim in claims:
        fast = simulate(
            assume(GROUPS),
            Setting(n, repetitions, Claim(**claim), 0.05, scheme, simulations=4_000),
        )
        assert agree([one.with_claim(**claim).reject for one in audits], fast), claim


THREE = (
    AssumedGroup("a", 0.3, rates=(0.3, 0.3), means=(3.0, 3.7), spread=1.5, overlap=0.5),
    AssumedGroup("b", 0.4, rates=(0.3, 0.3), means=(2.4, 3.6), spread=1.5, overlap=0.4),
    AssumedGroup("c", 0.3, rates=(0.3, 0.3), means=(2.5, 3.6), spread=1.5, overlap=0.4),
)


@pytest.mark.parametrize("protected", [None, "a"])
def test_p_values_of_a_reference_chosen_on_the_rows_tested_are_those_of_compare(
    protected: str | None,
) -> None:
    """Three groups of which two tie for the worst: several pairs may be the widest.

    A pair on the edge of what counts may count here and not there, which moves a
    p-value: at most once in 30.
    """
    several, apart = 0, []
    for seed in range(30):
        frame = assumed_rows(700, np.random.default_rng(seed), THREE)
        result = improvable.compare(
            frame,
            outcome="outcome",
            group="group",
            status_quo="now",
            candidate="new",
            test=improvable.Test(draws=4_000),
            claim=improvable.Claim(ask="fairness", protected=protected or ()),
        )
        evidence = result.evidence
        (gap,) = gaps(evidence, result.question.claim)
        several += len(gap.references) > 1
        mean = evidence.sums.ravel() / result.rows
        covariance = (
            np.cov(evidence.draws.reshape(len(evidence.draws), -1).T) / result.rows**2
        )
        outlook = bare_outlook(evidence, mean, covariance)
        z = margins(
            outlook,
            result.question.claim,
            mean,
            covariance,
            evidence.units,
            mean[None],
            None,
        )
        apart.append(abs(float(1 - ndtr(z[0])) - result.p_value))
    assert sorted(apart)[-2] < 0.035
    assert several > 10


def test_power_of_a_rule_that_learns_is_that_of_audits() -> None:
    """Candidates and cutoffs that move with the rows before a block; the means are
    those of the audits themselves.
    """
    question = LEARNED | {"fairness": "selection_rate", "repetitions": 3}
    audits = [
        flat_audit(needs(1_500, r), **question, draws=200, seed=r, n_jobs=1)
        for r in range(40)
    ]
    pilot, *_ = learn(needs(6_000, 99), 1_500, 4, 8, question, 0)
    assert pilot.sizes[0] < 200, "the first block of 1,500 rows is studied too"
    means = [
        one.evidence.sums.ravel() / one.rows
        for audit in audits
        for one in audit.repetitions
    ]
    outlook = replace(
        pilot, means=np.tile(np.mean(means, axis=0), (len(pilot.sizes), 1))
    )
    claims: list[dict[str, Any]] = [
        {},
        {"ask": "accuracy"},
        {"ask": "fairness", "delta_fairness": 0.3},
    ]
    for claim in claims:
        setting = Setting(
            1_500, 3, Claim(**claim), 0.05, teaching=pilot.teaching, simulations=4_000
        )
        fast = simulate(outlook, setting)
        assert agree([one.with_claim(**claim).reject for one in audits], fast), claim


def lender(rows: int, seed: int, probable: bool) -> pl.DataFrame:
    """Applicants: the outcomes of those declined are unknown; or all are known, and
    groups by probability.
    """
    drawn, rng = (
        Process("", below=0.14).draw(rows, np.random.default_rng(seed)),
        np.random.default_rng([seed, 1]),
    )
    p = rng.beta(0.4, 0.4, rows)
    p = np.where((p > 0.5) == (drawn["group"] == 1), p, 1 - p)
    frame = pl.DataFrame({f"x{j}": drawn["x"][:, j] for j in range(4)}).with_columns(
        old=drawn["old"].astype(float),
        y=drawn["y"],
        group=drawn["group"].astype(str),
        p_a=1 - p,
        p_b=p,
    )
    return (
        frame
        if probable
        else frame.with_columns(y=pl.when(pl.col("old") == 1).then("y"))
    )


@pytest.mark.parametrize(
    "probable", [True, False], ids=["groups by probability", "unknown outcomes"]
)
def test_power_without_groups_or_outcomes_is_that_of_audits(probable: bool) -> None:
    features = [f"x{j}" for j in range(4)]
    groups = improvable.Groups(probabilities={"a": "p_a", "b": "p_b"})
    question: dict[str, Any] = {
        "outcome": "y",
        "status_quo": "old",
        "rule": "linear",
        "features": features,
        "form": "difference",
        "repetitions": 1,
        **(
            {"group": groups}
            if probable
            else {"group": "group", "unknown_outcomes": 0.05}
        ),
    }
    audits = [
        flat_audit(lender(1_500, r, probable), **question, draws=200, seed=r, n_jobs=1)
        for r in range(20)
    ]
    outlook, *_ = learn(lender(6_000, 99, probable), 1_500, 4, 10, dict(question), 0)
    claims: list[dict[str, Any]] = [
        {"ask": "accuracy", "delta_accuracy": -0.03},
        {"delta_fairness": -0.15},
    ]
    for claim in claims:
        claim = {"form": "difference", "ask": "fairness"} | claim
        setting = Setting(
            1_500, 1, Claim(**claim), 0.05, teaching=outlook.teaching, simulations=4_000
        )
        fast = simulate(outlook, setting)
        assert 0.2 < fast.power < 0.9
        assert agree([one.with_claim(**claim).reject for one in audits], fast), claim
