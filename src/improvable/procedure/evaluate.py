"""The third pass: both algorithms decide for the test rows, what they contribute is
counted, and that is tested.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.algorithms.constraints import monotone_falls
from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.algorithms.rules.base import seen
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.engines.memory import Memory
from improvable.data.frame import Rows
from improvable.data.groups import Attribute
from improvable.data.probabilities import odds_factor
from improvable.data.sample import Reading, Sample
from improvable.errors import AlgorithmError, DataError
from improvable.inference.cells import STATUS_QUO, Cells
from improvable.inference.corrections import CLUSTERS, WEIGHTS, plain
from improvable.inference.diagnostics import (
    count_changes,
    crossed_array,
    differing_rows,
    effective_rows,
)
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
from improvable.inference.tipping import tipping_curve
from improvable.procedure.cautions import component_cautions
from improvable.procedure.split import Part, Splitting
from improvable.procedure.unknown import OutcomeModel, impute
from improvable.question.claim import Claim
from improvable.question.design import Design
from improvable.results.comparison import Census, Comparison
from improvable.results.facts import CountFacts
from improvable.results.formatting import steady
from improvable.results.storage import few_enough

Tallies = tuple[Tally, ...]  # of several contests
NOBODY = "no row of that group counts in it (nobody is selected)"
TOO_FEW = "Leave that group out, use a larger capacity, or provide more rows."


@dataclass(frozen=True)
class Contest:
    """The two algorithms of one part, complete."""

    part: Part
    status_quo: Algorithm
    candidate: Algorithm | None  # None if the status quo is compared with itself
    name: str = "candidate"  # what messages call the candidate
    # how far each monotone feature is moved to see if a decision falls
    steps: tuple[tuple[str, float], ...] = ()
    # the columns that the candidate is shown; None for all
    sight: tuple[str, ...] | None = None
    outcomes: OutcomeModel | None = None  # what unknown outcomes are counted as


@dataclass(frozen=True)
class Counting:
    """The work of the third pass: one tally per contest. Without a splitting, every row
    is a test row.

    Rows that have no keys get them from `keyed`, for algorithms that choose among tied
    rows at random.
    """

    reading: Reading
    splitting: Splitting | None
    contests: tuple[Contest, ...]
    keyed: Splitting | None = None

    def __call__(self, rows: Rows) -> Tallies:
        sample = self.reading.sample(rows)
        if self.keyed is not None and sample.rows.keys is None:
            sample = replace(
                sample, rows=Rows(sample.rows.frame, self.keyed.keys(sample))
            )
        if self.splitting is None:
            return tuple(self._tally(sample, contest) for contest in self.contests)
        tallies, places_in = [], self.splitting.order(self.splitting.units(sample))
        for contest in self.contests:
            tests = self.splitting.tests(
                places_in(contest.part.repetition), contest.part
            )
            tallies.append(
                self._tally(
                    sample if tests.all() else sample.take(np.flatnonzero(tests)),
                    contest,
                )
            )
        return tuple(tallies)

    def _tally(self, sample: Sample, contest: Contest) -> Tally:
        if not len(sample):
            return tally_rows(self.reading.design, sample, (np.empty(0), np.empty(0)))
        before = decide_alone(contest.status_quo, sample.rows, "status quo")
        imputed = impute(self.reading, sample, before, contest.outcomes)
        if contest.candidate is None:
            return tally_rows(self.reading.design, sample, (before, before), imputed)
        shown = seen(sample.rows, contest.sight)
        after = decide_alone(contest.candidate, shown, contest.name)
        falls = (
            int(monotone_falls(contest.candidate, shown, dict(contest.steps)).sum())
            if contest.steps
            else 0
        )
        return replace(
            tally_rows(self.reading.design, sample, (before, after), imputed),
            falls=falls,
        )


def _merge(one: Tallies, other: Tallies, most: float) -> Tallies:
    return tuple(merge_tallies(a, b, most) for a, b in zip(one, other, strict=True))


def count_contests(
    engine: Engine,
    reading: Reading,
    splitting: Splitting | None,
    contests: Sequence[Contest],
    columns: Sequence[str],
    keyed: Splitting | None = None,
) -> Tallies:
    """Count all contests in one pass; `keyed` makes the keys by which an algorithm
    chooses among tied rows.
    """
    drawing = any(
        draws_ties(one)
        for contest in contests
        for one in (contest.status_quo, contest.candidate)
    )
    if not drawing:
        keyed = None
    elif keyed is not None and not isinstance(engine, Memory):
        columns = [*columns, *keyed.columns]
    work = Counting(reading, splitting, tuple(contests), keyed)
    return run(engine, work, columns, partial(_merge, most=max_cells(reading)))


def draws_ties(algorithm: Algorithm | None) -> bool:
    return bool(getattr(algorithm, "draws_ties", False))


def max_cells(reading: Reading) -> float:
    """Beyond this many cells moments take their place; clusters are always counted."""
    return np.inf if reading.clustered else most_cells(reading.design.question.method)


def decide_alone(algorithm: Algorithm, rows: Rows, whose: str) -> FloatArray:
    """Decide; refuse a function whose decision about a row depends on other rows, since
    batches differ.
    """
    decisions = decide(algorithm, rows, whose)
    if is_own_code(algorithm) and len(rows) > 1:
        some = np.arange(0, len(rows), 2)
        if (decisions[some] != decide(algorithm, rows.take(some), whose)).any():
            hint = (
                "It must decide for each row by itself; learn quantiles and means from "
                "training rows."
            )
            raise AlgorithmError(
                (
                    f"the {whose} decides otherwise for the same rows when others are "
                    "missing."
                ),
                hint,
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

    `clusters` are the held-out ones, if rows are clustered. `training` has the status
    quo's sums on training rows, (strata, utilities, 2); None takes them from these
    rows. `where` opens error messages: "repetition 3: ".
    """
    counted = counted_of(design, tally, clusters)
    evidence = evidence_without_draws(design, attributes, counted, training)
    claim, draws = design.question.claim, design.question.draws
    _refuse_meaningless(evidence, claim, where)
    drawable, p_plain = drawable_of(evidence, counted, claim), None
    if drawable is not None and drawable.linear:
        assert not isinstance(counted.strata, Moments)
        uncorrected = plain(counted.strata, counted.clusters is not None)
        p_plain = assess(
            with_draws(evidence, counted, uncorrected, draws, seed, workers), claim
        ).p_value
    evidence = with_draws(evidence, counted, drawable, draws, seed, workers)
    rows = tally.by_row()
    differing = (
        differing_rows(evidence, rows, clusters_of(tally))
        if isinstance(rows, Cells)
        else {}
    )
    if tally.spread:
        differing = {group: one.worth() for group, one in differing.items()}
    acted: Any = () if drawable is None else drawable.in_words(evidence)
    # rows that are in several groups are drawn as clusters are
    if tally.spread and clusters is None:
        acted = [
            {**one, "why": WEIGHTS if one["why"] == CLUSTERS else one["why"]}
            for one in acted
        ]
    counts: CountFacts = {
        "rows": tally.rows,
        "clusters": None if clusters is None else len(clusters),
        "selected": {
            group: _pair(*tally.people(tally.selected[mine].sum(axis=0)).tolist())  # type: ignore[misc]
            for group, mine in members(attributes)
        },
        "share_selected": {
            name: {"test": share}
            for name, share in zip(ALGORITHMS, tally.shares(), strict=True)
        },
        "share_selected_by_group": {
            group: _pair(*both) for group, both in tally.rates(attributes).items()
        },
        "effective_rows": {
            one: _pair(*map(steady, both))
            for one, both in effective_rows(attributes, rows).items()
        },
        "differing_rows": {
            group: {
                **_pair(*one.sides),  # type: ignore[typeddict-item]
                "rows": one.rows,
                "effective": steady(one.effective),
            }
            for group, one in differing.items()
        },
        "tipping": [
            {"gamma": gamma, "p_value": p}
            for gamma, p in tipping_curve(
                evidence,
                claim,
                counted,
                design.question.assume if tally.spread else None,
            )
        ],
        "group_odds": steady(odds_factor(*tally.weights().T[:2]))
        if tally.spread
        else None,
        "corrections": [*acted],
        "p_plain": p_plain,
        "binary": tally.binary,
        "changes": {
            group: {
                kind: {"share": share, "mean_outcome": mean}
                for kind, (share, mean) in kinds.items()
            }
            for group, kinds in count_changes(
                crossed_array(tally.crossed), attributes
            ).items()
        },
    }
    result = Comparison(
        question=design.question,
        evidence=evidence,
        counts=counts,
        cautions=(),
        backend=backend,
        census=Census(
            tally.people(tally.sizes),
            tally.weights()[:, 0],
            tally.people(tally.selected[:, STATUS_QUO]),
        ),
        counted=counted if few_enough(counted) else None,
    )
    # How many rows of each group count for either algorithm, in the utility where they
    # are fewest.
    occupied = {
        group: tally.people(tally.occupied[:, :, mine].sum(axis=2).min(axis=0))
        for group, mine in members(attributes)
    }
    cautions = component_cautions(evidence, result.assessment, occupied)
    if drawable is not None:
        cautions += reliability_cautions(evidence, drawable, differing)
    if isinstance(rows, Cells):
        cautions += heavy_weights(evidence, rows)
    return result.with_cautions(cautions)


