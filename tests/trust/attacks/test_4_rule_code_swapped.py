"""Attack 4: a sealed `myrule:rule` is swapped for code that selects on the outcome,
under the same name.

The digest of the code (the module, its package, and what they import from beside it) is
in protocol, seal and report; `audit`, `seal` and `verify` refuse other code before any
of it runs. A candidate is shown its declared features when it decides, never the
outcome or the group.
"""

import importlib.util
import os
import py_compile
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from flat import flat_audit
from improvable.algorithms.rules import as_tournament
from improvable.algorithms.rules.own_code import source_digest
from improvable.cli import run
from improvable.errors import ImprovableError
from protocol_room import said

HONEST = """
import improvable
from {helper} import column

class Rule:
    name = "mine"
    def select(self, training, status_quo):
        return improvable.threshold(lambda rows: rows[column].to_numpy(), capacity=training.constraints.capacity)

rule = Rule()
"""  # noqa: E501
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
    # Named code starts one process per block: the paper's split has one block, seven
    # forward repetitions have 28.
    *(
        "--features",
        "gagne_sum_tm1,dem_female",
        "--scheme",
        "split",
        "--repetitions",
        "1",
        "--draws",
        "300",
    ),
]
FORWARD: dict[str, Any] = {
    "outcome": "gagne_sum_t",
    "group": "race",
    "features": ["gagne_sum_tm1", "dem_female"],
    "repetitions": 7,
    "draws": 200,
    "status_quo": improvable.threshold("risk_score_t", capacity=0.1),
    "n_jobs": 1,
}
SPLIT = FORWARD | {"scheme": "split", "repetitions": 2}


