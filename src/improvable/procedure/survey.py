"""The first pass: how many rows, which groups, what is missing, which clusters; all that must be known of the whole."""

from collections import Counter
from dataclasses import dataclass, field

import narwhals as nw
import numpy as np
import polars as pl

from improvable.data.arrays import IntArray
from improvable.data.frames import Rows, check_complete, content_keys, incomplete, mix
from improvable.data.groups import MOST_LEVELS, read_groups
from improvable.data.reading import Combination, Reading, combinations_of
from improvable.data.sample import FEWEST_CLUSTERS
from improvable.errors import Caution, DataError
from improvable.procedure.splitting import Keys, id_keys
from improvable.question.claim import check_claim
from improvable.question.design import Design

SECOND = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Survey:
    """What one batch, or all of them together, look like.

    Attributes
    ----------
    rows, dropped : int
        Rows in all, and those with holes in a needed column.
    holes : Counter
        Missing or infinite values of each needed column.
    combinations : Counter
        Complete rows of each combination of group levels.
    missing, infinite : Counter
        Of each numeric column that may be a feature.
    weights : tuple of int
        How many weights are negative, how many are above zero, and how many are other than one.
    clusters : array of shape (2, pairs)
        Keys of clusters, each with the key of a combination of groups that it has rows of; distinct.
    fingerprint : tuple of int
        Sums of two hashes of rows: the same for the same rows in any order.
    """

    rows: int
    dropped: int
    holes: Counter[str]
    combinations: Counter[Combination]
    missing: Counter[str] = field(default_factory=Counter)
    infinite: Counter[str] = field(default_factory=Counter)
    weights: tuple[int, int, int] = (0, 0, 0)
    clusters: Keys = field(default_factory=lambda: np.empty((2, 0), dtype=np.uint64))
    fingerprint: tuple[int, int] = (0, 0)

    @property
    def digest(self) -> str:
        return f"{self.rows:x}-{self.fingerprint[0]:016x}{self.fingerprint[1]:016x}"


@dataclass(frozen=True)
class Surveying:
    """The work of the first pass."""

    design: Design
    numeric: tuple[str, ...]
    labels: tuple[str, ...]
    features: tuple[str, ...]
    fingerprint: bool

    def __call__(self, rows: Rows) -> Survey:
        bad = incomplete(rows, self.numeric, self.labels)
        keep = ~np.logical_or.reduce(list(bad.values())) if bad else np.ones(len(rows), dtype=np.bool_)
        kept = rows.take(np.flatnonzero(keep)) if bad else rows
        question = self.design.question
        named, codes = combinations_of(kept, question.group)
        sizes = np.bincount(codes, minlength=len(named))
        missing, infinite = Counter[str](), Counter[str]()
        for name in self.features:
            if kept.is_numeric(name):
                values = kept.read_numbers(name)
                if not np.isfinite(values).all():
                    missing[name] += int(np.isnan(values).sum())
                    infinite[name] += int(np.isinf(values).sum())
        return Survey(
            rows=len(rows),
            dropped=int((~keep).sum()),
            holes=Counter({name: int(flags.sum()) for name, flags in bad.items()}),
            combinations=Counter({one: int(size) for one, size in zip(named, sizes, strict=True)}),
            missing=missing,
            infinite=infinite,
            weights=_weights(kept, question.weight),
            clusters=_clusters(kept, question.cluster, question.group),
            fingerprint=_fingerprint(rows) if self.fingerprint else (0, 0),
        )


def merge_surveys(one: Survey, other: Survey) -> Survey:
    return Survey(
        rows=one.rows + other.rows,
        dropped=one.dropped + other.dropped,
        holes=one.holes + other.holes,
        combinations=_few(one.combinations + other.combinations),
        missing=one.missing + other.missing,
        infinite=one.infinite + other.infinite,
        weights=(
            one.weights[0] + other.weights[0],
            one.weights[1] + other.weights[1],
            one.weights[2] + other.weights[2],
        ),
        clusters=_distinct(np.concatenate([one.clusters, other.clusters], axis=1)),
        fingerprint=(
            (one.fingerprint[0] + other.fingerprint[0]) % (1 << 64),
            (one.fingerprint[1] + other.fingerprint[1]) % (1 << 64),
        ),
    )


