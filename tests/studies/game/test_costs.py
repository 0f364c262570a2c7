"""Costs from a number or a formula: what is evaluated, and what is refused."""

import math

import pytest

import improvable
from improvable.studies.game import costs_of, play

FORMULAS = [
    "0.001*m",
    "0.01*m**1.5 + 0.001*m",
    "exp(m/100) - 1",
    "0.02*(m + m**2)/2",
    "m*sqrt(m + 1)/500",
    "-(-m)/9",
]


@pytest.mark.paper("Section 5.1")
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_what_python_computes(formula: str) -> None:
    single, repeated = costs_of(formula, 5)
    scope = {"exp": math.exp, "sqrt": math.sqrt, "log": math.log, "__builtins__": {}}
    for m in (0, 1, 2, 7, 40):
        assert single(m) == pytest.approx(
            eval(formula, scope, {"m": m}), rel=1e-12, abs=1e-15
        )
        assert repeated(m) == pytest.approx(
            eval(formula, scope, {"m": 5 * m}), rel=1e-12, abs=1e-15
        )


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('true')",
        "m.real",
        "n*2",
        "K*m",
        "9**9**9*m",
        "m if m else 1",
        "",
        "m +",
    ],
)
def test_nothing_but_arithmetic_of_m_is_evaluated(formula: str) -> None:
    with pytest.raises(improvable.OptionError, match="formula") as caught:
        costs_of(formula, 7)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("sqrt(m)", "concave"),
        ("0.1*log(m + 1)", "concave"),
        ("5", "is not above"),
        ("-m", "is not above"),
        ("0.001*m - 0.00001*m**2", "concave"),
        ("1/m", "has no value at m = 0"),
        ("log(m)", "has no value at m = 0"),
        ("(m - 3)**0.5", "has no value at m = 0"),
    ],
)
def test_costs_that_no_game_has_are_refused(formula: str, said: str) -> None:
    with pytest.raises(improvable.OptionError, match=said):
        play(*costs_of(formula, 7))


def test_a_cost_that_explodes_is_a_cost() -> None:
    single, repeated = costs_of("0.001*exp(m)", 7)
    assert repeated(200) == math.inf
    assert play(single, repeated).single.attempts == 4


def test_a_number_is_the_linear_formula() -> None:
    assert [costs_of("0.01*m", 7)[i](3) for i in (0, 1)] == pytest.approx(
        [costs_of(0.01, 7)[i](3) for i in (0, 1)]
    )
