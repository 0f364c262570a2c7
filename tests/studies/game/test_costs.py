"""Costs from a formula or a table: what is evaluated, and what is refused."""

import math
from pathlib import Path

import pytest

import improvable
from improvable.studies.game.costs import costs_from_formula, costs_from_table, costs_per_repetition
from improvable.studies.game.game import fewest_repetitions, linear_costs, play
from improvable.studies.game.mixing import BetaMixing

FORMULAS = ["0.001*m", "0.01*m**1.5 + 0.001*m", "exp(m/100) - 1", "0.02*(m + m**2)/2", "m*sqrt(m + 1)/500", "-(-m)/9"]


@pytest.mark.paper("Section 5.1")
@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_is_what_python_computes(formula: str) -> None:
    single, repeated = costs_from_formula(formula).both(5)
    scope = {"exp": math.exp, "sqrt": math.sqrt, "log": math.log, "__builtins__": {}}
    for m in (0, 1, 2, 7, 40):
        assert single(m) == pytest.approx(eval(formula, scope, {"m": m}), rel=1e-12, abs=1e-15)
        assert repeated(m) == pytest.approx(eval(formula, scope, {"m": 5 * m}), rel=1e-12, abs=1e-15)


def test_the_median_may_have_a_formula_of_its_own() -> None:
    costs = costs_from_formula("0.01*m", "0.002*K*m")
    single, repeated = costs.both(7)
    assert (single(3), repeated(3)) == pytest.approx((0.03, 0.042))
    assert costs.of(11)(3) == pytest.approx(0.066)


@pytest.mark.parametrize(
    "formula",
    [
        "__import__('os').system('true')", "m.real", "[m]", "m if m else 1", "lambda: m", "m; m", "open('x')", "n*2",
        "'a'*m", "True*m", "1j*m", "m@m", "m//2", "m%2", "exp(m, m)", "exp(x=m)", "", "m +",
        "(" * 150, "m+" * 120 + "m",
        "max(m, 2)", "m := 3", "f'{m}'", "m\x00", "~m", "m < 2",
    ],
)  # fmt: skip
def test_nothing_but_arithmetic_is_evaluated(formula: str) -> None:
    with pytest.raises(improvable.OptionError) as caught:
        costs_from_formula(formula).both(7)
    assert "formula" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("sqrt(m)", "concave"),
        ("0.1*log(m + 1)", "concave"),
        ("5", "is not above"),
        ("-m", "is not above"),
        ("0.01*m - 0.0001*m**2", "concave"),
        ("1/m", "has no value at m = 0"),
        ("log(m)", "has no value at m = 0"),
        ("(m - 3)**0.5", "has no value at m = 0"),
        ("9**9**9*m", "has no value at m = 0"),
    ],
)
def test_costs_that_no_game_has_are_refused(formula: str, said: str) -> None:
    with pytest.raises(improvable.OptionError, match=said):
        costs_from_formula(formula).both(7)


def test_a_cost_that_explodes_is_a_cost() -> None:
    single, repeated = costs_from_formula("0.001*exp(m)").both(7)
    assert repeated(200) == math.inf
    assert play(single, repeated).single.attempts == 4


def test_a_table_is_interpolated_and_goes_on_at_its_last_price(tmp_path: Path) -> None:
    file = tmp_path / "costs.csv"
    file.write_text("attempts, cost\n1,0.01\n3,0.05\n10,0.40\n")
    single, repeated = costs_from_table(file).both(7)
    assert [single(m) for m in (0, 1, 2, 3, 10, 12)] == pytest.approx([0, 0.01, 0.03, 0.05, 0.40, 0.50])
    assert repeated(1) == single(7)
    file.write_text("\ufeffattempts,cost,cost_median\n0,1,2\n1,1.01,2.5\n2,1.02,3.0\n")
    costs = costs_from_table(file)
    single, repeated = costs.both(7)
    assert not costs.every_k
    assert (single(2), repeated(2), repeated(4)) == pytest.approx((1.02, 3.0, 4.0))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("m,c\n1,2\n", "has no columns attempts and cost"),
        ("", "has no columns attempts and cost"),
        ("attempts,cost\n1,a\n", "line 2 of .* has no number"),
        ("attempts,cost\n1\n", "line 2 of .* has no number"),
        ("attempts,cost\n1.5,2\n", "line 2 of .* is 1.5,2"),
        ("attempts,cost\n-1,2\n", "line 2 of .* is -1,2"),
        ("attempts,cost\n1,inf\n", "line 2 of .* is 1,inf"),
        ("attempts,cost\n1,2\n1,3\n", "line 3 of .* is 1,3"),
        ("attempts,cost\n0,2\n", "has one number of attempts"),
        ("attempts,cost\n1,2\n2,2\n", "2 attempts cost no more than 1"),
        ("attempts,cost\n1,2\n2,3\n", "concave: after 1"),
    ],
)
def test_a_table_that_is_none_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "costs.csv").write_text(text)
    with pytest.raises(improvable.ImprovableError, match=said) as caught:
        costs_from_table(tmp_path / "costs.csv").both(7)
    assert "\n" not in str(caught.value)
    with pytest.raises(improvable.DataError, match="cannot read"):
        costs_from_table(tmp_path / "absent.csv")


def test_a_price_per_repetition_is_the_linear_cost_and_the_search_for_repetitions_takes_any() -> None:
    mixing = BetaMixing(0.4)
    assert (
        play(*costs_per_repetition(0.01).both(5), repetitions=5).to_dict()
        == play(*linear_costs(0.01, 5), repetitions=5).to_dict()
    )
    assert fewest_repetitions(costs_from_formula("0.01*m").of, mixing=mixing) == fewest_repetitions(0.01, mixing=mixing)
