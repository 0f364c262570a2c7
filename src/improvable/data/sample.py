"""Validated rows with everything that the design reads of them: groups, outcomes, weights, clusters."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import narwhals as nw
import numpy as np

from improvable.algorithms.deciding import Algorithm, Threshold, columns_read
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.frames import Rows, canonical_order, identities, keep_complete
from improvable.data.groups import Grouping, read_groups
from improvable.errors import Caution, DataError
from improvable.question.claim import check_claim
from improvable.question.design import Design

FEWEST_CLUSTERS = 10


@dataclass(frozen=True)
class Sample:
    """Rows that are fit to be analysed.

    Attributes
    ----------
    rows : Rows
    grouping : Grouping
    outcomes : dict
        From a utility's outcome column (None for the audit's own) to its values.
    weights : array or None
    clusters : array or None
        Which cluster each row belongs to.
    """

    rows: Rows
    grouping: Grouping
    outcomes: dict[str | None, FloatArray]
    weights: FloatArray | None = None
    clusters: IntArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def backend(self) -> nw.Implementation:
        backend: nw.Implementation = self.rows.frame.implementation
        return backend

    @property
    def units(self) -> int:
        """What is split and resampled: clusters, or rows."""
        return len(self) if self.clusters is None else int(self.clusters.max()) + 1

    def take(self, index: IntArray) -> "Sample":
        """Some of the rows; clusters are numbered anew."""
        clusters = None
        if self.clusters is not None:
            _, codes = np.unique(self.clusters[index], return_inverse=True)
            clusters = codes.astype(np.int64)
        return Sample(
            self.rows.take(index),
            self.grouping.take(index),
            {name: values[index] for name, values in self.outcomes.items()},
            None if self.weights is None else self.weights[index],
            clusters,
        )


def make_sample(
    rows: Rows,
    design: Design,
    algorithms: Sequence[Algorithm | Threshold],
    numeric: Sequence[str],
    drop_missing: bool,
    order_by: Sequence[Sequence[str]] = (),
) -> tuple[Sample, list[Caution]]:
    """Refuse or drop what cannot be used, and read the columns.

    Parameters
    ----------
    numeric : sequence of str
        Further columns that must hold complete numbers.
    order_by : sequence of sequences of str
        Columns by whose content to order the rows, the first ones first; none leaves them as they are.
    """
    question = design.question
    needed = [*design.outcome_columns, *numeric]
    for algorithm in algorithms:
        columns, features = columns_read(algorithm)
        rows.require([*columns, *features])
        needed += columns
    if question.weight is not None:
        needed.append(question.weight)
    rows, dropped = keep_complete(rows, needed, design.label_columns, drop_missing)
    cautions = []
    if dropped:
        cautions.append(Caution("dropped", f"{dropped:,} rows with missing or infinite values were dropped."))
    reading = read_groups(rows, design.groups)
    left_out = len(rows) - len(reading.keep)
    if left_out:
        cautions.append(Caution("groups", f"{left_out:,} rows of other groups are left out."))
        rows = rows.take(reading.keep)
    cautions += [Caution(f"group note {i}", note) for i, note in enumerate(reading.notes)]
    check_claim(question.claim, [attribute.levels for attribute in reading.grouping.attributes])
    grouping = reading.grouping
    if order_by:
        order = canonical_order(rows, *order_by)
        rows, grouping = rows.take(order), grouping.take(order)
    outcomes: dict[str | None, FloatArray] = {None: rows.numbers(question.outcome)}
    for utility in design.utilities:
        if utility.outcome is not None:
            outcomes[utility.outcome] = rows.numbers(utility.outcome)
    sample = Sample(rows, grouping, outcomes, _weights(rows, question.weight))
    if question.cluster is not None:
        clusters = identities(rows, question.cluster)
        sample = replace(sample, clusters=_clusters(clusters, question.cluster))
        cautions += _spanning(clusters, grouping, question.cluster)
    return sample, cautions


def _weights(rows: Rows, name: str | None) -> FloatArray | None:
    """Row weights; weights that are all one are no weights."""
    if name is None:
        return None
    weights = rows.numbers(name)
    if (weights < 0).any():
        raise DataError(f"{int((weights < 0).sum()):,} weights in '{name}' are negative.", "Weights are zero or more.")
    if not weights.any():
        raise DataError(f"the weights in '{name}' are all zero.", "Some rows must count.")
    return None if (weights == 1).all() else weights


def _clusters(clusters: IntArray, name: str) -> IntArray | None:
    """Clusters of one row each are rows."""
    total = int(clusters.max()) + 1
    if total < FEWEST_CLUSTERS:
        raise DataError(
            f"'{name}' has {total} clusters.", f"Resampling whole clusters needs at least {FEWEST_CLUSTERS}, better 30."
        )
    return None if total == len(clusters) else clusters


def _spanning(clusters: IntArray, grouping: Grouping, name: str) -> list[Caution]:
    """Say what is done with clusters that have rows of several groups."""
    pairs = np.unique(np.stack([clusters, grouping.codes]), axis=1)[0]
    spanning = int((np.bincount(pairs) > 1).sum())
    if not spanning:
        return []
    text = (
        f"{spanning:,} of {int(clusters.max()) + 1:,} clusters in '{name}' have rows of several groups; "
        "each row counts for its own group, and the cluster is split and resampled as a whole."
    )
    return [Caution("spanning", text)]
