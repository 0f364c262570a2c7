"""What a plan assumes: the moments of one row's contributions, and how they change with
the training rows.

Here they follow from assumed utilities and selection rates; `pilot` estimates them from
a pilot.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray
from improvable.data.groups import Attribute
from improvable.errors import OptionError
from improvable.inference.cells import CANDIDATE, STATUS_QUO, U, W
from improvable.procedure.split import MIN_OF_GROUP, MIN_ROWS
from improvable.question.catalog import UTILITIES
from improvable.question.options import check_number
from improvable.question.utility import Measure


@dataclass(frozen=True)
class Outlook:
    """Moments of the contribution vectors of a population.

    A contribution vector has `width` = S * M * 2 * 2 entries, in the order of the sums
    of `Evidence`: stratum, pair (u, w), algorithm, part. Gamma is the covariance of
    what a row does to the candidate's mean when it trains and what it contributes when
    it tests. A capacity makes it negative: a high score raises the cutoff, or is
    selected.
    """

    attributes: tuple[Attribute, ...]  # the first four are those of `Evidence`
    measures: tuple[Measure, ...]
    accuracy: tuple[int, ...]
    fairness: tuple[int, ...]
    # (J,): training rows at which the candidate was studied; one where it does not
    # learn
    sizes: FloatArray
    # (J, width): the mean contribution of a row, for candidates trained on each size
    means: FloatArray
    covariances: FloatArray  # (J, width, width), of one row's contribution
    # Phi, (width, width): candidates found on different n rows have means with
    # covariance Phi / n
    fit: FloatArray
    shared: FloatArray  # Gamma + Gamma', (width, width)
    # (width, width): covariance of the error with which the means are known
    uncertainty: FloatArray
    # how many rows the first block of a forward repetition must hold, and what for
    teaching: tuple[float, str]
    basis: tuple[str, ...]  # what all this rests on, one sentence each
    learns: bool  # whether the candidate depends on the training rows

    @property
    def width(self) -> int:
        return int(self.means.shape[1])

    def at(self, training: float) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance for a candidate that learned from `training` rows.

        Linear in one over the root of the rows, flat beyond the largest size studied;
        below the smallest, means go on as far as a quarter of it.
        """
        if len(self.sizes) == 1:
            return self.means[0], self.covariances[0]
        within = np.clip(training, self.sizes[0] / 4, self.sizes[-1])
        above = int(
            np.clip(np.searchsorted(self.sizes, within), 1, len(self.sizes) - 1)
        )
        left, right, here = (
            1 / np.sqrt(rows) for rows in (*self.sizes[above - 1 : above + 1], within)
        )
        share = (left - here) / (left - right)
        inside, (near, far) = max(share, 0.0), self.covariances[above - 1 : above + 1]
        mean = (1 - share) * self.means[above - 1] + share * self.means[above]
        return mean, (1 - inside) * near + inside * far

    def reach(self, training: Sequence[float]) -> str:
        """Whether candidates were studied with these numbers of training rows:
        "studied", "below" or "beyond".
        """
        if self.learns and min(training) < 0.99 * self.sizes[0]:
            return "below"
        return (
            "beyond"
            if self.learns and max(training) > 1.01 * self.sizes[-1]
            else "studied"
        )


def root(covariance: FloatArray) -> FloatArray:
    """A matrix R with R R' = the covariance; what rounding or noise made negative
    counts as zero.
    """
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


@dataclass(frozen=True)
class AssumedGroup:
    """What is assumed about one group.

    Attributes
    ----------
    name : str
    share : float
        Share of all rows that belong to the group; shares are scaled to add up to one.
    rates : tuple of two floats
        Share of the group that the status quo selects, and that the candidate selects.
    means : tuple of two floats
        Mean outcome among those the status quo selects, and among those the candidate
        selects.
    spread : float, optional
        Standard deviation of the outcome among the selected. None for a 0/1 outcome,
        whose mean fixes it.
    overlap : float
        Share of the status quo's selected whom the candidate selects too.

    Examples
    --------
    >>> AssumedGroup(
    ...     "black", 0.12, rates=(0.05, 0.07), means=(6.5, 7.4), spread=3.5, overlap=0.4
    ... ).name
    'black'
    """

    name: str
    share: float
    rates: tuple[float, float]
    means: tuple[float, float]
    spread: float | None = None
    overlap: float = 0.5


