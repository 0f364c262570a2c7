"""`improvable power` as a user runs it."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from improvable.cli import app
from improvable.cli.power import parse_group
from improvable.errors import ImprovableError

BLACK = "black:share=0.3,rates=0.2/0.25,means=3.2/3.9,spread=1.5,overlap=0.5"
WHITE = "white:share=0.7,rates=0.3/0.25,means=2.4/3.6,spread=1.5,overlap=0.4"
QUICK = "--simulations 200 --fits 5"
PILOT = (
    "--outcome outcome --group group --score score --capacity 0.2 --rule linear "
    f"--features need,other {QUICK}"
)


def call(text: str, *more: str) -> tuple[str, str]:
    """Standard output and standard error; an error of ours is raised, as the command
    line's `run` needs it.
    """
    result = CliRunner().invoke(app, ["power", *text.split(), *more])
    if isinstance(result.exception, ImprovableError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


@pytest.fixture
def pilot(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    n = 3_000
    low = rng.random(n) < 0.4
    need = rng.normal(0.2 * low, 1, n)
    frame = pl.DataFrame(
        {
            "group": np.where(low, "b", "w"),
            "need": need + rng.normal(0, 0.3, n),
            "other": rng.normal(size=n),
            "score": need - low + rng.normal(0, 1.6, n),
            "outcome": rng.poisson(np.exp(0.5 * need + 0.2)),
        }
    )
    frame.write_csv(tmp_path / "pilot.csv")
    frame.head(150).write_csv(tmp_path / "small.csv")
    return tmp_path


def test_a_plan_from_a_pilot_is_words_json_table_and_picture(pilot: Path) -> None:
    files = {suffix: pilot / f"plan.{suffix}" for suffix in ("json", "csv", "svg")}
    out, err = call(
        f"{pilot / 'pilot.csv'} --rows 6000 {PILOT} --json {files['json']} --table "
        f"{files['csv']} --plot {files['svg']}"
    )
    assert (
        "with 6,000 rows and 7 forward repetitions, the audit rejects with probability"
        in " ".join(out.split())
    )
    assert "Monte Carlo error" in out
    assert "is not evidence" in out
    assert "Fitting the rule" in err
    facts = json.loads(files["json"].read_text(encoding="utf-8"))
    assert facts["rows"] == 6_000
    assert facts["words"][0] in " ".join(out.split())
    assert len(pl.read_csv(files["csv"])) == len(facts["points"])
    assert files["svg"].read_text(encoding="utf-8").startswith("<svg")


def test_a_plan_from_assumptions_prints_only_json_where_asked() -> None:
    out, _ = call(f"--rows 2000 {QUICK} --json -", "--assume", BLACK, "--assume", WHITE)
    facts = json.loads(out)
    assert facts["groups"] == ["black", "white"]
    assert facts["scheme"] == "forward"
    assert 0 < facts["power"] < 1
    assert facts["range"] is None


BAD = {
    (
        "small.csv --outcome outcome --group group --score score --capacity 0.2 --rule "
        "linear"
    ): "too small to plan from",
    "pilot.csv --outcome outcome": "needs --outcome and --group",
    (
        "pilot.csv --outcome outcome --group grupe --score score --capacity 0.2"
    ): "Did you mean 'group'",
    "pilot.csv --outcome outcome --group group": "a score or a column of decisions",
    f"pilot.csv --assume {BLACK}": "either a pilot or assumptions",
    "": "either a pilot or assumptions",
    f"--assume {BLACK} --assume {WHITE}": "--assume needs --rows",
    f"--rows 1000 --assume {BLACK}": "at least two groups",
    "--rows 1000 --assume black:share=0.3 --assume white": "Write black:share=0.12",
    f"--rows 1000 --assume {BLACK} --assume {WHITE} --power 1.5": "wanted power is 1.5",
    (
        f"--rows 1000 --assume {BLACK} --assume {WHITE} --plot plan.docx"
    ): "is not a picture we write",
    (
        f"--rows 1000 --assume {BLACK} --assume {WHITE} --table plan.xlsx"
    ): "Name a .csv file",
    (
        f"--rows 1000 --assume {BLACK} --assume {WHITE} --json nowhere/plan.json"
    ): "there is no folder",
}


@pytest.mark.parametrize(("arguments", "words"), BAD.items())
def test_bad_input_is_one_line(
    pilot: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, words: str
) -> None:
    monkeypatch.chdir(pilot)
    before = sorted(pilot.iterdir())
    with pytest.raises(ImprovableError) as caught:
        call(arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    left = set(pilot.iterdir()) - set(before)
    assert all(path.suffix == ".ledger" for path in left), (
        "only a plan that had begun leaves a line"
    )
    for path in left:
        path.unlink()


def test_a_group_may_have_a_colon_free_name_and_defaults() -> None:
    assert parse_group(BLACK).means == (3.2, 3.9)
    group = parse_group("b:share=1,rates=0.2/0.3,means=0.4/0.5")
    assert (group.name, group.spread, group.overlap) == ("b", None, 0.5)


def test_help_shows_a_worked_example() -> None:
    out, _ = call("--help")
    assert "improvable demo --simulated --write patients.csv" in out
    assert "improvable power patients.csv" in out
