"""Bad input through the command line: one line on standard error, exit status 2, nothing written."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from improvable.cli import run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    n = 400
    need = rng.normal(size=n)
    good = pl.DataFrame(
        {
            "group": rng.choice(["a", "b"], n),
            "need": need,
            "other": rng.normal(size=n),
            "score": need + rng.normal(0, 1, n),
            "flat": np.full(n, 3.0),
            "decision": (need > 0).astype(int),
            "odd_decision": rng.integers(0, 3, n),
            "outcome": rng.poisson(np.exp(0.5 * need)),
            "sick": (need > 0.3).astype(int),
            "word": rng.choice(["x", "y"], n),
        }
    )
    good.write_csv(tmp_path / "good.csv")
    good.head(30).write_csv(tmp_path / "few.csv")
    good.with_columns(group=pl.lit("a")).write_csv(tmp_path / "one_group.csv")
    good.with_columns(group=pl.Series(range(n)).cast(pl.String)).write_csv(tmp_path / "many_groups.csv")
    good.with_columns(decision=pl.when(pl.col("group") == "b").then(0).otherwise("decision")).write_csv(
        tmp_path / "none_of_b.csv"
    )
    holes = pl.int_range(n) < 7
    for name in ("outcome", "group", "score", "decision", "need"):
        good.with_columns(pl.when(holes).then(None).otherwise(name).alias(name)).write_csv(tmp_path / f"no_{name}.csv")
    good.with_columns(outcome=pl.when(holes).then(float("inf")).otherwise("outcome")).write_csv(
        tmp_path / "infinite.csv"
    )
    good.with_columns(outcome=pl.lit(1), decision=pl.lit(1)).write_csv(tmp_path / "no_gap.csv")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("group,outcome,score\n")
    (tmp_path / "duplicate.csv").write_text("group,outcome,outcome\na,1,2\nb,3,4\n")
    (tmp_path / "ragged.csv").write_text("group,outcome\na,1\nb,3,4,5\n")
    (tmp_path / "notes.docx").write_text("text")
    (tmp_path / "broken.parquet").write_text("not parquet")
    return tmp_path


BASE = "--outcome outcome --group group --rule linear --features need,other --draws 200"
SCORE = f"{BASE} --score score --capacity 0.2"
AUDITS = {
    f"audit absent.csv {SCORE}": "there is no file",
    f"audit goood.csv {SCORE}": "Did you mean 'good.csv'",
    f"audit . {SCORE}": "broken.parquet' cannot be read",
    f"audit empty.csv {SCORE}": "is empty",
    f"audit header.csv {SCORE}": "header and no rows",
    f"audit notes.docx {SCORE}": "unknown kind",
    f"audit broken.parquet {SCORE}": "cannot be read",
    f"audit ragged.csv {SCORE}": "cannot be read",
    f"audit duplicate.csv {SCORE}": "duplicate column names: 'outcome'",
    f"audit good.csv {SCORE} --outcome outcom": "no column 'outcom'. Did you mean 'outcome'?",
    f"audit good.csv {SCORE} --group grup": "Did you mean 'group'?",
    f"audit good.csv {SCORE} --score scores": "Did you mean 'score'?",
    f"audit good.csv {SCORE} --group outcome": "named as outcome and as group",
    f"audit one_group.csv {SCORE}": "one level, 'a'",
    f"audit many_groups.csv {SCORE}": "400 levels",
    f"audit none_of_b.csv {BASE} --decision decision --capacity 0.2": "for group 'b'",
    f"audit no_outcome.csv {SCORE}": "7 in 'outcome'. Fix them, or drop those rows with",
    f"audit no_group.csv {SCORE}": "7 in 'group'",
    f"audit no_score.csv {SCORE}": "7 in 'score'",
    f"audit no_decision.csv {BASE} --decision decision --capacity 0.2": "7 in 'decision'",
    f"audit infinite.csv {SCORE}": "missing or infinite values: 7 in 'outcome'",
    f"audit good.csv {SCORE} --outcome word": "'word' holds 'x' and 'y' where numbers are needed. Of an outcome or",
    f"audit good.csv {SCORE} --score word": "'word' holds 'x' and 'y' where numbers are needed",
    f"audit good.csv {BASE} --decision odd_decision --capacity 0.2": "of 0 and 1; the status quo decides 2",
    f"audit good.csv {SCORE} --accuracy classification_rate": "needs outcomes of 0 and 1",
    f"audit good.csv {SCORE} --accuracy accuracy": "no utility 'accuracy'",
    f"audit good.csv {SCORE} --outcome sick --accuracy false_positive_rate": "Use 'true_negative_rate'",
    f"audit good.csv {SCORE} --accuracy calibration_rejected": "Use 'calibration'",
    f"audit good.csv {SCORE} --accuracy calibration:coost": "no column 'coost'",
    f"audit good.csv {SCORE} --capacity 0": "capacity is 0",
    f"audit good.csv {SCORE} --capacity 3": "share of the rows",
    f"audit good.csv {SCORE} --alpha 0": "alpha is 0",
    f"audit good.csv {SCORE} --alpha 5": "below 0.5",
    f"audit good.csv {SCORE} --train-fraction 1": "train_fraction is 1.0",
    f"audit good.csv {SCORE} --splits 0": "splits is 0",
    f"audit good.csv {SCORE} --splits 2.5": "valid integer",
    f"audit good.csv {SCORE} --draws 5": "at least 100",
    f"audit good.csv {SCORE} --seed -1": "seed is -1",
    f"audit good.csv {SCORE} --jobs 0": "n_jobs is 0",
    f"audit good.csv {SCORE} --delta-fairness 1.5": "at most 1",
    f"audit good.csv {SCORE} --delta-accuracy -2": "above -1",
    f"audit good.csv {SCORE} --delta-accuracy much": "Write 0.05, or white:0.02,black:0",
    f"audit good.csv {SCORE} --delta-accuracy a:0.1": "nothing for group 'b'",
    f"audit good.csv {SCORE} --delta-accuracy a:0.1,c:0": "names 'c'",
    f"audit good.csv {SCORE} --gap folded": "gap is 'folded'",
    f"audit good.csv {SCORE} --form share": "form is 'share'",
    f"audit few.csv {SCORE}": "12 rows for training and 18 for testing",
    f"audit good.csv {SCORE} --score flat": "'flat' is constant",
    f"audit no_gap.csv {BASE} --decision decision --capacity 0.2": "outcome 'outcome' is 1 in every row",
    f"audit good.csv {SCORE} --rule forrest": "Did you mean 'forest'",
    f"audit good.csv {SCORE} --rule logistic": "split 1: rule 'logistic' is a classifier",
    f"audit good.csv {SCORE} --features need,absent": "no column 'absent'",
    f"audit good.csv {SCORE} --exclude 'zz*'": "no column",
    f"audit good.csv {BASE}": "Give --score S --capacity 0.03",
    f"audit good.csv {BASE} --score score": "--score needs --capacity or --above",
    f"audit good.csv {BASE} --decision decision --above 2": "--above goes with --score",
    f"audit good.csv {BASE} --decision decision": "nothing says whom to select",
    f"audit good.csv {SCORE} --json absent/out.json": "no folder for 'absent/out.json'",
    "audit good.csv --group group --score score": "--outcome",
    f"audit good.csv {SCORE} --colour blue": "--colour",
    f"audits good.csv {SCORE}": "audits",
}  # fmt: skip
PAIR = "--outcome outcome --group group --draws 200"
COMPARISONS = {
    f"compare good.csv {PAIR} --status-quo decision": "the candidate is a column of decisions or a score",
    f"compare good.csv {PAIR} --status-quo decision --candidate sicc": "no column 'sicc'. Did you mean 'sick'",
    f"compare good.csv {PAIR} --status-quo decision --candidate-score need": "--candidate-score needs --capacity",
    f"compare good.csv {PAIR} --status-quo decision --candidate sick --candidate-score need": "decisions or a score",
    f"compare good.csv {PAIR} --status-quo odd_decision --candidate sick": "the status quo decides 2",
    f"compare none_of_b.csv {PAIR} --status-quo decision --candidate sick": "no 'calibration' for group 'b'",
    f"compare no_decision.csv {PAIR} --status-quo decision --candidate sick": "7 in 'decision'",
    f"compare no_gap.csv {PAIR} --status-quo decision --candidate sick": "is 1 in every row",
    "demo --write absent/people.csv": "no folder",
    "demo --write people.xlsx": ".csv or .parquet",
    "demo --seed -1": "seed",
}


@pytest.mark.parametrize(("command", "message"), [*AUDITS.items(), *COMPARISONS.items()])
def test_bad_input_is_one_clear_line(
    command: str, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    status = run([word.strip("'") for word in command.split()])
    out, err = capsys.readouterr()
    assert status == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    assert message in err
    assert err.startswith("improvable: ")
    assert sorted(folder.iterdir()) == before


def test_drop_missing_drops_and_says_how_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert run([*f"audit no_outcome.csv {SCORE} --splits 1 --drop-missing".split()]) == 0
    out, err = capsys.readouterr()
    assert "warning: 7 rows with missing or infinite values were dropped." in err
    assert "393 rows" in out
