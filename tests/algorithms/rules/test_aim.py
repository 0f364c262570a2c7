"""The rule that aims at the claim: its dual beside brute force, its margins beside a
loop over rows, what it finds.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linprog

import improvable
from flat import flat_audit
from improvable._typing import FloatArray, IntArray
from improvable.algorithms.rules import aim, as_rule
from improvable.algorithms.rules.aim import (
    AimedScore,
    AimRule,
    Learned,
    Problem,
    RateDifferences,
    balance,
    learn,
    weigh,
    weigh_within,
)
from improvable.algorithms.rules.predictive import predictive_rule
from improvable.errors import OptionError
from improvable.inference.evidence import Evidence
from improvable.question.claim import Claim

CELLS = 8


def best_mixture(margins: FloatArray) -> float:
    """The largest smallest margin of a mixture of algorithms, from their margins
    (algorithms, conditions), by an LP.
    """
    number, conditions = margins.shape
    found = linprog(
        np.append(np.zeros(number), -1.0),
        A_ub=np.column_stack([-margins.T, np.ones(conditions)]),
        b_ub=np.zeros(conditions),
        A_eq=np.append(np.ones(number), 0.0)[None],
        b_eq=np.ones(1),
        bounds=[(0, None)] * number + [(None, None)],
    )
    return float(-found.fun)


def shares_that_fit(share: FloatArray, capacity: float) -> list[FloatArray]:
    """Every algorithm of cells that meets a capacity: some cells whole, at most one in
    part.
    """
    out = []
    for chosen in product((0.0, 1.0), repeat=len(share)):
        whole = np.array(chosen)
        for cell in range(len(share)):
            part = whole.copy()
            part[cell] = 0.0
            part[cell] = (capacity - part @ share) / share[cell]
            if 0 <= part[cell] <= 1:
                out.append(part)
    return out


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("capacity", [None, 0.3])
def test_the_dual_is_what_brute_force_over_all_algorithms_of_eight_cells_finds(
    seed: int, capacity: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aim, "MEAN", 0.0)  # the smallest margin alone
    rng = np.random.default_rng(seed)
    conditions = int(rng.integers(2, 6))
    gains, constants = (
        rng.normal(0, 1, (CELLS, conditions)),
        rng.normal(0, 0.3, conditions),
    )
    share = rng.dirichlet(np.ones(CELLS) * 3)
    every = (
        [np.array(one) for one in product((0.0, 1.0), repeat=CELLS)]
        if capacity is None
        else shares_that_fit(share, capacity)
    )
    margins = np.array([constants + (share * one) @ gains for one in every])

    def select(scores: FloatArray) -> FloatArray:
        worth = [float((share * one) @ scores) for one in every]
        return every[int(np.argmax(worth))]

    weights, value = balance(gains, constants, share, select)
    assert value == pytest.approx(best_mixture(margins), abs=1e-5)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    # no algorithm, mixed or not, does better
    assert value >= margins.min(axis=1).max() - 1e-9


def true_problem(
    rng: np.random.Generator, capacity: float | None, cells: int = CELLS
) -> tuple[Problem, Learned, IntArray]:
    """A population of cells x, two groups and a 0/1 outcome, with the true P(g | x) and
    E[y | x, g] as what is learned.

    The outcome differs by a constant between groups at the same x, as `Learned` takes
    it to.
    """
    share, member = rng.dirichlet(np.ones(cells) * 4), rng.uniform(0.1, 0.9, cells)
    other = rng.uniform(0.15, 0.75, cells)
    difference = float(rng.uniform(-0.1, 0.15))
    rows = [
        (x, g, y, share[x] * in_group * (rate if y else 1 - rate))
        for x in range(cells)
        for g, in_group in ((0, 1 - member[x]), (1, member[x]))
        for rate in [other[x] + difference * g]
        for y in (0, 1)
    ]
    x, g, y = (np.array([row[k] for row in rows]) for k in range(3))
    weight = np.array([row[3] for row in rows]) * len(rows)
    frame = pl.DataFrame(
        {"y": y, "g": np.where(g == 1, "b", "a"), "d": rng.integers(0, 2, cells)[x]}
    )
    frame = frame.with_columns(w=pl.Series(weight), x=pl.Series(x))
    now = frame["d"].to_numpy().astype(np.float64)
    gain = np.zeros((len(rows), 2, 2))
    # classification rate; false positive rate
    gain[:, 0, 0], gain[:, 1, 0] = 2 * y - 1, 1 - y
    base = np.zeros_like(gain)
    base[:, 0, 0], base[:, 0, 1], base[:, 1, 1] = 1 - y, 1.0, 1 - y
    design = flat_design()
    contributed = base + gain * now[:, None, None]
    sums = np.zeros((2, 2, 2))
    np.add.at(sums, g, contributed * weight[:, None, None])
    both = np.stack([sums, sums], axis=2)
    evidence = Evidence(
        attributes=design["attributes"],
        measures=design["measures"],
        accuracy=(0,),
        fairness=(1,),
        sums=both,
        draws=np.empty((0, *both.shape)),
        training=sums,
        units=len(rows),
        chosen_here=False,
    )
    members = np.eye(2)[g]
    problem = Problem(
        evidence=evidence,
        claim=Claim(),
        members=members,
        factors=members,
        certain=np.eye(2),
        units=np.arange(len(rows)),
        weights=weight,
        base=base,
        gain=gain,
        now=contributed,
        decisions=now,
        capacity=capacity,
        rates=differences_of(members, weight),
    )
    shares = np.column_stack([1 - member, member])[x]
    mean = (other + difference * member)[x][:, None]
    score = AimedScore(
        (), None, (), (), np.array([[0.0], [difference]]), np.zeros((2, 2))
    )
    lines = np.array([[-1.0, 2.0], [0.0, 0.0], [1.0, -1.0], [0.0, 0.0]])
    return problem, Learned(score, lines, mean, shares), x


def differences_of(members: FloatArray, weight: FloatArray) -> RateDifferences:
    """How the rates of two groups differ, in both directions."""
    sizes = weight @ members
    one_row = weight.max() / sizes.min()
    slopes = np.array([[1, -1], [-1, 1]]) / sizes
    return RateDifferences(slopes, np.array([one_row, one_row]))


def flat_design() -> dict[str, Any]:
    from improvable.data.groups import Attribute
    from improvable.question.catalog import as_utility

    utilities = [
        as_utility(name).meant("benefit")
        for name in ("classification_rate", "false_positive_rate")
    ]
    return {
        "attributes": (Attribute("g", ("a", "b"), np.arange(2)),),
        "measures": tuple(one.measure("y") for one in utilities),
    }


@pytest.mark.parametrize("capacity", [None, 0.4])
def test_with_the_truth_known_no_algorithm_of_eight_cells_has_a_larger_smallest_margin(
    capacity: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No mixture of group-blind algorithms beats the bound, and often what is found is
    the best that is not mixed.

    Eight cells are large lumps: a cutoff of one score cannot reach every algorithm of
    them.
    """
    monkeypatch.setattr(aim, "MEAN", 0.0)
    equal = []
    for seed in range(15):
        problem, learned, x = true_problem(np.random.default_rng(seed), capacity)
        here = problem.at(
            problem.select(learned.scores(weigh(problem, learned, None).worth))
        )
        share = np.bincount(x, weights=problem.weights) / problem.weights.sum()
        whole = [np.array(one) for one in product((0.0, 1.0), repeat=CELLS)]
        every = whole if capacity is None else shares_that_fit(share, capacity)
        margins = np.array([problem.at(one[x]).margins / here.errors for one in every])
        reached = float((here.margins / here.errors).min())
        assert reached <= best_mixture(margins) + 1e-6
        equal.append(reached >= margins.min(axis=1).max() - 1e-6)
    assert np.mean(equal) > 0.3


