"""`improvable game`."""

from typing import TYPE_CHECKING, Any

from typer import Option

from improvable.cli.options import Json
from improvable.cli.output import check_outputs, put_json, say
from improvable.inference.test import threshold_for
from improvable.report.text import paragraph, table

if TYPE_CHECKING:
    from improvable.studies.game import Game


def game(
    repetitions: int = Option(
        7, help="K, the repetitions whose lower median p-value decides."
    ),
    alpha: float = Option(0.05, help="Level of the test."),
    cost: str = Option(
        "0.001",
        metavar="COST",
        help=(
            "What one repetition costs the analyst, to whom a rejection is worth 1; or "
            "what m cost: 0.001*m**1.5."
        ),
    ),
    correlation: float = Option(
        0.0, help="Correlation of normal scores across the paper's splits."
    ),
    forward_correlation: float = Option(
        # that of `studies.game`, which takes long to import
        0.8,
        help="Correlation of normal scores across forward repetitions.",
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
    the paper's splits, with p-values that are more alike.

    The cost of m repetitions increases and is weakly convex; an attempt at the median
    costs K repetitions.

    Example:

    \b
      improvable game --repetitions 7 --cost 0.001 --correlation 0.3 --plot game.svg
      improvable game --cost '0.001*m**1.5'
    """
    from improvable.studies import game as g

    check_outputs(json, plot)
    try:
        price: float | str = float(cost)
    except ValueError:
        price = cost
    mixings: dict[str, g.Mixing] = {
        "split": g.INDEPENDENT if correlation == 0 else g.GaussianMixing(correlation),
        "forward": g.GaussianMixing(forward_correlation),
    }
    costs = g.costs_of(price, repetitions)
    games = {
        scheme: g.play(*costs, repetitions=repetitions, alpha=alpha, mixing=mixing)
        for scheme, mixing in mixings.items()
    }
    facts = games["split"].to_dict() | {
        "cost": f"m repetitions cost {price}"
        if isinstance(price, str)
        else f"one repetition costs {price:g}",
        "repetitions_needed": {
            "hoeffding": g.hoeffding_repetitions(alpha),
            "independent": g.sufficient_repetitions(alpha),
        },
        "forward": games["forward"].to_dict(),
        "best_of_seeds": {"seeds": list(g.SEEDS)}
        | {scheme: game.best_of_seeds() for scheme, game in games.items()},
    }
    if plot is not None:
        from improvable.report.plots import attempts

        attempts(games).save(plot)
    if not put_json(facts, json):
        words = map(paragraph, _words(games, facts))
        say("\n\n".join([_table(games, facts), *words]))
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
