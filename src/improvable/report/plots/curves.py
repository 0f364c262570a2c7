"""Curves: how often a test rejects, what secret attempts gain, what a monitor sees."""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from improvable._typing import IntArray
from improvable.procedure.monitor import Monitoring
from improvable.report.plots import style
from improvable.report.plots.style import (
    OKABE_ITO,
    SHAPES,
    chart,
    field,
    series,
)

DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [1, 3], [10, 4])
GAME_DASHES = [[1, 0], [7, 4], [2, 2], [9, 3, 2, 3]]
MAX_LINEAR = 200
"""More attempts need a log scale."""
CURVE_POINTS, WEALTH_POINTS = 120, 300


def power_curves(
    rows: Sequence[dict[str, Any]],
    *,
    x_title: str,
    title: str,
    subtitle: Sequence[str],
    level: float,
    marks: Sequence[float] = (),
) -> style.Chart:
    """One line per series, with a band of two Monte Carlo errors, and the level.

    Parameters
    ----------
    rows : sequence of dict
        Each with "x", "series", "power" and "error"; series of one "variant" have the
        same dashes.
    x_title, title : str
    subtitle : sequence of str
    level : float
        Drawn as a dashed line.
    marks : sequence of float
        Values of x worth a vertical line.
    """
    values = []
    for row in rows:
        low, high = (
            max(0.0, row["power"] - 2 * row["error"]),
            min(1.0, row["power"] + 2 * row["error"]),
        )
        values.append(
            {
                **row,
                "variant": row.get("variant", row["series"]),
                "low": low,
                "high": high,
            }
        )
    variants = list(dict.fromkeys(row["variant"] for row in values))
    dashes = [DASHES[j % len(DASHES)] for j in range(len(variants))]
    x = field("x:Q", title=x_title, scale={"zero": False, "nice": False})
    y = field("power:Q", title="share of rejections", scale={"domain": [0, 1]})
    names = list(dict.fromkeys(row["series"] for row in values))
    legend = {"symbolOpacity": 1}
    color, shape = series("series", names, OKABE_ITO, SHAPES, title=None, legend=legend)
    base = chart(values).encode(x=x, color=color, detail="variant:N")
    band = base.mark("area", opacity=0.15).encode(y=field("low:Q", title=""), y2="high")
    dash = field(
        "variant:N",
        sort=variants,
        title=None,
        scale={"domain": variants, "range": dashes},
    )
    line = base.mark("line", strokeWidth=2).encode(y=y, strokeDash=dash)
    points = base.mark("point", filled=True, size=35, opacity=1).encode(
        y=y, shape=shape
    )
    rule = (
        chart([{"power": level}])
        .mark("rule", strokeDash=[6, 3], color="#444444")
        .encode(y=y)
    )
    verticals = (
        chart([{"x": mark} for mark in marks])
        .mark("rule", strokeDash=[2, 3], color="#444444")
        .encode(x=x)
    )
    notes = [*subtitle, f"Dashed: the level, {level:g}. Bands: two Monte Carlo errors."]
    return style.make_figure(
        [band, rule, verticals, line, points], title, notes, 480, 320
    )


def attempts(games: Mapping[str, Any]) -> style.Chart:
    """Probability of rejecting a true null against attempts, one line per procedure,
    with the analyst's choices.

    Parameters
    ----------
    games : mapping from scheme to Game
        As `improvable.studies.game.play` returns them, all for one level.
    """
    curves, marks = points(games)
    names = [mark["procedure"] for mark in marks]
    level = next(iter(games.values())).alpha
    most = max(point["m"] for point in curves)
    scale, axis = (
        {"domain": [0, most], "nice": False},
        {"format": ",d", "tickMinStep": 1},
    )
    if most > MAX_LINEAR:  # powers of ten, which begin at none
        powers = [10**power for power in range(int(np.log10(most)) + 1)]
        scale = {"type": "symlog", "constant": 1, "domain": [0, most], "nice": False}
        axis = {"format": ",d", "values": [0, *powers]}
    x = field("m:Q", title="secret attempts", scale=scale, axis=axis)
    percent = {"format": ".0%", "tickCount": 5}
    y = field(
        "p:Q",
        title="probability that a true null is rejected",
        scale={"domain": [0, 1]},
        axis=percent,
    )
    look = {"symbolSize": 150, "symbolStrokeWidth": 0, "labelLimit": style.WIDTH + 100}
    legend = {"orient": "bottom", "direction": "vertical", **look}
    color, shape = series(
        "procedure", names, OKABE_ITO, SHAPES, title=None, legend=legend
    )
    dash = field(
        "procedure:N",
        scale={"domain": names, "range": GAME_DASHES[: len(names)]},
        legend=None,
    )
    lines = (
        chart(curves)
        .mark("line", strokeWidth=2.2)
        .encode(x=x, y=y, color=color, strokeDash=dash)
    )
    best = (
        chart(marks)
        .mark("point", size=150, filled=True, opacity=1)
        .encode(x=x, y=y, color=color, shape=shape)
    )
    rule = (
        chart([{"p": level}])
        .mark("rule", strokeDash=[2, 3], color="#444444", strokeWidth=1.5)
        .encode(y="p:Q")
    )
    mixings = "; ".join(
        f"{scheme}, {game.mixing.name}" for scheme, game in games.items()
    )
    subtitle = [
        (
            f"Dotted: {_percent(level)}, what the test promises. Marked: what pays the "
            "analyst best."
        ),
        f"p-values of one data set: {mixings}.",
    ]
    return style.make_figure(
        [rule, lines, best], _title(games), subtitle, style.WIDTH + 100, 280
    )


