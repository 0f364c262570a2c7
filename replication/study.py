"""Section 6 and Appendix H as audits, each held beside what the paper prints."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import improvable
from improvable.datasets import CARE_MANAGEMENT_COVARIATES
from improvable.errors import OptionError, nearest
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from replication.source import HELD_OUT_SCORE, StudyData
from replication.tables import (
    Row,
    SplitRow,
    cost_rows,
    frontier_rows,
    split_rows,
    table_rows,
)

CAPACITY = 0.03
OUTCOMES = {"next_year": "gagne_sum_t", "same_year": "gagne_sum_tm1"}
RULES = ("linear", "lasso", "forest")
MAIN, COST, HELD_OUT = (
    "next_year/forest",
    "next_year/forest, cost",
    "next_year/lasso, held-out third",
)
TARGETED = "next_year/forest, cost, rule for cost"
HELD_OUT_COST, HELD_OUT_TARGETED = (
    f"{HELD_OUT}, cost",
    f"{HELD_OUT}, cost, score for cost",
)
TARGET = "cost_t"
COST_UTILITIES = {
    "accuracy": "calibration:cost_t",
    "fairness": "calibration:gagne_sum_t",
}


@dataclass(frozen=True)
class Effort:
    """How much work a replication does.

    Attributes
    ----------
    splits, draws, trees : int
    simulations, simulation_draws : int
        Of Appendix E.
    rows : int
        Of simulated data.
    """

    splits: int = 7
    draws: int = 10_000
    trees: int = 300
    simulations: int = 5_000
    simulation_draws: int = 2_000
    rows: int = 48_784

    def rule(self, name: str) -> str:
        return (
            f"forest:{self.trees}"
            if name == "forest" and self.trees != Effort().trees
            else name
        )

    @property
    def differs(self) -> str:
        """Why a verdict of so much work is not comparable with the published one; empty
        for the paper's.
        """
        full = Effort()
        if (self.splits, self.draws, self.trees) == (
            full.splits,
            full.draws,
            full.trees,
        ):
            return ""
        return (
            f"{self.splits} splits, {self.draws:,} draws and forests of {self.trees} "
            f"trees instead of {full.splits}, {full.draws:,} and {full.trees}"
        )


FAST = Effort(splits=7, draws=2_000, trees=6, simulations=400, simulation_draws=400)


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
    splits : list of SplitRow
        Every split, published and ours; empty where the paper prints no table.
    differs : str
        Why its verdict is not comparable with the published one; empty where it is.
    """

    name: str
    title: str
    result: Audit | Comparison
    rows: list[Row]
    splits: list[SplitRow] = field(default_factory=list)
    differs: str = ""


@dataclass(frozen=True)
class Run:
    """What all audits of a replication share.

    Attributes
    ----------
    data : StudyData
    effort : Effort
    folder : Path
        Where finished splits are kept.
    seed : int
    n_jobs : int or None
    target : str
        The column that Appendix H.3's other rule predicts.
    announce : callable
        Told the name of every section before it is run.
    """

    data: StudyData
    effort: Effort
    folder: Path
    seed: int
    n_jobs: int | None
    target: str
    announce: Callable[[str], None]

    @property
    def differs(self) -> str:
        # On the held-out third nothing is split or fitted: only the draws are the
        # effort's.
        effort = self.effort.differs if self.data.covariates else ""
        return "; ".join(reason for reason in (self.data.differs, effort) if reason)


def run_study(run: Run) -> Iterator[Section]:
    """Every audit that the data allow; finished splits are kept in the folder and not
    run again.
    """
    check_target(run.data, run.target)
    yield from _audits(run) if run.data.covariates else _held_out(run)


def check_target(data: StudyData, target: str) -> None:
    """Refuse a target that is no column, before the work is done."""
    known = (
        data.frame.columns
        if data.covariates
        else [name for name in (TARGET,) if _score(data, name)]
    )
    if target not in known:
        raise OptionError(
            f"`target` is '{target}', which is no column of the data.",
            nearest(target, known),
        )


