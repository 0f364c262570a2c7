"""A document as PDF, set by Typst. Only with the extra ``pdf`` can this module be imported."""

import typst

from improvable._text import shown
from improvable.report import blocks
from improvable.report.blocks import Block, Table, Tile, flat
from improvable.report.document import Document
from improvable.report.plots.style import WIDE, chart_svg

PREAMBLE = """#set document(title: {title}, date: none)
#set page(paper: "us-letter", margin: (x: 2.1cm, y: 2cm), numbering: "1 / 1", number-align: center)
#set text(font: ("Libertinus Serif",), size: 10.5pt, lang: "en")
#set par(leading: 0.6em, spacing: 0.85em)
#set table(stroke: none, inset: (x: 4pt, y: 3pt))
#show heading.where(level: 2): it => block(above: 1.6em, below: 0.7em, text(size: 14pt, it.body))
#show heading.where(level: 3): it => block(above: 1.3em, below: 0.6em, text(size: 11.5pt, it.body))
#let soft = rgb("#56626f")
#let line-color = rgb("#c9d1d8")
#let picture(path, alt) = context image(path, alt: alt, width: calc.min(measure(image(path)).width * 0.85, 16cm))
"""
MAX_COLUMNS = 9
"""A table with more columns is set smaller."""


def pdf_document(document: Document) -> bytes:
    files = {"main.typ": typst_source(document).encode()}
    for block in flat(document.blocks):
        if isinstance(block, blocks.Picture):
            files[f"{block.name}.svg"] = chart_svg(block.draw(WIDE)).encode()
    content = typst.compile(files, format="pdf")  # type: ignore[call-overload]  # its stubs lack several files
    if not isinstance(content, bytes):
        raise TypeError("Typst gave no single file.")
    return content


def typst_source(document: Document) -> str:
    """A document as Typst markup. Text from data stands in strings, which Typst does not read as markup."""
    parts = [part for block in flat(document.blocks) if (part := typst_block(block))]
    return PREAMBLE.format(title=quoted(document.title)) + "\n" + "\n\n".join(parts) + "\n"


def typst_block(block: Block) -> str:
    match block:
        case blocks.Title():
            orange = 'rgb("#b34701")'
            simulated = f'text(size: 20pt, weight: "bold", fill: {orange}, "SIMULATED DATA")'
            facts = " #h(1em) ".join(f"#strong({quoted(name)}) #{quoted(words)}" for name, words in block.facts)
            lines = [
                f"#par(text(size: 9pt, fill: soft, upper({quoted(block.kicker)})))",
                f"#heading(level: 1, {quoted(block.text)})",
                f"#block(stroke: 2pt + {orange}, inset: 6pt)[#{simulated}]" * block.simulated,
                f"#par[#text(size: 9.5pt)[{facts}]]",
            ]
            return "\n".join(filter(None, lines))
        case blocks.Answer():
            color, back = ("#0c6b44", "#e8f5ee") if block.shown else ("#8a4b00", "#fdf3e3")
            box = f'width: 100%, fill: rgb("{back}"), stroke: (left: 5pt + rgb("{color}")), inset: 12pt'
            lines = [
                f'#text(size: 20pt, weight: "bold", fill: rgb("{color}"), {quoted(block.word)})\n',
                f"#par(text(size: 13pt, {quoted(block.claim)}))",
                *(f"#par(strong({quoted('But: ' + text)}))" for text in block.beside),
                *(f"#par({quoted(text)})" for text in block.firmness),
            ]
            return f"#block({box})[" + "\n".join(lines) + "]"
        case blocks.Tiles():
            cells = ", ".join(_tile(tile) for tile in block.tiles)
            return f"#grid(columns: (1fr, 1fr, 1fr), gutter: 8pt, {cells})"
        case blocks.Heading():
            return f"#heading(level: {block.level}, {quoted(block.text)})"
        case blocks.Sentence():
            return _said(block.text, block.tone == "note")
        case blocks.Listing():
            return f"#list({', '.join(map(quoted, block.items))})" if block.items else ""
        case blocks.FactList():
            cells = ", ".join(f"text(fill: soft, {quoted(name)}), {quoted(words)}" for name, words in block.pairs)
            return f"#grid(columns: (3.4cm, 1fr), gutter: 6pt, {cells})"
        case Table():
            return "\n".join(filter(None, (_table(block), _said(block.note, True))))
        case blocks.Picture():
            words = "\n".join(_said(text, True) for text in block.words)
            image = f"#picture({quoted(block.name + '.svg')}, {quoted(block.alt)})"
            return f"#block(breakable: false)[\n#heading(level: 3, {quoted(block.title)})\n{words}\n\n{image}]"
        case blocks.Note():
            said = "\n".join(filter(None, (_said(block.text, False), _said(block.meaning, True))))
            return f'#block(stroke: (left: 3pt + rgb("#8a5a00")), inset: (left: 8pt, y: 3pt), breakable: false)[{said}]'
        case blocks.Sliders() | blocks.Appendix():
            return ""


def quoted(text: str) -> str:
    r"""Quote a string for Typst, which then reads nothing in it as markup.

    Examples
    --------
    >>> quoted('#let "x" \\')
    '"#let \\"x\\" \\\\"'
    """
    plain = " ".join(shown(text).split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _said(text: str, soft: bool) -> str:
    if not text:
        return ""
    return f"#par(text(size: 9pt, fill: soft, {quoted(text)}))" if soft else f"#par({quoted(text)})"


def _tile(tile: Tile) -> str:
    before = f'#text(fill: rgb("#6b7884"), {quoted(tile.before)}) → ' if tile.before else ""
    number = f'#par[#text(size: 16pt)[{before}#text(weight: "bold", {quoted(tile.after)})]]'
    head = f"#par(text(size: 8.5pt, fill: soft, {quoted(tile.title)}))"
    box = "width: 100%, stroke: 0.6pt + line-color, radius: 4pt, inset: 8pt, breakable: false"
    return f"block({box})[{head}\n{number}\n#par(text(size: 8.5pt, fill: soft, {quoted(tile.words)}))]"


def _table(table: Table) -> str:
    count = len(table.heads)
    sizes = ["auto"] * count
    longest = [max(len(row[c]) for row in table.rows) for c in range(count)]
    if longest[0] > 30 or max(longest) > 34:
        sizes[longest.index(max(longest))] = "1fr"
    align = ", ".join("left" if table.holds_words(c) else "right" for c in range(count))
    head = [f"table.cell(colspan: {width}, align: center, strong({quoted(title)}))" for title, width in table.spans]
    lines = [*(["[]", *head] if head else []), *(f"strong({quoted(one)})" for one in table.heads)]
    cells = []
    for r, row in enumerate(table.rows):
        if table.closing and r == len(table.rows) - table.closing:
            cells.append("table.hline(stroke: 0.6pt + line-color)")
        cells += [f"strong({quoted(x)})" if (r, c) in table.marked else quoted(x) for c, x in enumerate(row)]
    size, rule = "7.2pt" if count > MAX_COLUMNS else "8.5pt", "table.hline(stroke: 0.6pt + soft)"
    inner = ", ".join([f"table.header({', '.join(lines)})", rule, *cells, rule])
    return f"#[#set text(size: {size})\n#table(columns: ({', '.join(sizes)}), align: ({align}), {inner})]"
