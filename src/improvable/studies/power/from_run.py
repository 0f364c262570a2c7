"""Appendix E from one's own run: the power of the fairness test, calibrated from the median split of an audit.

Appendix E simulates (Gamma_0, Gamma_1), the groups' difference in fairness utility of one row under the status quo and
under the candidate. Its moments come from the test rows of the median split. They are read off the sums and draws that
a run keeps: the covariance of a row's contributions is that of the bootstrap sums over the number of rows.

Given normal rows, the mean of n of them is normal with covariance Sigma / n, their sample covariance is Wishart, and a
bootstrap mean is normal given both, up to a term that vanishes with n. So no row is drawn, and test samples of any size
cost the same.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.frames import build_frame
from improvable.errors import OptionError
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.combining import lower_median
from improvable.inference.resampling import child
from improvable.question.checks import check_choice, check_integer, check_number
from improvable.results.audit import Audit
from improvable.studies.power.appendix_e import GapRejections, curve_rows, rejections
from improvable.studies.power.plan import NOT_EVIDENCE, number

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.comparison import Comparison

Theta = Literal["estimated", "known"]
VARIANCE = 10.0  # of Gamma_0, after the paper's scaling
GRID, WIDEST = 24, 1.75 / 1.52  # points of the default grid of eta, and its end as a share of the status quo's gap
SHARES = (0.5, 1.0, 2.0)  # of the split's test rows
FEWEST_TEST_ROWS = 30
PER_BLOCK = 50


@dataclass(frozen=True)
class GapProcess:
    """What Appendix E's simulation needs to know of a test sample.

    Attributes
    ----------
    split : int
        The split it was calibrated from.
    p_value : float
        Of that split; the lower median of all.
    rows : int
        Its test rows.
    groups : tuple of two str
        The gap is the first one's utility less the second one's.
    status_quo, candidate : float
        Means of Gamma_0 and Gamma_1; the first is positive.
    covariance : array of shape (2, 2)
        Of (Gamma_0, Gamma_1) for one row, theta being estimated: what the test meets.
    covariance_known : array of shape (2, 2)
        The same with theta taken as known, which is the paper's definition.
    """

    split: int
    p_value: float
    rows: int
    groups: tuple[str, str]
    status_quo: float
    candidate: float
    covariance: FloatArray
    covariance_known: FloatArray

    def of(self, theta: Theta) -> FloatArray:
        return self.covariance if theta == "estimated" else self.covariance_known

    def scaled(self, theta: Theta) -> FloatArray:
        """The covariance divided so that Gamma_0 has variance 10, as the paper prints it."""
        covariance = self.of(theta)
        return np.asarray(covariance * (VARIANCE / covariance[0, 0]))

    def to_dict(self) -> dict[str, Any]:
        return {
            "split": self.split,
            "p_value": self.p_value,
            "rows": self.rows,
            "groups": list(self.groups),
            "status_quo": self.status_quo,
            "candidate": self.candidate,
            "covariance": {"estimated": self.covariance.tolist(), "known": self.covariance_known.tolist()},
            "scaled": {"estimated": self.scaled("estimated").tolist(), "known": self.scaled("known").tolist()},
        }


@dataclass(frozen=True)
class GapPower:
    """Power curves of the fairness test, calibrated from a run: the result of `power_from_run`.

    Attributes
    ----------
    process : GapProcess
    points : tuple of GapRejections
        In the order of sizes, deltas, etas.
    theta : {"estimated", "known"}
    alpha : float
    draws, repetitions, seed : int
    cautions : tuple of str
    """

    process: GapProcess
    points: tuple[GapRejections, ...]
    theta: Theta
    alpha: float
    draws: int
    repetitions: int
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
            "repetitions": self.repetitions,
            "seed": self.seed,
            "basis": self._basis(),
            "warnings": [*self.cautions, NOT_EVIDENCE],
            "version": improvable.__version__,
        }

    def table(self) -> Any:
        """One row for each size, delta and eta, as a data frame of the run's own kind."""
        rows = self._rows()
        return build_frame({name: [row[name] for row in rows] for name in rows[0]}, self.backend)

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
        return "\n".join([*parts, *(paragraph(f"Warning: {text}") for text in self.cautions)])

    def plot(self) -> "alt.LayerChart":
        """Rejections against the candidate's mean gap, one line for each size and statistic."""
        from improvable.report.plots.power import power_curves

        process = self.process
        deltas = {one.delta for one in self.points}
        rows = [
            row | {"series": f"{row['size']:,} test rows", "variant": row["gap"]}
            for row in curve_rows([one for one in self.points if one.delta == min(deltas)])
        ]
        cut = "" if min(deltas) == 0 else f" The gap must be smaller by {100 * min(deltas):g}%."
        return power_curves(
            rows,
            x_title=f"mean gap of the candidate (eta); the status quo's is {process.status_quo:.3g}",
            title="How often the fairness test rejects",
            subtitle=[
                f"Calibrated from split {process.split}.{cut}",
                f"Dotted: this run's candidate, {abs(process.candidate):.3g}, and the edge of the null hypothesis.",
            ],
            level=self.alpha,
            marks=[abs(process.candidate), (1 - min(deltas)) * process.status_quo],
        )

    def _rows(self) -> list[dict[str, Any]]:
        return [
            asdict(one)
            | {"error_absolute": one.error("absolute"), "error_signed": one.error("signed"), "null": one.null}
            for one in self.points
        ]

    def _basis(self) -> list[str]:
        process, (first, second) = self.process, self.process.groups
        own, letter = process.scaled("estimated"), process.scaled("known")
        return [
            f"Calibrated from split {process.split}, whose p-value ({process.p_value:.4g}) is the lower median: "
            f"{process.rows:,} test rows. Its gap, '{first}' less '{second}', is {process.status_quo:.3f} under the "
            f"status quo and {process.candidate:.3f} under the candidate.",
            f"Covariance of (Gamma_0, Gamma_1), scaled as in the paper to a variance of {VARIANCE:g} for Gamma_0: "
            f"{own[0, 1]:.2f} and {own[1, 1]:.2f} with theta estimated, as in the test; {letter[0, 1]:.2f} and "
            f"{letter[1, 1]:.2f} with theta known, as in the paper. The curves take theta as {self.theta}.",
            f"One split is tested at level {self.alpha:g}, for the gap alone, with {self.draws:,} draws; "
            f"{self.repetitions:,} simulated samples per point, each with a Monte Carlo error.",
        ]

    def _table(self, delta: float) -> str:
        several = [one for one in self.points if one.delta == delta]
        sizes = list(dict.fromkeys(one.size for one in several))
        etas = list(dict.fromkeys(one.eta for one in several))
        worst = max(one.error(gap) for one in several for gap in ("absolute", "signed"))
        head = f"rejections, delta {delta:g} (Monte Carlo error at most {number(worst, 3)})"
        names = "".join(f"{f'n = {size:,}':>18}" for size in sizes)
        lines = [head, f"{'eta':>8}{names}", f"{'':>8}" + f"{'absolute':>10}{'signed':>8}" * len(sizes)]
        found = {(one.size, one.eta): one for one in several}
        for eta in etas:
            cells = [found[size, eta] for size in sizes]
            shown = "".join(f"{number(one.absolute):>10}{number(one.signed):>8}" for one in cells)
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
    repetitions: int = 2_000,
    draws: int = 1_000,
    seed: int = 0,
    workers: int = 1,
) -> GapPower:
    """Power curves of the fairness test, as in Appendix E, calibrated from a finished audit.

    Parameters
    ----------
    run : Audit, str or path
        A finished audit, or the folder it is kept in.
    etas : sequence of float, optional
        Mean gaps of the candidate; by default a grid from 0 to a little beyond the status quo's gap.
    sizes : sequence of int, optional
        Numbers of test rows; by default half, as many and twice as many as the split had.
    deltas : sequence of float, optional
        By which share the gap must be smaller; by default what the audit asked for.
    theta : {"estimated", "known"}
        Whether the covariance of Gamma is that of the test, in which the normalization of a utility is estimated, or
        the paper's, which takes it as known.
    alpha : float, optional
        Level of the test of one split; by default that of the audit.
    repetitions, draws : int
        Simulated samples, and bootstrap draws in each.
    seed, workers : int
        The result does not depend on the number of workers.

    Returns
    -------
    GapPower

    Examples
    --------
    >>> import improvable
    >>> from improvable.studies.power import power_from_run
    >>> audit = improvable.audit(
    ...     improvable.datasets.care_management(4_000, seed=1), outcome="gagne_sum_t", group="race", rule="linear",
    ...     features=["gagne_sum_tm1"], status_quo=improvable.threshold("risk_score_t", capacity=0.1), draws=300,
    ... )
    >>> power = power_from_run(audit, etas=[0.0], sizes=[100_000], repetitions=100, draws=200)
    >>> power.points[0].signed > 0.9
    True
    """
    check_choice("theta", theta, ("estimated", "known"))
    check_integer("repetitions", repetitions, 1)
    check_integer("draws", draws, 1)
    audit = _read(run)
    level = audit.question.alpha if alpha is None else alpha
    check_number("alpha", level, 0, 0.5)
    process = gap_process(audit)
    asked = _deltas(audit, deltas)
    edges = [abs(1 - delta) * process.status_quo for delta in asked]
    grid = np.linspace(0, WIDEST * process.status_quo, GRID) if etas is None else np.asarray(etas, dtype=np.float64)
    if grid.ndim != 1 or len(grid) == 0 or not np.isfinite(grid).all():
        raise OptionError("the grid of eta is empty or has a hole.", "Give mean gaps such as 0, 0.5, 1.")
    points = sorted({float(eta) for eta in grid})
    if etas is None:  # the edges of the null hypotheses, instead of the points next to them
        near = 0.02 * process.status_quo
        points = sorted({eta for eta in points if all(abs(eta - edge) > near for edge in edges)} | set(edges))
    counts = [max(FEWEST_TEST_ROWS, round(share * process.rows)) for share in SHARES] if sizes is None else sizes
    found = gap_rejections(
        process.status_quo, process.of(theta), points, asked, counts,
        alpha=level, repetitions=repetitions, draws=draws, seed=seed, workers=workers,
    )  # fmt: skip
    return GapPower(
        process, tuple(found), theta, level, draws, repetitions, seed, tuple(_cautions(audit)), audit.backend
    )


