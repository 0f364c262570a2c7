"""Linear models in workers predict what they always did, but for the last bits, which
no batch can change.
"""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from improvable.algorithms.models import ByColumns, FittedModel, fitted_model, steady
from improvable.algorithms.rules.lasso import FoldedLasso
from improvable.algorithms.thresholds import ThresholdedScore
from improvable.data.frame import read_rows

LINEAR = [
    linear_model.LinearRegression(),
    linear_model.Ridge(),
    linear_model.LassoCV(),
    linear_model.HuberRegressor(),
    make_pipeline(StandardScaler(), linear_model.ElasticNet(alpha=0.01)),
    make_pipeline(StandardScaler(), FoldedLasso()),
]
OTHERS = [linear_model.PoissonRegressor(), HistGradientBoostingRegressor(max_iter=5)]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.normal(size=(700, 7)), columns=list("abcdefg"))


def fitted(estimator: Any, frame: pd.DataFrame) -> FittedModel:
    target = np.abs(frame.sum(axis=1)) + np.random.default_rng(1).random(len(frame))
    return fitted_model(estimator.fit(frame, target))


@pytest.mark.parametrize(
    "estimator", LINEAR, ids=lambda estimator: type(estimator).__name__
)
def test_linear_models(frame: pd.DataFrame, estimator: Any) -> None:
    model = fitted(estimator, frame)
    turned = steady(model)
    assert isinstance(turned, FittedModel)
    assert isinstance(turned.estimator, ByColumns)
    whole = turned.decide(frame)
    np.testing.assert_allclose(whole, model.decide(frame), rtol=1e-12)
    pieces = [turned.decide(frame[start : start + 13]) for start in range(0, 700, 13)]
    assert np.concatenate(pieces).tobytes() == whole.tobytes()
    cut = steady(ThresholdedScore(model, 0.5))
    assert (cut.decide(frame) == (model.score(read_rows(frame)) > 0.5)).all()


@pytest.mark.parametrize(
    "estimator", OTHERS, ids=lambda estimator: type(estimator).__name__
)
def test_other_models_stay_as_they_are(frame: pd.DataFrame, estimator: Any) -> None:
    model = fitted(estimator, frame)
    assert steady(model) is model
