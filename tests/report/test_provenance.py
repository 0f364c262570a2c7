"""Every report of one run holds the same facts, whichever command wrote it and in
whichever format.
"""

import asyncio
import io
import json
import re
import shutil
import zipfile
from pathlib import Path

import docx
import pytest

import improvable
from improvable.cli import run
from improvable.report.blocks import FactList, Sentence, flat
from improvable.report.document import make_document
from improvable.results.storage import PROVENANCE, Provenance
from improvable.trust.ledger import ledger_path
from improvable.trust.seal import read_seal
from improvable.web import jobs
from protocol_room import OPTIONS, said

FORMATS = ("html", "pdf", "docx", "md", "json")


COMMAND = [
    "audit",
    "care.toml",
    "--data",
    "people.csv",
    "--out",
    "run",
    "--report",
    "first.html",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a sealed run and its HTML report."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as here:
        here.chdir(folder)
        people = improvable.datasets.care_management(3_000, seed=4)
        people.select(
            "gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female"
        ).write_csv("people.csv")
        assert (
            run(
                [
                    "init",
                    "care.toml",
                    "--data",
                    "people.csv",
                    *OPTIONS,
                    "--repetitions",
                    "1",
                ]
            )
            == 0
        )
        assert (
            run(
                [
                    "seal",
                    "care.toml",
                    "--data",
                    "people.csv",
                    "--challenge",
                    "9f2c41d07be35a68",
                ]
            )
            == 0
        )
        here.setattr("sys.argv", ["improvable", *COMMAND])
        assert run(COMMAND) == 0
    return folder


@pytest.fixture(autouse=True)
def copy(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every test works on a copy of its own."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    capsys.readouterr()


def text_of(path: Path) -> str:
    """What a report says, without the marks of its format."""
    if path.suffix == ".docx":
        page = docx.Document(io.BytesIO(path.read_bytes()))
        cells = [
            cell.text
            for table in page.tables
            for row in table.rows
            for cell in row.cells
        ]
        return " ".join([*cells, *(paragraph.text for paragraph in page.paragraphs)])
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = re.sub(
            r"<script.*?</script>|<[^>]+>", " ", text, flags=re.DOTALL
        ).replace("&#39;", "'")
    text = text.replace(r"\_", "_").replace(r"{}", "")
    return " ".join(text.replace("-\\/", "-").replace("\\", "").split())


def test_every_format_of_a_run_holds_file_ledger_line_command_and_seal() -> None:
    line = json.loads(ledger_path("people.csv").read_text().splitlines()[-1])
    assert line["event"] == "finished"
    facts = [
        "people.csv, 3,000 rows",
        line["hash"][:16],
        "1 run begun on these data, 1 finished",
    ]
    facts += [" ".join(["improvable", *COMMAND]), read_seal("care.seal").digest]
    for suffix in FORMATS:
        assert run(["report", "run", "--to", f"again.{suffix}"]) == 0
        if suffix not in ("pdf", "json"):
            said_there = text_of(Path(f"again.{suffix}"))
            assert [fact for fact in facts if fact not in said_there] == [], suffix


def test_a_report_is_the_one_that_the_audit_would_have_written() -> None:
    """To the byte, also where the finished run is shown again by a command of its
    own.
    """
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--json",
                "audit.json",
            ]
        )
        == 0
    )
    for suffix in FORMATS:
        assert run(["report", "run", "--to", f"later.{suffix}"]) == 0
        if suffix != "json":
            shown_again = [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--report",
                f"audit.{suffix}",
            ]
            assert run(shown_again) == 0
        one, other = (
            Path(f"later.{suffix}").read_bytes(),
            Path(f"audit.{suffix}").read_bytes(),
        )
        if suffix == "docx":  # a package has the time in it
            one, other = (
                zipfile.ZipFile(io.BytesIO(x)).read("word/document.xml")
                for x in (one, other)
            )
        assert one == other, suffix
    assert Path("later.html").read_bytes() == Path("first.html").read_bytes()


