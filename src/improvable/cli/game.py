"""`improvable game`."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import Json, check_writable
from improvable.cli.output import say

if TYPE_CHECKING:
    from improvable.inference.reruns import Correlation, RerunRisk
    from improvable.results.audit import Audit
    from improvable.studies.game.costs import Costs
    from improvable.studies.game.folded import FoldedGame
    from improvable.studies.game.game import Game
    from improvable.studies.game.lemma import LemmaBounds
    from improvable.studies.game.mixing import Mixing


def game(
    repetitions: Annotated[
        int | None,
        typer.Option(help="K, the repetitions whose lower median p-value decides.", show_default="7, or as run"),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Level of the test.", show_default="0.05, or as run")] = None,
    cost: Annotated[
        float | None,
        typer.Option(help="What one repetition costs the analyst; a rejection is worth 1.", show_default="0.001"),
    ] = None,
    cost_formula: Annotated[
        str | None, typer.Option(metavar="FORMULA", help="Instead: what m repetitions cost, 0.001*m**1.5.")
    ] = None,
    cost_formula_median: Annotated[
        str | None,
        typer.Option(
            metavar="FORMULA", help="What m attempts of the median of K cost.", show_default="K*m repetitions"
        ),
    ] = None,
    cost_table: Annotated[
        str | None, typer.Option(metavar="FILE", help="Instead: a CSV file with attempt,cost.")
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="How far above the level the lemma's bound may be.",
            show_default="what one repetition is rejected above its level, or 0.01",
        ),
    ] = None,
    correlation: Annotated[
        float | None,
        typer.Option(
            help="Correlation of p-values across repetitions.", show_default="0, or that of the run's repetitions"
        ),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(help="Folds of the third procedure.", show_default="2, or as run")
    ] = None,
    fold_correlation: Annotated[
        float | None,
        typer.Option(
            help="Correlation of normal scores across attempts in folds.",
            show_default="0.9, or that of the run's attempts",
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
    plot_payoff: Annotated[
        str | None, typer.Option("--plot-payoff", metavar="FILE", help="Draw the analyst's payoff u(m).")
    ] = None,
    json: Json = None,
) -> int:
    """Say how well one repetition, the median of K repetitions, and folds resist an analyst who secretly repeats the test.

    The null is true. The analyst repeats the procedure as often as pays, and reports the smallest p-value; the
    policymaker, who wants no false rejection, picks the procedure first (Section 5 of the paper). Beside the paper's
    two procedures stand K attempts in folds, each of which tests all rows. With --run, also: would the audit have
    decided otherwise with other random repetitions, or folds, of the same data?

    Costs increase and are weakly convex. A table has the columns attempt and cost (of that many repetitions together)
    and, where the median has its own price, cost_median.

    Example:

    \b
      improvable game --repetitions 7 --cost 0.001 --correlation 0.3 --plot game.svg
      improvable game --cost-formula '0.001*m**1.5' --plot-payoff payoff.svg
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run
      improvable game --run run
    """
    from improvable.data.files import write_whole
    from improvable.inference.reruns import rerun_risk
    from improvable.question.checks import check_integer
    from improvable.report.text import paragraph
    from improvable.studies.game.folded import SEEDS, best_of_seeds, play_folds
    from improvable.studies.game.game import fewest_repetitions, hoeffding_repetitions, play, sufficient_repetitions
    from improvable.studies.game.lemma import EPSILON, lemma_bounds

    for path in (json, plot, plot_payoff):
        check_writable(path)
    costs = _costs(cost, cost_formula, cost_formula_median, cost_table)
    audit = None if run is None else _load(run, alpha)
    level = audit.question.alpha if audit is not None else 0.05 if alpha is None else alpha
    # An audit of one repetition is procedure s1; the other procedure is then the default audit.
    count = (
        repetitions
        if repetitions is not None
        else (len(audit.repetitions) if audit is not None and len(audit.repetitions) > 1 else 7)
    )
    as_run = None if audit is None else audit.question.folds
    found, mixed = _mixing(audit, correlation, mixing)
    found_folds, shared = _fold_correlation(audit, fold_correlation)
    both = costs.both(count)
    solved = play(*both, repetitions=count, alpha=level, mixing=mixed)
    in_folds = folds if folds is not None else as_run or 2
    check_integer("folds", in_folds, 2)
    # One attempt fits the rule once for every fold, as so many repetitions do.
    price = costs.of(count * in_folds) if costs.every_k else both[1]
    folded = play_folds(price, folds=in_folds, repetitions=count, alpha=level, correlation=shared)
    above = solved.single.rejection - level
    margin = epsilon if epsilon is not None else above if solved.low_cost.holds and above > 0 else EPSILON
    bounds = lemma_bounds(both[1], epsilon=margin, alpha=level, mixing=mixed)
    risk = None
    if audit is not None:
        p_values = [repetition.p_value for repetition in audit.repetitions]
        risk = rerun_risk(p_values, alpha=level, threshold=audit.threshold, folds=as_run)
    facts = solved.to_dict() | {
        "cost": costs.words,
        "lemma": bounds.to_dict() | {"enough_repetitions": bounds.k_bar is not None and count > bounds.k_bar},
        "repetitions_needed": {
            "hoeffding": hoeffding_repetitions(level),
            "independent": sufficient_repetitions(level),
            "here": fewest_repetitions(costs.of, alpha=level, mixing=mixed) if costs.every_k else None,
        },
        "folded": folded.to_dict(),
        "best_of_seeds": {"seeds": list(SEEDS)} | best_of_seeds(folded, mixed),
        "correlation": None if found is None else vars(found),
        "fold_correlation": None if found_folds is None else vars(found_folds),
        "rerun": None if risk is None else risk.to_dict(),
    }
    if plot is not None:
        from improvable.report.plots import save_chart
        from improvable.studies.game.picture import picture

        save_chart(picture(solved, folded), plot)
    if plot_payoff is not None:
        from improvable.report.plots import save_chart
        from improvable.studies.game.payoff import payoff_picture

        save_chart(payoff_picture(solved, both, bounds), plot_payoff)
    document = json_module.dumps(facts, indent=2)
    if json is not None and json != "-":
        write_whole(Path(json), f"{document}\n".encode())
    if json == "-":
        say(document)
        return 0
    say("\n\n".join(_words(solved, folded, facts, bounds, epsilon is not None, costs)))
    for one, what in ((found, "repetitions"), (found_folds, "attempts")):
        if one is not None:
            say(f"\n{_correlation_words(one, what)}")
    if risk is not None:
        say("\n" + "\n\n".join(map(paragraph, _rerun_words(risk, as_run))))
    return 0


def _costs(per_repetition: float | None, formula: str | None, formula_median: str | None, table: str | None) -> "Costs":
    from improvable.errors import OptionError
    from improvable.studies.game.costs import costs_from_formula, costs_from_table, costs_per_repetition

    if (per_repetition is not None) + (formula is not None) + (table is not None) > 1:
        raise OptionError("there is more than one cost.", "Give one of --cost, --cost-formula and --cost-table.")
    if formula_median is not None and formula is None:
        raise OptionError("--cost-formula-median needs --cost-formula.", "Say what one repetition costs, too.")
    if table is not None:
        return costs_from_table(table)
    if formula is not None:
        return costs_from_formula(formula, formula_median)
    return costs_per_repetition(0.001 if per_repetition is None else per_repetition)


def _load(folder: str, alpha: float | None) -> "Audit":
    import improvable
    from improvable.errors import OptionError

    result = improvable.load(folder)
    if not isinstance(result, improvable.Audit):
        raise OptionError(f"'{folder}' holds a comparison, which has no repetitions.", "Name the folder of an audit.")
    return result if alpha is None else result.reconsider(alpha=alpha)


def _mixing(audit: "Audit | None", correlation: float | None, name: str | None) -> "tuple[Correlation | None, Mixing]":
    from improvable.errors import OptionError
    from improvable.inference.reruns import estimate_correlation
    from improvable.question.checks import check_choice
    from improvable.studies.game.mixing import INDEPENDENT, BetaMixing, GaussianMixing

    in_repetitions = audit is not None and audit.question.folds is None
    family = name or ("normal" if in_repetitions else "beta")
    check_choice("--mixing", family, ("beta", "normal"))
    found = None
    if correlation is None and audit is not None and in_repetitions:
        try:
            found = estimate_correlation([repetition.p_value for repetition in audit.repetitions], audit.question.draws)
        except OptionError as error:
            say(f"warning: independence is assumed, since {error}", err=True)
        correlation = 0.0 if found is None else found.estimate
    if not correlation:
        return found, INDEPENDENT
    return found, BetaMixing(correlation) if family == "beta" else GaussianMixing(correlation)


def _fold_correlation(audit: "Audit | None", correlation: float | None) -> "tuple[Correlation | None, float]":
    """How attempts in folds are correlated: as given, as the run's own are, or as in our simulation."""
    from improvable.errors import OptionError
    from improvable.inference.reruns import estimate_correlation
    from improvable.studies.game.folded import CORRELATION

    if correlation is not None or audit is None or audit.question.folds is None:
        return None, CORRELATION if correlation is None else correlation
    try:
        found = estimate_correlation([one.p_value for one in audit.repetitions], audit.question.draws)
    except OptionError as error:
        say(f"warning: a correlation of {CORRELATION} is assumed, since {error}", err=True)
        return None, CORRELATION
    return found, found.estimate


