"""The three real cases: what the script says of data that are not there, and that pages
have the numbers of a run.
"""

from dataclasses import replace
from pathlib import Path

import pytest

import cases
import improvable
from cases import CASES, TUTORIALS, Question, decide, main, missing, row, run
from conftest import Case
from pages import needs


def page_of(name: str) -> str:
    return (TUTORIALS / f"{CASES[name].page}.md").read_text(encoding="utf-8")


def rows_of(name: str) -> list[str]:
    """The table's rows, as the page has them."""
    table = (
        page_of(name)
        .partition("<!-- begin case -->")[2]
        .partition("<!-- end case -->")[0]
    )
    return [line for line in table.splitlines() if line.startswith("| ")][1:]


@pytest.mark.parametrize("name", ["parole", "compas"])
def test_data_that_are_not_there_are_named_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = page_of(name)
    assert main([name, "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert f"no {CASES[name].file} in {tmp_path}. It comes from" in said
    assert page_of(name) == before


def test_all_cases_go_on_without_the_data_that_are_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def ran_well(name: str, *_: object) -> bool:
        ran.append(name)
        return True

    monkeypatch.setattr(cases, "run", ran_well)
    assert main(["--data", str(tmp_path)]) == 0
    assert ran == ["screening"]
    monkeypatch.setattr(cases, "run", lambda *_: False)
    assert main(["--data", str(tmp_path)]) == 1


def test_an_unknown_case_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bail"])
    assert (
        "there is no case 'bail'; there are screening, parole, compas"
        in capsys.readouterr().err
    )


SMALL = Question(
    "all",
    {"outcome": "binary", "group": "group", "status_quo": "now", "rule": "linear"},
    True,
)


def test_a_row_has_the_numbers_of_its_audit(case: Case) -> None:
    result = decide(SMALL, case.frame(), 200)
    cells = row(SMALL, result).split(" | ")
    assert len(cells) == cases.HEAD.splitlines()[0].count("|") - 1
    assert cells[1].startswith("a 0.")
    assert "; b 0." in cells[1]
    assert cells[3] == f"{result.p_value:.4f}"


def test_a_verdict_that_the_page_does_not_tell_fails_and_writes_nothing(
    case: Case,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    frame = case.frame()
    otherwise = replace(SMALL, shown=not decide(SMALL, frame, 200).reject)
    monkeypatch.setitem(
        CASES,
        "small",
        cases.Case("no such page", None, "", lambda _: frame, (otherwise,)),
    )
    assert not run("small", tmp_path, 200, write=True)
    assert (
        "the page says otherwise of all. It is left as it is."
        in capsys.readouterr().out
    )


def test_pages_tell_what_the_script_expects_of_them() -> None:
    for name, case in CASES.items():
        found = rows_of(name)
        assert [line.split(" | ")[0] for line in found] == [
            f"| {question.name}" for question in case.questions
        ]
        assert ["**shown**" in line for line in found] == [
            question.shown for question in case.questions
        ]
        assert needs(TUTORIALS / f"{case.page}.md") == case.file


def test_no_candidate_reads_what_was_measured_after_release(shared_data: Path) -> None:
    absent = missing("parole", shared_data)
    if absent is not None:
        pytest.skip(absent)
    rows = CASES["parole"].read(shared_data / str(CASES["parole"].file))
    assert len(rows) == 25_278
    later = (
        "DrugTest",
        "Jobs",
        "Violations",
        "Program",
        "Delinquency",
        "Changes",
        "Days",
        "Exempt",
        "Supervision",
    )
    for question in (CASES["parole"].questions[0], CASES["parole"].questions[3]):
        asked = {
            **question.asked,
            "rule": "linear",
            "test": improvable.Test(repetitions=1, draws=200),
        }
        read = improvable.audit(rows[::10], **asked).facts["features"]
        assert read
        assert not [column for column in read for word in later if word in column]
        assert not {"ID", "Race", "Recidivism_Within_3years"} & set(read)
        assert (question.asked["group"] == "Race") == ("Gender" in read)


def test_the_headline_of_the_parole_page_is_the_audit_that_it_prints() -> None:
    """Its block is run by `test_pages`."""
    _, accuracy, gap, p, *_ = rows_of("parole")[0].split(" | ")
    printed = page_of("parole").partition("```text\n")[2].partition("```")[0]
    assert f"(p = {p}, below 0.025)" in printed
    for number in (
        word.strip(";")
        for cell in (accuracy, gap)
        for word in cell.split()
        if word[0] == "0"
    ):
        assert number in printed


def test_the_numbers_of_compas_are_those_of_a_run(shared_data: Path) -> None:
    rows = CASES["compas"].read(shared_data / "compas.csv")
    question = CASES["compas"].questions[0]
    assert row(question, decide(question, rows)) == rows_of("compas")[0]
