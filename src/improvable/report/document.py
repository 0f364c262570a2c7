"""A result becomes a document: blocks in the order they are read, the same for every format."""

from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

from improvable.question.argument_names import as_options
from improvable.report.appendix import appendix_block
from improvable.report.blocks import Block, Sentence
from improvable.report.driving import driving_section
from improvable.report.labels import in_words
from improvable.report.opening import answer_block, tiles_block, title_block
from improvable.report.pictures import picture_blocks
from improvable.report.sections import (
    asked_section,
    cautions_section,
    checked_section,
    limits_section,
    size_section,
    table_section,
)
from improvable.report.sliders import sliders_block
from improvable.report.spread import spreads

if TYPE_CHECKING:
    from improvable.results.result import Result


@dataclass(frozen=True)
class Document:
    """A report without a format.

    Attributes
    ----------
    title : str
    blocks : tuple of Block
    """

    title: str
    blocks: tuple[Block, ...]


def make_document(
    result: "Result", command: str | None = None, runs: str | None = None, data: str | None = None
) -> Document:
    """Everything a report says, the answer first.

    Parameters
    ----------
    result : Audit or Comparison
    command : str, optional
        The command or call that made the result.
    runs : str, optional
        How many runs the ledger of the data has.
    data : str, optional
        What the data are called.
    """
    facts, found, bounds = in_words(result.facts), spreads(result), result.bounds()
    title = title_block(facts, data)
    answer = answer_block(facts)
    return Document(
        f"{title.text} {answer.word}",
        in_options(
            title,
            answer,
            tiles_block(facts, found),
            *size_section(bounds),
            *table_section(facts),
            *picture_blocks(result, facts, found),
            *driving_section(facts),
            sliders_block(result),
            *asked_section(facts),
            *checked_section(facts),
            *cautions_section(result),
            *limits_section(facts),
            appendix_block(facts, found, command, runs),
            Sentence(f"Made by improvable {facts['version']}.", "note"),
        ),
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