def test_the_page_writes_the_same_pdf() -> None:
    """Its downloads are made by the command line, in a process of their own."""
    made = asyncio.run(jobs.run(["report", "run", "--to", "page.pdf"], Path()))
    assert (made.code, made.refusal) == (0, "")
    assert run(["report", "run", "--to", "mine.pdf"]) == 0
    assert Path("page.pdf").read_bytes() == Path("mine.pdf").read_bytes()


def test_a_loaded_run_knows_where_it_comes_from_unless_it_is_asked_something_else() -> (
    None
):
    loaded = improvable.load("run")
    assert isinstance(loaded, improvable.Audit)
    assert loaded.made is not None
    assert loaded.made.command == " ".join(["improvable", *COMMAND])
    loaded.save("saved")
    assert (
        Path("saved", PROVENANCE).read_bytes() == Path("run", PROVENANCE).read_bytes()
    )
    assert loaded.with_claim(delta_accuracy=0.05).made is None, (
        "the command did not ask that"
    )


@pytest.mark.parametrize("command", [None, "improvable audit x"])
def test_what_is_said_to_be_above_is_above(command: str | None) -> None:
    blocks = list(flat(make_document(improvable.load("run"), command=command).blocks))
    (place,) = [
        i
        for i, one in enumerate(blocks)
        if isinstance(one, Sentence) and one.text.startswith("To recompute every")
    ]
    listed = blocks[place - 1]
    assert isinstance(listed, FactList)
    assert ("the command above" in blocks[place].text) == (  # type: ignore[union-attr]
        ("Command", command) in listed.pairs
    )
    assert "command below" not in repr(blocks)


@pytest.mark.parametrize("where", ["folder", "report"])
def test_a_ledger_line_that_was_made_up_is_found(
    where: str, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Path("run", PROVENANCE) if where == "folder" else Path("first.html")
    result = "run" if where == "folder" else "first.html"
    verify = ["verify", result, "--data", "people.csv", "--seal", "care.seal"]
    assert run(verify) == 0
    place.write_text(
        place.read_text().replace(
            "1 run begun on these data", "0 runs begun on these data"
        )
    )
    capsys.readouterr()
    assert run(verify) == 1
    shown = said(capsys)
    assert "DIFFERENT ledger: the result says" in shown
    assert "NOT VERIFIED: all" in shown
    hash_ = json.loads(ledger_path("people.csv").read_text().splitlines()[2])["hash"][
        :16
    ]
    place.write_text(
        place.read_text().replace(f"(hash {hash_}", "(hash 0123456789abcdef")
    )
    assert run(verify) == 1, "no ledger here has that line"
    assert (
        "the result says 'Line 3 of people.csv.ledger (hash 0123456789abcdef"
        in said(capsys)
    )


def test_of_two_runs_alike_each_has_its_own_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "twin"]) == 0
    for folder, begun in (("run", "1 run begun"), ("twin", "2 runs begun")):
        assert begun in Path(folder, PROVENANCE).read_text()
        assert (
            run(["verify", folder, "--data", "people.csv", "--seal", "care.seal"]) == 0
        )


def test_bad_reports_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("empty").mkdir()
    cases = {
        "run --to x.odt": "'x.odt' does not end with .html, .pdf, .docx, .md or .json",
        "run --to gone/x.pdf": "there is no folder for 'gone/x.pdf'",
        "empty --to x.pdf": "'empty' holds no result",
        "nowhere --to x.pdf": "there is no folder 'nowhere'",
        "run": "--to",
    }
    for words, message in cases.items():
        assert run(["report", *words.split()]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    Path("run", PROVENANCE).write_text(
        Path("run", PROVENANCE).read_text().replace('"people.csv"', "7")
    )
    assert run(["report", "run", "--to", "x.md"]) == 2
    assert "is not as it was written" in capsys.readouterr().err
    assert not Path("x.md").exists()


def test_a_result_of_python_has_what_the_caller_says() -> None:
    loaded = improvable.load("run")
    loaded.report("said.md", command="my_script.py", data="my data")
    text = text_of(Path("said.md"))
    assert "my_script.py" in text
    assert "my data, 3,000 rows" in text
    assert Provenance() == Provenance(None, None, None)
