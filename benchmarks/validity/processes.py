"""Data-generating processes whose utilities are known exactly, so that a null can be
put exactly on its boundary.

Utilities are calibration utilities, the mean outcome of those selected. In a group, a
row is selected by both algorithms, by one of them or by neither; the mean outcome of
each such kind of row is solved for, so that the utilities of the population are the
ones that were asked for. Outcomes are counts (negative binomial).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable._typing import FloatArray, IntArray

NEITHER, BOTH, ONLY_NOW, ONLY_NEW = range(4)
NOW, NEW = 0, 1


@dataclass(frozen=True)
class GroupTruth:
    """One group of the population.

    Attributes
    ----------
    share : float
        Of all rows.
    utility : (float, float)
        Mean outcome of those selected by the status quo, and by the candidate.
    selected : (float, float)
        Share of the group that either selects.
    both : float
        Share of the group that both select.
    shared_mean : float or None
        Mean outcome of these; halfway between the utilities by default.
    spread : (float, float, float)
        Standard deviation of outcomes of rows selected by both, by the status quo only,
        by the candidate only.
    """

    share: float
    utility: tuple[float, float]
    selected: tuple[float, float] = (0.4, 0.4)
    both: float = 0.2
    shared_mean: float | None = None
    spread: tuple[float, float, float] = (3.2, 3.2, 3.2)

    def chances(self) -> FloatArray:
        """Probability of each kind of row: neither, both, only the status quo, only the
        candidate.
        """
        only = [share - self.both for share in self.selected]
        return np.array([1 - self.both - sum(only), self.both, *only])

    def means(self) -> FloatArray:
        """Mean outcome of each kind of row."""
        shared = sum(self.utility) / 2 if self.shared_mean is None else self.shared_mean
        only = [
            (share * utility - self.both * shared) / (share - self.both)
            for share, utility in zip(self.selected, self.utility, strict=True)
        ]
        return np.array([2.0, shared, *only])

    def variances(self) -> FloatArray:
        return np.array([3.0, *self.spread]) ** 2


Truth = Mapping[str, GroupTruth]


@dataclass(frozen=True)
class Process:
    """A population in which the null holds, just so, and another in which it does not.

    Attributes
    ----------
    name, binds : str
        What it is, and which part of the null holds with equality.
    null, alternative : mapping from group to GroupTruth
    rows : int
        Held-out rows; an audit gets twice as many.
    delta_fairness : float
        By which share the gap must be smaller.
    """

    name: str
    binds: str
    null: Truth
    alternative: Truth
    rows: int = 1_000
    delta_fairness: float = 0.0

    def algorithms(self) -> tuple[Any, Any]:
        """The status quo and the candidate, as `improvable.compare` takes them."""
        return "now", "new"

    def options(self) -> dict[str, Any]:
        """What `improvable.compare` must be told of the rows."""
        return {"delta_fairness": self.delta_fairness}

    def reached(self, truth: Truth) -> dict[str, tuple[float, float]]:
        """The groups' utilities under the algorithms as they are."""
        return {group: one.utility for group, one in truth.items()}

    def draw(self, rng: np.random.Generator, rows: int, truth: Truth) -> pl.DataFrame:
        group = draw_groups(rng, rows, truth)
        kind = draw_kinds(group, rng.random(rows), truth)
        mean, variance = moments(group, kind, truth)
        return frame_of(group, kind, draw_counts(rng, mean, variance), truth)


@dataclass(frozen=True)
class ClusteredProcess(Process):
    """Rows of a cluster share how they are selected, half of the time, and how high
    their outcomes are.
    """

    size: int = 10

    def options(self) -> dict[str, Any]:
        return {**super().options(), "cluster": "cluster"}

    def draw(self, rng: np.random.Generator, rows: int, truth: Truth) -> pl.DataFrame:
        cluster = np.arange(rows) // self.size
        clusters = int(cluster[-1]) + 1
        group = draw_groups(rng, rows, truth)
        place = np.where(
            rng.random(rows) < 0.5, rng.random(clusters)[cluster], rng.random(rows)
        )
        kind = draw_kinds(group, place, truth)
        mean, variance = moments(group, kind, truth)
        # its mean is 1, whatever the kind of row
        level = rng.choice([0.75, 1.25], clusters)[cluster]
        outcome = draw_counts(rng, level * mean, level * variance)
        return frame_of(group, kind, outcome, truth).with_columns(cluster=cluster)


