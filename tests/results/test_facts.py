"""The JSON holds every number that a report prints, under names with one meaning
each.
"""

import ast
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

import improvable
from improvable.data.columns import UNFIT
from improvable.errors import CAPACITY, CODE, COPIES, LEVER, PROBABILITIES, SHARES
from improvable.procedure.cautions import MEANINGS, meaning
from improvable.question.catalog import UTILITIES, short_words
from improvable.report.blocks import Tiles, flat
from improvable.report.document import make_document
from improvable.results.facts import CountFacts, RepetitionFacts
from improvable.results.formatting import ends_text, value_text
from reported import SHAPES, compare_case, make_audit, many_groups

ROOT = Path(__file__).parents[2]
SOURCE = Path(improvable.__file__).parent


@pytest.mark.parametrize("shape", [{}, *SHAPES])
def test_every_interval_of_the_first_screen_is_in_the_json(
    shape: dict[str, object],
) -> None:
    result = compare_case(**shape)
    facts = result.to_dict()
    spreads = [
        one[name] for one in facts["estimates"] for name in ("status_quo", "candidate")
    ]
    known = {ends_text(one["low"], one["high"]) for one in spreads}
    values = {value_text(one["estimate"]) for one in spreads}
    tiles = next(
        block
        for block in flat(make_document(result).blocks)
        if isinstance(block, Tiles)
    ).tiles
    changes = [tile for tile in tiles if " intervals " in tile.words]
    assert changes
    for tile in changes:
        before, after = tile.words.split(" intervals ")[1].split("; ")[0].split(" → ")
        assert {before, after} <= known
        assert {tile.before, tile.after} <= values


def test_estimates_are_means_of_the_repetitions_with_their_gaps_and_everyone() -> None:
    facts = make_audit().facts
    named = [(one["kind"], one["group"]) for one in facts["estimates"]]
    assert named == [
        ("utility", "black"),
        ("utility", "white"),
        ("difference", "black minus white"),
        ("gap", "race"),
    ]
    for one in facts["estimates"][:2]:
        means = [
            repetition["accuracy"][one["group"]]["candidate"] or 0.0
            for repetition in facts["repetitions"]
        ]
        assert one["candidate"]["estimate"] == pytest.approx(sum(means) / len(means))
    assert "everyone" in [
        one["group"] for one in compare_case(overall="population").facts["estimates"]
    ]


def test_bounds_of_the_json_are_those_of_the_frontier() -> None:
    result = many_groups(2)
    assert result.to_dict()["bounds"] == result.frontier().to_dict()["bounds"]
    assert [one["words"] for one in result.facts["bounds"]] == [
        bound.words for bound in result.bounds()
    ]


def test_rows_are_a_number_and_selection_is_what_it_means() -> None:
    audit, comparison = make_audit(), compare_case()
    for result in (audit, comparison):
        assert result.rows == result.facts["rows"]
        assert result.facts["selection"] == "benefit"
        for repetition in result.facts["repetitions"]:
            assert "selection" not in repetition
    assert len(audit.facts["repetitions"][0]["rule_notes"]["blocks"]) == 4
    assert comparison.facts["repetitions"][0]["rule_notes"] == {}


def test_every_utility_of_the_catalog_has_words() -> None:
    names = [*UTILITIES, "f2_score", "f0.5_score"]
    said = {name: short_words(name) for name in names}
    assert not [words for words in said.values() if re.fullmatch(r"[a-z0-9_.]+", words)]
    assert len(set(said.values())) == len(names), "no two look the same"
    document = repr(
        make_document(
            compare_case(accuracy="lift", fairness="adverse_impact_ratio")
        ).blocks
    )
    assert "adverse_impact_ratio" not in re.sub(
        r"functools\.partial\(.*?\)\)", "", document
    )


def first_words(kind: ast.expr) -> set[str]:
    """The words with which a kind begins, as far as they are written out."""
    first = kind.values[0] if isinstance(kind, ast.JoinedStr) else kind
    return (
        {first.value.strip()}
        if isinstance(first, ast.Constant) and isinstance(first.value, str)
        else set()
    )


def kinds_of(path: Path) -> set[str]:
    """The kinds of caution that a module makes: written in the call, or in a table of
    kinds beside it.
    """
    found = set()
    for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(function, ast.FunctionDef):
            continue
        nodes = [*ast.walk(function)]
        calls = [
            node
            for node in nodes
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Caution"
        ]
        kinds = [node.args[0] for node in calls if node.args]
        if any(getattr(kind, "id", "") == "kind" for kind in kinds):
            stored = [
                node
                for node in nodes
                if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
            ]
            kinds += [node.slice for node in stored]
            kinds += [
                key
                for node in nodes
                if isinstance(node, ast.Dict)
                for key in node.keys
                if key is not None
            ]
        found |= set().union(*map(first_words, kinds))
    return found


def test_every_kind_of_caution_has_a_meaning() -> None:
    kinds = set(UNFIT).union(*map(kinds_of, SOURCE.rglob("*.py")))
    assert {
        "nobody",
        "few",
        "train rows",
        "useless",
        "text numbers",
        "near outcome",
        "spanning",
    } <= kinds
    assert not [kind for kind in kinds if not meaning(kind)]
    for kind in (CAPACITY, SHARES, LEVER, COPIES, CODE, PROBABILITIES):
        assert meaning(kind)
    names = list(MEANINGS)
    for place, name in enumerate(names):
        hidden = [
            other for other in names[place + 1 :] if f"{other} ".startswith(f"{name} ")
        ]
        assert not hidden, "the longer name comes first"
    assert meaning("few of a group, candidate") == MEANINGS["few"]
    assert meaning("fewest") == ""


def test_a_new_count_is_one_key_that_is_stored_loaded_and_stated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = compare_case()
    counts: Any = {**result.counts, "agreeing": 7}
    counted = replace(result, counts=counts)
    assert cast(Any, counted.facts["repetitions"][0])["agreeing"] == 7
    counted.save(tmp_path / "kept")
    with pytest.raises(improvable.StorageError, match="damaged"):
        improvable.load(tmp_path / "kept")  # a key that no type declares
    monkeypatch.setitem(CountFacts.__annotations__, "agreeing", int)
    assert (
        improvable.load(tmp_path / "kept").facts["repetitions"]
        == counted.facts["repetitions"]
    )
    assert CountFacts.__annotations__.keys() <= {
        *RepetitionFacts.__annotations__,
        "agreeing",
    }


def test_means_over_repetitions_are_stated_and_no_writer_computes_them() -> None:
    facts = make_audit().facts
    repetitions = facts["repetitions"]
    assert facts["selected_shares"] is not None
    for group, pair in facts["selected_shares"].items():
        for name, share in pair.items():
            whole = [one["share_selected"][name]["test"] for one in repetitions]
            by_group = [
                one["share_selected_by_group"].get(group, {}).get(name, 0.0)
                for one in repetitions
            ]
            found = whole if group == "everyone" else by_group
            assert share == pytest.approx(sum(found) / len(found))
    for group, kinds in facts["people"].items():
        assert sum(kind["people"] for kind in kinds.values()) == pytest.approx(1_000)
        selected = kinds["both"]["people"] + kinds["only_candidate"]["people"]
        assert selected == pytest.approx(
            1_000 * facts["selected_shares"][group]["candidate"]
        )
    for path in (SOURCE / "report").rglob("*.py"):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        imported = [
            node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)
        ]
        assert not {
            "improvable.inference.test",
            "improvable.inference.critical",
            "statistics",
        } & {*imported}, path
