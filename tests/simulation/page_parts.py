"""What pages of simulations are made of: shares with their Monte Carlo errors, and tables."""

from collections.abc import Sequence
from typing import Any

from simulation.levels import ALPHA, Rate

ERRORS = 3.0
Rows = list[dict[str, Any]]
Share = dict[str, Any]


def exceeds(one: Share) -> bool:
    return Rate(**one).exceeds(ALPHA, ERRORS)


def shown(one: Share, mark: bool = False) -> str:
    """A share with its Monte Carlo error; where `mark`, in bold if it is above the level beyond that error."""
    error = one["error"] or (ALPHA * (1 - ALPHA) / one["repetitions"]) ** 0.5
    text = f"{one['share']:.3f} ± {error:.3f}"
    return f"**{text}**" if mark and exceeds(one) else text


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *rows])


def times(shares: Sequence[Share]) -> str:
    """How many repetitions, smallest and largest."""
    counts = sorted({one["repetitions"] for one in shares})
    return " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