def _pair(before: float, after: float) -> dict[str, float]:
    return dict(zip(ALGORITHMS, (before, after), strict=True))


def refuse_undefined_training(
    design: Design, sums: FloatArray, attributes: Sequence[Attribute], where: str
) -> None:
    """Refuse training rows on which the status quo has no utility for a group."""
    for group, mine in members(attributes):
        values = with_formulas(
            utilities_of(sums[mine].sum(axis=0)), design.measures, axis=-1
        )
        if np.isnan(values).any():
            label = design.measured[int(np.flatnonzero(np.isnan(values))[0])].label
            without = f"{where}the status quo has no '{label}' for group '{group}'"
            raise DataError(f"{without} among the training rows.", TOO_FEW)


def _refuse_meaningless(evidence: Evidence, claim: Claim, where: str) -> None:
    """Refuse a status quo without a utility for some group, and a share of a utility
    that is not positive.
    """
    for values, attribute in zip(evidence.values, evidence.attributes, strict=True):
        for g, m in zip(*np.nonzero(np.isnan(values[..., STATUS_QUO])), strict=True):
            why = (
                "its formula divides by zero"
                if evidence.measures[m].formula
                else NOBODY
            )
            label, group = evidence.measures[m].label, attribute.levels[g]
            raise DataError(
                f"{where}the status quo has no '{label}' for group '{group}': {why}.",
                TOO_FEW,
            )
        for g, group in enumerate(attribute.levels if claim.form == "ratio" else ()):
            for m in evidence.accuracy:
                label, value = evidence.measures[m].label, values[g, m, STATUS_QUO]
                delta = 0.0 if claim.overall is not None else claim.delta_of(group)
                if value <= 0 and delta != 0:
                    raise DataError(
                        (
                            f"the status quo's '{label}' for group '{group}' is "
                            f"{value:g}, so a share of it means nothing."
                        ),
                        "Ask for an amount instead: `form='difference'`.",
                    )
