"""The site builds without a warning, fetches nothing from elsewhere, and leaves out no
public name and no command.
"""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from conftest import Case
from flat import flat_audit, flat_compare
from improvable.cli import app
from improvable.report import plots
from improvable.studies import power as planning

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads(
    (ROOT / "docs" / "reference" / "result.schema.json").read_text(encoding="utf-8")
)
DESCRIBED_AS_A_WHOLE = {
    "about",
    "correction",
    "count_pair",
    "differing",
    "look_direction",
    "look_feature",
    "look_group",
    "look_outcome",
    "look_roles",
    "look_rows",
    "pair",
    "protocol_declared",
}
"""Small objects of the schema: the key that holds them says what they are."""
NAMES = [*improvable.__all__, *planning.__all__, *plots.__all__]


BUILDERS = {
    "mkdocs": ["-m", "mkdocs", "build", "--strict", "--config-file"],
    "zensical": ["-m", "zensical", "build", "--strict", "--config-file"],
}
"""The site builds with MkDocs and with its successor."""


@pytest.fixture(scope="module", params=BUILDERS)
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Zensical builds only what is below its own file
    shutil.copytree(ROOT / "docs", folder / "docs")
    config = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "paths: [src]" in config
    (folder / "mkdocs.yml").write_text(
        config.replace("paths: [src]", f"paths: ['{ROOT / 'src'}']"), encoding="utf-8"
    )
    built = subprocess.run(
        [sys.executable, *BUILDERS[request.param], "mkdocs.yml"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    assert "WARNING" not in built.stderr
    return folder / "site"


def test_every_public_name_is_on_the_site(site: Path) -> None:
    page = (site / "reference" / "api.html").read_text(encoding="utf-8")
    shown = {
        anchor.rpartition(".")[2]
        for anchor in re.findall(r'id="(improvable\.[\w.]+)"', page)
    }
    modules = {"plots", "power"}
    assert not [name for name in NAMES if name not in shown | modules]
    assert all(f"<code>improvable.{name}</code>" in page for name in modules)


def test_every_command_is_on_the_site(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    names = [
        command.name or command.callback.__name__
        for command in app.registered_commands
        if command.callback
    ]
    assert len(names) > 10
    for name in names:
        assert f'id="improvable-{name}"' in page
        assert f"Usage: improvable {name} " in page


def test_every_key_of_the_schema_is_on_the_site(site: Path) -> None:
    page = (site / "reference" / "json.html").read_text(encoding="utf-8")
    for part in (
        "common",
        "audit",
        "look",
        "estimate",
        "spread",
        "bound",
        "repetition",
        "component",
        "interval",
        "disparity",
        "utility",
        "diagnostics",
        "candidate_gap",
        "selection_rate",
    ):
        for key in SCHEMA["$defs"][part]["properties"]:
            assert f"<code>{key}</code>" in page
    assert (site / "reference" / "result.schema.json").exists()


def test_pages_fetch_nothing_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert not re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*\"(?:https?:)?//", text
        ), page.name


def results() -> Iterator[tuple[str, dict[str, Any]]]:
    frame = (
        Case(rows=600)
        .frame()
        .with_columns(
            pid=pl.int_range(600) // 3, w=pl.lit(1.5), x=pl.col("count") + 0.5
        )
    )
    common: dict[str, Any] = {
        "outcome": "binary",
        "group": "group",
        "status_quo": "now",
        "draws": 200,
    }
    compared: dict[str, dict[str, Any]] = {
        "plain": {},
        "clusters, weights": {"cluster": "pid", "weight": "w"},
        "one for each group": {
            "delta_accuracy": {"a": 0.0, "b": -0.1},
            "overall": None,
            "protected": "b",
            "selection": "burden",
        },
        "accuracy alone, lower": {
            "ask": "accuracy",
            "outcome": "count",
            "lower_is_better": True,
            "direction": "as stated",
        },
        "fairness alone": {"ask": "fairness"},
        "a margin": {"delta_accuracy": -0.02},
        "overall": {"overall": {"a": 0.5, "b": 0.5}, "form": "difference"},
        "several utilities": {"fairness": ["selection_rate", "true_positive_rate"]},
    }
    for name, options in compared.items():
        yield (
            f"compare: {name}",
            flat_compare(frame, candidate="new", **{**common, **options}).to_dict(),
        )
    audited: dict[str, dict[str, Any]] = {
        "plain": {"rule": "linear", "repetitions": 3},
        "split, sealed": {
            "rule": "linear",
            "scheme": "split",
            "repetitions": 3,
            "challenge": "x",
        },
        "a cutoff, blocks": {"rule": "linear", "capacity": 0.4, "repetitions": 1},
        "monotone, absolute": {
            "rule": "linear",
            "monotone": {"x": "+"},
            "gap": "absolute",
            "repetitions": 1,
        },
        "tournament": {"rule": "tournament:linear,logistic", "repetitions": 1},
        "a function decides": {
            "rule": "logistic",
            "status_quo": lambda rows: rows["now"],
            "repetitions": 1,
        },
    }
    for name, options in audited.items():
        yield (
            f"audit: {name}",
            flat_audit(frame, **{**common, "features": ["x"], **options}).to_dict(),
        )


def validator() -> Any:
    jsonschema = importlib.import_module("jsonschema")
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    return jsonschema.Draft202012Validator(SCHEMA)


def test_real_results_obey_the_schema() -> None:
    check = validator()
    for name, facts in results():
        found = [
            f"{name}: {'.'.join(map(str, e.absolute_path))}: {e.message[:200]}"
            for e in check.iter_errors(json.loads(json.dumps(facts)))
        ]
        assert not found


def test_the_schema_refuses_what_it_does_not_know(case: Case) -> None:
    facts = improvable.compare(
        case.frame(),
        outcome="count",
        group="group",
        status_quo="now",
        candidate="new",
        test=improvable.Test(draws=200),
    ).to_dict()
    check = validator()
    assert check.is_valid(facts)
    assert not check.is_valid(facts | {"p": 0.1})
    assert not check.is_valid(facts | {"kind": "audit"})
    assert not check.is_valid(
        {key: value for key, value in facts.items() if key != "p_value"}
    )
    assert not check.is_valid(
        facts | {"repetitions": [facts["repetitions"][0] | {"other": 1}]}
    )


def test_every_key_of_the_schema_says_what_it_means() -> None:
    for name, part in SCHEMA["$defs"].items():
        if name not in DESCRIBED_AS_A_WHOLE:
            assert all(
                value.get("description") for value in part["properties"].values()
            ), name
