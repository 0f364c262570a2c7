"""A document as a Word file. Only with the extra ``word`` can this module be
imported.
"""

import io
from datetime import datetime
from typing import Any

import docx
from docx.document import Document as Page
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.shared import Cm, Emu, Pt, RGBColor

from improvable._text import shown
from improvable.report import blocks
from improvable.report.blocks import Block, Table, flat
from improvable.report.document import Document
from improvable.report.plots.style import WIDE, draw_png

SMALL, TINY = 9, 6.5
INK, SOFT, LINE = "16202A", "56626F", "C9D1D8"
"""Colors of headings, of lesser text and of lines in tables."""
LETTERS = 95
"""How many letters of a table stand beside each other on a page."""
SCALE = 3
"""Pixels of a picture for each of a screen."""
MAX_COLUMNS = 9
"""A table with more columns is set smaller."""


def word_document(document: Document) -> bytes:
    page = docx.Document()
    page.core_properties.title, page.core_properties.author = (
        document.title,
        "improvable",
    )
    # The same result makes the same file: its date is not the file's.
    page.core_properties.created = page.core_properties.modified = datetime(2000, 1, 1)
    page.styles["Normal"].font.name, page.styles["Normal"].font.size = (
        "Calibri",
        Pt(10.5),
    )
    page.styles["Normal"].paragraph_format.space_after = Pt(4)
    for name in ("Title", "Heading 1", "Heading 2"):
        page.styles[name].font.color.rgb = RGBColor.from_string(INK)
    for section in page.sections:
        section.left_margin = section.right_margin = section.top_margin = (
            section.bottom_margin
        ) = Cm(2)
    for block in flat(document.blocks):
        write_block(page, block)
    buffer = io.BytesIO()
    page.save(buffer)
    return buffer.getvalue()


