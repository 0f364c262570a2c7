"""`improvable frontier`, `improvable report` and `improvable monitor`, of a finished
run.
"""

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from typer import Argument, Option

from improvable._text import shown
from improvable.algorithms.serialize import import_algorithm
from improvable.cli import options as o
from improvable.cli.output import check_outputs, put_json, say, warn
from improvable.errors import OptionError
from improvable.procedure.monitor import monitor as follow
from improvable.question.options import check_choice, parse_names
from improvable.question.settings import SETTINGS
from improvable.report.text import paragraph, table
from improvable.results.audit import load
from improvable.results.formatting import p_equals, p_text

if TYPE_CHECKING:
    from improvable.results.frontier import Frontier
    from improvable.results.result import Result


def frontier(
    folder: str = Argument(
        metavar="RUN_FOLDER", help="A folder of improvable audit --out."
    ),
    form: str | None = Option(
        None,
        metavar="[ratio|difference]",
        help=SETTINGS["form"].help,
        show_default="as run",
    ),
    alpha: float | None = Option(None, help="Another level.", show_default="as run"),
    protected: str | None = Option(None, help=SETTINGS["protected"].help),
    gap: str | None = Option(
        None,
        metavar="[signed|absolute]",
        help="The statistic for --at and --plot.",
        show_default="as run",
    ),
    at: str | None = Option(
        None,
        metavar="DELTA_A,DELTA_F",
        help="Print the p-value of one size of improvement.",
    ),
    plot: str | None = Option(
        None,
        metavar="FILE",
        help="Draw the map of what is shown: .svg, .png, .pdf or .html.",
    ),
    simultaneous: bool = Option(
        False,
        "--simultaneous",
        help="Bounds and edge that hold all at once, not each separately.",
    ),
    at_most: bool = Option(
        False, "--at-most", help="Also say how large an improvement is ruled out."
    ),
    json: o.Json = None,
) -> int:
    """Say how large an improvement a finished audit supports.

    It needs no data, and runs nothing again. Bounds use the signed statistic. The edge
    is a list of corners: with smaller deltas than a corner's, the null is rejected.
    With --at-most it also says, for the other side, what is ruled out: that what this
    rule finds cuts the gap by at most so much, with the accuracy that the claim asks
    for.

    Example:

    \b
      {run}
      improvable frontier run --plot frontier.svg
      improvable frontier run --at 0.05,0.25
      improvable frontier run --at-most
    """
    import improvable

    check_outputs(json, plot)
    if at_most and simultaneous:
        raise OptionError(
            "--at-most and --simultaneous do not go together.",
            "What is ruled out holds separately.",
        )
    for name, value in (("gap", gap), ("form", form)):
        if value is not None:
            check_choice(f"--{name}", value, SETTINGS[name].choices)
    result = improvable.load(folder)
    changes = {
        "alpha": alpha,
        "protected": parse_names(protected) or None,
        "gap": gap,
        "form": form,
    }
    result = result.with_claim(
        **{name: value for name, value in changes.items() if value is not None}
    )
    found = replace(result.frontier(), simultaneous=simultaneous)
    facts = found.to_dict() | (
        {"at_most": found.bound_facts(at_most=True)} if at_most else {}
    )
    if plot is not None:
        save_map(result, plot)
    if at is not None:
        return _one_point(found, at, result.question.draws, json)
    if put_json(facts, json):
        return 0
    for bound in (*facts["bounds"], *facts.get("at_most", ())):
        say(paragraph(shown(bound["words"])))
    if at_most:
        say(
            paragraph(
                "At most is about what was tested, on rows like these. Another rule "
                "may find more."
            )
        )
    if not simultaneous:
        say(
            paragraph(
                "Each bound holds separately. For bounds that hold all at once: "
                "--simultaneous."
            )
        )
    say(f"\nEdge at p = {found.level:g}, as accuracy and gap deltas ({found.form}):")
    for gap, corners in facts["edge"].items():
        edge = (
            "  ".join(f"({_short(a)}, {_short(f)})" for a, f in corners)
            or "nothing is rejected"
        )
        say(paragraph(f"{gap}: {edge}"))
    absolute = (
        "The absolute edge is the paper's. It folds the gap at zero, and near perfect "
        "fairness claims more than the data allow; the signed edge does not."
    )
    say(f"\n{paragraph(absolute)}")
    return 0


def save_map(result: "Result", path: str) -> None:
    """Draw the sizes of improvement that are shown; say so where there are none."""
    from improvable.report.plots import improvement_map
    from improvable.report.plots.map import NO_REGION

    chart = improvement_map(result)
    if chart is None:
        warn(f"{NO_REGION} '{path}' is not written.")
    else:
        chart.save(path)


