"""What tests find on simulated rows: through `compare` and `audit`, and by a fast path
with equal p-values.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from improvable._typing import FloatArray, IntArray
from improvable.data.frame import read_rows
from improvable.data.groups import Attribute
from improvable.errors import Caution
from improvable.inference.bootstrap import resample
from improvable.inference.cells import count
from improvable.inference.evidence import Evidence
from improvable.inference.test import Assessment, assess, lower_median
from improvable.procedure.compare import run_comparison
from improvable.procedure.run import run_audit
from improvable.procedure.split import DRAWING, Part, make_splitting, seed_of
from improvable.question.claim import Claim
from improvable.question.settings import Settings
from improvable.question.utility import Measure
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from validity.processes import (
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
from validity.schemes import REPETITIONS, SCHEMES, found_by
from validity.study import DRAWS


def p_values(assessment: Assessment) -> dict[str, float]:
    """The whole test's p-value by the gap statistic that decides and by the other
    one.
    """
    accuracy = max(assessment.p_accuracy.values())
    used = assessment.claim.gap
    other = "absolute" if used == "signed" else "signed"
    return {
        used: max(accuracy, assessment.p_fairness),
        other: max(accuracy, assessment.p_fairness_other),
    }


def compare_once(
    process: Process, truth: Truth, seed: tuple[int, ...], draws: int = DRAWS
) -> Comparison:
    rng = np.random.default_rng(seed)
    status_quo, candidate = process.algorithms()
    settings = Settings(
        outcome="outcome",
        group="group",
        status_quo=status_quo,
        draws=draws,
        seed=seed[-1],
        direction="as stated",
        **process.options(),
    )
    return run_comparison(
        process.draw(rng, process.rows, truth), settings, candidate, n_jobs=1
    )


def compare_found(
    process: Process, truth: Truth, seed: tuple[int, int], draws: int = DRAWS
) -> dict[str, float]:
    """The p-values of one comparison by either gap statistic, without corrections of
    draws, and its cautions.
    """
    result = compare_once(process, truth, seed, draws)
    plain = (
        result.p_value if result.counts["p_plain"] is None else result.counts["p_plain"]
    )
    return {**p_values(result.assessment), "plain": plain, **fired(result.cautions)}


def fired(cautions: Sequence[Caution]) -> dict[str, float]:
    """1 for every kind of caution, by the first word of it."""
    return {f"caution: {one.kind.split()[0]}": 1.0 for one in cautions}


def component_found(
    process: Process, binds: str, seed: tuple[int, int], draws: int = DRAWS
) -> dict[str, float]:
    """The p-value of the component that binds, and that of the whole test.

    The first is what the second comes to where nothing else stands in the way.
    """
    found = compare_once(process, process.null, seed, draws).assessment
    return {
        "alone": found.p_accuracy["b"] if binds == "accuracy" else found.p_fairness,
        "whole": found.p_value,
    }


@dataclass(frozen=True)
class Given:
    """A rule that returns a given candidate."""

    candidate: Any
    name: str = "given"

    def select(self, training: Any, status_quo: Any) -> Any:
        return self.candidate


def both_schemes(audit: Callable[..., Audit]) -> dict[str, float]:
    """What audits by either scheme find, and the median of forward repetitions by the
    absolute gap statistic.
    """
    audits = {scheme: audit(scheme=scheme) for scheme in SCHEMES}
    absolute = [
        p_values(one.assessment)["absolute"] for one in audits["forward"].repetitions
    ]
    return {**found_by(audits), "absolute": float(lower_median(absolute))}


def audit_once(
    process: Process, truth: Truth, seed: tuple[int, int], draws: int, **options: Any
) -> Audit:
    rng = np.random.default_rng(seed)
    status_quo, candidate = process.algorithms()
    frame = process.draw(rng, 2 * process.rows, truth)
    read = [name for name in ("new", "score_new") if name in frame.columns]
    settings = Settings(
        outcome="outcome",
        group="group",
        status_quo=status_quo,
        rule=Given(candidate),
        features=read,
        draws=draws,
        seed=seed[-1],
        direction="as stated",
        **{"repetitions": REPETITIONS, **process.options(), **options},
    )
    return run_audit(frame, settings, n_jobs=1, progress=False)


def audit_found(
    process: Process, truth: Truth, seed: tuple[int, int], draws: int = DRAWS
) -> dict[str, float]:
    """What audits of a fixed candidate find."""
    return both_schemes(
        lambda **options: audit_once(process, truth, seed, draws, **options)
    )


def rule_once(
    scene: Scene,
    rule: Any,
    rows: int,
    seed: tuple[int, int],
    draws: int,
    **options: Any,
) -> Audit:
    settings = Settings(
        outcome="outcome",
        group="group",
        rule=rule,
        status_quo={"score": "score", "above": 0.0},
        features=scene.features,
        accuracy="classification_rate",
        draws=draws,
        seed=seed[-1],
        direction="as stated",
        **{"repetitions": REPETITIONS, **options},
    )
    return run_audit(
        scene.draw(np.random.default_rng(seed), rows),
        settings,
        n_jobs=1,
        progress=False,
    )


def rule_found(
    scene: Scene,
    rule: Any,
    rows: int,
    seed: tuple[int, int],
    draws: int = DRAWS,
    **options: Any,
) -> dict[str, float]:
    """What audits with a rule that learns find."""
    return both_schemes(
        lambda **more: rule_once(scene, rule, rows, seed, draws, **options, **more)
    )


@dataclass(frozen=True)
class Selected:
    """The rows that either algorithm selects, of a sample of `rows`: all that
    calibration utilities depend on.

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
        kept = np.flatnonzero(
            (at < len(rows)) & (rows[np.minimum(at, len(rows) - 1)] == self.place)
        )
        return Selected(
            self.group[kept],
            self.outcome[kept],
            self.decisions[kept],
            at[kept],
            len(rows),
            self.levels,
        )

    def vectors(self) -> FloatArray:
        """(u, w) of status quo and candidate, as
        `improvable.inference.cells.contributions` has them.
        """
        return np.stack(
            [self.decisions * self.outcome[:, None], self.decisions], axis=2
        ).reshape(len(self.group), 4)

    def sums(self) -> FloatArray:
        """Of the status quo, shape (groups, 1, 2)."""
        out = np.zeros((len(self.levels), 1, 2))
        np.add.at(out[:, 0], self.group, self.vectors()[:, :2])
        return out


