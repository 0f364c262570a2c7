"""What `aim` finds beside what Fairlearn and OxonFair find, on the Georgia data; and
how long one fit takes.

What is measured
----------------
Candidates are learned on a random half of the people on parole in Georgia
(`problems.georgia`, 6 or more is called high risk) and judged on the other half,
several times. A candidate must be more accurate than the state's score in each group,
and have a smaller gap in false positive rates. So there are four margins: the gain in
accuracy of either group, and how far the gap is within the status quo's, in either
direction. Each is divided by its standard error, and what is printed is the smallest of
the four: the test rejects at 5% where it is above 1.64. All candidates are blind to the
group when they decide.

- *improvable*: `lasso`, `aim` and `aim:boosting`, which call the same share high risk
  as the status quo does; and `aim` without a capacity, which is free to choose the
  share as peers are.
- *Fairlearn*: `ExponentiatedGradient` and `GridSearch` around logistic regression, with
  parity of false positive rates or equalized odds, at their defaults, except that the
  grid has 30 points. The first decides at random; it is judged with one draw.
- *OxonFair*: a logistic regression on four fifths of the half, and cutoffs by inferred
  group on the last fifth, with the best accuracy at which false positive rates differ
  by at most 0.01. It is left out where it is not installed.

Peers take no capacity: the share that they select is printed. They do not know the
status quo either: they look for the best accuracy with hardly any gap, which is more
than was asked.

How
---
One process, one thread. All have the same numbers for columns; peers are given them
before the clock starts. Time is the processor's, of one fit, and its median over halves
is printed. Then one fit each of `aim` and `aim:boosting` on 25,000 simulated rows with
110 numeric columns. Times are printed and never asserted.

Run ``python benchmarks/aim_peers.py --data DIR [--halves 5]``.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import improvable
from improvable.algorithms.decisions import decide
from improvable.algorithms.models import as_numeric
from improvable.algorithms.rules import as_rule
from improvable.algorithms.rules.base import run_rule
from improvable.errors import ImprovableError
from improvable.procedure.parallel import limited_threads
from problems import georgia

DATA = Path(os.environ.get("IMPROVABLE_DATA", "../shared/data"))
OURS = ("lasso", "aim", "aim:boosting")
FREE = "aim, no capacity"
WEIGHT = "logisticregression__sample_weight"
GRID = 30
BOUND = 0.01  # Fairlearn's default
ROWS, COLUMNS = 25_000, 110
GOALS = {"aim": 2.0, "aim:boosting": 20.0}  # seconds of one fit
Floats = NDArray[np.float64]


class Keep:
    """A rule that finds nothing and keeps what it was given."""

    name = "keep"

    def __init__(self) -> None:
        self.given: list[tuple[improvable.Training, Any]] = []

    def select(
        self, training: improvable.Training, status_quo: Any
    ) -> improvable.Selection:
        self.given.append((training, status_quo))
        return improvable.Selection(None)


def given(rows: pl.DataFrame, asked: dict[str, Any]) -> tuple[improvable.Training, Any]:
    """What a rule is given to learn from all of these rows."""
    keep = Keep()
    test = improvable.Test(scheme="split", repetitions=1, draws=100)
    result = improvable.audit(
        rows, **asked, rule=keep, test=test, read=improvable.Read(drop_missing=True)
    )
    try:
        result.refit()
    except ImprovableError:
        return keep.given[-1]
    raise RuntimeError("a rule that finds nothing found something.")


def margins(group: NDArray[Any], outcome: Floats, now: Floats, new: Floats) -> Floats:
    """The four margins in standard errors: accuracy of each group, and the gap in
    either direction.
    """
    n, found = len(outcome), list[float]()
    names = np.unique(group)
    for name in names:
        gain = ((new == outcome).astype(float) - (now == outcome))[group == name]
        found.append(gain.mean() / (gain.std() / len(gain) ** 0.5))
    gaps, moves = [], []
    for decisions in (now, new):
        gap, moved = 0.0, np.zeros(n)
        for name, sign in zip(names, (1, -1), strict=True):
            free = (group == name) & (outcome == 0)
            gap += sign * decisions[free].mean()
            moved[free] = sign * (decisions[free] - decisions[free].mean()) / free.sum()
        gaps.append(gap)
        moves.append(moved)
    side = np.sign(gaps[0])
    for direction in (-1, 1):
        moved = side * moves[0] + direction * side * moves[1]
        found.append(
            (side * gaps[0] + direction * side * gaps[1])
            / float(np.sqrt((moved**2).sum()))
        )
    return np.array(found)


def logistic() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1_000))


Fit = Callable[[Floats, Floats, NDArray[Any]], Callable[[Floats], Floats]]


def fairlearn_fits() -> dict[str, Fit]:
    """How Fairlearn's reductions are fitted; each returns what decides."""
    from fairlearn import reductions

    def of(kind: str, moment: str) -> Fit:
        def fit(
            known: Floats, outcome: Floats, group: NDArray[Any]
        ) -> Callable[[Floats], Floats]:
            if kind == "ExponentiatedGradient":
                constraint = getattr(reductions, moment)(difference_bound=BOUND)
                model = reductions.ExponentiatedGradient(
                    logistic(), constraint, sample_weight_name=WEIGHT
                )
                model.fit(known, outcome, sensitive_features=group)
                return lambda new: np.asarray(
                    model.predict(new, random_state=0), dtype=np.float64
                )
            grid = reductions.GridSearch(
                logistic(),
                getattr(reductions, moment)(),
                grid_size=GRID,
                sample_weight_name=WEIGHT,
            )
            grid.fit(known, outcome, sensitive_features=group)
            return lambda new: np.asarray(grid.predict(new), dtype=np.float64)

        return fit

    short = {
        "FalsePositiveRateParity": "false positives",
        "EqualizedOdds": "equalized odds",
    }
    kinds = ("ExponentiatedGradient", "GridSearch")
    return {
        f"Fairlearn {kind}, {words}": of(kind, moment)
        for kind in kinds
        for moment, words in short.items()
    }


