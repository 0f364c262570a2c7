"""Sealing from the command line: the order of the rows that follows, and what is
refused.
"""

import json
import re
from pathlib import Path

import polars as pl
import pytest

import improvable
from improvable.cli import run
from improvable.data.frame import read_rows
from improvable.data.keys import fingerprint
from improvable.question.challenge import sealed_seed
from improvable.results.storage import PROVENANCE
from improvable.trust.seal import read_seal
from protocol_room import OPTIONS, flip, said


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(("scheme", "blocks"), [("forward", 4), ("split", 1)])
def test_two_people_with_the_same_rows_get_the_same_seal_and_the_same_bytes(
    scheme: str, blocks: int
) -> None:
    declared = (
        Path("care.toml")
        .read_text()
        .replace('# scheme = "forward"', f'scheme = "{scheme}"')
    )
    Path("care.toml").write_text(declared)
    Path("care2.toml").write_text(declared.replace("# ", "# another comment "))
    assert (
        run(["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"])
        == 0
    )
    assert (
        run(
            [
                "seal",
                "care2.toml",
                "--data",
                "people.parquet",
                "--challenge",
                "docket 1",
            ]
        )
        == 0
    )
    assert read_seal("care.seal") == read_seal("care2.seal")
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "one"]) == 0
    assert (
        run(
            [
                "audit",
                "care2.toml",
                "--data",
                "people.parquet",
                "--out",
                "two",
                "--jobs",
                "2",
            ]
        )
        == 0
    )
    one, two = (
        {path.name: path.read_bytes() for path in Path(folder).iterdir()}
        for folder in ("one", "two")
    )
    assert one.pop(PROVENANCE) != two.pop(PROVENANCE), (
        "each has its own command and ledger"
    )
    assert one == two
    facts = improvable.load("one").to_dict()
    assert (facts["scheme"], len(facts["blocks"]["cuts"])) == (scheme, blocks)
    assert (
        run(["verify", "one", "--data", "people.parquet", "--protocol", "care2.toml"])
        == 0
    )


@pytest.mark.usefixtures("room")
def test_the_order_of_rows_follows_from_data_and_challenge_alone() -> None:
    """With a row id, that is: without one, all that is read of a row tells it from
    others.
    """
    pl.read_csv("people.csv").with_row_index("person").write_csv("people.csv")

    def tested(*more: str) -> list[float]:
        """What follows from which rows are tested, and from nothing else."""
        assert (
            run(
                [
                    "audit",
                    "people.csv",
                    *OPTIONS,
                    "--row-id",
                    "person",
                    *more,
                    "--json",
                    "result.json",
                ]
            )
            == 0
        )
        facts = json.loads(Path("result.json").read_text())
        return [
            repetition["accuracy"]["black"]["status_quo"]
            for repetition in facts["repetitions"]
        ]

    usual = tested("--challenge", "docket 1")
    assert (
        tested(
            "--challenge",
            "docket 1",
            "--alpha",
            "0.1",
            "--draws",
            "400",
            "--rule",
            "ridge:10",
        )
        == usual
    )
    assert (
        tested(
            "--challenge", "docket 1", "--gap", "absolute", "--delta-fairness", "0.3"
        )
        == usual
    )
    assert tested("--challenge", "docket 1", "--features", "gagne_sum_tm1") == usual
    assert tested("--challenge", "docket 2") != usual
    question = ["gagne_sum_t", "race", "risk_score_t"]
    seed = sealed_seed(fingerprint(read_rows("people.csv"), question), "docket 1")
    assert json.loads(Path("result.json").read_text())["seed"] != seed
    tested("--challenge", "docket 1")
    facts = json.loads(Path("result.json").read_text())
    assert facts["seed"] == seed
    assert facts["challenge"] == "docket 1"


@pytest.mark.usefixtures("room")
def test_sealing_without_a_row_id_is_warned_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run(["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"])
        == 0
    )
    assert "without a row id" in capsys.readouterr().err
    pl.read_csv("people.csv").with_row_index("person").write_csv("numbered.csv")
    assert (
        run(
            [
                "init",
                "id.toml",
                "--data",
                "numbered.csv",
                *OPTIONS,
                "--row-id",
                "person",
            ]
        )
        == 0
    )
    assert (
        run(["seal", "id.toml", "--data", "numbered.csv", "--challenge", "docket 1"])
        == 0
    )
    assert "without a row id" not in capsys.readouterr().err


