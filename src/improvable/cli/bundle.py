"""`improvable bundle`."""

from typing import Annotated

import typer

from improvable.cli.options import check_writable
from improvable.cli.output import in_command, say


def bundle(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder of audit --out.")],
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where to write it.", show_default="RUN.bundle.json")
    ] = None,
    smallest: Annotated[int, typer.Option(help="Refuse cells of fewer rows than this.")] = 10,
    merge: Annotated[bool, typer.Option("--merge", help="Merge smaller cells; the p-values then change.")] = False,
) -> int:
    """Write what others need to recompute p-values without any row.

    A bundle has the protocol, the cells (distinct contributions of test rows to the utilities, and how many rows share
    each), the seed, and digests of the data and the run. improvable verify BUNDLE asks of the cells what the protocol
    asks, draws again and compares to the bit. That shows that the p-values follow from the cells. Only someone with the
    data can check that the cells follow from the data.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run
      improvable bundle run --merge
      improvable verify run.bundle.json
    """
    from improvable.question.checks import check_integer
    from improvable.trust.bundle import write_bundle

    check_writable(out)
    check_integer("--smallest", smallest, 1)
    place, merged = write_bundle(run, out, smallest, merge)
    say(f"Wrote {place}: {place.stat().st_size:,} bytes, no row. Check it: improvable verify {in_command(place)}")
    if merged:
        say(
            f"warning: {merged} cells of fewer than {smallest} rows were merged with others. Estimates stay; p-values "
            "are those of the merged cells, and tend to be too small. The run's own stand beside them.",
            err=True,
        )
    return 0
