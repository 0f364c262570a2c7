"""`improvable game` as a user runs it."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri

from improvable import cli
from improvable.studies.game import (
    FORWARD_CORRELATION,
    GaussianMixing,
    best_response,
    costs_of,
    play,
)


def run(command: str) -> int:
    return cli.run(["game", *command.split()])


def test_the_command_and_the_library_agree(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("--repetitions 5 --cost 0.002 --correlation 0.2 --alpha 0.1 --json -") == 0
    )
    facts = json.loads(capsys.readouterr().out)
    solved = play(
        *costs_of(0.002, 5), repetitions=5, alpha=0.1, mixing=GaussianMixing(0.2)
    ).to_dict()
    assert {key: facts[key] for key in solved} == solved
    assert facts["repetitions_needed"]["hoeffding"] == 6


def test_without_options_forward_repetitions_are_as_alike_as_was_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--json -") == 0
    facts = json.loads(capsys.readouterr().out)
    forward = play(*costs_of(0.001, 7), mixing=GaussianMixing(FORWARD_CORRELATION))
    assert {name: facts["forward"][name] for name in forward.to_dict()} == (
        forward.to_dict()
    )


def test_the_text_has_both_procedures_and_the_choice(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--cost 0.01") == 0
    out = capsys.readouterr().out
    for said in (
        "split, one  split, median of 7  forward, one  forward, median of 7",
        "Split: the median of 7 repetitions is more robust",
        "Forward: the median of 7 repetitions is more robust",
        "Assumption 4 holds",
        "0.806",
    ):
        assert said in out
    assert max(map(len, out.splitlines())) <= 100


def test_a_game_that_nobody_plays_is_a_tie(capsys: pytest.CaptureFixture[str]) -> None:
    run("--cost 0.06")
    out = capsys.readouterr().out
    assert "equally robust" in out
    assert "Assumption 4 does not hold" in out
    assert "3 at any costs that tempt the analyst to try one repetition" in " ".join(
        out.split()
    )


def test_the_forward_game_is_that_of_its_correlation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """By simulation: normal scores with a common factor, the median of 7 at alpha / 2,
    the best of 1, 5 and 20 runs.
    """
    assert run("--forward-correlation 0.8 --cost 0.01 --json -") == 0
    facts = json.loads(capsys.readouterr().out)
    rng, sets = np.random.default_rng(1), 20_000
    scores = 0.8**0.5 * rng.standard_normal(
        (sets, 1, 1)
    ) + 0.2**0.5 * rng.standard_normal((sets, 20, 7))
    rejects = np.sort(scores, axis=2)[:, :, 3] < ndtri(0.025)
    for seeds, share in zip(
        (1, 5, 20), facts["best_of_seeds"]["forward"]["s2"], strict=True
    ):
        slow = rejects[:, :seeds].any(axis=1).mean()
        assert share == pytest.approx(slow, abs=4 * (slow * (1 - slow) / sets) ** 0.5)
    best = best_response(lambda m: 0.07 * m, repetitions=7, mixing=GaussianMixing(0.8))
    assert facts["forward"]["repeated"]["attempts"] == best.attempts


def test_the_picture_and_the_json_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(
            f"--cost 0.01 --plot {tmp_path / 'game.svg'} --json "
            f"{tmp_path / 'game.json'}"
        )
        == 0
    )
    assert "32 attempts pay best" in (tmp_path / "game.svg").read_text()
    assert json.loads((tmp_path / "game.json").read_text())["single"]["attempts"] == 32
    assert capsys.readouterr().out


def test_costs_may_be_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--cost 0.001*m**2 --repetitions 3 --json -") == 0
    facts = json.loads(capsys.readouterr().out)
    solved = play(
        lambda m: 0.001 * m**2, lambda m: 0.001 * (3 * m) ** 2, repetitions=3
    ).to_dict()
    assert {key: facts[key] for key in solved} == solved
    assert facts["cost"] == "m repetitions cost 0.001*m**2"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("--cost sqrt(m)", "the cost is concave"),
        ("--cost 3+0*m", "the cost of 1 attempts is not above that of 0."),
        ("--cost m.real", "the formula 'm.real' has 'm.real', which is not allowed."),
        ("--cost K*m", "may read m alone"),
        ("--cost nan", "the cost of a repetition is nan."),
        ("--correlation 1", "the correlation is 1.0. Give a number from 0 to below 1."),
        ("--correlation -0.2", "the correlation is -0.2."),
        ("--cost 0", "the cost of a repetition is 0.0."),
        ("--cost -1", "the cost of a repetition is -1.0."),
        ("--repetitions 1", "repetitions is 1."),
        ("--forward-correlation 1", "the correlation is 1.0."),
        ("--alpha 0.9", "alpha is 0.9."),
        ("--plot missing/game.svg", "there is no folder"),
        ("--plot game.gif", "has no picture format"),
    ],
)
def test_bad_input_is_one_line(
    command: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