@dataclass(frozen=True)
class WeightedProcess(Process):
    """Weights are high where the candidate's own choices are poor: unweighted, it looks
    better than it is.
    """

    tilt: float = 1.0

    def options(self) -> dict[str, Any]:
        return {**super().options(), "weight": "weight"}

    def draw(self, rng: np.random.Generator, rows: int, truth: Truth) -> pl.DataFrame:
        group = draw_groups(rng, rows, truth)
        kind = draw_kinds(group, rng.random(rows), truth)
        mean, variance = moments(group, kind, truth)
        heavy = rng.random(rows) < 0.5
        # weights 2 and 1: the weighted mean of -tilt and 2 * tilt is zero
        mean = mean + (kind == ONLY_NEW) * np.where(heavy, -self.tilt, 2 * self.tilt)
        weight = np.where(heavy, 2.0, 1.0)
        return frame_of(
            group, kind, draw_counts(rng, mean, variance), truth
        ).with_columns(weight=weight)


@dataclass(frozen=True)
class TiedProcess(Process):
    """Scores of five values, thresholded at a capacity of one half, where rows tie.

    Three in five scores are at most 3 and three in ten at most 2, so the median is 3
    and two in five are above it. With strict ties these alone are selected. With random
    ones, the default, a third of the rows that tie are drawn to meet the capacity: a
    fifth of all that are selected. They are rows that the algorithm did not mean to
    select.
    """

    ties: str = "random"

    def options(self) -> dict[str, Any]:
        return {**super().options(), "ties": self.ties}

    def reached(self, truth: Truth) -> dict[str, tuple[float, float]]:
        if self.ties == "strict":
            return super().reached(truth)
        out = {}
        for group, one in truth.items():
            chances, means = one.chances(), one.means()
            left = [
                np.average(means[kinds], weights=chances[kinds])
                for kinds in ([NEITHER, ONLY_NEW], [NEITHER, ONLY_NOW])
            ]
            before, after = (
                0.8 * meant + 0.2 * float(drawn)
                for meant, drawn in zip(one.utility, left, strict=True)
            )
            out[group] = before, after
        return out

    def algorithms(self) -> tuple[Any, Any]:
        return improvable.threshold("score_now", capacity=0.5), improvable.threshold(
            "score_new", capacity=0.5
        )

    def draw(self, rng: np.random.Generator, rows: int, truth: Truth) -> pl.DataFrame:
        frame = super().draw(rng, rows, truth)
        scores = {
            f"score_{name}": np.where(
                frame[name].to_numpy() == 1,
                rng.choice([4, 5], rows),
                rng.choice([1, 2, 3], rows, p=[0.25, 0.25, 0.5]),
            )
            for name in ("now", "new")
        }
        return frame.drop("now", "new").with_columns(**scores)


def draw_groups(rng: np.random.Generator, rows: int, truth: Truth) -> IntArray:
    shares = np.array([one.share for one in truth.values()])
    return rng.choice(len(shares), rows, p=shares / shares.sum())


def draw_kinds(group: IntArray, place: FloatArray, truth: Truth) -> IntArray:
    """The kind of every row, from a number between 0 and 1."""
    edges = np.cumsum([one.chances() for one in truth.values()], axis=1)[:, :-1]
    return np.asarray((place[:, None] >= edges[group]).sum(axis=1))


def moments(
    group: IntArray, kind: IntArray, truth: Truth
) -> tuple[FloatArray, FloatArray]:
    mean = np.array([one.means() for one in truth.values()])
    variance = np.array([one.variances() for one in truth.values()])
    return mean[group, kind], variance[group, kind]


def draw_counts(
    rng: np.random.Generator, mean: FloatArray, variance: FloatArray
) -> IntArray:
    """Counts with the means and variances given, negative binomial; Poisson where the
    variance is not larger.
    """
    shape = mean**2 / np.maximum(variance - mean, 1e-3)
    return rng.poisson(rng.gamma(shape, mean / shape))


def frame_of(
    group: IntArray, kind: IntArray, outcome: IntArray, truth: Truth
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "group": np.array([*truth])[group],
            "outcome": outcome,
            "now": ((kind == BOTH) | (kind == ONLY_NOW)).astype(np.int64),
            "new": ((kind == BOTH) | (kind == ONLY_NEW)).astype(np.int64),
            "filler": np.arange(len(group)) % 7,
        }
    )


