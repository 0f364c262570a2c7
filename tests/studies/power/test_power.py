"""Planning: the fast simulation of sums beside audits of rows, which are slow and obvious."""

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.special import ndtr

import improvable
from conftest import Case
from improvable.data.arrays import FloatArray
from improvable.errors import DataError, ImprovableError, OptionError
from improvable.inference.components import gaps
from improvable.question.claim import Claim
from improvable.studies.power import AssumedGroup, PowerPlan, Tried, power_from_assumptions, power_from_pilot
from improvable.studies.power.assumptions import assume
from improvable.studies.power.claim_margins import margins
from improvable.studies.power.outlook import Outlook
from improvable.studies.power.pilot import learn
from improvable.studies.power.simulation import Setting, simulate, split_means

GROUPS = (
    AssumedGroup("a", 0.4, rates=(0.2, 0.25), means=(3.2, 3.9), spread=1.5, overlap=0.5),
    AssumedGroup("b", 0.6, rates=(0.3, 0.25), means=(2.4, 3.6), spread=1.5, overlap=0.4),
)


@dataclass(frozen=True)
class AlwaysNew:
    """A rule that learns nothing: its candidate is a column of decisions."""

    name: str = "always_new"

    def select(self, training: Any, status_quo: Any) -> str:
        return "new"


def assumed_rows(rows: int, rng: np.random.Generator, groups: tuple[AssumedGroup, ...] = GROUPS) -> pl.DataFrame:
    """Rows of which `GROUPS` is true: who is selected by both, by one alone, by none, and their outcomes."""
    share = np.array([group.share for group in groups])
    code = rng.choice(len(groups), rows, p=share / share.sum())
    now, new, mean, spread = (np.zeros(rows) for _ in range(4))
    for g, group in enumerate(groups):
        both = group.overlap * group.rates[0]
        alone = group.rates[0] - both, group.rates[1] - both
        middle = sum(group.means) / 2
        levels = [middle] + [(group.rates[t] * group.means[t] - both * middle) / alone[t] for t in range(2)]
        kind = rng.choice(4, rows, p=[both, *alone, 1 - both - sum(alone)])
        here = code == g
        now[here], new[here] = np.isin(kind, (0, 1))[here], np.isin(kind, (0, 2))[here]
        mean[here], spread[here] = np.array([*levels, 0.0])[kind][here], group.spread or 0.0
    outcome = mean + spread * rng.standard_normal(rows)
    return pl.DataFrame({"outcome": outcome, "group": [groups[c].name for c in code], "now": now, "new": new})


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
    """Var = Sigma / (n t) and Cov = Sigma / n between splits, among rows and in the simulation."""
    outlook, setting = assume(GROUPS), Setting(200, 0.3, 2, Claim(), 0.05)
    repetitions = 4_000
    rng = np.random.default_rng(2)
    factor = np.linalg.cholesky(outlook.covariances[0] + 1e-9 * np.eye(8))
    observed = np.empty((repetitions, 2, 8))
    for r in range(repetitions):
        rows = rng.standard_normal((200, 8)) @ factor.T
        for k in range(2):
            observed[r, k] = rows[rng.permutation(200)[60:]].mean(axis=0)
    simulated, _ = split_means(outlook, setting, np.zeros(8), outlook.covariances[0], repetitions, 0)
    for means in (observed, simulated.reshape(repetitions, 2, 8)):
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
    z = margins(outlook, result.question.claim, mean, covariance, mean[None], mean[None])
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


@pytest.mark.parametrize(("splits", "fraction", "folds"), [(1, 0.5, None), (5, 0.3, None), (1, 0.5, 2)])
def test_power_of_a_fixed_candidate_is_that_of_audits(splits: int, fraction: float, folds: int | None) -> None:
    rng, repetitions, n = np.random.default_rng(4), 200, 1_500 if folds is None else 800
    claims: list[dict[str, Any]] = [{}, {"delta_fairness": 0.3}, {"gap": "absolute"}, {"delta_accuracy": 0.1}]
    rejected = np.zeros((repetitions, len(claims)))
    for r in range(repetitions):
        result = improvable.audit(
            assumed_rows(n, rng),
            outcome="outcome",
            group="group",
            status_quo="now",
            rule=AlwaysNew(),
            splits=splits,
            train_fraction=fraction,
            folds=folds,
            draws=300,
            seed=r,
        )
        rejected[r] = [result.reconsider(**claim).reject for claim in claims]
    for j, claim in enumerate(claims):
        fast = simulate(assume(GROUPS), Setting(n, fraction, splits, Claim(**claim), 0.05, folds), 4_000, 0)
        slow = float(rejected[:, j].mean())
        error = np.hypot(np.sqrt(max(slow * (1 - slow), 0.01) / repetitions), fast.error)
        assert abs(slow - fast.power) < 3.5 * error + 0.02, claim


