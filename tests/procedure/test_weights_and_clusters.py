"""Row weights and clusters: change the contributions, never the inference."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_audit, flat_compare
from improvable.algorithms.thresholds import cutoff
from improvable.procedure.prepare import prepare_audit
from improvable.question.settings import Settings
from oracle import plain_evidence


def frame_of(case: Case, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    n = len(case.count)
    return case.frame().with_columns(
        score=pl.Series(case.count + rng.normal(0, 2, n)),
        signal=pl.Series(case.count + rng.normal(0, 1, n)),
        whole=pl.Series(rng.integers(0, 4, n)),
        share=pl.Series(rng.uniform(0.2, 3, n)),
        one=pl.lit(1),
        row=pl.Series(np.arange(n)),
        clinic=pl.Series(rng.integers(0, 40, n)),
    )


def compared(frame: pl.DataFrame, **options: Any) -> improvable.Comparison:
    settings = {
        "outcome": "count",
        "group": "group",
        "status_quo": "now",
        "candidate": "new",
        "draws": 1_000,
    }
    return flat_compare(frame, **{**settings, **options})


def audited(frame: pl.DataFrame, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "count",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.3),
        "rule": "linear",
        "features": ["signal"],
        "repetitions": 2,
        "draws": 400,
    }
    return flat_audit(frame, **{**settings, **options})


@pytest.mark.parametrize(
    "options",
    [{"weight": "one"}, {"cluster": "row"}, {"weight": "one", "cluster": "row"}],
)
def test_weights_of_one_and_clusters_of_one_row_change_no_bit(
    case: Case, options: dict[str, str]
) -> None:
    frame = frame_of(case)
    assert (
        compared(frame, **options).to_dict()["repetitions"]
        == compared(frame).to_dict()["repetitions"]
    )
    np.testing.assert_array_equal(
        compared(frame, **options).evidence.draws, compared(frame).evidence.draws
    )
    plain = audited(frame, row_id="row").to_dict()["repetitions"]
    assert audited(frame, row_id="row", **options).to_dict()["repetitions"] == plain


@pytest.mark.parametrize("accuracy", ["calibration", "selection_rate"])
def test_whole_weights_equal_repeated_rows_in_every_point_estimate(
    case: Case, accuracy: str
) -> None:
    frame = frame_of(case)
    repeated = frame.select(
        pl.exclude("whole")
        .repeat_by("whole")
        .explode(keep_nulls=False, empty_as_null=False)
    )
    assert len(repeated) == frame["whole"].sum()
    options: dict[str, Any] = {
        "accuracy": accuracy,
        "status_quo": improvable.threshold("score", capacity=0.3),
        "candidate": improvable.threshold("signal", capacity=0.3),
    }
    # copies of a row are drawn one by one, a weighted row as a whole
    options["ties"] = "strict"
    weighted, plain = (
        compared(frame, weight="whole", **options),
        compared(repeated, **options),
    )
    np.testing.assert_allclose(
        weighted.evidence.values[0], plain.evidence.values[0], rtol=1e-12
    )
    assert weighted.counts["share_selected"]["candidate"]["test"] == pytest.approx(
        plain.counts["share_selected"]["candidate"]["test"]
    )


def test_the_unit_of_weights_does_not_matter(case: Case) -> None:
    frame = frame_of(case).with_columns(scaled=pl.col("share") * 1e-6)
    one = compared(
        frame, weight="share", status_quo=improvable.threshold("score", capacity=0.3)
    )
    other = compared(
        frame, weight="scaled", status_quo=improvable.threshold("score", capacity=0.3)
    )
    np.testing.assert_allclose(
        one.evidence.values[0], other.evidence.values[0], rtol=1e-12
    )


def test_weighted_quantiles_equal_those_of_repeated_rows() -> None:
    rng = np.random.default_rng(1)
    for capacity in (0.03, 0.25, 0.5, 0.9):
        scores, weights = (
            rng.normal(size=50).round(1),
            rng.integers(0, 5, 50).astype(float),
        )
        repeated = np.repeat(scores, weights.astype(int))
        assert cutoff(scores, capacity, weights) == pytest.approx(
            cutoff(repeated, capacity), abs=1e-12
        )


def test_weighted_draws_agree_with_a_naive_twin(case: Case) -> None:
    frame = frame_of(case)
    result = compared(frame, weight="share", draws=3_000)
    rng = np.random.default_rng(9)
    y, group, weights = case.count, case.group, frame["share"].to_numpy()
    naive = []
    for _ in range(3_000):
        i = rng.integers(0, len(y), len(y))
        row = []
        for g in range(2):
            for d in case.decisions:
                chosen = (group[i] == g) & (d[i] == 1)
                row.append(np.average(y[i][chosen], weights=weights[i][chosen]))
        naive.append(row)
    expected = np.array(naive)
    found = plain_evidence(result).drawn[0][:, :, 0].reshape(3_000, 4)
    np.testing.assert_allclose(
        found.mean(axis=0),
        expected.mean(axis=0),
        atol=5 * expected.std(axis=0).max() / 3_000**0.5 * 1.5,
    )
    np.testing.assert_allclose(found.std(axis=0), expected.std(axis=0), rtol=0.08)
    np.testing.assert_allclose(np.corrcoef(found.T), np.corrcoef(expected.T), atol=0.1)


def test_clustered_draws_agree_with_a_naive_twin(case: Case) -> None:
    """Resample clinics as wholes, recompute every utility from the rows."""
    frame = frame_of(case)
    result = compared(frame, cluster="clinic", draws=3_000)
    assert result.clusters == 40
    rng = np.random.default_rng(9)
    y, group, clinic = case.count, case.group, frame["clinic"].to_numpy()
    members = [np.flatnonzero(clinic == c) for c in range(40)]
    naive = []
    for _ in range(3_000):
        i = np.concatenate([members[c] for c in rng.integers(0, 40, 40)])
        naive.append(
            [
                y[i][(group[i] == g) & (d[i] == 1)].mean()
                for g in range(2)
                for d in case.decisions
            ]
        )
    expected = np.array(naive)
    found = plain_evidence(result).drawn[0][:, :, 0].reshape(3_000, 4)
    np.testing.assert_allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.03)
    np.testing.assert_allclose(found.std(axis=0), expected.std(axis=0), rtol=0.08)
    np.testing.assert_allclose(np.corrcoef(found.T), np.corrcoef(expected.T), atol=0.1)


@pytest.mark.parametrize("scheme", ["forward", "split"])
def test_clusters_stay_whole_and_are_counted(case: Case, scheme: Any) -> None:
    result = audited(frame_of(case), cluster="clinic", repetitions=3, scheme=scheme)
    cuts = [0.5] if scheme == "split" else [0.25, 0.4, 0.7]
    assert result.facts["blocks"]["cuts"] == cuts
    for one in result.repetitions:
        assert one.clusters is not None
        assert abs(one.clusters - 40 * (1 - cuts[0])) < 12
    assert result.to_dict()["clusters"] == 40
    assert "500 rows in 40 clusters" in result.summary(verbose=True)
    settings = Settings(
        outcome="count",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.3),
        rule="linear",
        features=["signal"],
        cluster="clinic",
        repetitions=3,
        scheme=scheme,
    )
    ready = prepare_audit(frame_of(case), settings)
    sample = ready.sample()
    clinic = sample.rows.numbers("clinic")
    for found in result.repetitions:
        places = ready.splitting.places(ready.splitting.units(sample), found.repetition)
        blocks = [
            set(clinic[ready.splitting.block_of(places) == block])
            for block in range(len(cuts) + 1)
        ]
        assert sum(map(len, blocks)) == len(set.union(*blocks)) == 40
        for part in ready.splitting.parts([found.repetition]):
            assert (
                set(clinic[ready.splitting.tests(places, part)]) == blocks[part.block]
            )
            assert set(clinic[ready.splitting.trains(places, part)]) == set.union(
                *blocks[: part.block]
            )
        rows = int((ready.splitting.block_of(places) > 0).sum())
        assert (found.rows, found.clusters) == (rows, 40 - len(blocks[0]))


def test_order_of_rows_changes_no_bit_of_a_clustered_comparison(case: Case) -> None:
    frame = frame_of(case)
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=4)
    options = {"cluster": "clinic", "weight": "share"}
    np.testing.assert_array_equal(
        compared(frame, **options).evidence.draws,
        compared(shuffled, **options).evidence.draws,
    )


def test_a_cluster_with_rows_of_several_groups_is_said_to_be_kept_whole(
    case: Case,
) -> None:
    with pytest.warns(
        improvable.ImprovableWarning,
        match="40 of 40 clusters in 'clinic' have rows of several groups",
    ):
        compared(frame_of(case), cluster="clinic")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"w": pl.lit(-1.0)}, {"weight": "w"}, "500 weights in 'w' are negative"),
        ({"w": pl.lit(0.0)}, {"weight": "w"}, "all weights in"),
        ({"w": pl.lit(None, dtype=pl.Float64)}, {"weight": "w"}, "500 in 'w'"),
        ({"w": pl.lit("x")}, {"weight": "w"}, "holds text"),
        ({}, {"weight": "count"}, "named as weight and as something else"),
        ({}, {"cluster": "clinics"}, "Did you mean 'clinic'"),
        ({"few": pl.col("clinic") % 9}, {"cluster": "few"}, "'few' has 9 clusters"),
        (
            {"hole": pl.when(pl.col("clinic") > 3).then("clinic")},
            {"cluster": "hole"},
            "missing or infinite values: .* in 'hole'",
        ),
    ],
)
def test_bad_weights_and_clusters_are_refused_with_advice(
    case: Case, change: dict[str, pl.Expr], options: dict[str, str], message: str
) -> None:
    with pytest.raises(improvable.ImprovableError, match=message):
        compared(frame_of(case).with_columns(**change), **options)


@pytest.mark.parametrize("scheme", ["forward", "split"])
def test_too_few_clusters_to_test(case: Case, scheme: str) -> None:
    frame = frame_of(case).with_columns(clinic=pl.col("clinic") % 15)
    with pytest.raises(
        improvable.DataError,
        match=(
            r"repetition 1 has .* clusters for training and .* for testing\. Each "
            r"needs at least 10"
        ),
    ):
        audited(frame, cluster="clinic", scheme=scheme)


def test_a_rule_learns_with_weights(case: Case) -> None:
    """The fit on weighted rows is the fit on repeated rows."""
    frame = frame_of(case).with_columns(whole=pl.col("whole") + 1)
    repeated = frame.select(
        pl.exclude("whole")
        .repeat_by("whole")
        .explode(keep_nulls=False, empty_as_null=False)
    )
    for rule in ("linear", "lasso"):
        a = audited(frame, weight="whole", rule="linear").refit()
        b = audited(repeated, rule="linear", duplicates="keep").refit()
        assert a.decide(frame).tolist() == b.decide(frame).tolist(), rule


def test_strata_are_those_of_the_linearization_variance() -> None:
    """Clusters numbered anew in each stratum, two to four of them: standard errors
    against the textbook formula.
    """
    rng = np.random.default_rng(12)
    rows = []
    for stratum in range(25):
        level = rng.normal(0, 1)
        for cluster in range(rng.integers(2, 5)):
            shift = rng.normal(0, 0.6)
            for _ in range(rng.integers(20, 40)):
                group = "a" if rng.random() < 0.5 else "b"
                rows.append(
                    (
                        stratum,
                        cluster,
                        group,
                        5 + level + shift + (group == "a") + rng.normal(),
                    )
                )
    frame = pl.DataFrame(
        rows, schema=["stratum", "psu", "group", "y"], orient="row"
    ).with_columns(
        d=pl.Series(rng.random(len(rows)) < 0.5).cast(int),
        e=pl.Series(rng.random(len(rows)) < 0.6).cast(int),
    )
    found = improvable.compare(
        frame,
        outcome="y",
        group="group",
        status_quo="d",
        candidate="e",
        cluster="psu",
        stratum="stratum",
        test=improvable.Test(draws=10_000),
    )
    assert found.clusters == frame.select("stratum", "psu").n_unique()
    for g, group in enumerate("ab"):
        for t, column in enumerate("de"):
            mine = frame.with_columns(w=(pl.col("group") == group) * pl.col(column))
            total = float(mine["w"].cast(float).sum())
            mean = float((mine["w"] * mine["y"]).cast(float).sum()) / total
            by = mine.with_columns(z=pl.col("w") * (pl.col("y") - mean) / total)
            totals = by.group_by("stratum", "psu").agg(pl.col("z").sum())
            per = totals.group_by("stratum").agg(n=pl.len(), s=pl.col("z").var())
            expected = float((per["n"] * per["s"]).sum()) ** 0.5
            spread = np.quantile(found.evidence.drawn[0][:, g, 0, t], [0.1587, 0.8413])
            assert (spread[1] - spread[0]) / 2 == pytest.approx(expected, rel=0.06)


def test_a_stratum_needs_clusters_and_more_than_one(case: Case) -> None:
    frame = frame_of(case).with_columns(stratum=pl.col("clinic") // 2)
    with pytest.raises(improvable.OptionError, match="`stratum` goes with a cluster"):
        compared(frame, stratum="stratum")
    lonely = frame.with_columns(
        stratum=pl.when(pl.col("clinic") == 3).then(99).otherwise("stratum")
    )
    with pytest.raises(improvable.DataError, match="strata have only one cluster"):
        compared(lonely, cluster="clinic", stratum="stratum")
    forward = audited(frame, cluster="clinic", stratum="stratum", row_id="row")
    assert forward.to_dict()["stratum"] == "stratum"
    assert forward.facts["blocks"] == {
        "cuts": [0.25, 0.4, 0.7],
        "grown_for": "10 clusters",
    }
    for repetition in forward.repetitions:
        rows = forward.repetition_rows().filter(
            pl.col("block") > 0, repetition=repetition.repetition
        )
        tested = rows.join(frame, on="row", suffix="_data")
        assert repetition.clusters == tested["clinic"].n_unique() < 40
