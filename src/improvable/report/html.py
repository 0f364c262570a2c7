"""A document as one HTML file that needs no network: it reads on a phone, in the dark, on paper and aloud.

The page carries its result as JSON, so that the page itself can be verified. Labels from data are shown safely: what
hides is shown by its number, and what runs from right to left moves nothing beside it.
"""

import base64
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

from markupsafe import Markup as PlainMarkup
from markupsafe import escape

from improvable._text import shown
from improvable.data.io.safe import ReceivedError, parse_json
from improvable.report import blocks
from improvable.report.blocks import Block, Table, Tile
from improvable.report.document import Document, make_document
from improvable.report.labels import labeled
from improvable.report.plots.style import (
    AFTER,
    BEFORE,
    BOTH,
    INK,
    LIMIT,
    LINE,
    NARROW,
    PAPER,
    REGION,
    SOFT,
    WIDE,
    chart_svg,
)
from improvable.report.tables import paper_block
from improvable.results.facts import Facts
from improvable.results.wording import harm_words, limits, verdict

if TYPE_CHECKING:
    from improvable.results.result import Result

VARIABLES = {
    INK: "ink", SOFT: "soft", LINE: "line", BEFORE: "before", AFTER: "after", BOTH: "both", REGION: "region",
    LIMIT: "limit", PAPER: "page",
}  # fmt: skip
"""Colors of pictures, and the variables of the page that take their place."""
LEFTWARD = ("R", "AL", "AN")
ELEMENT = "improvable-result"
BEGIN, END = f'<script type="application/json" id="{ELEMENT}">', "</script>"


class Markup(PlainMarkup):
    """Markup whose `format` and `join` isolate the strings they put between tags. Inside a tag, use `in_tag`."""

    @classmethod
    def escape(cls, s: Any, /) -> "Markup":
        """As its base does, and isolated."""
        return cls(isolated(s)) if isinstance(s, str) else cls(escape(s))


def in_tag(text: str) -> PlainMarkup:
    """Escape a string for the value of an attribute."""
    return escape(shown(text))


def isolated(value: Any) -> Any:
    """Escape a string for HTML, with right-to-left runs inside ``<bdi>``; other values stay as they are.

    Hebrew and Arabic labels are legitimate, but numbers and brackets beside them change their order unless the label is
    isolated.

    Examples
    --------
    >>> print(isolated("a < \u05d0\u05d1 3"))
    a &lt; <bdi>אב</bdi> 3
    """
    if not isinstance(value, str) or isinstance(value, PlainMarkup):
        return value
    safe = shown(value)
    if safe.isascii():
        return escape(safe)
    runs = [(leftward, "".join(run)) for leftward, run in groupby(safe, _leftward)]
    bdi = PlainMarkup("<bdi>{}</bdi>")
    return PlainMarkup("").join(bdi.format(run) if leftward else escape(run) for leftward, run in runs)


def _leftward(character: str) -> bool:
    return unicodedata.bidirectional(character) in LEFTWARD


def html_page(result: "Result", command: str | None = None, runs: str | None = None, data: str | None = None) -> str:
    """The report of a result as a page, which carries the result itself."""
    return html_document(make_document(result, command, runs, data), embedded(result.facts, command, runs, data))


