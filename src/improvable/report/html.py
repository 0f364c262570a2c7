"""A document as one HTML file that needs no network and runs no script: it reads on a
phone, in the dark, on paper and aloud.

The page carries its result as JSON, so that the page itself can be verified. Labels
from data are shown safely: what hides is shown by its number, and what runs from right
to left moves nothing beside it.
"""

import hashlib
import re
import unicodedata
from importlib.resources import files
from itertools import groupby

from markupsafe import Markup, escape

from improvable._text import shown
from improvable.report.blocks import Picture
from improvable.report.carried import embedded
from improvable.report.document import Document, make_document
from improvable.report.formats import Format
from improvable.report.labels import in_words, labeled
from improvable.report.plots.findings import dumbbells_of
from improvable.report.plots.style import COLORS, NARROW, WIDE, draw_svg
from improvable.report.text import ESTIMATE_HEADS, estimate_rows
from improvable.results import wording
from improvable.results.facts import Facts
from improvable.results.result import Result

LEFTWARD = ("R", "AL", "AN")
"""Classes of characters that run from right to left."""
MAX_DRAWN, MAX_ROWS = 40_000, 100
"""Characters of the picture, and rows of the table, in a notebook's cell."""
NO_PICTURE = "There are too many groups for the picture here: result.plot() draws it."


def isolated(text: str) -> Markup:
    """Escape a string for HTML, with right-to-left runs inside ``<bdi>``.

    Hebrew and Arabic labels are legitimate, but numbers and brackets beside them change
    their order unless the label is isolated.

    Examples
    --------
    >>> print(isolated("a < \u05d0\u05d1 3"))
    a &lt; <bdi>אב</bdi> 3
    """
    safe = shown(text)
    if safe.isascii():
        return escape(safe)
    by_direction = groupby(
        safe, lambda character: unicodedata.bidirectional(character) in LEFTWARD
    )
    runs = [(leftward, "".join(run)) for leftward, run in by_direction]
    bdi = Markup("<bdi>{}</bdi>")
    return Markup("").join(
        bdi.format(run) if leftward else escape(run) for leftward, run in runs
    )


def html_page(
    result: Result,
    command: str | None = None,
    runs: str | None = None,
    data: str | None = None,
) -> str:
    """The report of a result as a page, which carries the result itself."""
    return html_document(
        make_document(result, command, runs, data),
        embedded(result.facts, command, runs, data),
    )


def html_document(document: Document, carried: str = "") -> str:
    """A document as a page; `carried` is a part that is not shown."""
    templates = files("improvable.report") / "templates"
    style = (templates / "report.css").read_text(encoding="utf-8")
    return HTML.page(
        "report",
        title=escape(shown(document.title)),
        carried=Markup(carried),
        blocks=document.blocks,
        style=Markup(style),
    )


def notebook_html(facts: Facts) -> str:
    """The answer, the table, the picture of every group and the cautions, for a
    notebook's cell.
    """
    named = labeled(facts)
    firm = (
        wording.decision(named),
        wording.shortfall_words(named),
        wording.rerun_words(named),
    )
    caption, rows = estimate_rows(named, named)
    said = [
        " ".join(
            filter(None, (wording.plain_verdict(named), wording.at_most_words(named)))
        ),
        *(f"But: {text}" for text in named["verdict_warnings"]),
        " ".join(filter(None, firm)),
        *(wording.harm_words(gap, named) for gap in named["disparities"]),
        caption,
    ]
    picture = dumbbells_of(in_words(facts))
    drawn = "" if picture is None else _notebook_svg(picture)
    pictured = (
        ()
        if picture is None
        else (drawn, *picture.words)
        if len(drawn) < MAX_DRAWN
        else (NO_PICTURE,)
    )
    return HTML.page(
        "notebook",
        simulated=bool(named["about"].get("simulated")),
        answer=wording.answer_words(named),
        said=said,
        heads=ESTIMATE_HEADS,
        rows=rows,
        most=MAX_ROWS,
        pictured=pictured,
        limits=wording.limits(named),
        cautions=[
            text for text in named["warnings"] if text not in named["verdict_warnings"]
        ],
    )


def _notebook_svg(picture: Picture) -> Markup:
    """A picture on white, whatever the theme; no two pictures of a notebook have parts
    of the same name.
    """
    svg = draw_svg(picture.draw(WIDE) | {"background": "white"})
    svg = svg.replace("<svg", '<svg style="max-width:100%;height:auto"', 1)
    return _described(
        svg, picture, f"cell-{hashlib.sha256(svg.encode()).hexdigest()[:8]}"
    )


def _drawn(picture: Picture) -> Markup:
    """A picture twice, for a screen and for a phone: text in it must not shrink."""
    both = Markup("")
    for width, name in ((WIDE, "wide"), (NARROW, "narrow")):
        svg = draw_svg(picture.draw(width))
        for variable, color in COLORS.items():
            svg = svg.replace(color, f"var(--{variable})")
        both += _described(svg, picture, name)
    return both


def _described(svg: str, picture: Picture, name: str) -> Markup:
    """A picture with words for all of it, whose parts have names that no other picture
    has.
    """
    svg = re.sub(
        r'(id="|url\(#)((?:clip|gradient)\w+)',
        rf"\g<1>{picture.name}-{name}-\g<2>",
        svg,
    )
    # Its parts describe themselves to screen readers one by one; the words for all of
    # it are better.
    svg = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", svg)
    head = Markup('<svg class="{}" role="img" aria-label="{}"').format(
        name, shown(picture.alt)
    )
    # Vega escapes what it draws
    return head + Markup(svg.removeprefix("<svg").replace('class="marks"', "", 1))


HTML = Format("html", isolated, {"drawn": _drawn})
