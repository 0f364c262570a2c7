"""The whole procedure of Section 3.1: K times split, select, compare; then combine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw

from improvable import storage
from improvable.algorithms import Algorithm, as_algorithm, capacity_of, describe
from improvable.cautions import Caution, emit, gather
from improvable.compare import worker_count
from improvable.comparison import Comparison, change_question
from improvable.constraints import check_features, make_constraints, refuse_unhonoured
from improvable.data import FrameLike, content_keys, read_rows
from improvable.design import Delta, Design, Overall, Question, check_integer, check_number, make_design
from improvable.engines import as_engine
from improvable.errors import OptionError
from improvable.features import choose_features
from improvable.inference.disparity import Disparity
from improvable.inference.pvalues import lower_median, threshold_for
from improvable.procedure import (
    Plan,
    check_split_sizes,
    limited_threads,
    run_splits,
    select_on_all_rows,
    status_quo_disparity,
)
from improvable.results import Result
from improvable.rules import RULES, as_rule
from improvable.sample import Sample, make_sample
from improvable.utilities import Utility


@dataclass(frozen=True)
class Source:
    """What an audit was made from; a loaded audit has none. An engine's sample may be some of its rows."""

    design: Design
    plan: Plan
    sample: Sample
    whole: bool = True


@dataclass(frozen=True)
class Audit(Result):
    """The result of `audit`.

    Attributes
    ----------
    question : Question
        What was asked.
    setting : dict
        How candidates were found: rule, features, capacity, train fraction, rows. Plain data.
    splits : tuple of Comparison
    disparities : tuple of Disparity
        The status quo's gaps on all rows, with their intervals.
    cautions : tuple of Caution
    source : Source or None
        Data and rule, for `substitute`.
    """

    question: Question
    setting: dict[str, Any]
    splits: tuple[Comparison, ...]
    disparities: tuple[Disparity, ...]
    cautions: tuple[Caution, ...]
    source: Source | None = field(repr=False)
    backend: nw.Implementation = field(repr=False)

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
        return threshold_for(self.question.alpha, len(self.splits))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON."""
        from improvable.report.facts import audit_facts

        return audit_facts(self)

    def reconsider(self, **changes: Any) -> "Audit":
        """The same evidence asked another question: at once, from the draws, without data.

        Parameters
        ----------
        **changes
            Any of `delta_accuracy`, `delta_fairness`, `form`, `gap`, `protected`, `overall` and `alpha`, as in
            `audit`; what is not named stays.
        """
        question = change_question(self.question, self.splits[0].evidence.attributes, changes)
        return replace(
            self, question=question, splits=tuple(replace(split, question=question) for split in self.splits)
        )

    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it back."""
        storage.save_audit(self, folder)

    def substitute(self) -> Algorithm:
        """The algorithm to use instead of the status quo: the rule applied to all rows (Section 3.1).

        The test shows that the rule finds improving algorithms; it does not test this one.

        Returns
        -------
        Algorithm
            With ``decide(frame)``: one decision per row of any data frame that has the features.
        """
        if self.source is None:
            raise OptionError(
                "a loaded audit has no data to fit on.", "Run the audit again, and ask for the substitute then."
            )
        return select_on_all_rows(self.source.design, self.source.plan, self.source.sample)


