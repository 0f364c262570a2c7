"""A document as Markdown; of a picture, its numbers in words."""

import re

from improvable._text import shown
from improvable.report.document import make_document
from improvable.report.formats import Format
from improvable.report.labels import labeled
from improvable.report.tables import paper_block
from improvable.results.facts import Facts
from improvable.results.result import Result


def markdown(
    result: Result,
    command: str | None = None,
    runs: str | None = None,
    data: str | None = None,
) -> str:
    return MARKDOWN.parts(make_document(result, command, runs, data))


def markdown_table(facts: Facts) -> str:
    return MARKDOWN.write(paper_block(labeled(facts)), "grid") + "\n"


def escaped(text: str) -> str:
    r"""Escape a string from data for Markdown and the HTML inside it.

    Examples
    --------
    >>> escaped("a|b <b>*x*")
    'a\\|b &lt;b&gt;\\*x\\*'
    """
    plain = (
        " ".join(shown(text).split())
        .replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
    )
    return re.sub(r"([\\`*_\[\]|#~])", r"\\\1", plain)


MARKDOWN = Format("md", escaped)
