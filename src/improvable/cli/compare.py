"""`improvable compare`."""

from dataclasses import replace
from typing import Any

from improvable.cli import options as o
from improvable.cli.output import (
    check_outputs,
    made_here,
    quietly,
    show,
    write_documents,
)
from improvable.data.engines import as_engine
from improvable.data.io.csv import format_of
from improvable.errors import OptionError
from improvable.procedure.compare import run_comparison
from improvable.procedure.parallel import worker_count
from improvable.question.settings import Settings
from improvable.trust.ledger import open_recorder, reading_facts


@o.with_settings("compare", required=True)
def compare(
    data: o.Data,
    *,
    status_quo: str | None = o.of_status_quo(
        None, metavar="COLUMN", help="Column with the status quo's decisions."
    ),
    candidate: str | None = o.of_status_quo(
        None, metavar="COLUMN", help="Column with the candidate's decisions."
    ),
    status_quo_score: str | None = o.of_status_quo(
        None, metavar="COLUMN", help="Column with the status quo's score."
    ),
    candidate_score: str | None = o.of_status_quo(
        None, metavar="COLUMN", help="Column with the candidate's score."
    ),
    capacity: float | None = o.of_status_quo(
        None, help="With scores: share of rows to select."
    ),
    asked: dict[str, Any],
    jobs: int | None = o.of_test(
        None, help="Threads that draw.", show_default="all cores"
    ),
    ledger: o.Ledger = None,
    report: o.Report = None,
    table: o.Table = None,
    json: o.Json = None,
    exit_code: o.ExitCode = False,
    verbose: o.Verbose = False,
    quiet: o.Quiet = False,
) -> int:
    """Test one candidate against the status quo.

    Use rows that neither was fitted on. Each algorithm is a column of decisions
    (--status-quo, --candidate), or selects the top share of a score
    (--status-quo-score, --candidate-score, with --capacity). Every run leaves a line in
    DATA.ledger, beside the data.

    {utilities}

    Example: would selecting by last year's conditions reach sicker patients, more
    evenly, than the risk score?

    \b
      improvable demo --simulated --write patients.csv
      improvable compare patients.csv --outcome gagne_sum_t --group race \\
          --status-quo-score risk_score_t --candidate-score gagne_sum_tm1 --capacity 0.03
    """  # noqa: E501
    check_outputs(json, report=report, table=table, verbose=verbose, quiet=quiet)
    before = algorithm_from("status-quo", status_quo, status_quo_score, capacity)
    after = algorithm_from("candidate", candidate, candidate_score, capacity)
    settings, made = Settings(status_quo=before, **asked), made_here(data)
    rows = as_engine(
        data,
        settings.engine,
        worker_count(-1 if jobs is None else jobs),
        format_of(settings),
    )
    result, runs = open_recorder(rows, data, ledger).run(
        "compare",
        {"seed": settings.seed, "command": made.command, "file": made.data}
        | reading_facts(format_of(settings)),
        lambda begun: quietly(
            lambda: run_comparison(
                rows, settings, after, n_jobs=jobs, begun=lambda: begun(False)
            )
        ),
    )
    write_documents(result, report, table, replace(made, runs=runs or None))
    return show(result, json, exit_code, runs, verbose=verbose, quiet=quiet)


def algorithm_from(
    name: str, decision: str | None, score: str | None, capacity: float | None
) -> Any:
    if (decision is None) == (score is None):
        raise OptionError(
            f"the {name} is a column of decisions or a score.",
            f"Give --{name} D, or --{name}-score S with --capacity.",
        )
    if decision is not None:
        return decision
    if capacity is None:
        raise OptionError(
            f"--{name}-score needs --capacity.",
            "For example --capacity 0.03 selects the top 3%.",
        )
    return {"score": score, "capacity": capacity}
