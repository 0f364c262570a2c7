"""The simulation of Appendix E: how often the fairness test rejects, for a candidate of
any fairness.

A row carries (Gamma_0, Gamma_1), the groups' difference in utility under the status quo
and under the candidate, drawn from a normal distribution calibrated to the application.
Only Gamma_1's mean, eta, changes along a power curve. A bootstrap mean is linear in the
data, so one resample of the noise serves every eta and every delta.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.inference.bootstrap import child
from improvable.question.options import check_integer, check_number

MEAN_GAP = 1.52
COVARIANCE = ((10.0, 6.85), (6.85, 10.83))
ETAS = tuple(round(0.05 * step, 2) for step in range(36))
SIZES = (100, 200, 400)
SIMULATIONS, DRAWS, ALPHA = 5_000, 2_000, 0.05
PER_BLOCK = 50


@dataclass(frozen=True)
class GapRejections:
    """How often the fairness test alone rejects.

    Attributes
    ----------
    size : int
        Rows.
    eta : float
        Mean gap of the candidate.
    delta : float
        By which share the gap must be smaller.
    absolute, signed : float
        Share of simulations in which the paper's folded statistic rejects, and in which
        the signed one does.
    simulations : int
    mean_gap : float
        Mean gap of the status quo.
    """

    size: int
    eta: float
    delta: float
    absolute: float
    signed: float
    simulations: int
    mean_gap: float = MEAN_GAP

    @property
    def null(self) -> bool:
        """Whether the null hypothesis holds."""
        return abs(self.eta) >= (1 - self.delta) * self.mean_gap

    def error(self, gap: str) -> float:
        """Monte Carlo error of a share: one standard deviation.

        By Laplace's rule of succession, so that it is not zero where all simulations
        reject, or none.
        """
        share = self.absolute if gap == "absolute" else self.signed
        share = (share * self.simulations + 1) / (self.simulations + 2)
        return float(np.sqrt(share * (1 - share) / self.simulations))


def appendix_e(
    etas: Sequence[float] = ETAS,
    deltas: Sequence[float] = (0.0,),
    sizes: Sequence[int] = SIZES,
    *,
    simulations: int = SIMULATIONS,
    draws: int = DRAWS,
    alpha: float = ALPHA,
    seed: int = 0,
    workers: int = 1,
) -> list[GapRejections]:
    """Simulate the power curves of Appendix E, by default at the paper's size.

    Parameters
    ----------
    etas : sequence of float
        Mean gaps of the candidate.
    deltas : sequence of float
        Required reductions of the gap; every eta is tested at every delta.
    sizes : sequence of int
        Numbers of rows.
    simulations, draws : int
        Monte Carlo simulations, and bootstrap draws in each.
    alpha : float
        Level of the test.
    seed : int
    workers : int
        Threads; the result does not depend on it.

    Returns
    -------
    list of GapRejections
        In the order of sizes, deltas, etas.

    Examples
    --------
    >>> fair, unfair = appendix_e([0.0, 1.52], sizes=[400], simulations=200, draws=200)
    >>> fair.absolute > 0.9, unfair.null
    (True, True)
    """
    check_integer("simulations", simulations, 1)
    check_integer("draws", draws, 1)
    check_number("alpha", alpha, 0, 1)
    claims = np.array(
        [(eta, delta) for delta in deltas for eta in etas], dtype=np.float64
    )
    out = []
    for size in sizes:
        check_integer("a sample size", size, 2)
        root = child(np.random.SeedSequence(seed), size)
        rates = _rates(size, claims, simulations, draws, alpha, root, workers)
        out += [
            GapRejections(
                size,
                float(eta),
                float(delta),
                float(absolute),
                float(signed),
                simulations,
            )
            for (eta, delta), (absolute, signed) in zip(claims, rates, strict=True)
        ]
    return out


def curve_rows(results: Sequence[GapRejections]) -> list[dict[str, Any]]:
    """Rows of a picture: one point for each size, eta and statistic."""
    return [
        {
            "x": one.eta,
            "size": one.size,
            "gap": gap,
            "power": getattr(one, gap),
            "error": one.error(gap),
        }
        for one in results
        for gap in ("absolute", "signed")
    ]


def _rates(
    size: int,
    claims: FloatArray,
    simulations: int,
    draws: int,
    alpha: float,
    seed: np.random.SeedSequence,
    workers: int,
) -> FloatArray:
    starts = range(0, simulations, PER_BLOCK)

    def block(start: int) -> FloatArray:
        rng = np.random.default_rng(child(seed, start // PER_BLOCK))
        total = np.zeros((len(claims), 2))
        for _ in range(min(PER_BLOCK, simulations - start)):
            noise = (
                rng.standard_normal((size, 2))
                @ np.linalg.cholesky(np.array(COVARIANCE)).T
            )
            rows = rng.integers(
                0,
                size,
                size=(draws, size),
                dtype=np.uint16 if size < 1 << 16 else np.int64,
            )
            resampled = np.stack([column.take(rows).mean(axis=1) for column in noise.T])
            total += rejections(noise.mean(axis=0), resampled, claims, alpha)
        return total

    with ThreadPoolExecutor(workers) as pool:
        return np.asarray(sum(pool.map(block, starts)) / simulations)


def rejections(
    means: FloatArray,
    resampled: FloatArray,
    claims: FloatArray,
    alpha: float,
    mean_gap: float = MEAN_GAP,
) -> BoolArray:
    """Which claims one sample rejects.

    Parameters
    ----------
    means : array of shape (2,)
        Sample means of (Gamma_0, Gamma_1) less their expectations.
    resampled : array of shape (2, draws)
        Bootstrap means of the same.
    claims : array of shape (claims, 2)
        (eta, delta) of each.
    alpha, mean_gap : float
        Level, and the expectation of Gamma_0.

    Returns
    -------
    array of shape (claims, 2)
        For the absolute and for the signed statistic.
    """
    drawn0, drawn1 = resampled
    gap0, gap0_drawn = mean_gap + means[0], mean_gap + drawn0
    out = np.empty((len(claims), 2), dtype=np.bool_)
    for c, (eta, delta) in enumerate(claims):
        gap1, gap1_drawn = eta + means[1], eta + drawn1
        folded = abs(gap1) - (1 - delta) * abs(gap0)
        folded_drawn = np.abs(gap1_drawn) - (1 - delta) * np.abs(gap0_drawn)
        out[c, 0] = _p_value(folded, folded_drawn) < alpha
        before, before_drawn = (1 - delta) * gap0, (1 - delta) * gap0_drawn
        one_sided = (
            _p_value(sign * gap1 - before, sign * gap1_drawn - before_drawn)
            for sign in (1, -1)
        )
        out[c, 1] = max(one_sided) < alpha
    return out


def _p_value(statistic: float, drawn: FloatArray) -> float:
    """P*(T* - T <= T), as `inference.assessment.lower_tail` for statistics without ties
    or missing values.
    """
    return float(np.mean(drawn - statistic <= statistic))
