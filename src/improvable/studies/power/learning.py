"""What a pilot teaches: the outlook of a plan, and with it how the candidate improves
with training rows (Definition 4).

The rule is fitted many times at each of several numbers of training rows, and each
candidate is judged on the rows it did not see. The means of what the rows contribute,
fitted as a line in the inverse root of the training rows, say what the rule still gains
from more of them; their scatter between fits says how much candidates differ.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import FrameLike, Rows, read_rows
from improvable.data.io.csv import FileFormat, format_of
from improvable.errors import DataError, ImprovableWarning, OptionError
from improvable.procedure.compare import run_comparison
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.run import run_audit
from improvable.procedure.split import FORWARD, first_block
from improvable.question.options import COMPARE
from improvable.question.settings import SETTINGS, Settings, asked
from improvable.results.audit import Audit
from improvable.studies.power.assumptions import Outlook, root

MIN_FITS = 3
MIN_SELECTED = 30
# selected rows of the scarcest group, expected in the smallest training and test parts
MIN_IN_PART = 8
SMALLEST_SHARE, LARGEST_SHARE = 0.05, 0.8
DRAWS = 300  # only for covariances, which are averaged over all fits of a size
# how large Phi and Gamma are beside Sigma, in order of magnitude: 0.1 to 1.5 in all
# cases measured
USUAL_FIT = 0.5


def learn(
    data: FrameLike,
    rows: int | None,
    sizes: int,
    fits: int,
    question: dict[str, Any],
    seed: int,
) -> tuple[Outlook, Audit]:
    """Fit the rule `fits` times at each of `sizes` numbers of training rows, and
    measure it on the other rows.

    `rows` are those planned for, whose first block is studied too; the audit that comes
    back is that of the largest size, for what it says about question and features.
    """
    n_jobs, settings = question.pop("n_jobs", None), Settings(**asked(question))
    pilot = read_rows(data, format_of(settings))
    settings = replace(settings, **vars(FileFormat()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        scarcest = _scarcest(pilot, settings)
        ready = prepare_audit(pilot, settings, n_jobs=n_jobs)
        total = ready.surveyed.rows
        smallest, fewest = (
            min(SMALLEST_SHARE, FORWARD[0] * (rows or total) / total),
            MIN_IN_PART / scarcest,
        )
        shares = np.geomspace(
            max(smallest, fewest), min(LARGEST_SHARE, 1 - fewest), sizes
        ).tolist()
        settings = replace(settings, scheme="split", repetitions=fits, draws=DRAWS)
        studies = [
            run_audit(
                pilot,
                replace(settings, train_fraction=share, seed=seed + j),
                n_jobs=n_jobs,
            )
            for j, share in enumerate(shares)
        ]
    share, reason = first_block(ready.surveyed, ready.plan.constraints.capacity)
    return _outlook(studies, (share * total, reason)), studies[-1]


def _scarcest(rows: Rows, settings: Settings) -> int:
    """How many rows the status quo selects in the group where it selects fewest; too
    few are refused.
    """
    searching = {
        name: one.default
        for name, one in SETTINGS.items()
        if COMPARE not in one.commands
    }
    searching |= {"status_quo": settings.status_quo}
    itself = run_comparison(
        rows, replace(settings, **searching, draws=100), settings.status_quo
    )
    for label in (
        measure.label
        for measure in itself.question.fairness
        if measure.between != "difference"
    ):
        hint = "Plan with the difference between groups, such as 'selection_rate'."
        raise OptionError(
            f"there is no plan for '{label}', whose gap is a ratio.", hint
        )
    fewest, name = min(
        (int(itself.census.selected[attribute.member == g].sum()), level)
        for attribute in itself.evidence.attributes
        for g, level in enumerate(attribute.levels)
    )
    if fewest < MIN_SELECTED:
        what = (
            f"the pilot is too small to plan from: the status quo selects {fewest} "
            f"rows of group '{name}'."
        )
        raise DataError(
            what,
            (
                f"At least {MIN_SELECTED} are needed; add rows, or plan from assumed "
                "utilities."
            ),
        )
    return fewest


def _outlook(studies: Sequence[Audit], teaching: tuple[float, str]) -> Outlook:
    total = int(studies[0].setting["rows"])
    first, fits = (
        studies[0].repetitions[0].evidence,
        [study.repetitions for study in studies],
    )
    training = np.array(
        [total - np.mean([one.rows for one in several]) for several in fits]
    )
    # Each fit's mean contribution over the rows it did not see, one array of shape
    # (fits, width) per size.
    observed = [
        np.stack([one.evidence.sums.ravel() / one.rows for one in several])
        for several in fits
    ]
    # The covariance of a row's contribution, from bootstrap sums; of clusters, per row
    # of them.
    drawn = [
        [np.cov(one.evidence.draws.reshape(DRAWS, -1).T) / one.rows for one in several]
        for several in fits
    ]
    covariances = np.stack([np.mean(several, axis=0) for several in drawn])
    fit, shared = _fit_covariances(observed, covariances, training, total)
    uncertainty = (covariances.mean(axis=0) + fit + shared) / total
    # Means as a + b / sqrt(training rows), by weighted least squares, at the same
    # sizes.
    noise = [[np.trace(np.cov(several.T) / len(several))] for several in observed]
    weight = 1 / np.sqrt(np.maximum(noise, 1e-300))
    basis = np.stack([np.ones_like(training), 1 / np.sqrt(training)], axis=1)
    means = np.stack([several.mean(axis=0) for several in observed])
    line, *_ = np.linalg.lstsq(basis * weight, means * weight, rcond=None)
    smallest, largest = int(training[0]), int(training[-1])
    words = [
        (
            f"Learned from a pilot of {total:,} rows: rule "
            f"'{studies[0].setting['rule']}' was fitted {len(fits[0])} times on each "
            f"of {len(fits)} sizes from {smallest:,} to {largest:,} training rows, and "
            "judged on the other rows."
        ),
        (
            f"With more than {largest:,} training rows the candidate is assumed to be "
            "no better than with these."
        ),
    ]
    every = [one for several in fits for one in several]
    without = sum(
        any(caution.kind == "no candidate" for caution in one.cautions) for one in every
    )
    if without:
        words.append(
            f"{without} of {len(every)} fits found no candidate; each counts as a copy "
            "of the status quo."
        )
    of = first.attributes, first.measures, first.accuracy, first.fairness
    moments = training, basis @ line, covariances, fit, shared, uncertainty
    return Outlook(*of, *moments, teaching, tuple(words), learns=True)


def _fit_covariances(
    observed: Sequence[FloatArray],
    covariances: FloatArray,
    training: FloatArray,
    total: int,
) -> tuple[FloatArray, FloatArray]:
    """Estimate `fit` and `shared` of `Outlook`: how candidates differ between fits, and
    how that goes with the rows.

    Of N rows let n train, and let r = n / (N - n). Given the pilot, the test means of
    one fit have covariance (1 / n - 1 / N) (Phi + r^2 Sigma - r (Gamma + Gamma')): the
    candidate moves with the training rows, and the test rows are those that do not
    train. Sigma is known, so Phi and Gamma are read off the sizes by weighted
    regression, in which Gamma is held near zero where the sizes say little about it (it
    can be no larger than Phi and Sigma allow).
    """
    ratio = training / (total - training)
    seen = (
        np.stack([np.cov(means.T) for means in observed])
        / (1 / training - 1 / total)[:, None, None]
    )
    target = seen - (ratio**2)[:, None, None] * covariances
    width = covariances.shape[1]
    scale = np.sqrt(np.maximum(np.diag(covariances.mean(axis=0)), 1e-300))
    units = np.outer(scale, scale)
    precision = np.sqrt(len(observed[0]) / 2) / (USUAL_FIT + ratio**2)
    basis = np.concatenate(
        [np.stack([precision, -ratio * precision], axis=1), [[0.0, 1 / USUAL_FIT]]]
    )
    wanted = np.concatenate(
        [
            (target / units).reshape(len(ratio), -1) * precision[:, None],
            np.zeros((1, width**2)),
        ]
    )
    flat, *_ = np.linalg.lstsq(basis, wanted, rcond=None)
    fit, shared = flat.reshape(2, width, width) * units
    factor = root(fit)
    return factor @ factor.T, shared
