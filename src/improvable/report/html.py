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
from importlib.resources import files
from itertools import groupby
from typing import Any

from markupsafe import Markup as PlainMarkup
from markupsafe import escape

from improvable._text import shown
from improvable.data.io.safe import ReceivedError, parse_json
from improvable.report import blocks
from improvable.report.blocks import Block, Table
from improvable.report.document import Document, make_document
from improvable.report.labels import in_words, labeled
from improvable.report.plots.findings import dumbbells_of
from improvable.report.plots.style import COLORS, NARROW, WIDE, chart_svg
from improvable.report.text import ESTIMATE_HEADS, estimate_rows
from improvable.results.facts import Facts
from improvable.results.result import Result
from improvable.results.wording import (
    answer_words,
    at_most_words,
    decision,
    harm_words,
    limits,
    plain_verdict,
    rerun_words,
    shortfall_words,
)

LEFTWARD = ("R", "AL", "AN")
"""Classes of characters that run from right to left."""
ELEMENT = "improvable-result"
SIMULATED = "SIMULATED DATA"
MAX_DRAWN, MAX_ROWS = 40_000, 100
"""Characters of the picture, and rows of the table, in a notebook's cell."""
NO_PICTURE = "There are too many groups for the picture here: result.plot() draws it."
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
    by_direction = groupby(safe, lambda character: unicodedata.bidirectional(character) in LEFTWARD)
    runs = [(leftward, "".join(run)) for leftward, run in by_direction]
    bdi = PlainMarkup("<bdi>{}</bdi>")
    return PlainMarkup("").join(bdi.format(run) if leftward else escape(run) for leftward, run in runs)


def html_page(result: Result, command: str | None = None, runs: str | None = None, data: str | None = None) -> str:
    """The report of a result as a page, which carries the result itself."""
    return html_document(make_document(result, command, runs, data), embedded(result.facts, command, runs, data))


