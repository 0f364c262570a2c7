"""What every picture shares: colors, shapes, frame.

Colors are those of Okabe and Ito, which color-blind readers can tell apart, and every color comes with a shape, so
that a picture printed in gray says the same.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
ALGORITHM_NAMES = ("status quo", "candidate")
WIDTH = 420


def finished(layers: Sequence[Any], title: str, subtitle: Sequence[str], width: int, height: int) -> "alt.LayerChart":
    import altair as alt

    head = alt.TitleParams(
        title, subtitle=list(subtitle), anchor="start", fontSize=15, subtitleFontSize=12, limit=900, offset=10
    )
    chart: alt.LayerChart = styled(alt.layer(*layers).properties(title=head, width=width, height=height))
    return chart


def styled(chart: Any) -> Any:
    axis = {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 320, "titleLimit": 600}
    framed = chart.configure_view(stroke="#cccccc").configure_axis(**axis)
    return framed.configure_legend(labelFontSize=12, titleFontSize=12, labelLimit=320)


def chart(rows: Sequence[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=list(rows)))


def algorithm_scales() -> "tuple[alt.Color, alt.Shape]":
    import altair as alt

    names = list(ALGORITHM_NAMES)
    return (
        alt.Color("algorithm:N", sort=names, title=None, scale=alt.Scale(domain=names, range=list(OKABE_ITO[:2]))),
        alt.Shape("algorithm:N", sort=names, title=None, scale=alt.Scale(domain=names, range=list(SHAPES[:2]))),
    )


def padded(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(values), max(values)
    room = 0.08 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room
