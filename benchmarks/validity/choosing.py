"""Rules that choose among a few candidates none of which improves, and rules that act
on how the test stands.

The status quo tosses coins for group a, whose outcomes are coin tosses. A tweak turns
its decisions around for some of a's rows. Every tweak decides for group b as every
other does, and better than the status quo, so that the accuracy of a binds alone.
Features are the decisions themselves: column 0 leaves group a as it is, and the others
are the tweaks.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from improvable._typing import FloatArray
from validity.learning import Decide, Draw, Learning, Table, table_of

LOCKS = 1.645
"""Standard errors; what lies past them is significant at 5%."""


def tweaks(
    sizes: Sequence[float], shared: float = 0.0, right: tuple[float, float] = (0.3, 0.7)
) -> Draw:
    """Tweaks that turn such shares of group a around, all in rows of their own but for
    a share that is all tweaks'.

    `right` is how often decisions for group b are right, by the status quo and by every
    tweak.
    """

    def draw(rng: np.random.Generator, rows: int) -> Table:
        group, outcome = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
        lot, knows = rng.random(rows), rng.random((2, rows)) < np.array(right)[:, None]
        before, after = np.where(knows, outcome, 1 - outcome)
        now = np.where(group == 0, rng.integers(0, 2, rows), before)
        kept = np.where(group == 0, now, now if right[0] == right[1] else after)
        ends = shared + np.cumsum([0.0, *(size - shared for size in sizes)])
        turned = [
            (lot < shared) | ((low <= lot) & (lot < high))
            for low, high in pairwise(ends)
        ]
        decided = [
            kept,
            *(np.where((group == 0) & some, 1 - now, kept) for some in turned),
        ]
        return table_of(
            group, outcome, np.stack(decided, axis=1).astype(np.float64), now - 0.5
        )

    return draw


def opposites(rng: np.random.Generator, rows: int) -> Table:
    """Two candidates with opposite effects: the status quo selects everyone, each
    candidate one half of group a.
    """
    group, half = rng.integers(0, 2, rows), rng.integers(0, 2, rows)
    outcome = rng.random(rows) < np.where(
        group == 0, 0.5, np.where(half == 0, 0.8, 0.2)
    )
    decided = [np.where(group == 0, half == side, half == 0) for side in (0, 1)]
    return table_of(
        group, outcome, np.stack(decided, axis=1).astype(np.float64), np.ones(rows)
    )


def pick(column: int) -> Decide:
    return lambda rows: rows[:, column] - 0.5


def gains(train: Table) -> FloatArray:
    """In how many more rows of group a each column of decisions is right, compared with
    column 0.
    """
    a = train.group == 0
    right = (train.features[a] == train.outcome[a, None]).sum(axis=0)
    return np.asarray(right - right[0], dtype=np.float64)


def best(train: Table) -> Decide:
    """The tweak that did best for group a."""
    return pick(1 + int(np.argmax(gains(train)[1:])))


def best_if_better(train: Table) -> Decide:
    """The same, unless none did better than the status quo, which then stays for group
    a.
    """
    return pick(int(np.argmax(gains(train))))


def higher_half(train: Table) -> Decide:
    """The half of group a whose outcomes are higher."""
    a = train.group == 0
    means = [
        train.outcome[a & (train.features[:, side] == 1)].mean() for side in (0, 1)
    ]
    return pick(int(np.argmax(means)))


class Adversary:
    """Code that follows what its own candidates did in the blocks that were tested, and
    acts on it.

    Rows that it has not seen before are the block that its last candidate was tested
    on. `act` takes how many standard errors ahead the test stands, and the training
    rows, to a column.
    """

    def __init__(self, act: Callable[[float, Table], int]) -> None:
        self.act = act
        self.seen, self.column, self.gain, self.changed = np.array([0]), 0, 0.0, 0.0

    def __call__(self, train: Table) -> Decide:
        if len(self.seen) < len(train) and np.isin(self.seen, train.row).all():
            tested = train.take(~np.isin(train.row, self.seen))
            self.gain += float(gains(tested)[self.column])
            self.changed += float(
                (tested.features[:, self.column] != tested.features[:, 0]).sum()
            )
        else:  # another repetition has begun
            self.gain, self.changed = 0.0, 0.0
        ahead = self.gain / self.changed**0.5 if self.changed else 0.0
        self.seen, self.column = train.row, self.act(ahead, train)
        return pick(self.column)


def lock(ahead: float, train: Table) -> int:
    """The best tweak, until the test is past its level; from there on, nothing changes
    for group a.
    """
    return 0 if ahead > LOCKS else 1 + int(np.argmax(gains(train)[1:]))


def gamble(ahead: float, train: Table) -> int:
    """A small tweak, and one that changes ten times as many rows while the test is
    behind.
    """
    return 2 if ahead < 0 else 1


FIFTHS = (0.2,) * 4
EXAMPLE = Learning(
    "four tweaks",
    "each of another fifth of group a",
    tweaks(FIFTHS),
    best,
    ask="accuracy",
)
"""The counterexample to testing a row that has taught."""


def _few(
    name: str,
    words: str,
    draw: Draw,
    rule: Callable[[Table], Decide] = best,
    rows: int = 1_000,
) -> Learning:
    return Learning(name, words, draw, rule, rows, ask="accuracy")


FEW = (
    EXAMPLE,
    *(
        _few(f"four tweaks, {n:,} rows", "the same", tweaks(FIFTHS), rows=n)
        for n in (400, 3_000, 5_000)
    ),
    Learning(
        "two opposites",
        "what one gains the other loses",
        opposites,
        higher_half,
        utility="calibration",
        ask="accuracy",
    ),
    _few("two tweaks", "each of another fifth", tweaks(FIFTHS[:2])),
    _few("three tweaks", "each of another fifth", tweaks(FIFTHS[:3])),
    _few("eight tweaks", "each of another tenth", tweaks((0.1,) * 8)),
    *(
        _few(
            f"{word} tweaks that overlap",
            "by half: correlation 0.5",
            tweaks((0.2,) * m, shared=0.1),
        )
        for m, word in ((2, "two"), (3, "three"), (8, "eight"))
    ),
    _few(
        "one tweak large",
        "the others a tenth of it; the largest gain counts",
        tweaks((0.03, 0.03, 0.03, 0.3)),
    ),
    Learning(
        "four tweaks, gap",
        "accuracy of b stays, and the gap must be smaller",
        tweaks(FIFTHS, right=(0.75, 0.75)),
        best,
        ask="fairness",
    ),
    *(
        _few(
            f"{word} or the status quo",
            "which stays unless a tweak did better",
            tweaks(FIFTHS[:m]),
            best_if_better,
        )
        for m, word in ((1, "one tweak"), (4, "four tweaks"))
    ),
)
ADVERSARIES = (
    *(
        _few(
            f"locks in its gain, {word}",
            "stops once ahead",
            tweaks(FIFTHS[:m]),
            Adversary(lock),
        )
        for m, word in ((1, "one tweak"), (4, "four tweaks"))
    ),
    *(
        _few(
            f"gambles when behind{more}",
            "on ten times as many rows",
            tweaks((0.05, 0.5)),
            Adversary(gamble),
            rows,
        )
        for rows, more in ((1_000, ""), (3_000, ", 3,000 rows"))
    ),
)
