"""A result as Markdown, and the paper's table as rows that every written output shares."""

import re
from dataclasses import dataclass
from typing import Any

from improvable.report.provenance import provenance
from improvable.results.words import (
    alternative_hypothesis,
    combined_name,
    component_name,
    draws_text,
    limits,
    measure_words,
    null_hypothesis,
    p_text,
    value_text,
    verdict,
)

MOST_BLOCKS = 4


@dataclass(frozen=True)
class PaperTable:
    """The paper's table: for each component the candidate, the status quo and p; last the split's p.

    Of more components than a page is wide, a row each: means over the splits, and p of every split.

    Attributes
    ----------
    blocks : list of (str, list of str)
        Title and column heads of each component; heads are "new", "now", "p" and, of a gap, "p (other)".
    last : str
        Head of the last column; where it is empty, there is none.
    rows : list of list of str
        First the row's name, then the numbers of all blocks, then the last column's.
    closing : int
        How many rows at the end sum up the others.
    note : str
    """

    blocks: list[tuple[str, list[str]]]
    last: str
    rows: list[list[str]]
    closing: int
    note: str


def paper_table(facts: dict[str, Any]) -> PaperTable:
    """The table of Section 6, from the facts of any result."""
    splits, draws = facts["splits"], facts["draws"]
    if len(splits[0]["components"]) > MOST_BLOCKS:
        return _by_component(facts)
    other = _other(facts)
    blocks = []
    for component in splits[0]["components"]:
        name = component_name(component, facts)
        heads = ["new", "now", "p"] + ([f"p ({other})"] if component["kind"] == "fairness" else [])
        blocks.append((name[:1].upper() + name[1:], heads))
    rows = []
    for split in splits:
        numbers = [text for component in split["components"] for text in _numbers(component, draws)]
        name = f"Split {split['split']}" if facts["kind"] == "audit" else "Held-out rows"
        rows.append([name, *numbers, p_text(split["p_value"], draws)])
    closing = _closing_rows(facts) if len(splits) > 1 else []
    last = f"the last p is the largest of its row. The {facts['gap_statistic']} gap statistic decides; p of the {other}"
    return PaperTable(blocks, "p", rows + closing, len(closing), f"{_note(facts)}; {last} one is beside it.")


def _by_component(facts: dict[str, Any]) -> PaperTable:
    splits, draws = facts["splits"], facts["draws"]
    rows = []
    for j, component in enumerate(splits[0]["components"]):
        name = component_name(component, facts)
        p_values = [p_text(split["components"][j]["p_value"], draws) for split in splits]
        rows.append([name[:1].upper() + name[1:], *_means(facts, j), *p_values])
        if component["kind"] == "fairness":
            others = [p_text(split["components"][j]["p_other"], draws) for split in splits]
            rows.append([f"{name[:1].upper()}{name[1:]} ({_other(facts)})", "", "", *others])
    closing = [["All at once", "", "", *(p_text(split["p_value"], draws) for split in splits)]]
    if len(splits) > 1:
        closing.append(["Median", "", "", facts["p_value_text"], *[""] * (len(splits) - 1)])
    heads = [f"split {split['split']}" for split in splits] if len(splits) > 1 else ["held out"]
    blocks = [("Mean over splits" if len(splits) > 1 else "Estimate", ["new", "now"]), ("p", heads)]
    decides = f"The {facts['gap_statistic']} gap statistic decides; p of the {_other(facts)} one is below it."
    note = f"{_note(facts)}; all at once: the largest p that decides. {decides}"
    return PaperTable(blocks, "", rows + closing, len(closing), note)


def _closing_rows(facts: dict[str, Any]) -> list[list[str]]:
    """Means of the estimates, and the combined p-value."""
    splits = facts["splits"]
    means, blanks = ["Mean"], [combined_name(facts).capitalize()]
    for j, component in enumerate(splits[0]["components"]):
        width = 4 if component["kind"] == "fairness" else 3
        means += [*_means(facts, j), *[""] * (width - 2)]
        blanks += [""] * width
    return [[*means, ""], [*blanks, facts["p_value_text"]]]


