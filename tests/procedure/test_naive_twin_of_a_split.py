"""An audit's repetitions against the same repetitions made slowly from the whole sample: divided, fitted, decided, counted."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from improvable.algorithms.constraints import reached
from improvable.algorithms.decisions import decide
from improvable.algorithms.mixture import EvenMixture
from improvable.data.arrays import FloatArray
from improvable.data.frames import read_rows
from improvable.data.keys import mix
from improvable.data.sample import Sample
from improvable.errors import OptionError
from improvable.inference.tally import Clusters, tally_rows
from improvable.procedure.evaluating import conclude
from improvable.procedure.parallel import Progress
from improvable.procedure.preparing import Prepared, prepare_audit
from improvable.procedure.running import run_prepared
from improvable.procedure.selecting import Fitted, fit_part
from improvable.procedure.splitting import DRAWING, Part, seed_of
from improvable.question.settings import Settings
from improvable.results.comparison import Comparison
from improvable.results.stating import repetition_facts
from people import make_people

OPTIONS: list[dict[str, Any]] = [
    {},
    {"weight": "whole"},
    {"cluster": "clinic"},
    {"accuracy": ["calibration", "calibration:cost"], "fairness": "selection_rate"},
    {"monotone": {"signal": "+"}, "rule": "boosting"},
    {"groups": ["a", "b"], "drop_missing": True},
    {"method": "delta"},
]


@pytest.mark.paper("Section 3.1", "Figure 1")
@pytest.mark.parametrize("row_id", ["person", None])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_splits_are_those_of_a_naive_twin(options: dict[str, Any], row_id: str | None) -> None:
    people = make_people(1_500).with_columns(
        whole=pl.Series(np.random.default_rng(0).integers(1, 4, 1_500)),
        group=pl.when(pl.int_range(1_500) % 50 == 0).then(pl.lit("c")).otherwise("group") if "groups" in options
        else pl.col("group"),
        score=pl.when(pl.int_range(1_500) % 70 == 1).then(None).otherwise("score") if "drop_missing" in options
        else pl.col("score"),
    )  # fmt: skip
    asked: dict[str, Any] = {"rule": "linear", "features": ["signal", "small", "holes", "region"], "repetitions": 2}
    asked |= {"status_quo": _status_quo(), "draws": 200, "row_id": row_id} | options
    if "monotone" in options:
        asked["features"] = ["signal", "small"]
    ready = prepare_audit(people, Settings(outcome="visits", group="group", **asked))
    result, sample = run_prepared(ready), ready.sample()
    for repetition in (1, 2):
        places = ready.splitting.places(ready.splitting.units(sample), Part(repetition))
        trains = places < np.uint64(1 << 63)
        training, held_out = sample.take(np.flatnonzero(trains)), sample.take(np.flatnonzero(~trains))
        assert not {*training.rows.numbers("signal")} & {*held_out.rows.numbers("signal")}
        fitted = fit_part(
            ready.plan, ready.features, training, Part(repetition), ready.seed, Progress(2, enabled=False)
        )
        decisions = (
            decide(fitted.status_quo, held_out.rows, "status quo"),
            decide(fitted.candidate, held_out.rows, "candidate"),
        )
        naive = _naive(ready, fitted, held_out, decisions, repetition)
        on_test = reached(ready.plan.constraints, fitted.candidate, decisions[1], held_out)
        if "monotone" in options:  # moved by the training rows' standard deviation, not by the test rows'
            on_test["monotone_violations"] = result.repetitions[repetition - 1].notes["reached"]["test"][
                "monotone_violations"
            ]
        assert result.repetitions[repetition - 1].notes["reached"] == {"train": fitted.reached, "test": on_test}
        naive = replace(naive, repetition=repetition, notes=result.repetitions[repetition - 1].notes)
        naive.shares["status_quo"]["train"], naive.shares["candidate"]["train"] = fitted.shares
        found, expected = repetition_facts(result.repetitions[repetition - 1]), repetition_facts(naive)
        assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _status_quo() -> Any:
    from improvable import threshold

    return threshold("score", capacity=0.2)


def _naive(
    ready: Prepared, fitted: Fitted, held_out: Sample, decisions: tuple[FloatArray, FloatArray], repetition: int
) -> Comparison:
    """One batch of all held-out rows, in one thread."""
    tally = tally_rows(ready.plan.design, held_out, decisions)
    clusters = None
    if held_out.clusters is not None:
        keys = np.unique(held_out.clusters)
        clusters = Clusters(keys, np.zeros(len(keys), dtype=np.int64))
    seed = seed_of(ready.seed, repetition, DRAWING)
    attributes = held_out.grouping.attributes
    return conclude(ready.plan.design, attributes, tally, clusters, fitted.reference, seed, 1, ready.engine.backend)


@pytest.mark.parametrize("folds", [2, 3])
@pytest.mark.parametrize("options", [{}, {"weight": "weight"}, {"cluster": "clinic"}], ids=str)
def test_folds_are_those_of_a_naive_twin(options: dict[str, Any], folds: int) -> None:
    """Rows are assigned, fitted, judged and pooled in plain loops; sums agree to the last digit, p within its error."""
    people, draws = make_people(900), 2_000
    asked: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small"],
        "repetitions": 2,
        "draws": draws,
        "folds": folds,
    }
    settings = Settings(outcome="visits", group="group", status_quo=_status_quo(), row_id="person", **asked, **options)
    ready = prepare_audit(people, settings)
    result, sample = run_prepared(ready), ready.sample()
    assert result.threshold == (settings.alpha if settings.folds == 2 else settings.alpha / 2)
    for repetition in (1, 2):
        seed = seed_of(0, repetition, 0).generate_state(1, np.uint64)[0]
        fold_of = (mix(ready.splitting.units(sample) ^ seed) // np.uint64(-(-(1 << 64) // folds))).astype(int)
        before, after = np.empty(len(sample)), np.empty(len(sample))
        for fold in range(folds):
            learn, judge = np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)
            training, rows = sample.take(learn), sample.take(judge).rows
            part = Part(repetition, fold)
            fitted = fit_part(ready.plan, ready.features, training, part, ready.seed, Progress(1, enabled=False))
            before[judge] = decide(fitted.status_quo, rows, "status quo")
            after[judge] = decide(fitted.candidate, rows, "candidate")
        found = result.repetitions[repetition - 1]
        assert found.rows == len(people)
        weights = np.ones(len(sample)) if sample.weights is None else sample.weights
        for g in range(2):
            mine = sample.grouping.codes == g
            for t, decision in enumerate((before, after)):
                w = weights[mine] * decision[mine]
                expected = (w * sample.outcomes[None][mine]).sum(), w.sum()
                np.testing.assert_allclose(found.evidence.sums[g, 0, t], expected, rtol=1e-12)
        naive = _resampled(sample, (before, after), draws)
        assert found.evidence.drawn[0][:, :, 0].std(axis=0) == pytest.approx(naive.std(axis=0), rel=0.12)
        assert np.abs(found.evidence.drawn[0][:, :, 0].mean(axis=0) - naive.mean(axis=0)).max() < 0.05
        gains, drawn = np.diff(found.evidence.values[0][:, 0])[:, 0], np.diff(naive)[..., 0]
        for g, group in enumerate(found.groups):
            slow = float((drawn[:, g] - gains[g] >= gains[g]).mean())
            error = np.sqrt(2 * max(slow * (1 - slow), 0.01) / draws)
            assert found.assessment.p_accuracy[group] == pytest.approx(slow, abs=4 * error)


def _resampled(sample: Sample, decisions: tuple[FloatArray, FloatArray], draws: int) -> FloatArray:
    """Utilities of units drawn with replacement, in a loop, shape (draws, groups, 2)."""
    rng, unit = np.random.default_rng(5), sample.unit_codes()
    weights = np.ones(len(sample)) if sample.weights is None else sample.weights
    out = np.empty((draws, 2, 2))
    for q in range(draws):
        times = np.bincount(rng.integers(0, unit.max() + 1, unit.max() + 1), minlength=unit.max() + 1)[unit]
        for g in range(2):
            for t, decision in enumerate(decisions):
                w = times * weights * decision * (sample.grouping.codes == g)
                out[q, g, t] = (w * sample.outcomes[None]).sum() / w.sum()
    return out


def test_what_was_tested_can_be_used() -> None:
    people = make_people(900)
    asked: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small"],
        "repetitions": 3,
        "draws": 200,
        "folds": 2,
    }
    result = run_prepared(
        prepare_audit(people, Settings(outcome="visits", group="group", status_quo=_status_quo(), **asked))
    )
    mixture = result.mixture(1)
    assert isinstance(mixture, EvenMixture)
    decisions = mixture.decide(people)
    assert (decisions == mixture.decide(people.reverse())[::-1]).all()
    alone = np.stack([decide(one, read_rows(people), "candidate") for one in mixture.algorithms])
    assert ((decisions == alone[0]) | (decisions == alone[1])).all()
    differ = alone[0] != alone[1]
    share = (decisions == alone[0])[differ].mean()
    assert abs(share - 0.5) < 4 * 0.5 / differ.sum() ** 0.5
    with pytest.raises(OptionError, match="there is no repetition 9"):
        result.mixture(9)
