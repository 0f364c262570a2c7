"""The status quo's own gap, and the utilities of groups: their intervals cover as often
as they say.
"""

import numpy as np
import pytest

from improvable.data.groups import Attribute
from improvable.inference.evidence import Evidence
from improvable.inference.intervals import Disparity, disparities
from improvable.question.claim import Claim
from improvable.question.utility import Measure

SAMPLES, DRAWS, ERROR = 200, 400, 0.05
MONTE_CARLO = np.sqrt(0.05 * 0.95 / SAMPLES)
"""The standard error of a simulated coverage of 95%: 1.5 points."""


def normal_gap(truth: np.ndarray, seed: int, chosen_here: bool = True) -> Disparity:
    """The gap of groups whose values are normal around the truth, and whose draws are
    normal around the values.
    """
    rng = np.random.default_rng(seed)
    groups = len(truth)
    values = truth + ERROR * rng.normal(size=groups)
    drawn = values + ERROR * rng.normal(size=(DRAWS, groups))

    def sums(of: np.ndarray) -> np.ndarray:
        both = np.repeat(of[..., None, None], 2, axis=-1)
        return np.stack([both, np.ones_like(both)], axis=-1)

    training = sums(values if chosen_here else truth)[:, :, 0]
    evidence = Evidence(
        attributes=(
            Attribute("group", tuple(map(str, range(groups))), np.arange(groups)),
        ),
        measures=(Measure("rate", "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums(values),
        draws=sums(drawn),
        training=training,
        units=1_000,
        chosen_here=chosen_here,
    )
    (gap,) = disparities(evidence, Claim(), 0.05)
    return gap


@pytest.mark.parametrize("groups", [2, 3, 8, 20])
@pytest.mark.parametrize("apart", [0.0, 1.0, 4.0])
def test_the_status_quos_gap_is_covered_however_many_groups_tie(
    groups: int, apart: float
) -> None:
    """All tie, or one is `apart` standard errors above the others; the plain interval
    covered .48 of 8, .08 of 20.
    """
    truth = np.full(groups, 0.5)
    truth[0] += apart * ERROR
    found = [normal_gap(truth, seed) for seed in range(SAMPLES)]
    # Of two groups the interval has a sign: it is that of the one that looks higher,
    # less the other.
    signs = [-1 if groups == 2 and gap.higher == "1" else 1 for gap in found]
    covered = [
        gap.low <= sign * apart * ERROR <= gap.high
        for sign, gap in zip(signs, found, strict=True)
    ]
    assert np.mean(covered) > 0.95 - 3 * MONTE_CARLO
    if apart == 0:
        assert np.mean([gap.low > 0 for gap in found]) < 0.05 + 3 * MONTE_CARLO, (
            "no gap, and zero excluded"
        )


def test_two_groups_keep_the_sign_of_their_difference() -> None:
    """A pair that other rows chose may stand the other way around on these."""
    truth = np.array([0.5, 0.5 - 0.1 * ERROR])
    found = [normal_gap(truth, seed, chosen_here=False) for seed in range(50)]
    below = [gap for gap in found if gap.estimate < 0]
    assert len(below) > 10
    assert all(gap.higher == "0" and gap.low < gap.estimate < gap.high for gap in below)


def test_a_pair_that_other_rows_chose_has_its_own_interval() -> None:
    truth = np.array([0.6, 0.5, 0.4])
    here, elsewhere = (normal_gap(truth, 1, chosen_here=way) for way in (True, False))
    assert (here.higher, here.lower, here.estimate) == (
        elsewhere.higher,
        elsewhere.lower,
        elsewhere.estimate,
    )
    assert elsewhere.high - elsewhere.low < here.high - here.low