@pytest.mark.parametrize("capacity", [None, 0.4])
def test_with_many_cells_the_best_that_any_mixture_can_do_is_reached(
    capacity: float | None,
) -> None:
    for seed in range(4):
        problem, learned, x = true_problem(
            np.random.default_rng(seed), capacity, cells=1_000
        )
        expected, actual, summed = (
            learned.expected(),
            np.zeros((1_000, 2, 4)),
            np.zeros((1_000, 2, 4)),
        )
        np.add.at(
            actual,
            (x, problem.members.argmax(axis=1)),
            problem.gain.reshape(len(x), -1) * problem.weights[:, None],
        )
        np.add.at(summed, x, expected * problem.weights[:, None, None])
        # what is expected of a cell is true of it
        assert summed == pytest.approx(actual, abs=1e-9)
        decided = problem.select(learned.scores(weigh(problem, learned, None).worth))
        here = problem.at(decided)
        scaled = (here.slopes / here.errors[:, None, None, None]).reshape(
            len(here.errors), -1
        )
        gains = expected.reshape(len(x), -1) @ scaled.T
        constants = here.margins / here.errors - (problem.weights * decided) @ gains
        _, bound = balance(gains, constants, problem.weights, problem.select)
        assert bound - 0.03 * max(1.0, bound) <= here.value <= bound + 1e-6


