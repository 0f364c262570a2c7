"""Other sizes of improvement: p-values of every step of two sliders, so that a page computes what the library would."""

from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.inference.critical import p_values
from improvable.report.blocks import Sliders
from improvable.report.plots.surface import default_grids
from improvable.results.numbers import p_text

if TYPE_CHECKING:
    from improvable.results.result import Result


def sliders_block(result: "Result") -> Sliders:
    """The sliders, and what they ask."""
    facts = result.facts
    several = len(facts["repetitions"]) > 1
    of = "The lower median, over the repetitions, of the" if several else "The"
    return Sliders(
        title="Try other sizes of improvement",
        curves=slider_curves(result),
        accuracy=f"Accuracy {'of every group' if facts['overall'] is None else 'of everyone'} higher by more than",
        gap="Gap smaller by more than",
        words=f"{of} largest p-value of all conditions, from the same draws as above; the {facts['gap_statistic']} gap "
        "statistic. Sizes tried here are exploration: the answer is about the size asked for.",
    )


def slider_curves(result: "Result") -> dict[str, Any]:
    """p-values of every repetition at every step of both sliders, so that a page computes what the library would.

    The p-value of a claim combines max(p_accuracy, p_fairness) of the repetitions. Distinct p-values are listed once,
    sorted; curves hold places in that list, of which the largest and the medians are those of the p-values.
    """
    frontier, claim = result.frontier(), result.question.claim
    grids = list(default_grids(result, (101, 101)))
    declared = (claim.delta_accuracy, claim.delta_fairness)
    for i, asked in enumerate(declared):
        if isinstance(asked, float):
            grids[i] = np.unique([*grids[i], asked])
    by_repetition = [
        (p_values(frontier.of_accuracy(repetition), grids[0]), p_values(frontier.of_gap(repetition), grids[1]))
        for repetition in frontier.repetitions
    ]
    distinct = np.unique(np.concatenate([curve for pair in by_repetition for curve in pair]))
    codes = [[np.searchsorted(distinct, curve).tolist() for curve in pair] for pair in by_repetition]
    starts = [
        int(np.abs(grid - (d if isinstance(d, float) else 0.0)).argmin())
        for grid, d in zip(grids, declared, strict=True)
    ]
    return {
        "accuracy": grids[0].tolist(),
        "fairness": grids[1].tolist(),
        "start": starts,
        "p": distinct.tolist(),
        "text": [p_text(float(p), result.question.draws) for p in distinct],
        "repetitions": codes,
        "level": frontier.level,
        "share": frontier.form == "ratio",
    }
