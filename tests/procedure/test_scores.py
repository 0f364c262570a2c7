"""The cutoff of a capacity comes from all scores, counted batch by batch."""

import numpy as np
import pytest

from improvable.procedure.compare import Scores, _merge_scores, count_scores


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("batches", [1, 2, 7])
def test_scores_of_batches_are_those_of_the_whole(weighted: bool, batches: int) -> None:
    rng = np.random.default_rng(batches)
    scores, weights = rng.integers(0, 40, 500) / 8, rng.integers(0, 3, 500) / 2
    found: tuple[Scores, ...] | None = None
    for some in np.array_split(rng.permutation(500), batches):
        one = (count_scores(scores[some], weights[some] if weighted else None),)
        found = one if found is None else _merge_scores(one, found)
    assert found is not None
    order = np.lexsort((weights, scores)) if weighted else np.argsort(scores)
    assert (np.repeat(found[0].scores, found[0].counts) == scores[order]).all()
    if weighted:
        assert found[0].weights is not None
        assert (np.repeat(found[0].weights, found[0].counts) == weights[order]).all()
    assert len(found[0].counts) == len(
        set(zip(scores, weights if weighted else scores, strict=True))
    )


def test_a_batch_without_rows_adds_nothing() -> None:
    nobody, one = (count_scores(np.array(scores), None) for scores in ([], [1.0, 1.0]))
    (both,) = _merge_scores((nobody,), (one,))
    assert both.scores.tolist() == [1.0]
    assert both.counts.tolist() == [2]
    assert not len(_merge_scores((nobody,), (nobody,))[0].counts)