@pytest.mark.parametrize("capacity", [None, 0.4])
@pytest.mark.parametrize(("share_of_gap", "lost"), [(0.2, 0.25), (0.6, 0.05)])
def test_with_many_cells_the_best_within_a_bound_on_rates_is_reached(
    capacity: float | None, share_of_gap: float, lost: float
) -> None:
    """Beside a linear program over every decision about cells, mixed ones included.

    The tighter bound is half of what one row may move rates by, so that more is lost.
    """
    for seed in range(4):
        problem, learned, x = true_problem(
            np.random.default_rng(seed), capacity, cells=1_000
        )
        free = weigh(problem, learned, None)
        bound = share_of_gap * free.difference
        assert free.difference > 0.001
        aimed = weigh_within(bound, problem, learned, None)
        assert aimed.difference <= bound
        decided = problem.select(learned.scores(aimed.worth))
        selected = np.bincount(
            problem.members.argmax(axis=1), problem.weights * decided
        )
        rates = selected / (problem.weights @ problem.members)
        assert abs(rates[0] - rates[1]) == pytest.approx(aimed.difference, abs=1e-12)
        ideal = best_within(problem, learned, x, decided, bound)
        value = problem.at(decided).value
        assert ideal - lost <= value <= ideal + 1e-6


def best_within(
    problem: Problem, learned: Learned, x: IntArray, decided: FloatArray, bound: float
) -> float:
    """The largest value of any decision about cells whose rates differ by at most a
    bound, to first order at a decision.
    """
    here = problem.at(decided)
    cells = int(x.max()) + 1
    scaled = here.slopes / here.errors[:, None, None, None]
    by_row = learned.expected().reshape(len(x), -1) @ scaled.reshape(len(scaled), -1).T
    gains = np.zeros((cells, len(scaled)))
    np.add.at(gains, x, by_row * problem.weights[:, None])
    constants = here.margins / here.errors - (problem.weights * decided) @ by_row
    members = problem.members * problem.weights[:, None]
    rates = np.zeros((cells, 2))
    np.add.at(rates, x, members / members.sum(axis=0))
    apart = rates[:, 0] - rates[:, 1]
    # one variable more: the smallest margin
    conditions = np.column_stack([-gains.T, np.ones(len(scaled))])
    limits = np.column_stack([np.array([apart, -apart]), np.zeros(2)])
    above, most = [conditions, limits], [constants, np.full(2, bound)]
    if problem.capacity is not None:
        sizes = np.bincount(x, problem.weights)
        above.append(np.append(sizes, 0.0)[None])
        most.append(np.array([problem.capacity * sizes.sum()]))
    found = linprog(
        -np.append(aim.MEAN * gains.mean(axis=1), 1 - aim.MEAN),
        A_ub=np.concatenate(above),
        b_ub=np.concatenate(most),
        bounds=[(0, 1)] * cells + [(None, None)],
    )
    return float(aim.MEAN * constants.mean() - found.fun)