def assume(groups: Sequence[AssumedGroup]) -> Outlook:
    """The outlook that assumptions imply, for the mean outcome among the selected
    (calibration).

    The selected are of three kinds: by both algorithms, by the status quo alone, by the
    candidate alone. Those selected by both are taken to have the average of the two
    means; the others make up the rest.
    """
    if len(groups) < 2 or len({group.name for group in groups}) != len(groups):
        raise OptionError(
            "planning needs at least two groups, each with its own name.",
            "Describe each group once.",
        )
    for group in groups:
        _check(group)
    total = sum(group.share for group in groups)
    shape = (len(groups), 1, 2, 2)
    mean, second = np.zeros(shape), np.zeros((int(np.prod(shape)), int(np.prod(shape))))
    for g, group in enumerate(groups):
        for chosen, share, level, spread in _kinds(group):
            vector, outcome = np.zeros(shape), np.zeros(shape)
            (
                vector[g, 0, chosen, W],
                vector[g, 0, chosen, U],
                outcome[g, 0, chosen, U],
            ) = 1.0, level, spread
            share *= group.share / total
            mean += share * vector
            second += share * (np.outer(vector, vector) + np.outer(outcome, outcome))
    attribute = Attribute(
        "group", tuple(group.name for group in groups), np.arange(len(groups))
    )
    measure = UTILITIES["calibration"].measure("the outcome")
    flat, nothing = mean.ravel(), np.zeros_like(second)
    moments = (
        np.ones(1),
        flat[None],
        (second - np.outer(flat, flat))[None],
        nothing,
        nothing,
        nothing,
    )
    firsts = [
        (MIN_OF_GROUP * total / one.share, f"{MIN_OF_GROUP} rows of group '{one.name}'")
        for one in groups
    ]
    teaching = max((float(MIN_ROWS), f"{MIN_ROWS} rows"), *firsts)
    return Outlook(
        (attribute,),
        (measure,),
        (0,),
        (0,),
        *moments,
        teaching,
        _words(groups, total),
        learns=False,
    )


def _kinds(group: AssumedGroup) -> list[tuple[list[int], float, float, float]]:
    """Who is selected: by whom, what share of the group, with what mean and standard
    deviation of the outcome.
    """
    both, middle = group.overlap * group.rates[STATUS_QUO], sum(group.means) / 2
    out = [([STATUS_QUO, CANDIDATE], both, middle)]
    for t in (STATUS_QUO, CANDIDATE):
        alone = group.rates[t] - both
        if alone > 1e-12:
            out.append(
                ([t], alone, (group.rates[t] * group.means[t] - both * middle) / alone)
            )
        elif group.means[0] != group.means[1]:
            whose = ("status quo", "candidate")[t]
            raise OptionError(
                (
                    f"everyone the {whose} selects in group '{group.name}' is selected "
                    "by both, yet the two means differ."
                ),
                "Lower the overlap, or change the rates.",
            )
    spread = group.spread
    for *_, level in out:
        if spread is None and not 0 <= level <= 1:
            raise OptionError(
                (
                    f"group '{group.name}' would need a mean of {level:.3g} among "
                    "those selected by one algorithm alone."
                ),
                (
                    "A 0/1 outcome has means between 0 and 1: lower the overlap, or "
                    "give the spread of another outcome."
                ),
            )
    return [
        (*kind, float(np.sqrt(kind[2] * (1 - kind[2]))) if spread is None else spread)
        for kind in out
    ]


def _check(group: AssumedGroup) -> None:
    of, (before, after) = f"of group '{group.name}'", group.rates
    check_number(f"the share {of}", group.share, 0, np.inf)
    for rate in group.rates:
        check_number(f"a selection rate {of}", rate, 0, 1, high_included=True)
    for level in group.means:
        check_number(f"a mean {of}", level, -np.inf, np.inf)
    if group.spread is not None:
        check_number(f"the spread {of}", group.spread, 0, np.inf)
    if not 0 <= group.overlap <= 1:
        raise OptionError(
            f"the overlap {of} is {group.overlap}.", "It is a share: from 0 to 1."
        )
    if group.overlap * before > after * (1 + 1e-12):
        what = (
            f"the overlap {of} is {group.overlap:g}, but the candidate selects too few "
            "for that."
        )
        raise OptionError(what, f"With these rates it is at most {after / before:.3g}.")
    if before + after - group.overlap * before > 1 + 1e-12:
        raise OptionError(
            f"the rates {of} add up to more than everyone.",
            "Raise the overlap, or lower the rates.",
        )


def _words(groups: Sequence[AssumedGroup], total: float) -> tuple[str, ...]:
    out = []
    for group in groups:
        spread = "as a 0/1 outcome has" if group.spread is None else f"{group.spread:g}"
        before, after = (f"{100 * rate:.3g}%" for rate in group.rates)
        out.append(
            f"Assumed for {group.name}: {100 * group.share / total:.3g}% of rows; the "
            f"status quo selects {before} of them with mean outcome "
            f"{group.means[0]:g}, the candidate {after} with mean {group.means[1]:g}; "
            f"standard deviation {spread}; {100 * group.overlap:.3g}% of the status "
            "quo's selected are also the candidate's."
        )
    return (
        *out,
        "Those selected by both are assumed to have the average of the two means.",
        (
            "The candidate is fixed, so training rows only reduce the test rows; a "
            "real rule also learns from them."
        ),
    )
