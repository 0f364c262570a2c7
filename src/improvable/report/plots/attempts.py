"""The game of Section 5: how often a true null is rejected, against how often the procedure is secretly repeated."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable._typing import IntArray
from improvable.report.plots.style import OKABE_ITO, SHAPES, WIDTH, chart, finished, series

if TYPE_CHECKING:
    import altair as alt

MAX_LINEAR = 200
CURVE_POINTS = 120
DASHES = [[1, 0], [7, 4], [2, 2], [9, 3, 2, 3]]


def attempts(games: Mapping[str, Any]) -> "alt.LayerChart":
    """Probability of rejecting a true null against attempts, one line per procedure, with the analyst's choices.

    Parameters
    ----------
    games : mapping from scheme to Game
        As `improvable.studies.game.play` returns them, all for one level.
    """
    import altair as alt

    curves, marks = points(games)
    names = [mark["procedure"] for mark in marks]
    level = next(iter(games.values())).alpha
    scale, axis = _across(max(point["m"] for point in curves))
    x = alt.X("m:Q", title="secret attempts", scale=scale, axis=axis)
    percent = alt.Axis(format=".0%", tickCount=5)
    y = alt.Y("p:Q", title="probability that a true null is rejected", scale=alt.Scale(domain=[0, 1]), axis=percent)
    legend = alt.Legend(
        orient="bottom", direction="vertical", symbolSize=150, symbolStrokeWidth=0, labelLimit=WIDTH + 100
    )
    color, shape = series("procedure", names, OKABE_ITO, SHAPES, title=None, legend=legend)
    dash = alt.StrokeDash("procedure:N", scale=alt.Scale(domain=names, range=DASHES[: len(names)]), legend=None)
    lines = chart(curves).mark_line(strokeWidth=2.2).encode(x=x, y=y, color=color, strokeDash=dash)
    best = chart(marks).mark_point(size=150, filled=True, opacity=1).encode(x=x, y=y, color=color, shape=shape)
    rule = chart([{"p": level}]).mark_rule(strokeDash=[2, 3], color="#444444", strokeWidth=1.5).encode(y="p:Q")
    mixings = "; ".join(f"{scheme}, {game.mixing.name}" for scheme, game in games.items())
    subtitle = [
        f"Dotted: {_percent(level)}, what the test promises. Marked: what pays the analyst best.",
        f"p-values of one data set: {mixings}.",
    ]
    return finished([rule, lines, best], _title(games), subtitle, WIDTH + 100, 280)


def points(games: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The points of the curves, and the analyst's choice on each."""
    every = [(scheme, game, procedure) for scheme, game in games.items() for procedure in ("s1", "s2")]
    times = _times(max(10, *(int(1.3 * game.response(procedure).attempts) for _, game, procedure in every)))
    curves, marks = [], []
    for scheme, game, procedure in every:
        best = game.response(procedure)
        what = "one repetition" if procedure == "s1" else f"lower median of {game.repetitions}"
        pays = {0: "no attempt pays", 1: "1 attempt pays best"}.get(
            best.attempts, f"{best.attempts:,} attempts pay best"
        )
        name = f"{scheme}, {what}: {pays}, {_percent(best.rejection)} false rejections"
        chances = game.rejection(times, procedure).tolist()
        curves += [{"m": m, "p": p, "procedure": name} for m, p in zip(times.tolist(), chances, strict=True)]
        marks.append({"m": best.attempts, "p": best.rejection, "procedure": name})
    return curves, marks


def _title(games: Mapping[str, Any]) -> str:
    more_robust, *others = {game.more_robust for game in games.values()}
    if others:
        return "How robust procedures are to secret attempts"
    if more_robust is None:
        return "Both procedures are equally robust to secret attempts"
    robust = "The lower median of repetitions" if more_robust == "s2" else "One repetition"
    return f"{robust} is more robust to secret attempts"


def _times(most: int) -> IntArray:
    if most <= MAX_LINEAR:
        return np.arange(most + 1)
    return np.unique(np.concatenate([np.arange(20), np.geomspace(20, most, CURVE_POINTS).astype(np.int64)]))


def _across(most: int) -> tuple[Any, Any]:
    """The axis of attempts: plain where they are few, else by powers of ten that begin at none."""
    import altair as alt

    if most <= MAX_LINEAR:
        return alt.Scale(domain=[0, most], nice=False), alt.Axis(format=",d", tickMinStep=1)
    powers = [10**power for power in range(int(np.log10(most)) + 1)]
    scale = alt.Scale(type="symlog", constant=1, domain=[0, most], nice=False)
    return scale, alt.Axis(format=",d", values=[0, *powers])


def _percent(chance: float) -> str:
    return f"{100 * chance:.3g}%"
