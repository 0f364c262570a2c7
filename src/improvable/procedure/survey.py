"""The first pass: how many rows there are, which groups and clusters, and what is
missing.
"""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

import narwhals as nw
import numpy as np
import polars as pl

from improvable._typing import BoolArray, IntArray
from improvable.data.columns import Columns
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.frame import Rows, incomplete
from improvable.data.groups import MAX_LEVELS, read_groups
from improvable.data.keys import Keying, Keys
from improvable.data.probabilities import NAME, Membership
from improvable.data.quality import Seen, few_values, flag_code_cautions, merge_values
from improvable.data.sample import (
    Combination,
    Reading,
    cluster_columns,
    combinations_of,
)
from improvable.errors import PROBABILITIES, UNKNOWN, Caution, DataError, OptionError
from improvable.inference.tally import PARTS, Clusters
from improvable.procedure.membership import fit_membership
from improvable.question.claim import check_claim
from improvable.question.design import ASSUMED, Design

MIN_CLUSTERS = 10

# how often an outcome's values occur in each combination of group levels
Kinds = dict[float, Counter[Combination]]


@dataclass(frozen=True)
class Survey:
    """Counts of one batch, or of several together."""

    rows: int
    dropped: int  # rows with a missing value in a needed column
    lacking: Counter[str]  # missing or infinite values of each needed column
    # complete rows of each combination of group levels; where groups are known by
    # probability, expected ones
    combinations: Counter[Combination]
    missing: Counter[str]  # of each numeric column that may be a feature
    infinite: Counter[str]
    weights: IntArray  # how many are negative, above zero, and other than one
    outcomes: Seen  # the values of each outcome, as long as they are few
    kinds: dict[str, Kinds | None]  # by outcome; None where it has more than two values
    # distinct triples (cluster, stratum, combination of groups), shape (3, triples)
    clusters: Keys
    members: int  # complete rows that may be in some group


def _survey_batch(
    rows: Rows,
    design: Design,
    columns: Columns,
    keying: Keying,
    together: tuple[str, ...] = (),
    membership: Membership | None = None,
) -> Survey:
    bad = incomplete(rows, columns.numeric, columns.labels)
    keep = (
        ~np.logical_or.reduce(list(bad.values()))
        if bad
        else np.ones(len(rows), dtype=np.bool_)
    )
    kept = rows.take(np.flatnonzero(keep)) if bad else rows
    question = design.question
    everyone, members, by_group = (
        np.ones(len(kept), dtype=np.bool_),
        len(kept),
        question.group,
    )
    if membership is None:
        named, codes = combinations_of(kept, question.group)
    else:
        shares, by_group = membership.shares(kept), ()
        named, members = (
            [(name,) for name in membership.groups],
            int(shares.any(axis=1).sum()),
        )

    def by_combination(which: BoolArray) -> Counter[Combination]:
        if membership is not None:
            counts = np.rint(PARTS * shares[which]).sum(axis=0).astype(np.int64)
        else:
            counts = np.bincount(codes[which], minlength=len(named))
        return Counter(dict(zip(named, counts.tolist(), strict=True)))

    missing, infinite = Counter[str](), Counter[str]()
    for name in columns.features:
        if kept.is_numeric(name):
            values = kept.read_numbers(name)
            if not np.isfinite(values).all():
                missing[name] += int(np.isnan(values).sum())
                infinite[name] += int(np.isinf(values).sum())
    kinds: dict[str, Kinds | None] = {}
    for name in design.outcome_columns:
        values = kept.numbers(name)
        distinct = np.unique(values[~np.isnan(values)])  # some may be unknown
        few = len(distinct) <= 2
        kinds[name] = (
            {float(one): by_combination(values == one) for one in distinct}
            if few
            else None
        )
    weights = np.ones(0) if question.weight is None else kept.numbers(question.weight)
    clusters = np.empty((3, 0), dtype=np.uint64)
    if clustered := cluster_columns(design, together):
        stratum = [] if question.stratum is None else [question.stratum]
        clusters = _distinct(
            np.stack(
                [keying.of(kept, names) for names in (clustered, stratum, by_group)]
            )
        )
    return Survey(
        rows=len(rows),
        dropped=int((~keep).sum()),
        lacking=Counter({name: int(flags.sum()) for name, flags in bad.items()}),
        combinations=by_combination(everyone),
        missing=missing,
        infinite=infinite,
        weights=np.array(
            [(weights < 0).sum(), (weights > 0).sum(), (weights != 1).sum()],
            dtype=np.int64,
        ),
        outcomes=few_values(kept, design.outcome_columns),
        kinds=kinds,
        clusters=clusters,
        members=members,
    )


