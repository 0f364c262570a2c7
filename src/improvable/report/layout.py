"""Plain text in lines and columns, as wide as the terminal within limits."""

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

NARROWEST, WIDTH = 72, 99
"""Characters in a line: the fewest a table needs, and the most, which files and pipes get too."""
GUTTER = "  "
MIN_LETTERS = 10
"""A name in a table is not wrapped to fewer characters than this."""


def page_width() -> int:
    """Characters that fit in a line here."""
    if not os.environ.get("COLUMNS") and not sys.stdout.isatty():
        return WIDTH
    return max(NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns - 1))


def paragraph(text: str, indent: str = "") -> str:
    """Wrap a string; lines after the first begin with `indent`."""
    return textwrap.fill(text, page_width(), subsequent_indent=indent, break_on_hyphens=False)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Names on the left, wrapped where needed; numbers beside the first line of each."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    room = page_width() - sum(widths[1:]) - len(GUTTER) * len(widths[1:])
    widths[0] = min(widths[0], max(MIN_LETTERS, room))
    lines = []
    for name, *cells in [heads, *rows]:
        first, *below = textwrap.wrap(name, widths[0], subsequent_indent=GUTTER, break_on_hyphens=False) or [""]
        beside = (cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))
        lines += [GUTTER.join([first.ljust(widths[0]), *beside]).rstrip(), *below]
    return "\n".join(lines)
