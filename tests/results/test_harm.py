"""Every output names the group that is worse off under the status quo, and in which
sense.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_compare
from improvable.data.groups import Attribute
from improvable.inference.diagnostics import selection_rates
from improvable.report.html import html_page, notebook_html
from improvable.report.latex import latex_table
from improvable.report.markdown import markdown
from improvable.results.wording import harm_words, rates_words
from oracle import NAIVE_UTILITIES, naive_values

# For each utility: on which side a group is worse off if selection is a benefit, and if
# it is a burden.
WORSE_OFF = {
    "classification_rate": ("lower", "lower"),
    "calibration": ("higher", "lower"),
    "calibration_rejected": ("higher", "lower"),
    "false_positive_rate": ("lower", "higher"),
    "false_negative_rate": ("higher", "lower"),
    "true_positive_rate": ("lower", "higher"),
    "true_negative_rate": ("higher", "lower"),
    "positive_predictive_value": ("higher", "lower"),
    "selection_rate": ("lower", "higher"),
    "profit": ("higher", "higher"),
    "f_score": ("lower", "lower"),
    "lift": ("higher", "lower"),
    "adverse_impact_ratio": ("lower", "higher"),
}
SELECTIONS = ["benefit", "burden"]


def compared(case: Case, **options: Any) -> improvable.Comparison:
    return flat_compare(
        case.frame(),
        group="group",
        status_quo="now",
        candidate="new",
        draws=300,
        ask="fairness",
        **{"outcome": "binary", "accuracy": "selection_rate", **options},
    )


def gap_between(name: str, one: float, other: float) -> float:
    """How far one is above the other; of a ratio, as a share of the larger."""
    whole = max(one, other) if improvable.UTILITIES[name].between == "ratio" else 1.0
    return (one - other) / whole


def test_the_table_covers_every_utility() -> None:
    assert set(WORSE_OFF) == set(improvable.UTILITIES) == set(NAIVE_UTILITIES)


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("name", WORSE_OFF)
def test_the_harmed_group_is_the_one_on_the_side_of_the_table(
    name: str, selection: Any
) -> None:
    case = Case(seed=3, rows=900, prices=name == "profit")
    result = compared(
        case,
        accuracy="profit" if name == "profit" else "selection_rate",
        fairness=name,
        selection=selection,
    )
    values = naive_values(name, case.binary, case.decisions[:1], case.group)[:, 0]
    side = WORSE_OFF[name][SELECTIONS.index(selection)]
    expected = "ab"[int(np.argmin(values) if side == "lower" else np.argmax(values))]
    gap = result.facts["disparity"]
    assert (gap["worse_off"], gap["better_off"]) == (
        expected,
        "ab".replace(expected, ""),
    )
    assert gap["gap"] == pytest.approx(abs(gap_between(name, values[0], values[1])))
    assert (gap["higher"] == expected) == (side == "higher")


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize(
    "name", ["calibration", "selection_rate", "false_positive_rate"]
)
def test_every_output_names_it(name: str, selection: Any) -> None:
    result = compared(Case(seed=3, rows=900), fairness=name, selection=selection)
    facts = result.facts
    words = harm_words(facts["disparity"], facts)
    worse = facts["disparity"]["worse_off"]
    assert words.startswith(f"Under the status quo {worse} is worse off than ")
    assert f"(selection is a {selection})" in words
    assert f"for the {selection}" in words
    outputs = [
        " ".join(result.summary(verbose=True).split()),
        html_page(result),
        notebook_html(facts),
        latex_table(facts),
    ]
    outputs.append(markdown(result))
    sentence = (
        f"Under the status quo {worse} is worse off than "
        f"{facts['disparity']['better_off']}"
    )
    for output in outputs:
        assert sentence in output


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("name", WORSE_OFF)
def test_the_harmed_group_can_be_protected_and_the_other_cannot(
    name: str, selection: Any
) -> None:
    case = Case(seed=3, rows=900, prices=name == "profit")
    asked: dict[str, Any] = {
        "accuracy": "profit" if name == "profit" else "selection_rate",
        "fairness": name,
        "selection": selection,
    }
    two_sided = compared(case, **asked)
    worse, better = (
        two_sided.facts["disparity"][key] for key in ("worse_off", "better_off")
    )
    result = compared(case, protected=worse, **asked)
    gap = result.facts["disparity"]
    assert {**gap, "interval": None} == {
        **two_sided.facts["disparity"],
        "interval": None,
    }
    # The protected group's own gap, one-sided: how far it is on the worse side of the
    # other one.
    values = naive_values(name, case.binary, case.decisions, case.group)
    sign = 1 if WORSE_OFF[name][SELECTIONS.index(selection)] == "lower" else -1
    p = "ab".index(worse)
    pair = [
        max(0.0, sign * gap_between(name, values[1 - p, t], values[p, t]))
        for t in (0, 1)
    ]
    assert list(result.facts["repetitions"][0]["gap"].values()) == pytest.approx(pair)
    with pytest.raises(improvable.DataError, match=f"'{better}' is not worse off"):
        compared(case, protected=better, **asked)


def test_the_flagship_names_the_black_patients() -> None:
    people = improvable.datasets.care_management(6_000, seed=1)
    asked: dict[str, Any] = {
        "outcome": "gagne_sum_t",
        "group": "race",
        "draws": 300,
        "status_quo": improvable.threshold("risk_score_t", capacity=0.1),
        "candidate": improvable.threshold("gagne_sum_tm1", capacity=0.1),
    }
    result = flat_compare(people, protected="black", **asked)
    assert result.facts["disparity"]["worse_off"] == "black"
    text = " ".join(result.summary(verbose=True).split())
    assert "is higher for black, a higher bar for the benefit" in text
    assert (
        "Selection rates and the gap point to different groups: white is selected less "
        "often"
    ) in text
    with pytest.raises(
        improvable.DataError,
        match=r"'black' is not worse off .*`claim=Claim.selection='benefit'.` or",
    ):
        flat_compare(people, protected="black", selection="burden", **asked)


def test_four_fifths_flag_the_group_that_is_disadvantaged() -> None:
    attribute = Attribute("g", ("a", "b"), np.array([0, 1]))
    rows, selected = np.array([100, 400]), np.array([50, 100])
    benefit = {
        one.group: one
        for one in selection_rates([attribute], rows, selected, "benefit")
    }
    burden = {
        one.group: one for one in selection_rates([attribute], rows, selected, "burden")
    }
    assert (
        benefit["a"].best_off,
        benefit["b"].ratio,
        benefit["b"].below_four_fifths,
    ) == (True, 0.5, True)
    assert (burden["b"].best_off, burden["a"].ratio, burden["a"].below_four_fifths) == (
        True,
        0.5,
        True,
    )
    assert not benefit["a"].below_four_fifths
    assert not burden["b"].below_four_fifths
    assert burden["a"].standard_deviations == pytest.approx(
        -benefit["b"].standard_deviations
    )
    spared = selection_rates([attribute], rows, np.array([50, 0]), "burden")
    assert [(one.ratio, one.below_four_fifths) for one in spared] == [
        (0.0, True),
        (1.0, False),
    ]
    nobody = selection_rates([attribute], rows, np.array([0, 0]), "burden")
    assert [(one.ratio, one.below_four_fifths) for one in nobody] == [(None, False)] * 2


def pointed_at(rates: dict[str, float], worse: str, selection: str) -> str | None:
    """Slow and obvious: whom rates point to where the gap points elsewhere."""
    ordered = sorted(
        rates, key=lambda group: rates[group], reverse=selection == "burden"
    )
    last, best = ordered[0], ordered[-1]
    low, high = sorted((rates[last], rates[best]))
    return last if low / high < 0.8 and last != worse else None


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("seed", range(12))
def test_rates_name_the_group_that_is_selected_least_or_most_often(
    seed: int, selection: Any
) -> None:
    rng = np.random.default_rng(seed)
    names = [
        f"District {letter}" for letter in "ABCDEFGHIJ"[: int(rng.choice([2, 3, 10]))]
    ]
    group = rng.integers(0, len(names), 4_000)
    chance = rng.uniform(0.3, 0.6, len(names))
    rows = pl.DataFrame(
        {
            "y": rng.poisson(2.0, 4_000),
            "g": np.array(names)[group],
            "d0": (rng.random(4_000) < chance[group]).astype(int),
            "d1": rng.integers(0, 2, 4_000),
        }
    )
    facts = improvable.compare(
        rows,
        outcome="y",
        group="g",
        status_quo="d0",
        candidate="d1",
        claim=improvable.Claim(selection=selection),
        test=improvable.Test(draws=100),
    ).facts
    rates = {
        name: float(rows.filter(pl.col("g") == name)["d0"].mean())  # type: ignore[arg-type]
        for name in names
    }
    worse = facts["disparity"]["worse_off"]
    named, text = pointed_at(rates, worse, selection), rates_words(facts)
    least = {"benefit": ("less", "least"), "burden": ("more", "most")}[selection][
        len(names) > 2
    ]
    if named is None:
        assert text == ""
    else:
        assert (
            f"{named} is selected {least} often, but by what the gap measures {worse} "
            "is worse off."
        ) in text


def test_rates_that_point_to_the_group_of_the_gap_say_nothing_and_ties_are_all_named() -> (  # noqa: E501
    None
):
    facts = compared(Case()).facts
    worse = facts["disparity"]["worse_off"]
    facts["diagnostics"]["selection_rates"] = [
        {
            **facts["diagnostics"]["selection_rates"][0],
            "group": group,
            "ratio": ratio,
            "below_four_fifths": ratio < 0.8,
        }
        for group, ratio in (("p", 1.0), ("q", 0.5), ("r", 0.5), (worse, 0.4))
    ]
    assert rates_words(facts) == ""
    facts["diagnostics"]["selection_rates"].pop()
    assert ": q and r are selected least often, but " in rates_words(facts)


def test_a_utility_of_ones_own_says_who_is_worse_off() -> None:
    wait = improvable.Utility(
        lambda y, d: y * d,
        lambda y, d: d,
        name="wait",
        worse_off="higher",
        sense="a longer wait",
    )
    result = compared(Case(), outcome="count", fairness=wait)
    gap = result.facts["disparity"]
    assert gap["worse_off"] == gap["higher"]
    assert ", a longer wait (" in harm_words(gap, result.facts)
    plain = improvable.Utility(lambda y, d: y * d, lambda y, d: d, name="plain")
    gap = compared(Case(), outcome="count", fairness=plain).facts["disparity"]
    assert gap["worse_off"] == gap["lower"]
    with pytest.raises(
        improvable.OptionError, match="It is 'lower' or 'higher', or a pair"
    ):
        improvable.Utility(lambda y, d: y, name="odd", worse_off="less")  # type: ignore[arg-type]


# Lower is better.


def lending(seed: int = 0, rows: int = 3_000) -> pl.DataFrame:
    """What loans lose: the status quo lends to the wrong ones, the candidate to safer
    ones.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    risk = rng.normal(0.4 * group, 1.0, rows)
    loss = (risk + rng.normal(0, 0.5, rows) > 0.3) * np.where(
        rng.random(rows) < 0.5, 0.8, 1.2
    )
    before = (-0.3 * risk + 0.5 * group + rng.normal(0, 1, rows) > 0.3).astype(float)
    after = (risk < -0.2).astype(float)
    return pl.DataFrame(
        {
            "loss": loss,
            "group": np.array(["a", "b"])[group],
            "risk": risk,
            "now": before,
            "new": after,
        }
    )