def _means(facts: dict[str, Any], j: int) -> list[str]:
    """Candidate and status quo of a component, mean over the splits."""
    out = []
    for name in ("candidate", "status_quo"):
        values = [split["components"][j][name] for split in facts["splits"]]
        out.append(value_text(None if None in values else sum(values) / len(values)))
    return out


def _other(facts: dict[str, Any]) -> str:
    return "absolute" if facts["gap_statistic"] == "signed" else "signed"


def _numbers(component: dict[str, Any], draws: int) -> list[str]:
    out = [value_text(component["candidate"]), value_text(component["status_quo"]), p_text(component["p_value"], draws)]
    return [*out, p_text(component["p_other"], draws)] if component["kind"] == "fairness" else out


def _note(facts: dict[str, Any]) -> str:
    found = "what the rule found on the training rows" if facts["kind"] == "audit" else "the candidate"
    return f"new: {found}; now: the status quo. p-values from {draws_text(facts)}"


def markdown(facts: dict[str, Any]) -> str:
    """A result as a Markdown document.

    Parameters
    ----------
    facts : dict
        What `to_dict` returns; "bounds", a list of sentences, and "command" are written where they are there.

    Returns
    -------
    str
    """
    parts = ["# Can the status quo be improved?", escaped(verdict(facts)), escaped(limits(facts))]
    parts += ["## What was asked", _listed(_asked(facts))]
    parts += ["## The status quo's gap", _listed(_gaps(facts))]
    if facts.get("bounds"):
        parts += ["## How much better", _listed(facts["bounds"])]
    table = paper_table(facts)
    parts += ["## The test", markdown_table(facts), escaped(table.note)]
    if facts["warnings"]:
        parts += ["## Warnings", _listed(facts["warnings"])]
    parts += [
        "## Where this comes from",
        _listed([f"{name}: {words}" for name, words in provenance(facts, facts.get("command"), facts.get("runs"))]),
    ]
    return "\n\n".join(parts) + "\n"


def markdown_table(facts: dict[str, Any]) -> str:
    """The paper's table as a Markdown table."""
    table = paper_table(facts)
    heads = ["", *(f"{title}: {head}" for title, heads in table.blocks for head in heads)]
    heads += [table.last] if table.last else []
    first, *body = ([escaped(cell) for cell in row] for row in (heads, *table.rows))
    rule = [":--", *["--:"] * (len(heads) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in (first, rule, *body))


def _asked(facts: dict[str, Any]) -> list[str]:
    named = {
        kind: ", and ".join(measure_words(m) for m in facts[f"{kind}_utilities"]) for kind in ("accuracy", "fairness")
    }
    return [
        f"Null hypothesis: {null_hypothesis(facts)}",
        f"Alternative: {alternative_hypothesis(facts)}",
        f"Accuracy: {named['accuracy']}.",
        f"Gap: the difference between groups of {named['fairness']}.",
        f"Groups: {', '.join(facts['groups'])} (column {', '.join(facts['group'])}).",
        f"Level {facts['alpha']:g}; {len(facts['splits'])} split{'s' if len(facts['splits']) > 1 else ''}; "
        f"{draws_text(facts)} each.",
    ]


def _gaps(facts: dict[str, Any]) -> list[str]:
    level = f"{100 * (1 - facts['alpha']):g}%"
    return [
        f"{gap['utility']} by {gap['group']}: {value_text(gap['gap'])}, {gap['higher']} above {gap['lower']} "
        f"({level} interval {value_text(gap['interval'][0])} to {value_text(gap['interval'][1])}, "
        f"{facts['rows']:,} rows)."
        for gap in facts["disparities"]
    ]


def _listed(lines: list[str]) -> str:
    return "\n".join(f"- {escaped(line)}" for line in lines)


def escaped(text: str) -> str:
    r"""Text from data, so that Markdown and the HTML inside it read it as text.

    Examples
    --------
    >>> escaped("a|b <b>*x*")
    'a\\|b &lt;b&gt;\\*x\\*'
    """
    plain = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", plain)
