"""A document as Markdown; of a picture, its numbers in words."""

import re
from collections.abc import Iterable

from improvable._text import shown
from improvable.report import blocks
from improvable.report.blocks import Block, Table, flat
from improvable.report.document import Document, make_document
from improvable.report.labels import labeled
from improvable.report.tables import paper_block
from improvable.results.facts import Facts
from improvable.results.result import Result


def markdown(result: Result, command: str | None = None, runs: str | None = None, data: str | None = None) -> str:
    return markdown_document(make_document(result, command, runs, data))


def markdown_document(document: Document) -> str:
    return "\n\n".join(part for block in flat(document.blocks) if (part := markdown_block(block))) + "\n"


def markdown_table(facts: Facts) -> str:
    return _table(paper_block(labeled(facts))) + "\n"


def markdown_block(block: Block) -> str:
    """One block; all text in it is escaped."""
    match block:
        case blocks.Title():
            facts = _listed(f"{name}: {words}" for name, words in block.facts)
            simulated = "**SIMULATED DATA**\n\n" if block.simulated else ""
            return f"# {escaped(block.text)}\n\n{simulated}{facts}"
        case blocks.Answer():
            said = _listed([*(f"But: {text}" for text in block.beside), *block.firmness])
            return f"**{escaped(block.word)}.** {escaped(block.claim)}\n\n{said}"
        case blocks.Tiles():
            return _listed(f"{tile.title}: {tile.number}. {tile.words}." for tile in block.tiles)
        case blocks.Heading():
            return f"{'#' * block.level} {escaped(block.text)}"
        case blocks.Sentence():
            return escaped(block.text)
        case blocks.Listing():
            return _listed(block.items)
        case blocks.FactList():
            return _listed(f"{name}: {words}" for name, words in block.pairs)
        case Table():
            return f"{_table(block)}\n\n{escaped(block.note)}".rstrip()
        case blocks.Picture():
            return f"**{escaped(block.title)}.** {escaped(block.alt)}"
        case blocks.Note():
            return f"> {escaped(f'{block.text} {block.meaning}'.strip())}"
        case blocks.Sliders() | blocks.Appendix():
            return ""


def _table(table: Table) -> str:
    spans = [title for title, width in table.spans for _ in range(width)] or [""] * (len(table.heads) - 1)
    heads = [f"{span}: {head}".removeprefix(": ") for span, head in zip(spans, table.heads[1:], strict=True)]
    body = [
        [f"**{escaped(cell)}**" if (r, c) in table.marked else escaped(cell) for c, cell in enumerate(row)]
        for r, row in enumerate(table.rows)
    ]
    rule = [":--" if table.holds_words(c) else "--:" for c in range(len(table.heads))]
    lines = [[escaped(table.heads[0]), *map(escaped, heads)], rule, *body]
    return "\n".join("| " + " | ".join(row) + " |" for row in lines)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def escaped(text: str) -> str:
    r"""Escape a string from data for Markdown and the HTML inside it.

    Examples
    --------
    >>> escaped("a|b <b>*x*")
    'a\\|b &lt;b&gt;\\*x\\*'
    """
    plain = " ".join(shown(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", plain)
