"""How the data that are shipped were made: ``python
benchmarks/make_diabetes_screening.py nhanes_diabetes.csv``.

The CSV is an extract of NHANES with one row per examined adult of 18 to 70. Columns
come from the survey's files by their number (SEQN): demographics (DEMO), body measures
(BMX), medical conditions (MCQ), diabetes (DIQ), insurance (HIQ) and glycohemoglobin
(GHB). Nothing is computed here. Values are stored as they are, in columns instead of
lines, which takes a seventh of the space.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from improvable.datasets.screening import FILE

if TYPE_CHECKING:
    import polars as pl


def read_extract(csv: Path) -> "pl.DataFrame":
    """The extract as it stands; an empty value is missing."""
    import polars as pl

    return pl.read_csv(csv, infer_schema_length=None)


def make(csv: Path, file: Path = FILE) -> None:
    """Write the extract as Parquet."""
    read_extract(csv).write_parquet(file, compression="zstd", compression_level=22)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
