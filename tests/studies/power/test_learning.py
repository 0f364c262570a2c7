"""Learning curves: every number beside a slow twin, and words that follow from them."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from assumed import GROUPS
from flat import flat_audit
from improvable.errors import OptionError
from improvable.studies.power import Learning, power_from_assumptions, power_from_pilot
from improvable.studies.power.learning import LearningPoint, _step, learning_of

QUESTION: dict[str, Any] = {
    "outcome": "outcome",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.2),
    "rule": "linear",
}


def people(rows: int, noise: int, seed: int) -> pl.DataFrame:
    """One useful feature, and some that a rule must learn to ignore."""
    rng = np.random.default_rng(seed)
    low = rng.random(rows) < 0.4
    need = rng.normal(0.2 * low, 1, rows)
    useless = {f"noise_{j}": rng.normal(size=rows) for j in range(noise)}
    return pl.DataFrame(
        {
            "group": np.where(low, "b", "w"),
            "need": need + rng.normal(0, 0.3, rows),
            "score": need - low + rng.normal(0, 1.6, rows),
            "outcome": rng.poisson(np.exp(0.5 * need + 0.2)),
            **useless,
        }
    )


def studies(
    rows: int, noise: int, fits: int, shares: tuple[float, ...], seed: int = 0
) -> list[improvable.Audit]:
    features = ["need", *(f"noise_{j}" for j in range(noise))]
    frame = people(rows, noise, seed)
    return [
        flat_audit(
            frame,
            **QUESTION,
            features=features,
            scheme="split",
            repetitions=fits,
            train_fraction=share,
            draws=100,
            seed=100 * seed + j,
        )
        for j, share in enumerate(shares)
    ]


@pytest.mark.paper("Definition 4")
@pytest.mark.parametrize("protected", [None, "b"])
def test_points_and_errors_are_those_of_a_slow_twin(protected: str | None) -> None:
    audits = [
        one.with_claim(protected=protected) for one in studies(1_200, 2, 6, (0.3, 0.6))
    ]
    learning = learning_of(audits)
    for audit in audits:
        here = {
            (p.kind, p.group): p
            for p in learning.points
            if p.training_rows == 1_200 - audit.repetitions[0].rows
        }
        facts = audit.to_dict()["repetitions"]
        table = np.array(
            [
                [
                    [f["accuracy"][g][a] for a in ("status_quo", "candidate")]
                    for g in "bw"
                ]
                for f in facts
            ]
        )
        for g, group in enumerate("bw"):
            point, gains = here["accuracy", group], table[:, g, 1] - table[:, g, 0]
            assert (point.status_quo, point.candidate) == pytest.approx(
                tuple(table[:, g].mean(axis=0))
            )
            assert point.gain == pytest.approx(gains.mean())
            assert point.error == pytest.approx(gains.std(ddof=1) / np.sqrt(6))

        def gaps(kept: Any) -> Any:
            b, w = kept.mean(axis=0)
            # a higher bar is worse
            return np.maximum(b - w, 0) if protected else abs(b - w)

        point = here["fairness", "group"]
        assert (point.status_quo, point.candidate) == pytest.approx(tuple(gaps(table)))
        left = [-np.diff(gaps(np.delete(table, i, axis=0)))[0] for i in range(6)]
        assert point.error == pytest.approx(
            np.sqrt(5 / 6 * np.sum((left - np.mean(left)) ** 2))
        )
    for step in learning.steps:
        first, last = [
            p for p in learning.points if (p.kind, p.group) == (step.kind, step.group)
        ]
        assert step.change == pytest.approx(last.gain - first.gain)
        assert step.error == pytest.approx(np.hypot(first.error, last.error))


@pytest.mark.paper("Definition 4")
def test_a_rule_that_still_learns_is_told_from_one_that_has_learned() -> None:
    """With 40 useless features 100 training rows are few and 300 are not; with none,
    the cutoff is all that moves.
    """
    still = learning_of(studies(800, 40, 25, (0.125, 0.4)))
    assert still.more_rows_help
    assert "More training rows would help" in still.words[0]
    done = learning_of(studies(3_000, 0, 25, (0.3, 0.6)))
    assert not done.more_rows_help
    assert "does not show that more training rows would help" in done.words[0]
    assert "standard errors" in done.words[2]


def test_the_errors_are_what_other_pilots_show() -> None:
    """16 pilots of a rule that has learned: the scatter of steps beside what the fits
    predict, 18% of error each.
    """
    found = [learning_of(studies(1_000, 1, 8, (0.46, 0.8), seed)) for seed in range(16)]
    changes, errors = (
        np.array([[getattr(s, n) for s in one.steps] for one in found])
        for n in ("change", "error")
    )
    ratio = changes.std(axis=0, ddof=1) / np.sqrt((errors**2).mean(axis=0))
    assert (ratio > 0.55).all()
    assert (ratio < 1.5).all()
    assert np.mean([one.more_rows_help is True for one in found]) < 0.2


def point(gain: float, error: float, rows: int) -> LearningPoint:
    return LearningPoint(
        "accuracy", "calibration", "b", rows, 100, 10, 1.0, 1.0 + gain, gain, error
    )


@pytest.mark.parametrize(
    ("change", "error", "verdict"),
    [
        (0.3, 0.1, "rising"),
        (0.1, 0.1, "not told"),
        (-0.3, 0.1, "falling"),
        (np.nan, np.nan, "not told"),
    ],
)
def test_a_step_counts_beyond_its_errors(
    change: float, error: float, verdict: str
) -> None:
    step = _step(point(0.0, 0.0, 100), point(change, error, 200), 2.1)
    assert step.verdict == verdict
    text = Learning(
        (point(0.0, 0.0, 100), point(change, error, 200)),
        (step,),
        2.1,
        "linear",
        "polars",
    ).words[0]
    head = {
        "rising": "would help",
        "falling": "would not help",
        "not told": "does not show",
    }[verdict]
    assert head in text


def test_a_trade_is_said_to_be_one() -> None:
    up, down = (
        _step(point(0.0, 0.0, 100), point(change, 0.1, 200), 2.1)
        for change in (1.0, -1.0)
    )
    learning = Learning(
        (point(0.0, 0.0, 100), point(1.0, 0.1, 200)),
        (up, down),
        2.1,
        "linear",
        "polars",
    )
    assert learning.more_rows_help is None
    assert "trade one for the other" in learning.words[0]


def test_a_plan_has_its_learning_in_words_table_json_and_picture() -> None:
    plan = power_from_pilot(
        people(1_500, 1, 3),
        rows=3_000,
        simulations=100,
        fits=4,
        sizes=3,
        **QUESTION,
        features=["need", "noise_0"],
    )
    learning = plan.learning()
    assert len(learning.table()) == len(learning.points) == 9
    assert "training rows" in plan.summary()
    assert learning.words[0] in " ".join(plan.summary().split())
    facts = json.loads(json.dumps(plan.to_dict()))["learning"]
    assert facts["more_rows_help"] == learning.more_rows_help
    assert len(facts["points"]) == 9
    picture = json.dumps(learning.plot().to_dict())
    assert "training rows" in picture
    assert "candidate" in picture


def test_an_assumed_candidate_does_not_learn() -> None:
    plan = power_from_assumptions(GROUPS, rows=1_000, simulations=100)
    assert plan.to_dict()["learning"] is None
    with pytest.raises(OptionError, match="does not learn"):
        plan.learning()
