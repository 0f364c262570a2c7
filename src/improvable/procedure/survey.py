"""The first pass: how many rows, which groups, what is missing, which clusters; all that must be known of the whole."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import narwhals as nw
import numpy as np
import polars as pl

from improvable._typing import FloatArray, IntArray
from improvable.data.columns import Columns
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.frame import Rows, check_complete, incomplete
from improvable.data.groups import MOST_LEVELS, read_groups
from improvable.data.keys import Keying, Keys
from improvable.data.quality import Seen, few_values, flag_code_cautions, merge_values
from improvable.data.sample import Combination, Reading, cluster_columns, combinations_of
from improvable.errors import Caution, DataError, OptionError
from improvable.inference.tally import Clusters
from improvable.question.claim import check_claim
from improvable.question.design import Design

FEWEST_CLUSTERS = 10
EQUAL_ROWS = "equal rows"

Kinds = dict[float, Counter[Combination]]
"""How often each of an outcome's two values occurs in each combination of group levels."""


@dataclass(frozen=True)
class Survey:
    """What one batch, or all of them together, look like.

    Attributes
    ----------
    rows, dropped : int
        Rows in all, and those with missing values in a needed column.
    lacking : Counter
        Missing or infinite values of each needed column.
    combinations : Counter
        Complete rows of each combination of group levels.
    missing, infinite : Counter
        Of each numeric column that may be a feature.
    weights : array of shape (3,)
        How many weights are negative, how many are above zero, and how many are other than one.
    outcomes : dict
        Values of each outcome, as far as they are few.
    kinds : dict
        Of each outcome that has at most two values, how often they occur by combination; None of the others.
    clusters : array of shape (3, triples)
        Keys of clusters, each with the keys of its stratum and of a combination of groups that it has; distinct.
    """

    rows: int
    dropped: int
    lacking: Counter[str]
    combinations: Counter[Combination]
    missing: Counter[str] = field(default_factory=Counter)
    infinite: Counter[str] = field(default_factory=Counter)
    weights: IntArray = field(default_factory=lambda: np.zeros(3, dtype=np.int64))
    outcomes: Seen = field(default_factory=dict)
    kinds: dict[str, Kinds | None] = field(default_factory=dict)
    clusters: Keys = field(default_factory=lambda: np.empty((3, 0), dtype=np.uint64))


@dataclass(frozen=True)
class Surveying:
    """The work of the first pass."""

    design: Design
    columns: Columns
    keying: Keying
    together: tuple[str, ...] = ()

    def __call__(self, rows: Rows) -> Survey:
        bad = incomplete(rows, self.columns.numeric, self.columns.labels)
        keep = ~np.logical_or.reduce(list(bad.values())) if bad else np.ones(len(rows), dtype=np.bool_)
        kept = rows.take(np.flatnonzero(keep)) if bad else rows
        question = self.design.question
        named, codes = combinations_of(kept, question.group)
        sizes = np.bincount(codes, minlength=len(named))
        missing, infinite = Counter[str](), Counter[str]()
        for name in self.columns.features:
            if kept.is_numeric(name):
                values = kept.read_numbers(name)
                if not np.isfinite(values).all():
                    missing[name] += int(np.isnan(values).sum())
                    infinite[name] += int(np.isinf(values).sum())
        return Survey(
            rows=len(rows),
            dropped=int((~keep).sum()),
            lacking=Counter({name: int(flags.sum()) for name, flags in bad.items()}),
            combinations=Counter({one: int(size) for one, size in zip(named, sizes, strict=True)}),
            missing=missing,
            infinite=infinite,
            weights=_weights(kept, question.weight),
            outcomes=few_values(kept, self.design.outcome_columns),
            kinds={name: _kinds(kept.numbers(name), named, codes) for name in self.design.outcome_columns},
            clusters=self._clusters(kept),
        )

    def _clusters(self, rows: Rows) -> Keys:
        question, named = self.design.question, cluster_columns(self.design, self.together)
        if not named:
            return np.empty((3, 0), dtype=np.uint64)
        stratum = [] if question.stratum is None else [question.stratum]
        keys = [self.keying.of(rows, columns) for columns in (named, stratum, question.group)]
        return _distinct(np.stack(keys))


