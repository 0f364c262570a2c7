"""Outcomes that are unknown for people who were not selected: worst cases equal brute
force, and nothing else moves.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable import Claim, Constraints, Groups, Read, Test, Utility
from improvable.algorithms.constraints import Limits
from improvable.algorithms.rules.base import Training
from improvable.data.columns import Reads, make_columns
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from improvable.errors import DataError, OptionError, RuleError
from improvable.inference.cells import CANDIDATE
from improvable.inference.tally import counted_of, evidence_without_draws, tally_rows
from improvable.inference.unknown import _moved, best_case, p_at
from improvable.procedure.survey import survey
from improvable.procedure.unknown import E_MIN, OutcomeModel, impute, learn_outcomes
from improvable.question.design import make_design
from improvable.question.settings import Settings
from improvable.results.audit import Audit

FEW = Test(draws=200)
QUICK = Test(draws=200, repetitions=2)
FEATURES = ("x0", "x1", "x2")
ASKED: dict[str, Any] = {
    "group": "group",
    "status_quo": "old",
    "features": FEATURES,
    "rule": "lasso",
    "row_id": "id",
}
DECIDED: dict[str, Any] = {"group": "group", "status_quo": "old", "candidate": "new"}


def lender(
    rows: int, seed: int = 0, noise: float = 1.0, amounts: bool = False
) -> pl.DataFrame:
    """People of two groups; `y` is known of those whom the status quo selects, and
    `truth` of everyone.
    """
    rng = np.random.default_rng(seed)
    group, x = rng.random(rows) < 0.45, rng.normal(size=(rows, 3))
    mean = np.clip(0.55 + 0.13 * x[:, 0] + 0.1 * x[:, 1] - 0.05 * group, 0.02, 0.98)
    outcome = (
        10 * mean * rng.gamma(2.0, 0.5, rows)
        if amounts
        else (rng.random(rows) < mean).astype(float)
    )
    old = x[:, 0] + noise * rng.normal(size=rows) - 0.4 * group > 0.2
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "truth": outcome,
            "group": np.where(group, "b", "a"),
            "y": [
                y if seen else None
                for y, seen in zip(outcome.tolist(), old.tolist(), strict=True)
            ],
            "old": old.astype(int),
            "new": (x[:, 0] + x[:, 1] > 0.3).astype(int),
            "weight": rng.integers(1, 4, rows),
            "household": np.arange(rows) // 2,
            **{f"x{j}": x[:, j] for j in range(3)},
        }
    )


def test_the_worst_case_is_that_of_every_corner() -> None:
    """All ways to fill in a few unknown outcomes of 0 and 1: the least accuracy of each
    group, and the widest gap.
    """
    rows = lender(70, seed=3).with_columns(
        new=pl.when(pl.col("id") < 60).then("new").otherwise("old")
    )
    found = improvable.compare(
        rows, outcome="y", read=Read(unknown_outcomes=1), test=FEW, **DECIDED
    )
    selected = rows.filter(pl.col("new") == 1)
    holes = np.flatnonzero(selected["y"].is_null().to_numpy())
    assert 4 < len(holes) < 12
    group, outcome, corners = (
        selected["group"].to_numpy(),
        selected["y"].to_numpy().copy(),
        [],
    )
    for corner in product((0.0, 1.0), repeat=len(holes)):
        outcome[holes] = corner
        corners.append([outcome[group == one].mean() for one in "ab"])
    means = np.array(corners)
    np.testing.assert_allclose(
        found.evidence.values[0][:, 0, CANDIDATE], means.min(axis=0)
    )
    np.testing.assert_allclose(
        found.evidence.ends[1][0][0][:, 0, CANDIDATE], means.max(axis=0)
    )
    facts = found.to_dict()
    (gap,) = (
        one["candidate"]
        for one in facts["repetitions"][0]["components"]
        if one["kind"] == "fairness"
    )
    assert gap == pytest.approx(np.abs(means[:, 0] - means[:, 1]).max())
    assert gap == pytest.approx(
        next(
            one["candidate"]["estimate"]
            for one in facts["estimates"]
            if one["kind"] == "gap"
        )
    )
    known = rows.filter(pl.col("y").is_not_null() & (pl.col("old") == 1))
    for g, one in enumerate("ab"):  # the status quo's own is what it is
        assert found.evidence.values[0][g, 0, 0] == pytest.approx(
            known.filter(pl.col("group") == one)["y"].mean()
        )
    best = best_case(found.evidence)
    np.testing.assert_allclose(best.values[0][:, 0, CANDIDATE], means.max(axis=0))
    np.testing.assert_allclose(best.ends[1][0][0][:, 0, CANDIDATE], means.min(axis=0))


def probable(rows: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    """The same people, of whom only the probability of either group is known, and of
    some the group.
    """
    in_b = rows["group"].to_numpy() == "b"
    high, low = np.random.default_rng(seed).beta(
        [[1.9], [0.9]], [[0.6], [1.6]], (2, len(rows))
    )
    p_b = np.where(in_b, high, low)
    some = pl.when(pl.col("id") % 4 == 0).then("group")
    return rows.with_columns(p_a=pl.Series(1 - p_b), p_b=pl.Series(p_b), known=some)


@pytest.mark.parametrize("estimator", ["weighted", "linear", "corrected"])
def test_probable_groups_count_unknown_outcomes_at_either_end(estimator: str) -> None:
    """Weighted, by regression, or corrected by known groups: a slow loop with every
    unknown outcome at 0, and at 1.
    """
    rows = probable(lender(400)).with_columns(pl.col("weight").cast(float))
    more: dict[str, Any] = {"known": "known"} if estimator == "corrected" else {}
    groups = Groups(probabilities={"a": "p_a", "b": "p_b"}, **more)
    asked = DECIDED | {"group": groups, "weight": "weight"}
    found = improvable.compare(
        rows, outcome="y", read=Read(unknown_outcomes=1), test=FEW, **asked
    )
    shares, weights = rows.select("p_a", "p_b").to_numpy(), rows["weight"].to_numpy()
    factors = weights[:, None] * shares
    if estimator == "linear":
        gram = sum(w * np.outer(p, p) for w, p in zip(weights, shares, strict=True))
        factors = np.array(
            [
                w * np.linalg.solve(gram, p) * factors.sum(axis=0)
                for w, p in zip(weights, shares, strict=True)
            ]
        )
    if estimator == "corrected":
        times = weights.sum() / weights[rows["known"].is_not_null().to_numpy()].sum()
        for i, label in enumerate(rows["known"]):
            if label is not None:
                factors[i] += (
                    weights[i] * times * ((np.array(["a", "b"]) == label) - shares[i])
                )
    place = ["weighted", "linear"].index(estimator) if estimator != "corrected" else 0
    for end, value in enumerate((0.0, 1.0)):
        for g in range(2):
            top = bottom = 0.0
            for i, row in enumerate(rows.iter_rows(named=True)):
                if row["new"]:
                    top += factors[i, g] * (value if row["y"] is None else row["y"])
                    bottom += factors[i, g]
            assert found.evidence.ends[end][place][0][g, 0, CANDIDATE] == pytest.approx(
                top / bottom, abs=1e-12
            )


def test_certain_probabilities_and_unknown_outcomes_are_known_groups_with_them() -> (
    None
):
    rows = lender(700).with_columns(
        p_a=(pl.col("group") == "a").cast(float),
        p_b=(pl.col("group") == "b").cast(float),
    )
    how: dict[str, Any] = {
        **ASKED,
        "outcome": "y",
        "capacity": 0.4,
        "test": QUICK,
        "read": Read(unknown_outcomes=0.05),
    }
    certain = how | {"group": Groups(probabilities={"a": "p_a", "b": "p_b"})}
    assert same(improvable.audit(rows, **how), improvable.audit(rows, **certain))


def test_probable_groups_with_unknown_outcomes_in_every_output(tmp_path: Path) -> None:
    """Both assumptions beside the verdict, both pictures in the report; nothing depends
    on the order of rows.
    """
    rows = probable(lender(1_500, noise=1.2))
    groups = Groups(probabilities={"a": "p_a", "b": "p_b"}, assume="probabilities only")
    how: dict[str, Any] = {
        **ASKED,
        "group": groups,
        "outcome": "y",
        "capacity": 0.4,
        "cluster": "household",
        "claim": Claim(ask="accuracy", delta_accuracy=-0.2),
        "test": QUICK,
    }
    found = improvable.audit(rows, **how, read=Read(unknown_outcomes=0.01))
    for data, read in orders(rows, tmp_path / "rows"):
        assert same(
            found,
            improvable.audit(data, **how, read=Read(unknown_outcomes=0.01, **read)),
        )
    facts = found.to_dict()
    assert facts["reject"]
    assert facts["unknown"] is not None
    assert 0 < (facts["unknown"]["last_delta"] or 0) < 1
    assert facts["tipping_point"] is not None
    words = " ".join(found.summary().split())
    assert "beyond the probabilities" in words
    assert "nobody has seen the outcome of" in words
    assert (
        "nothing depends on the group, and unknown outcomes are within what was "
        "assumed of them:"
    ) in words
    report = tmp_path / "report.html"
    found.report(report)
    page = report.read_text()
    assert "How far memberships may depart from the probabilities" in page
    assert "How far unknown outcomes may be from known ones" in page
    found.save(tmp_path / "saved")
    assert improvable.load(tmp_path / "saved").to_dict() == facts


def learned(
    rows: pl.DataFrame, delta: float, **more: Any
) -> tuple[Any, Any, Any, OutcomeModel]:
    """Design, reading, tested rows and a model from the first half of the rows."""
    design = make_design(
        Settings(
            outcome="y", group="group", status_quo="old", unknown_outcomes=delta, **more
        )
    )
    engine = Memory(read_rows(rows), 1)
    columns = make_columns(
        engine.columns, design, [Reads(("old",)), Reads(("new", *FEATURES))]
    )
    reading = survey(engine, design, columns, False).reading
    sample = reading.sample(engine.rows)
    half = np.arange(len(rows) // 2)
    training = Training(
        sample.take(half),
        FEATURES,
        True,
        "y",
        design,
        Limits(),
        np.random.SeedSequence(1),
    )
    model = learn_outcomes(training, reading, 0.05)
    assert model is not None
    return design, reading, sample.take(half + len(half)), model


def counted(design: Any, reading: Any, tested: Any, model: OutcomeModel) -> Any:
    decisions = tested.rows.numbers("old"), tested.rows.numbers("new")
    tally = tally_rows(
        design, tested, decisions, impute(reading, tested, decisions[0], model)
    )
    return evidence_without_draws(
        design, reading.tested, counted_of(design, tally, None), None
    )


@pytest.mark.parametrize("lower", [False, True])
def test_contributions_equal_a_slow_loop(lower: bool) -> None:
    rows = lender(600, noise=0.4, amounts=True)
    design, reading, tested, model = learned(rows, 0.3, lower_is_better=lower)
    found = counted(design, reading, tested, model)
    mean, error, chance = model.predict(tested.rows)
    # of the lowest and of the highest that outcomes can be, and of people
    sums = {g: np.zeros(3) for g in "ab"}
    there = rows[300:]
    for i, row in enumerate(there.iter_rows(named=True)):
        if row["new"]:
            enough = max(chance[i], E_MIN)
            ends = [
                mean[i]
                + side * (0.3 + model.times * error[i] * (1 - chance[i] / enough))
                for side in (-1, 1)
            ]
            if row["y"] is not None:
                ends = 2 * [row["y"] + (1 - chance[i]) / enough * (row["y"] - mean[i])]
            sums[row["group"]] += [*ends, 1]
    for g, group in enumerate("ab"):
        low, high = (sums[group][end] / sums[group][2] for end in (0, 1))
        assert found.ends[0][0][0][g, 0, CANDIDATE] == pytest.approx(low)
        assert found.ends[1][0][0][g, 0, CANDIDATE] == pytest.approx(high)
        assert found.values[0][g, 0, CANDIDATE] == pytest.approx(high if lower else low)


def test_the_same_draws_tell_of_any_other_delta() -> None:
    design, reading, tested, model = learned(lender(600), 0.05)
    one = counted(design, reading, tested, model)
    other = counted(design, reading, tested, replace(model, delta=0.12))
    np.testing.assert_allclose(
        _moved(one, 0.0, 1.0, 2 * 0.07).sums, other.sums, atol=1e-12
    )


def same(one: Audit, other: Audit) -> bool:
    pairs = zip(one.repetitions, other.repetitions, strict=True)
    return one.p_value == other.p_value and all(
        np.array_equal(a.evidence.draws, b.evidence.draws) for a, b in pairs
    )


def orders(rows: pl.DataFrame, path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
    path.mkdir()
    for part, some in enumerate(
        rows.sample(fraction=1.0, shuffle=True, seed=1).iter_slices(150)
    ):
        some.write_parquet(path / f"{part}.parquet")
    yield rows.reverse().to_pandas(), {}
    yield path, {"engine": "arrow"}


@pytest.mark.parametrize("cluster", [None, "household"])
def test_order_engine_and_workers_change_nothing(
    cluster: str | None, tmp_path: Path
) -> None:
    rows = lender(700)
    how: dict[str, Any] = {
        **ASKED,
        "outcome": "y",
        "capacity": 0.4,
        "cluster": cluster,
        "weight": "weight",
        "test": QUICK,
    }
    first = improvable.audit(rows, **how, read=Read(unknown_outcomes=0.05), n_jobs=1)
    for data, read in orders(rows, tmp_path / "rows"):
        assert same(
            first,
            improvable.audit(
                data, **how, read=Read(unknown_outcomes=0.05, **read), n_jobs=2
            ),
        )


def test_where_nothing_is_unknown_nothing_changes() -> None:
    rows = lender(700)
    how: dict[str, Any] = {**ASKED, "outcome": "truth", "capacity": 0.4, "test": QUICK}
    assert (
        improvable.audit(rows, **how, read=Read(unknown_outcomes=0.1)).p_value
        == improvable.audit(rows, **how).p_value
    )


def test_where_nobody_new_is_selected_nothing_changes() -> None:
    rows = lender(700).with_columns(new=pl.col("new") * pl.col("old"))
    for claim in (Claim(), Claim(delta_accuracy=-0.1)):
        found = improvable.compare(
            rows,
            outcome="y",
            read=Read(unknown_outcomes=1),
            test=FEW,
            claim=claim,
            **DECIDED,
        )
        truth = improvable.compare(
            rows, outcome="truth", test=FEW, claim=claim, **DECIDED
        )
        assert found.p_value == truth.p_value
        np.testing.assert_array_equal(
            found.evidence.draws[:, :, :1], truth.evidence.draws
        )
        assert found.to_dict()["at_most"] == truth.to_dict()["at_most"]


def test_a_wider_bound_is_harder_to_show(tmp_path: Path) -> None:
    rows = lender(1500, noise=1.2)
    ask = Claim(ask="accuracy")
    found = improvable.audit(
        rows,
        **ASKED,
        outcome="y",
        capacity=0.4,
        read=Read(unknown_outcomes=0),
        claim=ask,
        test=QUICK,
    )
    facts = found.to_dict()["unknown"]
    assert facts is not None
    p_values = [one["p_value"] for one in facts["curve"]]
    assert p_values == sorted(p_values)
    assert p_values[0] == found.p_value
    assert p_values[-1] == 1.0
    assert found.reject
    last, every = facts["last_delta"], [one.evidence for one in found.repetitions]
    assert last is not None
    assert p_at(every, ask, last) < found.level <= p_at(every, ask, last + 0.01)
    assert 0 < facts["selected"]["a"] < 1
    assert facts["benchmark"] is not None
    words = found.summary()
    assert "nobody has seen the outcome" in " ".join(words.split())
    assert f"differs by up to {last:.2g}" in " ".join(words.split())
    found.plot("unknown").save(tmp_path / "unknown.svg")
    loaded_from = tmp_path / "saved"
    found.save(loaded_from)
    assert improvable.load(loaded_from).to_dict()["unknown"] == facts


def test_declined_people_are_like_nobody_beyond_a_cutoff() -> None:
    with pytest.warns(
        improvable.ImprovableWarning, match="like nobody whose outcome was seen"
    ):
        improvable.audit(
            lender(900, noise=0.0),
            **ASKED,
            outcome="y",
            capacity=0.4,
            read=Read(unknown_outcomes=0),
            test=QUICK,
        )


@pytest.mark.parametrize(
    ("rule", "capacity"),
    [
        ("lasso", 0.3),
        ("aim", 0.3),
        ("lasso", 0.7),  # more than the status quo selects
        ("linear_program:nodes=5", 0.3),  # has no scores
    ],
)
def test_nobody_new_is_selected(rule: str, capacity: float) -> None:
    rows = lender(500)
    result = improvable.audit(
        rows,
        **ASKED | {"rule": rule},
        outcome="y",
        capacity=capacity,
        claim=Claim(delta_accuracy=-0.9, delta_fairness=-0.9, form="difference"),
        constraints=Constraints(max_unknown=0),
        read=Read(unknown_outcomes=1),
        test=Test(draws=200, repetitions=1),
    )
    unknown = result.to_dict()["unknown"]
    assert unknown is not None
    assert unknown["selected"] == {"a": 0.0, "b": 0.0}
    decisions = np.asarray(result.refit().decide(rows))
    assert (decisions <= rows["old"].to_numpy()).all()


def test_other_utilities_schemes_and_features_work_too() -> None:
    """Outcomes that must be 0 and 1, the paper's split, the normal limit, two columns
    of groups, texts and holes.
    """
    rows = lender(700).with_columns(
        job=pl.Series(np.random.default_rng(3).choice(["x", "y", "z"], 700)),
        hole=pl.when(pl.col("id") % 7 > 0).then("x2"),
        sex=pl.when(pl.col("id") % 3 == 0).then(pl.lit("f")).otherwise(pl.lit("m")),
    )
    every: list[dict[str, Any]] = [
        {
            "accuracy": "positive_predictive_value",
            "fairness": "selection_rate",
            "features": ["x0", "x1", "job", "hole"],
        },
        {
            "test": Test(scheme="split", draws=200, repetitions=2),
            "group": ["group", "sex"],
        },
        {
            "test": Test(method="delta", draws=200, repetitions=2),
            "claim": Claim(overall="population"),
        },
    ]
    for more in every:
        how = (
            ASKED
            | {
                "outcome": "y",
                "capacity": 0.4,
                "test": QUICK,
                "read": Read(unknown_outcomes=0.02),
            }
            | more
        )
        facts = improvable.audit(rows, **how).to_dict()["unknown"]
        assert facts is not None
        assert facts["curve"][0]["p_value"] <= facts["curve"][-1]["p_value"]
        assert all(0 < (share or 0) < 1 for share in facts["selected"].values())


@pytest.mark.parametrize("most", [0.0, 0.15])
def test_few_who_are_new_are_selected(most: float) -> None:
    rows = lender(3000)
    how: dict[str, Any] = {
        **ASKED,
        "capacity": 0.3,
        "constraints": Constraints(max_unknown=most),
        "test": QUICK,
    }
    algorithm = improvable.audit(rows, **how, outcome="truth").refit()
    chosen = np.asarray(algorithm.decide(rows)) == 1
    assert chosen.mean() == pytest.approx(0.3, abs=0.02)
    assert (rows["old"].to_numpy()[chosen] == 0).mean() == pytest.approx(most, abs=0.03)


def test_what_cannot_be_asked_is_refused_in_one_line() -> None:
    rows = lender(300)
    with pytest.raises(DataError, match="missing or infinite values") as refused:
        improvable.compare(rows, outcome="y", **DECIDED)
    assert "unknown_outcomes" in str(refused.value)
    unknown = Read(unknown_outcomes=1)
    with pytest.raises(
        OptionError,
        match="'classification_rate' needs the outcomes of people who are not selected",
    ):
        improvable.compare(
            rows, outcome="y", accuracy="classification_rate", read=unknown, **DECIDED
        )
    with pytest.raises(OptionError, match="not known for 'f_score'"):
        improvable.compare(
            rows, outcome="y", accuracy="f_score", read=unknown, **DECIDED
        )
    square = Utility(lambda y, d: y**2 * d, lambda y, d: d, name="square")
    with pytest.raises(OptionError, match="'square' is not a mean of outcomes"):
        improvable.compare(
            lender(300, amounts=True),
            outcome="y",
            accuracy=square,
            read=Read(unknown_outcomes=99, outcome_range=(0, 99)),
            **DECIDED,
        )
    with pytest.raises(DataError, match="rows that the status quo selects have no 'y'"):
        improvable.compare(
            rows.with_columns(old=1 - pl.col("old")),
            outcome="y",
            read=unknown,
            **DECIDED,
        )
    with pytest.raises(OptionError, match="no training rows"):
        improvable.compare(
            rows, outcome="y", read=Read(unknown_outcomes=0.2), **DECIDED
        )
    with pytest.raises(OptionError, match="unknown_outcomes` is -1"):
        improvable.compare(rows, outcome="y", read=Read(unknown_outcomes=-1), **DECIDED)
    with pytest.raises(OptionError, match="max_unknown` is 2"):
        improvable.audit(
            rows, **ASKED, outcome="truth", constraints=Constraints(max_unknown=2)
        )
    with pytest.raises(RuleError, match="needs a rule that scores people"):
        improvable.audit(
            rows,
            **ASKED | {"rule": "linear_program:nodes=5"},
            outcome="truth",
            capacity=0.3,
            constraints=Constraints(max_unknown=0.1),
            test=QUICK,
        )


def test_rows_show_no_outcome_that_nobody_has_seen() -> None:
    found = improvable.audit(
        lender(500),
        **ASKED,
        outcome="y",
        capacity=0.4,
        read=Read(unknown_outcomes=0.1),
        test=QUICK,
    )
    rows = found.repetition_rows()
    assert (
        rows.filter(pl.col("y").is_nan() | pl.col("y").is_null())["status_quo"]
        .fill_null(0)
        .max()
        == 0
    )
