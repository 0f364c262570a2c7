"""What a pilot teaches: the outlook of a plan, and how the candidate improves with
training rows (Definition 4).

The rule is fitted many times at each of several numbers of training rows, and each
candidate is judged on the rows it did not see. What counts is the gain over the status
quo on the same rows: accuracy gained, gap lost. Whether more training rows would help
is read off the last step, from the second largest number of training rows to the
largest.

The standard error of a step is the scatter between fits. To first order all sizes
average over the same rows of the pilot, training and testing in turn, so that the luck
of the pilot cancels from a step; in simulated pilots the scatter of steps is what fits
alone predict. A gap is that of the mean utilities, not the mean of gaps: a mean of
absolute values would be larger at the large sizes, which leave fewer rows to test on.
"""

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import FrameLike, Rows, build_frame, read_rows
from improvable.data.io.csv import FileFormat, format_of
from improvable.errors import DataError, ImprovableWarning, OptionError
from improvable.inference.components import gaps
from improvable.inference.statistics import unfairness
from improvable.procedure.compare import run_comparison
from improvable.procedure.prepare import prepare_audit
from improvable.procedure.run import run_audit
from improvable.procedure.split import FORWARD, first_block
from improvable.question.options import COMPARE
from improvable.question.settings import SETTINGS, Settings, asked
from improvable.report.text import paragraph
from improvable.results.audit import Audit
from improvable.results.formatting import number_or_null
from improvable.studies.power.assumptions import Outlook, root

if TYPE_CHECKING:
    import altair as alt

LEVEL = 0.05
MIN_FITS = 3
MIN_SELECTED = 30
# selected rows of the scarcest group, expected in the smallest training and test parts
MIN_IN_PART = 8
SMALLEST_SHARE, LARGEST_SHARE = 0.05, 0.8
DRAWS = 300  # only for covariances, which are averaged over all fits of a size
# how large Phi and Gamma are beside Sigma, in order of magnitude: 0.1 to 1.5 in all
# cases measured
USUAL_FIT = 0.5


@dataclass(frozen=True)
class LearningPoint:
    """One component at one number of training rows, averaged over fits."""

    kind: str  # accuracy or fairness
    measure: str
    group: str  # whose accuracy it is, or the column whose gap it is
    training_rows: int
    test_rows: int
    fits: int
    status_quo: float  # mean of the utility or gap on the rows that did not train
    candidate: float
    gain: float  # how much better the candidate is: accuracy gained, or gap lost
    error: float  # Monte Carlo error of the gain, by leaving out one fit at a time


@dataclass(frozen=True)
class LearningStep:
    """The last step of one component: from the second largest number of training rows
    to the largest.
    """

    kind: str
    measure: str
    group: str
    change: float  # how much the gain rose
    error: float
    at_most: float  # one-sided 95% upper bound of the change
    # rising or falling where the change is beyond `critical` standard errors, else "not
    # told"
    verdict: str


