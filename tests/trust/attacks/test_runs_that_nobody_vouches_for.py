"""A result is swapped, cut or added to on its way, or signed by somebody else.

The SHA-256 digests of all files are listed, and the list is signed with an SSH key
(`ssh-keygen -Y sign`), as the page on sealing shows. Whoever has the signer's public
key checks the list, and each file against it.
"""

from pathlib import Path

import pytest

import improvable
from improvable.algorithms.rules.own_code import source_files
from protocol_room import page_commands, shell

SIGN, VERIFY = (
    [
        command.replace("care-run", "run").replace("patients", "people")
        for command in block
    ]
    for block in page_commands("### Who: a signature")
)


@pytest.fixture
def signed(sealed: Path) -> Path:
    make_key, *others = SIGN
    for command in (
        f"{make_key} -q -N ''",
        *others,
        f"{make_key} -q -N ''".replace("-f key", "-f other"),
    ):
        assert shell(command)[0] == 0, command
    trust("key.pub")
    return sealed


def trust(key: str) -> None:
    Path("signers").write_text(f"expert@example.org {Path(key).read_text()}")


def by_the_signer() -> bool:
    return shell(VERIFY[0])[0] == 0


@pytest.mark.usefixtures("signed")
def test_what_was_signed_holds() -> None:
    assert by_the_signer()
    assert shell(VERIFY[1]) == (0, "")
    listed = Path("care.sha256").read_text()
    for name in (
        "care.toml",
        "care.seal",
        "people.csv",
        "run/result.json",
        "run/run.json",
        "run/repetition-003.npz",
    ):
        assert f"  {name}\n" in listed


@pytest.mark.usefixtures("signed")
def test_a_file_that_is_changed_added_or_taken_away_is_named() -> None:
    Path("run/run.json").write_text(Path("run/run.json").read_text() + " ")
    Path("run/repetition-009.npz").write_bytes(
        Path("run/repetition-002.npz").read_bytes()
    )
    Path("run/repetition-001.npz").unlink()
    Path("care.toml").write_text(Path("care.toml").read_text() + "# later\n")
    status, shown = shell(VERIFY[1])
    assert status == 1
    named = {
        line.split()[-1] for line in shown.splitlines() if line.startswith(("<", ">"))
    }
    assert named == {
        "run/run.json",
        "run/repetition-009.npz",
        "run/repetition-001.npz",
        "care.toml",
    }


@pytest.mark.usefixtures("signed")
def test_a_list_that_was_changed_or_signed_by_somebody_else_does_not_hold() -> None:
    trust("other.pub")
    assert not by_the_signer()
    trust("key.pub")
    assert by_the_signer()
    Path("run/run.json").write_text("{}")
    assert shell(SIGN[1])[0] == 0
    assert not by_the_signer(), "the list is that of the changed files"


def test_the_files_of_a_rule_are_known_without_importing_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vouched_rule.py").write_text(
        "raise SystemExit('never imported to be read')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    content = (tmp_path / "vouched_rule.py").read_bytes()
    assert source_files("tournament:linear,vouched_rule:rule") == {
        "vouched_rule.py": content
    }
    assert source_files("blend:0.5:vouched_rule:rule") == {"vouched_rule.py": content}
    assert source_files("ridge:10") == {}
    with pytest.raises(improvable.OptionError, match="cannot be found"):
        source_files("no_such_module:rule")
