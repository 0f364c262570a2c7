"""Rerun the paper's application and simulation, and write our numbers beside the
published ones.

Section 5: the bound on the splits, and the game. Section 6 and Appendix H: linear,
LASSO and forest rules, conditions of the following and of the same year, every split's
row, the frontier of Figure 3, accuracy measured by cost, and a rule trained on cost.
Appendix E: power curves. The tests use the paper's splits and its gap statistic, with
our statistic beside it. The published data set is data/data_new.csv of
labsysmed/dissecting-bias on GitHub; without it, the simulated program is used, and no
verdict is compared.
"""

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from improvable._text import shown
from improvable.data.io.safe import make_folder
from improvable.errors import ImprovableError, ImprovableWarning
from improvable.procedure.parallel import worker_count
from improvable.report.text import paragraph
from replication import study as studies
from replication.document import (
    Replication,
    main_result,
    rows_table,
    section_text,
    write_documents,
)
from replication.manipulation import manipulation_rows
from replication.power_curves import (
    calibration_rows,
    curve_rows_beside_paper,
    kept_appendix_e,
)
from replication.source import read_study, simulated


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the replication; what goes wrong is one line on standard error and exit
    status 2.
    """
    parser = argparse.ArgumentParser(
        "replication",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="the published data, or its held-out third (default: simulated)",
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        default="build/replication",
        help="where everything is kept; run again to resume",
    )
    parser.add_argument(
        "--fast",
        action="store_true",
        help="fewer draws, trees and simulations: about a minute",
    )
    parser.add_argument(
        "--target",
        default="cost_t",
        help="column that the second rule of Appendix H.3 predicts",
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--jobs", type=int, default=-1, help="workers; -1 for all cores"
    )
    asked = parser.parse_args(arguments)
    try:
        with warnings.catch_warnings():
            # a section's warnings are printed after it, once
            warnings.simplefilter("ignore", ImprovableWarning)
            replicate(
                asked.data,
                Path(asked.out),
                asked.fast,
                asked.target,
                asked.seed,
                asked.jobs,
            )
    except ImprovableError as error:
        print(f"replication: {shown(str(error))}", file=sys.stderr)
        return 2
    return 0


def replicate(
    data: str | None, folder: Path, fast: bool, target: str, seed: int, jobs: int
) -> None:
    """Run every section, print it as soon as it is done, and write the documents."""
    effort = studies.FAST if fast else studies.Effort()
    study = simulated(effort.rows, seed) if data is None else read_study(data)
    studies.check_target(study, target)
    make_folder(folder)
    print(paragraph(study.words) + "\n")
    manipulation = manipulation_rows()
    print(f"Section 5: manipulation\n{rows_table(manipulation)}\n")
    sections = []
    for section in studies.run_study(
        studies.Run(study, effort, folder, seed, jobs, target, _announce)
    ):
        sections.append(section)
        for text in section.result.warnings:
            print(f"warning: {section.name}: {shown(text)}", file=sys.stderr)
        print(f"{section_text(section)}\n", flush=True)
    _announce("Appendix E")
    curves = kept_appendix_e(effort, folder, seed, worker_count(jobs))
    power = [*calibration_rows(main_result(sections)), *curve_rows_beside_paper(curves)]
    print(f"Appendix E: power of the fairness test\n{rows_table(power)}\n")
    written = write_documents(
        folder, Replication(study.words, effort, sections, manipulation, power, curves)
    )
    print(
        paragraph(
            f"Wrote {', '.join(path.name for path in written)} to {folder}. Every "
            "split is in the first."
        )
    )
    if study.covariates:
        print(f"Next: improvable frontier {folder}/next_year-forest")


def _announce(name: str) -> None:
    print(f"running {name}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
