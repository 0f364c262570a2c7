"""A result as Markdown."""

import re
from collections.abc import Sequence

from improvable.report.look import left_out_lines, look_lines
from improvable.report.provenance import provenance
from improvable.report.tables import paper_table
from improvable.results.facts import Facts
from improvable.results.numbers import bound_text, value_text
from improvable.results.words import (
    alternative_hypothesis,
    conditions_words,
    draws_text,
    effective_words,
    gaps_words,
    harm_words,
    limits,
    null_hypothesis,
    rates_words,
    round_name,
    shares_words,
    utilities_words,
    verdict,
    welfare_words,
)
from improvable.showing import shown


def markdown(facts: Facts, bounds: Sequence[str] = (), command: str | None = None, runs: str | None = None) -> str:
    """A result as a Markdown document.

    Parameters
    ----------
    facts : Facts
    bounds : sequence of str
        How much better, in sentences.
    command, runs : str, optional
        The command that made the result, and how many runs the ledger of the data has.

    Returns
    -------
    str
    """
    parts = ["# Can the status quo be improved?", escaped(verdict(facts))]
    parts += [escaped(f"But: {text}") for text in facts["verdict_warnings"]]
    parts += [escaped(limits(facts)), escaped(shares_words(facts)), escaped(effective_words(facts))]
    parts += ["## What was asked", _listed(_asked(facts))]
    parts += ["## The status quo's gap", _listed(_gaps(facts))]
    if bounds:
        parts += ["## How much better", _listed(bounds)]
    parts += ["## The test", markdown_table(facts), escaped(paper_table(facts).note)]
    parts += ["## Diagnostics", _listed([line for line in (conditions_words(facts), welfare_words(facts)) if line])]
    if facts["warnings"]:
        parts += ["## Warnings", _listed(facts["warnings"])]
    if "look" in facts:
        parts += ["## A look at the data", _listed([*look_lines(facts["look"]), *left_out_lines(facts["look"])])]
    sources = [f"{name}: {words}" for name, words in provenance(facts, command, runs)]
    parts += ["## Where this comes from", _listed(sources)]
    return "\n\n".join(part for part in parts if part) + "\n"


def markdown_table(facts: Facts) -> str:
    """The paper's table as a Markdown table."""
    table = paper_table(facts)
    heads = ["", *(f"{block.title}: {head}".removeprefix(": ") for block in table.blocks for head in block.heads)]
    first, *body = ([escaped(cell) for cell in row] for row in (heads, *table.rows))
    rule = [":--", *["--:"] * (len(heads) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (first, rule, *body))


def _asked(facts: Facts) -> list[str]:
    return [
        f"Null hypothesis: {null_hypothesis(facts)}",
        f"Alternative: {alternative_hypothesis(facts)}",
        f"Accuracy: {utilities_words(facts['accuracy_utilities'])}{'; lower is better' * facts['lower_is_better']}.",
        f"Gap: {gaps_words(facts['fairness_utilities'])}.",
        f"Groups: {', '.join(facts['groups'])} (column {', '.join(facts['group'])}).",
        f"Level {facts['alpha']:g}; {_rounds(facts)}; {draws_text(facts)} each.",
    ]


def _rounds(facts: Facts) -> str:
    count, name = len(facts["splits"]), round_name(facts["folds"])
    return f"{count} {name if count == 1 else name + 's'}" + (f" in {facts['folds']} folds" if facts["folds"] else "")


def _gaps(facts: Facts) -> list[str]:
    level = f"{100 * (1 - facts['alpha']):g}%"
    return [
        f"{gap['utility']} by {gap['group']}: {value_text(gap['gap'])}, {gap['higher']} above {gap['lower']} "
        f"({level} interval {bound_text(gap['interval'][0])} to {bound_text(gap['interval'][1])}, "
        f"{facts['rows']:,} rows). {harm_words(gap, facts)}"
        for gap in facts["disparities"]
    ] + [words for words in (rates_words(facts),) if words]


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def escaped(text: str) -> str:
    r"""Text from data, so that Markdown and the HTML inside it read it as text.

    Examples
    --------
    >>> escaped("a|b <b>*x*")
    'a\\|b &lt;b&gt;\\*x\\*'
    """
    plain = " ".join(shown(text).split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", plain)
