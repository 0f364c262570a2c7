"""One fixed candidate against the status quo on one held-out sample: the test of Section 3.2."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np

from improvable.algorithms import Algorithm, ScoreColumn, Threshold, as_algorithm, capacity_of, decide, prepare
from improvable.arrays import FloatArray, IntArray
from improvable.cautions import Caution, capacity_cautions, component_cautions, emit, gap_cautions
from improvable.data import FrameLike, read_rows
from improvable.design import (
    Delta,
    Design,
    Overall,
    Question,
    check_claim,
    check_number,
    make_claim,
    make_design,
)
from improvable.errors import DataError, OptionError, nearest
from improvable.groups import Attribute
from improvable.inference.cells import STATUS_QUO, Cells, W, contributions, count, pool_clusters
from improvable.inference.criteria import utilities_of
from improvable.inference.disparity import disparities
from improvable.inference.evidence import ALGORITHMS, Assessment, Evidence, assess
from improvable.inference.pvalues import threshold_for
from improvable.inference.resampling import resample
from improvable.results import Result
from improvable.sample import Sample, make_sample
from improvable.utilities import Utility, check_decisions


@dataclass(frozen=True)
class Comparison(Result):
    """The result of `compare`, and of each split of `audit`.

    Attributes
    ----------
    question : Question
        What was asked.
    evidence : Evidence
        Sums and draws; every p-value is computed from these.
    rows : int
        Held-out rows.
    clusters : int or None
        Held-out clusters, where rows were resampled in clusters.
    selected : array of shape (strata, 2)
        Rows with a decision other than 0, by stratum and algorithm.
    sizes : array of shape (strata,)
        Rows by stratum.
    shares : dict
        Share selected, by algorithm and sample: the capacity reached.
    cautions : tuple of Caution
    split : int
        Number of the split, from 1; 0 in a plain comparison.
    notes : mapping
        How the candidate was selected: what the rule says of it, and which constraints it reached. Plain data.
    """

    question: Question
    evidence: Evidence
    rows: int
    clusters: int | None
    selected: IntArray
    sizes: IntArray
    shares: dict[str, dict[str, float]]
    cautions: tuple[Caution, ...]
    backend: nw.Implementation = field(repr=False)
    split: int = 0
    notes: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def assessment(self) -> Assessment:
        return assess(self.evidence, self.question.claim)

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
        return threshold_for(self.question.alpha, splits=1)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and text, ready for JSON."""
        from improvable.report.facts import comparison_facts

        return comparison_facts(self)

    def reconsider(self, **changes: Any) -> "Comparison":
        """The same evidence asked another question: at once, from the draws, without data.

        Parameters
        ----------
        **changes
            Any of `delta_accuracy`, `delta_fairness`, `form`, `gap`, `protected`, `overall` and `alpha`, as in
            `compare`; what is not named stays.
        """
        return replace(self, question=change_question(self.question, self.evidence.attributes, changes))

    def save(self, folder: str | Path) -> None:
        """Keep the result in a folder, draws included; `improvable.load` brings it back."""
        from improvable.storage import save_comparison

        save_comparison(self, folder)


def change_question(question: Question, attributes: Sequence[Attribute], changes: dict[str, Any]) -> Question:
    """Another claim or level for the same evidence."""
    claim, alpha = question.claim, changes.pop("alpha", question.alpha)
    settings = {name: getattr(claim, name) for name in claim.__dataclass_fields__}
    for name in changes:
        if name not in settings:
            raise OptionError(f"'{name}' cannot be changed without the data.", nearest(name, [*settings, "alpha"]))
    changed = make_claim(**{**settings, **changes})
    check_claim(changed, [attribute.levels for attribute in attributes])
    check_number("alpha", alpha, 0, 0.5)
    return replace(question, claim=changed, alpha=float(alpha))


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
    )
    specs = as_algorithm(status_quo), as_algorithm(candidate)
    sample, cautions = make_sample(read_rows(data), design, specs, [], drop_missing, canonical=False)
    algorithms = prepare_status_quo(specs[0], sample), prepare(specs[1], sample.rows, sample.weights)
    decisions = decide(algorithms[0], sample.rows, "status quo"), decide(algorithms[1], sample.rows, "candidate")
    root = np.random.SeedSequence(design.question.seed)
    result = evaluate(design, sample, decisions, None, root, worker_count(-1 if n_jobs is None else n_jobs))
    reached = [result.shares[name]["test"] for name in ALGORITHMS]
    cautions += capacity_cautions([*map(capacity_of, specs)], reached)
    cautions += gap_cautions(disparities(result.evidence, design.question.claim, alpha), alpha)
    cautions += result.cautions
    emit(cautions)
    return _with_cautions(result, cautions)


