"""The order of events that a sealed audit needs: protocol, seal, challenge, run; read from a ledger."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from improvable.errors import OptionError
from improvable.question.challenge import parse_source
from improvable.trust.ledger import BEGUN, FINISHED, REFUSED, RESUMED, SEALED, Line

OUT_OF_ORDER = "NOT IN ORDER"


def orders(lines: Sequence[Line]) -> list[str]:
    """For each seal, what happened when, and whether that is the order that makes a seal worth something."""
    seals = dict.fromkeys(line.facts["seal"] for line in lines if isinstance(line.facts.get("seal"), str))
    return [order_of(seal, lines) for seal in seals]


def order_of(seal: str, lines: Sequence[Line]) -> str:
    """The order of events around one seal, in words."""
    mine = [line for line in lines if line.facts.get("seal") == seal]
    name = _plain(seal[:16])
    sealed = next((line for line in mine if line.event == SEALED), None)
    runs = [line for line in mine if line.event in (BEGUN, RESUMED, FINISHED, REFUSED)]
    steps, wrong = [], []
    if sealed is None:
        steps.append("sealed elsewhere: no line of this ledger records it")
    else:
        protocol = _plain(sealed.facts.get("protocol"))[:12]
        steps.append(f"protocol {protocol}... sealed {sealed.facts['when']}{_at(sealed)}")
    source = next((line.facts["challenge_source"] for line in mine if line.facts.get("challenge_source")), None)
    due = _due(source)
    if source is None:
        steps.append("challenge given by the other side when it was sealed")
    else:
        steps.append(f"challenge {_plain(source)} due {'at an unknown time' if due is None else due.isoformat()}")
        if sealed is not None and due is not None and _when(sealed) >= due:
            wrong.append("the challenge could be known when it was sealed")
    for line in runs:
        steps.append(f"run {line.event} {line.facts['when']}{_at(line)}")
        if sealed is not None and line.number < sealed.number:
            wrong.append(f"line {line.number} is before the sealing")
        if due is not None and _when(line) < due:
            wrong.append(f"line {line.number} is before the challenge could be known")
    verdict = "in order" if runs else "not run yet"
    if wrong:
        verdict = f"{OUT_OF_ORDER}: {'; '.join(wrong)}"
    elif sealed is None:
        verdict = "the order cannot be shown"
    return f"Seal {name}...: {' -> '.join(steps)}: {verdict}."


def _plain(text: Any) -> str:
    """A text from a file of somebody else's, without anything that a terminal would obey."""
    return ascii(str(text))[1:-1]


def _at(line: Line) -> str:
    return f" (line {line.number})"


def _when(line: Line) -> datetime:
    return datetime.fromisoformat(line.facts["when"])


def _due(source: Any) -> datetime | None:
    try:
        return parse_source(source).due if isinstance(source, str) else None
    except OptionError:  # a ledger may have come from anyone
        return None
