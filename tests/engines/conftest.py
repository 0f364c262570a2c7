"""What tests of engines share: data, and Spark."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from people import make_people


@pytest.fixture(scope="session")
def people() -> pl.DataFrame:
    return make_people()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark on this machine, which tries a failed task again; its Java compiles lightly
    for its short life.
    """
    import os
    import sys

    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2,4]")
        .config("spark.ui.enabled", "false")
        .config(
            "spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
        )
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "311")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