def lent(**options: Any) -> improvable.Comparison:
    return flat_compare(
        lending(),
        outcome="loss",
        group="group",
        **{"status_quo": "now", "candidate": "new", "draws": 500, **options},
    )


def test_the_wrong_way_round_the_same_rows_say_the_opposite() -> None:
    """Larger losses were called more accurate: the candidate that lends to those who
    lose it rejected.
    """
    right, wrong = lent(lower_is_better=True), lent(direction="as stated")
    assert right.reject
    assert not wrong.reject
    back = {"status_quo": "new", "candidate": "now", "ask": "accuracy"}
    assert not lent(lower_is_better=True, **back).reject
    assert lent(**back, direction="as stated").reject
    for group in "ab":
        pair = right.facts["repetitions"][0]["accuracy"][group]
        rows = lending().filter(pl.col("group") == group)
        loss = rows.filter(pl.col("now") == 1)["loss"].to_numpy().mean()
        assert pair["status_quo"] == pytest.approx(loss, rel=1e-12), (
            "in the outcome's own units"
        )
    assert "Lower is better: accuracy rises where that value falls." in " ".join(
        right.summary().split()
    )


@pytest.mark.parametrize(
    ("form", "delta"), [("ratio", 0.1), ("ratio", -0.05), ("difference", 0.02)]
)
def test_lower_is_better_equals_a_recoded_outcome(form: Any, delta: float) -> None:
    """By amounts it is the test of the negative; by shares, lower by a share: U1 < (1 -
    delta) U0.
    """
    asked: dict[str, Any] = {
        "form": form,
        "delta_accuracy": delta,
        "ask": "accuracy",
        "seed": 4,
    }
    result = lent(lower_is_better=True, **asked)
    evidence = result.evidence
    for g, group in enumerate("ab"):
        u0, u1 = evidence.values[0][g, 0]
        drawn = evidence.drawn[0][:, g, 0]
        if form == "ratio":
            statistic, draws = (
                (1 - delta) * u0 - u1,
                (1 - delta) * drawn[:, 0] - drawn[:, 1],
            )
        else:
            statistic, draws = u0 - u1 - delta, drawn[:, 0] - drawn[:, 1] - delta
        slow = float(np.mean(draws - statistic >= statistic))
        assert result.assessment.p_accuracy[group] == pytest.approx(slow, abs=1e-9)
    if form == "difference":
        negative = lending().with_columns(loss=-pl.col("loss"))
        other = flat_compare(
            negative,
            outcome="loss",
            group="group",
            status_quo="now",
            candidate="new",
            draws=500,
            **asked,
        )
        assert other.assessment.p_accuracy == pytest.approx(
            result.assessment.p_accuracy, abs=0.03
        )


