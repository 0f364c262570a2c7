"""`improvable init` asks for all that a protocol has, checks each answer as it is given, and keeps the others."""

import shlex
import tomllib
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from improvable.cli import app, run
from improvable.question.checks import SECTIONS
from improvable.question.settings import section_keys
from people import make_people
from protocol_room import said

COLUMNS = ["visits", "", "group", "", ""]
"""Outcome, lower is better, group, weight, cluster."""
BY_DECISION = ["n", "chosen", ""]
RULE = ["linear", "signal,small", ""]
CLAIM = ["", "", "", "", ""]
TEST = ["", "", "", ""]
"""Scheme, repetitions, level, anything else."""


@pytest.fixture(autouse=True)
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people = make_people(1_500).drop("region", "holes")
    people.with_columns(chosen=(pl.col("score") > 1.5).cast(pl.Int8)).write_csv("people.csv")


def answer(*answers: str, data: str | None = "people.csv") -> Result:
    given = [] if data is None else ["--data", data]
    return CliRunner().invoke(app, ["init", "new.toml", *given], input="\n".join(answers) + "\n")


def written() -> str:
    """The protocol without its head, which names the file."""
    return Path("new.toml").read_text().partition("[columns]")[2]


SAME = {
    "a column of decisions, and the same share": (
        [*COLUMNS, *BY_DECISION, *RULE, *CLAIM, *TEST],
        "--decision chosen --capacity same --features signal,small",
    ),
    "a top share": (
        [*COLUMNS, "y", "score", "y", "0.1", *RULE, *CLAIM, *TEST],
        "--score score --capacity 0.1 --features signal,small",
    ),
    "a cutoff": (
        [*COLUMNS, "y", "score", "n", "1.5", "", *RULE, *CLAIM, *TEST],
        "--score score --above 1.5 --capacity same --features signal,small",
    ),
    "every answer another": (
        ["cost", "y", "group,insured", "weight", "clinic", "", "y", "score", "y", "0.2", "linear", "si*,small", "small",
         "burden", "calibration", "selection_rate", "0.1", "0.05", "split", "3", "0.1", "draws", "500", "ties",
         "strict", "direction", "as stated", ""],
        "--outcome cost --lower-is-better --group group,insured --weight weight --cluster clinic --score score "
        "--capacity 0.2 --features 'si*,small' --exclude small --selection burden --accuracy calibration "
        "--fairness selection_rate --delta-fairness 0.1 --delta-accuracy 0.05 --scheme split --repetitions 3 "
        "--alpha 0.1 --draws 500 --ties strict --direction 'as stated'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answers", "options"), SAME.values(), ids=SAME.keys())
def test_it_writes_what_write_protocol_writes(answers: list[str], options: str) -> None:
    result = answer(*answers)
    assert result.exit_code == 0, result.output
    asked = ["audit", "people.csv", "--outcome", "visits", "--group", "group", "--rule", "linear"]
    assert run([*asked, *shlex.split(options), "--write-protocol", "options.toml"]) == 0
    assert written() == Path("options.toml").read_text().partition("[columns]")[2]


def test_it_ends_with_the_command_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(*COLUMNS, *BY_DECISION, *RULE, *CLAIM, *TEST[:-1], "draws", "200", "")
    command = next(line for line in result.output.splitlines() if line.startswith("Run it: "))
    assert run(shlex.split(command)[3:]) == 0
    assert "REJECTED at level 0.05" in said(capsys)
    assert Path("new").is_dir()
    assert "improvable seal new.toml --data people.csv" in result.output


