"""Shares of the two algorithms: comparable where that is asked for, and said at the
verdict where they are not.
"""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.procedure.cautions import capacity_cautions, share_cautions
from people import make_people

FEATURES = ["signal", "small"]


def people() -> pl.DataFrame:
    return make_people(3_000).with_columns(chosen=(pl.col("score") > 1.5).cast(pl.Int8))


def audited(status_quo: Any = "chosen", **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "rule": "linear",
        "features": FEATURES,
        "repetitions": 2,
        "draws": 200,
        "row_id": "person",
    }
    return flat_audit(
        people(),
        outcome="visits",
        group="group",
        status_quo=status_quo,
        **{**settings, **options},
    )


def test_the_candidate_can_have_the_status_quo_s_own_share() -> None:
    """Learned on the rows before each block, for a column of decisions and for a fixed
    cutoff.
    """
    for status_quo in ("chosen", improvable.threshold("score", above=1.5)):
        result = audited(status_quo, capacity="status_quo")
        facts = result.to_dict()
        assert facts["capacity"] == "status_quo"
        assert not facts["verdict_warnings"]
        for repetition in facts["repetitions"]:
            shares = repetition["share_selected"]
            assert shares["candidate"]["train"] == pytest.approx(
                shares["status_quo"]["train"], abs=0.01
            )
            assert shares["candidate"]["test"] == pytest.approx(
                shares["status_quo"]["test"], abs=0.05
            )


@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_a_rare_share_of_the_status_quo_is_found_before_every_block(
    engine: Any,
) -> None:
    """Sixty of 3,000: a tenth of the rows would hold none of them in one repetition of
    550; the first block grows.
    """
    result = audited(
        improvable.threshold("score", above=float(people()["score"].sort()[-61])),
        capacity="status_quo",
        repetitions=15,
        engine=engine,
    )
    assert result.facts["blocks"] == {
        "cuts": [0.17, 0.4, 0.7],
        "grown_for": "10 rows on either side of the cutoff",
    }
    assert len(result.repetitions) == 15


def test_of_a_score_with_a_capacity_that_share_is_the_capacity() -> None:
    result = audited(improvable.threshold("score", capacity=0.2), capacity="status_quo")
    assert result.to_dict()["capacity"] == 0.2


def test_a_status_quo_that_selects_everyone_has_no_share_to_give() -> None:
    frame = people().with_columns(chosen=pl.lit(1))
    with pytest.raises(
        improvable.DataError, match="selects everyone among the training rows"
    ):
        improvable.audit(
            frame,
            outcome="visits",
            group="group",
            status_quo="chosen",
            rule="linear",
            features=FEATURES,
            capacity="status_quo",
            test=improvable.Test(draws=100),
        )


def test_different_shares_are_said_at_the_verdict_of_an_audit() -> None:
    with pytest.warns(improvable.ImprovableWarning, match="which alone can change"):
        result = audited(capacity=0.1)
    (text,) = result.to_dict()["verdict_warnings"]
    shares = {
        name: f"{share['test']:.1%}"
        for name, share in result.repetitions[0].counts["share_selected"].items()
    }
    assert shares == {"status_quo": "42.9%", "candidate": "8.8%"}
    assert "the candidate selects 8.8% of the rows and the status quo 42.9%" in text
    assert f"But: {text[:40]}" in " ".join(result.summary().split())
    binary = people().with_columns(visits=(pl.col("visits") > 4).cast(pl.Int8))
    with pytest.warns(improvable.ImprovableWarning, match="`capacity='same'`"):
        improvable.audit(
            binary,
            outcome="visits",
            group="group",
            status_quo="chosen",
            rule="linear",
            features=FEATURES,
            test=improvable.Test(draws=100, repetitions=1),
        )


def test_different_shares_are_said_at_the_verdict_of_a_comparison() -> None:
    frame = people().with_columns(other=(pl.col("signal") > 3).cast(pl.Int8))
    with pytest.warns(
        improvable.ImprovableWarning, match="which alone can change accuracy and gap"
    ):
        result = improvable.compare(
            frame,
            outcome="visits",
            group="group",
            status_quo="chosen",
            candidate="other",
            test=improvable.Test(draws=200),
        )
    assert len(result.verdict_warnings) == 1


def test_a_rule_that_breaks_its_capacity_does_not_pass_in_silence() -> None:
    """It selects everyone at a capacity of a tenth."""

    class Everyone:
        name = "everyone"

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            return lambda frame: np.ones(len(frame))

    with pytest.warns(
        improvable.ImprovableWarning,
        match=r"candidate selects 100\.00% .* more than its capacity",
    ):
        result = audited(
            improvable.threshold("score", capacity=0.1), rule=Everyone(), repetitions=7
        )
    assert any(
        "more than its capacity of 10.00%" in text for text in result.verdict_warnings
    )


def test_a_capacity_is_missed_beyond_chance_and_five_percent_of_it() -> None:
    def kinds(share: float, error: float) -> list[str]:
        return [
            one.kind
            for one in capacity_cautions((None, 0.1), (0.5, share), (0.0, error))
        ]

    assert kinds(0.104, 0.0001) == []
    assert kinds(0.12, 0.01) == []
    assert kinds(0.12, 0.002) == kinds(0.08, 0.002) == ["capacity candidate"]
    assert share_cautions((0.1, 0.12), rows=200) == []
    assert len(share_cautions((0.1, 0.12), rows=20_000)) == 1


def test_shares_by_group_are_those_of_the_rows() -> None:
    frame = people().with_columns(other=(pl.col("signal") > 1.8).cast(pl.Int8))
    for weight in (None, "weight"):
        result = improvable.compare(
            frame,
            outcome="visits",
            group="group",
            status_quo="chosen",
            candidate="other",
            test=improvable.Test(draws=200),
            weight=weight,
        )
        found = json.loads(json.dumps(result.to_dict()))["repetitions"][0][
            "share_selected_by_group"
        ]
        for group in ("a", "b"):
            mine = frame.filter(group=group)
            weights = np.ones(len(mine)) if weight is None else mine[weight].to_numpy()
            for name, column in (("status_quo", "chosen"), ("candidate", "other")):
                assert found[group][name] == pytest.approx(
                    np.average(mine[column].to_numpy(), weights=weights)
                )


def test_the_summary_says_whom_either_algorithm_selects(tmp_path: Any) -> None:
    frame = pl.DataFrame(
        {
            "y": [1, 2, 3, 4] * 50,
            "g": ["a", "a", "b", "b"] * 50,
            "d": [1, 0, 1, 1] * 50,
            "e": [1, 1, 0, 1] * 50,
        }
    )
    result = improvable.compare(
        frame,
        outcome="y",
        group="g",
        status_quo="d",
        candidate="e",
        test=improvable.Test(draws=100),
    )
    line = (
        "Selected: status quo 75.0%, candidate 75.0% of test rows (a 50.0% -> 100.0%, "
        "b 100.0% -> 50.0%)."
    )
    assert line in " ".join(result.summary(verbose=True).split())
    assert "Of all test rows, 75.0% → 75.0% are selected." in " ".join(
        result.summary().split()
    )
    table = result.table()
    assert table["group"].to_list() == ["a", "b", "g"]
    assert table["share_status_quo"].to_list() == [0.5, 1.0, 0.75]
    assert table["share_candidate"].to_list() == [1.0, 0.5, 0.75]
    result.save(tmp_path / "run")
    assert improvable.load(tmp_path / "run").to_dict() == result.to_dict()
