"""The game of Section 5: how often a true null is rejected, against how often the procedure is secretly repeated."""

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from improvable.report.plots.style import OKABE_ITO, SHAPES, WIDTH, chart, finished

if TYPE_CHECKING:
    import altair as alt

CURVE_POINTS = 120
LONGEST_LINEAR = 200


class Response(Protocol):
    """What the analyst does under one procedure."""

    @property
    def repetitions(self) -> int: ...
    @property
    def rejection(self) -> float: ...


class SolvedGame(Protocol):
    """What a picture of the game needs of it; `improvable.studies.game.game.play` returns one."""

    @property
    def alpha(self) -> float: ...
    @property
    def splits(self) -> int: ...
    @property
    def mixing(self) -> Any: ...
    @property
    def single(self) -> Response: ...
    @property
    def repeated(self) -> Response: ...
    @property
    def more_robust(self) -> str | None: ...
    def rejection(self, repetitions: Any, procedure: str) -> Any: ...


def repetitions(solved: SolvedGame) -> "alt.LayerChart":
    """Probability of rejecting a true null against repetitions, for both procedures, with the analyst's choices.

    Parameters
    ----------
    solved : Game
        As `improvable.studies.game.game.play` returns it.
    """
    import altair as alt

    responses = [solved.single, solved.repeated]
    names = [
        f"{what}: {_times(response.repetitions)}, {_percent(response.rejection)} false rejections"
        for what, response in zip(("one split", f"median of {solved.splits} splits"), responses, strict=True)
    ]
    most = max(10, *(int(1.3 * response.repetitions) for response in responses))
    times = _repetitions(most)
    curves, marks = [], []
    for name, response, procedure in zip(names, responses, ("s1", "s2"), strict=True):
        chances = solved.rejection(times, procedure)
        curves += [{"m": m, "p": p, "procedure": name} for m, p in zip(times.tolist(), chances.tolist(), strict=True)]
        marks.append({"m": response.repetitions, "p": response.rejection, "procedure": name})
    scale, axis = _across(most)
    x = alt.X("m:Q", title="secret repetitions", scale=scale, axis=axis)
    y = alt.Y(
        "p:Q",
        title="probability that a true null is rejected",
        scale=alt.Scale(domain=[0, 1]),
        axis=alt.Axis(format=".0%", tickCount=5),
    )
    legend = alt.Legend(
        orient="bottom", direction="vertical", symbolSize=150, symbolStrokeWidth=0, labelLimit=WIDTH + 100
    )
    shared: dict[str, Any] = {"sort": names, "title": None, "legend": legend}
    colour = alt.Color("procedure:N", scale=alt.Scale(domain=names, range=list(OKABE_ITO[:2])), **shared)
    shape = alt.Shape("procedure:N", scale=alt.Scale(domain=names, range=list(SHAPES[:2])), **shared)
    dash = alt.StrokeDash("procedure:N", scale=alt.Scale(domain=names, range=[[1, 0], [7, 4]]), legend=None)
    lines = chart(curves).mark_line(strokeWidth=2.2).encode(x=x, y=y, color=colour, strokeDash=dash)
    points = chart(marks).mark_point(size=150, filled=True, opacity=1).encode(x=x, y=y, color=colour, shape=shape)
    level = chart([{"p": solved.alpha}]).mark_rule(strokeDash=[2, 3], color="#444444", strokeWidth=1.5).encode(y="p:Q")
    subtitle = [
        f"Dotted: {_percent(solved.alpha)}, what the test promises. Marked: what pays the analyst best.",
        f"p-values of one data set: {solved.mixing.name}.",
    ]
    return finished([level, lines, points], _title(solved), subtitle, WIDTH + 100, 280)


def _title(solved: SolvedGame) -> str:
    if solved.more_robust is None:
        return "Both procedures are equally robust to secret repetition"
    robust = "The median of splits" if solved.more_robust == "s2" else "One split"
    return f"{robust} is more robust to secret repetition"


def _repetitions(most: int) -> Any:
    if most <= LONGEST_LINEAR:
        return np.arange(most + 1)
    return np.unique(np.concatenate([np.arange(20), np.geomspace(20, most, CURVE_POINTS).astype(np.int64)]))


def _across(most: int) -> tuple[Any, Any]:
    """The axis of repetitions: plain where they are few, else by powers of ten that begin at none."""
    import altair as alt

    if most <= LONGEST_LINEAR:
        return alt.Scale(domain=[0, most], nice=False), alt.Axis(format=",d", tickMinStep=1)
    powers = [10**power for power in range(int(np.log10(most)) + 1)]
    scale = alt.Scale(type="symlog", constant=1, domain=[0, most], nice=False)
    return scale, alt.Axis(format=",d", values=[0, *powers])


def _times(repetitions: int) -> str:
    if repetitions == 0:
        return "no repetition pays"
    return "1 repetition pays best" if repetitions == 1 else f"{repetitions:,} repetitions pay best"


def _percent(chance: float) -> str:
    return f"{100 * chance:.3g}%"