WRONG = {
    "an outcome that is no column": (0, "visit", "no column 'visit'. Did you mean 'visits'"),
    "a group of one level": (2, "one", "column 'one' has one level, 'x'"),
    "a group of many levels": (2, "person", "a group column has at most"),
    "the outcome as a group": (2, "visits", "named as outcome and as group"),
    "a weight in words": (3, "one", "where numbers are needed"),
    "a weight that is the outcome": (3, "visits", "named as weight and as something else"),
    "decisions that are no column": (6, "chose", "no column 'chose'. Did you mean 'chosen'"),
    "a share that is none": (7, "3", "It is a share of the rows"),
    "a share in words": (7, "some", "Write 0.03 or same"),
    "a rule that is none": (8, "liner", "there is no rule 'liner'"),
    "a feature that is no column": (9, "signals", "no column 'signals'"),
    "an exclusion of nothing": (10, "zz*", "no column 'zz*'"),
    "neither benefit nor burden": (11, "good", "Choose 'benefit' or 'burden'"),
    "a utility that is none": (12, "fairest", "no utility 'fairest'"),
    "a utility that is no accuracy": (12, "false_positive_rate", "Use 'true_negative_rate'"),
    "a delta in words": (14, "much", "--delta-fairness is 'much'. Write 0.1"),
    "a scheme that is none": (16, "folds", "Choose 'forward' or 'split'"),
    "half a repetition": (17, "2.5", "It must be a whole number"),
    "no repetitions": (17, "0", "repetitions is 0"),
    "a level of 5": (18, "5", "below 0.5"),
    "a setting that is none": (19, "drows", "nothing else called 'drows'. Did you mean 'draws'"),
}


@pytest.mark.parametrize(("place", "wrong", "words"), WRONG.values(), ids=WRONG.keys())
def test_each_answer_is_checked_as_it_is_given(place: int, wrong: str, words: str) -> None:
    """The question comes again, and nothing else does."""
    pl.read_csv("people.csv").with_columns(one=pl.lit("x")).write_csv("people.csv")
    right = [*COLUMNS, *BY_DECISION, *RULE, *CLAIM, *TEST]
    assert answer(*right).exit_code == 0
    expected = written()
    Path("new.toml").unlink()
    result = answer(*right[:place], wrong, *right[place:])
    assert result.exit_code == 0, result.output
    assert words in " ".join(result.output.split())
    assert written() == expected
    assert result.output.count("Outcome: ") == (2 if place == 0 else 1)


def test_answers_are_kept_when_one_fails() -> None:
    """Everything is excluded, which only the data can tell. Enter keeps each answer but that one."""
    everything = ["linear", "signal", "signal"]
    again = [""] * 10 + ["none"] + [""] * 9
    result = answer(*COLUMNS, *BY_DECISION, *everything, *CLAIM, "split", "5", "0.1", "draws", "500", "", *again, "")
    assert result.exit_code == 0, result.output
    assert "no column is left for the candidate to read" in result.output
    assert "Your answers are in brackets" in result.output
    protocol = written()
    for line in (
        'outcome = "visits"',
        'decision = "chosen"',
        'scheme = "split"',
        "repetitions = 5",
        "alpha = 0.1",
        "draws = 500",
    ):
        assert line in protocol
    assert 'features = ["signal"]' in protocol
    assert "exclude = []" in protocol


def test_it_proposes_the_share_of_the_status_quo() -> None:
    people = pl.read_csv("people.csv")
    share = people["chosen"].mean()
    assert isinstance(share, float)
    result = answer(*COLUMNS, *BY_DECISION, *RULE, *CLAIM, *TEST)
    assert f"the status quo selects {share:.1%} [same]" in result.output
    Path("new.toml").unlink()
    result = answer(*COLUMNS, "y", "score", "y", "", *RULE, *CLAIM, *TEST)
    assert f"Column 'chosen' selects exactly the top {share:.1%} of that score" in result.output
    assert f"capacity = {round(share, 4)}" in written()
    Path("new.toml").unlink()
    people.drop("chosen").write_csv("people.csv")
    result = answer(*COLUMNS, "y", "score", "y", "0.1", *RULE, *CLAIM, *TEST)
    assert "Share of people it selects: " in result.output, "nothing is proposed where nothing is known"
    Path("new.toml").unlink()
    weighted = ["visits", "", "group", "small", "", "y", "score", "n", "1.5", ""]
    people = people.with_columns(small=pl.col("small").abs() + 1)
    people.write_csv("people.csv")
    result = answer(*weighted, "linear", "signal", "", *CLAIM, *TEST)
    weights = people["small"].to_numpy()
    above = weights[people["score"].to_numpy() > 1.5].sum() / weights.sum()
    assert f"the status quo selects {above:.1%} [same]" in result.output


