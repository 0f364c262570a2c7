"""Attack 5: rows that share a key let the order of the file, which no seal covers,
choose who trains and who is tested.

The old keys were an invertible mix of a row's values: 3,000 distinct rows were made to
have one key. Keys are SipHash under a secret that follows from the sealed seed, known
only after the data are fixed; rows that share one are refused.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import improvable
from improvable.cli import run
from improvable.data.frame import Rows, read_rows
from improvable.data.keys import Keying, Keys, mix, siphash
from improvable.errors import DataError
from protocol_room import OPTIONS

MANY = 3_000


def unmix(bits: Keys) -> Keys:
    """The inverse of `mix`: whoever knows the mix can choose what it gives."""
    for shift, factor in ((31, 0x319642B2D24D8EC3), (27, 0x96DE1B173F119089), (30, 1)):
        step = bits.copy()
        for _ in range(64 // shift + 1):
            step = bits ^ (step >> np.uint64(shift))
        bits = step * np.uint64(factor)
    return bits


def test_rows_made_to_share_a_key_of_an_invertible_mix_have_different_keys() -> None:
    """Two columns whose mixed bits add up to the same number in every row, as in the
    attack.
    """
    rng = np.random.default_rng(1)
    first = rng.integers(1 << 10, 1 << 50, MANY).astype(np.uint64)
    second = unmix(np.uint64(12345) - mix(first))
    assert (mix(first) + mix(second) == np.uint64(12345)).all(), (
        "the old keys of all rows are one"
    )
    made = pl.DataFrame({"a": first.view(np.float64), "b": second.view(np.float64)})
    made = made.filter(pl.all_horizontal(pl.all().is_finite()))
    keys = Keying(7).of(read_rows(made), ["a", "b"])
    assert len(np.unique(keys)) == made.unique().height > MANY * 0.9


def test_keys_are_siphash_as_published() -> None:
    """The vector of the paper: key 00 01 .. 0f; messages 00 01 .. 07 give
    0x93f5f5799a932462.
    """
    word = np.array([int.from_bytes(bytes(range(8)), "little")], dtype=np.uint64)
    assert int(siphash([word], bytes(range(16)))[0]) == 0x93F5F5799A932462


def test_different_rows_with_one_key_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def colliding(_: Keying, rows: Rows, columns: Sequence[str]) -> Keys:
        del columns
        return np.zeros(len(rows), dtype=np.uint64)

    monkeypatch.setattr(Keying, "of", colliding)
    with pytest.raises(DataError, match="two different rows have the same key"):
        improvable.audit(
            improvable.datasets.care_management(500, seed=1),
            outcome="gagne_sum_t",
            group="race",
            rule="linear",
            status_quo=improvable.threshold("risk_score_t", capacity=0.2),
            features=["gagne_sum_tm1"],
            read=improvable.Read(duplicates="keep"),
        )


@pytest.mark.usefixtures("room")
def test_no_order_of_the_file_changes_a_sealed_result() -> None:
    people = pl.read_csv("people.csv")
    found = []
    for name, order in (
        ("as.csv", None),
        ("sorted.csv", "gagne_sum_t"),
        ("by_score.csv", "risk_score_t"),
    ):
        (people if order is None else people.sort(order)).write_csv(name)
        assert (
            run(["audit", name, *OPTIONS, "--challenge", "9f2c", "--json", "out.json"])
            == 0
        )
        found.append(json.loads(Path("out.json").read_text())["repetitions"])
    assert found[0] == found[1] == found[2]
