"""What the README prints works as printed, in the order in which it is printed."""

import re
import shlex
from pathlib import Path

import pytest

from improvable.cli import run

HOME = Path(__file__).parents[2]
README = (HOME / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = re.findall(
    r"^    \.venv/bin/improvable (.*?)(?=\n    \.venv|\n\n)",
    README,
    flags=re.MULTILINE | re.DOTALL,
)


def test_commands_run_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert COMMANDS
    for command in COMMANDS:
        words = shlex.split(command.replace("\\\n", " "))
        assert run(words) == 0, command
        assert capsys.readouterr().out or "--write" in words
    assert (tmp_path / "screening.html").exists()


@pytest.mark.parametrize(
    "snippet", SNIPPETS, ids=lambda text: re.sub(r"\W+", " ", text)[:30]
)
def test_snippets_run(
    snippet: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out


def test_there_is_a_snippet() -> None:
    assert SNIPPETS


def test_the_demo_prints_the_table_of_the_readme(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["demo"]) == 0
    printed = [line.strip() for line in capsys.readouterr().out.splitlines()]
    table = re.findall(
        r"^    ((?:Asian|Black|Hispanic|White|Gap) .*)$", README, flags=re.MULTILINE
    )
    assert len(table) == 5
    for line in table:
        assert line.strip() in printed
    breath = " ".join(" ".join(printed).partition("In short: ")[2].split())
    both = re.search(
        r"shown \(p = (\S+)\).*?not shown \(p = (\S+)\)", README, flags=re.DOTALL
    )
    assert both is not None
    found = re.findall(r"p = (\d\.\d+)", breath)
    for said, value in zip(both.groups(), found, strict=True):
        assert f"{float(value):.{len(said) - 2}f}" == said
    assert "465 cases" in README
    assert "465 cases" in breath


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert (HOME / link).exists()