def merge_surveys(one: Survey, other: Survey) -> Survey:
    combinations = one.combinations + other.combinations
    for levels in map(set, zip(*combinations, strict=True)):  # of each group column
        # refused here: the levels of a wrong column need not fit into memory
        if len(levels) > MAX_LEVELS:
            raise DataError(
                (
                    f"a group column has more than {MAX_LEVELS} levels, such as "
                    f"'{min(levels)}'."
                ),
                "Name the column that says which group a row belongs to.",
            )
    sums = ("rows", "dropped", "lacking", "missing", "infinite", "weights", "members")
    return Survey(
        **{name: getattr(one, name) + getattr(other, name) for name in sums},
        combinations=combinations,
        outcomes=merge_values(one.outcomes, other.outcomes),
        kinds={
            name: _merge_kinds(kinds, other.kinds[name])
            for name, kinds in one.kinds.items()
        },
        clusters=_distinct(np.concatenate([one.clusters, other.clusters], axis=1)),
    )


def _expected(seen: Survey) -> Survey:
    """Expected numbers of rows, at least one, from sums of probabilities in parts."""

    def whole(counts: Counter[Combination], least: int) -> Counter[Combination]:
        return Counter(
            {
                one: max(least, (total + PARTS // 2) // PARTS)
                for one, total in counts.items()
            }
        )

    kinds = {
        name: None if one is None else {v: whole(c, 0) for v, c in one.items()}
        for name, one in seen.kinds.items()
    }
    return replace(seen, combinations=whole(seen.combinations, 1), kinds=kinds)


def _merge_kinds(one: Kinds | None, other: Kinds | None) -> Kinds | None:
    if one is None or other is None or len({*one, *other}) > 2:
        return None
    return {
        value: one.get(value, Counter()) + other.get(value, Counter())
        for value in sorted({*one, *other})
    }


def _distinct(keys: Keys) -> Keys:
    table = pl.DataFrame(
        dict(zip(("cluster", "stratum", "groups"), keys, strict=True))
    ).unique()
    return np.stack([table[name].to_numpy() for name in table.columns])


@dataclass(frozen=True)
class Surveyed:
    """What the first pass leaves for the next ones."""

    seen: Survey
    reading: Reading
    rows: int  # those that are analyzed
    clusters: Clusters | None
    cautions: tuple[Caution, ...]

    @property
    def constant(self) -> dict[str, float]:
        """Outcomes with a single value, and that value."""
        return {
            name: next(iter(values))
            for name, values in self.seen.outcomes.items()
            if len(values) == 1
        }


def survey(
    engine: Engine,
    design: Design,
    columns: Columns,
    drop_missing: bool,
    together: tuple[str, ...] = (),
) -> Surveyed:
    """Look at all rows once; those that agree in the columns `together` form a cluster,
    unless one is named.
    """
    question, keying = design.question, Keying(design.question.seed)
    membership = fit_membership(engine, design, columns)
    how = partial(_survey_batch, design=design, columns=columns, keying=keying)
    seen = run(
        engine,
        partial(how, together=together, membership=membership),
        columns.read,
        merge_surveys,
    )
    if membership is not None:
        seen = _expected(seen)
    needed = (*columns.numeric, *columns.labels)
    lacking = [
        f"{seen.lacking[name]:,} in '{name}'"
        for name in dict.fromkeys(needed)
        if seen.lacking[name]
    ]
    if lacking and not drop_missing:
        hint = "Fix them, or drop those rows with `drop_missing=True`."
        if seen.lacking[question.outcome] and question.unknown_outcomes is None:
            hint += (
                " Where only those whom the status quo selects have outcomes, dropping "
                "others biases every mean: "
            )
            hint += "say by how much they may differ, `unknown_outcomes=0.1`."
        raise DataError(f"missing or infinite values: {', '.join(lacking)}.", hint)
    if seen.dropped == seen.rows:
        raise DataError(
            "every row has a missing or infinite value in a needed column.",
            "Check the columns named.",
        )
    cautions = []
    if seen.dropped:
        cautions.append(
            Caution(
                "dropped",
                f"{seen.dropped:,} rows with missing or infinite values were dropped.",
            )
        )
    if seen.rows - seen.dropped == 1:
        raise DataError(
            "the data have one row that can be used.",
            "An audit needs rows to learn from and to test on.",
        )
    cautions += flag_code_cautions(seen.outcomes)

    named = sorted(seen.combinations)
    counts = np.array([seen.combinations[one] for one in named], dtype=np.int64)
    by = question.group if membership is None else (NAME,)
    table = pl.DataFrame({name: [one[c] for one in named] for c, name in enumerate(by)})
    groups = read_groups(
        Rows(nw.from_native(table, eager_only=True)),
        replace(design.groups, columns=by),
        counts,
    )
    kept = int(counts[groups.keep].sum()) if membership is None else seen.members
    if kept < seen.rows - seen.dropped:
        cautions.append(
            Caution(
                "groups",
                (
                    f"{seen.rows - seen.dropped - kept:,} rows of other groups are "
                    "left out."
                ),
            )
        )
    cautions += [
        Caution(f"group note {i}", note) for i, note in enumerate(groups.notes)
    ]
    if membership is not None and membership.estimators and question.assume is not None:
        cautions.append(
            Caution(
                PROBABILITIES,
                f"groups are known by probability only. {ASSUMED[question.assume]}",
            )
        )
    if question.unknown_outcomes is not None:
        assumed = (
            f"by at most {question.unknown_outcomes:g} from that of others with the "
            "same features"
        )
        cautions.append(
            Caution(
                UNKNOWN,
                (
                    f"where '{question.outcome}' is unknown, its mean is assumed to "
                    f"differ {assumed}."
                ),
            )
        )
    attributes = groups.grouping.attributes
    check_claim(question.claim, [attribute.levels for attribute in attributes])
    if question.lower_is_better and set(seen.outcomes[question.outcome]) == {0.0, 1.0}:
        raise OptionError(
            (
                f"outcome '{question.outcome}' has two values, and `lower_is_better` "
                "is for amounts."
            ),
            (
                "Say which value should be selected, "
                f"`positive={{{question.outcome!r}: 0}}`, and leave out "
                "`lower_is_better`."
            ),
        )
    negative, positive, other = seen.weights.tolist()
    if negative:
        raise DataError(
            f"{negative:,} weights in '{question.weight}' are negative.",
            "Weights are zero or more.",
        )
    if question.weight is not None and not positive:
        raise DataError(
            f"all weights in '{question.weight}' are zero.",
            "At least one must be positive.",
        )
    reading = Reading(
        design=design,
        numeric=columns.numeric,
        labels=columns.labels,
        attributes=attributes,
        strata={
            named[j]: int(code)
            for j, code in zip(groups.keep, groups.grouping.codes, strict=True)
        },
        weighted=other > 0,
        clustered=False,
        keying=keying,
        together=together,
        complete=not seen.dropped,
        membership=membership,
        ends=question.outcome_range
        or ((0.0, 1.0) if set(seen.outcomes[question.outcome]) <= {0.0, 1.0} else None),
    )
    clusters = None
    if question.cluster is not None or together:
        clusters, spanning = _check_clusters(
            seen.clusters, question.cluster or "equal rows"
        )
        cautions += spanning
        if len(clusters) == kept:  # clusters of one row each are rows
            clusters = None
        reading = replace(reading, clustered=clusters is not None)
    return Surveyed(seen, reading, kept, clusters, tuple(cautions))


def _check_clusters(keys: Keys, name: str) -> tuple[Clusters, list[Caution]]:
    distinct, first, groups = np.unique(keys[0], return_index=True, return_counts=True)
    _, strata = np.unique(keys[1][first], return_inverse=True)
    clusters = Clusters(distinct, strata.astype(np.int64))
    lonely = int((np.bincount(clusters.strata) == 1).sum())
    if lonely and clusters.strata.any():
        raise DataError(
            (
                f"{lonely:,} strata have only one cluster, so its variance cannot be "
                "estimated."
            ),
            "Merge each with a similar stratum.",
        )
    total, spanning = len(distinct), int((groups > 1).sum())
    if total < MIN_CLUSTERS:
        hint = f"Resampling whole clusters needs at least {MIN_CLUSTERS}, better 30."
        raise DataError(f"'{name}' has {total} clusters.", hint)
    text = (
        f"{spanning:,} of {total:,} clusters in '{name}' have rows of several groups; "
        "each row counts for its own group, and the cluster is kept and resampled as a "
        "whole."
    )
    return clusters, [Caution("spanning", text)] if spanning else []
