"""Exact line searches for a linear classifier, at full data size.

Along any line in the space of coefficients a row's decision flips at one point. So sorting these points and sweeping
cumulative sums of what each flip adds gives every value that the objective takes on the line, exactly.
"""

from dataclasses import dataclass

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.algorithms.rules.linear.problem import Evaluation, LinearProblem, U, W, evaluate, judge, power_of_two
from improvable.errors import OptionError

MAX_STEP = 1e6  # in units of the box: beyond, the other coefficients are lost to rounding
MIN_WIDTH = 1e-9  # an interval between flips that is narrower cannot be told from a tie
PASSES = 60
FINER = (0.2, 0.4, 0.6, 0.8)  # of the way to the neighbors of the best point visited
NEAREST = 16  # rows on each side of the cutoff whose swaps are visited
RANDOM, PULLED = -1, -2
OTHER_LINES = (RANDOM, PULLED, PULLED, PULLED)
SPREADS = (0.05, 0.2, 0.5, 1.0)

Span = tuple[float, float]  # the smallest and largest step along a line


@dataclass(frozen=True)
class Merit:
    """What is compared: first the violation of constraints, then the objective, turned so that less is better."""

    violation: float
    loss: float

    def better_than(self, other: "Merit") -> bool:
        if abs(self.violation - other.violation) > 1e-10:
            return self.violation < other.violation
        return self.loss < other.loss - 1e-10 * max(1.0, abs(other.loss))


@dataclass(frozen=True)
class Step:
    """A move along a line; with a capacity, `cutoff` is the lowest selected score after it."""

    length: float
    merit: Merit
    cutoff: float | None = None