def test_the_frontier_follows_where_lower_is_better() -> None:
    result = lent(lower_is_better=True)
    frontier = result.frontier()
    for delta in (-0.1, 0.0, 0.1, 0.3):
        asked = result.with_claim(delta_accuracy=delta, delta_fairness=0.05)
        assert frontier.p_value(delta, 0.05) == pytest.approx(asked.p_value, abs=1e-9)
    assert any("can improve" in bound.words for bound in frontier.bounds())


@pytest.mark.parametrize(
    "rule", ["linear", "ridge:1", "boosting", "aim", "tournament:linear,lasso"]
)
def test_rules_select_the_lowest_predictions(rule: str) -> None:
    result = improvable.audit(
        lending(rows=1_500),
        outcome="loss",
        group="group",
        status_quo="now",
        rule=rule,
        features=["risk"],
        capacity=0.3,
        claim=improvable.Claim(lower_is_better=True),
        test=improvable.Test(repetitions=1, draws=200),
    )
    for pair in result.facts["repetitions"][0]["accuracy"].values():
        assert pair["candidate"] is not None
        assert pair["status_quo"] is not None
        assert pair["candidate"] < pair["status_quo"] - 0.1


def test_lower_is_better_turns_who_is_worse_off() -> None:
    """Smaller losses among a group's borrowers mean that the bar to get a loan was
    higher for it.
    """
    gap = lent(lower_is_better=True).facts["disparity"]
    assert gap["worse_off"] == gap["lower"]
    assert lent(direction="as stated").facts["disparity"]["worse_off"] == gap["higher"]


def test_lower_is_better_is_refused_where_it_means_nothing() -> None:
    with pytest.raises(
        improvable.OptionError,
        match="'classification_rate' around, which is not a mean of outcomes",
    ):
        lent(lower_is_better=True, accuracy="classification_rate")
    assert lent(
        lower_is_better=True, accuracy="calibration_rejected", ask="accuracy"
    ).facts["accuracy_utilities"][0]["higher_is_better"]
