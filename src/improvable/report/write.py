"""Results into files: the format is what the file's name ends with."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from improvable.data.files import write_whole
from improvable.errors import OptionError
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown, markdown_table
from improvable.results.facts import Facts, split_columns
from improvable.results.numbers import p_text
from improvable.results.result import Result
from improvable.showing import shown, shown_all

REPORTS = (".html", ".md")
TABLES = (".tex", ".csv", ".md")


def write_report(result: Result, path: str | Path, command: str | None = None, runs: str | None = None) -> None:
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
    write_whole(place, markdown(result.facts, bounds, command, runs).encode())


def write_table(result: Result, path: str | Path) -> None:
    """Write the paper's table: .tex or .md; or every number of every split: .csv.

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
    >>> checked_path("report.docx", REPORTS)
    Traceback (most recent call last):
    improvable.errors.OptionError: 'report.docx' does not end with .html or .md. The ending chooses the format.
    """
    place = Path(path)
    if place.suffix.lower() not in suffixes:
        known = ", ".join(suffixes[:-1]) + f" or {suffixes[-1]}"
        raise OptionError(f"'{place}' does not end with {known}.", "The ending chooses the format.")
    if not place.resolve().parent.is_dir():
        raise OptionError(f"there is no folder for '{place}'.", "Create it first, or write elsewhere.")
    if place.is_dir():
        raise OptionError(f"'{place}' is a folder.", "Name a file.")
    return place


def _never_zero(name: str, values: list[Any], draws: int) -> list[Any]:
    """Values of a column as they are, but for a p-value of none of the draws, which is not zero."""
    if not (name == "p_value" or name.endswith((" p", " p other"))):
        return values
    return [p_text(value, draws) if value == 0 else value for value in values]


def _csv(facts: Facts) -> str:
    columns = {name: _never_zero(name, values, facts["draws"]) for name, values in split_columns(facts).items()}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(map(shown, columns))
    writer.writerows(zip(*map(shown_all, columns.values()), strict=True))
    return buffer.getvalue()
