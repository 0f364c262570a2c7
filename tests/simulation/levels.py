"""How often the test rejects, by simulation: through `compare` and `audit`, and by a fast path with equal p-values."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

import improvable
from improvable.data.arrays import FloatArray, IntArray
from improvable.data.frames import read_rows
from improvable.data.groups import Attribute
from improvable.errors import ImprovableWarning
from improvable.inference.assessment import Assessment, assess
from improvable.inference.cells import count
from improvable.inference.combining import combined_threshold, lower_median
from improvable.inference.evidence import Evidence
from improvable.inference.resampling import resample
from improvable.procedure.splitting import DRAWING, Part, make_splitting, seed_of
from improvable.question.claim import Claim
from improvable.question.settings import Combine
from improvable.question.utilities import Measure
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from simulation.processes import (
    APPLICATION_ROWS,
    BOTH,
    ONLY_NEW,
    ONLY_NOW,
    Process,
    Scene,
    Truth,
    application,
    draw_counts,
    moments,
)

ALPHA = 0.05
SPLITS = 7
MOST_SPLITS = 25
DRAWS = 400


@dataclass(frozen=True)
class Rate:
    """A share of rejections with its Monte Carlo error, one standard deviation."""

    share: float
    error: float
    repetitions: int

    def exceeds(self, level: float, errors: float) -> bool:
        """Whether it is above a level by more than so many Monte Carlo errors."""
        error = self.error or (level * (1 - level) / self.repetitions) ** 0.5
        return self.share > level + errors * error


def rate_of(hits: Sequence[float]) -> Rate:
    """From the repetitions: rejected or not, or the share of splits that did."""
    values = np.asarray(hits, dtype=np.float64)
    return Rate(float(values.mean()), float(values.std() / len(values) ** 0.5), len(values))


def p_values(assessment: Assessment) -> dict[str, float]:
    """The whole test's p-value by the gap statistic that decides and by the other one."""
    accuracy = max(assessment.p_accuracy.values())
    used = assessment.claim.gap
    other = "absolute" if used == "signed" else "signed"
    return {used: max(accuracy, assessment.p_fairness), other: max(accuracy, assessment.p_fairness_other)}


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        yield


def compare_once(process: Process, truth: Truth, seed: tuple[int, ...], draws: int = DRAWS) -> Comparison:
    rng = np.random.default_rng(seed)
    status_quo, candidate = process.algorithms()
    return improvable.compare(
        process.draw(rng, process.rows, truth), outcome="outcome", group="group", status_quo=status_quo,
        candidate=candidate, draws=draws, seed=seed[-1], n_jobs=1, **process.options(),
    )  # fmt: skip


def compare_levels(process: Process, truth: Truth, repetitions: int, seed: int, draws: int = DRAWS) -> dict[str, Rate]:
    """How often `compare` rejects, by either gap statistic."""
    hits: dict[str, list[float]] = {"signed": [], "absolute": []}
    with quiet():
        for i in range(repetitions):
            for gap, p in p_values(compare_once(process, truth, (seed, i), draws).assessment).items():
                hits[gap].append(p < ALPHA)
    return {gap: rate_of(values) for gap, values in hits.items()}


def component_levels(process: Process, binds: str, repetitions: int, seed: int, draws: int = DRAWS) -> dict[str, Rate]:
    """How often the component that binds rejects on its own, and how often the whole test does.

    The first is what the second comes to where nothing else stands in the way.
    """
    hits: dict[str, list[float]] = {"alone": [], "whole": []}
    with quiet():
        for i in range(repetitions):
            found = compare_once(process, process.null, (seed, i), draws).assessment
            alone = found.p_accuracy["b"] if binds == "accuracy" else found.p_fairness
            hits["alone"].append(alone < ALPHA)
            hits["whole"].append(found.p_value < ALPHA)
    return {name: rate_of(values) for name, values in hits.items()}


@dataclass(frozen=True)
class Given:
    """A rule that returns a given candidate."""

    candidate: Any
    name: str = "given"

    def select(self, training: Any, status_quo: Any) -> Any:
        return self.candidate


def audit_rejections(result: Audit, splits: int) -> dict[str, float]:
    """What every way of combining makes of a sequential audit, whose first splits are those of any other audit."""
    signed, absolute = ([p_values(split.assessment)[gap] for split in result.splits] for gap in ("signed", "absolute"))
    first, levels = signed[:splits], {"one split": float(np.mean(np.array(signed[:splits]) < ALPHA))}
    ways: tuple[tuple[str, Combine, list[float]], ...] = (
        ("median", "median", first),
        ("sequential", "sequential", signed),
        ("absolute, median", "median", absolute[:splits]),
    )
    for name, how, values in ways:
        levels[name] = float(lower_median(values) < combined_threshold(ALPHA, len(values), how))
    return levels


