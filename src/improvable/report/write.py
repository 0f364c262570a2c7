"""Results into files: the format is what the file's name ends with."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from improvable.data.files import write_whole
from improvable.errors import OptionError
from improvable.question.checks import check_folder
from improvable.report.latex import latex_document, latex_table
from improvable.report.markdown import markdown_document, markdown_table
from improvable.results.facts import Facts
from improvable.results.numbers import p_text
from improvable.results.result import Result
from improvable.results.tidy import P_VALUES, tidy_columns
from improvable.showing import in_cell, json_text, shown

if TYPE_CHECKING:
    from improvable.report.document import Document

REPORTS = (".html", ".pdf", ".docx", ".md", ".tex", ".json")
TABLES = (".tex", ".csv", ".md")


def write_report(
    result: Result,
    path: str | Path,
    command: str | None = None,
    runs: str | None = None,
    data: str | None = None,
) -> None:
    """Write a report: .html, one page that needs no network; .pdf, .docx, .md or .tex; or the result itself, .json.

    Parameters
    ----------
    result : Audit or Comparison
    path : str or path
    command : str, optional
        The command or call that made the result, to be printed with it.
    runs : str, optional
        The line of the ledger, and how many runs it has.
    data : str, optional
        What the data are called.
    """
    from improvable.report.document import make_document

    place = checked_report(path)
    if place.suffix.lower() == ".json":
        write_whole(place, f"{json_text(result.facts)}\n".encode())
        return
    if place.suffix.lower() == ".html":
        from improvable.report.html import html_page

        write_whole(place, html_page(result, command, runs, data).encode())
        return
    write_whole(place, _written(make_document(result, command, runs, data), place.suffix.lower()))


def checked_report(path: str | Path) -> Path:
    """Refuse a report that cannot be written, before the work is done: also where a package is missing."""
    place = checked_path(path, REPORTS)
    if place.suffix.lower() == ".pdf":
        from improvable.report import pdf

        pdf.require()
    elif place.suffix.lower() == ".docx":
        from improvable.report import word

        word.require()
    return place


def _written(document: "Document", suffix: str) -> bytes:
    """A document in the format of a file's ending."""
    if suffix == ".pdf":
        from improvable.report.pdf import pdf_document

        return pdf_document(document)
    if suffix == ".docx":
        from improvable.report.word import word_document

        return word_document(document)
    return (latex_document if suffix == ".tex" else markdown_document)(document).encode()


def write_table(result: Result, path: str | Path) -> None:
    """Write the paper's table: .tex or .md; or the rows of `result.table()`, one per condition and repetition: .csv.

    Parameters
    ----------
    result : Audit or Comparison
    path : str or path
    """
    writers: dict[str, Callable[[Facts], str]] = {
        ".tex": latex_table,
        ".csv": _csv,
        ".md": lambda facts: markdown_table(facts) + "\n",
    }
    place = checked_path(path, TABLES)
    write_whole(place, writers[place.suffix.lower()](result.facts).encode())


def checked_path(path: str | Path, suffixes: tuple[str, ...]) -> Path:
    """Refuse a name with another ending, or in a missing folder; to be asked before the work is done.

    Examples
    --------
    >>> checked_path("table.docx", TABLES)
    Traceback (most recent call last):
    improvable.errors.OptionError: 'table.docx' does not end with .tex, .csv or .md. The ending chooses the format.
    """
    place = Path(path)
    if place.suffix.lower() not in suffixes:
        known = ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"
        raise OptionError(f"'{place}' does not end with {known}.", "The ending chooses the format.")
    check_folder(place)
    if place.is_dir():
        raise OptionError(f"'{place}' is a folder.", "Name a file.")
    return place


def _csv(facts: Facts) -> str:
    columns = tidy_columns(facts)
    for name in P_VALUES:  # a p-value of none of the draws is not zero
        columns[name] = [p_text(p, facts["draws"]) if p == 0 else p for p in columns[name]]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([in_cell(shown(value)) if isinstance(value, str) else value for value in row])
    return buffer.getvalue()
