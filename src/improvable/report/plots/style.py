"""What every picture shares: colors, shapes, frame, and how it becomes a file.

Colors are those of Okabe and Ito, which color-blind readers can tell apart, and every
color comes with a shape, so that a picture printed in gray says the same.
"""

import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import update_wrapper
from pathlib import Path
from typing import Any, TypeAlias

import vl_convert

from improvable._text import shown_all
from improvable.data.io.safe import write_whole
from improvable.errors import OptionError, nearest
from improvable.question.options import check_folder
from improvable.report.blocks import Picture, Sentence
from improvable.report.labels import in_words
from improvable.results.facts import Facts
from improvable.results.frontier import Frontier
from improvable.results.result import Result

Spec: TypeAlias = dict[str, Any]
"""A picture, or a part of one, in the words of Vega-Lite."""
OKABE_ITO = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
)
SHAPES = ("circle", "square", "triangle-up", "diamond", "triangle-down", "cross")
ALGORITHM_NAMES = ("status quo", "candidate")
WIDTH = 420
FONT = "Helvetica Neue, Arial, Liberation Sans, sans-serif"
COLORS = {
    "ink": "#16202a",
    "soft": "#5b6773",
    "line": "#dfe4e9",
    "before": "#76838f",
    "after": "#0b6e8a",
    "both": "#3f5462",
    "region": "#cbe4ec",
    "limit": "#b34701",
    "page": "#fefefe",
}
"""Colors of the report's pictures: text, lesser text, grid, status quo, candidate,
both, what is shown, a threshold, the page. A page replaces each by its variable of that
name, so that a picture can be read on a dark screen."""
INK, SOFT, LINE, BEFORE, AFTER, BOTH, REGION, LIMIT, PAPER = COLORS.values()
WIDE, NARROW = 660, 340
"""Pixels that a picture has on a screen and on a phone."""
LINE_LETTERS = 110
"""Letters in a line over a picture that is `WIDE`."""
_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>improvable</title><link rel="icon" href="data:,"></head>
<body><div id="chart"></div>
<script>{bundle}</script>
<script>vegaEmbed("#chart", {spec}, {{actions: false}});</script>
</body></html>
"""  # noqa: E501


class Marks(Spec):
    """Rows of data under marks."""

    def mark(self, kind: str, where: str = "", **look: Any) -> "Marks":
        rows = {"transform": [{"filter": where}]} if where else {}
        return Marks(self | rows | {"mark": {"type": kind, **look}})

    def encode(self, **channels: Any) -> "Marks":
        """What a mark shows of a row: a string, such as "p:Q", is a field and the first
        letter of its type.
        """
        said = {
            name: one if isinstance(one, dict) else field(one)
            for name, one in channels.items()
        }
        return Marks(self | {"encoding": self.get("encoding", {}) | said})


def chart(rows: Sequence[Spec]) -> Marks:
    return Marks(data={"values": list(rows)})


def field(shorthand: str, **look: Any) -> Spec:
    name, _, kind = shorthand.partition(":")
    # without one, the far end of a bar
    types = {"Q": {"type": "quantitative"}, "N": {"type": "nominal"}, "": {}}
    return {"field": name, **types[kind], **look}


@dataclass(frozen=True)
class Chart:
    """A picture that stands alone: `save` writes it, and a notebook displays it.

    Attributes
    ----------
    spec : dict
        The picture in the words of Vega-Lite, with its data; strings are safe to
        display. `altair.Chart.from_dict(chart.spec)` makes it one that can be changed.
    """

    spec: Spec

    def save(self, path: str | Path) -> None:
        """Write the picture, in the format that the file's name ends with; the HTML
        needs no network.

        Parameters
        ----------
        path : str or path
            Ends with .svg, .png, .pdf or .html.
        """
        place = Path(path)
        suffix = place.suffix.lower()
        if suffix not in FORMATS:
            raise OptionError(
                f"'{place}' has no picture format.", nearest(suffix, FORMATS)
            )
        check_folder(place)
        write_whole(place, FORMATS[suffix](self.spec))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": draw_svg(self.spec), "text/plain": repr(self)}

    def __repr__(self) -> str:
        return f"Chart({self.spec['title']['text']!r})"


class Plot:
    """Decorates a function that makes a report's block of a picture. Called with a
    result, it draws a chart instead.

    The function makes a `Picture`; a sentence that says why there is nothing to draw;
    or None.
    """

    def __init__(
        self, picture: Callable[[Facts, Frontier], Picture | Sentence | None]
    ) -> None:
        self.picture = picture
        update_wrapper(self, picture)

    def __call__(self, result: Result) -> Any:
        """The picture as a chart that stands alone, with its title and how to read it;
        None where there is none.
        """
        made = self.picture(in_words(result.facts), result.frontier())
        if not isinstance(made, Picture):
            return None
        words = [
            line for text in made.words for line in textwrap.wrap(text, LINE_LETTERS)
        ]
        head = heading(
            made.title,
            words,
            fontWeight="bold",
            color=INK,
            subtitleColor=SOFT,
            offset=12,
        )
        spec = made.draw(WIDE) | {"title": head, "background": "white"}
        return Chart(shown_all(spec, lines=True))


def heading(title: str, words: Sequence[str], **look: Any) -> Spec:
    """The title of a picture, and how to read it."""
    usual = {
        "anchor": "start",
        "fontSize": 15,
        "limit": 900,
        "offset": 10,
        "subtitleFontSize": 12,
    }
    return {
        "text": title,
        **dict(sorted((usual | look | {"subtitle": list(words)}).items())),
    }


def series(
    name: str,
    names: Sequence[str],
    colors: Sequence[str],
    shapes: Sequence[str],
    **shared: Any,
) -> tuple[Spec, Spec]:
    """Series told apart by color and by shape, with one legend; colors and shapes begin
    again after the last one.
    """
    scales = [
        {
            "domain": list(names),
            "range": [values[j % len(values)] for j in range(len(names))],
        }
        for values in (colors, shapes)
    ]
    color, shape = (
        field(f"{name}:N", scale=scale, sort=list(names), **shared) for scale in scales
    )
    return color, shape


def room_for(names: Sequence[str], most: int = 190) -> int:
    """Pixels that the labels of an axis need, at most `most`; longer labels are cut
    off.
    """
    return min(
        most,
        14 + max(int(6.9 * len(line)) for name in names for line in name.split("\n")),
    )


def plain_style(chart: Spec) -> Spec:
    """The look of the report's pictures: no frame, few lines, text in two shades."""
    axis = {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": SOFT,
        "gridColor": LINE,
        "domain": False,
        "ticks": False,
        "labelPadding": 6,
        "labelLineHeight": 15,
    }
    title = {
        "anchor": "start",
        "fontSize": 13,
        "fontWeight": "normal",
        "color": SOFT,
        "offset": 6,
        "limit": 640,
    }
    legend = {
        "labelFontSize": 13,
        "labelColor": INK,
        "labelLimit": 320,
        "padding": 0,
        "offset": 8,
    }
    look = {
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "legend": legend,
        "title": title,
    }
    return chart | {"config": look, "background": "transparent"}


