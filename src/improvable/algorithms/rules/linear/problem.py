"""The search for an improving linear classifier, stated once for every way of solving it (Appendix F).

First the claim in numbers, then the problem, then what a linear classifier is worth on its rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.errors import OptionError
from improvable.inference.statistics import reference_pair, utilities_of
from improvable.question.claim import Claim

U, W = 0, 1
ANY_IMPROVEMENT = Claim()
TOLERANCE = 1e-9  # relative: what sums may be off by rounding
EVERYONE = "everyone"


@dataclass(frozen=True)
class Aim:
    """A claim as bounds on the utilities of a candidate, from the status quo's on the same rows.

    An accuracy component is a weighted sum of the utilities of blocks: one group, a mean of groups, or everyone
    (Remark 1). Blocks are the groups, then everyone where `pooled`. A fairness component is a difference between two
    groups; with a protected group only its own falling short counts (Remark 2), as in `signed_statistics`.

    Shapes: A accuracy utilities, C components, F fairness utilities, P ordered pairs of groups.
    """

    weights: FloatArray  # (C, blocks): what each accuracy component is made of
    pooled: bool  # whether everyone is a block
    least: FloatArray  # (A, C): what the candidate's accuracy must exceed, (1 + Delta_g) U_0g
    upper: IntArray  # (P,): the pairs (g, h) of groups
    lower: IntArray
    direction: FloatArray  # (F,): -1 where a protected group is worse off with a higher value
    most: FloatArray  # (F,): what the candidate's gap must stay below, (1 - Delta_f) times the status quo's

    def accuracies(self, utilities: FloatArray) -> FloatArray:
        """Accuracy components, from utilities of shape (blocks, A): (A, C)."""
        return np.asarray(np.einsum("cb,bk->kc", self.weights, utilities))

    def differences(self, utilities: FloatArray) -> FloatArray:
        """Fairness components, from utilities of shape (groups, F): (P, F); the gap is their maximum."""
        return np.asarray(self.direction * (utilities[self.upper] - utilities[self.lower]))


def aim_at(
    claim: Claim,
    levels: Sequence[str],
    accuracy: FloatArray,
    fairness: FloatArray,
    everyone: FloatArray | None = None,
    lower_is_better: Sequence[bool] = (),
    utilities: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> Aim:
    """State a claim in numbers: the constraints of Appendix F for any Delta.

    From the status quo's utilities, `accuracy` of shape (G, A) and `fairness` of shape (G, F), and for
    ``overall="population"`` its accuracy for `everyone`, shape (A,). `lower_is_better` is about the fairness utilities;
    `utilities` are the labels of both kinds, for deltas that name them.
    """
    groups, pooled = len(levels), claim.overall == "population"
    names = list(levels) if claim.overall is None else [EVERYONE]
    if pooled:
        assert everyone is not None
        weights, before = np.eye(1, groups + 1, groups), everyone[:, None]
    elif claim.overall is not None and not isinstance(claim.overall, str):
        share = np.array([claim.overall.get(level, 0.0) for level in levels])
        weights = (share / share.sum())[None, :]
        before = (weights @ accuracy).T
    else:
        weights, before = np.eye(groups), accuracy.T
    labels, gap_labels = utilities[0] or [""] * accuracy.shape[1], utilities[1] or [""] * fairness.shape[1]
    deltas = np.array([[claim.delta_of(name, label) for name in names] for label in labels])
    gap_deltas = np.array([claim.gap_delta(label) for label in gap_labels])
    ratio = claim.form == "ratio"
    protected = next((g for g, level in enumerate(levels) if level in claim.protected), None)
    turned = np.array([bool(low) for low in lower_is_better] or [False] * fairness.shape[1])
    direction = np.where(turned & (protected is not None), -1.0, 1.0)
    facing = direction * fairness
    reference = [reference_pair(values, protected) for values in facing.T]
    gaps = np.array([values[g] - values[h] for values, (g, h) in zip(facing.T, reference, strict=True)])
    pairs = permutations(range(groups), 2) if protected is None else ((g, protected) for g in range(groups))
    upper, lower = np.array(list(pairs), dtype=np.int64).T
    return Aim(
        weights=weights,
        pooled=pooled,
        least=(1 + deltas) * before if ratio else before + deltas,
        upper=upper,
        lower=lower,
        direction=direction,
        most=(1 - gap_deltas) * gaps if ratio else gaps - gap_deltas,
    )


@dataclass(frozen=True)
class LinearProblem:
    """Find beta such that D = 1(X'beta >= 0) improves on the status quo on the training rows.

    Sums over a group are sum_j count_j (base_j + gain_j D_j), and U = sum of u / sum of w, equation (1).
    With a capacity, floor(capacity * total) of the count are selected, never more; less only by what ties make
    unavoidable, that is by less than the largest count of rows with equal features.

    "fairest" minimizes the largest gap (find_fair), "most_accurate:K" maximizes the first accuracy utility of group K
    (find_pareto). Both are subject to the claim itself on these rows, with iota to spare: every accuracy is at least
    (1 + Delta) U0 + iota, and every gap at most (1 - Delta_f) D0 - iota; in difference form U0 + Delta + iota and
    D0 - Delta_f - iota.
    """

    features: FloatArray  # (m, d), standardized; the first column is the constant 1
    count: FloatArray  # (m,), how many rows each one stands for; above 0
    group: IntArray  # (m,), codes 0..G-1
    base: FloatArray  # (m, M, 2), for each utility (u, w) where D = 0
    gain: FloatArray  # (m, M, 2), what D = 1 adds to it
    accuracy: tuple[int, ...]  # which utilities measure accuracy
    fairness: tuple[int, ...]
    status_quo: FloatArray  # (G, M), its utilities on the same rows
    status_quo_rows: FloatArray  # (m, M, 2), its (u, w), for the accuracy of everyone
    capacity: float | None = None  # share of the total count to select
    signs: IntArray | None = None  # (d,), +1: the coefficient is >= 0; -1: <= 0; 0: free, as the constant always is
    selection_gap: float | None = None  # bound on the largest difference of selection rates between groups
    objective: str = "fairest"
    claim: Claim = ANY_IMPROVEMENT
    levels: tuple[str, ...] = ()  # the groups as the claim names them; their codes where empty
    labels: tuple[str, ...] = ()  # the utilities as the claim names them; without, it names none
    lower_is_better: tuple[int, ...] = ()  # utilities that a protected group would rather have lower
    iota: float = 0.0  # by how much the claim must be exceeded

    def __post_init__(self) -> None:
        if not np.isfinite(self.status_quo).all():
            raise OptionError("the status quo has a group without a utility.", "Leave out the group or the utility.")
        if self.capacity is not None and self.capacity * self.count.sum() * (1 + TOLERANCE) < 1:
            what = f"{self.capacity:g} of {self.count.sum():,.0f} training rows"
            raise OptionError(f"a capacity of {what} is below one row.", "Give a larger capacity.")

    @property
    def groups(self) -> int:
        return len(self.status_quo)

    @property
    def sign(self) -> float:
        """Of the objective when it is minimized."""
        return 1.0 if self.objective == "fairest" else -1.0

    @property
    def favored(self) -> int | None:
        """The group whose accuracy is maximized."""
        kind, _, group = self.objective.partition(":")
        return int(group) if kind == "most_accurate" else None

    @cached_property
    def aim(self) -> Aim:
        """The claim as bounds on utilities."""
        accuracy, fairness = list(self.accuracy), list(self.fairness)
        everyone = utilities_of((self.status_quo_rows * self.count[:, None, None]).sum(axis=0))[accuracy]
        levels = self.levels or tuple(map(str, range(self.groups)))
        lower = [k in self.lower_is_better for k in fairness]
        labels = [[self.labels[k] for k in kind if self.labels] for kind in (accuracy, fairness)]
        now = self.status_quo[:, accuracy], self.status_quo[:, fairness]
        return aim_at(self.claim, levels, *now, everyone, lower, (labels[0], labels[1]))

    @cached_property
    def units(self) -> FloatArray:
        """The size of each utility, shape (M,), to which rounding is relative."""
        size = np.abs(self.status_quo).max(axis=0)
        return np.where(size > 0, size, 1.0)

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The box on beta, |beta_k| <= 1, cut by the signs: two arrays of shape (d,)."""
        signs = np.zeros(self.features.shape[1], dtype=np.int64) if self.signs is None else self.signs
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
        """What a sum of w must exceed to count as more than rounding, shape (blocks, M)."""
        most = np.maximum(self.base[..., W], self.base[..., W] + self.gain[..., W]) * self.count[:, None]
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
        out[: self.groups, list(self.fairness)] = True
        for k in self.accuracy:
            out[:, k] |= self.aim.weights.any(axis=0)
        if self.favored is not None:
            out[self.favored, self.accuracy[0]] = True
        return out

    def decide(self, beta: FloatArray) -> BoolArray:
        """D = 1(X'beta >= 0); by einsum, because BLAS may round differently with another number of threads."""
        return np.asarray(np.einsum("md,d->m", self.features, beta) >= 0)

    def by_group(self, values: FloatArray) -> FloatArray:
        """Add up rows by group: (m, ...) -> (G, ...)."""
        return sums_by(self.group, self.groups, values)

    def blocks(self, sums: FloatArray) -> FloatArray:
        """Sums of everyone below those of the groups, where the claim asks for them."""
        return np.concatenate([sums, sums.sum(axis=0, keepdims=True)]) if self.aim.pooled else sums

    def utilities(self, sums: FloatArray) -> FloatArray:
        """U = sum of u / sum of w, equation (1): (blocks, M, 2) -> (blocks, M), NaN where w sums to zero."""
        u, w = sums[..., U], sums[..., W]
        return np.asarray(np.divide(u, w, out=np.full(u.shape, np.nan), where=w > self.least_weight))


def sums_by(code: IntArray, codes: int, values: FloatArray) -> FloatArray:
    """Add up rows by a code from 0 to below `codes`: (m, ...) -> (codes, ...)."""
    columns = values.reshape(len(values), -1).T
    sums = [np.bincount(code, weights=column, minlength=codes) for column in columns]
    return np.stack(sums, axis=1).astype(np.float64).reshape(codes, *values.shape[1:])


def power_of_two(beta: FloatArray) -> float:
    """A factor that brings the largest coefficient to between one half and one without any rounding."""
    return float(2.0 ** -np.ceil(np.log2(np.abs(beta).max()))) if beta.any() else 1.0


def merge_rows(problem: LinearProblem) -> LinearProblem:
    """The same problem with rows of equal features, contributions and group counted as one."""
    parts = {name: getattr(problem, name) for name in ("group", "features", "base", "gain", "status_quo_rows")}
    table = np.concatenate([part.reshape(len(part), -1) for part in parts.values()], axis=1)
    _, first, place = np.unique(table + 0.0, axis=0, return_index=True, return_inverse=True)  # -0.0 becomes 0.0
    count = np.bincount(place.ravel(), weights=problem.count).astype(np.float64)
    return replace(problem, count=count, **{name: part[first] for name, part in parts.items()})


@dataclass(frozen=True)
class Evaluation:
    """A linear classifier, and what it does on the training rows."""

    beta: FloatArray
    decisions: BoolArray
    utilities: FloatArray  # (G, M), NaN where undefined
    value: float  # of the objective, NaN where undefined
    feasible: bool


def evaluate(problem: LinearProblem, beta: FloatArray) -> Evaluation:
    """Decisions, utilities, constraints and objective of a linear classifier, from the rows."""
    aim, accuracy, fairness = problem.aim, list(problem.accuracy), list(problem.fairness)
    decisions = problem.decide(beta)
    selected = problem.count * decisions
    by_group = problem.by_group(selected)
    utilities = problem.utilities(
        problem.base_sums + problem.blocks(problem.by_group(problem.gain * selected[:, None, None]))
    )
    defined = not np.isnan(utilities[problem.needed]).any()
    known = np.nan_to_num(utilities)  # what is not needed has no weight below
    spare = aim.accuracies(known[:, accuracy]) - aim.least - problem.iota
    differences = aim.differences(known[: problem.groups, fairness])
    excess = differences - aim.most + problem.iota
    low, high = problem.bounds
    met = [
        defined,
        (spare >= -TOLERANCE * problem.units[accuracy][:, None]).all(),
        (excess <= TOLERANCE * problem.units[fairness]).all(),
        (low <= beta).all() and (beta <= high).all(),
    ]
    if problem.selection_gap is not None:
        met.append(np.ptp(by_group / problem.group_totals) <= problem.selection_gap + TOLERANCE)
    if problem.capacity_range is not None:
        least, most = problem.capacity_range
        rounding = TOLERANCE * problem.group_totals.sum()
        met.append(least - rounding <= by_group.sum() <= most + rounding)
    value = differences.max() if problem.favored is None else known[problem.favored, accuracy[0]]
    own = utilities[: problem.groups]
    return Evaluation(beta, decisions, own, float(value) if defined else np.nan, all(map(bool, met)))