def _words(
    solved: "Game", folded: "FoldedGame", facts: dict[str, Any], bounds: "LemmaBounds", asked: bool, costs: "Costs"
) -> list[str]:
    from improvable.report.text import paragraph

    parts = [_table(solved, folded, facts), paragraph(_verdict(solved, facts)), paragraph(_folded_words(folded, facts))]
    assumption = solved.low_cost
    parts.append(
        paragraph(
            f"Assumption 4 {'holds' if assumption.holds else 'does not hold'}: after a first attempt of one repetition "
            f"that does not reject, a second rejects with probability {assumption.probability:.3g}; it pays if that is "
            f"above {assumption.bound:.3g}."
        )
    )
    if asked or not assumption.holds:
        parts.append(paragraph(_lemma_words(solved, bounds)))
    return [*parts, paragraph(_needed_words(solved, facts["repetitions_needed"], costs))]


def _folded_words(folded: "FoldedGame", facts: dict[str, Any]) -> str:
    """What the analyst gains under folds."""
    seeds, shares = facts["best_of_seeds"]["seeds"], facts["best_of_seeds"]["folds"]
    return (
        f"In {folded.folds} folds all attempts test the same rows: {seeds[1]} seeds raise false rejections from "
        f"{shares[0]:.3g} to {shares[1]:.3g}, and {seeds[2]} seeds to {shares[2]:.3g} (p-values of "
        f"one data set: {folded.mixing.name})."
    )


