"""What a report says, whatever it is written in: the answer first, in the reader's
words, and no number twice.
"""

import re
from typing import Any

import numpy as np
import pytest

import improvable
from conftest import Case
from flat import flat_audit
from improvable.errors import Caution
from improvable.inference.intervals import Spread, combined, gap_interval, interval
from improvable.report.blocks import (
    Answer,
    Appendix,
    FactList,
    Heading,
    Note,
    Picture,
    Sentence,
    Table,
    Tiles,
    Title,
    flat,
)
from improvable.report.document import Document, make_document
from improvable.report.sections import bound_words
from improvable.results.facts import BoundFacts, by_component, deciding
from improvable.results.formatting import ends_text, p_text, value_text
from improvable.results.wording import rerun_range, scheme_words
from reported import (
    SHAPES,
    compare_case,
    estimated,
    make_audit,
    make_labeled,
    many_groups,
)

SECTIONS = [
    "How large the improvement is",
    "The test, repetition by repetition",
    "In pictures",
    "What was asked",
    "What was checked",
    "Cautions",
    "What this does not say",
    "Appendix",
]


def first(document: Document, kind: type) -> Any:
    return next(block for block in document.blocks if isinstance(block, kind))


def table(document: Document, name: str) -> Table:
    return next(
        block
        for block in flat(document.blocks)
        if isinstance(block, Table) and block.name == name
    )


def words_of(document: Document) -> str:
    """All text of a document."""
    return repr(document.blocks)


def test_the_answer_comes_first_and_sections_in_order() -> None:
    document = make_document(make_audit())
    assert [type(block) for block in document.blocks[:3]] == [Title, Answer, Tiles]
    heads = [
        one.text
        for one in flat(document.blocks)
        if isinstance(one, Heading) and one.level == 2
    ]
    assert heads == SECTIONS


def test_the_title_asks_what_the_answer_answers() -> None:
    plain, named = (
        make_document(make_audit()),
        make_document(make_labeled(), data="patients.csv"),
    )
    assert (
        first(plain, Title).text
        == "Can the status quo be made less uneven without making it less accurate?"
    )
    assert not first(plain, Title).simulated
    title = first(named, Title)
    assert title.text.startswith("Can the care score be made")
    assert title.simulated
    assert dict(title.facts) | {"Fingerprint": ""} == {
        "Organization": "General Hospital",
        "System": "the care score",
        "Data": "patients.csv, 4,000 rows",
        "Fingerprint": "",
        "Date": "Nov 15, 2026",
        "Author": "A. Analyst",
    }
    assert str(make_labeled().data_fingerprint).startswith(
        dict(title.facts)["Fingerprint"].rstrip(".")
    )
    assert (
        first(make_document(compare_case(ask="accuracy")), Title).text
        == "Can the status quo be made more accurate?"
    )


@pytest.mark.parametrize("delta", [0.0, 0.95])
def test_yes_is_yes_and_not_shown_is_not_no(delta: float) -> None:
    result = many_groups(2).with_claim(delta_fairness=delta)
    assert result.reject == (delta == 0)
    answer = first(make_document(result), Answer)
    size = result.at_most()[0].size
    not_shown = f"Not shown: {f'at most {size}' if size else 'too few rows to tell'}"
    assert (answer.shown, answer.word) == (
        (True, "Yes: shown") if result.reject else (False, not_shown)
    )
    assert (result.at_most()[0].words in answer.firmness) == (not result.reject)
    assert answer.claim.startswith(
        "The candidate" if result.reject else "It is not shown that the candidate"
    )
    said = " ".join(answer.firmness)
    assert f"it is {'below' if result.reject else 'not below'} 0.05" in said
    assert (
        "would say yes at most 5% of the time: proven for large samples, simulated"
        in said
    ) == result.reject
    assert ("fell short" in said) == (not result.reject)
    assert "REJECTED" not in f"{answer.word} {answer.claim} {said}", "which reads as no"


def test_large_numbers_are_the_means_of_the_repetitions() -> None:
    result = make_audit()
    facts, tiles = result.facts, first(make_document(result), Tiles).tiles
    for tile, one in zip(tiles, by_component(facts), strict=False):
        for shown, name in ((tile.before, "status_quo"), (tile.after, "candidate")):
            assert shown == value_text(
                float(np.mean([repetition[name] for repetition in one]))  # type: ignore[literal-required]
            )
    by_title = {tile.title.split(":")[0]: tile for tile in tiles}
    shares = [
        np.mean([s["share_selected"][name]["test"] for s in facts["repetitions"]])
        for name in ("status_quo", "candidate")
    ]
    selected = by_title["Selected, of all test rows"]
    assert (selected.before, selected.after) == tuple(
        f"{share:.1%}" for share in shares
    )
    assert all(group in selected.words for group in facts["groups"])
    assert (
        by_title["Worse off under the status quo"].after
        == facts["disparity"]["worse_off"]
    )
    assert facts["rerun"] is not None
    assert by_title["How firm"].after == rerun_range(facts["rerun"])
    assert len(tiles) == 6


