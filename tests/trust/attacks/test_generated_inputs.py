"""Fourteen odd values for every option of an audit, 400 and more: a result, or one
line. Never a traceback.

Text that is no number, numbers that no float holds, characters that steer a terminal,
code in the place of a rule.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from improvable.cli import run
from improvable.cli.options import options_of
from improvable.question.options import FLAG, Setting

ODD = (
    "",
    " ",
    "-1",
    "nan",
    "1e400",
    "9" * 40,
    "\x00",
    "€",
    "__main__:x",
    "[]",
    "a=b",
    "../..",
    "=1+1",
    "\x1b[2J",
)
PLAIN = {
    "outcome": "y",
    "group": "g",
    "decision": "d",
    "rule": "linear",
    "features": "x",
    "repetitions": "1",
    "draws": "100",
}
TAKEN = [
    one
    for one in options_of("audit")
    if one.kind is not FLAG and one.name not in ("engine", "challenge_source")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, place = np.random.default_rng(3), tmp_path_factory.mktemp("odd")
    x = rng.normal(size=300)
    columns = {
        "x": x.round(3),
        "y": rng.poisson(np.exp(0.5 * x)),
        "g": rng.choice(["a", "b"], 300),
    }
    pl.DataFrame(
        {**columns, "d": (x + rng.normal(size=300) > 0).astype(int)}
    ).write_csv(place / "rows.csv")
    return place


def test_there_are_more_than_four_hundred() -> None:
    assert len(TAKEN) * len(ODD) > 434


@pytest.mark.parametrize("setting", TAKEN, ids=lambda setting: setting.name)
def test_an_odd_value_is_a_result_or_one_line(
    setting: Setting,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    # every run reads it, and all the others are in it
    Path("rows.csv.ledger").unlink(missing_ok=True)
    for value in ODD:
        given = {**PLAIN, setting.name: value}
        if setting.name in ("score", "above"):
            given = {name: one for name, one in given.items() if name != "decision"} | {
                "score": given.get("score", "x")
            }
            given.setdefault("above", "0")
        flags = {one.name: one.flag for one in TAKEN}
        words = [f"{flags[name]}={one}" for name, one in given.items()]
        status = run(["audit", "rows.csv", *words])
        told = capsys.readouterr().err
        assert "Traceback" not in told
        assert "\x1b" not in told
        lines = [line for line in told.splitlines() if not line.startswith("warning: ")]
        assert (status, len(lines)) in ((0, 0), (2, 1)), (value, told)
