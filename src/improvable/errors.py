"""What can go wrong: one base, a family per stage, each also the builtin a caller would
expect.

Every error says what is wrong and, in its hint, what would be right.
"""

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from improvable._text import shown

MAX_NAMED = 12


class ImprovableError(Exception):
    """Base of every error raised on purpose by this package.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    hint : str
        What would be right, in one line.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        # A message may quote a label or a file's name.
        return shown(f"{self.message} {self.hint}".strip())


class DataError(ImprovableError, ValueError):
    """The rows cannot be used as they are."""


class UnknownColumnError(ImprovableError, KeyError):
    """A column was named that the data do not have."""


class OptionError(ImprovableError, ValueError):
    """An argument is out of range, misspelt or contradicts another."""


class AlgorithmError(ImprovableError, ValueError):
    """The status quo or a candidate cannot decide for these rows."""


class RuleError(ImprovableError, RuntimeError):
    """A selection rule failed on the training rows."""


class StorageError(ImprovableError, OSError):
    """A result or a run folder cannot be written or read."""


class ImprovableWarning(UserWarning):
    """Something a reader of the result must know; also kept in ``result.warnings``."""


BESIDE_VERDICT = CAPACITY, SHARES, LEVER, COPIES, CODE, PROBABILITIES, UNKNOWN = (
    "capacity",
    "shares",
    "lever",
    "copies",
    "code",
    "probabilities",
    "unknown",
)
"""First words of the kinds of cautions that belong beside the verdict."""


@dataclass(frozen=True)
class Caution:
    """A warning, with a name by which the same warning of several repetitions is
    gathered.
    """

    kind: str
    text: str

    @property
    def beside_verdict(self) -> bool:
        """Whether it must be read with the verdict: the algorithms may not be
        comparable, or the test may be rigged.
        """
        return self.kind.split(" ")[0] in BESIDE_VERDICT


def nearest(name: str, known: Iterable[str]) -> str:
    """Advice for a misspelt name: the nearest known ones, or all of them when none is
    near.

    Examples
    --------
    >>> nearest("rase", ["race", "risk_score", "cost"])
    "Did you mean 'race'?"
    >>> nearest("x", ["signed", "absolute"])
    "Choose 'signed' or 'absolute'."
    """
    names = list(known)
    close = get_close_matches(name, names, n=3, cutoff=0.6)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    if len(names) > MAX_NAMED:
        return f"Choose one of {', '.join(map(repr, names[:MAX_NAMED]))}, ..."
    return f"Choose {one_of(map(repr, names))}." if names else ""


def one_line(error: object, most: int = 200) -> str:
    """What another library says of an error, in one line without its full stop."""
    return " ".join(str(error).split())[:most].rstrip(".")


def require_extra(what: str, module: str, extra: str, package: str = "") -> None:
    """Refuse what needs a package that is not installed, and name the extra that brings
    it.
    """
    if importlib.util.find_spec(module) is None:
        wrong = f"{what} needs {package or module}, which is not installed."
        raise OptionError(
            wrong, f"Install it: pip install 'path/to/the/clone[{extra}]'."
        )


def one_of(words: Iterable[str]) -> str:
    """Words to choose from.

    Examples
    --------
    >>> one_of(["signed", "absolute", "both"])
    'signed, absolute or both'
    """
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
