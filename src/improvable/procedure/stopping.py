"""When a sequential audit has enough splits: when its decision would come out the same with fresh ones."""

from collections.abc import Sequence
from dataclasses import dataclass

from improvable.errors import Caution
from improvable.inference.combining import combined_threshold
from improvable.inference.reruns import rerun_risk
from improvable.question.design import Question
from improvable.results.comparison import Comparison
from improvable.results.words import round_name

SPLITS_ADDED = 2
"""At a time: an odd number of splits stays odd."""


@dataclass(frozen=True)
class Stopping:
    """When a sequential audit has enough splits: a fresh run would decide otherwise with less than `tolerance`."""

    tolerance: float
    most_splits: int


def reproducible_after(
    stopping: Stopping | None, least: int, splits: Sequence[Comparison], question: Question
) -> int | None:
    """After how many of the splits an audit may stop; None if it must go on.

    The numbers of splits looked at do not depend on how many workers there are.
    """
    if stopping is None:
        return len(splits)
    for count in range(least, len(splits) + 1, SPLITS_ADDED):
        if count + SPLITS_ADDED > stopping.most_splits or _otherwise(splits[:count], question) < stopping.tolerance:
            return count
    return None


def next_count(stopping: Stopping | None, count: int, workers: int) -> int:
    """How many splits to have next: enough to keep the workers busy."""
    most = count if stopping is None else stopping.most_splits
    step = SPLITS_ADDED * max(1, workers // SPLITS_ADDED)
    return count + min(step, (most - count) // SPLITS_ADDED * SPLITS_ADDED)


def stopping_cautions(stopping: Stopping | None, splits: Sequence[Comparison], question: Question) -> list[Caution]:
    """Say so where a sequential audit stopped for lack of splits."""
    if stopping is None or (risk := _otherwise(splits, question)) < stopping.tolerance:
        return []
    text = (
        f"After {len(splits)} {round_name(question.folds)}s a fresh run would still decide otherwise with probability "
        f"{risk:.2g}, above the tolerance of {stopping.tolerance:g}."
    )
    return [Caution("not reproducible", text)]


def _otherwise(splits: Sequence[Comparison], question: Question) -> float:
    alpha, folds, p_values = question.alpha, question.folds, [split.p_value for split in splits]
    threshold = combined_threshold(alpha, len(splits), question.combine, folds)
    return rerun_risk(p_values, alpha=alpha, threshold=threshold, folds=folds).otherwise