class Rows:
    """A problem's rows, laid out for sweeping."""

    def __init__(self, problem: LinearProblem) -> None:
        self.problem = problem
        self.columns = np.ascontiguousarray(problem.features.T)
        weighted = problem.gain * problem.count[:, None, None]
        changing = np.argwhere((problem.gain != 0).any(axis=0))
        member = problem.group == np.arange(problem.groups)[:, None]
        self.tracked = [(g, int(k), int(part)) for g in range(problem.groups) for k, part in changing]
        sums = [weighted[:, k, part] * member[g] for g, k, part in self.tracked]
        # What selecting a row adds to each sum that decisions can change, shape (tracked, m); the last G lines are the
        # counts of the selected.
        self.flow = np.stack([*sums, *(problem.count * inside for inside in member)])
        self.by_row = np.ascontiguousarray(self.flow.T)
        # How many of the highest scores always hold those that fill the capacity, and the next one.
        most = problem.capacity_range[1] if problem.capacity_range else 0.0
        self.needed = int(min(len(problem.count), most / problem.count.min() + 2))
        # Which way selecting a row pulls its group's utilities, seen from those of the status quo, shape (m, M).
        self.pull = (problem.gain[..., U] - problem.status_quo[problem.group] * problem.gain[..., W]) / problem.units

    def judge(self, gained: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Violation and loss of B classifiers from their tracked sums, shape (tracked, B)."""
        problem = self.problem
        sums = np.repeat(problem.base_sums[..., None], gained.shape[1], axis=-1)
        for line, (g, k, part) in zip(gained, self.tracked, strict=False):
            sums[g, k, part] += line
            if problem.aim.pooled:
                sums[-1, k, part] += line
        missed, value = judge(problem, sums, gained[len(self.tracked) :])
        return np.sum(list(missed.values()), axis=0), problem.sign * value

    def merit(self, gained: FloatArray) -> Merit:
        return Merit(*(float(part[0]) for part in self.judge(gained)))

    def merit_of(self, decisions: BoolArray) -> Merit:
        return self.merit(self.flow[:, decisions].sum(axis=1)[:, None])


def search(problem: LinearProblem, start: FloatArray, seed: np.random.SeedSequence, restarts: int) -> Evaluation:
    """Improve a linear classifier by exact line searches, from `start` and then `restarts` times from nearby.

    Each line search finds the best point of its line: first the least total violation of the constraints, then the
    best objective. Lines are the coefficients, one after another, and directions that are random or along which rows
    near the cutoff pull the utilities some random way, until none improves. Not a proven optimum of the problem, and
    that nothing feasible was found proves nothing. The largest coefficient found is between one half and one in size.

    With a capacity the constant is set so that the highest scores fill the capacity. Which rows these are is exact at
    each point visited, but not every point of a line is: see `_visits`. For "balanced" the standard errors are fixed at
    those of the start, then at those of the classifier so found, unless the problem fixes them.
    """
    if start.shape != (problem.features.shape[1],) or not np.isfinite(start).all():
        raise OptionError("the start of a search is one finite number for each feature.")
    rng = np.random.default_rng(seed)
    beta = _inside(problem, start)
    if problem.objective != "balanced" or problem.scale is not None:
        return evaluate(problem, _descend_often(Rows(problem), beta, rng, restarts))
    tried = []
    for share in (restarts - restarts // 2, restarts // 2):
        beta = _descend_often(Rows(problem.scaled_at(beta)), beta, rng, share)
        tried.append(evaluate(problem, beta))
    return min(tried, key=lambda found: (found.violation, -found.value))


def _descend_often(rows: Rows, start: FloatArray, rng: np.random.Generator, restarts: int) -> FloatArray:
    best, merit = _descend(rows, start, rng)
    for restart in range(restarts):
        if rows.problem.sign > 0 and merit.violation == 0 and merit.loss <= 0:
            break  # no gap can be below zero
        center = start if restart % 4 == 3 else best
        spread = SPREADS[restart % len(SPREADS)] * np.abs(center).mean()
        beta = _inside(rows.problem, center + spread * rng.standard_normal(len(center)))
        beta, reached = _descend(rows, beta, rng)
        if reached.better_than(merit):
            best, merit = beta, reached
    return best


def _descend(rows: Rows, beta: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, Merit]:
    """Line searches over all coefficients and some random directions until a whole pass improves nothing."""
    tied, size = rows.problem.capacity is not None, len(beta)
    first = int(tied)  # with a capacity, the constant is not free
    beta, score, merit = _settle(rows, beta)
    for _ in range(PASSES):
        kept = beta, merit
        for k in [*(first + rng.permutation(size - first)), *OTHER_LINES * max(2, size // 16)]:
            direction = _direction(rows, beta, score + beta[0] if tied else score, int(k), rng)
            slope = rows.columns[k] if k >= 0 else np.einsum("d,dm->m", direction, rows.columns)
            span = _span(rows.problem, beta, direction)
            step = _top_step(rows, score, -beta[0], slope, span) if tied else line_search(rows, score, slope, span)
            if step is None or not step.merit.better_than(merit):
                continue
            merit, beta, score = step.merit, beta + step.length * direction, score + step.length * slope
            if step.cutoff is not None:
                beta[0] = -step.cutoff
            shrink = power_of_two(beta)
            beta, score = beta * shrink, score * shrink
        beta, score, merit = _settle(rows, beta)
        if not merit.better_than(kept[1]):
            return kept
    return beta, merit


def _settle(rows: Rows, beta: FloatArray) -> tuple[FloatArray, FloatArray, Merit]:
    """Scores (with a capacity, without the constant) and merit from the rows, so that rounding cannot build up."""
    if rows.problem.capacity is None:
        score = np.einsum("md,d->m", rows.problem.features, beta)
        return beta, score, rows.merit_of(score >= 0)
    beta = np.append(0.0, beta[1:])
    score = np.einsum("md,d->m", rows.problem.features, beta)
    gained, cutoff = _fill(rows, score[None, :])
    beta[0] = -cutoff[0]
    shrink = power_of_two(beta)
    return beta * shrink, score * shrink, rows.merit(gained)


def _inside(problem: LinearProblem, beta: FloatArray) -> FloatArray:
    """Coefficients with the required signs, in the box."""
    low, high = problem.bounds
    kept = np.where(((beta < 0) & (low == 0)) | ((beta > 0) & (high == 0)), 0.0, beta)
    return np.asarray(kept * power_of_two(kept))


def _direction(rows: Rows, beta: FloatArray, margin: FloatArray, k: int, rng: np.random.Generator) -> FloatArray:
    """One coefficient, a random direction, or one along which rows near the cutoff pull utilities some random way."""
    if k >= 0:
        return np.asarray(np.eye(1, len(beta), k)[0])
    if k == RANDOM:
        direction = rng.standard_normal(len(beta))
    else:
        near = max(1, int(len(margin) * rng.uniform(0.01, 0.3)))
        close = np.argpartition(np.abs(margin), near - 1)[:near]
        mixture = rng.standard_normal(rows.problem.status_quo.shape)
        force = (rows.pull[close] * mixture[rows.problem.group[close]]).sum(axis=1) * rows.problem.count[close]
        direction = np.einsum("m,md->d", force, rows.problem.features[close])
        direction /= max(float(np.abs(direction).max()), 1e-300)
    if rows.problem.capacity is not None:
        direction[0] = 0.0
    low, high = rows.problem.bounds
    stuck = ((low == 0) & (beta <= 0) & (direction < 0)) | ((high == 0) & (beta >= 0) & (direction > 0))
    return np.where(stuck, 0.0, direction)


def _span(problem: LinearProblem, beta: FloatArray, direction: FloatArray) -> Span:
    """The steps along a direction that keep the required signs."""
    low, high = problem.bounds
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -beta / direction
    moves = (direction != 0) & (low != -high)
    down = (low == 0) == (direction > 0)
    least = np.max(zero, initial=-MAX_STEP, where=moves & down)
    greatest = np.min(zero, initial=MAX_STEP, where=moves & ~down)
    return float(least), float(max(least, greatest))


def line_search(rows: Rows, score: FloatArray, slope: FloatArray, span: Span) -> Step | None:
    """The best point of a line, exactly, where nothing ties the constant.

    A row's score after a step of length b, at least span[0] and at most span[1], is score + b * slope. The step leads
    to the middle of the best interval between flips, of equally good ones the widest; None where nothing moves.
    A flip itself is never chosen: there decisions hang on rounding.
    """
    least, greatest = span
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        flip = -score / slope
    rising, falling = slope > 0, slope < 0
    at_least = np.where(rising, flip <= least, np.where(falling, flip > least, score >= 0))
    moving = np.flatnonzero((rising | falling) & (flip > least) & (flip < greatest))
    if len(moving) == 0 or greatest - least <= MIN_WIDTH:
        return None
    order = moving[np.argsort(flip[moving])]
    gained = np.empty((len(rows.flow), len(order) + 1))
    gained[:, 0] = rows.flow[:, at_least].sum(axis=1)
    np.take(rows.flow, order, axis=1, out=gained[:, 1:])
    gained[:, 1:] *= np.sign(slope[order])
    np.cumsum(gained, axis=1, out=gained)
    edges = np.concatenate([[least], flip[order], [greatest]])
    (violation, loss), width, size = rows.judge(gained), np.diff(edges), np.abs(edges[1:])
    # Of the points that are wide enough to be told apart: least violation, then least loss, then the widest.
    close = np.flatnonzero(width > MIN_WIDTH * np.minimum(np.maximum(size, 1.0), 1e3))
    if len(close) == 0:
        return None
    close = close[violation[close] <= violation[close].min() + 1e-12]
    best = loss[close].min()
    close = close[loss[close] <= best + 1e-12 * max(1.0, abs(best))]
    place = int(close[np.argmax(width[close])])
    left, right = edges[place], edges[place + 1]
    middle = (left + right) / 2
    if place == 0:
        middle = max(middle, right - 1 - abs(right))  # not far out, for no reason
    elif place == len(order):
        middle = min(middle, left + 1 + abs(left))
    return Step(float(middle), Merit(float(violation[place]), float(loss[place])))


def _top_step(rows: Rows, score: FloatArray, cutoff: float, slope: FloatArray, span: Span) -> Step | None:
    """The best of the visited points of a line, where the highest scores fill the capacity."""
    pool = _pool(rows, score)
    visited = _visits(score, cutoff, slope, span, pool)
    best: Step | None = None
    for _ in range(2):
        if len(visited) == 0:
            return best
        gained, cutoffs = _fill(rows, score + visited[:, None] * slope, pool)
        violation, loss = rows.judge(gained)
        place = int(np.lexsort((loss, violation))[0])
        merit = Merit(float(violation[place]), float(loss[place]))
        if best is None or merit.better_than(best.merit):
            best = Step(float(visited[place]), merit, float(cutoffs[place]))
        around, here = np.append(visited, 0.0), best.length
        low = np.max(around, initial=-MAX_STEP, where=around < here)
        high = np.min(around, initial=MAX_STEP, where=around > here)
        ends = [end for end in (low, high) if abs(end) < MAX_STEP]
        visited = np.unique([here + (end - here) * share for end in ends for share in FINER])
    return best


def _visits(score: FloatArray, cutoff: float, slope: FloatArray, span: Span, pool: IntArray) -> FloatArray:
    """Steps worth visiting, in ascending order.

    After a swap of two rows near the cutoff (all pairs of the nearest selected and the nearest others), after 1, 2,
    4, ... rows have crossed the present cutoff, and at the ends of the span.
    """
    distance = score[pool] - cutoff
    inside, outside = pool[distance > 0], pool[distance <= 0]
    inside = inside[np.argsort(score[inside])[:NEAREST]]
    outside = outside[np.argsort(-score[outside])[:NEAREST]]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = (cutoff - score) / slope
        swap = np.subtract.outer(score[inside], score[outside]) / -np.subtract.outer(slope[inside], slope[outside])
    ends = np.array([end for end in span if 0 < abs(end) < MAX_STEP])
    ahead = [_between(events, span[1]) for events in (crossing, swap.ravel())]
    behind = [-_between(-events, -span[0]) for events in (crossing, swap.ravel())]
    return np.unique(np.concatenate([ends, *ahead, *behind]))


def _between(events: FloatArray, edge: float) -> FloatArray:
    """Points right after the 1st, 2nd, 4th, ... of the events between 0 and an edge."""
    ahead = events[(events > 0) & (events < edge)]
    if len(ahead) < 2:
        return ahead * 1.001
    ranks: IntArray = np.unique(np.minimum(2 ** np.arange(int(np.log2(len(ahead))) + 1), len(ahead) - 1))
    ordered = np.partition(ahead, np.unique(np.concatenate([ranks - 1, ranks])))
    return np.asarray((ordered[ranks - 1] + ordered[ranks]) / 2)


def _fill(rows: Rows, scores: FloatArray, pool: IntArray | None = None) -> tuple[FloatArray, FloatArray]:
    """Select the highest scores up to the capacity, never more and never part of a tie.

    For scores of shape (B, m), the tracked sums of the selected, shape (tracked, B), and the cutoffs, shape (B,).
    The scores of `pool`, any `rows.needed` rows or more, bound the cutoff from below and spare ordering the rest.
    """
    needed, pool = rows.needed, _pool(rows, scores[0]) if pool is None else pool
    limits, count = rows.problem.capacity_range, rows.problem.count
    assert limits is not None
    gained, cutoff = np.zeros((len(rows.flow), len(scores))), np.empty(len(scores))
    for b, score in enumerate(scores):
        bound = np.partition(score[pool], len(pool) - needed)[len(pool) - needed]
        near = np.flatnonzero(score >= bound)
        order = near[np.argsort(-score[near], kind="stable")]
        values = score[order]
        # Rows left out score lower still; without any, the last step down is as wide as is safe.
        below = values[-1] - (1.0 + abs(values[-1]) if len(order) == len(score) else 0.0)
        drop = values - np.append(values[1:], below)
        apart = drop > MIN_WIDTH * max(abs(values[0]), abs(below))
        fits = np.flatnonzero(apart & (np.cumsum(count[order]) <= limits[1]))
        if len(fits) == 0:
            cutoff[b] = values[0] + 1.0 + abs(values[0])
            continue
        last = fits[-1]
        gained[:, b] = rows.by_row[order[: last + 1]].sum(axis=0)
        cutoff[b] = values[last] - drop[last] / 2
    return gained, cutoff


def _pool(rows: Rows, score: FloatArray) -> IntArray:
    """Twice as many of the highest scores as are needed."""
    size = min(len(score), 2 * rows.needed)
    return np.asarray(np.argpartition(score, len(score) - size)[len(score) - size :])
