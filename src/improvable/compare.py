"""One fixed candidate against the status quo on one held-out sample: the test of Section 3.2."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from improvable.algorithms import Algorithm, ScoreColumn, Threshold, as_algorithm, capacity_of, decide, prepare
from improvable.arrays import FloatArray, IntArray
from improvable.cautions import (
    Caution,
    capacity_cautions,
    component_cautions,
    dropped_caution,
    emit,
    gap_caution,
)
from improvable.data import FrameLike, Rows, build_frame, read_rows
from improvable.design import Delta, Design, Sample, complete_rows, make_design, make_sample
from improvable.errors import DataError, OptionError
from improvable.inference.cells import CANDIDATE, STATUS_QUO, Cells, W, contributions, count
from improvable.inference.criteria import spread, utilities_of, widest_pair
from improvable.inference.evidence import ALGORITHMS, Assessment, Evidence, assess
from improvable.inference.pvalues import interval, threshold_for
from improvable.inference.resampling import resample
from improvable.utilities import Utility, check_decisions


@dataclass(frozen=True)
class Comparison:
    """The result of `compare`, and of each split of `audit`.

    Attributes
    ----------
    design : Design
        What was asked.
    evidence : Evidence
        Sums and draws; every p-value is computed from these.
    rows : int
        Held-out rows.
    selected : array of shape (groups, 2)
        Rows with a decision other than 0, by group and algorithm.
    shares : dict
        Share of rows selected, by algorithm and sample: the capacity reached.
    cautions : tuple of Caution
    split : int
        Number of the split, from 1; 0 in a plain comparison.
    """

    design: Design
    evidence: Evidence
    rows: int
    selected: IntArray
    shares: dict[str, dict[str, float]]
    cautions: tuple[Caution, ...]
    backend: nw.Implementation = field(repr=False)
    split: int = 0

    @cached_property
    def assessment(self) -> Assessment:
        return assess(self.evidence, self.design.claim(self.evidence.groups))

    @property
    def groups(self) -> tuple[str, ...]:
        return self.evidence.groups

    @property
    def p_value(self) -> float:
        """The largest of the component p-values."""
        return self.assessment.p_value

    @property
    def threshold(self) -> float:
        """What the p-value must be strictly below."""
        return threshold_for(self.design.alpha, splits=1)

    @property
    def reject(self) -> bool:
        return self.p_value < self.threshold

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(caution.text for caution in self.cautions)

    @property
    def null_hypothesis(self) -> str:
        from improvable.report.words import null_hypothesis

        return null_hypothesis(self.to_dict())

    @property
    def alternative_hypothesis(self) -> str:
        from improvable.report.words import alternative_hypothesis

        return alternative_hypothesis(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON."""
        from improvable.report.facts import comparison_facts

        return comparison_facts(self)

    def table(self) -> Any:
        """One row of numbers, as a frame of the caller's own kind."""
        from improvable.report.facts import split_columns

        return build_frame(split_columns(self.to_dict()), self.backend)

    def summary(self) -> str:
        """The table and the verdict in words."""
        from improvable.report.text import summary

        return summary(self.to_dict())

    def __str__(self) -> str:
        return self.summary()


