"""What changed from one audit to the next of the same protocol: verdict, p-value,
cautions, estimates.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from improvable.errors import StorageError
from improvable.inference.evidence import ALGORITHMS
from improvable.results.facts import Facts, wrong_types
from improvable.results.formatting import p_text, value_text

ERRORS = 3.0
"""Monte Carlo standard errors within which two p-values are taken for the same."""
NONE = "none"
NEEDED = (
    "p_value",
    "reject",
    "draws",
    "seed",
    "data_fingerprint",
    "versions",
    "caution_kinds",
    "estimates",
)
"""What an earlier result must have to be compared with."""
GIVEN = {"data": "data_fingerprint", "order of rows (seed)": "seed"}


@dataclass(frozen=True)
class Change:
    """One thing that is no longer what it was; `fails` where it is the verdict or a
    caution.
    """

    what: str
    before: str
    now: str
    fails: bool = False


def check_comparable(earlier: Mapping[str, Any], digest: str | None, name: str) -> None:
    """Refuse an earlier result of another kind, form or protocol; to be asked before
    the work is done.
    """
    protocol = earlier.get("protocol")
    if earlier.get("kind") != "audit" or protocol is None or digest is None:
        raise StorageError(
            f"'{name}' has no protocol to compare by.",
            "Name the JSON that an audit wrote.",
        )
    if protocol["digest"] != digest:
        what = (
            f"'{name}' is of another protocol: {protocol['digest'][:16]}..., and this "
            f"one is {digest[:16]}...."
        )
        raise StorageError(
            what,
            (
                "Run the protocol that it was made with; if that must change, begin a "
                "new record."
            ),
        )
    wrong = [key for key in NEEDED if key not in earlier] or wrong_types(
        earlier, NEEDED
    )
    wrong += ["draws"] if not wrong and earlier["draws"] < 1 else []
    if wrong:
        hint = "It is damaged, or of another version; run the audit again."
        raise StorageError(
            (
                f"'{name}' cannot be compared with: its '{wrong[0]}' is missing or of "
                "another type."
            ),
            hint,
        )


def changes(earlier: Mapping[str, Any], facts: Facts, moved_by: float) -> list[Change]:
    """Everything that changed, what fails first; estimates that moved by more than
    `moved_by` of what they were.
    """
    said = {True: "shown", False: "not shown"}
    found = [Change("verdict", said[earlier["reject"]], said[facts["reject"]], True)]
    if found[0].before == found[0].now:
        found = []
    kinds, before = facts["caution_kinds"], earlier["caution_kinds"]
    found += [
        Change(f"caution: {kind}", NONE, "new", True)
        for kind in kinds
        if kind not in before
    ]
    found += [
        Change(f"caution: {kind}", "there", "gone", True)
        for kind in before
        if kind not in kinds
    ]
    if p_moved(earlier["p_value"], earlier["draws"], facts["p_value"], facts["draws"]):
        found.append(
            Change(
                "p", p_text(earlier["p_value"], earlier["draws"]), facts["p_value_text"]
            )
        )
    found += _moves(earlier, facts, moved_by)
    here: Mapping[str, Any] = facts
    pairs = {what: (earlier[key], here[key]) for what, key in GIVEN.items()}
    for name in {**earlier["versions"], **here["versions"]}:
        pairs[f"version of {name}"] = (
            earlier["versions"].get(name, NONE),
            here["versions"].get(name, NONE),
        )
    found += [
        Change(what, str(old)[:16], str(new)[:16])
        for what, (old, new) in pairs.items()
        if old != new
    ]
    return found


def p_moved(before: float, draws_before: int, now: float, draws_now: int) -> bool:
    """Whether two p-values differ by more than `ERRORS` standard errors of their draws.

    Examples
    --------
    >>> (
    ...     p_moved(0.10, 1000, 0.12, 1000),
    ...     p_moved(0.10, 1000, 0.15, 1000),
    ...     p_moved(0.0, 1000, 0.001, 1000),
    ... )
    (False, True, False)
    """
    # Of all draws together, and never none: a p-value of none of the draws is known to
    # about one of them.
    pooled = (before * draws_before + now * draws_now + 1) / (
        draws_before + draws_now + 2
    )
    error = math.sqrt(pooled * (1 - pooled) * (1 / draws_before + 1 / draws_now))
    return abs(now - before) > ERRORS * error


def _moves(earlier: Mapping[str, Any], facts: Facts, moved_by: float) -> list[Change]:
    kinds = {"utility": "{utility} of {group}", "gap": "gap in {utility} by {group}"}
    old, new = (
        {
            f"{kinds[one['kind']].format(**one)}, {side.replace('_', ' ')}": one[side][
                "estimate"
            ]
            for one in some["estimates"]
            for side in ALGORITHMS
            if one["kind"] in kinds
        }
        for some in (earlier, facts)
    )
    found = []
    for name in {**old, **new}:
        before, now = old.get(name), new.get(name)
        same = (
            before is not None
            and now is not None
            and abs(now - before) <= moved_by * abs(before)
        )
        if not same and before != now:
            found.append(Change(name, value_text(before), value_text(now)))
    return found
