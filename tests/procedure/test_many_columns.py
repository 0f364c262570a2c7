"""Twice the columns are twice the work: counted in calls, which no clock and no other
process can change.

Of calls, those that Python code makes are counted, to Python and to C alike. What a
single call does is not; so those whose work grows with the columns (a copy of a frame,
a sum over a matrix) must not be made once per column, which the second test counts.
"""

from collections import Counter
from cProfile import Profile
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.cli import run
from improvable.question.settings import Scheme

FEWER, MAX_RATIO, ROWS = 200, 2.3, 150
# what grows with the square is half as large a part of half as many columns
FEWER_MIXED, MAX_RATIO_MIXED = 100, 2.15


def wide(columns: int, kind: str) -> pl.DataFrame:
    """Numbers; or in turn numbers, numbers with holes, whole numbers and texts."""
    rng = np.random.default_rng(columns)
    frame: dict[str, Any] = {}
    for j in range(columns):
        numbers = rng.normal(size=ROWS)
        which = j % 4 if kind == "mixed" else 0
        frame[f"x{j}"] = (
            numbers,
            pl.Series([None if z > 1 else z for z in numbers], dtype=pl.Float64),
            rng.integers(0, 50, ROWS),
            rng.choice(["low", "mid", "high"], ROWS),
        )[which]
    group = rng.integers(0, 2, ROWS)
    return pl.DataFrame(
        {
            "y": (rng.normal(size=ROWS) > 0).astype(int),
            "g": np.where(group, "a", "b"),
            "s": rng.normal(size=ROWS) + group,
        }
        | frame
    )


def calls(work: Any) -> int:
    """How many calls a piece of work makes."""
    profile = Profile()
    profile.runcall(work)
    return sum(entry.callcount for entry in profile.getstats())


def audit(frame: Any, rule: str, scheme: Scheme = "forward") -> improvable.Audit:
    return flat_audit(
        frame,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.4),
        rule=rule,
        repetitions=1,
        draws=100,
        n_jobs=1,
        scheme=scheme,
    )


def whole_path(columns: int, kind: str, rule: str, folder: Path) -> None:
    """A file is read and audited; the result is summarized, kept, loaded and reported.

    Of mixed columns, which are encoded for every fit, by one fit and not by four.
    """
    path = folder / f"{columns}.csv"
    result = audit(path, rule, "split" if kind == "mixed" else "forward")
    result.summary()
    result.save(folder / f"run{columns}")
    improvable.load(folder / f"run{columns}")
    result.report(folder / f"report{columns}.md")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("kind", "rule"),
    [("numbers", "ridge:10"), ("numbers", "linear"), ("mixed", "linear")],
)
def test_twice_the_columns_are_twice_the_calls(
    kind: str, rule: str, tmp_path: Path
) -> None:
    few, most = (
        (FEWER_MIXED, MAX_RATIO_MIXED) if kind == "mixed" else (FEWER, MAX_RATIO)
    )
    for columns in (20, few, 2 * few):
        wide(columns, kind).write_csv(tmp_path / f"{columns}.csv")
    whole_path(20, kind, rule, tmp_path)  # imports are made once
    fewer, more = (
        calls(lambda n=n: whole_path(n, kind, rule, tmp_path)) for n in (few, 2 * few)
    )
    assert more / fewer < most


@pytest.mark.filterwarnings("ignore")
def test_twice_the_columns_are_twice_the_calls_of_a_check(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def check(columns: int) -> None:
        options = [
            "--outcome",
            "y",
            "--group",
            "g",
            "--score",
            "s",
            "--capacity",
            "0.4",
        ]
        assert run(["check", str(tmp_path / f"{columns}.csv"), *options]) == 0

    for columns in (20, FEWER, 2 * FEWER):
        wide(columns, "mixed").write_csv(tmp_path / f"{columns}.csv")
    check(20)
    fewer, more = (calls(lambda n=n: check(n)) for n in (FEWER, 2 * FEWER))
    assert more / fewer < MAX_RATIO


@pytest.mark.filterwarnings("ignore")
def test_no_frame_is_copied_once_per_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Selecting rows or columns of a frame, or listing its columns, costs as much as it
    has columns.
    """
    made: Counter[str] = Counter()
    for name in ("select", "filter", "with_columns", "rename", "to_native"):
        original = getattr(nw.DataFrame, name)

        def counted(
            self: Any,
            *args: Any,
            name: str = name,
            original: Any = original,
            **options: Any,
        ) -> Any:
            made[name] += 1
            return original(self, *args, **options)

        monkeypatch.setattr(nw.DataFrame, name, counted)
    listed: Any = vars(nw.DataFrame)["columns"]
    columns_of = property(lambda self: (made.update(["columns"]), listed.fget(self))[1])
    monkeypatch.setattr(nw.DataFrame, "columns", columns_of)
    found = []
    for columns in (20, FEWER):
        made.clear()
        audit(wide(columns, "numbers"), "ridge:10")
        found.append(dict(made))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore")
def test_eigenvalues_are_those_of_the_smaller_matrix(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A regression with more columns than rows works in the space of rows."""
    sizes: list[int] = []
    original = np.linalg.eigh

    def kept(matrix: Any, *args: Any) -> Any:
        sizes.append(len(matrix))
        return original(matrix, *args)

    monkeypatch.setattr(np.linalg, "eigh", kept)
    audit(wide(2 * FEWER, "numbers"), "ridge:10")
    assert sizes
    assert max(sizes) <= ROWS
