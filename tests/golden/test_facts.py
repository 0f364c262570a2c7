"""Facts are all of a result's plain data, and nothing of it is lost on the way."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import improvable
from golden.facts import describe_array, flatten
from golden.samples import loans


def list_leaves(value: Any) -> Iterator[Any]:
    """Every value of nested plain data that is neither None nor empty, by recursion."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from list_leaves(part)
    elif value is not None and value != "":
        yield value


def test_every_value_is_in_a_fact_or_in_its_name() -> None:
    result = improvable.compare(
        loans(),
        outcome="repaid",
        group=["sex", "city"],
        status_quo="approved",
        candidate="instead",
        weight="weight",
        cluster="household",
        test=improvable.Test(draws=200),
    ).to_dict()
    assert any(one["corrections"] for one in result["repetitions"])
    facts = flatten(result)
    words = " ".join([*facts, *map(str, facts.values())])
    assert [leaf for leaf in list_leaves(result) if str(leaf) not in words] == []


def test_a_correction_that_goes_is_a_fact_that_goes() -> None:
    corrections = [
        {"why": "weights", "utility": "calibration", "group": "men"},
        {"why": "weights", "utility": "calibration", "group": "women"},
    ]
    both = flatten({"corrections": corrections})
    assert both.keys() - flatten({"corrections": corrections[:1]}).keys() == {
        "correction calibration, women, weights"
    }


def test_two_facts_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two facts are called 'gap'"):
        flatten({"gap | low": 1, "gap": {"low": 2}})


def test_a_digest_holds_where_bits_differ_and_not_where_numbers_do() -> None:
    amounts = np.arange(100) + 12_345.65  # half a unit of the digest's last digit
    digest = describe_array(amounts)["digest"]
    for bits in (1 - 2e-16, 1 + 2e-16):
        assert describe_array(amounts * bits)["digest"] == digest
    moved = amounts.copy()
    moved[50] += 1
    assert describe_array(moved)["digest"] != digest


def test_a_digest_of_counts_is_exact() -> None:
    counts = np.arange(100) + 10**12
    more = counts.copy()
    more[50] += 1
    assert describe_array(more)["digest"] != describe_array(counts)["digest"]