def gap_process(audit: Audit) -> GapProcess:
    """Calibrate Gamma from the median split of an audit: the first split whose p-value is the lower median."""
    middle = float(lower_median([split.p_value for split in audit.splits]))
    split = next(split for split in audit.splits if split.p_value == middle)
    evidence, protected = split.evidence, audit.question.claim.protected
    attribute, measure = evidence.attributes[0], evidence.fairness[0]
    first, second = evidence.reference(0, measure, attribute.place_of(protected))
    values = evidence.values[0][:, measure]
    gaps = values[first] - values[second]
    if not np.isfinite(gaps).all() or gaps[STATUS_QUO] == 0:
        raise OptionError(
            f"split {split.split} has no gap to calibrate from.", "A group has nobody selected, or both are equal."
        )
    if gaps[STATUS_QUO] < 0:
        first, second, gaps = second, first, -gaps
    known, estimated = (_covariance(split, measure, (first, second), theta) for theta in ("known", "estimated"))
    return GapProcess(
        split=split.split,
        p_value=middle,
        rows=split.rows,
        groups=(attribute.levels[first], attribute.levels[second]),
        status_quo=float(gaps[STATUS_QUO]),
        candidate=float(gaps[CANDIDATE]),
        covariance=estimated,
        covariance_known=known,
    )


