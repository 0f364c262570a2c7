"""The validity study: how often the test rejects where it should not, and where it should. Writes docs/validity.md.

Run ``python tests/simulation/validity.py``. Repetitions are kept in a folder: a study that was stopped continues, and
``--share`` makes a share of all repetitions, to which more can be added later. ``--page`` runs nothing and writes the
page of what is kept.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from improvable.algorithms.rules.linear_classifiers import LinearRule  # noqa: E402
from simulation import bootstrap_t, hard, reference_pair  # noqa: E402
from simulation.learning_study import level_units, many_folds_units, power_units, seeds_unit  # noqa: E402
from simulation.levels import REPETITIONS, audit_found, compare_found, component_found, gap_found, rule_found  # noqa: E402
from simulation.processes import IMPROVABLE, OPTIMAL, PROCESSES, TIED, Process, Scene, tiny_group  # noqa: E402
from simulation.seeds_picture import draw_seeds  # noqa: E402
from simulation.study import Unit, found_of, run  # noqa: E402
from simulation.validity_page import CLAIM, is_high, page  # noqa: E402

SEED = 20_240_716
COMPARE_NULL, COMPARE_ALTERNATIVE = 2_000, 500
AUDIT_NULL, AUDIT_ALTERNATIVE = 300, 40
TINY = (15, 20, 30, 45, 60, 100)
DELTAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.64, 0.7, 0.8, 0.9, 0.95)
GAP_REPETITIONS = 2_000
AUDIT_DELTAS = (0.0, 0.3, 0.5, 0.64, 0.8, 0.9)
GAP_AUDIT_REPETITIONS, CLAIM_REPETITIONS = 400, 1_000
HARD_REPETITIONS, HARD_POWER, CHEAP, BATCHES = 2_000, 500, 4_000, 40
AGAIN = 3
KEPT = HERE.parents[2] / "build" / "validity"
PICTURE = "p_values_by_seed.svg"


@dataclass(frozen=True)
class RuleCase:
    """A rule with how often it is run: where every candidate ties, where the status quo is best, where it is not."""

    rule: Any
    repetitions: tuple[int, int, int]
    rows: int = 600
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.rule if isinstance(self.rule, str) else str(self.rule.name)

    @property
    def repetitions(self) -> int:
        return int(self.options.get("repetitions", REPETITIONS))


FAST, MEDIUM, SLOW = (150, 20, 40), (50, 10, 15), (14, 10, 10)
FEW = {"repetitions": 3}
RULE_CASES = (
    *(RuleCase(name, FAST) for name in ("linear", "ridge:10", "logistic", "drop:z:linear")),
    RuleCase("blend:0.8:linear", FAST, options={"capacity": 0.5}),
    *(RuleCase(name, MEDIUM) for name in ("lasso", "forest:20", "boosting", "tournament:linear,ridge:10")),
    *(RuleCase(f"linear_search:{objective}", MEDIUM) for objective in ("balanced", "fairest", "most_accurate:b")),
    RuleCase("reductions:threshold_optimizer", MEDIUM, options={"group_blind": False}),
    *(RuleCase(f"reductions:{name}", SLOW, options=FEW) for name in ("exponentiated_gradient", "grid_search")),
    *(
        RuleCase(LinearRule("linear_program", objective, nodes=10), SLOW, rows=300, options=FEW)
        for objective in ("balanced", "fairest")
    ),
)
SCENES = (TIED, OPTIMAL, IMPROVABLE)
TRUTHS = ("level", "power")


def numbered(seed: int, find: Callable[[tuple[int, int]], dict[str, float]]) -> Callable[[int], dict[str, float]]:
    """Repetitions of what is found with a seed."""
    return lambda i: find((SEED + seed, i))


def compare_unit(process: Process, truth: str, p: int) -> Unit:
    which = process.null if truth == "level" else process.alternative
    once = numbered(p + 100 * TRUTHS.index(truth), lambda seed: compare_found(process, which, seed))
    return Unit(f"compare {truth}/{process.name}", once, (COMPARE_NULL, COMPARE_ALTERNATIVE)[TRUTHS.index(truth)])


def audit_unit(process: Process, truth: str, p: int, again: int = 1) -> Unit:
    which = process.null if truth == "level" else process.alternative
    seed = 200 + p + 100 * TRUTHS.index(truth) + 2_000 * (again > 1)
    once = numbered(seed, lambda one: audit_found(process, which, one))
    number = again * (AUDIT_NULL, AUDIT_ALTERNATIVE)[TRUTHS.index(truth)]
    return Unit(f"audit {truth}{' again' * (again > 1)}/{process.name}", once, number)


def rule_unit(case: RuleCase, scene: Scene, c: int, again: int = 1) -> Unit:
    s = SCENES.index(scene)
    once = numbered(
        1_000 + 10 * c + s + 3_000 * (again > 1),
        lambda seed: rule_found(scene, case.rule, case.rows, seed, **case.options),
    )
    name = case.name.replace(":", " ").replace(",", " ")
    return Unit(f"rule {scene.name}{' again' * (again > 1)}/{name}", once, again * case.repetitions[s])


def tiny_unit(selected: int, binds: str, s: int) -> Unit:
    process, seed = tiny_group(selected, binds), 400 + 10 * s + (binds == "gap")
    once = numbered(seed, lambda one: component_found(process, binds, one))
    return Unit(f"tiny {binds}/{selected}", once, COMPARE_NULL)


def gap_unit(delta: float, turned: bool, d: int) -> Unit:
    once = numbered(500 + 2 * d + turned, lambda seed: gap_found(delta, turned, seed))
    return Unit(f"gap{' turned' * turned}/{delta:g}", once, GAP_REPETITIONS)


AUDIT_GAPS = [(delta, turned) for turned in (False, True) for delta in AUDIT_DELTAS if not turned or delta >= CLAIM]


def gap_audit_unit(delta: float, turned: bool, c: int) -> Unit:
    once = numbered(600 + c, lambda seed: gap_found(delta, turned, seed, REPETITIONS))
    number = CLAIM_REPETITIONS if delta == CLAIM else GAP_AUDIT_REPETITIONS
    return Unit(f"gap of an audit{' turned' * turned}/{delta:g}", once, number)


def hard_unit(process: hard.Hard, truth: str, p: int) -> Unit:
    once = numbered(700 + p + 50 * TRUTHS.index(truth), lambda seed: hard.find(process, seed, better=truth == "power"))
    return Unit(f"hard {truth}/{process.name}", once, (HARD_REPETITIONS, HARD_POWER)[TRUTHS.index(truth)])


def limit_unit(limit: reference_pair.Limit, candidate: reference_pair.Candidate, p: int) -> Unit:
    once = numbered(4_000 + p, lambda seed: limit.shares(candidate, seed))
    return Unit(f"limit {candidate.name}/{limit.name}", once, BATCHES)


def folded_unit(errors: float, correlation: float) -> Unit:
    once = numbered(800, lambda seed: hard.absolute_at_zero(errors, correlation, seed))
    return Unit(f"folded {correlation:g}/{errors:g}", once, CHEAP)


def studentized_unit(process: hard.Hard, p: int) -> Unit:
    return Unit(
        f"bootstrap-t/{process.name}",
        numbered(5_000 + p, lambda seed: bootstrap_t.find(process, seed)),
        HARD_REPETITIONS,
    )


FOLDED = [(errors, correlation) for errors in (0.5, 1.0, 2.0, 4.0) for correlation in (0.0, 0.5, 0.9)]
LIMITS = [(limit, candidate) for limit in reference_pair.LIMITS for candidate in reference_pair.CANDIDATES]
STUDIES: dict[str, list[Unit]] = {
    "hard": [hard_unit(process, "level", p) for p, process in enumerate(hard.HARD)],
    "hard power": [hard_unit(one, "power", p) for p, one in enumerate(hard.HARD) if one.better is not None],
    "learning": level_units(),
    "five folds": many_folds_units(),
    "learning power": power_units(),
    "seeds": [seeds_unit()],
    "limit": [limit_unit(*one, p) for p, one in enumerate(LIMITS)],
    "bootstrap-t": [studentized_unit(process, p) for p, process in enumerate(bootstrap_t.CASES)],
    "folded": [folded_unit(*one) for one in FOLDED],
    "bounds": [Unit("bounds", numbered(900, hard.wrong_bounds), HARD_REPETITIONS)],
    "compare": [compare_unit(process, truth, p) for truth in TRUTHS for p, process in enumerate(PROCESSES)],
    "tiny": [tiny_unit(selected, binds, s) for s, selected in enumerate(TINY) for binds in ("accuracy", "gap")],
    "gap": [gap_unit(delta, turned, d) for d, delta in enumerate(DELTAS) for turned in (False, True)],
    "gap of an audit": [gap_audit_unit(*one, c) for c, one in enumerate(AUDIT_GAPS)],
    "audit": [audit_unit(process, truth, p) for truth in TRUTHS for p, process in enumerate(PROCESSES)],
    "rules": [rule_unit(case, scene, c) for scene in SCENES for c, case in enumerate(RULE_CASES)],
}


def again_units(folder: Path) -> list[Unit]:
    """Every audit whose level came out high, once more, with more repetitions and fresh seeds: was it chance?"""
    out = []
    for p, process in enumerate(PROCESSES):
        if is_high(found_of(folder, audit_unit(process, "level", p))):
            out.append(audit_unit(process, "level", p, AGAIN))
    for c, case in enumerate(RULE_CASES):
        if is_high(found_of(folder, rule_unit(case, TIED, c))):
            out.append(rule_unit(case, TIED, c, AGAIN))
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="of all repetitions")
    parser.add_argument("--only", action="append", choices=[*STUDIES, "again"], help="one study; may be repeated")
    parser.add_argument("--kept", type=Path, default=KEPT, help="the folder in which repetitions are kept")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page of what is kept")
    parser.add_argument("--out", type=Path, help="the page; nothing is written without it")
    given = parser.parse_args(arguments)
    if not given.page:
        for name, units in STUDIES.items():
            if given.only is None or name in given.only:
                run(given.kept, units, given.share)
        if given.only is None or "again" in given.only:
            run(given.kept, again_units(given.kept), given.share)
    if given.out is not None:
        found = {name: {unit.name: found_of(given.kept, unit) for unit in units} for name, units in STUDIES.items()}
        found["again"] = {unit.name: found_of(given.kept, unit) for unit in again_units(given.kept)}
        full = {unit.name: unit.repetitions for units in (*STUDIES.values(), again_units(given.kept)) for unit in units}
        given.out.write_text(page(found, full, SEED), encoding="utf-8")
        picture = given.out.parent / "pictures" / PICTURE
        picture.parent.mkdir(exist_ok=True)
        picture.write_text(draw_seeds(found["seeds"]["seeds"]), encoding="utf-8")


if __name__ == "__main__":
    main()
