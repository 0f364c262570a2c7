"""Where to start: `improvable demo` and `improvable serve`."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer import Argument, Option

from improvable import datasets
from improvable.cli import options as o
from improvable.cli.output import (
    check_outputs,
    made_here,
    quietly,
    say,
    spelled,
    write_documents,
)
from improvable.errors import OptionError
from improvable.procedure.run import run_audit
from improvable.question.options import check_integer
from improvable.question.settings import SETTINGS, Settings
from improvable.report.text import paragraph, summary
from improvable.results.formatting import p_equals, p_text

if TYPE_CHECKING:
    from improvable import Audit
    from improvable.inference.evidence import AlgorithmName

PATIENTS, FEWER_PATIENTS = 48_784, 16_000
DRAWS, QUICK_DRAWS = 10_000, 2_000
SCREENING_WORDS: dict[str, Any] = {
    "system": "the diabetes screening guideline",
    "labels": {
        "diabetes": "diabetes",
        "race": "race",
        "weight": "survey weight",
        "psu": "survey area",
        "stratum": "survey stratum",
        "age": "age",
        "bmi": "body mass index",
        "waist": "waist",
        "height": "height",
        "weight_kg": "body weight",
        "arm": "arm circumference",
        "woman": "woman",
        "family_history": "diabetes in the family",
        "guideline": "guideline",
    },
}
"""What the demo's report calls things."""
CARE_PROGRAM: dict[str, Any] = {
    "outcome": "gagne_sum_t",
    "group": "race",
    "status_quo": {"score": "risk_score_t", "capacity": 0.03},
    "rule": "linear",
    "features": datasets.CARE_MANAGEMENT_COVARIATES,
    "system": "the care score",
    "simulated": True,
}
REAL = (
    "REAL data: {rows:,} adults of 18 to 70, examined in a US health survey (NHANES "
    "2011-2018). The guideline is to screen for diabetes at age 35 to 70 with a BMI of "
    "25 or more (US Preventive Services Task Force, 2021). A group's accuracy is the "
    "share of its people with diabetes who are screened. Could a score of age, sex, "
    "body measures and family history that screens the same share of people find more "
    "of them in all four groups, and more evenly?"
)
REAL_NEXT = f"""\
Next, the same on a file (replace it with your own), kept in a folder, with a report:
  improvable demo --write screening.csv
  improvable audit screening.csv --outcome diabetes --group race --decision guideline \\
      --capacity same --rule logistic --features {",".join(datasets.DIABETES_SCREENING_FEATURES)} \\
      --accuracy true_positive_rate --weight weight --cluster psu --stratum stratum \\
      --out run --report screening.html
  improvable frontier run"""  # noqa: E501
SIMULATED = (
    "SIMULATED data: {rows:,} patients of a care program. The hospital enrolls the 3% "
    "with the highest risk score, and the score tracks cost. Accuracy is how many "
    "conditions the enrolled have in the following year. Could the hospital reach "
    "sicker patients in both groups, and more evenly?"
)
SIMULATED_NEXT = f"""\
Next, on a file of your own (here the simulated one):
  {o.EXAMPLE_RUN}
  improvable frontier run"""