def oxonfair_fits() -> dict[str, Fit]:
    """How OxonFair is fitted, where it is installed."""
    try:
        import oxonfair
        from oxonfair import group_metrics
    except ImportError:
        return {}

    def fit(
        known: Floats, outcome: Floats, group: NDArray[Any]
    ) -> Callable[[Floats], Floats]:
        last = np.arange(len(outcome)) % 5 == 4
        model, groups = logistic(), logistic()
        model.fit(known[~last], outcome[~last])
        groups.fit(known[~last], group[~last])
        held = oxonfair.DataDict(outcome[last], known[last], group[last])
        fair = oxonfair.FairPredictor(model, held, inferred_groups=groups)
        fair.fit(group_metrics.accuracy, group_metrics.predictive_equality, BOUND)
        return lambda new: np.asarray(fair.predict({"data": new}), dtype=np.float64)

    return {"OxonFair, false positives": fit}


def on_georgia(data: Path, halves: int, rules: tuple[str, ...]) -> None:
    problem = georgia(data / "georgia_parole.csv.gz")[0]
    rows, asked = problem.rows, problem.asked
    peers = fairlearn_fits() | oxonfair_fits()
    found: dict[str, list[tuple[Floats, float, float]]] = {
        name: [] for name in (*rules, FREE, *peers)
    }
    for seed in range(halves):
        order = np.random.default_rng(seed).permutation(len(rows))
        half = len(rows) // 2
        training, status_quo = given(rows[np.sort(order[:half])], asked)
        judging, _ = given(rows[np.sort(order[half:])], asked)
        outcome, group = (
            judging.target,
            judging.rows.native(["Race"])["Race"].to_numpy(),
        )
        now = decide(status_quo, judging.rows, "status quo")
        numeric, encoder = training.as_numbers()
        known = numeric.rows.matrix(numeric.features)
        there = judging.rows if encoder is None else as_numeric(judging.rows, encoder)
        new_known, own_group = (
            there.matrix(numeric.features),
            training.rows.native(["Race"])["Race"].to_numpy(),
        )
        free = replace(
            training, constraints=replace(training.constraints, capacity=None)
        )
        for rule in (*rules, FREE):
            name, rows_given = ("aim", free) if rule == FREE else (rule, training)
            begun = time.process_time()
            algorithm = run_rule(as_rule(name), rows_given, status_quo).algorithm
            seconds = time.process_time() - begun
            new = decide(algorithm, judging.rows, "candidate")
            found[rule].append(
                (margins(group, outcome, now, new), float(new.mean()), seconds)
            )
        for name, fit in peers.items():
            begun = time.process_time()
            decider = fit(known, training.target, own_group)
            seconds = time.process_time() - begun
            new = decider(new_known)
            found[name].append(
                (margins(group, outcome, now, new), float(new.mean()), seconds)
            )
    width = known.shape[1]
    print(
        f"Georgia, 6 or more: {half:,} rows x {width} columns teach, as many judge; "
        f"means of {halves} halves\n"
    )
    names = [f"of {name}" for name in np.unique(group)]
    columns = (*names, "gap", "reversed", "smallest", "selected", "seconds", "of aim's")
    print(
        f"  {'margins in standard errors':50}"
        + "".join(f"{one:>11}" for one in columns)
    )
    aims = statistics.median(one[2] for one in found["aim"])
    for name, several in found.items():
        each = np.array([one[0] for one in several])
        smallest = each.min(axis=1)
        seconds = statistics.median(one[2] for one in several)
        cells = [*(f"{one:.1f}" for one in each.mean(axis=0)), f"{smallest.mean():.1f}"]
        cells += [
            f"{np.mean([one[1] for one in several]):.1%}",
            f"{seconds:.1f}",
            f"{seconds / aims:.1f}x",
        ]
        print(f"  {name:50}" + "".join(f"{one:>11}" for one in cells))
    print(
        "\n  smallest margin less that of aim on the same halves: mean, and its "
        "standard deviation over halves"
    )
    own = np.array([one[0].min() for one in found["aim"]])
    for name, several in found.items():
        apart = np.array([one[0].min() for one in several]) - own
        print(
            f"  {name:50}{apart.mean():>+11.2f}"
            f"{apart.std(ddof=1) if halves > 1 else 0.0:>11.2f}"
        )


