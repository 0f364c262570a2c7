"""Data for examples, tests and teaching: one real survey, and one simulated care
program.
"""

from improvable.datasets.care_program import CARE_MANAGEMENT_COVARIATES, care_management
from improvable.datasets.screening import (
    DIABETES_SCREENING,
    DIABETES_SCREENING_FEATURES,
    diabetes_screening,
)

__all__ = [
    "CARE_MANAGEMENT_COVARIATES",
    "DIABETES_SCREENING",
    "DIABETES_SCREENING_FEATURES",
    "care_management",
    "diabetes_screening",
]
