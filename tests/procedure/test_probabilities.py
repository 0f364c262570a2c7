"""Groups known by probability: estimators equal a slow loop, certainty equals known
groups, order does not matter.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from improvable import Claim, Groups, Read, Test
from improvable.algorithms.rules.aim import Problem
from improvable.cli import run
from improvable.data.probabilities import CERTAIN, odds_factor
from improvable.results.comparison import Comparison
from improvable.results.wording import tipping_words

PROBABILITIES = {"a": "p_a", "b": "p_b"}
DECIDED: dict[str, Any] = {"outcome": "y", "status_quo": "old", "candidate": "new"}
MEASURED: dict[str, Any] = {
    "accuracy": "classification_rate",
    "fairness": "false_positive_rate",
}
FEW = Test(draws=200)


def people(
    rows: int, seed: int = 0, *, certain: bool = False, rest: bool = False
) -> pl.DataFrame:
    """People in one of two groups, or in neither, with probabilities that are
    calibrated, or certain.
    """
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([0.6, 0.6, 0.3 if rest else 1e-9], rows)
    if not rest:
        chances = np.column_stack([chances[:, 0], 1 - chances[:, 0], np.zeros(rows)])
    group = (rng.random(rows)[:, None] > chances.cumsum(axis=1)[:, :2]).sum(axis=1)
    x = rng.normal(size=rows) + 0.6 * (group == 1)
    outcome = rng.random(rows) < 1 / (1 + np.exp(-x))
    old = x + rng.normal(size=rows) + 0.4 * (group == 1) > 0.3
    shown = np.eye(3)[group] if certain else chances
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "y": outcome.astype(int),
            "old": old.astype(int),
            "new": (x > 0.3).astype(int),
            "x": x,
            "z": rng.normal(size=rows),
            "w": rng.integers(1, 4, rows),
            "household": np.arange(rows) // 3,
            "group": np.array(["a", "b", "c"])[group],
            "p_a": shown[:, 0],
            "p_b": shown[:, 1],
        }
    )


def slow_loop(
    rows: pl.DataFrame,
    estimator: str,
    weight: str | None = None,
    known: str | None = None,
) -> np.ndarray:
    """What each group's rate of correct decisions and false positive rate is, (groups,
    utilities, algorithms).
    """
    shares = rows.select("p_a", "p_b").to_numpy().copy()
    for p in shares:
        if abs(sum(p) - 1) <= 0.001:  # digits were left out
            p /= sum(p)
    weights = (
        np.ones(len(rows)) if weight is None else rows[weight].to_numpy().astype(float)
    )
    everyone = np.column_stack([shares, 1 - shares.sum(axis=1)])
    if everyone[:, 2].max() < 1e-9:
        everyone = everyone[:, :2]
    gram = np.zeros((everyone.shape[1],) * 2)
    for p, w in zip(everyone, weights, strict=True):
        gram += w * np.outer(p, p)
    inverse = np.linalg.inv(gram)
    sums = np.zeros((2, 2, 2, 2))  # group, utility, algorithm, (u, w)
    labels = None if known is None else rows[known].to_list()
    named = (
        0.0
        if labels is None
        else sum(
            w for w, label in zip(weights, labels, strict=True) if label is not None
        )
    )
    for i, row in enumerate(rows.iter_rows(named=True)):
        for g, name in enumerate("ab"):
            if estimator == "linear":
                factor = weights[i] * float(inverse[g] @ everyone[i])
            else:
                factor = weights[i] * shares[i, g]
            if labels is not None and labels[i] is not None:
                factor += (
                    weights[i]
                    * weights.sum()
                    / named
                    * ((labels[i] == name) - shares[i, g])
                )
            for t, decision in enumerate((row["old"], row["new"])):
                sums[g, 0, t] += factor * np.array([decision == row["y"], 1])
                sums[g, 1, t] += factor * np.array(
                    [decision == 1 and row["y"] == 0, row["y"] == 0]
                )
    return sums[..., 0] / sums[..., 1]


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("rest", [False, True])
def test_both_estimators_equal_a_slow_loop(rest: bool, weight: str | None) -> None:
    rows = people(400, rest=rest)
    found = improvable.compare(
        rows,
        group=Groups(probabilities=PROBABILITIES),
        weight=weight,
        test=FEW,
        **DECIDED,
        **MEASURED,
    )
    assert [one.name for one in found.evidence.attributes] == [
        "probable group (weighted)",
        "probable group (linear)",
    ]
    for values, estimator in zip(
        found.evidence.values, ("weighted", "linear"), strict=True
    ):
        np.testing.assert_allclose(
            values, slow_loop(rows, estimator, weight), atol=1e-12
        )


def test_one_assumption_is_one_estimator() -> None:
    rows = people(400)
    for assume, estimator in (
        ("probabilities only", "weighted"),
        ("group only", "linear"),
    ):
        group = Groups(probabilities=PROBABILITIES, assume=assume)  # type: ignore[arg-type]
        found = improvable.compare(rows, group=group, test=FEW, **DECIDED, **MEASURED)
        assert found.groups == ("a", "b")
        np.testing.assert_allclose(
            found.evidence.values[0], slow_loop(rows, estimator), atol=1e-12
        )


def test_known_groups_correct_the_others() -> None:
    rows = people(600).with_columns(seen=pl.when(pl.col("id") % 3 == 0).then("group"))
    found = improvable.compare(
        rows,
        group=Groups(probabilities=PROBABILITIES, known="seen"),
        test=FEW,
        **DECIDED,
        **MEASURED,
    )
    np.testing.assert_allclose(
        found.evidence.values[0], slow_loop(rows, "weighted", known="seen"), atol=1e-12
    )
    whole = improvable.compare(
        rows,
        group=Groups(probabilities=PROBABILITIES, known="group"),
        test=FEW,
        **DECIDED,
        **MEASURED,
    )
    truth = improvable.compare(rows, group="group", test=FEW, **DECIDED, **MEASURED)
    np.testing.assert_allclose(
        whole.evidence.values[0], truth.evidence.values[0], atol=1e-12
    )


def same(one: Comparison, other: Comparison) -> bool:
    for a, b in zip(one.repetitions, other.repetitions, strict=True):
        for name in ("sums", "draws", "training"):
            if not np.array_equal(getattr(a.evidence, name), getattr(b.evidence, name)):
                return False
    return one.p_value == other.p_value


@pytest.mark.parametrize("rest", [False, True])
@pytest.mark.parametrize("engine", ["memory", "arrow"])
def test_certain_probabilities_are_known_groups(
    engine: Any, rest: bool, tmp_path: Path
) -> None:
    rows = people(900, certain=True, rest=rest)
    path = tmp_path / "rows.parquet"
    rows.write_parquet(path)
    read, only = Read(engine=engine), Groups("group", only=["a", "b"])
    by_chance = Groups(probabilities=PROBABILITIES)
    for cluster in (None, "household"):
        both = [
            improvable.compare(
                path,
                group=one,
                weight="w",
                cluster=cluster,
                read=read,
                test=FEW,
                **DECIDED,
                **MEASURED,
            )
            for one in (only, by_chance)
        ]
        assert same(*both)
        assert both[0].groups == both[1].groups
    learned = [
        improvable.audit(
            path,
            group=one,
            outcome="y",
            status_quo="old",
            features=["x", "z"],
            row_id="id",
            read=read,
            rule="aim" if engine == "memory" else "linear",
            test=Test(draws=200, repetitions=2),
            **MEASURED,
        )
        for one in (only, by_chance)
    ]
    assert same(*learned)  # type: ignore[arg-type]


def orders(rows: pl.DataFrame, path: Path) -> Iterator[tuple[Any, Read]]:
    path.mkdir()
    mixed = rows.sample(fraction=1.0, shuffle=True, seed=1)
    # most blocks have none of the first batch
    for part, some in enumerate([mixed[:1], *mixed[1:].iter_slices(200)]):
        some.write_parquet(path / f"{part}.parquet")
    yield rows, Read()
    yield rows.reverse().to_pandas(), Read()
    yield path, Read(engine="arrow")


@pytest.mark.parametrize(
    "more",
    [{}, {"known": "seen"}, {"rake": {"a": 0.3, "b": 0.7}}],
    ids=["plain", "known", "raked"],
)
@pytest.mark.parametrize("cluster", [None, "household"])
def test_order_batches_and_engines_change_no_bit(
    cluster: str | None, more: dict[str, Any], tmp_path: Path
) -> None:
    rows = people(500).with_columns(seen=pl.when(pl.col("id") % 3 == 0).then("group"))
    found = [
        improvable.audit(
            data,
            group=Groups(probabilities=PROBABILITIES, **more),
            outcome="y",
            status_quo="old",
            features=["x", "z"],
            rule="linear" if cluster or more else "aim",
            row_id="id",
            weight="w",
            cluster=cluster,
            read=read,
            test=Test(draws=200, repetitions=2),
            **MEASURED,
        )
        for data, read in orders(rows, tmp_path / "parts")
    ]
    for other in found[1:]:
        assert same(found[0], other)  # type: ignore[arg-type]


def test_a_saved_result_comes_back(tmp_path: Path) -> None:
    found = improvable.compare(
        people(400),
        group=Groups(probabilities=PROBABILITIES),
        test=FEW,
        **DECIDED,
        **MEASURED,
    )
    found.save(tmp_path / "run")
    assert improvable.load(tmp_path / "run").to_dict() == found.to_dict()
    found.report(tmp_path / "report.md")
    assert "known by probability" in (tmp_path / "report.md").read_text()


def test_raking_gives_the_shares_asked_for() -> None:
    rows = people(500, rest=True)
    group = Groups(probabilities=PROBABILITIES, rake={"a": 0.5, "b": 0.3})
    found = improvable.compare(rows, group=group, test=FEW, **DECIDED, **MEASURED)
    np.testing.assert_allclose(found.census.weight[1:3] / 500, [0.5, 0.3], atol=1e-8)


def test_claims_name_groups_as_they_are() -> None:
    claim = Claim(
        delta_accuracy={"a": 0.01, "b": 0.0}, protected="b", selection="burden"
    )
    found = improvable.compare(
        people(900),
        group=Groups(probabilities=PROBABILITIES),
        claim=claim,
        test=FEW,
        **DECIDED,
        **MEASURED,
    )
    assert len(found.assessment.components) == 6
    whole = Claim(overall="population")
    everyone = improvable.compare(
        people(900),
        group=Groups(probabilities=PROBABILITIES),
        claim=whole,
        test=FEW,
        **DECIDED,
        **MEASURED,
    )
    rows = people(900)
    rates = [
        np.mean(rows[name].to_numpy() == rows["y"].to_numpy())
        for name in ("old", "new")
    ]
    np.testing.assert_allclose(
        [
            everyone.assessment.components[0].status_quo,
            everyone.assessment.components[0].candidate,
        ],
        rates,
    )


BROKEN: list[tuple[dict[str, Any], str]] = [
    (
        {"probabilities": {"a": "p_a"}},
        "`probabilities` has a=p_a. Name at least two groups",
    ),
    (
        {"columns": "group", "probabilities": PROBABILITIES},
        "groups are named by a column and by probabilities",
    ),
    (
        {"columns": "group", "known": "group"},
        "`known` goes with probabilities of groups",
    ),
    (
        {"probabilities": {"a": "x", "b": "p_b"}},
        r"row 1 has .* that cannot be: x .*, p_b .*Each is between",
    ),
    (
        {"probabilities": {"a": "p_a", "b": "flat"}},
        "row .* has probabilities of groups that cannot be",
    ),
    (
        {"probabilities": {"a": "flat", "b": "flat2"}},
        "hardly vary: they tell 0.00% .*known=",
    ),
    (
        {"probabilities": PROBABILITIES, "known": "strange"},
        "'strange' has 'A', and the groups are a, b",
    ),
    (
        {"probabilities": PROBABILITIES, "known": "empty"},
        "'empty' names no row's group",
    ),
    (
        {"probabilities": PROBABILITIES, "known": "group", "assume": "between"},
        "`assume` and `known` are both given",
    ),
    (
        {"probabilities": PROBABILITIES, "rake": {"a": 0.5}},
        "`rake` is .*one share above 0 for every group",
    ),
    (
        {"probabilities": PROBABILITIES, "rake": {"a": 0.5, "b": 0.3}},
        "`rake` sums to 0.8, and those of every row to 1",
    ),
    ({"probabilities": PROBABILITIES, "only": ["a"]}, "are for groups that are known"),
]


@pytest.mark.parametrize(("groups", "message"), BROKEN)
def test_broken_probabilities_are_one_line(
    groups: dict[str, Any], message: str
) -> None:
    half = pl.lit(0.5)
    rows = people(300).with_columns(
        flat=half, flat2=half, strange=pl.lit("A"), empty=pl.lit(None, pl.String)
    )
    rows = rows.with_columns(x=pl.col("x") + 9)
    with pytest.raises(improvable.ImprovableError, match=message) as caught:
        improvable.compare(rows, group=Groups(**groups), **DECIDED, **MEASURED)
    assert "\n" not in str(caught.value)


def test_rules_that_read_the_group_say_so() -> None:
    rows, asked = (
        people(600),
        {"outcome": "y", "status_quo": "old", "features": ["x", "z"], **MEASURED},
    )
    test = Test(draws=200, repetitions=2)
    with pytest.raises(
        improvable.ImprovableError,
        match="reads each person's group, and groups are probabilities",
    ):
        improvable.audit(
            rows,
            group=Groups(probabilities=PROBABILITIES),
            rule="linear_program",
            test=test,
            **asked,
        )


def test_aim_weighs_every_condition_of_both_estimates() -> None:
    rows, asked = (
        people(600, rest=True),
        {"outcome": "y", "status_quo": "old", "features": ["x", "z"], **MEASURED},
    )
    # a classifier, which predicts no probabilities
    for rule in ("aim", "aim:logistic"):
        found = improvable.audit(
            rows,
            group=Groups(probabilities=PROBABILITIES),
            rule=rule,
            test=Test(draws=200, repetitions=1),
            **asked,
        )
        notes = [block["aim"] for block in found.repetitions[0].notes["blocks"]]
        groups = [
            f"the accuracy of '{g} ({how})'"
            for how in ("weighted", "linear")
            for g in "ab"
        ]
        gaps = [
            f"the gap by 'probable group ({how})'" for how in ("weighted", "linear")
        ]
        assert all(set(one["promised"]) == {*groups, *gaps} for one in notes)
        assert any(one["weights"]["prediction"] < 1 for one in notes)


@pytest.mark.parametrize(
    "more", [{}, {"assume": "probabilities only"}, {"known": "group"}]
)
def test_what_aim_takes_a_row_to_move_is_what_it_moves(more: dict[str, Any]) -> None:
    kept = list[Any]()

    class Keep:
        name = "keep"

        def select(self, training: Any, status_quo: Any) -> None:
            kept.append(Problem.of(training, status_quo))

    improvable.audit(
        people(300, rest=True),
        group=Groups(probabilities=PROBABILITIES, **more),
        rule=Keep(),
        outcome="y",
        status_quo="old",
        features=["x", "z"],
        test=Test(draws=200, scheme="split", repetitions=1),
        **MEASURED,
    )
    problem = kept[-1]
    # there, factors are those of their probabilities on average only
    if "known" not in more:
        np.testing.assert_allclose(
            problem.members @ problem.certain, problem.factors, atol=1e-9
        )
    np.testing.assert_allclose(problem.members.sum(axis=1), 1)
    decisions = (np.random.default_rng(0).random(len(problem.weights)) < 0.4).astype(
        float
    )
    here, moved = problem.at(decisions), decisions.copy()
    moved[7] += 1e-6
    change = (problem.at(moved).margins - here.margins) / 1e-6
    if "known" not in more:
        slopes = np.einsum("csmp,s->cmp", here.slopes, problem.members[7])
        np.testing.assert_allclose(
            change, (slopes * problem.gain[7]).sum(axis=(1, 2)), atol=1e-5
        )
    assert change.any()


def test_the_command_line_takes_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.csv"
    people(600).write_csv(path)
    words = [
        "audit",
        str(path),
        "--outcome",
        "y",
        "--group-probabilities",
        "a=p_a,b=p_b",
        "--decision",
        "old",
        "--features",
        "x,z",
        "--draws",
        "200",
        "--repetitions",
        "2",
        "--accuracy",
        "classification_rate",
        "--group-shares",
        "a:0.4,b:0.6",
        "--row-id",
        "id",
        "--out",
        str(tmp_path / "run"),
    ]
    assert run(words) == 0
    out = capsys.readouterr().out
    assert "a (weighted)" in out
    assert "b (linear)" in out
    assert "groups are known by probability only" in " ".join(out.split())
    assert (
        run(["report", str(tmp_path / "run"), "--to", str(tmp_path / "report.html")])
        == 0
    )


def test_the_tipping_point_starts_at_the_weighted_estimate_and_falls(
    tmp_path: Path,
) -> None:
    weighted = Groups(probabilities=PROBABILITIES, assume="probabilities only")
    claim = Claim(ask="accuracy")
    found = improvable.compare(
        people(900), group=weighted, claim=claim, test=FEW, **DECIDED, **MEASURED
    )
    facts = found.to_dict()
    curve = [(one["gamma"], one["p_value"]) for one in facts["tipping_curve"]]
    assert curve[0] == (1.0, found.p_value)
    assert [p for _, p in curve] == sorted(p for _, p in curve)
    assert found.reject
    assert curve[-1][1] > 0.9
    point = facts["tipping_point"]
    assert point == max(gamma for gamma, p in curve if p < 0.05)
    assert (
        f"by no more than a factor of {point:g} beyond the probabilities"
        in " ".join(found.summary().split())
    )
    found.plot("tipping").save(tmp_path / "tipping.svg")
    known = improvable.compare(
        people(900), group="group", claim=claim, test=FEW, **DECIDED, **MEASURED
    ).to_dict()
    assert (known["tipping_curve"], known["tipping_point"]) == ([], None)


def brute_force(
    rows: pl.DataFrame, found: Comparison, gamma: float, accuracy: str
) -> float:
    """The p-value of the worst of all memberships at the ends of what gamma allows,
    tried one by one.
    """
    outcome, cluster = rows["y"].to_numpy(), rows["household"].to_numpy()
    decisions = [rows[name].to_numpy() for name in ("old", "new")]
    u = np.array(
        [
            (d == outcome) if accuracy == "classification_rate" else d * outcome
            for d in decisions
        ],
        float,
    )
    w = (
        np.ones_like(u)
        if accuracy == "classification_rate"
        else np.array(decisions, float)
    )
    ends, out = np.array(list(product((0, 1), repeat=len(rows)))), []
    for g, column in enumerate(("p_a", "p_b")):
        shares = rows[column].to_numpy()
        low, high = (
            shares * odds / (1 - shares + shares * odds) for odds in (1 / gamma, gamma)
        )
        corners = np.where(ends == 1, high, low)
        means = [corners @ u[t] / (corners @ w[t]) for t in (0, 1)]
        worst = corners[np.argmin(means[1] - means[0])]

        def error(member: np.ndarray, u: np.ndarray = u, w: np.ndarray = w) -> float:
            moved = np.zeros(len(member))
            for t, sign in ((0, -1), (1, 1)):
                moved += (
                    sign
                    * member
                    * (u[t] - (member @ u[t]) / (member @ w[t]) * w[t])
                    / (member @ w[t])
                )
            variance = 0.0
            for stratum in rows["stratum"].unique():
                mine = (rows["stratum"] == stratum).to_numpy()
                sums = [moved[cluster == one].sum() for one in np.unique(cluster[mine])]
                variance += sum((one - np.mean(sums)) ** 2 for one in sums)
            return float(variance**0.5)

        drawn = np.diff(found.evidence.drawn[0][:, g, 0], axis=1)[:, 0]
        apart = drawn - float(np.diff(found.evidence.values[0][g, 0])[0])
        out.append(
            float(
                np.mean(
                    apart * error(worst) / error(shares) >= min(means[1] - means[0])
                )
            )
        )
    return max(out)


@pytest.mark.parametrize("strata", [1, 2])
@pytest.mark.parametrize("accuracy", ["classification_rate", "calibration"])
def test_in_clusters_no_membership_is_worse_than_the_one_found(
    accuracy: str, strata: int
) -> None:
    rng, n = np.random.default_rng(3), 13
    p, household = rng.uniform(0.2, 0.8, n), np.array([0, 0, 0, 1, 1, *range(2, 10)])
    rows = pl.DataFrame(
        {
            "y": [1, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1],
            "old": [1, 0, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1],
            "new": [1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0],
            "p_a": p,
            "p_b": 1 - p,
            "household": household,
            "stratum": household % strata,
        }
    )
    found = improvable.compare(
        rows,
        group=Groups(probabilities=PROBABILITIES, assume="probabilities only"),
        accuracy=accuracy,
        claim=Claim(ask="accuracy"),
        cluster="household",
        stratum="stratum",
        test=Test(draws=1_000),
        read=Read(direction="as stated"),
        **DECIDED,
    )
    assert found.counts["clusters"] == 10
    slow, curve = 0.0, found.to_dict()["tipping_curve"]
    # With so few rows, where the denominators of the two algorithms differ, there may
    # be several memberships of which none that is near is worse: for 3.0 and above
    # another one than that found.
    for one in (
        curve
        if accuracy == "classification_rate"
        else (one for one in curve if one["gamma"] <= 2)
    ):
        slow = max(slow, brute_force(rows, found, one["gamma"], accuracy))
        assert one["p_value"] == pytest.approx(slow, abs=0.002), one["gamma"]
    assert found.p_value < slow - 0.04


def test_the_benchmark_is_what_tells_most_about_the_group() -> None:
    rows = people(900).with_columns(
        age=pl.col("p_b") + pl.Series(np.random.default_rng(1).normal(size=900)),
        place=pl.when(pl.col("p_b") > 0.8)
        .then(pl.lit("east"))
        .otherwise(pl.lit("west")),
    )
    weighted, claim = (
        Groups(probabilities=PROBABILITIES, assume="probabilities only"),
        Claim(ask="accuracy"),
    )

    def slow(inside: pl.Expr) -> float:
        everyone, out = float(rows["p_b"].to_numpy().mean()), []
        for some in (rows.filter(inside), rows.filter(~inside)):
            share = float(some["p_b"].to_numpy().mean())
            ratio = share / (1 - share) * (1 - everyone) / everyone
            out.append(max(ratio, 1 / ratio))
        return max(out)

    compared = improvable.compare(
        rows, group=weighted, claim=claim, test=FEW, **DECIDED, **MEASURED
    )
    facts, decision = compared.to_dict(), slow(pl.col("old") == 1)
    assert facts["tipping_benchmark"] == {
        "what": "the status quo's decision",
        "factor": pytest.approx(decision, 1e-5),
    }
    words = (
        f"than what the status quo's decision tells about the group ({decision:.2f})."
    )
    assert facts["tipping_point"] < decision
    assert f"That is no more {words}" in " ".join(compared.summary().split())
    further: Any = {**facts, "tipping_point": 1.5}
    assert f"That is more {words}" in tipping_words(further)

    features = ["x", "z", "age", "place"]
    audit = improvable.audit(
        rows,
        group=weighted,
        outcome="y",
        status_quo="old",
        features=features,
        rule="linear",
        claim=claim,
        test=Test(draws=200, repetitions=2),
        **MEASURED,
    ).to_dict()
    odds = {name: one["group_odds"] for name, one in audit["look"]["features"].items()}
    assert odds["place"] == pytest.approx(slow(pl.col("place") == "west"), rel=1e-5)
    assert odds["age"] == pytest.approx(
        slow(pl.col("age") > pl.col("age").mean()), rel=1e-5
    )
    assert max(odds, key=lambda name: odds[name] or 0.0) == "place"
    assert audit["tipping_benchmark"] == {"what": "place", "factor": odds["place"]}


def test_a_part_that_holds_a_group_for_certain_has_the_largest_factor() -> None:
    assert odds_factor(
        np.array([10.0, 4.0, 6.0]), np.array([4.0, 4.0, 0.0])
    ) == pytest.approx(CERTAIN)
    assert odds_factor(np.array([10.0, 4.0, 6.0]), np.array([5.0, 2.0, 3.0])) == 1


def test_the_worst_membership_is_found_by_sorting() -> None:
    rows, gamma = people(300), 1.5
    weighted = Groups(probabilities=PROBABILITIES, assume="probabilities only")
    claim = Claim(ask="accuracy")
    found = improvable.compare(
        rows, group=weighted, claim=claim, test=FEW, **DECIDED, **MEASURED
    )
    right = [
        (rows[name] == rows["y"]).to_numpy().astype(float) for name in ("old", "new")
    ]
    gain, slow = right[1] - right[0], []
    for g, column in enumerate(("p_a", "p_b")):
        shares = rows[column].to_numpy()
        low, high = (
            shares * odds / (1 - shares + shares * odds) for odds in (1 / gamma, gamma)
        )
        every = [np.where(gain > cut, low, high) for cut in (-2, -1, 0, 1)]
        worst = min(
            every, key=lambda member: float((member * gain).sum() / member.sum())
        )

        def error(member: np.ndarray, gain: np.ndarray = gain) -> float:
            mean = (member * gain).sum() / member.sum()
            return float(np.sqrt(((member * (gain - mean) / member.sum()) ** 2).sum()))

        drawn = np.diff(found.evidence.drawn[0][:, g, 0], axis=1)[:, 0]
        moved = drawn - (shares * gain).sum() / shares.sum()
        against = (
            moved * error(worst) / error(shares) >= (worst * gain).sum() / worst.sum()
        )
        slow.append(float(against.mean()))
    curve = {one["gamma"]: one["p_value"] for one in found.to_dict()["tipping_curve"]}
    assert abs(curve[gamma] - max(slow)) <= 0.005
