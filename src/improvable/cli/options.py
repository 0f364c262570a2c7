"""Options that are not settings, and that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

from improvable.errors import OptionError
from improvable.question.settings import SETTINGS

DATA_FILE = "A data file (CSV, Parquet, Excel, Stata, SPSS or SAS) or a folder of Parquet files, one row per person"
Data = Annotated[str, typer.Argument(metavar="DATA", help=f"{DATA_FILE}.")]
Candidates = Annotated[
    str | None, typer.Option(help="Rules that compete inside the training rows: linear,lasso,boosting.")
]
Jobs = Annotated[int, typer.Option(help="Workers; -1 for all cores.", show_default="all cores")]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write JSON; - prints only JSON.")]
Report = Annotated[
    str | None, typer.Option("--report", metavar="FILE", help="Write a report: .html, .pdf, .docx, .md or .tex.")
]
Table = Annotated[str | None, typer.Option("--table", metavar="FILE", help="Write the table: .tex, .csv or .md.")]
Ledger = Annotated[
    str | None, typer.Option(metavar="FILE", help="Record the run there.", show_default="DATA.ledger, beside the data")
]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 when the null is rejected.")]
Seed = Annotated[int, typer.Option(help=SETTINGS["seed"].help)]
Protected = Annotated[str | None, typer.Option(help=SETTINGS["protected"].help)]


def check_writable(path: str | None) -> None:
    """Refuse a file in a missing folder before the work is done, not after."""
    if path not in (None, "-") and not Path(str(path)).resolve().parent.is_dir():
        raise OptionError(f"there is no folder for '{path}'.", "Make it first, or write elsewhere.")