@pytest.fixture
def names(
    room: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> tuple[str, str]:
    """Modules of this test's own, since Python imports a name once."""
    assert room.exists()
    tag = abs(hash(request.node.name)) % 10**8
    module, helper = f"rule_{tag}", f"helper_{tag}"
    monkeypatch.syspath_prepend(str(room))
    Path(f"{module}.py").write_text(HONEST.format(helper=helper))
    Path(f"{helper}.py").write_text('column = "gagne_sum_tm1"\n')
    return module, helper


def test_swapped_code_is_found_by_audit_seal_and_verify(
    names: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether it is the rule's own file that is swapped, or one that it imports."""
    rule = f"{names[0]}:rule"
    assert (
        run(["init", "own.toml", "--data", "people.csv", *OPTIONS, "--rule", rule]) == 0
    )
    digest = source_digest(rule)
    assert digest is not None
    assert f'source = "{digest}"' in Path("own.toml").read_text()
    lines = Path("own.toml").read_text().splitlines(keepends=True)
    undeclared = "".join(line for line in lines if not line.startswith("source = "))
    Path("undeclared.toml").write_text(undeclared)
    for protocol in ("own", "undeclared"):
        assert (
            run(
                [
                    "seal",
                    f"{protocol}.toml",
                    "--data",
                    "people.csv",
                    "--challenge",
                    "9f2c",
                ]
            )
            == 0
        )
        assert (
            run(
                ["audit", f"{protocol}.toml", "--data", "people.csv", "--out", protocol]
            )
            == 0
        )
    assert digest in Path("own.seal").read_text()
    assert improvable.load("own").to_dict()["rule_source"] == digest
    assert (
        run(
            [
                "verify",
                "own",
                "--data",
                "people.csv",
                "--seal",
                "own.seal",
                "--run-code",
            ]
        )
        == 0
    )
    for swapped in (Path(f"{name}.py") for name in names):
        honest = swapped.read_text()
        swapped.write_text(f"{honest}# and now for something else\n")
        assert source_digest(rule) != digest
        capsys.readouterr()
        assert run(["audit", "own.toml", "--data", "people.csv"]) == 2
        assert "and the protocol declares" in said(capsys)
        assert (
            run(
                [
                    "verify",
                    "own",
                    "--data",
                    "people.csv",
                    "--seal",
                    "own.seal",
                    "--run-code",
                ]
            )
            == 2
        )
        assert "is not the code that the result names, so nothing was run" in said(
            capsys
        )
        assert run(["audit", "undeclared.toml", "--data", "people.csv"]) == 2
        assert "is not the code that was sealed" in said(capsys)
        assert (
            run(
                [
                    "verify",
                    "undeclared",
                    "--data",
                    "people.csv",
                    "--seal",
                    "undeclared.seal",
                    "--run-code",
                ]
            )
            == 2
        )
        assert "is not the code that the result names, so nothing was run" in said(
            capsys
        )
        swapped.write_text(honest)


@pytest.mark.usefixtures("room")
def test_the_digest_is_the_same_in_any_folder_and_changes_with_any_file_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = []
    for place, ends in (("one", "\n"), ("two", "\r\n"), ("three", "\n")):
        package = tmp_path / place / "their_package"
        (package / "parts").mkdir(parents=True)
        (package / "__init__.py").write_bytes(b"")
        (package / "rules.py").write_bytes(f"x = 1{ends}y = 2{ends}".encode())
        (package / "parts" / "table.csv").write_text(
            "1,2" if place != "three" else "1,3"
        )
        with monkeypatch.context() as here:
            here.syspath_prepend(str(tmp_path / place))
            digests.append(source_digest("their_package.rules:rule"))
    assert digests[0] == digests[1] != digests[2]
    assert source_digest("tournament:linear,lasso") is None


class Peeking:
    """A rule whose candidate asks for a column when it decides."""

    name = "peeking"

    def __init__(self, column: str, how: str) -> None:
        self.column, self.how = column, how

    def select(self, training: Any, status_quo: Any) -> Any:
        del status_quo
        assert self.column in training.rows.columns, (
            "it may learn from any column of the training rows"
        )
        column, capacity = self.column, training.constraints.capacity
        if self.how == "function":
            return improvable.threshold(
                lambda rows: rows[column].to_numpy(), capacity=capacity
            )
        if self.how == "column":
            return improvable.threshold(column, capacity=capacity)
        return lambda rows: (rows[column].to_numpy() > 1).astype(float)


COLUMNS, HOW = (
    ("gagne_sum_t", "race_code", "cost_t"),
    ("function", "column", "decisions"),
)


@pytest.mark.parametrize(
    ("column", "how", "engine", "inside"),
    [
        *((column, how, "memory", False) for column in COLUMNS for how in HOW),
        *(("gagne_sum_t", how, "arrow", False) for how in HOW),
        *(("gagne_sum_t", how, "memory", True) for how in HOW),
        *((column, "function", "arrow", True) for column in COLUMNS),
    ],
)
def test_a_candidate_sees_its_features_and_nothing_else(
    column: str, how: str, engine: Any, inside: bool, room: Path
) -> None:
    """Alone and in a tournament (`inside`), from memory and from files."""
    people = pl.read_csv("people.csv").with_columns(
        race_code=(pl.col("race") == "black").cast(pl.Float64)
        + pl.int_range(pl.len()) * 1e-9,
        person=pl.int_range(pl.len()),
    )
    Path("people").mkdir()
    people.write_parquet("people/1.parquet")
    peeking = Peeking(column, how)
    rule = as_tournament(["linear", peeking]) if inside else peeking
    with pytest.raises(ImprovableError) as refused:
        improvable.audit(
            people if engine == "memory" else room / "people",
            outcome="gagne_sum_t",
            group="race",
            rule=rule,
            features=["gagne_sum_tm1", "dem_female"],
            test=improvable.Test(repetitions=7, draws=200),
            read=improvable.Read(engine=engine),
            row_id="person",
            status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        )
    message = str(refused.value)
    assert column in message
    assert "gagne_sum_tm1" in message, "it says what the candidate may read"


REMEMBERS = """
import improvable

seen = []

class Rule:
    name = "remembers"
    def select(self, training, status_quo):
        seen.append(len(training.rows))
        assert len(seen) == 1, f"it was here {len(seen)} times"
        capacity = training.constraints.capacity
        return improvable.threshold(lambda rows: rows["gagne_sum_tm1"].to_numpy(), capacity=capacity)

rule = Rule()
"""  # noqa: E501
STRANGER = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("stranger", pathlib.Path({place!r}) / "stranger.py")
sys.modules["stranger"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["stranger"])
"""  # noqa: E501


def rule_of(code: str, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(Path.cwd()))
    Path(f"{name}.py").write_text(code)
    return f"{name}:rule"


@pytest.mark.usefixtures("room")
def test_named_code_remembers_nothing_from_block_to_block(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """28 blocks, and it is new in each; nothing of it is ever imported here."""
    rule = rule_of(REMEMBERS, "remembering_rule", monkeypatch)
    result = flat_audit("people.csv", rule=rule, **FORWARD)
    assert "remembering_rule" not in sys.modules
    assert any(
        "It ran in a new process for every block" in text
        for text in result.verdict_warnings
    )


@pytest.mark.usefixtures("room")
def test_named_code_finds_what_the_same_object_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = REMEMBERS.replace(
        '        assert len(seen) == 1, f"it was here {len(seen)} times"\n', ""
    )
    named = flat_audit(
        "people.csv", rule=rule_of(code, "named_rule", monkeypatch), **SPLIT
    )
    here: dict[str, Any] = {}
    exec(code, here)
    passed = flat_audit("people.csv", rule=here["rule"], **SPLIT)
    assert named.to_dict()["repetitions"] == passed.to_dict()["repetitions"]


@pytest.mark.usefixtures("room")
def test_an_object_is_said_to_keep_its_state() -> None:
    result = flat_audit(
        "people.csv", rule=Peeking("gagne_sum_tm1", "function"), **FORWARD
    )
    assert any("It ran in this process" in text for text in result.verdict_warnings)


@pytest.mark.usefixtures("room")
def test_code_that_is_stale_or_comes_from_elsewhere_does_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A compiled file beside the source that says another thing, and a module loaded by
    its path.
    """
    rule = rule_of(REMEMBERS, "compiled_rule", monkeypatch)
    source = Path("compiled_rule.py").stat()
    Path("evil.py").write_text("raise SystemExit('the stale code ran')\n")
    cached = Path(importlib.util.cache_from_source("compiled_rule.py"))
    cached.parent.mkdir(parents=True, exist_ok=True)
    py_compile.compile("evil.py", str(cached))
    content = bytearray(cached.read_bytes())
    content[8:16] = int(source.st_mtime).to_bytes(
        4, "little"
    ) + source.st_size.to_bytes(4, "little")
    cached.write_bytes(bytes(content))
    flat_audit("people.csv", rule=rule, **SPLIT)
    Path("elsewhere").mkdir()
    Path("elsewhere/stranger.py").write_text("x = 1\n")
    stranger = STRANGER.format(place=str(Path("elsewhere").resolve())) + REMEMBERS
    rule = rule_of(stranger, "stranger_rule", monkeypatch)
    with pytest.raises(
        ImprovableError,
        match="loads 'stranger', which is neither installed nor part of its digest",
    ):
        flat_audit("people.csv", rule=rule, **SPLIT)


OUTSIDE = """
import sys
from improvable.algorithms.rules import as_rule
sys.path.insert(0, {folder!r})
print(as_rule("their_rule:rule").name)
"""


def test_packages_that_python_path_alone_names_count_as_installed(
    tmp_path: Path,
) -> None:
    """As on a cluster that ships its packages in a folder."""
    (tmp_path / "their_rule.py").write_text(f"import sklearn.linear_model\n{REMEMBERS}")
    places = [place for place in sys.path if place.endswith("-packages")]
    source = str(Path(improvable.__file__).parents[1])
    # without this environment, whose packages it would find by itself
    python = str(Path(sys.executable).resolve())
    answer = subprocess.run(
        [python, "-c", OUTSIDE.format(folder=str(tmp_path))],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([source, *places])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout == "remembers\n", answer.stderr


@pytest.mark.usefixtures("room")
def test_where_code_is_refused_none_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = rule_of("raise SystemExit('it ran')", "refused_rule", monkeypatch)
    monkeypatch.setenv("IMPROVABLE_NO_CODE", "1")
    with pytest.raises(ImprovableError, match="is code, which is not run here"):
        flat_audit("people.csv", rule=rule, **SPLIT)