def html_document(document: Document, carried: str = "") -> str:
    """A document as a page; `carried` is a part that is not shown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    room = Environment(
        loader=PackageLoader("improvable.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    templates = files("improvable.report") / "templates"
    script, style = (Markup((templates / name).read_text(encoding="utf-8")) for name in ("sliders.js", "report.css"))
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
    """The answer, the table, the picture of every group and the cautions, for a notebook's cell.

    It is read in any theme, and where scripts and style sheets are stripped, as GitHub does.
    """
    named = labeled(facts)
    but = [f"But: {text}" for text in named["verdict_warnings"]]
    firm = " ".join(filter(None, (decision(named), shortfall_words(named), rerun_words(named))))
    claim = " ".join(filter(None, (plain_verdict(named), at_most_words(named))))
    cell = _each("<p><b>{}</b></p>", [SIMULATED] * bool(named["about"].get("simulated")))
    cell += Markup('<p style="font-size:1.4em"><b>{}</b></p>').format(answer_words(named))
    cell += _each("<p>{}</p>", (claim, *but, firm, *(harm_words(gap, named) for gap in named["disparities"])))
    caption, rows = estimate_rows(named, named)
    cell += _each("<p>{}</p>", [caption]) + _notebook_table(rows)
    picture = dumbbells_of(in_words(facts))
    if picture is not None:
        drawn = _notebook_svg(picture)
        cell += _each("<p>{}</p>", (drawn, *picture.words) if len(drawn) < MAX_DRAWN else [NO_PICTURE])
    others = [text for text in named["warnings"] if text not in named["verdict_warnings"]]
    cell += Markup("<p><b>Cautions</b></p><ul>{}</ul>").format(_each("<li>{}</li>", others)) if others else ""
    return str(Markup('<div style="max-width:56em">{}<p>{}</p></div>').format(cell, limits(named)))


def _notebook_table(rows: list[list[str]]) -> Markup:
    heads, more = _each('<th scope="col">{}</th>', ESTIMATE_HEADS), len(rows) - MAX_ROWS
    first = '<tr><th scope="row" style="text-align:left">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>\n'
    body = _each(first, map(tuple, rows[:MAX_ROWS]))
    table = Markup(
        '<table style="margin-left:0"><thead><tr><td></td>{}</tr></thead>\n<tbody>{}</tbody></table>'
    ).format(heads, body)
    return table + _each("<p>{}</p>", [f"{more} more conditions: result.tidy() has all of them."] * (more > 0))


def _notebook_svg(picture: blocks.Picture) -> Markup:
    """A picture on white, whatever the theme; no two pictures of a notebook have parts of the same name."""
    svg = chart_svg(picture.draw(WIDE).properties(background="white"))
    svg = svg.replace("<svg", '<svg style="max-width:100%;height:auto"', 1)
    return _described(svg, picture, f"cell-{hashlib.sha256(svg.encode()).hexdigest()[:8]}")


def html_block(block: Block) -> Markup:
    """One block as HTML; all text in it is escaped."""
    match block:
        case blocks.Title():
            simulated = Markup(f'<p class="simulated">{SIMULATED}</p>') if block.simulated else ""
            facts = _each("<div><dt>{}</dt><dd>{}</dd></div>", block.facts)
            head = '<header><p class="kicker">{}</p><h1>{}</h1>{}<dl class="who">{}</dl></header>'
            return Markup(head).format(block.kicker, block.text, simulated, facts)
        case blocks.Answer():
            but = _each('<p class="firm but">But: {}</p>', block.beside)
            firm = _each('<p class="firm">{}</p>', block.firmness)
            return Markup(
                '<section class="answer {}" aria-label="The answer"><p class="word">{}</p><p class="claim">{}</p>{}{}'
                "</section>"
            ).format("yes" if block.shown else "no", block.word, block.claim, but, firm)
        case blocks.Tiles():
            tiles = []
            for tile in block.tiles:
                before = Markup('<span class="before">{}</span><span class="arrow">→</span>').format(tile.before)
                number = Markup('<p class="number">{}{}</p>').format(before if tile.before else "", tile.after)
                tiles.append((tile.title, number, tile.words))
            inner = _each('<div class="tile"><p class="name">{}</p>{}<p>{}</p></div>', tiles)
            return Markup('<section class="tiles" aria-label="The numbers in short">{}</section>').format(inner)
        case blocks.Heading():
            return Markup("<h{0}>{1}</h{0}>").format(block.level, block.text)
        case blocks.Sentence():
            return Markup('<p class="note">{}</p>' if block.tone == "note" else "<p>{}</p>").format(block.text)
        case blocks.Listing():
            return Markup("<ul>{}</ul>").format(_each("<li>{}</li>", block.items))
        case blocks.FactList():
            code = Markup("<code>{}</code>")
            pairs = [(name, code.format(words) if name == "Command" else words) for name, words in block.pairs]
            return Markup('<dl class="facts">{}</dl>').format(_each("<dt>{}</dt><dd>{}</dd>", pairs))
        case Table():
            # In a box of its own, which a keyboard can scroll where the table is wider than the page.
            note = _each('<p class="note">{}</p>', [block.note] * bool(block.note))
            box = '<div class="scroll" role="region" tabindex="0" aria-label="{}">{}</div>{}'
            return Markup(box).format(block.name.replace("-", " "), _table(block), note)
        case blocks.Picture():
            # Twice, for a screen and for a phone: text in it must not shrink.
            drawn = _svg(block, WIDE, "wide") + _svg(block, NARROW, "narrow")
            figure = '<figure id="{}"><h3>{}</h3><figcaption>{}</figcaption>{}</figure>'
            return Markup(figure).format(block.name, block.title, _each("<p>{}</p>", block.words), drawn)
        case blocks.Note():
            meaning = _each('<p class="note">{}</p>', [block.meaning] * bool(block.meaning))
            return Markup('<div class="caution"><p>{}</p>{}</div>').format(block.text, meaning)
        case blocks.Sliders():
            label = (
                '<label for="slide-{0}">{1} <output id="value-{0}"></output></label>'
                '<input type="range" id="slide-{0}" min="0" step="1">'
            )
            return Markup(
                '<section class="sliders"><h3>{}</h3>{}<p><span id="p-shown" role="status">needs JavaScript</span> '
                '(<span id="p-says"></span>)</p><p class="note">{}</p></section>\n'
                '<script type="application/json" id="curves">{}</script>'
            ).format(
                block.title,
                _each(label, [("a", block.accuracy), ("f", block.gap)]),
                block.words,
                Markup(script_json(block.curves)),
            )
        case blocks.Appendix():
            inner = Markup("").join(map(html_block, block.blocks))
            return Markup('<section id="appendix"><h2>{}</h2>\n{}</section>').format(block.title, inner)


def _table(table: Table) -> Markup:
    # Words are set flush left; the first column always is.
    left = [Markup(' class="words"' if c and table.holds_words(c) else "") for c in range(len(table.heads))]
    empty, head = Markup("<td></td>"), Markup('<th scope="col"{}>{}</th>')
    lines = Markup("")
    if table.spans:
        span = Markup('<th scope="colgroup" colspan="{}">{}</th>')
        titles = [span.format(width, text) if text else empty for text, width in table.spans]
        lines += Markup('<tr class="spans"><td></td>{}</tr>').format(Markup("").join(titles))
    heads = [head.format(left[c], text) if text else empty for c, text in enumerate(table.heads)]
    lines += Markup("<tr>{}</tr>").format(Markup("").join(heads))
    rows = []
    for r, (first, *cells) in enumerate(table.rows):
        closing = Markup(' class="closing"' if r >= len(table.rows) - table.closing else "")
        marked = [
            Markup("<td{}><b>{}</b></td>" if (r, c) in table.marked else "<td{}>{}</td>").format(left[c], cell)
            for c, cell in enumerate(cells, start=1)
        ]
        rows.append((closing, first, Markup("").join(marked)))
    body = _each('<tr{}><th scope="row">{}</th>{}</tr>\n', rows)
    return Markup('<table id="{}"><thead>{}</thead>\n<tbody>{}</tbody></table>').format(table.name, lines, body)


def _svg(picture: blocks.Picture, width: int, name: str) -> Markup:
    svg = chart_svg(picture.draw(width))
    for variable, color in COLORS.items():
        svg = svg.replace(color, f"var(--{variable})")
    return _described(svg, picture, name)


def _described(svg: str, picture: blocks.Picture, name: str) -> Markup:
    """A picture with words for all of it, whose parts have names that no other picture has."""
    svg = re.sub(r'(id="|url\(#)((?:clip|gradient)\w+)', rf"\g<1>{picture.name}-{name}-\g<2>", svg)
    # Its parts describe themselves to screen readers one by one; the words for all of it are better.
    svg = re.sub(r' (?:role|aria-[a-z]+)="[^"]*"', "", svg)
    head = Markup('<svg class="{}" role="img" aria-label="{}"').format(name, in_tag(picture.alt))
    return head + Markup(svg.removeprefix("<svg").replace('class="marks"', "", 1))  # Vega escapes what it draws


def _each(pattern: str, values: Iterable[str | tuple[str, ...]]) -> Markup:
    """The pattern filled with each value in turn, or with the several values of a tuple."""
    filled = (Markup(pattern).format(*(value if isinstance(value, tuple) else (value,))) for value in values)
    return Markup("").join(filled)


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
