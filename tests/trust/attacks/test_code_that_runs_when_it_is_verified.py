"""A result names its sender's code as its rule, and verifying it runs that code on the
verifier's machine.

`verify` compares protocol and seal with the verifier's own before anything is imported,
and runs a rule that is code only with `--run-code`. Otherwise it names the module, and
what to read first, and stops.
"""

import json
from pathlib import Path

import pytest

import improvable
from improvable.cli import run
from improvable.trust.verification import verify
from protocol_room import said

CODE = """
from pathlib import Path
import improvable

Path("it-ran").touch()

class Rule:
    name = "theirs"
    def select(self, training, status_quo):
        column = "gagne_sum_tm1"
        return improvable.threshold(lambda rows: rows[column].to_numpy(), capacity=training.constraints.capacity)

rule = Rule()
"""  # noqa: E501


@pytest.fixture
def theirs(
    sealed: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> str:
    """A result whose rule is declared to be code that is here: the sender edited what
    was declared.
    """
    module = f"theirs_{abs(hash(request.node.name)) % 10**8}"
    (sealed / f"{module}.py").write_text(CODE)
    monkeypatch.syspath_prepend(str(sealed))
    facts = json.loads(Path("result.json").read_text())
    facts["protocol"]["declared"]["rule"]["name"] = f"{module}:rule"
    Path("result.json").write_text(json.dumps(facts))
    return module


def test_code_is_refused_in_one_line_that_says_what_to_read(
    theirs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(["verify", "result.json", "--data", "people.csv"]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert f"the module {theirs}" in captured.err
    assert "Read it and what it imports first; then say --run-code" in captured.err
    with pytest.raises(improvable.OptionError, match="is Python code by its author"):
        verify("result.json", "people.csv")
    assert not Path("it-ran").exists()


@pytest.mark.parametrize("mine", [["--protocol", "care.toml"], ["--seal", "care.seal"]])
def test_code_that_was_not_agreed_to_is_not_run_even_where_code_may_run(
    theirs: str, mine: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The result states the seal that was agreed, and declares another rule."""
    assert theirs
    capsys.readouterr()
    assert (
        run(["verify", "result.json", "--data", "people.csv", *mine, "--run-code"]) == 1
    )
    assert "this is not what you agreed to, so its code was not run" in said(capsys)
    assert not Path("it-ran").exists()


def test_code_that_the_result_does_not_name_by_its_digest_is_not_run(
    theirs: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert theirs
    capsys.readouterr()
    assert run(["verify", "result.json", "--data", "people.csv", "--run-code"]) == 2
    assert "is not the code that the result names, so nothing was run" in said(capsys)
    assert not Path("it-ran").exists()
