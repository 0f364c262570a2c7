"""Three real cases decided: whom to screen for diabetes, Georgia's parole score, and
COMPAS (`make cases`).

Each case is a few audits of one data set, and a page of the tutorials whose table,
picture and printed blocks are written anew from them. ``python benchmarks/cases.py
parole --data FOLDER`` decides one. Only the survey behind the first comes with the
package; the others are read from a folder. Where a file is not there the case says so
in one line, and its page stays as it is. A verdict that is not what the words of a page
say fails, and that page stays as it is too.
"""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import improvable
from improvable.datasets import DIABETES_SCREENING, diabetes_screening
from improvable.results.facts import by_component, estimate_of
from improvable.results.formatting import p_text, value_text
from improvable.results.wording import rerun_range
from kept import write_between

ROOT = Path(__file__).parents[1]
TUTORIALS, PICTURES = ROOT / "docs" / "tutorials", ROOT / "docs" / "pictures"
BESIDE = ROOT.parent / "shared" / "data"
DRAWS, SEED_DRAWS = 10_000, 2_000
SEEDS = range(10)
HEAD = """\
| question | accuracy, status quo → candidate | gap | p | improvement | another seed would decide otherwise |
|---|---|---|---|---|---|"""  # noqa: E501
SEEDS_HEAD = """\
| question | seeds | p, smallest to largest | shown |
|---|---|---|---|"""
AFTER_RELEASE = (
    "*DrugTest*",
    "Jobs_*",
    "Percent_Days_*",
    "Employment_Exempt",
    "Violations_*",
    "Program_*",
    "Delinquency_*",
    "Residence_Changes",
    "Supervision_*",
)
"""Measured while people were supervised, or the score and what was done about it: no
candidate may read them.
"""
NO_SEX = ("Race", "Gender", "Gang_Affiliated")
"""Gangs are recorded of men alone, so that where the column is empty it says who is a
woman. Nor may it read race.
"""


@dataclass(frozen=True)
class Question:
    """One audit of a case.

    Attributes
    ----------
    name : str
        What its row of the table says.
    asked : dict
        Arguments of `improvable.audit`.
    shown : bool
        Whether the words of the page say that an improvement is shown.
    rows : expression or None
        Of the case's rows, those that are asked about.
    """

    name: str
    asked: dict[str, Any]
    shown: bool
    rows: pl.Expr | None = None


@dataclass(frozen=True)
class Case:
    """A data set, what is asked of it, and the page that tells of it.

    Attributes
    ----------
    page : str
        The page's name in docs/tutorials.
    file, source : str or None
        The file in the folder of real data, and where it comes from; None if the
        package has the data.
    read : callable
        The rows, given the file.
    questions : sequence of Question
        The first is the case's own.
    labels : dict or None
        Words for the columns in the picture of the first question; no picture is drawn
        without.
    seeds : int
        So many of the first questions are asked with other seeds too.
    """

    page: str
    file: str | None
    source: str
    read: Callable[[Path], pl.DataFrame]
    questions: Sequence[Question]
    labels: dict[str, str] | None = None
    seeds: int = 0


def read_parole(path: Path) -> pl.DataFrame:
    """Those who have a score: it goes from 1 to 10, and 0 stands for a missing one."""
    return pl.read_csv(path, infer_schema_length=None).filter(
        pl.col("Supervision_Risk_Score_First") > 0
    )


def parole(
    cut: int, group: str, hidden: Sequence[str] = (), **other: Any
) -> dict[str, Any]:
    """High risk from `cut` up, by what is known at release without the columns in
    `hidden`.
    """
    return {
        "outcome": "Recidivism_Within_3years",
        "group": group,
        "status_quo": improvable.threshold(
            "Supervision_Risk_Score_First", above=cut - 1
        ),
        "capacity": "same",
        "exclude": [*AFTER_RELEASE, *hidden],
        **RATES,
        **other,
    }


def compas(**other: Any) -> dict[str, Any]:
    return {
        "outcome": "two_year_recid",
        "group": improvable.Groups("race", only=["African-American", "Caucasian"]),
        "status_quo": improvable.threshold("decile_score", above=4),
        **RATES,
        **other,
    }


RATES: dict[str, Any] = {
    "accuracy": "classification_rate",
    "fairness": "false_positive_rate",
    "claim": improvable.Claim(selection="burden"),
}
CASES = {
    "screening": Case(
        "diabetes-screening",
        None,
        "NHANES 2011-2018, which comes with the package",
        lambda _: diabetes_screening(),
        (
            Question("everybody with diabetes", DIABETES_SCREENING, True),
            Question(
                "those not yet diagnosed",
                DIABETES_SCREENING,
                False,
                pl.col("diagnosed") == 0,
            ),
        ),
    ),
    "parole": Case(
        "parole",
        "georgia_parole.csv.gz",
        (
            "the National Institute of Justice's Recidivism Forecasting Challenge "
            "(data.ojp.usdoj.gov)"
        ),
        read_parole,
        (
            Question("race, high risk from 6", parole(6, "Race"), True),
            Question("race, from 7", parole(7, "Race"), False),
            Question("race, from 8", parole(8, "Race"), False),
            Question("sex, from 6", parole(6, "Gender", NO_SEX), False),
            Question("sex, from 7", parole(7, "Gender", NO_SEX), False),
            Question("sex, from 8", parole(8, "Gender", NO_SEX), False),
            Question("race, from 6, sex not read", parole(6, "Race", NO_SEX), True),
            Question(
                "race, from 6, plain prediction (`lasso`)",
                parole(6, "Race", rule="lasso"),
                False,
            ),
        ),
        {"Recidivism_Within_3years": "a new arrest within three years"},
        seeds=1,
    ),
    "compas": Case(
        "compas",
        "compas.csv",
        (
            "ProPublica's compas-scores-two-years.csv "
            "(github.com/propublica/compas-analysis), filtered as the page shows"
        ),
        lambda path: pl.read_csv(path, infer_schema_length=None),
        (
            Question("the same share called risky", compas(capacity="same"), False),
            Question("no share set", compas(), False),
            Question(
                "the same share, plain prediction (`logistic`)",
                compas(capacity="same", rule="logistic"),
                False,
            ),
        ),
        {"two_year_recid": "a new arrest within two years"},
    ),
}