def write_block(page: Page, block: Block) -> None:
    match block:
        case blocks.Title():
            _paragraph(page, block.kicker.upper(), SMALL, SOFT)
            page.add_heading(_clean(block.text), 0)
            if block.simulated:
                _paragraph(page, "SIMULATED DATA", 22, "B34701", bold=True)
            paragraph = page.add_paragraph()
            for name, words in block.facts:
                paragraph.add_run(f"{_clean(name)} ").bold = True
                paragraph.add_run(f"{_clean(words)}    ")
        case blocks.Answer():
            _paragraph(
                page, block.word, 20, "0C6B44" if block.shown else "8A4B00", bold=True
            )
            _paragraph(page, block.claim, 13)
            for text in block.beside:
                _paragraph(page, f"But: {text}", bold=True)
            for text in block.firmness:
                _paragraph(page, text)
        case blocks.Tiles():
            grid = page.add_table(rows=(len(block.tiles) + 2) // 3, cols=3)
            _rule(grid, 0, upright=True)
            for i, tile in enumerate(block.tiles):
                cell = grid.rows[i // 3].cells[i % 3]
                _run(cell.paragraphs[0], tile.title, SMALL, SOFT)
                number = cell.add_paragraph()
                if tile.before:
                    number.add_run(f"{_clean(tile.before)} → ").font.size = Pt(15)
                _run(number, tile.after, 15, bold=True)
                _paragraph(cell, tile.words, SMALL, SOFT)
            page.add_paragraph()
        case blocks.Heading():
            page.add_heading(_clean(block.text), block.level - 1)
        case blocks.Sentence():
            _paragraph(
                page, block.text, *((SMALL, SOFT) if block.tone == "note" else ())
            )
        case blocks.Listing():
            for text in block.items:
                page.add_paragraph(_clean(text), style="List Bullet")
        case blocks.FactList():
            for name, words in block.pairs:
                paragraph = page.add_paragraph()
                paragraph.add_run(f"{_clean(name)}: ").bold = True
                paragraph.add_run(_clean(words))
        case Table():
            _table(page, block)
        case blocks.Picture():
            page.add_heading(_clean(block.title), 2)
            for text in block.words:
                _paragraph(
                    page, text, SMALL, SOFT
                ).paragraph_format.keep_with_next = True
            content = draw_png(block.draw(WIDE), SCALE)
            # a PNG file says its width here
            pixels = int.from_bytes(content[16:20], "big")
            shape = page.add_picture(
                io.BytesIO(content), width=Cm(min(16.0, 16 * pixels / (SCALE * WIDE)))
            )
            shape._inline.docPr.set("descr", _clean(block.alt))
        case blocks.Note():
            page.add_paragraph(
                _clean(f"{block.text} {block.meaning}"), style="Intense Quote"
            )
        case blocks.Appendix():
            pass


def _clean(text: str) -> str:
    """Make a string safe for XML: control characters are shown by their number.

    Examples
    --------
    >>> _clean("a" + chr(0) + "b  c")
    'a<U+0000>b c'
    """
    return " ".join(shown(text).split())


def _paragraph(
    place: Any, text: str, size: float = 0, color: str = "", *, bold: bool = False
) -> Any:
    paragraph = place.add_paragraph()
    _run(paragraph, text, size, color, bold=bold)
    return paragraph


def _run(
    paragraph: Any,
    text: str,
    size: float = 0,
    color: str = "",
    *,
    bold: bool | None = None,
) -> None:
    run = paragraph.add_run(_clean(text))
    run.bold = bold
    if size:
        run.font.size = Pt(size)
    if color:
        run.font.color.rgb = RGBColor.from_string(color)


def _table(page: Page, table: Table) -> None:
    first = 1 if table.spans else 0
    grid = page.add_table(rows=first + 1 + len(table.rows), cols=len(table.heads))
    _rule(grid, first + 1)
    _widen(page, grid, table)
    size = TINY if len(table.heads) > MAX_COLUMNS else 8
    for r, line in enumerate([table.heads, *table.rows]):
        cells = grid.rows[first + r].cells
        for c, text in enumerate(line):
            paragraph = cells[c].paragraphs[0]
            _run(paragraph, text, size, bold=r == 0 or (r - 1, c) in table.marked)
            paragraph.paragraph_format.space_after = Pt(0)
            if not table.holds_words(c):
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
    start = 1
    for title, width in table.spans:
        grid.cell(0, start).paragraphs[0].paragraph_format.space_after = Pt(0)
        cell = grid.cell(0, start).merge(grid.cell(0, start + width - 1))
        _run(cell.paragraphs[0], title, size, bold=True)
        cell.paragraphs[0].alignment = WD_ALIGN_PARAGRAPH.CENTER
        start += width
    if table.note:
        _paragraph(page, table.note, SMALL, SOFT)
    else:
        page.add_paragraph()


def _rule(grid: Any, heads: int, *, upright: bool = False) -> None:
    """Thin lines between rows, and between columns where `upright`; heads stand again
    on every page, rows whole.
    """
    borders = OxmlElement("w:tblBorders")
    for side in ("top", "left", "bottom", "right", "insideH", "insideV"):
        line = OxmlElement(f"w:{side}")
        drawn = upright or side in ("top", "bottom", "insideH")
        for name, value in (
            ("val", "single" if drawn else "nil"),
            ("sz", "4"),
            ("space", "0"),
            ("color", LINE),
        ):
            line.set(qn(f"w:{name}"), value)
        borders.append(line)
    grid._tbl.tblPr.append(borders)
    for r, row in enumerate(grid.rows):
        properties = row._tr.get_or_add_trPr()
        properties.append(OxmlElement("w:cantSplit"))
        if r < heads:
            properties.append(OxmlElement("w:tblHeader"))


def _widen(page: Page, grid: Any, table: Table) -> None:
    """Columns as wide as their longest cell needs, a head in two lines; the first one
    may take a third of the page.
    """
    section = page.sections[0]
    whole = (
        int(section.page_width or 0)
        - int(section.left_margin or 0)
        - int(section.right_margin or 0)
    )
    needs = _needs(table, 1)
    if sum(needs) > LETTERS:
        needs = _needs(table, 2)
    grid.autofit = False
    for column, need in zip(grid.columns, needs, strict=True):
        column.width = width = Emu(int(whole * need / sum(needs)))
        for cell in column.cells:
            cell.width = width


def _needs(table: Table, lines: int) -> list[float]:
    """Letters that each column needs where a cell takes that many lines; heads are
    bold, and no word is broken.
    """
    needs = []
    for c, head in enumerate(table.heads):
        cells = [row[c] for row in table.rows]
        words = [len(word) for cell in cells for word in cell.split()] + [
            1.2 * len(word) for word in head.split()
        ]
        needs.append(
            2 + max(5, len(head) / 2, *words, *(len(cell) / lines for cell in cells))
        )
    needs[0] = min(needs[0], max(12.0, sum(needs[1:]) / 2))
    return needs
