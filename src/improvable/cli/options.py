"""Options that commands share, and how their texts become arguments."""

from pathlib import Path
from typing import Annotated, Any

import typer

from improvable.errors import OptionError

Data = Annotated[
    str, typer.Argument(metavar="DATA", help="A CSV or Parquet file, or a folder of Parquet, one row per person.")
]
Outcome = Annotated[str, typer.Option(help="Column of outcomes.")]
Group = Annotated[str, typer.Option(help="Column of groups; several as race,sex must all improve.")]
Cross = Annotated[bool, typer.Option("--cross", help="Cross several group columns into intersections.")]
Groups = Annotated[str | None, typer.Option(help="Keep only these groups: black,white.")]
MinGroup = Annotated[int, typer.Option(help="Groups with fewer rows are small.")]
Small = Annotated[str, typer.Option(help="Small groups: refuse, or pool them into one.")]
Protected = Annotated[str | None, typer.Option(help="Only this group's falling short counts as unfair.")]
Overall = Annotated[
    str | None, typer.Option(help="Accuracy of everyone, not of each group: population, or white:0.5,black:0.5.")
]
Score = Annotated[str | None, typer.Option(help="Column with the status quo's score.")]
Capacity = Annotated[float | None, typer.Option(help="Share of rows that may be selected.")]
Above = Annotated[float | None, typer.Option(help="With --score: the status quo selects scores above this.")]
Decision = Annotated[str | None, typer.Option(help="Column with the status quo's decisions, instead of a score.")]
Candidates = Annotated[
    str | None, typer.Option(help="Rules that compete inside the training rows: linear,lasso,boosting.")
]
Features = Annotated[str | None, typer.Option(help="Columns a candidate may read: age,visits,lab_*.")]
Exclude = Annotated[str | None, typer.Option(help="Columns it may not read.")]
Monotone = Annotated[str | None, typer.Option(help="Features that may only help (+) or hurt (-): age:+,income:-.")]
MaxSelectionGap = Annotated[
    float | None, typer.Option(help="Bound on the difference of selection rates between groups.")
]
AllowGroup = Annotated[bool, typer.Option("--allow-group", help="Let a candidate read the group.")]
Target = Annotated[str | None, typer.Option(help="Column the rule predicts.", show_default="the outcome")]
Splits = Annotated[int, typer.Option(help="How often the rows are divided.")]
TrainFraction = Annotated[float, typer.Option(help="Share of rows that the rule learns from.")]
OptionalOutcome = Annotated[str | None, typer.Option(help="Column of outcomes.")]
OptionalGroup = Annotated[str | None, typer.Option(help="Column of groups; several as race,sex must all improve.")]
Weight = Annotated[str | None, typer.Option(help="Column of row weights.")]
Cluster = Annotated[str | None, typer.Option(help="Column of clusters, split and resampled as wholes.")]
Accuracy = Annotated[str, typer.Option(help="Utility for accuracy; NAME:COLUMN reads another outcome; several as A,B.")]
Fairness = Annotated[str | None, typer.Option(help="Utility for the gap.", show_default="that of accuracy")]
DeltaAccuracy = Annotated[str, typer.Option(help="How much more accurate: 0.05, or white:0.02,black:0.")]
DeltaFairness = Annotated[float, typer.Option(help="By how much the gap must be smaller: 0.1 is a tenth.")]
Form = Annotated[str, typer.Option(help="Deltas are shares (ratio) or amounts (difference).")]
Gap = Annotated[str, typer.Option(help="Fairness statistic that decides: signed, or the paper's absolute.")]
Draws = Annotated[int, typer.Option(help="Bootstrap draws.")]
Alpha = Annotated[float, typer.Option(help="Level of the test.")]
Seed = Annotated[int, typer.Option(help="Same seed, same data: same result.")]
Jobs = Annotated[int | None, typer.Option(help="Workers; -1 for all cores.", show_default="1")]
DropMissing = Annotated[bool, typer.Option("--drop-missing", help="Drop rows with holes in a needed column.")]
Method = Annotated[
    str | None,
    typer.Option(help="Draws: bootstrap, or delta, the normal limit.", show_default="by the number of cells"),
]
Engine = Annotated[
    str | None, typer.Option(help="Read rows in batches: memory, arrow, dask or spark.", show_default="by the data")
]
Json = Annotated[str | None, typer.Option("--json", metavar="FILE", help="Write JSON; - prints only JSON.")]
Report = Annotated[str | None, typer.Option("--report", metavar="FILE", help="Write a report: .html or .md.")]
Table = Annotated[str | None, typer.Option("--table", metavar="FILE", help="Write the table: .tex, .csv or .md.")]
Ledger = Annotated[
    str | None, typer.Option(metavar="FILE", help="Record the run there.", show_default="DATA.ledger, beside the data")
]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 1 when the null is rejected.")]


def parse_delta(text: str) -> float | dict[str, float]:
    """One number, or one per group.

    Examples
    --------
    >>> parse_delta("0.05")
    0.05
    >>> parse_delta("white:0.02,black:0")
    {'white': 0.02, 'black': 0.0}
    """
    try:
        return float(text) if ":" not in text else _by_group(text)
    except ValueError:
        raise OptionError(f"--delta-accuracy is '{text}'.", "Write 0.05, or white:0.02,black:0.") from None


def parse_overall(text: str | None) -> Any:
    """Whose accuracy counts: everyone's, or a weighted mean of groups.

    Examples
    --------
    >>> parse_overall("white:0.5,black:0.5")
    {'white': 0.5, 'black': 0.5}
    """
    if text is None or text == "population":
        return text
    try:
        return _by_group(text)
    except ValueError:
        raise OptionError(f"--overall is '{text}'.", "Write population, or white:0.5,black:0.5.") from None


def parse_monotone(text: str | None) -> dict[str, str] | None:
    """Features with a sign.

    Examples
    --------
    >>> parse_monotone("age:+,income:-")
    {'age': '+', 'income': '-'}
    """
    if text is None:
        return None
    pairs = [part.rsplit(":", 1) for part in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise OptionError(f"--monotone is '{text}'.", "Write age:+ or age:+,income:-.")
    return {name.strip(): sign.strip() for name, sign in pairs}


def _by_group(text: str) -> dict[str, float]:
    pairs = [part.rsplit(":", 1) for part in text.split(",")]
    return {group.strip(): float(value) for group, value in pairs}


def parse_names(text: str | None) -> list[str]:
    """Names between commas.

    Examples
    --------
    >>> parse_names("age, sex")
    ['age', 'sex']
    """
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def check_writable(path: str | None) -> None:
    """Refuse a file in a missing folder before the work is done, not after."""
    if path not in (None, "-") and not Path(str(path)).resolve().parent.is_dir():
        raise OptionError(f"there is no folder for '{path}'.", "Make it first, or write elsewhere.")
