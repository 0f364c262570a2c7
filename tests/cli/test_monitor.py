"""`improvable monitor` as a user runs it: the example of its help, JSON, exit status,
pictures, what is missing.
"""

import json
import shlex
import shutil
from pathlib import Path

import polars as pl
import pytest

from improvable.cli import run
from loans import make_loans


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the example of the help begins."""
    place = tmp_path_factory.mktemp("monitor")
    columns = pl.exclude("instead", "loan", "city")
    for name, rows, seed in (
        ("loans", 1_500, 1),
        ("january", 700, 2),
        ("february", 700, 3),
    ):
        make_loans(rows, seed).select(columns).write_csv(place / f"{name}.csv")
    return place


def commands(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    run(["monitor", "--help"])
    lines = capsys.readouterr().out.replace("\\\n", " ").splitlines()
    return [
        shlex.split(line)[1:]
        for line in lines
        if line.strip().startswith("improvable ")
    ]


@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_the_example_in_the_help_runs_as_printed(
    kept: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(kept)
    first, *others = commands(capsys)
    assert run([*first, "--repetitions", "1", "--draws", "200", "--quiet"]) == 0
    assert Path("run/candidate.skops").exists()
    capsys.readouterr()
    for command in others:
        assert run(command) == 0
    out = capsys.readouterr().out
    assert (
        "at any time; level 0.05). The claim: The candidate is more accurate"
        in " ".join(out.split())
    )
    assert "After 700 rows " in out
    assert "After 1,400 rows " in out
    assert Path("wealth.svg").read_text().startswith("<svg")
    told = [*others[-1], "--json", "-", "--exit-code"]
    status, facts = run(told), json.loads(capsys.readouterr().out)
    assert status == (0 if facts["shown_since"] is None else 1)
    assert (facts["rows"], len(facts["conditions"])) == (1_400, 4)
    assert facts["p_value"] == max(one["p_value"] for one in facts["conditions"])
    assert facts["log_wealth"] == min(one["log_wealth"] for one in facts["conditions"])
    same = [
        "monitor",
        "run",
        "--data",
        "january.csv",
        "--candidate",
        "run/candidate.skops",
        "--status-quo",
        "approved",
    ]
    assert run(same) == 0
    assert run(["monitor", "run", "--data", "loans.csv"]) == 2
    assert "audit's own rows" in capsys.readouterr().err
    shutil.move("run/candidate.skops", "elsewhere.skops")
    assert run(others[0]) == 2
    assert capsys.readouterr().err == (
        "improvable: there is no candidate 'run/candidate.skops'. Write it with audit "
        "--export run/candidate.skops, or give --candidate.\n"
    )
    assert (
        run(["monitor", "run", "--data", "january.csv", "--candidate", "approve"]) == 2
    )
    assert "Did you mean 'approved'?" in capsys.readouterr().err
    assert (
        run(
            [
                "monitor",
                "run",
                "--data",
                "january.csv",
                "--candidate",
                "approved",
                "--picture",
                "x.bmp",
            ]
        )
        == 2
    )
