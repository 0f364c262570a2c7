"""Improvement convergence (Definition 4), looked at: the candidate against the number of rows it learned from.

A pilot's rule is fitted many times at each of several numbers of training rows, and each candidate is judged on the
rows it did not see. What counts is the gain over the status quo on the same rows: accuracy gained, gap lost. Whether
more training rows would help is read off the last step, from the second largest number of training rows to the largest.

The standard error of a step is the scatter between fits. To first order all sizes average over the same rows of the
pilot, training and testing in turn, so that the luck of the pilot cancels from a step; in simulated pilots the scatter
of steps is what fits alone predict. A gap is that of the mean utilities, not the mean of gaps: a mean of absolute
values would be larger at the large sizes, which leave fewer rows to test on.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable._typing import FloatArray
from improvable.data.frame import build_frame
from improvable.inference.components import gaps
from improvable.inference.statistics import unfairness
from improvable.results.audit import Audit
from improvable.results.formatting import number_or_null

if TYPE_CHECKING:
    import altair as alt

LEVEL = 0.05
MIN_FITS = 3


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
    """The last step of one component: from the second largest number of training rows to the largest."""

    kind: str
    measure: str
    group: str
    change: float  # how much the gain rose
    error: float
    at_most: float  # one-sided 95% upper bound of the change
    verdict: str  # rising or falling where the change is beyond `critical` standard errors, else "not told"


@dataclass(frozen=True)
class Learning:
    """What a pilot says about more training rows: the result of `PowerPlan.learning`.

    Attributes
    ----------
    points : tuple of LearningPoint
    steps : tuple of LearningStep
        One for each component.
    critical : float
        How many standard errors a step must be from zero: one-sided 5%, divided among the components.
    rule : str
    """

    points: tuple[LearningPoint, ...]
    steps: tuple[LearningStep, ...]
    critical: float
    rule: str
    backend: Any = field(repr=False)

    @property
    def more_rows_help(self) -> bool | None:
        """True where some gain still rises and none falls; None where the pilot cannot tell."""
        rises, falls = (any(step.verdict == verdict for step in self.steps) for verdict in ("rising", "falling"))
        return None if rises == falls else rises

    @property
    def words(self) -> tuple[str, ...]:
        """Whether more training rows would help, and what that rests on."""
        before, after = sorted({point.training_rows for point in self.points})[-2:]
        rising, falling = (
            _listed([_named(step) for step in self.steps if step.verdict == verdict])
            for verdict in ("rising", "falling")
        )
        if rising and falling:
            head = f"More training rows trade one for the other: better {rising}, worse {falling}."
        elif rising:
            head = f"More training rows would help: {rising} still improved at the last step."
        elif falling:
            head = f"More training rows would not help: {falling} got worse at the last step."
        else:
            head = (
                "The pilot does not show that more training rows would help, nor that they would not: "
                "no change at the last step can be told from zero."
            )
        bound = "; ".join(
            f"{_named(step)} {step.change:+.3g} (standard error {step.error:.2g}, at most {step.at_most:+.2g})"
            for step in self.steps
        )
        rests = (
            f"This compares {before:,} with {after:,} training rows: a change of the gain over the status quo counts "
            f"beyond {self.critical:.2f} of its standard errors, which come from the scatter between fits (one-sided "
            f"{100 * LEVEL:g}%, divided among {len(self.steps)} components). More fits make it sharper."
        )
        return head, f"Last step: {bound}.", rests

    def table(self) -> Any:
        """All points as a data frame of the pilot's own kind."""
        return frame_of(self.points, self.backend)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings, ready for JSON."""
        return {
            "rule": self.rule,
            "more_rows_help": self.more_rows_help,
            "words": list(self.words),
            "critical": self.critical,
            "steps": [_plain(step) for step in self.steps],
            "points": [_plain(point) for point in self.points],
        }

    def summary(self) -> str:
        """The curve as a table, and what it says."""
        from improvable.report.text import paragraph

        sizes = sorted({point.training_rows for point in self.points})
        width = max(8, *(len(f"{size:,}") + 2 for size in sizes))
        lines = [f"{'training rows':34}" + "".join(f"{size:>{width},}" for size in sizes)]
        labels = {kind: {p.measure for p in self.points if p.kind == kind} for kind in ("accuracy", "fairness")}
        curves: dict[str, list[LearningPoint]] = {}
        for point in self.points:
            label = f" ({point.measure})" if len(labels[point.kind]) > 1 else ""
            curves.setdefault(_named(point) + label, []).append(point)
        for name, several in curves.items():
            parts = {"status_quo": f"{name}, status quo", "candidate": f"{name}, candidate"}
            for part, words in (parts | {"error": "  Monte Carlo error of the gain"}).items():
                lines.append(f"{words:34}" + "".join(f"{getattr(point, part):>{width}.3f}" for point in several))
        return "\n".join([*lines, "", *map(paragraph, self.words)])

    def plot(self) -> "alt.VConcatChart":
        """Utilities and gap against training rows."""
        from improvable.report.plots import learning_curves

        rows = [
            {
                "x": point.training_rows,
                "kind": point.kind,
                "component": point.group if point.kind == "accuracy" else "gap",
                "algorithm": algorithm.replace("_", " "),
                "value": getattr(point, algorithm),
                "error": point.error if algorithm == "candidate" else 0.0,
            }
            for point in self.points
            if point.measure == next(other.measure for other in self.points if other.kind == point.kind)
            for algorithm in ("status_quo", "candidate")
            if np.isfinite(getattr(point, algorithm))
        ]
        return learning_curves(rows, words=self.words[0])


def learning_of(studies: Sequence[Audit]) -> Learning:
    """Learning curves from audits of one pilot, each with its own number of training rows, in rising order."""
    components = len(studies[0].repetitions[0].assessment.components)
    critical = NormalDist().inv_cdf(1 - LEVEL / components)
    curves = [[_point(study, place) for study in studies] for place in range(components)]
    steps = tuple(_step(curve[-2], curve[-1], critical) for curve in curves)
    points = tuple(point for curve in curves for point in curve)
    return Learning(points, steps, critical, str(studies[0].setting["rule"]), studies[0].backend)


def _point(study: Audit, place: int) -> LearningPoint:
    first = study.repetitions[0]
    one = first.assessment.components[place]
    if one.kind == "accuracy":
        found = [repetition.assessment.components[place] for repetition in study.repetitions]
        fits = np.array([[(fit.status_quo, fit.candidate)] for fit in found])
    else:
        which = place - len(first.assessment.of("accuracy"))  # of the gaps, in the order of the walk
        several = [list(gaps(repetition.evidence, study.question.claim))[which] for repetition in study.repetitions]
        fits, gap = np.array([gap.values for gap in several]), several[0]
    fits = fits[np.isfinite(fits).all(axis=(1, 2))]  # shape (fits, groups, 2)
    count = len(fits)

    def both(mean: FloatArray) -> tuple[float, float, float]:
        """The status quo's utility or gap, the candidate's, and what is gained."""
        if one.kind == "accuracy":
            before, after = mean[0].tolist()
            return before, after, after - before
        before, after = unfairness(mean.T, gap.protected, gap.relative).tolist()
        return before, after, before - after

    before, after, gain, error = (np.nan,) * 4
    if count >= MIN_FITS:
        before, after, gain = both(fits.mean(axis=0))
        without = np.array([both(np.delete(fits, i, axis=0).mean(axis=0))[2] for i in range(count)])
        error = float(np.sqrt((count - 1) / count * ((without - without.mean()) ** 2).sum()))
    where = one.kind, one.measure, one.group, int(study.setting["rows"]) - first.rows, first.rows, count
    return LearningPoint(*where, before, after, gain, error)


def _step(before: LearningPoint, after: LearningPoint, critical: float) -> LearningStep:
    change, error = after.gain - before.gain, float(np.hypot(before.error, after.error))
    verdict = "not told"
    if np.isfinite(change) and abs(change) > critical * error:
        verdict = "rising" if change > 0 else "falling"
    at_most = change + NormalDist().inv_cdf(1 - LEVEL) * error
    return LearningStep(after.kind, after.measure, after.group, change, error, at_most, verdict)


def _named(one: LearningPoint | LearningStep) -> str:
    return f"accuracy of {one.group}" if one.kind == "accuracy" else f"gap by {one.group}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])} and {names[-1]}"


def _plain(one: LearningPoint | LearningStep) -> dict[str, Any]:
    """A number that is undefined is null in JSON."""
    return {name: number_or_null(v) if isinstance(v, float) else v for name, v in asdict(one).items()}


def frame_of(points: Sequence[Any], backend: Any) -> Any:
    """Points as a data frame of the caller's own kind."""
    rows = [asdict(point) for point in points]
    return build_frame({name: [row[name] for row in rows] for name in rows[0]}, backend)
