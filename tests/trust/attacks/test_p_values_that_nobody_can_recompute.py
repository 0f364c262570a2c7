"""The data are secret, so nobody can check the p-values: they are simply stated.

`improvable bundle` publishes protocol, cells, seed and digests instead of rows; `verify
BUNDLE` draws again and must find every p-value bit for bit. Cells that few rows share
are refused.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.cli import run
from improvable.trust.bundle import verify_bundle, write_bundle
from protocol_room import said


@pytest.mark.usefixtures("sealed")
def test_every_p_value_is_recomputed_bit_for_bit_without_a_row(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["bundle", "run", "--smallest", "1"]) == 0
    Path("people.csv").unlink()
    stated = json.loads(Path("result.json").read_text())
    found = verify_bundle("run.bundle.json")
    assert found.same
    assert found.stated["p_value"] == stated["p_value"]
    assert [repetition["components"] for repetition in found.stated["repetitions"]] == [
        one["components"] for one in stated["repetitions"]
    ]
    assert found.facts["seal"] == stated["seal"]
    size = Path("run.bundle.json").stat().st_size
    assert size < 20_000
    kept = json.loads(Path("run.bundle.json").read_text())
    assert "dem_female" not in json.dumps(kept["repetitions"]), (
        "features are named in the protocol, and nowhere else"
    )
    capsys.readouterr()
    assert run(["verify", "run.bundle.json"]) == 0
    shown = said(capsys)
    assert "follow from the cells, to the bit" in shown
    assert "Not shown here: that the cells come from the data" in shown
    assert (
        run(
            [
                "verify",
                "run.bundle.json",
                "--protocol",
                "care.toml",
                "--seal",
                "care.seal",
            ]
        )
        == 0
    )
    for option in ("--data people.csv", "--ledger people.csv.ledger", "--unsealed"):
        assert run(["verify", "run.bundle.json", *option.split()]) == 2, (
            "nobody takes it for checked"
        )
        assert "beside a bundle" in said(capsys)
    first = Path("run.bundle.json").read_bytes()
    write_bundle("run", smallest=1)
    assert Path("run.bundle.json").read_bytes() == first, (
        "whoever has the run makes the same bundle"
    )


def put(*places: str | int, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(plain: Any) -> None:
        for place in places[:-1]:
            plain = plain[place]
        plain[places[-1]] = value

    return change


@pytest.mark.usefixtures("sealed")
def test_a_bundle_that_was_edited_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    write_bundle("run", smallest=1)
    true = Path("run.bundle.json").read_text()

    def status(*changes: Callable[[dict[str, Any]], None]) -> int:
        plain = json.loads(true)
        for change in changes:
            change(plain)
        Path("edited.json").write_text(json.dumps(plain))
        return run(["verify", "edited.json"])

    assert status() == 0
    assert status(put("of_the_run", "p_value", value=0.0001)) == 1
    assert status(put("of_the_run", "reject", value=0)) == 1
    assert (
        status(put("repetitions", 0, "counts", "strata", 0, "cells", 0, 1, value=4_000))
        == 1
    )
    assert status(put("identity", "seed", value=1)) == 1
    capsys.readouterr()
    for change in (
        put("repetitions", value={}),
        put("repetitions", 0, "counts", value=None),
        put("repetitions", 0, "counts", "strata", 0, "cells", 0, 1, value=-1),
        put("repetitions", 0, "attributes", value=[]),
        put("protocol", "declared", "test", "draws", value="many"),
        put("repetitions", 0, "attributes", 0, "member", 0, value=-1),
        put("note", value="this bundle was checked"),
        put("identity", "note", value="this bundle was checked"),
        put("repetitions", 0, "note", value="this bundle was checked"),
        put("identity", value=[]),
        put("identity", "challenge", value=5),
        put("identity", "challenge_source", value=5),
        put("identity", "seal", value=5),
    ):
        assert status(change) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.usefixtures("sealed")
def test_small_cells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["bundle", "run", "--smallest", "15"]) == 2
    assert "contributions that fewer than 15 rows share" in said(capsys)
    assert not Path("run.bundle.json").exists()


def test_outcomes_that_are_nearly_all_different_have_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = 12_000
    score = rng.normal(0, 1, rows)
    people = pl.DataFrame(
        {
            "y": rng.normal(2, 1, rows) + score,
            "g": rng.choice(["a", "b"], rows),
            "s": score,
        }
    )
    improvable.audit(
        people,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.9),
        test=improvable.Test(draws=100, repetitions=1),
        rule="linear",
        features=["s"],
    ).save("kept")
    with pytest.raises(improvable.OptionError, match="keeps no cells"):
        write_bundle("kept")


@pytest.mark.parametrize(("scheme", "blocks"), [("forward", 4), ("split", 1)])
@pytest.mark.parametrize("groups", [2, 3])
def test_both_schemes_have_a_bundle_with_two_groups_and_with_more(
    scheme: Any,
    blocks: int,
    groups: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Forward, the reference pair of groups is chosen on the rows that are tested, and
    the protocol says so.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(groups)
    need, group = rng.normal(size=3_000), rng.integers(0, groups, 3_000)
    people = pl.DataFrame(
        {
            "y": (need + rng.normal(size=3_000) > 0).astype(int),
            "g": np.array(["a", "b", "c"])[group],
            "s": need + 2 * rng.normal(size=3_000) + 0.5 * group,
            "x": need + rng.normal(size=3_000),
        }
    )
    result = improvable.audit(
        people,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.3),
        rule="linear",
        features=["x"],
        test=improvable.Test(scheme=scheme, repetitions=3, draws=300),
        run_folder="run",
    )
    assert len(result.facts["blocks"]["cuts"]) == blocks
    write_bundle("run", smallest=1)
    found = verify_bundle("run.bundle.json")
    assert found.same
    assert [one["p_value"] for one in found.stated["repetitions"]] == [
        one.p_value for one in result.repetitions
    ]
    kept = json.loads(Path("run.bundle.json").read_text())["repetitions"]
    assert {one["training"] is None for one in kept} == {scheme == "forward"}


@pytest.mark.parametrize(
    "options", [{"method": "delta"}, {"weight": "w"}, {"cluster": "c"}], ids=str
)
def test_weights_clusters_and_the_normal_limit_have_a_bundle(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three groups that differ by chance alone, so that several pairs count."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    need = rng.normal(size=6_000)
    people = pl.DataFrame(
        {
            "y": (need + rng.normal(size=6_000) > 0).astype(int),
            "g": rng.choice(["a", "b", "c"], 6_000),
            "x": need,
            "s": need + 2 * rng.normal(size=6_000),
            "w": rng.integers(1, 4, 6_000),
            "c": np.arange(6_000) // 4,
        }
    )
    result = flat_audit(
        people,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.3),
        rule="linear",
        features=["x"],
        scheme="split",
        repetitions=1,
        draws=100,
        run_folder="run",
        **options,
    )
    write_bundle("run", smallest=1)
    found = verify_bundle("run.bundle.json")
    assert found.same
    assert found.stated["p_value"] == result.p_value


def test_what_draws_knew_of_the_rows_of_a_cluster_is_in_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nearly all repay, so that draws know in which rows of a cluster the algorithms
    differ.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    people = pl.DataFrame(
        {
            "y": (rng.random(1_200) < 0.98).astype(int),
            "g": rng.choice(["a", "b"], 1_200),
            "c": np.arange(1_200) // 4,
            "x": rng.normal(size=1_200),
            "s": rng.normal(size=1_200),
        }
    )
    improvable.audit(
        people,
        outcome="y",
        group="g",
        status_quo=improvable.threshold("s", capacity=0.3),
        rule="linear",
        features=["x"],
        test=improvable.Test(scheme="split", repetitions=1, draws=100),
        run_folder="run",
        cluster="c",
        read=improvable.Read(direction="as stated"),
    )
    with pytest.raises(
        improvable.OptionError, match="which rows of a cluster the algorithms differ in"
    ):
        write_bundle("run", smallest=1)


def test_what_was_not_declared_has_no_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A comparison has no protocol: nothing would say what its cells were asked."""
    monkeypatch.chdir(tmp_path)
    people = improvable.datasets.care_management(2_000, seed=3)
    improvable.compare(
        people,
        outcome="gagne_sum_t",
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=0.2),
        candidate=improvable.threshold("gagne_sum_tm1", capacity=0.2),
        test=improvable.Test(draws=300),
    ).save("kept")
    with pytest.raises(
        improvable.OptionError,
        match="has no protocol, so a bundle could not say what was asked",
    ):
        write_bundle("kept", smallest=1)
