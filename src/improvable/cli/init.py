"""`improvable init`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from improvable.cli.options import check_writable
from improvable.cli.output import say, spelled, warn
from improvable.errors import ImprovableError, StorageError

MOST_COLUMNS = 20


def init(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The protocol to write, such as care.toml.")],
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="The data: lists its columns and checks your answers.")
    ] = None,
) -> int:
    """Ask what an audit needs to know, and write a protocol.

    Press Enter to accept what is in brackets. Each answer is checked as it is given. If the data contradict the answers
    in the end, they are asked again, with what you answered in brackets. The protocol is a short text file.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable init care.toml --data patients.csv
    """
    from dataclasses import replace

    from improvable.algorithms.rules.source import source_digest
    from improvable.cli.glimpse import Glimpse
    from improvable.cli.interview import Interview
    from improvable.data.engines import as_engine
    from improvable.data.engines.memory import Memory
    from improvable.data.frames import read_rows
    from improvable.procedure.planning import make_plan
    from improvable.procedure.preparing import prepare_audit
    from improvable.question.declaration import declare
    from improvable.trust.seal import write_protocol

    check_writable(file)
    if Path(file).exists():
        raise StorageError(f"'{file}' already exists.", "Name another file; a declared protocol is not overwritten.")
    glimpse = None
    if data is not None:
        engine = as_engine(data, None, 1)
        rows = engine.rows if isinstance(engine, Memory) else read_rows(data)
        glimpse = Glimpse(engine, rows)
        more = len(rows.columns) - MOST_COLUMNS
        say(f"Columns: {', '.join(rows.columns[:MOST_COLUMNS])}{f' and {more} more' if more > 0 else ''}")
    interview = Interview(glimpse)
    while True:
        try:
            settings = interview.conduct()
            make_plan(settings)
            if glimpse is not None:
                for caution in prepare_audit(glimpse.engine, settings).cautions:
                    warn(caution.text)
            break
        except ImprovableError as error:
            say(f"\n{spelled(error)}\nNothing is written yet. Your answers are in brackets; change what is wrong.\n")
    declared = declare(replace(settings, rule_source=source_digest(settings.rule)))
    assert declared is not None, "answers are names and numbers"
    declared["test"].pop("seed", None)
    write_protocol(declared, file)
    given = "DATA" if data is None else shlex.quote(data)
    say(
        f"Wrote {file}.\n"
        f"Run it:  improvable audit {shlex.quote(file)} --data {given} --out {shlex.quote(Path(file).stem)}\n"
        f"Or first let the other side choose the order of the rows:  improvable seal {shlex.quote(file)} "
        f"--data {given} --challenge 'what they choose'"
    )
    return 0
