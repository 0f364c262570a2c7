"""One walk over the components of a claim: whose accuracy must rise, and between which
groups the gap must shrink.

The test, the critical deltas, the margins and the status quo's disparities all take
this walk, so that they can never speak of different conditions.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.inference import statistics
from improvable.inference.cells import CANDIDATE, STATUS_QUO, Cells
from improvable.inference.evidence import EVERYONE, Evidence, everyone_in
from improvable.inference.reference_pair import SeveralReferences, contact_set
from improvable.question.claim import Claim, Form

Statistic = tuple[FloatArray, FloatArray]  # on the sample, and on the draws, shape (Q,)


@dataclass(frozen=True)
class Contrast:
    """A utility or a gap under the status quo and under the candidate: shapes (2,), and
    (Q, 2) on the draws.
    """

    values: FloatArray
    drawn: FloatArray

    def statistic(
        self, function: Callable[[FloatArray, FloatArray], FloatArray]
    ) -> Statistic:
        """A function of the status quo's value and the candidate's."""
        sample, draws = (
            function(x[..., STATUS_QUO], x[..., CANDIDATE])
            for x in (self.values, self.drawn)
        )
        return sample, draws


@dataclass(frozen=True)
class Gain:
    """An accuracy component: the utility of one group, or of everyone."""

    measure: int  # which utility
    label: str  # its name
    group: str
    contrast: Contrast
    better: int  # -1 where a lower value is more accurate; 1 otherwise
    attribute: Attribute | None = None  # of which `group` is a level; None for everyone

    def delta(self, claim: Claim) -> float:
        return claim.delta_of(self.group)

    def statistic(self, claim: Claim) -> Statistic:
        """Large values speak for improvement."""
        of_size = partial(
            statistics.accuracy_statistic,
            delta=self.delta(claim),
            form=claim.form,
            better=self.better,
        )
        return self.contrast.statistic(of_size)


@dataclass(frozen=True)
class GroupGap:
    """A fairness component: the gap of one utility between the groups of one
    attribute.
    """

    measure: int  # which utility
    label: str  # its name
    attribute: Attribute
    protected: int | None  # the group in whose favor fairness is one-sided
    # (groups, 2), turned so that a protected group is worse off with a lower value
    values: FloatArray
    drawn: FloatArray  # (Q, groups, 2)
    # The pair (higher, lower) whose gap under the status quo is to be beaten; if tested
    # rows chose it, all it may be.
    references: tuple[tuple[int, int], ...]
    # what values were multiplied by: -1 where a protected group is worse off with a
    # higher one
    direction: float = 1.0
    # 0, 1, -1: whether the gap is a share of the higher value; see `gap_between`
    relative: int = 0
    # where outcomes are unknown, `values` and `drawn` are the lowest that utilities can
    # be, and these the highest
    highest: tuple[FloatArray, FloatArray] | None = None

    @property
    def reference(self) -> tuple[int, int]:
        return self.references[0]

    @property
    def reference_names(self) -> tuple[str, str]:
        """The group whose own value is the higher one under the status quo, and the
        other.
        """
        high, low = (self.attribute.levels[g] for g in self.reference)
        return (high, low) if self.direction > 0 else (low, high)

    @property
    def scale(self) -> float:
        """Size of the utilities, or of a gap that is a share, for ties."""
        return 1.0 if self.relative else float(np.abs(self.values).max())

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The ordered pairs of groups between which the candidate's gap must be
        small.
        """
        return statistics.ordered_pairs(len(self.values), self.protected)

    def delta(self, claim: Claim) -> float:
        return claim.delta_fairness

    def between(
        self, pair: tuple[int, int], algorithm: int
    ) -> tuple[float, FloatArray]:
        """An algorithm's gap between two groups, at its widest, on the sample and on
        the draws.
        """
        low = self.values, self.drawn
        high = low if self.highest is None or pair[0] == pair[1] else self.highest
        values, drawn = (
            statistics.gap_between(
                above[..., pair[0], algorithm],
                below[..., pair[1], algorithm],
                self.relative,
            )
            for above, below in zip(high, low, strict=True)
        )
        return float(values), drawn

    def signed(self) -> Iterator[Contrast]:
        """For every ordered pair of groups, the candidate's gap beside the status quo's
        reference gap.
        """
        before, drawn_before = self.between(self.reference, STATUS_QUO)
        for pair in self.pairs:
            after, drawn_after = self.between(pair, CANDIDATE)
            yield Contrast(
                np.array([before, after]), np.stack([drawn_before, drawn_after], axis=1)
            )

    def tested(self) -> Iterator[Contrast | SeveralReferences]:
        """What the test is made of: `signed`, with all references that there may have
        been.
        """
        if len(self.references) == 1:
            yield from self.signed()
            return
        every = [self.between(pair, STATUS_QUO) for pair in self.references]
        before, drawn_before = (
            np.array([gap for gap, _ in every]),
            np.stack([drawn for _, drawn in every], axis=1),
        )
        for pair in self.pairs:
            yield SeveralReferences(
                before, drawn_before, *self.between(pair, CANDIDATE)
            )

    def folded(self) -> Contrast:
        """The widest gap of either algorithm, the paper's absolute value."""
        found = [self.values, self.drawn]
        for part, low in enumerate(found):
            high = (
                None
                if self.highest is None
                else np.moveaxis(self.highest[part], -2, -1)
            )
            found[part] = statistics.unfairness(
                np.moveaxis(low, -2, -1), self.protected, self.relative, high
            )
        return Contrast(*found)

    def slopes(self, pair: tuple[int, int], algorithm: int) -> tuple[float, float]:
        """By how much an algorithm's gap between two groups moves with the value of
        either.
        """
        high = self.values if self.highest is None else self.highest[0]
        above, below = high[pair[0], algorithm], self.values[pair[1], algorithm]
        return statistics.gap_slopes(float(above), float(below), self.relative)


