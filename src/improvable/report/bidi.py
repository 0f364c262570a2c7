"""Labels in HTML: what hides is shown by its number, and what runs from right to left moves nothing beside it."""

import unicodedata
from itertools import groupby
from typing import Any

from markupsafe import Markup, escape

from improvable.showing import shown

LEFTWARD = ("R", "AL", "AN")


class Isolating(Markup):
    """Markup that puts texts between tags: `format` and `join` isolate them. Inside a tag, use `in_tag`."""

    @classmethod
    def escape(cls, s: Any, /) -> "Isolating":
        """As Markup does, and isolated."""
        return cls(isolated(s)) if isinstance(s, str) else cls(escape(s))


def in_tag(text: str) -> Markup:
    """A text for the value of an attribute."""
    return escape(shown(text))


def isolated(value: Any) -> Any:
    """A text for HTML: escaped, with runs from right to left inside ``<bdi>``. What is not a text stays as it is.

    Hebrew and Arabic labels are legitimate, but numbers and brackets beside them change their order unless the label is
    isolated.

    Examples
    --------
    >>> print(isolated("a < \u05d0\u05d1 3"))
    a &lt; <bdi>אב</bdi> 3
    """
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    safe = shown(value)
    if safe.isascii():
        return escape(safe)
    runs = [(leftward, "".join(run)) for leftward, run in groupby(safe, _leftward)]
    return Markup("").join(Markup("<bdi>{}</bdi>").format(run) if leftward else escape(run) for leftward, run in runs)


def _leftward(character: str) -> bool:
    return unicodedata.bidirectional(character) in LEFTWARD
