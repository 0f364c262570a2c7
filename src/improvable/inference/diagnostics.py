"""What the paper's theory assumes, estimated: Theorem 2's distance of the gap from
zero, who is selected, and how many rows the two algorithms treat differently.

None of these numbers decides a test. They say whether its conditions hold, and whom
the two algorithms treat differently.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.data.sample import Sample
from improvable.inference.cells import (
    CANDIDATE,
    SCALE,
    Cells,
    U,
    W,
    by_utility,
    exact_sum,
    to_float,
)
from improvable.inference.components import gaps
from improvable.inference.evidence import EVERYONE, Evidence, everyone_in, members
from improvable.inference.influence import effective_units, sum_loads
from improvable.inference.moments import Moments, loads_of_moments
from improvable.question.claim import Claim
from improvable.question.utility import Selection

# Of a benefit, a selection rate below this share of the highest is commonly taken as a
# sign of adverse impact; of a burden, a rate of which the lowest is less than this
# share.
FOUR_FIFTHS = 0.8
# standard errors within which a candidate's gap counts as close to zero
NEAR_ZERO = 2.0
# who is selected, by which algorithm
KINDS = ("both", "only_status_quo", "only_candidate", "neither")
# whole numbers whose sum stays below this are added without rounding as they are
WHOLE = 2**53


@dataclass(frozen=True)
class CandidateGap:
    """How far the candidate's gap between the reference groups lies from zero (Theorem
    2's xi).
    """

    measure: str
    attribute: str
    # of the reference pair, the group with the higher value under the status quo
    higher: str
    lower: str
    gap: float  # the candidate's; negative where it favors the other group
    # from zero; None where some draw leaves the gap undefined, or no draw moves it
    standard_errors: float | None
    near_zero: bool  # whether that distance is below `NEAR_ZERO`


def candidate_gaps(evidence: Evidence, claim: Claim) -> list[CandidateGap]:
    """Theorem 2: the candidate's gap in standard errors, for every fairness utility and
    attribute.
    """
    out = []
    for part in gaps(evidence, claim):
        gap, drawn = part.between(part.reference, CANDIDATE)
        spread = float(np.std(drawn))
        errors = (
            abs(gap) / spread
            if np.isfinite(gap) and np.isfinite(spread) and spread > 0
            else None
        )
        near = errors is not None and errors < NEAR_ZERO
        out.append(
            CandidateGap(
                part.label,
                part.attribute.name,
                *part.reference_names,
                gap,
                errors,
                near,
            )
        )
    return out


@dataclass(frozen=True)
class SelectionRate:
    """How often an algorithm selects a group, against the best-off group."""

    attribute: str
    group: str
    rows: int
    selected: int
    rate: float
    # of a benefit, to the highest rate of the attribute; of a burden, the lowest to
    # this; None if nobody is selected
    ratio: float | None
    below_four_fifths: bool  # whether the ratio is: the group is disadvantaged
    # whether this is the group with the highest rate of a benefit, or the lowest of a
    # burden
    best_off: bool
    # from the best-off group's rate, as if selection did not depend on the group and
    # rows were independent
    standard_deviations: float


def selection_rates(
    attributes: Sequence[Attribute],
    rows: IntArray,
    selected: IntArray,
    selection: Selection = "benefit",
) -> list[SelectionRate]:
    """Selection rates of every group, each against the best-off one of its attribute
    (Section 1.1, first step).

    `rows` and `selected` are counts by stratum; `selection` says whether being selected
    is a benefit or a burden.
    """
    benefit = selection == "benefit"
    out = []
    for attribute in attributes:
        levels = range(len(attribute.levels))
        n = [int(rows[attribute.member == g].sum()) for g in levels]
        k = [int(selected[attribute.member == g].sum()) for g in levels]
        best = (max if benefit else min)(levels, key=lambda g: k[g] / n[g])
        reference = k[best] / n[best]
        for g in levels:
            rate, pooled = k[g] / n[g], (k[g] + k[best]) / (n[g] + n[best])
            spread = (pooled * (1 - pooled) * (1 / n[g] + 1 / n[best])) ** 0.5
            low, high = (rate, reference) if benefit else (reference, rate)
            ratio = low / high if high else 1.0 if any(k) else None
            below, apart = (
                ratio is not None and ratio < FOUR_FIFTHS,
                (rate - reference) / spread if spread else 0.0,
            )
            name, group = attribute.name, attribute.levels[g]
            out.append(
                SelectionRate(
                    name, group, n[g], k[g], rate, ratio, below, g == best, apart
                )
            )
    return out


@dataclass(frozen=True)
class Differing:
    """The rows of a group that the two algorithms treat differently, in the utility in
    which they are fewest.
    """

    rows: int
    # Those that count for the status quo alone, and for the candidate alone; if for
    # both, contribute more under it.
    sides: tuple[int, int]
    # what all are worth in rows of equal weight, or in clusters of equal size (Kish)
    effective: float

    def worth(self) -> "Differing":
        """The same counted by what rows are worth: a row that is in a group by
        probability is not one of its people.
        """
        each = self.effective / self.rows if self.rows else 0.0
        sides = round(self.sides[0] * each), round(self.sides[1] * each)
        return Differing(sum(sides), sides, float(sum(sides)))

    @property
    def fewest(self) -> float:
        """What the smaller side that has any rows is worth."""
        own = min((side for side in self.sides if side), default=0)
        return own * self.effective / self.rows if self.rows else 0.0


def differing_rows(
    evidence: Evidence, rows: Cells, clusters: IntArray | None = None
) -> dict[str, Differing]:
    """Of every group, how many rows the two algorithms treat differently; `clusters`
    has the cluster of each cell.

    A row counts where it does not contribute the same under both. No outcome needs to
    be seen for that, so it tells of samples that look certain because they are small.
    """
    vectors, out = by_utility(rows), {}
    for group, strata in members(evidence.attributes):
        found = []
        for m in evidence.asked:
            parts = vectors[:, [at for _, at in evidence.measures[m].reads] or [m]]
            differs = strata[rows.block] & (parts[:, :, 0] != parts[:, :, 1]).any(
                axis=(1, 2)
            )
            load, counts = (
                parts[differs][..., W].max(axis=(1, 2), initial=0.0),
                rows.counts[differs],
            )
            # below zero in a regression alone
            load += parts[differs][..., W].min(axis=(1, 2), initial=0.0)
            total, squares = (
                float((counts * load).sum()),
                float((counts * load**2).sum()),
            )
            if clusters is not None:
                squares = float(
                    (np.bincount(clusters[differs], weights=counts * load) ** 2).sum()
                )
            before, after = np.moveaxis(parts[differs].sum(axis=1), 1, 0)
            new = np.where(
                before[:, W] != after[:, W],
                after[:, W] > before[:, W],
                after[:, U] > before[:, U],
            )
            sides = int(counts[~new].sum()), int(counts[new].sum())
            found.append(
                Differing(
                    int(counts.sum()), sides, total**2 / squares if squares else 0.0
                )
            )
        out[group] = min(found, key=lambda one: (one.fewest, one.rows))
    return out


def kish_by_group(
    attributes: Sequence[Attribute], counted: Cells | Moments
) -> Iterator[tuple[str, BoolArray, FloatArray]]:
    """Every group, its strata, and what its rows that count are worth in rows of equal
    weight, (utilities, 2).
    """
    loads = (
        loads_of_moments(counted)
        if isinstance(counted, Moments)
        else sum_loads(counted)[1:]
    )
    # One block of moments may hold all strata.
    first, second = (one.reshape(len(attributes[0].member), -1, 2) for one in loads)
    for group, mine in members(attributes):
        one, two = first[mine].sum(axis=0), second[mine].sum(axis=0)
        yield group, mine, np.where(two > 0, effective_units(one, two), 0.0)


def effective_rows(
    attributes: Sequence[Attribute], counted: Cells | Moments
) -> dict[str, tuple[float, float]]:
    """Kish's effective rows of each group for either algorithm, in the utility in which
    they are fewest.
    """
    least = {
        group: worth.min(axis=0)
        for group, _, worth in kish_by_group(attributes, counted)
    }
    return {group: (float(one[0]), float(one[1])) for group, one in least.items()}


def crossed_sums(
    sample: Sample, chosen: tuple[BoolArray, BoolArray]
) -> tuple[int, ...]:
    """Exact sums by stratum and kind: of rows or their weight w, of w y, w y squared,
    and w squared.

    `chosen` are those whom the status quo selects, and those whom the candidate does.
    Four sums for each of `KINDS`, in order, stratum by stratum.
    """
    grouping, weights, outcome = sample.grouping, sample.weights, sample.outcomes[None]
    values = outcome if weights is None else outcome * weights
    # both, only the status quo, only the candidate, neither: 0, 1, 2, 3
    kind = np.where(chosen[0], np.where(chosen[1], 0, 1), np.where(chosen[1], 2, 3))
    place = grouping.codes * len(KINDS) + kind
    ends = np.cumsum(np.bincount(place, minlength=grouping.strata * len(KINDS)))
    out: list[int] = []
    for rows in np.split(np.argsort(place, kind="stable"), ends[:-1]):
        ones = len(rows) << SCALE
        out += [
            ones if weights is None else exact_sum(weights[rows]),
            _sum(values[rows]),
        ]
        out += [
            _sum(values[rows] * outcome[rows]),
            ones if weights is None else exact_sum(weights[rows] ** 2),
        ]
    return tuple(out)


def _sum(values: FloatArray) -> int:
    if not len(values):
        return 0
    whole = (
        bool((values == np.rint(values)).all())
        and float(np.abs(values).max()) * len(values) < WHOLE
    )
    return int(values.sum()) << SCALE if whole else exact_sum(values)


def crossed_array(sums: Sequence[int]) -> FloatArray:
    """The sums as numbers, shape (strata, kinds, 4)."""
    return np.array([to_float(total) for total in sums]).reshape(-1, len(KINDS), 4)


def count_changes(
    crossed: FloatArray, attributes: Sequence[Attribute]
) -> dict[str, dict[str, tuple[float, float | None]]]:
    """Of everyone and of every group: the share of each kind, and its mean outcome;
    None where there is nobody.
    """
    changes = {}
    for group, strata in ((EVERYONE, everyone_in(attributes)), *members(attributes)):
        sums = crossed[strata].sum(axis=0)
        total = sums[:, 0].sum()
        shares = {}
        for kind, (size, outcome) in zip(KINDS, sums[:, :2].tolist(), strict=True):
            shares[kind] = float(size / total), outcome / size if size else None
        changes[group] = shares
    return changes
