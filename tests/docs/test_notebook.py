"""A notebook made from a script as `make notebooks` does, and executed: its output
shows the answer.
"""

import sys
from pathlib import Path

import jupytext
import nbformat
import pytest
from nbclient import NotebookClient

SCRIPT = """\
# %% [markdown]
# # An audit

# %%
import warnings

import improvable

warnings.simplefilter("ignore")
people = improvable.datasets.care_management(2_000, seed=1)
improvable.audit(
    people, outcome="gagne_sum_t", group="race", status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    rule="linear", features=["gagne_sum_tm1", "dem_female"], test=improvable.Test(repetitions=1, draws=100),
)
"""  # noqa: E501


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_an_executed_notebook_shows_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "kernels" / "here"
    kernel.mkdir(parents=True)
    command = (
        f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    )
    (kernel / "kernel.json").write_text(
        f'{{"argv": {command}, "display_name": "here", "language": "python"}}'
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = jupytext.reads(SCRIPT, fmt="py:percent")
    NotebookClient(
        notebook,
        timeout=120,
        kernel_name="here",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute()
    nbformat.validate(notebook)
    (output,) = (
        one
        for cell in notebook.cells
        for one in cell.get("outputs", [])
        if one.output_type == "execute_result"
    )
    shown = output.data["text/html"]
    assert "shown" in shown
    assert "<svg" in shown
    assert "<table" in shown
    assert "<script" not in shown
    assert output.data["text/plain"].startswith("<Audit: "), "for whoever sees no HTML"