def audit_once(process: Process, truth: Truth, seed: tuple[int, ...], draws: int, **options: Any) -> Audit:
    rng = np.random.default_rng(seed)
    status_quo, candidate = process.algorithms()
    return improvable.audit(
        process.draw(rng, 2 * process.rows, truth), outcome="outcome", group="group", status_quo=status_quo,
        rule=Given(candidate), features=["filler"], draws=draws, seed=seed[-1], n_jobs=1, progress=False,
        **{"splits": SPLITS, "combine": "sequential", "most_splits": MOST_SPLITS, **process.options(), **options},
    )  # fmt: skip


def audit_levels(process: Process, truth: Truth, repetitions: int, seed: int, draws: int = DRAWS) -> dict[str, Rate]:
    """How often `audit` rejects a fixed candidate, by every way of combining."""
    return _collect(lambda i: audit_rejections(audit_once(process, truth, (seed, i), draws), SPLITS), repetitions)


def rule_once(scene: Scene, rule: Any, rows: int, seed: tuple[int, ...], draws: int, **options: Any) -> Audit:
    return improvable.audit(
        scene.draw(np.random.default_rng(seed), rows), outcome="outcome", group="group", rule=rule,
        status_quo=improvable.threshold("score", above=0.0), features=scene.features, accuracy="classification_rate",
        draws=draws, seed=seed[-1], n_jobs=1, progress=False,
        **{"splits": SPLITS, "combine": "sequential", "most_splits": MOST_SPLITS, **options},
    )  # fmt: skip


def rule_levels(
    scene: Scene, rule: Any, rows: int, repetitions: int, seed: int, draws: int = DRAWS, **options: Any
) -> dict[str, Rate]:
    """How often `audit` rejects with a rule that learns, by every way of combining."""
    splits = int(options.get("splits", SPLITS))
    return _collect(
        lambda i: audit_rejections(rule_once(scene, rule, rows, (seed, i), draws, **options), splits), repetitions
    )


def _collect(once: Callable[[int], dict[str, float]], repetitions: int) -> dict[str, Rate]:
    hits: dict[str, list[float]] = {}
    with quiet():
        for i in range(repetitions):
            for name, value in once(i).items():
                hits.setdefault(name, []).append(value)
    return {name: rate_of(values) for name, values in hits.items()}


@dataclass(frozen=True)
class Selected:
    """The rows that either algorithm selects, of a sample of `rows`: all that calibration utilities depend on.

    Attributes
    ----------
    group, outcome : array of shape (selected,)
    decisions : array of shape (selected, 2)
    place : array of shape (selected,)
        Their row numbers.
    rows : int
    levels : tuple of str
    """

    group: IntArray
    outcome: FloatArray
    decisions: FloatArray
    place: IntArray
    rows: int
    levels: tuple[str, ...]

    def among(self, rows: IntArray) -> "Selected":
        """Those in a sorted part of the rows."""
        at = np.searchsorted(rows, self.place)
        kept = np.flatnonzero((at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == self.place))
        return Selected(
            self.group[kept], self.outcome[kept], self.decisions[kept], at[kept], len(rows), self.levels
        )  # fmt: skip

    def vectors(self) -> FloatArray:
        """(u, w) of status quo and candidate, as `improvable.inference.cells.contributions` has them."""
        return np.stack([self.decisions * self.outcome[:, None], self.decisions], axis=2).reshape(len(self.group), 4)

    def sums(self) -> FloatArray:
        """Of the status quo, shape (groups, 1, 2)."""
        out = np.zeros((len(self.levels), 1, 2))
        np.add.at(out[:, 0], self.group, self.vectors()[:, :2])
        return out


def selected_of(frame: Any, levels: tuple[str, ...]) -> Selected:
    """Of a frame of a plain process; `levels` in the order in which the package has them, sorted."""
    decisions = np.stack([frame["now"].to_numpy(), frame["new"].to_numpy()], axis=1).astype(np.float64)
    place = np.flatnonzero(decisions.any(axis=1))
    codes = np.searchsorted(levels, frame["group"].to_numpy().astype(str)[place])
    return Selected(
        codes.astype(np.int64), frame["outcome"].to_numpy()[place].astype(np.float64), decisions[place], place,
        len(frame), levels,
    )  # fmt: skip


