"""The fast path agrees, in numbers and in distribution, with resampling rows in a
loop.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ks_2samp

import improvable
from conftest import Case
from flat import flat_compare
from improvable.inference.test import assess
from oracle import (
    NAIVE_UTILITIES,
    naive_draws,
    naive_p_values,
    naive_statistics,
    naive_values,
    plain_evidence,
    signed_statistics,
)

DRAWS = 3_000
ACCURACIES = [
    name for name in NAIVE_UTILITIES if improvable.UTILITIES[name].higher_is_better
]


def make_case(name: str) -> tuple[Case, str]:
    case = Case(seed=3, rows=400, prices=name == "profit")
    return case, "binary" if improvable.UTILITIES[name].binary_outcome else "count"


def compared(
    case: Case, outcome: str, accuracy: str, fairness: str, **options: object
) -> improvable.Comparison:
    return flat_compare(
        case.frame(),
        outcome=outcome,
        group="group",
        status_quo="now",
        candidate="new",
        accuracy=accuracy,
        fairness=fairness,
        draws=DRAWS,
        seed=5,
        **options,
    )


@pytest.mark.paper(
    "Equation 1", "Example 1", "Example 2", "Example 3", "Example 4", "Example 5"
)
@pytest.mark.parametrize("name", NAIVE_UTILITIES)
def test_utilities_equal_their_definitions(name: str) -> None:
    case, outcome = make_case(name)
    accuracy = "profit" if name == "profit" else "selection_rate"
    result = compared(case, outcome, accuracy, name)
    y = case.binary if outcome == "binary" else case.count
    expected = naive_values(name, y, case.decisions, case.group)
    np.testing.assert_allclose(
        result.evidence.values[0][:, result.evidence.fairness[0]], expected, rtol=1e-12
    )


@pytest.mark.paper("Definition 2", "Section 3.2", "Proposition B.5")
@pytest.mark.parametrize("form", ["ratio", "difference"])
@pytest.mark.parametrize("name", ACCURACIES)
def test_p_values_agree_with_resampling_rows(name: str, form: str) -> None:
    """Monte Carlo error of a difference of two p-values is at most .013; the margin is
    five of these.
    """
    case, outcome = make_case(name)
    deltas = (0.02, -0.03, 0.1) if form == "ratio" else (0.01, -0.02, 0.02)
    result = compared(
        case,
        outcome,
        name,
        name,
        form=form,
        delta_accuracy={"a": deltas[0], "b": deltas[1]},
        delta_fairness=deltas[2],
    )
    y = case.binary if outcome == "binary" else case.count
    values = naive_values(name, y, case.decisions, case.group)
    draws = naive_draws(name, y, case.decisions, case.group, DRAWS, seed=2)
    # the naive twin takes group 0 as the higher one
    order = result.evidence.reference(0, result.evidence.fairness[0])
    values, draws = values[list(order)], draws[:, list(order)]
    ordered = (
        (deltas[0], deltas[1], deltas[2])
        if order == (0, 1)
        else (deltas[1], deltas[0], deltas[2])
    )
    between = improvable.UTILITIES[name].between
    statistics = naive_statistics(values, values, ordered, form, between)
    naive = naive_p_values(
        statistics, naive_statistics(draws, draws, ordered, form, between)
    )
    # choosing it here: test_reference_pair.py
    given = replace(plain_evidence(result), chosen_here=False)
    fast = assess(given, result.question.claim)
    assert fast.p_accuracy["ab"[order[0]]] == pytest.approx(naive["r"], abs=0.065)
    assert fast.p_accuracy["ab"[order[1]]] == pytest.approx(naive["b"], abs=0.065)
    assert fast.p_fairness_other == pytest.approx(naive["f"], abs=0.065)
    assert fast.p_fairness == pytest.approx(
        max(naive["f_up"], naive["f_down"]), abs=0.065
    )


@pytest.mark.paper("Appendix A")
@pytest.mark.parametrize("name", NAIVE_UTILITIES)
def test_draws_have_the_same_distribution(name: str) -> None:
    case, outcome = make_case(name)
    result = compared(
        case, outcome, "profit" if name == "profit" else "selection_rate", name
    )
    y = case.binary if outcome == "binary" else case.count
    draws = naive_draws(name, y, case.decisions, case.group, DRAWS, seed=4)
    fast = plain_evidence(result).drawn[0][:, :, result.evidence.fairness[0]]
    for g in range(2):
        for t in range(2):
            assert ks_2samp(fast[:, g, t], draws[:, g, t]).pvalue > 1e-5
    gap = signed_statistics(fast[..., 0], fast[..., 1], (0, 1), 0.0, "ratio")
    naive_gap = naive_statistics(draws, draws, (0, 0, 0), "ratio")
    assert ks_2samp(gap[:, 0], naive_gap["f_up"]).pvalue > 1e-5
    assert ks_2samp(gap[:, 1], naive_gap["f_down"]).pvalue > 1e-5


@pytest.mark.paper("Equation 1")
def test_accuracy_and_fairness_may_be_measured_differently(case: Case) -> None:
    result = compared(case, "count", "calibration", "selection_rate")
    accuracy = naive_values("calibration", case.count, case.decisions, case.group)
    fairness = naive_values("selection_rate", case.count, case.decisions, case.group)
    np.testing.assert_allclose(result.evidence.values[0][:, 0], accuracy)
    np.testing.assert_allclose(result.evidence.values[0][:, 1], fairness)


def test_a_custom_utility_may_read_the_rows(case: Case) -> None:
    """Written out as a pair of functions of the rows, calibration is calibration."""
    custom = improvable.Utility(
        lambda rows, y, d: rows["count"].to_numpy() * d,
        lambda rows, y, d: d * (rows["count"] >= 0).to_numpy(),
    )
    mine = improvable.compare(
        case.frame(),
        outcome="binary",
        group="group",
        status_quo="now",
        candidate="new",
        accuracy=custom,
        test=improvable.Test(draws=500),
    )
    built_in = improvable.compare(
        case.frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=500),
    )
    np.testing.assert_array_equal(mine.evidence.draws, built_in.evidence.draws)
