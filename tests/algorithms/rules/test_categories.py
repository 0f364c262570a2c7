"""Decisions that are categories: codes whose worth only a utility knows, in comparisons
and in audits.
"""

from typing import Any

import numpy as np
import polars as pl
import pytest

import improvable

WORTH = np.array([[0.0, -4.0], [-1.0, 1.0], [-3.0, 5.0]])
"""Of no offer, a call and a visit, to someone well and to someone ill."""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    n = 3_000
    b = rng.random(n) < 0.4
    need = rng.normal(size=n)
    sign = need + 0.4 * rng.normal(size=n)
    return pl.DataFrame(
        {
            "group": np.where(b, "b", "a"),
            "sign": sign,
            "ill": (rng.random(n) < 1 / (1 + np.exp(-need))).astype(int),
            "old": np.digitize(need + rng.normal(size=n) - 0.7 * b, [-0.3, 0.8]),
            "new": np.digitize(sign, [-0.3, 0.8]),
        }
    )


def value_of(codes: tuple[int, int, int]) -> improvable.Utility:
    place = {code: offer for offer, code in enumerate(codes)}

    def worth(ill: Any, offer: Any) -> Any:
        return [WORTH[place[int(d)], int(y)] for y, d in zip(ill, offer, strict=True)]

    return improvable.Utility(worth, name="value")


def visits_of(codes: tuple[int, int, int]) -> improvable.Utility:
    return improvable.Utility(lambda ill, offer: offer == codes[2], name="visits")


def compared(
    people: pl.DataFrame, codes: tuple[int, int, int]
) -> improvable.Comparison:
    coded = people.with_columns(
        pl.col("old", "new").replace_strict({0: codes[0], 1: codes[1], 2: codes[2]})
    )
    return improvable.compare(
        coded,
        outcome="ill",
        group="group",
        status_quo="old",
        candidate="new",
        accuracy=value_of(codes),
        fairness=visits_of(codes),
        claim=improvable.Claim(form="difference"),
        test=improvable.Test(draws=500),
    )


def test_utilities_of_codes_are_means_of_their_table(people: pl.DataFrame) -> None:
    repetition = compared(people, (0, 1, 2)).to_dict()["repetitions"][0]
    for group in ("a", "b"):
        mine = people.filter(pl.col("group") == group)
        for name, column in (("status_quo", "old"), ("candidate", "new")):
            mean = np.mean(
                [WORTH[d, y] for d, y in zip(mine[column], mine["ill"], strict=True)]
            )
            assert repetition["accuracy"][group][name] == pytest.approx(mean, rel=1e-12)
    groups = people["group"].to_numpy()
    for name, column in (("status_quo", "old"), ("candidate", "new")):
        visited = people[column].to_numpy() == 2
        gap = abs(visited[groups == "a"].mean() - visited[groups == "b"].mean())
        assert repetition["gap"][name] == pytest.approx(gap, rel=1e-9)


def test_other_codes_for_the_same_categories_change_nothing(
    people: pl.DataFrame,
) -> None:
    one, other = (compared(people, codes) for codes in ((0, 1, 2), (0, 9, -3)))
    assert one.reject
    assert one.p_value == other.p_value
    assert (
        one.to_dict()["repetitions"][0]["accuracy"]
        == other.to_dict()["repetitions"][0]["accuracy"]
    )


def test_a_rule_of_ones_own_may_choose_categories(people: pl.DataFrame) -> None:
    class BestCategory:
        """For each of ten bands of `sign`, the offer of the highest worth on the
        training rows.
        """

        name = "best_category"

        def select(
            self, training: improvable.Training, status_quo: improvable.Algorithm
        ) -> Any:
            sign, ill = training.rows.numbers("sign"), training.sample.outcomes[None]
            edges = np.quantile(sign, np.linspace(0.1, 0.9, 9))
            band = np.digitize(sign, edges)
            best = np.array(
                [
                    np.argmax(WORTH[:, ill[band == k].astype(int)].mean(axis=1))
                    for k in range(10)
                ]
            )
            return lambda frame: best[np.digitize(frame["sign"].to_numpy(), edges)]

    result = improvable.audit(
        people,
        outcome="ill",
        group="group",
        status_quo="old",
        rule=BestCategory(),
        features=["sign"],
        accuracy=value_of((0, 1, 2)),
        fairness=visits_of((0, 1, 2)),
        claim=improvable.Claim(form="difference"),
        test=improvable.Test(repetitions=3, draws=500, scheme="split"),
    )
    assert result.p_value < 0.05
    assert set(np.unique(result.refit().decide(people))) <= {0.0, 1.0, 2.0}
