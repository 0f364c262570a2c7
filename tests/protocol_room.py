"""What the tests of protocols share: the options of one audit, a changed copy of its
data, what was said and shown.
"""

import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

OPTIONS = [
    *(
        "--outcome",
        "gagne_sum_t",
        "--group",
        "race",
        "--score",
        "risk_score_t",
        "--capacity",
        "0.1",
    ),
    *(
        "--rule",
        "linear",
        "--features",
        "gagne_sum_tm1,dem_female",
        "--repetitions",
        "3",
        "--draws",
        "300",
    ),
]


def flip(name: str, column: str) -> None:
    frame = pl.read_csv("people.csv")
    changed = (
        pl.when(pl.int_range(pl.len()) == 100)
        .then(pl.col(column) + 1)
        .otherwise(pl.col(column))
    )
    frame.with_columns(changed.alias(column)).write_csv(name)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """Both streams, each paragraph on one line."""
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def page_commands(heading: str) -> list[list[str]]:
    """The shell lines that the page on sealing shows below a heading, block by
    block.
    """
    page = Path(__file__).parents[1] / "docs" / "how-to" / "seal-and-verify.md"
    section = page.read_text(encoding="utf-8").split(f"{heading}\n")[1].split("\n#")[0]
    return [
        block.splitlines()
        for block in re.findall(
            r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL
        )
    ]


def shell(command: str) -> tuple[int, str]:
    """The exit status of a shell line in the current folder, and what it printed."""
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr
