"""The board of rules and the choice of the default: tables from tiny data, and from
numbers made up.
"""

from pathlib import Path
from typing import Any

import pytest

from board import SCHEMES, page, seeds_table, table, try_rule, updated
from choose_default_rule import level_table, paired_table, power_table, z_of
from choose_default_rule import updated as choice_updated
from flat import flat_audit
from kept import append, read_log, write_between
from problems import bends, hiring, problems

TINY = hiring(400)
DRAWS = 200


@pytest.fixture(scope="module")
def audits() -> list[dict[str, Any]]:
    rows = TINY.rows
    return [
        try_rule(TINY, rows, rule, scheme, 1, DRAWS)
        for rule in ("linear", "lasso", "forest:0")
        for scheme in SCHEMES
    ]


def test_the_board_has_a_row_for_every_rule_and_says_who_is_refused(
    audits: list[dict[str, Any]],
) -> None:
    lines = table(audits, DRAWS).splitlines()
    assert len({line.count("|") for line in lines[:4]}) == 1
    assert [line.partition(" | ")[0] for line in lines[2:4]] == [
        "| `linear`",
        "| `lasso`",
    ]
    assert lines[-1] == "- `forest:0`: 'forest:0' is not a rule."


def test_its_numbers_are_those_of_the_audit(audits: list[dict[str, Any]]) -> None:
    result = flat_audit(
        TINY.rows,
        **TINY.asked,
        rule="linear",
        repetitions=1,
        draws=DRAWS,
        drop_missing=True,
    )
    one = audits[0]
    shares = result.to_dict()["repetitions"][0]["share_selected"]
    assert (one["p"], one["reject"]) == (result.p_value, result.reject)
    assert one["candidate"] == shares["candidate"]["test"]
    assert one["status_quo"] == shares["status_quo"]["test"]
    bound = result.bounds()[0].value
    assert (
        one["bound"] == pytest.approx(bound)
        if one["bound"] is not None
        else bound == -float("inf")
    )


def test_a_bound_is_rounded_down_and_only_proof_is_bold() -> None:
    common = {"rule": "linear", "status_quo": 0.2, "candidate": 0.21, "seconds": 3.4}
    made_up = [
        {**common, "scheme": "forward", "p": 0.0, "reject": True, "bound": 0.599},
        {**common, "scheme": "split", "p": 0.03, "reject": False, "bound": None},
    ]
    row = table(made_up, 1_000).splitlines()[2]
    assert row == (
        "| `linear` | **< 0.001** | 0.0300 | 59% | none | 20.0% | 21.0% | 3 s | 3 s |"
    )


def test_the_page_tells_what_every_data_set_is(audits: list[dict[str, Any]]) -> None:
    text = page([TINY, bends(100)], audits, 1, DRAWS)
    assert TINY.about in text
    assert "## Hiring" in text
    assert "## Bends" not in text  # nothing was run on it


def test_other_seeds_have_a_table_of_their_own(audits: list[dict[str, Any]]) -> None:
    common = {
        "problem": TINY.name,
        "rule": "linear",
        "scheme": "forward",
        "made": "0.0, a day",
    }
    p = [0.4, 0.01, 0.0, 0.2]
    seeded = [
        {**common, "seed": seed, "p": value, "reject": value < 0.025, "seconds": 2.4}
        for seed, value in enumerate(p)
    ]
    row = seeds_table(seeded, 1_000).splitlines()[2]
    assert row == "| hiring | `linear` | 4 | 0.1050 | < 0.001 | 0.4000 | 2 of 4 | 2 s |"
    whole, without = (
        page([TINY], several, 7, 1_000) for several in ([*audits, *seeded], audits)
    )
    assert whole.startswith(without.partition("improvable")[0])
    assert "a day" in whole  # when rows were made
    assert whole.count("| `linear` |") == without.count("| `linear` |") + 1
    assert "Other seeds" not in without


def test_an_update_writes_the_rows_of_its_log_and_leaves_all_others(
    audits: list[dict[str, Any]],
) -> None:
    common = {
        "problem": TINY.name,
        "scheme": "forward",
        "p": 0.5,
        "reject": False,
        "seconds": 1.0,
    }
    seeded = [{**common, "rule": rule, "seed": 0} for rule in ("linear", "lasso")]
    whole = page([TINY], [*audits, *seeded], 7, DRAWS)
    assert updated(whole, page([TINY], audits, 7, DRAWS)) == whole
    again = [
        {**audits[0], "p": 0.123},
        {**seeded[1], "p": 0.25},
        {**seeded[1], "rule": "aim", "p": 0.75},
    ]
    lines = updated(whole, page([TINY], again, 7, DRAWS)).splitlines()
    old, new = (
        [line for line in text if line not in other]
        for text, other in ((whole.splitlines(), lines), (lines, whole))
    )
    assert [line.split(" | ")[:2] for line in new] == [
        ["| `linear`", "0.1230"],
        ["| hiring", "`lasso`"],
        ["| hiring", "`aim`"],
    ]
    assert len(old) == 2
    with pytest.raises(ValueError, match="no row to update for Hiring: `aim`"):
        updated(whole, page([TINY], [{**audits[0], "rule": "aim"}], 7, DRAWS))


