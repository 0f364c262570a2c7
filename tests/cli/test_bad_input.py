"""Input as people have it, through the command line: what is accepted, what is refused,
and what is said.

Bad input is one line on standard error, exit status 2, and nothing written.
"""

import gzip
import shlex
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from improvable.cli import run


@pytest.fixture
def folder(files: Path) -> Iterator[Path]:
    """The files, which no command changes; what a test leaves beside them is
    removed.
    """
    before = set(files.iterdir())
    yield files
    for path in set(files.iterdir()) - before:
        path.unlink()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("files")
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
    good.with_columns(group=pl.Series(range(n)).cast(pl.String)).write_csv(
        tmp_path / "many_groups.csv"
    )
    good.with_columns(
        decision=pl.when(pl.col("group") == "b").then(0).otherwise("decision")
    ).write_csv(tmp_path / "none_of_b.csv")
    holes = pl.int_range(n) < 7
    for name in ("outcome", "group", "score", "decision", "need"):
        good.with_columns(
            pl.when(holes).then(None).otherwise(name).alias(name)
        ).write_csv(tmp_path / f"no_{name}.csv")
    good.with_columns(
        outcome=pl.when(holes).then(float("inf")).otherwise("outcome")
    ).write_csv(tmp_path / "infinite.csv")
    good.with_columns(outcome=pl.lit(1), decision=pl.lit(1)).write_csv(
        tmp_path / "no_gap.csv"
    )
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "header.csv").write_text("group,outcome,score\n")
    (tmp_path / "duplicate.csv").write_text("group,outcome,outcome\na,1,2\nb,3,4\n")
    (tmp_path / "ragged.csv").write_text("group,outcome\na,1\nb,3,4,5\n")
    (tmp_path / "notes.docx").write_text("text")
    (tmp_path / "broken.parquet").write_text("not parquet")
    odd_files(tmp_path, good)
    return tmp_path


