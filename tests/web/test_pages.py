"""The pages, asked one after another: what each says, what it keeps, and what it waits
for.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from improvable.web.pages import verify_words
from web_asking import Asker

COLUMNS, QUESTION = "/audit/loans-1/columns", "/audit/loans-1/question"
MEANT = {
    "outcome__default": "no",
    "decision__approved": "yes",
    "spelling": "one",
    "drop": "yes",
}
THREE = {"outcome": "default", "group": "sex", "algorithm": "approved"}


@pytest.fixture
def asker(tmp_path: Path) -> Iterator[Asker]:
    """Loans whose default and approved are yes or no, whose sex may be M or m, and
    which lack some outcomes.
    """
    rng = np.random.default_rng(3)
    rows = 600
    debt = rng.gamma(2.0, 1.0, rows)
    default = np.where(
        rng.random(rows) < 1 / (1 + np.exp(2 - debt)), "yes", "no"
    ).astype(object)
    default[::30] = None
    frame = pl.DataFrame(
        {
            "sex": rng.choice(["F", "M", "m"], rows, p=[0.5, 0.4, 0.1]).tolist(),
            "default": default.tolist(),
            "approved": np.where(
                debt + rng.normal(0, 1, rows) < 2, "yes", "no"
            ).tolist(),
            "score": (700 - 60 * debt).round().astype(int),
            "debt": debt.round(3),
        }
    )
    frame.write_csv(tmp_path / "loans.csv", separator=";")
    with Asker(tmp_path) as asking:
        asking.post("/open", file="loans.csv")
        yield asking


def test_the_page_asks_in_words_and_chooses_nothing(asker: Asker) -> None:
    page = asker.get(COLUMNS)
    assert (
        "Whom should the algorithm select: those whose default is no yes" in page.text
    )
    assert "Which value of approved means selected? no yes" in page.text
    assert "A lender selects those without it" in page.text, "a hint"
    assert not re.search(r'name="(outcome|decision)-\d+"[^>]*checked', page.body)
    assert "good" not in page.text
    assert page.text.partition("candidate")[0].endswith(
        "The audit looks for a better algorithm: a "
    ), "explained"


def test_an_error_is_shown_after_a_redirect_and_ticks_nothing(asker: Asker) -> None:
    page = asker.post(COLUMNS, **asker.columns("loans-1", **THREE, spelling="one"))
    assert re.fullmatch(rf"{COLUMNS}\?again=\S+", page.address), (
        "so that Back and reload send nothing again"
    )
    assert (
        "Whom should the algorithm select: those whose 'default' is 'no', or 'yes'?"
        in page.alert
    )
    assert asker.get(page.address).alert == page.alert
    steps = page.body.partition("</nav>")[0]
    assert steps.count("✓") == 1, "only the file is settled"
    assert 'href="/audit/loans-1/question"' not in steps
    assert "roles" not in asker.case("loans-1").answers


def test_rows_that_lack_an_outcome_are_counted_by_group_before_they_are_left_out(
    asker: Asker,
) -> None:
    given = asker.columns("loans-1", **THREE, **MEANT)
    del given["drop"]
    page = asker.post(COLUMNS, **given)
    frame = pl.read_csv(asker.folder.root / "loans.csv", separator=";")
    lost = (
        frame.with_columns(
            pl.col("sex").str.to_uppercase(), gone=pl.col("default").is_null()
        )
        .group_by("sex")
        .agg(pl.len(), pl.col("gone").sum())
    )
    for sex, size, gone in lost.iter_rows():
        assert f"{sex} {gone} of {size}" in page.alert
    assert "20 rows lack default" in page.alert
    assert "Leave out rows that lack a value" in page.alert
    assert "--" not in page.text
    page = asker.post(COLUMNS, **given, drop="yes")
    assert page.address == QUESTION
    assert "20 rows with missing" in page.body


def test_a_direction_that_the_data_contradict_waits_for_an_answer(asker: Asker) -> None:
    given = asker.columns("loans-1", **THREE, **{**MEANT, "outcome__default": "yes"})
    page = asker.post(COLUMNS, **given)
    assert "/columns" in page.address
    means = (
        pl.read_csv(asker.folder.root / "loans.csv", separator=";")
        .drop_nulls("default")
        .group_by("approved")
        .agg(pl.col("default").eq("yes").mean())
    )
    for _, mean in means.iter_rows():
        assert f"{mean:.4g}" in page.alert
    assert not re.search(r'name="turn"[^>]*checked', page.body)
    assert "roles" not in asker.case("loans-1").answers, "it waits"
    turned = asker.post(COLUMNS, **given, turn="outcome")
    assert turned.address == QUESTION
    assert "It should select those whose default is no" in turned.text
    asker.post(COLUMNS, **given, turn="decision")
    assert asker.case("loans-1").answers["positive"] == {
        "default": "yes",
        "approved": "no",
    }
    stated = asker.post(COLUMNS, **given, turn="stated")
    assert "--direction &#39;as stated&#39;" in stated.body
    assert asker.case("loans-1").answers["positive"] == {
        "default": "yes",
        "approved": "yes",
    }
    assert "Whoever ran this confirmed it as stated" in stated.body, (
        "the result keeps the answer"
    )


def test_a_score_has_a_cutoff_and_the_question_is_declared_in_sentences(
    asker: Asker,
) -> None:
    given = asker.columns("loans-1", **{**THREE, "algorithm": "score"}, **MEANT)
    page = asker.post(COLUMNS, **given, cut="least", least="620,0")
    assert "The algorithm in use selects those whose score is 620 or more" in page.text
    scores = pl.read_csv(asker.folder.root / "loans.csv", separator=";")["score"]
    below = max(score for score in scores if score < 620)
    assert asker.case("loans-1").answers["score"]["above"] == f"{float(below)}"
    noticed = asker.case("loans-1").read("look.json")["groups"]
    used = pl.read_csv(asker.folder.root / "loans.csv", separator=";").drop_nulls(
        "default"
    )
    assert (
        sum(round(one["rows"] * one["selected"]) for one in noticed)
        == (used["score"] >= 620).sum()
    )
    assert "of those whose default is no, the share selected" in page.body
    assert "outcomes of 1" not in page.body
    asker.post(QUESTION, rule="linear", alpha="2,5", organization="First Bank")
    page = asker.get("/audit/loans-1/seal")
    sentences, file = (
        page.body.index("It should select those whose default is no"),
        page.body.index("<pre"),
    )
    assert sentences < file
    assert "20 rows lack default; by group, F" in page.text
    assert "Level 2.5%" in page.text
    protocol = (asker.case("loans-1").home / "protocol.toml").read_text()
    assert "First Bank" in protocol
    assert f"above = {float(below)}" in protocol
    assert re.search(
        r'<button class="primary">Seal</button>\s*<button formaction', page.body
    ), "sealing is the main one"


def test_a_run_that_was_stopped_is_titled_so(asker: Asker) -> None:
    case = asker.case("loans-1")
    case.answer(
        roles={"default": "outcome"},
        positive={"default": "no"},
        question={"rule": "linear"},
    )
    (case.home / "protocol.toml").write_text("")
    (case.home / "run").mkdir()
    case.write("audit-exit.json", {"code": 130, "said": ""})
    page = asker.get("/audit/loans-1/run")
    assert (page.title, "<h1>Stopped</h1>" in page.body) == (
        "Stopped · improvable",
        True,
    )
    case.write("audit-exit.json", {"code": 2, "said": "raise `train_rows=5`."})
    page = asker.get("/audit/loans-1/run")
    assert page.title == "It could not run · improvable"
    assert "only the command line offers" in page.alert


def test_a_file_that_cannot_be_read_can_be_read_another_way(asker: Asker) -> None:
    page = asker.post(
        "/audit/loans-1/reading", separator=",", decimal="", encoding="", sheet=""
    )
    assert "1 columns" in page.text or page.alert
    page = asker.post(
        "/audit/loans-1/reading", separator=";", decimal="", encoding="", sheet=""
    )
    assert "600 rows, 5 columns" in page.text
    assert asker.case("loans-1").answers["format"] == {"separator": ";"}


def test_a_sealed_run_is_never_called_unsealed(asker: Asker) -> None:
    def run(place: str, seal: str | None) -> str:
        home = asker.folder.root / place
        home.mkdir(parents=True)
        (home / "run.json").write_text(json.dumps({"audit": {"rule": "linear"}}))
        (home / "result.json").write_text(json.dumps({"seal": seal}))
        return place

    site, own = asker.app.state.site, run("improvable-audits/loans-1/run", "ab")
    (asker.folder.audits / "loans-1" / "protocol.seal").write_text("{}")
    assert verify_words(site, own, "loans.csv", "")[4:] == [
        "--seal",
        "improvable-audits/loans-1/protocol.seal",
    ]
    assert verify_words(site, run("sent", "ab"), "loans.csv", "")[4:] == []
    assert verify_words(site, run("other", None), "loans.csv", "")[4:] == ["--unsealed"]
    assert verify_words(site, "sent", "loans.csv", "cd")[4:] == ["--seal", "cd"]


def test_what_goes_wrong_without_a_page_of_its_own_is_a_page(asker: Asker) -> None:
    page = asker.post("/audit/loans-1/run")
    assert page.status == 200
    assert "/wrong?again=" in page.address
    assert page.alert
    assert asker.post("/open", file="none.csv").alert == (
        "This does not work yet. There is no data file 'none.csv' in this folder. "
        "Choose one of the list."
    )


@pytest.mark.parametrize("size", ["12%", ""])
def test_the_answer_page_says_what_is_ruled_out(asker: Asker, size: str) -> None:
    words = (
        f"At most {size}, in a sentence." if size else "Too few rows, in a sentence."
    )
    ruled_out = [{"what": "fairness", "value": None, "size": size, "words": words}]
    result = {
        "reject": False,
        "p_value_text": "0.2000",
        "threshold": 0.025,
        "verdict_warnings": [],
        "at_most": ruled_out,
    }
    case = asker.case("loans-1")
    case.write("result.json", result)
    (case.home / "report.html").write_text("<p>The report.</p>", encoding="utf-8")
    page = asker.get("/audit/loans-1/answer")
    assert (
        f"<h1>Not shown: {f'at most {size}' if size else 'too few rows to tell'}</h1>"
        in page.body
    )
    assert words in page.text
    case.write("result.json", result | {"reject": True})
    page = asker.get("/audit/loans-1/answer")
    assert "<h1>Yes: shown</h1>" in page.body
    assert words not in page.text
