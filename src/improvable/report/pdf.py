"""A document as PDF, set by Typst: no browser, no LaTeX, no system libraries (extra ``pdf``)."""

from improvable._text import shown
from improvable.errors import require_extra
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
WIDEST = 9
"""A table with more columns is set smaller."""


def require() -> None:
    """Refuse before the work is done where Typst is not installed."""
    require_extra("a PDF", "typst", "pdf")


def pdf_document(document: Document) -> bytes:
    require()
    import typst

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
            return _title(block)
        case blocks.Answer():
            return _answer(block)
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
            return "\n".join(part for part in (_table(block), _said(block.note, True)) if part)
        case blocks.Picture():
            words = "\n".join(_said(text, True) for text in block.words)
            image = f"#picture({quoted(block.name + '.svg')}, {quoted(block.alt)})"
            title = f"#heading(level: 3, {quoted(block.title)})"
            return f"#block(breakable: false)[\n{title}\n{words}\n\n{image}]"
        case blocks.Note():
            meaning = f"\n{_said(block.meaning, True)}" if block.meaning else ""
            box = 'stroke: (left: 3pt + rgb("#8a5a00")), inset: (left: 8pt, y: 3pt)'
            return f"#block({box}, breakable: false)[{_said(block.text, False)}{meaning}]"
        case blocks.Sliders() | blocks.Appendix():
            return ""


def quoted(text: str) -> str:
    r"""Text as a Typst string: nothing in it is markup.

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


def _title(block: blocks.Title) -> str:
    simulated = '#block(stroke: 2pt + rgb("#b34701"), inset: 6pt)[#text(size: 20pt, weight: "bold", '
    simulated += 'fill: rgb("#b34701"), "SIMULATED DATA")]'
    facts = " #h(1em) ".join(f"#strong({quoted(name)}) #{quoted(words)}" for name, words in block.facts)
    head = f"#par(text(size: 9pt, fill: soft, upper({quoted(block.kicker)})))\n#heading(level: 1, {quoted(block.text)})"
    return "\n".join([head, *([simulated] if block.simulated else []), f"#par[#text(size: 9.5pt)[{facts}]]"])


def _answer(block: blocks.Answer) -> str:
    color, back = ("#0c6b44", "#e8f5ee") if block.shown else ("#8a4b00", "#fdf3e3")
    but = [f"#par(strong({quoted('But: ' + text)}))" for text in block.beside]
    firm = [f"#par({quoted(text)})" for text in block.firmness]
    word = f'#text(size: 20pt, weight: "bold", fill: rgb("{color}"), {quoted(block.word)})'
    claim = f"#par(text(size: 13pt, {quoted(block.claim)}))"
    box = f'width: 100%, fill: rgb("{back}"), stroke: (left: 5pt + rgb("{color}")), inset: 12pt'
    return f"#block({box})[{word}\n\n{claim}\n" + "\n".join([*but, *firm]) + "]"


def _tile(tile: Tile) -> str:
    before = f'#text(fill: rgb("#6b7884"), {quoted(tile.before)}) → ' if tile.before else ""
    number = f'#par[#text(size: 16pt)[{before}#text(weight: "bold", {quoted(tile.after)})]]'
    head = f"#par(text(size: 8.5pt, fill: soft, {quoted(tile.title)}))"
    box = "width: 100%, stroke: 0.6pt + line-color, radius: 4pt, inset: 8pt, breakable: false"
    return f"block({box})[{head}\n{number}\n#par(text(size: 8.5pt, fill: soft, {quoted(tile.words)}))]"


def _table(table: Table) -> str:
    count = len(table.heads)
    sizes = ["auto"] * count
    if max(len(row[0]) for row in table.rows) > 30 or any(len(cell) > 34 for row in table.rows for cell in row):
        longest = [max([len(row[c]) for row in table.rows]) for c in range(count)]
        sizes[longest.index(max(longest))] = "1fr"
    align = ", ".join("left" if table.holds_words(c) else "right" for c in range(count))
    head = [f"table.cell(colspan: {width}, align: center, strong({quoted(title)}))" for title, width in table.spans]
    lines = ["[]", *head] if head else []
    lines += [f"strong({quoted(one)})" for one in table.heads]
    cells = []
    for r, row in enumerate(table.rows):
        if table.closing and r == len(table.rows) - table.closing:
            cells.append("table.hline(stroke: 0.6pt + line-color)")
        cells += [f"strong({quoted(x)})" if (r, c) in table.marked else quoted(x) for c, x in enumerate(row)]
    size = "7.2pt" if count > WIDEST else "8.5pt"
    rule = "table.hline(stroke: 0.6pt + soft)"
    inner = (
        f"columns: ({', '.join(sizes)}), align: ({align}), table.header({', '.join(lines)}), {rule}, "
        f"{', '.join(cells)}, {rule}"
    )
    return f"#[#set text(size: {size})\n#table({inner})]"
