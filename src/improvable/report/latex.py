"""A document as LaTeX, and the paper's table in the paper's layout; of a picture, its numbers in words."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from improvable.report.blocks import (
    Answer,
    Appendix,
    Block,
    FactList,
    Heading,
    Listing,
    Note,
    Picture,
    Sentence,
    Sliders,
    Table,
    Tiles,
    Title,
    flat,
)
from improvable.report.document import Document, make_document
from improvable.report.labels import labeled
from improvable.report.sections import paper_block
from improvable.results.facts import Facts
from improvable.results.words import draws_text, harm_words, rerun_words, seal_words, shortfall_words
from improvable.showing import shown

if TYPE_CHECKING:
    from improvable.results.result import Result

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "→": r"$\rightarrow$",
}
PREAMBLE = r"""\documentclass[11pt]{article}
\usepackage[utf8]{inputenc}
\usepackage[margin=2.2cm]{geometry}
\usepackage{booktabs,longtable}
% A letter that pdfLaTeX has no font for is printed by its number; other engines know nothing of this.
\makeatletter
\ifdefined\UTFviii@hexcodepoint
\def\ByNumber#1:#2\relax{[\expandafter\UTFviii@hexcodepoint\expandafter{\the\numexpr\decode@UTFviii#2\relax}]}
\def\UTFviii@undefined@err#1{\expandafter\ByNumber\string#1\relax}
\fi
\makeatother
\setlength{\parindent}{0pt}\setlength{\parskip}{4pt}\sloppy
\begin{document}
"""
SIZES = ((r"\footnotesize", 105), (r"\scriptsize", 130), (r"\tiny", 10_000))
"""Sizes of type for tables, each with the letters that fit beside each other; two for the room between columns."""


def latex(result: "Result", command: str | None = None, runs: str | None = None, data: str | None = None) -> str:
    """The report of a result as a LaTeX document."""
    return latex_document(make_document(result, command, runs, data))


def latex_document(document: Document) -> str:
    """A document as LaTeX, complete with its preamble."""
    parts = [part for block in flat(document.blocks) if (part := latex_block(block))]
    return PREAMBLE + "\n\n".join(parts) + "\n\\end{document}\n"


def latex_block(block: Block) -> str:
    """One block; all text in it is escaped."""
    match block:
        case Title():
            simulated = [r"\medskip{\LARGE\bfseries SIMULATED DATA\par}"] if block.simulated else []
            facts = _items(f"{name}: {words}" for name, words in block.facts)
            return "\n\n".join([rf"{{\LARGE\bfseries {escaped(block.text)}\par}}", *simulated, facts])
        case Answer():
            said = [*(f"But: {text}" for text in block.beside), *block.firmness]
            return rf"{{\Large\bfseries {escaped(block.word)}}}" + f"\n\n{escaped(block.claim)}\n\n{_items(said)}"
        case Tiles():
            return _items(
                f"{tile.title}: {f'{tile.before} → ' if tile.before else ''}{tile.after}. {tile.words}."
                for tile in block.tiles
            )
        case Heading():
            return rf"\{'sub' * (block.level - 2)}section*{{{escaped(block.text)}}}"
        case Sentence():
            return escaped(block.text) if block.tone == "plain" else rf"{{\small {escaped(block.text)}}}"
        case Listing():
            return _items(block.items)
        case FactList():
            return _items(f"{name}: {words}" for name, words in block.pairs)
        case Table():
            size = next(size for size, letters in SIZES if _letters(block) <= letters)
            note = rf"{{\small {escaped(block.note)}}}" if block.note else ""
            body = rf"{{{size}\setlength{{\tabcolsep}}{{3pt}}{chr(10)}{_table(block, 'longtable')}}}"
            return "\n\n".join(part for part in (body, note) if part)
        case Picture():
            return rf"\textbf{{{escaped(block.title)}.}} {escaped(block.alt)}"
        case Note():
            return rf"\begin{{quote}}{escaped(f'{block.text} {block.meaning}'.strip())}\end{{quote}}"
        case Sliders() | Appendix():
            return ""


def latex_table(facts: Facts) -> str:
    """The table of Section 6: status quo, candidate and p of every component, a line per repetition.

    It needs the package booktabs.

    Parameters
    ----------
    facts : Facts
        What `to_dict` returns.

    Returns
    -------
    str
    """
    named = labeled(facts)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[hbt]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        _table(paper_block(named), "tabular"),
        rf"\caption{{{_caption(named)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _table(table: Table, environment: str) -> str:
    widths = [width for _, width in table.spans]
    columns = (
        "|".join("c" * width for width in widths)
        if widths
        else "".join("l" if table.holds_words(c) else "r" for c in range(1, len(table.heads)))
    )
    rows = [
        _line([rf"\textbf{{{cell}}}" if (r, c) in table.marked else cell for c, cell in enumerate(map_cells(row))])
        for r, row in enumerate(table.rows)
    ]
    body, closing = rows[: len(rows) - table.closing], rows[len(rows) - table.closing :]
    titles = [
        rf"\multicolumn{{{width}}}{{c}}{{\bfseries {escaped(title)}}}" if title else "" for title, width in table.spans
    ]
    over = [_line(["", *titles]), " ".join(_rules(widths))] if titles else []
    lines = [
        rf"\begin{{{environment}}}{{@{{}}l{columns}@{{}}}}",
        r"\toprule",
        *over,
        _line([_head(table.heads[0]), *map(_head, table.heads[1:])]),
        r"\midrule",
        *body,
        *([r"\midrule", *closing] if closing else []),
        r"\bottomrule",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines)


def _letters(table: Table) -> int:
    """How many letters stand beside each other in the widest line that a table may have."""
    cells = [
        max(*(len(word) for word in head.split() or [""]), *(len(row[c]) for row in table.rows), 0)
        for c, head in enumerate(table.heads)
    ]
    start, titles = 1, 0
    for title, width in table.spans:
        titles += max(0, len(title) - sum(cells[start : start + width]) - 2 * (width - 1))
        start += width
    return sum(cells) + titles + 2 * len(cells)


def _head(head: str) -> str:
    """A column's head, its words below each other."""
    words = ["$p$" if word == "p" else escaped(word) for word in head.split()]
    stacked = r"\\".join(words)
    return stacked if len(words) <= 1 else rf"\shortstack{{{stacked}}}"


