"""The third pass: both algorithms decide for the test rows, what they contribute is counted, and that is tested."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.constraints import monotone_falls
from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.algorithms.rules.base import seen
from improvable.algorithms.thresholds import ThresholdedScore
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.engines.memory import Memory
from improvable.data.frame import Rows
from improvable.data.groups import Attribute
from improvable.data.sample import Reading, Sample
from improvable.errors import AlgorithmError, DataError
from improvable.inference.cells import STATUS_QUO, Cells
from improvable.inference.corrections import plain
from improvable.inference.diagnostics import changes, crossed_array, differing_rows, effective_rows
from improvable.inference.evidence import ALGORITHMS, Evidence, members
from improvable.inference.moments import Moments, most_cells
from improvable.inference.reliability import heavy_weights, reliability_cautions
from improvable.inference.statistics import utilities_of, with_formulas
from improvable.inference.tally import (
    Clusters,
    Tally,
    clusters_of,
    counted_of,
    drawable_of,
    evidence_without_draws,
    merge_tallies,
    tally_rows,
    with_draws,
)
from improvable.inference.test import assess
from improvable.procedure.cautions import component_cautions
from improvable.procedure.split import Order, Part, Splitting
from improvable.question.design import Design, Question
from improvable.results.comparison import Census, Comparison
from improvable.results.facts import CountFacts
from improvable.results.formatting import steady
from improvable.results.storage import few_enough

NOBODY = "no row of that group counts in it (nobody is selected)"
TOO_FEW = "Leave that group out, use a larger capacity, or bring more rows."


@dataclass(frozen=True)
class Contest:
    """The two algorithms of one part, complete.

    Attributes
    ----------
    part : Part
    status_quo : Algorithm
    candidate : Algorithm or None
        None where the status quo is compared with itself.
    name : str
        How messages call the candidate.
    steps : tuple of (str, float)
        Monotone features, and how far each is moved to see whether a decision falls.
    sight : tuple of str or None
        The columns that the candidate is shown; None for all.
    """

    part: Part
    status_quo: Algorithm
    candidate: Algorithm | None
    name: str = "candidate"
    steps: tuple[tuple[str, float], ...] = ()
    sight: tuple[str, ...] | None = None


Tallies: TypeAlias = tuple[Tally, ...]


@dataclass(frozen=True)
class Counting:
    """The work of the third pass: one tally per contest. Without a splitting, every row is a test row.

    Rows get their keys from `keyed` where they have none, for algorithms that draw among tied rows.
    """

    reading: Reading
    splitting: Splitting | None
    contests: tuple[Contest, ...]
    keyed: Splitting | None = None

    def __call__(self, rows: Rows) -> Tallies:
        sample = self.reading.sample(rows)
        if self.keyed is not None and sample.rows.keys is None:
            sample = replace(sample, rows=Rows(sample.rows.frame, self.keyed.keys(sample)))
        if self.splitting is None:
            return tuple(self._tally(sample, contest) for contest in self.contests)
        units = self.splitting.units(sample)
        tallies, order = [], Order(self.splitting, units)
        for contest in self.contests:
            tests = self.splitting.tests(order.places(contest.part), contest.part)
            tallies.append(self._tally(sample if tests.all() else sample.take(np.flatnonzero(tests)), contest))
        return tuple(tallies)

    def _tally(self, sample: Sample, contest: Contest) -> Tally:
        nobody: FloatArray = np.empty(0)
        if not len(sample):
            return tally_rows(self.reading.design, sample, (nobody, nobody))
        before = decide_alone(contest.status_quo, sample.rows, "status quo")
        if contest.candidate is None:
            return tally_rows(self.reading.design, sample, (before, before))
        shown = seen(sample.rows, contest.sight)
        after = decide_alone(contest.candidate, shown, contest.name)
        counted = tally_rows(self.reading.design, sample, (before, after))
        if not contest.steps:
            return counted
        return replace(counted, falls=int(monotone_falls(contest.candidate, shown, dict(contest.steps)).sum()))


@dataclass(frozen=True)
class MergeTallies:
    """Put the tallies of two batches together, contest by contest."""

    most_cells: float

    def __call__(self, one: Tallies, other: Tallies) -> Tallies:
        return tuple(merge_tallies(a, b, self.most_cells) for a, b in zip(one, other, strict=True))


def count_contests(
    engine: Engine,
    reading: Reading,
    splitting: Splitting | None,
    contests: Sequence[Contest],
    columns: Sequence[str],
    keyed: Splitting | None = None,
) -> Tallies:
    """Count all contests in one pass; where an algorithm draws among tied rows, with the keys that `keyed` makes."""
    drawing = any(draws_ties(one) for contest in contests for one in (contest.status_quo, contest.candidate))
    if not drawing:
        keyed = None
    elif keyed is not None and not isinstance(engine, Memory):
        columns = [*columns, *keyed.columns]
    work = Counting(reading, splitting, tuple(contests), keyed)
    return run(engine, work, columns, MergeTallies(most_counted(reading)))


def draws_ties(algorithm: Algorithm | None) -> bool:
    """Whether some decisions of an algorithm depend on the keys of rows."""
    return isinstance(algorithm, ThresholdedScore) and algorithm.draws_ties


def most_counted(reading: Reading) -> float:
    """How many cells are counted before moments take their place; clusters are always counted."""
    return np.inf if reading.clustered else most_cells(reading.design.question.method)


def decide_alone(algorithm: Algorithm, rows: Rows, whose: str) -> FloatArray:
    """Decisions; a function that decides for a row by what other rows there are is refused, since batches differ."""
    decisions = decide(algorithm, rows, whose)
    if is_own_code(algorithm) and len(rows) > 1:
        some = np.arange(0, len(rows), 2)
        if (decisions[some] != decide(algorithm, rows.take(some), whose)).any():
            raise AlgorithmError(
                f"the {whose} decides otherwise for the same rows when others are missing.",
                "It must decide for each row by itself; learn quantiles and means from training rows.",
            )
    return decisions


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

    `clusters` are the held-out ones, where rows are clustered. `training` has the status quo's sums on training rows,
    (strata, utilities, 2); None takes them from these rows. `where` opens error messages: "repetition 3: ".
    """
    counted = counted_of(design, tally, clusters)
    evidence = evidence_without_draws(design, attributes, counted, training)
    _refuse_undefined_status_quo(evidence, where)
    _refuse_share_of_nonpositive(evidence, design.question)
    claim, draws = design.question.claim, design.question.draws
    drawable, p_plain = drawable_of(evidence, counted, claim), None
    if drawable is not None and drawable.linear:
        assert not isinstance(counted.strata, Moments)
        uncorrected = plain(counted.strata, counted.clusters is not None)
        p_plain = assess(with_draws(evidence, counted, uncorrected, draws, seed, workers), claim).p_value
    evidence = with_draws(evidence, counted, drawable, draws, seed, workers)
    rows = tally.by_row()
    differing = differing_rows(evidence, rows, clusters_of(tally)) if isinstance(rows, Cells) else {}
    acted: Any = () if drawable is None else drawable.in_words(evidence)
    counts: CountFacts = {
        "rows": tally.rows,
        "clusters": None if clusters is None else len(clusters),
        "selected": {
            group: {name: int(tally.selected[mine, t].sum()) for t, name in enumerate(ALGORITHMS)}  # type: ignore[misc]
            for group, mine in members(attributes)
        },
        "share_selected": {name: {"test": share} for name, share in zip(ALGORITHMS, tally.shares(), strict=True)},
        "share_selected_by_group": {group: _pair(*both) for group, both in tally.rates(attributes).items()},
        "effective_rows": {
            group: _pair(*map(steady, both)) for group, both in effective_rows(attributes, rows).items()
        },
        "differing_rows": {
            group: {**_pair(*one.sides), "rows": one.rows, "effective": steady(one.effective)}  # type: ignore[typeddict-item]
            for group, one in differing.items()
        },
        "corrections": [*acted],
        "p_plain": p_plain,
        "changes": {
            group: {kind: {"share": share, "mean_outcome": mean} for kind, (share, mean) in kinds.items()}
            for group, kinds in changes(crossed_array(tally.crossed), attributes).items()
        },
    }
    result = Comparison(
        question=design.question,
        evidence=evidence,
        counts=counts,
        census=Census(tally.sizes, tally.weights()[:, 0], tally.selected[:, STATUS_QUO]),
        cautions=(),
        backend=backend,
        counted=counted if few_enough(counted) else None,
    )
    cautions = component_cautions(evidence, result.assessment, _fewest_occupied(tally.occupied, attributes))
    if drawable is not None:
        cautions += reliability_cautions(evidence, drawable, differing)
    if isinstance(rows, Cells):
        cautions += heavy_weights(evidence, rows)
    return result.with_cautions(cautions)


def _pair(before: float, after: float) -> dict[str, float]:
    return dict(zip(ALGORITHMS, (before, after), strict=True))


def refuse_undefined_training(design: Design, sums: FloatArray, attributes: Sequence[Attribute], where: str) -> None:
    """Refuse training rows on which the status quo has no utility for a group."""
    for group, mine in members(attributes):
        values = with_formulas(utilities_of(sums[mine].sum(axis=0)), design.measures, axis=-1)
        if np.isnan(values).any():
            label = design.measured[int(np.flatnonzero(np.isnan(values))[0])].label
            raise DataError(
                f"{where}the status quo has no '{label}' for group '{group}' among the training rows.", TOO_FEW
            )


def _fewest_occupied(occupied: IntArray, attributes: Sequence[Attribute]) -> dict[str, tuple[int, int]]:
    """How many rows of each group count for either algorithm, in the utility where they are fewest."""
    out = {}
    for group, mine in members(attributes):
        rows = occupied[:, :, mine].sum(axis=2).min(axis=0)
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
