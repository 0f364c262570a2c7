"""Values as they are meant: which of two is 1, what is missing, what is spelled two
ways; the same for every engine.
"""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import improvable
from flat import flat_audit, flat_compare
from improvable.question.settings import as_options

N = 1_200
WORDS = {
    "yes/no": ("yes", "no"),
    "Pass/Fail": ("Pass", "Fail"),
    "approve/deny": ("approve", "deny"),
    "true/false": ("true", "false"),
    "1/2": (2, 1),
    "True/False": (True, False),
}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    need = rng.normal(size=N)
    sex = rng.choice(["male", "female"], N)
    return pl.DataFrame(
        {
            "need": need,
            "sex": sex,
            "sick": (need + 0.5 * (sex == "male") + rng.normal(size=N) > 0.5).astype(
                int
            ),
            "selected": (need + rng.normal(size=N) > 0).astype(int),
            "row": np.arange(N),
        }
    )


def audit(frame: Any, **options: Any) -> improvable.Audit:
    asked: dict[str, Any] = {
        "outcome": "sick",
        "group": "sex",
        "status_quo": "selected",
        "capacity": 0.4,
        "rule": "linear",
        "repetitions": 2,
        "draws": 200,
        "features": ["need"],
        "row_id": "row",
    }
    return flat_audit(frame, **(asked | options))


def worded(people: pl.DataFrame, words: tuple[Any, Any], *columns: str) -> pl.DataFrame:
    one, other = words
    return people.with_columns(
        pl.Series(name, [one if value else other for value in people[name].to_list()])
        for name in columns
    )


@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS.keys())
def test_two_levels_become_0_and_1(
    people: pl.DataFrame, words: tuple[Any, Any]
) -> None:
    """Rows go by their id, so that the repetitions are the same whatever the words."""
    plain = audit(people)
    meant = {"sick": words[0], "selected": str(words[0])}
    spoken = audit(worded(people, words, "sick", "selected"), positive=meant)
    assert spoken.p_value == plain.p_value
    assert spoken.table().equals(plain.table())


@pytest.mark.parametrize(
    "kind", ["polars", "pandas", "objects", "pyarrow", "arrow", "odd index"]
)
def test_every_frame_and_engine_gives_the_same_bytes(
    people: pl.DataFrame, kind: str
) -> None:
    spoken = worded(people, ("yes", "no"), "sick")
    frame = spoken.with_columns(
        sex=pl.when(pl.col("row") % 50 == 0).then(pl.lit("Male ")).otherwise("sex"),
        sick=pl.when(pl.col("row") % 40 == 0).then(pl.lit("9")).otherwise("sick"),
    )
    options: dict[str, Any] = {
        "positive": "yes",
        "na": ["9"],
        "strip": True,
        "drop_missing": True,
    }
    expected = audit(frame, **options)
    given: Any = {
        "polars": frame,
        "pandas": frame.to_pandas(),
        "objects": frame.to_pandas().astype(object),
        "pyarrow": frame.to_arrow(),
        "arrow": frame,
        "odd index": frame.to_pandas().set_index(pd.Index(range(N, 0, -1))),
    }[kind]
    found = audit(given, **options, engine="arrow" if kind == "arrow" else None)
    assert found.p_value == expected.p_value
    assert found.data_fingerprint == expected.data_fingerprint
    assert found.warnings == expected.warnings
    assert "'9' is read as missing in 'sick': 30 rows." in found.warnings
    assert "'Male ' of 'sex' is read as 'male'." in found.warnings
    assert found.to_dict()["groups"] == ["female", "male"]


def test_missing_codes_are_the_rows_that_are_dropped(people: pl.DataFrame) -> None:
    coded = people.with_columns(
        sick=pl.when(pl.col("row") < 30).then(9).otherwise("sick")
    )
    assert (
        sum(
            "9 in 30 rows" in text and "`na=['9']`" in text
            for text in audit(coded).warnings
        )
        == 1
    )
    with pytest.raises(improvable.ImprovableError, match="30 in 'sick'"):
        audit(coded, na="9")
    found = audit(coded, na="9", drop_missing=True)
    assert found.p_value == audit(people.filter(pl.col("row") >= 30)).p_value


