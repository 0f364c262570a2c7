"""The game as a picture: how often a true null is rejected under both procedures, and what pays the analyst best."""

from typing import TYPE_CHECKING

import numpy as np

from improvable.data.arrays import IntArray
from improvable.report.plots.attempts import LONGEST_LINEAR, Repeated, attempts
from improvable.studies.game.folded import FoldedGame
from improvable.studies.game.game import Game, Response, rejection_probability
from improvable.studies.game.mixing import Mixing

if TYPE_CHECKING:
    import altair as alt

CURVE_POINTS = 120


def picture(solved: Game, folded: FoldedGame | None = None) -> "alt.LayerChart":
    """Probability of rejecting a true null against attempts, for each procedure, with the analyst's choices.

    Parameters
    ----------
    solved : Game
        As `improvable.studies.game.game.play` returns it.
    folded : FoldedGame, optional
        As `improvable.studies.game.folded.play_folds` returns it.
    """
    curves, marks = points(solved, folded)
    subtitle = [
        f"Dotted: {_percent(solved.alpha)}, what the test promises. Marked: what pays the analyst best.",
        f"p-values of one data set: {solved.mixing.name}.",
    ]
    return attempts(curves, marks, title=_title(solved), subtitle=subtitle, level=solved.alpha)


def points(solved: Game, folded: FoldedGame | None = None) -> tuple[list[Repeated], list[Repeated]]:
    """The points of the curves, and the analyst's choice on each."""
    median = f"lower median of {solved.repetitions} repetitions"
    every: list[tuple[Response, str, int, Mixing, int | None]] = [
        (solved.single, "one repetition", 1, solved.mixing, None),
        (solved.repeated, median, solved.repetitions, solved.mixing, None),
    ]
    if folded is not None:
        what = f"lower median of {folded.repetitions} attempts in {folded.folds} folds"
        every.append((folded.response, what, folded.repetitions, folded.mixing, folded.folds))
    times = _repetitions(max(10, *(int(1.3 * response.attempts) for response, *_ in every)))
    curves: list[Repeated] = []
    marks: list[Repeated] = []
    for response, what, repetitions, mixing, folds in every:
        name = f"{what}: {_times(response.attempts)}, {_percent(response.rejection)} false rejections"
        chances = rejection_probability(times, alpha=solved.alpha, repetitions=repetitions, mixing=mixing, folds=folds)
        curves += [{"m": m, "p": p, "procedure": name} for m, p in zip(times.tolist(), chances.tolist(), strict=True)]
        marks.append({"m": response.attempts, "p": response.rejection, "procedure": name})
    return curves, marks


def _title(solved: Game) -> str:
    if solved.more_robust is None:
        return "Both procedures are equally robust to secret attempt"
    robust = "The lower median of repetitions" if solved.more_robust == "s2" else "One repetition"
    return f"{robust} is more robust to secret attempt"


def _repetitions(most: int) -> IntArray:
    if most <= LONGEST_LINEAR:
        return np.arange(most + 1)
    return np.unique(np.concatenate([np.arange(20), np.geomspace(20, most, CURVE_POINTS).astype(np.int64)]))


def _times(attempts: int) -> str:
    if attempts == 0:
        return "no attempt pays"
    return "1 attempt pays best" if attempts == 1 else f"{attempts:,} attempts pay best"


def _percent(chance: float) -> str:
    return f"{100 * chance:.3g}%"