@pytest.mark.parametrize(
    "utility",
    ["calibration", "true_positive_rate", "positive_predictive_value", "f_score"],
)
def test_margins_and_slopes_are_what_a_loop_over_rows_gives(utility: str) -> None:
    people = make_people(300, seed=2)
    training, status_quo = prepared(people, accuracy=utility, fairness="selection_rate")
    problem = Problem.of(training, status_quo)
    rng = np.random.default_rng(0)
    decisions = (rng.random(300) < 0.4).astype(np.float64)
    here = problem.at(decisions)
    for row in (3, 77, 150):
        moved = decisions.copy()
        moved[row] += 1e-6
        change = (problem.at(moved).margins - here.margins) / 1e-6
        slopes = here.slopes[:, problem.members[row].argmax()]
        assert change == pytest.approx(
            (slopes * problem.gain[row]).sum(axis=(1, 2)) * problem.weights[row],
            abs=1e-5,
        )


def three_groups(n: int, seed: int) -> pl.DataFrame:
    """Membership depends on need, and at the same need outcomes differ by .6 and -.3
    from those of the first group.
    """
    rng = np.random.default_rng(seed)
    need = rng.normal(size=n)
    chances = np.column_stack(
        [np.full(n, 0.5), 0.3 + 0.06 * need.clip(-3, 3), 0.2 - 0.06 * need.clip(-3, 3)]
    )
    group = (rng.random(n)[:, None] > chances.cumsum(axis=1)).sum(axis=1).clip(0, 2)
    outcome = need + np.array([0.0, 0.6, -0.3])[group] + rng.normal(0, 0.5, n)
    noise = rng.normal(size=(n, 3))
    return pl.DataFrame(
        {
            "g": np.array(["a", "b", "c"])[group],
            "y": outcome,
            "need": need,
            "mark": noise[:, 0],
            "noise": noise[:, 1],
            "id": np.arange(n),
            "score": need + noise[:, 2],
        }
    )


def test_of_three_groups_each_difference_is_learned_and_equal_weights_are_plain_prediction() -> (  # noqa: E501
    None
):
    training, status_quo = prepared(three_groups(20_000, seed=1))
    problem = Problem.of(training, status_quo)
    learned = learn(problem, training, AimRule(predictive_rule("linear")))
    differences = learned.score.differences[:, 0]
    assert differences - differences[0] == pytest.approx([0.0, 0.6, -0.3], abs=0.05)
    plain = np.array([[0.0, 1.0]] * 3)
    assert learned.scores(plain) == pytest.approx(learned.outcomes[:, 0], abs=1e-12)
    # What groups are expected to add sums up to what is expected of everybody: here to
    # 1 and to the outcome.
    sums = np.array([[1.0, 0.0], [0.0, 1.0]])
    everybody = replace(learned, lines=sums).expected().sum(axis=1)
    assert everybody == pytest.approx(
        np.column_stack([np.ones(20_000), learned.outcomes]), abs=1e-12
    )


def learners(people: pl.DataFrame, rule: str = "aim", **options: Any) -> set[str]:
    found = audited(people, rule, repetitions=1, scheme="split", **options).to_dict()[
        "repetitions"
    ][0]
    return {block["learner"] for block in found["rule_notes"]["blocks"]}


