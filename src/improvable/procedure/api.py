"""The two public functions: `audit`, the whole procedure of Section 3.1, and `compare`,
the test of Section 3.2.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from improvable.data.frame import FrameLike
from improvable.errors import ImprovableError
from improvable.procedure.compare import run_comparison
from improvable.procedure.run import run_audit
from improvable.question.claim import Claim
from improvable.question.options import COMPARE
from improvable.question.settings import (
    Capacity,
    Constraints,
    Groups,
    Measured,
    Read,
    Settings,
    Test,
    as_arguments,
    asked,
    where_to_say,
)
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison

P = ParamSpec("P")
R = TypeVar("R")


def _says_where(function: Callable[P, R]) -> Callable[P, R]:
    """Say where a setting goes: one that is not an argument, and one that the hint of
    an error names.
    """
    known = inspect.signature(function).parameters

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in kwargs.items():
            if name not in known:
                raise TypeError(where_to_say(name, value, known))
        try:
            return function(*args, **kwargs)
        except ImprovableError as error:
            error.hint = as_arguments(error.hint)
            raise

    return call


@_says_where
def audit(
    data: FrameLike,
    *,
    outcome: str,
    group: str | Sequence[str] | Groups = (),
    status_quo: Any,
    rule: Any = "aim",
    features: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    target: str | None = None,
    capacity: Capacity = None,
    accuracy: Measured = "calibration",
    fairness: Measured | None = None,
    claim: Claim | None = None,
    test: Test | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    row_id: str | None = None,
    constraints: Constraints | None = None,
    read: Read | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    run_folder: str | Path | None = None,
) -> Audit:
    """Test whether the status quo can be made more accurate for every group and less
    uneven between them.

    In each of several repetitions the rows are put into a random order and cut into
    blocks. For every block but the first, `rule` finds a candidate on all rows before
    it, which is compared with the status quo on the block. All tested blocks together
    give the repetition's p-value. Reject if the lower median of these is below alpha
    / 2. Runs from the command line are recorded in a ledger beside the data; calls of
    this function are not.

    Parameters
    ----------
    data : data frame or path
        Any frame narwhals knows, or a CSV or Parquet file; or what an engine reads
        where it lives: a Dask or Spark frame, a DuckDB relation, a pyarrow dataset, a
        folder of Parquet files.
    outcome : str
        Column of outcomes.
    group : str, sequence of str or Groups
        Column, or columns, that say which groups a row belongs to; `Groups` also says
        which levels count.
    status_quo : str, threshold(...), fitted estimator or callable
        The algorithm in use: a column of decisions, a thresholded score, a fitted
        scikit-learn model, a function of the rows.
    rule : str, estimator or SelectionRule
        How a candidate is found: 'aim', 'lasso', 'linear', 'boosting', 'forest',
        'logistic', any scikit-learn estimator or pipeline, or an object with
        ``select(training, status_quo)``.
    features : sequence of str, optional
        Columns that the candidate may read. By default every column except groups,
        outcomes, weight, cluster, what the status quo reads (its score or decisions),
        and columns that tell rows apart as a name or an id does; ``["*"]`` includes
        what the status quo reads. Text, categories, dates and missing values become
        numbers, fitted on training rows only. A feature that determines an outcome is
        refused.
    exclude : sequence of str
        Columns to leave out of the default.
    target : str, optional
        Column that the rule predicts; the outcome by default.
    capacity : float or "status_quo", optional
        Share of rows that a candidate may select. By default that of the status quo,
        where it has one; ``"status_quo"`` is the share that the status quo selects of
        the training rows, whatever decides it.
    accuracy, fairness : str, Utility or sequence of these
        What accuracy and the gap are measured by; ``"calibration:cost"`` reads another
        outcome column. Of several, all must improve.
    claim : Claim, optional
        The improvement to be shown: ``Claim(delta_accuracy=0.01)``.
    test : Test, optional
        How it is tested: ``Test(draws=2_000, alpha=0.1)``.
    weight : str, optional
        Column of row weights: utilities become weighted means; rows are still what is
        resampled.
    cluster : str, optional
        Column that says which rows belong together (a patient, a clinic): always in one
        block, and resampled together.
    stratum : str, optional
        Column of a survey's strata: a cluster is one within a stratum, and is resampled
        there (Rao and Wu, 1988).
    row_id : str, optional
        Column that differs in every row and tells rows apart; without it, all that is
        read of a row does, and in memory how often equal rows have occurred.
    constraints : Constraints, optional
        What a candidate must respect: ``Constraints(monotone={"age": "+"})``.
    read : Read, optional
        How the data are read, and what their values mean: ``Read(positive={"approved":
        "yes"})``.
    seed : int
        Same seed, data and question: same result, for any order of rows and any number
        of workers.
    n_jobs : int, optional
        Repetitions at a time, through joblib. By default all cores, but one at a time
        where the rule, the status quo or a utility is code of your own, which may keep
        state. The result does not depend on it otherwise.
    run_folder : str or path, optional
        Keep each repetition there as soon as it is done. The same audit run again with
        the same folder resumes, and ends with the same bytes as if it had never been
        interrupted.

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
    ...     test=improvable.Test(repetitions=3, draws=1_000), seed=1,
    ... )
    >>> len(result.repetitions)
    3
    """
    return run_audit(
        data, Settings(**asked(locals())), n_jobs=n_jobs, run_folder=run_folder
    )


@_says_where
def compare(
    data: FrameLike,
    *,
    outcome: str,
    group: str | Sequence[str] | Groups = (),
    status_quo: Any,
    candidate: Any,
    accuracy: Measured = "calibration",
    fairness: Measured | None = None,
    claim: Claim | None = None,
    test: Test | None = None,
    weight: str | None = None,
    cluster: str | None = None,
    stratum: str | None = None,
    read: Read | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
) -> Comparison:
    """Test whether a candidate is more accurate for every group and has a smaller gap
    than the status quo.

    The rows must be held out: neither algorithm may have been fitted on them.
    Thresholds that come from a capacity are taken from the rows given.

    Every argument that is not described here means what it does in `audit`.

    Parameters
    ----------
    candidate : str, threshold(...), fitted estimator or callable
        What would decide instead, in any form that `status_quo` takes.
    test : Test, optional
        How it is tested: `draws`, `alpha`, `ties` and `method`.
    read : Read, optional
        How the data are read; all of it but `duplicates`.
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
