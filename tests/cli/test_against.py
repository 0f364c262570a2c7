"""`improvable audit --against`: what is listed, what fails, and what is refused before
anything runs.
"""

import copy
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import improvable
from improvable.cli import run
from improvable.results.changes import changes
from pages import DOCS
from protocol_room import OPTIONS, said
from reported import make_audit

pytestmark = pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    room = tmp_path_factory.mktemp("record")
    improvable.datasets.care_management(1_500, seed=3).write_csv(room / "people.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(room)
        assert (
            run(["audit", "people.csv", *OPTIONS, "--quiet", "--json", "care.json"])
            == 0
        )
    return {"room": room, "facts": json.loads((room / "care.json").read_text())}


@pytest.fixture
def room(record: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> Path:
    place: Path = record["room"]
    monkeypatch.chdir(place)
    return place


def against(name: str, *more: str) -> int:
    return run(["audit", "people.csv", *OPTIONS, "--quiet", "--against", name, *more])


def test_the_same_rows_change_nothing(
    room: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert against("care.json") == 0
    assert "Against care.json: nothing changed" in said(capsys)


def test_another_verdict_and_other_cautions_fail_and_other_numbers_are_listed(
    room: Path, record: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    facts = copy.deepcopy(record["facts"])
    facts["data_fingerprint"] = "0" * 64
    facts["estimates"][0]["candidate"]["estimate"] *= 1.2
    (room / "moved.json").write_text(json.dumps(facts))
    assert against("moved.json") == 0
    out = said(capsys)
    assert "the verdict and the cautions are as they were" in out
    assert re.search(r"calibration of \w+, candidate \d", out)
    assert "data 0000000000000000 " in out
    assert against("moved.json", "--moved-by", "0.3") == 0
    assert ", candidate" not in said(capsys)
    for change in (
        {"reject": not facts["reject"]},
        {"caution_kinds": [*facts["caution_kinds"], "few black"]},
    ):
        (room / "other.json").write_text(json.dumps(facts | change))
        assert against("other.json", "--json", "-") == 1
        shown = capsys.readouterr()
        assert json.loads(shown.out)["kind"] == "audit", "only JSON is printed"
        assert "CHANGED" in shown.err


WRONG: list[tuple[Callable[[dict[str, Any]], Any], str]] = [
    (
        lambda facts: facts["protocol"].update(digest="0" * 64),
        "is of another protocol: 0000000000000000..., and this",
    ),
    (lambda facts: facts.update(protocol=None), "has no protocol to compare by."),
    (
        lambda facts: facts.pop("caution_kinds"),
        "its 'caution_kinds' is missing or of another type.",
    ),
    (
        lambda facts: facts.update(estimates=[{"kind": "gap"}]),
        "its 'estimates' is missing or of another type.",
    ),
    (
        lambda facts: facts["estimates"][0]["candidate"].update(estimate="high"),
        "its 'estimates' is missing or of",
    ),
    (lambda facts: facts.update(draws=0), "its 'draws' is missing or of another type."),
]


@pytest.mark.parametrize(
    ("spoil", "words"), WRONG, ids=[words[:25] for _, words in WRONG]
)
def test_what_cannot_be_compared_with_is_refused_in_one_line(
    room: Path,
    record: dict[str, Any],
    capsys: pytest.CaptureFixture[str],
    spoil: Callable[[Any], Any],
    words: str,
) -> None:
    facts = copy.deepcopy(record["facts"])
    spoil(facts)
    (room / "wrong.json").write_text(json.dumps(facts))
    before = (room / "people.csv.ledger").read_bytes()
    assert against("wrong.json") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert words in shown.err
    assert (room / "people.csv.ledger").read_bytes() == before, "nothing was run"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["nowhere.json"], "there is no result 'nowhere.json'. "),
        (["people.csv"], "'people.csv' cannot be read as a result."),
        (
            ["care.json", "--exit-code"],
            "both decide the exit status. Give one of them.",
        ),
        (
            ["care.json", "--moved-by", "-1"],
            "--moved-by is -1.0. It must be a number above 0.",
        ),
    ],
)
def test_bad_input_is_one_line(
    room: Path, capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    assert against(*more) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert words in err


def test_a_group_that_is_new_and_one_that_is_gone_are_listed() -> None:
    facts = make_audit().to_dict()
    earlier = copy.deepcopy(facts)
    for one in earlier["estimates"]:
        one["group"] = one["group"].replace("white", "other")
    found = {
        (one.what, one.before == "none", one.now == "none")
        for one in changes(earlier, make_audit().facts, 0.05)
    }
    assert ("calibration of white, candidate", True, False) in found
    assert ("calibration of other, candidate", False, True) in found


def test_the_workflow_of_the_page_has_commands_that_run(
    room: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (DOCS / "how-to" / "monitor.md").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(page.split("```yaml\n")[1].split("```")[0])["jobs"].values()
    commands = [
        step["run"]
        for step in job["steps"]
        if step.get("run", "").startswith("improvable ")
    ]
    data = (room / "people.csv").read_bytes()
    monkeypatch.chdir(tmp_path)
    Path("scored.csv").write_bytes(data)
    assert run(["init", "care.toml", "--data", "scored.csv", *OPTIONS]) == 0
    seal, audit = (
        shlex.split(line.replace("$(cat challenge.txt)", "9f2c41d07be35a68"))[1:]
        for line in commands
    )
    assert run(seal) == 0
    assert (
        run(["audit", "care.toml", "--data", "scored.csv", "--json", "care.json"]) == 0
    )
    assert run(audit) == 0
    assert Path("audit.html").exists()
