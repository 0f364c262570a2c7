"""The game as a picture: how often a true null is rejected under each procedure, and what pays the analyst best."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from improvable.data.arrays import IntArray
from improvable.report.plots.attempts import LONGEST_LINEAR, Repeated, attempts
from improvable.studies.game.game import PROCEDURES, Game

if TYPE_CHECKING:
    import altair as alt

CURVE_POINTS = 120


def picture(games: Mapping[str, Game]) -> "alt.LayerChart":
    """Probability of rejecting a true null against attempts, for each procedure, with the analyst's choices.

    Parameters
    ----------
    games : mapping from scheme to Game
        As `improvable.studies.game.game.play` returns them, all for one level.
    """
    alpha = next(iter(games.values())).alpha
    curves, marks = points(games)
    subtitle = [
        f"Dotted: {_percent(alpha)}, what the test promises. Marked: what pays the analyst best.",
        "p-values of one data set: "
        + "; ".join(f"{scheme}, {game.mixing.name}" for scheme, game in games.items())
        + ".",
    ]
    return attempts(curves, marks, title=_title(games), subtitle=subtitle, level=alpha)


def points(games: Mapping[str, Game]) -> tuple[list[Repeated], list[Repeated]]:
    """The points of the curves, and the analyst's choice on each."""
    every = [(scheme, game, procedure) for scheme, game in games.items() for procedure in PROCEDURES]
    times = _times(max(10, *(int(1.3 * game.response(procedure).attempts) for _, game, procedure in every)))
    curves: list[Repeated] = []
    marks: list[Repeated] = []
    for scheme, game, procedure in every:
        response = game.response(procedure)
        what = "one repetition" if procedure == "s1" else f"lower median of {game.repetitions}"
        best, rejected = _best(response.attempts), _percent(response.rejection)
        name = f"{scheme}, {what}: {best}, {rejected} false rejections"
        chances = game.rejection(times, procedure)
        curves += [{"m": m, "p": p, "procedure": name} for m, p in zip(times.tolist(), chances.tolist(), strict=True)]
        marks.append({"m": response.attempts, "p": response.rejection, "procedure": name})
    return curves, marks


def _title(games: Mapping[str, Game]) -> str:
    more_robust, *others = {game.more_robust for game in games.values()}
    if others:
        return "How robust procedures are to secret attempts"
    if more_robust is None:
        return "Both procedures are equally robust to secret attempts"
    robust = "The lower median of repetitions" if more_robust == "s2" else "One repetition"
    return f"{robust} is more robust to secret attempts"


def _times(most: int) -> IntArray:
    if most <= LONGEST_LINEAR:
        return np.arange(most + 1)
    return np.unique(np.concatenate([np.arange(20), np.geomspace(20, most, CURVE_POINTS).astype(np.int64)]))


def _best(attempts: int) -> str:
    if attempts == 0:
        return "no attempt pays"
    return "1 attempt pays best" if attempts == 1 else f"{attempts:,} attempts pay best"


def _percent(chance: float) -> str:
    return f"{100 * chance:.3g}%"
