"""`improvable demo`."""

from pathlib import Path
from typing import Annotated

import typer

from improvable.cli import options as o
from improvable.cli.output import check_documents, quietly, write_documents

ROWS, QUICK_ROWS = 48_784, 16_000


def demo(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows and draws: a few seconds.")] = False,
    write: Annotated[
        str | None, typer.Option(metavar="FILE", help="Only write the simulated data, CSV or Parquet.")
    ] = None,
    report: o.Report = None,
    seed: o.Seed = 0,
) -> int:
    """Simulate a hospital's care program, audit its algorithm, and explain the answer.

    Example:

    \b
      improvable demo
      improvable demo --write patients.csv
    """
    check_documents(report, None)
    rows = QUICK_ROWS if quick else ROWS
    if write is not None:
        return _write(write, rows, seed)
    import improvable
    from improvable.report.text import paragraph

    people = improvable.datasets.care_management(rows, seed=seed)
    typer.echo(
        paragraph(
            f"SIMULATED data: {rows:,} patients of a care program. The hospital enrolls the 3% with the highest risk "
            "score, and the score tracks cost. Accuracy is how many conditions the enrolled have in the following "
            "year. Could the hospital reach sicker patients in both groups, and more evenly?"
        )
        + "\n"
    )
    result = quietly(
        lambda: improvable.audit(
            people,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=0.03),
            rule="linear",
            features=improvable.datasets.CARE_MANAGEMENT_COVARIATES,
            draws=2_000 if quick else 10_000,
            seed=seed,
            n_jobs=-1,
            system="the care score",
            simulated=True,
        )
    )
    write_documents(result, report, None)
    typer.echo(result.summary())
    typer.echo(
        "\nNext, on a file of your own (here the simulated one):\n"
        "  improvable demo --write patients.csv\n"
        "  improvable audit patients.csv --outcome gagne_sum_t --group race \\\n"
        "      --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run\n"
        "  improvable frontier run"
    )
    return 0


def _write(file: str, rows: int, seed: int) -> int:
    from improvable.datasets import care_management
    from improvable.errors import OptionError

    o.check_writable(file)
    people = care_management(rows, seed=seed)
    path = Path(file)
    if path.suffix == ".csv":
        people.write_csv(path)
    elif path.suffix == ".parquet":
        people.write_parquet(path)
    else:
        raise OptionError(f"'{file}' is not a kind of file we write.", "Write to a file that ends in .csv or .parquet.")
    typer.echo(f"Wrote {rows:,} simulated patients to {path}.", err=True)
    return 0
