"""Escape control and invisible characters before text is displayed.

A label can hold an escape sequence that clears a terminal and prints a false verdict, a
mark that turns the direction of the text around it, a line break that begins a line of
its own, or half a character that no file can hold. Wherever a text is printed, drawn or
put into a report, such characters are shown by their number, as ``<U+001B>``. Texts
that are compared, digested or written as JSON keep what they are.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Any, TypeVar

Plain = TypeVar("Plain")

HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that do not show or that steer what shows: control, format,
surrogates, separators.
"""
BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"
"""Of other categories, characters that take no ink; and so do variation selectors."""
LOOKS_ESCAPED = re.compile(r"<(?=U\+)")
ORDINARY = re.compile(r"[\x20-\x7e]*")


def hides(character: str) -> bool:
    r"""Whether a character is never shown raw.

    Examples
    --------
    >>> [hides(character) for character in "a\u00e9 \x1b\u202e\u2028"]
    [False, False, False, True, True, True]
    """
    if " " <= character <= "~":
        return False
    point = ord(character)
    selects = (
        0xFE00 <= point <= 0xFE0F
        or 0xE0000 <= point <= 0xE0FFF
        or 0x180B <= point <= 0x180F
    )
    nothing = point & 0xFFFE == 0xFFFE or 0xFDD0 <= point <= 0xFDEF
    return (
        selects
        or nothing
        or character in BLANK
        or unicodedata.category(character) in HIDDEN
    )


def shown(text: str, lines: bool = False) -> str:
    r"""A text as it may be looked at; different texts stay different. With `lines`,
    line breaks are ours and stay.

    Examples
    --------
    >>> shown("white\x1b[2J")
    'white<U+001B>[2J'
    >>> shown("<U+001B>")
    '<U+003C>U+001B>'
    """
    if ORDINARY.fullmatch(text) and "<U+" not in text:
        return text
    return "".join(
        f"<U+{ord(one):04X}>" if hides(one) and not (lines and one == "\n") else one
        for one in (text if lines else LOOKS_ESCAPED.sub("<U+003C>", text))
    )


def shown_all(plain: Plain, lines: bool = False) -> Plain:
    """Plain data with every text in it, keys included, as it may be looked at."""
    made: Any = plain
    if isinstance(plain, str):
        made = shown(plain, lines)
    elif isinstance(plain, Mapping):
        made = {
            shown_all(key, lines): shown_all(one, lines) for key, one in plain.items()
        }
    elif isinstance(plain, list | tuple):
        made = type(plain)(shown_all(one, lines) for one in plain)
    return made  # type: ignore[no-any-return]


def in_cell(text: str) -> str:
    """A text for a cell of a spreadsheet, which would take one that begins like a
    formula for one.

    Examples
    --------
    >>> in_cell("=HYPERLINK(1)"), in_cell("women")
    ("'=HYPERLINK(1)", 'women')
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def json_text(plain: Any, indent: int | None = 2) -> str:
    r"""JSON in which no character hides: the same values, with such characters escaped
    as JSON escapes them.

    Examples
    --------
    >>> print(json_text({"a\u202e": "\x9b"}, indent=None))
    {"a\u202e": "\u009b"}
    """
    text = json.dumps(plain, indent=indent, ensure_ascii=False)
    if text.isascii() and "\x7f" not in text:
        return text
    # Python's JSON escapes every such character but one, delete.
    hidden = {
        ord(one): json.dumps(one)[1:-1] for one in set(text) - {"\n"} if hides(one)
    }
    return text.translate(hidden | {0x7F: "\\u007f"})