def map_cells(row: Iterable[str]) -> list[str]:
    """Cells escaped; a p-value below what the draws resolve is written with a mathematical sign."""
    return [re.sub(r"^\\textless\{\} (.*)$", r"$<\\,$\1", escaped(cell)) for cell in row]


def escaped(text: str) -> str:
    r"""Text from data, so that LaTeX prints it as it is.

    Examples
    --------
    >>> escaped("50%_of {x}")
    '50\\%\\_of \\{x\\}'
    """
    return "".join(_SPECIAL.get(character, character) for character in " ".join(shown(text).split()))


def _items(lines: Iterable[str]) -> str:
    listed = "\n".join(rf"\item {{}}{escaped(line)}" for line in lines)
    return f"\\begin{{itemize}}\n{listed}\n\\end{{itemize}}" if listed else ""


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _rules(widths: list[int]) -> list[str]:
    rules, start = [], 2
    for i, width in enumerate(widths, start=1):
        side = "l" if i == len(widths) else "lr"
        rules.append(rf"\cmidrule({side}){{{start}-{start + width - 1}}}")
        start += width
    return rules


def _decides(facts: Facts) -> str:
    return f"; the {facts['gap_statistic']} gap statistic decides" if facts["ask"] != "accuracy" else ""


def _caption(facts: Facts) -> str:
    found = f"The rule '{escaped(facts['rule'])}' found the candidate. " if facts["kind"] == "audit" else ""
    text = f"{found}$p$-values come from {draws_text(facts)}{_decides(facts)}."
    if len(facts["repetitions"]) > 1:
        text += f" The lower median $p$-value is {map_cells([facts['p_value_text']])[0]}."
    text += " Bold: the condition that decides."
    harmed = " ".join(harm_words(gap, facts) for gap in facts["disparities"])
    said = [harmed, shortfall_words(facts), rerun_words(facts), seal_words(facts)]
    return " ".join([text, *(escaped(words) for words in said if words)])