def worker_count(n_jobs: int | None) -> int:
    from joblib import effective_n_jobs, parallel_config

    if n_jobs == 0:
        raise OptionError("n_jobs is 0.", "Give 1 or more, or -1 for all cores.")
    with parallel_config(backend="threading"):
        return int(effective_n_jobs(n_jobs))


def prepare_status_quo(algorithm: Algorithm | Threshold, training: Sample) -> Algorithm:
    """Complete the status quo; a score that never varies cannot be thresholded."""
    if isinstance(algorithm, Threshold) and isinstance(algorithm.scorer, ScoreColumn):
        scores = algorithm.scorer.score(training.rows)
        if scores.min() == scores.max():
            raise DataError(
                f"the score '{algorithm.scorer.column}' is constant ({scores[0]:g}).",
                "Nobody is strictly above its quantile; name the column of scores.",
            )
    return prepare(algorithm, training.rows, training.weights)


def evaluate(
    design: Design,
    sample: Sample,
    decisions: tuple[FloatArray, FloatArray],
    training: FloatArray | None,
    seed: np.random.SeedSequence,
    workers: int,
    where: str = "",
) -> Comparison:
    """Decisions on held-out rows become evidence.

    Parameters
    ----------
    training : array of shape (strata, utilities, 2), optional
        The status quo's sums on the training rows; None takes them from these rows.
    where : str
        Opens error messages: "split 3: ".
    """
    for decision, whose in zip(decisions, ("status quo", "candidate"), strict=True):
        check_decisions(decision, design.utilities, whose)
    attributes = sample.grouping.attributes
    shape = (sample.grouping.strata, len(design.utilities), 2, 2)
    vectors = contributions(design.utilities, sample.rows, sample.outcomes, decisions, sample.weights)
    cells = _cells(vectors.reshape(len(sample), -1), sample)
    sums = cells.sums().reshape(shape)
    evidence = Evidence(
        attributes=attributes,
        measures=tuple(utility.measure(design.question.outcome) for utility in design.utilities),
        accuracy=design.accuracy,
        fairness=design.fairness,
        sums=sums,
        draws=np.empty((0, *shape)),
        training=sums[:, :, STATUS_QUO] if training is None else training,
    )
    _refuse_undefined_status_quo(evidence, where)
    _refuse_share_of_nonpositive(evidence, design.question)
    evidence = replace(evidence, draws=resample(cells, design.question.draws, seed, workers).reshape(-1, *shape))
    selected = np.stack([np.bincount(sample.grouping.codes[d != 0], minlength=shape[0]) for d in decisions], axis=1)
    shares = {
        name: {"test": selected_share(decision, sample)} for name, decision in zip(ALGORITHMS, decisions, strict=True)
    }
    result = Comparison(
        question=design.question,
        evidence=evidence,
        rows=len(sample),
        clusters=None if sample.clusters is None else sample.units,
        selected=selected.astype(np.int64),
        sizes=np.bincount(sample.grouping.codes, minlength=shape[0]).astype(np.int64),
        shares=shares,
        cautions=(),
        backend=sample.backend,
    )
    cautions = component_cautions(evidence, result.assessment, _occupied(vectors[..., W], sample))
    return _with_cautions(result, cautions)