def demo(
    simulated: bool = Option(
        False, "--simulated", help="A simulated care program instead of real data."
    ),
    quick: bool = Option(
        False, "--quick", help="Fewer draws (and simulated rows): a few seconds."
    ),
    write: str | None = Option(
        None, metavar="FILE", help="Only write the data, CSV or Parquet."
    ),
    report: o.Report = None,
    seed: int = Option(0, help=SETTINGS["seed"].help),
) -> int:
    """Audit a guideline on real data: who is screened for diabetes?

    The data are a survey that examined 17,067 US adults. With --simulated: a hospital's
    care program.

    Example:

    \b
      improvable demo
      improvable demo --write screening.csv
      improvable demo --simulated
    """
    check_outputs(write, report=report)
    check_integer("seed", seed, 0)
    if write is not None and Path(write).suffix not in (".csv", ".parquet"):
        raise OptionError(
            f"'{write}' is not a kind of file we write.",
            "Write to a file that ends in .csv or .parquet.",
        )
    rows = FEWER_PATIENTS if quick else PATIENTS
    people = (
        datasets.care_management(rows, seed=seed)
        if simulated
        else datasets.diabetes_screening()
    )
    if write is not None:
        (people.write_csv if Path(write).suffix == ".csv" else people.write_parquet)(
            Path(write)
        )
        whom = "simulated patients" if simulated else "adults of a real survey"
        say(f"Wrote {len(people):,} {whom} to {Path(write)}.", err=True)
        return 0
    question = CARE_PROGRAM if simulated else datasets.DIABETES_SCREENING
    settings = Settings(**question, draws=QUICK_DRAWS if quick else DRAWS, seed=seed)
    say(f"{paragraph((SIMULATED if simulated else REAL).format(rows=len(people)))}\n")
    result = quietly(lambda: run_audit(people, settings, n_jobs=-1))
    named = (
        result
        if simulated
        else replace(result, question=replace(result.question, about=SCREENING_WORDS))
    )
    write_documents(
        named, report, None, made_here(None if simulated else "NHANES 2011-2018")
    )
    say(f"{summary(result, spell=spelled)}\n")
    if not simulated:
        unknown = people.filter(people["diagnosed"] == 0)
        again = quietly(lambda: run_audit(unknown, settings, n_jobs=-1))
        say(
            f"{paragraph(both_in_words(result, again, int(unknown['diabetes'].sum())))}"
            "\n"
        )
    say(SIMULATED_NEXT if simulated else REAL_NEXT)
    return 0


def both_in_words(everybody: "Audit", undiagnosed: "Audit", cases: int) -> str:
    """What was found on everybody and without those already diagnosed: neither is told
    without the other.
    """

    def verdict(result: "Audit") -> str:
        shown = "shown" if result.reject else "not shown"
        return f"{shown} ({p_equals(p_text(result.p_value, result.facts['draws']))})"

    repetitions = undiagnosed.facts["repetitions"]

    def mean(which: "AlgorithmName", group: str | None = None) -> float:
        values = (
            one["gap"][which] if group is None else one["accuracy"][group][which]
            for one in repetitions
        )
        return sum(value or 0.0 for value in values) / len(repetitions)

    rises = ", ".join(
        f"{group} {mean('status_quo', group):.3f} → {mean('candidate', group):.3f}"
        for group in undiagnosed.facts["groups"]
    )
    return (
        "In short: among everyone with diabetes, an improvement is "
        f"{verdict(everybody)}. But most of them knew already, and a screening is for "
        f"those who do not. Without the diagnosed ({undiagnosed.facts['rows']:,} "
        f"people, {cases} cases) it is {verdict(undiagnosed)}: {rises}, gap "
        f"{mean('status_quo'):.3f} → {mean('candidate'):.3f}. With so few cases the "
        "first answer does not settle the second."
    )


def serve(
    folder: str = Argument(
        ".", metavar="[FOLDER]", help="The folder that has your data files."
    ),
    demo: bool = Option(
        False,
        "--demo",
        help="Put example data into the folder first, so that you can try it.",
    ),
    port: int = Option(
        0, help="Port on this computer.", show_default="any that is free"
    ),
    browser: bool = Option(
        True, "--browser/--no-browser", help="Open the page in your browser."
    ),
) -> int:
    """Open a page in your browser that needs no programming.

    It leads from a data file to a report. Everything stays on this computer: the page
    answers only to its own browser, and sends nothing anywhere. Audits are kept in
    FOLDER/improvable-audits. Close the page or stop the server whenever you like; a run
    resumes.

    Example:

    \b
      improvable serve --demo
    """
    try:
        from improvable.web.app import serve as run
    except ModuleNotFoundError as error:
        raise OptionError(
            f"'{error.name}' is missing.",
            "pip install 'path/to/the/clone[web]' installs what the page needs.",
        ) from None
    place = Path(folder)
    if demo:
        from improvable.web.files import put_example

        say(f"The example data are in {put_example(place)}.", err=True)
    try:
        run(
            place,
            say=lambda address: say(f"Open {address}\nStop with Ctrl-C."),
            port=port,
            browser=browser,
        )
    except KeyboardInterrupt:
        say("Stopped. What is finished is kept, and a run resumes.", err=True)
    return 0
