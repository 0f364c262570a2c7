"""What attempts cost the analyst: a price per repetition, a formula or a table.

The paper's c1 and c2 are increasing and weakly convex. Where nothing else is said, a cost is that of so many
repetitions: c1(m) = c(m) and c2(m) = c(K m).
"""

import ast
import csv
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from improvable.errors import DataError, OptionError
from improvable.question.checks import check_integer
from improvable.studies.game.game import linear_costs
from improvable.studies.game.increments import Cost, check_cost

LONGEST_FORMULA: Final = 200
EXAMPLE: Final = "Write a formula of m such as 0.001*m**1.5."
OPERATORS: Final[dict[type[ast.operator], Callable[[float, float], float]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
FUNCTIONS: Final[dict[str, Callable[[float], float]]] = {"exp": math.exp, "log": math.log, "sqrt": math.sqrt}


@dataclass(frozen=True)
class Costs:
    """The costs of both procedures.

    Attributes
    ----------
    words : str
        "one repetition costs 0.001".
    of : callable
        From K to the cost of m attempts of K repetitions; K = 1 is procedure s1.
    every_k : bool
        Whether `of` knows every K, or only the one that a table was written for.
    """

    words: str
    of: Callable[[int], Cost]
    every_k: bool = True

    def both(self, repetitions: int) -> tuple[Cost, Cost]:
        """c1 and c2 of the game, checked to be increasing and weakly convex."""
        check_integer("repetitions", repetitions, 2)
        pair = self.of(1), self.of(repetitions)
        for cost in pair:
            check_cost(cost)
        return pair


def costs_per_repetition(per_repetition: float) -> Costs:
    """Every repetition costs the same."""
    linear_costs(per_repetition, 1)
    return Costs(
        f"one repetition costs {per_repetition:g}", lambda repetitions: linear_costs(per_repetition, repetitions)[1]
    )


def costs_from_formula(formula: str, median: str | None = None) -> Costs:
    """Costs from a formula of m, and of K.

    Parameters
    ----------
    formula : str
        c1(m). Numbers, m, K, + - * / **, brackets, exp, log and sqrt; nothing else is evaluated.
    median : str, optional
        c2(m); by default the formula for K m repetitions.

    Returns
    -------
    Costs

    Examples
    --------
    >>> single, repeated = costs_from_formula("0.001*m**2").both(7)
    >>> round(single(3), 3), round(repeated(3), 3)
    (0.009, 0.441)
    """
    first = _compiled(formula)
    if median is None:
        return Costs(f"m repetitions cost {formula}", lambda repetitions: lambda m: first(repetitions * m, repetitions))
    second = _compiled(median)

    def of(repetitions: int) -> Cost:
        return (lambda m: first(m, 1)) if repetitions == 1 else (lambda m: second(m, repetitions))

    return Costs(f"m attempts cost {formula} for one repetition and {median} for the median", of)


def costs_from_table(path: str | Path) -> Costs:
    """Costs from a CSV file with the columns attempts and cost, and perhaps cost_median.

    `cost` is that of so many attempts of one repetition, all together. Between rows it is interpolated; beyond the last
    row an attempt costs what the last one did, the least that is still convex. `cost_median` is the same for the
    median; without it c2(m) is the cost of K m repetitions.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Costs
    """
    try:
        with Path(path).open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.DictReader(file, skipinitialspace=True))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DataError(f"cannot read '{path}': {reason}.", "Give a CSV file with attempts,cost.") from None
    known = set(rows[0]) if rows else set()
    if not {"attempts", "cost"} <= known:
        raise DataError(f"'{path}' has no columns attempts and cost.", "Its first line is attempts,cost.")
    first = _interpolated(rows, "cost", str(path))
    name = Path(path).name
    if "cost_median" not in known:
        return Costs(f"costs of m repetitions from {name}", lambda repetitions: lambda m: first(repetitions * m))
    second = _interpolated(rows, "cost_median", str(path))
    words = f"costs of m attempts of either procedure from {name}"
    return Costs(words, lambda repetitions: first if repetitions == 1 else second, every_k=False)


def _interpolated(rows: Sequence[dict[str, str]], column: str, path: str) -> Cost:
    knots: dict[int, float] = {}
    for line, row in enumerate(rows, start=2):
        try:
            tried, paid_for = float(row["attempts"]), float(row[column])
        except (TypeError, ValueError):
            raise DataError(
                f"line {line} of '{path}' has no number in attempts or {column}.", "Write lines such as 1,0.001."
            ) from None
        if tried < 0 or tried != int(tried) or not math.isfinite(paid_for) or int(tried) in knots:
            raise DataError(
                f"line {line} of '{path}' is {row['attempts']},{row[column]}.",
                "Each whole number of attempts stands once, with a finite cost.",
            )
        knots[int(tried)] = paid_for
    knots.setdefault(0, 0.0)
    if len(knots) < 2:
        raise DataError(f"'{path}' has one number of attempts.", "Give the cost of at least one attempt.")
    ends = sorted(knots)
    slopes = [(knots[b] - knots[a]) / (b - a) for a, b in pairwise(ends)]
    for (a, b), slope in zip(pairwise(ends), slopes, strict=True):
        if slope <= 0:
            raise OptionError(
                f"in '{path}' {b:,} attempts cost no more than {a:,}.", "A cost must increase with attempts."
            )
    for middle, early, late in zip(ends[1:], slopes, slopes[1:], strict=False):
        if late < early * (1 - 1e-9):
            raise OptionError(
                f"in '{path}' the cost is concave: after {middle:,} an attempt costs less than before.",
                "It must be weakly convex: each attempt costs at least what the one before it did.",
            )
    last, paid = ends[-1], np.array([knots[end] for end in ends])

    def total(m: int) -> float:
        return float(np.interp(m, ends, paid)) if m <= last else float(paid[-1] + (m - last) * slopes[-1])

    return total


def _compiled(formula: str) -> Callable[[int, int], float]:
    """A formula as a function of m and K; refuses everything but arithmetic."""
    if len(formula) > LONGEST_FORMULA:
        raise OptionError(f"the cost formula has {len(formula)} characters.", f"At most {LONGEST_FORMULA} are read.")
    try:
        tree = ast.parse(formula.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise OptionError(f"the cost formula '{formula}' is no formula.", EXAMPLE) from None
    _check_parts(tree, formula)

    def value(m: int, repetitions: int) -> float:
        try:
            found = _evaluated(tree, {"m": float(m), "K": float(repetitions)})
        except OverflowError:
            found = math.inf if m > 1 else math.nan
        except (ZeroDivisionError, ValueError):
            found = math.nan
        if isinstance(found, complex) or math.isnan(found):
            raise OptionError(f"the cost formula '{formula}' has no value at m = {m}.", EXAMPLE)
        return found

    return value


def _check_parts(node: ast.expr, formula: str) -> None:
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            _check_parts(left, formula)
            _check_parts(right, formula)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            _check_parts(operand, formula)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            _check_parts(argument, formula)
        case ast.Constant(value=value) if type(value) in (int, float):
            pass
        case ast.Name(id="m" | "K"):
            pass
        case _:
            part = ast.unparse(node)
            raise OptionError(
                f"the cost formula may not have '{part}'.",
                "It has numbers, m, K, + - * / **, brackets, exp, log and sqrt.",
            )


def _evaluated(node: ast.expr, names: dict[str, float]) -> float:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return OPERATORS[type(op)](_evaluated(left, names), _evaluated(right, names))
        case ast.UnaryOp(op=op, operand=operand):
            return -_evaluated(operand, names) if isinstance(op, ast.USub) else _evaluated(operand, names)
        case ast.Call(func=ast.Name(id=name), args=[argument]):
            return FUNCTIONS[name](_evaluated(argument, names))
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=value):
            return float(value)  # type: ignore[arg-type]
    raise AssertionError("checked when it was compiled")
