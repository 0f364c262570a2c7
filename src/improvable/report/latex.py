"""The paper's table in LaTeX, in the paper's layout."""

import re

from improvable.report.tables import paper_table
from improvable.results.facts import Facts
from improvable.results.words import draws_text, harm_words, rerun_words, seal_words, shortfall_words
from improvable.showing import shown

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
}


def latex_table(facts: Facts) -> str:
    """The table of Section 6: status quo, candidate and p of every component, a line per split.

    It needs the package booktabs.

    Parameters
    ----------
    facts : Facts
        What `to_dict` returns.

    Returns
    -------
    str
    """
    table = paper_table(facts)
    widths = [len(block.heads) for block in table.blocks]
    columns = "@{}l" + "|".join("c" * width for width in widths) + "@{}"
    titles = [
        rf"\multicolumn{{{len(block.heads)}}}{{c}}{{\bfseries {escaped(block.title)}}}" if block.title else ""
        for block in table.blocks
    ]
    rows = [_line(map_cells(row)) for row in table.rows]
    body, closing = rows[: len(rows) - table.closing], rows[len(rows) - table.closing :]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[hbt]",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(["", *titles]),
        " ".join(_rules(widths)),
        _line(["", *map(_head, table.heads)]),
        r"\midrule",
        *body,
        *([r"\midrule", *closing] if closing else []),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_caption(facts)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _head(head: str) -> str:
    """A column's head, its words below each other."""
    words = ["$p$" if word == "p" else escaped(word) for word in head.split()]
    stacked = r"\\".join(words)
    return stacked if len(words) == 1 else rf"\shortstack{{{stacked}}}"


def map_cells(row: list[str]) -> list[str]:
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
    if len(facts["splits"]) > 1:
        text += f" The lower median $p$-value is {map_cells([facts['p_value_text']])[0]}."
    harmed = " ".join(harm_words(gap, facts) for gap in facts["disparities"])
    said = [harmed, shortfall_words(facts), rerun_words(facts), seal_words(facts)]
    return " ".join([text, *(escaped(words) for words in said if words)])
