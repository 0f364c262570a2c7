"""How often the monitor ever shows what is not true, with a look after every row; and
what it costs in rows.

In each process some condition of the null holds with equality at all times; in most,
one does and all others win big. Rows go straight to the bets. Where a claim is true,
the same rows are given to one test at a fixed size: the price is the number of rows
after which the monitor shows the claim in so many of the streams, over what that test
needs.

    PYTHONPATH=benchmarks python benchmarks/validity/monitor.py --samples 2000
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.inference.betting import wealth_of
from improvable.inference.cells import count
from improvable.inference.components import conditions
from improvable.inference.corrections import prepare
from improvable.inference.test import assess
from improvable.procedure.monitor import Monitoring
from improvable.question.claim import Claim
from validity.hard import (
    BOTH,
    NEITHER,
    ONLY_NEW,
    ONLY_NOW,
    PLAIN,
    Drawn,
    drawn_from,
    evidence_of,
)
from validity.page_parts import Studies, Study, exceeds, part, shown, table, times
from validity.study import ALPHA, DRAWS, Found, Rate, repeat

LOOKS, MANY = 2_000, 12_000
SHOWN_IN = (0.5, 0.8, 0.9)
SIZES = tuple(int(round(250 * 2 ** (j / 2), -1)) for j in range(12))  # 250 to 11,310


@dataclass(frozen=True)
class Group:
    """Rates of one group: of right decisions under the status quo, of those put right,
    of those put wrong.
    """

    before: float
    gains: float
    losses: float

    @property
    def after(self) -> float:
        return self.before + self.gains - self.losses

    @property
    def kinds(self) -> list[float]:
        """Chances of being right under neither algorithm, both, the status quo alone,
        the candidate alone.
        """
        return [
            1 - self.before - self.gains,
            self.before - self.losses,
            self.losses,
            self.gains,
        ]


@dataclass(frozen=True)
class Stream:
    """A population that sends rows.

    Attributes
    ----------
    name : str
    binds : str
    groups : tuple of Group
    shares : tuple of float
        Of the groups.
    counted : float
        Share of the rows that the rates are rates of: those whose outcome is 1, say.
    arrives : {"mixed", "drift", "blocks", "storms"}
        The second group's share rises from 5% to 95%; or groups come in blocks of 50;
        or in every second hundred of rows both algorithms decide alike for the first
        group.
    claim : Claim
    rows : int
    """

    name: str
    binds: str
    groups: tuple[Group, ...]
    shares: tuple[float, ...] = (0.5, 0.5)
    counted: float = 1.0
    arrives: str = "mixed"
    claim: Claim = PLAIN
    rows: int = LOOKS

    def draw(self, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
        """The group of each row, and what it contributes."""
        place = np.arange(self.rows)
        group = rng.choice(len(self.groups), self.rows, p=self.shares)
        if self.arrives == "drift":
            group = (rng.random(self.rows) < 0.05 + 0.9 * place / self.rows).astype(
                np.int64
            )
        elif self.arrives == "blocks":
            group = place // 50 % len(self.groups)
        cumulated = np.cumsum([one.kinds for one in self.groups], axis=1)[group]
        kind = np.minimum((rng.random(self.rows)[:, None] > cumulated).sum(axis=1), 3)
        if self.arrives == "storms":
            calm = (place // 100 % 2 == 0) & (group == 0)
            kind = np.where(
                calm & (kind == ONLY_NEW),
                NEITHER,
                np.where(calm & (kind == ONLY_NOW), BOTH, kind),
            )
        vectors = (
            Drawn(group, kind, np.ones(self.rows), positives=True)
            .vectors()
            .reshape(-1, 1, 2, 2)
        )
        return group, vectors * (rng.random(self.rows) < self.counted)[
            :, None, None, None
        ]

    def follow(self, group: IntArray, vectors: FloatArray) -> Monitoring:
        """What the monitor makes of it; the reference pair is the one whose gap is in
        truth the widest.
        """
        truth = np.array(
            [[[[one.before, 1.0], [one.after, 1.0]]] for one in self.groups]
        )
        known = [
            count(truth.reshape(-1, 4), np.arange(len(self.groups)), len(self.groups))
        ]
        asked = conditions(evidence_of(known, len(self.groups), given=True), self.claim)
        wealths = {
            str(j): wealth_of(one, group, vectors) for j, one in enumerate(asked)
        }
        return Monitoring("", ALPHA, len(group), wealths, ())

    def test(self, group: IntArray, vectors: FloatArray, seed: Sequence[int]) -> float:
        """The p-value of one comparison of these rows."""
        cells = [count(vectors.reshape(-1, 4), group, len(self.groups))]
        before = evidence_of(cells, len(self.groups))
        drawn = drawn_from(
            before,
            prepare(before, self.claim, cells, False, None),
            DRAWS,
            np.random.SeedSequence(seed),
        )
        return assess(drawn, self.claim).p_value


def both(first: Group, second: Group) -> tuple[Group, Group]:
    return first, second


STAYS, WINS = Group(0.6, 0.15, 0.15), Group(0.4, 0.25, 0.0)
HIGH, LOW = Group(0.7, 0.15, 0.0), Group(0.5, 0.15, 0.0)
NULLS = (
    Stream(
        "no decision changes",
        "everything",
        both(Group(0.7, 0.0, 0.0), Group(0.5, 0.0, 0.0)),
    ),
    Stream(
        "changes cancel", "everything", both(Group(0.7, 0.1, 0.1), Group(0.5, 0.1, 0.1))
    ),
    Stream("accuracy of a", "accuracy of a", both(STAYS, WINS)),
    Stream(
        "accuracy of a small group",
        "accuracy of b, 5% of the rows",
        both(WINS, STAYS),
        (0.95, 0.05),
    ),
    Stream("few rows differ", "accuracy of a", both(Group(0.6, 0.005, 0.005), WINS)),
    Stream("rare failures", "accuracy of a", both(Group(0.98, 0.015, 0.015), WINS)),
    Stream(
        "rare outcomes",
        "accuracy of a; 5% of the rows count",
        both(STAYS, WINS),
        counted=0.05,
    ),
    Stream(
        "calm and storm",
        "accuracy of a",
        both(Group(0.6, 0.35, 0.35), WINS),
        arrives="storms",
    ),
    Stream("gap", "gap", both(HIGH, LOW)),
    Stream(
        "gap turned round",
        "gap, the other group ahead",
        both(Group(0.7, 0.05, 0.0), Group(0.5, 0.45, 0.0)),
    ),
    Stream(
        "gap, a small group", "gap; b has 5% of the rows", both(HIGH, LOW), (0.95, 0.05)
    ),
    Stream(
        "gap, shares drift",
        "gap; b's share rises from 5% to 95%",
        both(HIGH, LOW),
        arrives="drift",
    ),
    Stream(
        "gap, groups in blocks",
        "gap; 50 rows of a, 50 of b, ...",
        both(HIGH, LOW),
        arrives="blocks",
    ),
    Stream(
        "gap, three groups",
        "gap of b over c; that of a over c is the reference",
        (Group(0.7, 0.05, 0.0), Group(0.6, 0.25, 0.0), LOW),
        (0.4, 0.3, 0.3),
    ),
    Stream(
        "gap, to be halved",
        "gap",
        both(Group(0.7, 0.05, 0.0), LOW),
        claim=Claim(delta_fairness=0.5),
    ),
    Stream(
        "margin of 5%",
        "accuracy of a, which loses 5%",
        both(Group(0.8, 0.02, 0.06), WINS),
        claim=Claim(delta_accuracy=-0.05),
    ),
)
BETTER = (
    Stream(
        "accuracy of a", "accuracy of a", both(Group(0.6, 0.08, 0.05), WINS), rows=MANY
    ),
    Stream(
        "few rows differ",
        "accuracy of a",
        both(Group(0.6, 0.015, 0.005), WINS),
        rows=MANY,
    ),
    Stream("gap", "gap", both(Group(0.7, 0.1, 0.0), Group(0.5, 0.18, 0.0)), rows=MANY),
    Stream(
        "gap, a small group",
        "gap; b has 10% of the rows",
        both(Group(0.7, 0.1, 0.0), Group(0.5, 0.2, 0.0)),
        (0.9, 0.1),
        rows=MANY,
    ),
    Stream(
        "everything at once",
        "both accuracies and the gap",
        both(Group(0.7, 0.06, 0.04), Group(0.5, 0.12, 0.02)),
        rows=MANY,
    ),
)


def level_found(stream: Stream, seed: tuple[int, int]) -> dict[str, float]:
    found = stream.follow(*stream.draw(np.random.default_rng(seed)))
    return {
        "shown": float(found.shown_since is not None),
        "at the end": float(found_at_end(found)),
    }


def found_at_end(found: Monitoring) -> bool:
    """Whether it is shown to somebody who looks once, after the last row."""
    return min(one.now for one in found.wealths.values()) > -float(np.log(ALPHA))


def price_found(stream: Stream, seed: tuple[int, int]) -> dict[str, float]:
    """After how many rows it is shown, `MANY` + 1 if it is not, and the p-value of a
    test at every size.
    """
    group, vectors = stream.draw(np.random.default_rng(seed))
    since = stream.follow(group, vectors).shown_since
    tests = {
        f"test {size}": stream.test(group[:size], vectors[:size], seed)
        for size in SIZES
    }
    return {"rows": float(since or MANY + 1), **tests}


def rows_needed(found: Found, power: float) -> float:
    """Rows at which one test has a power, between sizes by their logarithm; infinite
    where the smallest has more.
    """
    powers = [found.below(f"test {size}", ALPHA).share for size in SIZES]
    for j in range(1, len(SIZES)):
        if powers[j] >= power > powers[j - 1]:
            step = (power - powers[j - 1]) / (powers[j] - powers[j - 1])
            return float(
                np.exp(np.log(SIZES[j - 1]) + step * np.log(SIZES[j] / SIZES[j - 1]))
            )
    return np.inf


def prices(found: Mapping[str, Found]) -> dict[str, list[tuple[float, float]]]:
    """By process: rows of the monitor and of one test that show the claim in the shares
    of `SHOWN_IN`.
    """
    return {
        name: [
            (float(np.quantile(one.of("rows"), share)), rows_needed(one, share))
            for share in SHOWN_IN
        ]
        for name, one in found.items()
    }


def highest(levels: Study) -> Rate:
    return max(
        (one.share("shown") for one in levels.values()), key=lambda rate: rate.share
    )


def monitor_says(found: Studies) -> str:
    levels = part(found["monitor"], "monitor level")
    return f"""\
