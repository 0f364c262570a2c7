"""Simulated data in the schema of a published study, for examples, tests and
teaching.
"""

from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from improvable.errors import OptionError

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Columns = dict[str, NDArray[Any]]

# The population: one fixed set of constants, tuned by hand so that samples resemble
# published results. ----

BLACK_SHARE: Final = 5_582 / 48_784
FEMALE_SHARE: Final = 0.63
AGE_MEAN: Final = 51.0
AGE_SPREAD: Final = 17.0
AGE_BANDS: Final = {
    "18-24": 18,
    "25-34": 25,
    "35-44": 35,
    "45-54": 45,
    "55-64": 55,
    "65-74": 65,
    "75+": 75,
}

# Health need is a ceiling times the logistic of frailty; frailty is linear in age and
# group, plus noise.
NEED_CEILING: Final = 10.5
FRAILTY_LEVEL: Final = -2.81
FRAILTY_PER_DECADE: Final = 0.15
FRAILTY_BLACK: Final = 0.87
FRAILTY_SPREAD: Final = 1.46

# One unit of need brings on each condition at its rate, and conditions without a column
# at one more.
ELIXHAUSER: Final = {
    "alcohol": 0.010,
    "anemia": 0.055,
    "arrhythmia": 0.055,
    "arthritis": 0.040,
    "bloodlossanemia": 0.010,
    "coagulopathy": 0.015,
    "compdiabetes": 0.025,
    "depression": 0.070,
    "drugabuse": 0.010,
    "electrolytes": 0.040,
    "hypertension": 0.170,
    "hypothyroid": 0.055,
    "liver": 0.020,
    "neurodegen": 0.020,
    "obesity": 0.060,
    "paralysis": 0.005,
    "psychosis": 0.020,
    "pulmcirc": 0.010,
    "pvd": 0.030,
    "renal": 0.035,
    "uncompdiabetes": 0.070,
    "valvulardz": 0.025,
    "wtloss": 0.015,
}
ROMANO: Final = {
    "cerebrovasculardz": 0.025,
    "chf": 0.035,
    "dementia": 0.015,
    "hemiplegia": 0.005,
    "hivaids": 0.004,
    "metastatic": 0.010,
    "myocardialinfarct": 0.020,
    "pulmonarydz": 0.070,
    "tumor": 0.040,
    "ulcer": 0.010,
}
UNLISTED_CONDITIONS: Final = 0.05

# A condition persists to the next year with one probability; one unit of need brings
# new ones at a rate.
PERSISTENCE: Final = 0.635
ARRIVAL: Final = 0.39

# Predictable spending, in logs: rises with log need; at unit need Black patients are
# billed less, by a gap that closes as need grows (hospital care is harder to forgo);
# patients differ in intensity of care.
SPENDING_LEVEL: Final = 8.37
SPENDING_PER_NEED: Final = 0.70
ACCESS_GAP: Final = 0.65
ACCESS_CLOSING: Final = 0.305
INTENSITY_SPREAD: Final = 0.43

# What spending leaves behind: log noise of a year's cost, of one kind of care, and of
# the vendor's score.
COST_NOISE: Final = 1.0
KIND_NOISE: Final = 0.5
SCORE_NOISE: Final = 0.20
SCORE_PER_COST: Final = 1 / 1_110
NO_COST: Final = 0.037
AVOIDABLE: Final = 0.30
ENROLLMENT_CEILING: Final = 0.25
ENROLLMENT_MIDPOINT: Final = 30.0

# Kind of care: (chance of any, share of the year's spending when there is any);
# dialysis only with renal disease.
COST_KINDS: Final = {
    "dialysis": (0.20, 0.60),
    "emergency": (0.25, 0.12),
    "home_health": (0.06, 0.20),
    "ip_medical": (0.08, 0.70),
    "ip_surgical": (0.05, 0.90),
    "laboratory": (0.80, 0.08),
    "op_primary_care": (0.90, 0.08),
    "op_specialists": (0.75, 0.15),
    "op_surgery": (0.20, 0.25),
    "other": (0.75, 0.15),
    "pharmacy": (0.70, 0.25),
    "physical_therapy": (0.15, 0.08),
    "radiology": (0.55, 0.12),
}
# Laboratory test: (tests a year at unit need, direction in which need moves the
# standardized result).
LABS: Final = {
    "cre": (0.50, 1),
    "crp": (0.10, 1),
    "esr": (0.10, 1),
    "ghba1c": (0.25, 1),
    "hct": (0.60, -1),
    "ldl": (0.40, 1),
    "nt_bnp": (0.08, 1),
    "sodium": (0.50, -1),
    "trig": (0.40, 1),
}
# Reading this year: (typical value, spread, direction in which need moves it,
# decimals).
READINGS: Final = {
    "bps": (127.0, 14.0, 1, 0),
    "ghba1c": (6.0, 1.1, 1, 1),
    "hct": (40.0, 4.0, -1, 1),
    "cre": (0.95, 0.30, 1, 2),
    "ldl": (105.0, 30.0, 1, 0),
}
LAB_SIGNAL: Final = 0.35
LAB_NORMAL_RANGE: Final = 1.3
LAB_SWING: Final = 0.5

