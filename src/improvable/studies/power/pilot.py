"""An outlook learned from a pilot: the rule fitted on parts of it of several sizes, and judged on the rest."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import FrameLike, read_rows
from improvable.data.io.csv import FileFormat, format_of
from improvable.errors import DataError, ImprovableWarning, OptionError
from improvable.procedure.compare import run_comparison
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.run import run_audit
from improvable.procedure.split import FORWARD, first_block
from improvable.question.options import COMPARE
from improvable.question.settings import SETTINGS, Settings, asked
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.studies.power.assumptions import Outlook, root
from improvable.studies.power.learning import Learning, learning_of

MIN_SELECTED = 30
MIN_IN_PART = 8  # selected rows of the scarcest group, expected in the smallest training and test parts
SMALLEST_SHARE, LARGEST_SHARE = 0.05, 0.8
DRAWS = 300  # only for covariances, which are averaged over all fits of a size
USUAL_FIT = 0.5  # how large Phi and Gamma are beside Sigma, in order of magnitude: 0.1 to 1.5 in all cases measured


def learn(
    data: FrameLike, rows: int | None, sizes: int, fits: int, question: dict[str, Any], seed: int
) -> tuple[Outlook, Audit, Learning]:
    """Fit the rule `fits` times at each of `sizes` numbers of training rows, and measure it on the other rows.

    `rows` are those planned for, whose first block is studied too. `question` are arguments of `audit`, or settings.
    The audit that comes back is that of the largest size, for what it says about question and features.
    """
    n_jobs = question.pop("n_jobs", None)
    settings = Settings(**asked(question))
    pilot = read_rows(data, format_of(settings))
    settings = replace(settings, **vars(FileFormat()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        scarcest = _scarcest(pilot, settings)
        ready = prepare_audit(pilot, settings, n_jobs=n_jobs)
        total = ready.surveyed.rows
        smallest = min(SMALLEST_SHARE, FORWARD[0] * (rows or total) / total)
        fewest = MIN_IN_PART / scarcest
        studies = [
            run_audit(
                pilot,
                replace(
                    settings,
                    scheme="split",
                    repetitions=fits,
                    draws=DRAWS,
                    train_fraction=float(share),
                    seed=seed + j,
                ),
                n_jobs=n_jobs,
            )
            for j, share in enumerate(np.geomspace(max(smallest, fewest), min(LARGEST_SHARE, 1 - fewest), sizes))
        ]
    share, reason = first_block(ready.surveyed, ready.plan.constraints.capacity)
    return _outlook(studies, (share * total, reason)), studies[-1], learning_of(studies)


def _scarcest(rows: Any, settings: Settings) -> int:
    """How many rows the status quo selects in the group where it selects fewest; too few are refused."""
    searching = {name: one.default for name, one in SETTINGS.items() if COMPARE not in one.commands}
    searching |= {"status_quo": settings.status_quo}
    itself = run_comparison(rows, replace(settings, **searching, draws=100), settings.status_quo)
    for measure in itself.question.fairness:
        if measure.between != "difference":
            raise OptionError(
                f"there is no plan for '{measure.label}', whose gap is a ratio.",
                "Plan with the difference between groups, such as 'selection_rate'.",
            )
    fewest, name = min(
        (int(itself.census.selected[attribute.member == g].sum()), level)
        for attribute in itself.evidence.attributes
        for g, level in enumerate(attribute.levels)
    )
    if fewest < MIN_SELECTED:
        raise DataError(
            f"the pilot is too small to plan from: the status quo selects {fewest} rows of group '{name}'.",
            f"At least {MIN_SELECTED} are needed; add rows, or plan from assumed utilities.",
        )
    return fewest


def _outlook(studies: Sequence[Audit], teaching: tuple[float, str]) -> Outlook:
    total = int(studies[0].setting["rows"])
    first, fits = studies[0].repetitions[0].evidence, [study.repetitions for study in studies]
    training = np.array([total - np.mean([one.rows for one in several]) for several in fits])
    # Each fit's mean contribution over the rows it did not see, one array of shape (fits, width) per size.
    observed = [np.stack([one.evidence.sums.ravel() / one.rows for one in several]) for several in fits]
    covariances = np.stack([np.mean([_covariance(one) for one in several], axis=0) for several in fits])
    typical = covariances.mean(axis=0)
    fit, shared = _fit_covariances(observed, covariances, training, total)
    noise = np.array([np.cov(means.T) / len(means) for means in observed])
    return Outlook(
        attributes=first.attributes,
        measures=first.measures,
        accuracy=first.accuracy,
        fairness=first.fairness,
        sizes=training,
        means=_smoothed(np.stack([means.mean(axis=0) for means in observed]), noise, training),
        covariances=covariances,
        fit=fit,
        shared=shared,
        uncertainty=(typical + fit + shared) / total,
        basis=_words(studies, training, total),
        teaching=teaching,
        learns=True,
    )


def _covariance(repetition: Comparison) -> FloatArray:
    """The covariance of a row's contribution, from bootstrap sums; of clusters, per row of them."""
    draws = repetition.evidence.draws
    return np.asarray(np.cov(draws.reshape(len(draws), -1).T) / repetition.rows)