def test_a_seed_is_the_audits(audits: list[dict[str, Any]]) -> None:
    first, other = (
        try_rule(TINY, TINY.rows, "linear", "forward", 1, DRAWS, seed)
        for seed in (0, 1)
    )
    assert first["p"] == audits[0]["p"] != other["p"]


def test_problems_do_without_real_data(tmp_path: Path) -> None:
    found = problems(tmp_path)
    assert len(found) == 7
    assert [problem.name for problem in found if problem.null] == [
        "nothing to find",
        "edge of the null",
    ]


def test_real_data_are_found(shared_data: Path) -> None:
    found = {problem.name: problem for problem in problems(shared_data)}
    assert len(found["diabetes screening"].rows) == 17_067
    assert {"held-out third", "COMPAS, release", "COMPAS, detain"} <= found.keys()
    georgia = [problem for name, problem in found.items() if name.startswith("Georgia")]
    assert [len(problem.rows) for problem in georgia] == [25_278] * 3
    assert [
        round(problem.rows[problem.asked["status_quo"]].mean(), 3)
        for problem in georgia
    ] == [0.593, 0.442, 0.301]
    known = georgia[0].asked["features"]
    assert {"Gender", "Age_at_Release", "Prison_Offense"} <= {*known}
    # tests are after release
    assert not [
        name for name in known if "Drug" in name and not name.startswith("Prior_")
    ]


def test_rules_are_compared_on_the_samples_that_all_of_them_had() -> None:
    found, null = bends(100), bends(100, null=True)
    p = {"linear": [0.5, 0.02, 0.3], "lasso": [0.5, 0.5]}
    audits = [
        {"problem": problem.name, "rule": rule, "sample": i, "p": value, "seconds": 1.0}
        for problem in (found, null)
        for rule, values in p.items()
        for i, value in enumerate(values)
    ]
    rules = ("linear", "lasso")
    high = z_of(0.02)
    assert f"| bends | 2 | {high / 2:.2f} (50%) | 0.00 (0%) |" in power_table(
        [found, null], audits, rules
    )
    assert "| nothing to find | 1 of 3 | 0 of 2 |" in level_table(
        [found, null], audits, rules
    )
    assert f"| bends | {high / 2:+.2f} \u00b1 {high / 2:.2f} |" in paired_table(
        [found, null], audits, rules, "lasso"
    )


def test_an_update_of_the_choice_leaves_other_data_and_renews_the_mean() -> None:
    rules, both = ("linear", "lasso"), [bends(100), TINY]

    def of(p: float) -> list[dict[str, Any]]:
        problems_and_rules = ((problem, rule) for problem in both for rule in rules)
        return [
            {"problem": problem.name, "rule": rule, "sample": 0, "p": p}
            for problem, rule in problems_and_rules
        ]

    before, after = (
        power_table(both, of(0.5), rules),
        power_table(both, of(0.02), rules),
    )
    fresh = power_table(
        both, [one for one in of(0.02) if one["problem"] == TINY.name], rules
    )
    lines = choice_updated(before, fresh).splitlines()
    assert lines[2] == before.splitlines()[2]
    assert lines[3] == after.splitlines()[3]
    half = f"**{round(z_of(0.02), 2) / 2:.2f}**"
    assert lines[-1] == f"| **mean z** | | {half} | {half} |"
    assert choice_updated(before, after) == after
    with pytest.raises(ValueError, match="of other rules"):
        choice_updated(before, power_table(both, of(0.5), ("linear",)))
    with pytest.raises(ValueError, match="no row to update for hiring"):
        choice_updated(power_table(both[:1], of(0.5), rules), fresh)


def test_a_log_continues_and_a_page_keeps_its_words(tmp_path: Path) -> None:
    log, text = tmp_path / "log.jsonl", tmp_path / "page.md"
    assert read_log(log) == []
    append(log, {"p": 0.5})
    append(log, {"p": 0.25})
    assert read_log(log) == [{"p": 0.5}, {"p": 0.25}]
    text.write_text(
        "Before.\n\n<!-- begin power -->\nold\n<!-- end power -->\n\nAfter.\n",
        encoding="utf-8",
    )
    for _ in range(2):
        write_between(text, {"power": "| new |"})
    expected = (
        "Before.\n\n<!-- begin power -->\n\n| new |\n\n<!-- end power -->\n\nAfter.\n"
    )
    assert text.read_text(encoding="utf-8") == expected
    with pytest.raises(ValueError, match="has no place for 'level'"):
        write_between(text, {"level": ""})
