"""`improvable report`."""

from typer import Argument, Option

from improvable.cli.output import say


def report(
    run: str = Argument(metavar="RUN", help="A run folder of audit --out."),
    to: str = Option(metavar="FILE", help="The report: .html, .pdf, .docx, .md or .json."),
) -> int:
    """Write the report of a finished run, in any format.

    It needs no data, and runs nothing again. It says what audit --report would have said: the same numbers, the file,
    the line of the ledger, the command and the seal. The ending chooses the format; .json is the result itself, as
    audit --json writes it.

    Example:

    \b
      {run}
      improvable report run --to report.pdf
    """
    from improvable.report.write import checked_report
    from improvable.results.audit import load

    checked_report(to)
    load(run).report(to)
    say(f"Wrote {to}.")
    return 0
