"""Attack 1: the analyst seals again, or not at all, until the result suits, and hands
over only that run.

Such a result recomputes to the last bit. `verify --seal` compares it with the seal that
the verifier agreed to, refuses a result without a seal unless `--unsealed` accepts it,
and says how many runs on these data did not reject.
"""

import json
import shutil
from pathlib import Path

import pytest

from improvable.cli import run
from improvable.trust.ledger import ledger_path
from improvable.trust.seal import read_seal
from protocol_room import OPTIONS, said

VERIFY = ["verify", "run", "--data", "people.csv"]


def seal_and_run(name: str, challenge: str, out: str) -> str:
    shutil.copy("care.toml", f"{name}.toml")
    assert (
        run(["seal", f"{name}.toml", "--data", "people.csv", "--challenge", challenge])
        == 0
    )
    assert run(["audit", f"{name}.toml", "--data", "people.csv", "--out", out]) == 0
    return read_seal(f"{name}.seal").digest


@pytest.mark.usefixtures("room")
def test_a_result_with_another_seal_is_not_verified(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(["seal", "care.toml", "--data", "people.csv", "--challenge", "agreed 7f31"])
        == 0
    )
    mine = read_seal("care.seal").digest
    other = seal_and_run("reroll", "agreed 7f32", "run")
    capsys.readouterr()
    for agreed in (
        ["--seal", "care.seal"],
        ["--seal", mine],
        ["--protocol", "care.toml"],
    ):
        assert run([*VERIFY, *agreed]) == 1, agreed
        shown = said(capsys)
        assert (
            f"DIFFERENT seal: you agreed to {mine}, and the result has {other}" in shown
        )
        assert "NOT VERIFIED" in shown
    assert run([*VERIFY, "--seal", other]) == 0
    assert f"same seal {other}, as you agreed" in said(capsys)


@pytest.mark.usefixtures("room")
def test_an_unsealed_result_is_not_verified_unless_that_is_accepted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--seed", "5", "--out", "run"]) == 0
    capsys.readouterr()
    assert run(VERIFY) == 1
    assert "DIFFERENT seal: the result has none" in said(capsys)
    assert run([*VERIFY, "--unsealed"]) == 0
    assert "; it has no seal; of 1 finished run on these data," in said(capsys)
    assert run([*VERIFY, "--unsealed", "--protocol", "care.toml"]) == 1, (
        "the protocol says no seed, which is 0"
    )
    assert "DIFFERENT seed 0, as agreed" in said(capsys)
    assert run([*VERIFY, "--unsealed", "--seal", "0" * 64]) == 2


@pytest.mark.usefixtures("room")
def test_a_result_that_only_claims_the_agreed_seal_is_found() -> None:
    assert (
        run(["seal", "care.toml", "--data", "people.csv", "--challenge", "agreed 7f31"])
        == 0
    )
    assert (
        run(
            [
                "audit",
                "people.csv",
                *OPTIONS,
                "--challenge",
                "mine",
                "--json",
                "run.json",
            ]
        )
        == 0
    )
    facts = json.loads(Path("run.json").read_text())
    facts["seal"] = read_seal("care.seal").digest
    Path("run.json").write_text(json.dumps(facts))
    assert (
        run(["verify", "run.json", "--data", "people.csv", "--seal", "care.seal"]) == 1
    )


@pytest.mark.usefixtures("room")
def test_the_verdict_says_how_many_runs_did_not_reject(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for seed in ("1", "2"):
        assert run(["audit", "people.csv", *OPTIONS, "--seed", seed]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    capsys.readouterr()
    assert run([*VERIFY, "--unsealed"]) == 0
    assert "VERIFIED" in (shown := said(capsys))
    assert "of 3 finished runs on these data, 3 did not reject." in shown
    ledger_path("people.csv").rename("delivered.ledger")
    assert run([*VERIFY, "--unsealed"]) == 0, (
        "a ledger that lies beside the run is found"
    )
    assert "line 6 of delivered.ledger" in said(capsys)
    Path("delivered.ledger").unlink()
    assert run([*VERIFY, "--unsealed"]) == 1, (
        "the run says how many runs there were, and nothing shows it"
    )
    assert "nobody knows how many runs did not reject" in said(capsys)
