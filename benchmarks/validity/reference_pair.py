"""The reference pair of groups chosen on the rows that are tested, in the normal limit:
levels and power.

Estimates of utilities are normal, and so are draws. Repetitions are batches of many
tests at once, by the margins that power planning uses; `Limit.p_values` is the same
through the test itself, one sample at a time.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from improvable._typing import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.evidence import Evidence
from improvable.inference.test import assess
from improvable.question.claim import Claim
from improvable.question.utility import Measure
from improvable.studies.power.assumptions import Outlook, root
from improvable.studies.power.margins import margins
from validity.study import DRAWS

UNITS = 1_000
TESTS = 500
"""In a batch."""
LEVELS = (0.05, 0.01)
WIDE = 30.0
"""The status quo's widest gap in standard errors of a group's utility: far from having
another sign.
"""
NARROWER = 2.5
"""By how many standard errors of the two gaps' difference the candidate's is narrower,
where power is studied.
"""
CLAIM = Claim(ask="fairness")


@dataclass(frozen=True)
class Candidate:
    """How precise a candidate's estimates are, and where its gap is.

    Attributes
    ----------
    precision : float
        Its standard errors, as a multiple of the status quo's.
    correlation : float
        Of the two algorithms' estimates in a group.
    same_pair : bool
        Whether its gap is widest between the same groups as the status quo's, or
        between two that tie or nearly do.
    """

    precision: float
    correlation: float
    same_pair: bool = True

    @property
    def name(self) -> str:
        if self.precision < 1:
            return "precise"
        return (
            f"correlation {self.correlation:g}{', another pair' * (not self.same_pair)}"
        )


@dataclass(frozen=True)
class Limit:
    """Groups of which some pairs are about as far apart as the widest. The gap binds.

    Attributes
    ----------
    name : str
    before : tuple of float
        The status quo's utilities, from the highest to the lowest.
    errors : tuple of float
        Their standard errors.
    """

    name: str
    before: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def has_power(self) -> bool:
        """Whether the gap is so wide that the candidate's can be narrower."""
        return self.before[0] - self.before[-1] == WIDE

    def covariance(self, candidate: Candidate) -> FloatArray:
        """Of the utilities, shape (groups, 2, groups, 2)."""
        cross = candidate.precision * candidate.correlation
        one = np.array([[1.0, cross], [cross, candidate.precision**2]])
        return np.asarray(
            np.einsum("gh,tu->gthu", np.diag(np.square(self.errors)), one)
        )

    def utilities(self, candidate: Candidate, narrower: float = 0.0) -> FloatArray:
        """Shape (groups, 2). The candidate's widest gap is so many standard errors
        narrower than the status quo's.
        """
        groups, covariance = len(self.before), self.covariance(candidate)
        high, low = (0, groups - 1) if candidate.same_pair else (0, 1)
        contrast = np.zeros((groups, 2))
        contrast[[0, -1], 0] += 1.0, -1.0
        contrast[[high, low], 1] -= 1.0, -1.0
        error = np.sqrt(np.einsum("gt,gthu,hu", contrast, covariance, contrast))
        width = self.before[0] - self.before[-1] - narrower * error
        after = np.full(groups, 2 * WIDE)
        after[[high, low]] += width / 2, -width / 2
        return np.stack([np.array(self.before), after], axis=1)

    def shares(
        self, candidate: Candidate, seed: tuple[int, ...], tests: int = TESTS
    ) -> dict[str, float]:
        """Of a batch of tests, the shares that reject: with the reference as if given,
        and as tested.
        """
        found: dict[str, float] = {}
        for what, narrower in (("level", 0.0), ("power", NARROWER))[
            : 1 + self.has_power
        ]:
            z = dict(
                zip(
                    ("given", "tested"),
                    self._margins(candidate, narrower, seed, tests),
                    strict=True,
                )
            )
            for level in LEVELS:
                found |= {
                    f"{what} {level:g} {way}": float(np.mean(one > ndtri(1 - level)))
                    for way, one in z.items()
                }
        return found

    def _margins(
        self, candidate: Candidate, narrower: float, seed: tuple[int, ...], tests: int
    ) -> tuple[FloatArray, FloatArray]:
        groups, utilities = len(self.before), self.utilities(candidate, narrower)
        rng = np.random.default_rng(seed)
        noise = rng.standard_normal((tests, 2 * groups)) @ root(self._flat(candidate)).T
        mean = _contributions(utilities)
        covariance = np.zeros((groups, 2, 2, groups, 2, 2))
        covariance[:, :, 0, :, :, 0] = self.covariance(candidate)
        test = _contributions(utilities + noise.reshape(tests, groups, 2)).reshape(
            tests, -1
        )
        moments = mean.ravel(), covariance.reshape(mean.size, mean.size)
        outlook, draws = self._outlook(*moments), int(rng.integers(1 << 31))
        given = margins(outlook, CLAIM, *moments, UNITS, test, test, draws)
        return given, margins(outlook, CLAIM, *moments, UNITS, test, None, draws)

    def p_values(
        self, candidate: Candidate, seed: tuple[int, ...], draws: int = DRAWS
    ) -> dict[str, float]:
        """Of one sample: with the reference as if given, and as tested."""
        evidence = self.evidence(candidate, seed, draws)
        ways = {"given": False, "tested": True}
        return {
            way: assess(replace(evidence, chosen_here=one), CLAIM).p_fairness
            for way, one in ways.items()
        }

    def evidence(
        self, candidate: Candidate, seed: tuple[int, ...], draws: int
    ) -> Evidence:
        """A sample in which the candidate's widest gap is as wide as the status
        quo's.
        """
        groups = len(self.before)
        noise = (
            np.random.default_rng(seed).standard_normal((draws + 1, 2 * groups))
            @ root(self._flat(candidate)).T
        )
        deviations = noise.reshape(-1, groups, 2)
        values = self.utilities(candidate) + deviations[0]
        sums, drawn = _contributions(values), _contributions(values + deviations[1:])
        return Evidence(
            attributes=(self._attribute(),),
            measures=(MEASURE,),
            accuracy=(0,),
            fairness=(0,),
            sums=sums[:, None],
            draws=drawn[:, :, None],
            training=sums[:, None, 0],
            units=UNITS,
            chosen_here=True,
        )

    def _flat(self, candidate: Candidate) -> FloatArray:
        size = 2 * len(self.before)
        return self.covariance(candidate).reshape(size, size)

    def _attribute(self) -> Attribute:
        groups = len(self.before)
        return Attribute("group", tuple("abcdefgh"[:groups]), np.arange(groups))

    def _outlook(self, mean: FloatArray, covariance: FloatArray) -> Outlook:
        nothing = np.zeros_like(covariance)
        return Outlook(
            attributes=(self._attribute(),),
            measures=(MEASURE,),
            accuracy=(0,),
            fairness=(0,),
            sizes=np.ones(1),
            means=mean[None],
            covariances=covariance[None],
            teaching=(0.0, ""),
            fit=nothing,
            shared=nothing,
            uncertainty=nothing,
            basis=(),
            learns=False,
        )


