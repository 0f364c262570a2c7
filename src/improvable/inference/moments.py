"""The normal limit (Appendix B) instead of the bootstrap, where there are too many
cells to count.

Sums of contributions are asymptotically normal with a mean and a covariance that are
themselves functions of sums: the first and second moments of contributions, which add
up over batches of rows. Draws of the sums from that normal distribution take the place
of bootstrap draws; everything after them is the same code. Statistics are smooth
functions of the sums, so their draws have the limit of Propositions B.1 and B.2.

Moments are summed exactly (`cells.exact_sum`), so they are the same bits for any order
and any batches of rows.
"""

from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray
from improvable.inference.bootstrap import DRAWS_PER_BLOCK, child
from improvable.inference.cells import SCALE, Cells, W, exact_sum, merge, to_float

# with more distinct contributions, the method is "delta" unless the bootstrap is asked
# for
MAX_CELLS = 1_000_000
# a variance that is this small a share of what it was before conditioning is rounding
MIN_PIVOT = 1e-13


@dataclass(frozen=True)
class Moments:
    """First and second moments of contributions, in exact units.

    The candidate's contributions are kept as differences from the status quo's: where
    the two decide alike the difference and its variance are exactly zero, and a
    statistic that nothing moves stays recognisable.
    """

    rows: int
    blocks: int  # shape of the sums
    width: int
    first: tuple[int, ...]
    # within each block, the products of its columns i <= j; a row adds to one block, so
    # products across are zero
    second: tuple[int, ...]

    def sums(self) -> FloatArray:
        """The sums over all rows, shape (blocks, width)."""
        sums = np.array([to_float(total) for total in self.first]).reshape(
            self.blocks, self.width
        )
        return _from_differences(sums)


def collapse(counted: Cells | Moments) -> Moments:
    """Moments of cells; moments stay as they are."""
    if isinstance(counted, Moments):
        return counted
    first, second = [], []
    for part in counted.slices():
        columns = np.ascontiguousarray(_to_differences(counted.values[part]).T)
        counts = counted.counts[part]
        first += [exact_sum(column, counts) for column in columns]
        second += [
            exact_sum(columns[i] * columns[j], counts)
            for i in range(len(columns))
            for j in range(i + 1)
        ]
    return Moments(
        counted.rows,
        counted.blocks,
        counted.values.shape[1],
        tuple(first),
        tuple(second),
    )


def add(one: Cells | Moments, other: Cells | Moments, most: float) -> Cells | Moments:
    """Put two batches together: cells while there are at most `most`, moments from
    there on.

    Cells only become more, so which of the two it ends with depends on all rows and not
    on their batches.
    """
    if isinstance(one, Cells) and isinstance(other, Cells):
        return settle(merge(one, other), most)
    a, b = collapse(one), collapse(other)
    first, second = (
        tuple(x + y for x, y in zip(*pair, strict=True))
        for pair in ((a.first, b.first), (a.second, b.second))
    )
    return Moments(a.rows + b.rows, a.blocks, a.width, first, second)


def settle(counted: Cells | Moments, most: float) -> Cells | Moments:
    """Cells, or their moments where they are more than `most`."""
    if isinstance(counted, Cells) and len(counted.counts) > most:
        return collapse(counted)
    return counted


def most_cells(method: str | None) -> float:
    """How many cells a method counts before it turns to moments."""
    return {"bootstrap": np.inf, "delta": -1, None: MAX_CELLS}[method]


def draw_normal(
    moments: Moments, draws: int, seed: np.random.SeedSequence
) -> FloatArray:
    """Draws of the sums from their normal limit, shape (draws, blocks, width)."""
    root = _root(_covariance(moments))
    mean, out = np.array([to_float(total) for total in moments.first]), []
    for start in range(0, draws, DRAWS_PER_BLOCK):
        rng = np.random.default_rng(child(seed, start // DRAWS_PER_BLOCK))
        normal = rng.standard_normal((min(DRAWS_PER_BLOCK, draws - start), len(mean)))
        out.append(mean + np.einsum("qj,ij->qi", normal, root))
    return _from_differences(
        np.concatenate(out).reshape(draws, moments.blocks, moments.width)
    )


def loads_of_moments(moments: Moments) -> tuple[FloatArray, FloatArray]:
    """Sums of w and of its square, by block, utility and algorithm: arrays of shape
    (blocks, utilities, 2).
    """
    shape = (moments.blocks, -1, 2)
    first = moments.sums().reshape(*shape, 2)[..., W]
    below = np.tril_indices(moments.width)
    products = np.zeros((moments.blocks, moments.width, moments.width))
    exact = np.array([to_float(total) for total in moments.second]).reshape(
        moments.blocks, -1
    )
    products[:, below[0], below[1]] = exact
    # Columns of a utility: u and w of the status quo, then the candidate's differences
    # from them.
    before = np.arange(W, moments.width, 4)
    after = before + 2
    own, cross, apart = (
        products[:, before, before],
        products[:, after, before],
        products[:, after, after],
    )
    return first, np.stack([own, own + 2 * cross + apart], axis=-1)


def _covariance(moments: Moments) -> FloatArray:
    """Of the sums of `rows` rows drawn i.i.d.: sum of z z' minus (sum of z)(sum of z)'
    / rows, rounded once.
    """
    size = len(moments.first)
    products: dict[tuple[int, int], int] = {}
    second = iter(moments.second)
    for start in range(0, size, moments.width):
        for i in range(moments.width):
            for j in range(i + 1):
                products[start + i, start + j] = next(second)
    out = np.empty((size, size))
    for i, a in enumerate(moments.first):
        for j, b in enumerate(moments.first[: i + 1]):
            exact = moments.rows * (products.get((i, j), 0) << SCALE) - a * b
            out[i, j] = out[j, i] = exact / (moments.rows << (2 * SCALE))
    return out


def _root(covariance: FloatArray) -> FloatArray:
    """A lower triangle L with L L' = covariance; directions without variance stay zero
    (a Cholesky by columns).
    """
    root = np.zeros_like(covariance)
    for j in range(len(covariance)):
        pivot = covariance[j, j] - (root[j, :j] ** 2).sum()
        if pivot > MIN_PIVOT * covariance[j, j]:
            root[j, j] = np.sqrt(pivot)
            root[j + 1 :, j] = (
                covariance[j + 1 :, j] - (root[j + 1 :, :j] * root[j, :j]).sum(axis=1)
            ) / root[j, j]
    return root


def _to_differences(values: FloatArray) -> FloatArray:
    """The candidate's columns become differences from the status quo's; the last axes
    are (algorithm, part).
    """
    out = np.array(values, dtype=np.float64).reshape(
        *values.shape[:-1], values.shape[-1] // 4, 2, 2
    )
    out[..., 1, :] -= out[..., 0, :]
    return out.reshape(values.shape)


def _from_differences(values: FloatArray) -> FloatArray:
    out = values.reshape(*values.shape[:-1], values.shape[-1] // 4, 2, 2).copy()
    out[..., 1, :] += out[..., 0, :]
    return out.reshape(values.shape)