def halves(
    a: tuple[float, float], b: tuple[float, float], **options: Any
) -> dict[str, GroupTruth]:
    return {"a": GroupTruth(0.5, a, **options), "b": GroupTruth(0.5, b, **options)}


def thirds(
    a: tuple[float, float],
    b: tuple[float, float],
    c: tuple[float, float],
    **options: Any,
) -> dict[str, GroupTruth]:
    return {
        name: GroupTruth(1 / 3, utility, **options)
        for name, utility in zip("abc", (a, b, c), strict=True)
    }


def small(
    share: float, a: tuple[float, float], b: tuple[float, float]
) -> dict[str, GroupTruth]:
    """Group b is a small share of all rows."""
    return {
        "a": GroupTruth(1 - share, a, both=0.1),
        "b": GroupTruth(share, b, both=0.1),
    }


def barely_different(
    both: float, a: tuple[float, float], b: tuple[float, float]
) -> dict[str, GroupTruth]:
    """The candidate takes nearly the same rows of group a."""
    return {"a": GroupTruth(0.5, a, both=both), "b": GroupTruth(0.5, b)}


PROCESSES = (
    Process(
        "accuracy of a",
        "accuracy of a",
        halves((6, 6), (3.5, 5.5)),
        halves((6, 6.8), (3.5, 5.5)),
    ),
    Process(
        "accuracy of b",
        "accuracy of b",
        halves((3.5, 5.5), (6, 6)),
        halves((3.5, 5.5), (6, 6.8)),
    ),
    Process("gap", "gap", halves((6, 8), (4.5, 6.5)), halves((6, 7.5), (4.5, 7))),
    Process(
        "gap turned round",
        "gap, the other group ahead",
        halves((6, 7), (4.5, 8.5)),
        halves((6, 7), (4.5, 7.5)),
    ),
    Process(
        "all at once",
        "everything",
        halves((6, 6), (4.5, 4.5)),
        halves((6, 7), (4.5, 7)),
    ),
    Process(
        "near-identical",
        "accuracy of a; the candidate differs on 1% of a's rows",
        barely_different(0.395, (6, 6), (3.5, 5.5)),
        barely_different(0.395, (6, 6.08), (3.5, 5.5)),
        rows=4_000,
    ),
    Process(
        "near-identical, all",
        "everything; the candidate differs on 1% of all rows",
        halves((6, 6), (4.5, 4.5), both=0.395),
        halves((6, 6.05), (4.5, 4.6), both=0.395),
        rows=4_000,
    ),
    Process(
        "nearly fair",
        "gap, to be cut by 90%",
        halves((6, 7.5), (4.5, 7.35)),
        halves((6, 7.5), (4.5, 7.5)),
        rows=4_000,
        delta_fairness=0.9,
    ),
    Process(
        "tiny group, accuracy",
        "accuracy of b, about 45 selected",
        small(0.056, (2.5, 6), (6, 6)),
        small(0.056, (2.5, 6), (6, 7.5)),
        rows=2_000,
    ),
    Process(
        "tiny group, gap",
        "gap; about 45 of b selected",
        small(0.056, (1.5, 6.5), (3, 8)),
        small(0.056, (1.5, 6.5), (3, 7)),
        rows=2_000,
    ),
    TiedProcess(
        "heavy ties",
        "accuracy of a",
        halves((6, 6), (3.5, 5.5)),
        halves((6, 6.8), (3.5, 5.5)),
    ),
    TiedProcess(
        "heavy ties, strict",
        "accuracy of a",
        halves((6, 6), (3.5, 5.5)),
        halves((6, 6.8), (3.5, 5.5)),
        ties="strict",
    ),
    ClusteredProcess(
        "clustered rows",
        "accuracy of a; 200 clusters",
        halves((6, 6), (3, 5.5)),
        halves((6, 7), (3, 5.5)),
        rows=2_000,
    ),
    WeightedProcess(
        "weighted rows",
        "accuracy of a",
        halves((6, 6), (3.5, 5.5)),
        halves((6, 6.8), (3.5, 5.5)),
    ),
    Process(
        "three groups, accuracy",
        "accuracy of the middle one",
        thirds((6, 7.2), (5.5, 5.5), (2.5, 5.5)),
        thirds((6, 7.2), (5.5, 6.4), (2.5, 5.5)),
        rows=2_000,
    ),
    Process(
        "three groups, gap",
        "gap, as wide between another pair",
        thirds((6, 8), (5, 6.25), (4.25, 7.25)),
        thirds((6, 7.5), (5, 6.75), (4.25, 7)),
        rows=2_000,
    ),
)


