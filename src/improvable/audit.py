"""The whole procedure of Section 3.1: K times split, select, compare; then combine."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from improvable.algorithms import Algorithm, as_algorithm, capacity_of, check_capacity
from improvable.cautions import Caution, dropped_caution, emit, gather
from improvable.compare import Comparison, worker_count
from improvable.data import FrameLike, build_frame, canonical_order, read_rows
from improvable.design import (
    Delta,
    Design,
    Sample,
    check_integer,
    check_number,
    complete_rows,
    make_design,
    make_sample,
)
from improvable.features import choose_features
from improvable.inference.pvalues import lower_median, threshold_for
from improvable.procedure import Plan, check_split_sizes, disparity, limited_threads, run_splits, select_on_all_rows
from improvable.rules import as_rule
from improvable.utilities import Utility


@dataclass(frozen=True)
class Audit:
    """The result of `audit`.

    Attributes
    ----------
    design : Design
        What was asked.
    plan : Plan
        How candidates were found.
    splits : tuple of Comparison
    disparity : tuple of float
        The status quo's gap on all rows, with its interval: (estimate, low, high).
    cautions : tuple of Caution
    rows : int
    sample : Sample
        All rows in canonical order, for `substitute`.
    """

    design: Design
    plan: Plan
    splits: tuple[Comparison, ...]
    disparity: tuple[float, float, float]
    cautions: tuple[Caution, ...]
    rows: int
    sample: Sample = field(repr=False)

    @property
    def groups(self) -> tuple[str, ...]:
        return self.splits[0].groups

    @property
    def p_value(self) -> float:
        """The lower median of the splits' p-values; to be compared with `threshold`."""
        return lower_median([split.p_value for split in self.splits])

    @property
    def threshold(self) -> float:
        """What the p-value must be strictly below: alpha / 2, or alpha for a single split."""
        return threshold_for(self.design.alpha, len(self.splits))

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
        from improvable.report.facts import audit_facts

        return audit_facts(self)

    def table(self) -> Any:
        """One row per split, as a frame of the caller's own kind."""
        from improvable.report.facts import split_columns

        return build_frame(split_columns(self.to_dict()), self.sample.backend)

    def summary(self) -> str:
        """The paper's table and the verdict in words."""
        from improvable.report.text import summary

        return summary(self.to_dict())

    def __str__(self) -> str:
        return self.summary()

    def substitute(self) -> Algorithm:
        """The algorithm to use instead of the status quo: the rule applied to all rows (Section 3.1).

        The test shows that the rule finds improving algorithms; it does not test this one.

        Returns
        -------
        Algorithm
            With ``decide(frame)``: one decision per row of any data frame that has the features.
        """
        return select_on_all_rows(self.design, self.plan, self.sample)


def audit(
    data: FrameLike,
    *,
    outcome: str,
    group: str,
    status_quo: Any,
    rule: Any = "forest",
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    target: str | None = None,
    accuracy: str | Utility = "calibration",
    fairness: str | Utility | None = None,
    delta_accuracy: Delta = 0.0,
    delta_fairness: float = 0.0,
    form: str = "ratio",
    gap: str = "signed",
    splits: int = 7,
    train_fraction: float = 0.5,
    draws: int = 10_000,
    alpha: float = 0.05,
    capacity: float | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    drop_missing: bool = False,
    progress: bool | None = None,
) -> Audit:
    """Test whether the status quo can be made more accurate for every group and less uneven between them.

    Each of `splits` times: the rows are divided at random, `rule` finds a candidate on the training rows, and the
    candidate is compared with the status quo on the others. Reject if the lower median p-value is below alpha / 2.

    Parameters
    ----------
    data : data frame or path
        Any frame narwhals knows, or a CSV or Parquet file.
    outcome, group : str
        Columns.
    status_quo : str, threshold(...), fitted estimator or callable
        The algorithm in use: a column of decisions, a thresholded score, a fitted scikit-learn model, or a
        function of the rows.
    rule : str, estimator or SelectionRule
        How a candidate is found: 'linear', 'lasso', 'forest', 'boosting', 'logistic', any scikit-learn estimator
        or pipeline, or an object with ``select(training, status_quo)``.
    features : sequence of str, optional
        Columns that the candidate may read. By default every numeric column except the group, the outcomes and
        what the status quo reads (its score or decisions).
    exclude : sequence of str
        Columns to leave out of the default.
    target : str, optional
        Column that the rule predicts; the outcome by default.
    accuracy, fairness : str or Utility
        What accuracy and the gap are measured by; ``"calibration:cost"`` reads another outcome column.
    delta_accuracy : float or mapping from group to float
        How much more accurate the candidate must be, Definition 2.
    delta_fairness : float
        By how much its gap must be smaller.
    form : {"ratio", "difference"}
        Whether deltas are shares or amounts.
    gap : {"signed", "absolute"}
        Which fairness statistic decides: the one without a kink, or the paper's. Both are reported.
    splits : int
        K, how often the rows are divided.
    train_fraction : float
        Share of rows that the rule sees in each split.
    draws : int
        Bootstrap draws per split.
    alpha : float
        Level of the test.
    capacity : float, optional
        Share of rows that a candidate may select. By default that of the status quo, where it has one.
    seed : int
        Same seed, same data: same result, for any order of rows and any number of workers.
    n_jobs : int, optional
        Splits at a time, through joblib: None is one, -1 all cores.
    drop_missing : bool
        Drop rows with holes in a needed column, and say how many.
    progress : bool, optional
        Show a progress bar; by default on a terminal.

    Returns
    -------
    Audit

    Examples
    --------
    >>> import improvable
    >>> people = improvable.datasets.care_management(8_000, seed=1)
    >>> result = improvable.audit(
    ...     people, outcome="gagne_sum_t", group="race",
    ...     status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    ...     rule="linear", features=improvable.datasets.CARE_MANAGEMENT_COVARIATES,
    ...     splits=3, draws=1_000, seed=1,
    ... )
    >>> len(result.splits)
    3
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
    check_integer("splits", splits, 1)
    check_number("train_fraction", train_fraction, 0, 1)
    algorithm = as_algorithm(status_quo)
    if capacity is not None:
        check_capacity(capacity)
    else:
        capacity = capacity_of(algorithm)
    rows = read_rows(data)
    selection_rule = as_rule(rule)
    chosen = choose_features(rows, design, algorithm, target or outcome, features, exclude)
    rows, dropped = complete_rows(rows, design, [algorithm], [target or outcome, *chosen.columns], drop_missing)
    rows = rows.take(canonical_order(rows))
    plan = Plan(algorithm, selection_rule, chosen.columns, target or outcome, capacity, int(splits), train_fraction)
    sample = make_sample(rows, design)
    check_split_sizes(len(sample), train_fraction)
    workers = worker_count(n_jobs)
    with limited_threads(workers, plan.splits):
        gap_of_status_quo, doubts = disparity(design, algorithm, sample, workers)
        results = run_splits(design, plan, sample, workers, progress)
    cautions = [*dropped_caution(dropped), *chosen.cautions, *doubts, *gather([split.cautions for split in results])]
    emit(cautions)
    return Audit(design, plan, tuple(results), gap_of_status_quo, tuple(cautions), len(sample), sample)
