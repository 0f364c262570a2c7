"""Sealing, recording and verifying from the command line: what was changed is found, and nothing is lost."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import improvable
from improvable.cli import app, run
from improvable.data import read_rows
from improvable.fingerprint import fingerprint
from improvable.preparation import sealed_seed
from improvable.protocol.ledger import ledger_path, read_ledger, record, runs_words
from improvable.protocol.seal import read_seal

OPTIONS = [
    *("--outcome", "gagne_sum_t", "--group", "race", "--score", "risk_score_t", "--capacity", "0.1"),
    *("--rule", "linear", "--features", "gagne_sum_tm1,dem_female", "--splits", "3", "--draws", "300"),
]


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    people = improvable.datasets.care_management(3_000, seed=4)
    people = people.select("gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female", "cost_t")
    people.write_csv("people.csv")
    people.reverse().write_parquet("people.parquet")
    assert run(["audit", "people.csv", *OPTIONS, "--write-protocol", "care.toml"]) == 0
    return tmp_path


def flip(name: str, column: str) -> None:
    frame = pl.read_csv("people.csv")
    changed = pl.when(pl.int_range(pl.len()) == 100).then(pl.col(column) + 1).otherwise(pl.col(column))
    frame.with_columns(changed.alias(column)).write_csv(name)


def said(capsys: pytest.CaptureFixture[str]) -> str:
    """Both streams, each paragraph on one line."""
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


@pytest.mark.usefixtures("room")
def test_two_people_with_the_same_rows_get_the_same_seal_and_the_same_bytes() -> None:
    Path("care2.toml").write_text(Path("care.toml").read_text().replace("# ", "# another comment "))
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"]) == 0
    assert run(["seal", "care2.toml", "--data", "people.parquet", "--challenge", "docket 1"]) == 0
    assert read_seal("care.seal") == read_seal("care2.seal")
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "one"]) == 0
    assert run(["audit", "care2.toml", "--data", "people.parquet", "--out", "two", "--jobs", "2"]) == 0
    one, two = ({path.name: path.read_bytes() for path in Path(folder).iterdir()} for folder in ("one", "two"))
    assert one == two
    assert run(["verify", "one", "--data", "people.parquet", "--protocol", "care2.toml"]) == 0


@pytest.mark.usefixtures("room")
def test_splits_follow_from_data_and_challenge_alone() -> None:
    def splits(*more: str) -> list[float]:
        run(["audit", "people.csv", *OPTIONS, *more, "--json", "result.json"])
        facts = json.loads(Path("result.json").read_text())
        return [split["accuracy"]["black"]["status_quo"] for split in facts["splits"]]

    usual = splits("--challenge", "docket 1")
    assert splits("--challenge", "docket 1", "--alpha", "0.1", "--draws", "400", "--rule", "ridge:10") == usual
    assert splits("--challenge", "docket 1", "--gap", "absolute", "--delta-fairness", "0.3") == usual
    assert splits("--challenge", "docket 1", "--features", "gagne_sum_tm1") == usual
    assert splits("--challenge", "docket 2") != usual
    question = ["gagne_sum_t", "race", "risk_score_t"]
    seed = sealed_seed(fingerprint(read_rows("people.csv"), question), "docket 1")
    assert json.loads(Path("result.json").read_text())["seed"] != seed
    splits("--challenge", "docket 1")
    facts = json.loads(Path("result.json").read_text())
    assert facts["seed"] == seed
    assert facts["challenge"] == "docket 1"


@pytest.mark.usefixtures("room")
def test_every_output_says_whether_a_run_is_sealed(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = ["--report", "r.html", "--json", "r.json", "--table", "r.tex"]
    assert run(["audit", "people.csv", *OPTIONS, "--seed", "5", *outputs]) == 0
    assert "Seed 5, chosen by the analyst: this run is not sealed." in said(capsys)
    for name in ("r.html", "r.tex"):
        assert "not sealed" in Path(name).read_text()
    assert run(["audit", "people.csv", *OPTIONS, "--seed", "5", "--report", "r.md"]) == 0
    assert "not sealed" in Path("r.md").read_text()
    assert "3 runs begun" not in Path("r.html").read_text()
    assert "2 runs begun on these data, 2 finished" in Path("r.md").read_text()
    assert json.loads(Path("r.json").read_text())["challenge"] is None
    capsys.readouterr()
    assert run(["audit", "people.csv", *OPTIONS, "--challenge", "x"]) == 0
    assert "given by whoever ran this: this run is not sealed" in said(capsys)
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "x"]) == 0
    assert run(["audit", "care.toml", "--data", "people.csv", "--report", "s.html", "--out", "run"]) == 0
    words = f"Sealed ({read_seal('care.seal').digest[:16]}...): the splits follow from the data and the challenge 'x'"
    assert words in said(capsys)
    assert Path("s.html").read_text().count(f"Sealed ({read_seal('care.seal').digest[:16]}") == 2
    assert "not sealed" not in Path("s.html").read_text()
    again = improvable.load("run").reconsider(alpha=0.4)
    assert "this question is not the one that was declared" in again.summary()
    assert again.to_dict()["protocol"] is None
    assert again.to_dict()["seal"] is None


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("column", ["gagne_sum_t", "dem_female", "risk_score_t"])
def test_one_value_flipped_in_the_data_is_found(column: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"]) == 0
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run"]) == 0
    flip("other.csv", column)
    capsys.readouterr()
    assert run(["audit", "care.toml", "--data", "other.csv", "--out", "run2"]) == 2
    assert "the data are not those that were sealed" in said(capsys)
    assert not Path("run2").exists()
    assert not ledger_path("other.csv").exists()
    assert run(["verify", "run", "--data", "other.csv"]) == 1
    shown = said(capsys)
    assert "DIFFERENT data" in shown
    assert "NOT VERIFIED" in shown


@pytest.mark.usefixtures("room")
def test_a_column_that_is_not_read_does_not_matter() -> None:
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run"]) == 0
    flip("other.csv", "cost_t")
    assert run(["audit", "care.toml", "--data", "other.csv", "--out", "run2"]) == 0
    assert run(["verify", "run", "--data", "other.csv"]) == 0


@pytest.mark.usefixtures("room")
def test_one_key_changed_in_the_protocol_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv"]) == 0
    assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run", "--json", "run.json"]) == 0
    text = Path("care.toml").read_text()
    Path("care.toml").write_text(text.replace("alpha = 0.05", "alpha = 0.1"))
    capsys.readouterr()
    assert run(["audit", "care.toml", "--data", "people.csv"]) == 2
    assert "the protocol is not the one that was sealed" in said(capsys)
    assert run(["verify", "run", "--data", "people.csv", "--protocol", "care.toml"]) == 1
    assert "DIFFERENT protocol, as agreed in care.toml" in said(capsys)
    facts = json.loads(Path("run.json").read_text())
    facts["protocol"]["declared"]["test"]["draws"] = 301
    Path("run.json").write_text(json.dumps(facts))
    assert run(["verify", "run.json", "--data", "people.csv"]) == 1


@pytest.mark.usefixtures("room")
def test_one_number_changed_in_a_result_is_found_and_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run", "--json", "run.json"]) == 0
    facts = json.loads(Path("run.json").read_text())
    facts["splits"][1]["accuracy"]["black"]["candidate"] += 1e-9
    Path("run.json").write_text(json.dumps(facts))
    capsys.readouterr()
    assert run(["verify", "run.json", "--data", "people.csv"]) == 1
    shown = said(capsys)
    assert "DIFFERENT split 2: 1 of" in shown
    assert "splits.2.accuracy.black.candidate: stated" in shown
    assert run(["verify", "run", "--data", "people.csv", "--all"]) == 0
    assert "same splits.3.gap.candidate = " in said(capsys)


@pytest.mark.usefixtures("room")
def test_forged_results_are_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    """Keys that look like places of others, keys said twice, settings that shadow, a version to hide behind."""
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run", "--json", "run.json"]) == 0
    true = json.loads(Path("run.json").read_text())
    forged = json.loads(Path("run.json").read_text())
    forged["p_value"], forged["splits"][0]["p_value"] = 0.0001, 0.0
    forged["splits.1.p_value"] = true["splits"][0]["p_value"]
    forged[""] = {"p_value": true["p_value"]}
    Path("forged.json").write_text(json.dumps(forged))
    assert run(["verify", "forged.json", "--data", "people.csv"]) == 1
    Path("twice.json").write_text('{"p_value": 0.0001, ' + Path("run.json").read_text().lstrip()[1:])
    capsys.readouterr()
    assert run(["verify", "twice.json", "--data", "people.csv"]) == 2
    assert "cannot be read as a result" in said(capsys)

    head = json.loads(Path("run/result.json").read_text())
    head["setting"] |= {"p_value": 0.0001, "reject": True}
    Path("run/result.json").write_text(json.dumps(head))
    assert improvable.load("run").to_dict()["p_value"] == true["p_value"]

    head["setting"]["versions"]["numpy"] = "0.1"
    Path("run/result.json").write_text(json.dumps(head))
    with np.load("run/split-001.npz") as file:
        arrays = {name: file[name] for name in file.files}
    arrays["draws"] = arrays["draws"] * 1.01
    np.savez("run/split-001.npz", **arrays)
    Path("run/notes.txt").write_text("mine")
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv"]) == 1
    shown = said(capsys)
    assert "split-001.npz: stated 'arrays in the folder'" in shown
    assert "not part of the result: notes.txt" in shown


@pytest.mark.usefixtures("room")
def test_a_seal_in_a_result_must_be_the_one_of_these_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--challenge", "x", "--json", "run.json"]) == 0
    facts = json.loads(Path("run.json").read_text())
    facts["seal"] = "0" * 64
    Path("run.json").write_text(json.dumps(facts))
    capsys.readouterr()
    assert run(["verify", "run.json", "--data", "people.csv"]) == 1
    assert "seal: stated '0000" in said(capsys)


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize("challenge", ["docket 1 ", "docket  1", "docket\u20281", "docket\u00a01"])
def test_a_challenge_that_looks_like_another_is_refused(challenge: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", challenge]) == 2
    assert "characters that do not show" in said(capsys)


@pytest.mark.usefixtures("room")
def test_a_ledger_without_its_last_newline_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_bytes(ledger.read_bytes().rstrip(b"\n"))
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    assert len(read_ledger(ledger)) == 4


@pytest.mark.usefixtures("room")
def test_a_run_begun_elsewhere_is_recorded_as_resumed() -> None:
    improvable.audit(
        "people.csv", outcome="gagne_sum_t", group=["race"], rule="linear", features=["gagne_sum_tm1", "dem_female"],
        status_quo=improvable.threshold("risk_score_t", capacity=0.1), splits=3, draws=300, run_folder="run",
    )  # fmt: skip
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0, "shown again, and not recorded again"
    lines = read_ledger(ledger_path("people.csv"))
    assert [(line.event, line.facts.get("resumed")) for line in lines] == [("begun", True), ("finished", None)]
    assert runs_words(lines).startswith("1 run begun on these data, 1 finished")


@pytest.mark.usefixtures("room")
def test_another_version_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    path = Path("run/result.json")
    path.write_text(path.read_text().replace('"scikit-learn": "', '"scikit-learn": "0.'))
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv"]) == 0
    shown = said(capsys)
    assert re.search(r"version scikit-learn 0\.\S+ made the result; this is", shown)
    assert "version files: 3 of 4 are the same to the byte" in shown


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [lines[0], lines[1].replace("rejected", "REJECTED"), *lines[2:]], "line 2 of"),
        (lambda lines: [lines[0], *lines[2:]], "a line is missing before line 2"),
        (lambda lines: lines[1:], "a line is missing before line 1"),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "a line is missing before line 1"),
        (lambda lines: [*lines, "{}"], "line 5 of 'people.csv.ledger' is not a ledger's line"),
    ],
)
def test_a_changed_ledger_is_found_named_and_never_overwritten(
    change: object, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in ("1", "2"):
        assert run(["audit", "people.csv", *OPTIONS, "--seed", seed]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_text("\n".join(change(ledger.read_text().splitlines())) + "\n")  # type: ignore[operator]
    broken = ledger.read_bytes()
    capsys.readouterr()
    assert run(["ledger", "people.csv"]) == 2
    assert words in said(capsys)
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 2
    assert words in said(capsys)
    assert ledger.read_bytes() == broken
    assert run(["audit", "people.csv", *OPTIONS, "--ledger", "other.ledger"]) == 0


@pytest.mark.usefixtures("room")
def test_a_line_cut_off_at_the_end_is_found_by_its_hash_and_by_verify(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS, "--out", "run"]) == 0
    found = re.search(r"\(hash ([0-9a-f]{16})", said(capsys))
    assert found is not None
    assert run(["ledger", "people.csv", "--entry", found[1]]) == 0
    ledger = ledger_path("people.csv")
    ledger.write_text(ledger.read_text().splitlines()[0] + "\n")
    assert run(["ledger", "people.csv"]) == 0, "the chain itself is whole"
    capsys.readouterr()
    assert run(["ledger", "people.csv", "--entry", found[1]]) == 2
    assert "one was removed" in said(capsys)
    assert run(["verify", "run", "--data", "people.csv"]) == 1
    assert "no line of people.csv.ledger records this result" in said(capsys)


@pytest.mark.usefixtures("room")
def test_the_ledger_counts_runs_that_were_begun(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    assert run(["audit", "people.csv", *OPTIONS, "--rule", "nonsense"]) == 2, "a typo is not a run"
    data = fingerprint(read_rows("people.csv"))
    record("people.csv.ledger", data, "begun", {"kind": "audit"})
    compare = "--outcome gagne_sum_t --group race --status-quo-score risk_score_t --candidate-score gagne_sum_tm1"
    assert run(["compare", "people.csv", *compare.split(), "--capacity", "0.1", "--draws", "300"]) == 0
    lines = read_ledger("people.csv.ledger")
    assert [line.event for line in lines] == ["begun", "finished", "begun", "begun", "finished"]
    assert runs_words(lines).startswith("3 runs begun on these data, 2 finished (")
    capsys.readouterr()
    assert run(["ledger", "people.csv", "--json", "-"]) == 0
    assert [line["line"] for line in json.loads(capsys.readouterr().out)] == [1, 2, 3, 4, 5]


@pytest.mark.usefixtures("room")
def test_a_ledger_of_other_data_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["audit", "people.csv", *OPTIONS]) == 0
    flip("other.csv", "gagne_sum_t")
    ledger_path("people.csv").rename(ledger_path("other.csv"))
    before = ledger_path("other.csv").read_bytes()
    capsys.readouterr()
    for command in (["audit", "other.csv", *OPTIONS], ["ledger", "other.csv"]):
        assert run(command) == 2
        assert "belongs to other data" in said(capsys)
    assert ledger_path("other.csv").read_bytes() == before


@pytest.mark.usefixtures("room")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("audit care.toml", "a protocol needs data"),
        ("audit care.toml --data people.csv --alpha 0.1", "--alpha is given beside a protocol"),
        ("audit people.csv --data people.csv --outcome gagne_sum_t --group race", "--data goes with a protocol"),
        ("audit people.csv --score risk_score_t", "--outcome and --group say what is asked"),
        ("audit people.csv --outcome gagne_sum_t --group race --score risk_score_t --capacity 0.1 --seed 3 "
         "--challenge x", "a sealed audit has no seed of its own"),
        ("seal missing.toml --data people.csv", "there is no protocol 'missing.toml'"),
        ("verify nothing --data people.csv", "there is no result 'nothing'"),
        ("verify care.toml --data people.csv", "cannot be read as a result"),
        ("ledger people.csv", "there is no ledger 'people.csv.ledger'"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(command: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(command.split()) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


@pytest.mark.usefixtures("room")
def test_a_seal_is_made_once_and_cannot_be_edited(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "a"]) == 0
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "a"]) == 0
    before = Path("care.seal").read_bytes()
    capsys.readouterr()
    assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "b"]) == 2
    assert "already holds another seal" in said(capsys)
    assert Path("care.seal").read_bytes() == before
    Path("care.seal").write_text(Path("care.seal").read_text().replace('"challenge": "a"', '"challenge": "b"'))
    assert run(["audit", "care.toml", "--data", "people.csv"]) == 2
    assert "was changed after it was made" in said(capsys)


@pytest.mark.usefixtures("room")
def test_a_result_of_python_objects_has_no_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    from sklearn.linear_model import LinearRegression

    improvable.audit(
        "people.csv", outcome="gagne_sum_t", group="race", rule=LinearRegression(), features=["gagne_sum_tm1"],
        status_quo=improvable.threshold("risk_score_t", capacity=0.1), splits=1, draws=200,
    ).save("run")  # fmt: skip
    capsys.readouterr()
    assert run(["verify", "run", "--data", "people.csv"]) == 2
    assert "has no protocol to recompute it from" in said(capsys)


@pytest.mark.usefixtures("room")
def test_code_that_a_protocol_names_is_announced_before_it_is_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("their_rules.py").write_text("from sklearn.linear_model import LinearRegression\nrule = LinearRegression()\n")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path("own.toml").write_text(Path("care.toml").read_text().replace('"linear"', '"their_rules:rule"'))
    capsys.readouterr()
    for command in (
        ["seal", "own.toml", "--data", "people.csv"],
        ["audit", "own.toml", "--data", "people.csv", "--out", "run"],
        ["verify", "run", "--data", "people.csv"],
    ):
        assert run(command) == 0
        assert "warning: the protocol's rule 'their_rules:rule' is Python code of its author" in said(capsys)


@pytest.mark.usefixtures("room")
def test_init_asks_and_writes_a_protocol_that_runs() -> None:
    answers = ["gagne_sum", "gagne_sum_t", "race", "y", "risk_score_t", "0.1", "liner", "linear", "cost_t", "", "", ""]
    result = CliRunner().invoke(app, ["init", "new.toml", "--data", "people.csv"], input="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert "Did you mean 'gagne_sum_t'" in result.output
    assert "there is no rule 'liner'" in result.output
    text = Path("new.toml").read_text()
    assert 'exclude = ["cost_t"]' in text
    assert "seed" not in text
    assert run(["audit", "new.toml", "--data", "people.csv"]) == 0
    assert run(["init", "new.toml"]) == 2
    assert Path("new.toml").read_text() == text
