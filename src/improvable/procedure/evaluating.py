"""Decisions on held-out rows become evidence: contributions, cells, draws (Section 3.2)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable.algorithms.deciding import Algorithm, ScoreColumn, Threshold, prepare
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.groups import Attribute, Grouping
from improvable.data.sample import Sample
from improvable.errors import Caution, DataError
from improvable.inference.cells import STATUS_QUO, Cells, W, contributions, count, pool_clusters
from improvable.inference.evidence import ALGORITHMS, Evidence
from improvable.inference.normal_limit import Moments, draw_normal, most_cells, settle
from improvable.inference.resampling import resample
from improvable.inference.statistics import utilities_of
from improvable.procedure.cautions import component_cautions
from improvable.question.design import Design, Question
from improvable.question.utilities import check_decisions
from improvable.results.comparison import Comparison


def prepare_status_quo(algorithm: Algorithm | Threshold, training: Sample) -> Algorithm:
    """Complete the status quo; a score that never varies cannot be thresholded."""
    if isinstance(algorithm, Threshold) and isinstance(algorithm.scorer, ScoreColumn):
        refuse_constant_score(algorithm.scorer, algorithm.scorer.score(training.rows))
    return prepare(algorithm, training.rows, training.weights)


def refuse_constant_score(scorer: ScoreColumn, scores: FloatArray) -> None:
    if scores.min() == scores.max():
        raise DataError(
            f"the score '{scorer.column}' is constant ({scores[0]:g}).",
            "Nobody is strictly above its quantile; name the column of scores.",
        )


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
    vectors = contribute(design, sample, decisions)
    tally = Tally(
        counted=_cells(vectors.reshape(len(sample), -1), sample),
        rows=len(sample),
        clusters=None if sample.clusters is None else sample.units,
        selected=selected_rows(sample.grouping, decisions),
        sizes=np.bincount(sample.grouping.codes, minlength=sample.grouping.strata).astype(np.int64),
        occupied=occupied_rows(vectors[..., W], sample.grouping),
        shares=tuple(selected_share(decision, sample) for decision in decisions),
    )
    return conclude(design, sample.grouping.attributes, tally, training, seed, workers, sample.backend, where)


@dataclass(frozen=True)
class Tally:
    """What counting leaves of held-out rows: all that a comparison needs of them.

    Attributes
    ----------
    counted : Cells or Moments
        Of contributions: of rows, one block per stratum; or of clusters, one block for all strata.
    rows : int
    clusters : int or None
    selected : array of shape (strata, 2)
        Rows with a decision other than 0, by algorithm.
    sizes : array of shape (strata,)
        Rows.
    occupied : array of shape (utilities, 2, strata)
        Rows whose w is not zero, by algorithm.
    shares : tuple of two floats
        Share selected, of rows or of their weight, by algorithm.
    """

    counted: Cells | Moments
    rows: int
    clusters: int | None
    selected: IntArray
    sizes: IntArray
    occupied: IntArray
    shares: tuple[float, ...]


def contribute(design: Design, sample: Sample, decisions: tuple[FloatArray, FloatArray]) -> FloatArray:
    """What each row contributes, shape (rows, utilities, 2, 2)."""
    for decision, whose in zip(decisions, ("status quo", "candidate"), strict=True):
        check_decisions(decision, design.utilities, whose)
    return contributions(design.utilities, sample.rows, sample.outcomes, decisions, sample.weights)


def conclude(
    design: Design,
    attributes: Sequence[Attribute],
    tally: Tally,
    training: FloatArray | None,
    seed: np.random.SeedSequence,
    workers: int,
    backend: Any,
    where: str = "",
) -> Comparison:
    """What was counted becomes evidence, by draws from it; the other parameters are those of `evaluate`."""
    shape = (len(tally.sizes), len(design.utilities), 2, 2)
    counted = settle(tally.counted, most_cells(design.question.method))
    sums = counted.sums().reshape(shape)
    evidence = Evidence(
        attributes=tuple(attributes),
        measures=tuple(utility.measure(design.question.outcome) for utility in design.utilities),
        accuracy=design.accuracy,
        fairness=design.fairness,
        sums=sums,
        draws=np.empty((0, *shape)),
        training=sums[:, :, STATUS_QUO] if training is None else training,
        method="bootstrap" if isinstance(counted, Cells) else "delta",
    )
    _refuse_undefined_status_quo(evidence, where)
    _refuse_share_of_nonpositive(evidence, design.question)
    if isinstance(counted, Cells):
        draws = resample(counted, design.question.draws, seed, workers)
    else:
        draws = draw_normal(counted, design.question.draws, seed)
    evidence = replace(evidence, draws=draws.reshape(-1, *shape))
    result = Comparison(
        question=design.question,
        evidence=evidence,
        rows=tally.rows,
        clusters=tally.clusters,
        selected=tally.selected,
        sizes=tally.sizes,
        shares={name: {"test": share} for name, share in zip(ALGORITHMS, tally.shares, strict=True)},
        cautions=(),
        backend=backend,
    )
    cautions = component_cautions(evidence, result.assessment, _fewest_occupied(tally.occupied, attributes))
    return with_cautions(result, cautions)


def with_cautions(result: Comparison, cautions: Sequence[Caution]) -> Comparison:
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


def selected_rows(grouping: Grouping, decisions: Sequence[FloatArray]) -> IntArray:
    """Rows with a decision other than 0, shape (strata, algorithms)."""
    counts = [np.bincount(grouping.codes[d != 0], minlength=grouping.strata) for d in decisions]
    return np.stack(counts, axis=1).astype(np.int64)


def occupied_rows(normalizers: FloatArray, grouping: Grouping) -> IntArray:
    """How many rows count, (rows, utilities, 2) -> (utilities, 2, strata): a row counts where its w is not zero."""
    shape = normalizers.shape[1:]
    counts = [
        np.bincount(grouping.codes[normalizers[:, m, t] != 0], minlength=grouping.strata)
        for m in range(shape[0])
        for t in range(shape[1])
    ]
    return np.array(counts, dtype=np.int64).reshape(*shape, grouping.strata)


def _fewest_occupied(occupied: IntArray, attributes: Sequence[Attribute]) -> dict[str, tuple[int, int]]:
    """How many rows of each group count for either algorithm, in the utility where they are fewest."""
    out = {}
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            rows = occupied[:, :, attribute.member == g].sum(axis=2).min(axis=0)
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
