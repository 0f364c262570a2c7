"""The analyst's payoff u(m) = v(m) - c(m) against her attempts, as numbers and as a picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.studies.game.game import Game
from improvable.studies.game.increments import Cost
from improvable.studies.game.lemma import LemmaBounds

if TYPE_CHECKING:
    import altair as alt

POINTS = 150
FEWEST = 10
DEEPEST = 0.5  # how far below zero a payoff is drawn, as a share of the best one


def payoffs(solved: Game, cost: Cost, procedure: str, attempts: IntArray) -> FloatArray:
    """u(m) for each number of attempts of 's1' or 's2'.

    Examples
    --------
    >>> from improvable.studies.game.game import linear_costs, play
    >>> single, repeated = linear_costs(0.01, 7)
    >>> game = play(single, repeated)
    >>> float(payoffs(game, single, "s1", np.array([game.single.attempts]))[0]) == game.single.analyst
    True
    """
    return np.asarray(solved.rejection(attempts, procedure) - np.array([cost(int(m)) for m in attempts]))


def payoff_picture(solved: Game, costs: tuple[Cost, Cost], bounds: LemmaBounds) -> "alt.LayerChart":
    """u(m) of both procedures, with the analyst's choices and the lemma's m-bar."""
    from improvable.report.plots.payoff import payoff

    best = max(solved.single.attempts, solved.repeated.attempts)
    most = max(FEWEST, int(1.6 * best))
    most = max(most, bounds.m_bar + 1) if bounds.m_bar <= 3 * most else most
    times = np.unique(np.linspace(0, most, min(most + 1, POINTS)).astype(np.int64))
    deepest = -DEEPEST * max(solved.single.analyst, solved.repeated.analyst, 0.05)
    rows: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    both = (
        ("one repetition", "s1", solved.single),
        (f"median of {solved.repetitions} repetitions", "s2", solved.repeated),
    )
    for (what, procedure, response), cost in zip(both, costs, strict=True):
        name = f"{what}: best at m = {response.attempts:,}, payoff {response.analyst:.3g}"
        for m, u in zip(times.tolist(), payoffs(solved, cost, procedure, times).tolist(), strict=True):
            rows.append({"m": m, "u": u, "procedure": name})
            if u < deepest:  # concave: it only falls from here
                break
        marks.append({"m": response.attempts, "u": response.analyst, "procedure": name})
    rows.append({"m": most, "u": None, "procedure": rows[-1]["procedure"]})
    limit = bounds.m_bar if bounds.m_bar <= most else None
    line = "Dotted: m-bar of the lemma; the median is tried fewer times." if limit is not None else ""
    return payoff(
        rows,
        marks,
        title="What repeating in secret is worth to the analyst",
        subtitle=[
            f"Chance that a true null is rejected less the cost. {line}".strip(),
            f"p-values of one data set: {solved.mixing.name}.",
        ],
        limit=limit,
    )
