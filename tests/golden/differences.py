"""Differences between a stored golden result and the one that is computed now.

A number and a word are told apart, so that whoever accepts new words cannot accept a
new number with them. Prose has both: its numerals are numbers, and the rest is words.
"""

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from golden.facts import SEPARATOR, Facts, agrees, describe_fact, write_value
from golden.snapshots import Snapshot

Kind = Literal["numbers", "words"]
NUMBERS: Kind = "numbers"
WORDS: Kind = "words"
KINDS: tuple[Kind, ...] = (NUMBERS, WORDS)
NUMERAL = re.compile(
    r"[0-9a-f]{16,}"  # a digest
    r"|(?:[<>] )?[-+\u2212]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?%?"
)
"""A number in a sentence, with its sign, its unit and what bounds it: < 0.0001, -3%."""
PROSE = (
    *("text", "words", "sense", "formula", "size", "treatment", "grown_for", "claim"),
    *("null_hypothesis", "alternative_hypothesis", "p_value_text", "basis", "line"),
)
"""Last parts of names of facts that are sentences, not values."""
PROSE_CONTAINERS = ("features", "left_out", "basis")
CONTEXT = 3  # words on either side of those that differ
LONGEST = 160  # characters of a value in a message
ABSENT = "(none)"


@dataclass(frozen=True)
class Difference:
    """One thing that is not as it was stored."""

    kind: Kind
    name: str
    """The fact, or the surface of a text."""
    old: str
    new: str
    bare: str = ""
    """What differs in a sentence, without the words around it."""

    def __str__(self) -> str:
        return f"{describe_fact(self.name)}: {self.change}"

    @property
    def change(self) -> str:
        return f"{shorten(self.old)} → {shorten(self.new)}"


def compare(stored: Snapshot, new: Snapshot) -> list[Difference]:
    """Everything in which a result differs from what is stored, facts first."""
    return [*compare_facts(stored.facts, new.facts), *compare_texts(stored, new)]


def compare_facts(stored: Facts, new: Facts) -> Iterator[Difference]:
    for name in stored | new:
        yield from compare_fact(name, stored, new)


def compare_fact(name: str, stored: Facts, new: Facts) -> Iterator[Difference]:
    """How a fact differs; one that came or went counts as a number, whatever it is."""
    if name not in stored:
        yield Difference(NUMBERS, name, ABSENT, write_value(new[name]))
        return
    old = write_value(stored[name])
    if name not in new:
        yield Difference(NUMBERS, name, old, ABSENT)
    elif is_prose(name, stored[name]) and is_prose(name, new[name]):
        yield from compare_prose(name, stored[name], new[name])
    elif not agrees(stored[name], new[name]):
        yield Difference(NUMBERS, name, old, write_value(new[name]))


def is_prose(name: str, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    *containers, last = name.split(SEPARATOR)
    return last in PROSE or any(part in PROSE_CONTAINERS for part in containers)


def compare_texts(stored: Snapshot, new: Snapshot) -> Iterator[Difference]:
    for surface in stored.texts | new.texts:
        yield from compare_text(surface, stored, new)


def compare_text(surface: str, stored: Snapshot, new: Snapshot) -> Iterator[Difference]:
    """How the text on a surface differs; a whole text counts as a number."""
    if surface not in stored.texts:
        yield Difference(NUMBERS, surface, ABSENT, new.texts[surface])
    elif surface not in new.texts:
        yield Difference(NUMBERS, surface, stored.texts[surface], ABSENT)
    else:
        yield from compare_prose(surface, stored.texts[surface], new.texts[surface])


def compare_prose(name: str, old: str, new: str) -> Iterator[Difference]:
    """Numerals that differ, then words, or else spaces and line breaks."""
    if old == new:
        return
    old_line = " ".join(old.split())
    new_line = " ".join(new.split())
    old_numerals = NUMERAL.findall(old_line)
    new_numerals = NUMERAL.findall(new_line)
    old_words = NUMERAL.sub("#", old_line).split()
    new_words = NUMERAL.sub("#", new_line).split()
    yield from compare_sequences(NUMBERS, name, old_numerals, new_numerals, 0)
    yield from compare_sequences(WORDS, name, old_words, new_words, CONTEXT)
    if old_numerals == new_numerals and old_words == new_words:
        yield Difference(WORDS, name, "line breaks or spaces", "others")


def compare_sequences(
    kind: Kind, name: str, old: list[str], new: list[str], context: int
) -> Iterator[Difference]:
    """The parts in which two sequences differ, each with what stands around it."""
    if old == new:
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for operation, start, end, new_start, new_end in matcher.get_opcodes():
        if operation == "equal":
            continue
        before = old[max(0, start - context) : start]
        after = old[end : end + context]
        old_part = old[start:end]
        new_part = new[new_start:new_end]
        yield Difference(
            kind,
            name,
            old=" ".join([*before, *old_part, *after]) or ABSENT,
            new=" ".join([*before, *new_part, *after]) or ABSENT,
            bare=f"{' '.join(old_part) or ABSENT} → {' '.join(new_part) or ABSENT}",
        )


def shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}..."


# Accepting --------------------------------------------------------------------------


def merge(stored: Snapshot, new: Snapshot, accepted: Sequence[Kind]) -> Snapshot:
    """The stored result with new facts and texts, where all differences are accepted.

    What agrees stays as it is stored: its last digits do not flicker.
    """
    facts: Facts = {}
    for name in order_names(stored.facts, new.facts):
        differences = list(compare_fact(name, stored.facts, new.facts))
        source = new.facts if are_accepted(differences, accepted) else stored.facts
        if name in source:
            facts[name] = source[name]
    texts: dict[str, str] = {}
    for surface in order_names(stored.texts, new.texts):
        differences = list(compare_text(surface, stored, new))
        chosen = new.texts if are_accepted(differences, accepted) else stored.texts
        if surface in chosen:
            texts[surface] = chosen[surface]
    return Snapshot(facts, texts)


def are_accepted(differences: list[Difference], accepted: Sequence[Kind]) -> bool:
    """Whether there are differences, and all are of accepted kinds."""
    if not differences:
        return False
    return all(difference.kind in accepted for difference in differences)


def order_names(stored: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The names of both in the new order; one that is gone follows its predecessor.

    >>> order_names({"a": 1, "gone": 2, "b": 3}, {"b": 3, "a": 1, "came": 4})
    ['b', 'a', 'gone', 'came']
    """
    names = list(new)
    place = 0
    for name in stored:
        if name not in new:
            names.insert(place, name)
        place = names.index(name) + 1
    return names
