"""How the cost of a comparison and of an audit grows with what they are given, and
where the time goes.

What is measured
----------------
Wall-clock time of whole calls on made-up decisions, each varying one thing and holding
the others: rows n (a thousand to ten million), draws Q, repetitions K, distinct cells,
and groups. Beside every time stands its ratio to the first of its kind. Peak memory is
that of the process after each size (it never falls). At the end, a profile of one
audit.

How
---
One process, one warm-up, the median of a few rounds (one round of audits). Times are
printed and never asserted.

Run ``python benchmarks/cost_against_size.py [--most 10000000] [--rounds 3]``.
"""

import argparse
import cProfile
import io
import pstats
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable.question.settings import EngineName

ROWS, DRAWS, REPETITIONS = 100_000, 10_000, 7


def people(rows: int, groups: int = 2, outcomes: int | None = 16) -> pl.DataFrame:
    """Count outcomes below `outcomes`, or continuous ones where it is None."""
    rng = np.random.default_rng(rows + groups)
    group = rng.integers(0, groups, rows)
    features = rng.normal(0, 1, (3, rows))
    need = np.exp(0.5 * features[:2].sum(axis=0))
    outcome = (
        need + rng.exponential(1, rows)
        if outcomes is None
        else np.minimum(rng.poisson(need), outcomes - 1)
    )
    frame = pl.DataFrame({f"x{j}": column for j, column in enumerate(features)})
    score = np.log(need) + rng.normal(0, 0.5 + group / groups, rows)
    return frame.with_columns(
        y=pl.Series(outcome), g=pl.Series(group).cast(pl.String), score=pl.Series(score)
    )


def compared(frame: pl.DataFrame, draws: int = DRAWS) -> Any:
    return improvable.compare(
        frame,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("score", capacity=0.2),
        candidate=improvable.threshold("x0", capacity=0.2),
        test=improvable.Test(draws=draws),
    )


def audited(
    frame: pl.DataFrame,
    repetitions: int = REPETITIONS,
    draws: int = DRAWS,
    engine: EngineName | None = None,
) -> Any:
    return improvable.audit(
        frame,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("score", capacity=0.2),
        rule="linear",
        features=["x0", "x1", "x2"],
        test=improvable.Test(repetitions=repetitions, draws=draws),
        read=improvable.Read(engine=engine),
    )


def case(
    work: Callable[..., Any], options: dict[str, Any], **about: Any
) -> Callable[[], Any]:
    """Some work on data that are made now."""
    return partial(work, people(**{"rows": ROWS, **about}), **options)


def timed(run: Callable[[], Any], rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def table(
    title: str, cases: Mapping[str, Callable[[], Callable[[], Any]]], rounds: int
) -> None:
    print(f"\n{title}\n\n  {'':24}{'seconds':>10}{'ratio':>10}{'peak GiB':>10}")
    first = None
    for name, make in cases.items():
        seconds = timed(make(), rounds)
        first = first or seconds
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  {name:24}{seconds:>10.3f}{seconds / first:>9.2f}x{memory:>10.2f}")


def profile(frame: pl.DataFrame) -> None:
    watch = cProfile.Profile()
    watch.runcall(audited, frame)
    text = io.StringIO()
    pstats.Stats(watch, stream=text).sort_stats("tottime").print_stats(8)
    print(f"\nWhere the time of an audit of {len(frame):,} rows goes\n")
    rows = text.getvalue().partition("ncalls")[2].splitlines()
    for line in rows[1:9]:
        calls, own, _, total, _, place = line.split(maxsplit=5)
        print(
            f"  {own:>8} s own {total:>8} s in all {calls:>8} calls  "
            f"{place.rpartition('/')[2]}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--most", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore", improvable.errors.ImprovableWarning)
    base = people(ROWS)
    compared(base)
    audited(base, repetitions=1)
    cases = {
        f"Q = {q:,}": partial(case, compared, {"draws": q})
        for q in (1_000, 10_000, 100_000)
    }
    table("compare, by draws", cases, options.rounds)
    kinds = {f"outcomes below {most}": most for most in (2, 16, 500)} | {
        "continuous outcome": None
    }
    cases = {
        name: partial(case, compared, {}, outcomes=most) for name, most in kinds.items()
    }
    table("compare, by distinct cells", cases, options.rounds)
    cases = {f"{g} groups": partial(case, compared, {}, groups=g) for g in (2, 5, 20)}
    table("compare, by groups", cases, options.rounds)
    cases = {f"K = {k}": partial(case, audited, {"repetitions": k}) for k in (1, 7, 21)}
    table("audit, by repetitions", cases, 1)
    sizes = [10**power for power in range(3, 8) if 10**power <= options.most]
    for engine in ("memory", None):
        cases = {
            f"n = {n:,}": partial(case, audited, {"engine": engine}, rows=n)
            for n in sizes
        }
        table(f"audit, by rows, {'engine memory' if engine else 'no engine'}", cases, 1)
    profile(people(1_000_000))


if __name__ == "__main__":
    main()