def html_document(document: Document, carried: str = "") -> str:
    """A document as a page; `carried` is a part that is not shown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    room = Environment(
        loader=PackageLoader("improvable.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    script, style = (Markup(_packaged(name)) for name in ("sliders.js", "report.css"))
    # By this name a content security policy knows the script: no other one may run in the page.
    digest = base64.b64encode(hashlib.sha256(str(script).encode()).digest()).decode()
    return room.get_template("report.html.j2").render(
        title=shown(document.title),
        carried=Markup(carried),
        parts=[html_block(block) for block in document.blocks],
        script=script,
        script_hash=f"sha256-{digest}",
        style=style,
    )


def notebook_html(facts: Facts) -> str:
    """The verdict and the paper's table, for a notebook's cell."""
    named = labeled(facts)
    spoken = [verdict(named), *(harm_words(gap, named) for gap in named["disparities"]), limits(named)]
    said = Markup("").join(Markup("<p>{}</p>").format(text) for text in (*spoken, *named["warnings"]))
    return str(Markup("<div>{}{}</div>").format(said, _table(paper_block(named))))


def html_block(block: Block) -> Markup:
    """One block as HTML; all text in it is escaped."""
    match block:
        case blocks.Title():
            return _title(block)
        case blocks.Answer():
            return _answer(block)
        case blocks.Tiles():
            inner = _joined(map(_tile, block.tiles))
            return Markup('<section class="tiles" aria-label="The numbers in short">{}</section>').format(inner)
        case blocks.Heading():
            return Markup("<h{0}>{1}</h{0}>").format(block.level, block.text)
        case blocks.Sentence():
            name = Markup(' class="note"') if block.tone == "note" else ""
            return Markup("<p{}>{}</p>").format(name, block.text)
        case blocks.Listing():
            return Markup("<ul>{}</ul>").format(_each("<li>{}</li>", block.items))
        case blocks.FactList():
            return Markup('<dl class="facts">{}</dl>').format(_joined(_fact(*pair) for pair in block.pairs))
        case Table():
            return _scrolling(block)
        case blocks.Picture():
            return _figure(block)
        case blocks.Note():
            meaning = Markup('<p class="note">{}</p>').format(block.meaning) if block.meaning else ""
            return Markup('<div class="caution"><p>{}</p>{}</div>').format(block.text, meaning)
        case blocks.Sliders():
            return _sliders(block)
        case blocks.Appendix():
            inner = _joined(html_block(one) for one in block.blocks)
            return Markup('<section id="appendix"><h2>{}</h2>\n{}</section>').format(block.title, inner)


def _title(block: blocks.Title) -> Markup:
    simulated = Markup('<p class="simulated">SIMULATED DATA</p>') if block.simulated else ""
    facts = _joined(Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(*pair) for pair in block.facts)
    return Markup(
        '<header><p class="kicker">{}</p><h1>{}</h1>{}<dl class="who">{}</dl></header>'
    ).format(block.kicker, block.text, simulated, facts)  # fmt: skip


def _answer(block: blocks.Answer) -> Markup:
    but = _each('<p class="firm but">But: {}</p>', block.beside)
    firm = _each('<p class="firm">{}</p>', block.firmness)
    return Markup(
        '<section class="answer {}" aria-label="The answer"><p class="word">{}</p><p class="claim">{}</p>{}{}</section>'
    ).format("yes" if block.shown else "no", block.word, block.claim, but, firm)


def _tile(tile: Tile) -> Markup:
    before = Markup('<span class="before">{}</span><span class="arrow">→</span>').format(tile.before)
    number = Markup('<p class="number">{}{}</p>').format(before if tile.before else "", tile.after)
    return Markup('<div class="tile"><p class="name">{}</p>{}<p>{}</p></div>').format(tile.title, number, tile.words)


def _fact(name: str, words: str) -> Markup:
    set_as_code = Markup("<code>{}</code>").format(words) if name == "Command" else words
    return Markup("<dt>{}</dt><dd>{}</dd>").format(name, set_as_code)


def _scrolling(table: Table) -> Markup:
    """A table in a box of its own, which a keyboard can scroll where the table is wider than the page."""
    note = Markup('<p class="note">{}</p>').format(table.note) if table.note else ""
    label = table.name.replace("-", " ")
    return Markup('<div class="scroll" role="region" tabindex="0" aria-label="{}">{}</div>{}').format(
        label, _table(table), note
    )


def _table(table: Table) -> Markup:
    lines = []
    if table.spans:
        titles = [
            Markup('<th scope="colgroup" colspan="{}">{}</th>').format(width, text) if text else Markup("<td></td>")
            for text, width in table.spans
        ]
        lines.append(Markup('<tr class="spans"><td></td>{}</tr>').format(_joined(titles)))
    heads = [
        Markup('<th scope="col"{}>{}</th>').format(_left(table, c), head) if head else Markup("<td></td>")
        for c, head in enumerate(table.heads)
    ]
    lines.append(Markup("<tr>{}</tr>").format(_joined(heads)))
    rows = [_row(table, r) for r in range(len(table.rows))]
    return Markup('<table id="{}"><thead>{}</thead>\n<tbody>{}</tbody></table>').format(
        table.name, _joined(lines), _joined(rows)
    )


def _row(table: Table, r: int) -> Markup:
    first, *cells = table.rows[r]
    name = Markup(' class="closing"') if r >= len(table.rows) - table.closing else ""
    shown = [
        Markup("<td{}><b>{}</b></td>" if (r, c) in table.marked else "<td{}>{}</td>").format(_left(table, c), cell)
        for c, cell in enumerate(cells, start=1)
    ]
    return Markup('<tr{}><th scope="row">{}</th>{}</tr>\n').format(name, first, _joined(shown))


def _left(table: Table, column: int) -> Markup:
    """Words are set flush left; the first column always is."""
    return Markup(' class="words"') if column and table.holds_words(column) else Markup("")


def _figure(picture: blocks.Picture) -> Markup:
    """A picture twice, for a screen and for a phone: text in it must not shrink."""
    drawn = _joined(_svg(picture, width, name) for width, name in ((WIDE, "wide"), (NARROW, "narrow")))
    words = _each("<p>{}</p>", picture.words)
    return Markup('<figure id="{}"><h3>{}</h3><figcaption>{}</figcaption>{}</figure>').format(
        picture.name, picture.title, words, drawn
    )


def _svg(picture: blocks.Picture, width: int, name: str) -> Markup:
    svg = chart_svg(picture.draw(width))
    for color, variable in VARIABLES.items():
        svg = svg.replace(color, f"var(--{variable})")
    svg = re.sub(r'(id="|url\(#)((?:clip|gradient)\w+)', rf"\g<1>{picture.name}-{name}-\g<2>", svg)
    # Its parts describe themselves to screen readers one by one; the words for all of it are better.
    svg = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", svg)
    head = Markup('<svg class="{}" role="img" aria-label="{}"').format(name, in_tag(picture.alt))
    return head + Markup(svg.removeprefix("<svg").replace('class="marks"', "", 1))  # Vega escapes what it draws


def _sliders(block: blocks.Sliders) -> Markup:
    label = (
        '<label for="slide-{0}">{1} <output id="value-{0}"></output></label>'
        '<input type="range" id="slide-{0}" min="0" step="1">'
    )
    ranges = [Markup(label).format(name, words) for words, name in ((block.accuracy, "a"), (block.gap, "f"))]
    return Markup(
        '<section class="sliders"><h3>{}</h3>{}<p><span id="p-shown" role="status">needs JavaScript</span> '
        '(<span id="p-says"></span>)</p><p class="note">{}</p></section>\n'
        '<script type="application/json" id="curves">{}</script>'
    ).format(block.title, _joined(ranges), block.words, Markup(script_json(block.curves)))


def _each(pattern: str, texts: Iterable[str]) -> Markup:
    return _joined(Markup(pattern).format(text) for text in texts)


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


@cache
def _packaged(name: str) -> str:
    return (files("improvable.report") / "templates" / name).read_text(encoding="utf-8")


def script_json(plain: Any) -> str:
    """JSON that can stand inside a script element: no string in it can end the element or begin another."""
    text = json.dumps(plain, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def embedded(
    facts: Mapping[str, Any], command: str | None = None, runs: str | None = None, data: str | None = None
) -> str:
    """A script element, never run, with what a result says and with what the page says of how it was made."""
    return f"{BEGIN}{script_json({'result': facts, 'command': command, 'runs': runs, 'data': data})}{END}"


def read_embedded(page: str) -> dict[str, Any]:
    """What `embedded` put into a page: ``result``, ``command``, ``runs`` and ``data``.

    Raises
    ------
    ReceivedError
        Where there is none, or more than one: a reader could then be shown one and verify the other.
    """
    if len(re.findall(rf"id\s*=\s*[\"']?{ELEMENT}", page, re.IGNORECASE)) != 1 or page.count(BEGIN) != 1:
        raise ReceivedError("does not carry one result")
    text = page.split(BEGIN, 1)[1].split(END, 1)[0]
    plain = parse_json(text.encode())
    if not isinstance(plain, dict) or set(plain) != {"result", "command", "runs", "data"}:
        raise ReceivedError("does not carry a result")
    if not all(isinstance(plain[name], str | None) for name in ("command", "runs", "data")):
        raise ReceivedError("does not say in words how it was made")
    return plain
