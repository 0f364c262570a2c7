"""`improvable demo`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Option

from improvable.cli import options as o
from improvable.cli.output import check_documents, made_here, quietly, say, spelled, write_documents
from improvable.errors import OptionError
from improvable.question.options import check_folder, check_integer
from improvable.question.settings import SETTINGS, Settings

if TYPE_CHECKING:
    from improvable import Audit
    from improvable.inference.evidence import AlgorithmName

PATIENTS, FEWER_PATIENTS = 48_784, 16_000
DRAWS, QUICK_DRAWS = 10_000, 2_000
SCREENING_WORDS: dict[str, Any] = {
    "system": "the diabetes screening guideline",
    "labels": {
        "diabetes": "diabetes", "race": "race", "weight": "survey weight", "psu": "survey area",
        "stratum": "survey stratum", "age": "age", "bmi": "body mass index", "waist": "waist", "height": "height",
        "weight_kg": "body weight", "arm": "arm circumference", "woman": "woman",
        "family_history": "diabetes in the family", "guideline": "guideline",
    },
}  # fmt: skip
"""What the demo's report calls things."""


def demo(
    simulated: bool = Option(False, "--simulated", help="A simulated care program instead of real data."),
    quick: bool = Option(False, "--quick", help="Fewer draws (and simulated rows): a few seconds."),
    write: str | None = Option(None, metavar="FILE", help="Only write the data, CSV or Parquet."),
    report: o.Report = None,
    seed: int = Option(0, help=SETTINGS["seed"].help),
) -> int:
    """Audit a guideline on real data: who is screened for diabetes?

    The data are a survey that examined 17,067 US adults. With --simulated: a hospital's care program.

    Example:

    \b
      improvable demo
      improvable demo --write screening.csv
      improvable demo --simulated
    """
    check_documents(report)
    check_integer("seed", seed, 0)
    rows = FEWER_PATIENTS if quick else PATIENTS
    if write is not None:
        return _write(write, rows if simulated else None, seed)
    draws = QUICK_DRAWS if quick else DRAWS
    return _care_program(rows, draws, seed, report) if simulated else _screening(draws, seed, report)


def _audit(people: Any, settings: Settings) -> "Audit":
    from improvable.procedure.run import run_audit

    return quietly(lambda: run_audit(people, settings, n_jobs=-1))


def _screening(draws: int, seed: int, report: str | None) -> int:
    import polars as pl

    from improvable.datasets import DIABETES_SCREENING, DIABETES_SCREENING_FEATURES, diabetes_screening
    from improvable.report.text import summary

    people = diabetes_screening()
    _tell(
        f"REAL data: {len(people):,} adults of 18 to 70, examined in a US health survey (NHANES 2011-2018). The "
        "guideline is to screen for diabetes at age 35 to 70 with a BMI of 25 or more (US Preventive Services Task "
        "Force, 2021). A group's accuracy is the share of its people with diabetes who are screened. Could a score "
        "of age, sex, body measures and family history that screens the same share of people find more of them in "
        "all four groups, and more evenly?"
    )
    settings = Settings(**DIABETES_SCREENING, draws=draws, seed=seed)
    result = _audit(people, settings)
    if report is not None:
        named = replace(result, question=replace(result.question, about=SCREENING_WORDS))
        write_documents(named, report, None, made_here("NHANES 2011-2018"))
    say(summary(result, spell=spelled))
    unknown = people.filter(pl.col("diagnosed") == 0)
    say("")
    _tell(both_in_words(result, _audit(unknown, settings), int(unknown["diabetes"].sum())))
    say(
        "Next, the same on a file (replace it with your own), kept in a folder, with a report:\n"
        "  improvable demo --write screening.csv\n"
        "  improvable audit screening.csv --outcome diabetes --group race --decision guideline \\\n"
        f"      --capacity same --rule logistic --features {','.join(DIABETES_SCREENING_FEATURES)} \\\n"
        "      --accuracy true_positive_rate --weight weight --cluster psu --stratum stratum \\\n"
        "      --out run --report screening.html\n"
        "  improvable frontier run"
    )
    return 0


def both_in_words(everybody: "Audit", undiagnosed: "Audit", cases: int) -> str:
    """What was found on everybody and without those already diagnosed: neither is told without the other."""
    from improvable.results.formatting import p_equals, p_text

    def verdict(result: "Audit") -> str:
        shown = "shown" if result.reject else "not shown"
        return f"{shown} ({p_equals(p_text(result.p_value, result.facts['draws']))})"

    repetitions = undiagnosed.facts["repetitions"]

    def mean(which: "AlgorithmName", group: str | None = None) -> float:
        values = (one["gap"][which] if group is None else one["accuracy"][group][which] for one in repetitions)
        return sum(value or 0.0 for value in values) / len(repetitions)

    rises = ", ".join(
        f"{group} {mean('status_quo', group):.3f} → {mean('candidate', group):.3f}"
        for group in undiagnosed.facts["groups"]
    )
    return (
        f"In short: among everyone with diabetes, an improvement is {verdict(everybody)}. But most of them knew "
        f"already, and a screening is for those who do not. Without the diagnosed ({undiagnosed.facts['rows']:,} "
        f"people, {cases} cases) it is {verdict(undiagnosed)}: {rises}, gap {mean('status_quo'):.3f} → "
        f"{mean('candidate'):.3f}. With so few cases the first answer does not settle the second."
    )


def _care_program(rows: int, draws: int, seed: int, report: str | None) -> int:
    from improvable.datasets import CARE_MANAGEMENT_COVARIATES, care_management
    from improvable.report.text import summary

    _tell(
        f"SIMULATED data: {rows:,} patients of a care program. The hospital enrolls the 3% with the highest risk "
        "score, and the score tracks cost. Accuracy is how many conditions the enrolled have in the following year. "
        "Could the hospital reach sicker patients in both groups, and more evenly?"
    )
    status_quo = {"score": "risk_score_t", "capacity": 0.03}
    settings = Settings(
        outcome="gagne_sum_t", group="race", status_quo=status_quo, rule="linear", features=CARE_MANAGEMENT_COVARIATES,
        draws=draws, seed=seed, system="the care score", simulated=True,
    )  # fmt: skip
    result = _audit(care_management(rows, seed=seed), settings)
    write_documents(result, report, None, made_here())
    say(summary(result, spell=spelled))
    say(
        "\nNext, on a file of your own (here the simulated one):\n"
        "  improvable demo --simulated --write patients.csv\n"
        "  improvable audit patients.csv --outcome gagne_sum_t --group race \\\n"
        "      --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run\n"
        "  improvable frontier run"
    )
    return 0


def _tell(text: str) -> None:
    """Print a paragraph, and an empty line after it."""
    from improvable.report.text import paragraph

    say(f"{paragraph(text)}\n")


def _write(file: str, simulated_rows: int | None, seed: int) -> int:
    from improvable.datasets import care_management, diabetes_screening

    check_folder(file)
    path = Path(file)
    if path.suffix not in (".csv", ".parquet"):
        raise OptionError(f"'{file}' is not a kind of file we write.", "Write to a file that ends in .csv or .parquet.")
    if simulated_rows is None:
        people, whom = diabetes_screening(), "adults of a real survey"
    else:
        people, whom = care_management(simulated_rows, seed=seed), "simulated patients"
    (people.write_csv if path.suffix == ".csv" else people.write_parquet)(path)
    say(f"Wrote {len(people):,} {whom} to {path}.", err=True)
    return 0