MEASURE = Measure("calibration", "", "outcome")


def _contributions(utilities: FloatArray) -> FloatArray:
    """Sums (u, w) with w = 1."""
    return np.stack([utilities, np.ones_like(utilities)], axis=-1)


def apart(groups: int, errors: float) -> Limit:
    """One pair is the widest by so many standard errors of the difference; all other
    groups tie for the second.
    """
    second = WIDE - errors * 2**0.5
    words = "tied" if errors == 0 else f"one pair {errors:g} se clear"
    return Limit(
        f"{groups} groups, {words}",
        (WIDE, *[second] * (groups - 2), 0.0),
        (1.0,) * groups,
    )


def tied_both_ends(groups: int) -> Limit:
    """Half of the groups tie for the highest, half for the lowest."""
    half = groups // 2
    return Limit(
        f"{groups} groups, tied at both ends",
        (*[WIDE] * half, *[0.0] * (groups - half)),
        (1.0,) * groups,
    )


def no_gap(groups: int) -> Limit:
    """The status quo has no gap, and its sign is a matter of chance."""
    return Limit(f"{groups} groups, no gap", (0.0,) * groups, (1.0,) * groups)


LIMITS = (
    *(apart(groups, 0) for groups in (3, 4, 6, 8)),
    *(tied_both_ends(groups) for groups in (4, 6, 8)),
    Limit("3 groups, tied, unequal sizes", (WIDE, WIDE, 0.0), (1.0, 2.0, 1.0)),
    Limit("3 groups, tied, small and large", (WIDE, WIDE, 0.0), (2.0, 1.0, 0.5)),
    *(apart(groups, errors) for errors in (0.5, 1, 2, 3, 5) for groups in (3, 6)),
    *(no_gap(groups) for groups in (2, 3)),
    Limit("2 groups, a gap of 2 se", (2 * 2**0.5, 0.0), (1.0, 1.0)),
)
CANDIDATES = (
    Candidate(0.1, 0.0),
    Candidate(1.0, 0.0),
    Candidate(1.0, 0.5),
    Candidate(1.0, 0.95),
    Candidate(1.0, 0.95, same_pair=False),
)
