"""Golden results as text files: facts, then the texts as they are rendered.

Facts that belong to one thing, such as the ends of an interval, share a line.
"""

import json
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from golden.facts import SEPARATOR, Facts, write_value
from golden.snapshots import Snapshot

FOLDER = Path(__file__).parent / "results"
MARK = "=== "
FACTS = "facts"


def find_path(name: str) -> Path:
    """Where a golden result is stored.

    >>> find_path("loans, aim:boosting, split").name
    'loans-aim-boosting-split.txt'
    """
    return FOLDER / f"{re.sub('[^a-z0-9.]+', '-', name.lower()).strip('-')}.txt"


def read_stored(name: str) -> Snapshot:
    """A stored result; an empty one where there is none."""
    path = find_path(name)
    if not path.exists():
        return Snapshot({})
    return parse_stored(path.read_text(encoding="utf-8"))


def list_stale(names: Iterable[str]) -> list[Path]:
    """Stored results that none of these entries makes."""
    expected = {find_path(name) for name in names}
    return sorted(path for path in FOLDER.glob("*.txt") if path not in expected)


def parse_stored(text: str) -> Snapshot:
    sections: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(MARK):
            section = sections.setdefault(line.removeprefix(MARK), [])
        else:
            section.append(line)
    facts: Facts = {}
    for line in sections.pop(FACTS):
        name, _, text = line.partition(" = ")
        value = json.loads(text)
        if isinstance(value, dict):
            facts |= {f"{name}{SEPARATOR}{key}": part for key, part in value.items()}
        else:
            facts[name] = value
    texts = {name: "\n".join(lines) for name, lines in sections.items()}
    return Snapshot(facts, texts)


def format_stored(snapshot: Snapshot) -> str:
    lines = [f"{MARK}{FACTS}", *format_facts(snapshot.facts)]
    for name, text in snapshot.texts.items():
        lines += [f"{MARK}{name}", *text.splitlines()]
    return "\n".join(lines) + "\n"


def format_facts(facts: Facts) -> list[str]:
    """Lines of facts; those that follow each other under one name are one line.

    >>> format_facts({"p_value": 0.5, "gap | low": 0.1, "gap | high": 1 / 3})
    ['p_value = 0.5', 'gap = {"low": 0.1, "high": 0.3333333333}']
    """
    lines: list[str] = []
    for thing, names in groupby(facts, key=find_thing):
        if not thing:
            lines += [f"{name} = {write_value(facts[name])}" for name in names]
            continue
        keys = {name.rpartition(SEPARATOR)[2]: name for name in names}
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {write_value(facts[name])}"
            for key, name in keys.items()
        ]
        lines.append(f"{thing} = {{{', '.join(parts)}}}")
    return lines


def find_thing(name: str) -> str:
    """What a fact is of: all of its name but the last part."""
    return name.rpartition(SEPARATOR)[0]


def write_stored(name: str, snapshot: Snapshot) -> None:
    FOLDER.mkdir(exist_ok=True)
    find_path(name).write_text(format_stored(snapshot), encoding="utf-8")
