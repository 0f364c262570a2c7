"""`improvable game`."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import Json, check_writable

if TYPE_CHECKING:
    from improvable.inference.reruns import Correlation, RerunRisk
    from improvable.results.audit import Audit
    from improvable.studies.game.game import Game
    from improvable.studies.game.mixing import Mixing


def game(
    splits: Annotated[
        int | None, typer.Option(help="K, the splits whose lower median p-value decides.", show_default="7, or as run")
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Level of the test.", show_default="0.05, or as run")] = None,
    cost: Annotated[float, typer.Option(help="What one split costs the analyst; a rejection is worth 1.")] = 0.001,
    correlation: Annotated[
        float | None,
        typer.Option(
            help="Correlation of p-values across splits.",
            show_default="0, or that of the run's splits",
        ),
    ] = None,
    mixing: Annotated[
        str | None,
        typer.Option(
            metavar="[beta|normal]",
            help="beta: the correlation is that of rejections; normal: that of the p-values' normal scores.",
            show_default="beta, or normal with --run",
        ),
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN_FOLDER", help="A folder of improvable audit --out.")
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="FILE", help="Write the picture: .svg, .png, .pdf or .html.")
    ] = None,
    json: Json = None,
) -> int:
    """Say how well one split and the median of K splits resist an analyst who secretly repeats the test.

    The null is true. The analyst repeats the procedure as often as pays, and reports the smallest p-value; the
    policymaker, who wants no false rejection, picks the procedure first (Section 5 of the paper). With --run, also:
    would the audit have decided otherwise with other random splits of the same data?

    Example:

    \b
      improvable game --splits 7 --cost 0.001 --correlation 0.3 --plot game.svg
      improvable demo --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run
      improvable game --run run
    """
    from improvable.data.files import write_whole
    from improvable.inference.reruns import rerun_risk
    from improvable.studies.game.game import fewest_splits, hoeffding_splits, linear_costs, play, sufficient_splits

    check_writable(json)
    check_writable(plot)
    audit = None if run is None else _load(run, alpha)
    level = audit.question.alpha if audit is not None else 0.05 if alpha is None else alpha
    # An audit of one split is procedure s1; the other procedure is then the default audit.
    count = splits if splits is not None else (len(audit.splits) if audit is not None and len(audit.splits) > 1 else 7)
    found, hang = _mixing(audit, correlation, mixing)
    solved = play(*linear_costs(cost, count), splits=count, alpha=level, mixing=hang)
    risk = None
    if audit is not None and audit.question.combine == "running_median":
        typer.echo("warning: this audit took the running median; what follows is about the median.", err=True)
    elif audit is not None:
        threshold = audit.threshold
        risk = rerun_risk([split.p_value for split in audit.splits], alpha=level, threshold=threshold)
    facts = solved.to_dict() | {
        "cost": cost,
        "splits_needed": {
            "hoeffding": hoeffding_splits(level),
            "independent": sufficient_splits(level),
            "here": fewest_splits(cost, alpha=level, mixing=hang),
        },
        "correlation": None if found is None else vars(found),
        "rerun": None if risk is None else risk.to_dict(),
    }
    if plot is not None:
        from improvable.report.plots import save_chart
        from improvable.studies.game.picture import picture

        save_chart(picture(solved), plot)
    document = json_module.dumps(facts, indent=2)
    if json is not None and json != "-":
        write_whole(Path(json), f"{document}\n".encode())
    if json == "-":
        typer.echo(document)
        return 0
    typer.echo("\n\n".join(_words(solved, facts, found, risk)))
    return 0


def _load(folder: str, alpha: float | None) -> "Audit":
    import improvable
    from improvable.errors import OptionError

    result = improvable.load(folder)
    if not isinstance(result, improvable.Audit):
        raise OptionError(f"'{folder}' holds a comparison, which has no splits.", "Name the folder of an audit.")
    return result if alpha is None else result.reconsider(alpha=alpha)


def _mixing(audit: "Audit | None", correlation: float | None, name: str | None) -> "tuple[Correlation | None, Mixing]":
    from improvable.errors import OptionError
    from improvable.inference.reruns import estimate_correlation
    from improvable.question.checks import check_choice
    from improvable.studies.game.mixing import INDEPENDENT, BetaMixing, GaussianMixing

    family = name or ("beta" if audit is None else "normal")
    check_choice("--mixing", family, ("beta", "normal"))
    found = None
    if correlation is None and audit is not None:
        try:
            found = estimate_correlation([split.p_value for split in audit.splits], audit.question.draws)
        except OptionError as error:
            typer.echo(f"warning: independence is assumed, since {error}", err=True)
        correlation = 0.0 if found is None else found.estimate
    if not correlation:
        return found, INDEPENDENT
    return found, BetaMixing(correlation) if family == "beta" else GaussianMixing(correlation)


def _words(solved: "Game", facts: dict[str, Any], found: "Correlation | None", risk: "RerunRisk | None") -> list[str]:
    from improvable.report.text import paragraph

    parts = [_table(solved), paragraph(_verdict(solved, facts))]
    assumption = solved.low_cost
    parts.append(
        paragraph(
            f"Assumption 4 {'holds' if assumption.holds else 'does not hold'}: after a first repetition of one split "
            f"that does not reject, a second rejects with probability {assumption.probability:.3g}; it pays if that is "
            f"above {assumption.bound:.3g}."
        )
    )
    needed = facts["splits_needed"]
    here = f"{'over 99' if needed['here'] is None else needed['here']} at this cost and correlation"
    if solved.single.repetitions == 0:
        here = "no number at this cost, at which nobody tries one split"
    parts.append(
        paragraph(
            f"Splits needed for the median to be more robust: {here}; for independent "
            f"p-values, {needed['independent']} at any costs that tempt the analyst to try one split and make another "
            f"repetition of the median no cheaper than one of a single split; {needed['hoeffding']} by the paper's "
            "bound."
        )
    )
    if found is not None:
        parts.append(
            paragraph(
                f"Correlation of the audit's p-values (normal scores): {found.estimate:.2f}, 90% interval "
                f"{found.low:.2f} to {found.high:.2f}."
                + (f" {found.censored} of them are at a bound, so it is overstated." if found.censored else "")
            )
        )
    return parts if risk is None else [*parts, *map(paragraph, _rerun_words(risk))]


def _table(solved: "Game") -> str:
    head = ["one split", f"median of {solved.splits}"]
    both = (solved.single, solved.repeated)
    body = [
        ("a p-value must be below", [f"{solved.alpha:g}", f"{solved.alpha / 2:g}"]),
        ("false rejection, run once", [f"{one.honest_rejection:.3g}" for one in both]),
        ("repetitions that pay best", [f"{one.repetitions:,}" for one in both]),
        ("false rejection then", [f"{one.rejection:.3g}" for one in both]),
        ("analyst's payoff", [f"{one.analyst:.3f}" for one in both]),
        ("policymaker's payoff", [f"{one.policymaker:.3f}" for one in both]),
    ]
    width = max(len(text) for text in (*head, *(cell for _, cells in body for cell in cells)))
    lines = [" " * 27 + "  ".join(text.rjust(width) for text in head)]
    lines += [name.ljust(27) + "  ".join(cell.rjust(width) for cell in cells) for name, cells in body]
    return "\n".join(lines)


def _verdict(solved: "Game", facts: dict[str, Any]) -> str:
    setting = f"p-values of one data set: {solved.mixing.name}; one split costs {facts['cost']:g}"
    if solved.more_robust is None:
        return f"Both procedures are equally robust to manipulation ({setting})."
    robust = f"The median of {solved.splits} splits" if solved.more_robust == "s2" else "One split"
    return f"{robust} is more robust to manipulation ({setting})."


def _rerun_words(risk: "RerunRisk") -> list[str]:
    low, high = (_chance(chance) for chance in risk.otherwise_range)
    decided = "rejected" if risk.reject else "did not reject"
    first = (
        f"This audit {decided}: {risk.rejecting} of {risk.splits} splits have a p-value below the threshold. With "
        f"fresh random splits of the same data it would decide otherwise with probability {_chance(risk.otherwise)} "
        f"(90% interval {low} to {high})."
    )
    goal = f"under {_chance(risk.target)}"
    second = (
        f"So few splits cannot exclude that half of all splits reject, and then no number of splits makes it {goal}."
        if risk.enough_surely is None
        else f"With {risk.enough_surely:,} splits two runs disagree with probability {goal}, with 95% confidence."
    )
    return [first, second]


def _chance(chance: float) -> str:
    return "under 0.1%" if chance < 0.001 else f"{100 * chance:.2g}%" if chance < 0.995 else f"{100 * chance:.3g}%"