def _correlation_words(found: "Correlation", what: str) -> str:
    from improvable.report.text import paragraph

    return paragraph(
        f"Correlation of p-values across the audit's {what} (normal scores): {found.estimate:.2f}, 90% interval "
        f"{found.low:.2f} to {found.high:.2f}."
        + (f" {found.censored} of them are at a bound, so it is overstated." if found.censored else "")
    )


def _lemma_words(solved: "Game", bounds: "LemmaBounds") -> str:
    """What the lemma behind Theorem 3 says here, with or without Assumption 4."""
    level = f"{solved.alpha + bounds.epsilon:.3g}"
    if bounds.k_bar is None:
        return (
            f"The lemma of Theorem 3: the analyst repeats the median fewer than {bounds.m_bar:,} times. No number of "
            f"repetitions up to a million keeps false rejections below {level} then."
        )
    first = (
        f"The lemma of Theorem 3, for epsilon = {bounds.epsilon:.3g}: the analyst repeats the median fewer than m-bar "
        f"= {bounds.m_bar:,} times, and with more than K-bar = {bounds.k_bar:,} repetitions that many attempts reject a "
        f"true null with probability below {level}"
    )
    if solved.low_cost.holds:
        return f"{first}."
    return (
        f"{first}. So without Assumption 4, with more than {bounds.k_bar:,} repetitions, the policymaker prefers the median "
        f"to a single repetition that is run once, or loses at most {bounds.epsilon:.3g} with it."
    )


