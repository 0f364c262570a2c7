"""Rows to plan from: assumed groups and rows of which they are true, and rows that a
rule can learn from.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable.studies.power import AssumedGroup

GROUPS = (
    AssumedGroup(
        "a", 0.4, rates=(0.2, 0.25), means=(3.2, 3.9), spread=1.5, overlap=0.5
    ),
    AssumedGroup(
        "b", 0.6, rates=(0.3, 0.25), means=(2.4, 3.6), spread=1.5, overlap=0.4
    ),
)


@dataclass(frozen=True)
class AlwaysNew:
    """A rule that learns nothing: its candidate is a column of decisions."""

    name: str = "always_new"

    def select(self, training: Any, status_quo: Any) -> str:
        return "new"


def assumed_rows(
    rows: int, rng: np.random.Generator, groups: tuple[AssumedGroup, ...] = GROUPS
) -> pl.DataFrame:
    """Rows of which `GROUPS` is true: who is selected by both, by one alone, by none,
    and their outcomes.
    """
    share = np.array([group.share for group in groups])
    code = rng.choice(len(groups), rows, p=share / share.sum())
    now, new, mean, spread = (np.zeros(rows) for _ in range(4))
    for g, group in enumerate(groups):
        both = group.overlap * group.rates[0]
        alone = group.rates[0] - both, group.rates[1] - both
        middle = sum(group.means) / 2
        levels = [middle] + [
            (group.rates[t] * group.means[t] - both * middle) / alone[t]
            for t in range(2)
        ]
        kind = rng.choice(4, rows, p=[both, *alone, 1 - both - sum(alone)])
        here = code == g
        now[here], new[here] = np.isin(kind, (0, 1))[here], np.isin(kind, (0, 2))[here]
        mean[here], spread[here] = (
            np.array([*levels, 0.0])[kind][here],
            group.spread or 0.0,
        )
    outcome = mean + spread * rng.standard_normal(rows)
    return pl.DataFrame(
        {
            "outcome": outcome,
            "group": [groups[c].name for c in code],
            "now": now,
            "new": new,
        }
    )


def needs(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    black = rng.random(rows) < 0.4
    need = rng.normal(0.2 * black, 1, rows)
    return pl.DataFrame(
        {
            "group": np.where(black, "b", "w"),
            "x1": need + rng.normal(0, 0.3, rows),
            "x2": rng.normal(0, 1, rows),
            "score": need - 1.0 * black + rng.normal(0, 1.6, rows),
            "outcome": rng.poisson(np.exp(0.5 * need + 0.2)).astype(float),
        }
    )


LEARNED: dict[str, Any] = {
    "outcome": "outcome",
    "group": "group",
    "status_quo": improvable.threshold("score", capacity=0.2),
    "rule": "linear",
    "features": ["x1", "x2"],
}
