"""A reference pair chosen on the tested rows: the test by its definition, and every
delta at once as at each.
"""

from dataclasses import replace
from itertools import permutations
from math import log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import improvable
from flat import flat_compare
from improvable._typing import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.bootstrap import resample
from improvable.inference.cells import count
from improvable.inference.components import Contrast, gaps
from improvable.inference.critical import (
    critical_deltas,
    largest_delta,
    of_several,
    p_values,
)
from improvable.inference.evidence import Evidence
from improvable.inference.reference_pair import SeveralReferences, contact_set, kappa
from improvable.inference.test import assess, gap_tail
from improvable.question.claim import Claim
from improvable.question.utility import Measure
from people import make_people


def naive_p(gap: SeveralReferences, delta: float, form: str) -> float:
    """The definition, draw by draw."""
    share, amount = (1 - delta, 0.0) if form == "ratio" else (1.0, delta)
    if share < 0:
        return 1.0
    statistic = max(
        w * (share * g - amount - gap.after)
        for w, g in zip(gap.weights, gap.before, strict=True)
    )
    against = 0
    for before, after in zip(gap.drawn_before, gap.drawn_after, strict=True):
        moved = share * (before - gap.before) - (after - gap.after)
        against += (
            not np.isfinite(moved).all()
            or max(gap.weights * (moved + 1e-9)) >= statistic
        )
    return against / len(gap.drawn_after)


def naive_p_fairness(evidence: Evidence, claim: Claim) -> float:
    """The whole test by its definition, for one attribute and one utility: which pairs
    count, and how they reject.
    """
    values, drawn = evidence.values[0][:, 0], evidence.drawn[0][:, :, 0]
    protected = evidence.attributes[0].place_of(claim.protected)
    groups, relative = range(len(values)), evidence.measures[0].between == "ratio"

    def gap(of: FloatArray, pair: tuple[int, int], algorithm: int) -> Any:
        above, below = of[..., pair[0], algorithm], of[..., pair[1], algorithm]
        return 1 - below / above if relative else above - below

    pairs = [(g, h) for g, h in permutations(groups, 2) if protected in (None, h)]
    widest = max(pairs, key=lambda pair: float(gap(values, pair, 0)))
    reach = sqrt(2 * log((len(values) - 1) * log(evidence.units)))
    counted = [
        pair
        for pair in pairs
        if gap(values, widest, 0) - gap(values, pair, 0)
        <= reach * np.std(gap(drawn, widest, 0) - gap(drawn, pair, 0)) + 1e-9
    ]
    share, amount = (
        (1 - claim.delta_fairness, 0.0)
        if claim.form == "ratio"
        else (1.0, claim.delta_fairness)
    )
    found = []
    for new in pairs if protected is None else [*pairs, (protected, protected)]:
        errors = [np.std(gap(drawn, pair, 0) - gap(drawn, new, 1)) for pair in counted]
        distances = [
            share * gap(values, pair, 0) - amount - gap(values, new, 1)
            for pair in counted
        ]
        moves = [
            share * (gap(drawn, pair, 0) - gap(values, pair, 0))
            - (gap(drawn, new, 1) - gap(values, new, 1))
            for pair in counted
        ]
        statistic = max(
            distance / error for distance, error in zip(distances, errors, strict=True)
        )
        largest = np.max(
            [(move + 1e-9) / error for move, error in zip(moves, errors, strict=True)],
            axis=0,
        )
        found.append(float(np.mean(largest >= statistic)))
    return max(found)


def random_references(seed: int) -> SeveralReferences:
    rng = np.random.default_rng(seed)
    many = int(rng.integers(2, 6))
    before, after = rng.normal(1, 0.7, many), float(rng.normal(0.4, 0.7))
    root = rng.normal(size=(many + 1, many + 1))
    drawn = rng.normal(size=(80, many + 1)) @ root * rng.uniform(0.05, 0.6)
    drawn[rng.random(80) < 0.03] = np.nan
    return SeveralReferences(
        before, before + drawn[:, :-1], after, after + drawn[:, -1]
    )


