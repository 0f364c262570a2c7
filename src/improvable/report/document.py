"""A result becomes a document: blocks in the order they are read, the same for every format."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from improvable.question.settings import as_options
from improvable.report.appendix import appendix_block
from improvable.report.blocks import Block, Heading, Picture, Sentence, Sliders
from improvable.report.labels import in_words
from improvable.report.people import driving_section
from improvable.report.plots import REPORTED, default_grids
from improvable.report.sections import (
    asked_section,
    cautions_section,
    checked_section,
    limits_section,
    size_section,
    table_section,
)
from improvable.report.summary import answer_block, tiles_block, title_block
from improvable.results.facts import Facts

if TYPE_CHECKING:
    from improvable.results.frontier import Frontier
    from improvable.results.result import Result


@dataclass(frozen=True)
class Document:
    """A report without a format."""

    title: str
    blocks: tuple[Block, ...]


def make_document(
    result: "Result", command: str | None = None, runs: str | None = None, data: str | None = None
) -> Document:
    """Everything a report says, the answer first.

    `command` made the result, `runs` says how many runs the ledger has, and `data` is what the data are called.
    """
    facts, frontier = in_words(result.facts), result.frontier()
    title, answer = title_block(facts, data), answer_block(facts)
    return Document(
        f"{title.text} {answer.word}",
        in_options(
            title,
            answer,
            tiles_block(facts),
            *size_section(facts),
            *table_section(facts),
            *picture_blocks(facts, frontier),
            *driving_section(facts),
            sliders_block(result),
            *asked_section(facts),
            *checked_section(facts),
            *cautions_section(result),
            *limits_section(facts),
            appendix_block(facts, command, runs),
            Sentence(f"Made by improvable {facts['version']}.", "note"),
        ),
    )


def picture_blocks(facts: Facts, frontier: "Frontier") -> list[Block]:
    """Every picture of a report, with its table where it has one."""
    blocks: list[Block] = [Heading("In pictures")]
    for plot in REPORTED.values():
        made = plot.picture(facts, frontier)
        blocks += [] if made is None else [made]
        blocks += [made.table] if isinstance(made, Picture) and made.table else []
    return blocks


def sliders_block(result: "Result") -> Sliders:
    facts = result.facts
    several = len(facts["repetitions"]) > 1
    of = "The lower median, over the repetitions, of the" if several else "The"
    return Sliders(
        title="Try other sizes of improvement",
        curves=result.frontier().curves(default_grids(result, (101, 101)), result.question),
        accuracy=f"Accuracy {'of every group' if facts['overall'] is None else 'of everyone'} higher by more than",
        gap="Gap smaller by more than",
        words=f"{of} largest p-value of all conditions, from the same draws as above; the {facts['gap_statistic']} gap "
        "statistic. Sizes tried here are exploration: the answer is about the size asked for.",
    )


def in_options(*blocks: Block) -> tuple[Block, ...]:
    """Blocks whose texts name arguments as options: a report's reader has the command line, not Python."""
    return tuple(_respelled(block) for block in blocks)


def _respelled(part: Any) -> Any:
    if isinstance(part, str):
        return as_options(part)
    if isinstance(part, tuple):
        return tuple(map(_respelled, part))
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{one.name: _respelled(getattr(part, one.name)) for one in fields(part)})
    return part