THREE = (
    AssumedGroup("a", 0.3, rates=(0.3, 0.3), means=(3.0, 3.7), spread=1.5, overlap=0.5),
    AssumedGroup("b", 0.4, rates=(0.3, 0.3), means=(2.4, 3.6), spread=1.5, overlap=0.4),
    AssumedGroup("c", 0.3, rates=(0.3, 0.3), means=(2.5, 3.6), spread=1.5, overlap=0.4),
)


@pytest.mark.parametrize("protected", [None, "a"])
def test_p_values_of_a_reference_chosen_on_the_rows_tested_are_those_of_compare(protected: str | None) -> None:
    """Three groups of which two tie for the worst: several pairs may be the widest."""
    several = 0
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
        z = margins(outlook, result.question.claim, mean, covariance, mean[None], None)
        assert float(1 - ndtr(z[0])) == pytest.approx(result.p_value, abs=0.035)
    assert several > 10


def needs(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    black = rng.random(rows) < 0.4
    need = rng.normal(0.2 * black, 1, rows)
    return pl.DataFrame(
        {
            "group": np.where(black, "b", "w"),
            "x1": need + rng.normal(0, 0.3, rows),
            "x2": rng.normal(0, 1, rows),
            "score": need - 1.0 * black + rng.normal(0, 1.6, rows),
            "outcome": rng.poisson(np.exp(0.5 * need + 0.2)).astype(float),
        }
    )


LEARNED: dict[str, Any] = {
    "outcome": "outcome",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.2),
    "rule": "linear",
    "features": ["x1", "x2"],
}


@pytest.mark.parametrize(("n", "fraction", "splits", "folds"), [(5_000, 0.1, 5, None), (4_000, 0.5, 3, 2)])
def test_power_of_a_rule_that_learns_is_that_of_audits(n: int, fraction: float, splits: int, folds: int | None) -> None:
    """Candidates and cutoffs that move with the training rows; the means are those of the audits themselves."""
    repetitions, how = 120, LEARNED | {"splits": splits, "train_fraction": fraction, "folds": folds}
    outlook, *_ = learn(needs(20_000, 99), 5, 20, LEARNED, 0)
    claims: list[dict[str, Any]] = [{}, {"delta_fairness": 0.3}, {"gap": "absolute"}]
    rejected, means = [], []
    for r in range(repetitions):
        result = improvable.audit(needs(n, r), **how, draws=300, seed=r)
        rejected.append([result.reconsider(**claim).reject for claim in claims])
        means += [split.evidence.sums.ravel() / split.rows for split in result.splits]
    outlook = replace(outlook, means=np.tile(np.mean(means, axis=0), (len(outlook.sizes), 1)))
    for j, claim in enumerate(claims):
        fast = simulate(outlook, Setting(n, fraction, splits, Claim(**claim), 0.05, folds), 4_000, 0)
        slow = float(np.mean([row[j] for row in rejected]))
        error = np.hypot(np.sqrt(max(slow * (1 - slow), 0.01) / repetitions), fast.error)
        assert abs(slow - fast.power) < 3.5 * error + 0.03, claim


@pytest.fixture(scope="module")
def plan() -> PowerPlan:
    return power_from_assumptions(GROUPS, rows=1_500, repetitions=1_000, tried=Tried(train_fractions=(0.2, 0.5)))


def test_a_sample_size_reaches_the_wanted_power_and_less_does_not(plan: PowerPlan) -> None:
    size = plan.sample_sizes[0]
    assert size.rows is not None
    powers = {
        share: simulate(assume(GROUPS), Setting(round(share * size.rows), 0.5, 7, Claim(), 0.05), 4_000, 1)
        for share in (0.8, 1.0)
    }
    assert powers[1.0].power == pytest.approx(0.8, abs=0.05)
    assert powers[0.8].power < 0.76
    assert any(point.rows == size.rows and point.power >= 0.8 for point in plan.points if point.varied == "rows")


def test_every_number_of_a_plan_has_an_error_and_the_plan_says_what_it_rests_on(plan: PowerPlan) -> None:
    facts = json.loads(json.dumps(plan.to_dict()))
    assert all(point["error"] > 0 and point["low"] is None for point in facts["points"])
    assert {point["varied"] for point in facts["points"]} == {
        "rows",
        "train_fraction",
        "splits",
        "delta_accuracy",
        "delta_fairness",
    }
    text = " ".join(plan.summary().split())
    assert "is not evidence" in text
    assert "does not learn" in text
    assert "Assumed for a: 40% of rows" in text
    assert len(plan.table()) == len(plan.points)
    assert plan.plot().to_dict()["title"]["text"].startswith("Probability")


def test_both_procedures_are_planned_side_by_side(plan: PowerPlan) -> None:
    split, folds = plan.sample_sizes[0], plan.sample_sizes[-1]
    assert (split.folds, folds.folds, folds.train_fraction) == (None, 2, 0.5)
    assert split.rows is not None
    assert folds.rows is not None
    assert folds.rows < split.rows
    reached = simulate(assume(GROUPS), Setting(folds.rows, 0.5, 7, Claim(), 0.05, 2), 4_000, 1)
    assert reached.power == pytest.approx(0.8, abs=0.04)
    text = " ".join(plan.summary().split())
    assert f"To reach .80 in 2 folds: {folds.rows:,} rows" in text
    assert f"needs {folds.rows / split.rows:.0%} of the rows of the paper's split with 50% for training" in text
    assert "Declare the procedure before the audit." in text
    assert plan.asked.folds is None
    drawn = str(plan.plot().to_dict())
    assert "'splits, 50% train'" in drawn
    assert "'2 folds'" in drawn


