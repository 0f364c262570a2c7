"""Golden commands: what they print, what they write, and their exit statuses.

An entry writes its data into an empty folder and runs lines there.
"""

import sys
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl

import improvable
from golden.audits import LOANS, MakeSnapshot
from golden.room import Room, run_command
from golden.samples import loans, worded_loans
from golden.snapshots import Snapshot, snapshot_commands, snapshot_refusals
from improvable import Claim, Constraints, Groups, Read, Test

ASKED = (
    "--outcome repaid --group sex --decision approved --accuracy classification_rate"
)
LEARNED = "--rule linear --features income,debt,years --row-id loan"
SMALL = "--repetitions 3 --draws 300"
AUDIT = f"improvable audit loans.csv {ASKED} --capacity same {LEARNED} {SMALL}"
COMPARE = (
    "improvable compare loans.csv --outcome repaid --group sex --status-quo approved "
    "--candidate instead --accuracy classification_rate --draws 300"
)
PROTOCOL = """\
[columns]
outcome = "repaid"
group = "sex"
row_id = "loan"

[status_quo]
decision = "approved"

[rule]
name = "linear"
features = ["income", "debt", "years"]
capacity = "same"

[claim]
accuracy = "classification_rate"

[test]
repetitions = 3
draws = 300
"""
COMMANDS: dict[str, MakeSnapshot] = {}


def run_lines(lines: list[str], files: tuple[str, ...], room: Room) -> Snapshot:
    """Lines run one after the other, where files of loans and protocols are."""
    write_files(room)
    return snapshot_commands([run_command(line) for line in lines], files)


def write_files(room: Room) -> None:
    rows = room.arrange(loans())
    rows.write_csv("loans.csv")
    changed = (
        pl.when(pl.col("loan") == 1_100).then(1 - pl.col("repaid")).otherwise("repaid")
    )
    rows.with_columns(repaid=changed).write_csv("changed.csv")
    room.arrange(worded_loans()).write_csv("words.csv")
    loans(400, seed=31).with_columns(loan=pl.col("loan") + 100_000).write_csv(
        "later.csv"
    )
    Path("loans.toml").write_text(PROTOCOL, encoding="utf-8")
    Path("another.toml").write_text(
        PROTOCOL.replace("draws = 300", "draws = 301"), encoding="utf-8"
    )
    public = PROTOCOL + 'challenge_source = "close:SPX:2026-11-03"\n'
    Path("public.toml").write_text(public, encoding="utf-8")


def refuse_lines(lines: list[str], _: Room) -> Snapshot:
    """Lines that are refused: a message may name the first row that is wrong."""
    return run_lines(lines, (), Room())


def add(name: str, *lines: str, files: tuple[str, ...] = ()) -> None:
    COMMANDS[name] = partial(run_lines, list(lines), files)


def add_refused(name: str, *lines: str) -> None:
    COMMANDS[name] = partial(refuse_lines, list(lines))


# Results, and what is asked of them later ------------------------------------------

add(
    "command audit",
    f"{AUDIT} --out run --json result.json --table table.csv --report report.md",
    "improvable report run --to again.md",
    "improvable ledger loans.csv",
    files=("result.json", "table.csv", "report.md"),
)
add(
    "command audit, verbose and quiet",
    f"{AUDIT} --verbose --table table.tex",
    f"{AUDIT} --quiet --exit-code",
    f"{AUDIT} --delta-fairness 0.9 --exit-code --report report.html",
    files=("table.tex", "report.html"),
)
add(
    "command compare",
    f"{COMPARE} --json result.json --table table.md",
    f"{COMPARE} --delta-fairness 0.9 --exit-code",
    files=("result.json", "table.md"),
)
add(
    "command frontier",
    f"{AUDIT} --out run --quiet",
    "improvable frontier run --json frontier.json",
    "improvable frontier run",
    "improvable frontier run --at-most",
    "improvable frontier run --simultaneous --form difference",
    "improvable frontier run --at 0.05,0.25 --gap absolute",
    "improvable frontier run --alpha 0.1 --protected women",
    files=("frontier.json",),
)
add(
    "command monitor",
    f"{AUDIT} --out run --quiet",
    "improvable monitor run --data later.csv --candidate instead --json wealth.json",
    "improvable monitor run --data later.csv --candidate instead --exit-code",
    "improvable monitor run --data loans.csv --candidate instead",
    files=("wealth.json",),
)
add(
    "command audit against an earlier one",
    f"{AUDIT} --json first.json --quiet",
    f"{AUDIT} --against first.json --quiet",
    AUDIT.replace("loans.csv", "changed.csv") + " --against first.json --quiet",
    f"{AUDIT} --seed 5 --against first.json",
)
add(
    "command bundle",
    f"{AUDIT} --out run --quiet",
    "improvable bundle run --smallest 1",
    "improvable verify run.bundle.json --unsealed",
    "improvable bundle run --smallest 500 --out refused.json",
)
add(
    "command game",
    "improvable game --repetitions 7 --cost 0.001 --correlation 0.3 --json game.json",
    "improvable game --repetitions 3 --alpha 0.1 --cost 0.001*m**1.5",
    files=("game.json",),
)

