"""A chart as a file: SVG, PNG, PDF, or a page that needs no network."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from improvable.data.files import write_whole
from improvable.errors import OptionError, nearest
from improvable.showing import shown_all

if TYPE_CHECKING:
    import altair as alt

Chart: TypeAlias = "alt.Chart | alt.LayerChart | alt.VConcatChart"

SUFFIXES = (".svg", ".png", ".pdf", ".html")


def save_chart(chart: "Chart", path: str | Path) -> None:
    """Write a chart to a file, in the format its name ends with; the HTML works with no network.

    Parameters
    ----------
    chart : altair chart
    path : str or path
        Ends with .svg, .png, .pdf or .html.
    """
    import vl_convert

    place, suffix = Path(path), Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise OptionError(f"'{place}' has no picture format.", nearest(suffix, SUFFIXES))
    if not place.resolve().parent.is_dir():
        raise OptionError(f"there is no folder for '{place}'.", "Create it first, or write elsewhere.")
    spec = drawable(chart)
    if suffix == ".svg":
        content = vl_convert.vegalite_to_svg(spec).encode()
    elif suffix == ".png":
        content = vl_convert.vegalite_to_png(spec, scale=2)
    elif suffix == ".pdf":
        content = vl_convert.vegalite_to_pdf(spec)
    else:
        content = _page(spec).encode()
    write_whole(place, content)


def drawable(chart: "Chart") -> str:
    """A chart as Vega-Lite, every text in it as it may be looked at; a raw one can break the drawing."""
    return json.dumps(shown_all(chart.to_dict(), lines=True))


def chart_svg(chart: "Chart") -> str:
    """A chart as the text of an SVG element."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(drawable(chart)))


def chart_png(chart: "Chart", scale: float = 3) -> bytes:
    """A chart as the content of a PNG file, on white."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(drawable(chart.properties(background="white")), scale=scale))


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>improvable</title><link rel="icon" href="data:,"></head>
<body><div id="chart"></div>
<script>{bundle}</script>
<script>vegaEmbed("#chart", {spec}, {{actions: false}});</script>
</body></html>
"""


def _page(spec: str) -> str:
    """A chart as a page that needs no network: the libraries are in it, and no text of the data can end a script."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;").replace("</script", "<\\/script")
    return _PAGE.format(bundle=bundle, spec=json.dumps(json.loads(spec)).replace("<", "\\u003c"))