def test_of_lasso_and_logistic_the_one_learns_that_errs_less_about_rows_left_out() -> (
    None
):
    rng = np.random.default_rng(0)
    people, chance = (
        make_people(2_000, seed=9),
        1 / (1 + np.exp(4 - 3 * rng.normal(size=2_000))),
    )
    # a line predicts chances below zero here, and a logistic curve is right
    steep = people.with_columns(
        need=pl.Series(np.log(chance / (1 - chance))),
        y=pl.Series((rng.random(2_000) < chance).astype(np.int64)),
    )
    assert learners(steep) == {"logistic"}
    assert learners(steep, "aim:lasso") == {"lasso"}
    assert learners(steep, monotone={"need": "+"}) == {"lasso"}, (
        "logistic regression cannot keep it"
    )
    amounts: dict[str, Any] = {
        "outcome": "noise",
        "accuracy": "calibration",
        "fairness": "calibration",
        "features": ["need", "mark"],
    }
    assert learners(steep, **amounts) == {"lasso"}, "the outcome is not 0/1"
    wide = people[:400].with_columns(
        pl.Series(f"x{j}", rng.normal(size=400)) for j in range(80)
    )
    assert learners(wide, features=["need", "mark", "x*"]) == {"lasso"}, (
        "logistic regression fits the noise"
    )


