"""Example data for the page's first visitor."""

from pathlib import Path

from improvable.data.files import write_whole
from improvable.datasets import care_management

NAME = "example-patients.csv"
KEPT = ("race", "gagne_sum_t", "risk_score_t")


def put_example(folder: Path, rows: int = 12_000) -> Path:
    """Write the example into a folder, unless it is there."""
    place = folder / NAME
    if not place.exists():
        people = care_management(rows, seed=0)
        columns = [name for name in people.columns if name in KEPT or name.endswith("_tm1")]
        write_whole(place, people.select(columns).write_csv().encode())
    return place