def merge_surveys(one: Survey, other: Survey) -> Survey:
    return Survey(
        rows=one.rows + other.rows,
        dropped=one.dropped + other.dropped,
        lacking=one.lacking + other.lacking,
        combinations=_few(one.combinations + other.combinations),
        missing=one.missing + other.missing,
        infinite=one.infinite + other.infinite,
        weights=np.add(one.weights, other.weights),
        outcomes=merge_values(one.outcomes, other.outcomes),
        kinds={name: _merge_kinds(kinds, other.kinds[name]) for name, kinds in one.kinds.items()},
        clusters=_distinct(np.concatenate([one.clusters, other.clusters], axis=1)),
    )


def _kinds(values: FloatArray, named: Sequence[Combination], codes: IntArray) -> Kinds | None:
    distinct = np.unique(values)
    if len(distinct) > 2:
        return None
    sizes = [np.bincount(codes[values == value], minlength=len(named)).tolist() for value in distinct]
    return {
        float(value): Counter(dict(zip(named, rows, strict=True))) for value, rows in zip(distinct, sizes, strict=True)
    }


def _merge_kinds(one: Kinds | None, other: Kinds | None) -> Kinds | None:
    if one is None or other is None or len({*one, *other}) > 2:
        return None
    return {value: one.get(value, Counter()) + other.get(value, Counter()) for value in sorted({*one, *other})}


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


def _weights(rows: Rows, name: str | None) -> IntArray:
    weights = np.ones(0) if name is None else rows.numbers(name)
    return np.array([(weights < 0).sum(), (weights > 0).sum(), (weights != 1).sum()], dtype=np.int64)


def _distinct(keys: Keys) -> Keys:
    table = pl.DataFrame(dict(zip(("cluster", "stratum", "groups"), keys, strict=True))).unique()
    return np.stack([table[name].to_numpy() for name in table.columns])


@dataclass(frozen=True)
class Surveyed:
    """What the first pass leaves for the next ones.

    Attributes
    ----------
    reading : Reading
    total, rows : int
        Rows in all, and those that are analyzed.
    clusters : Clusters or None
    missing, infinite : Counter
        Values of each numeric column that may be a feature.
    constant : dict
        Outcomes that have but one value, with it.
    combinations : Counter
        Rows of each combination of group levels.
    kinds : dict
        Of each outcome with two values, how often either occurs by combination.
    cautions : tuple of Caution
    """

    reading: Reading
    total: int
    rows: int
    clusters: Clusters | None
    missing: Counter[str]
    infinite: Counter[str]
    constant: dict[str, float]
    combinations: Counter[Combination]
    kinds: dict[str, tuple[Counter[Combination], Counter[Combination]]]
    cautions: tuple[Caution, ...]


