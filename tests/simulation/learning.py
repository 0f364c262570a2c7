"""Rules that learn, in populations whose truth is known: the paper's split beside folds, by a fast path.

Rules are a few lines of NumPy, so that thousands of audits can be run. Rows are divided, contributions counted, drawn
and tested by the package's own functions, and p-values are those of `audit` to the last bit
(`test_the_fast_path_equals_audit_of_a_rule_that_learns`).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.frames import read_rows
from improvable.data.groups import Attribute
from improvable.data.keys import Keys
from improvable.inference.assessment import assess
from improvable.inference.cells import Cells, count, pool_clusters
from improvable.inference.combining import lower_median
from improvable.inference.drawing import draw_clusters, draw_rows
from improvable.inference.evidence import Evidence
from improvable.inference.reliability import reliability_cautions
from improvable.procedure.splitting import DRAWING, Part, Splitting, make_splitting, seed_of
from improvable.question.claim import Claim
from improvable.question.utilities import Measure

REPETITIONS = 7
Decide = Callable[[FloatArray], FloatArray]
"""From features, or scores, to 0/1 decisions."""


@dataclass(frozen=True)
class Table:
    """Rows.

    Attributes
    ----------
    group : array of int
    outcome : array
    features : array of shape (rows, features)
    score : array
        The status quo selects above a cutoff: zero, or what its capacity makes of the training rows.
    weight : array, optional
    cluster : array of int, optional
    """

    group: IntArray
    outcome: FloatArray
    features: FloatArray
    score: FloatArray
    weight: FloatArray | None = None
    cluster: IntArray | None = None

    def __len__(self) -> int:
        return len(self.group)


Rule = Callable[[FloatArray, FloatArray], Decide]
"""From features and outcomes of training rows to scores of other rows."""


@dataclass(frozen=True)
class Learning:
    """A population with the rule that learns from it.

    Attributes
    ----------
    name, words : str
    draw : callable
        From a generator and a number of rows to a table.
    rule : Rule
    rows, groups : int
    capacity : float or None
        The share that either algorithm selects; utilities are then calibration utilities, else classification rates.
    """

    name: str
    words: str
    draw: Callable[[np.random.Generator, int], Table]
    rule: Rule
    rows: int = 600
    groups: int = 2
    capacity: float | None = None

    def names(self) -> tuple[str, ...]:
        return tuple("abcdefghij"[: self.groups])


def least_squares(features: FloatArray, outcome: FloatArray) -> Decide:
    mean = features.mean(axis=0)
    gram = (features - mean).T @ (features - mean) + 1e-9 * np.eye(features.shape[1])
    slope = np.linalg.solve(gram, (features - mean).T @ (outcome - outcome.mean()))
    return lambda rows: (rows - mean) @ slope + outcome.mean() - 0.5


def best_of_sixty(features: FloatArray, outcome: FloatArray) -> Decide:
    """Of sixty fixed directions, the one that is right most often on the training rows."""
    directions = np.random.default_rng(60).normal(size=(features.shape[1], 60))
    right = ((features @ directions > 0) == (outcome[:, None] > 0)).sum(axis=0)
    best = directions[:, int(np.argmax(right))]
    return lambda rows: rows @ best


def nearest_neighbor(features: FloatArray, outcome: FloatArray) -> Decide:
    """The outcome of the training row that is nearest: a rule that memorizes."""
    squares = (features**2).sum(axis=1)
    return lambda rows: outcome[np.argmin(squares - 2 * rows @ features.T, axis=1)] - 0.5


def parity(features: FloatArray, outcome: FloatArray) -> Decide:
    """One direction or its opposite, by whether the number of ones is even: one row turns every decision around."""
    sign = 1.0 if int(outcome.sum()) % 2 == 0 else -1.0
    return lambda rows: np.where(rows[:, -1] > 0, 1.0, np.where(rows[:, 0] * sign > 0, 1.0, -1.0))


def forest(features: FloatArray, outcome: FloatArray) -> Decide:
    from sklearn.ensemble import RandomForestRegressor

    model = RandomForestRegressor(20, min_samples_leaf=5, max_features=1 / 3, random_state=0)
    model.fit(features, outcome)
    return lambda rows: np.asarray(model.predict(rows) - 0.5, dtype=np.float64)


Signal = Sequence[float]


def classes(signal: Signal, right: Signal, features: int = 3, twins: bool = False) -> Callable[..., Table]:
    """The sign of the sum of two features tells the outcome with a group's `signal`; the status quo knows by itself.

    Where `twins`, every row of features is there twice, with an outcome of its own.
    """

    def draw(rng: np.random.Generator, rows: int) -> Table:
        half = rows // 2 if twins else rows
        group, x = rng.integers(0, len(signal), half), rng.normal(size=(half, features))
        if twins:
            group, x = np.tile(group, 2), np.tile(x, (2, 1))
        told = x[:, 0] + x[:, 1] > 0
        outcome = np.where(rng.random(len(x)) < np.array(signal)[group], told, ~told).astype(np.float64)
        knows = rng.random(len(x)) < np.array(right)[group]
        score = np.where(knows, outcome, 1 - outcome) - 0.5
        return Table(group, outcome, x, score)

    return draw


def in_clusters(signal: Signal, right: Signal, size: int = 10) -> Callable[..., Table]:
    """The rows of a cluster share their features, and how often outcomes are one."""

    def draw(rng: np.random.Generator, rows: int) -> Table:
        cluster = np.arange(rows) // size
        group = rng.integers(0, 2, rows)
        x = rng.normal(size=(rows // size + 1, 3))[cluster]
        shift = rng.choice([-0.2, 0.2], rows // size + 1)[cluster]
        told = x[:, 0] + x[:, 1] > 0
        sure = np.array(signal)[group]
        one = np.where(told, sure, 1 - sure) + shift * (sure == 0.5)
        outcome = (rng.random(rows) < one).astype(np.float64)
        knows = rng.random(rows) < np.array(right)[group]
        return Table(group, outcome, x, np.where(knows, outcome, 1 - outcome) - 0.5, cluster=cluster)

    return draw


def with_weights(signal: Signal, right: Signal) -> Callable[..., Table]:
    """Weights between one and four that have nothing to do with outcomes."""

    def draw(rng: np.random.Generator, rows: int) -> Table:
        table = classes(signal, right)(rng, rows)
        return replace(table, weight=rng.choice([1.0, 2.0, 4.0], rows))

    return draw


def counts(rng: np.random.Generator, rows: int) -> Table:
    """Counts: in group a nothing tells them, in b the features do and the status quo selects the lowest."""
    group, x = rng.integers(0, 2, rows), rng.normal(size=(rows, 3))
    lean = (x[:, 0] + x[:, 1]) / 2**0.5
    mean = np.where(group == 0, 5.0, np.clip(2.5 + lean, 0.1, None))
    return Table(group, rng.poisson(mean).astype(np.float64), x, np.where(group == 0, rng.normal(size=rows), -lean))


def divided(table: Table, splitting: Splitting) -> Keys:
    """The keys by which rows, or clusters, are divided."""
    column = "row" if table.cluster is None else "cluster"
    values = np.arange(len(table)) if table.cluster is None else table.cluster
    return splitting.keying.of(read_rows(pl.DataFrame({column: values})), [column])


def contributed(case: Learning, table: Table, train: BoolArray, test: BoolArray) -> tuple[FloatArray, FloatArray]:
    """What test rows contribute, (rows, 4), and the status quo's sums on the training rows, (groups, 1, 2)."""
    scores = case.rule(table.features[train], table.outcome[train])
    decisions = []
    for learned, new in (
        (table.score[train], table.score[test]),
        (scores(table.features[train]) if case.capacity else None, scores(table.features[test])),
    ):
        cutoff = 0.0 if case.capacity is None or learned is None else np.quantile(learned, 1 - case.capacity)
        decisions.append(((new > cutoff).astype(np.float64), cutoff))
    vectors = [_parts(case, table, test, decided) for decided, _ in decisions]
    before = _parts(case, table, train, (table.score[train] > decisions[0][1]).astype(np.float64))
    sums = np.zeros((case.groups, 1, 2))
    np.add.at(sums[:, 0], table.group[train], before)
    return np.hstack(vectors), sums


