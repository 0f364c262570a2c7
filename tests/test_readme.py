"""What the README prints works as printed."""

import re
import shutil
from pathlib import Path

import pytest

import improvable
from improvable.cli import run

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = re.findall(r"^    \.venv/bin/improvable (.*?)(?=\n    \.venv|\n\n)", README, flags=re.MULTILINE | re.DOTALL)


@pytest.fixture
def patients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    improvable.datasets.care_management(5_000, seed=1).write_csv(tmp_path / "patients.csv")
    improvable.audit(
        "patients.csv", outcome="gagne_sum_t", group="race", rule="linear", features=["gagne_sum_tm1"], splits=2,
        draws=200,
        status_quo=improvable.threshold("risk_score_t", capacity=0.1), run_folder="run",
    )  # fmt: skip
    return tmp_path


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda text: re.sub(r"\W+", " ", text)[:30])
def test_snippets_run(snippet: str, patients: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(snippet, "README.md", "exec"), {})
    assert capsys.readouterr().out


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, patients: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word.strip("'") for word in command.replace("\\\n", " ").split()]
    if words[0] == "frontier":
        Path("run").rename("care")
    else:
        shutil.rmtree("run")
    assert run(words) == 0
    assert capsys.readouterr().out or "--write" in words


def test_there_are_snippets_and_commands() -> None:
    assert len(SNIPPETS) >= 2
    assert len(COMMANDS) >= 3
