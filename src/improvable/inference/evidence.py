"""What a held-out sample says, kept as sums and draws: all that any claim is tested
with.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from improvable._typing import BoolArray, FloatArray
from improvable.data.groups import Attribute
from improvable.inference.cells import STATUS_QUO
from improvable.inference.statistics import (
    drawn_utilities,
    reference_pair,
    utilities_of,
    with_formulas,
)
from improvable.question.design import UNKNOWN
from improvable.question.utility import Measure

AlgorithmName = Literal["status_quo", "candidate"]
# at index `STATUS_QUO`, `CANDIDATE`
ALGORITHMS: tuple[AlgorithmName, AlgorithmName] = ("status_quo", "candidate")
EVERYONE = "everyone"
# utilities on the sample, (groups, measures, 2), and on the draws
Ends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class Evidence:
    """Sums over a held-out sample and over its bootstrap draws: all that inference
    needs.
    """

    attributes: tuple[Attribute, ...]  # the groups, each a set of the S strata
    # the M distinct pairs (u, w) that have sums, then the formulas of them
    measures: tuple[Measure, ...]
    accuracy: tuple[int, ...]  # which measures are those of accuracy, which of fairness
    fairness: tuple[int, ...]
    sums: FloatArray  # (S, M, 2, 2): stratum, utility, algorithm, part
    draws: FloatArray  # (Q, S, M, 2, 2)
    # (S, M, 2): the status quo's sums on the training rows, which fix the reference
    # pair of groups
    training: FloatArray
    # how many independent units were tested: rows, or clusters where rows are clustered
    units: int
    # draws were made from cells; or "delta", from the normal limit
    method: str = "bootstrap"
    # whether draws are corrected (`corrections`): their utilities are the sample's and
    # what deviations move them by
    linear: bool = False
    # whether the tested rows chose the reference pair, as the test must account for;
    # None: see `chooses_here`
    chosen_here: bool | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        return tuple(
            level for attribute in self.attributes for level in attribute.levels
        )

    @property
    def chooses_here(self) -> bool:
        """`chosen_here` or, if that is None, whether `training` are this sample's own
        sums.
        """
        if self.chosen_here is not None:
            return self.chosen_here
        return np.array_equal(self.training, self.sums[:, :, STATUS_QUO])

    @cached_property
    def values(self) -> tuple[FloatArray, ...]:
        """Utilities on the sample, one array of shape (groups, measures, 2) per
        attribute.
        """
        return tuple(
            self._values(_by_level(self.sums[None], attribute)[0])
            for attribute in self.attributes
        )

    @cached_property
    def drawn(self) -> tuple[FloatArray, ...]:
        """Utilities on the draws, one array of shape (Q, groups, measures, 2) per
        attribute.
        """
        return tuple(
            self._drawn(
                _by_level(self.sums[None], attribute)[0],
                _by_level(self.draws, attribute),
            )
            for attribute in self.attributes
        )

    @property
    def bounded(self) -> int:
        """As the function says; 0 too where a rule learns, which counts no bounds."""
        return bounded(self.measures) if self.sums.shape[1] == len(self.measures) else 0

    @cached_property
    def ends(self) -> tuple[tuple[Ends, ...], tuple[Ends, ...]]:
        """The lowest and the highest that utilities can be: by attribute, `values` and
        `drawn`.

        They differ for a candidate that selects people whose outcomes are unknown;
        `values` are its least accurate.
        """
        both, number = tuple(zip(self.values, self.drawn, strict=True)), self.bounded
        if not number:
            return both, both
        better = np.array([self.better(m) for m in range(number)])[:, None]

        def end(values: FloatArray, side: int) -> FloatArray:
            near, width = values[..., :number, :], values[..., number : 2 * number, :]
            return np.asarray(np.where(better == side, near + side * width, near))

        low, high = (
            tuple((end(one, side), end(drawn, side)) for one, drawn in both)
            for side in (-1, 1)
        )
        return low, high

    def turned(
        self, a: int, measure: int, direction: float
    ) -> tuple[Ends, Ends | None]:
        """A utility times a direction, on the sample and on draws: the lowest it can
        be; the highest, if another.
        """
        ends = self.ends[:: int(direction)]
        low, high = (
            (direction * one[:, measure], direction * drawn[:, :, measure])
            for one, drawn in (e[a] for e in ends)
        )
        return low, high if ends[0] is not ends[1] else None

    @property
    def asked(self) -> tuple[int, ...]:
        """The measures that are asked about; the others are only parts of formulas."""
        return tuple(sorted({*self.accuracy, *self.fairness}))

    def _values(self, sums: FloatArray) -> FloatArray:
        return with_formulas(utilities_of(sums), self.measures, axis=-2)

    def _drawn(self, sums: FloatArray, draws: FloatArray) -> FloatArray:
        """Utilities of draws, (..., M, 2, 2) and (Q, ..., M, 2, 2) -> (Q, ...,
        measures, 2).
        """
        return with_formulas(
            drawn_utilities(sums, draws, self.linear), self.measures, axis=-2
        )

    def reference(
        self, attribute: int, measure: int, protected: int | None = None
    ) -> tuple[int, int]:
        """The pair of groups between which the status quo's gap was widest on the
        training rows.
        """
        values = self.training_values(attribute, measure)
        return reference_pair(self.direction(measure, protected) * values, protected)

    def training_values(self, attribute: int, measure: int) -> FloatArray:
        """The status quo's utility of every group on the training rows."""
        values = utilities_of(
            _by_level(self.training[None], self.attributes[attribute])[0]
        )
        return with_formulas(values, self.measures, axis=-1)[:, measure]

    def direction(self, measure: int, protected: int | None) -> float:
        """-1 where a protected group is worse off with a higher value (a false positive
        rate); 1 otherwise.
        """
        return (
            1.0
            if protected is None or self.measures[measure].worse_off == "lower"
            else -1.0
        )

    def relative(self, measure: int, protected: int | None) -> int:
        """How `gap_between` measures a gap of values that `direction` turned."""
        return (
            0
            if self.measures[measure].between == "difference"
            else int(self.direction(measure, protected))
        )

    def better(self, measure: int) -> int:
        """-1 where a lower value is more accurate; 1 otherwise."""
        return 1 if self.measures[measure].higher_is_better else -1

    def overall(
        self, weights: str | Mapping[str, float], measure: int
    ) -> tuple[FloatArray, FloatArray]:
        """One utility for everyone, (2,) on the sample and (Q, 2) on the draws (Remark
        1).

        The whole population's E[u] / E[w], or a weighted mean of the groups' utilities.
        """
        if isinstance(weights, str):
            whole = everyone_in(self.attributes)
            sums, draws = self.sums[whole].sum(axis=0), self.draws[:, whole].sum(axis=1)
            return self._values(sums)[measure], self._drawn(sums, draws)[:, measure]
        a, share = self.shares(weights)
        counted = np.flatnonzero(share)
        return (
            np.tensordot(share[counted], self.values[a][counted, measure], axes=(0, 0)),
            np.einsum("g,qgt->qt", share[counted], self.drawn[a][:, counted, measure]),
        )

    def groups_of(self, stratum: int) -> list[str]:
        """The group of each attribute that a stratum belongs to."""
        named = [
            one.levels[one.member[stratum]]
            for one in self.attributes
            if one.member[stratum] >= 0
        ]
        return named or [EVERYONE]

    def shares(self, weights: Mapping[str, float]) -> tuple[int, FloatArray]:
        """The attribute whose groups are weighted, and the weights of all its groups,
        which sum to one.
        """
        a = next(
            a
            for a, attribute in enumerate(self.attributes)
            if set(weights) <= set(attribute.levels)
        )
        share = np.array(
            [weights.get(level, 0.0) for level in self.attributes[a].levels]
        )
        return a, share / share.sum()


def bounded(measures: Sequence[Measure]) -> int:
    """How many utilities have two more sums beside them; 0 where every outcome is known
    (`inference/unknown`).
    """
    return (
        len(measures) // (1 + len(UNKNOWN)) if measures[-1].words == UNKNOWN[-1] else 0
    )


def everyone_in(attributes: Sequence[Attribute]) -> BoolArray:
    """The strata that together are everyone: all of them; or, where groups are known by
    probability, one of its own.
    """
    outside = np.all([attribute.member < 0 for attribute in attributes], axis=0)
    return np.asarray(outside if outside.any() else ~outside)


def members(attributes: Sequence[Attribute]) -> Iterator[tuple[str, BoolArray]]:
    """Every group of every attribute, and which strata are in it."""
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            yield group, attribute.member == g


def _by_level(sums: FloatArray, attribute: Attribute) -> FloatArray:
    """Add the strata of each level: axis 1 goes from strata to levels."""
    out = np.zeros((len(sums), len(attribute.levels), *sums.shape[2:]))
    for stratum, level in enumerate(attribute.member):
        if level >= 0:
            out[:, level] += sums[:, stratum]
    return out
