"""A result is swapped, cut or added to on its way, or signed by somebody else.

`improvable sign` names every file by its SHA-256 digest in an in-toto Statement, signed with Ed25519; `verify --key`
checks the signature and each file.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_public_key

import improvable
from improvable.algorithms.rules.source import source_files
from improvable.cli import run
from improvable.trust.signing import check_signature, sign
from protocol_room import said
from time_authority import openssl

SIGN = ["sign", "run", "--key", "key.pem", "--data", "people.csv", "--protocol", "care.toml"]


@pytest.fixture
def signed(sealed: Path) -> Path:
    for name in ("key", "other"):
        openssl(sealed, "genpkey", "-algorithm", "ed25519", "-out", f"{name}.pem")
        openssl(sealed, "pkey", "-in", f"{name}.pem", "-pubout", "-out", f"{name}.pub")
    assert run(SIGN) == 0
    return sealed


def wrong(key: str = "key.pub") -> list[str]:
    found = check_signature("run", key, "people.csv", "care.toml")
    return [one.name for one in found if one.same is not True]


@pytest.mark.usefixtures("signed")
def test_what_was_signed_is_verified_by_us_and_by_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert not wrong()
    assert run(["verify", "run", "--data", "people.csv", "--protocol", "care.toml", "--key", "key.pub"]) == 0
    assert "signed statement: 10 of 10 files are as signed" in said(capsys)
    # By the letter of the specifications, without our code.
    envelope = json.loads(Path("run.dsse.json").read_text())
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"]
    text = b" ".join([b"DSSEv1", str(len(kind)).encode(), kind.encode(), str(len(payload)).encode(), payload])
    key = load_pem_public_key(Path("key.pub").read_bytes())
    key.verify(base64.b64decode(envelope["signatures"][0]["sig"]), text)  # type: ignore[call-arg, union-attr]
    statement = json.loads(payload)
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    digests = {one["name"]: one["digest"]["sha256"] for one in statement["subject"]}
    assert {"data", "protocol", "seal", "declared", "result/result.json", "result/repetition-003.npz"} < set(digests)
    for name, path in (("data", "people.csv"), ("seal", "care.seal"), ("result/result.json", "run/result.json")):
        assert digests[name] == hashlib.sha256(Path(path).read_bytes()).hexdigest()
    assert statement["predicate"]["reject"] == json.loads(Path("result.json").read_text())["reject"]


@pytest.mark.usefixtures("signed")
def test_a_file_that_is_changed_added_or_taken_away_is_named() -> None:
    repetition = Path("run/repetition-002.npz").read_bytes()
    Path("run/run.json").write_text(Path("run/run.json").read_text() + " ")
    assert wrong() == ["result/run.json"]
    Path("run/run.json").unlink()
    assert wrong() == ["result/run.json"]
    Path("run/repetition-009.npz").write_bytes(repetition)
    assert "result/repetition-009.npz (not in the statement)" in wrong()
    Path("care.toml").write_text(Path("care.toml").read_text() + "# later\n")
    assert "protocol" in wrong()


@pytest.mark.usefixtures("signed")
@pytest.mark.parametrize(
    "change",
    [
        lambda envelope: envelope["signatures"][0].update(sig=base64.b64encode(b"0" * 64).decode()),
        lambda envelope: envelope.update(payloadType="application/json"),
        lambda envelope: envelope.update(payload=base64.b64encode(b"{}").decode()),
        lambda envelope: envelope.update(signatures=[]),
        lambda envelope: envelope.update(signatures=[{"sig": "?"}]),
        lambda envelope: envelope.update(payload=5),
        lambda envelope: envelope.clear(),
    ],
)
def test_an_envelope_that_was_changed_does_not_hold(change: Callable[[dict[str, Any]], None]) -> None:
    path = Path("run.dsse.json")
    envelope = json.loads(path.read_text())
    change(envelope)
    path.write_text(json.dumps(envelope))
    with pytest.raises(improvable.StorageError, match=r"run\.dsse\.json"):
        wrong()


@pytest.mark.usefixtures("signed")
def test_somebody_else_s_signature_does_not_hold(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv", "--key", "other.pub"]) == 2
    assert "is not signed with this key" in said(capsys)
    assert run(SIGN) == 2
    assert "already exists" in said(capsys), "a statement is never overwritten"
    for key in ("care.toml", "nothing.pem"):
        with pytest.raises(improvable.OptionError, match="openssl genpkey -algorithm ed25519"):
            check_signature("run", key)
    openssl(Path.cwd(), "genpkey", "-algorithm", "rsa", "-out", "rsa.pem")
    with pytest.raises(improvable.OptionError, match="not an Ed25519 key"):
        sign("result.json", "rsa.pem")


def test_the_source_of_a_rule_is_vouched_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vouched_rule.py").write_text("raise SystemExit('never imported to be read')\n")
    monkeypatch.syspath_prepend(tmp_path)
    content = (tmp_path / "vouched_rule.py").read_bytes()
    assert source_files("tournament:linear,vouched_rule:rule") == {"vouched_rule.py": content}
    assert source_files("drop:age:vouched_rule:rule") == {"vouched_rule.py": content}
    assert source_files("ridge:10") == {}
    with pytest.raises(improvable.OptionError, match="cannot be found"):
        source_files("no_such_module:rule")
