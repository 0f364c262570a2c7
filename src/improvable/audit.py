"""The whole procedure of Section 3.1: K times split, select, compare; then combine."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import narwhals as nw

from improvable import storage
from improvable.algorithms import Algorithm, describe
from improvable.cautions import Caution, emit, gather
from improvable.compare import worker_count
from improvable.comparison import Comparison, change_question
from improvable.data import FrameLike
from improvable.declaration import declare, digest_of
from improvable.design import Delta, Design, Overall, Question
from improvable.engines import as_engine
from improvable.errors import OptionError
from improvable.fingerprint import fingerprint
from improvable.inference.combining import combine as combine_p_values
from improvable.inference.combining import combined_threshold
from improvable.inference.disparity import Disparity
from improvable.preparation import Prepared, Settings, check_settings, prepare_audit
from improvable.procedure import (
    Plan,
    limited_threads,
    run_splits,
    select_on_all_rows,
    status_quo_disparity,
)
from improvable.report.provenance import versions
from improvable.results import Result
from improvable.sample import Sample
from improvable.stopping import next_count, reproducible_after, stopping_cautions
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
        """The splits' p-values combined, by default their lower median; to be compared with `threshold`."""
        return float(combine_p_values([split.p_value for split in self.splits], self.question.combine))

    @property
    def threshold(self) -> float:
        """What the p-value must be strictly below: alpha / 2, or alpha for a single split."""
        return combined_threshold(self.question.alpha, len(self.splits), self.question.combine)

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
    combine: str = "median",
    tolerance: float = 0.01,
    most_splits: int = 101,
    train_fraction: float = 0.5,
    draws: int = 10_000,
    alpha: float = 0.05,
    capacity: float | None = None,
    monotone: Mapping[str, str | int] | None = None,
    selection_gap: float | None = None,
    group_blind: bool = True,
    seed: int = 0,
    challenge: str | None = None,
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
    Runs from the command line are recorded in a ledger beside the data; calls of this function are not.

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
        K, how often the rows are divided; with ``combine="sequential"``, at least so often.
    combine : {"median", "running_median", "sequential"}
        How the splits decide: by the paper's median; by the smallest median of the first 1, 2, ..., K splits, which is
        as valid and rejects whenever the median does; or by the median after as many splits as make the decision
        reproducible.
    tolerance : float
        With ``combine="sequential"``: stop when a fresh run would decide otherwise with a smaller probability.
    most_splits : int
        With ``combine="sequential"``: stop here in any case, and warn.
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
        Same seed, data and question: same result, for any order of rows and any number of workers.
    challenge : str, optional
        Instead of a seed, a text that the other side chose (a docket number): the splits follow from it and from the
        data, and from nothing that the analyst can turn. The audit is then sealed.
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
    settings = Settings(
        outcome=outcome,
        group=group,
        status_quo=status_quo,
        rule=rule,
        features=features,
        exclude=exclude,
        target=target,
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
        splits=splits,
        combine=combine,
        tolerance=tolerance,
        most_splits=most_splits,
        train_fraction=train_fraction,
        draws=draws,
        alpha=alpha,
        capacity=capacity,
        monotone=monotone,
        selection_gap=selection_gap,
        group_blind=group_blind,
        seed=seed,
        challenge=challenge,
        drop_missing=drop_missing,
        method=method,
        engine=engine,
        train_rows=train_rows,
        row_id=row_id,
    )
    return run_audit(data, settings, n_jobs=n_jobs, run_folder=run_folder, progress=progress)


def run_audit(
    data: FrameLike,
    settings: Settings,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
) -> Audit:
    """Run an audit whose settings are one value, such as a protocol's."""
    engine = as_engine(data, settings.engine, worker_count(n_jobs))
    if engine is not None:
        from improvable.engines.procedure import audit_batches

        return audit_batches(engine, check_settings(settings), worker_count(n_jobs), run_folder, progress)
    return run_prepared(prepare_audit(data, settings), n_jobs=n_jobs, run_folder=run_folder, progress=progress)


def run_prepared(
    ready: Prepared,
    *,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
    begun: Callable[[], None] = lambda: None,
) -> Audit:
    """Run an audit whose settings and data are checked; `begun` is called when the first split is done."""
    design, plan, sample = ready.design, ready.plan, ready.sample
    workers = worker_count(n_jobs)
    setting = _setting(ready)
    with limited_threads(workers, plan.splits):
        gaps, doubts = status_quo_disparity(design, plan.status_quo, sample, workers)
        results = _run(ready, setting, workers, run_folder, progress, begun)
    cautions = [*ready.cautions, *doubts, *gather([split.cautions for split in results])]
    cautions += stopping_cautions(plan.stopping, results, design.question.alpha)
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


def _setting(ready: Prepared) -> dict[str, Any]:
    """How candidates are found, and where everything comes from, as plain data."""
    return plan_facts(ready.plan, ready.sample) | origin_facts(ready.settings, fingerprint(ready.rows, ready.used.all))


def origin_facts(settings: Settings, data_fingerprint: str | None) -> dict[str, Any]:
    """Where an audit comes from: data, seal, protocol, versions. Plain data."""
    declared = declare(settings)
    return {
        "data_fingerprint": data_fingerprint,
        "challenge": settings.challenge,
        "protocol": None if declared is None else {"digest": digest_of(declared), "declared": declared},
        "versions": versions(),
    }


def plan_facts(plan: Plan, sample: Sample) -> dict[str, Any]:
    """How candidates are found, as plain data."""
    return {
        "status_quo": describe(plan.status_quo),
        "rule": plan.rule.name,
        "features": plan.features.treatment,
        "target": plan.target,
        **plan.constraints.facts(),
        "train_fraction": plan.train_fraction,
        "stopping": None if plan.stopping is None else asdict(plan.stopping),
        "rows": len(sample),
        "clusters": None if sample.clusters is None else sample.units,
    }


def _run(
    ready: Prepared,
    setting: dict[str, Any],
    workers: int,
    run_folder: str | Path | None,
    progress: bool | None,
    begun: Callable[[], None],
) -> list[Comparison]:
    """All splits: those that the run folder already has, and the others."""
    design, plan, sample = ready.design, ready.plan, ready.sample
    done: dict[int, Comparison] = {}
    folder = None
    if run_folder is not None:
        identity = {"splits": plan.splits, **setting, **design.question.to_dict()}
        identity.pop("protocol")  # what matters of it stands beside it, whoever declared it
        folder = storage.open_run(run_folder, identity)
        done = storage.finished_splits(folder, design.question, sample.backend)

    fresh = not done

    def keep(split: Comparison) -> None:
        if folder is not None:
            storage.write_split(split, folder)
        if fresh and split.split == 1:
            begun()

    count = plan.splits
    while True:
        every = range(1, count + 1)
        left = [split for split in every if split not in done]
        done |= {one.split: one for one in run_splits(design, plan, sample, left, count, workers, progress, keep)}
        results = [done[split] for split in every]
        enough = reproducible_after(plan.stopping, plan.splits, results, design.question.alpha)
        if enough is not None:
            return results[:enough]
        count = next_count(plan.stopping, count, workers)
