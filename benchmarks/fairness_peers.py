"""`improvable.compare` against the bootstrap of Fairlearn's MetricFrame, on what it can
compute.

What is measured
----------------
Wall-clock time per bootstrap draw of a comparison of 24,392 rows in two groups, 3%
selected, count outcomes. The statistics are each group's mean outcome among the
selected under either algorithm, and its gain from one to the other.

- *Fairlearn* (`MetricFrame(n_boot=...)`) can compute these: a metric per algorithm, and
  the gain as a metric with the other algorithm's decisions as a sample parameter. It
  cannot compute the change of the gap between groups, since its differences are of one
  metric at a time; and it keeps quantiles, not draws, so there is no p-value.
- *EquiBoots* is not run: its metrics are of one algorithm, its draws repeat a list of
  ten seeds unless told otherwise, and its release 0.0.1a14 refuses the versions of
  NumPy, pandas and scikit-learn that all others here run on.
- What Fairlearn's reductions find, beside what the rule `aim` finds, is in
  `aim_peers.py`.

Ours is everything from the data frame to p-values of all components, gap included, with
10,000 draws. Fairlearn is run with fewer draws, because its cost is the same for each;
time per draw is compared.

How
---
One process, interleaved, medians over rounds, after one warm-up each. Point estimates
must agree, and 95% intervals must be of about the same width; otherwise the script
raises. Times are printed and never asserted.

Run ``python benchmarks/fairness_peers.py [--rounds 3] [--draws 10000] [--peer-draws
40]``.
"""

import argparse
import statistics
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from fairlearn.metrics import MetricFrame
from numpy.typing import NDArray

import improvable

ROWS, SMALLER, CAPACITY = 24_392, 0.114, 0.03
LARGEST_RATIO_OF_WIDTHS = 2.0  # few peer draws make its quantiles rough


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    in_b = rng.random(ROWS) < SMALLER
    need = rng.gamma(1.3, 1.0, ROWS) * np.where(in_b, 1.3, 1.0)
    noise = rng.normal(0.0, 1.0, (3, ROWS))
    scores = (
        need + noise[0] + 0.5 * noise[1] - 0.3 * in_b,
        need + 0.6 * noise[0] + 0.5 * noise[2],
    )
    chosen = [
        (score > np.quantile(score, 1 - CAPACITY)).astype(float) for score in scores
    ]
    outcome = np.minimum(rng.poisson(need), 15)
    return pd.DataFrame(
        {
            "y": outcome,
            "g": np.where(in_b, "b", "a"),
            "now": chosen[0],
            "new": chosen[1],
        }
    )


def mean_of_selected(y: NDArray[Any], decision: NDArray[Any]) -> float:
    return float(np.asarray(y)[np.asarray(decision) == 1].mean())


def gain(y: NDArray[Any], decision: NDArray[Any], other: NDArray[Any]) -> float:
    return mean_of_selected(y, other) - mean_of_selected(y, decision)


def with_fairlearn(
    frame: pd.DataFrame, draws: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Estimates and interval widths of (now, gain), by group."""
    found = MetricFrame(
        metrics={"now": mean_of_selected, "gain": gain},
        y_true=frame["y"],
        y_pred=frame["now"],
        sensitive_features=frame["g"],
        sample_params={"gain": {"other": frame["new"]}},
        n_boot=draws,
        ci_quantiles=[0.025, 0.975],
        random_state=1,
    )
    low, high = found.by_group_ci
    return found.by_group.to_numpy(), (high - low).to_numpy()


def with_improvable(
    frame: pd.DataFrame, draws: int
) -> tuple[NDArray[Any], NDArray[Any]]:
    result = improvable.compare(
        frame,
        outcome="y",
        group="g",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=draws),
    )
    assert 0 <= result.p_value <= 1
    values, drawn = result.evidence.values[0][:, 0], result.evidence.drawn[0][:, :, 0]
    wanted = [
        np.stack([x[..., 0], x[..., 1] - x[..., 0]], axis=-1) for x in (values, drawn)
    ]
    low, high = np.quantile(wanted[1], [0.025, 0.975], axis=0)
    return wanted[0], high - low


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--peer-draws", type=int, default=40)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    frame = people()
    runs = {
        "Fairlearn": (with_fairlearn, options.peer_draws),
        "improvable": (with_improvable, options.draws),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    results = {
        name: run(frame, 100 if name == "improvable" else 2)
        for name, (run, _) in runs.items()
    }
    for _ in range(options.rounds):
        for name, (run, draws) in runs.items():
            start = time.perf_counter()
            results[name] = run(frame, draws)
            times[name].append((time.perf_counter() - start) / draws)
    if not np.allclose(results["Fairlearn"][0], results["improvable"][0]):
        raise RuntimeError("point estimates differ.")
    if (
        np.abs(np.log(results["Fairlearn"][1] / results["improvable"][1]))
        > np.log(LARGEST_RATIO_OF_WIDTHS)
    ).any():
        raise RuntimeError(
            f"widths of intervals differ: {results['Fairlearn'][1]}, "
            f"{results['improvable'][1]}."
        )
    middle = {name: statistics.median(values) for name, values in times.items()}
    print(f"{ROWS:,} rows; medians of {options.rounds} rounds\n")
    print(f"  {'':14}{'draws run':>12}{'ms per draw':>14}{'s for 10,000':>14}")
    for name, (_, draws) in runs.items():
        print(
            f"  {name:14}{draws:>12,}{1000 * middle[name]:>14.4f}"
            f"{10_000 * middle[name]:>14.2f}"
        )
    print(
        f"\n  improvable is {middle['Fairlearn'] / middle['improvable']:,.0f} times as "
        "fast per draw"
    )


if __name__ == "__main__":
    main()