def decide(
    question: Question, rows: pl.DataFrame, draws: int = DRAWS, seed: int = 0
) -> improvable.Audit:
    """The audit of one question."""
    asked = rows if question.rows is None else rows.filter(question.rows)
    return improvable.audit(
        asked, **question.asked, test=improvable.Test(draws=draws), seed=seed
    )


def row(question: Question, result: improvable.Audit) -> str:
    """One line of the table: means over the repetitions, the p-value that decides, and
    how firm it is.
    """
    facts = result.facts
    accuracy, gaps = [], []
    for first, *_ in by_component(facts):
        mean = estimate_of(facts, first)
        change = (
            f"{value_text(mean['status_quo']['estimate'])} → "
            f"{value_text(mean['candidate']['estimate'])}"
        )
        if first["kind"] == "accuracy":
            accuracy.append(f"{first['group']} {change}")
        else:
            gaps.append(change)
    rerun = facts["rerun"]
    cells = (
        question.name,
        "; ".join(accuracy),
        "; ".join(gaps),
        p_text(result.p_value, facts["draws"]),
        "**shown**" if result.reject else "not shown",
        "not known" if rerun is None else rerun_range(rerun),
    )
    return f"| {' | '.join(cells)} |"


def seeds_row(question: Question, rows: pl.DataFrame) -> str:
    """The same question with the seeds 0 to 9, and fewer draws."""
    results = [decide(question, rows, SEED_DRAWS, seed) for seed in SEEDS]
    p = [
        p_text(one.p_value, SEED_DRAWS)
        for one in sorted(results, key=lambda one: one.p_value)
    ]
    shown = sum(one.reject for one in results)
    return (
        f"| {question.name} | {SEEDS[0]} to {SEEDS[-1]} | {p[0]} to {p[-1]} | {shown} "
        f"of {len(results)} |"
    )


def run(name: str, data: Path, draws: int, write: bool) -> bool:
    """Decide one case and write its page; False if what was found is not what the page
    says.
    """
    case = CASES[name]
    rows = case.read(data / (case.file or ""))
    lines, otherwise = [HEAD], []
    pictured = None
    for question in case.questions:
        result = decide(question, rows, draws)
        lines.append(row(question, result))
        print(f"{name}: {lines[-1]}", flush=True)
        if result.reject != question.shown:
            otherwise.append(question.name)
        pictured = pictured or result
    if otherwise:
        print(
            f"{name}: the page says otherwise of {'; '.join(otherwise)}. It is left as "
            "it is.",
            flush=True,
        )
        return False
    if write:
        page = TUTORIALS / f"{case.page}.md"
        write_between(page, {"case": "\n".join(lines)})
        if case.seeds:
            again = [
                seeds_row(question, rows) for question in case.questions[: case.seeds]
            ]
            write_between(page, {"seeds": "\n".join((SEEDS_HEAD, *again))})
        if case.labels is not None and pictured is not None:
            chart = pictured.plot("dumbbells", about={"labels": case.labels})
            chart.save(PICTURES / f"{case.page}.svg")
        write_blocks(page, data)
        print(f"{name}: wrote docs/tutorials/{page.name}", flush=True)
    return True


def write_blocks(page: Path, data: Path) -> None:
    """What the page's own code prints now."""
    from pages import needs, rerun

    with tempfile.TemporaryDirectory() as room, contextlib.chdir(room):
        need = needs(page)
        if need is not None:
            shutil.copy(data / need, room)
        text = rerun(page)
    page.write_text(text, encoding="utf-8")


def missing(name: str, data: Path) -> str | None:
    """One line where the data of a case are not there."""
    case = CASES[name]
    if case.file is None or (data / case.file).exists():
        return None
    return (
        f"{name}: no {case.file} in {data}. It comes from {case.source}. The page is "
        "left as it is."
    )


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "cases",
        nargs="*",
        metavar="CASE",
        help=f"{', '.join(CASES)}; all that have data by default",
    )
    parser.add_argument(
        "--data", type=Path, default=Path(os.environ.get("IMPROVABLE_DATA", BESIDE))
    )
    parser.add_argument("--draws", type=int, default=DRAWS)
    parser.add_argument(
        "--no-write", action="store_true", help="print the tables; write no page"
    )
    options = parser.parse_args(words)
    unknown = [name for name in options.cases if name not in CASES]
    if unknown:
        parser.error(f"there is no case '{unknown[0]}'; there are {', '.join(CASES)}")
    failed = False
    for name in options.cases or CASES:
        absent = missing(name, options.data)
        if absent is not None:
            print(absent, flush=True)
            failed = failed or bool(options.cases)  # a case that was asked for by name
        else:
            failed = (
                not run(
                    name, options.data.resolve(), options.draws, not options.no_write
                )
                or failed
            )
    return int(failed)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT / "tests"))
    sys.exit(main())