def _fit_covariances(
    observed: Sequence[FloatArray], covariances: FloatArray, training: FloatArray, total: int
) -> tuple[FloatArray, FloatArray]:
    """How much candidates differ between fits, and how that goes with the rows: `fit` and `shared` of `Outlook`.

    Of N rows let n train, and let r = n / (N - n). Given the pilot, the test means of one fit have covariance
    (1 / n - 1 / N) (Phi + r^2 Sigma - r (Gamma + Gamma')): the candidate moves with the training rows, and the test
    rows are those that do not train. Sigma is known, so Phi and Gamma are read off the sizes by weighted regression, in
    which Gamma is held near zero where the sizes say little about it (it can be no larger than Phi and Sigma allow).
    """
    ratio = training / (total - training)
    seen = np.stack([np.cov(means.T) for means in observed]) / (1 / training - 1 / total)[:, None, None]
    target = seen - (ratio**2)[:, None, None] * covariances
    width = covariances.shape[1]
    scale = np.sqrt(np.maximum(np.diag(covariances.mean(axis=0)), 1e-300))
    units = np.outer(scale, scale)
    precision = np.sqrt(len(observed[0]) / 2) / (USUAL_FIT + ratio**2)
    basis = np.concatenate([np.stack([precision, -ratio * precision], axis=1), [[0.0, 1 / USUAL_FIT]]])
    wanted = np.concatenate([(target / units).reshape(len(ratio), -1) * precision[:, None], np.zeros((1, width**2))])
    flat, *_ = np.linalg.lstsq(basis, wanted, rcond=None)
    fit, shared = flat.reshape(2, width, width) * units
    factor = root(fit)
    return factor @ factor.T, shared


def _smoothed(means: FloatArray, noise: FloatArray, training: FloatArray) -> FloatArray:
    """Means as a + b / sqrt(training rows), by weighted least squares, at the same sizes."""
    weight = 1 / np.sqrt(np.maximum([[np.trace(part)] for part in noise], 1e-300))
    basis = np.stack([np.ones_like(training), 1 / np.sqrt(training)], axis=1)
    coefficients, *_ = np.linalg.lstsq(basis * weight, means * weight, rcond=None)
    return np.asarray(basis @ coefficients)


def _words(studies: Sequence[Audit], training: FloatArray, total: int) -> tuple[str, ...]:
    sizes = f"{len(training)} sizes from {int(training[0]):,} to {int(training[-1]):,} training rows"
    words = [
        f"Learned from a pilot of {total:,} rows: rule '{studies[0].setting['rule']}' was fitted "
        f"{len(studies[0].repetitions)} times on each of {sizes}, and judged on the other rows.",
        f"With more than {int(training[-1]):,} training rows the candidate is assumed to be no better than with these.",
    ]
    fits = [repetition for study in studies for repetition in study.repetitions]
    without = sum(any(caution.kind == "no candidate" for caution in repetition.cautions) for repetition in fits)
    if without:
        words.append(f"{without} of {len(fits)} fits found no candidate; each counts as a copy of the status quo.")
    return tuple(words)
