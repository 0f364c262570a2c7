"""Repetitions in parallel on joblib's backends: the same result, in other processes,
with nobody oversubscribed.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pytest
from joblib import parallel_config, register_parallel_backend
from joblib._parallel_backends import LokyBackend

import improvable
from improvable.question.settings import EngineName


def make_rule() -> Any:
    """A rule that tells where it ran and how many workers an estimator of its own would
    get; pickled by value.
    """

    class Nosy:
        name = "nosy"

        def select(self, training: Any, status_quo: Any) -> Any:
            import os

            from joblib import effective_n_jobs

            import improvable
            from improvable.algorithms.rules import as_rule

            found = as_rule("linear").select(training, status_quo)
            return improvable.Selection(
                found, {"process": os.getpid(), "workers": effective_n_jobs(8)}
            )

    return Nosy()


@contextmanager
def dask_cluster() -> Iterator[None]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster),
        parallel_config(backend="dask"),
    ):
        yield


class CollectingBackend(LokyBackend):  # type: ignore[misc]  # joblib has no types
    """A backend of somebody's own that returns all results at once, as Ray's does."""

    supports_return_generator = False


def use_registered_backend() -> parallel_config:
    register_parallel_backend("collecting", CollectingBackend)
    return parallel_config(backend="collecting")


BACKENDS: dict[str, Callable[[], Any]] = {
    "threading": lambda: parallel_config(backend="threading"),
    "loky": lambda: parallel_config(backend="loky"),
    "dask": dask_cluster,
    "registered": use_registered_backend,
}


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends(people: pl.DataFrame, backend: str) -> None:
    def audited(
        n_jobs: int, engine: EngineName | None
    ) -> tuple[str, set[int], set[int]]:
        result = improvable.audit(
            people,
            outcome="visits",
            group="group",
            status_quo=improvable.threshold("score", capacity=0.2),
            rule=make_rule(),
            features=["signal", "small"],
            n_jobs=n_jobs,
            read=improvable.Read(engine=engine),
            test=improvable.Test(scheme="split", repetitions=4, draws=200),
        )
        facts = result.to_dict()
        notes = [
            block
            for repetition in facts["repetitions"]
            for block in repetition["rule_notes"]["blocks"]
        ]
        found = (
            {note.pop("process") for note in notes},
            {note.pop("workers") for note in notes},
        )
        return json.dumps(facts), *found

    with BACKENDS[backend]():
        engines: tuple[EngineName | None, ...] = (None, "memory")
        together = {engine: audited(2, engine) for engine in engines}
    for engine, (found, processes, workers) in together.items():
        assert found == audited(1, engine)[0]
        assert workers == {1}
        assert (os.getpid() in processes) == (backend == "threading")
