"""Formulas: what they may hold, their values and derivatives; and utilities that are
made of them.
"""

from typing import Any

import numpy as np
import pytest

import improvable
from improvable._typing import FloatArray
from improvable.question.catalog import as_utility
from improvable.question.formula import Formula
from oracle import naive_f_score


@pytest.mark.parametrize(
    "text",
    [
        "2 * a / (b + c)",
        "-a + b * c - 3",
        "log(a) - exp(b / 2) + sqrt(c)",
        "a ** 2 / b ** -0.5 + (+c) ** 3",
        "(a - b) / (a + b) / c",
        "1.5",
    ],
)
def test_derivatives_are_those_of_small_steps(text: str) -> None:
    formula, rng = Formula(text), np.random.default_rng(1)
    means = {name: rng.uniform(0.5, 2, (4, 2)) for name in "abc"}
    np.testing.assert_allclose(
        formula(means), np.broadcast_to(plain(text, means), (4, 2))
    )
    for name in "abc":
        step = 1e-6
        up, down = ({**means, name: means[name] + side * step} for side in (1, -1))
        numeric = (plain(text, up) - plain(text, down)) / (2 * step)
        np.testing.assert_allclose(
            formula.derivative(means, name), np.broadcast_to(numeric, (4, 2)), atol=1e-7
        )


def plain(text: str, means: dict[str, FloatArray]) -> FloatArray:
    """What Python itself makes of it."""
    return np.asarray(
        eval(text, {"log": np.log, "exp": np.exp, "sqrt": np.sqrt}, dict(means))
    )


def test_what_is_not_a_number_is_undefined() -> None:
    means = {"a": np.array([1.0, 0.0, 1.0]), "b": np.array([0.0, 0.0, 2.0])}
    np.testing.assert_array_equal(Formula("a / b")(means), [np.nan, np.nan, 0.5])
    np.testing.assert_array_equal(Formula("log(b)")(means), [np.nan, np.nan, np.log(2)])


@pytest.mark.parametrize(
    "text",
    [
        "a +",
        "a.b",
        "f(a)",
        "log(a, b)",
        "a ** b",
        "a if b else c",
        "[a]",
        "'a'",
        "True",
        "a < b",
        "__import__('os')",
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(improvable.OptionError, match=r"cannot be read|is not allowed"):
        Formula(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "has no numerator"),
        ({"means": {"a": lambda y, d: d}}, "means but no formula"),
        (
            {"formula": "a / b", "means": {"a": lambda y, d: d}},
            "reads 'b', which is not among its means",
        ),
        (
            {"formula": "a", "means": {"a": lambda y, d: d, "b": lambda y, d: y}},
            "does not read 'b'",
        ),
        (
            {
                "formula": "a",
                "means": {"a": lambda y, d: d},
                "numerator": lambda y, d: d,
            },
            "a formula and a numerator",
        ),
        ({"formula": "log", "means": {"log": lambda y, d: d}}, "is called 'log'"),
        (
            {"formula": "a", "means": {"a": improvable.UTILITIES["lift"]}},
            "is a formula itself",
        ),
        ({"formula": "a", "means": {"a": lambda y: y}}, "takes 1 arguments"),
        (
            {"numerator": lambda y, d: d, "between": "share"},
            "It is 'difference' or 'ratio'",
        ),
    ],
)
def test_a_utility_that_is_not_whole_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(improvable.OptionError, match=message):
        improvable.Utility(**arguments)


def test_f_scores_by_name() -> None:
    rng = np.random.default_rng(2)
    y, d = (rng.random((2, 500)) < 0.4).astype(np.float64)
    for name, beta in (
        ("f_score", 1.0),
        ("f2_score", 2.0),
        ("f0.5_score", 0.5),
        ("f1_score", 1.0),
    ):
        utility = as_utility(name)
        means = {
            part.name.removeprefix(f"{utility.name}."): np.asarray(
                part.parts(None, y, d)[0].mean()  # type: ignore[arg-type]
            )
            for part in utility.ingredients
        }
        assert float(Formula(utility.formula)(means)) == pytest.approx(
            naive_f_score(y, d, beta)
        )
    assert as_utility("f2_score") == as_utility("f2_score")
    assert as_utility("f2_score:cost").label == "f2_score:cost"
    assert as_utility("f1_score") is improvable.UTILITIES["f_score"]
    with pytest.raises(improvable.OptionError, match="positive_predictive_value"):
        as_utility("f0_score")
