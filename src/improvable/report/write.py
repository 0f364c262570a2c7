"""Results into files: the format is what the file's name ends with."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from improvable.data.files import write_whole
from improvable.errors import OptionError
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown, markdown_table
from improvable.results.facts import split_columns

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.comparison import Comparison

REPORTS = (".html", ".md")
TABLES = (".tex", ".csv", ".md")


def write_report(
    result: "Audit | Comparison", path: str | Path, command: str | None = None, runs: str | None = None
) -> None:
    """Write a report: .html, one page that needs no network, or .md.

    Parameters
    ----------
    result : Audit or Comparison
    path : str or path
    command : str, optional
        The command or call that made the result, to be printed with it.
    runs : str, optional
        How many runs the ledger of the data has.
    """
    place = checked_path(path, REPORTS)
    if place.suffix.lower() == ".html":
        from improvable.report.html import html_page

        write_whole(place, html_page(result, command, runs).encode())
        return
    bounds = [bound.words for bound in result.bounds()]
    write_whole(place, markdown(result.to_dict() | {"bounds": bounds, "command": command, "runs": runs}).encode())


def write_table(result: "Audit | Comparison", path: str | Path) -> None:
    """Write the paper's table: .tex or .md; or every number of every split: .csv.

    Parameters
    ----------
    result : Audit or Comparison
    path : str or path
    """
    writers: dict[str, Callable[[dict[str, Any]], str]] = {
        ".tex": latex_table,
        ".csv": _csv,
        ".md": lambda facts: markdown_table(facts) + "\n",
    }
    place = checked_path(path, TABLES)
    write_whole(place, writers[place.suffix.lower()](result.to_dict()).encode())


def checked_path(path: str | Path, suffixes: tuple[str, ...]) -> Path:
    """Refuse a name with another ending, or in a missing folder; to be asked before the work is done.

    Examples
    --------
    >>> checked_path("report.docx", REPORTS)
    Traceback (most recent call last):
    improvable.errors.OptionError: 'report.docx' does not end with .html or .md. The ending chooses the format.
    """
    place = Path(path)
    if place.suffix.lower() not in suffixes:
        known = ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"
        raise OptionError(f"'{place}' does not end with {known}.", "The ending chooses the format.")
    if not place.resolve().parent.is_dir():
        raise OptionError(f"there is no folder for '{place}'.", "Make it first, or write elsewhere.")
    if place.is_dir():
        raise OptionError(f"'{place}' is a folder.", "Name a file.")
    return place


def _csv(facts: dict[str, Any]) -> str:
    columns = split_columns(facts)
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return buffer.getvalue()
