"""`improvable game`."""

from typing import TYPE_CHECKING, Any

from typer import Option

from improvable.cli.options import Json
from improvable.cli.output import check_outputs, put_json, say, warn
from improvable.errors import OptionError
from improvable.inference.reruns import estimate_correlation, rerun_risk
from improvable.inference.test import threshold_for
from improvable.report.text import paragraph, table
from improvable.results.wording import rerun_words

if TYPE_CHECKING:
    from improvable.inference.reruns import Correlation
    from improvable.results.audit import Audit
    from improvable.studies.game import Game


def game(
    repetitions: int | None = Option(
        None,
        help="K, the repetitions whose lower median p-value decides.",
        show_default="7, or as run",
    ),
    alpha: float | None = Option(
        None, help="Level of the test.", show_default="0.05, or as run"
    ),
    cost: str = Option(
        "0.001",
        metavar="COST",
        help=(
            "What one repetition costs the analyst, to whom a rejection is worth 1; or "
            "what m cost: 0.001*m**1.5."
        ),
    ),
    correlation: float | None = Option(
        None,
        help="Correlation of normal scores across the paper's splits.",
        show_default="0, or that of a run by split",
    ),
    forward_correlation: float | None = Option(
        None,
        help="Correlation of normal scores across forward repetitions.",
        show_default="0.8, or that of a forward run",
    ),
    run: str | None = Option(
        None, metavar="RUN_FOLDER", help="A folder of improvable audit --out."
    ),
    plot: str | None = Option(
        None, metavar="FILE", help="Write the picture: .svg, .png, .pdf or .html."
    ),
    json: Json = None,
) -> int:
    """Say how well an audit resists secret repetition.

    The null is true. The analyst repeats the procedure as often as pays, and reports
    the smallest p-value; the policymaker, who wants no false rejection, picks the
    procedure first (Section 5 of the paper). Forward repetitions play the same game as
    the paper's splits, with p-values that are more alike. With --run, also: would the
    audit have decided otherwise with another seed?

    The cost of m repetitions increases and is weakly convex; an attempt at the median
    costs K repetitions.

    Example:

    \b
      improvable game --repetitions 7 --cost 0.001 --correlation 0.3 --plot game.svg
      improvable game --cost '0.001*m**1.5'
      {run}
      improvable game --run run
    """
    import improvable
    from improvable.studies import game as g

    check_outputs(json, plot)
    try:
        price: float | str = float(cost)
    except ValueError:
        price = cost
    audit: Audit | None = None
    if run is not None:
        loaded = improvable.load(run)
        if not isinstance(loaded, improvable.Audit):
            raise OptionError(
                f"'{run}' holds a comparison, which has no repetitions.",
                "Name the folder of an audit.",
            )
        audit = loaded if alpha is None else loaded.with_claim(alpha=alpha)
    level = (
        audit.question.alpha if audit is not None else 0.05 if alpha is None else alpha
    )
    p_values = (
        []
        if audit is None
        else [repetition.p_value for repetition in audit.repetitions]
    )
    # An audit of one repetition is procedure s1; the other procedure is then the
    # default audit.
    count = (
        repetitions
        if repetitions is not None
        else len(p_values)
        if len(p_values) > 1
        else 7
    )
    # Where data are small, a forward repetition is the paper's split.
    is_forward = audit is not None and len(audit.facts["blocks"]["cuts"]) > 1
    found: Correlation | None = None
    if (
        audit is not None
        and (forward_correlation if is_forward else correlation) is None
    ):
        try:
            found = estimate_correlation(p_values, audit.question.draws)
        except OptionError as error:
            warn(f"the default correlation is assumed, since {error}")
    forward = (
        g.FORWARD_CORRELATION if forward_correlation is None else forward_correlation
    )
    correlations = {"split": correlation or 0.0, "forward": forward}
    if found is not None:
        correlations["forward" if is_forward else "split"] = found.estimate
    mixings: dict[str, g.Mixing] = {
        "split": g.INDEPENDENT,
        "forward": g.GaussianMixing(correlations["forward"]),
    }
    if correlations["split"] != 0:
        mixings["split"] = g.GaussianMixing(correlations["split"])
    costs = g.costs_of(price, count)
    games = {
        scheme: g.play(*costs, repetitions=count, alpha=level, mixing=mixed)
        for scheme, mixed in mixings.items()
    }
    risk = (
        rerun_risk(p_values, draws=audit.question.draws, alpha=level)
        if audit and len(p_values) > 1
        else None
    )
    facts = games["split"].to_dict() | {
        "cost": f"m repetitions cost {price}"
        if isinstance(price, str)
        else f"one repetition costs {price:g}",
        "repetitions_needed": {
            "hoeffding": g.hoeffding_repetitions(level),
            "independent": g.sufficient_repetitions(level),
        },
        "forward": games["forward"].to_dict(),
        "best_of_seeds": {"seeds": list(g.SEEDS)}
        | {scheme: one.best_of_seeds() for scheme, one in games.items()},
        "correlation": None if found is None else vars(found),
        "rerun": None if risk is None else risk.to_dict(),
    }
    if plot is not None:
        from improvable.report.plots import attempts, save_chart

        save_chart(attempts(games), plot)
    if not put_json(facts, json):
        words = [
            *_words(games, facts),
            *_run_words(audit, found, None if risk is None else risk.enough),
        ]
        say("\n\n".join([_table(games, facts), *map(paragraph, words)]))
    return 0


