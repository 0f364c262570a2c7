"""A result in MLflow: what was asked as parameters, what was found as metrics, digests
as tags, files as artifacts.
"""

import hashlib
import json
import re
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from improvable._text import json_text
from improvable.errors import OptionError, one_line, require_extra
from improvable.results.facts import Facts
from improvable.results.result import Result, tidy_rows

PARAMETERS = (
    "kind",
    "outcome",
    "group",
    "status_quo",
    "rule",
    "scheme",
    "ask",
    "delta_accuracy",
    "no_worse",
    "delta_fairness",
    "form",
    "gap_statistic",
    "alpha",
    "threshold",
    "draws",
    "seed",
    "rows",
)
FOLDER, MOST = "improvable", 500
"""Where artifacts are kept; and how many letters of a parameter, as all versions of
MLflow take them.
"""
NOT_IN_A_NAME = re.compile(r"[^\w\- ]")
MOST_OF_A_LABEL = 60


def log_result(result: Result) -> str:
    """Log a result to the active run, or to a new one; the run's id."""
    require_extra("logging to MLflow", "mlflow", "mlflow", "mlflow-skinny")
    import mlflow
    from mlflow.exceptions import MlflowException

    facts, active = result.facts, mlflow.active_run()
    hint = "See mlflow.set_tracking_uri and mlflow.set_experiment."
    with tempfile.TemporaryDirectory() as room:
        stated = f"{json_text(facts)}\n".encode()
        (Path(room) / "result.json").write_bytes(stated)
        result.report(Path(room) / "report.html")
        try:
            with nullcontext(active) if active else mlflow.start_run() as run:
                hint = (
                    "Give every result a run of its own: with mlflow.start_run(): "
                    "result.log_mlflow()."
                )
                mlflow.log_params(parameters(facts))
                mlflow.log_metrics(metrics(facts))
                mlflow.set_tags(tags(facts, stated))
                mlflow.log_artifacts(room, FOLDER)
        except MlflowException as error:
            raise OptionError(
                f"MLflow refused the result: {one_line(error)}.", hint
            ) from error
    return str(run.info.run_id)


def parameters(facts: Facts) -> dict[str, str]:
    """What was asked; what a result does not have is left out."""
    every: Any = {name: facts.get(name) for name in PARAMETERS}
    every["repetitions"] = len(facts["repetitions"])
    for kind in ("accuracy", "fairness"):
        every[kind] = [one["name"] for one in facts[f"{kind}_utilities"]]  # type: ignore[literal-required]
    plain = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in every.items()
    }
    return {
        name: text[:MOST] for name, text in plain.items() if every[name] is not None
    }


def metrics(facts: Facts) -> dict[str, float]:
    """The p-value and verdict, how many cautions, and for every condition its estimates
    and p-values.
    """
    found = {
        "p_value": facts["p_value"],
        "reject": float(facts["reject"]),
        "warnings": float(len(facts["warnings"])),
    }
    columns = tidy_rows(facts)
    for row in (
        dict(zip(columns, values, strict=True))
        for values in zip(*columns.values(), strict=True)
    ):
        place = "/".join(
            _in_name(row.pop(name)) for name in ("kind", "utility", "group")
        )
        # of names that differ only in what MLflow does not take
        while f"{place}/p_value" in found:
            place += "_"
        found |= {
            f"{place}/{name}": value for name, value in row.items() if value is not None
        }
    return found


def _in_name(label: str) -> str:
    return NOT_IN_A_NAME.sub("_", label)[:MOST_OF_A_LABEL].strip() or "_"


def tags(facts: Facts, stated: bytes) -> dict[str, str]:
    """The seal, the digests of protocol, data and result, and the version."""
    protocol = facts.get("protocol")
    every = {
        "seal": facts["seal"],
        "protocol": protocol and protocol["digest"],
        "data": facts["data_fingerprint"],
        "result": hashlib.sha256(stated).hexdigest(),
        "version": facts["version"],
    }
    return {
        f"{FOLDER}.{name}": value for name, value in every.items() if value is not None
    }
