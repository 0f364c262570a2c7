"""What the R package calls: data frames come in as bytes and labels, results go back as
objects and JSON.

Numbers cross as the bytes of R's vectors, so that every double arrives as it is,
whatever numpy reticulate knows.
"""

import ast
import json
import re
import typing
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import improvable

NA_INTEGER = -(2**31)  # as R stores it
OBJECTS: dict[str, str] = {
    "Claim": "claim",
    "Test": "how_to_test",
    "Read": "read_as",
    "Groups": "group_levels",
    "Constraints": "constraints",
    "About": "about",
}
"""Value objects, and the functions that make them in R."""


@dataclass
class Answer:
    """What a call gave: a value, or why there is none; and the warnings on the way.
    Texts are JSON.
    """

    value: Any = None
    error: str | None = None
    warnings: list[str] = field(default_factory=list)

    def told(self) -> str:
        """What R makes conditions of: each text as R would write it, and as Python says
        it.
        """
        both = [[in_r(text), text] for text in self.warnings]
        error = (
            None
            if self.error is None
            else [type(self.value).__name__, in_r(self.error), self.error]
        )
        return json.dumps({"error": error, "warnings": both})


def _answer(call: Callable[[], Any], also: tuple[type[Exception], ...] = ()) -> Answer:
    expected: tuple[type[Exception], ...] = (improvable.ImprovableError, *also)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", improvable.ImprovableWarning)
        try:
            answer = Answer(call())
        except expected as error:
            answer = Answer(error, str(error))
    answer.warnings = [str(one.message) for one in caught]
    return answer


def run(function: str, data: Any, arguments: dict[str, Any]) -> Answer:
    """Run `audit` or `compare` on a path, a frame of Python's, or columns as R sends
    them.
    """
    called = getattr(improvable, function)
    hints = _hints(called.__wrapped__)
    # A name that is no argument is answered with a TypeError, which says where it goes.
    also = (TypeError,) if set(arguments) - set(hints) else ()

    def call() -> Any:
        given = {
            name: _value(value, hints.get(name)) for name, value in arguments.items()
        }
        return called(as_frame(data) if isinstance(data, list) else data, **given)

    return _answer(call, also)


def ask(thing: Any, method: str, arguments: dict[str, Any]) -> Answer:
    """Call a method of a result."""
    return _answer(
        lambda: getattr(thing, method)(
            **{name: _value(value) for name, value in arguments.items()}
        )
    )


def load(folder: str) -> Answer:
    return _answer(lambda: improvable.load(folder))


def decide(algorithm: Any, columns: list[Any]) -> Answer:
    return _answer(
        lambda: bytearray(
            np.asarray(algorithm.decide(as_frame(columns)), dtype="<f8").tobytes()
        )
    )


def frontier(result: Any, form: str | None) -> Answer:
    def call() -> str:
        found = result.frontier(form)
        return json.dumps(
            found.to_dict() | {"at_most": found.bound_facts(at_most=True)}
        )

    return _answer(call)


def picture(result: Any, kind: str, path: str, about: Any) -> Answer:
    """Write a picture to a file."""

    def call() -> None:
        chart = result.plot(kind, _value(about))
        if chart is None:
            raise improvable.OptionError(
                f"there is nothing to draw as '{kind}'.", "Choose another picture."
            )
        chart.save(path)

    return _answer(call)


def stated(result: Any) -> str:
    """A result's kind, its JSON, and its summary."""
    text = json.dumps(result.to_dict())
    return json.dumps(
        {
            "class": type(result).__name__.lower(),
            "json": text,
            "summary": result.summary(),
        }
    )


def fields_of(name: str) -> list[str]:
    """The names that a value object or a function takes."""
    hints = _hints(
        getattr(getattr(improvable, name), "__wrapped__", getattr(improvable, name))
    )
    return [one for one in hints if not one.startswith("_") and one != "return"]


def example(name: str, rows: float | None, seed: float | None) -> Answer:
    """A data set of the package; of the simulated one, so many rows."""
    make = getattr(improvable.datasets, name)
    given = [] if rows is None else [int(rows)]
    return _answer(
        lambda: as_columns(
            make(*given, **({} if seed is None else {"seed": int(seed)}))
        )
    )


@cache
def _hints(thing: Any) -> dict[str, Any]:
    return typing.get_type_hints(thing)


def _value(value: Any, hint: Any = None) -> Any:
    """A value of R's as Python means it: 2000 is a whole number where one is asked
    for.
    """
    if isinstance(value, dict) and "improvable_setting" in value:
        kind, given = value["improvable_setting"], value["given"]
        if kind == "threshold":
            return improvable.threshold(**given)
        made = getattr(improvable, kind)
        hints = _hints(made)
        return made(**{name: _value(one, hints[name]) for name, one in given.items()})
    whole = int in (hint, *typing.get_args(hint)) and float not in (
        hint,
        *typing.get_args(hint),
    )
    return (
        int(value)
        if whole and isinstance(value, float) and value.is_integer()
        else value
    )


