"""The validity study: how often the test rejects where it should not, and where it should. Writes docs/validity.md.

Run ``python tests/simulation/validity.py``. ``--short`` makes a hundredth of the repetitions, to see that it runs.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1]))

from improvable.algorithms.rules.linear_classifiers import LinearRule  # noqa: E402
from simulation.hard import HARD, absolute_at_zero, levels_of, wrong_bounds  # noqa: E402
from simulation.levels import (  # noqa: E402
    SPLITS,
    Rate,
    audit_levels,
    compare_levels,
    component_levels,
    gap_levels_of_audit,
    gap_levels_of_compare,
    rule_levels,
)
from simulation.processes import IMPROVABLE, OPTIMAL, PROCESSES, TIED, Process, tiny_group  # noqa: E402
from simulation.validity_page import CLAIM, is_high, page  # noqa: E402

SEED = 20_240_601
COMPARE_NULL, COMPARE_ALTERNATIVE = 2_000, 300
AUDIT_NULL, AUDIT_ALTERNATIVE = 120, 40
TINY = (15, 20, 30, 45, 60, 100)
TINY_REPETITIONS = 2_000
DELTAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.64, 0.7, 0.8, 0.9, 0.95)
GAP_REPETITIONS = 1_500
AUDIT_DELTAS = (0.0, 0.3, 0.5, 0.64, 0.8, 0.9)
GAP_AUDIT_REPETITIONS = 400
CLAIM_REPETITIONS = 1_000
HARD_REPETITIONS, HARD_POWER = 2_000, 500
FOLDED_REPETITIONS = 4_000
BOUND_REPETITIONS = 2_000
AGAIN = 3
Rows = list[dict[str, Any]]
Size = Callable[[int], int]


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


FAST, MEDIUM, SLOW = (150, 30, 40), (50, 10, 15), (14, 4, 5)
FEW = {"splits": 3, "most_splits": 5}
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


def study_compare(size: Size) -> Rows:
    out = []
    for p, process in enumerate(PROCESSES):
        level = compare_levels(process, process.null, size(COMPARE_NULL), SEED + p)
        power = compare_levels(process, process.alternative, size(COMPARE_ALTERNATIVE), SEED + 100 + p)
        out.append({**named(process), "level": plain(level), "power": plain(power)})
        tell(process.name, level)
    return out


def study_audit(size: Size) -> Rows:
    out = []
    for p, process in enumerate(PROCESSES):
        level = audit_levels(process, process.null, size(AUDIT_NULL), SEED + 200 + p)
        power = audit_levels(process, process.alternative, size(AUDIT_ALTERNATIVE), SEED + 300 + p)
        out.append({**named(process), "level": plain(level), "power": plain(power)})
        tell(f"audit, {process.name}", level)
    return out


def study_rules(size: Size) -> Rows:
    out = []
    for c, case in enumerate(RULE_CASES):
        row: dict[str, Any] = {"name": case.name, "rows": case.rows, "splits": case.options.get("splits", SPLITS)}
        for s, (scene, repetitions) in enumerate(zip((TIED, OPTIMAL, IMPROVABLE), case.repetitions, strict=True)):
            seed = SEED + 1_000 + 10 * c + s
            rates = rule_levels(scene, case.rule, case.rows, size(repetitions), seed, **case.options)
            row[scene.name] = plain(rates)
            tell(f"{case.name}, {scene.name}", rates)
        out.append(row)
    return out


def study_tiny(size: Size) -> Rows:
    out = []
    for s, selected in enumerate(TINY):
        row: dict[str, Any] = {"selected": selected}
        for b, binds in enumerate(("accuracy", "gap")):
            process = tiny_group(selected, binds)
            rates = component_levels(process, binds, size(TINY_REPETITIONS), SEED + 400 + 10 * s + b)
            row[binds] = plain(rates)
            tell(f"{selected} selected, {binds}", rates)
        out.append(row)
    return out


def study_gap(size: Size) -> Rows:
    out = []
    for d, delta in enumerate(DELTAS):
        for turned in (False, True):
            rates = gap_levels_of_compare(delta, turned, size(GAP_REPETITIONS), SEED + 500 + 2 * d + turned)
            out.append({"delta": delta, "turned": turned, "alone": plain(rates.gap_alone), "whole": plain(rates.whole)})
            tell(f"gap, delta {delta}, turned {turned}", rates.gap_alone)
    return out


def study_gap_audit(size: Size) -> Rows:
    out = []
    cases = [(delta, turned) for turned in (False, True) for delta in AUDIT_DELTAS if not turned or delta >= CLAIM]
    for c, (delta, turned) in enumerate(cases):
        repetitions = CLAIM_REPETITIONS if delta == CLAIM else GAP_AUDIT_REPETITIONS
        rates = gap_levels_of_audit(delta, turned, size(repetitions), SEED + 600 + c)
        out.append({"delta": delta, "turned": turned, "alone": plain(rates.gap_alone), "whole": plain(rates.whole)})
        tell(f"gap of audit, delta {delta}, turned {turned}", rates.gap_alone)
    return out


def study_hard(size: Size) -> Rows:
    out = []
    for p, process in enumerate(HARD):
        found = levels_of(process, size(HARD_REPETITIONS), SEED + 700 + p)
        rates = {"plain": found.plain, "mended": found.mended}
        row: dict[str, Any] = {"name": process.name, "binds": process.binds, "level": plain(rates)}
        row |= {"cautions": dict(found.cautions), "power": None}
        if process.better is not None:
            power = levels_of(process, size(HARD_POWER), SEED + 750 + p, better=True)
            row["power"] = plain({"plain": power.plain, "mended": power.mended})
        out.append(row)
        tell(process.name, rates)
    return out


def study_folded(size: Size) -> Rows:
    out = []
    for errors in (0.5, 1.0, 2.0, 4.0):
        rates = {
            f"{rho:g}": absolute_at_zero(errors, rho, size(FOLDED_REPETITIONS), SEED + 800) for rho in (0.0, 0.5, 0.9)
        }
        out.append({"errors": errors, "level": plain(rates)})
        tell(f"absolute at zero, {errors} errors", rates)
    return out


def study_bounds(size: Size) -> Rows:
    rates = wrong_bounds(size(BOUND_REPETITIONS), SEED + 900)
    tell("some bound wrong", rates)
    return [plain(rates)]


def study_again(results: dict[str, Any], size: Size) -> Rows:
    """Every audit whose level came out high, once more, with more repetitions and fresh seeds: was it chance?"""
    out = []
    for p, (process, row) in enumerate(zip(PROCESSES, results["audit"]["rows"], strict=True)):
        if is_high(row["level"]):
            rates = audit_levels(process, process.null, size(AGAIN * AUDIT_NULL), SEED + 2_000 + p)
            out.append({"name": row["name"], "first": row["level"], "again": plain(rates)})
            tell(f"again, {process.name}", rates)
    for c, (case, row) in enumerate(zip(RULE_CASES, results["rules"]["rows"], strict=True)):
        if is_high(row[TIED.name]):
            repetitions = size(AGAIN * case.repetitions[0])
            rates = rule_levels(TIED, case.rule, case.rows, repetitions, SEED + 3_000 + c, **case.options)
            out.append({"name": f"`{case.name}`", "first": row[TIED.name], "again": plain(rates)})
            tell(f"again, {case.name}", rates)
    return out


STUDIES: dict[str, Callable[[Size], Rows]] = {
    "hard": study_hard,
    "folded": study_folded,
    "bounds": study_bounds,
    "gap": study_gap,
    "gap_audit": study_gap_audit,
    "compare": study_compare,
    "tiny": study_tiny,
    "audit": study_audit,
    "rules": study_rules,
}


def named(process: Process) -> dict[str, Any]:
    utilities = {
        kind: {group: one.utility for group, one in truth.items()}
        for kind, truth in (("null", process.null), ("alternative", process.alternative))
    }
    return {"name": process.name, "binds": process.binds, "rows": process.rows, **utilities}


def plain(rates: dict[str, Rate]) -> dict[str, Any]:
    return {name: asdict(rate) for name, rate in rates.items()}


def tell(name: str, rates: dict[str, Rate]) -> None:
    print(
        f"{name}: " + ", ".join(f"{way} {rate.share:.3f}" for way, rate in rates.items()), file=sys.stderr, flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--short", action="store_true", help="a hundredth of the repetitions")
    parser.add_argument("--out", type=Path, help="the page; docs/validity.md for the long study, else standard output")
    parser.add_argument("--results", type=Path, help="keep the numbers here; what is already there is not run again")
    arguments = parser.parse_args()
    kept = arguments.results
    results: dict[str, Any] = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    studies: dict[str, Callable[[Size], Rows]] = {**STUDIES, "again": lambda size: study_again(results, size)}
    for name, study in studies.items():
        if name not in results:
            start = time.perf_counter()
            rows = study(lambda n: max(2, n // 100) if arguments.short else n)
            results[name] = {"rows": rows, "seconds": time.perf_counter() - start}
            if kept is not None:
                kept.write_text(json.dumps(results, indent=1))
    text = page(results, SEED)
    out = arguments.out or (None if arguments.short else HERE.parents[2] / "docs" / "validity.md")
    if out is None:
        print(text)
    else:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