def test_it_proposes_to_exclude_what_check_suspects() -> None:
    people = pl.read_csv("people.csv").with_columns(
        answer=pl.col("visits") * 2 + 1,
        hint=pl.col("visits") + pl.col("signal") / 1_000,
        proxy=pl.when(pl.col("group") == pl.col("group").first()).then(1).otherwise(0),
    )
    people.write_csv("people.csv")
    result = answer(*COLUMNS, *BY_DECISION, "linear", "", "", *CLAIM, *TEST)
    assert result.exit_code == 0, result.output
    assert "These tell the outcome or the group, or nearly: answer,hint,proxy." in result.output
    assert 'exclude = ["answer", "hint", "proxy"]' in written()


def test_two_levels_and_missing_values_are_asked_about() -> None:
    people = pl.read_csv("people.csv").with_columns(
        visits=pl.when(pl.int_range(pl.len()) < 5).then(None).when(pl.col("visits") > 2).then(pl.lit("yes"))
        .otherwise(pl.lit("no")),
        chosen=pl.when(pl.col("chosen") == 1).then(pl.lit("in")).otherwise(pl.lit("out")),
    )  # fmt: skip
    people.write_csv("people.csv")
    answers = ["visits", "yess", "yes", "group", "", "", "n", "chosen", "in", "", *RULE, *CLAIM, "", "", "", "", ""]
    result = answer(*answers)
    assert result.exit_code == 0, result.output
    assert "Whom should the algorithm select: those whose 'visits' is 'no', or 'yes':" in result.output
    assert "Which value of 'chosen' means selected: 'in' or 'out':" in result.output
    assert "Did you mean 'yes'" in result.output
    assert "Values are missing: 5 in 'visits'. Drop those rows?" in result.output
    assert tomllib.loads(Path("new.toml").read_text())["columns"]["positive"] == {"visits": "yes", "chosen": "in"}
    assert "drop_missing = true" in written()
    assert run(["audit", "new.toml", "--data", "people.csv"]) == 0


def test_an_outcome_of_0_and_1_is_asked_about_too() -> None:
    """Of `default` nobody but the user knows whether 1 is whom to select; a decision of 1 is a selection."""
    people = pl.read_csv("people.csv").with_columns(default=(pl.col("visits") < 2).cast(pl.Int8))
    people.write_csv("people.csv")
    rest = ["group", "", "", "n", "chosen", "", *RULE, *CLAIM, *TEST]
    assert answer("default", "0", *rest).exit_code == 0
    assert tomllib.loads(Path("new.toml").read_text())["columns"]["positive"] == {"default": "0"}
    Path("new.toml").unlink()
    turned = answer("default", "1", *rest)
    assert "have a lower mean 'default'" in turned.output
    assert "Nothing is written yet" in turned.output


def test_it_asks_for_everything_that_a_protocol_has() -> None:
    """What it does not ask by itself can be named, and is listed."""
    result = answer(*COLUMNS[:-1], "person", "", *BY_DECISION, *RULE, *CLAIM, *TEST[:-1], "?", "")
    listed = {line.split(":")[0].strip() for line in result.output.splitlines() if line.startswith("  ")}
    asked = {"outcome", "lower_is_better", "group", "weight", "cluster", "stratum", "rule", "features", "exclude",
             "capacity", "selection", "accuracy", "fairness", "delta_fairness", "delta_accuracy", "scheme",
             "repetitions", "alpha"}  # fmt: skip
    keys = {one.name for section in SECTIONS for one in section_keys(section).values()}
    assert listed | asked | {"score", "above", "decision", "status_quo"} == (keys | {"status_quo"}) - {"seed"}
    assert not listed & asked


def test_without_data_it_asks_the_same() -> None:
    result = answer(*COLUMNS, *BY_DECISION, *RULE, *CLAIM, *TEST, data=None)
    assert result.exit_code == 0, result.output
    assert "improvable audit new.toml --data DATA --out new" in result.output
    alone = written()
    Path("new.toml").unlink()
    answer(*COLUMNS, *BY_DECISION, *RULE, *CLAIM, *TEST)
    assert written() == alone


def test_a_protocol_is_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("new.toml").write_text("kept")
    assert run(["init", "new.toml"]) == 2
    assert "already exists" in said(capsys)
    assert Path("new.toml").read_text() == "kept"
