"""A result becomes a document: blocks in the order they are read, the same for every format."""

from dataclasses import dataclass, fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.inference.critical import p_values
from improvable.question.argument_names import as_options
from improvable.report.appendix import appendix_block
from improvable.report.blocks import Block, Heading, Picture, Sentence, Sliders
from improvable.report.labels import in_words
from improvable.report.people import driving_section, people_alt, people_by_group, people_table, people_words
from improvable.report.plots.dumbbells import draw_dumbbells, dumbbell_alt, dumbbell_panels, dumbbell_words
from improvable.report.plots.p_values import draw_p_values, p_value_alt, p_value_words
from improvable.report.plots.people import draw_people
from improvable.report.plots.surface import default_grids, draw_region, has_region, region_alt, region_words
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
from improvable.results.formatting import p_text

if TYPE_CHECKING:
    from improvable.results.frontier import Frontier
    from improvable.results.result import Result

NO_REGION = "No size of improvement is shown in accuracy and the gap at once, so there is no map of sizes to draw."


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
    facts, frontier = in_words(result.facts), result.frontier()
    title = title_block(facts, data)
    answer = answer_block(facts)
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
    """Utilities and gap, who changes, sizes of improvement, p-values: each with its numbers in words."""
    blocks: list[Block] = [Heading("In pictures")]
    if dumbbell_panels(facts):
        title, words = dumbbell_words(facts)
        blocks.append(Picture("dumbbells", title, tuple(words), dumbbell_alt(facts), partial(draw_dumbbells, facts)))
    if people_by_group(facts):
        title, words = people_words(facts)
        blocks.append(Picture("people", title, tuple(words), people_alt(facts), partial(draw_people, facts)))
        blocks.append(people_table(facts))
    if has_region(frontier):
        title, words = region_words(facts)
        draw = partial(draw_region, facts, frontier)
        blocks.append(Picture("map", title, tuple(words), region_alt(frontier), draw))
    elif facts["ask"] == "both":
        blocks.append(Sentence(NO_REGION))
    title, words = p_value_words(facts)
    blocks.append(Picture("p-values", title, tuple(words), p_value_alt(facts), partial(draw_p_values, facts)))
    return blocks


def sliders_block(result: "Result") -> Sliders:
    """Other sizes of improvement, for a page that can compute."""
    facts = result.facts
    several = len(facts["repetitions"]) > 1
    of = "The lower median, over the repetitions, of the" if several else "The"
    return Sliders(
        title="Try other sizes of improvement",
        curves=slider_curves(result),
        accuracy=f"Accuracy {'of every group' if facts['overall'] is None else 'of everyone'} higher by more than",
        gap="Gap smaller by more than",
        words=f"{of} largest p-value of all conditions, from the same draws as above; the {facts['gap_statistic']} gap "
        "statistic. Sizes tried here are exploration: the answer is about the size asked for.",
    )


def slider_curves(result: "Result") -> dict[str, Any]:
    """p-values of every repetition at every step of both sliders, so that a page computes what the library would.

    The p-value of a claim combines max(p_accuracy, p_fairness) of the repetitions. Distinct p-values are listed once,
    sorted; curves hold places in that list, of which the largest and the medians are those of the p-values.
    """
    frontier, claim = result.frontier(), result.question.claim
    grids = list(default_grids(result, (101, 101)))
    declared = (claim.delta_accuracy, claim.delta_fairness)
    for i, asked in enumerate(declared):
        if isinstance(asked, float):
            grids[i] = np.unique([*grids[i], asked])
    by_repetition = [
        (p_values(frontier.of_accuracy(repetition), grids[0]), p_values(frontier.of_gap(repetition), grids[1]))
        for repetition in frontier.repetitions
    ]
    distinct = np.unique(np.concatenate([curve for pair in by_repetition for curve in pair]))
    codes = [[np.searchsorted(distinct, curve).tolist() for curve in pair] for pair in by_repetition]
    starts = [
        int(np.abs(grid - (d if isinstance(d, float) else 0.0)).argmin())
        for grid, d in zip(grids, declared, strict=True)
    ]
    return {
        "accuracy": grids[0].tolist(),
        "fairness": grids[1].tolist(),
        "start": starts,
        "p": distinct.tolist(),
        "text": [p_text(float(p), result.question.draws) for p in distinct],
        "repetitions": codes,
        "level": frontier.level,
        "share": frontier.form == "ratio",
    }


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