def gap_rejections(
    mean_gap: float,
    covariance: FloatArray,
    etas: Sequence[float],
    deltas: Sequence[float],
    sizes: Sequence[int],
    *,
    alpha: float,
    repetitions: int,
    draws: int,
    seed: int = 0,
    workers: int = 1,
) -> list[GapRejections]:
    """How often either fairness statistic rejects, for normal rows with these moments; no row is drawn."""
    claims = np.array([(eta, delta) for delta in deltas for eta in etas], dtype=np.float64)
    factor = np.linalg.cholesky(covariance)
    out = []
    for size in sizes:
        check_integer("a number of test rows", size, FEWEST_TEST_ROWS)
        root = child(np.random.SeedSequence(seed), int(size))

        def block(start: int, size: int = int(size), root: np.random.SeedSequence = root) -> FloatArray:
            rng = np.random.default_rng(child(root, start // PER_BLOCK))
            total = np.zeros((len(claims), 2))
            for _ in range(min(PER_BLOCK, repetitions - start)):
                mean = factor @ rng.standard_normal(2) / np.sqrt(size)
                spread = factor @ _wishart_factor(rng, size - 1) / size
                resampled = mean[:, None] + spread @ rng.standard_normal((2, draws))
                total += rejections(mean, resampled, claims, alpha, mean_gap)
            return total

        with ThreadPoolExecutor(workers) as pool:
            rates = np.asarray(sum(pool.map(block, range(0, repetitions, PER_BLOCK)))) / repetitions
        out += [
            GapRejections(int(size), float(eta), float(delta), float(absolute), float(signed), repetitions, mean_gap)
            for (eta, delta), (absolute, signed) in zip(claims, rates, strict=True)
        ]
    return out


def _wishart_factor(rng: np.random.Generator, degrees: int) -> FloatArray:
    """A with A A' Wishart of the identity (Bartlett's decomposition)."""
    across = rng.standard_normal()
    return np.array([[np.sqrt(rng.chisquare(degrees)), 0.0], [across, np.sqrt(rng.chisquare(degrees - 1))]])


def _covariance(split: "Comparison", measure: int, pair: tuple[int, int], theta: str) -> FloatArray:
    """The covariance of (Gamma_0, Gamma_1) for one row: a linear map of that of its contributions.

    With theta known, Gamma_t = u 1{g = r} / theta_tr - u 1{g = b} / theta_tb. With theta estimated, the ratio of sums
    moves with both of its parts, and u becomes u - U w.
    """
    evidence = split.evidence
    attribute = evidence.attributes[0]
    sums, draws = evidence.sums[:, measure], evidence.draws[:, :, measure]
    contributions = np.cov(draws.reshape(len(draws), -1).T) / split.rows
    place = np.arange(sums.size).reshape(sums.shape)
    maps = np.zeros((2, sums.size))
    for t in (STATUS_QUO, CANDIDATE):
        for level, sign in zip(pair, (1.0, -1.0), strict=True):
            strata = np.flatnonzero(attribute.member == level)
            u, w = sums[strata, t].sum(axis=0) / split.rows
            maps[t, place[strata, t, 0]] = sign / w
            maps[t, place[strata, t, 1]] = -sign * u / w**2 if theta == "estimated" else 0.0
    out = maps @ contributions @ maps.T
    if np.linalg.eigvalsh(out)[0] <= 1e-12 * np.trace(out):
        raise OptionError(
            f"split {split.split} has a candidate whose gap moves exactly with the status quo's.",
            "There is nothing to simulate; use another rule.",
        )
    return np.asarray(out)


def _read(run: Audit | str | Path) -> Audit:
    if isinstance(run, Audit):
        return run
    import improvable

    result = improvable.load(run)
    if not isinstance(result, Audit):
        raise OptionError(f"'{run}' holds a comparison, which has no splits.", "Name the folder of an audit.")
    return result


def _deltas(audit: Audit, deltas: Sequence[float] | None) -> list[float]:
    claim = audit.question.claim
    if deltas:
        for delta in deltas:
            check_number("delta_fairness", delta, -np.inf, np.inf)
        return [float(delta) for delta in deltas]
    if claim.form == "difference" and claim.delta_fairness != 0:
        raise OptionError(
            "the audit's delta of the gap is an amount.", "Appendix E takes shares; give them with deltas=[0.1]."
        )
    return [claim.delta_fairness]


def _cautions(audit: Audit) -> list[str]:
    evidence, claim = audit.splits[0].evidence, audit.question.claim
    out = []
    if len(evidence.attributes) > 1 or len(evidence.fairness) > 1:
        out.append("several gaps are tested; these curves are of the first alone.")
    if len(evidence.attributes[0].levels) > 2:
        out.append("of more than two groups, these curves are of the pair with the widest gap alone.")
    if claim.protected:
        out.append("the audit's fairness is one-sided; these curves are of the two-sided test.")
    return out
