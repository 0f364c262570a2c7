"""A result becomes a document: blocks in the order they are read, the same for every
format.
"""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.question.settings import as_options
from improvable.report import sections
from improvable.report.appendix import appendix_block
from improvable.report.blocks import (
    Answer,
    Block,
    Heading,
    Picture,
    Sentence,
    Tile,
    Tiles,
    Title,
)
from improvable.report.labels import in_words
from improvable.report.people import driving_section
from improvable.report.plots import PICTURES
from improvable.report.tables import aim_section
from improvable.results import wording
from improvable.results.facts import (
    ComponentFacts,
    Facts,
    by_component,
    deciding,
    estimate_of,
)
from improvable.results.formatting import (
    arrow,
    capital,
    confidence,
    ends_text,
    p_equals,
    value_text,
)
from improvable.results.frontier import Frontier
from improvable.results.result import Result

ASKED = {
    "both": "be made less uneven without making it less accurate",
    "accuracy": "be made more accurate",
    "fairness": "be made less uneven",
}


@dataclass(frozen=True)
class Document:
    """A report without a format."""

    title: str
    blocks: tuple[Block, ...]


def make_document(
    result: Result,
    command: str | None = None,
    runs: str | None = None,
    data: str | None = None,
) -> Document:
    """Everything a report says, the answer first.

    `command` made the result, `runs` says how many runs the ledger has, and `data` is
    what the data are called.
    """
    facts = in_words(result.facts)
    title, answer = title_block(facts, data), answer_block(facts)
    blocks = (
        title,
        answer,
        tiles_block(facts),
        *sections.size_section(facts),
        *sections.table_section(facts),
        *picture_blocks(facts, result.frontier()),
        *aim_section(facts),
        *driving_section(facts),
        *sections.asked_section(facts),
        *sections.checked_section(facts),
        *sections.cautions_section(result),
        *sections.limits_section(facts),
        appendix_block(facts, command, runs),
        Sentence(f"Made by improvable {facts['version']}.", "note"),
    )
    return Document(f"{title.text} {answer.word}", in_options(blocks))


def title_block(facts: Facts, data: str | None = None) -> Title:
    about = facts["about"]
    named = [
        (name.capitalize(), about[name])
        for name in ("organization", "system")
        if name in about
    ]
    named.append(("Data", ", ".join(filter(None, (data, wording.rows_words(facts))))))
    if facts["data_fingerprint"]:
        named.append(("Fingerprint", f"{facts['data_fingerprint'][:16]}..."))
    named += [
        (name.capitalize(), about[name]) for name in ("date", "author") if name in about
    ]
    system = about.get("system", "the status quo")
    kind = "Audit report" if facts["kind"] == "audit" else "Comparison report"
    return Title(
        kind,
        f"Can {system} {ASKED[facts['ask']]}?",
        tuple(named),
        bool(about.get("simulated")),
    )


def answer_block(facts: Facts) -> Answer:
    firm = [
        wording.at_most_words,
        p_words,
        wording.rerun_words,
        wording.shortfall_words,
        wording.tipping_words,
    ]
    firm.append(wording.differing_words)
    said = [say(facts) for say in firm] + (
        [wording.error_words(facts)] if facts["reject"] else []
    )
    return Answer(
        shown=facts["reject"],
        word=wording.answer_words(facts),
        claim=wording.alternative_hypothesis(facts)
        if facts["reject"]
        else wording.plain_verdict(facts),
        firmness=tuple(filter(None, said)),
        beside=tuple(facts["verdict_warnings"]),
    )


def p_words(facts: Facts) -> str:
    """The p-value, what it combines, and what it must be below."""
    p, repetitions = p_equals(facts["p_value_text"]), len(facts["repetitions"])
    of = f", the lower median of {repetitions} repetitions" if repetitions > 1 else ""
    half = (
        f", half of the level of {facts['alpha']:g}"
        if facts["threshold"] < facts["alpha"]
        else ""
    )
    return f"{p}{of}; it is {wording.p_side(facts)}{half}."