def _few(combinations: Counter[Combination]) -> Counter[Combination]:
    """Refuse a group column with too many levels as soon as it has them."""
    columns = len(next(iter(combinations), ()))
    for c in range(columns):
        levels = {one[c] for one in combinations}
        if len(levels) > MOST_LEVELS:
            raise DataError(
                f"a group column has more than {MOST_LEVELS} levels, such as '{min(levels)}'.",
                "Name the column that says which group a row belongs to.",
            )
    return combinations


def _weights(rows: Rows, name: str | None) -> tuple[int, int, int]:
    if name is None:
        return 0, 0, 0
    weights = rows.numbers(name)
    return int((weights < 0).sum()), int((weights > 0).sum()), int((weights != 1).sum())


def _clusters(rows: Rows, name: str | None, groups: tuple[str, ...]) -> Keys:
    if name is None:
        return np.empty((2, 0), dtype=np.uint64)
    return _distinct(np.stack([id_keys(rows, name), content_keys(Rows(rows.frame.select(groups)))]))


def _distinct(pairs: Keys) -> Keys:
    table = pl.DataFrame({"cluster": pairs[0], "groups": pairs[1]}).unique()
    return np.stack([table["cluster"].to_numpy(), table["groups"].to_numpy()])


def _fingerprint(rows: Rows) -> tuple[int, int]:
    keys = content_keys(rows)
    return int(mix(keys).sum(dtype=np.uint64)), int(mix(keys ^ SECOND).sum(dtype=np.uint64))


def conclude_survey(
    survey: Survey, work: Surveying, drop_missing: bool
) -> tuple[Reading, IntArray, int | None, list[Caution]]:
    """Refuse what cannot be used; otherwise how to read every batch, rows by stratum, clusters, and what to say."""
    check_complete({name: survey.holes[name] for name in (*work.numeric, *work.labels) if survey.holes[name]},
                   survey.dropped, survey.rows, drop_missing)  # fmt: skip
    cautions = []
    if survey.dropped:
        cautions.append(Caution("dropped", f"{survey.dropped:,} rows with missing or infinite values were dropped."))
    question = work.design.question
    named = sorted(survey.combinations)
    counts = np.array([survey.combinations[one] for one in named], dtype=np.int64)
    table = pl.DataFrame({name: [one[c] for one in named] for c, name in enumerate(question.group)})
    read = read_groups(Rows(nw.from_native(table, eager_only=True)), work.design.groups, counts)
    left_out = int(counts.sum() - counts[read.keep].sum())
    if left_out:
        cautions.append(Caution("groups", f"{left_out:,} rows of other groups are left out."))
    cautions += [Caution(f"group note {i}", note) for i, note in enumerate(read.notes)]
    check_claim(question.claim, [attribute.levels for attribute in read.grouping.attributes])
    reading = Reading(
        design=work.design,
        numeric=work.numeric,
        labels=work.labels,
        attributes=read.grouping.attributes,
        strata={named[j]: int(code) for j, code in zip(read.keep, read.grouping.codes, strict=True)},
        weighted=_check_weights(survey.weights, question.weight),
    )
    sizes = np.bincount(read.grouping.codes, weights=counts[read.keep], minlength=read.grouping.strata)
    clusters = None
    if question.cluster is not None:
        clusters, spanning = _check_clusters(survey.clusters, question.cluster)
        cautions += spanning
    return reading, sizes.astype(np.int64), clusters, cautions


def _check_weights(weights: tuple[int, int, int], name: str | None) -> bool:
    if name is None:
        return False
    negative, positive, other = weights
    if negative:
        raise DataError(f"{negative:,} weights in '{name}' are negative.", "Weights are zero or more.")
    if not positive:
        raise DataError(f"the weights in '{name}' are all zero.", "Some rows must count.")
    return other > 0


def _check_clusters(pairs: Keys, name: str) -> tuple[int, list[Caution]]:
    distinct, groups = np.unique(pairs[0], return_counts=True)
    total, spanning = len(distinct), int((groups > 1).sum())
    if total < FEWEST_CLUSTERS:
        raise DataError(
            f"'{name}' has {total} clusters.", f"Resampling whole clusters needs at least {FEWEST_CLUSTERS}, better 30."
        )
    if not spanning:
        return total, []
    text = (
        f"{spanning:,} of {total:,} clusters in '{name}' have rows of several groups; "
        "each row counts for its own group, and the cluster is split and resampled as a whole."
    )
    return total, [Caution("spanning", text)]
