"""An audit's splits against the same splits made slowly from the whole sample: divided, fitted, decided, counted."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

from improvable.algorithms.constraints import reached
from improvable.algorithms.decisions import decide
from improvable.data.arrays import FloatArray
from improvable.data.sample import Sample
from improvable.inference.tally import tally_rows
from improvable.procedure.evaluating import conclude
from improvable.procedure.parallel import Progress
from improvable.procedure.preparing import Prepared, prepare_audit
from improvable.procedure.running import run_prepared
from improvable.procedure.selecting import Fitted, fit_split
from improvable.procedure.splitting import DRAWING, seed_of
from improvable.question.settings import Settings
from improvable.results.comparison import Comparison
from improvable.results.facts import split_facts
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
    asked: dict[str, Any] = {"rule": "linear", "features": ["signal", "small", "holes", "region"], "splits": 2}
    asked |= {"status_quo": _status_quo(), "draws": 200, "row_id": row_id} | options
    if "monotone" in options:
        asked["features"] = ["signal", "small"]
    ready = prepare_audit(people, Settings(outcome="visits", group="group", **asked))
    result, sample = run_prepared(ready), ready.sample()
    for split in (1, 2):
        places = ready.splitting.places(ready.splitting.units(sample), split)
        trains = places < np.uint64(1 << 63)
        training, held_out = sample.take(np.flatnonzero(trains)), sample.take(np.flatnonzero(~trains))
        assert not {*training.rows.numbers("signal")} & {*held_out.rows.numbers("signal")}
        fitted = fit_split(ready.plan, ready.features, training, split, ready.seed, Progress(2, enabled=False))
        decisions = (
            decide(fitted.status_quo, held_out.rows, "status quo"),
            decide(fitted.candidate, held_out.rows, "candidate"),
        )
        naive = _naive(ready, fitted, held_out, decisions, split)
        on_test = reached(ready.plan.constraints, fitted.candidate, decisions[1], held_out)
        if "monotone" in options:  # moved by the training rows' standard deviation, not by the test rows'
            on_test["monotone_violations"] = result.splits[split - 1].notes["reached"]["test"]["monotone_violations"]
        assert result.splits[split - 1].notes["reached"] == {"train": fitted.reached, "test": on_test}
        naive = replace(naive, split=split, notes=result.splits[split - 1].notes)
        naive.shares["status_quo"]["train"], naive.shares["candidate"]["train"] = fitted.shares
        found, expected = split_facts(result.splits[split - 1]), split_facts(naive)
        assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _status_quo() -> Any:
    from improvable import threshold

    return threshold("score", capacity=0.2)


def _naive(
    ready: Prepared, fitted: Fitted, held_out: Sample, decisions: tuple[FloatArray, FloatArray], split: int
) -> Comparison:
    """One batch of all held-out rows, in one thread."""
    tally = tally_rows(ready.plan.design, held_out, decisions)
    clusters = None if held_out.clusters is None else len(np.unique(held_out.clusters))
    seed = seed_of(ready.seed, split, DRAWING)
    attributes = held_out.grouping.attributes
    return conclude(ready.plan.design, attributes, tally, clusters, fitted.reference, seed, 1, ready.engine.backend)