def _short(value: float | None) -> str:
    """Down to three digits: the edge itself is not rejected."""
    return "none" if value is None else f"{math.floor(value * 1000) / 1000:.3f}"


def _one_point(found: "Frontier", at: str, draws: int, json: str | None) -> int:
    try:
        accuracy, fairness = (float(part) for part in at.split(","))
    except ValueError:
        raise OptionError(
            f"--at is '{at}'.", "Write two numbers, such as --at 0.05,0.25."
        ) from None
    p = found.p_value(accuracy, fairness)
    facts = {
        "delta_accuracy": accuracy,
        "delta_fairness": fairness,
        "p_value": p,
        "gap_statistic": found.gap,
    }
    if not put_json(facts, json):
        claim = (
            f"accuracy {accuracy:g} and gap {fairness:g} ({found.form}, {found.gap} "
            "gap)"
        )
        verdict = "rejected" if p < found.level else "not rejected"
        say(f"{p_equals(p_text(p, draws))} for {claim}: {verdict} at {found.level:g}.")
    return 0


def report(
    run: str = Argument(metavar="RUN", help="A run folder of audit --out."),
    to: str = Option(
        metavar="FILE", help="The report: .html, .pdf, .docx, .md or .json."
    ),
) -> int:
    """Write the report of a finished run, in any format.

    It needs no data, and runs nothing again. It says what audit --report would have
    said: the same numbers, the file, the line of the ledger, the command and the seal.
    The ending chooses the format; .json is the result itself, as audit --json writes
    it.

    Example:

    \b
      {run}
      improvable report run --to report.pdf
    """
    from improvable.report.write import checked_report

    checked_report(to)
    load(run).report(to)
    say(f"Wrote {to}.")
    return 0


def monitor(
    run: str = Argument(metavar="RUN", help="A run folder of audit --out."),
    data: str = Option(
        metavar="FILE,...",
        help="All rows since the audit, in order of arrival; one or more files.",
    ),
    candidate: str | None = Option(
        None,
        metavar="COLUMN|FILE",
        help="Its decisions, or a file of --export.",
        show_default="RUN/candidate.skops",
    ),
    status_quo: str | None = Option(
        None, metavar="COLUMN", help="Its decisions.", show_default="as in the audit"
    ),
    picture: str | None = Option(
        None,
        metavar="FILE",
        help="Draw the evidence over rows: .svg, .png, .pdf or .html.",
    ),
    json: o.Json = None,
    exit_code: o.ExitCode = False,
) -> int:
    """Follow a candidate on rows that arrive after the audit.

    Look as often as you like: if the claim is not true, the probability that it is ever
    shown is at most alpha. The claim, the groups and the level are the audit's, and
    neither algorithm may change. Accuracy and fairness are rates of the same people
    under both algorithms: classification, true or false positives or negatives,
    selection.

    Example: a lender audits its decisions, and follows the candidate on new loans.

    \b
      improvable audit loans.csv --outcome repaid --group sex --decision approved \\
          --accuracy classification_rate --out run --export run/candidate.skops
      improvable monitor run --data january.csv --picture wealth.svg
      improvable monitor run --data january.csv,february.csv
    """
    from improvable.report.plots import wealth

    check_outputs(json, picture)
    file = candidate or str(Path(run) / "candidate.skops")
    if candidate is None and not Path(file).exists():
        hint = f"Write it with audit --export {file}, or give --candidate."
        raise OptionError(f"there is no candidate '{file}'.", hint)
    decides = import_algorithm(file) if file.endswith(".skops") else file
    found = follow(run, parse_names(data), candidate=decides, status_quo=status_quo)
    if picture is not None:
        wealth(found).save(picture)
    for text in found.warnings:
        warn(text)
    since, p_values = found.shown_since, [one.p_value for one in found.wealths.values()]
    if not put_json(found.to_dict(), json):
        *each, p = (
            p_text(p if p >= 0.0001 else 0.0, 10_000)
            for p in (*p_values, found.p_value)
        )
        told = "Not shown so far" if since is None else f"Shown since row {since:,}"
        claim = f"The claim: {shown(found.claim)}"
        say(
            paragraph(
                f"{told} ({p_equals(p)} at any time; level {found.alpha:g}). {claim}"
            )
            + "\n"
        )
        rows = []
        for (name, one), text in zip(found.wealths.items(), each, strict=True):
            first, now = (
                one.shown_since(found.alpha),
                f"{math.exp(min(one.now, 700)):.3g}",
            )
            when = "not yet" if first is None else f"row {first:,}"
            rows.append([shown(name), f"{len(one.logs):,}", now, text, when])
        say(
            table(
                [
                    f"After {found.rows:,} rows",
                    "compared",
                    "wealth",
                    "p",
                    "shown since",
                ],
                rows,
            )
        )
    return 1 if exit_code and since is not None else 0
