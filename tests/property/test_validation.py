"""Whatever comes in, the answer is a result or one of our own errors with advice, never
anything else.
"""

from typing import Any

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import improvable
from flat import flat_compare

NUMBERS = st.one_of(
    st.none(), st.sampled_from([0.0, 1.0, -1.0, 3.5, float("nan"), float("inf"), 1e300])
)
COLUMN = st.one_of(
    st.lists(NUMBERS, min_size=12, max_size=12),
    st.lists(st.sampled_from(["a", "b", None, "1"]), min_size=12, max_size=12),
    st.lists(st.integers(0, 1), min_size=12, max_size=12),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "delta_accuracy": st.one_of(
            st.floats(),
            st.dictionaries(st.sampled_from(["a", "b", "0", "1"]), st.floats(-2, 2)),
        ),
        "delta_fairness": st.floats(),
        "alpha": st.floats(),
        "draws": st.integers(-5, 150),
        "form": st.sampled_from(["ratio", "difference", "other"]),
        "gap": st.sampled_from(["signed", "absolute", "other"]),
        "accuracy": st.sampled_from(
            [*improvable.UTILITIES, "calibration:extra", "other"]
        ),
        "fairness": st.sampled_from([*improvable.UTILITIES, "calibration:extra", None]),
        "drop_missing": st.booleans(),
        "seed": st.integers(-1, 3),
    },
)


@given(
    st.fixed_dictionaries(dict.fromkeys(("y", "g", "now", "new", "extra"), COLUMN)),
    OPTIONS,
)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_columns_and_options_give_a_result_or_advice(
    columns: dict[str, list[Any]], options: dict[str, Any]
) -> None:
    frame = pl.DataFrame(columns, strict=False)
    advice = None
    try:
        result = flat_compare(
            frame,
            outcome="y",
            group="g",
            status_quo="now",
            candidate="new",
            **{"draws": 100, **options},
        )
    except improvable.ImprovableError as error:
        advice = str(error)
    if advice is not None:
        assert advice
        assert "\n" not in advice
    else:
        assert 0 <= result.p_value <= 1
        assert result.reject == (result.p_value < result.level)
        assert result.summary()


@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.integers(0, 3),
            st.integers(0, 1),
            st.integers(0, 1),
        ),
        min_size=20,
        max_size=60,
    ),
    st.randoms(use_true_random=False),
)
@settings(max_examples=60, deadline=None)
def test_order_of_rows_changes_nothing(
    rows: list[tuple[str, int, int, int]], random: Any
) -> None:
    shuffled = rows.copy()
    random.shuffle(shuffled)
    outcomes = []
    for version in (rows, shuffled):
        frame = pl.DataFrame(version, schema=["g", "y", "now", "new"], orient="row")
        try:
            result = improvable.compare(
                frame,
                outcome="y",
                group="g",
                status_quo="now",
                candidate="new",
                test=improvable.Test(draws=200),
            )
            outcomes.append(str(result.to_dict()))
        except improvable.ImprovableError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@given(st.floats(0.1, 10), st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_p_values_do_not_depend_on_the_unit_of_the_outcome(
    unit: float, seed: int
) -> None:
    """Ratio form: outcomes in another unit are the same evidence; ties are the only
    thing rounding could move.
    """
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "g": rng.choice(["a", "b"], 200),
            "y": rng.poisson(3, 200).astype(float),
            "now": rng.integers(0, 2, 200),
            "new": rng.integers(0, 2, 200),
        }
    )
    results = [
        improvable.compare(
            frame.with_columns(y=pl.col("y") * scale),
            outcome="y",
            group="g",
            status_quo="now",
            candidate="new",
            test=improvable.Test(draws=200),
        )
        for scale in (1.0, unit)
    ]
    assert abs(results[0].p_value - results[1].p_value) <= 0.01
