"""The direction that the status quo suggests, from rows and from counts."""

from typing import cast

import numpy as np
import pytest
from scipy import stats

from improvable.data.frame import Rows
from improvable.data.groups import Attribute, Grouping
from improvable.data.sample import Sample
from improvable.inference.diagnostics import crossed_array, crossed_sums
from improvable.procedure.screen import direction_of, direction_of_counts


@pytest.mark.parametrize("kind", ["0/1", "amounts"])
def test_rows_and_counts_agree_with_welchs_t(kind: str) -> None:
    rng = np.random.default_rng(5)
    rows = 400
    outcome = (
        (rng.random(rows) < 0.3).astype(float)
        if kind == "0/1"
        else rng.lognormal(size=rows)
    )
    decision = (rng.random(rows) < 0.4).astype(float)
    grouping = Grouping(
        (Attribute("group", ("a", "b", "c"), np.arange(3)),), rng.integers(0, 3, rows)
    )
    sample = Sample(cast(Rows, range(rows)), grouping, {None: outcome})
    from_rows = direction_of(sample, decision)
    chosen = (decision == 1, rng.random(rows) < 0.5)
    from_counts = direction_of_counts(crossed_array(crossed_sums(sample, chosen)), 1.0)
    assert from_rows is not None
    assert from_counts is not None
    sides = outcome[decision == 1], outcome[decision == 0]
    assert (from_rows.selected, from_rows.others) == pytest.approx(
        [float(side.mean()) for side in sides]
    )
    assert (from_counts.selected, from_counts.others) == pytest.approx(
        (from_rows.selected, from_rows.others)
    )
    welch = float(stats.ttest_ind(*sides, equal_var=False).statistic)
    assert from_rows.standard_errors == pytest.approx(welch, rel=0.01)  # n, not n - 1
    assert from_counts.standard_errors == pytest.approx(
        from_rows.standard_errors, rel=1e-9
    )
