"""Which rule should be the default? Power, level and time of fast rules on simulated
and real data.

Each sample, of fresh simulated rows or of a random part of the real ones, is audited
with one repetition; all rules see the same samples. Power is measured by the mean of
z = Phi^-1(1 - p), which says more than the share of rejections when samples are few; a
z above 1.64 rejects at 5%. Where there is nothing to find the share of rejections must
not exceed 5%. Time is the processor's, user and system, per audit.

Audits are appended to a file as they finish (--log), so that a run can be stopped, and
continued by starting it again. With --write the tables of docs/how-to/choose-a-rule.md
are written from that file; with --update, only the rows of data sets that the file has.
Real data are read from the folder --data; those that are not there are left out.
"""

import argparse
import time
import warnings
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

import improvable
from improvable.datasets import CARE_MANAGEMENT_COVARIATES, care_management
from improvable.errors import ImprovableWarning
from kept import append, read_between, read_log, write_between
from problems import Problem, problems

RULES = (
    "linear",
    "lasso",
    "aim",
    "forest:100",
    "boosting",
    "tournament:lasso,boosting",
)
DRAWS = 1_000
FLAGSHIP, MEAN = "flagship", "| **mean z**"
PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "choose-a-rule.md"


def judge(problem: Problem, rule: str, sample: int) -> dict[str, Any]:
    """One audit of one sample."""
    rows = problem.draw(np.random.default_rng([11, sample]))
    begun = time.process_time()
    result = improvable.audit(
        rows,
        **problem.asked,
        rule=rule,
        test=improvable.Test(repetitions=1, draws=DRAWS),
        seed=sample,
        # nulls select those who do worse
        read=improvable.Read(drop_missing=True, direction="as stated"),
    )
    seconds = time.process_time() - begun
    return {
        "problem": problem.name,
        "rule": rule,
        "sample": sample,
        "p": result.p_value,
        "seconds": seconds,
    }


def flagship(rule: str, repetitions: int) -> dict[str, Any]:
    """The paper's own audit on simulated rows: 48,784 of them, 149 columns, 3%
    selected, 10,000 draws, all cores.
    """
    people = care_management(48_784)
    begun, processor = time.perf_counter(), time.process_time()
    improvable.audit(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.03),
        features=CARE_MANAGEMENT_COVARIATES,
        rule=rule,
        test=improvable.Test(repetitions=repetitions),
        n_jobs=-1,
    )
    seconds, wall = time.process_time() - processor, time.perf_counter() - begun
    return {
        "problem": FLAGSHIP,
        "rule": rule,
        "sample": repetitions,
        "seconds": seconds,
        "wall": wall,
    }


