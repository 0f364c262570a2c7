"""`improvable power`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from improvable.cli import options as o
from improvable.cli.output import check_outputs, put_json, quietly, say, warn
from improvable.data.engines.memory import Memory
from improvable.data.frame import read_rows
from improvable.data.io.csv import FileFormat
from improvable.data.io.safe import write_whole
from improvable.errors import OptionError, one_of
from improvable.question.options import parse_names
from improvable.trust.ledger import PLANNED, open_recorder, reading_facts

if TYPE_CHECKING:
    from improvable.studies.power import AssumedGroup, PowerPlan

ASSUMED = "black:share=0.12,rates=0.05/0.07,means=6.5/7.4,spread=3.5,overlap=0.4"
OF_ASSUMPTIONS = (
    "delta_accuracy",
    "delta_fairness",
    "form",
    "gap",
    "protected",
    "overall",
    "ask",
    "scheme",
    "repetitions",
    "train_fraction",
    "alpha",
    "seed",
)
"""Settings that mean something without rows."""


@o.with_settings("power")
def power(
    data: str | None = Argument(
        None, metavar="[PILOT]", help="A data file of rows like those to come."
    ),
    *,
    asked: dict[str, Any],
    assume: Annotated[
        list[str] | None,
        Option(
            metavar="GROUP:...",
            help="Instead of a pilot, what you assume about a group; repeat for each.",
        ),
    ] = None,
    rows: int | None = Option(
        None, help="Rows the audit will have.", show_default="those of the pilot"
    ),
    wanted: float = Option(0.8, "--power", help="Power to find a sample size for."),
    simulations: int = Option(2_000, help="Simulated audits behind each number."),
    fits: int = Option(
        30, help="Fits of the rule at each of six numbers of training rows."
    ),
    jobs: o.Jobs = -1,
    plot: str | None = Option(
        None, metavar="FILE", help="Draw power against rows: .svg, .png, .pdf or .html."
    ),
    table: str | None = Option(None, metavar="FILE", help="Write all points: .csv."),
    ledger: o.Ledger = None,
    json: o.Json = None,
) -> int:
    """Plan an audit: its power, and how many rows it needs.

    With a pilot, the rule is fitted on samples of several sizes and judged on the other
    rows; then whole audits are simulated from their sums. Use other rows for the audit
    itself: settings chosen because they do well on some rows must not be tested on the
    same rows. The ledger beside them keeps a line of it. With a slow rule, lower
    --fits.

    Example: how many patients would an audit of the hospital's risk score need?

    \b
      improvable demo --simulated --write patients.csv
      improvable power patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --fits 10 --plot power.svg

    Without a pilot, say what you assume of each group: its share of the rows; the share
    of it selected, the mean outcome among the selected (status quo/candidate each), and
    its spread, which a 0/1 outcome does not need; and the share of the status quo's
    selected that the candidate selects too.

    \b
      improvable power --rows 20000 \\
          --assume black:share=0.12,rates=0.05/0.07,means=6.5/7.4,spread=3.5,overlap=0.4 \\
          --assume white:share=0.88,rates=0.027/0.024,means=5.1/7.3,spread=3.5,overlap=0.3
    """  # noqa: E501
    from improvable.report.plots.style import FORMATS
    from improvable.studies.power import power_from_assumptions

    check_outputs(json, table, plot)
    if plot is not None and Path(plot).suffix.lower() not in FORMATS:
        raise OptionError(
            f"'{plot}' is not a picture we write.",
            f"Name a file that ends in {one_of(FORMATS)}.",
        )
    if table is not None and Path(table).suffix.lower() != ".csv":
        raise OptionError(f"'{table}' is not a table we write.", "Name a .csv file.")
    how: dict[str, Any] = {"rows": rows, "wanted": wanted, "simulations": simulations}
    if (data is None) == (not assume):
        raise OptionError(
            "a plan needs either a pilot or assumptions.",
            f"Give a file, or --assume {ASSUMED}.",
        )
    if assume:
        if rows is None:
            raise OptionError(
                "--assume needs --rows.", "Say how many rows the audit will have."
            )
        known = {name: asked[name] for name in OF_ASSUMPTIONS if name in asked}
        plan = power_from_assumptions(
            [parse_group(text) for text in assume], **how, **known
        )
    else:
        if "outcome" not in asked or not {"group", "probabilities"} & asked.keys():
            raise OptionError(
                "a pilot needs --outcome and --group.", "Name the columns."
            )
        plan = _from_pilot(
            str(data), o.completed(asked), ledger, how | {"fits": fits, "n_jobs": jobs}
        )
    if plot is not None:
        plan.plot().save(plot)
    if table is not None:
        write_whole(Path(table), plan.csv().encode())
    if not put_json(plan.to_dict(), json):
        say(plan.summary())
    return 0


def _from_pilot(
    data: str, question: dict[str, Any], ledger: str | None, how: dict[str, Any]
) -> "PowerPlan":
    from improvable.studies.power import power_from_pilot

    format_ = FileFormat(
        **{name: question.pop(name) for name in vars(FileFormat()) if name in question}
    )
    pilot = read_rows(data, format_)
    say(
        f"Fitting the rule {how['fits']} times on each of six parts of '{data}' ...",
        err=True,
    )
    recorder = open_recorder(Memory(pilot, 1), data, ledger)
    runs = recorder.add(
        PLANNED, {"kind": "power", "seed": question["seed"]} | reading_facts(format_)
    )
    plan = quietly(lambda: power_from_pilot(pilot, **how, **question))
    for note in pilot.notes:
        warn(note)
    say(runs, err=True)
    return plan


def parse_group(text: str) -> "AssumedGroup":
    from improvable.studies.power import AssumedGroup

    name, _, rest = text.partition(":")
    pairs = {"rates", "means"}
    given: dict[str, Any] = {}
    try:
        for part in parse_names(rest):
            key, _, value = part.partition("=")
            numbers = tuple(float(number) for number in value.split("/"))
            if key not in pairs | {"share", "spread", "overlap"} or len(numbers) != (
                2 if key in pairs else 1
            ):
                raise ValueError
            given[key] = numbers if key in pairs else numbers[0]
        if not pairs | {"share"} <= given.keys():
            raise ValueError
    except ValueError:
        raise OptionError(f"--assume is '{text}'.", f"Write {ASSUMED}.") from None
    return AssumedGroup(name=name.strip(), **given)
