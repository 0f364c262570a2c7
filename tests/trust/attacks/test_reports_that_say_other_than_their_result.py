"""A report is edited: what a reader sees, what it carries as JSON, or both.

The page carries its result, and `verify report.html` recomputes the result and draws
the page again: numbers must be the same, and so must the page, to the byte.
"""

import json
from pathlib import Path

import pytest

from improvable.cli import run
from improvable.report.carried import BEGIN, END, embedded, read_embedded
from protocol_room import OPTIONS, said

VERIFY = ["verify", "report.html", "--data", "people.csv", "--unsealed"]


@pytest.mark.usefixtures("room")
def test_an_edited_report_is_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(
            [
                "audit",
                "people.csv",
                *OPTIONS,
                "--report",
                "report.html",
                "--json",
                "result.json",
            ]
        )
        == 0
    )
    page = Path("report.html").read_text(encoding="utf-8")
    carried = read_embedded(page)
    assert carried["result"] == json.loads(Path("result.json").read_text())
    capsys.readouterr()
    assert run(VERIFY) == 0
    assert "files: 1 of 1 are the same to the byte" in said(capsys)

    verdict = (
        "REJECTED at level" if carried["result"]["reject"] else "NOT REJECTED at level"
    )
    other = (
        verdict.removeprefix("NOT ") if verdict.startswith("NOT") else f"NOT {verdict}"
    )
    assert verdict in page
    Path("report.html").write_text(page.replace(verdict, other), encoding="utf-8")
    assert run(VERIFY) == 1, "what a reader sees was changed, and the JSON was not"
    assert "DIFFERENT files: 0 of 1" in said(capsys)

    carried["result"]["p_value"] = 0.0001
    forged = page.split(BEGIN)[0] + embedded(
        **{"facts" if k == "result" else k: v for k, v in carried.items()}
    )
    Path("report.html").write_text(
        forged + page.split(BEGIN)[1].split(END, 1)[1], encoding="utf-8"
    )
    assert run(VERIFY) == 1
    assert "p_value: stated 0.0001" in said(capsys)


@pytest.mark.parametrize(
    "change",
    [
        lambda page: page.replace("improvable-result", "another"),
        lambda page: page + embedded({}),
        lambda page: f'<p id="improvable-result">{page}',
        lambda page: page.replace(BEGIN, f'{BEGIN}{{"result": 1,'),
        lambda page: page.replace(END, ""),
        lambda page: f"{BEGIN}[]{END}",
        lambda page: "",
    ],
)
def test_a_page_that_carries_no_result_or_two_is_one_line(
    change: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.html"
    path.write_text(change(f"<p>Not shown.</p>{embedded({'repetitions': []})}"))  # type: ignore[operator]
    assert run(["verify", str(path), "--data", "people.csv"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_no_label_can_end_what_the_page_carries() -> None:
    page = embedded(
        {
            "repetitions": [],
            "groups": ["</script><script>alert(1)</script>", "<!--", f"x{BEGIN}"],
        }
    )
    assert page.count("<") == 2
    assert read_embedded(page)["result"]["groups"][0].startswith("</script>")
