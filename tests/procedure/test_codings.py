"""How an outcome is written does not matter: the same p-values, cautions and
corrections, from the public functions.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_compare
from improvable.question.formula import Formula

NET_RETURN = improvable.Utility(
    lambda y, d: np.where(y == 1, 8.0, -60.0) * d,
    lambda y, d: d,
    name="net_return",
    binary_decision=True,
)
QUOTIENT = improvable.Utility(
    formula="repaid / granted",
    means={"repaid": lambda y, d: y * d, "granted": lambda y, d: d},
    name="quotient",
    binary_decision=True,
)


def loans(more: int) -> pl.DataFrame:
    """97% repay; the candidate grants about so many more loans of group b, of the same
    risk.
    """
    rng = np.random.default_rng(12)
    rows = 1_600
    group = np.where(np.arange(rows) < 800, "a", "b")
    now = rng.random(rows) < 0.5
    new = np.where(
        group == "a", rng.random(rows) < 0.5, now | (rng.random(rows) < 2 * more / 800)
    )
    chance = np.where(group == "b", 0.97, np.where(new & ~now, 0.95, 0.6))
    repaid = (rng.random(rows) < chance).astype(int)
    return pl.DataFrame(
        {
            "group": group,
            "now": now.astype(int),
            "new": new.astype(int),
            "repaid": repaid,
            "two": repaid + 1,
            "turned": -1 + repaid,
            "words": np.where(repaid == 1, "yes", "no"),
            "house": np.arange(rows) // 2,
        }
    )


def compared(frame: pl.DataFrame, **options: Any) -> dict[str, Any]:
    told = {
        "outcome": "repaid",
        "accuracy": "calibration",
        "form": "difference",
        "draws": 1_000,
        **options,
    }
    result = flat_compare(
        frame,
        group="group",
        status_quo="now",
        candidate="new",
        direction="as stated",
        **told,
    )
    (one,) = result.to_dict()["repetitions"]
    why = [(each["why"], each["group"]) for each in one["corrections"]]
    components = [each["p_value"] for each in one["components"]]
    return {
        "p": one["p_value"],
        "plain": one["p_plain"],
        "components": components,
        "why": why,
        "differing": one["differing_rows"],
    }


@pytest.mark.parametrize("more", [20, 60])
@pytest.mark.parametrize(
    "written",
    [
        {"outcome": "two"},
        {"outcome": "turned"},
        {"outcome": "words", "positive": {"words": "yes"}},
        {"accuracy": NET_RETURN},
        {"accuracy": QUOTIENT},
        {"accuracy": "positive_predictive_value"},
    ],
    ids=["1/2", "-1/0", "yes/no", "net return", "quotient", "predictive value"],
)
def test_p_values_are_the_same(more: int, written: dict[str, Any]) -> None:
    frame = loans(more)
    plain, other = compared(frame), compared(frame, **written)
    assert plain == other
    assert ("two values", "b") in plain["why"]
    assert plain["plain"] is not None


def test_clusters_of_two_are_corrected_too() -> None:
    frame = loans(20)
    alone, together = compared(frame), compared(frame, cluster="house")
    assert ("two values", "b") in alone["why"]
    assert ("two values", "b") in together["why"]
    assert together == compared(frame, cluster="house", outcome="two")


def test_the_papers_test_is_not_corrected() -> None:
    """`scheme="split", gap="absolute"`: the status quo's gap is chosen on the training
    rows, and nothing is added.
    """
    frame = loans(20).with_columns(
        x=pl.Series(np.random.default_rng(1).normal(size=1_600))
    )
    result = improvable.audit(
        frame,
        outcome="repaid",
        group="group",
        status_quo="now",
        features=["x"],
        rule="linear",
        capacity="same",
        test=improvable.Test(scheme="split", repetitions=1, draws=200),
        claim=improvable.Claim(gap="absolute"),
        read=improvable.Read(direction="as stated"),
        n_jobs=1,
    )
    (one,) = result.to_dict()["repetitions"]
    assert (one["corrections"], one["p_plain"]) == ([], None)


def test_only_a_plain_quotient_is_a_pair() -> None:
    assert (QUOTIENT.formula, QUOTIENT.means) == ("", ())
    assert Formula("a / b").quotient == ("a", "b")
    assert [
        Formula(text).quotient for text in ("a / a", "2 * a / b", "a / (b + c)", "a")
    ] == [None] * 4
    rates = improvable.Utility(
        formula="hits / alarms",
        means={
            name: improvable.UTILITIES[f"{kind}_positive_rate"]
            for name, kind in (("hits", "true"), ("alarms", "false"))
        },
        name="odds",
    )
    assert rates.formula


def costs(rows: int = 400) -> pl.DataFrame:
    """About 30 own picks of either algorithm in group b; not one of the candidate's
    happens to be dear.
    """
    rng = np.random.default_rng(3)
    group = np.where(np.arange(rows) < rows // 2, "a", "b")
    kind = rng.choice(4, rows, p=[0.4, 0.3, 0.15, 0.15])
    cost = rng.normal(10, 1, rows) - np.where(kind == 3, 1.0, 0.0)
    return pl.DataFrame(
        {
            "group": group,
            "now": (kind == 1) | (kind == 2),
            "new": (kind == 1) | (kind == 3),
            "cost": cost,
        }
    ).with_columns(pl.col("now", "new").cast(pl.Int8))


def test_a_range_that_is_known_lets_draws_know_of_amounts_not_seen() -> None:
    options: dict[str, Any] = {
        "outcome": "cost",
        "lower_is_better": True,
        "ask": "accuracy",
    }
    unknown, known = (
        compared(costs(), **options),
        compared(costs(), **options, outcome_range=(0, 60)),
    )
    assert unknown["p"] < 0.05 < known["p"]
    assert ("two values", "b") in known["why"]
    assert known["plain"] == unknown["p"]
    assert not unknown["why"]


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0, 5), "and its range is 0 to 5. Declare a range that holds every outcome"),
        (
            (5, 5),
            r"`outcome_range` is \[5, 5\]. Give the lowest and the highest amount",
        ),
        ((1,), "Give the lowest and the highest amount"),
    ],
)
def test_a_range_that_cannot_be_is_refused(ends: tuple[float, ...], words: str) -> None:
    with pytest.raises(improvable.ImprovableError, match=words):
        compared(costs(), outcome="cost", lower_is_better=True, outcome_range=ends)


def test_a_margin_asked_later_is_cautioned() -> None:
    """Draws are those of the claim they were made for: rates near one need the variance
    at the null of theirs.
    """
    rng = np.random.default_rng(15)
    frame = pl.DataFrame(
        {
            "group": rng.choice(["a", "b"], 600),
            "y": (rng.random(600) < 0.9).astype(np.int64),
            "now": (rng.random(600) < 0.95).astype(np.int64),
            "new": (rng.random(600) < 0.95).astype(np.int64),
        }
    )
    asked: dict[str, Any] = {
        "outcome": "y",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 200,
        "ask": "accuracy",
    }
    plain = flat_compare(
        frame, **asked, accuracy="true_positive_rate", fairness="true_positive_rate"
    )
    later = plain.with_claim(delta_accuracy=-0.05)
    assert "margin" in {one.kind for one in later.cautions}
    assert later.counts["p_plain"] is None
    at_once = flat_compare(
        frame,
        **asked,
        accuracy="true_positive_rate",
        fairness="true_positive_rate",
        delta_accuracy=-0.05,
    )
    assert "margin" not in {one.kind for one in at_once.cautions}
    assert {one["why"] for one in at_once.counts["corrections"]} >= {"margin"}
