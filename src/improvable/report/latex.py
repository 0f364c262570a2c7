"""The paper's table as LaTeX, in the paper's layout."""

import re

from markupsafe import Markup

from improvable._text import shown
from improvable.report.formats import Format
from improvable.report.labels import labeled
from improvable.report.tables import paper_block
from improvable.results.facts import Facts
from improvable.results.wording import (
    draws_text,
    harm_words,
    rerun_words,
    seal_words,
    shortfall_words,
    tipping_words,
)

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
    """The table of Section 6: status quo, candidate and p of every component, a line
    per repetition.
    """
    named = labeled(facts)
    return (
        LATEX.page("table", table=paper_block(named), caption=Markup(_caption(named)))
        + "\n"
    )


def _stacked(head: str) -> Markup:
    """A column's head, its words below each other."""
    words = ["$p$" if word == "p" else escaped(word) for word in head.split()]
    stacked = r"\\".join(words)
    return Markup(stacked if len(words) <= 1 else rf"\shortstack{{{stacked}}}")


def _cell(text: str) -> Markup:
    """A cell; a p-value below what the draws resolve is written with a mathematical
    sign.
    """
    return Markup(re.sub(r"^\\textless\{\} (.*)$", r"$<\\,$\1", escaped(text)))


def escaped(text: str) -> str:
    r"""Escape a string from data for LaTeX.

    Examples
    --------
    >>> escaped("50%_of {x}")
    '50\\%\\_of \\{x\\}'
    """
    return "".join(
        _SPECIAL.get(character, character)
        for character in " ".join(shown(text).split())
    )


def _caption(facts: Facts) -> str:
    found = (
        f"The rule '{escaped(facts['rule'])}' found the candidate. "
        if facts["kind"] == "audit"
        else ""
    )
    decides = (
        f"; the {facts['gap_statistic']} gap statistic decides"
        if facts["ask"] != "accuracy"
        else ""
    )
    text = f"{found}$p$-values come from {draws_text(facts)}{decides}."
    if len(facts["repetitions"]) > 1:
        text += f" The lower median $p$-value is {_cell(facts['p_value_text'])}."
    text += " Bold: the condition that decides."
    harmed = " ".join(harm_words(gap, facts) for gap in facts["disparities"])
    said = [
        harmed,
        shortfall_words(facts),
        tipping_words(facts),
        rerun_words(facts),
        seal_words(facts),
    ]
    return " ".join([text, *(escaped(words) for words in said if words)])


LATEX = Format("tex", escaped, {"stacked": _stacked, "cell": _cell})
