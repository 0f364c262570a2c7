"""Rows with everything that the design reads of them: groups, outcomes, weights,
clusters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.data.frame import Rows, incomplete, labels_of
from improvable.data.groups import MAX_LEVELS, Attribute, Grouping, combine
from improvable.data.keys import Keying, Keys
from improvable.data.probabilities import Membership, Spread, with_rest
from improvable.question.design import Design

Combination = tuple[str, ...]  # one level of each group column


@dataclass(frozen=True)
class Sample:
    """Rows that are fit to be analyzed."""

    rows: Rows
    grouping: Grouping
    # by a utility's outcome column, None for the audit's own
    outcomes: dict[str | None, FloatArray]
    weights: FloatArray | None = None
    clusters: Keys | None = None  # the key of each row's cluster
    # where groups are known by probability; `grouping` then has the likeliest, which no
    # number may rest on
    spread: Spread | None = None

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The groups as they are tested."""
        return (
            self.grouping.attributes if self.spread is None else self.spread.attributes
        )

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def relative_weights(self) -> FloatArray | None:
        """Weights of mean one: what a rule learns must not depend on the unit in which
        weights are given.
        """
        if self.weights is None:
            return None
        mean = float(self.weights.mean())
        return self.weights / mean if mean > 0 else self.weights

    def unit_codes(self) -> IntArray:
        """What is ordered and resampled, numbered: the cluster of every row, or the
        row.
        """
        if self.clusters is None:
            return np.arange(len(self))
        _, codes = np.unique(self.clusters, return_inverse=True)
        return codes.astype(np.int64)

    def levels(self) -> tuple[FloatArray, FloatArray]:
        """Which group rows are in, or none, or with what probability; and the mean
        factors of those who are in each.
        """
        if self.spread is None:
            every = np.eye(self.grouping.strata)
            return every[self.grouping.codes], every
        whole = with_rest(self.spread.shares[:, 1 : 1 + self.grouping.strata])
        whole = whole[:, whole.any(axis=0)]
        return whole, np.asarray(
            np.linalg.lstsq(whole, self.spread.factors, rcond=None)[0], dtype=np.float64
        )

    def with_outcome(self, values: FloatArray) -> "Sample":
        """The same rows with other values of the audit's own outcome."""
        return replace(self, outcomes={**self.outcomes, None: values})

    def filled(self) -> "Sample":
        """The same rows with 0 for outcomes that are unknown."""
        outcome = self.outcomes[None]
        return self.with_outcome(np.where(np.isnan(outcome), 0.0, outcome))

    def known(self) -> "Sample":
        """The rows whose outcome is known."""
        unknown = np.isnan(self.outcomes[None])
        return self.take(np.flatnonzero(~unknown)) if unknown.any() else self

    def by_stratum(self) -> tuple[IntArray, "Sample"]:
        """Where groups are known by probability: a row for each stratum that it counts
        for, weighed by its share.

        Beside it, which of the rows it is; the frame of rows stays as it is.
        """
        assert self.spread is not None
        row, stratum = np.nonzero(
            (self.spread.shares != 0) | (self.spread.factors != 0)
        )
        weights = (
            self.spread.shares
            if self.weights is None
            else self.spread.shares * self.weights[:, None]
        )
        many = Sample(
            self.rows,
            Grouping(self.spread.attributes, stratum),
            {name: values[row] for name, values in self.outcomes.items()},
            weights[row, stratum],
            None if self.clusters is None else self.clusters[row],
        )
        return row, many

    def take(self, index: IntArray) -> "Sample":
        return Sample(
            self.rows.take(index),
            self.grouping.take(index),
            {name: values[index] for name, values in self.outcomes.items()},
            None if self.weights is None else self.weights[index],
            None if self.clusters is None else self.clusters[index],
            None if self.spread is None else self.spread.take(index),
        )


@dataclass(frozen=True)
class Reading:
    """What is needed to read any batch of rows, once the whole has been looked at."""

    design: Design
    numeric: tuple[str, ...]  # columns that must be complete, and so must
    labels: tuple[str, ...]  # these
    attributes: tuple[Attribute, ...]
    # the stratum of each combination of levels, but for those that are left out
    strata: dict[Combination, int]
    weighted: bool  # weights that are all one are none
    clustered: bool  # clusters of one row each are none
    keying: Keying
    # without a column of clusters: rows that are the same in these are one
    together: tuple[str, ...] = ()
    # no row of the data lacks a value, so that no batch need be searched for one
    complete: bool = False
    membership: Membership | None = None  # where groups are known by probability
    # the lowest and the highest outcome, if that is known
    ends: tuple[float, float] | None = None

    @property
    def tested(self) -> tuple[Attribute, ...]:
        """The groups as they are tested."""
        by_probability = self.membership is not None and self.membership.estimators
        return (
            self.membership.attributes
            if by_probability and self.membership is not None
            else self.attributes
        )

    def sample(self, rows: Rows) -> Sample:
        """The rows of a batch that count, in the order they came."""
        if not self.complete and (bad := incomplete(rows, self.numeric, self.labels)):
            rows = rows.take(np.flatnonzero(~np.logical_or.reduce(list(bad.values()))))
        shares, spread = np.empty((len(rows), 0)), None
        if self.membership is None:
            combinations, codes = combinations_of(rows, self.design.question.group)
            stratum = np.array(
                [self.strata.get(one, -1) for one in combinations], dtype=np.int64
            )[codes]
        else:
            shares = self.membership.shares(rows)
            stratum = np.where(shares.any(axis=1), np.argmax(shares, axis=1), -1)
        if (stratum < 0).any():
            keep = np.flatnonzero(stratum >= 0)
            rows, stratum, shares = rows.take(keep), stratum[keep], shares[keep]
        if self.membership is not None and self.membership.estimators:
            spread = self.membership.spread(rows, shares)
        question = self.design.question
        named = dict.fromkeys(
            [None, *(utility.outcome for utility in self.design.utilities)]
        )
        outcomes = {name: rows.numbers(name or question.outcome) for name in named}
        weights = (
            rows.numbers(question.weight)
            if self.weighted and question.weight is not None
            else None
        )
        clusters = (
            self.keying.of(rows, cluster_columns(self.design, self.together))
            if self.clustered
            else None
        )
        return Sample(
            rows,
            Grouping(self.attributes, stratum),
            outcomes,
            weights,
            clusters,
            spread,
        )


def cluster_columns(design: Design, together: tuple[str, ...]) -> list[str]:
    """What tells clusters apart: their column within strata, or all that equal rows
    have in common.
    """
    question = design.question
    if question.cluster is None:
        return list(together)
    return [question.cluster, *([] if question.stratum is None else [question.stratum])]


def combinations_of(
    rows: Rows, columns: Sequence[str]
) -> tuple[list[Combination], IntArray]:
    """The combinations of levels that occur in a batch, and the one of every row."""
    if not len(rows):
        return [], np.empty(0, dtype=np.int64)
    read = [labels_of(rows, name, MAX_LEVELS) for name in columns]
    members, codes = combine([(len(levels), codes) for levels, codes in read])
    named = [
        tuple(read[c][0][code] for c, code in enumerate(one))
        for one in zip(*members, strict=True)
    ]
    return named, codes
