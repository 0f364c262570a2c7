"""Wealth of bets: what a slow reading of the definition gives, never negative, and fair
at the edge of a condition.
"""

from dataclasses import replace
from itertools import product
from math import log

import numpy as np
import pytest

from improvable._typing import FloatArray, IntArray
from improvable.inference.betting import STAKES, pair_up, wealth_of
from improvable.inference.components import Condition

ACCURACY = Condition(
    "accuracy",
    "",
    0,
    np.arange(3),
    np.array([[-1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
    0.0,
)
GAP = replace(
    ACCURACY,
    kind="fairness",
    coefficients=np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]]),
)
TURNED = replace(GAP, coefficients=np.array([[1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]]))
THREE = replace(GAP, coefficients=np.array([[0.5, 0.0], [0.0, -1.0], [-0.5, 1.0]]))
AMOUNT = replace(ACCURACY, amount=0.05)
CONDITIONS = {
    "accuracy": ACCURACY,
    "gap": GAP,
    "turned": TURNED,
    "three groups": THREE,
    "amount": AMOUNT,
}


def rows_of(
    seed: int, rows: int = 400, shares: tuple[float, ...] = (0.6, 0.3, 0.1)
) -> tuple[IntArray, FloatArray]:
    rng = np.random.default_rng(seed)
    strata = rng.choice(3, rows, p=shares)
    strata[rng.random(rows) < 0.05] = -1
    u = rng.random((rows, 1, 2)) < [0.5, 0.6]
    w = rng.random((rows, 1, 1)) < 0.8
    return strata, np.stack([u & w, np.broadcast_to(w, u.shape)], axis=-1).astype(
        np.float64
    )


def slow_wealth(
    condition: Condition, strata: IntArray, vectors: FloatArray
) -> list[tuple[int, float]]:
    """After how many rows which wealth there is, one row at a time, with lists and
    plain numbers.
    """
    involved = [level for level in range(3) if condition.coefficients[level].any()]
    waiting: dict[int, list[float]] = {level: [] for level in involved}
    seen, used = dict.fromkeys(involved, 0), dict.fromkeys(involved, 0)
    wealths = [1.0] * len(STAKES)
    told: list[tuple[int, float]] = []
    loss = condition.amount + sum(
        max(0.0, -one) for one in condition.coefficients.ravel().tolist()
    )
    for number, (stratum, row) in enumerate(
        zip(strata.tolist(), vectors[:, 0].tolist(), strict=True), start=1
    ):
        (u0, w0), (u1, w1) = row
        assert w0 == w1
        if stratum not in waiting or w0 == 0:
            continue
        before, after = condition.coefficients[stratum].tolist()
        waiting[stratum].append(before * u0 + after * u1)
        seen[stratum] += 1
        if any(not queue for queue in waiting.values()):
            continue
        gain = -condition.amount
        for level in involved:
            wanted = (len(told) + 1) * seen[level] // min(seen.values()) - used[level]
            some = waiting[level][: max(1, wanted)]
            waiting[level] = waiting[level][len(some) :]
            used[level] += len(some)
            gain += sum(some) / len(some)
        wealths = [
            wealth * (1 + stake / loss * gain)
            for wealth, stake in zip(wealths, STAKES.tolist(), strict=True)
        ]
        told.append((number, sum(wealths) / len(wealths)))
    return told


@pytest.mark.parametrize("name", CONDITIONS)
@pytest.mark.parametrize("seed", range(3))
def test_wealth_is_what_the_definition_says(name: str, seed: int) -> None:
    found, slow = (
        wealth_of(CONDITIONS[name], *rows_of(seed)),
        slow_wealth(CONDITIONS[name], *rows_of(seed)),
    )
    assert found.rows.tolist() == [row for row, _ in slow]
    assert np.exp(found.logs) == pytest.approx([wealth for _, wealth in slow])
    assert found.p_value == pytest.approx(min(1.0, *(1 / wealth for _, wealth in slow)))
    assert found.now == pytest.approx(log(slow[-1][1]))
    above = [row for row, wealth in slow if wealth > 2]
    assert found.shown_since(0.5) == (above[0] if above else None)


@pytest.mark.parametrize("name", CONDITIONS)
def test_later_rows_change_no_earlier_bit(name: str) -> None:
    strata, vectors = rows_of(7)
    whole = wealth_of(CONDITIONS[name], strata, vectors)
    for rows in range(0, 400, 13):
        part = wealth_of(CONDITIONS[name], strata[:rows], vectors[:rows])
        assert part.rows.tolist() == [row for row in whole.rows.tolist() if row <= rows]
        assert part.logs.tolist() == whole.logs[: len(part.logs)].tolist()