def _needed_words(solved: "Game", needed: dict[str, Any], costs: "Costs") -> str:
    here = f"{'over 99' if needed['here'] is None else needed['here']} at this cost and correlation"
    if solved.single.attempts == 0:
        here = "no number at this cost, at which nobody tries one repetition"
    elif not costs.every_k:
        here = f"not known here, since the table prices a median of {solved.repetitions} alone"
    return (
        f"Repetitions needed for the median to be more robust: {here}; for independent "
        f"p-values, {needed['independent']} at any costs that tempt the analyst to try one repetition and make another "
        f"attempt of the median no cheaper than one of a single repetition; {needed['hoeffding']} by the paper's "
        "bound."
    )


def _table(solved: "Game", folded: "FoldedGame", facts: dict[str, Any]) -> str:
    from improvable.inference.combining import combined_threshold

    head = ["one repetition", f"median of {solved.repetitions}", f"in {folded.folds} folds"]
    every, best = (solved.single, solved.repeated, folded.response), facts["best_of_seeds"]
    shares = [best[name] for name in ("one_repetition", "median", "folds")]
    in_folds = combined_threshold(solved.alpha, solved.repetitions, "median", folded.folds)
    levels = solved.alpha, solved.alpha / 2, in_folds
    body = [
        ("a p-value must be below", [f"{level:g}" for level in levels]),
        ("false rejection, run once", [f"{one.honest_rejection:.3g}" for one in every]),
        *(
            (f"best of {seeds} seeds", [f"{one[i]:.3g}" for one in shares])
            for i, seeds in enumerate(best["seeds"])
            if seeds > 1
        ),
        ("attempts that pay best", [f"{one.attempts:,}" for one in every]),
        ("false rejection then", [f"{one.rejection:.3g}" for one in every]),
        ("analyst's payoff", [f"{one.analyst:.3f}" for one in every]),
        ("policymaker's payoff", [f"{one.policymaker:.3f}" for one in every]),
    ]
    width = max(len(text) for text in (*head, *(cell for _, cells in body for cell in cells)))
    lines = [" " * 27 + "  ".join(text.rjust(width) for text in head)]
    lines += [name.ljust(27) + "  ".join(cell.rjust(width) for cell in cells) for name, cells in body]
    return "\n".join(lines)


def _verdict(solved: "Game", facts: dict[str, Any]) -> str:
    setting = f"p-values of one data set: {solved.mixing.name}; {facts['cost']}"
    if solved.more_robust is None:
        return f"Both procedures are equally robust to manipulation ({setting})."
    robust = f"The median of {solved.repetitions} repetitions" if solved.more_robust == "s2" else "One repetition"
    return f"{robust} is more robust to manipulation ({setting})."


def _rerun_words(risk: "RerunRisk", folds: int | None) -> list[str]:
    what, fresh = ("repetitions", "repetitions") if folds is None else ("attempts", "folds")
    low, high = (_chance(chance) for chance in risk.otherwise_range)
    decided = "rejected" if risk.reject else "did not reject"
    first = (
        f"This audit {decided}: {risk.rejecting} of {risk.repetitions} {what} have a p-value below the threshold. With "
        f"fresh random {fresh} of the same data it would decide otherwise with probability {_chance(risk.otherwise)} "
        f"(90% interval {low} to {high})."
    )
    goal = f"under {_chance(risk.target)}"
    second = (
        f"So few {what} cannot exclude that half of all {what} reject, and then no number of {what} makes it {goal}."
        if risk.enough_surely is None
        else f"With {risk.enough_surely:,} {what} two runs disagree with probability {goal}, with 95% confidence."
    )
    return [first, second]


def _chance(chance: float) -> str:
    return "under 0.1%" if chance < 0.001 else f"{100 * chance:.2g}%" if chance < 0.995 else f"{100 * chance:.3g}%"