@dataclass(frozen=True)
class Learning:
    """What a pilot says about more training rows: the result of `PowerPlan.learning`.

    Attributes
    ----------
    points : tuple of LearningPoint
    steps : tuple of LearningStep
        One for each component.
    critical : float
        How many standard errors a step must be from zero: one-sided 5%, divided among
        the components.
    rule : str
    """

    points: tuple[LearningPoint, ...]
    steps: tuple[LearningStep, ...]
    critical: float
    rule: str
    backend: Any = field(repr=False)

    @property
    def more_rows_help(self) -> bool | None:
        """True where some gain still rises and none falls; None where the pilot cannot
        tell.
        """
        rises, falls = (
            any(step.verdict == verdict for step in self.steps)
            for verdict in ("rising", "falling")
        )
        return None if rises == falls else rises

    @property
    def words(self) -> tuple[str, ...]:
        """Whether more training rows would help, and what that rests on."""
        before, after = sorted({point.training_rows for point in self.points})[-2:]
        moved = (
            [_named(step) for step in self.steps if step.verdict == way]
            for way in ("rising", "falling")
        )
        rising, falling = (
            ", ".join([*names[:-2], " and ".join(names[-2:])]) for names in moved
        )
        head = {
            (
                True,
                True,
            ): (
                f"More training rows trade one for the other: better {rising}, worse "
                f"{falling}."
            ),
            (
                True,
                False,
            ): (
                f"More training rows would help: {rising} still improved at the last "
                "step."
            ),
            (
                False,
                True,
            ): (
                f"More training rows would not help: {falling} got worse at the last "
                "step."
            ),
            (
                False,
                False,
            ): (
                "The pilot does not show that more training rows would help, nor that "
                "they would not: no change at the last step can be told from zero."
            ),
        }[bool(rising), bool(falling)]
        bound = "; ".join(
            (
                f"{_named(step)} {step.change:+.3g} (standard error {step.error:.2g}, "
                f"at most {step.at_most:+.2g})"
            )
            for step in self.steps
        )
        rests = (
            f"This compares {before:,} with {after:,} training rows: a change of the "
            f"gain over the status quo counts beyond {self.critical:.2f} of its "
            "standard errors, which come from the scatter between fits (one-sided "
            f"{100 * LEVEL:g}%, divided among {len(self.steps)} components). More fits "
            "make it sharper."
        )
        return head, f"Last step: {bound}.", rests

    def table(self) -> Any:
        """All points as a data frame of the pilot's own kind."""
        return frame_of(self.points, self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings, ready for JSON."""
        steps, points = (
            [
                {
                    k: number_or_null(v) if isinstance(v, float) else v
                    for k, v in asdict(one).items()
                }
                for one in several
            ]
            for several in (self.steps, self.points)
        )
        told = {
            "rule": self.rule,
            "more_rows_help": self.more_rows_help,
            "words": list(self.words),
        }
        return told | {"critical": self.critical, "steps": steps, "points": points}

    def summary(self) -> str:
        """The curve as a table, and what it says."""
        sizes = sorted({point.training_rows for point in self.points})
        width = max(8, *(len(f"{size:,}") + 2 for size in sizes))
        lines = [
            f"{'training rows':34}" + "".join(f"{size:>{width},}" for size in sizes)
        ]
        labels = {
            kind: {p.measure for p in self.points if p.kind == kind}
            for kind in ("accuracy", "fairness")
        }
        curves: dict[str, list[LearningPoint]] = {}
        for point in self.points:
            label = f" ({point.measure})" if len(labels[point.kind]) > 1 else ""
            curves.setdefault(_named(point) + label, []).append(point)
        for name, several in curves.items():
            parts = {
                "status_quo": f"{name}, status quo",
                "candidate": f"{name}, candidate",
            }
            for part, words in (
                parts | {"error": "  Monte Carlo error of the gain"}
            ).items():
                lines.append(
                    f"{words:34}"
                    + "".join(
                        f"{getattr(point, part):>{width}.3f}" for point in several
                    )
                )
        return "\n".join([*lines, "", *map(paragraph, self.words)])

    def plot(self) -> "alt.VConcatChart":
        """Utilities and gap against training rows."""
        from improvable.report.plots import learning_curves

        rows, first = [], {point.kind: point.measure for point in reversed(self.points)}
        for point in self.points:
            of = {
                "kind": point.kind,
                "component": point.group if point.kind == "accuracy" else "gap",
            }
            values = {
                "status quo": (point.status_quo, 0.0),
                "candidate": (point.candidate, point.error),
            }
            for name, (value, error) in values.items():
                if point.measure == first[point.kind] and np.isfinite(value):
                    rows.append(
                        {
                            "x": point.training_rows,
                            **of,
                            "algorithm": name,
                            "value": value,
                            "error": error,
                        }
                    )
        return learning_curves(rows, words=self.words[0])


def learning_of(studies: Sequence[Audit]) -> Learning:
    """Learning curves from audits of one pilot, in rising order of their numbers of
    training rows.
    """
    components = len(studies[0].repetitions[0].assessment.components)
    critical = NormalDist().inv_cdf(1 - LEVEL / components)
    curves = [
        [_point(study, place) for study in studies] for place in range(components)
    ]
    steps = tuple(_step(curve[-2], curve[-1], critical) for curve in curves)
    points = tuple(point for curve in curves for point in curve)
    return Learning(
        points, steps, critical, str(studies[0].setting["rule"]), studies[0].backend
    )


def _point(study: Audit, place: int) -> LearningPoint:
    first, fairness = study.repetitions[0], None
    one = first.assessment.components[place]
    if one.kind == "accuracy":
        found = [
            repetition.assessment.components[place] for repetition in study.repetitions
        ]
        fits = np.array([[(fit.status_quo, fit.candidate)] for fit in found])
    else:
        # of the gaps, in the order of the walk
        which = place - len(first.assessment.of("accuracy"))
        several = [
            list(gaps(repetition.evidence, study.question.claim))[which]
            for repetition in study.repetitions
        ]
        fits, fairness = np.array([gap.values for gap in several]), several[0]
    fits = fits[np.isfinite(fits).all(axis=(1, 2))]  # shape (fits, groups, 2)
    count = len(fits)

    def of_means(means: FloatArray) -> FloatArray:
        """Both algorithms' utility or gap, (..., groups, 2) -> (..., 2)."""
        if fairness is None:
            return means[..., 0, :]
        return unfairness(
            np.swapaxes(means, -1, -2), fairness.protected, fairness.relative
        )

    before, after, gain, error = (np.nan,) * 4
    if count >= MIN_FITS:
        before, after = of_means(fits.mean(axis=0)).tolist()
        gain = after - before if fairness is None else before - after
        without = np.diff(
            of_means(
                np.stack(
                    [np.delete(fits, i, axis=0).mean(axis=0) for i in range(count)]
                )
            )
        )
        error = float(
            np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum())
        )
    where = (
        one.kind,
        one.measure,
        one.group,
        int(study.setting["rows"]) - first.rows,
        first.rows,
        count,
    )
    return LearningPoint(*where, before, after, gain, error)


def _step(before: LearningPoint, after: LearningPoint, critical: float) -> LearningStep:
    change, error = after.gain - before.gain, float(np.hypot(before.error, after.error))
    verdict = "not told"
    if np.isfinite(change) and abs(change) > critical * error:
        verdict = "rising" if change > 0 else "falling"
    at_most = change + NormalDist().inv_cdf(1 - LEVEL) * error
    return LearningStep(
        after.kind, after.measure, after.group, change, error, at_most, verdict
    )


def _named(one: LearningPoint | LearningStep) -> str:
    return (
        f"accuracy of {one.group}" if one.kind == "accuracy" else f"gap by {one.group}"
    )


def frame_of(points: Sequence[Any], backend: Any) -> Any:
    """Points as a data frame of the caller's own kind."""
    return build_frame(
        {name: [getattr(point, name) for point in points] for name in vars(points[0])},
        backend,
    )


def learn(
    data: FrameLike,
    rows: int | None,
    sizes: int,
    fits: int,
    question: dict[str, Any],
    seed: int,
) -> tuple[Outlook, Audit, Learning]:
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
    return _outlook(studies, (share * total, reason)), studies[-1], learning_of(studies)


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
