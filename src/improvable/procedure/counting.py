"""The third pass: both algorithms decide for the test rows of every block, and what they contribute is counted."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from improvable.algorithms.constraints import monotone_falls
from improvable.algorithms.cutoffs import ThresholdedScore
from improvable.algorithms.decisions import Algorithm, decide, is_own_code
from improvable.algorithms.rules.base import seen
from improvable.data.arrays import FloatArray
from improvable.data.engines import Engine
from improvable.data.engines.batches import run
from improvable.data.engines.memory import Memory
from improvable.data.frames import Rows
from improvable.data.sample import Reading, Sample
from improvable.errors import AlgorithmError
from improvable.inference.normal_limit import most_cells
from improvable.inference.tally import Tally, merge_tallies, tally_rows
from improvable.procedure.sampling import Order
from improvable.procedure.splitting import Part, Splitting


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
