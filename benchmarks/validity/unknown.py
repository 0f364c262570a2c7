"""How often a true null is rejected at 5% where outcomes are unknown for people whom
the status quo did not select.

A lender selects by a score of the first feature with a noise: 1 (people like those
declined were seen, too), 0.3 (some) or 0 (a cutoff: nobody). A candidate weighs two
features. The mean outcome is linear in the features, or curved, and lower by `shift`
for people who were not selected. Each process is at the boundary of the null: the claim
asks, as a difference, for exactly what is true of group b (in accuracy), or of the gap,
and for far less of other groups. One forward repetition is made as an audit makes it,
with a candidate that is given.
"""

import warnings
from dataclasses import dataclass, replace
from functools import cache, reduce
from itertools import pairwise
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from improvable.algorithms.constraints import Limits
from improvable.algorithms.rules.base import Training
from improvable.data.columns import Reads, make_columns
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from improvable.inference.tally import Tally, merge_tallies, tally_rows
from improvable.procedure.evaluate import conclude, max_cells
from improvable.procedure.split import FORWARD
from improvable.procedure.survey import survey
from improvable.procedure.unknown import impute, learn_outcomes
from improvable.question.design import make_design
from improvable.question.settings import Settings
from validity.page_parts import Studies, exceeds, part, shown, table, times
from validity.study import ALPHA, Found

ROWS = 2_000
POPULATION = 1_000_000
NAIVE = "unknown dropped"
# the bound, without the error of the model where nobody was seen
NO_ERROR = "no model error"


@dataclass(frozen=True)
class Process:
    words: str
    noise: float = 1.0
    curve: float = 0.0
    shift: float = 0.0
    delta: float = 0.0
    ask: Literal["accuracy", "fairness"] = "accuracy"
    level: float = 0.55  # of the outcome
    amounts: bool = False
    features: int = 4
    groups: int = 2
    gain: float = 0.0  # of what is true, how much less is asked for: power
    apart: bool = False  # whether the shift is upward for all groups but b
    below: float = 0.04  # by how much the outcomes of b are lower
    # whether only the probability of b is known; nothing else depends on it, given the
    # group
    probable: bool = False

    def draw(self, rows: int, rng: np.random.Generator) -> dict[str, Any]:
        group = np.minimum((rng.random(rows) * 2.5).astype(int), self.groups - 1)
        chance = (
            np.where(group == 1, *rng.beta([[1.9], [0.9]], [[0.6], [1.6]], (2, rows)))
            if self.probable
            else group
        )
        x = rng.normal(size=(rows, self.features))
        x[:, 2:] = 0.6 * x[:, 2:] + 0.5 * x[:, :1]
        old = x[:, 0] + self.noise * rng.normal(size=rows) - 0.3 * (group == 1) > 0.2
        new = x[:, 0] + x[:, 1] > 0.3 + 0.1 * (group == 1)
        mean = (
            self.level
            + 0.1 * x[:, 0]
            + 0.1 * x[:, 1]
            - self.below * (group == 1)
            + self.curve * (x[:, 0] ** 2 - 1)
        )
        upward = self.apart & (group != 1)
        mean = np.clip(mean - self.shift * np.where(upward, -1, 1) * ~old, 0.02, 0.98)
        noise = rng.gamma(1.0, 1.0, rows) if self.amounts else rng.random(rows)
        outcome = 10 * mean * noise if self.amounts else (noise < mean).astype(float)
        return {
            "x": x,
            "group": group,
            "chance": chance,
            "old": old,
            "new": new,
            "mean": (10 if self.amounts else 1) * mean,
            "y": outcome,
        }

    @cache  # noqa: B019
    def truth(self) -> tuple[list[float], float]:
        """By how much the candidate is better for each group, and by how much it
        narrows the gap.
        """
        many = self.draw(POPULATION, np.random.default_rng(1))
        values = [
            [
                many["mean"][many[which] & (many["group"] == g)].mean()
                for which in ("old", "new")
            ]
            for g in range(self.groups)
        ]
        before, after = np.ptp(np.array(values), axis=0)
        return [new - old for old, new in values], before - after

    def p_value(self, how: str, rows: int, seed: int) -> float:
        drawn, (gains, narrower) = (
            self.draw(rows, np.random.default_rng(seed)),
            self.truth(),
        )
        table = pl.DataFrame(
            {
                "y": [
                    y if seen or how == "known" else None
                    for y, seen in zip(drawn["y"], drawn["old"], strict=True)
                ],
                "old": drawn["old"].astype(float),
                "new": drawn["new"].astype(float),
                "group": drawn["group"].astype(str),
                "p0": 1.0 - drawn["chance"],
                "p1": drawn["chance"] * 1.0,
                **{f"x{j}": drawn["x"][:, j] for j in range(self.features)},
            }
        )
        if how == NAIVE:
            table = table.drop_nulls()
        delta = {
            "assumed": self.delta,
            NO_ERROR: self.delta,
            "worst case": 1.0,
            "ignored": 0.0,
        }.get(how)
        asked = {
            str(g): gain - self.gain - (0.0 if g == 1 else 3.0)
            for g, gain in enumerate(gains)
        }
        by: dict[str, Any] = (
            {"probabilities": {"0": "p0", "1": "p1"}}
            if self.probable
            else {"group": "group"}
        )
        settings = Settings(
            outcome="y",
            **by,
            status_quo="old",
            form="difference",
            ask=self.ask,
            unknown_outcomes=delta,
            delta_accuracy=asked,
            delta_fairness=narrower - self.gain,
            draws=400,
            seed=seed,
        )
        return one_repetition(
            table,
            settings,
            tuple(f"x{j}" for j in range(self.features)),
            how == NO_ERROR,
        )