def _table(games: "dict[str, Game]", facts: dict[str, Any]) -> str:
    from improvable.studies.game import PROCEDURES

    heads, columns = [""], []
    for scheme, game in games.items():
        for name in PROCEDURES:
            best, repetitions = (
                game.response(name),
                1 if name == "s1" else game.repetitions,
            )
            heads.append(
                f"{scheme}, {'one' if name == 's1' else f'median of {repetitions}'}"
            )
            seeds = facts["best_of_seeds"][scheme][name]
            columns.append(
                {
                    "a p-value must be below": (
                        f"{threshold_for(game.alpha, repetitions):g}"
                    ),
                    "false rejection, run once": f"{best.honest_rejection:.3g}",
                    "best of 5 seeds": f"{seeds[1]:.3g}",
                    "best of 20 seeds": f"{seeds[2]:.3g}",
                    "attempts that pay best": f"{best.attempts:,}",
                    "false rejection then": f"{best.rejection:.3g}",
                    "analyst's payoff": f"{best.analyst:.3f}",
                    "policymaker's payoff": f"{best.policymaker:.3f}",
                }
            )
    return table(
        heads, [[row, *(column[row] for column in columns)] for row in columns[0]]
    )


def _words(games: "dict[str, Game]", facts: dict[str, Any]) -> list[str]:
    """Which procedure is more robust, whether Assumption 4 holds, and how many splits
    are needed.
    """
    out = []
    for scheme, game in games.items():
        robust = {
            "s1": "one repetition is more robust",
            "s2": f"the median of {game.repetitions} repetitions is more robust",
            None: "both procedures are equally robust",
        }[game.more_robust]
        assumed = f"p-values of one data set: {game.mixing.name}; {facts['cost']}"
        out.append(f"{scheme.capitalize()}: {robust} to manipulation ({assumed}).")
    assumption, needed = games["split"].low_cost, facts["repetitions_needed"]
    return [
        *out,
        (
            f"Assumption 4 {'holds' if assumption.holds else 'does not hold'} for "
            "splits: after a first attempt of one repetition that does not reject, a "
            f"second rejects with probability {assumption.probability:.3g}; it pays if "
            f"that is above {assumption.bound:.3g}."
        ),
        (
            "Splits needed for the median to be more robust, if p-values are "
            f"independent: {needed['independent']} at any costs that tempt the analyst "
            "to try one repetition and make another attempt of the median no cheaper "
            f"than one of a single repetition; {needed['hoeffding']} by the paper's "
            "bound."
        ),
    ]


def _run_words(
    audit: "Audit | None", found: "Correlation | None", enough: int | None
) -> list[str]:
    """What the repetitions of a finished audit say: how alike they are, and whether
    another seed would matter.
    """
    out = []
    if found is not None:
        bound = (
            f" {found.censored} of them {'is' if found.censored == 1 else 'are'} at a "
            "bound, so it is overstated."
        )
        out.append(
            "Correlation of p-values across the audit's repetitions (normal scores): "
            f"{found.estimate:.2f}, 90% interval {found.low:.2f} to "
            f"{found.high:.2f}.{bound if found.censored else ''}"
        )
    if audit is None:
        return out
    decided = f"This audit {'rejected' if audit.reject else 'did not reject'}"
    if len(audit.repetitions) == 1:
        return [*out, f"{decided}. {rerun_words(audit.facts)}"]
    rejecting = sum(
        repetition.p_value < audit.level for repetition in audit.repetitions
    )
    last = (
        (
            "So few repetitions cannot exclude that half of all repetitions reject, "
            "and then no number of them is enough."
        )
        if enough is None
        else (
            f"With {enough:,} repetitions two runs would disagree less than 1% of the "
            "time, with 95% confidence."
        )
    )
    return [
        *out,
        (
            f"{decided}: {rejecting} of {len(audit.repetitions)} repetitions have a "
            f"p-value below {audit.level:g}. {rerun_words(audit.facts)} {last}"
        ),
    ]
