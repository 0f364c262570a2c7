"""What columns cost: an audit, and a look at a file, with 1,000 to 4,000 features and
500 rows.

Processor seconds, one worker, two repetitions. Beside each audit stands the part that
the fits and predictions of linear models take. Twice the columns take twice the time
where the work is linear; the last column is that ratio, without the models' part.
`python benchmarks/wide.py 20000` measures other numbers of columns, with the first
rule.
"""

import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.linear_model._base import LinearModel

import improvable
from improvable.algorithms.rules.lasso import FoldedLasso
from improvable.cli import main as command

ROWS, COLUMNS = 500, (1_000, 2_000, 4_000)
RULES = ("ridge:10", "linear", "lasso")


def main() -> None:
    warnings.simplefilter("ignore")
    given = tuple(map(int, sys.argv[1:]))
    _audit(people(50), "lasso")
    for rule in RULES[:1] if given else RULES:
        _print(f"audit, {rule}", given or COLUMNS, partial(_audit, rule=rule))
    _print("check, CSV", given or COLUMNS, _check)


def people(columns: int, seed: int = 0) -> pl.DataFrame:
    """An outcome of three of many independent features."""
    rng = np.random.default_rng([seed, columns])
    x, group = rng.normal(size=(ROWS, columns)), rng.integers(0, 2, ROWS)
    outcome = x[:, :3].sum(axis=1) + 0.5 * group + rng.normal(size=ROWS) > 0
    return pl.DataFrame(x, schema=[f"x{j}" for j in range(columns)]).with_columns(
        y=pl.Series(outcome.astype(np.int64)),
        g=pl.Series(np.where(group, "a", "b")),
        s=pl.Series(x[:, 0] + group + rng.normal(size=ROWS)),
    )


def _audit(frame: pl.DataFrame, rule: str) -> None:
    status_quo = improvable.threshold("s", capacity=0.3)
    improvable.audit(
        frame,
        outcome="y",
        group="g",
        status_quo=status_quo,
        rule=rule,
        test=improvable.Test(repetitions=2, draws=1_000),
        n_jobs=1,
    )


def _check(frame: pl.DataFrame) -> None:
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        frame.write_csv(Path(folder) / "wide.csv")
        options = [
            "--outcome",
            "y",
            "--group",
            "g",
            "--score",
            "s",
            "--capacity",
            "0.3",
        ]
        try:
            command(["check", str(Path(folder) / "wide.csv"), *options])
        except SystemExit as end:
            if end.code:
                raise


def _print(
    title: str, sizes: tuple[int, ...], work: Callable[[pl.DataFrame], None]
) -> None:
    print(
        f"\n{title:18}{'columns':>9}{'seconds':>9}{'models':>14}"
        f"{'ours, ms per column':>21}{'twice':>8}"
    )
    before: tuple[int, float] | None = None
    for columns in sizes:
        frame = people(columns)
        begun = time.process_time()
        with _fits() as fits:
            work(frame)
        whole, theirs = time.process_time() - begun, sum(fits)
        ours = whole - theirs
        ratio = (
            ""
            if before is None or columns != 2 * before[0]
            else f"{ours / before[1]:8.2f}"
        )
        print(
            f"{'':18}{columns:9,}{whole:9.1f}{theirs:14.1f}{1e3 * ours / columns:21.2f}"
            f"{ratio}",
            flush=True,
        )
        before = columns, ours


@contextmanager
def _fits() -> Iterator[list[float]]:
    """The time in linear models."""
    seconds: list[float] = []
    kept = [
        (kind, name, getattr(kind, name))
        for kind in (LinearRegression, Ridge, FoldedLasso)
        for name in ("fit",)
    ]
    kept.append((LinearModel, "predict", LinearModel.predict))

    def timed(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            begun = time.process_time()
            try:
                return original(*args, **options)
            finally:
                seconds.append(time.process_time() - begun)

        return call

    for kind, name, original in kept:
        setattr(kind, name, timed(original))
    try:
        yield seconds
    finally:
        for kind, name, original in kept:
            setattr(kind, name, original)


if __name__ == "__main__":
    main()
