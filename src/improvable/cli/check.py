"""`improvable check`."""

from typing import Annotated, Any

import typer

from improvable.cli import options as o
from improvable.cli.audit import refuse_options_beside_protocol, settings_of_options, settings_of_protocol
from improvable.cli.output import say, warn
from improvable.cli.panels import of_data
from improvable.cli.settings import with_settings


@with_settings("audit")
def check(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(metavar="DATA|PROTOCOL.toml", help=f"{o.DATA_FILE}; or a protocol."),
    ],
    data: Annotated[str | None, of_data(metavar="FILE", help="With a protocol: the data.")] = None,
    *,
    asked: dict[str, Any],
    candidates: o.Candidates = None,
    jobs: o.Jobs = -1,
    json: o.Json = None,
) -> int:
    """Look at the data before an audit: what is read and how, what is left out and why, and what looks wrong.

    Takes the options of an audit and tests nothing: no rule is fitted, and nothing is recorded in the ledger. Every
    audit takes the same look.

    A feature that determines the outcome or the group is refused. Warnings name features that nearly do, an outcome
    that may be the wrong way around, ids that repeat, and values that look like mistakes.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable check patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --exclude '*_t'
    """
    from pathlib import Path

    from improvable.data.files import write_whole
    from improvable.procedure.preparing import prepare_audit
    from improvable.report.layout import page_width
    from improvable.report.people import look_text
    from improvable.showing import json_text

    o.check_writable(json)
    if source.endswith(".toml"):
        refuse_options_beside_protocol(context)
        settings, _, file = settings_of_protocol(source, data)
    else:
        settings, file = settings_of_options(asked, candidates, data), source
    ready = prepare_audit(file, settings, n_jobs=jobs)
    for caution in ready.cautions:
        warn(caution.text)
    facts = {**ready.look.facts, "warnings": [caution.text for caution in ready.cautions]}
    document = json_text(facts)
    if json == "-":
        say(document)
        return 0
    if json is not None:
        write_whole(Path(json), f"{document}\n".encode())
    say(look_text(ready.look.facts, page_width()))
    return 0