def one_fit() -> None:
    """The time of one fit on many numeric columns."""
    rng = np.random.default_rng(0)
    known, group = rng.normal(size=(ROWS, COLUMNS)), rng.random(ROWS) < 0.4
    known[:, :10] += 0.4 * group[:, None]
    chance = 1 / (1 + np.exp(-(known[:, :20].sum(axis=1) / 4 - 0.5 * group)))
    people = pl.DataFrame({f"x{j}": known[:, j] for j in range(COLUMNS)}).with_columns(
        y=pl.Series((rng.random(ROWS) < chance).astype(np.int64)),
        g=pl.Series(np.where(group, "b", "a")),
        now=pl.Series(
            (known[:, :10].sum(axis=1) + 3 * rng.normal(size=ROWS) > 0).astype(np.int64)
        ),
    )
    asked = {
        "outcome": "y",
        "group": "g",
        "status_quo": "now",
        "features": [f"x{j}" for j in range(COLUMNS)],
        "accuracy": "classification_rate",
        "fairness": "false_positive_rate",
        "capacity": "same",
        "claim": improvable.Claim(selection="burden"),
    }
    training, status_quo = given(people, asked)
    print(f"\nOne fit, {ROWS:,} rows x {COLUMNS} numeric columns, simulated\n")
    print(f"  {'':50}{'seconds':>12}{'goal':>12}")
    for rule in ("lasso", *GOALS):
        begun = time.process_time()
        run_rule(as_rule(rule), training, status_quo)
        seconds = time.process_time() - begun
        goal = f"< {GOALS[rule]:g}" if rule in GOALS else "-"
        print(f"  {rule:50}{seconds:>12.1f}{goal:>12}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder of real data")
    parser.add_argument("--halves", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with limited_threads(workers=1, repetitions=1):
        if (options.data / "georgia_parole.csv.gz").exists():
            on_georgia(options.data, options.halves, OURS)
        else:
            print(
                "The Georgia data are not in the folder --data; nothing was compared "
                "on them."
            )
        one_fit()


if __name__ == "__main__":
    main()
