"""Section 6 and Appendix H as audits, each held beside what the paper prints."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import improvable
from improvable.datasets import CARE_MANAGEMENT_COVARIATES
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.numbers import p_text
from improvable.studies.replication import published
from improvable.studies.replication.source import HELD_OUT_SCORE, StudyData

CAPACITY = 0.03
OUTCOMES = {"next_year": "gagne_sum_t", "same_year": "gagne_sum_tm1"}
RULES = ("linear", "lasso", "forest")
MAIN, COST, HELD_OUT = "next_year/forest", "next_year/forest, cost", "next_year/lasso, held-out third"


@dataclass(frozen=True)
class Effort:
    """How much work a replication does.

    Attributes
    ----------
    splits, draws, trees : int
    repetitions, repetition_draws : int
        Of Appendix E.
    rows : int
        Of simulated data.
    """

    splits: int = 7
    draws: int = 10_000
    trees: int = 300
    repetitions: int = 5_000
    repetition_draws: int = 2_000
    rows: int = 48_784

    def rule(self, name: str) -> str:
        return f"forest:{self.trees}" if name == "forest" and self.trees != Effort().trees else name


FAST = Effort(splits=3, draws=2_000, trees=20, repetitions=500, repetition_draws=500, rows=24_000)


@dataclass(frozen=True)
class Row:
    """One number of the paper beside ours."""

    quantity: str
    published: str
    ours: str
    difference: str = ""


@dataclass(frozen=True)
class Section:
    """One table of the paper beside ours.

    Attributes
    ----------
    name : str
        "next_year/forest".
    title : str
    result : Audit or Comparison
        With the paper's absolute statistic.
    rows : list of Row
    """

    name: str
    title: str
    result: Audit | Comparison
    rows: list[Row] = field(default_factory=list)


def run_study(
    data: StudyData, effort: Effort, folder: Path, seed: int, n_jobs: int | None, announce: Callable[[str], None]
) -> Iterator[Section]:
    """Every audit that the data allow; finished splits are kept in the folder and not run again."""
    if not data.covariates:
        yield from _held_out(data, effort, seed, announce)
        return
    for period in OUTCOMES:
        for rule in RULES:
            name = f"{period}/{rule}"
            announce(name)
            result = _audit(data, effort, folder, name, seed, n_jobs, accuracy="calibration")
            yield Section(
                name, _title(period, rule), result, [*_table_rows(result, name), *_frontier_rows(result, name)]
            )
    announce(COST)
    result = _audit(
        data, effort, folder, COST, seed, n_jobs, accuracy="calibration:cost_t", fairness="calibration:gagne_sum_t"
    )
    yield Section(
        COST, "Appendix H: accuracy measured by cost, forest trained on conditions", result, _cost_rows(result)
    )


def _audit(
    data: StudyData, effort: Effort, folder: Path, name: str, seed: int, n_jobs: int | None, **utilities: Any
) -> Audit:
    period, rule = name.split(",")[0].split("/")
    outcome = OUTCOMES[period]
    return improvable.audit(
        data.frame,
        outcome=outcome,
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=CAPACITY),
        rule=effort.rule(rule),
        features=[column for column in CARE_MANAGEMENT_COVARIATES if column != outcome],
        gap="absolute",
        splits=effort.splits,
        draws=effort.draws,
        seed=seed,
        n_jobs=n_jobs,
        run_folder=folder / name.replace("/", "-").replace(", ", "-"),
        **utilities,
    )


def _held_out(data: StudyData, effort: Effort, seed: int, announce: Callable[[str], None]) -> Iterator[Section]:
    def compare(**utilities: Any) -> Comparison:
        return improvable.compare(
            data.frame,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=CAPACITY),
            candidate=improvable.threshold(HELD_OUT_SCORE, capacity=CAPACITY),
            gap="absolute",
            draws=effort.draws,
            seed=seed,
            **utilities,
        )

    announce(HELD_OUT)
    result = compare()
    title = "Section 6 on the held-out third: LASSO trained on the other two thirds, beside the paper's LASSO table"
    yield Section(HELD_OUT, title, result, [*_table_rows(result, "next_year/lasso"), *_frontier_rows(result, HELD_OUT)])
    announce(COST)
    result = compare(accuracy="calibration:cost_t", fairness="calibration:gagne_sum_t")
    yield Section(COST, "Appendix H: accuracy measured by cost", result, _cost_rows(result))


def _title(period: str, rule: str) -> str:
    when = {"next_year": "conditions of the following year", "same_year": "conditions of the same year"}[period]
    where = "Section 6" if (period, rule) == ("next_year", "forest") else "Appendix H"
    return f"{where}: {rule}, {when}"


def _table_rows(result: Audit | Comparison, table: str) -> list[Row]:
    """Means over splits of every utility and gap, and both median p-values."""
    splits = result.to_dict()["splits"]
    rows = []
    for column in published.MEANS:
        name, algorithm = column.split("_", 1)
        source = [s["gap"] if name == "gap" else s["accuracy"][name] for s in splits]
        ours = sum(one[algorithm] for one in source) / len(source)
        theirs, (low, high) = published.published_mean(table, column), published.published_range(table, column)
        words = "gap" if name == "gap" else f"accuracy of {name}"
        rows.append(
            Row(
                f"{words}, {algorithm.replace('_', ' ')}",
                f"{theirs:.2f} ({low:.2f} to {high:.2f})",
                f"{ours:.2f}",
                f"{ours - theirs:+.2f}",
            )
        )
    signed = result.reconsider(gap="signed")
    middle = "lower median p" if len(splits) > 1 else "p"
    rows.append(Row(f"{middle}, absolute gap (the paper's)", published.MEDIAN_P[table], _p(result)))
    rows.append(Row(f"{middle}, signed gap (ours)", "", _p(signed)))
    rows.append(_verdict("rejected", result, signed))
    return rows


def _frontier_rows(result: Audit | Comparison, name: str) -> list[Row]:
    """Where the edge of Figure 3 crosses the axes; the paper prints it for the forest alone."""
    frontier = result.frontier()
    rows = []
    for i, (words, theirs) in enumerate(
        [
            ("largest cut of the gap at no loss of accuracy", published.FRONTIER_FAIRNESS),
            ("largest gain of accuracy with no wider gap", published.FRONTIER_ACCURACY),
        ]
    ):
        absolute, signed = (frontier.bounds(gap)[i].value for gap in ("absolute", "signed"))
        shown = f"{theirs:.2f}" if name == MAIN else ""
        difference = f"{absolute - theirs:+.2f}" if name == MAIN and absolute > 0 else ""
        rows.append(Row(f"{words}, absolute gap", shown, _share(absolute), difference))
        rows.append(Row(f"{words}, signed gap", "", _share(signed)))
    return rows


def _cost_rows(result: Audit | Comparison) -> list[Row]:
    signed = result.reconsider(gap="signed")
    middle = "lower median p" if isinstance(result, Audit) else "p"
    return [
        Row(f"{middle}, absolute gap (the paper's)", "above 0.025", _p(result)),
        Row(f"{middle}, signed gap (ours)", "", _p(signed)),
        _verdict("not rejected", result, signed),
    ]


def _verdict(theirs: str, absolute: Audit | Comparison, signed: Audit | Comparison) -> Row:
    words = ["rejected" if one.reject else "not rejected" for one in (absolute, signed)]
    ours = words[0] if words[0] == words[1] else f"{words[0]} (signed: {words[1]})"
    return Row("verdict at 5%", theirs, ours, "same" if words[0] == theirs else "DIFFERENT")


def _p(result: Audit | Comparison) -> str:
    return p_text(result.p_value, result.question.draws)


def _share(value: float) -> str:
    return f"{value:.2f}" if value > 0 else "none shown"
