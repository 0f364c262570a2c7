"""`improvable replicate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from improvable.cli import options as o
from improvable.cli.output import quietly


def replicate(
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The published data, or its held-out third.", show_default="simulated"),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where everything is kept; run again to resume.")
    ] = "replication",
    fast: Annotated[
        bool, typer.Option("--fast", help="Fewer splits, draws, trees and repetitions: about a minute.")
    ] = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
) -> int:
    """Rerun the paper's application and simulation, and write our numbers beside the published ones.

    Section 6 and Appendix H: linear, LASSO and forest rules, conditions of the following and of the same year, the
    frontier of Figure 3, accuracy measured by cost. Appendix E: power curves. The tests use the paper's gap statistic,
    with ours beside it. The published data set is data/data_new.csv of labsysmed/dissecting-bias on GitHub; without
    it, the simulated program is used.

    Example:

    \b
      improvable replicate --fast
      improvable replicate --data data_new.csv --out replication-full
    """
    from improvable.data.files import make_folder
    from improvable.procedure.parallel import worker_count
    from improvable.report.text import paragraph
    from improvable.studies.replication.document import rows_table, write_documents
    from improvable.studies.replication.power import curve_rows_beside_paper, kept_appendix_e
    from improvable.studies.replication.source import read_study, simulated
    from improvable.studies.replication.study import FAST, Effort, run_study

    effort = FAST if fast else Effort()
    study = simulated(effort.rows, seed) if data is None else read_study(data)
    folder = Path(out)
    make_folder(folder)
    typer.echo(paragraph(study.words) + "\n")

    def announce(name: str) -> None:
        typer.echo(f"running {name}", err=True)

    sections = []
    results = run_study(study, effort, folder, seed, jobs, announce)
    while (section := quietly(lambda: next(results, None))) is not None:
        sections.append(section)
        for text in section.result.warnings:
            typer.echo(f"warning: {section.name}: {text}", err=True)
        typer.echo(f"{section.title}\n{rows_table(section.rows)}\n")
        sys.stdout.flush()
    announce("Appendix E")
    curves = kept_appendix_e(effort, folder, seed, worker_count(jobs))
    beside = curve_rows_beside_paper(curves)
    typer.echo(f"Appendix E: power of the fairness test\n{rows_table(beside)}\n")
    written = write_documents(folder, study.words, effort, sections, curves, beside)
    typer.echo(paragraph(f"Wrote {', '.join(path.name for path in written)} to {folder}."))
    if study.covariates:
        typer.echo(f"Next: improvable frontier {folder}/next_year-forest")
    return 0