def one_repetition(
    table: pl.DataFrame, settings: Settings, features: tuple[str, ...], no_error: bool
) -> float:
    """The p-value of the candidate in column 'new', from rows that are in a random
    order already.
    """
    design, engine = make_design(settings), Memory(read_rows(table), 1)
    columns = make_columns(
        engine.columns, design, [Reads(("old",)), Reads(("new", *features))]
    )
    reading = survey(engine, design, columns, False).reading
    sample = reading.sample(engine.rows)
    sample = replace(
        sample,
        rows=type(sample.rows)(
            sample.rows.frame, np.arange(len(sample)).astype(np.uint64)
        ),
    )
    edges, tallies = (
        [round(cut * len(sample)) for cut in (*FORWARD, 1.0)],
        list[Tally](),
    )
    for start, end in pairwise(edges):
        before = sample.take(np.arange(start))
        training = Training(
            before,
            features,
            True,
            "y",
            design,
            Limits(),
            np.random.SeedSequence([settings.seed, start]),
        )
        model, tested = (
            learn_outcomes(training, reading, settings.alpha),
            sample.take(np.arange(start, end)),
        )
        model = replace(model, times=0.0) if model is not None and no_error else model
        decisions = tested.rows.numbers("old"), tested.rows.numbers("new")
        tallies.append(
            tally_rows(
                design, tested, decisions, impute(reading, tested, decisions[0], model)
            )
        )
    tally = reduce(
        lambda one, other: merge_tallies(one, other, max_cells(reading)), tallies
    )
    seed = np.random.SeedSequence(settings.seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return conclude(
            design, reading.tested, tally, None, None, seed, 1, nw.Implementation.POLARS
        ).p_value


PROCESSES = {
    "overlap": Process("people like those declined were seen"),
    "overlap, curved": Process(
        "the same, and the model of the outcome is wrong", curve=0.04
    ),
    "some overlap": Process("some like them were seen", noise=0.3),
    "cutoff": Process("nobody like them was seen", noise=0.0),
    "cutoff, amounts": Process(
        "the same, outcomes are skewed amounts", noise=0.0, amounts=True
    ),
    "cutoff, 12 features": Process(
        "the same, with many features", noise=0.0, features=12
    ),
    "shift, overlap": Process(
        "those declined are worse by 0.1, as assumed", shift=0.1, delta=0.1
    ),
    "shift, overlap, curved": Process(
        "the same, and the model is wrong", shift=0.1, delta=0.1, curve=0.04
    ),
    "shift, cutoff": Process(
        "worse by 0.1, as assumed; nobody like them was seen",
        noise=0.0,
        shift=0.1,
        delta=0.1,
    ),
    "gap, overlap": Process(
        "the gap, people like those declined were seen", ask="fairness", below=0.14
    ),
    "gap, cutoff": Process(
        "the gap, nobody like them was seen", noise=0.0, ask="fairness", below=0.14
    ),
    "gap, shift": Process(
        "the gap, those declined of b are worse by 0.1 and others better",
        shift=0.1,
        delta=0.1,
        ask="fairness",
        below=0.14,
        apart=True,
    ),
    "power, overlap": Process("0.06 less is asked for", gain=0.06),
    "power, cutoff": Process("0.06 less is asked for", noise=0.0, gain=0.06),
}
UNSEEN = {  # drawn for the first time when the code was final
    "unseen: nine in ten": Process(
        "most repay, little overlap", noise=0.15, level=0.82, features=8
    ),
    "unseen: three groups": Process(
        "the gap of three, b worse by .05",
        noise=0.5,
        shift=0.05,
        delta=0.05,
        groups=3,
        ask="fairness",
        below=0.14,
        apart=True,
    ),
}
PROBABLE = {
    "probable groups, overlap": Process(
        "groups by probability, people like those declined were seen", probable=True
    ),
    "probable groups, cutoff": Process(
        "the same, nobody like them was seen", noise=0.0, probable=True
    ),
    "probable groups, shift": Process(
        "the same, and those declined are worse by 0.1",
        noise=0.0,
        shift=0.1,
        delta=0.1,
        probable=True,
    ),
    "probable groups, gap, shift": Process(
        "the gap, people like them were seen, those declined of b are worse by 0.1 and "
        "others better",
        shift=0.1,
        delta=0.1,
        ask="fairness",
        below=0.14,
        apart=True,
        probable=True,
    ),
    "power, probable groups": Process(
        "groups by probability, 0.12 less is asked for", gain=0.12, probable=True
    ),
}
# new ones at the end: the seeds of a process are by its place
EVERY = PROCESSES | UNSEEN | PROBABLE
HOW = dict.fromkeys(EVERY, ("assumed",)) | {
    "overlap": ("assumed", NAIVE),
    "cutoff": ("assumed", NO_ERROR, NAIVE),
    "shift, overlap": ("assumed", "ignored", "worst case", NAIVE),
    "shift, cutoff": ("assumed", "ignored", NAIVE),
    "gap, shift": ("assumed", "ignored", NAIVE),
    "power, overlap": ("assumed", "worst case", "known"),
    "power, cutoff": ("assumed", "known"),
    "probable groups, overlap": ("assumed", NAIVE),
    "probable groups, cutoff": ("assumed", NAIVE),
    "probable groups, shift": ("assumed", "ignored", NAIVE),
    "probable groups, gap, shift": ("assumed", "ignored", NAIVE),
    "power, probable groups": ("assumed", "known"),
}


def rate(
    process: Process, how: str, rows: int, simulations: int, first: int = 0
) -> tuple[float, float]:
    """The share of data sets whose p-value is below 5%, and its Monte Carlo error."""
    found = [
        process.p_value(how, rows, seed) for seed in range(first, first + simulations)
    ]
    share = float(np.mean(np.array(found) < ALPHA))
    return share, (share * (1 - share) / simulations) ** 0.5


def unknown_found(
    process: Process, ways: tuple[str, ...], seed: tuple[int, int]
) -> dict[str, float]:
    """The p-value by each way of counting unknown outcomes, on the same data."""
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    return {how: process.p_value(how, ROWS, number) for how in ways}


def levels_of(found: Studies) -> dict[str, Found]:
    return {
        name: one
        for name, one in part(found["unknown"], "unknown").items()
        if not name.startswith("power")
    }


def unknown_says(found: Studies) -> str:
    rates = [one.below("assumed", ALPHA) for one in levels_of(found).values()]
    highest = max(rates, key=lambda rate: rate.share)
    return f"""\
- [Outcomes nobody has seen](#outcomes-nobody-has-seen): where they differ by no more than was stated, one forward
  repetition rejects at most {shown(highest)} of true nulls over {len(rates)} processes."""  # noqa: E501


def unknown_above(found: Studies) -> list[str]:
    return [
        f"unknown outcomes, {name}"
        for name, one in levels_of(found).items()
        if exceeds(one.below("assumed", ALPHA))
    ]


def unknown_section(found: Studies) -> str:
    studies = part(found["unknown"], "unknown")
    ways = {
        "assumed": "bound as stated",
        "ignored": "shift ignored",
        NAIVE: "unknown rows dropped",
        NO_ERROR: "without the model's error",
        "worst case": "worst case",
        "known": "all outcomes known",
    }
    lines = [
        [
            name,
            EVERY[name].words,
            *(
                shown(one.below(how, ALPHA), True) if how in HOW[name] else ""
                for how in ways
            ),
        ]
        for name, one in studies.items()
    ]
    return f"""## Outcomes nobody has seen

[Unknown outcomes](../how-to/unknown-outcomes.md): {times([*studies.values()])} data sets of {ROWS:,} rows for each
process, at the boundary of the null; one forward repetition at 5%. The two called unseen were drawn for the first time
when the code was final; of power, the claim is true. Where groups are probable, the probability of a group depends on
nothing else given the group, and both estimates must show the claim.

{table(["process", "what is true", *ways.values()], lines)}

"""  # noqa: E501
