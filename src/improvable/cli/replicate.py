"""`improvable replicate`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from improvable.cli import options as o
from improvable.cli.output import quietly, say, warn


def replicate(
    data: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The published data, or its held-out third.", show_default="simulated"),
    ] = None,
    out: Annotated[
        str, typer.Option(metavar="FOLDER", help="Where everything is kept; run again to resume.")
    ] = "replication",
    fast: Annotated[bool, typer.Option("--fast", help="Fewer draws, trees and simulations: about a minute.")] = False,
    target: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column that the second rule of Appendix H.3 predicts.")
    ] = "cost_t",
    seed: o.Seed = 0,
    jobs: o.Jobs = -1,
) -> int:
    """Rerun the paper's application and simulation, and write our numbers beside the published ones.

    Section 5: the bound on the splits, and the game. Section 6 and Appendix H: linear, LASSO and forest rules,
    conditions of the following and of the same year, every split's row, the frontier of Figure 3, accuracy measured by
    cost, and a rule trained on cost. Appendix E: power curves. The tests use the paper's splits (--scheme split) and
    its gap statistic, with our statistic beside it. The published data set is data/data_new.csv of
    labsysmed/dissecting-bias on GitHub; without it, the simulated program is used, and no verdict is compared.

    Example:

    \b
      improvable replicate --fast
      improvable replicate --data data_new.csv --out replication-full
    """
    from improvable.data.files import make_folder
    from improvable.procedure.parallel import worker_count
    from improvable.report.layout import paragraph
    from improvable.studies.replication import study as studies
    from improvable.studies.replication.document import (
        Replication,
        main_result,
        rows_table,
        section_text,
        write_documents,
    )
    from improvable.studies.replication.manipulation import manipulation_rows
    from improvable.studies.replication.power import calibration_rows, curve_rows_beside_paper, kept_appendix_e
    from improvable.studies.replication.source import read_study, simulated

    def announce(name: str) -> None:
        say(f"running {name}", err=True)

    effort = studies.FAST if fast else studies.Effort()
    study = simulated(effort.rows, seed) if data is None else read_study(data)
    studies.check_target(study, target)
    folder = Path(out)
    make_folder(folder)
    say(paragraph(study.words) + "\n")
    manipulation = manipulation_rows()
    say(f"Section 5: manipulation\n{rows_table(manipulation)}\n")
    sections = []
    results = studies.run_study(studies.Run(study, effort, folder, seed, jobs, target, announce))
    while (section := quietly(lambda: next(results, None))) is not None:
        sections.append(section)
        for text in section.result.warnings:
            warn(f"{section.name}: {text}")
        say(f"{section_text(section)}\n")
        sys.stdout.flush()
    announce("Appendix E")
    curves = kept_appendix_e(effort, folder, seed, worker_count(jobs))
    power = [*calibration_rows(main_result(sections)), *curve_rows_beside_paper(curves)]
    say(f"Appendix E: power of the fairness test\n{rows_table(power)}\n")
    written = write_documents(folder, Replication(study.words, effort, sections, manipulation, power, curves))
    say(paragraph(f"Wrote {', '.join(path.name for path in written)} to {folder}. Every split is in the first."))
    if study.covariates:
        say(f"Next: improvable frontier {folder}/next_year-forest")
    return 0
