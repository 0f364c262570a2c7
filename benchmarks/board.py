"""Every rule on every data set at hand, forward and in the paper's splits:
docs/evidence/board.md (`make board`).

Audits are appended to a file as they finish (--log), so that a run can be stopped, and
continued by starting it again; with --write the page is written from what is there.
Real data are read from the folder --data; those that are not there are left out. Time
is the processor's, user and system.

With --seeds N, the forward audit is repeated with the seeds 0 to N - 1, to tell how far
a p-value moves with the seed: ``python benchmarks/board.py --data DIR --problems
Georgia --rules "lasso;boosting;aim" --repetitions 7 --draws 2000 --seeds 10 --update``
makes the table of the Georgia data. Both kinds of audits share the log and the page.

With --update, only the rows of the page that the log has audits of are written, and all
others stay. So one rule on one data set needs no log of the rest.
"""

import argparse
import math
import os
import platform
import statistics
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import improvable
from improvable.errors import ImprovableError, ImprovableWarning
from improvable.question.settings import Scheme, Settings
from improvable.results.formatting import p_text
from kept import append, read_log
from problems import Problem, problems

RULES = (
    "linear",
    "ridge:100",
    "lasso",
    "aim",
    "logistic",
    "boosting",
    "forest:100",
    "blend:0.5:lasso",
    "tournament:lasso,boosting",
)
SLOW = ("linear_program:fairest:nodes=20",)
SCHEMES: tuple[Scheme, ...] = ("forward", "split")
PAGE = Path(__file__).parent.parent / "docs" / "evidence" / "board.md"
NONE, NOT_RUN = "none", "not run"
ONE = "that of one repetition"
SEVERAL = "the lower median of {repetitions} repetitions"
WITHOUT_SLOW = (
    "`linear_program` takes minutes for each candidate; `python benchmarks/board.py "
    "--slow` runs it."
)
WITH_SLOW = (
    "`linear_program` stops after 20 nodes, so that what it finds need not be the "
    "optimum."
)
HEAD = """# The board: every rule on every data set

Which rule to try first, and what the default is judged by. Written by `make board`; every number is what an audit gave.

- **p** is {how}, forward or of the paper's split. It is **bold** where it shows an improvement: below {level:g}.
- **The gap can be cut by** at least this share, with 95% confidence and no loss of accuracy; none if that is not shown.
- **Selected** are the shares of test rows that the status quo and the candidate select, forward.
- **Time** is the processor's, of the forward audit and of that in splits; the first also loads libraries.

Each p-value is one draw of chance: do not read a rank into .03 and .05. To choose a rule by its p-value on the data to
be judged is an error that a [tournament](../how-to/choose-a-rule.md#do-not-try-five-and-report-the-best) avoids. Rules
that do not apply are left out. {slow}

The care program has fewer rows than the paper's 48,784, to keep the board's time in bounds.
{draws:,} draws; {machine}; improvable {made}.
"""  # noqa: E501
SEEDS = """The same audit, forward, with other seeds, which put the rows into other orders. **Shown** is how often p is
below {level:g}. The seeds share their rows, so that this is no sample of populations: it says how far one p-value may
be from the next, and not how often another year's data would show the same. Written by
`python benchmarks/board.py --seeds 10 --update`, with the data and the rules that its first lines name."""  # noqa: E501
OTHER_SEEDS = "## Other seeds"


def try_rule(
    problem: Problem,
    rows: Any,
    rule: str,
    scheme: Scheme,
    repetitions: int,
    draws: int,
    seed: int | None = None,
) -> dict[str, Any]:
    """One audit as plain data; one that is refused says why."""
    begun = time.process_time()
    out: dict[str, Any] = {
        "problem": problem.name,
        "rule": rule,
        "scheme": scheme,
        "made": made(),
    }
    if seed is not None:
        out["seed"] = seed
    try:
        result = improvable.audit(
            rows,
            **problem.asked,
            **problem.design,
            test=improvable.Test(scheme=scheme, repetitions=repetitions, draws=draws),
            rule=rule,
            read=improvable.Read(drop_missing=True),
            seed=seed or 0,
        )
    except ImprovableError as error:
        return {**out, "refused": error.message}
    facts = result.to_dict()
    shares = [repetition["share_selected"] for repetition in facts["repetitions"]]
    bound = next(one.value for one in result.bounds() if one.what == "fairness")
    return {
        **out,
        "p": result.p_value,
        "reject": result.reject,
        "bound": bound if math.isfinite(bound) else None,
        "status_quo": sum(one["status_quo"]["test"] for one in shares) / len(shares),
        "candidate": sum(one["candidate"]["test"] for one in shares) / len(shares),
        "seconds": time.process_time() - begun,
    }