@given(st.integers(0, 100_000), st.floats(-3, 3))
@settings(max_examples=200, deadline=None)
def test_every_delta_at_once_is_the_test_at_each(seed: int, delta: float) -> None:
    gap = random_references(seed)
    for form in ("ratio", "difference"):
        expected = naive_p(gap, delta, form)
        assert gap_tail(gap, delta, form, 1.0).p_value == expected
        critical = of_several(gap, form, 1.0)
        assert p_values((critical,), np.array([delta]))[0] == expected


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_the_edge_is_where_rejection_stops(seed: int, form: Any) -> None:
    """From no change up to the edge every delta is rejected; a positive edge is the
    first that is not.
    """
    gap = random_references(seed)
    edge = largest_delta((of_several(gap, form, 1.0),), 0.1)
    if edge > 0:
        below = [*np.linspace(0, edge - 1e-9, 30)]
        assert all(
            gap_tail(gap, delta, form, 1.0).p_value < 0.1
            for delta in below
            if delta <= 1
        )
    if 0 < edge < 1:
        assert gap_tail(gap, edge + 1e-9, form, 1.0).p_value >= 0.1
    if np.isfinite(edge) and edge <= 1:
        assert gap_tail(gap, edge - 1e-9, form, 1.0).p_value < 0.1


@given(st.integers(0, 100_000), st.floats(-2, 1))
@settings(max_examples=100, deadline=None)
def test_one_pair_alone_is_the_plain_test(seed: int, delta: float) -> None:
    several = random_references(seed)
    alone = replace(
        several, before=several.before[:1], drawn_before=several.drawn_before[:, :1]
    )
    plain = Contrast(
        np.array([alone.before[0], alone.after]),
        np.stack([alone.drawn_before[:, 0], alone.drawn_after], axis=1),
    )
    for form in ("ratio", "difference"):
        expected = gap_tail(plain, delta, form, 1.0)
        assert gap_tail(alone, delta, form, 1.0) == expected
        assert (
            p_values((of_several(alone, form, 1.0),), np.array([delta]))[0]
            == expected.p_value
        )