def odd_files(folder: Path, good: pl.DataFrame) -> None:
    """Files as people have them."""
    n = len(good)
    few = pl.int_range(n) < 7
    high = pl.col("outcome") > 1
    words = {
        "yes": pl.when(high).then(pl.lit("yes")).otherwise(pl.lit("no")),
        "approved": pl.when(pl.col("decision") == 1)
        .then(pl.lit("approve"))
        .otherwise(pl.lit("deny")),
        "graded": pl.when(high)
        .then(pl.lit("Pass"))
        .when(few)
        .then(pl.lit("pass "))
        .otherwise(pl.lit("Fail")),
        "three": pl.when(few)
        .then(pl.lit("maybe"))
        .when(high)
        .then(pl.lit("yes"))
        .otherwise(pl.lit("no")),
        "coded": pl.when(high).then(2).otherwise(1),
        "answer": pl.when(few).then(9).when(high).then(1).otherwise(0),
        "stray": pl.when(pl.int_range(n) == 16)
        .then(pl.lit("n/a"))
        .otherwise(pl.col("outcome").cast(pl.String)),
        "text_need": pl.when(pl.int_range(n) == 16)
        .then(pl.lit("n/a"))
        .otherwise(pl.col("need").cast(pl.String)),
        "all_text": pl.concat_str(pl.lit("t"), pl.int_range(n)),
        "a, b": pl.col("group"),
        "empty": pl.lit(None, dtype=pl.String),
        "ids": pl.int_range(n),
        "long": pl.int_range(n).cast(pl.Int128) + 10**20,
        "minus": pl.lit(-1),
        "zero": pl.lit(0),
        "five": pl.int_range(n) % 5,
    }
    odd = good.with_columns(**words)
    odd.write_csv(folder / "odd.csv")
    good.head(1).write_csv(folder / "one_row.csv")
    good.with_columns(outcome=pl.lit(1)).write_csv(folder / "constant.csv")
    good.select("group", "outcome", "decision").write_csv(folder / "bare.csv")
    good.select(
        "group",
        pl.when(few).then(None).otherwise("outcome").alias("outcome"),
        "decision",
    ).write_csv(folder / "bare_missing.csv")
    odd.select("group", "outcome", "decision", "ids", "minus").write_csv(
        folder / "nothing_to_read.csv"
    )
    good.select(
        outcome="outcome", group="group", score="score", long=odd["long"]
    ).write_csv(folder / "long.csv")
    good.with_columns(need=pl.when(few).then(float("inf")).otherwise("need")).write_csv(
        folder / "infinite_need.csv"
    )
    (folder / "short.csv").write_text("group,outcome,score\na,1,2\nb,3\na,2,1\n")
    (folder / "wide.csv").write_text("group;outcome;score\na;1;2\nb;3;4;5\n")
    (folder / "latin.csv").write_bytes(
        "group,outcome,größe\na,1,2\nb,2,3\n".encode("latin-1")
    )
    lines = (folder / "good.csv").read_text().splitlines()
    (folder / "uneven.csv").write_text(
        "\n".join([*lines[:99], lines[99] + ",1,2", *lines[100:]])
    )
    (folder / "blank.csv").write_text("\n\n")
    (folder / "semicolons.csv").write_text("group;outcome;score\na;1,5;2,5\n")
    (folder / "noise.csv.gz").write_bytes(b"not gzip")
    (folder / "half.csv.gz").write_bytes(
        gzip.compress(b"group,outcome\na,1\n" * 99)[:30]
    )
    (folder / "noise.zip").write_bytes(b"not zip")
    for name, members in {
        "two.zip": ["a.csv", "b.csv"],
        "none.zip": [],
        "odd.zip": ["a.docx"],
    }.items():
        with zipfile.ZipFile(folder / name, "w") as archive:
            for member in members:
                archive.writestr(member, "group,outcome\na,1\n")
    (folder / "noise.xlsx").write_bytes(b"not excel")
    good.head(40).write_excel(folder / "good.xlsx", "patients")
    for kind in ("dta", "sav", "sas7bdat"):
        (folder / f"noise.{kind}").write_bytes(b"no such file")
    (folder / "empty.parquet").write_text("")
    text = good.write_csv(separator=";", decimal_comma=True)
    (folder / "european.csv").write_text(text)
    (folder / "tabs.txt").write_text(good.write_csv(separator="\t"))
    (folder / "pipes.csv").write_text(good.write_csv(separator="|"))
    (folder / "utf16.csv").write_bytes(
        good.rename({"other": "größe"}).write_csv().encode("utf-16")
    )
    (folder / "packed.csv.gz").write_bytes(gzip.compress(text.encode()))
    good.write_excel(folder / "whole.xlsx", "patients")
    (folder / "bad.toml").write_text("[columns\n")
    (folder / "odd.toml").write_text(
        "[columns]\noutcome = 'outcome'\ngroup = 'group'\n[read]\nseparator = 3\n"
    )


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
    f"audit good.csv {SCORE} --outcome outcom": (
        "no column 'outcom'. Did you mean 'outcome'?"
    ),
    f"audit good.csv {SCORE} --group grup": "Did you mean 'group'?",
    f"audit good.csv {SCORE} --score scores": "Did you mean 'score'?",
    f"audit good.csv {SCORE} --group outcome": "named as outcome and as group",
    f"audit one_group.csv {SCORE}": "one level, 'a'",
    f"audit many_groups.csv {SCORE}": "400 levels",
    f"audit none_of_b.csv {BASE} --decision decision --capacity 0.2": "for group 'b'",
    f"audit no_outcome.csv {SCORE}": (
        "7 in 'outcome'. Fix them, or drop those rows with"
    ),
    f"audit no_group.csv {SCORE}": "7 in 'group'",
    f"audit no_score.csv {SCORE}": "7 in 'score'",
    (
        f"audit no_decision.csv {BASE} --decision decision --capacity 0.2"
    ): "7 in 'decision'",
    f"audit infinite.csv {SCORE}": "missing or infinite values: 7 in 'outcome'",
    f"audit good.csv {SCORE} --outcome word": (
        "'word' holds 'x' and 'y' where numbers are needed. Say which of"
    ),
    f"audit good.csv {SCORE} --score word": (
        "'word' holds 'x' and 'y' where numbers are needed"
    ),
    (
        f"audit good.csv {BASE} --decision odd_decision --capacity 0.2"
    ): "of 0 and 1; the status quo decides 2",
    (
        f"audit good.csv {SCORE} --accuracy classification_rate"
    ): "needs outcomes of 0 and 1",
    f"audit good.csv {SCORE} --accuracy fairest": "no utility 'fairest'",
    (
        f"audit good.csv {SCORE} --outcome sick --accuracy false_positive_rate"
    ): "Use 'true_negative_rate'",
    f"audit good.csv {SCORE} --accuracy calibration_rejected": "Use 'calibration'",
    f"audit good.csv {SCORE} --accuracy calibration:coost": "no column 'coost'",
    f"audit good.csv {SCORE} --capacity 0": "capacity is 0",
    f"audit good.csv {SCORE} --capacity 3": "share of the rows",
    f"audit good.csv {SCORE} --alpha 0": "alpha is 0",
    f"audit good.csv {SCORE} --alpha 5": "below 0.5",
    f"audit good.csv {SCORE} --train-fraction 1": "--train-fraction is 1.0",
    f"audit good.csv {SCORE} --repetitions 0": "repetitions is 0",
    f"audit good.csv {SCORE} --repetitions 2.5": "valid integer",
    f"audit good.csv {SCORE} --draws 5": "at least 100",
    f"audit good.csv {SCORE} --seed -1": "seed is -1",
    f"audit good.csv {SCORE} --jobs 0": "n_jobs is 0",
    (
        f"audit good.csv {SCORE} --delta-fairness nan"
    ): "--delta-fairness is nan. It must be a number",
    (
        f"audit good.csv {SCORE} --delta-accuracy inf"
    ): "--delta-accuracy is inf. It must be a number",
    (
        f"audit good.csv {SCORE} --no-worse 0.01 --delta-accuracy 0.1"
    ): "--no-worse of 0.01 contradicts --delta-accuracy",
    f"audit good.csv {SCORE} --no-worse 0.01 --ask fairness": (
        "--no-worse is about accuracy, and only fairness is asked for"
    ),
    f"audit good.csv {SCORE} --no-worse 0": (
        "--no-worse is 0.0. It must be a number above 0 and below 1"
    ),
    (
        f"audit good.csv {SCORE} --lower-is-better --accuracy classification_rate"
    ): "is not a mean of outcomes",
    (
        f"audit good.csv {SCORE} --delta-accuracy much"
    ): "Write 0.05, or white:0.02,black:0",
    f"audit good.csv {SCORE} --delta-accuracy a:0.1": "nothing for group 'b'",
    f"audit good.csv {SCORE} --delta-accuracy a:0.1,c:0": "names 'c'",
    f"audit good.csv {SCORE} --gap folded": "gap is 'folded'",
    f"audit good.csv {SCORE} --form share": "form is 'share'",
    f"audit few.csv {SCORE}": "12 rows for training and 18 for testing",
    f"audit good.csv {SCORE} --score flat": "'flat' is constant",
    (
        f"audit no_gap.csv {BASE} --decision decision --capacity 0.2"
    ): "outcome 'outcome' is 1 in every row",
    f"audit good.csv {SCORE} --rule forrest": "Did you mean 'forest'",
    f"audit good.csv {SCORE} --rule logistic": (
        "repetition 1, block 1: rule 'logistic' is a classifier"
    ),
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
}
ODD = (
    "--group group --rule linear --features need,other --draws 200 --score score "
    "--capacity 0.2"
)
FILES = {
    f"audit short.csv {SCORE}": "line 3 has 2 values and the header 3",
    f"audit ragged.csv {SCORE} --seed 1": (
        "line 3 has 4 values and the header 2. Fix that line"
    ),
    f"audit wide.csv {SCORE}": (
        "line 3 has 4 values and the header 3. Fix that line; values are separated by "
        "semi"
    ),
    f"audit uneven.csv {SCORE}": "line 100 has 12 values and the header 10",
    f"audit blank.csv {SCORE}": "is empty",
    f"audit empty.parquet {SCORE}": "is empty",
    f"audit latin.csv {SCORE}": (
        "is not utf-8: byte 17 has no meaning in it. Name its encoding: --encoding "
        "windows"
    ),
    f"audit latin.csv {SCORE} --encoding ascii": (
        "is not ascii: byte 17 has no meaning in it. Name its encoding"
    ),
    f"audit good.csv {SCORE} --encoding klingon": (
        "encoding is 'klingon'. It is a name such as utf-8"
    ),
    f"audit good.csv {SCORE} --separator ab": (
        "separator is 'ab'. It is one character, such as ';', or 'tab'"
    ),
    f"audit good.csv {SCORE} --separator ';'": "no column",
    f"audit good.csv {SCORE} --decimal ';'": "decimal is ';'",
    f"audit good.csv {SCORE} --sheet one": "sheet means nothing for a .csv file",
    (
        f"audit broken.parquet {SCORE} --separator ';'"
    ): "separator means nothing for a .parquet file",
    f"audit good.xlsx {SCORE} --decimal ','": "decimal means nothing for a .xlsx file",
    f"audit good.xlsx {SCORE} --sheet patient": (
        "no sheet 'patient'. Did you mean 'patients'"
    ),
    f"audit noise.csv.gz {SCORE}": "cannot be read: Not a gzipped file",
    f"audit half.csv.gz {SCORE}": "cannot be read",
    f"audit noise.zip {SCORE}": "cannot be read: File is not a zip file",
    f"audit two.zip {SCORE}": "holds 2 files. Pack one, or unpack it",
    f"audit none.zip {SCORE}": "holds 0 files",
    f"audit odd.zip {SCORE}": (
        "holds 'a.docx'. Only .csv, .tsv and .txt are read packed"
    ),
    f"audit noise.xlsx {SCORE}": "'noise.xlsx' cannot be read",
    f"audit noise.dta {SCORE}": "'noise.dta' cannot be read",
    f"audit noise.sav {SCORE}": "'noise.sav' cannot be read",
    f"audit noise.sas7bdat {SCORE}": "'noise.sas7bdat' cannot be read",
    (
        "audit semicolons.csv --outcome outcome --group group --score score --capacity "
        "0.2"
    ): "have one row",
    f"audit one_row.csv {SCORE}": (
        "the data have one row that can be used. An audit needs rows"
    ),
    f"audit good.csv {SCORE} --engine duckdb": "engine 'duckdb' reads relations",
    f"audit good.csv {SCORE} --engine sparkle": (
        "engine is 'sparkle'. Did you mean 'spark'"
    ),
    f"audit empty.csv {SCORE} --engine arrow": "is empty",
    f"audit uneven.csv {SCORE} --engine arrow": "'uneven.csv' cannot be read",
    f"audit duplicate.csv {SCORE} --engine arrow": "duplicate column names: 'outcome'",
    f"audit noise.xlsx {SCORE} --engine arrow": "'noise.xlsx' cannot be read",
    "audit bad.toml --data good.csv": "bad.toml",
    "audit odd.toml --data good.csv": "[read] separator is 3. It must be text",
    "audit good.csv": "an audit needs --outcome and --group",
    "ledger good.csv": "there is no ledger",
}
VALUES = {
    f"audit odd.csv {ODD} --outcome yes": (
        "'no' and 'yes' where numbers are needed. Say which of them "
        "means selected (a decision) or should be selected (an outcome): --positive "
        "yes=yes or --positive yes=no"
    ),
    f"audit odd.csv {ODD} --outcome yes --positive yess": "'no' and 'yes'",
    (
        f"audit odd.csv {ODD} --outcome outcome --positive yes"
    ): "positive is 'yes', which no outcome or",
    f"audit odd.csv {ODD} --outcome three --positive yes": (
        "holds 3 levels: 'no' (298), 'yes' (95), 'maybe' (7). Two levels are needed: "
        "--na maybe reads"
    ),
    f"audit odd.csv {ODD} --outcome three --positive yes --na maybe": "7 in 'three'",
    (
        f"audit odd.csv {ODD} --outcome graded --positive Pass"
    ): "differ only in spaces or capitals: --strip reads",
    (
        f"audit odd.csv {ODD} --outcome coded --accuracy classification_rate"
    ): "Say which of 1 and 2 is meant, such as --positive 2.",
    (
        f"audit odd.csv {ODD} --outcome answer --na 9"
    ): "missing or infinite values: 7 in 'answer'",
    f"audit odd.csv {ODD} --outcome stray": (
        "holds text in 1 of 400 rows where numbers are needed: 'n/a' in row 17"
    ),
    f"audit odd.csv {ODD} --outcome stray --na n/a": "1 in 'stray'",
    f"audit odd.csv {ODD} --outcome all_text": "'all_text' holds text such as",
    f"audit odd.csv {ODD} --outcome all_text --positive t1": "more than 60 levels",
    f"audit odd.csv {ODD} --outcome empty": "400 in 'empty'",
    f"audit odd.csv {BASE} --decision approved --capacity 0.2": "--positive approve",
    f"audit odd.csv {BASE} --decision coded --capacity 0.2": (
        "the status quo decides 2. Say which of 1 and 2 is meant"
    ),
    (
        f"audit odd.csv {BASE} --outcome yes --decision approved --capacity 0.2 "
        "--positive yes"
    ): "--positive approved=deny",
    f"audit odd.csv {SCORE} --score all_text": "'all_text' holds text such as",
    f"audit odd.csv {SCORE} --score minus": "'minus' is constant",
    f"audit odd.csv {SCORE} --weight minus": "weights in 'minus' are negative",
    f"audit odd.csv {SCORE} --weight zero": "all weights in",
    f"audit odd.csv {SCORE} --weight yes": "'no' and 'yes'",
    f"audit odd.csv {SCORE} --weight outcome": "named as weight and as something else",
    f"audit odd.csv {SCORE} --cluster five": "'five' has 5 clusters",
    f"audit odd.csv {SCORE} --cluster empty": "400 in 'empty'",
    f"audit odd.csv {SCORE} --row-id five": "395 rows repeat the 'five' of another",
    f"audit odd.csv {SCORE} --target yes": "'no' and 'yes'",
    f"audit constant.csv {SCORE}": (
        "outcome 'outcome' is 1 in every row, so nobody can do better or worse"
    ),
    f"audit bare.csv {BASE} --decision decision --capacity 0.2": "no column 'need'",
    (
        "audit bare.csv --outcome outcome --group group --decision decision --capacity "
        "0.2"
    ): "no column is left for the "
    "candidate to read: the data have none but outcomes, groups",
    (
        "audit bare_missing.csv --outcome outcome --group group --decision decision "
        "--capacity 0.2"
    ): "7 in 'outcome'",
    (
        "audit nothing_to_read.csv --outcome outcome --group group --decision decision "
        "--capacity 0.2"
    ): "'minus', 'ids'",
    (
        "audit long.csv --outcome outcome --group group --score score --capacity 0.2"
    ): "'long' is constant, empty, nested",
    f"audit infinite_need.csv {SCORE}": "column 'need' has 7 infinite values",
    f"audit good.csv {SCORE} --features outcome": (
        "'outcome' is an outcome and cannot be a feature"
    ),
    f"audit good.csv {SCORE} --groups a": "one level, 'a'",
    f"audit good.csv {SCORE} --groups a,d": "'d' is not a group",
    f"audit good.csv {SCORE} --min-group 900": "fewer than 900 rows",
    f"audit good.csv {SCORE} --protected c": "protected group 'c' is not a group",
    f"audit good.csv {SCORE} --overall everyone": "--overall is 'everyone'",
    f"audit good.csv {SCORE} --monotone need": "--monotone is 'need'",
    f"audit good.csv {SCORE} --monotone need:up": "need",
    f"audit good.csv {SCORE} --max-selection-gap 2": "--max-selection-gap is 2",
    f"audit good.csv {SCORE} --scheme halves": "Choose 'forward' or 'split'",
    (
        f"audit good.csv {SCORE} --train-fraction 0.3"
    ): "--train-fraction goes with the paper's split",
    f"audit good.csv {SCORE} --fold 2": "No such option: --fold",
    f"audit good.csv {SCORE} --method exact": "method is 'exact'",
    f"audit good.csv {SCORE} --train-rows 5": "at least 20",
    (
        f"audit good.csv {SCORE} --table results.xls"
    ): "does not end with .tex, .csv or .md",
    f"audit good.csv {SCORE} --report report.doc": "does not end with",
    f"audit good.csv {SCORE} --data good.csv": "--data goes with a protocol",
}
NAMES = {
    f"audit odd.csv {SCORE} --group 'a, b'": (
        "no column 'a'. A name with a comma stands in double quotes: '\"a, b\"'"
    ),
    (
        f"audit odd.csv {SCORE} --features '\"need, other'"
    ): "a name with a comma in double quotes",
    f"audit odd.csv {SCORE} --group sick --group absent": "no column 'absent'",
    f"audit odd.csv {SCORE} --exclude nedd": "no column 'nedd'. Did you mean 'need'",
}
PAIR = "--outcome outcome --group group --draws 200"
COMPARISONS = {
    f"compare good.csv {PAIR} --status-quo decision": (
        "the candidate is a column of decisions or a score"
    ),
    (
        f"compare good.csv {PAIR} --status-quo decision --candidate sicc"
    ): "no column 'sicc'. Did you mean 'sick'",
    (
        f"compare good.csv {PAIR} --status-quo decision --candidate-score need"
    ): "--candidate-score needs --capacity",
    (
        f"compare good.csv {PAIR} --status-quo decision --candidate sick "
        "--candidate-score need"
    ): "decisions or a score",
    (
        f"compare good.csv {PAIR} --status-quo odd_decision --candidate sick"
    ): "the status quo decides 2",
    (
        f"compare none_of_b.csv {PAIR} --status-quo decision --candidate sick"
    ): "no 'calibration' for group 'b'",
    (
        f"compare no_decision.csv {PAIR} --status-quo decision --candidate sick"
    ): "7 in 'decision'",
    (
        f"compare no_gap.csv {PAIR} --status-quo decision --candidate sick"
    ): "is 1 in every row",
    (
        f"compare good.csv {PAIR} --status-quo score --candidate sick"
    ): "give it as a score with the share of",
    (
        f"compare odd.csv {PAIR} --status-quo approved --candidate sick"
    ): "--positive approve",
    (
        f"compare odd.csv {PAIR} --status-quo coded --candidate sick"
    ): "Say which of 1 and 2 is meant",
    (
        f"compare odd.csv {PAIR} --status-quo sick --candidate approved --positive no"
    ): "holds 'approve' and 'deny'",
    (
        f"compare constant.csv {PAIR} --status-quo decision --candidate sick"
    ): "is 1 in every row",
    (
        f"compare one_row.csv {PAIR} --status-quo decision --candidate sick"
    ): "the data have one row that can be used",
    (
        "compare good.csv --outcome outcome --status-quo decision --candidate sick"
    ): "--group",
    (
        f"compare wide.csv {PAIR} --status-quo decision --candidate sick"
    ): "line 3 has 4 values",
    (
        f"compare good.csv {PAIR} --status-quo decision --candidate sick --separator ab"
    ): "separator is 'ab'",
    f"power short.csv {SCORE.replace('--draws 200', '')}": "line 3 has 2 values",
    (
        "compare odd.csv --outcome yes --group group --status-quo decision --candidate "
        "sick"
    ): "--positive yes",
    "demo --simulated --write absent/people.csv": "no folder",
    "demo --write people.xlsx": ".csv or .parquet",
    "demo --seed -1": "seed",
}


