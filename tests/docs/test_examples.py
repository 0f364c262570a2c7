"""Every example runs from top to bottom, in an empty folder, and is a notebook as it
stands.
"""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*-*/*.py"))


@pytest.mark.parametrize(
    "path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_examples_run(
    path: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


@pytest.mark.parametrize(
    "path", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_examples_begin_with_a_title_and_explain_their_cells(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# %% [markdown]"
    assert lines[1].startswith("# # ")
    assert lines.count("# %% [markdown]") >= 3
    assert "# %%" in lines
