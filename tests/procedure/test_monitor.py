"""The monitor reads rows as the audit does, whatever their form, and refuses what no
bet can be placed on.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from flat import flat_audit, flat_compare
from improvable.errors import DataError, OptionError, StorageError
from improvable.procedure.monitor import has_fixed_denominator
from improvable.question.catalog import UTILITIES
from loans import make_loans

ASKED: dict[str, Any] = {
    "outcome": "repaid",
    "group": "sex",
    "status_quo": "approved",
    "rule": "linear",
    "features": ["income", "debt"],
    "accuracy": "classification_rate",
    "repetitions": 1,
    "draws": 200,
}


PAST, NEW = make_loans(1_500, 1), make_loans(3_000, 2)


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    return flat_audit(PAST, **ASKED)


def test_a_column_and_what_decides_so_and_a_folder_say_the_same(
    audit: improvable.Audit, tmp_path: Path
) -> None:
    found = improvable.monitor(audit, NEW, candidate="instead")
    audit.save(tmp_path / "run")
    decides = improvable.monitor(
        tmp_path / "run",
        NEW,
        candidate=lambda frame: frame["income"] - frame["debt"] > 0.1,
        status_quo="approved",
    )
    assert decides.to_dict() == found.to_dict()
    assert [*found.wealths] == [
        "classification_rate of men",
        "classification_rate of women",
        "gap in classification_rate, men over women",
        "gap in classification_rate, women over men",
    ]
    assert found.shown_since is not None
    assert found.p_value == max(one.p_value for one in found.wealths.values()) < 0.05
    assert found.shown_since == max(
        one.shown_since(0.05) or 0 for one in found.wealths.values()
    )
    assert found.claim.startswith("The candidate is more accurate for every group")
    men = NEW.with_row_index("row", 1).filter(sex="men")
    assert (
        found.wealths["classification_rate of men"].rows.tolist()
        == men["row"].to_list()
    )
    refitted = improvable.monitor(audit, NEW, candidate=audit.refit())
    assert refitted.rows == found.rows


def test_rows_in_parts_are_the_rows_in_one_and_looks_change_nothing(
    audit: improvable.Audit, tmp_path: Path
) -> None:
    NEW[:500].write_csv(tmp_path / "january.csv")
    NEW[500:].write_csv(tmp_path / "february.csv")
    whole = improvable.monitor(audit, NEW, candidate="instead")
    first, second = tmp_path / "january.csv", tmp_path / "february.csv"
    assert (
        improvable.monitor(audit, [first, second], candidate="instead").to_dict()
        == whole.to_dict()
    )
    early = improvable.monitor(audit, first, candidate="instead")
    for name, one in early.wealths.items():
        assert one.logs.tolist() == whole.wealths[name].logs[: len(one.logs)].tolist()
    with pytest.raises(DataError, match="parts of the data differ in columns"):
        improvable.monitor(audit, [first, PAST.drop("city")], candidate="instead")


def test_words_for_decisions_are_read_as_the_audit_reads_them(
    audit: improvable.Audit,
) -> None:
    words = pl.col("repaid", "approved", "instead").replace_strict({1: "yes", 0: "no"})
    asked = ASKED | {"positive": {"repaid": "yes", "approved": "yes"}}
    spoken = flat_audit(PAST.with_columns(words), **asked)
    found = improvable.monitor(spoken, NEW.with_columns(words), candidate="instead")
    assert found.p_value == improvable.monitor(audit, NEW, candidate="instead").p_value
    other = NEW.with_columns(words).rename({"approved": "decided"})
    assert (
        improvable.monitor(
            spoken, other, candidate="instead", status_quo="decided"
        ).p_value
        == found.p_value
    )
    assert any("is 1 where it says 'yes'" in text for text in found.warnings)


@pytest.mark.parametrize("cross", [False, True])
def test_several_columns_of_groups(cross: bool) -> None:
    several = flat_audit(PAST, **ASKED | {"group": ["sex", "city"], "cross": cross})
    found = improvable.monitor(several, NEW, candidate="instead")
    rows = {
        name.split(" of ")[1]: len(one.logs)
        for name, one in found.wealths.items()
        if " of " in name
    }
    if cross:
        assert rows["women, north"] == len(NEW.filter(sex="women", city="north"))
    else:
        assert rows["sex=women"] == len(NEW.filter(sex="women"))
    assert len(found.wealths) == (4 + 12 if cross else 4 + 4)


def test_other_groups_and_rows_that_lack_something_are_left_out_and_said(
    audit: improvable.Audit,
) -> None:
    others = pl.concat([NEW, NEW[:30].with_columns(sex=pl.lit("unknown"))])
    found, plain = (
        improvable.monitor(audit, one, candidate="instead") for one in (others, NEW)
    )
    assert found.warnings == (
        "30 rows of groups that the audit does not have are left out.",
    )
    assert (found.p_value, found.rows) == (plain.p_value, 3_030)
    holes = NEW.with_columns(
        repaid=pl.when(pl.int_range(3_000) < 10).then(None).otherwise("repaid")
    )
    with pytest.raises(DataError, match=r"10 in 'repaid'.*once they are complete"):
        improvable.monitor(audit, holes, candidate="instead")
    lenient = flat_audit(PAST, **ASKED | {"drop_missing": True})
    assert improvable.monitor(lenient, holes, candidate="instead").rows == 2_990


def test_true_positive_rates_count_only_those_with_the_outcome() -> None:
    rates = flat_audit(
        PAST,
        **ASKED | {"accuracy": "true_positive_rate", "fairness": "false_positive_rate"},
    )
    found = improvable.monitor(rates, NEW, candidate="instead")
    assert len(found.wealths["true_positive_rate of men"].logs) == len(
        NEW.filter(sex="men", repaid=1)
    )
    fewer = min(len(NEW.filter(sex=sex, repaid=0)) for sex in ("men", "women"))
    assert (
        0.9 * fewer
        < len(found.wealths["gap in false_positive_rate, women over men"].logs)
        <= fewer
    )


def test_which_utilities_work() -> None:
    works = [name for name, one in UTILITIES.items() if has_fixed_denominator(one)]
    assert works == [
        "classification_rate",
        "false_positive_rate",
        "false_negative_rate",
        "true_positive_rate",
        "true_negative_rate",
        "selection_rate",
    ]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a mean of the selected": (
        {"accuracy": "positive_predictive_value"},
        "same rows under both .*selection_rate",
    ),
    "a ratio": (
        {"fairness": "adverse_impact_ratio"},
        "same rows under both algorithms",
    ),
    "weights": ({"weight": "debt2"}, "has `weight`: a bet must know the most"),
    "clusters": ({"cluster": "branch"}, "has `cluster`: a bet takes rows one by one"),
    "equal rows": ({"duplicates": "cluster"}, "keeps equal rows together"),
    "a cutoff": (
        {"status_quo": {"score": "income", "capacity": 0.5}},
        "cutoff of the status quo comes from the rows",
    ),
    "ids twice": ({"row_id": "loan"}, "'loan' repeats: some rows are there twice"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning")
def test_what_no_bet_can_be_placed_on_is_refused(name: str) -> None:
    options, message = REFUSED[name]
    more = {"debt2": pl.col("debt").abs(), "branch": pl.int_range(pl.len()) % 40}
    asked = flat_audit(PAST.with_columns(**more), **ASKED | options)
    twice = pl.concat([NEW, NEW[:1]]).with_columns(**more)
    with pytest.raises((OptionError, DataError), match=message):
        improvable.monitor(asked, twice, candidate="instead")


def test_rows_that_taught_and_results_that_declare_nothing_are_refused(
    audit: improvable.Audit,
) -> None:
    with pytest.raises(DataError, match="audit's own rows"):
        improvable.monitor(audit, PAST, candidate="instead")
    with pytest.raises(OptionError, match="does not say how rows are to be read"):
        improvable.monitor(
            audit.with_claim(delta_fairness=0.1), NEW, candidate="instead"
        )
    compared = flat_compare(
        PAST,
        outcome="repaid",
        group="sex",
        status_quo="approved",
        candidate="instead",
        draws=200,
    )
    with pytest.raises(OptionError, match="does not say how rows are to be read"):
        improvable.monitor(compared, NEW, candidate="instead")  # type: ignore[arg-type]
    for tampered in ({}, "x", {"digest": "", "declared": 3}):
        changed = replace(audit, setting=audit.setting | {"protocol": tampered})
        with pytest.raises(OptionError, match="does not say how rows are to be read"):
            improvable.monitor(changed, NEW, candidate="instead")
    another = flat_audit(PAST, **ASKED | {"accuracy": "true_positive_rate"})
    with pytest.raises(StorageError, match="not of the protocol it names"):
        improvable.monitor(
            replace(audit, setting=another.setting), NEW, candidate="instead"
        )
    with pytest.raises(OptionError, match="cutoff of the candidate"):
        improvable.monitor(
            audit, NEW, candidate=improvable.threshold("income", capacity=0.5)
        )
