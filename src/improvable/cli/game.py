"""`improvable game`."""

import json as json_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import Json, check_writable
from improvable.cli.output import say, warn

if TYPE_CHECKING:
    from improvable.inference.reruns import Correlation, RerunRisk
    from improvable.results.audit import Audit
    from improvable.studies.game.costs import Costs
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
        str | None, typer.Option(metavar="FILE", help="Instead: a CSV file with attempts,cost.")
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
            help="Correlation of p-values across the paper's splits.", show_default="0, or that of a run by split"
        ),
    ] = None,
    forward_correlation: Annotated[
        float | None,
        typer.Option(
            help="Correlation of normal scores across forward repetitions.",
            show_default="0.8, or that of a forward run",
        ),
    ] = None,
    mixing: Annotated[
        str | None,
        typer.Option(
            metavar="[beta|normal]",
            help="Of splits; beta: the correlation is that of rejections; normal: that of the p-values' normal scores.",
            show_default="beta, or normal with a run by split",
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
    """Say how well an audit resists secret repetition.

    The null is true. The analyst repeats the procedure as often as pays, and reports the smallest p-value; the
    policymaker, who wants no false rejection, picks the procedure first (Section 5 of the paper). Forward repetitions
    play the same game as the paper's splits, with p-values that are more alike. With --run, also: would the audit have
    decided otherwise with another seed?

    Costs increase and are weakly convex. A table has the columns attempts and cost (of that many together)
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
    from improvable.report.layout import paragraph
    from improvable.studies.game.game import (
        SEEDS,
        fewest_repetitions,
        hoeffding_repetitions,
        play,
        sufficient_repetitions,
    )
    from improvable.studies.game.lemma import EPSILON, lemma_bounds

    for path in (json, plot, plot_payoff):
        check_writable(path)
    costs = _costs(cost, cost_formula, cost_formula_median, cost_table)
    audit = None if run is None else _load(run, alpha)
    level = audit.question.alpha if audit is not None else 0.05 if alpha is None else alpha
    p_values = [] if audit is None else [repetition.p_value for repetition in audit.repetitions]
    # An audit of one repetition is procedure s1; the other procedure is then the default audit.
    count = repetitions if repetitions is not None else len(p_values) if len(p_values) > 1 else 7
    # Where data are small, a forward repetition is the paper's split.
    is_forward = audit is not None and len(audit.facts["blocks"]["cuts"]) > 1
    given = forward_correlation if is_forward else correlation
    found = _estimate(p_values, audit.question.draws) if audit is not None and given is None else None
    mixed = _split_mixing(correlation, None if is_forward else found, mixing)
    both = costs.both(count)
    solved = play(*both, repetitions=count, alpha=level, mixing=mixed)
    alike = _forward_mixing(forward_correlation, found if is_forward else None)
    games = {"split": solved, "forward": play(*both, repetitions=count, alpha=level, mixing=alike)}
    above = solved.single.rejection - level
    margin = epsilon if epsilon is not None else above if solved.low_cost.holds and above > 0 else EPSILON
    bounds = lemma_bounds(both[1], epsilon=margin, alpha=level, mixing=mixed)
    risk = None
    if audit is not None and len(p_values) > 1:
        risk = rerun_risk(p_values, draws=audit.question.draws, alpha=level)
    facts = solved.to_dict() | {
        "cost": costs.words,
        "lemma": bounds.to_dict() | {"enough_repetitions": bounds.k_bar is not None and count > bounds.k_bar},
        "repetitions_needed": {
            "hoeffding": hoeffding_repetitions(level),
            "independent": sufficient_repetitions(level),
            "here": fewest_repetitions(costs.of, alpha=level, mixing=mixed) if costs.every_k else None,
        },
        "forward": games["forward"].to_dict(),
        "best_of_seeds": {"seeds": list(SEEDS)} | {scheme: one.best_of_seeds() for scheme, one in games.items()},
        "correlation": None if found is None else vars(found),
        "rerun": None if risk is None else risk.to_dict(),
    }
    if plot is not None:
        from improvable.report.plots import save_chart
        from improvable.studies.game.picture import picture

        save_chart(picture(games), plot)
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
    said = _words(games, facts, bounds, epsilon is not None, costs)
    if found is not None:
        said.append(paragraph(_correlation_words(found)))
    if audit is not None:
        said.append(paragraph(_rerun_words(audit, risk)))
    say("\n\n".join(said))
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


def _estimate(p_values: list[float], draws: int) -> "Correlation | None":
    """The correlation of p-values across a run's repetitions; None, with a warning, where they do not tell."""
    from improvable.errors import OptionError
    from improvable.inference.reruns import estimate_correlation

    try:
        return estimate_correlation(p_values, draws)
    except OptionError as error:
        warn(f"the default correlation is assumed, since {error}")
        return None


def _split_mixing(correlation: float | None, found: "Correlation | None", name: str | None) -> "Mixing":
    from improvable.question.checks import check_choice
    from improvable.studies.game.mixing import INDEPENDENT, BetaMixing, GaussianMixing

    family = name or ("beta" if found is None else "normal")
    check_choice("--mixing", family, ("beta", "normal"))
    shared = correlation if correlation is not None else 0.0 if found is None else found.estimate
    if shared == 0:
        return INDEPENDENT
    return BetaMixing(shared) if family == "beta" else GaussianMixing(shared)


def _forward_mixing(correlation: float | None, found: "Correlation | None") -> "Mixing":
    from improvable.studies.game.mixing import FORWARD_CORRELATION, GaussianMixing

    default = FORWARD_CORRELATION if found is None else found.estimate
    return GaussianMixing(default if correlation is None else correlation)


def _words(
    games: "dict[str, Game]", facts: dict[str, Any], bounds: "LemmaBounds", asked: bool, costs: "Costs"
) -> list[str]:
    from improvable.report.layout import paragraph

    solved = games["split"]
    verdicts = [paragraph(_verdict(scheme, game, facts)) for scheme, game in games.items()]
    parts = [_table(games, facts), *verdicts]
    assumption = solved.low_cost
    parts.append(
        paragraph(
            f"Assumption 4 {'holds' if assumption.holds else 'does not hold'} for splits: after a first attempt of one "
            f"repetition that does not reject, a second rejects with probability {assumption.probability:.3g}; it pays "
            f"if that is above {assumption.bound:.3g}."
        )
    )
    if asked or not assumption.holds:
        parts.append(paragraph(_lemma_words(solved, bounds)))
    return [*parts, paragraph(_needed_words(solved, facts["repetitions_needed"], costs))]


def _correlation_words(found: "Correlation") -> str:
    return (
        f"Correlation of p-values across the audit's repetitions (normal scores): {found.estimate:.2f}, 90% interval "
        f"{found.low:.2f} to {found.high:.2f}."
        + (f" {counted(found.censored)} at a bound, so it is overstated." if found.censored else "")
    )


def counted(some: int) -> str:
    """How many of them are.

    Examples
    --------
    >>> counted(1), counted(3)
    ('1 of them is', '3 of them are')
    """
    return f"{some} of them {'is' if some == 1 else 'are'}"


def _lemma_words(solved: "Game", bounds: "LemmaBounds") -> str:
    """What the lemma behind Theorem 3 says here, with or without Assumption 4."""
    level = f"{solved.alpha + bounds.epsilon:.3g}"
    if bounds.k_bar is None:
        return (
            f"The lemma of Theorem 3: the analyst tries the median fewer than {bounds.m_bar:,} times. No number of "
            f"repetitions up to a million keeps false rejections below {level} then."
        )
    first = (
        f"The lemma of Theorem 3, for epsilon = {bounds.epsilon:.3g}: the analyst tries the median fewer than m-bar = "
        f"{bounds.m_bar:,} times, and with more than K-bar = {bounds.k_bar:,} repetitions that many attempts reject a "
        f"true null with probability below {level}"
    )
    if solved.low_cost.holds:
        return f"{first}."
    return (
        f"{first}. So without Assumption 4, with more than {bounds.k_bar:,} repetitions, the policymaker prefers the "
        f"median to a single repetition that is run once, or loses at most {bounds.epsilon:.3g} with it."
    )


def _needed_words(solved: "Game", needed: dict[str, Any], costs: "Costs") -> str:
    here = f"{'over 99' if needed['here'] is None else needed['here']} at this cost and correlation"
    if solved.single.attempts == 0:
        here = "no number at this cost, at which nobody tries one repetition"
    elif not costs.every_k:
        here = f"not known here, since the table prices a median of {solved.repetitions} alone"
    return (
        f"Splits needed for the median to be more robust: {here}; for independent "
        f"p-values, {needed['independent']} at any costs that tempt the analyst to try one repetition and make another "
        f"attempt of the median no cheaper than one of a single repetition; {needed['hoeffding']} by the paper's "
        "bound."
    )


def _table(games: "dict[str, Game]", facts: dict[str, Any]) -> str:
    from improvable.inference.combining import threshold_for
    from improvable.studies.game.game import PROCEDURES

    every = [(scheme, game, name) for scheme, game in games.items() for name in PROCEDURES]
    seeds = facts["best_of_seeds"]["seeds"]
    head = [f"{scheme}, {'one' if name == 's1' else f'median of {game.repetitions}'}" for scheme, game, name in every]
    levels = [threshold_for(game.alpha, 1 if name == "s1" else game.repetitions) for _, game, name in every]
    shares = [facts["best_of_seeds"][scheme][name] for scheme, _, name in every]
    responses = [game.response(name) for _, game, name in every]
    body = [
        ("a p-value must be below", [f"{level:g}" for level in levels]),
        ("false rejection, run once", [f"{one.honest_rejection:.3g}" for one in responses]),
        *((f"best of {seed} seeds", [f"{one[i]:.3g}" for one in shares]) for i, seed in enumerate(seeds) if i),
        ("attempts that pay best", [f"{one.attempts:,}" for one in responses]),
        ("false rejection then", [f"{one.rejection:.3g}" for one in responses]),
        ("analyst's payoff", [f"{one.analyst:.3f}" for one in responses]),
        ("policymaker's payoff", [f"{one.policymaker:.3f}" for one in responses]),
    ]
    widths = [max(map(len, column)) for column in zip(head, *(cells for _, cells in body), strict=True)]
    return "\n".join(
        name.ljust(25) + "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths, strict=True))
        for name, cells in [("", head), *body]
    )


def _verdict(scheme: str, game: "Game", facts: dict[str, Any]) -> str:
    setting = f"p-values of one data set: {game.mixing.name}; {facts['cost']}"
    if game.more_robust is None:
        return f"{scheme.capitalize()}: both procedures are equally robust to manipulation ({setting})."
    robust = f"the median of {game.repetitions} repetitions" if game.more_robust == "s2" else "one repetition"
    return f"{scheme.capitalize()}: {robust} is more robust to manipulation ({setting})."


def _rerun_words(audit: "Audit", risk: "RerunRisk | None") -> str:
    from improvable.results.words import rerun_words

    decided = f"This audit {'rejected' if audit.reject else 'did not reject'}"
    if risk is None:
        return f"{decided}. {rerun_words(audit.facts)}"
    enough = (
        "So few repetitions cannot exclude that half of all repetitions reject, and then no number of them is enough."
        if risk.enough is None
        else f"With {risk.enough:,} repetitions two runs would disagree less than 1% of the time, with 95% confidence."
    )
    return (
        f"{decided}: {risk.rejecting} of {risk.repetitions} repetitions have a p-value below {audit.threshold:g}. "
        f"{rerun_words(audit.facts)} {enough}"
    )