@pytest.mark.parametrize("count", [2, 5, 10])
def test_any_number_of_groups_has_three_large_pairs(count: int) -> None:
    result = many_groups(count)
    tiles = first(make_document(result), Tiles).tiles
    assert (
        len([tile for tile in tiles if tile.before and "Selected" not in tile.title])
        == 3
    )
    titles = " ".join(tile.title for tile in tiles[:2])
    assert result.facts["disparity"]["worse_off"] in titles


def test_the_deciding_condition_is_marked_in_every_row() -> None:
    for result in (make_audit(), many_groups(5)):
        facts, paper = result.facts, table(make_document(result), "paper-table")
        assert len(paper.marked) == len(facts["repetitions"])
        worst = [
            max(one["p_value"] for one in repetition["components"])
            for repetition in facts["repetitions"]
        ]
        assert [paper.rows[r][c] for r, c in sorted(paper.marked)] == [
            p_text(p, facts["draws"]) for p in worst
        ]
        assert (
            max(one["p_value"] for one in deciding(facts)["components"])
            == facts["p_value"]
        )


def test_shares_of_both_algorithms_stand_in_the_tables() -> None:
    for result in (make_audit(), many_groups(5)):
        facts, document = result.facts, make_document(result)
        cells = {cell for row in table(document, "paper-table").rows for cell in row}
        cells_by_group = {
            cell for row in table(document, "groups-table").rows for cell in row
        }
        for group in facts["groups"]:
            for name in ("status_quo", "candidate"):
                share = np.mean(
                    [
                        repetition["share_selected_by_group"][group][name]
                        for repetition in facts["repetitions"]
                    ]
                )
                assert f"{share:.1%}" in cells & cells_by_group
    prices = improvable.compare(
        Case(seed=3, rows=900, prices=True).frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        accuracy="profit",
        test=improvable.Test(draws=200),
    )
    assert "Selected, " not in words_of(make_document(prices)), "everybody has a price"


USED: dict[str, tuple[dict[str, Any], int, list[str]]] = {
    "blocks": (
        {},
        4_000,
        ["Forward: the first 10% of the rows", "each of 4 later blocks is tested"],
    ),
    "a first block that grew": (
        {},
        900,
        [
            "the first 31% of the rows",
            "each of 2 later blocks",
            "so that it holds 30 rows of group 'black'",
        ],
    ),
    "too few rows for blocks": (
        {},
        400,
        [
            "too few rows for blocks",
            "30 rows of group 'black'",
            "half of the rows teach",
            "the paper's split",
        ],
    ),
    "the paper's split": (
        {"scheme": "split", "train_fraction": 0.3},
        4_000,
        ["a rule learns from 30% of the rows"],
    ),
}


@pytest.mark.parametrize(
    ("options", "rows", "fragments"), USED.values(), ids=USED.keys()
)
def test_it_says_how_rows_were_used(
    options: dict[str, Any], rows: int, fragments: list[str]
) -> None:
    result = flat_audit(
        improvable.datasets.care_management(rows, seed=1),
        outcome="gagne_sum_t",
        group="race",
        rule="linear",
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        features=["gagne_sum_tm1"],
        repetitions=3,
        draws=200,
        **options,
    )
    words, cuts = scheme_words(result.facts), result.facts["blocks"]["cuts"]
    assert all(fragment in words for fragment in fragments)
    document, summary = (
        make_document(result),
        " ".join(result.summary(verbose=True).split()),
    )
    asked = next(
        dict(block.pairs) for block in document.blocks if isinstance(block, FactList)
    )
    assert asked["Repetitions"].startswith(f"3, of {rows:,} rows. {words}")
    assert words in summary
    assert ("The candidate is the mixture of what the rule found on" in summary) == (
        len(cuts) > 1
    )
    assert ("in the last block of the first repetition" in words_of(document)) == (
        len(cuts) > 1
    )


