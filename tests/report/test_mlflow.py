"""`result.log_mlflow()`: what a run in MLflow holds afterward, in a file store."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import improvable
from improvable.report.mlflow import metrics
from reported import make_audit, make_evil

pytestmark = [
    pytest.mark.filterwarnings("ignore::improvable.errors.ImprovableWarning"),
    pytest.mark.filterwarnings("ignore:::mlflow"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture
def mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    import mlflow

    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("audits")
    return mlflow


def test_a_run_holds_what_was_asked_and_found(mlflow: Any, tmp_path: Path) -> None:
    result = make_audit()
    name = result.log_mlflow()
    assert mlflow.active_run() is None
    run = mlflow.get_run(name)
    assert run.info.status == "FINISHED"
    asked, found, tags = run.data.params, run.data.metrics, run.data.tags
    assert (asked["rule"], asked["repetitions"], asked["group"]) == (
        "linear",
        "3",
        '["race"]',
    )
    assert found["p_value"] == result.p_value
    gap = result.tidy().row(-1, named=True)
    assert found["fairness/calibration/race/candidate"] == gap["candidate"]
    place = Path(
        mlflow.artifacts.download_artifacts(
            run_id=name, artifact_path="improvable", dst_path=str(tmp_path)
        )
    )
    stated = (place / "result.json").read_bytes()
    assert json.loads(stated) == json.loads(json.dumps(result.to_dict()))
    assert tags["improvable.result"] == hashlib.sha256(stated).hexdigest()
    assert tags["improvable.data"] == result.data_fingerprint
    assert tags["improvable.protocol"] == result.to_dict()["protocol"]["digest"]
    assert "improvable.seal" not in tags, "nobody sealed it"
    assert (
        (place / "report.html")
        .read_text(encoding="utf-8")
        .startswith("<!DOCTYPE html>")
    )


def test_the_active_run_is_used_and_stays_active(mlflow: Any) -> None:
    with mlflow.start_run() as run:
        assert make_evil().log_mlflow() == run.info.run_id
        assert mlflow.active_run().info.run_id == run.info.run_id
        with pytest.raises(
            improvable.OptionError, match=r"MLflow refused .* a run of its own"
        ) as refused:
            make_audit().log_mlflow()
    assert "\n" not in str(refused.value)


def test_names_that_mlflow_would_take_for_the_same_stay_apart() -> None:
    facts = make_audit().to_dict()
    for part in (*facts["repetitions"], facts):
        for one in part.get("components", []) + part.get("estimates", []):
            one["group"] = {"black": "a/b", "white": "a?b"}.get(
                one["group"], one["group"]
            )
    found = metrics(facts)  # type: ignore[arg-type]
    assert {
        "accuracy/calibration/a_b/p_value",
        "accuracy/calibration/a_b_/p_value",
    } <= set(found)


def test_without_the_extra_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        improvable.OptionError,
        match=r"needs mlflow-skinny, which is not installed\. .*\[mlflow\]",
    ):
        make_audit().log_mlflow()
