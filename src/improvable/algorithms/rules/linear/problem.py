"""The search for an improving linear classifier, stated once for every way of solving it (Appendix F)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.errors import OptionError, nearest

U, W = 0, 1
TOLERANCE = 1e-9  # relative: what sums may be off by rounding
NO_ERRORS = ("'balanced' needs standard errors.", "Give the problem its status_quo_rows.")
UNDEFINED = 1_000.0  # a utility without a value is worse than any shortfall


@dataclass(frozen=True)
class Objective:
    """What to optimise: "fairest", "most_accurate:K" (K a group's index; otherwise -1) or "balanced"."""

    kind: str
    group: int = -1

    @property
    def name(self) -> str:
        return self.kind if self.group < 0 else f"{self.kind}:{self.group}"

    @property
    def minimised(self) -> bool:
        return self.kind == "fairest"


@dataclass(frozen=True)
class Scale:
    """Standard errors by which "balanced" divides improvements.

    Of U1 - U0, shape (accuracy utilities, groups), and of D0 - (F1g - F1h) with D0 the status quo's largest gap,
    shape (fairness utilities, ordered pairs of groups).
    """

    accuracy: FloatArray
    gap: FloatArray


@dataclass(frozen=True)
class Evaluation:
    """What a linear classifier does on the training rows.

    Attributes
    ----------
    decisions : array of shape (m,)
    utilities : array of shape (G, M)
        NaN where undefined.
    unfairness : array of shape (fairness utilities,)
        Largest difference between two groups.
    selection_rates : array of shape (G,)
    selected : float
        Total count of the selected rows.
    values : mapping from objective to float
    violations : mapping from objective to mapping from constraint to float
        By how much each constraint is missed, relative to the utility's size; 0 where it holds.
    """

    decisions: BoolArray
    utilities: FloatArray
    unfairness: FloatArray
    selection_rates: FloatArray
    selected: float
    values: Mapping[str, float]
    violations: Mapping[str, Mapping[str, float]]

    def feasible(self, objective: str) -> bool:
        """Whether every constraint of this objective holds."""
        return all(amount == 0 for amount in self.violations[objective].values())


@dataclass(frozen=True)
class LinearProblem:
    """Find beta such that D = 1(X'beta >= 0) improves on the status quo on the training rows.

    Sums over a group are sum_j count_j (base_j + gain_j D_j), and U = sum of u / sum of w, equation (1).

    Attributes
    ----------
    features : array of shape (m, d)
        Standardised; the first column is the constant 1.
    count : array of shape (m,)
        How many rows each one stands for; above 0.
    group : array of shape (m,)
        Codes 0..G-1.
    base, gain : arrays of shape (m, M, 2)
        For each utility, (u, w) where D = 0, and what D = 1 adds to it.
    accuracy, fairness : tuples of int
        Which utilities measure accuracy and fairness.
    status_quo : array of shape (G, M)
        The status quo's utilities on the same rows.
    capacity : float, optional
        Share of the total count to select: floor(capacity * total), never more; less only by what ties make
        unavoidable, that is by less than the largest count of rows with equal features.
    signs : array of shape (d,), optional
        +1: the coefficient must be >= 0; -1: <= 0; 0: free. The constant is always free.
    selection_gap : float, optional
        Bound on the largest difference of selection rates between groups.
    iota : float
        The constant of problems (find_fair) and (find_pareto); "balanced" has no use for it.
    status_quo_rows : array of shape (m, M, 2), optional
        (u, w) of each row under the status quo; "balanced" needs it for its standard errors.
    scale : Scale, optional
        Standard errors held fixed; without, `evaluate` takes those of the classifier it evaluates.

    Notes
    -----
    "fairest" minimises the largest unfairness subject to U >= U0 + iota for every group and accuracy utility
    (find_fair). "most_accurate:K" maximises the first accuracy utility of group K subject to every other accuracy
    U >= U0 + iota, and every unfairness <= the status quo's - iota (find_pareto). "balanced" maximises s such that
    each accuracy gain, and each D0 - (F1g - F1h), is at least s times its standard error.
    """

    features: FloatArray
    count: FloatArray
    group: IntArray
    base: FloatArray
    gain: FloatArray
    accuracy: tuple[int, ...]
    fairness: tuple[int, ...]
    status_quo: FloatArray
    capacity: float | None = None
    signs: IntArray | None = None
    selection_gap: float | None = None
    iota: float = 0.0
    status_quo_rows: FloatArray | None = None
    scale: Scale | None = None

    def __post_init__(self) -> None:
        _validate(self)

    @property
    def groups(self) -> int:
        return len(self.status_quo)

    @property
    def objectives(self) -> tuple[str, ...]:
        known = objectives(self.groups)
        return known if self.scale or self.status_quo_rows is not None else known[:-1]

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """Ordered pairs (g, h) of groups, as two arrays."""
        both = np.array(list(permutations(range(self.groups), 2)), dtype=np.int64).reshape(-1, 2)
        return both[:, 0], both[:, 1]

    @cached_property
    def gaps(self) -> FloatArray:
        """The status quo's unfairness, shape (fairness utilities,)."""
        return np.asarray(np.ptp(self.status_quo[:, list(self.fairness)], axis=0))

    @cached_property
    def units(self) -> FloatArray:
        """The size of each utility, shape (M,), so that shortfalls of several can be added up."""
        size = np.abs(self.status_quo).max(axis=0)
        return np.where(size > 0, size, 1.0)

    @cached_property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The box on beta, |beta_k| <= 1, cut by the signs: two arrays of shape (d,)."""
        signs = np.zeros(self.features.shape[1], dtype=np.int64) if self.signs is None else self.signs
        return np.where(signs > 0, 0.0, -1.0), np.where(signs < 0, 0.0, 1.0)

    @cached_property
    def group_totals(self) -> FloatArray:
        return tally(self, self.count)

    @cached_property
    def base_sums(self) -> FloatArray:
        """Sums where nobody is selected, shape (G, M, 2)."""
        return group_sums(self, self.base * self.count[:, None, None])

    @cached_property
    def least_weight(self) -> FloatArray:
        """What a sum of w must exceed to count as more than rounding, shape (G, M)."""
        most = np.maximum(self.base[..., W], self.base[..., W] + self.gain[..., W]) * self.count[:, None]
        return TOLERANCE * group_sums(self, most)

    @cached_property
    def capacity_range(self) -> tuple[float, float] | None:
        """Least and most total count to select; None without a capacity."""
        if self.capacity is None:
            return None
        total = float(self.count.sum())
        limit = self.capacity * total * (1 + TOLERANCE)
        _, place = np.unique(self.features, axis=0, return_inverse=True)
        tied = float(np.bincount(place.ravel(), weights=self.count).max())
        if (self.count == np.round(self.count)).all():
            return max(0.0, np.floor(limit) - tied + 1), float(np.floor(limit))
        return max(0.0, limit - tied), limit

    def decide(self, beta: FloatArray) -> BoolArray:
        """D = 1(X'beta >= 0); by einsum, because BLAS may round differently with another number of threads."""
        return np.asarray(np.einsum("md,d->m", self.features, beta) >= 0)

    def evaluate(self, beta: FloatArray) -> Evaluation:
        """Decisions, utilities, constraints and objectives of a linear classifier, from the rows."""
        decisions = self.decide(beta)
        gained = group_sums(self, self.gain * (self.count * decisions)[:, None, None])
        selected = tally(self, self.count * decisions)
        sums = (self.base_sums + gained)[..., None]
        known = self.scale is not None or self.status_quo_rows is None
        scale = self.scale if known else standard_errors(self, decisions)
        low, high = self.bounds
        outside = np.maximum(low - beta, beta - high).clip(0).max(keepdims=True)
        values, violations = {}, {}
        for name in self.objectives:
            missed, value = judge(self, parse_objective(name, self.groups), sums, selected[:, None], scale)
            violations[name] = {key: float(amount[0]) for key, amount in (missed | {"box": outside}).items()}
            values[name] = np.nan if violations[name]["undefined"] else float(value[0])
        utilities = utilities_of(self, sums)[..., 0]
        return Evaluation(
            decisions=decisions,
            utilities=utilities,
            unfairness=np.asarray(np.ptp(utilities[:, list(self.fairness)], axis=0)),
            selection_rates=selected / self.group_totals,
            selected=float(selected.sum()),
            values=values,
            violations=violations,
        )

    def scaled_at(self, beta: FloatArray) -> "LinearProblem":
        """The same problem with the standard errors of "balanced" fixed at those of this classifier."""
        return replace(self, scale=standard_errors(self, self.decide(beta)))


def objectives(groups: int) -> tuple[str, ...]:
    """The names of all objectives."""
    return ("fairest", *(f"most_accurate:{g}" for g in range(groups)), "balanced")


def parse_objective(objective: str, groups: int) -> Objective:
    """An objective from its name.

    Examples
    --------
    >>> parse_objective("most_accurate:1", groups=2)
    Objective(kind='most_accurate', group=1)
    """
    kind, _, group = objective.partition(":")
    if kind == "most_accurate" and group.isdecimal() and int(group) < groups:
        return Objective(kind, int(group))
    if objective in ("fairest", "balanced"):
        return Objective(kind)
    raise OptionError(f"there is no objective '{objective}'.", nearest(objective, objectives(groups)))


def tally(problem: LinearProblem, values: FloatArray) -> FloatArray:
    """Add up rows by group: (m,) -> (G,)."""
    return np.bincount(problem.group, weights=values, minlength=problem.groups).astype(np.float64)


def group_sums(problem: LinearProblem, values: FloatArray) -> FloatArray:
    """Add up rows by group: (m, ...) -> (G, ...)."""
    columns = [tally(problem, column) for column in values.reshape(len(values), -1).T]
    return np.stack(columns, axis=1).reshape(problem.groups, *values.shape[1:])


def utilities_of(problem: LinearProblem, sums: FloatArray) -> FloatArray:
    """U = sum of u / sum of w, equation (1): (G, M, 2, B) -> (G, M, B), NaN where w sums to zero."""
    u, w = sums[:, :, U], sums[:, :, W]
    defined = w > problem.least_weight[..., None]
    return np.asarray(np.divide(u, w, out=np.full(u.shape, np.nan), where=defined))


def judge(
    problem: LinearProblem, objective: Objective, sums: FloatArray, selected: FloatArray, scale: Scale | None
) -> tuple[dict[str, FloatArray], FloatArray]:
    """How far each of B classifiers is from feasible, by constraint, and its objective; arrays of shape (B,).

    From sums of shape (G, M, 2, B) and the count of the selected in each group, shape (G, B). The objective is
    meaningless where "undefined" is violated.
    """
    utilities = utilities_of(problem, sums)
    undefined = np.isnan(utilities)
    missed = {"undefined": UNDEFINED * undefined.sum(axis=(0, 1))}
    if undefined.any():
        utilities = np.where(undefined, (problem.status_quo - problem.units)[..., None], utilities)
    units = problem.units[:, None]
    accuracy, fairness = list(problem.accuracy), list(problem.fairness)
    gains = utilities[:, accuracy] - problem.status_quo[:, accuracy, None]
    short = _positive((problem.iota - gains) / units[accuracy])
    unfair = np.ptp(utilities[:, fairness], axis=0)
    if objective.kind == "fairest":
        value = unfair.max(axis=0)
        missed["accuracy"] = short.sum(axis=(0, 1))
    elif objective.kind == "most_accurate":
        value = utilities[objective.group, accuracy[0]]
        short[objective.group, 0] = 0
        missed["accuracy"] = short.sum(axis=(0, 1))
        excess = unfair - problem.gaps[:, None] + problem.iota
        missed["fairness"] = _positive(excess / units[fairness]).sum(axis=0)
    else:
        value = _balance(problem, scale, gains, utilities[:, fairness])
    if problem.selection_gap is not None:
        rates = selected / problem.group_totals[:, None]
        missed["selection_gap"] = _positive(np.ptp(rates, axis=0) - problem.selection_gap)
    if problem.capacity_range is not None:
        least, most = problem.capacity_range
        total, chosen = problem.group_totals.sum(), selected.sum(axis=0)
        missed["capacity"] = _positive((chosen - most) / total) + _positive((least - chosen) / total)
    return missed, value


def _positive(amount: FloatArray) -> FloatArray:
    return np.where(amount > TOLERANCE, amount, 0.0)


def _balance(problem: LinearProblem, scale: Scale | None, gains: FloatArray, fairness: FloatArray) -> FloatArray:
    """The smallest of the studentised improvements; (G, A, B) and (G, F, B) -> (B,)."""
    if scale is None:
        raise OptionError(*NO_ERRORS)
    upper, lower = problem.pairs
    reduced = problem.gaps[:, None] - (fairness[upper] - fairness[lower])
    smallest = (gains / scale.accuracy.T[..., None]).min(axis=(0, 1))
    return np.asarray(np.minimum(smallest, (reduced / scale.gap.T[..., None]).min(axis=(0, 1))))


def standard_errors(problem: LinearProblem, decisions: BoolArray) -> Scale:
    """Delta-method standard errors of the improvements, from the rows' influence on U1 and U0.

    A candidate that decides as the status quo has differences without variance. So that "balanced" never divides by
    zero, a standard error is at least a tenth of what it were if both algorithms saw different rows, and at least
    the size of the utility divided by the rows of the (smallest) group.
    """
    if problem.status_quo_rows is None:
        raise OptionError(*NO_ERRORS)
    after = _influence(problem, problem.base + problem.gain * decisions[:, None, None])
    before = _influence(problem, problem.status_quo_rows)

    def variance(influence: FloatArray) -> FloatArray:
        return group_sums(problem, problem.count[:, None] * influence**2)

    one_row = (problem.units / problem.group_totals[:, None]) ** 2
    least = np.maximum(0.01 * (variance(after) + variance(before)), one_row)
    accuracy = np.sqrt(np.maximum(variance(after - before), least))[:, list(problem.accuracy)].T
    sides = np.eye(problem.groups)
    gap = np.empty((len(problem.fairness), len(problem.pairs[0])))
    for row, k in enumerate(problem.fairness):
        high, low = int(np.argmax(problem.status_quo[:, k])), int(np.argmin(problem.status_quo[:, k]))
        reference = (sides[high] - sides[low])[problem.group]
        for column, (g, h) in enumerate(zip(*problem.pairs, strict=True)):
            mine = (sides[g] - sides[h])[problem.group]
            both = reference * before[:, k] - mine * after[:, k]
            split = (reference * before[:, k]) ** 2 + (mine * after[:, k]) ** 2
            least = max(0.01 * (problem.count * split).sum(), one_row[:, k].max())
            gap[row, column] = np.sqrt(max((problem.count * both**2).sum(), least))
    return Scale(accuracy, gap)


def _influence(problem: LinearProblem, rows: FloatArray) -> FloatArray:
    """(u - U w) / sum of w for each row and utility, shape (m, M, 2) -> (m, M); 0 where U is undefined."""
    sums = group_sums(problem, rows * problem.count[:, None, None])[..., None]
    utilities = utilities_of(problem, sums)[..., 0]
    weight = np.where(np.isnan(utilities), np.inf, sums[:, :, W, 0])[problem.group]
    return np.asarray((rows[..., U] - np.nan_to_num(utilities)[problem.group] * rows[..., W]) / weight)


def merge_rows(problem: LinearProblem) -> LinearProblem:
    """The same problem with rows of equal features, contributions and group counted as one."""
    m, before = len(problem.features), problem.status_quo_rows
    parts = [problem.group, problem.features, problem.base, problem.gain, *([] if before is None else [before])]
    table = np.concatenate([part.reshape(m, -1) for part in parts], axis=1) + 0.0  # -0.0 becomes 0.0: equal bits
    _, first, place = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return replace(
        problem,
        features=problem.features[first],
        count=np.bincount(place.ravel(), weights=problem.count).astype(np.float64),
        group=problem.group[first],
        base=problem.base[first],
        gain=problem.gain[first],
        status_quo_rows=None if before is None else before[first],
    )


def _validate(problem: LinearProblem) -> None:
    m, d = problem.features.shape
    groups, utilities = problem.status_quo.shape
    fits = [problem.count.shape == (m,), (problem.count > 0).all(), problem.group.shape == (m,)]
    fits += [part.shape == (m, utilities, 2) for part in (problem.base, problem.gain)]
    fits += [problem.status_quo_rows is None or problem.status_quo_rows.shape == (m, utilities, 2)]
    if not all(fits) or (problem.signs is not None and problem.signs.shape != (d,)):
        raise OptionError("the arrays of a linear problem do not fit together.", "See LinearProblem for their shapes.")
    if (problem.features[:, 0] != 1).any() or (problem.signs is not None and problem.signs[0] != 0):
        raise OptionError("the first feature of a linear problem is the constant 1.", "Its sign is free.")
    if not problem.accuracy or not problem.fairness or groups < 2:
        raise OptionError("a linear problem needs an accuracy utility, a fairness utility and two groups.")
    if not np.isfinite(problem.status_quo).all():
        raise OptionError("the status quo has a group without a utility.", "Leave out the group or the utility.")
    if problem.capacity is not None and problem.capacity * problem.count.sum() * (1 + TOLERANCE) < 1:
        what = f"{problem.capacity:g} of {problem.count.sum():,.0f} training rows"
        raise OptionError(f"a capacity of {what} is below one row.", "Give a larger capacity.")