def as_frame(columns: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """A frame of columns, each its name, its kind, its bytes and its levels."""
    names = [name for name, *_ in columns]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        wrong = (
            f"the data frame has duplicate column names: {', '.join(map(repr, twice))}."
        )
        raise improvable.DataError(wrong, "Rename them.")
    return pl.DataFrame([_series(*column) for column in columns])


def _series(name: str, kind: str, content: bytearray, levels: list[Any]) -> pl.Series:
    if kind == "list":
        return pl.Series(name, levels, dtype=pl.List(pl.String))
    if kind in ("double", "whole", "microseconds", "duration"):
        numbers = pl.Series(name, np.frombuffer(bytes(content), dtype="<f8")).fill_nan(
            None
        )
        types = {
            "whole": pl.Int64(),
            "microseconds": pl.Datetime("us"),
            "duration": pl.Duration("us"),
        }
        return (
            numbers if kind == "double" else numbers.cast(pl.Int64()).cast(types[kind])
        )
    codes = np.frombuffer(bytes(content), dtype="<i4").astype(np.int64)
    numbers = pl.Series(name, codes).set(pl.Series(codes == NA_INTEGER), None)
    if kind in ("text", "long"):
        held = pl.Series(name, [*levels, None], dtype=pl.String)
        taken = held.gather(np.where(codes == NA_INTEGER, len(levels), codes - 1))
        return taken.cast(pl.Int64()) if kind == "long" else taken
    types = {"integer": pl.Int64(), "logical": pl.Boolean(), "day": pl.Date()}
    return (
        numbers.cast(pl.Int32()).cast(types[kind])
        if kind == "day"
        else numbers.cast(types[kind])
    )


def as_columns(frame: pl.DataFrame) -> list[list[Any]]:
    """A frame's columns for R: each its name, its kind, its bytes and its levels."""
    return [[name, *_sent(frame[name])] for name in frame.columns]


def _sent(series: pl.Series) -> tuple[str, bytearray, list[str]]:
    if series.dtype == pl.String:
        levels = series.drop_nulls().unique(maintain_order=True)
        codes = series.replace_strict(
            levels, range(1, len(levels) + 1), return_dtype=pl.Int64(), default=None
        )
        return "text", _integers(codes), levels.to_list()
    if series.dtype == pl.Boolean:
        return "logical", _integers(series.cast(pl.Int64())), []
    if (
        series.dtype.is_integer()
        and series.abs().max() is not None
        and float(str(series.abs().max())) < 2**31
    ):
        return "integer", _integers(series), []
    return (
        "double",
        bytearray(
            series.cast(pl.Float64())
            .fill_null(np.nan)
            .to_numpy()
            .astype("<f8")
            .tobytes()
        ),
        [],
    )


def _integers(series: pl.Series) -> bytearray:
    return bytearray(
        series.cast(pl.Int64()).fill_null(NA_INTEGER).to_numpy().astype("<i4").tobytes()
    )


# Messages name arguments as Python writes them. In R the words stay, and the code is
# R's.

_HELD = "|".join(OBJECTS)
_CODE = re.compile(rf"`([^`]+)`|\b\w+=(?:{_HELD})\((?:[^()]|\([^()]*\))*\)")


def in_r(text: str) -> str:
    """A message with its code as R writes it.

    >>> in_r(
    ...     "Drop those rows: `read=Read(drop_missing=True)`, or `group=Groups(..., "
    ...     "only='north')`."
    ... )
    'Drop those rows: `read = read_as(drop_missing = TRUE)`, or `groups = group_levels(only = "north")`.'
    >>> in_r("`draws` is part of `test`: test=Test(draws=500).")
    '`draws` is part of `test`: test = how_to_test(draws = 500).'
    """  # noqa: E501
    text = re.sub(
        rf"\bimprovable\.({_HELD})\(", lambda found: f"{OBJECTS[found[1]]}(", text
    )
    return _CODE.sub(
        lambda found: f"`{_code(found[1])}`" if found[1] else _code(found[0]), text
    )


def _code(code: str) -> str:
    try:
        parsed = ast.parse(f"f({code})", mode="eval").body
        assert isinstance(parsed, ast.Call)
        return _given(parsed)
    except (SyntaxError, ValueError, AssertionError):
        return code


def _given(call: ast.Call) -> str:
    named = [(str(one.arg), one.value) for one in call.keywords]
    inner = [
        _written(one)
        for one in call.args
        if not (isinstance(one, ast.Constant) and one.value is ...)
    ]
    return ", ".join([*inner, *(_named(name, value) for name, value in named)])


def _named(name: str, value: ast.expr) -> str:
    # in R the columns are the formula's
    grouped = name == "group" and isinstance(value, ast.Call)
    return f"{'groups' if grouped else name} = {_written(value)}"


def _written(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        value: Any = node.value
        if isinstance(value, bool) or value in (None, ...):
            return {True: "TRUE", False: "FALSE", None: "NULL", ...: "..."}[value]
        # R has written 500, which came as 500.0
        whole = isinstance(value, float) and value.is_integer()
        return json.dumps(int(value) if whole else value, ensure_ascii=False)
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_written(node.operand)}"
    if isinstance(node, ast.List | ast.Tuple):
        inner = [_written(one) for one in node.elts]
        return inner[0] if len(inner) == 1 else f"c({', '.join(inner)})"
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        keys = [
            (key.value, value) for key, value in pairs if isinstance(key, ast.Constant)
        ]
        return (
            "list("
            f"{', '.join(f'{_name(str(key))} = {_written(value)}' for key, value in keys)}"  # noqa: E501
            ")"
        )
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return f"{OBJECTS.get(node.func.id, node.func.id)}({_given(node)})"
    raise ValueError(ast.dump(node))


def _name(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z.][\w.]*", key) else f"`{key}`"
