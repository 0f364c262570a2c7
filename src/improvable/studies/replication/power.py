"""Appendix E's power curves, kept in the folder of a replication, beside what the paper says about them."""

from dataclasses import asdict
from pathlib import Path

from improvable.data.files import write_whole
from improvable.results.storage import FORMAT, as_json, read_json
from improvable.studies.power.appendix_e import ETAS, MEAN_GAP, SIZES, GapRejections, appendix_e
from improvable.studies.replication.study import Effort, Row


def kept_appendix_e(effort: Effort, folder: Path, seed: int, workers: int) -> list[GapRejections]:
    """Simulate the curves, or read them where the same simulation was done before."""
    place = folder / "appendix-e.json"
    identity = {"repetitions": effort.repetitions, "draws": effort.repetition_draws, "seed": seed}
    if place.exists():
        plain = read_json(place)
        if plain["simulation"] == identity:
            return [GapRejections(**one) for one in plain["results"]]
    etas = sorted({*ETAS, MEAN_GAP})
    results = appendix_e(
        etas, repetitions=effort.repetitions, draws=effort.repetition_draws, seed=seed, workers=workers
    )
    plain = {"format": FORMAT, "simulation": identity, "results": [asdict(one) for one in results]}
    write_whole(place, as_json(plain))
    return results


def curve_rows_beside_paper(results: list[GapRejections]) -> list[Row]:
    """What the paper says about its curves, and what ours show: level at equal gaps, dip at perfect fairness."""
    rows = []
    for size in SIZES:
        curve = {one.eta: one for one in results if one.size == size}
        level, fair, best = curve[MEAN_GAP], curve[0.0], max(curve.values(), key=lambda one: one.absolute)
        rows.append(
            Row(
                f"n = {size}: rejections where the gaps are equal (eta = {MEAN_GAP:g})",
                "at most 0.05",
                f"{level.absolute:.3f}, signed {level.signed:.3f} (error {level.error('absolute'):.3f})",
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
