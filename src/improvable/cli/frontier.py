"""`improvable frontier`."""

import json as json_module
import math
from pathlib import Path
from typing import Annotated

import typer

from improvable.cli import options as o
from improvable.question.checks import check_choice
from improvable.question.kinds import parse_names
from improvable.question.settings import SETTINGS


def frontier(
    folder: Annotated[str, typer.Argument(metavar="RUN_FOLDER", help="A folder of improvable audit --out.")],
    form: Annotated[
        str | None,
        typer.Option(metavar="[ratio|difference]", help=SETTINGS["form"].help, show_default="as run"),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Another level.", show_default="as run")] = None,
    protected: o.Protected = None,
    json: o.Json = None,
) -> int:
    """Say how large an improvement a finished audit supports, without data and without running it again.

    Bounds use the signed statistic. The edge is a list of corners: with smaller deltas than a corner's, the null is
    rejected.

    Example:

    \b
      improvable demo --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run
      improvable frontier run
    """
    import improvable
    from improvable.data.files import write_whole
    from improvable.report.text import paragraph

    o.check_writable(json)
    if form is not None:
        check_choice("--form", form, SETTINGS["form"].choices)
    result = improvable.load(folder)
    changes = {"alpha": alpha, "protected": parse_names(protected) or None}
    result = result.reconsider(**{name: value for name, value in changes.items() if value is not None})
    found = result.frontier(form)
    facts = found.to_dict()
    if json is not None and json != "-":
        write_whole(Path(json), f"{json_module.dumps(facts, indent=2)}\n".encode())
    if json == "-":
        typer.echo(json_module.dumps(facts, indent=2))
        return 0
    for bound in facts["bounds"]:
        typer.echo(paragraph(bound["words"]))
    typer.echo(f"\nEdge at p = {found.level:g}, as accuracy and gap deltas ({found.form}):")
    for gap, corners in facts["edge"].items():
        shown = "  ".join(f"({_short(a)}, {_short(f)})" for a, f in corners) or "nothing is rejected"
        typer.echo(paragraph(f"{gap}: {shown}"))
    typer.echo(
        "\n"
        + paragraph(
            "The absolute edge is the paper's. It folds the gap at zero, and near perfect fairness claims more than "
            "the data allow; the signed edge does not."
        )
    )
    return 0


def _short(value: float | None) -> str:
    """Down to three digits: the edge itself is not rejected."""
    return "none" if value is None else f"{math.floor(value * 1000) / 1000:.3f}"
