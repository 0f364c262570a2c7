"""A document as PDF, set by Typst. Only with the extra ``pdf`` can this module be
imported.
"""

import typst
from markupsafe import Markup

from improvable._text import shown
from improvable.report.blocks import Picture, Table, flat
from improvable.report.document import Document
from improvable.report.formats import Format
from improvable.report.plots.style import WIDE, draw_svg


def pdf_document(document: Document) -> bytes:
    files = {"main.typ": typst_source(document).encode()}
    for block in flat(document.blocks):
        if isinstance(block, Picture):
            files[f"{block.name}.svg"] = draw_svg(block.draw(WIDE)).encode()
    content = typst.compile(files, format="pdf")  # type: ignore[call-overload]  # its stubs lack several files
    if not isinstance(content, bytes):
        raise TypeError("Typst gave no single file.")
    return content


def typst_source(document: Document) -> str:
    """A document as Typst markup."""
    return TYPST.page(
        "report", title=document.title, parts=Markup(TYPST.parts(document))
    )


def quoted(text: str) -> str:
    r"""Quote a string for Typst, which then reads nothing in it as markup.

    Examples
    --------
    >>> quoted('#let "x" \\')
    '"#let \\"x\\" \\\\"'
    """
    plain = " ".join(shown(text).split())
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _widths(table: Table) -> Markup:
    """Columns as wide as they need, but for the longest where a line has no room for
    it.
    """
    longest = [max(len(row[c]) for row in table.rows) for c in range(len(table.heads))]
    sizes = ["auto"] * len(longest)
    if longest[0] > 30 or max(longest) > 34:
        sizes[longest.index(max(longest))] = "1fr"
    return Markup(", ".join(sizes))


TYPST = Format("typ", quoted, {"widths": _widths})
