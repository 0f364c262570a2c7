"""`improvable init`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import check_writable
from improvable.errors import ImprovableError, StorageError
from improvable.question.checks import SAME_SHARE
from improvable.question.kinds import parse_names

if TYPE_CHECKING:
    from improvable.data.frames import Rows


def init(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The protocol to write, such as care.toml.")],
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The data: lists its columns and checks your answers.")
    ] = None,
) -> int:
    """Ask what an audit needs to know, and write a protocol.

    Press Enter to accept what is in brackets. The protocol is a short text file; add anything else there.

    Example:

    \b
      improvable demo --write patients.csv
      improvable init care.toml --data patients.csv
    """
    from improvable.algorithms.rules.source import source_digest
    from improvable.data.frames import read_rows
    from improvable.question.declaration import declare, from_declaration
    from improvable.trust.files import write_protocol

    check_writable(file)
    if Path(file).exists():
        raise StorageError(f"'{file}' already exists.", "Name another file; a declared protocol is not overwritten.")
    rows = None if data is None else read_rows(data)
    if rows is not None:
        shown = ", ".join(rows.columns[:20]) + (f" and {len(rows.columns) - 20} more" if len(rows.columns) > 20 else "")
        typer.echo(f"Columns: {shown}")
    columns: dict[str, Any] = {
        "outcome": _column("Outcome: the column that says how each person fared", rows),
        "group": _columns("Group: the column, or columns, of the groups to compare", rows),
    }
    status_quo: dict[str, Any]
    if typer.confirm("Does the algorithm in use select by a score? (If not, name a column of its 0/1 decisions)", True):
        status_quo = {"score": _column("Score: its column", rows)}
        status_quo["capacity"] = typer.prompt("Share of people it selects", default=0.03, type=float)
    else:
        status_quo = {"decision": _column("Decisions: their column", rows)}
    rule: dict[str, Any] = {"name": _rule()}
    source = source_digest(rule["name"])
    if source is not None:
        rule["source"] = source
    if "decision" in status_quo and typer.confirm(
        "May a candidate select the same share of people, and no more?", True
    ):
        rule["capacity"] = SAME_SHARE
    exclude = typer.prompt("Columns that a candidate may not read (* stands for anything)", default="")
    if exclude:
        rule["exclude"] = parse_names(exclude)
    claim = {"delta_fairness": typer.prompt("Smallest share by which the gap must shrink", default=0.0, type=float)}
    claim["delta_accuracy"] = typer.prompt("Smallest share by which accuracy must rise", default=0.0, type=float)
    test = {"alpha": typer.prompt("Level of the test", default=0.05, type=float)}
    plain = {"columns": columns, "status_quo": status_quo, "rule": rule, "claim": claim, "test": test}
    settings = from_declaration(plain)
    if data is not None:
        from improvable.procedure.preparing import prepare_audit

        prepare_audit(data, settings)
    declared = declare(settings)
    assert declared is not None
    declared["test"].pop("seed", None)
    write_protocol(declared, file)
    typer.echo(
        f"Wrote {file}.\nNext: improvable seal {file} --data {data or 'DATA'} --challenge 'what the other side draws'"
    )
    return 0


def _column(question: str, rows: "Rows | None") -> str:
    """Ask until the answer is a column."""
    return _columns(question, rows)[0]


def _columns(question: str, rows: "Rows | None") -> list[str]:
    while True:
        names = parse_names(str(typer.prompt(question)))
        try:
            if rows is not None:
                rows.require(names)
            if names:
                return names
        except ImprovableError as error:
            typer.echo(str(error))


def _rule() -> str:
    from improvable.algorithms.rules import as_rule

    while True:
        name = str(typer.prompt("Rule that looks for a candidate", default="forest"))
        try:
            as_rule(name)
        except ImprovableError as error:
            typer.echo(str(error))
        else:
            return name
