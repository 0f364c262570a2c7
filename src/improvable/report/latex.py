"""The paper's table as LaTeX, in the paper's layout."""

import re
from collections.abc import Iterable

from improvable._text import shown
from improvable.report.blocks import Table
from improvable.report.labels import labeled
from improvable.report.tables import paper_block
from improvable.results.facts import Facts
from improvable.results.wording import draws_text, harm_words, rerun_words, seal_words, shortfall_words, tipping_words

_SPECIAL = {
    **{character: rf"\{character}" for character in "{}$&#%_"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "→": r"$\rightarrow$",
}


def latex_table(facts: Facts) -> str:
    """The table of Section 6: status quo, candidate and p of every component, a line per repetition."""
    named = labeled(facts)
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[hbt]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        _tabular(paper_block(named)),
        rf"\caption{{{_caption(named)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _tabular(table: Table) -> str:
    widths = [width for _, width in table.spans]
    rows = [
        _line([rf"\textbf{{{cell}}}" if (r, c) in table.marked else cell for c, cell in enumerate(map_cells(row))])
        for r, row in enumerate(table.rows)
    ]
    rows.insert(len(rows) - table.closing, r"\midrule" if table.closing else "")
    titles = [
        rf"\multicolumn{{{width}}}{{c}}{{\bfseries {escaped(title)}}}" if title else "" for title, width in table.spans
    ]
    lines = [
        rf"\begin{{tabular}}{{@{{}}l{'|'.join('c' * width for width in widths)}@{{}}}}",
        r"\toprule",
        _line(["", *titles]),
        " ".join(_rules(widths)),
        _line(list(map(_head, table.heads))),
        r"\midrule",
        *filter(None, rows),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines)


def _head(head: str) -> str:
    """A column's head, its words below each other."""
    words = ["$p$" if word == "p" else escaped(word) for word in head.split()]
    stacked = r"\\".join(words)
    return stacked if len(words) <= 1 else rf"\shortstack{{{stacked}}}"


def map_cells(row: Iterable[str]) -> list[str]:
    """Cells escaped; a p-value below what the draws resolve is written with a mathematical sign."""
    return [re.sub(r"^\\textless\{\} (.*)$", r"$<\\,$\1", escaped(cell)) for cell in row]


def escaped(text: str) -> str:
    r"""Escape a string from data for LaTeX.

    Examples
    --------
    >>> escaped("50%_of {x}")
    '50\\%\\_of \\{x\\}'
    """
    return "".join(_SPECIAL.get(character, character) for character in " ".join(shown(text).split()))


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _rules(widths: list[int]) -> list[str]:
    rules, start = [], 2
    for i, width in enumerate(widths, start=1):
        side = "l" if i == len(widths) else "lr"
        rules.append(rf"\cmidrule({side}){{{start}-{start + width - 1}}}")
        start += width
    return rules


def _caption(facts: Facts) -> str:
    found = f"The rule '{escaped(facts['rule'])}' found the candidate. " if facts["kind"] == "audit" else ""
    decides = f"; the {facts['gap_statistic']} gap statistic decides" if facts["ask"] != "accuracy" else ""
    text = f"{found}$p$-values come from {draws_text(facts)}{decides}."
    if len(facts["repetitions"]) > 1:
        text += f" The lower median $p$-value is {map_cells([facts['p_value_text']])[0]}."
    text += " Bold: the condition that decides."
    harmed = " ".join(harm_words(gap, facts) for gap in facts["disparities"])
    said = [harmed, shortfall_words(facts), tipping_words(facts), rerun_words(facts), seal_words(facts)]
    return " ".join([text, *(escaped(words) for words in said if words)])