GOOD = "--group group --rule linear --features need,other --draws 200 --repetitions 1"
SCORED = f"{GOOD} --score score --capacity 0.2"
COMMA = "--group '\"a, b\"'"
ACCEPTED = {
    (
        f"audit odd.csv {SCORED} --outcome yes --positive yes"
    ): "'yes' is 1 where it says 'yes' (",
    (
        f"audit odd.csv {GOOD} --outcome yes --decision approved --capacity 0.2 "
        "--positive yes,approve"
    ): "'approved' is 1",
    (
        f"audit odd.csv {GOOD} --outcome yes --decision approved --capacity 0.2 "
        "--positive yes --positive approve"
    ): "'appr",
    (
        f"audit odd.csv {SCORED} --outcome graded --positive pass --strip"
    ): "0 where it says 'Fail'",
    (
        f"audit odd.csv {SCORED} --outcome answer --na 9 --drop-missing"
    ): "'9' is read as missing in 'answer': 7 rows.",
    f"audit odd.csv {SCORED} --outcome answer": (
        "If that stands for missing, say so: --na 9"
    ),
    (
        f"audit odd.csv {SCORED} --outcome coded --positive 2"
    ): "'coded' is 1 where it says '2'",
    f"audit odd.csv {SCORED.replace('--group group', COMMA)} --outcome answer": "",
    (
        f"audit odd.csv {SCORED.replace('need', 'text_need')} --outcome outcome"
    ): "'text_need' has 'n/a' in 1 row, which --na n/a reads as missing",
    (
        f"audit odd.csv {SCORED.replace('need', 'text_need')} --outcome outcome --na "
        "n/a"
    ): "'n/a' is read as missing in 'text_need': 1 row.",
    (
        f"audit no_outcome.csv {SCORED} --outcome outcome --drop-missing"
    ): "7 rows with missing or infinite values were",
    f"audit european.csv {SCORED} --outcome outcome": "semicolon",
    f"audit tabs.txt {SCORED} --outcome outcome": "tab",
    f"audit pipes.csv {SCORED} --outcome outcome": "",
    f"audit utf16.csv {SCORED.replace('other', 'größe')} --outcome outcome": "",
    f"audit packed.csv.gz {SCORED} --outcome outcome": "semicolon",
    f"audit whole.xlsx {SCORED} --outcome outcome": "",
}
REFUSED = AUDITS | FILES | VALUES | NAMES | COMPARISONS
INPUTS = [
    *((command, 2, words) for command, words in REFUSED.items()),
    *((command, 0, words) for command, words in ACCEPTED.items()),
]
"""What is tried: the input, the exit status, and the words that must be in the line."""


@pytest.mark.parametrize(("command", "status", "words"), INPUTS)
def test_input_gives_a_result_or_one_clear_line(
    command: str,
    status: int,
    words: str,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(folder.iterdir())
    assert run(shlex.split(command)) == status
    out, err = capsys.readouterr()
    assert words in err
    if status == 0:
        assert "REJECTED" in out
        assert all(line.startswith("warning: ") for line in err.splitlines())
        return
    assert out == ""
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("improvable: ")
    left = set(folder.iterdir()) - set(before)
    assert all(path.suffix == ".ledger" for path in left), (
        "only a run that had begun leaves a line"
    )


def test_drop_missing_drops_and_says_how_many(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert (
        run([*f"audit no_outcome.csv {SCORE} --repetitions 1 --drop-missing".split()])
        == 0
    )
    out, err = capsys.readouterr()
    assert "warning: 7 rows with missing or infinite values were dropped." in err
    assert "393 rows" in " ".join(out.split())