# Without gaps in the records the age bands, and the flags of one test, would add up
# exactly and leave a regression on all covariates without a unique solution.
UNRECORDED: Final = 0.02

# The schema. ----

STATISTICS: Final = ("min", "mean", "max")
LEVELS: Final = ("low", "high", "normal")

DEMOGRAPHIC: Final = ("dem_female", *(f"dem_age_band_{band}_tm1" for band in AGE_BANDS))
DIAGNOSES: Final = {
    f"{name}_elixhauser_tm1": rate for name, rate in ELIXHAUSER.items()
} | {f"{name}_romano_tm1": rate for name, rate in ROMANO.items()}
COST: Final = tuple(f"cost_{kind}_tm1" for kind in COST_KINDS)
MEDICATION: Final = (
    "lasix_dose_count_tm1",
    *(f"lasix_{name}_daily_dose_tm1" for name in STATISTICS),
)
LAB_TESTS: Final = tuple(f"{lab}_tests_tm1" for lab in LABS)
# The published file spells this one stem with a hyphen.
LAB_FLAGS: Final = tuple(
    f"{lab}_{statistic}-{level}_tm1".replace("ldl_mean", "ldl-mean")
    for lab in LABS
    for statistic in STATISTICS
    for level in LEVELS
)

CARE_MANAGEMENT_COVARIATES: Final[tuple[str, ...]] = (
    DEMOGRAPHIC
    + tuple(DIAGNOSES)
    + COST
    + MEDICATION
    + LAB_TESTS
    + LAB_FLAGS
    + ("gagne_sum_tm1",)
)
"""The 149 covariates of :func:`care_management`, in the order of its columns."""


def care_management(n: int = 48_784, seed: int = 0) -> "pl.DataFrame":
    """Draw a SIMULATED hospital care-management program.

    Every row is invented; no patient record was used. Names and types of the columns
    are those of the public data of Obermeyer et al. (2019), and the constants of the
    population were tuned so that the analyses published on those data come out alike: a
    status quo that selects on ``risk_score_t``, against candidates trained to predict
    ``gagne_sum_t``.

    Parameters
    ----------
    n : int, default 48,784
        Number of patients, drawn independently from one fixed population.
    seed : int, default 0
        Seed of the draw. The same ``n`` and ``seed`` give the same frame.

    Returns
    -------
    polars.DataFrame
        ``n`` rows and 160 columns without missing values: the group ``race``
        (``"white"`` or ``"black"``), the 149 covariates
        of :data:`CARE_MANAGEMENT_COVARIATES` (last year, ``_tm1``), and this year's
        scores and outcomes (``_t``), among them ``risk_score_t``, ``cost_t`` and
        ``gagne_sum_t``. Counts and 0/1 flags are integers; costs are in hundreds.

    Notes
    -----
    Each patient has a latent health need, which rises with age and is on average higher
    among Black patients.

    * *Conditions.* Need brings on last year's chronic conditions, counted in
      ``gagne_sum_tm1``. Some persist, need adds new ones, and the sum is the outcome
      ``gagne_sum_t``. Medication and laboratory results follow need and conditions.
    * *Spending.* Need also drives spending, but at equal need less is spent on Black
      patients, except among the very sickest. Costs last year and this year vary around
      the same predictable spending.
    * *Score.* ``risk_score_t`` tracks predictable spending, not need. At an equal score
      Black patients are therefore sicker, and a rule trained on conditions finds sicker
      patients in both groups, with a smaller gap between them, but less costly ones.

    References
    ----------
    Obermeyer, Z., Powers, B., Vogeli, C. and Mullainathan, S. (2019). Dissecting racial
    bias in an algorithm used to manage the health of populations. *Science* 366,
    447-453.

    Examples
    --------
    >>> frame = care_management(n=1_000, seed=1)
    >>> frame.shape
    (1000, 160)
    """
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        if (
            isinstance(value, bool)
            or not isinstance(value, int | np.integer)
            or value < least
        ):
            raise OptionError(
                f"{name} is {value}.", f"It must be a whole number, at least {least}."
            )
    rng = np.random.default_rng(np.random.SeedSequence(seed))

    black = rng.random(n) < BLACK_SHARE
    female = rng.random(n) < FEMALE_SHARE
    age = np.clip(rng.normal(AGE_MEAN, AGE_SPREAD, n), 18, 99)

    frailty = (
        FRAILTY_LEVEL
        + FRAILTY_PER_DECADE * (age - AGE_MEAN) / 10
        + FRAILTY_BLACK * black
    )
    need = NEED_CEILING / (
        1 + np.exp(-frailty - FRAILTY_SPREAD * rng.standard_normal(n))
    )
    log_need = np.log(need)

    onset = -np.expm1(-np.outer(need, list(DIAGNOSES.values())))
    diagnoses = dict(zip(DIAGNOSES, (rng.random(onset.shape) < onset).T, strict=True))
    conditions_before = sum(diagnoses.values()) + rng.poisson(
        UNLISTED_CONDITIONS * need
    )
    conditions_after = rng.binomial(conditions_before, PERSISTENCE) + rng.poisson(
        ARRIVAL * need
    )

    shortfall = black * (ACCESS_GAP - ACCESS_CLOSING * log_need)
    intensity = INTENSITY_SPREAD * rng.standard_normal(n)
    spending = SPENDING_LEVEL + SPENDING_PER_NEED * log_need - shortfall + intensity
    score = np.minimum(
        100, SCORE_PER_COST * np.exp(spending + SCORE_NOISE * rng.standard_normal(n))
    )
    enrollment = ENROLLMENT_CEILING * score**2 / (score**2 + ENROLLMENT_MIDPOINT**2)
    cost = _yearly_cost(rng, spending) * (rng.random(n) >= NO_COST)

    columns: Columns = {
        "risk_score_t": score,
        "program_enrolled_t": rng.random(n) < enrollment,
        "cost_t": _in_hundreds(cost),
        "cost_avoidable_t": _in_hundreds(
            cost * rng.beta(1.5, 0.5, n) * (rng.random(n) < AVOIDABLE)
        ),
        **_readings(rng, log_need),
        "race": np.where(black, "black", "white"),
        "dem_female": female,
        **_age_bands(rng, age),
        **diagnoses,
        **_cost_by_kind(rng, spending, renal=diagnoses["renal_elixhauser_tm1"]),
        **_lasix(rng, heart_failure=diagnoses["chf_romano_tm1"]),
        **_labs(rng, need),
        "gagne_sum_tm1": conditions_before,
        "gagne_sum_t": conditions_after,
    }
    return pl.DataFrame(columns).with_columns(pl.col(pl.Boolean).cast(pl.Int64))