def tiles_block(facts: Facts) -> Tiles:
    """Accuracy of groups, the gap, shares, who is worse off, how firm."""
    components = by_component(facts)
    accuracy = [one for one in components if one[0]["kind"] == "accuracy"]
    gaps = [one for one in components if one[0]["kind"] == "fairness"]
    tiles = [_change_tile(one, facts) for one in (*_chosen(accuracy, facts), *gaps[:1])]
    shares = facts["selected_shares"]
    if shares is not None:
        by_group = "; ".join(
            f"{group} {arrow(shares[group])}" for group in facts["groups"][:4]
        )
        more = (
            f"; {len(facts['groups']) - 4} more groups below"
            if len(facts["groups"]) > 4
            else ""
        )
        before, after = arrow(shares[EVERYONE]).split(" → ")
        tiles.append(
            Tile("Selected, of all test rows", before, after, f"{by_group}{more}")
        )
    return Tiles((*tiles, _worse_off_tile(facts), _firmness_tile(facts)))


def _chosen(
    accuracy: list[tuple[ComponentFacts, ...]], facts: Facts
) -> list[tuple[ComponentFacts, ...]]:
    """At most two: both groups; of more, the one that is worse off and the one that
    decides, or has the largest p.
    """
    if len(accuracy) <= 2:
        return accuracy
    worse = facts["disparity"]["worse_off"]
    first = next((one for one in accuracy if one[0]["group"] == worse), accuracy[0])
    last = max(deciding(facts)["components"], key=lambda one: one["p_value"])
    matching = [
        one
        for one in accuracy
        if (one[0]["utility"], one[0]["group"]) == (last["utility"], last["group"])
    ]
    others = [one for one in accuracy if one is not first]
    hardest = max(
        others, key=lambda one: sum(repetition["p_value"] for repetition in one)
    )
    return [first, matching[0] if matching and matching[0] is not first else hardest]


def _change_tile(one: tuple[ComponentFacts, ...], facts: Facts) -> Tile:
    name, found = one[0]["utility"], estimate_of(facts, one[0])
    widest = ""
    if one[0]["kind"] == "accuracy":
        title = capital(wording.component_name(one[0], facts))
        title += "" if len(facts["accuracy_utilities"]) > 1 else f": {name}"
    else:
        title = f"Gap between groups: {name}"
        widest = (
            "; between the two groups farthest apart"
            if len(facts["groups"]) > 2
            else ""
        )
    before, after = (
        ends_text(found[algorithm]["low"], found[algorithm]["high"])
        for algorithm in ALGORITHMS
    )
    words = f"{confidence(facts['alpha'])} intervals {before} → {after}{widest}"
    return Tile(
        title,
        value_text(found["status_quo"]["estimate"]),
        value_text(found["candidate"]["estimate"]),
        words,
    )


def _worse_off_tile(facts: Facts) -> Tile:
    gap = facts["disparity"]
    measure = next(
        one for one in facts["fairness_utilities"] if one["name"] == gap["utility"]
    )
    sense = f": {measure['sense']}" if measure["sense"] else ""
    doubt = (
        "; chance alone could make that difference" if wording.covers_zero(gap) else ""
    )
    rows = ", on all rows" if len(facts["repetitions"]) > 1 else ""
    words = (
        f"{wording.measure_words(measure)} is {measure['worse_off']} by "
        f"{value_text(gap['gap'])} than for {gap['better_off']}{rows}{sense}{doubt}"
    )
    return Tile("Worse off under the status quo", "", gap["worse_off"], words)


def _firmness_tile(facts: Facts) -> Tile:
    rerun = facts["rerun"]
    if rerun is None:
        return Tile("p-value", "", facts["p_value_text"], wording.p_side(facts))
    below = (
        f"{rerun['rejecting']} of {rerun['repetitions']} repetitions have a p below "
        f"{facts['threshold']:g}"
    )
    title = "How firm: chance that a rerun decides otherwise"
    return Tile(title, "", wording.rerun_range(rerun), f"a 90% interval; {below}")


def picture_blocks(facts: Facts, frontier: Frontier) -> list[Block]:
    """Every picture of a report, with its table where it has one."""
    blocks: list[Block] = [Heading("In pictures")]
    for plot in PICTURES.values():
        made = plot.picture(facts, frontier)
        blocks += [] if made is None else [made]
        blocks += [made.table] if isinstance(made, Picture) and made.table else []
    return blocks


def in_options(part: Any) -> Any:
    """Name arguments as options in every string of a part: a report's reader has the
    command line, not Python.
    """
    if isinstance(part, str):
        return as_options(part)
    if isinstance(part, tuple):
        return tuple(map(in_options, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(
            part,
            **{one.name: in_options(getattr(part, one.name)) for one in fields(part)},
        )
    return part
