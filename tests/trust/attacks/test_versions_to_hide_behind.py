"""A forged result states another package version, so that its bytes need not be the
same; or adds keys of its own.

Every number and text is compared key by key, whatever the versions; a key too many or
too few, in a result, in a file of a run folder or in a report, is a difference. "Same
numbers, other versions" is a verdict of its own, with exit status 1.
"""

import contextlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from improvable.cli import run
from improvable.report.carried import BEGIN, END, embedded, read_embedded
from improvable.trust.verification import verify
from protocol_room import said

VERIFY = ["--data", "people.csv", "--seal", "care.seal"]


def page_with(page: str, carried: dict[str, Any]) -> str:
    """A page that carries something else."""
    before, rest = page.split(BEGIN, 1)
    words = {
        "facts" if name == "result" else name: value for name, value in carried.items()
    }
    return before + embedded(**words) + rest.split(END, 1)[1]


@pytest.fixture(scope="module")
def page(sealed_run: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of the sealed run, which is verified as it is."""
    place = shutil.copytree(sealed_run, tmp_path_factory.mktemp("page") / "sealed")
    with contextlib.chdir(place):
        assert run(["report", "run", "--to", "report.html"]) == 0
        assert run(["verify", "report.html", *VERIFY]) == 0
        return Path("report.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(
    "package", ["improvable", "numpy", "a package that nobody has"]
)
def test_a_forged_page_is_not_verified_by_stating_another_version(
    package: str, page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    carried = read_embedded(page)
    text = carried["result"]["p_value_text"]
    carried["result"]["versions"][package] = "9.9.9"
    forged = page_with(page.replace(text, "0.0001"), carried)
    assert "0.0001" in forged
    Path("report.html").write_text(forged, encoding="utf-8")
    capsys.readouterr()
    assert run(["verify", "report.html", *VERIFY]) == 1
    shown = said(capsys)
    assert f"version {package} 9.9.9 made the result" in shown
    assert not re.search(r"(?<!NOT )VERIFIED", shown)
    unsealed = ["verify", "report.html", "--data", "people.csv"]
    capsys.readouterr()
    assert run(unsealed) == 1


@pytest.mark.usefixtures("sealed")
def test_another_version_s_page_of_the_same_numbers_is_a_verdict_of_its_own(
    page: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The versions are the sealed ones, so nobody lies; but what the page shows was not
    compared.
    """
    Path("report.html").write_text(page, encoding="utf-8")
    from improvable.results import storage

    here = storage.versions()
    monkeypatch.setattr(storage, "_installed", lambda: here | {"numpy": "9.9.9"})
    capsys.readouterr()
    assert run(["verify", "report.html", *VERIFY]) == 1
    shown = said(capsys)
    assert "SAME NUMBERS, ANOTHER VERSION'S PAGE" in shown
    assert "What the page shows a reader was not checked" in shown
    assert "VERIFIED" not in shown
    assert run(["verify", "run", *VERIFY]) == 1
    assert "SAME NUMBERS, OTHER VERSIONS" in (shown := said(capsys))
    assert "seal" in shown
    assert "DIFFERENT" not in shown, (
        "the seal is compared with the versions that it was made with"
    )


def in_json(name: str, change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    def forge() -> None:
        plain = json.loads(Path(name).read_text())
        change(plain)
        Path(name).write_text(json.dumps(plain))

    return forge


def in_meta(change: Callable[[dict[str, Any]], None]) -> None:
    path = "run/repetition-001.npz"
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    meta = json.loads(arrays["meta"].tobytes())
    change(meta)
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    np.savez(path, **arrays)


FORGERIES: dict[str, Callable[[], None]] = {
    "result.json reviewed": in_json(
        "run/result.json", lambda plain: plain.update(reviewed="by the court")
    ),
    "result.json setting.reviewed": in_json(
        "run/result.json", lambda plain: plain["setting"].update(reviewed="yes")
    ),
    "run.json audit.alpha": in_json(
        "run/run.json", lambda plain: plain["audit"].update(alpha=0.01)
    ),
    "run.json reviewed": in_json(
        "run/run.json", lambda plain: plain.update(reviewed="by the court")
    ),
    "run.json audit.rule": in_json(
        "run/run.json", lambda plain: plain["audit"].pop("rule")
    ),
    "provenance.json reviewed": in_json(
        "run/provenance.json", lambda plain: plain.update(reviewed="by the court")
    ),
    "repetition-001.npz": lambda: in_meta(
        lambda meta: meta.update(reviewed="by the court")
    ),
}


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize("where", FORGERIES)
@pytest.mark.parametrize(
    "hidden", [False, True], ids=["as it is", "behind another version"]
)
def test_a_key_too_many_or_too_few_in_a_run_folder_is_a_difference(
    where: str, hidden: bool
) -> None:
    FORGERIES[where]()
    if hidden:
        in_json(
            "run/result.json",
            lambda plain: plain["setting"]["versions"].update(numpy="9.9.9"),
        )()
    found = verify("run", "people.csv")
    assert where in [one.where for one in found.differences]
    assert not found.same
    assert not found.by_other_versions


@pytest.mark.usefixtures("sealed")
@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda facts: facts.update(reviewed="by the court"), "reviewed"),
        (
            lambda facts: facts["repetitions"][0].update(reviewed=True),
            "repetitions.1.reviewed",
        ),
        (lambda facts: facts.pop("warnings"), "warnings.1"),
        (lambda facts: facts.update(version="9.9.9", p_value=0.0001), "p_value"),
    ],
)
def test_a_key_too_many_or_too_few_in_a_result_is_a_difference(
    change: Callable[[dict[str, Any]], None], where: str
) -> None:
    in_json("result.json", change)()
    assert where in [
        one.where for one in verify("result.json", "people.csv").differences
    ]
