"""Intervals of rates near one, of weighted and clustered rows too; what is no rate
keeps the interval of its draws.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from improvable._typing import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.inference.cells import count, pool_clusters
from improvable.inference.corrections import prepare
from improvable.inference.evidence import Evidence
from improvable.inference.intervals import Estimate, estimates, interval, wilson
from improvable.question.claim import Claim
from improvable.question.utility import Measure

SAMPLES, DRAWS = 250, 400
MONTE_CARLO = (0.05 * 0.95 / SAMPLES) ** 0.5
"""The standard error of a simulated coverage of 95%: 1.4 points."""
NOTHING = np.zeros((2, 1, 2, 2))


def evidence_of(
    values: FloatArray,
    seed: int,
    weights: FloatArray | None = None,
    clusters: IntArray | None = None,
) -> Evidence:
    """One group of interest whose rows have these values under both algorithms, and
    another of ten rows.
    """
    weights = np.concatenate(
        [np.ones(len(values)) if weights is None else weights, np.ones(10)]
    )
    u = np.concatenate([values, np.arange(10) % 2]) * weights
    vectors, group = (
        np.column_stack([u, weights, u, weights]),
        np.repeat([0, 1], [len(values), 10]),
    )
    entropy = np.random.SeedSequence(seed)
    if clusters is None:
        cells = count(vectors, group, 2)
    else:
        every = np.concatenate([clusters, clusters.max() + 1 + np.arange(10)])
        pooled = pool_clusters(vectors, group, every, 2)
        cells = count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)
    sums = cells.sums().reshape(NOTHING.shape)
    before = Evidence(
        attributes=(Attribute("group", ("a", "b"), np.arange(2)),),
        measures=(Measure("rate", "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=np.empty((0, *NOTHING.shape)),
        training=sums[:, :, 0],
        units=cells.rows,
    )
    drawable = prepare(before, Claim(), [cells], clusters is not None)
    return replace(
        before, draws=drawable.draw(sums, DRAWS, entropy), linear=drawable.linear
    )


def found(evidence: Evidence, quantity: str = "candidate") -> Estimate:
    return next(
        one
        for one in estimates(evidence, 0.05)
        if (one.group, one.quantity) == ("a", quantity)
    )


def plain(evidence: Evidence) -> tuple[float, float]:
    return interval(
        float(evidence.values[0][0, 0, 1]), evidence.drawn[0][:, 0, 0, 1], 0.95
    )


def sampled(
    kind: str, rate: float, rows: int, rng: np.random.Generator
) -> dict[str, Any]:
    if kind == "clusters of two":
        clusters = np.arange(rows) // 2
        # half of all rows share the outcome of their cluster
        common = rng.random(rows) < 0.5
        shared = np.repeat(rng.random(rows // 2) < rate, 2)
        return {
            "values": np.where(common, shared, rng.random(rows) < rate) * 1.0,
            "clusters": clusters,
        }
    values = (rng.random(rows) < rate) * 1.0
    return {"values": values} | (
        {"weights": rng.uniform(0.5, 2, rows)} if kind == "weights" else {}
    )


@pytest.mark.parametrize("kind", ["rows", "weights", "clusters of two"])
@pytest.mark.parametrize(("rate", "rows"), [(0.97, 40), (0.03, 60), (0.99, 200)])
def test_a_rate_near_the_edge_is_covered(kind: str, rate: float, rows: int) -> None:
    rng, own, drawn = np.random.default_rng(1), [], []
    for seed in range(SAMPLES):
        evidence = evidence_of(**sampled(kind, rate, rows, rng), seed=seed)
        one, (low, high) = found(evidence), plain(evidence)
        own.append(one.low <= rate <= one.high)
        drawn.append(low <= rate <= high)
    assert np.mean(own) > 0.95 - 2 * MONTE_CARLO
    assert np.mean(drawn) < 0.9, "what the draws alone would cover"


def test_many_rows_in_the_middle_have_the_interval_of_their_draws() -> None:
    evidence = evidence_of(np.tile([0.0, 1.0], 200), 0)
    one = found(evidence)
    assert (one.low, one.high) == pytest.approx(plain(evidence), abs=0.01)
    assert (one.low, one.high) == pytest.approx(wilson(0.5, 400, 0.95), abs=0.005)


def test_without_a_failure_rows_are_counted_by_what_their_weights_are_worth() -> None:
    weights = np.tile([1.0, 3.0], 50)
    one, other = (
        found(evidence_of(np.ones(100), 0, weights=w)) for w in (weights, None)
    )
    assert (other.low, other.high) == pytest.approx(wilson(1.0, 100, 0.95), abs=0.002)
    assert (one.low, one.high) == pytest.approx(
        wilson(1.0, weights.sum() ** 2 / (weights**2).sum(), 0.95), abs=0.003
    )


@pytest.mark.parametrize("scale", [0.95, 1e-3])
def test_what_is_no_rate_keeps_the_interval_of_its_draws(scale: float) -> None:
    """Counts with a mean below one; gains and losses that nearly cancel."""
    rng = np.random.default_rng(2)
    values = (
        rng.poisson(scale, 300) if scale > 0.5 else 50 * rng.normal(size=300)
    ).astype(np.float64)
    values += scale - values.mean() if scale < 0.5 else 0.0
    evidence = evidence_of(values, 0)
    one = found(evidence)
    assert 0 < one.estimate < 1
    assert (one.low, one.high) == plain(evidence)


def test_differences_keep_the_interval_that_agrees_with_the_test() -> None:
    evidence = evidence_of(np.arange(40) % 20 / 19 // 1.0, 0)
    one = found(evidence, "difference")
    assert (one.estimate, one.low, one.high) == (0.0, 0.0, 0.0)
