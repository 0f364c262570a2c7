"""One sample audited by either scheme: through `audit`, and by a fast path whose
p-values are the same to the last bit.

The fast path divides rows, counts contributions, draws and tests by the package's own
functions, and leaves out all that an audit does besides. It takes rules that are
functions of this study.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable._typing import BoolArray, FloatArray, IntArray
from improvable.data.frame import read_rows
from improvable.data.groups import Attribute
from improvable.data.keys import Keys
from improvable.inference.cells import Cells, RowsInClusters, count, pool_clusters
from improvable.inference.corrections import prepare
from improvable.inference.evidence import Evidence
from improvable.inference.test import assess, lower_median
from improvable.procedure.run import run_audit
from improvable.procedure.split import (
    DRAWING,
    Splitting,
    forward_cuts,
    make_splitting,
    seed_of,
)
from improvable.question.claim import Claim
from improvable.question.settings import Scheme, Settings
from improvable.question.utility import Measure
from improvable.results.audit import Audit
from validity.learning import Learning, Rule, Table
from validity.study import ALPHA

REPETITIONS = 7
SCHEMES: tuple[Scheme, ...] = ("forward", "split")


@dataclass(frozen=True)
class Learned:
    """A rule of this study as the package takes it."""

    rule: Rule
    features: tuple[str, ...]
    levels: tuple[str, ...]
    capacity: float | None = None
    name: str = "learned"

    def select(self, training: Any, status_quo: Any) -> Any:
        columns = ("row", "group", "outcome", "score")
        rows = training.rows.native([*columns, *self.features]).sort("row")
        row, group, outcome, score = (rows[name].to_numpy() for name in columns)
        codes = np.searchsorted(self.levels, group.astype(str))
        features = rows[self.features].to_numpy()
        scores = self.rule(
            Table(row, codes, outcome.astype(np.float64), features, score)
        )
        cutoff = (
            0.0
            if self.capacity is None
            else float(np.quantile(scores(features), 1 - self.capacity))
        )
        return improvable.threshold(
            lambda frame: scores(frame[self.features].to_numpy()), above=cutoff
        )


def audit_of(
    case: Learning, table: Table, scheme: Scheme, seed: int, draws: int, **options: Any
) -> Audit:
    """The audit of a sample, through the package."""
    names = tuple(f"x{j}" for j in range(table.features.shape[1]))
    columns: dict[str, Any] = {
        "row": table.row,
        "group": np.array(case.names())[table.group],
        "outcome": table.outcome
        if case.utility == "calibration"
        else table.outcome.astype(np.int64),
        "score": table.score,
        **dict(zip(names, table.features.T, strict=True)),
    }
    design = {
        name: name
        for name in ("weight", "cluster", "stratum")
        if getattr(table, name) is not None
    }
    columns |= {name: getattr(table, name) for name in design}
    cutoff: dict[str, Any] = (
        {"above": 0.0} if case.capacity is None else {"capacity": case.capacity}
    )
    settings = Settings(
        outcome="outcome",
        group="group",
        status_quo={"score": "score", **cutoff},
        rule=case.rule
        if isinstance(case.rule, str)
        else Learned(case.rule, names, case.names(), case.capacity),
        features=names,
        accuracy=case.utility,
        ask=case.ask,
        scheme=scheme,
        draws=draws,
        seed=seed,
        row_id="row",
        direction="as stated",
        **{"repetitions": REPETITIONS, **design, **dict(case.options), **options},
    )
    return run_audit(pl.DataFrame(columns), settings, n_jobs=1, progress=False)


def cuts_of(case: Learning, table: Table, scheme: Scheme) -> tuple[float, ...]:
    """Where blocks end; what the first must hold to teach is counted here as the
    package counts it.
    """
    if scheme == "split":
        return (0.5,)
    needs = [100 / len(table)]
    if table.cluster is not None:
        needs.append(10 / len(np.unique(table.cluster)))
    if case.capacity is not None:
        needs.append(10 / min(case.capacity, 1 - case.capacity) / len(table))
    for outcome in (
        table.outcome[table.group == group] for group in range(case.groups)
    ):
        needs.append(30 / len(outcome))
        if np.isin(outcome, (0, 1)).all():
            needs.append(10 / min(np.sum(outcome == 0), np.sum(outcome == 1)))
    return forward_cuts(max(needs), "small data").ends


@dataclass(frozen=True)
class Round:
    """What one repetition has tested.

    Attributes
    ----------
    evidence : Evidence
    trained : list of arrays of bool
        By block, the rows that its candidate learned from.
    weights : array of float
        The share of the tested rows that each block has, in expectation.
    """

    evidence: Evidence
    trained: list[BoolArray]
    weights: FloatArray


def rounds_of(
    case: Learning,
    table: Table,
    scheme: Scheme,
    seed: int,
    draws: int,
    repetitions: int = REPETITIONS,
) -> Iterator[Round]:
    """Every repetition of an audit, by the fast path."""
    splitting = make_splitting(seed, cuts_of(case, table, scheme), "row", ())
    keys = _keys(table, splitting)
    for repetition in range(1, repetitions + 1):
        places = splitting.places(keys, repetition)
        tested, trained, parts = [], [], []
        for part in splitting.parts([repetition]):
            train, test = splitting.trains(places, part), splitting.tests(places, part)
            parts.append(contributed(case, table.take(train), table.take(test)))
            tested.append(np.flatnonzero(test))
            trained.append(train)
        rows, vectors = (
            np.concatenate(tested),
            np.concatenate([some for some, _ in parts]),
        )
        reference = parts[0][1] if scheme == "split" else None
        evidence = evidence_of(
            case,
            table,
            rows,
            vectors,
            reference,
            seed_of(seed, repetition, DRAWING),
            draws,
        )
        yield Round(evidence, trained, splitting.weights)


def p_values_of(
    case: Learning,
    table: Table,
    scheme: Scheme,
    seed: int,
    draws: int,
    repetitions: int = REPETITIONS,
) -> list[float]:
    """The p-value of every repetition, by the fast path."""
    claim = Claim(ask=case.ask)
    rounds = rounds_of(case, table, scheme, seed, draws, repetitions)
    return [assess(one.evidence, claim).p_value for one in rounds]


def summarized(p_values: Mapping[Scheme, Sequence[float]]) -> dict[str, float]:
    """By scheme, the lower median, and which share of the repetitions would reject at
    5% if each were the only one.
    """
    out: dict[str, float] = {}
    for scheme, some in p_values.items():
        out[scheme] = float(lower_median(some))
        out[f"{scheme}, one"] = float(np.mean(np.array(some) < ALPHA))
    return out


def found_by(audits: Mapping[Scheme, Audit]) -> dict[str, float]:
    """What audits of one sample by either scheme find."""
    return summarized(
        {
            scheme: [one.p_value for one in audit.repetitions]
            for scheme, audit in audits.items()
        }
    )


def _keys(table: Table, splitting: Splitting) -> Keys:
    """The keys by which rows, or clusters, are ordered."""
    column = "row" if table.cluster is None else "cluster"
    return splitting.keying.of(
        read_rows(pl.DataFrame({column: getattr(table, column)})), [column]
    )


def contributed(
    case: Learning, train: Table, test: Table
) -> tuple[FloatArray, FloatArray]:
    """What test rows contribute, (rows, 4), and the status quo's sums on the training
    rows, (groups, 1, 2).
    """
    scores = case.rule(train)
    cutoffs = [0.0, 0.0]
    if case.capacity is not None:
        cutoffs = [
            float(np.quantile(one, 1 - case.capacity))
            for one in (train.score, scores(train.features))
        ]
    decided = [
        one > cutoff
        for one, cutoff in zip(
            (test.score, scores(test.features)), cutoffs, strict=True
        )
    ]
    sums = np.zeros((case.groups, 1, 2))
    np.add.at(sums[:, 0], train.group, _parts(case, train, train.score > cutoffs[0]))
    return np.hstack([_parts(case, test, one) for one in decided]), sums


def _parts(case: Learning, table: Table, decided: BoolArray) -> FloatArray:
    """u and w of every row."""
    if case.utility == "calibration":
        parts = np.stack([decided * table.outcome, decided.astype(np.float64)], axis=1)
    else:
        parts = np.stack(
            [(decided == (table.outcome > 0)).astype(np.float64), np.ones(len(table))],
            axis=1,
        )
    return parts if table.weight is None else parts * table.weight[:, None]


def evidence_of(
    case: Learning,
    table: Table,
    rows: IntArray,
    vectors: FloatArray,
    reference: FloatArray | None,
    seed: np.random.SeedSequence,
    draws: int,
) -> Evidence:
    """What an audit has of the tested rows; `reference` None where the pair of groups
    is chosen on them.
    """
    shape, group = (case.groups, 1, 2, 2), table.group[rows]
    in_clusters = None
    if table.cluster is None:
        cells = count(vectors, group, case.groups)
    else:
        _, codes = np.unique(table.cluster[rows], return_inverse=True)
        codes = codes.astype(np.int64)
        pooled = pool_clusters(vectors, group, codes, case.groups)
        cells = count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)
        order = np.argsort(group, kind="stable")
        single = Cells(
            vectors[order],
            group[order],
            np.ones(len(order), dtype=np.int64),
            0,
            case.groups,
        )
        in_clusters = RowsInClusters(
            single, codes[order], np.zeros(len(order), dtype=np.int64)
        )
    sums = cells.sums().reshape(shape)
    evidence = Evidence(
        attributes=(Attribute("group", case.names(), np.arange(case.groups)),),
        measures=(Measure(case.utility, "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=np.empty((0, *shape)),
        training=sums[:, :, 0] if reference is None else reference,
        units=cells.rows,
        chosen_here=reference is None,
    )
    drawable = prepare(
        evidence, Claim(ask=case.ask), [cells], table.cluster is not None, in_clusters
    )
    return replace(
        evidence, draws=drawable.draw(sums, draws, seed), linear=drawable.linear
    )
