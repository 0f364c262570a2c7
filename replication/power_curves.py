"""Appendix E's power curves, kept in the folder of a replication, beside what the paper
says about them.
"""

from dataclasses import asdict
from pathlib import Path

from improvable.data.io.safe import write_whole
from improvable.errors import OptionError
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.storage import FORMAT, as_json, read_json
from replication.appendix_e import (
    COVARIANCE,
    ETAS,
    MEAN_GAP,
    SIZES,
    GapRejections,
    appendix_e,
)
from replication.gap_process import gap_process
from replication.study import Effort
from replication.tables import Row


def kept_appendix_e(
    effort: Effort, folder: Path, seed: int, workers: int
) -> list[GapRejections]:
    """Simulate the curves, or read them where the same simulation was done before."""
    place = folder / "appendix-e.json"
    identity = {
        "simulations": effort.simulations,
        "draws": effort.simulation_draws,
        "seed": seed,
    }
    if place.exists():
        plain = read_json(place)
        if plain["simulation"] == identity:
            return [GapRejections(**one) for one in plain["results"]]
    etas = sorted({*ETAS, MEAN_GAP})
    results = appendix_e(
        etas,
        simulations=effort.simulations,
        draws=effort.simulation_draws,
        seed=seed,
        workers=workers,
    )
    plain = {
        "format": FORMAT,
        "simulation": identity,
        "results": [asdict(one) for one in results],
    }
    write_whole(place, as_json(plain))
    return results


def curve_rows_beside_paper(results: list[GapRejections]) -> list[Row]:
    """What the paper says about its curves, and what ours show: level at equal gaps,
    dip at perfect fairness.
    """
    rows = []
    for size in SIZES:
        curve = {one.eta: one for one in results if one.size == size}
        level, fair, best = (
            curve[MEAN_GAP],
            curve[0.0],
            max(curve.values(), key=lambda one: one.absolute),
        )
        rows.append(
            Row(
                f"n = {size}: rejections where the gaps are equal (eta = {MEAN_GAP:g})",
                "at most 0.05",
                (
                    f"{level.absolute:.3f}, signed {level.signed:.3f} (error "
                    f"{level.error('absolute'):.3f})"
                ),
            )
        )
        rows.append(
            Row(
                f"n = {size}: power lost toward perfect fairness (eta = 0)",
                "none" if size == max(SIZES) else "a slight dip",
                f"{best.absolute:.3f} to {fair.absolute:.3f}, signed {fair.signed:.3f} "
                f"(error {fair.error('absolute'):.3f})",
            )
        )
    return rows


def calibration_rows(result: Audit | Comparison) -> list[Row]:
    """Gamma calibrated from our own median split, as Appendix E does, beside the
    paper's.
    """
    try:
        process = gap_process(result)
    except OptionError as error:
        return [Row("mean of Gamma_0", f"{MEAN_GAP:g}", f"none: {error}")]
    where = (
        f"our median split: {process.repetition}"
        if isinstance(result, Audit)
        else "the held-out third"
    )
    letter, own = process.scaled("known"), process.scaled("estimated")
    return [
        Row(
            f"mean of Gamma_0 ({where})",
            f"{MEAN_GAP:g}",
            f"{process.status_quo:.2f}",
            f"{process.status_quo - MEAN_GAP:+.2f}",
        ),
        *(
            Row(
                f"{words}, scaled to a variance of 10 for Gamma_0",
                f"{COVARIANCE[i][1]:g}",
                (
                    f"{letter[i, 1]:.2f} (error {process.error * letter[i, 1]:.2f}; "
                    f"theta estimated: {own[i, 1]:.2f})"
                ),
                f"{letter[i, 1] - COVARIANCE[i][1]:+.2f}",
            )
            for i, words in enumerate(
                ("covariance of Gamma_0 and Gamma_1", "variance of Gamma_1")
            )
        ),
    ]
