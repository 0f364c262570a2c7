"""The served folder: its own data files, and nothing outside."""

import asyncio
import io
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.types import Message

from improvable.datasets import diabetes_screening
from improvable.errors import DataError
from improvable.web import app, jobs
from improvable.web.files import (
    PAGE,
    Folder,
    find_case,
    keep,
    list_cases,
    open_case,
    receive,
)
from improvable.web.jobs import Jobs


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    home = tmp_path / "home"
    home.mkdir()
    (home / "loans.csv").write_text("a\n1\n")
    (home / "notes.md").write_text("no data")
    (tmp_path / "secret.csv").write_text("a\n1\n")
    (home / "link.csv").symlink_to(tmp_path / "secret.csv")
    return Folder(home)


def test_only_data_files_inside_are_listed(folder: Folder) -> None:
    assert [path.name for path in folder.files()] == ["loans.csv"]


@pytest.mark.parametrize(
    "name",
    [
        "../secret.csv",
        "link.csv",
        "notes.md",
        "",
        "/etc/passwd",
        "loans.csv/",
        "x\x00.csv",
    ],
)
def test_no_other_path_is_data(folder: Folder, name: str) -> None:
    with pytest.raises(DataError, match="no data file"):
        folder.data(name)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("../../a.csv", "a.csv"),
        ("C:\\x\\b.csv", "b.csv"),
        ("loans.csv", "loans-2.csv"),
        (".hidden.csv", "hidden.csv"),
        ("--help.csv", "help.csv"),
        ("a\x1b[2J.csv", "a[2J.csv"),
    ],
)
def test_a_file_that_arrives_is_named_within(
    folder: Folder, given: str, kept: str
) -> None:
    assert folder.new_name(given) == kept


def test_a_file_that_is_no_data_is_refused(folder: Folder) -> None:
    with pytest.raises(DataError, match="not a kind of file"):
        folder.new_name("run.exe")


def test_audits_have_folders_of_their_own_and_only_those_are_found(
    folder: Folder,
) -> None:
    first, second = open_case(folder, "loans.csv"), open_case(folder, "loans.csv")
    assert (first.name, second.name) == ("loans-1", "loans-2")
    assert {case.name for case in list_cases(folder)} == {"loans-1", "loans-2"}
    for name in ("../home", "loans-3", "..", "a/b"):
        with pytest.raises(DataError, match="no audit"):
            find_case(folder, name)


def test_another_answer_drops_what_rested_on_the_last(folder: Folder) -> None:
    case = open_case(folder, "loans.csv")
    case.answer(roles={"a": "outcome"})
    case.write("look.json", {"warnings": []})
    case.answer(question={"rule": "linear"})
    assert not case.has("look.json")
    assert case.answers == {
        "file": "loans.csv",
        "page": PAGE,
        "roles": {"a": "outcome"},
        "question": {"rule": "linear"},
    }


def test_answers_to_the_questions_of_an_earlier_version_are_asked_again(
    folder: Folder,
) -> None:
    """Until then one good value stood for all columns, and could mean the opposite in
    one of them.
    """
    case = open_case(folder, "loans.csv")
    case.write(
        "answers.json",
        {
            "file": "loans.csv",
            "roles": {"a": "outcome"},
            "positive": "yes",
            "question": {},
        },
    )
    assert case.answers == {"file": "loans.csv", "page": PAGE}


def test_uploads_of_one_name_at_the_same_time_are_all_kept(folder: Folder) -> None:
    def send(i: int) -> str:
        return keep(UploadFile(io.BytesIO(f"a\n{i}\n".encode())), "loans.csv", folder)

    with ThreadPoolExecutor(16) as pool:
        names = [*pool.map(send, range(48))]
    assert len(set(names)) == 48
    assert {(folder.root / name).read_text() for name in names} == {
        f"a\n{i}\n" for i in range(48)
    }


def test_what_the_page_keeps_is_readable_by_its_owner_alone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address with the token is in a file that leads to it, not on the browser's
    command line.
    """
    home = open_case(folder, "loans.csv").home
    assert [stat.S_IMODE(place.stat().st_mode) for place in (folder.audits, home)] == [
        0o700,
        0o700,
    ]
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    file = app.open_browser("http://127.0.0.1:1/?token=secret", folder)
    assert opened == [file.as_uri()]
    assert "secret" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_file_of_the_folder_is_run(folder: Folder) -> None:
    """A module that bears a library's name, and a rule that is code."""
    (folder.root / "polars.py").write_text("raise SystemExit('it ran')")
    (folder.root / "their_rule.py").write_text("raise SystemExit('it ran')")
    people = (
        diabetes_screening()
        .select("diabetes", "sex", "guideline", "age", "bmi")
        .drop_nulls()
    )
    people.head(1_500).write_csv(folder.root / "people.csv")
    words = [
        "check",
        "people.csv",
        "--outcome",
        "diabetes",
        "--group",
        "sex",
        "--decision",
        "guideline",
    ]
    checked = asyncio.run(jobs.run(words, folder.root))
    assert checked.code == 0, checked.err
    checked = asyncio.run(jobs.run([*words, "--rule", "their_rule:rule"], folder.root))
    assert checked.code == 2
    assert "it ran" not in checked.err
    assert "the code of the rule's module" in checked.refusal, (
        "it is not even on the path"
    )


def test_a_log_is_not_written_through_a_link(folder: Folder, tmp_path: Path) -> None:
    case, secret = open_case(folder, "loans.csv"), tmp_path / "secret.csv"
    (case.home / "audit.log").symlink_to(secret)

    async def run() -> None:
        queue = Jobs()
        queue.add(case, "audit", ["--version"])
        while queue.state(case, "audit") in ("waiting", "running"):
            await asyncio.sleep(0.05)

    asyncio.run(run())
    assert secret.read_text() == "a\n1\n"
    assert not (case.home / "audit.log").is_symlink()


def send(folder: Folder, body: bytes, **headers: str) -> str:
    """Send a form with a file; its name in the folder."""

    async def pieces() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    named = {
        "content-type": "multipart/form-data; boundary=B",
        "content-length": str(len(body)),
        **headers,
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/upload",
        "query_string": b"",
        "app": app.make_app(folder),
        "headers": [(name.encode(), value.encode()) for name, value in named.items()],
    }
    return asyncio.run(receive(Request(scope, pieces), folder))


UPLOAD = (
    b'--B\r\nContent-Disposition: form-data; name="upload"; filename="new.csv"\r\n\r\n'
    b"a\n1\n\r\n--B--\r\n"
)


def test_a_file_arrives_whole_or_is_refused(folder: Folder) -> None:
    assert send(folder, UPLOAD) == "new.csv"
    assert (folder.root / "new.csv").read_text() == "a\n1\n"
    with pytest.raises(DataError, match="no file was chosen"):
        send(folder, UPLOAD.replace(b'"upload"', b'"other"'))
    with pytest.raises(DataError, match="larger than 4,096 MB"):
        send(folder, UPLOAD, **{"content-length": str(5 << 30)})
    with pytest.raises(DataError, match="the file did not arrive"):
        send(folder, b"--B\r\nnot a form\r\n")
    assert sorted(path.name for path in folder.root.iterdir()) == [
        "link.csv",
        "loans.csv",
        "new.csv",
        "notes.md",
    ]