def test_intervals_are_those_that_most_repetitions_agree_on() -> None:
    """The slow way: values from a grid, each excluded where most repetitions exclude
    it.
    """
    result = make_audit()
    assert result.facts["blocks"]["cuts"] == [0.1, 0.2, 0.4, 0.7]
    found = estimated(result, "black", "candidate")
    own = []
    for repetition in result.repetitions:
        values, drawn = (
            repetition.evidence.values[0][0, 0, 1],
            repetition.evidence.drawn[0][:, 0, 0, 1],
        )
        own.append(interval(values, drawn, 1 - result.level))
    grid = np.linspace(0, 20, 20_001)
    excluded = np.array([(grid < low) | (grid > high) for low, high in own]).sum(axis=0)
    kept = grid[excluded <= len(own) / 2]
    assert found["low"] == pytest.approx(kept.min(), abs=0.002)
    assert found["high"] == pytest.approx(kept.max(), abs=0.002)
    assert result.level == 0.025, "so that the median of seven keeps its level"


def test_one_repetition_has_its_own_interval_at_the_level_of_the_audit() -> None:
    (repetition,) = (one := make_audit(repetitions=1)).repetitions
    found = estimated(one, "black", "candidate")
    values, drawn = (
        repetition.evidence.values[0][0, 0, 1],
        repetition.evidence.drawn[0][:, 0, 0, 1],
    )
    assert (found["low"], found["high"]) == interval(values, drawn, 0.95)


def test_an_interval_of_few_repetitions_takes_the_wider_side() -> None:
    draws = [np.array([value - 1, value, value + 1]) for value in (0.0, 10.0)]
    one = combined([0.0, 10.0], draws, 0.9)
    assert (one.estimate, one.low, one.high) == (5.0, -1.0, 11.0)
    assert combined([0.0, float("nan")], draws, 0.9) == Spread(None, None, None)


def test_labels_are_used_everywhere_and_change_no_number() -> None:
    plain, named = (
        words_of(make_document(one)) for one in (make_audit(), make_labeled())
    )
    assert "mean number of active conditions among the selected" in named
    assert "Woman" in named
    for column in ("dem_female",):
        assert column in plain
        assert column not in named
    assert make_labeled().p_value == make_audit().p_value
    assert make_labeled().facts["outcome"] == "gagne_sum_t", "the JSON keeps names"
    assert "number of active conditions" in make_labeled().summary()


