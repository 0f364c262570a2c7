"""What candidates of the rule `aim` were aimed at: its notes in words, and its margins
beside those of test rows.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.report.blocks import Heading, Sentence, Table, flat
from improvable.report.document import make_document
from improvable.report.labels import labeled
from improvable.report.tables import aim_words
from improvable.results.facts import deciding
from improvable.results.formatting import value_text, whole_percents
from people import make_people
from reported import compare_case, make_audit, make_labeled

pytestmark = pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")

BLACK, WHITE, GAP = (
    "the accuracy of 'black'",
    "the accuracy of 'white'",
    "the gap by 'race'",
)
SIZES = np.array([1, 2, 3, 3]) / 9
"""Shares of the tested rows that the blocks have."""


def noted(audit: improvable.Audit, *notes: Any) -> improvable.Audit:
    """The same audit as if its rule had made these notes, block by block."""
    repetitions = []
    for one in audit.repetitions:
        blocks = [
            block if note is None else {**block, "aim": note}
            for block, note in zip(one.notes["blocks"], notes, strict=True)
        ]
        repetitions.append(replace(one, notes={**one.notes, "blocks": blocks}))
    return replace(audit, repetitions=tuple(repetitions))


def note(
    weights: tuple[float, ...], promised: tuple[float | None, ...] = (0.1, 0.2, 0.3)
) -> dict[str, Any]:
    names = (BLACK, WHITE, GAP)
    return {
        "weights": dict(zip(("prediction", *names), weights, strict=True)),
        "promised": dict(zip(names, promised, strict=True)),
    }


def section(result: improvable.Audit) -> tuple[str, Table]:
    """The sentence and the table of a report."""
    blocks = flat(make_document(result).blocks)
    start = next(
        k
        for k, one in enumerate(blocks)
        if isinstance(one, Heading) and "aims at" in one.text
    )
    sentence, table = blocks[start + 1 : start + 3]
    assert isinstance(sentence, Sentence)
    assert isinstance(table, Table)
    return sentence.text, table


def test_weights_and_promises_are_means_over_the_blocks_that_have_them_by_tested_rows() -> (  # noqa: E501
    None
):
    notes = [
        note((1, 0, 0, 0), (0.4, 0.4, 0.4)),
        None,
        note((0.1, 0.3, 0, 0.6)),
        note((0, 0.5, 0, 0.5), (0, 0.1, 0.2)),
    ]
    result = noted(make_audit(), *notes)
    kept = [
        (size, one) for size, one in zip(SIZES, notes, strict=True) if one is not None
    ]
    whole = sum(size for size, _ in kept)
    facts = deciding(result.facts)
    *found, plain = facts["aim"]
    assert [(one["kind"], one["group"]) for one in found] == [
        ("accuracy", "black"),
        ("accuracy", "white"),
        ("fairness", "race"),
    ]
    for name, one in zip((BLACK, WHITE, GAP), found, strict=True):
        for key, part in (("weight", "weights"), ("promised", "promised")):
            mean = sum(size * mine[part][name] for size, mine in kept) / whole
            assert one[key] == pytest.approx(mean, rel=1e-5)  # type: ignore[literal-required]
    assert plain == {
        "kind": "prediction",
        "group": "",
        "weight": pytest.approx(1.3 / 7, rel=1e-5),
        "promised": None,
        "tested": None,
    }
    told = (
        "the candidates give 47% of their weight to the gap, 34% to the accuracy of "
        "black, 19% to prediction."
    )
    assert f"In the deciding repetition ({facts['repetition']}) {told}" in " ".join(
        result.summary().split()
    )
    sentence, table = section(result)
    assert sentence.endswith(told)
    assert [row[:3] for row in table.rows] == [
        ("Accuracy of black", "34%", "0.100"),
        ("Accuracy of white", "0%", "0.186"),
        ("Gap", "47%", "0.271"),
    ]
    assert [row[3] for row in table.rows] == [
        value_text(one["tested"]) for one in found
    ]
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize("form", ["ratio", "difference"])
def test_the_margin_of_test_rows_is_the_statistic_of_the_claim(form: str) -> None:
    audit = make_audit(delta_accuracy=0.02, delta_fairness=0.1, form=form)
    result = noted(audit, *[note((0, 0.2, 0.2, 0.6))] * 4)
    for repetition in result.facts["repetitions"]:
        for one, end in zip(repetition["aim"], repetition["components"], strict=False):
            before, after = end["status_quo"] or 0.0, end["candidate"] or 0.0
            if one["kind"] == "accuracy":
                margin = (
                    after - 1.02 * before if form == "ratio" else after - before - 0.02
                )
            else:
                margin = (
                    0.9 * before - after if form == "ratio" else before - 0.1 - after
                )
            assert one["tested"] == pytest.approx(margin)


def test_where_prediction_did_as_well_nothing_was_aimed_at() -> None:
    result = noted(make_audit(), *[note((1, 0, 0, 0))] * 4)
    assert "Plain prediction did as well, so nothing was aimed at." in result.summary()
    assert (
        section(result)[0] == "Plain prediction did as well, so nothing was aimed at."
    )


def test_what_was_not_aimed_says_nothing() -> None:
    # notes of a rule of one's own
    odd = [{"aim": 3}, "high", {"weights": {}, "promised": {"a": "b"}}, None]
    for result in (make_audit(), noted(make_audit(), *odd)):
        assert all(one["aim"] == [] for one in result.facts["repetitions"])
        assert aim_words(result.facts) == ""
        assert "aim-table" not in repr(make_document(result).blocks)
    assert compare_case().facts["repetitions"][0]["aim"] == []
    aimed = noted(make_audit(), *[note((0, 0.2, 0.2, 0.6))] * 4)
    assert aimed.facts["repetitions"][0]["aim"]
    assert not aimed.with_claim(delta_fairness=0.1).facts["repetitions"][0]["aim"], (
        "another claim was aimed at"
    )


def test_a_promise_that_is_undefined_is_none_and_columns_have_their_labels() -> None:
    result = noted(make_labeled(), *[note((0, 0.2, 0.2, 0.6), (0.1, None, 0.3))] * 4)
    assert [row[2] for row in section(result)[1].rows] == ["0.100", "none", "0.300"]
    two: Any = {**result.facts, "group": ["race", "dem_female"]}
    assert (
        "60% of their weight to the gap by Race, 20% to the accuracy of black"
        in aim_words(labeled(two))
    )


def test_many_conditions_are_summed_up() -> None:
    result = noted(make_audit(repetitions=1), *[note((0.1, 0.2, 0.3, 0.4))] * 4)
    facts = result.facts
    group = {"kind": "accuracy", "promised": 0.1, "tested": 0.1}
    aim = [
        group | {"group": f"g{k}", "weight": share}
        for k, share in enumerate((0.4, 0.3, 0.1, 0.1, 0.06, 0.04))
    ]
    many: Any = {**facts, "repetitions": [{**facts["repetitions"][0], "aim": aim}]}
    assert aim_words(many) == (
        "The candidates give 40% of their weight to the accuracy of g0, 30% to the "
        "accuracy of g1, 10% to the accuracy of g2, 10% to the accuracy of g3, 10% to "
        "others."
    )


def test_whole_percents_add_up() -> None:
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 7, 40):
        shares = rng.dirichlet(np.ones(count)).tolist()
        found = whole_percents(shares)
        assert sum(found) == 100
        assert all(
            abs(one - 100 * share) < 1 for one, share in zip(found, shares, strict=True)
        )
    assert whole_percents([0.0, 1.0]) == [0, 100]
    assert whole_percents([]) == []


@pytest.mark.parametrize("rule", ["aim", "tournament:linear,aim:lasso"])
def test_an_audit_that_aims_says_at_what(rule: str, tmp_path: Path) -> None:
    people = make_people(1_500).with_columns(sick=(pl.col("visits") > 2).cast(pl.Int8))
    result = flat_audit(
        people,
        outcome="sick",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.4),
        row_id="person",
        rule=rule,
        features=["signal", "small"],
        repetitions=1,
        draws=100,
        capacity=0.4,
        scheme="split",
        accuracy="classification_rate",
        fairness="selection_rate",
    )
    (repetition,) = result.facts["repetitions"]
    (block,) = repetition["rule_notes"]["blocks"]
    assert block.get("winner", "aim").startswith("aim")
    assert sum(one["weight"] for one in repetition["aim"]) == pytest.approx(1, abs=1e-5)
    for one, promised in zip(
        repetition["aim"], block["aim"]["promised"].values(), strict=False
    ):
        assert one["promised"] == pytest.approx(promised, rel=1e-5)
    words, table = section(result)
    assert words.startswith(
        "The candidate gives " if "winner" in block else "Plain prediction did as well"
    )
    assert words in " ".join(result.summary().split())
    assert [row[0] for row in table.rows] == ["Accuracy of a", "Accuracy of b", "Gap"]
    result.save(tmp_path / "kept")
    assert (
        improvable.load(tmp_path / "kept").facts["repetitions"]
        == result.facts["repetitions"]
    )
