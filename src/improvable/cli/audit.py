"""`improvable audit`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli import options as o
from improvable.cli.output import check_documents, quietly, show, warn_of_code, write_documents
from improvable.errors import OptionError
from improvable.trust.recording import open_recorder

if TYPE_CHECKING:
    from improvable.question.settings import Settings


def audit(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(metavar="DATA|PROTOCOL.toml", help="A CSV or Parquet file, one row per person; or a protocol."),
    ],
    data: Annotated[str | None, typer.Option(metavar="FILE", help="With a protocol: the data.")] = None,
    outcome: o.OptionalOutcome = None,
    group: o.OptionalGroup = None,
    score: o.Score = None,
    capacity: o.Capacity = None,
    above: o.Above = None,
    decision: o.Decision = None,
    rule: Annotated[str, typer.Option(help="How a candidate is found: a name as above, or module:object.")] = "forest",
    candidates: o.Candidates = None,
    features: o.Features = None,
    exclude: o.Exclude = None,
    monotone: o.Monotone = None,
    max_selection_gap: o.MaxSelectionGap = None,
    allow_group: o.AllowGroup = False,
    target: o.Target = None,
    accuracy: o.Accuracy = "calibration",
    fairness: o.Fairness = None,
    delta_accuracy: o.DeltaAccuracy = "0",
    delta_fairness: o.DeltaFairness = 0.0,
    form: o.Form = "ratio",
    gap: o.Gap = "signed",
    protected: o.Protected = None,
    overall: o.Overall = None,
    groups: o.Groups = None,
    cross: o.Cross = False,
    min_group: o.MinGroup = 0,
    small: o.Small = "refuse",
    weight: o.Weight = None,
    cluster: o.Cluster = None,
    splits: o.Splits = 7,
    combine: Annotated[
        str, typer.Option(help="How splits decide: median, running_median, or sequential (as many as it takes).")
    ] = "median",
    tolerance: Annotated[
        float, typer.Option(help="With sequential: the chance that a fresh run decides otherwise.")
    ] = 0.01,
    most_splits: Annotated[int, typer.Option(help="With sequential: no more splits than this.")] = 101,
    train_fraction: o.TrainFraction = 0.5,
    draws: o.Draws = 10_000,
    alpha: o.Alpha = 0.05,
    seed: o.Seed = 0,
    challenge: Annotated[
        str | None, typer.Option(help="Instead of a seed: a text that the other side chose; see improvable seal.")
    ] = None,
    jobs: o.Jobs = None,
    drop_missing: o.DropMissing = False,
    method: o.Method = None,
    engine: o.Engine = None,
    train_rows: Annotated[
        int | None, typer.Option(help="With an engine: most rows a rule learns from.", show_default="100000")
    ] = None,
    row_id: Annotated[str | None, typer.Option(help="With an engine: column that differs in every row.")] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Keep finished splits there; run again to go on after a stop.")
    ] = None,
    export: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the rule's choice on all rows, with skops.")
    ] = None,
    write_protocol: Annotated[
        str | None, typer.Option(metavar="FILE", help="Only write these options as a protocol, .toml; run nothing.")
    ] = None,
    ledger: o.Ledger = None,
    report: o.Report = None,
    table: o.Table = None,
    json: o.Json = None,
    exit_code: o.ExitCode = False,
) -> int:
    """Let a rule look for a better algorithm on part of the rows, and test what it finds on the rest.

    The status quo is a score of which the top share is selected (--score and --capacity), a score with a fixed
    cutoff (--score and --above), or a column of 0/1 decisions (--decision). A candidate may read all columns but
    groups, outcomes, the status quo's own, and names or ids; * in --features and --exclude stands for anything.

    Rules: linear, lasso, forest, boosting and logistic predict the target and select the highest; ridge:10 with a
    strength; linear_search and linear_program look for an improving linear classifier itself (:balanced, :fairest or
    :most_accurate:GROUP); reductions:exponentiated_gradient, :grid_search and :threshold_optimizer are Fairlearn's;
    drop:cost_*:linear without some features; blend:0.5:linear mixed with the status quo's score;
    tournament:linear,boosting or --candidates let several compete inside the training rows.

    Utilities: calibration is the mean outcome among the selected; for 0/1 outcomes classification_rate,
    true_positive_rate, true_negative_rate, positive_predictive_value and others; selection_rate and profit. An unknown
    name lists them all.

    Example: a hospital selects the 3% of patients with the highest risk score. Could it reach sicker patients in
    both groups, and more evenly?

    \b
      improvable demo --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t'

    Women and men must gain too, the gap must shrink in two respects, and a long run should survive a stop:

    \b
      improvable audit patients.csv --outcome gagne_sum_t --group race,dem_female \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' \\
          --fairness calibration,selection_rate --out run

    To declare an audit before it is run, and run it as declared:

    \b
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --write-protocol care.toml
      improvable seal care.toml --data patients.csv --challenge 'docket 24-1234'
      improvable audit care.toml --data patients.csv --out care-run --report care.html
    """
    from improvable.algorithms.exchange import export_algorithm
    from improvable.data.engines import as_engine
    from improvable.procedure.parallel import worker_count
    from improvable.procedure.preparing import prepare_audit
    from improvable.procedure.running import run_prepared
    from improvable.question.declaration import declare, digest_of
    from improvable.question.settings import Settings
    from improvable.trust.files import read_protocol
    from improvable.trust.seal import check_seal, settings_of

    for path in (json, export, write_protocol):
        o.check_writable(path)
    check_documents(report, table)
    file, seal = data or source, None
    if source.endswith(".toml"):
        refuse_options_beside_protocol(context)
        if data is None:
            raise OptionError("a protocol needs data.", f"improvable audit {source} --data FILE.")
        warn_of_code(read_protocol(source))
        settings, seal = settings_of(source)
    else:
        if data is not None:
            raise OptionError(
                "--data goes with a protocol.", "Write improvable audit DATA, or audit PROTOCOL.toml --data."
            )
        if outcome is None or group is None:
            raise OptionError("--outcome and --group say what is asked.", "Give both, or a protocol (improvable init).")
        settings = Settings(
            outcome=outcome,
            group=o.parse_names(group),
            status_quo=status_quo_from(score, capacity, above, decision),
            rule=rule if candidates is None else f"tournament:{','.join(o.parse_names(candidates))}",
            features=o.parse_names(features) or None,
            exclude=o.parse_names(exclude),
            target=target,
            accuracy=o.parse_names(accuracy),
            fairness=o.parse_names(fairness) or None,
            delta_accuracy=o.parse_delta(delta_accuracy),
            delta_fairness=delta_fairness,
            form=form,
            gap=gap,
            protected=o.parse_names(protected) or None,
            overall=o.parse_overall(overall),
            groups=o.parse_names(groups) or None,
            cross=cross,
            min_group=min_group,
            small=small,
            weight=weight,
            cluster=cluster,
            splits=splits,
            combine=combine,
            tolerance=tolerance,
            most_splits=most_splits,
            train_fraction=train_fraction,
            draws=draws,
            alpha=alpha,
            capacity=capacity,
            monotone=o.parse_monotone(monotone),
            selection_gap=max_selection_gap,
            group_blind=not allow_group,
            seed=seed,
            challenge=challenge,
            drop_missing=drop_missing,
            method=method,
            engine=engine,
            train_rows=train_rows,
            row_id=row_id,
        )
    if write_protocol is not None:
        return write_declared(settings, file, write_protocol)
    rows = as_engine(file, settings.engine, worker_count(jobs))
    ready = prepare_audit(rows, settings, n_jobs=jobs)
    if seal is not None:
        check_seal(seal, ready)
    declared = declare(settings)
    facts = {
        "protocol": None if declared is None else digest_of(declared),
        "challenge": settings.challenge,
        "seed": ready.seed,
    }
    recorder = open_recorder(rows, file, ledger)
    known = recorder.knows(out)

    def begun(resumed: bool) -> None:
        if known is None:
            recorder.begin("audit", facts | ({"resumed": True} if resumed else {}))

    result = quietly(lambda: run_prepared(ready, n_jobs=jobs, run_folder=out, begun=begun))
    runs = recorder.finish("audit", result) if known is None else f"This run was finished before: line {known}."
    if export is not None:
        export_algorithm(result.substitute(), export)
    write_documents(result, report, table, runs)
    return show(result, json, exit_code, runs)


def refuse_options_beside_protocol(context: typer.Context) -> None:
    """What a protocol declares cannot be said again beside it."""
    free = {"source", "data", "out", "export", "report", "table", "json", "exit_code", "jobs", "ledger"}
    for name in context.params:
        origin = context.get_parameter_source(name)
        if name not in free and origin is not None and origin.name == "COMMANDLINE":
            raise OptionError(
                f"--{name.replace('_', '-')} is given beside a protocol.",
                "Everything that can change the result stands in the protocol; change it there, before it is sealed.",
            )


def write_declared(settings: "Settings", data: str, path: str) -> int:
    """Write the protocol that the options amount to, without running it."""
    from improvable.procedure.preparing import prepare_audit
    from improvable.question.declaration import declare
    from improvable.trust.files import write_protocol

    prepare_audit(data, settings)
    declared = declare(settings)
    assert declared is not None, "options of the command line are names"
    if settings.seed == 0:
        declared["test"].pop("seed", None)
    write_protocol(declared, path)
    typer.echo(f"Wrote {path}.\nNext: improvable seal {path} --data {data} --challenge 'what the other side chooses'")
    return 0


def status_quo_from(score: str | None, capacity: float | None, above: float | None, decision: str | None) -> Any:
    """The status quo that the options describe."""
    from improvable import threshold

    if (score is None) == (decision is None):
        raise OptionError(
            "the status quo is a score or a column of decisions.",
            "Give --score S --capacity 0.03, --score S --above 4, or --decision D.",
        )
    if decision is not None:
        if above is not None:
            raise OptionError("--above goes with --score.", "A column of decisions needs no cutoff.")
        return decision
    if above is not None:
        return threshold(score, above=above)
    if capacity is None:
        raise OptionError("--score needs --capacity or --above.", "For example --capacity 0.03 selects the top 3%.")
    return threshold(score, capacity=capacity)