- [The monitor](#the-monitor), looked at after every row, shows what is not true in at most
  {shown(highest(levels))} of streams over {len(levels)} processes."""  # noqa: E501


def monitor_above(found: Studies) -> list[str]:
    levels = part(found["monitor"], "monitor level")
    return [
        f"the monitor, {name}"
        for name, one in levels.items()
        if exceeds(one.share("shown"))
    ]


def price_text(pair: tuple[float, float]) -> str:
    rows, needed = pair
    if rows > MANY:
        return f"over {MANY:,}"
    ratio = (
        f"{needed:,.0f} = {rows / needed:.1f}"
        if np.isfinite(needed)
        else f"fewer than {SIZES[0]}"
    )
    return f"{rows:,.0f} / {ratio}"


def monitor_section(found: Studies) -> str:
    levels, better = (
        part(found["monitor"], "monitor level"),
        part(found["monitor price"], "monitor price"),
    )
    binds = {one.name: one.binds for one in NULLS} | {
        f"price {one.name}": one.binds for one in BETTER
    }
    lines = [
        [
            name,
            binds[name],
            *(shown(one.share(when), True) for when in ("shown", "at the end")),
        ]
        for name, one in levels.items()
    ]
    costs = [
        [name, binds[f"price {name}"], *(price_text(pair) for pair in several)]
        for name, several in prices(better).items()
    ]
    head = [f"shown in {share:.0%}" for share in SHOWN_IN]
    return f"""## The monitor

`improvable monitor` may be looked at after every row
([how, and why it holds](../how-to/monitor.md#monitor-a-candidate)).
{times([*levels.values()])} streams of {LOOKS:,} rows for each process, with {LOOKS:,} looks. "Ever" is the share of
streams in which the claim, which is not true, is shown at any look; "at the end" is the share in which all bets stand
above 1 / 5% after the last row.

{table(["process", "what binds", "ever", "at the end"], lines)}

The price in rows, where the claim is true: after how many rows the monitor shows it in so many of the streams, over
the rows with which one test of a fixed size has that power. {times([*better.values()])} streams of up to {MANY:,} rows.
The stakes were chosen among six sets on these processes, with other streams; the level holds for any stakes.

{table(["process", "what binds", *head], costs)}

"""  # noqa: E501


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=2_000)
    parser.add_argument("--streams", type=int, default=200, help="of each price")
    asked = parser.parse_args()
    for s, stream in enumerate(NULLS):
        found = repeat(
            lambda i, s=s, stream=stream: level_found(stream, (s, i)),  # type: ignore[misc]
            asked.samples,
        )
        print(
            f"{stream.name:28} {shown(found.share('shown'))}  "
            f"{shown(found.share('at the end'))}",
            flush=True,
        )
    for s, stream in enumerate(BETTER):
        found = repeat(
            lambda i, s=s, stream=stream: price_found(stream, (100 + s, i)),  # type: ignore[misc]
            asked.streams,
        )
        print(
            f"{stream.name:28}",
            *map(price_text, prices({"": found})[""]),
            sep="  ",
            flush=True,
        )


if __name__ == "__main__":
    main()
