"""Influence values agree with leaving rows out, and cautions fire where, and only
where, their reason holds.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from improvable._typing import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.components import Condition
from improvable.inference.corrections import Corrected, plain, prepare
from improvable.inference.diagnostics import Differing, differing_rows, effective_rows
from improvable.inference.evidence import Evidence
from improvable.inference.influence import influence_of
from improvable.inference.moments import collapse
from improvable.inference.reliability import (
    few_differing,
    heavy_weights,
    reliability_cautions,
    skewed_statistics,
)
from improvable.question.claim import Claim
from validity.hard import (
    ONLY_NEW,
    Drawn,
    clustered,
    drawn_from,
    evidence_of,
    in_households,
    rare,
    skewed,
    weighted,
)


def seen(
    drawn: Drawn, claim: Claim | None = None, groups: int = 2
) -> tuple[Evidence, Corrected]:
    strata = drawn.counted(groups)
    evidence = evidence_of(strata, groups)
    return evidence, prepare(
        evidence,
        claim or Claim(),
        strata,
        drawn.cluster is not None,
        drawn.rows(groups)[2],
    )


def cautions_of(drawn: Drawn, claim: Claim | None = None) -> list[str]:
    evidence, drawable = seen(drawn, claim)
    rows, cluster, _ = drawn.rows(2)
    differing = differing_rows(
        evidence, rows, None if drawn.cluster is None else cluster
    )
    return [one.kind for one in reliability_cautions(evidence, drawable, differing)]


def condition(coefficients: FloatArray) -> Condition:
    return Condition("accuracy", "", 0, np.arange(len(coefficients)), coefficients, 0.0)


def statistic(sums: FloatArray, coefficients: FloatArray) -> float:
    return float((coefficients * sums[..., 0] / sums[..., 1]).sum())


@pytest.mark.paper("Proposition B.2")
@pytest.mark.parametrize("by_cluster", [False, True])
def test_influence_values_are_what_leaving_a_unit_out_changes(by_cluster: bool) -> None:
    rng = np.random.default_rng(3)
    rows = 4_000
    drawn = Drawn(
        rng.integers(0, 3, rows),
        rng.integers(0, 4, rows),
        rng.gamma(2.0, 2.0, rows),
        cluster=np.repeat(np.arange(400), 10) if by_cluster else None,
    )
    strata, coefficients = (
        drawn.counted(3),
        np.array([[1.0, -0.4], [-1.0, 0.0], [0.0, 0.7]]),
    )
    cells = strata[0]
    sums = cells.sums().reshape(3, 1, 2, 2)
    shape = influence_of(condition(coefficients), cells, sums)
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
    assert shape.largest == pytest.approx(
        (jackknife**2).max() / (jackknife**2).sum(), rel=0.05
    )
    assert shape.counts[shape.values != 0].sum() == (np.abs(jackknife) > 1e-12).sum()
    made = drawn_from(
        evidence_of(strata, 3),
        plain(strata, by_cluster),
        4_000,
        np.random.SeedSequence(2),
    )
    bootstrap = made.drawn[0][:, :, 0]
    assert shape.spread == pytest.approx(
        (coefficients * bootstrap).sum(axis=(1, 2)).std(), rel=0.06
    )


def test_the_lean_counts_tails_against_the_claim_only() -> None:
    rng = np.random.default_rng(4)
    kind = np.where(np.arange(200) < 100, 2, 3)
    outcome = np.where(kind == 2, rng.lognormal(0, 1.2, 200), rng.normal(3, 1, 200))
    strata = Drawn(np.zeros(200, dtype=np.int64), kind, outcome).counted(1)
    sums = strata[0].sums().reshape(1, 1, 2, 2)
    against, toward = (
        influence_of(condition(np.array([sides])), strata[0], sums).lean
        for sides in ([-1.0, 1.0], [1.0, -1.0])
    )
    values = outcome[kind == 2] - outcome[kind == 2].mean()
    assert against > 0.1 > toward
    spread = influence_of(condition(np.array([[-1.0, 1.0]])), strata[0], sums).spread
    assert against == pytest.approx((values**3).sum() / 100**3 / spread**3, rel=0.2)


def test_few_clusters_are_told_by_what_they_are_worth() -> None:
    rng = np.random.default_rng(1)
    assert "few clusters" in cautions_of(clustered(12)(rng))
    assert "few clusters" not in cautions_of(clustered(60)(rng))
    uneven = clustered(60)(rng)
    assert uneven.cluster is not None
    large = Drawn(
        uneven.group,
        uneven.kind,
        uneven.outcome,
        cluster=np.maximum(uneven.cluster, 20) - 20,
    )
    evidence, drawable = seen(large)
    found = [
        one
        for one in reliability_cautions(evidence, drawable, {})
        if one.kind == "few clusters"
    ]
    # of which one has a third of all rows
    assert "the 40 clusters leave" in found[0].text


def test_heavy_weights_are_told_by_kishs_number() -> None:
    drawn = weighted(1.1)(np.random.default_rng(2))
    evidence, rows = seen(drawn)[0], drawn.counted(2)[0]
    found = heavy_weights(evidence, rows)
    effective = effective_rows(evidence.attributes, rows)
    for group, pair in effective_rows(evidence.attributes, collapse(rows)).items():
        assert pair == pytest.approx(effective[group])
    assert found
    for caution in found:
        _, group, *whose = caution.kind.split(maxsplit=2)
        assert (
            f"{effective[group][whose == ['candidate']]:.1f} rows of equal weight"
            in caution.text
        )
    even = weighted(1.1)(np.random.default_rng(2))
    same = Drawn(even.group, even.kind, even.outcome)
    evidence, rows = seen(same)[0], same.counted(2)[0]
    assert heavy_weights(evidence, rows) == []
    assert all(
        isinstance(n, float) and n > 30
        for pair in effective_rows(evidence.attributes, rows).values()
        for n in pair
    )


def test_a_few_equally_weighted_rows_are_not_blamed_on_weights() -> None:
    rng = np.random.default_rng(5)
    drawn = Drawn(
        rng.integers(0, 2, 60),
        rng.integers(0, 4, 60),
        rng.random(60),
        weight=np.full(60, 3.0),
    )
    assert heavy_weights(seen(drawn)[0], drawn.counted(2)[0]) == []


def test_rows_that_differ_are_counted() -> None:
    drawn = rare(40)(np.random.default_rng(6))
    rows, _, _ = drawn.rows(2)
    found = differing_rows(evidence_of(drawn.counted(2), 2), rows)
    differ = (drawn.kind == 2) | (drawn.kind == 3)
    numbers = np.bincount(drawn.group[differ]).tolist()
    assert {group: one.rows for group, one in found.items()} == dict(
        zip("ab", numbers, strict=True)
    )
    assert all(one.effective == one.rows == sum(one.sides) for one in found.values())
    own = [int(((drawn.group == 1) & (drawn.kind == kind)).sum()) for kind in (2, 3)]
    assert list(found["b"].sides) == own
    assert [one.kind for one in few_differing(found)] == ["differing"]
    assert (
        f"differ in few rows: {found['b'].rows} of 'b' (0 and {found['b'].rows});"
        in few_differing(found)[0].text
    )
    assert (
        few_differing(
            {"a": Differing(50, (0, 50), 50.0), "b": Differing(400, (200, 200), 100.0)}
        )
        == []
    )
    assert few_differing(
        {"a": Differing(60, (30, 30), 60.0), "b": Differing(0, (0, 0), 0.0)}
    )


def test_in_clusters_and_with_weights_rows_that_differ_are_worth_less() -> None:
    drawn = in_households(rare(80))(np.random.default_rng(6))
    rows, cluster, _ = drawn.rows(2)
    found = differing_rows(evidence_of(drawn.counted(2), 2), rows, cluster)["b"]
    assert found.effective == pytest.approx(found.rows / 2)
    heavy = weighted(1.2)(np.random.default_rng(6))
    worth = differing_rows(evidence_of(heavy.counted(2), 2), heavy.rows(2)[0])["b"]
    mine = heavy.weight[(heavy.group == 1) & (heavy.kind >= 2)]  # type: ignore[index]
    assert worth.rows == len(mine)
    assert worth.effective == pytest.approx(mine.sum() ** 2 / (mine**2).sum())


@pytest.mark.parametrize(
    ("binds", "name"),
    [("accuracy", "the accuracy of 'b'"), ("gap", "the gap by 'group'")],
)
def test_a_long_tail_against_the_claim_is_told(binds: str, name: str) -> None:
    kinds = [
        one.kind
        for one in skewed_statistics(
            *seen(skewed(1.5, binds)(np.random.default_rng(8)))
        )
    ]
    assert f"skewed calibration {name}" in kinds


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"overall": "population"},
        {"overall": {"a": 1.0, "b": 3.0}},
        {"form": "difference"},
    ],
)
def test_even_outcomes_of_many_rows_need_no_caution(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(9)
    drawn = Drawn(
        rng.integers(0, 2, 4_000), rng.integers(0, 4, 4_000), rng.normal(5, 1, 4_000)
    )
    assert cautions_of(drawn, Claim(**options)) == []


def test_tails_do_not_matter_far_from_the_null() -> None:
    drawn = skewed(1.3, "accuracy")(np.random.default_rng(10))
    assert skewed_statistics(*seen(drawn))
    gained = Drawn(
        drawn.group, drawn.kind, drawn.outcome + 100.0 * (drawn.kind == ONLY_NEW)
    )
    kinds = [one.kind for one in skewed_statistics(*seen(gained))]
    assert not any("accuracy" in kind for kind in kinds)


def test_several_attributes_are_looked_at() -> None:
    rng = np.random.default_rng(11)
    drawn = Drawn(
        rng.integers(0, 4, 800),
        rng.integers(0, 4, 800),
        rng.random(800),
        weight=1 + rng.pareto(1.0, 800),
    )
    evidence, rows = seen(drawn, groups=4)[0], drawn.counted(4)[0]
    race = Attribute("race", ("black", "white"), np.array([0, 0, 1, 1]))
    sex = Attribute("sex", ("f", "m"), np.array([0, 1, 0, 1]))
    crossed = replace(evidence, attributes=(race, sex))
    groups = {one.kind.split()[1] for one in heavy_weights(crossed, rows)}
    assert groups <= {"black", "white", "f", "m"}
    assert groups
    assert set(effective_rows(crossed.attributes, rows)) == {"black", "white", "f", "m"}
