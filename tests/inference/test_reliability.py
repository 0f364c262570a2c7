"""Influence values agree with leaving rows out, and cautions fire where, and only where, their reason holds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from improvable.data.arrays import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.cells import Cells
from improvable.inference.evidence import Evidence
from improvable.inference.influence import Influence
from improvable.inference.normal_limit import collapse
from improvable.inference.reliability import (
    effective_rows,
    few_clusters,
    heavy_weights,
    rare_outcomes,
    reliability_cautions,
    skewed_statistics,
)
from improvable.question.claim import Claim
from simulation.hard import BOTH, ONLY_NEW, Drawn, clustered, evidence_of, rare, skewed, weighted


def seen(drawn: Drawn, groups: int = 2) -> tuple[Evidence, list[Cells]]:
    strata = drawn.counted(groups)
    seed = np.random.SeedSequence(1)
    return evidence_of(strata, drawn.cluster is not None, groups, seed, 300, plain=False), strata


def statistic(sums: FloatArray, coefficients: FloatArray) -> float:
    return float((coefficients * sums[..., 0] / sums[..., 1]).sum())


@pytest.mark.paper("Proposition B.2")
@pytest.mark.parametrize("by_cluster", [False, True])
def test_influence_values_are_what_leaving_a_unit_out_changes(by_cluster: bool) -> None:
    rng = np.random.default_rng(3)
    rows = 4_000
    drawn = Drawn(rng.integers(0, 3, rows), rng.integers(0, 4, rows), rng.gamma(2.0, 2.0, rows),
                  cluster=np.repeat(np.arange(400), 10) if by_cluster else None)  # fmt: skip
    strata, coefficients = drawn.counted(3), np.array([[1.0, -0.4], [-1.0, 0.0], [0.0, 0.7]])
    cells = strata[0]
    sums = cells.sums().reshape(3, 1, 2, 2)
    shape = Influence(strata, sums).shape(0, np.arange(3), coefficients)
    whole = statistic(sums[:, 0], coefficients)
    moved = []
    for c in range(len(cells.counts)):
        left = sums[:, 0].copy()
        if by_cluster:
            left -= cells.values[c].reshape(3, 2, 2)
        else:
            left[cells.block[c]] -= cells.values[c].reshape(2, 2)
        moved += [whole - statistic(left, coefficients)] * int(cells.counts[c])
    jackknife = np.array(moved)
    assert shape.spread == pytest.approx(np.sqrt((jackknife**2).sum()), rel=0.02)
    assert shape.largest == pytest.approx((jackknife**2).max() / (jackknife**2).sum(), rel=0.05)
    assert shape.units == (np.abs(jackknife) > 1e-12).sum()
    bootstrap = evidence_of(strata, by_cluster, 3, np.random.SeedSequence(2), 4_000, plain=True).drawn[0][:, :, 0]
    assert shape.spread == pytest.approx((coefficients * bootstrap).sum(axis=(1, 2)).std(), rel=0.06)


def test_the_lean_counts_tails_against_the_claim_only() -> None:
    rng = np.random.default_rng(4)
    kind = np.where(np.arange(200) < 100, 2, 3)
    outcome = np.where(kind == 2, rng.lognormal(0, 1.2, 200), rng.normal(3, 1, 200))
    strata = Drawn(np.zeros(200, dtype=np.int64), kind, outcome).counted(1)
    sums = strata[0].sums().reshape(1, 1, 2, 2)
    against, toward = (
        Influence(strata, sums).shape(0, np.zeros(1, dtype=np.int64), np.array([sides])).lean
        for sides in ([-1.0, 1.0], [1.0, -1.0])
    )
    values = outcome[kind == 2] - outcome[kind == 2].mean()
    assert against > 0.1 > toward
    spread = Influence(strata, sums).shape(0, np.zeros(1, dtype=np.int64), np.array([[-1.0, 1.0]])).spread
    assert against == pytest.approx((values**3).sum() / 100**3 / spread**3, rel=0.2)


def test_few_clusters() -> None:
    assert few_clusters(30) == []
    assert "only 29 clusters (fewer" in few_clusters(29)[0].text
    assert "40 clusters in 20 strata" in few_clusters(40, 20)[0].text
    assert few_clusters(60, 20) == []
    drawn = clustered(12)(np.random.default_rng(1))
    evidence, strata = seen(drawn)
    assert "few clusters" in [one.kind for one in reliability_cautions(evidence, Claim(), strata, 12)]


def test_heavy_weights_are_told_by_kishs_number() -> None:
    evidence, strata = seen(weighted(1.1)(np.random.default_rng(2)))
    found = heavy_weights(evidence, strata)
    effective = effective_rows(evidence.attributes, strata[0])
    for group, pair in effective_rows(evidence.attributes, collapse(strata[0])).items():
        assert pair == pytest.approx(effective[group])
    assert found
    for caution in found:
        _, group, *whose = caution.kind.split(maxsplit=2)
        assert f"{effective[group][whose == ['candidate']]:.1f} rows of equal weight" in caution.text
    even = weighted(1.1)(np.random.default_rng(2))
    evidence, strata = seen(Drawn(even.group, even.kind, even.outcome))
    assert heavy_weights(evidence, strata) == []
    assert all(
        isinstance(n, float) and n > 30
        for pair in effective_rows(evidence.attributes, strata[0]).values()
        for n in pair
    )


def test_a_few_equally_weighted_rows_are_not_blamed_on_weights() -> None:
    rng = np.random.default_rng(5)
    drawn = Drawn(rng.integers(0, 2, 60), rng.integers(0, 4, 60), rng.random(60), weight=np.full(60, 3.0))
    assert heavy_weights(*seen(drawn)) == []


def test_rare_outcomes_are_counted_in_the_rows_that_differ() -> None:
    evidence, strata = seen(rare(50)(np.random.default_rng(6)))
    found = rare_outcomes(evidence, strata)
    assert [one.kind for one in found] == ["rare calibration b"]
    assert "outcomes of 0 are rare" in found[0].text
    assert "Bring more rows" in found[0].text
    assert rare_outcomes(*seen(rare(400)(np.random.default_rng(6)))) == []


def test_agreeing_algorithms_differ_in_no_rare_row() -> None:
    rng = np.random.default_rng(7)
    drawn = Drawn(rng.integers(0, 2, 300), rng.choice([0, BOTH], 300), (rng.random(300) < 0.98).astype(float))
    assert rare_outcomes(*seen(drawn)) == []


@pytest.mark.parametrize(("binds", "name"), [("accuracy", "the accuracy of 'b'"), ("gap", "the gap by 'group'")])
def test_a_long_tail_against_the_claim_is_told(binds: str, name: str) -> None:
    evidence, strata = seen(skewed(1.5, binds)(np.random.default_rng(8)))
    kinds = [one.kind for one in skewed_statistics(evidence, Claim(), strata)]
    assert f"skewed calibration {name}" in kinds


@pytest.mark.parametrize(
    "options", [{}, {"overall": "population"}, {"overall": {"a": 1.0, "b": 3.0}}, {"form": "difference"}]
)
def test_even_outcomes_of_many_rows_need_no_caution(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(9)
    drawn = Drawn(rng.integers(0, 2, 4_000), rng.integers(0, 4, 4_000), rng.normal(5, 1, 4_000))
    evidence, strata = seen(drawn)
    assert reliability_cautions(evidence, Claim(**options), strata) == []


def test_tails_do_not_matter_far_from_the_null() -> None:
    drawn = skewed(1.3, "accuracy")(np.random.default_rng(10))
    evidence, strata = seen(drawn)
    assert skewed_statistics(evidence, Claim(), strata)
    gained = Drawn(drawn.group, drawn.kind, drawn.outcome + 100.0 * (drawn.kind == ONLY_NEW))
    kinds = [one.kind for one in skewed_statistics(*seen_with(gained))]
    assert not any("accuracy" in kind for kind in kinds)


def seen_with(drawn: Drawn) -> tuple[Evidence, Claim, list[Cells]]:
    evidence, strata = seen(drawn)
    return evidence, Claim(), strata


def test_several_attributes_are_looked_at() -> None:
    rng = np.random.default_rng(11)
    drawn = Drawn(rng.integers(0, 4, 800), rng.integers(0, 4, 800), rng.random(800), weight=1 + rng.pareto(1.0, 800))
    evidence, strata = seen(drawn, 4)
    race = Attribute("race", ("black", "white"), np.array([0, 0, 1, 1]))
    sex = Attribute("sex", ("f", "m"), np.array([0, 1, 0, 1]))
    crossed = replace(evidence, attributes=(race, sex))
    groups = {one.kind.split()[1] for one in heavy_weights(crossed, strata)}
    assert groups <= {"black", "white", "f", "m"}
    assert groups
    assert set(effective_rows(crossed.attributes, strata[0])) == {"black", "white", "f", "m"}
