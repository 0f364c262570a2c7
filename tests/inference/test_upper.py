"""Upper bounds: the p-value by its definition, and the bound as the delta from which
every larger one is ruled out.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from conftest import Case
from flat import flat_compare
from improvable.inference.evidence import Evidence
from improvable.inference.upper import ALL, parts_of, upper_bound, upper_p_value
from improvable.question.claim import Claim
from oracle import naive_upper_p

DELTAS = (0.0, 0.1, 0.35, 0.7, 0.95)


def evidence_of(seed: int, groups: int = 2, rows: int = 240) -> Evidence:
    case = Case(seed=seed, rows=rows)
    group = (
        np.random.default_rng(seed).integers(0, groups, rows)
        if groups > 2
        else case.group
    )
    frame = case.frame().with_columns(group=np.array(["a", "b", "c", "d"])[group])
    compared = flat_compare(
        frame,
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        accuracy="calibration",
        draws=100,
    )
    return compared.evidence


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
@pytest.mark.parametrize("what", ["fairness", "accuracy"])
@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize(("seed", "groups"), [(0, 2), (1, 2), (2, 3), (3, 4)])
def test_the_p_value_is_that_of_the_definition(
    seed: int, groups: int, form: Any, what: str
) -> None:
    evidence = evidence_of(seed, groups)
    parts = parts_of(evidence, Claim(form=form), what, form)
    values, draws = evidence.values[0][:, 0], evidence.drawn[0][:, :, 0]
    for delta in DELTAS:
        assert upper_p_value(parts, delta) == naive_upper_p(
            values, draws, evidence.units, delta, what, form
        ), delta


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_the_bound_is_where_ruling_out_begins(seed: int, form: Any) -> None:
    """Every larger delta is ruled out, and one that is smaller by a thousandth of all
    there is is not.
    """
    parts = parts_of(evidence_of(seed, rows=900), Claim(form=form), "fairness", form)
    whole = 1.0 if form == "ratio" else float(parts[1].before.max())
    for level in (0.025, 0.2, 0.4):
        bound = upper_bound(parts, level)
        if bound == np.inf:
            assert upper_p_value(parts, 0.9999 * whole) >= level
            continue
        assert 0 <= bound <= ALL * whole
        assert all(
            upper_p_value(parts, delta) < level
            for delta in np.linspace(bound, whole, 40)
            if delta > 0
        )
        assert bound == 0 or upper_p_value(parts, bound - 0.001 * whole) >= level


def drawn_at(values: Any, spread: float = 0.01, undefined: int = 0) -> Evidence:
    """Evidence whose draws stand around these utilities, (groups, 2); some of them have
    none of the candidate's.
    """
    base, values = evidence_of(0), np.asarray(values, dtype=float)
    rng, shape = np.random.default_rng(5), (400, *values.shape)
    sums = np.stack([values, np.ones_like(values)], axis=-1)[:, None]
    drawn = np.stack(
        [values + spread * rng.normal(size=shape), np.ones(shape)], axis=-1
    )[:, :, None]
    drawn[:undefined, 0, :, 1] = 0.0
    return replace(
        base, sums=sums, draws=drawn, training=sums[:, :, 0], units=1_000, linear=False
    )


def fairness_bound(evidence: Evidence, level: float = 0.05, **claim: Any) -> float:
    return upper_bound(parts_of(evidence, Claim(**claim), "fairness", "ratio"), level)


def test_clear_cases_have_clear_bounds() -> None:
    assert fairness_bound(drawn_at([[0.7, 0.75], [0.5, 0.6]])) == pytest.approx(
        0.25, abs=0.2
    )
    assert fairness_bound(drawn_at([[0.7, 0.75], [0.5, 0.6]])) > 0.25
    assert fairness_bound(drawn_at([[0.7, 0.75], [0.5, 0.4]])) == 0, (
        "wider, and less accurate"
    )
    assert fairness_bound(drawn_at([[0.7, 0.5], [0.5, 0.5]])) == 0, (
        "no gap, but less accurate for a"
    )
    assert fairness_bound(drawn_at([[0.7, 0.5], [0.5, 0.5]]), ask="fairness") == np.inf
    assert (
        fairness_bound(drawn_at([[0.7, 0.5], [0.5, 0.5]]), delta_accuracy=-0.5)
        == np.inf
    )
    assert fairness_bound(drawn_at([[0.7, 0.75], [0.5, 0.6]], spread=0.3)) == np.inf, (
        "nothing is ruled out"
    )


def test_undefined_draws_count_against_ruling_out() -> None:
    values = [[0.7, 0.75], [0.5, 0.4]]
    assert fairness_bound(drawn_at(values, undefined=19)) == 0
    assert fairness_bound(drawn_at(values, undefined=20)) == np.inf


def test_what_never_moves_rules_nothing_out() -> None:
    still = drawn_at([[0.7, 0.6], [0.5, 0.4]], spread=0.0)
    assert upper_p_value(parts_of(still, Claim(), "fairness", "ratio"), 0.5) == 1


def test_the_widest_gap_is_not_the_one_that_training_rows_had() -> None:
    """The training rows had the gap the other way round: a bound beside that pair would
    rule out what is true.
    """
    found = drawn_at([[0.7, 0.75], [0.5, 0.6]])
    turned = replace(found, training=found.training[::-1].copy(), chosen_here=False)
    assert fairness_bound(turned) == fairness_bound(found) > 0.25


def test_a_protected_group_may_have_no_gap() -> None:
    """A higher mean among the selected is a higher bar: b is better off under both
    algorithms, and its gap is zero.
    """
    values = drawn_at([[0.7, 0.72], [0.5, 0.6]])
    assert fairness_bound(values, protected=("b",)) == np.inf
    assert 0.4 < fairness_bound(values, protected=("a",)) < 0.8


def test_either_tail_of_the_draws_counts() -> None:
    """Deviations that corrections turned round give the same bound."""
    found = drawn_at([[0.7, 0.75], [0.5, 0.6]])
    skewed = np.random.default_rng(6).exponential(0.02, found.draws.shape[:-1]) - 0.02
    bounds = []
    for sign in (1, -1):
        draws = np.broadcast_to(found.sums, found.draws.shape).copy()
        draws[..., 0] += sign * skewed
        bounds.append(fairness_bound(replace(found, draws=draws)))
    assert bounds[0] == bounds[1]
