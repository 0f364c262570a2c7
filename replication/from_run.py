"""Appendix E from one's own run: the power of the fairness test, calibrated from the
median repetition of an audit.

Given normal rows, the mean of n of them is normal with covariance Sigma / n, their
sample covariance is Wishart, and a bootstrap mean is normal given both, up to a term
that vanishes with n. So no row is drawn, and test samples of any size cost the same.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable._text import shown
from improvable._typing import FloatArray
from improvable.data.frame import build_frame
from improvable.errors import OptionError
from improvable.inference.bootstrap import child
from improvable.question.options import check_choice, check_integer, check_number
from improvable.results.audit import Audit
from improvable.studies.power.plan import NOT_EVIDENCE, number
from replication.appendix_e import GapRejections, curve_rows, rejections
from replication.gap_process import VARIANCE, GapProcess, Theta, gap_process

if TYPE_CHECKING:
    from improvable.report.plots import Chart


# points of the default grid of eta, and its end as a share of the status quo's gap
GRID, WIDEST = 24, 1.75 / 1.52
SHARES = (0.5, 1.0, 2.0)  # of the repetition's test rows
MIN_TEST_ROWS = 30
PER_BLOCK = 50


@dataclass(frozen=True)
class GapPower:
    """Power curves of the fairness test, calibrated from a run: the result of
    `power_from_run`.

    Attributes
    ----------
    process : GapProcess
    points : tuple of GapRejections
        In the order of sizes, deltas, etas.
    theta : {"estimated", "known"}
    alpha : float
    draws, simulations, seed : int
    cautions : tuple of str
    """

    process: GapProcess
    points: tuple[GapRejections, ...]
    theta: Theta
    alpha: float
    draws: int
    simulations: int
    seed: int
    cautions: tuple[str, ...]
    backend: Any = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON."""
        import improvable

        return {
            "kind": "power_of_gap",
            "process": self.process.to_dict(),
            "theta": self.theta,
            "alpha": self.alpha,
            "points": self._rows(),
            "draws": self.draws,
            "simulations": self.simulations,
            "seed": self.seed,
            "basis": self._basis(),
            "warnings": [*self.cautions, NOT_EVIDENCE],
            "version": improvable.__version__,
        }

    def table(self) -> Any:
        """One row for each size, delta and eta, as a data frame of the run's own
        kind.
        """
        rows = self._rows()
        return build_frame(
            {name: [row[name] for row in rows] for name in rows[0]}, self.backend
        )

    def csv(self) -> str:
        """All points as the text of a CSV file."""
        import polars as pl

        return pl.DataFrame(self._rows()).write_csv()

    def summary(self) -> str:
        """The calibration and the curves, in words and a table."""
        from improvable.report.text import paragraph

        parts = [paragraph(line) for line in self._basis()]
        for delta in dict.fromkeys(one.delta for one in self.points):
            parts += ["", self._table(delta)]
        parts += ["", paragraph(NOT_EVIDENCE)]
        return "\n".join(
            [*parts, *(paragraph(f"Warning: {text}") for text in self.cautions)]
        )

    def plot(self) -> "Chart":
        """Rejections against the candidate's mean gap, one line for each size and
        statistic.
        """
        from improvable.report.plots import power_curves

        process = self.process
        deltas = {one.delta for one in self.points}
        rows = [
            row | {"series": f"{row['size']:,} test rows", "variant": row["gap"]}
            for row in curve_rows(
                [one for one in self.points if one.delta == min(deltas)]
            )
        ]
        cut = (
            ""
            if min(deltas) == 0
            else f" The gap must be smaller by {100 * min(deltas):g}%."
        )
        return power_curves(
            rows,
            x_title=(
                "mean gap of the candidate (eta); the status quo's is "
                f"{process.status_quo:.3g}"
            ),
            title="How often the fairness test rejects",
            subtitle=[
                f"Calibrated from repetition {process.repetition}.{cut}",
                (
                    f"Dotted: this run's candidate, {abs(process.candidate):.3g}, and "
                    "the edge of the null hypothesis."
                ),
            ],
            level=self.alpha,
            marks=[abs(process.candidate), (1 - min(deltas)) * process.status_quo],
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [
            asdict(one)
            | {
                "error_absolute": one.error("absolute"),
                "error_signed": one.error("signed"),
                "null": one.null,
            }
            for one in self.points
        ]

    def _basis(self) -> list[str]:
        process, (first, second) = self.process, map(shown, self.process.groups)
        own, letter = process.scaled("estimated"), process.scaled("known")
        return [
            (
                f"Calibrated from repetition {process.repetition}, whose p-value "
                f"({process.p_value:.4g}) is the lower median: {process.rows:,} test "
                f"rows. Its gap, '{first}' less '{second}', is "
                f"{process.status_quo:.3f} under the status quo and "
                f"{process.candidate:.3f} under the candidate."
            ),
            (
                "Covariance of (Gamma_0, Gamma_1), scaled as in the paper to a "
                f"variance of {VARIANCE:g} for Gamma_0: {own[0, 1]:.2f} and "
                f"{own[1, 1]:.2f} with theta estimated, as in the test; "
                f"{letter[0, 1]:.2f} and {letter[1, 1]:.2f} with theta known, as in "
                f"the paper; from {process.draws:,} draws, each with a Monte Carlo "
                f"error of {100 * process.error:.2g}%. The curves take theta as "
                f"{self.theta}."
            ),
            (
                f"One repetition is tested at level {self.alpha:g}, for the gap alone, "
                f"with {self.draws:,} draws; {self.simulations:,} simulated samples "
                "per point, each with a Monte Carlo error."
            ),
        ]

    def _table(self, delta: float) -> str:
        several = [one for one in self.points if one.delta == delta]
        sizes = list(dict.fromkeys(one.size for one in several))
        etas = list(dict.fromkeys(one.eta for one in several))
        worst = max(one.error(gap) for one in several for gap in ("absolute", "signed"))
        head = (
            f"rejections, delta {delta:g} (Monte Carlo error at most "
            f"{number(worst, 3)})"
        )
        names = "".join(f"{f'n = {size:,}':>18}" for size in sizes)
        lines = [
            head,
            f"{'eta':>8}{names}",
            f"{'':>8}" + f"{'absolute':>10}{'signed':>8}" * len(sizes),
        ]
        found = {(one.size, one.eta): one for one in several}
        for eta in etas:
            cells = [found[size, eta] for size in sizes]
            shown = "".join(
                f"{number(one.absolute):>10}{number(one.signed):>8}" for one in cells
            )
            lines.append(f"{eta:>8.3g}{shown}")
        return "\n".join(lines)


def power_from_run(
    run: Audit | str | Path,
    *,
    etas: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    deltas: Sequence[float] | None = None,
    theta: Theta = "estimated",
    alpha: float | None = None,
    simulations: int = 2_000,
    draws: int = 1_000,
    seed: int = 0,
    workers: int = 1,
) -> GapPower:
    """Power curves of the fairness test, as in Appendix E, calibrated from a finished
    audit.

    Parameters
    ----------
    run : Audit, str or path
        A finished audit, or the folder it is kept in.
    etas : sequence of float, optional
        Mean gaps of the candidate; by default a grid from 0 to a little beyond the
        status quo's gap.
    sizes : sequence of int, optional
        Numbers of test rows; by default half, as many and twice as many as the
        repetition had.
    deltas : sequence of float, optional
        By which share the gap must be smaller; by default what the audit asked for.
    theta : {"estimated", "known"}
        Whether the covariance of Gamma is that of the test, in which the normalization
        of a utility is estimated, or the paper's, which takes it as known.
    alpha : float, optional
        Level of the test of one repetition; by default that of the audit.
    simulations, draws : int
        Simulated samples, and bootstrap draws in each.
    seed, workers : int
        The result does not depend on the number of workers.

    Returns
    -------
    GapPower

    Examples
    --------
    >>> import improvable
    >>> from replication.from_run import power_from_run
    >>> audit = improvable.audit(
    ...     improvable.datasets.care_management(4_000, seed=1),
    ...     outcome="gagne_sum_t",
    ...     group="race",
    ...     rule="linear",
    ...     features=["gagne_sum_tm1"],
    ...     status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    ...     test=improvable.Test(draws=300),
    ... )
    >>> power = power_from_run(
    ...     audit, etas=[0.0], sizes=[100_000], simulations=100, draws=200
    ... )
    >>> power.points[0].signed > 0.9
    True
    """
    check_choice("theta", theta, ("estimated", "known"))
    check_integer("simulations", simulations, 1)
    check_integer("draws", draws, 1)
    audit = _read(run)
    level = audit.question.alpha if alpha is None else alpha
    check_number("alpha", level, 0, 0.5)
    process = gap_process(audit)
    asked = _deltas(audit, deltas)
    edges = [abs(1 - delta) * process.status_quo for delta in asked]
    grid = (
        np.linspace(0, WIDEST * process.status_quo, GRID)
        if etas is None
        else np.asarray(etas, dtype=np.float64)
    )
    if grid.ndim != 1 or len(grid) == 0 or not np.isfinite(grid).all():
        raise OptionError(
            "the grid of eta is empty or has a hole.",
            "Give mean gaps such as 0, 0.5, 1.",
        )
    points = sorted({float(eta) for eta in grid})
    # the edges of the null hypotheses, instead of the points next to them
    if etas is None:
        near = 0.02 * process.status_quo
        points = sorted(
            {eta for eta in points if all(abs(eta - edge) > near for edge in edges)}
            | set(edges)
        )
    counts = (
        [max(MIN_TEST_ROWS, round(share * process.rows)) for share in SHARES]
        if sizes is None
        else sizes
    )
    found = gap_rejections(
        process.status_quo,
        process.of(theta),
        points,
        asked,
        counts,
        alpha=level,
        simulations=simulations,
        draws=draws,
        seed=seed,
        workers=workers,
    )
    return GapPower(
        process,
        tuple(found),
        theta,
        level,
        draws,
        simulations,
        seed,
        tuple(_cautions(audit)),
        audit.backend,
    )


def gap_rejections(
    mean_gap: float,
    covariance: FloatArray,
    etas: Sequence[float],
    deltas: Sequence[float],
    sizes: Sequence[int],
    *,
    alpha: float,
    simulations: int,
    draws: int,
    seed: int = 0,
    workers: int = 1,
) -> list[GapRejections]:
    """How often either fairness statistic rejects, for normal rows with these moments;
    no row is drawn.
    """
    claims = np.array(
        [(eta, delta) for delta in deltas for eta in etas], dtype=np.float64
    )
    factor = np.linalg.cholesky(covariance)
    out = []
    for size in sizes:
        check_integer("a number of test rows", size, MIN_TEST_ROWS)
        root = child(np.random.SeedSequence(seed), int(size))

        def block(
            start: int, size: int = int(size), root: np.random.SeedSequence = root
        ) -> FloatArray:
            rng = np.random.default_rng(child(root, start // PER_BLOCK))
            total = np.zeros((len(claims), 2))
            for _ in range(min(PER_BLOCK, simulations - start)):
                mean = factor @ rng.standard_normal(2) / np.sqrt(size)
                spread = factor @ _wishart_factor(rng, size - 1) / size
                resampled = mean[:, None] + spread @ rng.standard_normal((2, draws))
                total += rejections(mean, resampled, claims, alpha, mean_gap)
            return total

        with ThreadPoolExecutor(workers) as pool:
            rates = (
                np.asarray(sum(pool.map(block, range(0, simulations, PER_BLOCK))))
                / simulations
            )
        out += [
            GapRejections(
                int(size),
                float(eta),
                float(delta),
                float(absolute),
                float(signed),
                simulations,
                mean_gap,
            )
            for (eta, delta), (absolute, signed) in zip(claims, rates, strict=True)
        ]
    return out


def _wishart_factor(rng: np.random.Generator, degrees: int) -> FloatArray:
    """A with A A' Wishart of the identity (Bartlett's decomposition)."""
    across = rng.standard_normal()
    return np.array(
        [
            [np.sqrt(rng.chisquare(degrees)), 0.0],
            [across, np.sqrt(rng.chisquare(degrees - 1))],
        ]
    )


def _read(run: Audit | str | Path) -> Audit:
    if isinstance(run, Audit):
        return run
    import improvable

    result = improvable.load(run)
    if not isinstance(result, Audit):
        raise OptionError(
            f"'{run}' holds a comparison, which has no repetitions.",
            "Name the folder of an audit.",
        )
    return result


def _deltas(audit: Audit, deltas: Sequence[float] | None) -> list[float]:
    claim = audit.question.claim
    if deltas:
        for delta in deltas:
            check_number("delta_fairness", delta, -np.inf, np.inf)
        return [float(delta) for delta in deltas]
    asked = claim.delta_fairness
    if claim.form == "difference" and asked != 0:
        raise OptionError(
            "the audit's delta of the gap is an amount.",
            "Appendix E takes shares; give them with deltas=[0.1].",
        )
    return [asked]


def _cautions(audit: Audit) -> list[str]:
    evidence, claim = audit.repetitions[0].evidence, audit.question.claim
    out = []
    if len(evidence.attributes) > 1 or len(evidence.fairness) > 1:
        out.append("several gaps are tested; these curves are of the first alone.")
    if len(evidence.attributes[0].levels) > 2:
        out.append(
            "of more than two groups, these curves are of the pair with the widest gap "
            "alone."
        )
    if claim.protected:
        out.append(
            "the audit's fairness is one-sided; these curves are of the two-sided test."
        )
    return out
