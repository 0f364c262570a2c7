"""The two public functions: `audit`, the whole procedure of Section 3.1, and `compare`, the test of Section 3.2."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from improvable.data.frame import FrameLike
from improvable.procedure.compare import run_comparison
from improvable.procedure.run import run_audit
from improvable.question.claim import Ask, Claim, Delta, Form, Gap, GapDelta, Overall
from improvable.question.options import COMPARE
from improvable.question.settings import (
    AsStated,
    Capacity,
    Decimal,
    Duplicates,
    EngineName,
    Groups,
    Method,
    Positive,
    Read,
    Scheme,
    Settings,
    Small,
    Test,
    Ties,
    asked,
)
from improvable.question.utility import Selection, Utility
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison


def audit(
    data: FrameLike,
    *,
    outcome: str,
    group: str | Sequence[str] | Groups,
    status_quo: Any,
    rule: Any = "lasso",
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    target: str | None = None,
    accuracy: str | Utility | Sequence[str | Utility] = "calibration",
    fairness: str | Utility | Sequence[str | Utility] | None = None,
    claim: Claim | None = None,
    test: Test | None = None,
    read: Read | None = None,
    selection: Selection = "benefit",
    lower_is_better: bool = False,
    outcome_range: Sequence[float] | None = None,
    direction: AsStated | None = None,
    ask: Ask = "both",
    delta_accuracy: Delta = 0.0,
    no_worse: float | None = None,
    delta_fairness: GapDelta = 0.0,
    form: Form = "ratio",
    gap: Gap = "signed",
    protected: Sequence[str] | None = (),
    overall: Overall = None,
    groups: Sequence[str] | None = None,
    cross: bool = False,
    min_group: int = 0,
    small: Small = "refuse",
    weight: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    scheme: Scheme = "forward",
    repetitions: int = 7,
    train_fraction: float = 0.5,
    draws: int = 10_000,
    alpha: float = 0.05,
    ties: Ties = "random",
    capacity: Capacity = None,
    monotone: Mapping[str, str | int] | None = None,
    selection_gap: float | None = None,
    group_blind: bool = True,
    seed: int = 0,
    challenge_source: str | None = None,
    challenge: str | None = None,
    n_jobs: int | None = None,
    drop_missing: bool = False,
    positive: Positive = None,
    na: str | Sequence[str] | None = None,
    strip: bool = False,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: Decimal | None = None,
    sheet: str | None = None,
    run_folder: str | Path | None = None,
    progress: bool | None = None,
    method: Method | None = None,
    engine: EngineName | None = None,
    train_rows: int = 100_000,
    row_id: str | None = None,
    duplicates: Duplicates | None = None,
    rule_source: str | None = None,
    organization: str | None = None,
    system: str | None = None,
    author: str | None = None,
    date: str | None = None,
    labels: Mapping[str, str] | None = None,
    simulated: bool = False,
) -> Audit:
    """Test whether the status quo can be made more accurate for every group and less uneven between them.

    In each of several repetitions the rows are put into a random order and cut into blocks. For every block but the
    first, `rule` finds a candidate on all rows before it, which is compared with the status quo on the block. All
    tested blocks together give the repetition's p-value. Reject if the lower median of these is below alpha / 2.
    Runs from the command line are recorded in a ledger beside the data; calls of this function are not.

    Parameters
    ----------
    data : data frame or path
        Any frame narwhals knows, or a CSV or Parquet file; or what an engine reads where it lives: a Dask or Spark
        frame, a DuckDB relation, a pyarrow dataset, a folder of Parquet files.
    outcome : str
        Column of outcomes.
    group : str, sequence of str or Groups
        Column, or columns, that say which groups a row belongs to. The fields of `Groups` are arguments too; `only` is
        `groups`.
    status_quo : str, threshold(...), fitted estimator or callable
        The algorithm in use: a column of decisions, a thresholded score, a fitted scikit-learn model, or a
        function of the rows.
    rule : str, estimator or SelectionRule
        How a candidate is found: 'lasso', 'linear', 'boosting', 'forest', 'logistic', any scikit-learn estimator
        or pipeline, or an object with ``select(training, status_quo)``.
    rule_source : str, optional
        Digest of the code behind a rule ``module:object``. Other code is refused.
    features : sequence of str, optional
        Columns that the candidate may read. By default every column except groups, outcomes, weight, cluster, what the
        status quo reads (its score or decisions), and columns that tell rows apart as a name or an id does; ``["*"]``
        includes what the status quo reads. Text, categories, dates and missing values become numbers, fitted on
        training rows only. A feature that determines an outcome is refused.
    exclude : sequence of str
        Columns to leave out of the default.
    target : str, optional
        Column that the rule predicts; the outcome by default.
    capacity : float or "status_quo", optional
        Share of rows that a candidate may select. By default that of the status quo, where it has one;
        ``"status_quo"`` is the share that the status quo selects of the training rows, whatever decides it.
    monotone : mapping from feature to "+" or "-", optional
        A higher value of the feature may only help ("+"), or only hurt ("-").
    selection_gap : float, optional
        Bound on the difference of selection rates between groups (independence).
    group_blind : bool
        Refuse features that are, or exactly determine, a group.
    accuracy, fairness : str, Utility or sequence of these
        What accuracy and the gap are measured by; ``"calibration:cost"`` reads another outcome column. Of several,
        all must improve.
    claim : Claim, optional
        The improvement to be shown. Its fields are arguments too: ``claim=Claim(no_worse=0.01)`` is ``no_worse=0.01``.
    test : Test, optional
        How it is tested. Its fields are arguments too.
    read : Read, optional
        How the data are read, and what their values mean. Its fields are arguments too.
    weight : str, optional
        Column of row weights: utilities become weighted means; rows are still what is resampled.
    cluster : str, optional
        Column that says which rows belong together (a patient, a clinic): always in one block, and resampled together.
    stratum : str, optional
        Column of a survey's strata: a cluster is one within a stratum, and is resampled there (Rao and Wu, 1988).
    row_id : str, optional
        Column that differs in every row. It tells rows apart; without it, all that is read of a row does. In memory,
        equal rows are told apart by how often they have occurred.
    seed : int
        Same seed, data and question: same result, for any order of rows and any number of workers.
    challenge_source : str, optional
        A public value that nobody knows yet and that will be the challenge: ``"drand:ROUND"``, a round of drand's chain
        quicknet, or ``"close:INDEX:YYYY-MM-DD"``, a closing figure.
    challenge : str, optional
        Instead of a seed, a text that the other side chose: the order of the rows follows from it and from what the
        question reads of the data. ``improvable seal`` binds it to a protocol.
    n_jobs : int, optional
        Repetitions at a time, through joblib. By default all cores, but one at a time where the rule, the status quo or
        a utility is code of your own, which may keep state. The result does not depend on it otherwise.
    run_folder : str or path, optional
        Keep each repetition there as soon as it is done. The same audit run again with the same folder resumes, and
        ends with the same bytes as if it had never been interrupted.
    progress : bool, optional
        Show a progress bar; by default on a terminal.
    organization, system, author, date : str, optional
        Whose algorithm it is, what it is called, who ran the audit and when: for the head of a report.
    labels : mapping from column to words, optional
        What tables, pictures and sentences call a column.
    simulated : bool
        Whether the data are simulated; a report then says so in large type.

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
    ...     repetitions=3, draws=1_000, seed=1,
    ... )
    >>> len(result.repetitions)
    3
    """
    settings = Settings(**asked(locals()))
    return run_audit(data, settings, n_jobs=n_jobs, run_folder=run_folder, progress=progress)


def compare(
    data: FrameLike,
    *,
    outcome: str,
    group: str | Sequence[str] | Groups,
    status_quo: Any,
    candidate: Any,
    accuracy: str | Utility | Sequence[str | Utility] = "calibration",
    fairness: str | Utility | Sequence[str | Utility] | None = None,
    claim: Claim | None = None,
    test: Test | None = None,
    read: Read | None = None,
    selection: Selection = "benefit",
    lower_is_better: bool = False,
    outcome_range: Sequence[float] | None = None,
    direction: AsStated | None = None,
    ask: Ask = "both",
    delta_accuracy: Delta = 0.0,
    no_worse: float | None = None,
    delta_fairness: GapDelta = 0.0,
    form: Form = "ratio",
    gap: Gap = "signed",
    protected: Sequence[str] | None = (),
    overall: Overall = None,
    groups: Sequence[str] | None = None,
    cross: bool = False,
    min_group: int = 0,
    small: Small = "refuse",
    weight: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    draws: int = 10_000,
    alpha: float = 0.05,
    ties: Ties = "random",
    seed: int = 0,
    n_jobs: int | None = None,
    drop_missing: bool = False,
    positive: Positive = None,
    na: str | Sequence[str] | None = None,
    strip: bool = False,
    separator: str | None = None,
    encoding: str | None = None,
    decimal: Decimal | None = None,
    sheet: str | None = None,
    method: Method | None = None,
    engine: EngineName | None = None,
    organization: str | None = None,
    system: str | None = None,
    author: str | None = None,
    date: str | None = None,
    labels: Mapping[str, str] | None = None,
    simulated: bool = False,
) -> Comparison:
    """Test whether a candidate is more accurate for every group and has a smaller gap than the status quo.

    The rows must be held out: neither algorithm may have been fitted on them. Thresholds that come from a
    capacity are taken from the rows given.

    Every argument that is not described here means what it does in `audit` or in the value that holds it.

    Parameters
    ----------
    data : data frame or path
        As in `audit`.
    status_quo, candidate : str, threshold(...), fitted estimator or callable
        What decides: a column of decisions, a thresholded score, a fitted scikit-learn model, a function of the rows.
    claim : Claim, optional
        The improvement to be shown, as one value; its fields are arguments too.
    test : Test, optional
        How it is tested: `draws`, `alpha`, `ties` and `method`.
    read : Read, optional
        How the data are read; all of it but `duplicates`.
    cluster : str, optional
        Column that says which rows belong together (a patient, a clinic); clusters are resampled as wholes.
    draws : int
        Bootstrap draws.
    n_jobs : int, optional
        Threads that draw, all cores by default: the result does not depend on it.

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
    False
    """
    return run_comparison(data, Settings(**asked(locals(), COMPARE)), candidate, n_jobs)
