"""The validity study: how often the test rejects where it should not, and where it
should: docs/evidence/validity.md.

Run ``make validity``. What was found in each sample is kept in a folder: a study that
was stopped continues, and ``--share`` makes a share of all samples, to which more can
be added later. ``--page`` runs nothing and writes the page of what is kept.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))
# frames are small: threads would only wait for each other
os.environ.setdefault("POLARS_MAX_THREADS", "1")

from validity import (  # noqa: E402
    bootstrap_t,
    hard,
    held_out,
    monitor,
    probabilities,
    reference_pair,
    unknown,
)
from validity.gap_page import CLAIM  # noqa: E402
from validity.learning_study import (  # noqa: E402
    SEED,
    audited_units,
    code_units,
    named_units,
    power_units,
    screening_unit,
)
from validity.levels import audit_found, compare_found, component_found, gap_found  # noqa: E402
from validity.page_parts import was_run  # noqa: E402
from validity.processes import PROCESSES, Process, tiny_group  # noqa: E402
from validity.schemes import REPETITIONS  # noqa: E402
from validity.seeds_picture import draw_seeds  # noqa: E402
from validity.study import Unit, found_of, run  # noqa: E402
from validity.validity_page import page  # noqa: E402

COMPARE_NULL, COMPARE_ALTERNATIVE = 2_000, 500
AUDIT_NULL, AUDIT_ALTERNATIVE = 300, 40
TINY = (15, 20, 30, 45, 60, 100)
DELTAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.64, 0.7, 0.8, 0.9, 0.95)
GAP_SAMPLES = 2_000
AUDIT_DELTAS = (0.0, 0.3, 0.5, 0.64, 0.8, 0.9)
GAP_AUDIT, CLAIM_AUDIT = 400, 1_000
HARD_LEVEL, HARD_POWER, CHEAP, BATCHES = 2_000, 500, 4_000, 40
PROBABLE_LEVEL, PROBABLE_LARGE, PROBABLE_POWER, HALVES = 1_000, 1_500, 500, 20
MONITOR_LEVEL, MONITOR_PRICE = 2_000, 300
UNKNOWN = 400
KEPT = HERE.parents[2] / "build" / "validity"
PICTURE = "p_values_by_seed.svg"


TRUTHS = ("level", "power")


def numbered(
    seed: int, find: Callable[[tuple[int, int]], dict[str, float]]
) -> Callable[[int], dict[str, float]]:
    """What is found in each sample with a seed."""
    return lambda i: find((SEED + seed, i))


def compare_unit(process: Process, truth: str, p: int) -> Unit:
    which = process.null if truth == "level" else process.alternative
    once = numbered(
        p + 100 * TRUTHS.index(truth), lambda seed: compare_found(process, which, seed)
    )
    return Unit(
        f"compare {truth}/{process.name}",
        once,
        (COMPARE_NULL, COMPARE_ALTERNATIVE)[TRUTHS.index(truth)],
    )


def audit_unit(process: Process, truth: str, p: int) -> Unit:
    which = process.null if truth == "level" else process.alternative
    once = numbered(
        200 + p + 100 * TRUTHS.index(truth),
        lambda seed: audit_found(process, which, seed),
    )
    return Unit(
        f"audit {truth}/{process.name}",
        once,
        (AUDIT_NULL, AUDIT_ALTERNATIVE)[TRUTHS.index(truth)],
    )


def tiny_unit(selected: int, binds: str, s: int) -> Unit:
    process, seed = tiny_group(selected, binds), 400 + 10 * s + (binds == "gap")
    once = numbered(seed, lambda one: component_found(process, binds, one))
    return Unit(f"tiny {binds}/{selected}", once, COMPARE_NULL)


def gap_unit(delta: float, turned: bool, d: int) -> Unit:
    once = numbered(500 + 2 * d + turned, lambda seed: gap_found(delta, turned, seed))
    return Unit(f"gap{' turned' * turned}/{delta:g}", once, GAP_SAMPLES)


AUDIT_GAPS = [
    (delta, turned)
    for turned in (False, True)
    for delta in AUDIT_DELTAS
    if not turned or delta >= CLAIM
]


def gap_audit_unit(delta: float, turned: bool, c: int) -> Unit:
    once = numbered(600 + c, lambda seed: gap_found(delta, turned, seed, REPETITIONS))
    number = CLAIM_AUDIT if delta == CLAIM else GAP_AUDIT
    return Unit(f"gap of an audit{' turned' * turned}/{delta:g}", once, number)


def hard_unit(process: hard.Hard, truth: str, p: int) -> Unit:
    once = numbered(
        700 + p + 50 * TRUTHS.index(truth),
        lambda seed: hard.find(process, seed, better=truth == "power"),
    )
    return Unit(
        f"hard {truth}/{process.name}",
        once,
        (HARD_LEVEL, HARD_POWER)[TRUTHS.index(truth)],
    )


def held_out_unit(process: hard.Hard, p: int) -> Unit:
    return Unit(
        f"held out/{process.name}",
        numbered(6_000 + p, lambda seed: hard.find(process, seed)),
        HARD_LEVEL,
    )


def limit_unit(
    limit: reference_pair.Limit, candidate: reference_pair.Candidate, p: int
) -> Unit:
    once = numbered(4_000 + p, lambda seed: limit.shares(candidate, seed))
    return Unit(f"limit {candidate.name}/{limit.name}", once, BATCHES)


def folded_unit(errors: float, correlation: float) -> Unit:
    once = numbered(800, lambda seed: hard.absolute_at_zero(errors, correlation, seed))
    return Unit(f"folded {correlation:g}/{errors:g}", once, CHEAP)


def studentized_unit(process: hard.Hard, p: int) -> Unit:
    return Unit(
        f"bootstrap-t/{process.name}",
        numbered(5_000 + p, lambda seed: bootstrap_t.find(process, seed)),
        HARD_LEVEL,
    )


def probable_units(
    truth: str, processes: dict[str, probabilities.Process], samples: int, start: int
) -> list[Unit]:
    return [
        Unit(
            f"probabilities {truth}/{name}",
            numbered(7_000 + start + p, process.find),
            samples,
        )
        for p, (name, process) in enumerate(processes.items())
    ]


def many_unit() -> Unit:
    once = numbered(
        7_050, lambda seed: probabilities.find_linear(probabilities.LARGE, seed)
    )
    return Unit("probabilities, many rows", once, PROBABLE_LARGE)


def compas_units() -> list[Unit]:
    """None without the data, which are not part of the project."""
    there = probabilities.DATA.exists()
    return (
        [Unit("compas", numbered(7_200, probabilities.compas_found), HALVES)]
        if there
        else []
    )


def monitor_unit(stream: monitor.Stream, s: int) -> Unit:
    once = numbered(7_000 + s, lambda seed: monitor.level_found(stream, seed))
    return Unit(f"monitor level/{stream.name}", once, MONITOR_LEVEL)


def price_unit(stream: monitor.Stream, s: int) -> Unit:
    once = numbered(7_100 + s, lambda seed: monitor.price_found(stream, seed))
    return Unit(f"monitor price/{stream.name}", once, MONITOR_PRICE)


def unknown_unit(name: str, u: int) -> Unit:
    process = unknown.EVERY[name]
    once = numbered(
        7_300 + u, lambda seed: unknown.unknown_found(process, unknown.HOW[name], seed)
    )
    return Unit(f"unknown/{name}", once, UNKNOWN)


FOLDED = [
    (errors, correlation)
    for errors in (0.5, 1.0, 2.0, 4.0)
    for correlation in (0.0, 0.5, 0.9)
]
LIMITS = [
    (limit, candidate)
    for limit in reference_pair.LIMITS
    for candidate in reference_pair.CANDIDATES
]
STUDIES: dict[str, list[Unit]] = {
    "hard": [hard_unit(process, "level", p) for p, process in enumerate(hard.HARD)],
    "hard power": [
        hard_unit(one, "power", p)
        for p, one in enumerate(hard.HARD)
        if one.better is not None
    ],
    "held out": [
        held_out_unit(process, p) for p, process in enumerate(held_out.HELD_OUT)
    ],
    "code": code_units(),
    "audited": audited_units(),
    "named": named_units(),
    "learning power": power_units(),
    "screening": [screening_unit()],
    "limit": [limit_unit(*one, p) for p, one in enumerate(LIMITS)],
    "bootstrap-t": [
        studentized_unit(process, p) for p, process in enumerate(bootstrap_t.CASES)
    ],
    "folded": [folded_unit(*one) for one in FOLDED],
    "monitor": [monitor_unit(stream, s) for s, stream in enumerate(monitor.NULLS)],
    "monitor price": [price_unit(stream, s) for s, stream in enumerate(monitor.BETTER)],
    "unknown": [unknown_unit(name, u) for u, name in enumerate(unknown.HOW)],
    "bounds": [Unit("bounds", numbered(900, hard.wrong_bounds), HARD_LEVEL)],
    "probabilities": probable_units(
        "level", probabilities.PROCESSES, PROBABLE_LEVEL, 0
    ),
    "probabilities, many rows": [many_unit()],
    "probabilities, power": probable_units(
        "power", probabilities.POWERS, PROBABLE_POWER, 100
    ),
    "compas": compas_units(),
    "compare": [
        compare_unit(process, truth, p)
        for truth in TRUTHS
        for p, process in enumerate(PROCESSES)
    ],
    "tiny": [
        tiny_unit(selected, binds, s)
        for s, selected in enumerate(TINY)
        for binds in ("accuracy", "gap")
    ],
    "gap": [
        gap_unit(delta, turned, d)
        for d, delta in enumerate(DELTAS)
        for turned in (False, True)
    ],
    "gap of an audit": [gap_audit_unit(*one, c) for c, one in enumerate(AUDIT_GAPS)],
    "audit": [
        audit_unit(process, truth, p)
        for truth in TRUTHS
        for p, process in enumerate(PROCESSES)
    ],
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="of all samples")
    parser.add_argument(
        "--only", action="append", choices=[*STUDIES], help="one study; may be repeated"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="parts of the study at a time"
    )
    parser.add_argument(
        "--kept", type=Path, default=KEPT, help="the folder in which samples are kept"
    )
    parser.add_argument(
        "--page",
        action="store_true",
        help="run nothing; write the page of what is kept",
    )
    parser.add_argument(
        "--out", type=Path, help="the page; nothing is written without it"
    )
    given = parser.parse_args(arguments)
    if not given.page:
        for name, units in STUDIES.items():
            if given.only is None or name in given.only:
                run(given.kept, units, given.share, given.jobs)
    if given.out is not None:
        found = {
            name: {unit.name: found_of(given.kept, unit) for unit in units}
            for name, units in STUDIES.items()
        }
        full = {unit.name: unit.samples for units in STUDIES.values() for unit in units}
        before = given.out.read_text(encoding="utf-8") if given.out.exists() else ""
        given.out.write_text(page(found, full, SEED, before), encoding="utf-8")
        seeds = found["screening"]["screening"]
        if was_run(seeds):
            picture = given.out.parents[1] / "pictures" / PICTURE
            picture.parent.mkdir(exist_ok=True)
            picture.write_text(draw_seeds(seeds), encoding="utf-8")


if __name__ == "__main__":
    main()
