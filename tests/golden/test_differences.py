"""The least change is found and named, and words that are accepted hide no number."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from golden import stored
from golden.accept import accept
from golden.changes import MOST_LINES, write_entry
from golden.differences import NUMBERS, WORDS, Difference, compare, merge
from golden.facts import DIGITS, agrees
from golden.snapshots import Snapshot
from golden.stored import read_stored, write_stored

REAL = "screening, forward"


@pytest.fixture(scope="module")
def real() -> Snapshot:
    """The stored audit of the real case."""
    return read_stored(REAL)


def with_fact(snapshot: Snapshot, name: str, value: Any) -> Snapshot:
    assert name in snapshot.facts
    return replace(snapshot, facts=snapshot.facts | {name: value})


def with_text(snapshot: Snapshot, surface: str, old: str, new: str) -> Snapshot:
    text = snapshot.texts[surface]
    assert old in text
    return replace(
        snapshot, texts=snapshot.texts | {surface: text.replace(old, new, 1)}
    )


def test_nothing_moved(real: Snapshot) -> None:
    assert compare(real, real) == []


def test_the_last_kept_digit_of_every_p_value_counts(real: Snapshot) -> None:
    last = 10.0 ** (1 - DIGITS)
    names = [
        name
        for name, value in real.facts.items()
        if name.endswith("p_value") and isinstance(value, float) and value > 0
    ]
    assert len(names) > 20
    for name in names:
        differences = compare(
            real, with_fact(real, name, real.facts[name] * (1 + last))
        )
        assert [difference.kind for difference in differences] == [NUMBERS], name


def test_the_last_bits_of_another_processor_do_not_count() -> None:
    for value in (0.1, 2 / 3, 12_345.678, 1e-7, -4 / 7):
        stored_value = float(f"{value:.{DIGITS}g}")
        for computed in (value, value * (1 + 1e-15), value * (1 - 1e-15)):
            assert agrees(stored_value, computed)
    assert agrees(0.0, 3e-17)
    assert not agrees(0.0, 1e-9)
    assert not agrees(3, 3.0)


def test_a_message_names_the_fact(real: Snapshot) -> None:
    differences = compare(real, with_fact(real, "repetition 3 | p_value", 0.058))
    assert [str(difference) for difference in differences] == [
        "p of repetition 3: 0.023 → 0.058"
    ]


def test_a_lost_caution_is_named(real: Snapshot) -> None:
    name = next(name for name in real.facts if name.startswith("caution "))
    caution = name.split(" | ")[0]
    facts = {name: value for name, value in real.facts.items() if caution not in name}
    differences = compare(real, replace(real, facts=facts))
    assert {difference.name for difference in differences} == {
        f"{caution} | text",
        f"{caution} | beside_verdict",
    }
    assert {difference.new for difference in differences} == {"(none)"}
    assert {difference.kind for difference in differences} == {NUMBERS}


def test_a_changed_word_is_a_word(real: Snapshot) -> None:
    for surface in real.texts:
        (difference,) = compare(real, with_text(real, surface, "smaller", "narrower"))
        assert difference.kind == WORDS
        assert "smaller" in difference.old
        assert "narrower" in difference.new


def test_a_number_in_a_sentence_is_a_number(real: Snapshot) -> None:
    (difference,) = compare(
        real, with_text(real, "terminal", "p = 0.0081", "p = 0.0018")
    )
    assert (difference.kind, difference.old, difference.new) == (
        NUMBERS,
        "0.0081",
        "0.0018",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("by -0.5 units", "by 0.5 units"),
        ("p < 0.001 here", "p 0.001 here"),
        ("at most 5% of", "at most 5 of"),
        ("97 of 1,200 rows", "97 of 1,201 rows"),
        ("digest 0123456789abcdef", "digest 0123456789abcdee"),
    ],
)
def test_signs_bounds_and_units_are_parts_of_a_number(old: str, new: str) -> None:
    before = Snapshot({}, {"terminal": old})
    after = Snapshot({}, {"terminal": new})
    kinds = [difference.kind for difference in compare(before, after)]
    assert NUMBERS in kinds
    assert merge(before, after, [WORDS]) == before


def test_a_wrong_exit_status_is_named() -> None:
    snapshot = read_stored("refused options")
    (difference,) = compare(snapshot, with_fact(snapshot, "command 4 | exit_status", 0))
    assert str(difference) == "exit status of command 4: 2 → 0"


def test_other_line_breaks_are_told_from_other_words(real: Snapshot) -> None:
    text = " ".join(real.texts["terminal"].split())
    (difference,) = compare(real, replace(real, texts=real.texts | {"terminal": text}))
    assert (difference.kind, difference.old) == (WORDS, "line breaks or spaces")


def test_accepted_words_bring_no_number(real: Snapshot) -> None:
    worded = with_text(real, "terminal", "smaller", "narrower")
    moved = with_fact(worded, "p_value", 0.02)
    hidden = with_text(moved, "report", "p = 0.0081", "with p = 0.0018")
    merged = merge(real, hidden, [WORDS])
    assert merged.texts["terminal"] == worded.texts["terminal"]
    assert merged.texts["report"] == real.texts["report"]
    assert merged.facts["p_value"] == real.facts["p_value"]
    assert {difference.kind for difference in compare(merged, hidden)} == {
        NUMBERS,
        WORDS,
    }
    assert compare(merge(real, hidden, [NUMBERS, WORDS]), hidden) == []


def test_accepted_numbers_bring_no_word(real: Snapshot) -> None:
    changed = with_fact(
        with_text(real, "report", "smaller", "narrower"), "p_value", 0.02
    )
    merged = merge(real, changed, [NUMBERS])
    assert merged.facts["p_value"] == 0.02
    assert merged.texts == real.texts


def test_what_agrees_stays_as_it_is_stored() -> None:
    before = Snapshot({"gap": 0.3333333333, "p_value": 0.5})
    after = Snapshot({"gap": 1 / 3, "p_value": 0.6})
    assert merge(before, after, [NUMBERS]).facts == {
        "gap": 0.3333333333,
        "p_value": 0.6,
    }


def test_a_stored_result_is_read_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    facts = {
        "p_value": 1 / 3,
        "repetition 1 | gap | low": -0.5,
        "repetition 1 | gap | high": 2,
        "worse_off": 'group "a" = {b}',
        "rows": 10,
    }
    snapshot = Snapshot(facts, {"terminal": "Shown\n\n  p = 0.1", "report": "Yes"})
    write_stored("a, result", snapshot)
    assert read_stored("a, result") == replace(
        snapshot, facts=facts | {"p_value": 0.3333333333}
    )


def test_a_long_entry_has_every_verdict_and_every_family() -> None:
    changed = {
        f"result {number}": [
            Difference(NUMBERS, "reject", "true", "false"),
            Difference(NUMBERS, "repetition 1 | p_value", "0.01", "0.03"),
            Difference(NUMBERS, "estimate gap | low", "0.1", "0.2"),
        ]
        for number in range(100)
    }
    lines = write_entry("Subject", "Reason", changed).splitlines()
    verdicts = [line for line in lines if "reject: true → false" in line]
    p_values = [line for line in lines if "p of repetition 1" in line]
    assert (len(verdicts), len(p_values)) == (100, MOST_LINES)
    assert "- and 60 more" in lines
    assert any("low of estimate gap: 100 in 100 results" in line for line in lines)


def test_an_accepted_change_is_stored_and_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    page = tmp_path / "CHANGES.md"
    page.write_text("# Why\n\nHead.\n\n## Older\n\nReason.\n")
    write_stored(
        "loans", Snapshot({"p_value": 0.01}, {"terminal": "The gap is smaller."})
    )
    write_stored(
        "visits", Snapshot({"p_value": 0.02}, {"terminal": "The gap is smaller."})
    )
    write_stored("gone", Snapshot({"p_value": 0.5}))
    now = {
        "loans": Snapshot({"p_value": 0.03}, {"terminal": "The gap is narrower."}),
        "visits": Snapshot({"p_value": 0.02}, {"terminal": "The gap is narrower."}),
        "new": Snapshot({"p_value": 0.7}),
    }
    assert accept(now, [WORDS], "One word", "It is shorter.", page) == ["loans", "new"]
    assert page.read_text() == (
        "# Why\n\nHead.\n\n## One word\n\nIt is shorter.\n\nWords that moved:\n\n"
        "- smaller. → narrower.: terminal of 2 results (loans; visits), "
        "such as The gap is smaller. → The gap is narrower.\n"
        "\n## Older\n\nReason.\n"
    )
    assert accept(now, [NUMBERS], "Ties", "They count.", page) == []
    entry = page.read_text().split("\n## ")[1]
    assert entry.splitlines() == [
        *("Ties", "", "They count.", ""),
        *("New results (1): new.", "", "Removed results (1): gone.", ""),
        *("Numbers that moved:", "", "- loans: p: 0.01 → 0.03"),
    ]
    now["loans"] = Snapshot(now["loans"].facts | {"rows": 9}, now["loans"].texts)
    assert accept(now, [NUMBERS], "Rows", "A fact comes.", page) == []
    entry = page.read_text().split("\n## ")[1]
    assert entry.splitlines()[4:] == [
        *(
            "Numbers that moved:",
            "",
            "- rows: 1 in 1 result (loans), such as (none) → 9",
        )
    ]
    assert accept(now, [NUMBERS], "Nothing", "Nothing.", page) == []
    assert "Nothing" not in page.read_text()