def draw_selected(rng: np.random.Generator, rows: int, truth: Truth) -> Selected:
    """Draw a sample without drawing what nobody selects."""
    names = sorted(truth)
    ordered = {name: truth[name] for name in names}
    chances = np.concatenate([one.share * one.chances() for one in ordered.values()])
    counts = rng.multinomial(rows, chances / chances.sum()).reshape(len(names), 4)
    kinds = [BOTH, ONLY_NOW, ONLY_NEW]
    group, kind = (
        np.repeat(values, counts[:, kinds].ravel())
        for values in (np.repeat(np.arange(len(names)), 3), np.tile(kinds, len(names)))
    )
    outcome = draw_counts(rng, *moments(group, kind, ordered)).astype(np.float64)
    decisions = np.stack([kind != ONLY_NEW, kind != ONLY_NOW], axis=1).astype(np.float64)
    place = np.sort(rng.choice(rows, len(group), replace=False))
    order = rng.permutation(len(group))
    return Selected(group[order], outcome[order], decisions[order], place, rows, tuple(names))


def fast_assessment(
    sample: Selected, training: FloatArray | None, claim: Claim, seed: np.random.SeedSequence, draws: int
) -> Assessment:
    """What `compare` finds on these rows with the calibration utility, to the last bit."""
    shape = (len(sample.levels), 1, 2, 2)
    cells = count(sample.vectors(), sample.group, len(sample.levels))
    cells = replace(cells, silent=sample.rows - len(sample.group))
    sums = cells.sums().reshape(shape)
    evidence = Evidence(
        attributes=(Attribute("group", sample.levels, np.arange(len(sample.levels))),),
        measures=(Measure("calibration", "", "outcome"),),
        accuracy=(0,),
        fairness=(0,),
        sums=sums,
        draws=resample(cells, draws, seed).reshape(-1, *shape),
        training=sums[:, :, 0] if training is None else training,
    )
    return assess(evidence, claim)


def fast_audit(sample: Selected, claim: Claim, seed: int, splits: int, draws: int) -> list[Assessment]:
    """What every split of `audit` finds for a fixed candidate, to the last bit; the row's number is its id."""
    splitting, out = make_splitting(seed, 0.5, "row", ()), []
    keys = splitting.keying.of(read_rows(pl.DataFrame({"row": np.arange(sample.rows)})), ["row"])
    for split in range(1, splits + 1):
        tests = splitting.tests(splitting.places(keys, Part(split)), Part(split))
        training = sample.among(np.flatnonzero(~tests)).sums()
        held_out = sample.among(np.flatnonzero(tests))
        out.append(fast_assessment(held_out, training, claim, seed_of(seed, split, DRAWING), draws))
    return out


@dataclass(frozen=True)
class GapRates:
    """Rejections at the boundary of the gap, of its statistic alone and of the whole test."""

    gap_alone: dict[str, Rate]
    whole: dict[str, Rate]


def gap_levels_of_compare(
    delta: float, turned: bool, repetitions: int, seed: int, rows: int = APPLICATION_ROWS // 2, draws: int = DRAWS
) -> GapRates:
    """The level of both gap statistics on held-out rows of the application, one split at 5%."""
    truth, claim = application(delta, turned), Claim(delta_fairness=delta)

    def once(i: int) -> list[Assessment]:
        sample = draw_selected(np.random.default_rng([seed, i]), rows, truth)
        return [fast_assessment(sample, None, claim, np.random.SeedSequence([seed, i]), draws)]

    return _gap_rates(once, repetitions)


def gap_levels_of_audit(
    delta: float, turned: bool, repetitions: int, seed: int, rows: int = APPLICATION_ROWS, draws: int = DRAWS
) -> GapRates:
    """The level of both gap statistics in the application's audit: median of seven splits at 2.5%."""
    truth, claim = application(delta, turned), Claim(delta_fairness=delta)

    def once(i: int) -> list[Assessment]:
        sample = draw_selected(np.random.default_rng([seed, i]), rows, truth)
        return fast_audit(sample, claim, i, SPLITS, draws)

    return _gap_rates(once, repetitions)


def _gap_rates(once: Callable[[int], list[Assessment]], repetitions: int) -> GapRates:
    alone: dict[str, list[float]] = {"signed": [], "absolute": []}
    whole: dict[str, list[float]] = {"signed": [], "absolute": []}
    for i in range(repetitions):
        splits = once(i)
        below = combined_threshold(ALPHA, len(splits), "median")
        parts = {"signed": [s.p_fairness for s in splits], "absolute": [s.p_fairness_other for s in splits]}
        for gap, values in parts.items():
            alone[gap].append(float(lower_median(values) < below))
            whole[gap].append(float(lower_median([p_values(split)[gap] for split in splits]) < below))
    return GapRates({gap: rate_of(hits) for gap, hits in alone.items()}, {g: rate_of(h) for g, h in whole.items()})