def _with_cautions(result: Comparison, cautions: Sequence[Caution]) -> Comparison:
    """The same result with other warnings; the assessment, if it was made, is kept."""
    changed = replace(result, cautions=tuple(cautions))
    if "assessment" in result.__dict__:
        changed.__dict__["assessment"] = result.assessment
    return changed


def _cells(vectors: FloatArray, sample: Sample) -> Cells:
    """Cells of rows, one block of sums per stratum; or of clusters, one block that holds the sums of all strata."""
    codes, strata = sample.grouping.codes, sample.grouping.strata
    if sample.clusters is None:
        return count(vectors, codes, strata)
    pooled = pool_clusters(vectors, codes, sample.clusters, strata)
    return count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)


def _occupied(normalizers: FloatArray, sample: Sample) -> dict[str, tuple[int, int]]:
    """How many rows of each group count for either algorithm, in the utility where they are fewest.

    `normalizers` is of shape (rows, utilities, 2): a row counts where its w is not zero.
    """
    codes, strata = sample.grouping.codes, sample.grouping.strata
    shape = normalizers.shape[1:]
    counts = np.array(
        [
            np.bincount(codes[normalizers[:, m, t] != 0], minlength=strata)
            for m in range(shape[0])
            for t in range(shape[1])
        ]
    ).reshape(*shape, strata)
    out = {}
    for attribute in sample.grouping.attributes:
        for g, group in enumerate(attribute.levels):
            rows = counts[:, :, attribute.member == g].sum(axis=2).min(axis=0)
            out[group] = (int(rows[0]), int(rows[1]))
    return out


def selected_share(decision: FloatArray, sample: Sample) -> float:
    """The share selected: of rows, or of their weight."""
    chosen = decision != 0
    return float(chosen.mean() if sample.weights is None else sample.weights[chosen].sum() / sample.weights.sum())


def status_quo_sums(design: Design, sample: Sample, decision: FloatArray) -> FloatArray:
    """The status quo's sums, shape (strata, utilities, 2)."""
    vectors = contributions(design.utilities, sample.rows, sample.outcomes, [decision], sample.weights)
    cells = count(vectors.reshape(len(sample), -1), sample.grouping.codes, sample.grouping.strata)
    return cells.sums().reshape(sample.grouping.strata, len(design.utilities), 2)


def _refuse_undefined_status_quo(evidence: Evidence, where: str) -> None:
    for values, attribute in zip(evidence.values, evidence.attributes, strict=True):
        for g, m in zip(*np.nonzero(np.isnan(values[..., STATUS_QUO])), strict=True):
            raise DataError(
                f"{where}the status quo has no '{evidence.measures[m].label}' for group '{attribute.levels[g]}': "
                "no row of that group counts in it (nobody is selected).",
                "Leave that group out, use a larger capacity, or bring more rows.",
            )


def refuse_undefined_training(design: Design, sums: FloatArray, attributes: Sequence[Attribute], where: str) -> None:
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            values = utilities_of(sums[attribute.member == g].sum(axis=0))
            if np.isnan(values).any():
                label = design.utilities[int(np.flatnonzero(np.isnan(values))[0])].label
                raise DataError(
                    f"{where}the status quo has no '{label}' for group '{group}' among the training rows.",
                    "Leave that group out, use a larger capacity, or bring more rows.",
                )


def _refuse_share_of_nonpositive(evidence: Evidence, question: Question) -> None:
    if question.claim.form == "difference":
        return
    for values, attribute in zip(evidence.values, evidence.attributes, strict=True):
        for g, group in enumerate(attribute.levels):
            for m in evidence.accuracy:
                delta = 0.0 if question.claim.overall is not None else question.claim.delta_of(group)
                if values[g, m, STATUS_QUO] <= 0 and delta != 0:
                    raise DataError(
                        f"the status quo's '{evidence.measures[m].label}' for group '{group}' is "
                        f"{values[g, m, STATUS_QUO]:g}, and a share of it means nothing.",
                        "Ask for an amount instead: form='difference' (--form difference).",
                    )
