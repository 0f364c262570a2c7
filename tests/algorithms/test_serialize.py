"""Algorithms in files: the same decisions after reading, and nothing made that is not
trusted.
"""

import datetime
import importlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
    StackingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeRegressor

import improvable
from flat import flat_audit
from improvable.algorithms import serialize as export
from improvable.algorithms.decisions import Algorithm, DecisionColumn, Mixture
from improvable.algorithms.models import FittedModel, RowFunction
from improvable.algorithms.rules import PredictiveRule
from improvable.algorithms.serialize import export_algorithm, import_algorithm
from improvable.algorithms.thresholds import ThresholdedScore

skops_io = pytest.importorskip("skops.io")
FEATURES = ["need_1", "need_2"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 400
    need = rng.normal(size=n)
    holes = np.where(rng.random(n) < 0.1, np.nan, need + rng.normal(0, 0.5, n))
    days = [
        datetime.date(2020, 1, 1) + datetime.timedelta(int(day))
        for day in rng.integers(0, 900, n)
    ]
    return pl.DataFrame(
        {
            "group": rng.choice(["a", "b"], n),
            "need_1": need + rng.normal(0, 0.5, n),
            "need_2": need + rng.normal(0, 0.5, n),
            "holes": pl.Series(holes).fill_nan(None),
            "ward": [["north", "south", None][i] for i in rng.integers(0, 3, n)],
            "day": days,
            "moment": [
                datetime.datetime(day.year, day.month, day.day, 7) for day in days
            ],
            "note": [f"visit {i} of {j}" for i, j in rng.integers(0, 60, (n, 2))],
            "score": need + rng.normal(0, 1, n),
            "outcome": rng.poisson(np.exp(0.6 * need)),
            "sick": (need + rng.normal(0, 0.5, n) > 0.3).astype(int),
        }
    )


def substitute(people: pl.DataFrame, rule: Any, **options: Any) -> Algorithm:
    settings: dict[str, Any] = {
        "outcome": "outcome",
        "group": "group",
        "status_quo": improvable.threshold("score", capacity=0.3),
        "features": FEATURES,
        "repetitions": 1,
        "draws": 100,
    }
    return flat_audit(people, rule=rule, **{**settings, **options}).refit()


def small(estimator: Any) -> PredictiveRule:
    return PredictiveRule(type(estimator).__name__, lambda *_: estimator)


def there_and_back(algorithm: Algorithm, folder: Path) -> Algorithm:
    export_algorithm(algorithm, folder / "it.skops")
    assert [path.name for path in folder.iterdir()] == ["it.skops"]
    return import_algorithm(folder / "it.skops")


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("linear", {}),
        ("lasso", {}),
        ("ridge:10", {}),
        ("blend:0.5:linear", {}),
        ("logistic", {"outcome": "sick"}),
        ("linear", {"monotone": {"need_1": "+"}}),
        ("lasso", {"monotone": {"need_1": "+"}}),
        (small(RandomForestRegressor(20)), {}),
        ("boosting", {}),
        ("boosting", {"outcome": "sick"}),
        ("linear", {"features": ["holes", "ward"]}),
        ("linear", {"features": ["day", "moment"]}),
        (small(RandomForestRegressor(5)), {"features": ["need_1", "note"]}),
    ],
)
def test_a_rules_algorithm_decides_the_same_after_reading(
    people: pl.DataFrame, tmp_path: Path, rule: Any, options: dict[str, Any]
) -> None:
    algorithm = substitute(people, rule, **options)
    again = there_and_back(algorithm, tmp_path)
    assert type(again) is type(algorithm)
    assert 0 < algorithm.decide(people).mean() < 1
    for frame in (people, people.to_pandas(), people[[3]]):
        np.testing.assert_array_equal(again.decide(frame), algorithm.decide(frame))


