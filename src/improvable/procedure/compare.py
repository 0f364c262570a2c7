"""One fixed candidate against the status quo on one held-out sample: the test of Section 3.2."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from improvable.algorithms.deciding import as_algorithm, capacity_of, decide, prepare
from improvable.data.engines import as_engine
from improvable.data.fingerprint import DataMark, used_columns
from improvable.data.frames import FrameLike, read_rows
from improvable.data.sample import make_sample
from improvable.errors import OptionError
from improvable.inference.estimates import disparities
from improvable.inference.evidence import ALGORITHMS
from improvable.procedure.cautions import capacity_cautions, emit, gap_cautions
from improvable.procedure.evaluating import evaluate, prepare_status_quo, with_cautions
from improvable.question.claim import Delta, Form, Gap, Overall
from improvable.question.design import make_design
from improvable.question.settings import EngineName, Method, Settings, Small, asked
from improvable.question.utilities import Utility
from improvable.results.comparison import Comparison


def compare(
    data: FrameLike,
    *,
    outcome: str,
    group: str | Sequence[str],
    status_quo: Any,
    candidate: Any,
    accuracy: str | Utility | Sequence[str | Utility] = "calibration",
    fairness: str | Utility | Sequence[str | Utility] | None = None,
    delta_accuracy: Delta = 0.0,
    delta_fairness: float = 0.0,
    form: Form = "ratio",
    gap: Gap = "signed",
    protected: str | Sequence[str] | None = None,
    overall: Overall = None,
    groups: Sequence[str] | None = None,
    cross: bool = False,
    min_group: int = 0,
    small: Small = "refuse",
    weight: str | None = None,
    cluster: str | None = None,
    draws: int = 10_000,
    alpha: float = 0.05,
    seed: int = 0,
    n_jobs: int | None = None,
    drop_missing: bool = False,
    method: Method | None = None,
    engine: EngineName | None = None,
) -> Comparison:
    """Test whether a candidate is more accurate for every group and has a smaller gap than the status quo.

    The rows must be held out: neither algorithm may have been fitted on them. Thresholds that come from a
    capacity are taken from the rows given.

    Parameters
    ----------
    data : data frame or path
        Any frame narwhals knows, or a CSV or Parquet file; or what an engine reads where it lives: a Dask or Spark
        frame, a DuckDB relation, a pyarrow dataset, a folder of Parquet files.
    outcome : str
        Column of outcomes.
    group : str or sequence of str
        Column, or columns, that say which groups a row belongs to.
    status_quo, candidate : str, threshold(...), fitted estimator or callable
        What decides: a column of decisions, a thresholded score, a fitted scikit-learn model, a function of the rows.
    accuracy, fairness : str, Utility or sequence of these
        What accuracy and the gap are measured by; fairness defaults to the accuracy utility. Of several, all must
        improve.
    delta_accuracy : float or mapping from group to float
        How much more accurate the candidate must be, Definition 2.
    delta_fairness : float
        By how much its gap must be smaller.
    form : {"ratio", "difference"}
        Whether deltas are shares or amounts.
    gap : {"signed", "absolute"}
        Which fairness statistic decides: the one without a kink, or the paper's. Both are reported.
    protected : str or sequence of str, optional
        Group in whose favour fairness is one-sided, at most one of a group column: only its falling short of others
        counts as unfair.
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
        Column that says which rows belong together (a patient, a clinic); clusters are resampled as wholes.
    draws : int
        Bootstrap draws.
    alpha : float
        Level of the test.
    seed : int
        Same seed, same data: same result, for any order of rows and any number of workers.
    n_jobs : int, optional
        Threads that draw, all cores by default: the result does not depend on it.
    drop_missing : bool
        Drop rows with missing values in a needed column, and say how many.
    method : {"bootstrap", "delta"}, optional
        How p-values are drawn: by the bootstrap, or from its normal limit (Appendix B). By default the bootstrap,
        unless there are more than a million distinct contributions.
    engine : {"memory", "arrow", "dask", "spark", "duckdb"}, optional
        Where the rows are read and counted, in batches; the result is the same. By default frames in memory and single
        files are simply read, and other data have their own engine.

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
    settings = Settings(**asked(locals()))
    design = make_design(settings)
    specs = as_algorithm(status_quo), as_algorithm(candidate)
    workers = worker_count(-1 if n_jobs is None else n_jobs)
    opened = as_engine(data, engine, workers)
    if opened is not None:
        from improvable.procedure.comparing import compare_batches

        result, cautions = compare_batches(opened, design, specs, drop_missing, workers)
    else:
        rows = read_rows(data)
        sample, cautions = make_sample(rows, design, specs, [], drop_missing)
        algorithms = prepare_status_quo(specs[0], sample), prepare(specs[1], sample.rows, sample.weights)
        decisions = decide(algorithms[0], sample.rows, "status quo"), decide(algorithms[1], sample.rows, "candidate")
        root = np.random.SeedSequence(design.question.seed)
        result = evaluate(design, sample, decisions, None, root, workers)
        used = {name for spec in specs for name in used_columns(rows, design, spec).all}
        result = replace(result, data=DataMark(rows, tuple(used)))
    reached = [result.shares[name]["test"] for name in ALGORITHMS]
    cautions += capacity_cautions([*map(capacity_of, specs)], reached)
    cautions += gap_cautions(disparities(result.evidence, design.question.claim, alpha), alpha)
    cautions += result.cautions
    emit(cautions)
    return with_cautions(result, cautions)


def worker_count(n_jobs: int | None) -> int:
    from joblib import effective_n_jobs, parallel_config

    if n_jobs == 0:
        raise OptionError("n_jobs is 0.", "Give 1 or more, or -1 for all cores.")
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))
