"""How often folds, forward blocks and halves reject a true null: `python
docs/pictures/why_not_folds.py`.

It draws why_not_folds.svg and writes the tables of the pages that tell of it, in less
than a minute on one core.

Outcomes of a group are coin tosses, so no algorithm is more accurate for it than any
other. Each candidate reverses the status quo's decisions about its own tenth of the
people: about half of these decisions become right, the others wrong. In all else the
candidates are clearly better, so this group's accuracy decides. All that matters of a
data set is how many people each candidate helps, how many it harms, and how many none
of them touches. A repetition puts each person into a block by chance, as a keyed hash
does.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from improvable.report.plots.style import Chart, chart, field, make_chart, series

HERE = Path(__file__).parent
EXPLANATION = HERE.parent / "explanation"
DATA_SETS, PEOPLE, TENTH, REPETITIONS, LEVEL = 20_000, 2_000, 0.1, 7, 0.05
CANDIDATES, SIZES = (1, 2, 3, 4, 6, 8), (500, 2_000, 8_000, 32_000)

Numbers = NDArray[Any]
Scheme = tuple[Numbers, list[tuple[list[int], int]]]
"""The shares of the blocks; and each tested block, after the blocks that teach its
candidate.
"""


class State(NamedTuple):
    """What a rule may know before a block, one entry for each data set.

    Attributes
    ----------
    gains : array of shape (data sets, candidates)
        People helped less people harmed among the rows that teach.
    score, variance : array of shape (data sets,)
        The standardized gain of the blocks tested so far, and the variance of the gain
        itself.
    changed : float
        How many people of the block one candidate touches, in expectation.
    goal : float
        What the score must exceed in the end.
    """

    gains: Numbers
    score: Numbers
    variance: Numbers
    changed: float
    goal: float


Rule = Callable[[State], tuple[Numbers, Numbers]]
"""The candidate of a block, and how much it changes there: 1, or 0 to keep the status
quo; amounts may change more.
"""


def best(state: State) -> tuple[Numbers, Numbers]:
    """Take the candidate that did best."""
    return state.gains.argmax(axis=1), np.ones(len(state.gains))


def careful(state: State) -> tuple[Numbers, Numbers]:
    """Take it only if it did better than the status quo."""
    return state.gains.argmax(axis=1), (state.gains.max(axis=1) > 0).astype(float)


def lock(state: State) -> tuple[Numbers, Numbers]:
    """Keep the status quo as soon as the score is past its goal."""
    return state.gains.argmax(axis=1), (state.score < state.goal).astype(float)


def raise_stakes(state: State) -> tuple[Numbers, Numbers]:
    """Change the more the farther the score is from its goal; a block gets at most 90%
    of the variance.
    """
    part = np.clip(1 - (np.maximum(state.score, 0) / state.goal) ** 2, 0, 0.9)
    stake = np.sqrt(part / (1 - part) * state.variance / state.changed)
    return state.gains.argmax(axis=1), np.where(state.variance > 0, stake, 1.0)


def folds(count: int) -> Scheme:
    return np.full(count, 1 / count), [
        ([b for b in range(count) if b != fold], fold) for fold in range(count)
    ]


SCHEMES: dict[str, Scheme] = {
    "five folds": folds(5),
    "two folds": folds(2),
    "forward": (
        np.array([0.1, 0.1, 0.2, 0.3, 0.3]),
        [(list(range(block)), block) for block in range(1, 5)],
    ),
    "the paper's halves": (np.array([0.5, 0.5]), [([0], 1)]),
}


def one_score(
    cells: Numbers, scheme: Scheme, rule: Rule, goal: float, rng: np.random.Generator
) -> Numbers:
    """The standardized gain of one repetition, in every data set.

    Parameters
    ----------
    cells : array of shape (data sets, 2 x candidates + 1)
        How many people each candidate helps, how many each harms, how many none
        touches.
    """
    shares, lessons = scheme
    blocks, count = rng.multinomial(cells, shares), cells.shape[1] // 2
    helped, harmed, people = blocks[:, :count], blocks[:, count:-1], blocks.sum(axis=1)
    gain, square, tested = np.zeros((3, len(cells)))
    every = np.arange(len(cells))
    for teaching, block in lessons:
        variance = square - gain**2 / np.maximum(tested, 1)
        gains = (helped - harmed)[:, :, teaching].sum(axis=2)
        changed = float(cells[:, :-1].mean() * 2 * shares[block])
        chosen, stake = rule(
            State(gains, _standardized(gain, variance), variance, changed, goal)
        )
        gain += stake * (helped - harmed)[every, chosen, block]
        square += stake**2 * (helped + harmed)[every, chosen, block]
        tested += people[:, block]
    return _standardized(gain, square - gain**2 / tested)


def _standardized(gain: Numbers, variance: Numbers) -> Numbers:
    """A gain in standard deviations; where nothing was changed, nothing was gained."""
    return np.where(variance > 0, gain / np.sqrt(np.maximum(variance, 1e-9)), 0.0)


def scores(
    scheme: str,
    shares: Sequence[float],
    *,
    rule: Rule = best,
    level: float = LEVEL,
    people: int = PEOPLE,
    data_sets: int = DATA_SETS,
    repetitions: int = REPETITIONS,
    seed: int = 0,
) -> Numbers:
    """The scores of some repetitions in many data sets.

    Parameters
    ----------
    scheme : str
    shares : sequence of float
        The share of the people whom each candidate touches.
    rule : Rule
    level : float
        At which the rule expects to be tested.
    people, data_sets, repetitions, seed : int
    """
    rng, halves = np.random.default_rng(seed), [share / 2 for share in shares]
    cells = rng.multinomial(people, [*halves, *halves, 1 - sum(shares)], size=data_sets)
    return np.array(
        [
            one_score(cells, SCHEMES[scheme], rule, critical(level), rng)
            for _ in range(repetitions)
        ]
    )


def critical(level: float) -> float:
    return NormalDist().inv_cdf(1 - level)


def rejected(found: Numbers, level: float) -> float:
    """The share of data sets in which the lower median of the p-values is below a
    level.
    """
    return float((np.sort(found, axis=0)[len(found) // 2] > critical(level)).mean())


def error(share: float, data_sets: int = DATA_SETS) -> float:
    """One Monte Carlo error."""
    return float(np.sqrt(share * (1 - share) / data_sets))


def both_levels(
    scheme: str, shares: Sequence[float], rule: Rule = best, people: int = PEOPLE
) -> tuple[float, float]:
    """The level of one repetition at alpha, and that of the median of seven at alpha
    / 2.
    """
    once, seven = (
        scores(
            scheme,
            shares,
            rule=rule,
            level=level,
            people=people,
            repetitions=repetitions,
        )
        for level, repetitions in ((LEVEL, 1), (LEVEL / 2, REPETITIONS))
    )
    return rejected(once, LEVEL), rejected(seven, LEVEL / 2)


def picture(levels: Mapping[int, Mapping[str, tuple[float, float]]]) -> Chart:
    """Level against the number of candidates: of one repetition, and of the median of
    seven.
    """
    legend = {
        "orient": "top",
        "labelFontSize": 13,
        "symbolSize": 110,
        "symbolOpacity": 1,
    }
    color, shape = series(
        "scheme",
        list(SCHEMES),
        ["#D55E00", "#E69F00", "#0072B2", "#000000"],
        ["square", "triangle-up", "circle", "diamond"],
        title=None,
        legend=legend,
    )
    x = field(
        "count:Q",
        title="candidates the rule chooses among, none of them better",
        axis={"values": list(levels), "grid": False},
        scale={"domain": [0.5, max(levels) + 0.5]},
    )
    panels = []
    for which, title in enumerate(
        ("One repetition, p below 5%", "Lower median of seven, below 2.5%")
    ):
        y = field(
            "level:Q",
            title="share of true nulls rejected" if which == 0 else None,
            axis={"format": "%", "values": [0, 0.05, 0.1, 0.15]},
            scale={"domain": [0, 0.16]},
        )
        base = chart(level_rows(levels, which)).encode(x=x, color=color)
        limit = chart([{"level": LEVEL}])
        layers = [
            limit.mark("rule", strokeDash=[5, 4], color="#555555").encode(y=y),
            base.mark("line", strokeWidth=1.5).encode(y=y),
            base.mark("rule", strokeWidth=2).encode(
                y=field("low:Q", title=None), y2="high"
            ),
            base.mark("point", filled=True, size=80, opacity=1).encode(
                y=y, shape=shape
            ),
        ]
        head = {"text": title, "anchor": "start", "fontSize": 13}
        panels.append({"layer": layers, "width": 330, "height": 230, "title": head})
    words = (
        "At most 5% of true nulls may be rejected (dashed). Bars: two Monte Carlo "
        "errors."
    )
    head = {
        "text": "Folds confirm what chance chose",
        "subtitle": [words],
        "anchor": "start",
        "fontSize": 15,
        "subtitleFontSize": 12,
        "offset": 8,
    }
    return make_chart({"hconcat": panels, "title": head, "background": "white"})


def level_rows(
    levels: Mapping[int, Mapping[str, tuple[float, float]]], which: int
) -> list[dict[str, Any]]:
    """A row for each number of candidates and each scheme: its level, and two Monte
    Carlo errors around it.
    """
    return [
        {
            "count": count,
            "scheme": name,
            "level": pair[which],
            "low": pair[which] - 2 * error(pair[which]),
            "high": pair[which] + 2 * error(pair[which]),
        }
        for count, by_scheme in levels.items()
        for name, pair in by_scheme.items()
    ]


def level_table(
    first: str, levels: Mapping[int, Mapping[str, tuple[float, float]]]
) -> str:
    """A row for each number: each scheme's level of one repetition, and of the
    median.
    """
    lines = [f"| {first} | {' | '.join(SCHEMES)} |", "|---" * (1 + len(SCHEMES)) + "|"]
    for number, by_scheme in levels.items():
        cells = [f"{once:.3f}, {seven:.3f}" for once, seven in by_scheme.values()]
        lines.append(f"| {number:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def rule_table() -> str:
    """Forward repetitions of rules whose candidates' variance does not settle down."""
    four, one = [TENTH] * 4, [TENTH]
    rules: list[tuple[str, Rule, list[float]]] = [
        ("takes the best of four candidates", best, four),
        ("takes it only if it did better than the status quo", careful, four),
        (
            "takes the best of four that change 1, 3, 10 and 30% of the decisions",
            best,
            [0.01, 0.03, 0.1, 0.3],
        ),
        ("keeps the status quo as soon as its statistic is large enough", lock, one),
        (
            "raises its stakes while its statistic is too small (amounts only)",
            raise_stakes,
            one,
        ),
    ]
    lines = [
        "| the rule | one repetition at 5% | median of seven at 2.5% |",
        "|---|---|---|",
    ]
    for words, rule, shares in rules:
        cells = [
            f"{share:.3f} ± {error(share):.3f}"
            for share in both_levels("forward", shares, rule)
        ]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def write(page: str, name: str, table: str) -> None:
    """Put a table between its markers on a page."""
    path, mark = EXPLANATION / page, f"<!-- why_not_folds.py: {name} -->"
    text = path.read_text(encoding="utf-8")
    assert mark in text, f"{page} has no place for the table of {name}"
    pattern = f"{re.escape(mark)}.*?<!-- end -->"
    path.write_text(
        re.sub(pattern, f"{mark}\n\n{table}\n\n<!-- end -->", text, flags=re.DOTALL),
        encoding="utf-8",
    )


def main() -> None:
    """Simulate, draw, write."""
    by_count = {
        count: {name: both_levels(name, [TENTH] * count) for name in SCHEMES}
        for count in CANDIDATES
    }
    by_size = {
        people: {
            name: both_levels(name, [TENTH] * 4, people=people) for name in SCHEMES
        }
        for people in SIZES
    }
    picture(by_count).save(HERE / "why_not_folds.svg")
    write("paper.md", "candidates", level_table("candidates", by_count))
    write("paper.md", "rows", level_table("rows", by_size))
    write("guarantees.md", "rules", rule_table())


if __name__ == "__main__":
    main()