def audit(
    data: FrameLike,
    *,
    outcome: str,
    group: str | Sequence[str],
    status_quo: Any,
    rule: Any = "forest",
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    target: str | None = None,
    accuracy: str | Utility | Sequence[str | Utility] = "calibration",
    fairness: str | Utility | Sequence[str | Utility] | None = None,
    delta_accuracy: Delta = 0.0,
    delta_fairness: float = 0.0,
    form: str = "ratio",
    gap: str = "signed",
    protected: str | Sequence[str] | None = None,
    overall: Overall = None,
    groups: Sequence[str] | None = None,
    cross: bool = False,
    min_group: int = 0,
    small: str = "refuse",
    weight: str | None = None,
    cluster: str | None = None,
    splits: int = 7,
    train_fraction: float = 0.5,
    draws: int = 10_000,
    alpha: float = 0.05,
    capacity: float | None = None,
    monotone: Mapping[str, str | int] | None = None,
    selection_gap: float | None = None,
    group_blind: bool = True,
    seed: int = 0,
    n_jobs: int | None = None,
    drop_missing: bool = False,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
    method: str | None = None,
    engine: str | None = None,
    train_rows: int | None = None,
    row_id: str | None = None,
) -> Audit:
    """Test whether the status quo can be made more accurate for every group and less uneven between them.

    Each of `splits` times: the rows are divided at random, `rule` finds a candidate on the training rows, and the
    candidate is compared with the status quo on the others. Reject if the lower median p-value is below alpha / 2.

    Parameters
    ----------
    data : data frame or path
        Any frame narwhals knows, or a CSV or Parquet file; or what an engine reads where it lives: a Dask or Spark
        frame, a DuckDB relation, a pyarrow dataset, a folder of Parquet files.
    outcome : str
        Column of outcomes.
    group : str or sequence of str
        Column, or columns, that say which groups a row belongs to.
    status_quo : str, threshold(...), fitted estimator or callable
        The algorithm in use: a column of decisions, a thresholded score, a fitted scikit-learn model, or a
        function of the rows.
    rule : str, estimator or SelectionRule
        How a candidate is found: 'linear', 'lasso', 'forest', 'boosting', 'logistic', any scikit-learn estimator
        or pipeline, or an object with ``select(training, status_quo)``.
    features : sequence of str, optional
        Columns that the candidate may read. By default every column except groups, outcomes, weight, cluster, what the
        status quo reads (its score or decisions), and columns that tell rows apart as a name or an id does. Text,
        categories, dates and missing values become numbers, fitted on training rows only.
    exclude : sequence of str
        Columns to leave out of the default.
    target : str, optional
        Column that the rule predicts; the outcome by default.
    accuracy, fairness : str, Utility or sequence of these
        What accuracy and the gap are measured by; ``"calibration:cost"`` reads another outcome column. Of several,
        all must improve.
    delta_accuracy : float or mapping from group to float
        How much more accurate the candidate must be, Definition 2.
    delta_fairness : float
        By how much its gap must be smaller.
    form : {"ratio", "difference"}
        Whether deltas are shares or amounts.
    gap : {"signed", "absolute"}
        Which fairness statistic decides: the one without a kink, or the paper's. Both are reported.
    protected : str or sequence of str, optional
        Groups in whose favour fairness is one-sided: only their falling short of others counts as unfair.
    overall : "population" or mapping from group to float, optional
        Ask for more accuracy in the whole population, or in a weighted mean of the groups, instead of in every group.
    groups : sequence of str, optional
        Keep only these groups.
    cross : bool
        Cross several group columns into intersections; otherwise each column's groups must improve.
    min_group : int
        Groups with fewer rows are small.
    small : {"refuse", "pool"}
        Refuse small groups, or pool them into one.
    weight : str, optional
        Column of row weights: utilities become weighted means; rows are still what is resampled.
    cluster : str, optional
        Column that says which rows belong together (a patient, a clinic): split and resampled as wholes.
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
    monotone : mapping from feature to "+" or "-", optional
        A higher value of the feature may only help ("+"), or only hurt ("-").
    selection_gap : float, optional
        Bound on the difference of selection rates between groups (independence).
    group_blind : bool
        Refuse features that are, or exactly determine, a group.
    seed : int
        Same seed, same data: same result, for any order of rows and any number of workers.
    n_jobs : int, optional
        Splits at a time, through joblib: None is one, -1 all cores.
    drop_missing : bool
        Drop rows with holes in a needed column, and say how many.
    run_folder : str or path, optional
        Keep each split there as soon as it is done. The same audit run again with the same folder goes on where it
        stopped, and ends with the same bytes as if it had never stopped.
    progress : bool, optional
        Show a progress bar; by default on a terminal.
    method : {"bootstrap", "delta"}, optional
        How p-values are drawn: by the bootstrap, or from its normal limit (Appendix B). By default the bootstrap,
        unless a split has more than a million distinct contributions.
    engine : {"memory", "arrow", "dask", "spark", "duckdb"}, optional
        Where the rows are read and counted, in batches. By default frames in memory and single files are simply read,
        and other data have their own engine. With an engine, splits come from a hash of every row, so that the result
        is the same in all of them.
    train_rows : int, optional
        With an engine: how many training rows of a split a rule sees at most, and thresholds are taken from; 100,000 by
        default. The test is valid for any number.
    row_id : str, optional
        With an engine: column that differs in every row. Without it the row's content tells rows apart.

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
        protected=protected,
        overall=overall,
        groups=groups,
        cross=cross,
        min_group=min_group,
        small=small,
        weight=weight,
        cluster=cluster,
        draws=draws,
        alpha=alpha,
        seed=seed,
        method=method,
    )
    check_integer("splits", splits, 1)
    check_number("train_fraction", train_fraction, 0, 1)
    algorithm = as_algorithm(status_quo)
    constraints = make_constraints(
        capacity_of(algorithm) if capacity is None else capacity, monotone, selection_gap, group_blind
    )
    selection_rule = as_rule(rule)
    refuse_unhonoured(constraints, selection_rule, RULES)
    target = target or outcome
    opened = as_engine(data, engine, worker_count(n_jobs), train_rows, row_id)
    if opened is not None:
        from improvable.engines.procedure import Asked, audit_batches

        asked = Asked(
            design=design,
            status_quo=algorithm,
            rule=selection_rule,
            features=features,
            exclude=exclude,
            target=target,
            constraints=constraints,
            splits=int(splits),
            train_fraction=train_fraction,
            train_rows=train_rows,
            row_id=row_id,
            drop_missing=drop_missing,
        )
        found = audit_batches(opened, asked, worker_count(n_jobs), run_folder, progress)
        emit(found.cautions)
        return found
    rows = read_rows(data)
    chosen = choose_features(rows, design, algorithm, target, features, exclude)
    sample, cautions = make_sample(rows, design, [algorithm], [target], drop_missing, canonical=True)
    check_features(constraints, rows, chosen.columns, sample)
    plan = Plan(algorithm, selection_rule, chosen, target, constraints, int(splits), train_fraction)
    check_split_sizes(sample, train_fraction, constraints.capacity)
    workers = worker_count(n_jobs)
    setting = plan_facts(plan, sample)
    with limited_threads(workers, plan.splits):
        gaps, doubts = status_quo_disparity(design, algorithm, sample, workers)
        results = _run(design, plan, sample, setting, workers, run_folder, progress)
    cautions += [*chosen.cautions, *doubts, *gather([split.cautions for split in results])]
    emit(cautions)
    result = Audit(
        question=design.question,
        setting=setting,
        splits=tuple(results),
        disparities=tuple(gaps),
        cautions=tuple(cautions),
        source=Source(design, plan, sample),
        backend=sample.backend,
    )
    if run_folder is not None:
        storage.write_audit_head(result, Path(run_folder))
    return result


def plan_facts(plan: Plan, sample: Sample) -> dict[str, Any]:
    """How candidates are found, as plain data."""
    return {
        "status_quo": describe(plan.status_quo),
        "rule": plan.rule.name,
        "features": plan.features.treatment,
        "target": plan.target,
        **plan.constraints.facts(),
        "train_fraction": plan.train_fraction,
        "rows": len(sample),
        "clusters": None if sample.clusters is None else sample.units,
    }


def _run(
    design: Design,
    plan: Plan,
    sample: Sample,
    setting: dict[str, Any],
    workers: int,
    run_folder: str | Path | None,
    progress: bool | None,
) -> list[Comparison]:
    """All splits: those that the run folder already has, and the others."""
    every = range(1, plan.splits + 1)
    if run_folder is None:
        return run_splits(design, plan, sample, every, workers, progress, finished=lambda _: None)
    identity = {
        "data": storage.fingerprint(content_keys(sample.rows)),
        "splits": plan.splits,
        **setting,
        **design.question.to_dict(),
    }
    folder = storage.open_run(run_folder, identity)
    done = storage.finished_splits(folder, design.question, plan.splits, sample.backend)
    left = [split for split in every if split not in done]
    for result in run_splits(
        design, plan, sample, left, workers, progress, finished=lambda split: storage.write_split(split, folder)
    ):
        done[result.split] = result
    return [done[split] for split in every]
