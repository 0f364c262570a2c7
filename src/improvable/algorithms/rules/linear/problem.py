"""The search for an improving linear classifier, stated once for every way of solving
it (Appendix F).

First the claim in numbers, then the problem, then what a linear classifier is worth on
its rows.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.errors import OptionError
from improvable.inference.cells import CANDIDATE
from improvable.inference.components import conditions
from improvable.inference.evidence import Evidence
from improvable.inference.statistics import utilities_of
from improvable.question.claim import Claim
from improvable.question.utility import Measure

U, W = 0, 1
ANY_IMPROVEMENT = Claim()
TOLERANCE = 1e-9  # relative: what sums may be off by rounding


class Demand(NamedTuple):
    """A condition of the claim, from the status quo's utilities: a weighted sum of the
    candidate's is at least so much.

    Blocks are the groups, then everyone where the claim asks for that. An accuracy is
    the utility of one block or a mean of groups (Remark 1); fairness is the difference
    between two groups, with minus signs, so that it is to rise.
    """

    kind: str  # "accuracy" or "fairness"
    measure: int
    weights: FloatArray  # (blocks,)
    least: float


@dataclass(frozen=True)
class LinearProblem:
    """Find beta such that D = 1(X'beta >= 0) improves on the status quo on the training
    rows.

    Sums over a group are sum_j count_j (base_j + gain_j D_j), and U = sum of u / sum of
    w, equation (1). With a capacity, floor(capacity * total) of the count are selected,
    never more; less only by what ties make unavoidable, that is by less than the
    largest count of rows with equal features.

    "fairest" minimizes the largest gap (find_fair), "most_accurate:K" maximizes the
    first accuracy utility of group K (find_pareto). Both are subject to the claim
    itself on these rows, with iota to spare: every accuracy is at least (1 + Delta)
    U0 + iota, and every gap at most (1 - Delta_f) D0 - iota; in difference form U0 +
    Delta + iota and D0 - Delta_f - iota.
    """

    features: FloatArray  # (m, d), standardized; the first column is the constant 1
    count: FloatArray  # (m,), how many rows each one stands for; above 0
    group: IntArray  # (m,), codes 0..G-1
    base: FloatArray  # (m, M, 2), for each utility (u, w) where D = 0
    gain: FloatArray  # (m, M, 2), what D = 1 adds to it
    status_quo_rows: FloatArray  # (m, M, 2), the (u, w) of the status quo
    measures: tuple[Measure, ...]  # (M,)
    accuracy: tuple[int, ...]  # which of them measure accuracy
    fairness: tuple[int, ...]
    levels: tuple[str, ...]  # the groups
    capacity: float | None = None  # share of the total count to select
    # (d,), +1: the coefficient is >= 0; -1: <= 0; 0: free, as the constant always is
    signs: IntArray | None = None
    # bound on the largest difference of selection rates between groups
    selection_gap: float | None = None
    objective: str = "fairest"
    claim: Claim = ANY_IMPROVEMENT
    iota: float = 0.0  # by how much the claim must be exceeded

    def __post_init__(self) -> None:
        if not np.isfinite(self.status_quo).all():
            raise OptionError(
                "the status quo has a group without a utility.",
                "Leave out the group or the utility.",
            )

    @property
    def groups(self) -> int:
        return len(self.levels)

    @property
    def sign(self) -> float:
        """Of the objective when it is minimized."""
        return (
            -1.0
            if self.favored is not None
            and self.measures[self.accuracy[0]].higher_is_better
            else 1.0
        )

    @property
    def favored(self) -> int | None:
        """The group whose accuracy is maximized."""
        kind, _, group = self.objective.partition(":")
        return int(group) if kind == "most_accurate" else None

    @cached_property
    def status_quo_sums(self) -> FloatArray:
        return self.by_group(self.status_quo_rows * self.count[:, None, None])

    @property
    def status_quo(self) -> FloatArray:
        """Its utilities on the same rows, shape (G, M)."""
        return utilities_of(self.status_quo_sums)

    @cached_property
    def demands(self) -> list[Demand]:
        """The claim, about accuracy and fairness whatever it asks, by the walk that the
        test takes.
        """
        now = self.status_quo_sums
        twice = np.stack([now, now], axis=2)
        evidence = Evidence(
            attributes=(Attribute("group", self.levels, np.arange(self.groups)),),
            measures=self.measures,
            accuracy=self.accuracy,
            fairness=self.fairness,
            sums=twice,
            draws=np.empty((0, *twice.shape)),
            training=now,
            units=len(self.count),
            chosen_here=False,
        )
        blocks, out = utilities_of(self.blocks(now)), []
        for one in conditions(evidence, replace(self.claim, ask="both")):
            weights, before = np.zeros(len(blocks)), blocks[:, one.measure]
            everyone = len(one.coefficients) == 1
            weights[slice(-1, None) if everyone else slice(self.groups)] = (
                one.coefficients[:, CANDIDATE]
            )
            out.append(
                Demand(
                    one.kind, one.measure, weights, float(weights @ before) - one.margin
                )
            )
        return out

    @cached_property
    def units(self) -> FloatArray:
        """The size of each utility, shape (M,), to which rounding is relative."""
        size = np.abs(self.status_quo).max(axis=0)
        return np.where(size > 0, size, 1.0)

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The box on beta, |beta_k| <= 1, cut by the signs: two arrays of shape
        (d,).
        """
        signs = (
            np.zeros(self.features.shape[1], dtype=np.int64)
            if self.signs is None
            else self.signs
        )
        return np.where(signs > 0, 0.0, -1.0), np.where(signs < 0, 0.0, 1.0)

    @cached_property
    def group_totals(self) -> FloatArray:
        return self.by_group(self.count)

    @cached_property
    def base_sums(self) -> FloatArray:
        """Sums where nobody is selected, shape (blocks, M, 2)."""
        return self.blocks(self.by_group(self.base * self.count[:, None, None]))

    @cached_property
    def least_weight(self) -> FloatArray:
        """What a sum of w must exceed to count as more than rounding, shape (blocks,
        M).
        """
        most = (
            np.maximum(self.base[..., W], self.base[..., W] + self.gain[..., W])
            * self.count[:, None]
        )
        return TOLERANCE * self.blocks(self.by_group(most))

    @cached_property
    def capacity_range(self) -> tuple[float, float] | None:
        """Least and most total count to select; None without a capacity."""
        if self.capacity is None:
            return None
        limit = self.capacity * float(self.count.sum()) * (1 + TOLERANCE)
        _, place = np.unique(self.features, axis=0, return_inverse=True)
        tied = float(np.bincount(place.ravel(), weights=self.count).max())
        if (self.count == np.round(self.count)).all():
            return max(0.0, np.floor(limit) - tied + 1), float(np.floor(limit))
        return max(0.0, limit - tied), limit

    @cached_property
    def needed(self) -> BoolArray:
        """Which utilities the claim or the objective is about, shape (blocks, M)."""
        out = np.zeros(self.least_weight.shape, dtype=np.bool_)
        for demand in self.demands:
            out[:, demand.measure] |= demand.weights != 0
        if self.favored is not None:
            out[self.favored, self.accuracy[0]] = True
        return out

    def decide(self, beta: FloatArray) -> BoolArray:
        """D = 1(X'beta >= 0); by einsum, because BLAS may round differently with
        another number of threads.
        """
        return np.asarray(np.einsum("md,d->m", self.features, beta) >= 0)

    def by_group(self, values: FloatArray) -> FloatArray:
        """Add up rows by group: (m, ...) -> (G, ...)."""
        return sums_by(self.group, self.groups, values)

    def blocks(self, sums: FloatArray) -> FloatArray:
        """Sums of everyone below those of the groups, where the claim asks for them."""
        return (
            np.concatenate([sums, sums.sum(axis=0, keepdims=True)])
            if self.claim.overall == "population"
            else sums
        )

    def utilities(self, sums: FloatArray) -> FloatArray:
        """U = sum of u / sum of w, equation (1): (blocks, M, 2) -> (blocks, M), NaN
        where w sums to zero.
        """
        u, w = sums[..., U], sums[..., W]
        return np.asarray(
            np.divide(u, w, out=np.full(u.shape, np.nan), where=w > self.least_weight)
        )


def sums_by(code: IntArray, codes: int, values: FloatArray) -> FloatArray:
    """Add up rows by a code from 0 to below `codes`: (m, ...) -> (codes, ...)."""
    columns = values.reshape(len(values), -1).T
    sums = [np.bincount(code, weights=column, minlength=codes) for column in columns]
    return np.stack(sums, axis=1).astype(np.float64).reshape(codes, *values.shape[1:])


def power_of_two(beta: FloatArray) -> float:
    """A factor that brings the largest coefficient to between one half and one without
    any rounding.
    """
    return float(2.0 ** -np.ceil(np.log2(np.abs(beta).max()))) if beta.any() else 1.0


def merge_rows(problem: LinearProblem) -> LinearProblem:
    """The same problem with rows of equal features, contributions and group counted as
    one.
    """
    parts = {
        name: getattr(problem, name)
        for name in ("group", "features", "base", "gain", "status_quo_rows")
    }
    table = np.concatenate(
        [part.reshape(len(part), -1) for part in parts.values()], axis=1
    )
    # -0.0 becomes 0.0
    _, first, place = np.unique(
        table + 0.0, axis=0, return_index=True, return_inverse=True
    )
    count = np.bincount(place.ravel(), weights=problem.count).astype(np.float64)
    return replace(
        problem, count=count, **{name: part[first] for name, part in parts.items()}
    )


@dataclass(frozen=True)
class Evaluation:
    """A linear classifier, and what it does on the training rows."""

    beta: FloatArray
    decisions: BoolArray
    utilities: FloatArray  # (G, M), NaN where undefined
    value: float  # of the objective, NaN where undefined
    feasible: bool


def evaluate(problem: LinearProblem, beta: FloatArray) -> Evaluation:
    """Decisions, utilities, constraints and objective of a linear classifier, from the
    rows.
    """
    decisions = problem.decide(beta)
    selected = problem.count * decisions
    by_group = problem.by_group(selected)
    utilities = problem.utilities(
        problem.base_sums
        + problem.blocks(problem.by_group(problem.gain * selected[:, None, None]))
    )
    defined = not np.isnan(utilities[problem.needed]).any()
    known = np.nan_to_num(utilities)  # what is not needed has no weight below
    reached = [
        (demand, float(demand.weights @ known[:, demand.measure]))
        for demand in problem.demands
    ]
    low, high = problem.bounds
    met = [
        defined,
        all(
            one
            >= demand.least + problem.iota - TOLERANCE * problem.units[demand.measure]
            for demand, one in reached
        ),
        (low <= beta).all() and (beta <= high).all(),
    ]
    if problem.selection_gap is not None:
        met.append(
            np.ptp(by_group / problem.group_totals) <= problem.selection_gap + TOLERANCE
        )
    if problem.capacity_range is not None:
        least, most = problem.capacity_range
        rounding = TOLERANCE * problem.group_totals.sum()
        met.append(least - rounding <= by_group.sum() <= most + rounding)
    if problem.favored is None:
        value = max(-one for demand, one in reached if demand.kind == "fairness")
    else:
        value = float(known[problem.favored, problem.accuracy[0]])
    own = utilities[: problem.groups]
    return Evaluation(
        beta, decisions, own, value if defined else np.nan, all(map(bool, met))
    )