def survey(
    engine: Engine, design: Design, columns: Columns, drop_missing: bool, together: tuple[str, ...] = ()
) -> Surveyed:
    """Look at all rows once, and refuse what cannot be used.

    Rows that are the same in the columns `together` are one cluster, where no column of clusters is named.
    """
    keying = Keying(design.question.seed)
    seen = run(engine, Surveying(design, columns, keying, together), columns.read, merge_surveys)
    needed = (*columns.numeric, *columns.labels)
    lacking = {name: seen.lacking[name] for name in needed if seen.lacking[name]}
    check_complete(lacking, seen.dropped, seen.rows, drop_missing)
    cautions = []
    if seen.dropped:
        cautions.append(Caution("dropped", f"{seen.dropped:,} rows with missing or infinite values were dropped."))
    if seen.rows - seen.dropped == 1:
        raise DataError("the data have one row that can be used.", "An audit needs rows to learn from and to test on.")
    cautions += flag_code_cautions(seen.outcomes)
    question = design.question
    named = sorted(seen.combinations)
    counts = np.array([seen.combinations[one] for one in named], dtype=np.int64)
    table = pl.DataFrame({name: [one[c] for one in named] for c, name in enumerate(question.group)})
    read = read_groups(Rows(nw.from_native(table, eager_only=True)), design.groups, counts)
    kept = int(counts[read.keep].sum())
    if kept < counts.sum():
        cautions.append(Caution("groups", f"{counts.sum() - kept:,} rows of other groups are left out."))
    cautions += [Caution(f"group note {i}", note) for i, note in enumerate(read.notes)]
    levels = [attribute.levels for attribute in read.grouping.attributes]
    check_claim(question.claim, levels, [measure.label for measure in question.accuracy])
    reading = Reading(
        design=design,
        numeric=columns.numeric,
        labels=columns.labels,
        attributes=read.grouping.attributes,
        strata={named[j]: int(code) for j, code in zip(read.keep, read.grouping.codes, strict=True)},
        weighted=_check_weights(seen.weights, question.weight),
        clustered=False,
        keying=keying,
        together=together,
        complete=not seen.dropped,
    )
    clusters = None
    if question.cluster is not None or together:
        clusters, spanning = _check_clusters(seen.clusters, question.cluster or EQUAL_ROWS)
        cautions += spanning
        if len(clusters) == kept:  # clusters of one row each are rows
            clusters = None
        reading = replace(reading, clustered=clusters is not None)
    constant = {name: next(iter(values)) for name, values in seen.outcomes.items() if len(values) == 1}
    if question.lower_is_better and set(seen.outcomes[question.outcome]) == {0.0, 1.0}:
        raise OptionError(
            f"outcome '{question.outcome}' has two values, and `lower_is_better` is for amounts.",
            f"Say which value should be selected, `positive={{{question.outcome!r}: 0}}`, and leave out "
            "`lower_is_better`.",
        )
    two = {name: list(kinds.values()) for name, kinds in seen.kinds.items() if kinds is not None and len(kinds) == 2}
    return Surveyed(
        reading=reading,
        total=seen.rows,
        rows=kept,
        clusters=clusters,
        missing=seen.missing,
        infinite=seen.infinite,
        constant=constant,
        combinations=seen.combinations,
        kinds={name: (kinds[0], kinds[1]) for name, kinds in two.items()},
        cautions=tuple(cautions),
    )


def _check_weights(weights: IntArray, name: str | None) -> bool:
    """Refuse weights that mean nothing; say whether some are other than one."""
    if name is None:
        return False
    negative, positive, other = weights.tolist()
    if negative:
        raise DataError(f"{negative:,} weights in '{name}' are negative.", "Weights are zero or more.")
    if not positive:
        raise DataError(f"the weights in '{name}' are all zero.", "Some rows must count.")
    return bool(other > 0)


def _check_clusters(keys: Keys, name: str) -> tuple[Clusters, list[Caution]]:
    distinct, first, groups = np.unique(keys[0], return_index=True, return_counts=True)
    _, strata = np.unique(keys[1][first], return_inverse=True)
    clusters = Clusters(distinct, strata.astype(np.int64))
    lonely = int((np.bincount(clusters.strata) == 1).sum())
    if lonely and clusters.strata.any():
        raise DataError(
            f"{lonely:,} strata have only one cluster, so its variance cannot be estimated.",
            "Merge each with a similar stratum.",
        )
    total, spanning = len(distinct), int((groups > 1).sum())
    if total < FEWEST_CLUSTERS:
        raise DataError(
            f"'{name}' has {total} clusters.", f"Resampling whole clusters needs at least {FEWEST_CLUSTERS}, better 30."
        )
    if not spanning:
        return clusters, []
    text = (
        f"{spanning:,} of {total:,} clusters in '{name}' have rows of several groups; "
        "each row counts for its own group, and the cluster is kept and resampled as a whole."
    )
    return clusters, [Caution("spanning", text)]