LEAST_DEBT = """\
import numpy as np


class LeastDebt:
    name = "least_debt"

    def select(self, training, status_quo):
        cutoff = float(np.median(training.sample.rows.numbers("debt")))
        return lambda rows: rows["debt"] < cutoff


rule = LeastDebt()
"""


def run_own_rule(_: Room) -> Snapshot:
    """A rule from a file on Python's path: its code runs in a process of its own."""
    loans().write_csv("loans.csv")
    Path("least.py").write_text(LEAST_DEBT, encoding="utf-8")
    rule = "--rule least:rule --features debt --row-id loan --draws 300"
    line = f"improvable audit loans.csv {ASKED} {rule} --json result.json"
    with mock.patch.object(sys, "path", [str(Path.cwd()), *sys.path]):
        run = run_command(line)
    return snapshot_commands([run], ("result.json",))


COMMANDS["command audit, a rule from a file"] = run_own_rule

# Before an audit --------------------------------------------------------------------

WORDS = "--positive repaid=paid,approved=approved --na n/a --strip --drop-missing"
add(
    "command check",
    f"improvable check loans.csv {ASKED} --capacity same --json look.json",
    f"improvable check loans.csv {ASKED} --capacity same",
    f"improvable check words.csv {ASKED} --capacity same {WORDS}",
    files=("look.json",),
)
add(
    "command init",
    "improvable init new.toml --data loans.csv",
    "improvable init loans.toml --data loans.csv",
    "improvable init loans.txt --data loans.csv",
)

# Sealed -----------------------------------------------------------------------------

add(
    "sealed audit",
    "improvable seal loans.toml --data loans.csv --challenge 9f2c41d07be35a68",
    "improvable audit loans.toml --data loans.csv --out run --json result.json",
    "improvable verify run --data loans.csv --seal loans.seal",
    "improvable ledger loans.csv",
    files=("result.json",),
)
add(
    "sealed audit, what does not match",
    "improvable seal loans.toml --data loans.csv --challenge 9f2c41d07be35a68",
    "improvable audit loans.toml --data loans.csv --out run --quiet",
    "improvable audit loans.toml --data changed.csv",
    "improvable verify run --data changed.csv --seal loans.seal",
    "improvable verify run --data loans.csv --protocol another.toml",
    "improvable audit loans.toml --data loans.csv --draws 400",
    "improvable seal loans.toml --data loans.csv --challenge another",
)
add(
    "sealed with a public value",
    "improvable seal public.toml --data loans.csv",
    "improvable audit public.toml --data loans.csv --quiet",
    "improvable audit public.toml --data loans.csv --challenge 5912.33 --out run",
    "improvable verify run --data loans.csv --challenge 5912.33",
    "improvable seal public.toml --data loans.csv --challenge 5912.33",
)
add(
    "audit of a protocol without a seal",
    "improvable audit loans.toml --data loans.csv --out run --quiet",
    "improvable verify run --data loans.csv",
    "improvable verify run --data loans.csv --unsealed",
)

# Refused ----------------------------------------------------------------------------


