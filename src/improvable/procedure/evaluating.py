"""What was counted on held-out rows becomes a comparison (Section 3.2)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from improvable.data.arrays import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.errors import DataError
from improvable.inference.assessment import assess
from improvable.inference.cells import STATUS_QUO, Cells
from improvable.inference.crossing import crossed_array
from improvable.inference.drawing import corrections_of, plain
from improvable.inference.evidence import ALGORITHMS, Evidence
from improvable.inference.normal_limit import Moments
from improvable.inference.reliability import differing_rows, effective_rows, heavy_weights, reliability_cautions
from improvable.inference.statistics import utilities_of, with_formulas
from improvable.inference.tally import (
    Clusters,
    Counted,
    Tally,
    clusters_of,
    counted_of,
    drawable_of,
    evidence_without_draws,
    with_draws,
)
from improvable.procedure.cautions import component_cautions
from improvable.question.claim import Claim
from improvable.question.design import Design, Question
from improvable.results.comparison import Comparison
from improvable.results.numbers import steady
from improvable.results.storage import few_enough

NOBODY = "no row of that group counts in it (nobody is selected)"
TOO_FEW = "Leave that group out, use a larger capacity, or bring more rows."


def conclude(
    design: Design,
    attributes: Sequence[Attribute],
    tally: Tally,
    clusters: Clusters | None,
    training: FloatArray | None,
    seed: np.random.SeedSequence,
    workers: int,
    backend: Any,
    where: str = "",
) -> Comparison:
    """Test what was counted.

    Parameters
    ----------
    clusters : Clusters or None
        Held-out clusters, where rows are clustered.
    training : array of shape (strata, utilities, 2), optional
        The status quo's sums on the training rows; None takes them from these rows.
    where : str
        Opens error messages: "repetition 3: ".
    """
    counted = counted_of(design, tally, clusters)
    evidence = evidence_without_draws(design, attributes, counted, training)
    _refuse_undefined_status_quo(evidence, where)
    _refuse_share_of_nonpositive(evidence, design.question)
    claim, draws = design.question.claim, design.question.draws
    drawable = drawable_of(evidence, counted, claim)
    evidence = with_draws(evidence, counted, drawable, draws, seed, workers)
    rows = tally.by_row()
    differing = differing_rows(evidence, rows, clusters_of(tally)) if isinstance(rows, Cells) else {}
    result = Comparison(
        question=design.question,
        evidence=evidence,
        rows=tally.rows,
        clusters=None if clusters is None else len(clusters),
        selected=tally.selected,
        sizes=tally.sizes,
        weight=tally.weights()[:, 0],
        shares={name: {"test": share} for name, share in zip(ALGORITHMS, tally.shares(), strict=True)},
        group_shares={
            group: dict(zip(ALGORITHMS, pair, strict=True)) for group, pair in tally.rates(attributes).items()
        },
        effective={
            group: dict(zip(ALGORITHMS, map(steady, pair), strict=True))
            for group, pair in effective_rows(attributes, rows).items()
        },
        differing={
            group: {
                **dict(zip(ALGORITHMS, one.sides, strict=True)),
                "rows": one.rows,
                "effective": steady(one.effective),
            }
            for group, one in differing.items()
        },
        corrections=() if drawable is None else corrections_of(drawable, evidence),
        p_plain=None
        if drawable is None or not drawable.linear
        else _plain_p(evidence, counted, claim, draws, seed, workers),
        crossed=crossed_array(tally.crossed),
        cautions=(),
        backend=backend,
        counted=counted if few_enough(counted) else None,
    )
    occupied = _fewest_occupied(tally.occupied, attributes)
    cautions = component_cautions(result.evidence, result.assessment, occupied)
    if drawable is not None:
        cautions += reliability_cautions(result.evidence, drawable, differing)
    if isinstance(rows, Cells):
        cautions += heavy_weights(result.evidence, rows)
    return result.with_cautions(cautions)


def _plain_p(
    evidence: Evidence, counted: Counted, claim: Claim, draws: int, seed: np.random.SeedSequence, workers: int
) -> float:
    """The p-value that draws without any correction give."""
    assert not isinstance(counted.strata, Moments)
    uncorrected = plain(counted.strata, counted.clusters is not None)
    return assess(with_draws(evidence, counted, uncorrected, draws, seed, workers), claim).p_value


def refuse_undefined_training(design: Design, sums: FloatArray, attributes: Sequence[Attribute], where: str) -> None:
    """Refuse training rows on which the status quo has no utility for a group."""
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            pairs = utilities_of(sums[attribute.member == g].sum(axis=0))
            values = with_formulas(pairs, design.measures, axis=-1)
            if np.isnan(values).any():
                label = design.measured[int(np.flatnonzero(np.isnan(values))[0])].label
                raise DataError(
                    f"{where}the status quo has no '{label}' for group '{group}' among the training rows.", TOO_FEW
                )


def _fewest_occupied(occupied: IntArray, attributes: Sequence[Attribute]) -> dict[str, tuple[int, int]]:
    """How many rows of each group count for either algorithm, in the utility where they are fewest."""
    out = {}
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            rows = occupied[:, :, attribute.member == g].sum(axis=2).min(axis=0)
            out[group] = (int(rows[0]), int(rows[1]))
    return out


def _refuse_undefined_status_quo(evidence: Evidence, where: str) -> None:
    for values, attribute in zip(evidence.values, evidence.attributes, strict=True):
        for g, m in zip(*np.nonzero(np.isnan(values[..., STATUS_QUO])), strict=True):
            why = "its formula divides by zero" if evidence.measures[m].formula else NOBODY
            label, group = evidence.measures[m].label, attribute.levels[g]
            raise DataError(f"{where}the status quo has no '{label}' for group '{group}': {why}.", TOO_FEW)


def _refuse_share_of_nonpositive(evidence: Evidence, question: Question) -> None:
    if question.claim.form == "difference":
        return
    for values, attribute in zip(evidence.values, evidence.attributes, strict=True):
        for g, group in enumerate(attribute.levels):
            for m in evidence.accuracy:
                label = evidence.measures[m].label
                delta = 0.0 if question.claim.overall is not None else question.claim.delta_of(group, label)
                if values[g, m, STATUS_QUO] <= 0 and delta != 0:
                    raise DataError(
                        f"the status quo's '{label}' for group '{group}' is "
                        f"{values[g, m, STATUS_QUO]:g}, and a share of it means nothing.",
                        "Ask for an amount instead: `form='difference'`.",
                    )
