"""`improvable check`."""

from typing import Any

import typer

from improvable.cli import options as o
from improvable.cli.audit import settings_from
from improvable.cli.output import put_json, say, warn


@o.with_settings("audit")
def check(
    context: typer.Context,
    source: o.Source,
    data: o.ProtocolData = None,
    *,
    asked: dict[str, Any],
    candidates: o.Candidates = None,
    jobs: o.Jobs = -1,
    json: o.Json = None,
) -> int:
    """Look at the data before an audit, and say what looks wrong.

    It says what is read and how, and what is left out and why. It takes the options of an audit and tests nothing: no
    rule is fitted, and nothing is recorded in the ledger. Every audit takes the same look.

    A feature that determines the outcome or the group is refused. Warnings name features that nearly do, an outcome
    that may be the wrong way around, ids that repeat, and values that look like mistakes.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable check patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --exclude '*_t'
    """
    from improvable.procedure.prepare import prepare_audit
    from improvable.report.text import look_text

    o.check_writable(json)
    settings, _, file = settings_from(context, source, data, asked, candidates)
    ready = prepare_audit(file, settings, n_jobs=jobs)
    cautions = [caution.text for caution in ready.cautions]
    for text in cautions:
        warn(text)
    if not put_json({**ready.look.facts, "warnings": cautions}, json):
        say(look_text(ready.look.facts))
    return 0