def gap_statistics(gap: Contrast, delta: float, form: Form) -> Statistic:
    """The statistic of one condition on the gap; small values speak for improvement."""
    return gap.statistic(partial(statistics.gap_statistic, delta=delta, form=form))


def gains(evidence: Evidence, claim: Claim) -> Iterator[Gain]:
    """The accuracy components: by utility, every group of every attribute, or everyone
    at once.
    """
    for measure in evidence.accuracy:
        label, better = evidence.measures[measure].label, evidence.better(measure)
        if claim.overall is not None:
            yield Gain(
                measure,
                label,
                EVERYONE,
                Contrast(*evidence.overall(claim.overall, measure)),
                better,
            )
            continue
        for a, attribute in enumerate(evidence.attributes):
            for g, group in enumerate(attribute.levels):
                contrast = Contrast(
                    evidence.values[a][g, measure], evidence.drawn[a][:, g, measure]
                )
                yield Gain(measure, label, group, contrast, better, attribute)


def gaps(evidence: Evidence, claim: Claim) -> Iterator[GroupGap]:
    """The fairness components: by utility, every attribute."""
    for measure in evidence.fairness:
        for a, attribute in enumerate(evidence.attributes):
            protected = attribute.place_of(claim.protected)
            direction, relative = (
                evidence.direction(measure, protected),
                evidence.relative(measure, protected),
            )
            (values, drawn), highest = evidence.turned(a, measure, direction)
            references: tuple[tuple[int, int], ...] = (
                evidence.reference(a, measure, protected),
            )
            if evidence.chooses_here:
                before = values[:, STATUS_QUO], drawn[..., STATUS_QUO]
                references = contact_set(
                    *before, references[0], evidence.units, protected, relative
                )
            label = evidence.measures[measure].label
            which = measure, label, attribute, protected
            yield GroupGap(
                *which, values, drawn, references, direction, relative, highest
            )


def asked(evidence: Evidence, claim: Claim) -> Iterator[Gain | GroupGap]:
    """The components that a claim asks for: accuracy, then fairness."""
    if claim.asks("accuracy"):
        yield from gains(evidence, claim)
    if claim.asks("fairness"):
        yield from gaps(evidence, claim)


@dataclass(frozen=True)
class Condition:
    """A condition of a claim as a sum of utilities times coefficients; large values
    speak for improvement.
    """

    kind: str  # "accuracy" or "fairness"
    name: str  # for sentences: "the accuracy of 'women'"
    measure: int
    member: IntArray  # the level of each stratum of groups, (S,); -1 where none
    # of the utility of each level under either algorithm, (levels, 2)
    coefficients: FloatArray
    margin: float  # the statistic
    allows_loss: bool = False  # in the accuracy of one group
    group: str = ""  # whose accuracy it is, or the attribute whose gap it is
    amount: float = 0.0  # what the sum must exceed, of a claim in amounts

    def levels(self, cells: Cells) -> IntArray:
        """The levels that units contribute to, (cells, 1) of rows and (1, S) of
        clusters; -1 for none.
        """
        return (
            self.member[cells.block][:, None]
            if cells.blocks == len(self.member)
            else self.member[None]
        )


def conditions(evidence: Evidence, claim: Claim) -> Iterator[Condition]:
    """Every condition of a claim: accuracy by group, and the candidate's gap between
    each pair of groups.
    """
    for part in asked(evidence, claim):
        delta, sign = part.delta(claim), part.better if isinstance(part, Gain) else -1
        share, amount = (
            (1 + sign * delta, 0.0) if claim.form == "ratio" else (1.0, delta)
        )
        if isinstance(part, Gain):
            name, sides = (
                f"the accuracy of '{part.group}'",
                sign * np.array([-share, 1.0]),
            )
            if part.attribute is not None:
                member, weights = (
                    part.attribute.member,
                    np.array(part.attribute.levels) == part.group,
                )
            elif isinstance(claim.overall, str) or claim.overall is None:
                member, weights = (
                    np.where(everyone_in(evidence.attributes), 0, -1),
                    np.ones(1),
                )
            else:
                a, weights = evidence.shares(claim.overall)
                member = evidence.attributes[a].member
            margin, loss = (
                float(part.contrast.values @ sides) - amount,
                part.attribute is not None and delta < 0,
            )
            sides = weights[:, None] * sides
            yield Condition(
                "accuracy",
                name,
                part.measure,
                member,
                sides,
                margin,
                loss,
                part.group,
                amount,
            )
            continue
        name, member = f"the gap by '{part.attribute.name}'", part.attribute.member
        for pair, one in zip(part.pairs, part.signed(), strict=True):
            slopes = np.zeros(part.values.shape)
            slopes[list(part.reference), STATUS_QUO] = share * np.array(
                part.slopes(part.reference, STATUS_QUO)
            )
            np.subtract.at(
                slopes[:, CANDIDATE], list(pair), part.slopes(pair, CANDIDATE)
            )
            margin = (
                share * float(one.values[STATUS_QUO])
                - amount
                - float(one.values[CANDIDATE])
            )
            slopes *= part.direction
            yield Condition(
                "fairness",
                name,
                part.measure,
                member,
                slopes,
                margin,
                False,
                part.attribute.name,
                amount,
            )
