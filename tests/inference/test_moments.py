"""The normal limit: exact moments, the right covariance, p-values and level like the
bootstrap's.
"""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.inference import moments as delta
from improvable.inference.cells import Cells, count, exact_sum, to_float
from improvable.inference.moments import Moments, add, collapse, draw_normal


def test_sums_are_exact_whatever_the_order() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(size=2_000) * 10.0 ** rng.integers(-300, 300, 2_000)
    values[:4] = 0.0, -0.0, 5e-324, -1.7e308
    counts = rng.integers(1, 10**9, 2_000)
    total = sum(
        (Fraction(float(v)) * int(c) for v, c in zip(values, counts, strict=True)),
        Fraction(0),
    )
    order = rng.permutation(2_000)
    assert exact_sum(values[order], counts[order]) == exact_sum(values, counts)
    assert Fraction(exact_sum(values, counts), 2**1126) == total
    assert to_float(exact_sum(values)) == float(
        sum(map(Fraction, map(float, values)), Fraction(0))
    )


def vectors_of(rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Contributions of one utility, dense for some rows and silent for others, and
    their blocks.
    """
    rng = np.random.default_rng(seed)
    chosen = rng.random((rows, 2, 1)) < 0.5
    outcome = rng.gamma(1.0, 2.0, (rows, 1, 1))
    vectors = np.concatenate([outcome * chosen, chosen], axis=2)
    return vectors.reshape(rows, 4).astype(np.float64), rng.integers(0, 3, rows)


@pytest.mark.parametrize(("rows", "batches"), [(3_000, 11), (1_200, 1_200)])
def test_moments_of_batches_are_those_of_all_rows_bit_for_bit(
    rows: int, batches: int
) -> None:
    """Even of batches of one row, which may contribute nothing."""
    vectors, block = vectors_of(rows)
    assert not vectors.any(axis=1).all()
    whole = collapse(count(vectors, block, 3))
    for most in (-1, 700):
        found: Cells | Moments | None = None
        for part in np.array_split(np.random.default_rng(1).permutation(rows), batches):
            batch = delta.settle(count(vectors[part], block[part], 3), most)
            found = batch if found is None else add(found, batch, most)
        assert found == whole


def test_cells_stay_cells_while_they_are_few() -> None:
    vectors, block = vectors_of(500)
    cells = count(vectors, block, 3)
    one, other = (
        count(vectors[:200], block[:200], 3),
        count(vectors[200:], block[200:], 3),
    )
    kept = add(one, other, len(cells.counts))
    assert isinstance(kept, Cells)
    assert kept.counts.tolist() == cells.counts.tolist()
    assert isinstance(add(one, other, len(cells.counts) - 1), Moments)


def test_draws_have_the_mean_and_covariance_of_resampled_rows() -> None:
    vectors, block = vectors_of(900)
    embedded = np.zeros((900, 3, 4))
    embedded[np.arange(900), block] = vectors
    flat = embedded.reshape(900, 12)
    draws = draw_normal(
        collapse(count(vectors, block, 3)), 20_000, np.random.SeedSequence(3)
    ).reshape(-1, 12)
    covariance = 900 * np.cov(flat.T, bias=True)
    spread = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        (draws.mean(axis=0) - flat.sum(axis=0)) / spread, 0, atol=0.04
    )
    np.testing.assert_allclose(
        (np.cov(draws.T) - covariance) / np.outer(spread, spread), 0, atol=0.04
    )


def both(
    frame: pl.DataFrame, **options: object
) -> tuple[improvable.Comparison, improvable.Comparison]:
    settings = {
        "outcome": "count",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        **options,
    }
    bootstrap, normal = (
        flat_compare(frame, **settings, method=m) for m in ("bootstrap", "delta")
    )
    return bootstrap, normal


@pytest.mark.paper("Proposition B.3")
@pytest.mark.parametrize(
    "options", [{}, {"weight": "weight"}, {"cluster": "cluster"}, {"gap": "absolute"}]
)
def test_p_values_agree_with_the_bootstrap(options: dict[str, object]) -> None:
    """With 20,000 draws each, a p-value's Monte Carlo error is below 0.005; the rest is
    the limit itself.
    """
    rng = np.random.default_rng(0)
    frame = Case(seed=2, rows=6_000).frame()
    frame = frame.with_columns(
        count=pl.col("count") + rng.random(6_000),
        weight=rng.random(6_000) + 0.5,
        cluster=rng.integers(0, 900, 6_000),
    )
    for claim in (
        {},
        {"delta_accuracy": 0.1, "delta_fairness": 0.3},
        {"delta_accuracy": 0.15},
    ):
        one, other = both(frame, draws=20_000, **options, **claim)
        for a, b in zip(
            one.assessment.components, other.assessment.components, strict=True
        ):
            assert abs(a.tail.p_value - b.tail.p_value) < 0.02
        assert other.to_dict()["method"] == "delta"


def test_an_identical_candidate_proves_nothing() -> None:
    frame = (
        Case(seed=5, rows=800)
        .frame()
        .with_columns(pl.col("count") + pl.Series(np.random.default_rng(1).random(800)))
    )
    _, normal = both(frame, candidate="now", draws=400)
    assert normal.p_value == 1.0
    assert all(
        component.tail.degenerate for component in normal.assessment.of("accuracy")
    )


@pytest.mark.paper("Proposition B.3")
def test_the_level_is_that_of_the_bootstrap() -> None:
    """Where one group's accuracy binds, both reject about 5% of 300 samples, and nearly
    the same ones.
    """
    rejected = []
    for i in range(300):
        rng = np.random.default_rng([5, i])
        group, outcome = rng.random(600) < 0.5, rng.gamma(2.0, 1.0, 600)
        now = rng.random(600) < 0.5
        new = np.where(
            group, rng.random(600) < 0.5, outcome + rng.normal(0, 1, 600) > 1.5
        )
        frame = pl.DataFrame(
            {"count": outcome + 0.8 * group, "group": group, "now": now, "new": new}
        )
        rejected.append([result.reject for result in both(frame, draws=400, seed=i)])
    bootstrap, normal = np.mean(rejected, axis=0)
    margin = 3.5 * (0.05 * 0.95 / 300) ** 0.5
    assert 0.05 - margin <= normal <= 0.05 + margin
    assert abs(bootstrap - normal) <= 0.02


def test_it_is_chosen_past_a_number_of_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = (
        Case(seed=5, rows=800)
        .frame()
        .with_columns(pl.col("count") + pl.Series(np.random.default_rng(1).random(800)))
    )
    settings = {
        "outcome": "count",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 200,
    }
    assert flat_compare(frame, **settings).to_dict()["method"] == "bootstrap"
    monkeypatch.setattr(delta, "MAX_CELLS", 100)
    chosen = flat_compare(frame, **settings)
    assert chosen.to_dict()["method"] == "delta"
    assert "normal limit" in chosen.summary(verbose=True)
    assert (
        flat_compare(frame, **settings, method="bootstrap").to_dict()["method"]
        == "bootstrap"
    )