def _audits(run: Run) -> Iterator[Section]:
    for period in OUTCOMES:
        for rule in RULES:
            name = f"{period}/{rule}"
            run.announce(name)
            result = _audit(run, name, accuracy="calibration")
            rows = [
                *table_rows(result, name, run.differs),
                *frontier_rows(result, name == MAIN),
            ]
            yield Section(
                name,
                _title(period, rule),
                result,
                rows,
                split_rows(result, name),
                run.differs,
            )
    run.announce(COST)
    result = _audit(run, COST, **COST_UTILITIES)
    title = "Appendix H.3: accuracy measured by cost, forest trained on conditions"
    yield Section(
        COST,
        title,
        result,
        cost_rows(result, "not rejected", run.differs),
        differs=run.differs,
    )
    run.announce(TARGETED)
    result = _audit(run, TARGETED, **COST_UTILITIES, target=run.target)
    title = f"Appendix H.3: accuracy measured by cost, forest trained on {run.target}"
    yield Section(TARGETED, title, result, cost_rows(result, "", run.differs))


def _audit(run: Run, name: str, **how: Any) -> Audit:
    period, rule = name.split(",")[0].split("/")
    outcome = OUTCOMES[period]
    place = name.replace("/", "-").replace(", ", "-").replace(" ", "-")
    if how.get("target", TARGET) != TARGET:
        place = f"{place}-{how['target']}"
    return improvable.audit(
        run.data.frame,
        outcome=outcome,
        group="race",
        status_quo=improvable.threshold("risk_score_t", capacity=CAPACITY),
        rule=run.effort.rule(rule),
        features=[
            column
            for column in CARE_MANAGEMENT_COVARIATES
            if column not in (outcome, how.get("target"))
        ],
        claim=improvable.Claim(gap="absolute"),
        test=improvable.Test(
            ties="strict",
            scheme="split",
            repetitions=run.effort.splits,
            draws=run.effort.draws,
        ),
        seed=run.seed,
        n_jobs=run.n_jobs,
        run_folder=run.folder / place,
        **how,
    )


def _held_out(run: Run) -> Iterator[Section]:
    def compare(score: str, **utilities: Any) -> Comparison:
        return improvable.compare(
            run.data.frame,
            outcome="gagne_sum_t",
            group="race",
            status_quo=improvable.threshold("risk_score_t", capacity=CAPACITY),
            candidate=improvable.threshold(score, capacity=CAPACITY),
            claim=improvable.Claim(gap="absolute"),
            test=improvable.Test(ties="strict", draws=run.effort.draws),
            seed=run.seed,
            **utilities,
        )

    trained = f"the LASSO score {HELD_OUT_SCORE}, trained on the other two thirds"
    run.announce(HELD_OUT)
    result = compare(HELD_OUT_SCORE)
    table = "next_year/lasso"
    rows = [
        *table_rows(result, table, run.differs),
        *frontier_rows(result, beside_paper=False),
    ]
    title = (
        f"Section 6 on the held-out third: {trained}, beside the paper's LASSO table"
    )
    yield Section(HELD_OUT, title, result, rows, split_rows(result, table), run.differs)
    run.announce(HELD_OUT_COST)
    result = compare(HELD_OUT_SCORE, **COST_UTILITIES)
    title = (
        f"Appendix H.3 on the held-out third: accuracy measured by cost, {trained} "
        "(the paper has a forest)"
    )
    yield Section(
        HELD_OUT_COST,
        title,
        result,
        cost_rows(result, "not rejected", run.differs),
        differs=run.differs,
    )
    score = _score(run.data, run.target)
    if score is not None:
        run.announce(HELD_OUT_TARGETED)
        result = compare(score, **COST_UTILITIES)
        title = (
            "Appendix H.3 on the held-out third: accuracy measured by cost, the LASSO "
            f"score {score}"
        )
        yield Section(
            HELD_OUT_TARGETED, title, result, cost_rows(result, "", run.differs)
        )


def _score(data: StudyData, target: str) -> str | None:
    """The published score that predicts a column, or its logarithm, which puts rows in
    the same order.
    """
    return next(
        (
            name
            for name in (f"{target}_hat", f"log_{target}_hat")
            if name in data.frame.columns
        ),
        None,
    )


def _title(period: str, rule: str) -> str:
    when = {
        "next_year": "conditions of the following year",
        "same_year": "conditions of the same year",
    }[period]
    where = "Section 6" if (period, rule) == ("next_year", "forest") else "Appendix H"
    return f"{where}: {rule}, {when}"