def made() -> str:
    """The version and the day of an audit, in words."""
    today = datetime.now(UTC)
    return f"{improvable.__version__}, {today:%B} {today.day}, {today.year}"


def seeds_table(audits: Iterable[Mapping[str, Any]], draws: int) -> str:
    """A row per data set and rule: how its p-value, forward, varies with the seed."""
    by_rule: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in audits:
        by_rule.setdefault((one["problem"], one["rule"]), []).append(one)
    columns = (
        "data",
        "rule",
        "seeds",
        "median p",
        "smallest",
        "largest",
        "shown",
        "median time",
    )
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for (problem, rule), found in by_rule.items():
        p = sorted(one["p"] for one in found)
        numbers = (
            p_text(value, draws) for value in (statistics.median(p), p[0], p[-1])
        )
        shown, seconds = (
            sum(one["reject"] for one in found),
            statistics.median(one["seconds"] for one in found),
        )
        cells = (
            problem,
            f"`{rule}`",
            str(len(p)),
            *numbers,
            f"{shown} of {len(p)}",
            f"{seconds:.0f} s",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table(audits: Iterable[Mapping[str, Any]], draws: int) -> str:
    """The table of one data set: a row per rule, forward beside the paper's split."""
    by_rule: dict[str, dict[str, Mapping[str, Any]]] = {}
    for one in audits:
        by_rule.setdefault(one["rule"], {})[one["scheme"]] = one
    columns = (
        "rule",
        "p, forward",
        "p, split",
        "the gap can be cut by, forward",
        "split",
        "selected, status quo",
        "candidate",
        "time, forward",
        "split",
    )
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    refused = []
    for rule, schemes in by_rule.items():
        done = {scheme: one for scheme, one in schemes.items() if "refused" not in one}
        if not done:
            refused.append(f"`{rule}`: {next(iter(schemes.values()))['refused']}")
            continue
        shown = done.get("forward", next(iter(done.values())))
        cells = [
            *(_p(done.get(scheme), draws) for scheme in SCHEMES),
            *(_cut(done.get(scheme)) for scheme in SCHEMES),
            f"{shown['status_quo']:.1%}",
            f"{shown['candidate']:.1%}",
            *(
                f"{done[scheme]['seconds']:.0f} s" if scheme in done else NOT_RUN
                for scheme in SCHEMES
            ),
        ]
        lines.append(f"| `{rule}` | " + " | ".join(cells) + " |")
    text = "\n".join(lines)
    return (
        text
        if not refused
        else f"{text}\n\nRefused:\n\n" + "\n".join(f"- {one}" for one in refused)
    )


def _p(one: Mapping[str, Any] | None, draws: int) -> str:
    if one is None:
        return NOT_RUN
    text = p_text(one["p"], draws)
    return f"**{text}**" if one["reject"] else text


def _cut(one: Mapping[str, Any] | None) -> str:
    """The bound on the gap, rounded down: never more than was shown."""
    if one is None:
        return NOT_RUN
    if one["bound"] is None or one["bound"] <= 0:
        return NONE
    return f"{math.floor(100 * one['bound'])}%"


def page(
    found: Sequence[Problem],
    audits: Sequence[Mapping[str, Any]],
    repetitions: int,
    draws: int,
) -> str:
    """The whole page."""
    alpha = Settings(outcome="", group="", status_quo="").alpha
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    seeded, audits = (
        [one for one in audits if "seed" in one],
        [one for one in audits if "seed" not in one],
    )
    head = HEAD.format(
        draws=draws,
        how=ONE if repetitions == 1 else SEVERAL.format(repetitions=repetitions),
        level=alpha if repetitions == 1 else alpha / 2,
        machine=machine,
        slow=WITH_SLOW if any(one["rule"] in SLOW for one in audits) else WITHOUT_SLOW,
        made="; ".join(
            dict.fromkeys(one["made"] for one in [*audits, *seeded] if "made" in one)
        ),
    )
    parts = [head.strip(), *_unfinished(found, audits)]
    for problem in found:
        of_this = [one for one in audits if one["problem"] == problem.name]
        if of_this:
            design = ", ".join(
                f"{name} `{column}`" for name, column in problem.design.items()
            )
            about = problem.about + (f" With the survey's {design}." if design else "")
            parts += [
                f"## {problem.name[0].upper()}{problem.name[1:]}",
                about,
                table(of_this, draws),
            ]
            tried = {one["rule"] for one in of_this}
            untried = [
                f"`{one}`"
                for one in dict.fromkeys(one["rule"] for one in audits)
                if one not in tried
            ]
            parts += [f"Not run here: {', '.join(untried)}."] if untried else []
    if seeded:
        level = SEEDS.format(level=alpha if repetitions == 1 else alpha / 2)
        place = {problem.name: at for at, problem in enumerate(found)}
        ordered = sorted(
            (one for one in seeded if "p" in one),
            key=lambda one: place.get(one["problem"], len(place)),
        )
        parts += [OTHER_SEEDS, level, seeds_table(ordered, draws)]
    return "\n\n".join(parts) + "\n"


def updated(before: str, fresh: str) -> str:
    """The page with the rows of a fresh one in place of its own; new rows are for the
    table of other seeds alone.
    """
    rows: dict[str, dict[str, str]] = {}
    for section, line in _by_section(fresh):
        if rule := _row(line):
            rows.setdefault(section, {})[rule] = line
    out, last = list[str](), 0
    for section, line in _by_section(before):
        out.append(rows.get(section, {}).pop(_row(line), line))
        if section == OTHER_SEEDS and line.startswith("|"):
            last = len(out)
    if last:
        out[last:last] = rows.pop(OTHER_SEEDS, {}).values()
    if without := [
        f"{section[3:]}: {rule[2:]}`" for section, mine in rows.items() for rule in mine
    ]:
        raise ValueError(f"the page has no row to update for {'; '.join(without)}")
    return "\n".join(out) + "\n"


def _by_section(text: str) -> list[tuple[str, str]]:
    """Every line with the heading that it stands under."""
    section, out = "", []
    for line in text.splitlines():
        section = line if line.startswith("## ") else section
        out.append((section, line))
    return out


def _row(line: str) -> str:
    """What a row of a table is about: all before the end of its rule's name; "" of any
    other line.
    """
    about, end, _ = line.partition("` |")
    return about if end and line.startswith("| ") else ""


def _unfinished(
    found: Sequence[Problem], audits: Sequence[Mapping[str, Any]]
) -> list[str]:
    """What a run that was stopped has not come to."""
    rules, names = {one["rule"] for one in audits}, {one["problem"] for one in audits}
    missing = [f"`{rule}`" for rule in RULES if rule not in rules]
    missing += [
        f"all rules on '{problem.name}'"
        for problem in found
        if problem.name not in names
    ]
    return (
        [
            "**This run was stopped before its end.** It has not come to "
            f"{', '.join(missing)}."
        ]
        if missing
        else []
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--draws", type=int, default=4_000)
    parser.add_argument(
        "--care-rows",
        type=int,
        default=8_000,
        help="rows of the simulated care program",
    )
    parser.add_argument("--rules", default=";".join(RULES), help="between semicolons")
    parser.add_argument(
        "--slow", action="store_true", help=f"run {', '.join(SLOW)} as well: hours"
    )
    parser.add_argument(
        "--problems", default="", help="only those whose name has this in it"
    )
    parser.add_argument(
        "--data", type=Path, default=Path("data"), help="folder of real data"
    )
    parser.add_argument(
        "--log",
        type=Path,
        default=Path("board.jsonl"),
        help="where audits are appended",
    )
    parser.add_argument(
        "--seeds",
        type=int,
        default=0,
        help="repeat forward audits with so many seeds, and no others",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the page from the log; run nothing"
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="write only the rows of the page that the log has",
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore", ImprovableWarning)
    rules = [*options.rules.split(";"), *(SLOW if options.slow else ())]
    found = [one for one in problems(options.data, options.care_rows) if not one.null]
    if not options.write:
        done = {
            (one["problem"], one["rule"], one["scheme"], one.get("seed"))
            for one in read_log(options.log)
        }
        asked: list[tuple[Scheme, int | None]] = [
            ("forward", seed) for seed in range(options.seeds)
        ]
        asked = asked or [(scheme, None) for scheme in SCHEMES]
        for problem in found:
            if options.problems not in problem.name:
                continue
            rows = problem.rows
            for rule in rules:
                for scheme, seed in asked:
                    if (problem.name, rule, scheme, seed) not in done:
                        one = try_rule(
                            problem,
                            rows,
                            rule,
                            scheme,
                            options.repetitions,
                            options.draws,
                            seed,
                        )
                        append(options.log, one)
    order = {rule: place for place, rule in enumerate((*RULES, *SLOW))}
    audits = sorted(
        read_log(options.log), key=lambda one: order.get(one["rule"], len(order))
    )
    text = page(found, audits, options.repetitions, options.draws)
    PAGE.write_text(
        updated(PAGE.read_text(encoding="utf-8"), text) if options.update else text,
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
