"""Whom to screen for diabetes: a real survey, and the guideline in use."""

from pathlib import Path
from typing import Any, Final

import polars as pl

FILE: Final = Path(__file__).with_name("diabetes_screening.parquet")

AGES: Final = (35, 70)
MIN_BMI: Final = 25
"""The guideline: US Preventive Services Task Force (2021)."""

MEASURED: Final = ("age", "bmi", "waist", "height", "weight_kg", "arm")

DIABETES_SCREENING_FEATURES: Final[tuple[str, ...]] = (
    *MEASURED,
    "woman",
    "family_history",
)
"""What a candidate may read: age, sex, body measures, and whether a close relative had
diabetes, all as numbers.
"""

DIABETES_SCREENING: Final[dict[str, Any]] = {
    "outcome": "diabetes",
    "group": "race",
    "status_quo": "guideline",
    "rule": "logistic",
    "features": DIABETES_SCREENING_FEATURES,
    "capacity": "status_quo",
    "accuracy": "true_positive_rate",
    "weight": "weight",
    "cluster": "psu",
    "stratum": "stratum",
}
"""The audit of the demo and the tutorial: ``improvable.audit(diabetes_screening(),
**DIABETES_SCREENING)``.
"""


def diabetes_screening(*, complete: bool = True) -> "pl.DataFrame":
    """Read REAL data on whom to screen for diabetes: adults of 18 to 70 in NHANES
    2011-2018.

    The survey examined a sample of the US population, whether or not anyone had been
    screened, so that the outcome is known for those whom the guideline passes over too.

    Parameters
    ----------
    complete : bool, default True
        Keep only people with one of the four groups and with all body measures: 17,067
        of 18,427.

    Returns
    -------
    polars.DataFrame
        One row per person, and 22 columns:

        * ``id`` (the survey's number), ``cycle`` (of two years), ``stratum`` and
          ``psu`` (a cluster is a psu within a stratum, 121 in all), ``weight`` (how
          many people in the country a row stands for);
        * ``race`` (Asian, Black, Hispanic, White; missing for others), ``sex``,
          ``age``;
        * ``bmi``, ``waist``, ``height``, ``arm`` (circumference) in cm, ``weight_kg``;
        * ``relatives_had_diabetes`` (missing where the question was not asked or not
          answered: it is asked from age 20 on), ``income``, ``education``, ``insured``;
        * ``diagnosed`` (1: told by a doctor) and the outcome ``diabetes`` (1:
          diagnosed, or HbA1c of 6.5% or more);
        * ``woman`` and ``family_history``, 1 where ``sex`` and
          ``relatives_had_diabetes`` say so; a history that is not known counts as none,
          as it would on a form;
        * ``guideline``, the status quo: 1 at age 35 to 70 with a BMI of 25 or more.

    Notes
    -----
    Source: Centers for Disease Control and Prevention, National Center for Health
    Statistics, *National Health and Nutrition Examination Survey*, 2011-2012 to
    2017-2018. A work of the US government, in the public domain. Nobody in it may be
    identified, and nobody should try. `benchmarks/make_diabetes_screening.py` wrote the
    file.

    References
    ----------
    US Preventive Services Task Force (2021). Screening for prediabetes and type 2
    diabetes. *JAMA* 326, 736-743.

    Examples
    --------
    >>> people = diabetes_screening()
    >>> people.shape
    (17067, 22)
    """
    read = {
        "woman": pl.col("sex") == "Woman",
        "family_history": pl.col("relatives_had_diabetes").fill_null("No") == "Yes",
        "guideline": pl.col("age").is_between(*AGES) & (pl.col("bmi") >= MIN_BMI),
    }
    people = pl.read_parquet(FILE).with_columns(
        flag.cast(pl.Int64).alias(name) for name, flag in read.items()
    )
    return people.drop_nulls(["race", *MEASURED]) if complete else people