@pytest.mark.parametrize("name", CONDITIONS)
def test_nobody_loses_more_than_there_is(name: str) -> None:
    """Rows that are as bad for the condition as rows can be."""
    strata, vectors = rows_of(8)
    worst = CONDITIONS[name].coefficients[strata] < 0
    vectors[:, 0, :, 0] = worst & (vectors[:, 0, :, 1] > 0)
    found = wealth_of(CONDITIONS[name], strata, vectors)
    assert len(found.logs) > 10
    assert np.isfinite(found.logs).all()
    assert (np.diff(found.logs) < 0).all()
    assert (found.p_value, found.shown_since(0.05)) == (1.0, None)


def test_no_rows_and_rows_of_one_group_show_nothing() -> None:
    strata, vectors = rows_of(9, shares=(1.0, 0.0, 0.0))
    for found in (
        wealth_of(GAP, strata, vectors),
        wealth_of(ACCURACY, strata[:0], vectors[:0]),
    ):
        assert (found.p_value, found.now, found.shown_since(0.05), len(found.logs)) == (
            1.0,
            0.0,
            None,
            0,
        )


def test_the_same_decisions_leave_wealth_as_it_is() -> None:
    strata, vectors = rows_of(10)
    vectors[:, :, 1] = vectors[:, :, 0]
    for condition in (ACCURACY, GAP):
        assert wealth_of(condition, strata, vectors).logs == pytest.approx(0)


def test_a_margin_so_wide_that_nothing_can_be_lost_is_shown() -> None:
    wide = replace(
        ACCURACY,
        coefficients=np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]),
        amount=-0.1,
    )
    assert (np.diff(wealth_of(wide, *rows_of(11)).logs) > 0).all()


# (right under the status quo, right under the candidate): chances by group at which
# each condition is at its edge
EDGES: dict[str, tuple[Condition, dict[int, dict[tuple[int, int], float]]]] = {
    "accuracy": (ACCURACY, {0: {(0, 0): 0.2, (0, 1): 0.15, (1, 0): 0.15, (1, 1): 0.5}}),
    "gap": (
        GAP,
        {
            0: {(0, 0): 0.1, (0, 1): 0.3, (1, 1): 0.6},
            1: {(0, 0): 0.5, (0, 1): 0.35, (1, 0): 0.05, (1, 1): 0.1},
        },
    ),
}


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("groups", ["abab", "aaab", "abbb", "baaba"])
def test_at_the_edge_expected_wealth_is_one_and_seldom_twenty(
    name: str, groups: str
) -> None:
    """Every stream of a few rows, with its probability: exactly fair, and within
    Ville's inequality.
    """
    condition, chances = EDGES[name]
    strata = np.array(["ab".index(one) for one in groups])
    expected, total, ever = 0.0, 0.0, {1.2: 0.0, 1.5: 0.0, 2.0: 0.0}
    for rows in product(*(chances.get(int(g), {(0, 0): 1.0}).items() for g in strata)):
        chance = float(np.prod([p for _, p in rows]))
        vectors = np.array(
            [[[[before, 1.0], [after, 1.0]]] for (before, after), _ in rows],
            dtype=np.float64,
        )
        found = wealth_of(condition, strata, vectors)
        total += chance
        expected += chance * np.exp(found.now)
        for level in ever:
            ever[level] += chance * (found.logs.max(initial=0.0) >= log(level))
    assert total == pytest.approx(1)
    assert expected == pytest.approx(1)
    assert all(chance <= 1 / level for level, chance in ever.items())


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.6, 0.4)])
def test_nearly_every_row_counts_once_and_in_turn(shares: tuple[float, float]) -> None:
    classes = np.random.default_rng(3).choice(2, 3_000, p=shares)
    variable, complete = pair_up(classes, 2)
    sizes = [np.bincount(variable[(classes == k) & (variable >= 0)]) for k in range(2)]
    assert all(len(size) == len(complete) and size.min() >= 1 for size in sizes)
    assert len(complete) > 0.9 * min(np.bincount(classes))
    assert (variable < 0).sum() < 200
    for k in range(2):
        mine = variable[(classes == k) & (variable >= 0)]
        assert (np.diff(mine) >= 0).all(), "first come, first served"
    rows = np.flatnonzero(variable >= 0)
    assert (complete[variable[rows]] > rows).all(), (
        "no variable is complete before its rows have come"
    )