def flagship_table(audits: Sequence[Mapping[str, Any]], rules: Sequence[str]) -> str:
    """How long the flagship audit takes on free cores, by rule and number of
    repetitions, and its processor time.
    """
    of = grouped(audits)
    repetitions = sorted({times for rule in rules for times in of[FLAGSHIP, rule]})
    lines = head(
        (
            "rule",
            *(f"{plural(times)}: time, and processor time" for times in repetitions),
        )
    )
    for rule in rules:
        found = of[FLAGSHIP, rule]
        if not found:
            continue
        cells = (
            f"{found[times]['wall']:.1f} s, {found[times]['seconds']:.1f} s"
            if times in found
            else "not run"
            for times in repetitions
        )
        lines.append(f"| `{rule}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def plural(repetitions: int) -> str:
    return "one repetition" if repetitions == 1 else f"{repetitions} repetitions"


def z_of(p: float) -> float:
    """Standard errors from the null; as many as the draws can tell."""
    return float(-ndtri(np.clip(p, 1 / DRAWS, 1 - 1 / DRAWS)))


def grouped(
    audits: Iterable[Mapping[str, Any]],
) -> dict[tuple[str, str], dict[int, Mapping[str, Any]]]:
    """The audits of each problem and rule, by sample; of the flagship, by the number of
    repetitions.
    """
    out: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for one in audits:
        out[one["problem"], one["rule"]][one["sample"]] = one
    return out


def power_table(
    found: Sequence[Problem], audits: Sequence[Mapping[str, Any]], rules: Sequence[str]
) -> str:
    """Mean z and rejections of each rule where there is something to find; and its mean
    over problems.
    """
    of = grouped(audits)
    lines = head(("data", "samples", *(f"`{rule}`" for rule in rules)))
    means = list[list[float]]()
    for problem in found:
        common = shared_samples(of, problem.name, rules)
        if problem.null or not common:
            continue
        every = [[of[problem.name, rule][i]["p"] for i in common] for rule in rules]
        means.append([float(np.mean([z_of(p) for p in values])) for values in every])
        shown = [sum(p < 0.05 for p in values) / len(values) for values in every]
        cells = [
            f"{z:.2f} ({share:.0%})" for z, share in zip(means[-1], shown, strict=True)
        ]
        lines.append(f"| {problem.name} | {len(common)} | " + " | ".join(cells) + " |")
    return "\n".join([*lines, mean_row(means)])


def level_table(
    found: Sequence[Problem], audits: Sequence[Mapping[str, Any]], rules: Sequence[str]
) -> str:
    """Rejections of each rule where there is nothing to find."""
    of = grouped(audits)
    lines = head(("data", *(f"`{rule}`" for rule in rules)))
    for problem in found:
        tried = [
            [one["p"] for one in of[problem.name, rule].values()] for rule in rules
        ]
        if problem.null and any(tried):
            cells = (
                f"{sum(p < 0.05 for p in values)} of {len(values)}" for values in tried
            )
            lines.append(f"| {problem.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def paired_table(
    found: Sequence[Problem],
    audits: Sequence[Mapping[str, Any]],
    rules: Sequence[str],
    against: str,
) -> str:
    """How much more or less z each rule has than one of them on the same rows, with the
    standard error.
    """
    of = grouped(audits)
    others = [rule for rule in rules if rule != against]
    lines = head(("data", *(f"`{rule}`" for rule in others)))
    for problem in found:
        common = shared_samples(of, problem.name, rules)
        if problem.null or len(common) < 2:
            continue
        cells = []
        for rule in others:
            apart = [
                z_of(of[problem.name, rule][i]["p"])
                - z_of(of[problem.name, against][i]["p"])
                for i in common
            ]
            cells.append(
                f"{np.mean(apart):+.2f} ± "
                f"{np.std(apart, ddof=1) / len(apart) ** 0.5:.2f}"
            )
        lines.append(f"| {problem.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def updated(before: str, fresh: str) -> str:
    """A table with the rows of a fresh one in place of its own, and the mean of what
    its rows then print.
    """
    rows = {line.partition(" | ")[0]: line for line in fresh.splitlines()[2:]}
    if fresh.partition("\n")[0] != before.partition("\n")[0]:
        raise ValueError("the table on the page is of other rules")
    lines = [rows.pop(line.partition(" | ")[0], line) for line in before.splitlines()]
    if rows:
        raise ValueError(
            "the table on the page has no row to update for "
            f"{', '.join(row[2:] for row in rows)}"
        )
    if lines[-1].startswith(MEAN):
        cells = [
            [float(cell.split()[0]) for cell in line.strip("| ").split(" | ")[2:]]
            for line in lines[2:-1]
        ]
        lines[-1] = mean_row(cells)
    return "\n".join(lines)


def mean_row(z: Sequence[Sequence[float]]) -> str:
    """The last row of the table of power, from the mean z of each problem (rows) and
    rule (columns).
    """
    return (
        f"{MEAN} | | "
        + " | ".join(f"**{np.mean(values):.2f}**" for values in zip(*z, strict=True))
        + " |"
    )


def head(columns: Sequence[str]) -> list[str]:
    """The first two lines of a table."""
    return [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]


def shared_samples(
    of: Mapping[tuple[str, str], Mapping[int, Any]], problem: str, rules: Sequence[str]
) -> list[int]:
    """The samples that all rules have had: they are compared on the same rows."""
    return sorted(
        set.intersection(*(set(of.get((problem, rule), ())) for rule in rules))
    )


def time_table(
    found: Sequence[Problem], audits: Sequence[Mapping[str, Any]], rules: Sequence[str]
) -> str:
    """The median processor time of each rule's audits."""
    of = grouped(audits)
    lines = head(("data", *(f"`{rule}`" for rule in rules)))
    for problem in found:
        if shared_samples(of, problem.name, rules):
            times = (
                np.median([one["seconds"] for one in of[problem.name, rule].values()])
                for rule in rules
            )
            lines.append(
                f"| {problem.name} | "
                + " | ".join(f"{seconds:.1f} s" for seconds in times)
                + " |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--samples", type=int, default=30)
    parser.add_argument("--null-samples", type=int, default=100)
    parser.add_argument("--rules", default=";".join(RULES), help="between semicolons")
    parser.add_argument(
        "--problems", default="", help="only those whose name has this in it"
    )
    parser.add_argument(
        "--data", type=Path, default=Path("data"), help="folder of real data"
    )
    parser.add_argument(
        "--log",
        type=Path,
        default=Path("default-rule.jsonl"),
        help="where audits are appended",
    )
    parser.add_argument(
        "--flagship",
        type=int,
        metavar="REPETITIONS",
        help="time the flagship audit with so many repetitions",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the tables to the page; run nothing"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="with --write, only the rows that the log has",
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", ImprovableWarning)
    rules = options.rules.split(";")
    found = [
        problem
        for problem in problems(options.data)
        if options.problems in problem.name
    ]
    if options.flagship:
        for rule in rules:
            append(options.log, flagship(rule, options.flagship))
    elif not options.write:
        done = {
            (one["problem"], one["rule"], one["sample"])
            for one in read_log(options.log)
        }
        for sample in range(max(options.samples, options.null_samples)):
            for problem in found:
                if sample < (options.null_samples if problem.null else options.samples):
                    for rule in rules:
                        if (problem.name, rule, sample) not in done:
                            append(options.log, judge(problem, rule, sample))
    audits = read_log(options.log)
    tables = {
        "power": power_table(found, audits, rules),
        "paired": paired_table(found, audits, rules, "lasso"),
        "level": level_table(found, audits, rules),
        "time": time_table(found, audits, rules),
    }
    if any(one["problem"] == FLAGSHIP for one in audits):
        tables["flagship"] = flagship_table(audits, rules)
    if options.write:
        if options.update:
            tables = {
                name: updated(read_between(PAGE, name), fresh)
                for name, fresh in tables.items()
            }
        write_between(PAGE, tables)
    print("\n\n".join(tables.values()))


if __name__ == "__main__":
    main()
