"""Formulas in writing: a smooth function of a few named means, with its exact
derivatives.

A formula is a text, so that a result can be saved, brought back and checked by others
without anybody's code. It may hold numbers, names, ``+ - * / **`` (with a number as the
exponent), parentheses, and log, exp and sqrt.
"""

import ast
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from improvable.errors import OptionError

Array: TypeAlias = NDArray[np.float64]
Pair: TypeAlias = tuple[Array, Array]  # a value, and its derivative

# What may be called, each with its derivative.
FUNCTIONS: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    "log": (np.log, lambda x: 1 / x),
    "exp": (np.exp, np.exp),
    "sqrt": (np.sqrt, lambda x: 0.5 / np.sqrt(x)),
}
HINT = (
    "Write numbers, names, + - * / **, parentheses, log, exp and sqrt: '2 * hits / "
    "(selected + positives)'."
)


class Formula:
    """A formula, read once."""

    def __init__(self, text: str) -> None:
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError):
            raise OptionError(f"the formula '{text}' cannot be read.", HINT) from None
        self._pair(defaultdict(lambda: np.ones(())), "")  # refuses what is not allowed

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The means that it reads, in alphabetical order."""
        called = {
            id(node.func) for node in ast.walk(self._tree) if isinstance(node, ast.Call)
        }
        named = (
            node
            for node in ast.walk(self._tree)
            if isinstance(node, ast.Name) and id(node) not in called
        )
        return tuple(sorted({node.id for node in named}))

    @property
    def quotient(self) -> tuple[str, str] | None:
        """The two means of a formula that is one divided by the other; None for any
        other.
        """
        match self._tree:
            case ast.BinOp(
                left=ast.Name(id=above), op=ast.Div(), right=ast.Name(id=below)
            ) if above != below:
                return above, below
        return None

    def __call__(self, means: Mapping[str, Array]) -> Array:
        """Its value, NaN where it is not a finite number; means are arrays of one
        shape.
        """
        return self._pair(means, "")[0]

    def derivative(self, means: Mapping[str, Array], name: str) -> Array:
        """By how much it moves with one of the means; NaN where that is not a finite
        number.
        """
        return self._pair(means, name)[1]

    def _pair(self, means: Mapping[str, Array], name: str) -> Pair:
        shape = np.broadcast_shapes(*(np.shape(mean) for mean in means.values()))
        with np.errstate(all="ignore"):
            value, slope = self._walk(self._tree, means, name)
        value, slope = (
            np.broadcast_to(np.asarray(one, dtype=np.float64), shape)
            for one in (value, slope)
        )
        return np.where(np.isfinite(value), value, np.nan), np.where(
            np.isfinite(slope), slope, np.nan
        )

    def _walk(self, node: ast.AST, means: Mapping[str, Array], name: str) -> Pair:
        """Value and derivative of a part; one that is not allowed is refused."""
        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(
                number, bool
            ):
                return np.asarray(float(number)), np.asarray(0.0)
            case ast.Name(id=own):
                return means[own], np.asarray(float(own == name))
            case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=operand):
                value, slope = self._walk(operand, means, name)
                return (-value, -slope) if isinstance(op, ast.USub) else (value, slope)
            case ast.Call(func=ast.Name(id=called), args=[argument], keywords=[]) if (
                called in FUNCTIONS
            ):
                inner, slope = self._walk(argument, means, name)
                function, derivative = FUNCTIONS[called]
                return function(inner), derivative(inner) * slope
            case ast.BinOp(left=left, op=ast.Pow(), right=right) if (
                exponent := _number(right)
            ) is not None:
                base, slope = self._walk(left, means, name)
                return base**exponent, exponent * base ** (exponent - 1) * slope
            case ast.BinOp(
                left=left,
                op=ast.Add() | ast.Sub() | ast.Mult() | ast.Div() as op,
                right=right,
            ):
                (a, da), (b, db) = (
                    self._walk(left, means, name),
                    self._walk(right, means, name),
                )
                match op:
                    case ast.Add():
                        return a + b, da + db
                    case ast.Sub():
                        return a - b, da - db
                    case ast.Mult():
                        return a * b, da * b + a * db
                return a / b, (da - a / b * db) / b
        raise OptionError(
            (
                f"the formula '{self.text}' has '{ast.unparse(node)}', which is not "
                "allowed."
            ),
            HINT,
        )


def _number(node: ast.AST) -> float | None:
    """An exponent."""
    match node:
        case ast.UnaryOp(
            op=ast.USub(), operand=ast.Constant(value=int() | float() as value)
        ):
            return -float(value)
        case ast.Constant(value=int() | float() as value) if not isinstance(
            value, bool
        ):
            return float(value)
    return None