def test_what_a_forward_repetition_tested_decides_the_same_after_reading(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    result = improvable.audit(
        people,
        outcome="outcome",
        group="group",
        status_quo=improvable.threshold("score", capacity=0.3),
        rule="lasso",
        features=FEATURES,
        test=improvable.Test(repetitions=1, draws=100),
    )
    mixture = result.mixture()
    assert isinstance(mixture, Mixture)
    np.testing.assert_array_equal(
        there_and_back(mixture, tmp_path).decide(people), mixture.decide(people)
    )


def test_columns_and_fitted_models_of_ones_own(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    forest = RandomForestRegressor(3)
    models = [
        LinearRegression(),
        StackingRegressor(
            [("a", forest), ("b", DecisionTreeRegressor())], forest, cv=2
        ),
    ]
    fitted = [
        improvable.threshold(m.fit(people[FEATURES], people["outcome"]), above=1.0)
        for m in models
    ]
    for algorithm in (DecisionColumn("sick"), *fitted):
        assert isinstance(algorithm, DecisionColumn | ThresholdedScore)
        again = there_and_back(algorithm, tmp_path)
        np.testing.assert_array_equal(again.decide(people), algorithm.decide(people))


def test_an_object_that_decides_is_itself_again(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    wrapped = RowFunction(DecisionColumn("sick").decide)
    assert there_and_back(wrapped, tmp_path) == DecisionColumn("sick")


def by_need(rows: Any) -> Any:
    return rows["need_1"] > 0


@pytest.mark.parametrize(
    ("algorithm", "message"),
    [
        (
            RowFunction(by_need),
            "a function of the rows is code, and cannot be exported",
        ),
        (improvable.threshold(by_need, above=0.5), "a function of the rows is code"),
        (
            improvable.threshold("score", capacity=0.1),
            "no cutoff yet. Export what refit",
        ),
    ],
)
def test_what_cannot_be_exported_says_why(
    tmp_path: Path, algorithm: Any, message: str
) -> None:
    with pytest.raises(improvable.StorageError, match=message):
        export_algorithm(algorithm, tmp_path / "it.skops")
    assert not list(tmp_path.iterdir())


def absolute(matrix: Any) -> Any:
    return np.abs(matrix)


def test_a_model_with_a_part_that_is_not_trusted_is_refused_on_export(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    model = make_pipeline(FunctionTransformer(absolute), LinearRegression()).fit(
        people[FEATURES].to_numpy(), people["outcome"].to_numpy()
    )
    with pytest.raises(
        improvable.StorageError, match=r"parts that cannot be exported: .*absolute"
    ):
        export_algorithm(FittedModel(model, tuple(FEATURES)), tmp_path / "it.skops")


def test_a_file_that_names_another_type_is_refused_before_anything_is_made(
    tmp_path: Path,
) -> None:
    path, anything = tmp_path / "it.skops", cast(Any, print)
    contents = {"format": 1, "versions": {}, "algorithm": RowFunction(anything)}
    path.write_bytes(skops_io.dumps(contents))
    with pytest.raises(
        improvable.StorageError,
        match=r"not trusted: builtins.print, improvable.algorithms.models.RowFunction",
    ):
        import_algorithm(path)


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    import pickle

    path = tmp_path / "it.skops"
    path.write_bytes(pickle.dumps(DecisionColumn("sick")))
    with pytest.raises(improvable.StorageError, match="damaged or not a skops file"):
        import_algorithm(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "it.skops"
    with pytest.raises(
        improvable.StorageError, match=r"cannot read .*it\.skops': No such file"
    ):
        import_algorithm(path)
    path.write_bytes(b"")
    with pytest.raises(improvable.StorageError, match="damaged or not a skops file"):
        import_algorithm(path)
    path.write_bytes(skops_io.dumps(LinearRegression()))
    with pytest.raises(improvable.StorageError, match="not an exported algorithm"):
        import_algorithm(path)
    path.write_bytes(skops_io.dumps({"format": 1, "versions": {}, "algorithm": 3}))
    with (
        pytest.warns(improvable.errors.ImprovableWarning, match="scikit-learn None"),
        pytest.raises(improvable.StorageError, match="nothing that decides"),
    ):
        import_algorithm(path)


def test_another_version_of_a_library_is_said(tmp_path: Path) -> None:
    path = tmp_path / "it.skops"
    export_algorithm(DecisionColumn("sick"), path)
    with zipfile.ZipFile(path) as archive:
        schema = archive.read("schema.json").decode()
    here = importlib.metadata.version("scikit-learn")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "schema.json",
            schema.replace(json.dumps(json.dumps(here)), json.dumps(json.dumps("1.0"))),
        )
    with pytest.warns(
        improvable.errors.ImprovableWarning,
        match=f"written with scikit-learn 1.0; this is {here}",
    ):
        import_algorithm(path)


@pytest.mark.parametrize("where", ["child", "feature"])
@pytest.mark.parametrize(
    "estimator", [RandomForestRegressor(3), HistGradientBoostingRegressor(max_iter=3)]
)
def test_a_tree_that_points_outside_of_itself_is_refused(
    people: pl.DataFrame, tmp_path: Path, estimator: Any, where: str
) -> None:
    model = estimator.fit(people[FEATURES].to_numpy(), people["outcome"].to_numpy())
    path, bent = tmp_path / "it.skops", tmp_path / "bent.skops"
    export_algorithm(FittedModel(model, tuple(FEATURES)), path)
    bent.write_bytes(with_bent_nodes(path, where))
    with pytest.raises(improvable.StorageError, match="tree points outside"):
        import_algorithm(bent)


def with_bent_nodes(path: Path, where: str) -> bytes:
    """The same file, with every inner node's child or feature far away."""
    out = io.BytesIO()
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(out, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(".npy"):
                array = np.load(io.BytesIO(content), allow_pickle=False)
                fields = array.dtype.names or ()
                names = {
                    "child": ("left_child", "left"),
                    "feature": ("feature", "feature_idx"),
                }[where]
                for field in set(names) & set(fields):
                    array[field][0] = 1_000_000
                buffer = io.BytesIO()
                np.save(buffer, array)
                content = buffer.getvalue()
            target.writestr(name, content)
    return out.getvalue()


def test_every_trusted_name_exists() -> None:
    for name in export.TRUSTED:
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute)


def test_without_skops_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        improvable.OptionError, match=r"needs skops, .* Install .*\[export\]'"
    ):
        export_algorithm(DecisionColumn("sick"), tmp_path / "it.skops")
