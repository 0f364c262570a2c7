"""An audit through an engine against the audit's own steps on rows in memory, divided in the same way."""

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from engines.conftest import make_people
from improvable.algorithms.constraints import reached
from improvable.algorithms.deciding import decide
from improvable.inference.resampling import child
from improvable.procedure.evaluating import evaluate
from improvable.procedure.progress import Progress
from improvable.procedure.splitting import make_splitting
from improvable.procedure.steps import DRAWING, finish_split, fit_split
from improvable.results.facts import split_facts

OPTIONS: list[dict[str, Any]] = [
    {},
    {"weight": "whole"},
    {"cluster": "clinic"},
    {"accuracy": ["calibration", "calibration:cost"], "fairness": "selection_rate"},
    {"monotone": {"signal": "+"}, "rule": "boosting"},
    {"groups": ["a", "b"], "drop_missing": True},
    {"method": "delta"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_splits_are_those_of_the_same_rows_in_memory(options: dict[str, Any]) -> None:
    people = make_people(1_500).with_columns(
        whole=pl.Series(np.random.default_rng(0).integers(1, 4, 1_500)),
        group=pl.when(pl.int_range(1_500) % 50 == 0).then(pl.lit("c")).otherwise("group") if "groups" in options
        else pl.col("group"),
        score=pl.when(pl.int_range(1_500) % 70 == 1).then(None).otherwise("score") if "drop_missing" in options
        else pl.col("score"),
    )  # fmt: skip
    settings: dict[str, Any] = {"rule": "linear", "features": ["signal", "small", "holes", "region"], "splits": 2}
    settings |= options
    if "monotone" in options:
        settings["features"] = ["signal", "small"]
    result = improvable.audit(
        people, outcome="visits", group="group", status_quo=improvable.threshold("score", capacity=0.2), draws=200,
        row_id="person", engine="memory", **settings,
    )  # fmt: skip
    assert result.source is not None
    assert result.source.whole
    design, plan, sample = result.source.design, result.source.plan, result.source.sample
    splitting = make_splitting(0, 2, 0.5, "person", options.get("cluster"), ())
    keys = splitting.keys(sample.rows)
    for split in (1, 2):
        trains = splitting.trains(splitting.places(keys, split), split)
        training, held_out = sample.take(np.flatnonzero(trains)), sample.take(np.flatnonzero(~trains))
        fitted = fit_split(design, plan, training, split, Progress(2, enabled=False))
        decisions = (
            decide(fitted.status_quo, held_out.rows, "status quo"),
            decide(fitted.candidate, held_out.rows, "candidate"),
        )
        seed = child(np.random.SeedSequence(0), split, DRAWING)
        naive = evaluate(design, held_out, decisions, fitted.reference, seed, 1)
        on_test = reached(plan.constraints, fitted.candidate, decisions[1], held_out)
        if "monotone" in options:  # moved by the training rows' standard deviation, not by the test rows'
            on_test["monotone_violations"] = result.splits[split - 1].notes["reached"]["test"]["monotone_violations"]
        naive = finish_split(plan, fitted, naive, on_test)
        assert json.dumps(split_facts(naive)) == json.dumps(split_facts(result.splits[split - 1]))