def test_a_plan_for_folds_is_asked_for_like_any_other() -> None:
    plan = power_from_assumptions(GROUPS, rows=700, repetitions=500, folds=3, tried=Tried(train_fractions=(0.5,)))
    assert (plan.asked.folds, plan.asked.training_rows, plan.asked.rows) == (3, 466, 700)
    assert [size.folds for size in plan.sample_sizes] == [None, 3]
    assert plan.asked.power == simulate(assume(GROUPS), Setting(700, 0.5, 7, Claim(), 0.05, 3), 500, 0).power
    assert "700 rows, all tested in 3 folds, and the median of 7, the test rejects" in " ".join(plan.summary().split())
    assert plan.to_dict()["folds"] == 3


def test_the_same_seed_gives_the_same_plan() -> None:
    first, second = (
        power_from_pilot(needs(3_000, 1), **LEARNED, rows=6_000, repetitions=200, fits=5, sizes=3).to_dict()
        for _ in range(2)
    )
    assert first == second
    assert first["range"][0] <= first["power"] <= first["range"][1]
    assert any("rows other than those to be audited" in text for text in first["warnings"])


def test_clusters_and_several_group_columns_can_be_planned_for() -> None:
    frame = needs(4_000, 2)
    frame = frame.with_columns(
        sex=pl.Series(np.arange(4_000) % 2).cast(pl.String), clinic=pl.Series(np.arange(4_000) // 4)
    )
    options = LEARNED | {"group": ["group", "sex"], "cluster": "clinic"}
    plan = power_from_pilot(frame, **options, repetitions=100, fits=4, sizes=2)
    assert plan.groups == ("group=b", "group=w", "sex=0", "sex=1")
    assert 0 <= plan.asked.power <= 1


def test_beyond_the_pilot_the_candidate_stays_as_it_is() -> None:
    outlook, *_ = learn(needs(3_000, 1), 3, 4, LEARNED, 0)
    assert (outlook.at(1e6)[0] == outlook.means[-1]).all()
    assert (outlook.at(1.0)[0] == outlook.means[0]).all()
    assert [outlook.reach(rows) for rows in (1, outlook.sizes[1], 1e6)] == ["below", "studied", "beyond"]


def test_a_pilot_that_is_too_small_is_refused() -> None:
    with pytest.raises(DataError, match=r"too small to plan from: the status quo selects .* rows of group 'b'"):
        power_from_pilot(needs(200, 1), **LEARNED)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"overlap": 1.5}, "overlap of group 'b' is 1.5"),
        ({"overlap": 1.0, "rates": (0.3, 0.2)}, "selects too few"),
        ({"overlap": 1.0, "rates": (0.3, 0.3)}, "the two means differ"),
        ({"rates": (0.0, 0.2)}, "selection rate of group 'b' is 0"),
        ({"rates": (0.9, 0.9), "overlap": 0.1}, "add up to more than everyone"),
        ({"spread": None}, "a mean of"),
        ({"name": "a"}, "at least two groups"),
        ({"share": -1.0}, "share of group 'b' is -1"),
    ],
)
def test_assumptions_that_cannot_be_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        power_from_assumptions([GROUPS[0], replace(GROUPS[1], **change)], rows=1_000)


@pytest.mark.parametrize(
    "options",
    [
        {"rows": 10},
        {"folds": 1},
        {"wanted": 1.0},
        {"splits": 0},
        {"train_fraction": 1.0},
        {"delta_accuracy": {"c": 0.1}},
    ],
)
def test_bad_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ImprovableError):
        power_from_assumptions(GROUPS, **({"rows": 1_000} | options))


def test_on_the_held_out_third_less_training_is_better(shared_data: Path) -> None:
    """There `linear` on the scores has a median p of about .05 with half of the rows for training, .01 with a fifth."""
    plan = power_from_pilot(
        shared_data / "obermeyer_holdout.csv",
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        rule="linear",
        features=["*_hat", "*_nocost", "weighted_*"],
        repetitions=500,
        fits=15,
        tried=Tried(
            rows=(16_099,), train_fractions=(0.2, 0.5), splits=(7,), deltas_accuracy=(0.0,), deltas_fairness=(0.0,)
        ),
    )
    power = {point.train_fraction: point.power for point in plan.points if point.varied == "train_fraction"}
    assert plan.best.train_fraction == 0.2
    assert power[0.2] > power[0.5] + 0.1
    few, half = (size.rows for size in reversed(plan.sample_sizes) if size.folds is None)
    assert few is not None
    assert half is not None
    assert few < half
