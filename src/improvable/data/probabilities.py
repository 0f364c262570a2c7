"""Groups that are known by probability only: what a row counts for in each of them.

Lenders and insurers may not ask for race, and use probabilities from names and places.
A row then counts for several groups at once. How much, depends on what is assumed; all
are factors on the row's contributions, so that everything after them is the same code.
P are the rows' probabilities, w their weights:

- *weighted*: p_g. Right if, among people with the same probabilities, what is measured
  does not depend on the group.
- *linear*: the coefficients of a regression of contributions on the probabilities,
  [(P'WP)^-1 P_i]_g times the sum of p_g. Right if, within a group, what is measured
  does not depend on the probabilities. Factors may be negative.
- *corrected*: p_g, and for a row whose group is known N / n times (1 if it is g,
  else 0) - p_g, where n of N rows are known (Angelopoulos et al., 2023). Right if the
  known rows are a random sample.

The first two err in opposite directions where the two covariances that remain have the
same sign (Elzayn et al., 2024).
"""

from dataclasses import dataclass

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.frame import Rows, labeltext_of, levels
from improvable.data.groups import Attribute
from improvable.errors import DataError
from improvable.question.claim import LINEAR, WEIGHTED, estimate_of

NAME = "probable group"
CORRECTED = "corrected"
ROUNDING = 1e-3  # rows that sum to 1 but for this are taken to sum to 1
CERTAIN = 1e3  # a factor on odds that is as good as knowing the group


@dataclass(frozen=True)
class Spread:
    """What rows count for, by stratum: the first is everyone, then the groups, once for
    each estimator.
    """

    attributes: tuple[Attribute, ...]
    shares: FloatArray  # (rows, strata): probabilities, and 1 for everyone
    factors: FloatArray  # (rows, strata): what contributions are multiplied by

    def take(self, index: IntArray) -> "Spread":
        return Spread(self.attributes, self.shares[index], self.factors[index])


@dataclass(frozen=True)
class Membership:
    """How rows belong to groups. Without estimators every row is in one group for
    certain.
    """

    groups: tuple[str, ...]
    columns: tuple[str, ...]  # of their probabilities
    estimators: tuple[str, ...] = ()
    raking: tuple[float, ...] = ()  # what the odds of each group are multiplied by
    # (groups and the rest, groups): from probabilities to linear factors
    regression: FloatArray | None = None
    known: str | None = None  # column of known groups
    times: float = 0.0  # how often a known row counts: N / n

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The groups as they are tested."""
        size, out = len(self.groups), []
        for k, estimator in enumerate(self.estimators):
            member = np.full(1 + size * len(self.estimators), -1)
            member[1 + k * size : 1 + (k + 1) * size] = np.arange(size)
            names = NAME, *self.groups
            name, *of = (
                [estimate_of(one, estimator) for one in names]
                if len(self.estimators) > 1
                else names
            )
            out.append(Attribute(name, tuple(of), member))
        return tuple(out)

    def shares(self, rows: Rows) -> FloatArray:
        """The probability of each group, (rows, groups): at most 1 in a row."""
        columns = [rows.numbers(name) for name in self.columns]
        total = sum(columns, start=np.zeros(len(rows)))
        broken = ~np.isfinite(total) | (total > 1 + ROUNDING)
        for values in columns:
            broken |= (values < 0) | (values > 1)
        if broken.any():
            row = int(np.flatnonzero(broken)[0])
            listed = ", ".join(
                f"{name} {values[row]:g}"
                for name, values in zip(self.columns, columns, strict=True)
            )
            raise DataError(
                (
                    f"row {row + 1:,} has probabilities of groups that cannot be: "
                    f"{listed}; {int(broken.sum()):,} rows do."
                ),
                "Each is between 0 and 1, and those of a row sum to at most 1.",
            )
        whole = np.where(np.abs(total - 1) <= ROUNDING, total, 1.0)
        shares = np.column_stack([values / whole for values in columns])
        if self.raking:
            odds = shares * np.array(self.raking)
            total = sum(shares.T, start=np.zeros(len(rows)))
            scale = np.maximum(1 - total, 0.0) + sum(odds.T, start=np.zeros(len(rows)))
            shares = odds / np.where(scale > 0, scale, 1.0)[:, None]
        return shares

    def members(self, rows: Rows) -> tuple[BoolArray, FloatArray]:
        """Rows whose group is known, and which group that is, (rows, groups): all zero
        for any other.
        """
        assert self.known is not None
        codes, values = levels(rows.frame[self.known])
        labels = [labeltext_of(value) for value in values]
        table = np.array(
            [[label == group for group in self.groups] for label in [*labels, ""]],
            dtype=np.float64,
        )
        # -1, where it is missing, is the last
        given = np.array([*(label != "nan" for label in labels), False])
        return given[codes], table[codes]

    def spread(self, rows: Rows, shares: FloatArray) -> Spread:
        everyone, factors = np.ones((len(rows), 1)), []
        for estimator in self.estimators:
            own = shares
            if estimator == LINEAR:
                assert self.regression is not None
                columns = with_rest(shares)[:, : len(self.regression)].T
                # Not a product of matrices, which may round differently with another
                # number of rows.
                own = sum(
                    (
                        p[:, None] * one
                        for p, one in zip(columns, self.regression, strict=True)
                    ),
                    start=0 * shares,
                )
            elif estimator == CORRECTED:
                given, member = self.members(rows)
                own = shares + np.where(
                    given[:, None], self.times * (member - shares), 0.0
                )
            factors.append(own)
        repeated = [shares] * len(self.estimators)
        return Spread(
            self.attributes,
            np.hstack([everyone, *repeated]),
            np.hstack([everyone, *factors]),
        )


def with_rest(shares: FloatArray) -> FloatArray:
    """Probabilities, and that of no group."""
    rest = 1 - sum(shares.T, start=np.zeros(len(shares)))
    return np.column_stack([shares, np.where(rest > ROUNDING, rest, 0.0)])


def odds_factor(everyone: FloatArray, some: FloatArray) -> float:
    """By what factor, at most, the odds of a group differ from everyone's among some
    people, or among the others.

    From sums of weights, of all and then by group.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [
            np.log(one[1:] / (one[0] - one[1:]))
            for one in (some, everyone - some, everyone)
        ]
        return float(
            np.exp(np.fmin(np.nanmax(np.abs(logs - logs[-1])), np.log(CERTAIN)))
        )


ESTIMATORS = {
    "between": (WEIGHTED, LINEAR),
    "probabilities only": (WEIGHTED,),
    "group only": (LINEAR,),
    "known": (CORRECTED,),
}
"""What is computed, by what is assumed."""
