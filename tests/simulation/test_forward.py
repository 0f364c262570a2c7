"""True nulls that a rule meets by chance: the counterexample to testing rows that have
taught, and code that cheats.

Samples go through a fast path that equals `audit` to the last bit, which is tested
here.
"""

import numpy as np
import pytest

from improvable.errors import OptionError
from improvable.inference.test import assess, lower_median
from improvable.question.claim import Claim
from improvable.question.settings import Scheme
from validity.choosing import ADVERSARIES, EXAMPLE, FEW, gains
from validity.learning import (
    COIN,
    Learning,
    Table,
    classes,
    in_clusters,
    least_squares,
    with_weights,
)
from validity.learning_study import CODE, THREE
from validity.schemes import (
    REPETITIONS,
    SCHEMES,
    audit_of,
    contributed,
    evidence_of,
    p_values_of,
    summarized,
)
from validity.study import ALPHA, Rate, repeat

SAMPLES, DRAWS, ERRORS = 140, 200, 3.0
BOUND = ALPHA + ERRORS * (ALPHA * (1 - ALPHA) / SAMPLES) ** 0.5
"""5% and so many Monte Carlo errors."""
EQUAL = (
    EXAMPLE,
    *(
        one
        for one in CODE
        if one.name in ("four tweaks, 400 rows", "two opposites", "four tweaks, gap")
    ),
    *(
        one
        for one in CODE
        if one.name in ("four tweaks or the status quo", "nearest neighbor, twins")
    ),
    ADVERSARIES[0],
    Learning("three groups", "", classes(*THREE), least_squares, groups=3),
    Learning("clusters", "", in_clusters(*COIN), least_squares),
    Learning("weights", "", with_weights(*COIN), least_squares),
)


def sample(case: Learning, i: int) -> Table:
    return case.draw(np.random.default_rng([41, i]), case.rows)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("case", EQUAL, ids=lambda case: case.name)
def test_the_fast_path_equals_audit(case: Learning, scheme: Scheme) -> None:
    table = sample(case, 0)
    audit = audit_of(case, table, scheme, 7, 100)
    assert p_values_of(case, table, scheme, 7, 100) == [
        one.p_value for one in audit.repetitions
    ]


@pytest.mark.parametrize("case", FEW, ids=lambda case: case.name)
def test_no_candidate_changes_what_binds(case: Learning) -> None:
    """By construction, up to chance: right as often for group a as the status quo, or
    means as high.
    """
    table = case.draw(np.random.default_rng(42), 200_000)
    a, columns = table.group == 0, table.features.T
    if case.utility == "calibration":
        means = [table.outcome[a & (column == 1)].mean() for column in columns]
        assert means == pytest.approx(
            np.full(len(means), table.outcome[a].mean()), abs=0.01
        )
    else:
        assert np.array_equal(columns[0][a], table.score[a] > 0)
        assert gains(table) / a.sum() == pytest.approx(np.zeros(len(columns)), abs=0.01)


def two_folds(case: Learning, table: Table, seed: int) -> float:
    """The lower median p-value where every row is tested by what the other half of the
    rows taught.
    """
    p_values, every = [], np.arange(len(table))
    for repetition in range(REPETITIONS):
        fold = np.random.default_rng([seed, repetition]).permutation(len(table)) % 2
        vectors = [
            contributed(case, table.take(fold != k), table.take(fold == k))[0]
            for k in (0, 1)
        ]
        rows = np.concatenate([every[fold == k] for k in (0, 1)])
        chance = np.random.SeedSequence([seed, repetition])
        evidence = evidence_of(
            case, table, rows, np.concatenate(vectors), None, chance, DRAWS
        )
        p_values.append(assess(evidence, Claim(ask=case.ask)).p_value)
    return float(lower_median(p_values))


def test_choosing_among_tweaks_by_chance_is_harmless_unless_rows_both_teach_and_are_tested() -> (  # noqa: E501
    None
):
    """Four tweaks, of which none improves: the level of both schemes, and what two
    folds would make of them.
    """

    def once(i: int) -> dict[str, float]:
        table = sample(EXAMPLE, i)
        medians = summarized(
            {
                scheme: p_values_of(EXAMPLE, table, scheme, i, DRAWS)
                for scheme in SCHEMES
            }
        )
        return {**medians, "two folds": two_folds(EXAMPLE, table, i)}

    found = repeat(once, SAMPLES)
    for scheme in SCHEMES:
        assert found.below(scheme, ALPHA / 2).share <= BOUND
        assert found.share(f"{scheme}, one").share <= BOUND
    assert found.below("two folds", ALPHA).share > BOUND


def test_code_that_locks_in_its_gain_fools_one_repetition_and_not_the_median() -> None:
    """Which is why fewer than seven forward repetitions of a rule that is code are
    refused.
    """
    case = ADVERSARIES[0]
    found = repeat(
        lambda i: summarized(
            {"forward": p_values_of(case, sample(case, i), "forward", i, DRAWS)}
        ),
        200,
    )
    assert _exceeds(found.share("forward, one"))
    assert not _exceeds(found.below("forward", ALPHA / 2))
    with pytest.raises(OptionError, match="code of its own"):
        audit_of(case, sample(case, 0), "forward", 0, 100, repetitions=1)


def _exceeds(rate: Rate) -> bool:
    return rate.exceeds(ALPHA, ERRORS)
