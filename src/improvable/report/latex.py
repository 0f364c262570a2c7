"""The paper's table in LaTeX, in the paper's layout."""

import re
from typing import Any

from improvable.report.markdown import paper_table
from improvable.results.words import combined_name, draws_text, seal_words

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
_HEADS = {"new": "$a_1$", "now": "$a_0$", "p": "$p$", "p (absolute)": "$p$ (absolute)", "p (signed)": "$p$ (signed)"}


def latex_table(facts: dict[str, Any]) -> str:
    """The table of Section 6: candidate, status quo and p of every component, a line per split.

    It needs the package booktabs.

    Parameters
    ----------
    facts : dict
        What `to_dict` returns.

    Returns
    -------
    str
    """
    table = paper_table(facts)
    widths = [len(heads) for _, heads in table.blocks]
    columns = "@{}l" + "|".join("c" * width for width in widths) + ("|c@{}" if table.last else "@{}")
    titles = [rf"\multicolumn{{{len(heads)}}}{{c}}{{\bfseries {escaped(title)}}}" for title, heads in table.blocks]
    heads = [_HEADS.get(head) or escaped(head) for _, block in table.blocks for head in block]
    last = ["$p$"] if table.last else []
    rows = [_line(map_cells(row)) for row in table.rows]
    body, closing = rows[: len(rows) - table.closing], rows[len(rows) - table.closing :]
    lines = [
        r"% needs \usepackage{booktabs}",
        r"\begin{table}[hbt]",
        r"\centering\footnotesize",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _line(["", *titles, *([""] if last else [])]),
        " ".join(_rules(widths, last=bool(last))),
        _line(["", *heads, *last]),
        r"\midrule",
        *body,
        *([r"\midrule", *closing] if closing else []),
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{_caption(facts)}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


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
    return "".join(_SPECIAL.get(character, character) for character in " ".join(text.split()))


def _line(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _rules(widths: list[int], last: bool) -> list[str]:
    rules, start = [], 2
    for width in widths:
        rules.append(rf"\cmidrule(lr){{{start}-{start + width - 1}}}")
        start += width
    return [*rules, rf"\cmidrule(l){{{start}-{start}}}"] if last else rules


def _caption(facts: dict[str, Any]) -> str:
    found = f"is found by the rule '{escaped(facts['rule'])}'" if facts["kind"] == "audit" else "is the candidate"
    text = (
        f"$a_1$ {found}; $a_0$ is the status quo. Reported $p$-values are computed via bootstrap with "
        f"{draws_text(facts)}; the {facts['gap_statistic']} gap statistic decides."
    )
    if len(facts["splits"]) > 1:
        text += f" The {combined_name(facts)} $p$-value is {map_cells([facts['p_value_text']])[0]}."
    return f"{text} {escaped(seal_words(facts))}"