def _in_hundreds(amount: Floats) -> Floats:
    return 100 * np.round(amount / 100)


def _yearly_cost(rng: np.random.Generator, spending: Floats) -> Floats:
    return np.exp(spending + COST_NOISE * rng.standard_normal(len(spending)))


def _readings(rng: np.random.Generator, log_need: Floats) -> Columns:
    columns: Columns = {}
    for name, (typical, spread, direction, decimals) in READINGS.items():
        deviation = direction * LAB_SIGNAL * log_need + rng.standard_normal(
            len(log_need)
        )
        columns[f"{name}_mean_t"] = np.round(
            typical * np.exp(spread / typical * deviation), decimals
        )
    return columns


def _age_bands(rng: np.random.Generator, age: Floats) -> Columns:
    band = np.digitize(age, list(AGE_BANDS.values())) - 1
    band[rng.random(len(age)) < UNRECORDED] = -1
    return {name: band == k for k, name in enumerate(DEMOGRAPHIC[1:])}


def _cost_by_kind(rng: np.random.Generator, spending: Floats, renal: Flags) -> Columns:
    chance, share = np.array(list(COST_KINDS.values())).T
    any_use = rng.random((len(spending), len(COST_KINDS))) < chance
    any_use[:, list(COST_KINDS).index("dialysis")] &= renal
    noise = np.exp(KIND_NOISE * rng.standard_normal(any_use.shape))
    amounts = _in_hundreds(
        _yearly_cost(rng, spending)[:, None] * share * noise * any_use
    )
    return dict(zip(COST, amounts.T, strict=True))


def _lasix(rng: np.random.Generator, heart_failure: Flags) -> Columns:
    n = len(heart_failure)
    doses = rng.poisson(4, n) * (rng.random(n) < np.where(heart_failure, 0.6, 0.02))
    lowest = 20.0 * (1 + rng.poisson(0.7, n)) * (doses > 0)
    highest = lowest + 20.0 * rng.poisson(0.5, n) * (doses > 1)
    mean = np.round(lowest + (highest - lowest) * rng.random(n), 1)
    return dict(zip(MEDICATION, (doses, lowest, mean, highest), strict=True))


def _labs(rng: np.random.Generator, need: Floats) -> Columns:
    rate, direction = np.array(list(LABS.values())).T
    tests = rng.poisson(np.outer(np.sqrt(need), rate))
    mean = LAB_SIGNAL * np.outer(np.log(need), direction) + rng.standard_normal(
        tests.shape
    )
    # A single test is its own minimum, mean and maximum.
    swing = LAB_SWING * np.abs(rng.standard_normal(tests.shape)) * (tests > 1)
    value = np.stack([mean - swing, mean, mean + swing], axis=-1)
    low, high = value < -LAB_NORMAL_RANGE, value > LAB_NORMAL_RANGE
    recorded = (tests > 0)[..., None] & (rng.random(value.shape) >= UNRECORDED)
    flags = recorded[..., None] & np.stack([low, high, ~(low | high)], axis=-1)
    names = LAB_TESTS + LAB_FLAGS
    return dict(zip(names, (*tests.T, *flags.reshape(len(need), -1).T), strict=True))
