"""Results into files: the format is what the file's name ends with."""

import csv
import io
from pathlib import Path

from improvable._text import in_cell, json_text, shown
from improvable.data.io.safe import write_whole
from improvable.errors import OptionError, require_extra
from improvable.question.options import check_folder
from improvable.report.document import make_document
from improvable.report.html import html_page
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown, markdown_table
from improvable.results.facts import Facts
from improvable.results.formatting import p_text
from improvable.results.result import P_VALUES, Result, tidy_columns

REPORTS = (".html", ".pdf", ".docx", ".md", ".json")
TABLES = (".tex", ".csv", ".md")
EXTRAS = {
    ".pdf": ("a PDF", "typst", "pdf"),
    ".docx": ("a Word file", "docx", "word", "python-docx"),
}
"""What needs a package beyond those that are always installed, as `require_extra` takes
it.
"""


def write_report(
    result: Result,
    path: str | Path,
    command: str | None = None,
    runs: str | None = None,
    data: str | None = None,
) -> None:
    """Write a report: .html, one page that needs no network; .pdf, .docx or .md; or the
    result itself, .json.

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
    place = checked_report(path)
    suffix, made = place.suffix.lower(), (command, runs, data)
    if suffix == ".json":
        content = f"{json_text(result.facts)}\n".encode()
    elif suffix == ".html":
        content = html_page(result, *made).encode()
    elif suffix == ".md":
        content = markdown(result, *made).encode()
    elif suffix == ".pdf":
        from improvable.report.pdf import pdf_document

        content = pdf_document(make_document(result, *made))
    else:
        from improvable.report.word import word_document

        content = word_document(make_document(result, *made))
    write_whole(place, content)


def checked_report(path: str | Path) -> Path:
    """Refuse a report that cannot be written, before the work is done: also where a
    package is missing.
    """
    place = checked_path(path, REPORTS)
    if place.suffix.lower() in EXTRAS:
        require_extra(*EXTRAS[place.suffix.lower()])
    return place


def write_table(result: Result, path: str | Path) -> None:
    """Write the paper's table: .tex or .md; or the rows of `result.table()`, one per
    condition and repetition: .csv.

    Parameters
    ----------
    result : Audit or Comparison
    path : str or path
    """
    place = checked_path(path, TABLES)
    writer = {".tex": latex_table, ".csv": _csv, ".md": markdown_table}[
        place.suffix.lower()
    ]
    write_whole(place, writer(result.facts).encode())


def checked_path(path: str | Path, suffixes: tuple[str, ...]) -> Path:
    """Refuse a name with another ending, or in a missing folder; to be asked before the
    work is done.

    Examples
    --------
    >>> checked_path("table.docx", TABLES)
    Traceback (most recent call last):
    improvable.errors.OptionError: 'table.docx' does not end with .tex, .csv or .md. The ending chooses the format.
    """  # noqa: E501
    place = Path(path)
    if place.suffix.lower() not in suffixes:
        known = ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"
        raise OptionError(
            f"'{place}' does not end with {known}.", "The ending chooses the format."
        )
    check_folder(place)
    if place.is_dir():
        raise OptionError(f"'{place}' is a folder.", "Name a file.")
    return place


def _csv(facts: Facts) -> str:
    columns = tidy_columns(facts)
    for name in P_VALUES:  # a p-value of none of the draws is not zero
        columns[name] = [
            p_text(p, facts["draws"]) if p == 0 else p for p in columns[name]
        ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(
            [
                in_cell(shown(value)) if isinstance(value, str) else value
                for value in row
            ]
        )
    return buffer.getvalue()
