"""Results to standard output or files, warnings to standard error."""

import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from improvable._text import json_text, shown, shown_all
from improvable.algorithms.rules import own_modules
from improvable.data.io.safe import write_whole
from improvable.errors import ImprovableWarning, OptionError
from improvable.question.options import check_folder
from improvable.question.settings import as_options
from improvable.report.text import paragraph, summary
from improvable.results.storage import Provenance
from improvable.results.wording import verdict_line

if TYPE_CHECKING:
    from improvable import Audit, Comparison

Result = TypeVar("Result")
# by this variable of the environment a page asks for messages as Python has them
SPELLING = "IMPROVABLE_SPELLING"
CHECKED = {True: "same", False: "DIFFERENT", None: "unchecked"}


def say(text: str, err: bool = False, nl: bool = True) -> None:
    """Print lines. Every command prints through here, so that no text from data or
    files can steer a terminal.
    """
    encoding = getattr(sys.stderr if err else sys.stdout, "encoding", None) or "utf-8"
    safe = shown(text, lines=True)
    try:
        safe.encode(encoding)
    except UnicodeEncodeError:
        safe = (
            safe.replace("→", "->")
            .encode(encoding, "backslashreplace")
            .decode(encoding)
        )
    typer.echo(safe, err=err, nl=nl)


def spelled(text: object) -> str:
    """A message, error, warning or summary with its arguments as options, or as Python
    has them if a page asks.
    """
    return str(text) if os.environ.get(SPELLING) == "python" else as_options(str(text))


def warn(text: str) -> None:
    say(f"warning: {spelled(shown(text))}", err=True)


def in_command(path: str | Path) -> str:
    """A file as a suggested command names it: one that begins with - must not be taken
    for an option.
    """
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def quietly(work: Callable[[], Result]) -> Result:
    """Run without Python's own display of our warnings: `show` prints them once, as
    plain lines.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        return work()


def say_checks(checks: Iterable[tuple[bool | None, str]]) -> list[str]:
    """Print what was checked, line by line; what failed."""
    failed = []
    for good, words in checks:
        say(f"{CHECKED[good]:<11}{shown(words)}")
        if good is False:
            failed.append(words)
    return failed


def put_json(facts: Any, path: str | None) -> bool:
    """Write facts where --json says; whether nothing else is to be printed."""
    if path == "-":
        say(json_text(facts))
    elif path is not None:
        write_whole(Path(path), f"{json_text(facts)}\n".encode())
    return path == "-"


def show(
    result: "Audit | Comparison",
    json: str | None,
    exit_code: bool,
    runs: str,
    *,
    verbose: bool,
    quiet: bool,
) -> int:
    """Print or write a result, its cautions last; the exit status."""
    facts = result.facts
    only_json = put_json(facts, json)
    if quiet and not only_json:
        say(verdict_line(shown_all(facts)))
    elif not only_json:
        say(summary(result, verbose=verbose, cautions=False, spell=spelled))
        if runs:
            say(paragraph(shown(runs)))
    sys.stdout.flush()
    for text in () if quiet else facts["warnings"]:
        # What stands beside the verdict is not said twice.
        if only_json or text not in facts["verdict_warnings"]:
            warn(text)
    return 1 if exit_code and result.reject else 0


def check_outputs(
    *files: str | None,
    report: str | None = None,
    table: str | None = None,
    verbose: bool = False,
    quiet: bool = False,
) -> None:
    """Refuse what cannot be written or printed before the work is done, not after."""
    if verbose and quiet:
        raise OptionError(
            "--verbose and --quiet contradict each other.", "Give one of them."
        )
    for path in files:
        if path is not None and path != "-":
            check_folder(path)
    if report is not None:
        from improvable.report.write import checked_report

        checked_report(report)
    if table is not None:
        from improvable.report.write import TABLES, checked_path

        checked_path(table, TABLES)


def made_here(data: str | None = None) -> Provenance:
    """Where a result of this command comes from, before it has a line in a ledger."""
    name = None if data is None else Path(data).name
    return Provenance(shlex.join(["improvable", *sys.argv[1:]]), None, name)


def write_documents(
    result: "Audit | Comparison",
    report: str | None,
    table: str | None,
    made: Provenance,
) -> None:
    if report is not None:
        from improvable.report.write import write_report

        write_report(result, report, **vars(made))
    if table is not None:
        from improvable.report.write import write_table

        write_table(result, table)


def warn_of_code(declared: dict[str, Any]) -> None:
    """Warn before running code that a protocol names: it may come from the other
    side.
    """
    name = declared.get("rule", {}).get("name", "")
    if isinstance(name, str) and own_modules(name):
        warn(
            f"the protocol's rule '{name}' is Python code by its author, and will run."
        )
