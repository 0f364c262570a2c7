"""Frames of every library, every kind of column, every role: a result or one line of
advice, never anything else.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import improvable
from flat import flat_audit

N = 60
SIDE = [i % 2 for i in range(N)]
DAY = date(2020, 1, 1)
Values = list[Any]
Library = Callable[[dict[str, Values]], Any]
ASKED: dict[str, Any] = {
    "outcome": "outcome",
    "group": "group",
    "status_quo": "decision",
    "capacity": 0.4,
    "rule": "linear",
    "repetitions": 1,
    "draws": 100,
}

VALUES: dict[str, Values] = {
    "whole": [int(i % 7) for i in range(N)],
    "real": [i / 7 for i in range(N)],
    "bit": SIDE,
    "boolean": [bool(b) for b in SIDE],
    "text": [f"t{i}" for i in range(N)],
    "level": ["yes" if b else "no" for b in SIDE],
    "digits": [str(i % 5) for i in range(N)],
    "decimal": [Decimal(i % 9) / 4 for i in range(N)],
    "date": [DAY + timedelta(days=i % 40) for i in range(N)],
    "moment": [datetime(2020, 1, 1) + timedelta(hours=i) for i in range(N)],
    "zoned": [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=i) for i in range(N)],
    "duration": [timedelta(minutes=i % 11) for i in range(N)],
    "time": [time(i % 24) for i in range(N)],
    "list": [[i, i + 1] for i in range(N)],
    "record": [{"a": i, "b": str(i)} for i in range(N)],
    "bytes": [bytes([i]) for i in range(N)],
    "long": [10**20 + i for i in range(N)],
    "nothing": [None] * N,
    "infinite": [float("inf") if i == 3 else float(i) for i in range(N)],
    "same": [1] * N,
    "stray": ["n/a" if i == 4 else str(i % 9) for i in range(N)],
}
HOLES: dict[str, Values] = {
    f"{kind} with holes": [None if i % 10 == 0 else v for i, v in enumerate(values)]
    for kind, values in VALUES.items()
    if kind != "nothing"
}
COLUMNS = VALUES | HOLES
ROLES = (
    "outcome",
    "group",
    "decision",
    "weight",
    "cluster",
    "stratum",
    "feature",
    "target",
    "row_id",
)
NAMED = ("weight", "cluster", "stratum", "target", "row_id")


def as_polars(columns: dict[str, Values]) -> Any:
    return pl.DataFrame(
        [pl.Series(name, values, strict=False) for name, values in columns.items()]
    )


def as_categories(columns: dict[str, Values]) -> Any:
    frame = as_polars(columns)
    return frame.with_columns(pl.col(pl.String).cast(pl.Categorical))


def as_pandas(columns: dict[str, Values]) -> Any:
    return pd.DataFrame(
        {
            name: pd.Series(values, index=range(5, 5 + N))
            for name, values in columns.items()
        }
    )


def as_objects(columns: dict[str, Values]) -> Any:
    return pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    )


def as_nullable(columns: dict[str, Values]) -> Any:
    return as_pandas(columns).convert_dtypes()


def as_pandas_categories(columns: dict[str, Values]) -> Any:
    frame = as_objects(columns)
    for name, values in columns.items():
        if all(value is None or isinstance(value, str | int) for value in values):
            frame[name] = frame[name].astype("category")
    return frame


def as_arrow(columns: dict[str, Values]) -> Any:
    arrays = {}
    for name, values in columns.items():
        long = any(isinstance(value, int) and abs(value) > 2**63 for value in values)
        kept = (
            [None if value is None else Decimal(value) for value in values]
            if long
            else values
        )
        arrays[name] = pa.array(kept, type=pa.decimal128(38, 0) if long else None)
    return pa.table(arrays)


def as_dictionaries(columns: dict[str, Values]) -> Any:
    table = as_arrow(columns)
    for place, name in enumerate(table.column_names):
        if pa.types.is_string(table[name].type):
            table = table.set_column(place, name, table[name].dictionary_encode())
    return table


LIBRARIES: tuple[Library, ...] = (
    as_polars,
    as_categories,
    as_pandas,
    as_objects,
    as_nullable,
    as_pandas_categories,
    as_arrow,
    as_dictionaries,
)


def plain() -> dict[str, Values]:
    rng = np.random.default_rng(1)
    need = rng.normal(size=N)
    return {
        "outcome": (need + rng.normal(size=N)).tolist(),
        "group": ["a" if b else "b" for b in SIDE],
        "decision": [int(n > 0) for n in need],
        "need": need.tolist(),
    }


def advice(library: Library, roles: dict[str, str], **options: Any) -> str:
    """Run an audit with columns of these kinds in these roles: "" where it gives a
    result, otherwise what it says.
    """
    columns = plain()
    for role, kind in roles.items():
        columns[role] = COLUMNS[kind]
    named: dict[str, Any] = {role: role for role in NAMED if role in roles}
    try:
        result = flat_audit(library(columns), **ASKED, **named, **options)
    except improvable.ImprovableError as error:
        return f"{error.message} {error.hint}"
    assert 0 <= result.p_value <= 1
    assert result.summary()
    return ""


@pytest.mark.parametrize("role", ROLES)
def test_every_kind_of_column_in_every_role_gives_a_result_or_advice(role: str) -> None:
    """Kinds take turns with the libraries; the test below mixes them."""
    for place, kind in enumerate(COLUMNS):
        library = LIBRARIES[(place + 3 * ROLES.index(role)) % len(LIBRARIES)]
        said = advice(library, {role: kind})
        assert "\n" not in said, (library.__name__, kind)


@given(
    st.sampled_from(LIBRARIES),
    st.dictionaries(
        st.sampled_from(ROLES), st.sampled_from(sorted(COLUMNS)), min_size=1, max_size=3
    ),
    st.fixed_dictionaries(
        {},
        optional={
            "drop_missing": st.booleans(),
            "positive": st.sampled_from(["yes", "1", "True", ["yes", "1"]]),
            "na": st.sampled_from(["9", ["t1", "0"], "no", "n/a", ["n/a", "9"]]),
            "strip": st.booleans(),
            "scheme": st.sampled_from(["forward", "split"]),
            "lower_is_better": st.booleans(),
            "exclude": st.sampled_from(["need", "feature*", ["need"], 3]),
            "features": st.sampled_from(["need", ["feature"]]),
        },
    ),
)
@settings(
    max_examples=1000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
def test_a_thousand_frames_give_a_result_or_advice(
    library: Library, roles: dict[str, str], options: dict[str, Any]
) -> None:
    said = advice(library, roles, **options)
    assert "\n" not in said
    assert "Error:" not in said, "an error of another library is not advice"


@pytest.mark.parametrize(
    "kind",
    [
        "bit",
        "boolean",
        "level",
        "digits",
        "decimal",
        "duration",
        "date",
        "zoned",
        "moment",
        "whole with holes",
    ],
)
@pytest.mark.parametrize("role", ["outcome", "feature", "group"])
def test_libraries_agree(kind: str, role: str) -> None:
    """The same values are the same audit, whatever library holds them: to the last
    digit.
    """
    found = set()
    positive = "yes" if (role, kind) == ("outcome", "level") else None
    for library in LIBRARIES:
        if library is as_pandas_categories:
            # there numbers are declared to be categories, which is another audit
            continue
        columns = plain() | {role: COLUMNS[kind]}
        try:
            result = flat_audit(
                library(columns), **ASKED, positive=positive, group_blind=False
            )
            found.add(f"{result.p_value!r} {result.data_fingerprint}")
        except improvable.ImprovableError as error:
            found.add(str(error))
    assert len(found) == 1, found


def test_columns_may_be_named_by_whole_numbers() -> None:
    frame = pd.DataFrame(dict(enumerate(plain().values())))
    by_number: dict[str, Any] = ASKED | {"outcome": 0, "group": 1, "status_quo": 2}
    by_text: dict[str, Any] = ASKED | {"outcome": "0", "group": "1", "status_quo": "2"}
    assert (
        flat_audit(frame, **by_number).p_value == flat_audit(frame, **by_text).p_value
    )
    with pytest.raises(improvable.ImprovableError, match="no column '7'"):
        flat_audit(frame, **{**by_number, "outcome": 7})


def test_one_name_may_stand_where_several_are_meant() -> None:
    frame = as_polars({**plain(), "AGE": COLUMNS["real"]})
    assert list(flat_audit(frame, **ASKED, exclude="AGE").setting["features"]) == [
        "need"
    ]
    assert list(flat_audit(frame, **ASKED, features="AGE").setting["features"]) == [
        "AGE"
    ]
    wrong: Any = 3
    with pytest.raises(improvable.ImprovableError, match="no column '3'"):
        flat_audit(frame, **ASKED, exclude=wrong)