def refuse_files(room: Room) -> Snapshot:
    """Files that are not data, or not as they say."""
    loans().write_csv("loans.csv")
    for name, text in {
        "empty.csv": "",
        "header.csv": "sex,repaid,approved\n",
        "ragged.csv": "sex,repaid\nmen,1\nwomen,3,4,5\n",
        "twice.csv": "sex,repaid,repaid\nmen,1,2\nwomen,3,4\n",
        "notes.docx": "text",
        "broken.parquet": "not parquet",
        "broken.toml": "[columns\n",
    }.items():
        Path(name).write_text(text, encoding="utf-8")
    lines = [
        AUDIT.replace("loans.csv", file)
        for file in (
            *("absent.csv", "loan.csv", "empty.csv", "header.csv", "ragged.csv"),
            *("twice.csv", "notes.docx", "broken.parquet"),
        )
    ]
    lines += [
        "improvable audit broken.toml --data loans.csv",
        "improvable audit loans.csv",
        "improvable ledger loans.csv",
        "improvable frontier absent",
        "improvable verify absent",
        f"{AUDIT} --json absent/result.json",
        f"{AUDIT} --report report.odt",
    ]
    return snapshot_commands([run_command(line) for line in lines])


COMMANDS["refused files"] = refuse_files
add_refused(
    "refused columns",
    AUDIT.replace("--outcome repaid", "--outcome repayed"),
    AUDIT.replace("--group sex", "--group sexes"),
    AUDIT.replace("--group sex", "--group repaid"),
    AUDIT.replace("--group sex", "--group loan"),
    AUDIT.replace("income,debt,years", "income,debts"),
    AUDIT.replace("income,debt,years", "income,repaid"),
    AUDIT.replace("--decision approved", "--decision years"),
    AUDIT.replace("--decision approved", "--score city --above 1"),
    AUDIT.replace("--outcome repaid", "--outcome years"),
    f"{AUDIT} --exclude 'zz*'",
    f"{AUDIT} --weight debt",
    AUDIT.replace("loans.csv", "words.csv"),
    AUDIT.replace("loans.csv", "words.csv") + " --positive repaid=repaid",
)
add_refused(
    "refused options",
    f"{AUDIT} --rule forrest",
    f"{AUDIT} --accuracy fairest",
    f"{AUDIT} --accuracy false_positive_rate",
    f"{AUDIT} --capacity 3",
    f"{AUDIT} --alpha 5",
    f"{AUDIT} --repetitions 0",
    f"{AUDIT} --repetitions 2.5",
    f"{AUDIT} --draws 5",
    f"{AUDIT} --seed -1",
    f"{AUDIT} --jobs 0",
    f"{AUDIT} --gap folded",
    f"{AUDIT} --delta-fairness much",
    f"{AUDIT} --delta-accuracy men:0.1",
    f"{AUDIT} --train-fraction 0.4",
    f"{AUDIT} --colour blue",
    "improvable audits loans.csv",
    f"{COMPARE} --candidate insted",
    f"improvable power loans.csv --power 2 {ASKED}",
)


def refuse_calls(_: Room) -> Snapshot:
    """What Python refuses, and how it names the argument."""
    refusals: dict[str, Exception] = {}
    for name, changes in REFUSED_CALLS.items():
        try:
            improvable.audit(loans(), **LOANS | changes)
        except Exception as error:
            refusals[name] = error
        else:
            raise AssertionError(f"'{name}' was not refused")
    return snapshot_refusals(refusals)


REFUSED_CALLS: dict[str, dict[str, Any]] = {
    "no such column": {"outcome": "repayed"},
    "no such rule": {"rule": "forrest"},
    "a feature that is the outcome": {"features": ["income", "repaid"]},
    "a feature that is the group": {"features": ["income", "sex"]},
    "a number that is no share": {"capacity": 3},
    "a setting elsewhere": {"draws": 500},
    "no such setting": {"sead": 1},
    "a gap that is no gap": {"claim": Claim(gap="folded")},  # type: ignore[arg-type]
    "a gain for some groups": {"claim": Claim(delta_accuracy={"men": 0.1})},
    "a protected group that is none": {"claim": Claim(protected="children")},
    "too few draws": {"test": Test(draws=5)},
    "one repetition too few": {"test": Test(repetitions=0)},
    "an order that is none": {"constraints": Constraints(monotone={"income": "up"})},
    "a value that no column has": {"read": Read(positive={"repaid": "paid"})},
    "unknown outcomes that are known": {"read": Read(unknown_outcomes=-1)},
    "probabilities that are none": {
        "group": Groups(probabilities={"men": "income", "women": "p_women"})
    },
}
COMMANDS["refused calls"] = refuse_calls