def compare(
    data: FrameLike,
    *,
    outcome: str,
    group: str,
    status_quo: Any,
    candidate: Any,
    accuracy: str | Utility = "calibration",
    fairness: str | Utility | None = None,
    delta_accuracy: Delta = 0.0,
    delta_fairness: float = 0.0,
    form: str = "ratio",
    gap: str = "signed",
    draws: int = 10_000,
    alpha: float = 0.05,
    seed: int = 0,
    n_jobs: int | None = None,
    drop_missing: bool = False,
) -> Comparison:
    """Test whether a candidate is more accurate for every group and has a smaller gap than the status quo.

    The rows must be held out: neither algorithm may have been fitted on them. Thresholds that come from a
    capacity are taken from the rows given.

    Parameters
    ----------
    data : data frame or path
        Any frame narwhals knows, or a CSV or Parquet file.
    outcome, group : str
        Columns.
    status_quo, candidate : str, threshold(...), fitted estimator or callable
        What decides: a column of decisions, a thresholded score, a fitted scikit-learn model, a function of the rows.
    accuracy, fairness : str or Utility
        What accuracy and the gap are measured by; fairness defaults to the accuracy utility.
    delta_accuracy : float or mapping from group to float
        How much more accurate the candidate must be, Definition 2.
    delta_fairness : float
        By how much its gap must be smaller.
    form : {"ratio", "difference"}
        Whether deltas are shares or amounts.
    gap : {"signed", "absolute"}
        Which fairness statistic decides: the one without a kink, or the paper's. Both are reported.
    draws : int
        Bootstrap draws.
    alpha : float
        Level of the test.
    seed : int
        Same seed, same data: same result, for any order of rows and any number of workers.
    n_jobs : int, optional
        Threads, as in joblib: None is one, -1 all.
    drop_missing : bool
        Drop rows with holes in a needed column, and say how many.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import improvable
    >>> people = improvable.datasets.care_management(4_000, seed=1)
    >>> result = improvable.compare(
    ...     people, outcome="gagne_sum_t", group="race",
    ...     status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    ...     candidate=improvable.threshold("gagne_sum_tm1", capacity=0.1),
    ... )
    >>> result.reject
    True
    """
    design = make_design(
        outcome=outcome,
        group=group,
        accuracy=accuracy,
        fairness=fairness,
        delta_accuracy=delta_accuracy,
        delta_fairness=delta_fairness,
        form=form,
        gap=gap,
        draws=draws,
        alpha=alpha,
        seed=seed,
    )
    specs = as_algorithm(status_quo), as_algorithm(candidate)
    rows, dropped = complete_rows(read_rows(data), design, specs, [], drop_missing)
    sample = make_sample(rows, design)
    algorithms = prepare_status_quo(specs[0], rows), prepare(specs[1], rows)
    decisions = decide(algorithms[0], rows, "status quo"), decide(algorithms[1], rows, "candidate")
    root = np.random.SeedSequence(design.seed)
    result = evaluate(design, sample, decisions, None, root, worker_count(n_jobs))
    reached = [result.shares[name]["test"] for name in ALGORITHMS]
    cautions = [*dropped_caution(dropped), *capacity_cautions([*map(capacity_of, specs)], reached), *result.cautions]
    cautions += gap_caution(gap_interval(result.evidence, design.alpha), design)
    emit(cautions)
    return replace(result, cautions=tuple(cautions))


def worker_count(n_jobs: int | None) -> int:
    from joblib import effective_n_jobs

    if n_jobs == 0:
        raise OptionError("n_jobs is 0.", "Give 1 or more, or -1 for all cores.")
    return int(effective_n_jobs(n_jobs))


def prepare_status_quo(algorithm: Algorithm | Threshold, training: Rows) -> Algorithm:
    """Complete the status quo; a score that never varies cannot be thresholded."""
    if isinstance(algorithm, Threshold) and isinstance(algorithm.scorer, ScoreColumn):
        scores = algorithm.scorer.score(training)
        if scores.min() == scores.max():
            raise DataError(
                f"the score '{algorithm.scorer.column}' is constant ({scores[0]:g}).",
                "Nobody is strictly above its quantile; name the column of scores.",
            )
    return prepare(algorithm, training)


def evaluate(
    design: Design,
    sample: Sample,
    decisions: tuple[FloatArray, FloatArray],
    reference: tuple[int, int] | None,
    seed: np.random.SeedSequence,
    workers: int,
    where: str = "",
) -> Comparison:
    """Decisions on held-out rows become evidence.

    Parameters
    ----------
    reference : pair of int, optional
        The pair of groups with the widest gap on the training rows; None takes it from these rows.
    where : str
        Opens error messages: "split 3: ".
    """
    for decision, whose in zip(decisions, ("status quo", "candidate"), strict=True):
        check_decisions(decision, design.utilities, whose)
    cells = sample_cells(design, sample, decisions)
    groups = sample.grouping.levels
    sums = _as_sums(cells.sums(), design, len(groups))
    _refuse_undefined_status_quo(sums, design, groups, where)
    _refuse_ratio_of_nonpositive(sums, design, groups)
    fairness = len(design.utilities) - 1
    if reference is None:
        reference = reference_pair(utilities_of(sums)[:, fairness, STATUS_QUO])
    evidence = Evidence(
        groups=groups,
        utilities=tuple(utility.label for utility in design.utilities),
        accuracy=0,
        fairness=fairness,
        sums=sums,
        draws=_as_sums(resample(cells, design.draws, seed, workers), design, len(groups)),
        reference=reference,
    )
    selected = np.stack(
        [np.bincount(sample.grouping.codes[d != 0], minlength=len(groups)) for d in decisions], axis=1
    ).astype(np.int64)
    shares = {name: {"test": float((d != 0).mean())} for name, d in zip(ALGORITHMS, decisions, strict=True)}
    result = Comparison(design, evidence, len(sample), selected, shares, (), sample.backend)
    occupied = cells.occupied().reshape(len(groups), len(design.utilities), 2, 2)[..., W]
    return replace(result, cautions=tuple(component_cautions(evidence, result.assessment, occupied)))


def sample_cells(design: Design, sample: Sample, decisions: tuple[FloatArray, FloatArray]) -> Cells:
    vectors = contributions(design.utilities, sample.rows, sample.outcomes, decisions)
    return count(vectors.reshape(len(sample), -1), sample.grouping.codes, len(sample.grouping.levels))


def _as_sums(flat: FloatArray, design: Design, groups: int) -> FloatArray:
    return flat.reshape(*flat.shape[:-2], groups, len(design.utilities), 2, 2)


def reference_pair(status_quo: FloatArray) -> tuple[int, int]:
    """The pair with the widest gap; where all are equal, the first two groups."""
    high, low = widest_pair(status_quo)
    return (high, low) if high != low else (0, 1)


def _refuse_undefined_status_quo(sums: FloatArray, design: Design, groups: tuple[str, ...], where: str) -> None:
    values = utilities_of(sums)[..., STATUS_QUO]
    for g, m in zip(*np.nonzero(np.isnan(values)), strict=True):
        raise DataError(
            f"{where}the status quo has no '{design.utilities[m].label}' for group '{groups[g]}': "
            "no row of that group counts in it (nobody is selected).",
            "Leave that group out, use a larger capacity, or bring more rows.",
        )


def _refuse_ratio_of_nonpositive(sums: FloatArray, design: Design, groups: tuple[str, ...]) -> None:
    claim = design.claim(groups)
    if design.form == "ratio":
        for g, value in enumerate(utilities_of(sums)[:, 0, STATUS_QUO]):
            if value <= 0 and claim.accuracy[g] != 0:
                raise DataError(
                    f"the status quo's accuracy for group '{groups[g]}' is {value:g}, and a share of it means nothing.",
                    "Ask for an amount instead: form='difference' (--form difference).",
                )


def gaps(evidence: Evidence) -> dict[str, float]:
    """The largest gap between groups, for each algorithm."""
    values = evidence.values[:, evidence.fairness]
    return {"status_quo": float(spread(values[:, STATUS_QUO])), "candidate": float(spread(values[:, CANDIDATE]))}


def gap_interval(evidence: Evidence, alpha: float) -> tuple[float, float, float]:
    """The status quo's gap between the reference pair of groups, with its 1 - alpha interval."""
    high, low = evidence.reference
    values = evidence.values[:, evidence.fairness, STATUS_QUO]
    draws = evidence.drawn[:, :, evidence.fairness, STATUS_QUO]
    estimate = float(values[high] - values[low])
    return (estimate, *interval(estimate, draws[:, high] - draws[:, low], 1 - alpha))