def make_figure(
    layers: Sequence[Spec], title: str, subtitle: Sequence[str], width: int, height: int
) -> Chart:
    """Layers in the look of the paper's figures, with a title."""
    head = heading(title, subtitle)
    return make_chart(
        {"layer": layers, "title": head, "width": width, "height": height}
    )


def make_chart(spec: Spec) -> Chart:
    """A chart in the look of the paper's figures."""
    axis = {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "labelLimit": 320,
        "titleLimit": 600,
    }
    legend = {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 320}
    look = {"view": {"stroke": "#cccccc"}, "axis": axis, "legend": legend}
    return Chart(shown_all(spec | {"config": look}, lines=True))


def write_spec(spec: Spec) -> str:
    """A picture as Vega-Lite's JSON, every string made safe to display: a raw one can
    break the drawing.
    """
    return json.dumps(shown_all(spec, lines=True))


def draw_svg(spec: Spec) -> str:
    """A picture as the text of an SVG element."""
    return str(vl_convert.vegalite_to_svg(write_spec(spec)))


def draw_png(spec: Spec, scale: float = 3) -> bytes:
    """A picture as the content of a PNG file, on white."""
    white = write_spec(spec | {"background": "white"})
    return bytes(vl_convert.vegalite_to_png(white, scale=scale))


def draw_pdf(spec: Spec) -> bytes:
    """A picture as the content of a PDF file."""
    return bytes(vl_convert.vegalite_to_pdf(write_spec(spec)))


def draw_page(spec: Spec) -> str:
    """A picture as a page with its libraries; no string from the data can end a
    script.
    """
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return _PAGE.format(
        bundle=bundle.replace("</script", "<\\/script"),
        spec=write_spec(spec).replace("<", "\\u003c"),
    )


FORMATS: dict[str, Callable[[Spec], bytes]] = {
    ".svg": lambda spec: draw_svg(spec).encode(),
    ".png": lambda spec: draw_png(spec, scale=2),
    ".pdf": draw_pdf,
    ".html": lambda spec: draw_page(spec).encode(),
}
"""What draws a picture into a file, by how the file's name ends."""
