"""The data of a replication: the published file, another of its kind, its held-out
third, or simulated.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from improvable.data.frame import read_rows
from improvable.datasets import CARE_MANAGEMENT_COVARIATES, care_management
from improvable.errors import DataError

PUBLISHED_SHA256 = "5341f90f3a1d330557620af1c734e552abe0ad57053055dd13dbccc6d8384d74"
"""Of data/data_new.csv in the repository labsysmed/dissecting-bias."""
PUBLISHED_ROWS = 48_784
NEEDED = ("race", "risk_score_t", "gagne_sum_t", "cost_t")
HELD_OUT_SCORE = "gagne_sum_t_hat"
"""In the published held-out third: a LASSO score trained on the other two thirds."""


@dataclass(frozen=True)
class StudyData:
    """Rows to replicate on.

    Attributes
    ----------
    frame : data frame
    words : str
        What these rows are, for the head of the output.
    covariates : bool
        Whether the 149 covariates are there, so that rules can be trained.
    differs : str
        Why a verdict on these rows is not comparable with the published one; empty for
        the published file.
    """

    frame: Any
    words: str
    covariates: bool
    differs: str = ""


def simulated(rows: int, seed: int) -> StudyData:
    """Rows of the simulated program."""
    words = (
        f"SIMULATED data: {rows:,} invented patients. Differences from the paper show "
        "how closely the simulation resembles the hospital; they say nothing about the "
        "paper. Give the published file to compare."
    )
    return StudyData(
        care_management(rows, seed=seed),
        words,
        covariates=True,
        differs="the data are simulated",
    )


def read_study(path: str | Path) -> StudyData:
    """Read a file and say what it is; a file of an unknown kind is refused."""
    rows = read_rows(path)
    missing = [name for name in NEEDED if name not in rows.columns]
    lacking = [name for name in CARE_MANAGEMENT_COVARIATES if name not in rows.columns]
    if missing or (lacking and HELD_OUT_SCORE not in rows.columns):
        raise DataError(
            (
                f"'{path}' is neither the published file nor its held-out third: it "
                f"has no column '{(missing or lacking)[0]}'."
            ),
            (
                f"It needs {', '.join(NEEDED)} and the 149 covariates, or "
                f"{HELD_OUT_SCORE}."
            ),
        )
    size = f"{len(rows):,} rows"
    if lacking:
        words = (
            f"the held-out third of the published data, {size}, with a LASSO score "
            "trained on the rest"
        )
        differs = (
            f"{len(rows):,} held-out rows instead of {PUBLISHED_ROWS:,}, and one LASSO "
            "score trained on the others instead of seven splits"
        )
        return StudyData(
            rows, f"{Path(path).name}: {words}.", covariates=False, differs=differs
        )
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    if digest == PUBLISHED_SHA256:
        return StudyData(
            rows,
            f"{Path(path).name}: the published data, {size} (SHA-256 agrees).",
            covariates=True,
        )
    words = (
        f"a file with the columns of the published data, {size}, but not that file "
        f"(SHA-256 {digest[:12]}...)"
    )
    fewer = (
        f", and has {size} instead of {PUBLISHED_ROWS:,}"
        if len(rows) < PUBLISHED_ROWS
        else ""
    )
    differs = f"the file is not the published one{fewer}"
    return StudyData(
        rows, f"{Path(path).name}: {words}.", covariates=True, differs=differs
    )