def test_no_jargon_of_the_program_is_left() -> None:
    for result in (
        make_audit(),
        many_groups(5),
        *(compare_case(**shape) for shape in SHAPES),
    ):
        said = [
            repr(block)
            for block in flat(make_document(result).blocks)
            if not isinstance(block, Note | Picture)
        ]
        assert not re.search(
            r"delta_a|delta_f|Deltas|calibration|true_positive|selection_rate",
            " ".join(said),
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_results_of_every_shape_have_a_document(shape: dict[str, Any]) -> None:
    result = compare_case(**shape)
    document = make_document(result)
    assert first(document, Answer).shown == result.reject
    for block in flat(document.blocks):
        if isinstance(block, Table):
            assert {len(row) for row in block.rows} == {len(block.heads)}
            assert (
                not block.spans
                or sum(width for _, width in block.spans) == len(block.heads) - 1
            )
        if isinstance(block, Picture):
            assert re.search(r"\d", block.alt), "a picture's numbers are in its words"


def test_all_features_and_components_are_in_the_appendix() -> None:
    result = make_audit()
    document, facts = make_document(result, command="improvable audit x"), result.facts
    assert isinstance(document.blocks[-2], Appendix)
    features = table(document, "look-table")
    assert [row[0] for row in features.rows] == list(facts["features"])
    assert len(table(document, "components-table").rows) == 3 * len(
        facts["repetitions"]
    )
    facts_list = [
        block for block in flat(document.blocks) if isinstance(block, FactList)
    ][-1]
    assert dict(facts_list.pairs)["Command"] == "improvable audit x"
    assert "numpy" in dict(facts_list.pairs)["Versions"]


def test_nothing_shown_is_a_sentence_and_not_an_empty_picture() -> None:
    shown, not_shown = (
        make_document(many_groups(2)),
        make_document(compare_case(candidate="now")),
    )
    assert "map" in [one.name for one in flat(shown.blocks) if isinstance(one, Picture)]
    assert "map" not in [
        one.name for one in flat(not_shown.blocks) if isinstance(one, Picture)
    ]
    assert any(
        "no map of sizes" in one.text
        for one in flat(not_shown.blocks)
        if isinstance(one, Sentence)
    )


def bound(what: str, words: str, size: str = "") -> BoundFacts:
    return {"what": what, "value": None, "size": size, "words": words}


def test_bounds_that_are_not_shown_share_a_sentence() -> None:
    words = "The data do not show that the accuracy of {} can rise with no wider gap."
    bounds = [
        bound("fairness", "The gap can be cut.", "10%"),
        bound("accuracy", "Not all."),
    ]
    bounds += [bound(f"accuracy of {g}", words.format(g)) for g in "ABC"]
    bounds.append(bound("accuracy of D", "D can rise.", "20%"))
    assert bound_words(bounds) == [
        "The gap can be cut.",
        "Not all.",
        "D can rise.",
        words.format("A, B or C"),
    ]
    nothing = [bound(one["what"], one["words"]) for one in bounds]
    assert bound_words(nothing) == [
        "The gap can be cut.",
        "Not all.",
        "Nor is any improvement shown for a group by itself.",
    ]
    assert bound_words(many_groups(2).facts["bounds"]) == [
        bound.words for bound in many_groups(2).bounds()
    ]


def test_bounds_of_many_groups_share_a_sentence() -> None:
    words = (
        "With 95% confidence, the accuracy of {} can rise by at least {}% with no "
        "wider gap."
    )
    nothing = "The data do not show that the accuracy of {} can rise with no wider gap."
    bounds = [bound("fairness", "The gap can be cut.", "10%")]
    bounds += [
        bound(f"accuracy of {g}", words.format(g, size), f"{size}%")
        for g, size in zip("ABCD", (2.5, 3, 10, 7), strict=True)
    ]
    assert bound_words(bounds[:-1]) == [one["words"] for one in bounds[:-1]], (
        "three are few"
    )
    bounds += [bound(f"accuracy of {g}", nothing.format(g)) for g in "EF"]
    gathered = (
        "With 95% confidence, the accuracy of a group by itself can rise with no wider "
        "gap by at least: A 2.5%, B 3%, C 10%, D 7%."
    )
    assert bound_words(bounds) == [
        "The gap can be cut.",
        gathered,
        nothing.format("E or F"),
    ]
    assert bound_words(bounds[:-1]) == [
        "The gap can be cut.",
        gathered,
        nothing.format("E"),
    ]
    sly = "A by at least 99%"
    bounds[1] = bound(f"accuracy of {sly}", words.format(sly, 2.5), "2.5%")
    assert bound_words(bounds)[1] == gathered.replace("A 2.5%", f"{sly} 2.5%"), (
        "a name is not a number"
    )


@pytest.mark.parametrize("count", [2, 5, 10])
def test_the_gap_has_an_interval_for_any_number_of_groups(count: int) -> None:
    result = many_groups(count)
    tile = next(
        tile
        for tile in first(make_document(result), Tiles).tiles
        if tile.title.startswith("Gap")
    )
    for t, name in enumerate(("status_quo", "candidate")):
        one = estimated(result, "group", name, "gap")
        values, drawn = (
            x[..., 0, t] for x in (result.evidence.values[0], result.evidence.drawn[0])
        )
        assert (one["low"], one["high"]) == gap_interval(values, drawn, 0.95)
        assert one["estimate"] == pytest.approx(np.ptp(values))
        assert ends_text(one["low"], one["high"]) in tile.words
    assert ("farthest apart" in tile.words) == (count > 2)


def test_who_is_worse_off_is_said_with_its_doubt() -> None:
    for result in (make_audit(), compare_case(candidate="now"), many_groups(5)):
        gap = result.facts["disparity"]
        tile = next(
            tile
            for tile in first(make_document(result), Tiles).tiles
            if tile.title.startswith("Worse off")
        )
        low, high = gap["interval"]
        assert value_text(gap["gap"]) in tile.words
        assert ("chance alone" in tile.words) == (
            low is None or high is None or low <= 0 <= high
        )


def test_a_caution_names_options_of_the_command_line() -> None:
    """What is stored names arguments as Python has them."""
    cautions = [
        Caution("shares", "unequal: `capacity=0.1`"),
        Caution("missing", "Drop them: `drop_missing=True`."),
    ]
    result = compare_case().with_cautions(cautions)
    document = make_document(result)
    assert first(document, Answer).beside == ("unequal: --capacity 0.1",)
    notes = [block.text for block in flat(document.blocks) if isinstance(block, Note)]
    assert notes == ["unequal: --capacity 0.1", "Drop them: --drop-missing."]
    assert result.to_dict()["warnings"] == [one.text for one in cautions]
