"""`improvable audit`, and `improvable check`, which takes the same options and runs
nothing.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from improvable._text import shown
from improvable.algorithms.serialize import export_algorithm
from improvable.cli import options as o
from improvable.cli import output
from improvable.data.engines import as_engine
from improvable.data.io.csv import format_of
from improvable.errors import OptionError
from improvable.procedure.parallel import LOOKING, announced, worker_count
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.run import run_prepared
from improvable.question.challenge import parse_source
from improvable.question.options import check_number
from improvable.question.protocol import declare, digest_of
from improvable.question.settings import SETTINGS, STATUS_QUO_KEYS, Settings
from improvable.report.text import look_text, paragraph, table
from improvable.results.audit import check_rows_path
from improvable.results.storage import read_provenance, write_provenance
from improvable.trust.ledger import now, open_recorder, reading_facts
from improvable.trust.seal import check_seal, read_protocol, settings_of
from improvable.trust.verification import read_facts

if TYPE_CHECKING:
    from improvable.results.audit import Audit
    from improvable.results.storage import Provenance
    from improvable.trust.seal import Seal

DECLARED = {*SETTINGS, *STATUS_QUO_KEYS, o.NO_WORSE} - {"challenge"}
"""Options that cannot be given beside a protocol, which declares all of this."""


@o.with_settings("audit")
def audit(
    context: typer.Context,
    source: o.Source,
    data: o.ProtocolData = None,
    *,
    asked: dict[str, Any],
    jobs: o.Jobs = -1,
    out: str | None = o.of_output(
        None,
        metavar="FOLDER",
        help="Keep finished repetitions in this folder; run again to resume.",
    ),
    export: str | None = o.of_output(
        None,
        metavar="FILE",
        help="Write what the rule selects on all rows, as a skops file.",
    ),
    export_rows: str | None = o.of_output(
        None,
        metavar="FILE",
        help=(
            "Write every row's block and both decisions, in every repetition: .csv or "
            ".parquet."
        ),
    ),
    ledger: o.Ledger = None,
    report: o.Report = None,
    table: o.Table = None,
    json: o.Json = None,
    exit_code: o.ExitCode = False,
    against: o.Against = None,
    moved_by: o.MovedBy = 0.05,
    verbose: o.Verbose = False,
    quiet: o.Quiet = False,
) -> int:
    """Look for a better algorithm, and test it on rows it has not seen.

    Each of several repetitions puts the rows into a random order and cuts it into
    blocks. The first block only teaches; each later one is tested by what the rule
    learned from all rows before it. With --scheme split, as in the paper, one half of
    the rows teaches and the other is tested. Every run leaves a line in DATA.ledger,
    beside the data.

    The status quo selects the top share of a score (--score and --capacity), scores
    above a fixed cutoff (--score and --above), or is a column of 0/1 decisions
    (--decision). A candidate may read all columns but groups, outcomes, the status
    quo's own, and names or ids; * in --features and --exclude stands for anything.

    {rules}

    The default is aim, which predicts and weighs every condition of the claim;
    aim:boosting learns with boosted trees. linear_program finds a line, :fairest
    or :most_accurate:GROUP. tournament:linear,lasso lets rules compete inside the
    training rows; tournament alone lets linear, lasso, boosting and aim.

    {utilities}

    Example: a hospital selects the 3% of patients with the highest risk score. Could it
    reach sicker patients in both groups, and more evenly?

    \b
      {audit}

    Women and men must gain too, the gap must shrink in two respects, and a long run can
    resume:

    \b
      improvable audit patients.csv --outcome gagne_sum_t --group race,dem_female \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' \\
          --fairness calibration,selection_rate --out run

    Declare an audit first, then run it as declared:

    \b
      improvable init care.toml --data patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t'
      improvable seal care.toml --data patients.csv --challenge 9f2c41d07be35a68
      improvable audit care.toml --data patients.csv --out care-run --report care.html

    Run it again whenever the model or the data change, and hear what changed. The exit
    status is 1 where the verdict is another or a kind of caution appeared or went,
    whatever the verdict is; otherwise 0. A p-value that moved beyond the Monte Carlo
    error of its draws, estimates that moved by more than --moved-by, other data,
    another order of rows and other versions are listed, and do not fail. A result of
    another protocol is refused (2), before anything runs:

    \b
      improvable audit care.toml --data patients.csv --json care.json
      improvable audit care.toml --data rescored.csv --against care.json
    """  # noqa: E501
    # a folder that the run will make
    if out is None or export is None or Path(export).parent != Path(out):
        output.check_outputs(export)
    output.check_outputs(json, report=report, table=table, verbose=verbose, quiet=quiet)
    if export_rows is not None:
        check_rows_path(export_rows)
    settings, seal, file = settings_from(context, source, data, asked)
    earlier = (
        None
        if against is None
        else read_earlier(against, settings, exit_code, moved_by)
    )
    if settings.challenge_source is not None and settings.challenge is not None:
        promised = parse_source(settings.challenge_source)
        if now() < promised.due:
            output.warn(
                f"the challenge is {promised.words}, which nobody can know yet. The "
                "ledger and improvable verify will say that this run is out of order."
            )
    result, made = run_recorded(settings, seal, file, jobs, out, ledger)
    if export is not None:
        export_algorithm(result.refit(), export)
    if export_rows is not None:
        result.export_rows(export_rows)
    output.write_documents(result, report, table, made)
    status = output.show(
        result, json, exit_code, made.runs or "", verbose=verbose, quiet=quiet
    )
    return (
        status
        if earlier is None
        else show_changes(result, earlier, str(against), moved_by, err=json == "-")
    )


def read_earlier(
    path: str, settings: Settings, exit_code: bool, moved_by: float
) -> "dict[str, Any]":
    """The result that --against names; refused where this run cannot be compared with
    it.
    """
    from improvable.results.changes import check_comparable

    if exit_code:
        raise OptionError(
            "--against and --exit-code both decide the exit status.",
            "Give one of them.",
        )
    check_number("--moved-by", moved_by, 0, float("inf"))
    earlier, declared = read_facts(path), declare(settings)
    check_comparable(earlier, None if declared is None else digest_of(declared), path)
    return earlier


def show_changes(
    result: "Audit", earlier: dict[str, Any], path: str, moved_by: float, err: bool
) -> int:
    """Say what changed since an earlier result; the exit status."""
    from improvable.results.changes import changes

    found = changes(earlier, result.facts, moved_by)
    limits = (
        f"p beyond the error of its draws, estimates by more than {100 * moved_by:g}%"
    )
    if not found:
        output.say(
            f"\n{paragraph(f'Against {path}: nothing changed ({limits}).')}", err=err
        )
        return 0
    failed = sum(one.fails for one in found)
    told = (
        "the verdict or cautions changed"
        if failed
        else "the verdict and the cautions are as they were"
    )
    output.say(
        f"\n{paragraph(f'Against {path}: {told}. Listed: {limits}.')}\n", err=err
    )
    rows = [
        [
            shown(one.what),
            shown(one.before),
            shown(one.now),
            "CHANGED" if one.fails else "",
        ]
        for one in found
    ]
    output.say(table(["", "before", "now", ""], rows), err=err)
    return 1 if failed else 0


def run_recorded(
    settings: Settings,
    seal: "Seal | None",
    file: str,
    jobs: int,
    out: str | None,
    ledger: str | None,
) -> "tuple[Audit, Provenance]":
    """Run an audit and record it in the ledger; the result, and its provenance, which a
    run folder keeps.
    """
    with announced(LOOKING):
        rows = as_engine(file, settings.engine, worker_count(jobs), format_of(settings))
        ready = prepare_audit(rows, settings, n_jobs=jobs)
    if seal is not None:
        check_seal(seal, ready)
    declared = declare(settings)
    recorder = open_recorder(rows, file, ledger)
    here = output.made_here(file)
    facts = {
        "protocol": None if declared is None else digest_of(declared),
        "challenge": settings.challenge,
        "challenge_source": settings.challenge_source,
        "seal": settings.seal,
        "rule_source": ready.rule_source,
        "seed": ready.seed,
        "command": here.command,
        "file": here.data,
        **reading_facts(format_of(settings)),
    }

    def work(begun: Callable[[bool], None]) -> "Audit":
        return output.quietly(
            lambda: run_prepared(ready, n_jobs=jobs, run_folder=out, begun=begun)
        )

    known = recorder.knows(out)
    kept = read_provenance(Path(out)) if known and out is not None else None
    result, runs = (
        (work(lambda _: None), known) if known else recorder.run("audit", facts, work)
    )
    made = kept or replace(here, runs=runs or None)
    if out is not None and kept is None:
        write_provenance(Path(out), made)
    return result, made


def settings_from(
    context: typer.Context, source: str, data: str | None, asked: dict[str, Any]
) -> "tuple[Settings, Seal | None, str]":
    """What the options ask or a protocol declares, the seal beside the protocol if any,
    and the data file.
    """
    if source.endswith(".toml"):
        for option in context.command.params:
            origin = context.get_parameter_source(option.name or "")
            if (
                option.name in DECLARED
                and origin is not None
                and origin.name == "COMMANDLINE"
            ):
                raise OptionError(
                    f"{option.opts[0]} is given beside a protocol.",
                    (
                        "Everything that can change the result is in the protocol; "
                        "change it there, before you seal it."
                    ),
                )
        if data is None:
            raise OptionError(
                "a protocol needs data.", f"improvable audit {source} --data FILE."
            )
        output.warn_of_code(read_protocol(source))
        return (*settings_of(source, asked.get("challenge")), data)
    if data is not None:
        raise OptionError(
            "--data goes with a protocol.",
            "Write improvable audit DATA, or audit PROTOCOL.toml --data.",
        )
    if "outcome" not in asked or not {"group", "probabilities"} & asked.keys():
        raise OptionError(
            "an audit needs --outcome and --group.",
            "Give both, or a protocol (improvable init).",
        )
    return Settings(**o.completed(asked)), None, source


@o.with_settings("audit")
def check(
    context: typer.Context,
    source: o.Source,
    data: o.ProtocolData = None,
    *,
    asked: dict[str, Any],
    jobs: o.Jobs = -1,
    json: o.Json = None,
) -> int:
    """Look at the data before an audit, and say what looks wrong.

    It says what is read and how, and what is left out and why. It takes the options of
    an audit and tests nothing: no rule is fitted, and nothing is recorded in the
    ledger. Every audit takes the same look.

    A feature that determines the outcome or the group is refused. Warnings name
    features that nearly do, an outcome that may be the wrong way around, ids that
    repeat, and values that look like mistakes.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable check patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --exclude '*_t'
    """
    output.check_outputs(json)
    settings, _, file = settings_from(context, source, data, asked)
    ready = prepare_audit(file, settings, n_jobs=jobs)
    cautions = [caution.text for caution in ready.cautions]
    for text in cautions:
        output.warn(text)
    if not output.put_json({**ready.look.facts, "warnings": cautions}, json):
        output.say(look_text(ready.look.facts))
    return 0