def test_only_the_question_is_recoded(people: pl.DataFrame) -> None:
    """A feature of yes and no, or one that holds a 9, stays as it is: where it is put
    to use it will be so too.
    """
    frame = people.with_columns(
        code=pl.Series([9, 1, 2] * (N // 3)),
        word=pl.Series(["yes", "no", "no"] * (N // 3)),
    )
    found = audit(
        worded(frame, ("yes", "no"), "sick"),
        positive="yes",
        na="9",
        features=["need", "code", "word"],
    )
    assert found.setting["features"]["code"] == "number"
    assert found.setting["features"]["word"].startswith("category")


@pytest.mark.parametrize(
    ("levels", "options", "words"),
    [
        (
            ["yes", "no"],
            {},
            (
                "holds 'no' and 'yes' where numbers are needed.*positive={'sick': "
                "'yes'}.*or"
            ),
        ),
        (
            ["deny", "approve"],
            {},
            "positive={'sick': 'deny'}.*or.*positive={'sick': 'approve'}",
        ),
        (
            ["yes", "no"],
            {"positive": {"sick": "yess"}},
            "'sick' does not hold 'yess'.*yes",
        ),
        (
            ["yes", "no"],
            {"positive": {"sik": "yes"}},
            "'sik', which is neither an outcome nor a decision.*sick",
        ),
        (
            ["yes", "no", "maybe"],
            {"positive": {"sick": "yes"}},
            "holds 3 levels: 'maybe'.*`read=Read.na=",
        ),
        (
            ["yes", "no", "Yes "],
            {"positive": {"sick": "yes"}},
            "differ only in spaces or capitals.*`read=Read.strip=True.`",
        ),
        (["yes", "no"], {"positive": "yess"}, "holds 'no' and 'yes'"),
        (
            ["yes", "no", "maybe"],
            {"positive": "yes"},
            "holds 3 levels: 'maybe'.*`read=Read.na=",
        ),
        (
            ["yes", "no", "Yes "],
            {"positive": "yes"},
            "differ only in spaces or capitals.*`read=Read.strip=True.`",
        ),
        (
            [0, 1],
            {"positive": "yes"},
            "`positive` is 'yes', which no outcome or decision with two values holds",
        ),
        (["1", "n/a"], {}, "holds '1' and 'n/a'"),
        (
            ["1", "0", "0", "1", "0", "n/a"],
            {},
            "holds text in 200 of 1,200 rows.*'n/a' in row 6.*`read=Read.na=",
        ),
        ([f"t{i}" for i in range(100)], {"positive": "t1"}, "more than 60 levels"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_flag_that_fixes_it(
    people: pl.DataFrame, levels: list[Any], options: dict[str, Any], words: str
) -> None:
    frame = people.with_columns(
        sick=pl.Series([levels[i % len(levels)] for i in range(N)])
    )
    with pytest.raises(improvable.ImprovableError, match=words):
        audit(frame, **options)


def test_texts_of_digits_are_numbers_once_the_strays_are_missing(
    people: pl.DataFrame,
) -> None:
    texts = people.with_columns(
        sick=pl.when(pl.col("row") < 30)
        .then(pl.lit("n/a"))
        .otherwise(pl.col("sick").cast(pl.String))
    )
    found = audit(texts, na="n/a", drop_missing=True)
    assert found.p_value == audit(people.filter(pl.col("row") >= 30)).p_value


def test_levels_spelled_two_ways_are_named(people: pl.DataFrame) -> None:
    frame = people.with_columns(
        sex=pl.when(pl.col("row") % 3 == 0).then(pl.lit("Male ")).otherwise("sex")
    )
    assert any(
        "'Male ' and 'male' of 'sex' differ only in spaces, capitals" in w
        for w in audit(frame).warnings
    )


def test_each_problem_of_the_data_is_said_once_with_the_advice_that_fixes_it(
    people: pl.DataFrame,
) -> None:
    frame = people.with_columns(
        sick=pl.when(pl.col("row") % 33 == 0).then(9).otherwise("sick"),
        sex=pl.when(pl.col("row") % 3 == 0).then(pl.lit("Male ")).otherwise("sex"),
    )
    found = [
        text
        for text in audit(frame).warnings
        if "missing" in text or "differ only" in text
    ]
    assert found == [
        (
            "the outcome 'sick' is 0 and 1, but for 9 in 37 rows. If that stands for "
            "missing, say so: `na=['9']`, `drop_missing=True`."
        ),
        (
            "groups 'Male ' and 'male' of 'sex' differ only in spaces, capitals or "
            "what does not show. To read them as one: `strip=True`."
        ),
    ]
    mended = audit(frame, na="9", drop_missing=True, strip=True).warnings
    assert not [
        text for text in mended if "stands for missing" in text or "differ only" in text
    ]


def test_positive_and_missing_values_are_part_of_the_protocol(
    people: pl.DataFrame,
) -> None:
    found = audit(
        worded(people, ("yes", "no"), "sick"),
        positive="yes",
        na=["9", "99"],
        strip=True,
    )
    declared = found.setting["protocol"]["declared"]["read"]
    assert (declared["positive"], declared["na"], declared["strip"]) == (
        ["yes"],
        ["9", "99"],
        True,
    )


@pytest.mark.parametrize("kind", ["polars", "pandas", "pyarrow", "arrow"])
@pytest.mark.parametrize("mark", ["n/a", "refused"])
def test_a_stray_text_in_a_feature_is_missing_where_the_caller_says_so(
    people: pl.DataFrame, mark: str, kind: str
) -> None:
    """The column is then what it would have been with a hole, in every library and
    engine.
    """
    odd = pl.int_range(N) == 7
    hole = people.with_columns(need=pl.when(odd).then(None).otherwise("need"))
    text = people.with_columns(
        need=pl.when(odd).then(pl.lit(mark)).otherwise(pl.col("need").cast(pl.String))
    )
    frame: Any = {"polars": text, "pandas": text.to_pandas()}.get(kind, text.to_arrow())
    engine = {"engine": "arrow"} if kind == "arrow" else {}
    read = audit(frame, na=mark, **engine)
    assert read.setting["features"]["need"].startswith("number: 1 missing value")
    assert [one.p_value for one in read.repetitions] == [
        one.p_value for one in audit(hole).repetitions
    ]
    assert any(
        f"'{mark}' is read as missing in 'need'" in text for text in read.warnings
    )


def test_a_stray_text_is_named_with_the_flag_that_fixes_it(
    people: pl.DataFrame,
) -> None:
    odd = pl.int_range(N) == 7
    text = people.with_columns(
        need=pl.when(odd).then(pl.lit("n/a")).otherwise(pl.col("need").cast(pl.String))
    )
    warned = [one for one in audit(text).warnings if "hold a few texts" in one]
    assert len(warned) == 1
    assert "'need' has 'n/a' in 1 row, which `na=['n/a']` reads as missing" in warned[0]
    assert not [
        one for one in audit(text, na="n/a").warnings if "hold a few texts" in one
    ]


def test_numbers_and_levels_of_features_stay_as_they_are(people: pl.DataFrame) -> None:
    """A 9 that means missing in the outcome is a plain 9 in a feature, and one level
    among others is a level.
    """
    rng = np.random.default_rng(1)
    frame = people.with_columns(
        visits=pl.Series(rng.integers(0, 12, N)),
        color=pl.Series(rng.choice(["x", "y"], N)),
    )
    plain = audit(frame, features=["need", "visits", "color"])
    said = audit(frame, features=["need", "visits", "color"], na=["9", "x"])
    assert said.setting["features"] == plain.setting["features"]
    assert [one.p_value for one in said.repetitions] == [
        one.p_value for one in plain.repetitions
    ]


def test_a_bare_value_that_two_columns_hold_is_refused_with_both_spellings(
    people: pl.DataFrame,
) -> None:
    spoken = worded(people, ("yes", "no"), "sick", "selected")
    with pytest.raises(
        improvable.ImprovableError, match="which both 'sick' and 'selected' hold"
    ) as caught:
        audit(spoken, positive="yes")
    hint = str(caught.value).replace("read=Read(", "").replace(")`", "`")
    assert (
        "`positive={'sick': 'yes', 'selected': 'yes'}` or `positive={'sick': 'yes', "
        "'selected': 'no'}`"
    ) in hint
    assert (
        "--positive sick=yes,selected=yes or --positive sick=yes,selected=no"
        in as_options(hint)
    )
    with pytest.raises(
        improvable.ImprovableError, match="which both 'sick' and 'selected' hold"
    ):
        audit(people, positive="0")


def test_a_bare_value_serves_where_one_column_holds_it(people: pl.DataFrame) -> None:
    spoken = worded(people, ("ill", "well"), "sick")
    assert audit(spoken, positive="ill").table().equals(audit(people).table())
    assert audit(people, positive="1").table().equals(audit(people).table()), (
        "1 is what 1 means already"
    )


def test_the_meaning_of_every_column_is_in_the_protocol(people: pl.DataFrame) -> None:
    spoken = worded(people, ("no", "yes"), "sick").pipe(
        worded, ("yes", "no"), "selected"
    )
    found = audit(spoken, positive={"sick": "no", "selected": "yes"})
    assert found.setting["protocol"]["declared"]["read"]["positive"] == {
        "sick": "no",
        "selected": "yes",
    }
    assert found.table().equals(audit(people).table())


@pytest.mark.parametrize("lower", [False, True])
def test_amounts_the_wrong_way_round_are_refused_both_ways(
    people: pl.DataFrame, lower: bool
) -> None:
    sign = 1 if lower else -1
    frame = people.with_columns(
        sick=sign * (pl.col("need") + 5 * pl.col("selected")) + 100
    )
    options: dict[str, Any] = {"lower_is_better": lower, "fairness": "selection_rate"}
    side = "higher" if lower else "lower"
    with pytest.raises(
        improvable.ImprovableError,
        match=f"have a {side} mean 'sick'.*direction='as stated'",
    ):
        audit(frame, **options)
    kept = audit(frame, **options, direction="as stated")
    assert kept.to_dict()["direction"] == "as stated"
    assert any("confirmed it as stated" in text for text in kept.warnings)
    asked: dict[str, Any] = {
        "outcome": "sick",
        "group": "sex",
        "status_quo": "selected",
        "draws": 200,
    }
    with pytest.raises(improvable.ImprovableError, match=f"have a {side} mean 'sick'"):
        flat_compare(
            frame.with_columns(other=1 - pl.col("selected")),
            candidate="other",
            **asked,
            **options,
        )


def test_an_outcome_of_two_values_cannot_be_turned_twice(people: pl.DataFrame) -> None:
    with pytest.raises(
        improvable.ImprovableError, match=r"has two values.*positive=\{'sick': 0\}"
    ):
        audit(people, lower_is_better=True)
    with pytest.raises(improvable.ImprovableError, match="have a lower mean 'sick'"):
        audit(people, positive={"sick": 0})


MEANINGS = st.fixed_dictionaries(
    {
        "selected": st.sampled_from(
            [
                ("approved", "declined"),
                ("no", "yes"),
                ("yes", "no"),
                (1, 0),
                (0, 1),
                (2, 1),
            ]
        ),
        "sick": st.sampled_from(
            [
                ("yes", "no"),
                ("no", "yes"),
                ("Ja", "Nein"),
                (0, 1),
                (1, 2),
                (True, False),
            ]
        ),
        "selection": st.sampled_from(["benefit", "burden"]),
    }
)


@settings(max_examples=12, deadline=None, derandomize=True)
@given(meaning=MEANINGS)
def test_the_verdict_is_that_of_the_hand_coded_file_whatever_values_mean(
    people: pl.DataFrame, meaning: dict[str, Any]
) -> None:
    plain = audit(people, selection=meaning["selection"])
    spoken = worded(people, meaning["sick"], "sick").pipe(
        worded, meaning["selected"], "selected"
    )
    meant = {name: str(meaning[name][0]) for name in ("sick", "selected")}
    found = audit(spoken, selection=meaning["selection"], positive=meant)
    assert found.table().equals(plain.table())
    assert found.facts["disparities"] == plain.facts["disparities"]
