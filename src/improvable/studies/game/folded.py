"""The game with folds: what secret attempts gain where every one of them tests all rows.

Attempts in folds of one data set differ only by the luck of who learned from whom, so their p-values are highly
correlated, and a second seed is hardly a second chance. The correlation of their normal scores is known from a finished
audit's own attempts (`reruns.estimate_correlation`).
"""

from dataclasses import asdict, dataclass
from typing import Any

from improvable.studies.game.game import Response, best_response, rejection_probability
from improvable.studies.game.increments import Cost
from improvable.studies.game.mixing import INDEPENDENT, GaussianMixing, Mixing

CORRELATION = 0.9
"""Of normal scores across attempts in two folds: 0.92 for least squares in `benchmarks/best_of_seeds.py`."""
SEEDS = (1, 5, 20)


@dataclass(frozen=True)
class FoldedGame:
    """What the analyst does where the policymaker asks for folds.

    Attributes
    ----------
    folds : int
    repetitions : int
        K, attempts whose lower median p-value decides.
    alpha : float
    mixing : Mixing
        Correlation of p-values across attempts.
    response : Response
    """

    folds: int
    repetitions: int
    alpha: float
    mixing: Mixing
    response: Response

    def to_dict(self) -> dict[str, Any]:
        return {"folds": self.folds, "repetitions": self.repetitions, "mixing": self.mixing.name} | asdict(
            self.response
        )


def play_folds(
    cost: Cost, *, folds: int = 2, repetitions: int = 7, alpha: float = 0.05, correlation: float = CORRELATION
) -> FoldedGame:
    """The analyst's best response to K attempts in folds.

    Parameters
    ----------
    cost : callable
        Of m times K attempts, each of which fits the rule once for every fold.
    folds, repetitions : int
    alpha : float
    correlation : float
        Of the normal scores of p-values across attempts of one data set.

    Returns
    -------
    FoldedGame

    Examples
    --------
    >>> game = play_folds(lambda m: 0.014 * m)
    >>> game.response.attempts, round(game.response.honest_rejection, 3)
    (1, 0.043)
    """
    mixing: Mixing = GaussianMixing(correlation) if correlation else INDEPENDENT
    response = best_response(cost, alpha=alpha, repetitions=repetitions, mixing=mixing, folds=folds)
    return FoldedGame(folds, repetitions, alpha, mixing, response)


def best_of_seeds(game: FoldedGame, mixing: Mixing) -> dict[str, list[float]]:
    """The share of true nulls that the best of 1, 5 and 20 seeds rejects, by procedure.

    Parameters
    ----------
    game : FoldedGame
    mixing : Mixing
        Correlation of p-values across repetitions.

    Examples
    --------
    >>> found = best_of_seeds(play_folds(lambda m: 0.014 * m), GaussianMixing(0.5))
    >>> {name: [round(share, 3) for share in shares] for name, shares in found.items()}
    {'one_repetition': [0.05, 0.166, 0.339], 'median': [0.006, 0.016, 0.032], 'folds': [0.043, 0.061, 0.075]}
    """
    alpha, repetitions = game.alpha, game.repetitions
    return {
        "one_repetition": rejection_probability(SEEDS, alpha=alpha, mixing=mixing).tolist(),
        "median": rejection_probability(SEEDS, alpha=alpha, repetitions=repetitions, mixing=mixing).tolist(),
        "folds": rejection_probability(
            SEEDS, alpha=alpha, repetitions=repetitions, mixing=game.mixing, folds=game.folds
        ).tolist(),
    }