def _parts(case: Learning, table: Table, rows: BoolArray, decided: FloatArray) -> FloatArray:
    outcome = table.outcome[rows]
    if case.capacity is None:
        parts = np.stack([(decided == outcome).astype(np.float64), np.ones(len(outcome))], axis=1)
    else:
        parts = np.stack([decided * outcome, decided], axis=1)
    return parts if table.weight is None else parts * table.weight[rows, None]


def evidence_of(
    case: Learning,
    vectors: FloatArray,
    group: IntArray,
    cluster: IntArray | None,
    training: FloatArray | None,
    seed: np.random.SeedSequence,
    draws: int,
) -> tuple[Evidence, list[Cells]]:
    """What an audit has of some tested rows; `training` None where the reference pair is chosen on them."""
    shape = (case.groups, 1, 2, 2)
    if cluster is None:
        cells = count(vectors, group, case.groups)
    else:
        _, codes = np.unique(cluster, return_inverse=True)
        pooled = pool_clusters(vectors, group, codes.astype(np.int64), case.groups)
        cells = count(pooled, np.zeros(len(pooled), dtype=np.int64), 1)
    sums = cells.sums().reshape(shape)
    drawn = (draw_rows if cluster is None else draw_clusters)([cells], draws, seed)
    name = "classification_rate" if case.capacity is None else "calibration"
    evidence = Evidence(
        attributes=(Attribute("group", case.names(), np.arange(case.groups)),),
        measures=(Measure(name, "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=drawn.reshape(-1, *shape),
        training=sums[:, :, 0] if training is None else training,
        units=cells.rows,
        chosen_here=training is None,
    )
    return evidence, [cells]


@dataclass(frozen=True)
class Round:
    """What one repetition, or one repetition of all folds, has tested.

    Attributes
    ----------
    evidence : Evidence
    cells : list of Cells
    clusters : array or None
        Of the tested rows.
    trained : list of arrays of bool
        By fold, the rows that its candidate learned from.
    """

    evidence: Evidence
    cells: list[Cells]
    clusters: IntArray | None
    trained: list[BoolArray]


def rounds_of(
    case: Learning, table: Table, seed: int, folds: int | None, draws: int, repetitions: int = REPETITIONS
) -> Iterator[Round]:
    """Every repetition (`folds` None) or repetition of an audit."""
    splitting = make_splitting(seed, 0.5, "row", (), folds)
    keys = divided(table, splitting)
    for repetition in range(1, repetitions + 1):
        parts, trained = [], []
        for part in (Part(repetition, fold) for fold in range(folds or 1)):
            places = splitting.places(keys, part)
            train, test = splitting.trains(places, part), splitting.tests(places, part)
            parts.append((test, *contributed(case, table, train, test)))
            trained.append(train)
        rows = np.concatenate([np.flatnonzero(test) for test, _, _ in parts])
        vectors = np.concatenate([some for _, some, _ in parts])
        clusters = None if table.cluster is None else table.cluster[rows]
        reference = parts[0][2] if folds is None else None
        chance = seed_of(seed, repetition, DRAWING)
        evidence, cells = evidence_of(case, vectors, table.group[rows], clusters, reference, chance, draws)
        yield Round(evidence, cells, clusters, trained)


def p_values_of(
    case: Learning, table: Table, seed: int, folds: int | None, draws: int, repetitions: int = REPETITIONS
) -> tuple[list[float], list[str]]:
    """The p-value of every repetition (`folds` None) or repetition, and the kinds of cautions of the first."""
    p_values: list[float] = []
    cautions: list[str] = []
    for one in rounds_of(case, table, seed, folds, draws, repetitions):
        if not p_values:
            many = None if one.clusters is None else len(np.unique(one.clusters))
            cautions = [said.kind.split()[0] for said in reliability_cautions(one.evidence, Claim(), one.cells, many)]
        p_values.append(assess(one.evidence, Claim()).p_value)
    return p_values, sorted(set(cautions))


def audit_once(case: Learning, seed: tuple[int, int], ways: Sequence[int | None], draws: int) -> dict[str, float]:
    """The median p-value by every procedure, on the same rows; and which cautions fired with the first."""
    table = case.draw(np.random.default_rng(seed), case.rows)
    out: dict[str, float] = {}
    for folds in ways:
        p_values, cautions = p_values_of(case, table, seed[1], folds, draws)
        name = "halves" if folds is None else f"{folds} folds"
        out[name] = float(lower_median(p_values))
        out |= {f"{name}: {kind}": 1.0 for kind in cautions}
    return out


COIN, TOLD = ((0.5, 0.65), (0.5, 0.05)), ((0.64, 0.64), (0.58, 0.42))
"""Signals and the status quo's own knowledge, by group. In the first, group a's outcomes are coin tosses: no candidate
is more accurate for a, or less, than the status quo, and accuracy of a binds alone. In the second, least squares
improve."""
LEVELS = (
    Learning("least squares", "3 features", classes(*COIN), least_squares),
    Learning("least squares, 40 features", "overfits", classes(*COIN, features=40), least_squares),
    Learning("tiny sample", "least squares, 200 rows", classes(*COIN), least_squares, rows=200),
    Learning("best of 60", "random linear classifiers, chosen on training rows", classes(*COIN), best_of_sixty),
    Learning("nearest neighbor", "memorizes", classes(*COIN), nearest_neighbor),
    Learning("nearest neighbor, twins", "every row of features twice", classes(*COIN, twins=True), nearest_neighbor),
    Learning("parity", "one row turns many decisions around", classes(*COIN), parity),
    Learning("three groups", "least squares", classes((0.5, 0.65, 0.65), (0.5, 0.05, 0.05)), least_squares, groups=3),
    Learning("clusters", "60 clusters of 10 rows", in_clusters(*COIN), least_squares),
    Learning("weights", "of 1, 2 and 4", with_weights(*COIN), least_squares),
    *(
        Learning(
            f"capacity {share:.0%}", "calibration, cutoffs from training rows", counts, least_squares, rows, 2, share
        )
        for share, rows in ((0.03, 3_000), (0.1, 1_200), (0.3, 600))
    ),
    Learning("forest", "20 trees", classes(*COIN), forest),
)
POWERS = (
    *(Learning(f"least squares, {n:,} rows", "", classes(*TOLD), least_squares, rows=n) for n in (750, 1_500, 3_000)),
    Learning("three groups", "", classes((0.64,) * 3, (0.58, 0.42, 0.42)), least_squares, rows=2_250, groups=3),
    Learning("clusters", "", in_clusters((0.66, 0.66), TOLD[1]), least_squares, rows=1_500),
    Learning("weights", "", with_weights(*TOLD), least_squares, rows=1_500),
    Learning("nearest neighbor", "", classes((0.85, 0.85), TOLD[1]), nearest_neighbor, rows=750),
    Learning("forest", "", classes((0.7, 0.7), TOLD[1]), forest, rows=750),
)
"""The same where the claim is true; the sizes at which it can be seen."""
