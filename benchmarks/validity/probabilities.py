"""How often groups that are known by probability reject a true null at 5%, and how often a false one.

Each process is at the boundary of the null: group b gains nothing, and group a clearly does. A person's gain has the
mean `by_group` for not being in b, plus `by_p` times the probability's distance from its mean in b. So with `by_p` = 0
the linear estimate is right, and with `by_group` = 0 the weighted one. Where b gains less for both reasons, `by_group`
above and `by_p` below zero, the truth lies between them; where the reasons oppose each other it does not. From the
folder benchmarks, `python -m validity.probabilities ROWS SIMULATIONS` prints a table with Monte Carlo errors.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable import Claim, Groups, Test

BY_PROBABILITY: dict[str, Any] = {"probabilities": {"a": "p_a", "b": "p_b"}}
HOW: dict[str, Callable[[], Any]] = {
    "known groups": lambda: "group",
    "between": lambda: Groups(**BY_PROBABILITY),
    "weighted only": lambda: Groups(**BY_PROBABILITY, assume="probabilities only"),
    "linear only": lambda: Groups(**BY_PROBABILITY, assume="group only"),
    "likeliest group": lambda: "likeliest",
    "10% known": lambda: Groups(**BY_PROBABILITY, known="seen"),
}
GAMMA, WORST = 1.75, "worst case, 1.75"  # in the processes below true odds depart by at most about this
HOW[WORST] = HOW["weighted only"]
CHANGED = 0.4  # of decisions


@dataclass(frozen=True)
class Process:
    words: str
    by_group: float = 0.0
    by_p: float = 0.0
    gain: float = 0.0  # of group b
    ask: str = "accuracy"

    def draw(self, rows: int, seed: int) -> pl.DataFrame:
        rng = np.random.default_rng(seed)
        p = rng.beta(0.7, 0.7, rows)
        group = rng.random(rows) < p
        mean_in_b = 1.7 / 2.4  # of a size-biased beta: the mean of p among those in b
        effect = self.gain + self.by_group * ~group + self.by_p * (p - mean_in_b)
        change = rng.random(rows)
        better, worse = change < (CHANGED + effect) / 2, change > 1 - (CHANGED - effect) / 2
        outcome = rng.random(rows) < 0.5
        if self.ask == "fairness":  # both algorithms err alike, more for b; in other people
            outcome = np.zeros(rows, dtype=np.bool_)
            wrong = 0.2 + self.by_group * group + self.by_p * p
            old, new = rng.random(rows) < wrong, rng.random(rows) < wrong
        else:
            old, new = outcome ^ better, outcome ^ worse
        truth, known = np.where(group, "b", "a").tolist(), (rng.random(rows) < 0.1).tolist()
        return pl.DataFrame({
            "y": outcome.astype(int), "old": old.astype(int), "new": new.astype(int), "p_a": 1 - p, "p_b": p,
            "group": np.where(group, "b", "a"), "likeliest": np.where(p > 0.5, "b", "a"),
            "seen": [one if told else None for one, told in zip(truth, known, strict=True)],
        })  # fmt: skip

    def p_value(self, how: str, rows: int, seed: int) -> float:
        utility = "classification_rate" if self.ask == "accuracy" else "selection_rate"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = improvable.compare(
                self.draw(rows, seed), outcome="y", group=HOW[how](), status_quo="old", candidate="new",
                accuracy="classification_rate", fairness=utility, claim=Claim(ask=self.ask),  # type: ignore[arg-type]
                test=Test(draws=400), read=improvable.Read(direction="as stated"), seed=seed, n_jobs=1,
            )  # fmt: skip
        curve = {one["gamma"]: one["p_value"] for one in found.to_dict()["tipping_curve"]}
        return curve[GAMMA] if how == WORST else found.p_value


PROCESSES = {
    "weighted right": Process("given p, the group does not matter", by_p=-0.3),
    "linear right": Process("given the group, p does not matter", by_group=0.15),
    "between": Process("both matter, in the same direction", by_group=0.1, by_p=-0.1),
    "far inside": Process("both matter, p more", by_group=0.05, by_p=-0.3),
    "outside": Process("both matter, in opposite directions", by_group=0.15, by_p=0.1),
    "gap, linear right": Process("equal gaps, given the group p does not matter", by_group=0.2, ask="fairness"),
    "gap, weighted right": Process("equal gaps, given p the group does not matter", by_p=0.3, ask="fairness"),
    "gap, between": Process("equal gaps, both matter", by_group=0.1, by_p=0.15, ask="fairness"),
    "power": Process("b gains .06", by_group=0.1, gain=0.06),
}
SHOWN = ("linear right", "outside", "power")  # every way of counting; of the others, the default alone


def rate(process: str, how: str, rows: int, simulations: int, first: int = 0) -> tuple[float, float]:
    """The share of data sets whose p-value is below 5%, and its Monte Carlo error."""
    found = [PROCESSES[process].p_value(how, rows, seed) for seed in range(first, first + simulations)]
    share = float(np.mean(np.array(found) < 0.05))
    return share, (share * (1 - share) / simulations) ** 0.5


if __name__ == "__main__":
    rows, simulations = int(sys.argv[1]), int(sys.argv[2])
    print(f"{rows:,} rows, {simulations:,} data sets each; share rejected at 5%")
    for name in PROCESSES:
        for how in HOW if name in SHOWN else ("between",):
            print(f"{name:20} {how:16} {'{:.3f} ± {:.3f}'.format(*rate(name, how, rows, simulations))}", flush=True)
