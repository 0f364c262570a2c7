"""An algorithm in writing: a column of decisions, or a score with a capacity or a cutoff."""

from collections.abc import Mapping
from typing import Any

from improvable.errors import OptionError
from improvable.question.checks import check_capacity

WAYS = ({"decision"}, {"score", "capacity"}, {"score", "above"})


def check_written(written: Mapping[str, Any], where: str) -> None:
    """Refuse keys that do not go together."""
    if set(written) not in WAYS:
        raise OptionError(
            f"{where} has {', '.join(sorted(map(str, written))) or 'nothing'}.",
            "It has a decision; or a score with a capacity; or a score with above.",
        )
    if "capacity" in written:
        check_capacity(written["capacity"])


def in_writing(algorithm: Any) -> dict[str, Any] | None:
    """An algorithm as plain data; None where it is an object that cannot be written down.

    Examples
    --------
    >>> in_writing("enrolled")
    {'decision': 'enrolled'}
    """
    if isinstance(algorithm, str):
        return {"decision": algorithm}
    written = algorithm if isinstance(algorithm, Mapping) else getattr(algorithm, "declared", None)
    if not isinstance(written, Mapping):
        return None
    return {str(key): one if isinstance(one, str) else float(one) for key, one in written.items()}
