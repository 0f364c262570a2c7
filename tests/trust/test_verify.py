"""Verifying: what was changed in data, protocol or result is found and named."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import improvable
from improvable.cli import run
from improvable.trust.ledger import ledger_path, read_ledger
from protocol_room import OPTIONS, flip, said


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("column", ["gagne_sum_t", "dem_female", "risk_score_t"])
def test_one_value_flipped_in_the_data_is_found(
    column: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"])
        == 0
    )
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run"]) == 0
    flip("other.csv", column)
    capsys.readouterr()
    assert run(["audit", "care.toml", "--data", "other.csv", "--out", "run2"]) == 2
    assert "the data are not those that were sealed" in said(capsys)
    assert not Path("run2").exists()
    assert not ledger_path("other.csv").exists()
    assert run(["verify", "run", "--data", "other.csv"]) == 1
    shown = said(capsys)
    assert "DIFFERENT data" in shown
    assert "NOT VERIFIED" in shown


@pytest.mark.usefixtures("room")
def test_one_key_changed_in_the_protocol_is_found(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--out",
                "run",
                "--json",
                "run.json",
            ]
        )
        == 0
    )
    text = Path("care.toml").read_text()
    Path("care.toml").write_text(text.replace("# alpha = 0.05", "alpha = 0.1"))
    capsys.readouterr()
    assert run(["audit", "care.toml", "--data", "people.csv"]) == 2
    assert "the protocol is not the one that was sealed" in said(capsys)
    assert (
        run(["verify", "run", "--data", "people.csv", "--protocol", "care.toml"]) == 1
    )
    assert "DIFFERENT protocol, as agreed" in said(capsys)
    facts = json.loads(Path("run.json").read_text())
    facts["protocol"]["declared"]["test"]["draws"] = 301
    Path("run.json").write_text(json.dumps(facts))
    assert run(["verify", "run.json", "--data", "people.csv"]) == 1


@pytest.mark.usefixtures("room")
def test_one_number_changed_in_a_result_is_found_and_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(["audit", "people.csv", *OPTIONS, "--out", "run", "--json", "run.json"])
        == 0
    )
    facts = json.loads(Path("run.json").read_text())
    facts["repetitions"][1]["accuracy"]["black"]["candidate"] += 1e-9
    Path("run.json").write_text(json.dumps(facts))
    capsys.readouterr()
    assert run(["verify", "run.json", "--data", "people.csv", "--unsealed"]) == 1
    shown = said(capsys)
    assert "DIFFERENT repetition 2: 1 of" in shown
    assert "repetitions.2.accuracy.black.candidate: stated" in shown
    assert run(["verify", "run", "--data", "people.csv", "--unsealed", "--all"]) == 0
    assert "same repetitions.3.gap.candidate = " in said(capsys)


@pytest.mark.usefixtures("room")
def test_forged_results_are_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    """Keys that look like places of others, keys said twice, settings that shadow, a
    version to hide behind.
    """
    assert (
        run(["audit", "people.csv", *OPTIONS, "--out", "run", "--json", "run.json"])
        == 0
    )
    true = json.loads(Path("run.json").read_text())
    forged = json.loads(Path("run.json").read_text())
    forged["p_value"], forged["repetitions"][0]["p_value"] = 0.0001, 0.0
    forged["repetitions.1.p_value"] = true["repetitions"][0]["p_value"]
    forged[""] = {"p_value": true["p_value"]}
    Path("forged.json").write_text(json.dumps(forged))
    assert run(["verify", "forged.json", "--data", "people.csv", "--unsealed"]) == 1
    Path("twice.json").write_text(
        '{"p_value": 0.0001, ' + Path("run.json").read_text().lstrip()[1:]
    )
    capsys.readouterr()
    assert run(["verify", "twice.json", "--data", "people.csv", "--unsealed"]) == 2
    assert "says a key twice" in said(capsys)

    head = json.loads(Path("run/result.json").read_text())
    head["setting"] |= {"p_value": 0.0001, "reject": True}
    Path("run/result.json").write_text(json.dumps(head))
    assert improvable.load("run").to_dict()["p_value"] == true["p_value"]

    head["setting"]["versions"]["numpy"] = "0.1"
    Path("run/result.json").write_text(json.dumps(head))
    with np.load("run/repetition-001.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["draws"] = arrays["draws"] * 1.01
    np.savez("run/repetition-001.npz", **arrays)
    Path("run/notes.txt").write_text("mine")
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv", "--unsealed"]) == 1
    shown = said(capsys)
    assert "repetition-001.npz: stated 'a file', found 'another file'" in shown
    assert "result.json setting.reject: stated True, found None" in shown
    assert "not part of the result: notes.txt" in shown


@pytest.mark.usefixtures("room")
def test_a_seal_in_a_result_must_be_the_one_of_these_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(["audit", "people.csv", *OPTIONS, "--challenge", "x", "--json", "run.json"])
        == 0
    )
    facts = json.loads(Path("run.json").read_text())
    facts["seal"] = "0" * 64
    Path("run.json").write_text(json.dumps(facts))
    capsys.readouterr()
    assert run(["verify", "run.json", "--data", "people.csv"]) == 1
    assert "seal: stated '0000" in said(capsys)


@pytest.mark.usefixtures("room")
def test_another_version_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    path = Path("run/result.json")
    path.write_text(
        path.read_text().replace('"scikit-learn": "', '"scikit-learn": "0.')
    )
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv", "--unsealed"]) == 1
    shown = said(capsys)
    assert re.search(r"version scikit-learn 0\.\S+ made the result; this is", shown)
    assert "version files: 4 of 5 are the same to the byte" in shown
    assert re.search(
        r"SAME NUMBERS, OTHER VERSIONS: \d+ numbers and texts are the same", shown
    )
    assert "VERIFIED" not in shown
    assert found(capsys) == "same numbers, other versions"


@pytest.mark.usefixtures("room")
def test_a_result_of_python_objects_has_no_protocol(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from sklearn.linear_model import LinearRegression

    improvable.audit(
        "people.csv",
        outcome="gagne_sum_t",
        group="race",
        rule=LinearRegression(),
        features=["gagne_sum_tm1"],
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        test=improvable.Test(repetitions=1, draws=200),
    ).save("run")
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv", "--unsealed"]) == 2
    assert "has no protocol to recompute it from" in said(capsys)


def found(capsys: pytest.CaptureFixture[str]) -> str:
    """What the ledger keeps of the last verification, which `improvable ledger`
    prints.
    """
    words = str(read_ledger(ledger_path("people.csv"))[-1].facts["found"])
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 0
    assert f"verify verified {words} protocol" in said(capsys)
    return words


@pytest.mark.usefixtures("room")
def test_an_unsealed_run_that_recomputes_is_recorded_as_the_same_without_a_seal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(["audit", "people.csv", *OPTIONS, "--out", "run", "--json", "run.json"])
        == 0
    )
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv"]) == 1
    assert "numbers and texts are the same, but seal: the result has none" in said(
        capsys
    )
    assert found(capsys) == "same numbers, no seal"
    assert run(["verify", "run", "--data", "people.csv", "--unsealed"]) == 0
    assert "numbers and texts are the same; it has no seal; of 1 finished run" in said(
        capsys
    )
    assert found(capsys) == "same numbers, no seal"
    facts = json.loads(Path("run.json").read_text())
    facts["p_value"] += 0.001
    Path("run.json").write_text(json.dumps(facts))
    assert run(["verify", "run.json", "--data", "people.csv", "--unsealed"]) == 1
    assert found(capsys) == "NOT the same"


@pytest.mark.usefixtures("room")
def test_a_sealed_run_is_never_called_unsealed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(
            [
                "seal",
                "care.toml",
                "--data",
                "people.csv",
                "--challenge",
                "9f2c41d07be35a68",
            ]
        )
        == 0
    )
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run"]) == 0
    for given in ([], ["--unsealed"]):
        capsys.readouterr()
        assert run(["verify", "run", "--data", "people.csv", *given]) == 0
        shown = said(capsys)
        assert (
            "; its seal was not compared with one of yours; of 1 finished run" in shown
        )
        assert "no seal" not in shown
        assert "unsealed" not in shown
        assert found(capsys) == "same numbers, seal not compared"
    assert run(["verify", "run", "--data", "people.csv", "--seal", "care.seal"]) == 0
    assert found(capsys) == "everything the same"
    assert run(["verify", "run", "--data", "people.csv", "--seal", "0" * 64]) == 1
    assert "but seal: you agreed to 000" in said(capsys)
    assert found(capsys) == "same numbers, NOT as agreed"
