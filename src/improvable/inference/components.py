"""One walk over the components of a claim: whose accuracy must rise, and between which groups the gap must shrink.

The test, the critical deltas, the margins and the status quo's disparities all take this walk, so that they can never
speak of different conditions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.data.groups import Attribute
from improvable.inference.cells import CANDIDATE, STATUS_QUO
from improvable.inference.evidence import EVERYONE, Evidence
from improvable.inference.reference_pair import SeveralReferences, contact_set
from improvable.inference.statistics import gap_between, gap_slopes, ordered_pairs, unfairness
from improvable.question.claim import Claim


@dataclass(frozen=True)
class Contrast:
    """A number under the status quo and under the candidate: a utility, or a gap.

    Attributes
    ----------
    values : array of shape (2,)
        On the sample.
    drawn : array of shape (Q, 2)
        On the draws.
    """

    values: FloatArray
    drawn: FloatArray


@dataclass(frozen=True)
class Gain:
    """An accuracy component: the utility of one group, or of everyone.

    Attributes
    ----------
    measure : int
        Which utility.
    group : str
    contrast : Contrast
    better : int
        -1 where a lower value is more accurate; 1 otherwise.
    attribute : Attribute or None
        Of which `group` is a level; None for everyone.
    """

    measure: int
    group: str
    contrast: Contrast
    better: int
    attribute: Attribute | None = None


@dataclass(frozen=True)
class GroupGap:
    """A fairness component: the gap of one utility between the groups of one attribute.

    Values are turned so that a protected group is worse off with a lower value.

    Attributes
    ----------
    measure : int
        Which utility.
    attribute : Attribute
    protected : int or None
        The group in whose favor fairness is one-sided.
    values : array of shape (groups, 2)
    drawn : array of shape (Q, groups, 2)
    references : tuple of (int, int)
        The pair of groups whose gap under the status quo is to be beaten: higher, lower. Where it was chosen on the
        rows that are tested, all pairs follow that it may have been.
    relative : {0, 1, -1}
        Whether the gap is a share of the higher value; see `gap_between`.
    """

    measure: int
    attribute: Attribute
    protected: int | None
    values: FloatArray
    drawn: FloatArray
    references: tuple[tuple[int, int], ...]
    relative: int = 0

    @property
    def reference(self) -> tuple[int, int]:
        return self.references[0]

    @property
    def scale(self) -> float:
        """Size of the utilities, or of a gap that is a share, for ties."""
        return 1.0 if self.relative else float(np.abs(self.values).max())

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The ordered pairs of groups between which the candidate's gap must be small."""
        return ordered_pairs(len(self.values), self.protected)

    def before(self) -> tuple[float, FloatArray]:
        """The status quo's gap between the reference pair, on the sample and on the draws."""
        r, s = self.reference
        values, drawn = self.values[:, STATUS_QUO], self.drawn[..., STATUS_QUO]
        return float(self._gap(values[r], values[s])), self._gap(drawn[:, r], drawn[:, s])

    def signed(self) -> Iterator[Contrast]:
        """For every ordered pair of groups, the candidate's gap beside the status quo's reference gap."""
        before, drawn_before = self.before()
        values, drawn = self.values[:, CANDIDATE], self.drawn[..., CANDIDATE]
        for g, h in self.pairs:
            yield Contrast(
                np.array([before, self._gap(values[g], values[h])]),
                np.stack([drawn_before, self._gap(drawn[:, g], drawn[:, h])], axis=1),
            )

    def tested(self) -> Iterator[Contrast | SeveralReferences]:
        """What the test is made of: `signed`, with all references that there may have been."""
        if len(self.references) == 1:
            yield from self.signed()
            return
        high, low = ([pair[side] for pair in self.references] for side in (0, 1))
        values, drawn = self.values[:, STATUS_QUO], self.drawn[..., STATUS_QUO]
        before, drawn_before = self._gap(values[high], values[low]), self._gap(drawn[:, high], drawn[:, low])
        for one in self.signed():
            yield SeveralReferences(before, drawn_before, float(one.values[CANDIDATE]), one.drawn[:, CANDIDATE])

    def folded(self) -> Contrast:
        """The widest gap of either algorithm, the paper's absolute value."""
        values, drawn = (
            unfairness(np.moveaxis(x, -2, -1), self.protected, self.relative) for x in (self.values, self.drawn)
        )
        return Contrast(values, drawn)

    def slopes(self, pair: tuple[int, int], algorithm: int) -> tuple[float, float]:
        """By how much an algorithm's gap between two groups moves with the value of either."""
        above, below = (float(self.values[g, algorithm]) for g in pair)
        return gap_slopes(above, below, self.relative)

    def _gap(self, above: FloatArray, below: FloatArray) -> FloatArray:
        return gap_between(above, below, self.relative)


def gains(evidence: Evidence, claim: Claim) -> Iterator[Gain]:
    """The accuracy components: by utility, every group of every attribute, or everyone at once."""
    for measure in evidence.accuracy:
        if claim.overall is not None:
            yield Gain(measure, EVERYONE, Contrast(*evidence.overall(claim.overall, measure)), evidence.better(measure))
            continue
        for a, attribute in enumerate(evidence.attributes):
            for g, group in enumerate(attribute.levels):
                contrast = Contrast(evidence.values[a][g, measure], evidence.drawn[a][:, g, measure])
                yield Gain(measure, group, contrast, evidence.better(measure), attribute)


def gaps(evidence: Evidence, claim: Claim) -> Iterator[GroupGap]:
    """The fairness components: by utility, every attribute."""
    for measure in evidence.fairness:
        for a, attribute in enumerate(evidence.attributes):
            protected = attribute.place_of(claim.protected)
            direction = evidence.direction(measure, protected)
            values, drawn = direction * evidence.values[a][:, measure], direction * evidence.drawn[a][:, :, measure]
            references: tuple[tuple[int, int], ...] = (evidence.reference(a, measure, protected),)
            relative = evidence.relative(measure, protected)
            if evidence.chooses_here:
                before = values[:, STATUS_QUO], drawn[..., STATUS_QUO]
                references = contact_set(*before, references[0], evidence.units, protected, relative)
            yield GroupGap(measure, attribute, protected, values, drawn, references, relative)