def points(
    games: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The points of the curves, and the analyst's choice on each."""
    every = [
        (scheme, game, procedure)
        for scheme, game in games.items()
        for procedure in ("s1", "s2")
    ]
    most = max(
        10,
        *(int(1.3 * game.response(procedure).attempts) for _, game, procedure in every),
    )
    times: IntArray = np.arange(most + 1)
    if most > MAX_LINEAR:
        times = np.unique(
            np.concatenate(
                [np.arange(20), np.geomspace(20, most, CURVE_POINTS).astype(np.int64)]
            )
        )
    curves, marks = [], []
    for scheme, game, procedure in every:
        best = game.response(procedure)
        what = (
            "one repetition"
            if procedure == "s1"
            else f"lower median of {game.repetitions}"
        )
        many = f"{best.attempts:,} attempts pay best"
        pays = {0: "no attempt pays", 1: "1 attempt pays best"}.get(best.attempts, many)
        name = f"{scheme}, {what}: {pays}, {_percent(best.rejection)} false rejections"
        chances = game.rejection(times, procedure).tolist()
        curves += [
            {"m": m, "p": p, "procedure": name}
            for m, p in zip(times.tolist(), chances, strict=True)
        ]
        marks.append({"m": best.attempts, "p": best.rejection, "procedure": name})
    return curves, marks


def _title(games: Mapping[str, Any]) -> str:
    more_robust, *others = {game.more_robust for game in games.values()}
    if others:
        return "How robust procedures are to secret attempts"
    if more_robust is None:
        return "Both procedures are equally robust to secret attempts"
    robust = (
        "The lower median of repetitions" if more_robust == "s2" else "One repetition"
    )
    return f"{robust} is more robust to secret attempts"


def _percent(chance: float) -> str:
    return f"{100 * chance:.3g}%"


def wealth(found: Monitoring) -> style.Chart:
    """What bets against each condition have come to, over the rows that arrived;
    dotted, the wealth that shows it.
    """
    values, names, least, most = [], [*found.wealths], 0.01, 100 / found.alpha
    for name, one in found.wealths.items():
        rows, logs = (
            np.concatenate([[0], several]) for several in (one.rows, one.logs)
        )
        drawn = np.exp(np.clip(logs, np.log(least), np.log(most)))
        some = np.unique(
            np.linspace(0, len(rows) - 1, WEALTH_POINTS).astype(int)
        ).tolist()
        values += [
            {"row": int(rows[j]), "wealth": float(drawn[j]), "condition": name}
            for j in some
        ]
    x = field(
        "row:Q",
        title="rows that have arrived",
        scale={"domain": [0, found.rows], "nice": False},
    )
    axis = {"values": [0.01, 0.1, 1, 10, 100, 1000], "format": "~g"}
    y = field(
        "wealth:Q",
        title="wealth",
        scale={"type": "log", "domain": [least, most]},
        axis=axis,
    )
    legend = {
        "orient": "bottom",
        "direction": "vertical",
        "labelLimit": style.WIDE,
        "title": None,
    }
    color, dash = (
        field(
            "condition:N",
            sort=names,
            legend=legend,
            scale={"domain": names, "range": [*look] * len(names)},
        )
        for look in (OKABE_ITO, DASHES)
    )
    lines = (
        chart(values)
        .mark("line", interpolate="step-after")
        .encode(x=x, y=y, color=color, strokeDash=dash)
    )
    limit = (
        chart([{"wealth": 1 / found.alpha}])
        .mark("rule", strokeDash=[2, 3], color="#444444")
        .encode(y=y)
    )
    since = (
        "not shown so far"
        if found.shown_since is None
        else f"shown since row {found.shown_since:,}"
    )
    words = (
        f"{found.claim} A condition is shown once its line has been above "
        f"{1 / found.alpha:g} (dotted). "
    )
    words += f"Wealth below {least:g} or above {most:g} is drawn at the edge."
    notes = wrap(words, style.LINE_LETTERS)
    return style.make_figure(
        [limit, lines],
        f"After {found.rows:,} rows: {since}",
        notes,
        style.WIDE - 60,
        260,
    )
