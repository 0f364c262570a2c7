"""The pictures of a report, each with its title, how to read it, and its numbers in words."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from improvable.report.blocks import Block, Heading, Picture, Sentence
from improvable.report.people import people_alt, people_by_group, people_table, people_words
from improvable.report.plots.dumbbells import draw_dumbbells, dumbbell_alt, dumbbell_panels, dumbbell_words
from improvable.report.plots.improvement_map import NOTHING, draw_map, has_map, map_alt, map_words
from improvable.report.plots.p_values import draw_p_values, p_value_alt, p_value_words
from improvable.report.plots.people import draw_people
from improvable.report.spread import Key, Spread
from improvable.results.facts import Facts

if TYPE_CHECKING:
    from improvable.results.result import Result


def picture_blocks(result: "Result", facts: Facts, found: Mapping[Key, Spread]) -> list[Block]:
    """Utilities and gap, sizes of improvement, p-values."""
    title, words = dumbbell_words(facts)
    blocks: list[Block] = [Heading("In pictures")]
    if dumbbell_panels(facts, found):
        alt, draw = dumbbell_alt(facts, found), partial(draw_dumbbells, facts, found)
        blocks.append(Picture("dumbbells", title, tuple(words), alt, draw))
    if people_by_group(facts):
        title, words = people_words(facts)
        blocks.append(Picture("people", title, tuple(words), people_alt(facts), partial(draw_people, facts)))
        blocks.append(people_table(facts))
    if has_map(result.frontier()):
        title, words = map_words(result)
        blocks.append(Picture("map", title, tuple(words), map_alt(result), partial(draw_map, result)))
    elif facts["ask"] == "both":
        blocks.append(Sentence(NOTHING))
    title, words = p_value_words(facts)
    blocks.append(Picture("p-values", title, tuple(words), p_value_alt(facts), partial(draw_p_values, facts)))
    return blocks
