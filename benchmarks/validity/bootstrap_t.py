"""Would a bootstrap-t do better? The same samples, tested by centered draws and by
studentized ones.

In a bootstrap-t every draw's deviation is divided by that draw's own standard error,
which follows from its influence values, and the statistic by the sample's.
"""

import numpy as np

from improvable._typing import FloatArray
from validity.hard import BOTH, HARD, ONLY_NEW, ONLY_NOW, Drawn, Hard, Make


def regular(rng: np.random.Generator) -> Drawn:
    """Normal outcomes, about 60 of a group selected by either algorithm."""
    group = rng.integers(0, 2, 300)
    kind = rng.choice(4, 300, p=[0.4, 0.2, 0.2, 0.2])
    return Drawn(group, kind, rng.normal(6, 3, 300))


def few(rng: np.random.Generator) -> Drawn:
    """Skewed counts, about 15 of a group selected by either algorithm."""
    group = rng.integers(0, 2, 75)
    kind = rng.choice(4, 75, p=[0.4, 0.2, 0.2, 0.2])
    return Drawn(group, kind, rng.poisson(rng.gamma(2.0, 3.0, 75)).astype(np.float64))


def reversed_tail(make: Make) -> Make:
    """The same rows with the algorithms exchanged: the tail is the candidate's."""

    def exchanged(rng: np.random.Generator) -> Drawn:
        drawn = make(rng)
        kind = np.select(
            [drawn.kind == ONLY_NOW, drawn.kind == ONLY_NEW],
            [ONLY_NEW, ONLY_NOW],
            drawn.kind,
        )
        return Drawn(drawn.group, kind, drawn.outcome)

    return exchanged


def _named(name: str) -> Hard:
    return next(one for one in HARD if one.name == name)


CASES = (
    Hard("regular, 60 selected", "b", 2, regular),
    Hard("counts, 15 selected", "b", 2, few),
    _named("skewed outcome, accuracy"),
    _named("skewed outcome, gap"),
    Hard(
        "skewed outcome of the candidate",
        "b",
        2,
        reversed_tail(_named("skewed outcome, accuracy").make),
    ),
    _named("rare outcome, 100 more rows"),
)


def find(process: Hard, seed: tuple[int, int], draws: int = 400) -> dict[str, float]:
    """p-values of the binding component, centered and studentized."""
    rng = np.random.default_rng(seed)
    drawn = process.make(rng)
    chosen = np.stack(
        [(drawn.kind == BOTH) | (drawn.kind == one) for one in (ONLY_NOW, ONLY_NEW)],
        axis=1,
    )
    load = chosen.astype(np.float64)
    times = np.concatenate(
        [
            np.ones((1, len(load))),
            rng.multinomial(len(load), np.full(len(load), 1 / len(load)), draws),
        ]
    )
    groups = (0, 1) if process.binds == "gap" else ("ab".index(process.binds),)
    value, variance = np.zeros(len(times)), np.zeros(len(times))
    for g in groups:
        # U1 - U0 of group b; where the gap binds, minus that of group a
        mine = drawn.group == g
        change, spread = _changes(times[:, mine], load[mine], drawn.outcome[mine])
        value += -change if process.binds == "gap" and g == 0 else change
        variance += spread
    statistic = value
    error = np.sqrt(variance)
    moved = statistic[1:] - statistic[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        studentized = moved / error[1:] >= statistic[0] / error[0]
    undefined = ~np.isfinite(moved)
    return {
        "centered": float(np.mean((moved >= statistic[0]) | undefined)),
        "studentized": float(np.mean(studentized | undefined | (error[1:] == 0))),
    }


def _changes(
    times: FloatArray, load: FloatArray, outcome: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """U1 - U0 in every draw, and its variance: the sum of squared influence values,
    from moments; (draws,) each.
    """
    both = load.prod(axis=1)
    powers = outcome[:, None] ** np.arange(3)
    with np.errstate(divide="ignore", invalid="ignore"):
        zeroth, first, second = (times @ (load * powers[:, [k]]) for k in range(3))
        shared = times @ (both[:, None] * powers)
        u = first / zeroth
        own = ((second - 2 * u * first + u**2 * zeroth) / zeroth**2).sum(axis=1)
        common = (
            shared[:, 2] - u.sum(axis=1) * shared[:, 1] + u.prod(axis=1) * shared[:, 0]
        )
        variance = own - 2 * common / zeroth.prod(axis=1)
    return u[:, 1] - u[:, 0], np.maximum(variance, 0.0)
