"""Example data for the page's first visitor: a guideline for diabetes screening, from a real survey."""

from pathlib import Path

from improvable.data.files import write_whole
from improvable.datasets import DIABETES_SCREENING, diabetes_screening

EXAMPLE = "example-screening.csv"
EXAMPLE_MEASURE = str(DIABETES_SCREENING["accuracy"])
"""What it is about: of those who have diabetes, the share screened."""
ROLES = ("outcome", "group", "status_quo", "weight", "cluster", "stratum")


def put_example(folder: Path) -> Path:
    """Write the example into a folder, unless it is there: the columns of the audit, and rows that lack none."""
    place = folder / EXAMPLE
    if not place.exists():
        columns = ["id", *(str(DIABETES_SCREENING[role]) for role in ROLES), *DIABETES_SCREENING["features"]]
        write_whole(place, diabetes_screening().select(columns).drop_nulls().write_csv().encode())
    return place