def make_evidence(
    means: FloatArray,
    rows: int,
    seed: int,
    *,
    chosen_here: bool | None = True,
    same: bool = False,
    between: Any = "difference",
) -> Evidence:
    """Counts as outcomes, calibration as utility; `means` of shape (groups, 2)."""
    rng = np.random.default_rng(seed)
    groups = len(means)
    group = rng.integers(0, groups, rows)
    kind = rng.integers(0, 4, rows)
    chosen = np.stack([kind % 2, kind % 2 if same else kind // 2], axis=1).astype(float)
    level = np.where(
        kind == 3, means[group].mean(axis=1), np.where(kind == 1, *means[group].T)
    )
    outcome = rng.poisson(level).astype(float)
    vectors = np.stack([chosen * outcome[:, None], chosen], axis=2).reshape(rows, 4)
    cells = count(vectors, group, groups)
    shape = (groups, 1, 2, 2)
    sums = cells.sums().reshape(shape)
    return Evidence(
        attributes=(Attribute("group", tuple("abcdefgh"[:groups]), np.arange(groups)),),
        measures=(Measure("calibration", "", "outcome", between=between),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=resample(cells, 400, np.random.SeedSequence(seed)).reshape(-1, *shape),
        training=sums[:, :, 0],
        units=rows,
        chosen_here=chosen_here,
    )


TIED = np.array([[6.0, 5.5], [6.0, 5.0], [4.0, 5.0], [4.0, 5.0]])


@pytest.mark.parametrize("between", ["difference", "ratio"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"protected": ("b",)},
        {"form": "difference", "delta_fairness": 0.4},
        {"delta_fairness": 0.2},
    ],
)
@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_the_test_is_its_definition(
    seed: int, groups: int, options: dict[str, Any], between: Any
) -> None:
    evidence = make_evidence(
        TIED[-groups:] if groups < 4 else TIED, 500, seed, between=between
    )
    claim = Claim(**options)
    assert assess(evidence, claim).p_fairness == naive_p_fairness(evidence, claim)


def test_a_sample_that_chose_its_own_reference_knows_it() -> None:
    evidence = make_evidence(TIED, 800, 1, chosen_here=None)
    assert evidence.chooses_here
    assert not make_evidence(TIED, 800, 1, chosen_here=False).chooses_here
    elsewhere = replace(evidence, training=evidence.training + 1.0)
    assert not elsewhere.chooses_here


@pytest.mark.parametrize("between", ["difference", "ratio"])
@pytest.mark.parametrize("options", [{}, {"protected": ("c",)}, {"form": "difference"}])
@pytest.mark.parametrize("seed", range(4))
def test_the_frontier_is_the_test_with_ties_and_protected_groups(
    seed: int, options: dict[str, Any], between: Any
) -> None:
    evidence = make_evidence(TIED, 900, seed, between=between)
    deltas = np.array([-0.4, 0.0, 0.1, 0.33, 0.7, 1.0])
    critical = critical_deltas(evidence, Claim(**options)).signed
    found = [
        assess(evidence, Claim(delta_fairness=float(d), **options)).p_fairness
        for d in deltas
    ]
    assert p_values(critical, deltas).tolist() == found


@pytest.mark.parametrize("seed", range(4))
def test_accounting_for_the_choice_costs_nothing_where_one_pair_is_clearly_widest(
    seed: int,
) -> None:
    clear = np.array([[9.0, 6.0], [6.0, 6.0], [2.0, 5.0]])
    here, given_pair = (
        make_evidence(clear, 1_500, seed, chosen_here=way) for way in (True, False)
    )
    assert assess(here, Claim()) == assess(given_pair, Claim())


@pytest.mark.parametrize("seed", range(4))
def test_accounting_for_the_choice_never_makes_a_tied_reference_easier_to_beat(
    seed: int,
) -> None:
    equal = np.array([[6.0, 4.4], [6.0, 4.2], [4.0, 4.0], [4.0, 4.0]])
    here, given_pair = (
        make_evidence(equal, 1_500, seed, chosen_here=way) for way in (True, False)
    )
    assert (
        assess(here, Claim()).p_fairness
        >= assess(given_pair, Claim()).p_fairness - 0.03
    )


def test_an_identical_candidate_proves_nothing() -> None:
    evidence = make_evidence(
        np.stack([TIED[:, 0], TIED[:, 0]], axis=1), 900, 3, same=True
    )
    assert assess(evidence, Claim()).p_fairness == 1.0


def test_kappa_is_its_formula_and_grows_with_rows_and_groups() -> None:
    assert kappa(2, 1_000) == pytest.approx(sqrt(2 * log(log(1_000))))
    assert kappa(5, 300) == pytest.approx(sqrt(2 * log(4 * log(300))))
    assert kappa(3, 10**9) > kappa(3, 1_000) > kappa(2, 1_000)


@pytest.mark.parametrize("groups", [2, 3])
def test_kappa_is_never_below_the_square_root_of_two(groups: int) -> None:
    """ln ln n is below 1 up to 15 units, below 0 for 2, and not defined for 1."""
    found = [kappa(groups, units) for units in (0, 1, 2, 3, 15, 16, 40)]
    assert found == sorted(found)
    assert found[0] >= sqrt(2)


def drawn_around(values: FloatArray, errors: float | FloatArray) -> FloatArray:
    noise = np.random.default_rng(5).normal(0, 1, (4_000, len(values)))
    return np.asarray(values + errors * (noise - noise.mean(axis=0)))


def test_pairs_count_up_to_kappa_standard_errors_from_the_widest() -> None:
    units = 1_000
    spread = float(np.std(drawn_around(np.zeros(4), 0.1)[:, :2] @ [1.0, -1.0]))
    for errors in (0.0, 0.99 * kappa(4, units), 1.01 * kappa(4, units)):
        values = np.array([5.0, 5.0 - errors * spread, 2.0, 0.0])
        found = contact_set(values, drawn_around(values, 0.1), (0, 3), units)
        assert found == (((0, 3), (1, 3)) if errors < kappa(4, units) else ((0, 3),))


def test_of_two_groups_the_pair_counts_the_other_way_round_where_the_sign_is_not_sure() -> (  # noqa: E501
    None
):
    spread = float(np.std(drawn_around(np.zeros(2), 0.1) @ [1.0, -1.0]))
    for errors, several in ((1.95, True), (1.98, False)):
        values = np.array([0.5 + errors * spread, 0.5])
        drawn = drawn_around(values, 0.1)
        assert contact_set(values, drawn, (0, 1), 1_000) == (
            ((0, 1), (1, 0)) if several else ((0, 1),)
        )
        assert contact_set(values, drawn, (0, 1), 1_000, protected=1) == ((0, 1),)


def test_beside_a_protected_group_only_pairs_below_which_it_is_count() -> None:
    values = np.array([5.0, 5.0, 4.99, 4.98])
    found = contact_set(values, drawn_around(values, 0.1), (0, 2), 1_000, protected=2)
    assert found == ((0, 2), (1, 2), (3, 2))


def test_gaps_that_are_shares_are_compared_as_shares() -> None:
    """1 - 1 / 2 and 1 - 3 / 6 tie; the differences do not."""
    values = np.array([2.0, 1.0, 6.0, 3.0])
    drawn = drawn_around(values, 0.001 * values)
    assert contact_set(values, drawn, (2, 1), 1_000) == ((2, 1),)
    drawn[:5] = -1.0  # shares are not defined there
    assert contact_set(values, drawn, (2, 1), 1_000, relative=1) == ((2, 1),)
    tied = np.array([6.0, 1.0, 6.0, 3.0])
    assert contact_set(
        tied, drawn_around(tied, 0.001 * tied), (0, 1), 1_000, relative=1
    ) == ((0, 1), (2, 1))


def test_without_a_draw_that_has_the_gaps_only_the_widest_counts() -> None:
    assert contact_set(
        np.array([1.0, 0.0]), np.full((10, 2), np.nan), (0, 1), 1_000
    ) == ((0, 1),)


def test_values_that_no_draw_moves_tie_where_they_are_equal() -> None:
    values = np.array([0.3, 0.1 + 0.2, 0.2, 0.0])
    assert contact_set(values, np.tile(values, (10, 1)), (1, 3), 1_000) == (
        (1, 3),
        (0, 3),
    )


@pytest.mark.parametrize("options", [{}, {"weight": "weight"}, {"cluster": "clinic"}])
@pytest.mark.parametrize("method", ["bootstrap", "delta"])
def test_units_are_rows_or_clusters_and_are_kept(
    tmp_path: Path, options: dict[str, Any], method: Any
) -> None:
    """Groups that differ by chance alone: several pairs count."""
    people = make_people(900).with_columns(
        group=pl.Series(np.random.default_rng(2).choice(["a", "b", "c"], 900))
    )
    result = flat_compare(
        people,
        outcome="visits",
        group="group",
        draws=100,
        method=method,
        **options,
        status_quo=improvable.threshold("score", capacity=0.4),
        candidate=improvable.threshold("signal", capacity=0.4),
    )
    units = people["clinic"].n_unique() if "cluster" in options else 900
    assert result.evidence.units == units
    (gap,) = gaps(result.evidence, result.question.claim)
    assert len(gap.references) > 1
    result.save(tmp_path / "kept")
    kept = improvable.load(tmp_path / "kept")
    assert kept.repetitions[0].evidence.units == units
    assert kept.p_value == result.p_value


def test_two_groups_without_a_gap_keep_the_level_of_five_percent() -> None:
    """The status quo has no gap, and the candidate, ten times as precise, has none
    either.

    A gap of unknown sign doubles the chance of a wide one. 3,000 repetitions: the Monte
    Carlo error is .004.
    """
    rng = np.random.default_rng(1)
    noise = rng.standard_normal((1_000, 2, 2)) * [1.0, 0.1]
    evidence, found = make_evidence(TIED[:2], 1_000, 0), []
    for _ in range(3_000):
        values = 50 + rng.standard_normal((2, 2)) * [1.0, 0.1]
        sums, draws = (
            np.stack([one, np.ones_like(one)], axis=-1)
            for one in (values, values + noise)
        )
        sample = replace(
            evidence,
            sums=sums[:, None],
            draws=draws[:, :, None],
            training=sums[:, None, 0],
        )
        found.append(assess(sample, Claim()).p_fairness)
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.012)