@pytest.mark.usefixtures("room")
def test_every_output_says_whether_a_run_is_sealed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    outputs = ["--report", "r.html", "--json", "r.json", "--table", "r.tex"]
    assert run(["audit", "people.csv", *OPTIONS, "--seed", "5", *outputs]) == 0
    assert "Seed 5, chosen by the analyst: this run is not sealed." in said(capsys)
    for name in ("r.html", "r.tex"):
        assert "not sealed" in Path(name).read_text()
    assert (
        run(["audit", "people.csv", *OPTIONS, "--seed", "5", "--report", "r.md"]) == 0
    )
    assert "not sealed" in Path("r.md").read_text()
    assert "3 runs begun" not in Path("r.html").read_text()
    assert "2 runs begun on these data, 2 finished" in Path("r.md").read_text()
    assert json.loads(Path("r.json").read_text())["challenge"] is None
    capsys.readouterr()
    assert run(["audit", "people.csv", *OPTIONS, "--challenge", "x"]) == 0
    assert "given by whoever ran this: this run is not sealed" in said(capsys)
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "x"]) == 0
    assert (
        run(
            [
                "audit",
                "care.toml",
                "--data",
                "people.csv",
                "--report",
                "s.html",
                "--out",
                "run",
            ]
        )
        == 0
    )
    sealed = f"Sealed ({read_seal('care.seal').digest[:16]}...)"
    assert (
        f"{sealed}: the order of the rows follows from the data and the challenge 'x'"
        in said(capsys)
    )
    assert Path("s.html").read_text().count(sealed) == 2
    assert "not sealed" not in Path("s.html").read_text()
    again = improvable.load("run").with_claim(alpha=0.4)
    assert "this question is not the one that was declared" in again.summary()
    assert again.to_dict()["protocol"] is None
    assert again.to_dict()["seal"] is None


@pytest.mark.usefixtures("room")
def test_a_column_that_is_not_read_does_not_matter() -> None:
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run"]) == 0
    flip("other.csv", "cost_t")
    assert run(["audit", "care.toml", "--data", "other.csv", "--out", "run2"]) == 0
    assert run(["verify", "run", "--data", "other.csv"]) == 0


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    "challenge",
    [
        "docket 1 ",
        "docket  1",
        "docket\u20281",
        "docket\u00a01",
        "docket\u200b1",
        "d\u043ecket 1",
    ],
)
def test_a_challenge_that_looks_like_another_is_refused(
    challenge: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run(["seal", "care.toml", "--data", "people.csv", "--challenge", challenge])
        == 2
    )
    assert "characters that do not show" in said(capsys)


@pytest.mark.usefixtures("room")
def test_a_seal_is_made_once_and_cannot_be_edited(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "a"]) == 0
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "a"]) == 0
    before = Path("care.seal").read_bytes()
    capsys.readouterr()
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "b"]) == 2
    assert "already holds another seal" in said(capsys)
    assert Path("care.seal").read_bytes() == before
    Path("care.seal").write_text(
        Path("care.seal").read_text().replace('"challenge": "a"', '"challenge": "b"')
    )
    assert run(["audit", "care.toml", "--data", "people.csv"]) == 2
    assert "was changed after it was made" in said(capsys)


@pytest.mark.usefixtures("room")
def test_code_that_a_protocol_names_is_announced_before_it_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("their_rules.py").write_text(
        "from sklearn.linear_model import LinearRegression\nrule = LinearRegression()\n"
    )
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("own.toml").write_text(
        Path("care.toml").read_text().replace('"linear"', '"their_rules:rule"')
    )
    # two blocks in place of 28, as each has a process of its own
    split = 'scheme = "split"\nrepetitions = 2'
    Path("own.toml").write_text(
        re.sub(r"repetitions = \d+", split, Path("own.toml").read_text())
    )
    capsys.readouterr()
    for command in (
        ["seal", "own.toml", "--data", "people.csv"],
        ["audit", "own.toml", "--data", "people.csv", "--out", "run"],
        ["verify", "run", "--data", "people.csv", "--run-code"],
    ):
        assert run(command) == 0
        assert (
            "warning: the protocol's rule 'their_rules:rule' is Python code by its "
            "author"
        ) in said(capsys)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("audit care.toml", "a protocol needs data"),
        (
            "audit care.toml --data people.csv --alpha 0.1",
            "--alpha is given beside a protocol",
        ),
        (
            "audit people.csv --data people.csv --outcome gagne_sum_t --group race",
            "--data goes with a protocol",
        ),
        (
            "audit people.csv --score risk_score_t",
            "an audit needs --outcome and --group",
        ),
        (
            (
                "audit people.csv --outcome gagne_sum_t --group race --score "
                "risk_score_t --capacity 0.1 --seed 3 --challenge x"
            ),
            "a sealed audit has no seed of its own",
        ),
        ("seal missing.toml --data people.csv", "there is no protocol 'missing.toml'"),
        ("verify nothing --data people.csv", "there is no result 'nothing'"),
        ("verify care.toml --data people.csv", "cannot be read as a result"),
        ("ledger people.csv", "there is no ledger 'people.csv.ledger'"),
        ("seal car.toml --data people.csv", "Did you mean 'care.toml'?"),
        ("seal care.toml --data people.cvs", "Did you mean 'people.csv'?"),
        (
            (
                "audit people.csv --outcome gagne_sum_t --group race --score "
                "risk_score_t --capacity 0.1 --rule lasso:0.1"
            ),
            "The rule lasso takes no setting.",
        ),
        (
            (
                "audit people.csv --outcome gagne_sum_t --group race --score "
                "risk_score_t --capacity 0.1 --rule forrest:30"
            ),
            "Did you mean 'forest'?",
        ),
    ],
)
def test_bad_input_is_one_line(
    command: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run(command.split()) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
