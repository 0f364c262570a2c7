"""The simulation behind "Why not folds?": what its picture shows, with fewer data
sets.
"""

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
FEWER = 4_000


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    return runpy.run_path(str(DOCS / "pictures" / "why_not_folds.py"))


def level(
    study: dict[str, Any], scheme: str, candidates: int, alpha: float, repetitions: int
) -> float:
    found = study["scores"](
        scheme,
        [0.1] * candidates,
        level=alpha,
        data_sets=FEWER,
        repetitions=repetitions,
    )
    return float(study["rejected"](found, alpha))


@pytest.mark.parametrize("scheme", ["two folds", "five folds"])
def test_folds_reject_too_often_even_the_median_at_half_of_the_level(
    study: dict[str, Any], scheme: str
) -> None:
    assert level(study, scheme, 6, 0.05, 1) > 0.05 + 5 * study["error"](0.05, FEWER)
    assert level(study, scheme, 6, 0.025, 7) > 0.05


@pytest.mark.parametrize("scheme", ["forward", "the paper's halves"])
def test_rows_that_nothing_was_learned_from_keep_the_level(
    study: dict[str, Any], scheme: str
) -> None:
    for candidates in (1, 6):
        assert level(study, scheme, candidates, 0.05, 1) < 0.05 + 3 * study["error"](
            0.05, FEWER
        )
        assert level(study, scheme, candidates, 0.025, 7) < 0.03


def test_one_candidate_is_tested_alike_by_any_folds(study: dict[str, Any]) -> None:
    """Nothing is chosen, and every row is tested: folds are then no division at all."""
    two, five = (
        level(study, scheme, 1, 0.05, 1) for scheme in ("two folds", "five folds")
    )
    assert two == pytest.approx(five, abs=1e-12)
    assert abs(two - 0.05) < 3 * study["error"](0.05, FEWER)


def test_the_pages_have_a_place_for_the_tables_that_the_script_writes() -> None:
    for page, names in (
        ("paper.md", ("candidates", "rows")),
        ("guarantees.md", ("rules",)),
    ):
        text = (DOCS / "explanation" / page).read_text(encoding="utf-8")
        for name in names:
            table = re.search(
                rf"<!-- why_not_folds.py: {name} -->\n\n(\|.*?\|)\n\n<!-- end -->",
                text,
                flags=re.DOTALL,
            )
            assert table is not None
