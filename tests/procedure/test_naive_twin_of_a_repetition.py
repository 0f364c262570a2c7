"""An audit's repetitions against the same made slowly: ordered, cut, fitted, decided
and counted in plain loops.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import improvable
from improvable._typing import FloatArray, IntArray
from improvable.algorithms.constraints import reached
from improvable.algorithms.decisions import Mixture, decide
from improvable.data.frame import read_rows
from improvable.data.keys import mix
from improvable.data.sample import Sample
from improvable.errors import OptionError
from improvable.inference.tally import Clusters, tally_rows
from improvable.procedure.evaluate import conclude
from improvable.procedure.parallel import Progress
from improvable.procedure.prepare import Prepared, prepare_audit
from improvable.procedure.run import run_prepared
from improvable.procedure.select import Fitted, fit_part
from improvable.procedure.split import DRAWING, SPLITTING, Part, seed_of
from improvable.question.settings import Settings
from improvable.results.collect import repetition_facts
from improvable.results.comparison import Comparison
from oracle import (
    naive_cutoff,
    naive_linear_rule,
    naive_p_values,
    naive_repetition,
    naive_statistics,
    plain_evidence,
)
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
# Every two of options, row id and scheme meet; all three would take twice as long.
ASKED = [
    (options, ("person", None)[(place + turn) % 2], scheme)
    for place, options in enumerate(OPTIONS)
    for turn, scheme in enumerate(("forward", "split"))
]
STATUS_QUO = improvable.threshold("score", capacity=0.2)


def whole_weights(rows: int) -> IntArray:
    return np.random.default_rng(0).integers(1, 4, rows)


def blocks_by_hand(ready: Prepared, sample: Sample, repetition: int) -> IntArray:
    """The block of each row: its unit's hash as a share of all hashes, held against the
    cuts one by one.
    """
    seed = seed_of(ready.seed, repetition, SPLITTING).generate_state(1, np.uint64)[0]
    share = mix(ready.splitting.units(sample) ^ seed) / 2.0**64
    return np.array([sum(place >= cut for cut in ready.cuts.ends) for place in share])


@pytest.mark.paper("Section 3.1", "Figure 1")
@pytest.mark.parametrize(("options", "row_id", "scheme"), ASKED, ids=str)
def test_repetitions_are_those_of_one_batch_and_one_thread(
    options: dict[str, Any], row_id: str | None, scheme: str
) -> None:
    people = make_people(1_500).with_columns(
        whole=pl.Series(whole_weights(1_500)),
        group=pl.when(pl.int_range(1_500) % 50 == 0)
        .then(pl.lit("c"))
        .otherwise("group")
        if "groups" in options
        else pl.col("group"),
        score=pl.when(pl.int_range(1_500) % 70 == 1).then(None).otherwise("score")
        if "drop_missing" in options
        else pl.col("score"),
    )
    asked: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small", "holes", "region"],
        "repetitions": 2,
    }
    asked |= {
        "status_quo": STATUS_QUO,
        "draws": 200,
        "row_id": row_id,
        "scheme": scheme,
    } | options
    if "monotone" in options:
        asked |= {"features": ["signal", "small"], "repetitions": 1}
    ready = prepare_audit(people, Settings(outcome="visits", group="group", **asked))
    assert ready.cuts.ends == ((0.5,) if scheme == "split" else (0.1, 0.2, 0.4, 0.7))
    result, sample = run_prepared(ready), ready.sample()
    for repetition, found in enumerate(result.repetitions, start=1):
        block = blocks_by_hand(ready, sample, repetition)
        decisions, fits = np.full((2, len(sample)), np.nan), []
        for b in range(1, len(ready.cuts.ends) + 1):
            learn, judge = np.flatnonzero(block < b), np.flatnonzero(block == b)
            fits.append(_fit(ready, sample.take(learn), Part(repetition, b)))
            rows = sample.take(judge).rows
            decisions[0, judge] = decide(fits[-1].status_quo, rows, "status quo")
            decisions[1, judge] = decide(fits[-1].candidate, rows, "candidate")
        tested = np.flatnonzero(block > 0)
        held_out = sample.take(tested)
        before, after = decisions[:, tested]
        naive = _concluded(
            ready,
            held_out,
            (before, after),
            repetition,
            fits[0] if scheme == "split" else None,
        )
        assert found.notes["blocks"] == [
            {
                **one.selection.notes,
                "block": one.part.block,
                "learned_from": one.rows,
                "reached": one.reached,
            }
            for one in fits
        ]
        on_test = reached(ready.plan.constraints, fits[-1].candidate, after, held_out)
        # moved by the training rows' standard deviation, not by the test rows'
        if "monotone" in options:
            on_test["monotone_violations"] = found.notes["reached"][
                "monotone_violations"
            ]
        assert found.notes["reached"] == on_test
        naive = replace(naive, repetition=repetition, notes=found.notes)
        weights = np.diff([*ready.cuts.ends, 1.0]) / (1 - ready.cuts.ends[0])
        for t, name in enumerate(("status_quo", "candidate")):
            naive.counts["share_selected"][name]["train"] = float(
                np.dot(weights, [one.shares[t] for one in fits])
            )
        facts, expected = repetition_facts(found), repetition_facts(naive)
        assert json.dumps(facts, sort_keys=True) == json.dumps(expected, sort_keys=True)


def _fit(ready: Prepared, training: Sample, part: Part) -> Fitted:
    return fit_part(ready, training, part, Progress(2, enabled=False))


def _concluded(
    ready: Prepared,
    held_out: Sample,
    decisions: tuple[FloatArray, FloatArray],
    repetition: int,
    fitted: Fitted | None,
) -> Comparison:
    """All held-out rows at once; with a fit, its training rows choose the reference
    pair of groups.
    """
    tally = tally_rows(ready.plan.design, held_out, decisions)
    clusters = None
    if held_out.clusters is not None:
        keys = np.unique(held_out.clusters)
        clusters = Clusters(keys, np.zeros(len(keys), dtype=np.int64))
    seed, attributes = (
        seed_of(ready.seed, repetition, DRAWING),
        held_out.grouping.attributes,
    )
    reference = None if fitted is None else fitted.reference
    return conclude(
        ready.plan.design,
        attributes,
        tally,
        clusters,
        reference,
        seed,
        1,
        ready.engine.backend,
    )


@dataclass(frozen=True)
class AboveTheMean:
    """Selects whose signal is above the mean of the rows that it learned from."""

    name: str = "above the mean"

    def select(self, training: Any, status_quo: Any) -> Any:
        return improvable.threshold(
            "signal", above=float(training.rows.numbers("signal").mean())
        )


def naive_above_the_mean(before: pd.DataFrame, block: pd.DataFrame) -> pd.DataFrame:
    cutoff = naive_cutoff(before["score"].to_numpy(), before["times"].to_numpy(), 0.2)
    return block.assign(
        status_quo=block["score"] > cutoff,
        candidate=block["signal"] > before["signal"].mean(),
    )


def naive_linear(before: pd.DataFrame, block: pd.DataFrame) -> pd.DataFrame:
    return naive_linear_rule(
        before, block, "visits", "score", ["signal", "small"], capacity=0.2
    )


@pytest.mark.parametrize("scheme", ["forward", "split"])
@pytest.mark.parametrize(
    ("options", "judge"),
    [
        ({"rule": "linear"}, naive_linear),
        ({"rule": "linear", "weight": "whole"}, naive_linear),
        ({"rule": AboveTheMean(), "cluster": "clinic"}, naive_above_the_mean),
    ],
    ids=["rows", "weights", "clusters"],
)
def test_repetitions_are_those_of_a_naive_twin(
    options: dict[str, Any], judge: Any, scheme: Any
) -> None:
    """In pandas, with nothing of ours but the hash: sums agree to the last digit, and
    so do p-values of the draws.
    """
    people, draws = (
        make_people(900).with_columns(whole=pl.Series(whole_weights(900))),
        2_000,
    )
    asked = Settings(
        outcome="visits",
        group="group",
        status_quo=STATUS_QUO,
        features=["signal", "small"],
        row_id="person",
        repetitions=7 if "cluster" in options else 2,
        draws=draws,
        scheme=scheme,
        **options,
    )
    ready = prepare_audit(people, asked)
    result, sample = run_prepared(ready), ready.sample()
    cuts = (0.5,) if scheme == "split" else (0.12, 0.2, 0.4, 0.7)  # 100 of 900 rows
    assert ready.cuts.ends == cuts
    frame = pd.DataFrame(
        {
            name: sample.rows.numbers(name)
            for name in ("visits", "score", "signal", "small")
        }
    )
    frame["group"] = sample.grouping.codes
    frame["times"] = 1 if sample.weights is None else sample.weights.astype(int)
    frame["unit"] = sample.unit_codes()
    for found in result.repetitions[:2]:
        seed = seed_of(0, found.repetition, SPLITTING).generate_state(1, np.uint64)[0]
        frame["place"] = mix(ready.splitting.units(sample) ^ seed) / 2.0**64
        tested = naive_repetition(frame, cuts, judge)
        assert len(tested) == found.rows == (frame["place"] >= cuts[0]).sum()
        for group, name in enumerate(found.groups):
            for t, algorithm in enumerate(("status_quo", "candidate")):
                own = tested[(tested["group"] == group) & tested[algorithm]]
                u, w = (
                    float((own["times"] * own["visits"]).sum()),
                    float(own["times"].sum()),
                )
                np.testing.assert_allclose(
                    found.evidence.sums[group, 0, t], (u, w), rtol=1e-12
                )
                shown: Any = found.facts["repetitions"][0]["accuracy"][name]
                assert shown[algorithm] == pytest.approx(u / w, rel=1e-12)
        values, drawn = found.evidence.values[0][:, 0], found.evidence.drawn[0][:, :, 0]
        expected = naive_p_values(
            naive_statistics(values, values, (0, 0, 0), "ratio"),
            naive_statistics(drawn, drawn, (0, 0, 0), "ratio"),
        )
        assert found.assessment.p_accuracy == {"a": expected["r"], "b": expected["b"]}
        assert found.assessment.p_fairness_other == expected["f"]
        naive, drawn = (
            _resampled(tested, draws),
            plain_evidence(found).drawn[0][:, :, 0],
        )
        assert drawn.std(axis=0) == pytest.approx(naive.std(axis=0), rel=0.12)
        assert np.abs(drawn.mean(axis=0) - naive.mean(axis=0)).max() < 0.05


def _resampled(tested: pd.DataFrame, draws: int) -> FloatArray:
    """Utilities of units drawn with replacement, in a loop, shape (draws, groups,
    2).
    """
    rng, (unit, names) = np.random.default_rng(5), pd.factorize(tested["unit"])
    group, outcome, weight = (
        tested[name].to_numpy() for name in ("group", "visits", "times")
    )
    decisions = [tested[name].to_numpy() for name in ("status_quo", "candidate")]
    out = np.empty((draws, 2, 2))
    for q in range(draws):
        times = (
            np.bincount(rng.integers(0, len(names), len(names)), minlength=len(names))[
                unit
            ]
            * weight
        )
        for g in range(2):
            for t, decision in enumerate(decisions):
                w = times * decision * (group == g)
                out[q, g, t] = (w * outcome).sum() / w.sum()
    return out


def test_what_was_tested_can_be_used() -> None:
    """Each block's candidate decides for its share of new rows, whatever their
    order.
    """
    people = make_people(3_000)
    asked: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small"],
        "repetitions": 3,
        "draws": 200,
    }
    ready = prepare_audit(
        people,
        Settings(outcome="visits", group="group", status_quo=STATUS_QUO, **asked),
    )
    result = run_prepared(ready)
    mixture = result.mixture(1)
    assert isinstance(mixture, Mixture)
    assert mixture.weights == pytest.approx([1 / 9, 2 / 9, 3 / 9, 3 / 9])
    new = make_people(20_000, seed=9)
    decisions = mixture.decide(new)
    assert (decisions == mixture.decide(new.reverse())[::-1]).all()
    alone = np.stack(
        [decide(one, read_rows(new), "candidate") for one in mixture.algorithms]
    )
    assert (decisions == alone).any(axis=0).all()
    # rows about which the same candidates say yes
    for pattern in np.unique(alone, axis=1).T:
        rows, share = (
            (alone == pattern[:, None]).all(axis=0),
            float(np.dot(pattern, mixture.weights)),
        )
        error = (share * (1 - share) / rows.sum()) ** 0.5
        assert abs(decisions[rows].mean() - share) <= 4 * error
    with pytest.raises(OptionError, match="there is no repetition 9"):
        result.mixture(9)


def test_what_was_tested_is_each_blocks_own_candidate() -> None:
    """The mixture's candidates decide for their blocks as the audit did."""
    people = make_people(1_200)
    asked: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small"],
        "repetitions": 2,
        "draws": 200,
    }
    ready = prepare_audit(
        people,
        Settings(outcome="visits", group="group", status_quo=STATUS_QUO, **asked),
    )
    result = run_prepared(ready)
    mixture, rows = result.mixture(2), result.repetition_rows().filter(repetition=2)
    assert isinstance(mixture, Mixture)
    for block, candidate in enumerate(mixture.algorithms, start=1):
        tested = rows.filter(block=block)
        own = people[tested["row"].to_numpy() - 1]
        assert (
            tested["candidate"].to_list()
            == decide(candidate, read_rows(own), "candidate").tolist()
        )


def test_the_mixture_of_the_papers_split_is_its_candidate() -> None:
    people = make_people(900)
    asked: dict[str, Any] = {
        "rule": "linear",
        "features": ["signal", "small"],
        "repetitions": 1,
        "draws": 200,
    }
    settings = Settings(
        outcome="visits", group="group", status_quo=STATUS_QUO, scheme="split", **asked
    )
    assert not isinstance(
        run_prepared(prepare_audit(people, settings)).mixture(), Mixture
    )
