"""Options that are not settings, and that several commands share."""

from typing import Annotated

import typer

from improvable.cli.panels import of_output, of_search, of_test
from improvable.errors import OptionError
from improvable.question.checks import check_folder
from improvable.question.settings import SETTINGS

DATA_FILE = "A data file (CSV, Parquet, Excel, Stata, SPSS or SAS) or a folder of Parquet files, one row per person"
Data = Annotated[str, typer.Argument(metavar="DATA", help=f"{DATA_FILE}.")]
Candidates = Annotated[
    str | None, of_search(metavar="A,B,...", help="Rules that compete inside the training rows: linear,lasso,boosting.")
]
Jobs = Annotated[int, of_test(help="Workers; -1 for all cores.", show_default="all cores")]
Json = Annotated[str | None, of_output("--json", metavar="FILE", help="Write JSON; - prints only JSON.")]
Report = Annotated[
    str | None, of_output("--report", metavar="FILE", help="Write a report: .html, .pdf, .docx, .md or .tex.")
]
Table = Annotated[str | None, of_output("--table", metavar="FILE", help="Write the table: .tex, .csv or .md.")]
Ledger = Annotated[
    str | None,
    of_output(metavar="FILE", help="Record the run in this file.", show_default="DATA.ledger, beside the data"),
]
ExitCode = Annotated[bool, of_output("--exit-code", help="Exit with 1 when the null is rejected.")]
Verbose = Annotated[
    bool, of_output("--verbose", help="Print definitions, every repetition and the theory's conditions too.")
]
Quiet = Annotated[bool, of_output("--quiet", help="Print the verdict line alone.")]
Seed = Annotated[int, typer.Option(help=SETTINGS["seed"].help)]
Protected = Annotated[str | None, typer.Option(help=SETTINGS["protected"].help)]


def check_loudness(verbose: bool, quiet: bool) -> None:
    """Refuse to print more and less."""
    if verbose and quiet:
        raise OptionError("--verbose and --quiet contradict each other.", "Give one of them.")


def check_writable(path: str | None) -> None:
    """Refuse a file in a missing folder before the work is done, not after."""
    if path is not None and path != "-":
        check_folder(path)