def by_name(name: str) -> Process:
    return next(process for process in PROCESSES if process.name == name)


def tiny_group(selected: int, binds: str) -> Process:
    """A group in which about so many rows are selected by either algorithm, out of
    2,000 rows of all groups.
    """
    share = selected / 2_000 / 0.4
    null = (
        small(share, (2.5, 6), (6, 6))
        if binds == "accuracy"
        else small(share, (1.5, 6.5), (3, 8))
    )
    return Process(
        f"{selected} selected", f"{binds} of the tiny group", null, null, rows=2_000
    )


GAP_BEFORE = 1.41
"""The status quo's gap in the application: 6.54 for black patients, 5.13 for white
ones.
"""
APPLICATION_ROWS = 48_784
BLACK_SHARE = 5_582 / 48_784


def application(delta: float, turned: bool = False) -> dict[str, GroupTruth]:
    """The application, with a candidate whose gap is exactly (1 - delta) of the status
    quo's.

    Shares selected, how far the selections overlap, and means and spreads of outcomes
    are those of the public data (status quo: the hospital's score; candidate: a LASSO
    score; top 3% each). The better-off group under the candidate has a mean of 7.6
    conditions, as black patients in the paper's tables.

    Parameters
    ----------
    delta : float
        By which share the candidate's gap is smaller.
    turned : bool
        Whether white patients are ahead under the candidate.
    """
    low = 7.6 - (1 - delta) * GAP_BEFORE
    white, black = (7.6, low) if turned else (low, 7.6)
    spread = (3.4, 2.1, 2.9)
    return {
        "white": GroupTruth(
            1 - BLACK_SHARE, (5.13, white), (0.0271, 0.0242), 0.0103, 8.0, spread
        ),
        "black": GroupTruth(
            BLACK_SHARE, (6.54, black), (0.0526, 0.0756), 0.0340, 8.0, spread
        ),
    }


@dataclass(frozen=True)
class Scene:
    """Rows from which a selection rule must learn: outcomes, decisions and features,
    all 0/1 or continuous.

    The sign of x + y tells the outcome with probability `signal`; the status quo is
    right with probability `right`, or, where that is None, follows the sign of x + y
    itself. Accuracy is the classification rate.

    Attributes
    ----------
    name, words : str
    signal, right : mapping from group to float
    """

    name: str
    words: str
    signal: Mapping[str, float]
    right: Mapping[str, float | None]
    features: tuple[str, ...] = field(default=("x", "y", "z"))

    def draw(self, rng: np.random.Generator, rows: int) -> pl.DataFrame:
        group = rng.choice([*self.signal], rows)
        x, y, z = rng.normal(size=(3, rows))
        told = (x + y > 0).astype(np.int64)
        outcome = np.where(
            rng.random(rows) < np.array([self.signal[g] for g in group]), told, 1 - told
        )
        right = rng.random(rows) < np.array([self.right[g] or 0.0 for g in group])
        follows = np.array([self.right[g] is None for g in group])
        now = np.where(follows, told, np.where(right, outcome, 1 - outcome))
        size = np.where(follows, np.abs(x + y), np.abs(rng.normal(size=rows)))
        score = np.where(now == 1, size, -size)
        return pl.DataFrame(
            {"group": group, "outcome": outcome, "score": score, "x": x, "y": y, "z": z}
        )


OPTIMAL = Scene(
    "optimal",
    "the status quo is the best decision there is, for every group",
    {"a": 0.8, "b": 0.6},
    {"a": None, "b": None},
)
TIED = Scene(
    "tied",
    (
        "outcomes of a are coin tosses, so that every candidate is exactly as accurate "
        "for a as the status quo; b improves, and so does the gap"
    ),
    {"a": 0.5, "b": 0.65},
    {"a": 0.5, "b": 0.05},
)
IMPROVABLE = Scene(
    "improvable",
    "an improvement exists: from 0.60 and 0.40 to at most 0.85 for both groups",
    {"a": 0.85, "b": 0.85},
    {"a": 0.6, "b": 0.4},
)