def selected_of(frame: Any, levels: tuple[str, ...]) -> Selected:
    """Of a frame of a plain process; `levels` in the order in which the package has
    them, sorted.
    """
    decisions = np.stack(
        [frame["now"].to_numpy(), frame["new"].to_numpy()], axis=1
    ).astype(np.float64)
    place = np.flatnonzero(decisions.any(axis=1))
    codes = np.searchsorted(levels, frame["group"].to_numpy().astype(str)[place])
    return Selected(
        codes.astype(np.int64),
        frame["outcome"].to_numpy()[place].astype(np.float64),
        decisions[place],
        place,
        len(frame),
        levels,
    )


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
    decisions = np.stack([kind != ONLY_NEW, kind != ONLY_NOW], axis=1).astype(
        np.float64
    )
    place = np.sort(rng.choice(rows, len(group), replace=False))
    order = rng.permutation(len(group))
    return Selected(
        group[order], outcome[order], decisions[order], place, rows, tuple(names)
    )


def fast_assessment(
    sample: Selected,
    training: FloatArray | None,
    claim: Claim,
    seed: np.random.SeedSequence,
    draws: int,
) -> Assessment:
    """What `compare` finds on these rows with the calibration utility, to the last
    bit.
    """
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
        units=sample.rows,
    )
    return assess(evidence, claim)


def fast_audit(
    sample: Selected, claim: Claim, seed: int, repetitions: int, draws: int
) -> list[Assessment]:
    """What the paper's split finds for a fixed candidate, to the last bit; a row's
    number is its id.
    """
    splitting, out = make_splitting(seed, (0.5,), "row", ()), []
    keys = splitting.keying.of(
        read_rows(pl.DataFrame({"row": np.arange(sample.rows)})), ["row"]
    )
    for repetition in range(1, repetitions + 1):
        tests = splitting.tests(splitting.places(keys, repetition), Part(repetition))
        training = sample.among(np.flatnonzero(~tests)).sums()
        held_out = sample.among(np.flatnonzero(tests))
        out.append(
            fast_assessment(
                held_out, training, claim, seed_of(seed, repetition, DRAWING), draws
            )
        )
    return out


def gap_found(
    delta: float,
    turned: bool,
    seed: tuple[int, int],
    repetitions: int | None = None,
    draws: int = DRAWS,
) -> dict[str, float]:
    """p-values of both gap statistics at the size of the application: one comparison,
    or the median of halves.

    "Alone" is the gap statistic by itself, "whole" the test in which accuracy must
    improve as well.
    """
    claim, rng = Claim(delta_fairness=delta), np.random.default_rng(seed)
    sample = draw_selected(
        rng,
        APPLICATION_ROWS // (2 if repetitions is None else 1),
        application(delta, turned),
    )
    if repetitions is None:
        found = [
            fast_assessment(sample, None, claim, np.random.SeedSequence(seed), draws)
        ]
    else:
        found = fast_audit(sample, claim, seed[1], repetitions, draws)
    parts = {
        "signed alone": [one.p_fairness for one in found],
        "absolute alone": [one.p_fairness_other for one in found],
        **{
            f"{gap} whole": [p_values(one)[gap] for one in found]
            for gap in ("signed", "absolute")
        },
    }
    return {name: float(lower_median(values)) for name, values in parts.items()}
