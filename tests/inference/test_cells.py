"""Cells count what rows contribute, and add up."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from improvable._typing import FloatArray
from improvable.inference import cells
from improvable.inference.cells import Cells, count, merge

VECTORS = hnp.arrays(
    np.float64,
    st.tuples(st.integers(0, 30), st.just(3)),
    elements=st.sampled_from([0.0, 1.0, 2.5, -1.0]),
)


def cells_of(vectors: FloatArray) -> Cells:
    return count(vectors, np.arange(len(vectors)) % 2, blocks=2)


def assert_same(a: Cells, b: Cells) -> None:
    for name in ("values", "block", "counts"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert (a.silent, a.blocks) == (b.silent, b.blocks)


@given(VECTORS, VECTORS, VECTORS)
@settings(max_examples=60, deadline=None)
def test_merge_is_associative_and_commutative(
    a: FloatArray, b: FloatArray, c: FloatArray
) -> None:
    x, y, z = map(cells_of, (a, b, c))
    assert_same(merge(merge(x, y), z), merge(x, merge(y, z)))
    assert_same(merge(x, y), merge(y, x))


@given(VECTORS, st.integers(1, 7))
@settings(max_examples=60, deadline=None)
def test_batches_of_any_size_give_the_same_cells(
    vectors: FloatArray, size: int
) -> None:
    block = np.arange(len(vectors)) % 2
    whole = count(vectors, block, 2)
    starts = range(0, max(1, len(vectors)), size)
    parts = [count(vectors[s : s + size], block[s : s + size], 2) for s in starts]
    assert_same(merge(*parts), whole)


@given(VECTORS)
@settings(max_examples=60, deadline=None)
def test_sums_and_rows_are_those_of_the_rows(vectors: FloatArray) -> None:
    block = np.arange(len(vectors)) % 2
    cells = count(vectors, block, 2)
    assert cells.rows == len(vectors)
    for b in range(2):
        np.testing.assert_allclose(
            cells.sums()[b], vectors[block == b].sum(axis=0), atol=1e-12
        )


def test_rows_that_contribute_nothing_are_pooled_over_groups() -> None:
    cells = count(
        np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]), np.array([0, 0, 1]), 2
    )
    assert (len(cells.counts), cells.silent) == (1, 2)


def test_cells_of_other_groups_do_not_merge() -> None:
    with pytest.raises(ValueError, match="same groups"):
        merge(
            count(np.ones((1, 1)), np.zeros(1, dtype=int), 1),
            count(np.ones((1, 1)), np.zeros(1, dtype=int), 2),
        )


@given(VECTORS)
@settings(max_examples=60, deadline=None)
def test_few_rows_are_sorted_and_many_queried_with_the_same_cells(
    vectors: FloatArray,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cells, "FEW_ROWS", 0)
        queried = cells_of(vectors)
    assert_same(cells_of(vectors), queried)