def make_people(n: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.4
    need, mark = rng.normal(size=n), rng.normal(size=n) + 1.2 * group
    chance = 1 / (1 + np.exp(-(0.9 * need + 0.5 * mark - 0.6 * group)))
    return pl.DataFrame(
        {
            "g": np.where(group, "b", "a"),
            "need": need,
            "mark": mark,
            "noise": rng.normal(size=n),
            "y": (rng.random(n) < chance).astype(np.int64),
            "id": np.arange(n),
            "score": 0.4 * need + 0.25 * mark + 0.6 * rng.normal(size=n),
        }
    )


def prepared(people: pl.DataFrame, **asked: Any) -> Any:
    """What a rule is given for all rows."""
    from improvable.algorithms.rules.base import Selection

    kept: list[Any] = []

    class Keep:
        name = "keep"

        def select(self, training: Any, status_quo: Any) -> Selection:
            kept.append((training, status_quo))
            return Selection(None)

    options = {
        "outcome": "y",
        "group": "g",
        "status_quo": improvable.threshold("score", capacity=0.4),
    }
    features = ["need", "mark", "noise"]
    audit = flat_audit(
        people,
        **options,
        rule=Keep(),
        features=features,
        capacity=0.4,
        repetitions=1,
        draws=100,
        scheme="split",
        row_id="id",
        **asked,
    )
    with pytest.raises(improvable.errors.ImprovableError):
        audit.refit()
    return kept[-1]


def audited(people: pl.DataFrame, rule: Any, **options: Any) -> improvable.Audit:
    settings: dict[str, Any] = {
        "outcome": "y",
        "group": "g",
        "status_quo": improvable.threshold("score", capacity=0.4),
        "rule": rule,
        "features": ["need", "mark", "noise"],
        "capacity": 0.4,
        "accuracy": "classification_rate",
        "fairness": "false_positive_rate",
        "repetitions": 3,
        "draws": 400,
        "row_id": "id",
        "n_jobs": 1,
    }
    return flat_audit(people, **{**settings, **options})


def test_it_is_shown_where_prediction_widens_the_gap() -> None:
    people = make_people(6_000, seed=1)
    plain, aimed = (audited(people, rule) for rule in ("lasso", "aim"))
    assert not plain.reject
    assert aimed.reject
    notes = aimed.to_dict()["repetitions"][0]["rule_notes"]["blocks"][-1]["aim"]
    assert sum(notes["weights"].values()) == pytest.approx(1)
    assert notes["weights"]["the gap by 'g'"] > 0.05
    assert min(notes["promised"].values()) > 0


def test_it_is_prediction_where_nothing_is_gained_by_aiming() -> None:
    rng = np.random.default_rng(4)
    people = make_people(2_000, seed=3).with_columns(
        score=pl.Series(rng.normal(size=2_000))
    )
    found = audited(people, "aim", fairness="classification_rate", repetitions=1)
    notes = [
        block["aim"]["weights"]
        for block in found.to_dict()["repetitions"][0]["rule_notes"]["blocks"]
    ]
    assert max(one["prediction"] for one in notes) == 1.0


@pytest.mark.parametrize("learner", ["linear", "logistic", "ridge:10", "boosting"])
def test_any_predictive_rule_may_be_its_learner(learner: str) -> None:
    found = audited(make_people(1_200, seed=5), f"aim:{learner}", repetitions=1)
    assert found.setting["rule"] == f"aim:{learner}"
    assert 0 <= found.p_value <= 1


def test_what_predicts_nothing_is_refused() -> None:
    with pytest.raises(
        OptionError,
        match="'linear_program:fairest' predicts nothing that 'aim' could use",
    ):
        as_rule("aim:linear_program")


@pytest.mark.parametrize(
    ("rule", "asked"),
    [
        (
            "aim",
            {"capacity": None, "status_quo": improvable.threshold("score", above=0)},
        ),
        ("aim", {"cluster": "clinic"}),
        ("aim", {"weight": "w"}),
        ("aim", {"group": ["g", "sex"]}),
        ("aim", {"overall": "population"}),
        ("aim", {"protected": "b", "selection": "burden"}),
        ("aim", {"accuracy": "f_score", "fairness": "adverse_impact_ratio"}),
        (
            "aim",
            {
                "accuracy": "calibration",
                "fairness": "calibration",
                "delta_fairness": 0.2,
            },
        ),
        (
            "aim",
            {
                "accuracy": ["classification_rate", "true_positive_rate"],
                "ask": "accuracy",
            },
        ),
        ("aim", {"selection_gap": 0.1}),
        ("aim", {"group_blind": False, "features": ["need", "mark", "g"]}),
        ("aim:boosting", {"monotone": {"need": "+"}}),
    ],
)
def test_every_kind_of_claim_can_be_aimed_at(rule: str, asked: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    people = make_people(1_000, seed=6).with_columns(
        clinic=pl.Series(rng.integers(0, 150, 1_000)),
        w=pl.Series(rng.uniform(0.5, 2, 1_000)),
        sex=pl.Series(np.where(rng.random(1_000) < 0.5, "f", "m")),
    )
    found = audited(people, rule, repetitions=1, scheme="split", **asked)
    assert 0 <= found.p_value <= 1
    shares = found.to_dict()["repetitions"][0]["share_selected"]["candidate"]
    if asked.get("capacity", 0.4) is not None:
        assert abs(shares["test"] - 0.4) < 0.08


def test_a_monotone_feature_never_turns_a_selection_away() -> None:
    people = make_people(1_500, seed=7)
    candidate = audited(
        people,
        "aim",
        monotone={"need": "+", "mark": "+"},
        repetitions=1,
        scheme="split",
    ).refit()
    before = candidate.decide(people)
    for name in ("need", "mark"):
        assert (
            candidate.decide(people.with_columns(pl.col(name) + 0.5)) >= before
        ).all()


def test_messy_columns_are_encoded_once_and_the_candidate_can_be_exported(
    tmp_path: Any,
) -> None:
    people = make_people(900, seed=8).with_columns(
        place=pl.Series(
            np.random.default_rng(1).choice(["north", "south", "west"], 900)
        ),
        need=pl.when(pl.col("id") % 17 == 0).then(None).otherwise(pl.col("need")),
    )
    found = audited(
        people, "aim", features=["need", "mark", "place"], repetitions=1, scheme="split"
    )
    candidate = found.refit()
    improvable.export_algorithm(candidate, tmp_path / "candidate.skops")
    again = improvable.import_algorithm(tmp_path / "candidate.skops")
    assert (again.decide(people) == candidate.decide(people)).all()
    halves: Sequence[Any] = [
        candidate.decide(people[:450]),
        candidate.decide(people[450:]),
    ]
    assert (np.concatenate(halves) == candidate.decide(people)).all()
