"""Power against rows, train fraction, repetitions and deltas, and the rows that suffice: what a plan is made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from improvable.errors import OptionError
from improvable.question.checks import check_integer, check_number
from improvable.question.claim import Claim
from improvable.studies.power.outlook import Outlook, root
from improvable.studies.power.plan import PowerPlan, PowerPoint, SampleSize
from improvable.studies.power.simulation import Rejections, Setting, mixture_moments, simulate

TRAIN_FRACTIONS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
REPETITIONS = (1, 3, 7, 15)
MULTIPLES = (0.25, 0.5, 0.75, 1.25, 1.5, 2.0)  # of the rows that reach the wanted power
SHARES_OF_ACCURACY, SHARES_OF_GAP = (0.0, 0.02, 0.05, 0.1), (0.0, 0.1, 0.25, 0.5)
FEWEST_ROWS = 40
MOST_ROWS = 100  # times the rows asked for: how far a sample size is looked for
STEP = 1.02  # between the sample sizes tried
RANGE = 0.8  # the confidence of a range of power
SHIFTS, SHIFT_SIMULATIONS = 200, 200


@dataclass(frozen=True)
class Tried:
    """What is varied, one thing at a time; an empty field has its own default.

    Attributes
    ----------
    rows, train_fractions, repetitions, deltas_accuracy, deltas_fairness : tuple
    """

    rows: tuple[int, ...] = ()
    train_fractions: tuple[float, ...] = ()
    repetitions: tuple[int, ...] = ()
    deltas_accuracy: tuple[float, ...] = ()
    deltas_fairness: tuple[float, ...] = ()


Power = Callable[[Setting], Rejections]


def plan_for(
    outlook: Outlook,
    setting: Setting,
    wanted: float,
    tried: Tried,
    simulations: int,
    seed: int,
    cautions: Sequence[str],
    backend: Any,
) -> PowerPlan:
    """Power as asked and as each thing is varied in turn, and the fewest rows that reach the wanted power."""
    settings = _settings(setting, tried)

    def power_under(view: Outlook) -> Power:
        return lambda asked: simulate(view, asked, simulations, seed)

    powers = [power_under(outlook), *map(power_under, range_of_outlooks(outlook, setting, seed))]
    curves = {name: [_point(name, one, powers, outlook) for one in several] for name, several in settings.items()}
    best = max(curves["train_fraction"], key=lambda point: point.power)
    fractions = dict.fromkeys([setting.train_fraction, best.train_fraction or 0.0])
    schemes = [replace(setting, scheme="forward")]
    schemes += [replace(setting, scheme="split", train_fraction=fraction) for fraction in fractions]
    sizes = [_sample_size(one, wanted, powers) for one in schemes]
    rows = _rows_tried(setting, tried, sizes)
    by_rows = [[_point("rows", replace(one, rows=n), powers, outlook) for n in rows] for one in schemes]
    points = tuple(point for curve in (*by_rows, *curves.values()) for point in curve)
    asked = by_rows[schemes.index(setting)][rows.index(setting.rows)]
    return PowerPlan(
        asked=asked,
        best=best,
        points=points,
        sample_sizes=tuple(sizes),
        wanted=wanted,
        alpha=setting.alpha,
        claim=setting.claim,
        groups=tuple(level for attribute in outlook.attributes for level in attribute.levels),
        learns=outlook.learns,
        simulations=simulations,
        seed=seed,
        basis=outlook.basis,
        cautions=(*cautions, *_doubts(outlook, setting)),
        backend=backend,
    )


def _rows_tried(setting: Setting, tried: Tried, sizes: Sequence[SampleSize]) -> list[int]:
    """Those asked for, and by default some around those that reach the wanted power."""
    for n in tried.rows:
        check_integer("rows", n, FEWEST_ROWS)
    found = [size.rows for size in sizes if size.rows is not None]
    middle = found[0] if found else setting.rows
    around = [max(FEWEST_ROWS, _rounded(multiple * middle)) for multiple in MULTIPLES]
    return sorted({*(tried.rows or (*around, *found)), setting.rows})


def _settings(setting: Setting, tried: Tried) -> dict[str, list[Setting]]:
    """What is varied besides rows, each value with all else as asked; a train fraction goes with the paper's split."""
    ratio = setting.claim.form == "ratio"
    several, gaps = (isinstance(one, Mapping) for one in (setting.claim.delta_accuracy, setting.claim.delta_fairness))
    claims = {
        "delta_accuracy": tried.deltas_accuracy or (SHARES_OF_ACCURACY if ratio and not several else ()),
        "delta_fairness": tried.deltas_fairness or (SHARES_OF_GAP if ratio and not gaps else ()),
    }
    for fraction in tried.train_fractions:
        check_number("train_fraction", fraction, 0, 1)
    for repetitions in tried.repetitions:
        check_integer("repetitions", repetitions, 1)
    out = {
        "train_fraction": [
            replace(setting, scheme="split", train_fraction=fraction)
            for fraction in sorted({*(tried.train_fractions or TRAIN_FRACTIONS), setting.train_fraction})
        ],
        "repetitions": [
            replace(setting, repetitions=k) for k in sorted({*(tried.repetitions or REPETITIONS), setting.repetitions})
        ],
    }
    for name, deltas in claims.items():
        out[name] = [replace(setting, claim=_with_delta(setting.claim, name, delta)) for delta in deltas]
    return out


def _with_delta(claim: Claim, name: str, delta: float) -> Claim:
    check_number(name, delta, -np.inf, np.inf)
    if name == "delta_fairness":
        return replace(claim, delta_fairness=float(delta))
    return replace(claim, delta_accuracy=float(delta), no_worse=None)


def _point(varied: str, setting: Setting, powers: Sequence[Power], outlook: Outlook) -> PowerPoint:
    if min(setting.training_rows[0], setting.test_rows) < 1:
        raise OptionError(
            f"a train fraction of {setting.train_fraction:g} of {setting.rows:,} rows leaves a part empty.",
            "Give another fraction, or more rows.",
        )
    results = [power(setting) for power in powers]
    delta, gap = setting.claim.delta_accuracy, setting.claim.delta_fairness
    return PowerPoint(
        varied=varied,
        rows=setting.rows,
        scheme=setting.scheme,
        train_fraction=setting.train_fraction if setting.scheme == "split" else None,
        repetitions=setting.repetitions,
        delta_accuracy=None if isinstance(delta, Mapping) else delta,
        delta_fairness=None if isinstance(gap, Mapping) else gap,
        power=results[0].power,
        error=results[0].error,
        low=min(result.power for result in results) if len(results) > 1 else None,
        high=max(result.power for result in results) if len(results) > 1 else None,
        training_rows=setting.training_rows[-1],
        test_rows=setting.test_rows,
        reach=outlook.reach(setting.training_rows),
    )


def range_of_outlooks(outlook: Outlook, setting: Setting, seed: int) -> list[Outlook]:
    """The pilot might have shown another mean: the two that bound `RANGE` of what the power may be.

    What counts is how far the weakest component of the deciding repetition stands from its null, on average. Where
    components tie, the weakest looks weaker than it is: once in the pilot, and once more around it. So the middle
    `RANGE` of what could be shown lies too low, and reflected in what the pilot showed, as centered intervals are, it
    lies too high where the pilot was lucky. The outer ends of both are taken.
    """
    if not outlook.uncertainty.any():
        return []
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    shifts = rng.standard_normal((SHIFTS, outlook.width)) @ root(outlook.uncertainty).T
    views = [outlook.shifted(shift) for shift in shifts]
    margins = np.array([simulate(view, setting, SHIFT_SIMULATIONS, seed).margin for view in views])
    own = simulate(outlook, setting, SHIFT_SIMULATIONS, seed).margin
    low, high = np.quantile(margins, [(1 - RANGE) / 2, (1 + RANGE) / 2])
    ends = min(low, 2 * own - high), max(high, 2 * own - low)
    return [views[int(np.abs(margins - end).argmin())] for end in ends]


def _sample_size(setting: Setting, wanted: float, powers: Sequence[Power]) -> SampleSize:
    """The fewest rows that reach the wanted power, by bisection on a fixed ladder of sizes."""
    steps = round(float(np.log(MOST_ROWS * setting.rows / FEWEST_ROWS) / np.log(STEP)))
    ladder = [_rounded(FEWEST_ROWS * STEP**i) for i in range(steps + 1)]

    def fewest(power: Power, goal: float) -> int | None:
        @cache
        def reaches(place: int) -> bool:
            one = replace(setting, rows=ladder[place])
            return min(one.training_rows[0], one.test_rows) > 0 and power(one).power >= goal

        low, high = -1, steps
        if not reaches(steps):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return ladder[high]

    rows = fewest(powers[0], wanted)
    error = powers[0](setting if rows is None else replace(setting, rows=rows)).error
    return SampleSize(
        scheme=setting.scheme,
        train_fraction=setting.train_fraction if setting.scheme == "split" else None,
        rows=rows,
        rows_low=fewest(powers[0], wanted - error),
        rows_high=fewest(powers[0], wanted + error) if wanted + error < 1 else None,
        rows_at_low_end=fewest(powers[1], wanted) if len(powers) > 1 else None,
        most_tried=ladder[-1],
    )


def _rounded(rows: float) -> int:
    """To three digits: a plan is no more precise."""
    return int(float(f"{rows:.3g}"))


def _doubts(outlook: Outlook, setting: Setting) -> list[str]:
    """What a reader must know about a plan."""
    mean, _ = mixture_moments(outlook, setting)
    shape = (len(outlook.attributes[0].member), -1, 2, 2)
    counted = mean.reshape(shape)[..., 1]
    out = []
    for attribute in outlook.attributes:
        for g, level in enumerate(attribute.levels):
            rows = float(counted[attribute.member == g].sum(axis=0).min()) * setting.test_rows
            if rows < 30:
                out.append(
                    f"with {setting.rows:,} rows about {rows:.0f} test rows of group '{level}' count; with fewer than "
                    "30 both the test and this plan are unreliable."
                )
    training = setting.training_rows
    reach = outlook.reach(training)
    if reach == "below":
        out.append(f"the rule was not studied with as few as {training[0]:,} training rows: that part is extrapolated.")
    if reach == "beyond":
        out.append(f"the rule was not studied with as many as {training[-1]:,} training rows.")
    cuts = setting.cuts
    if cuts.reason is not None:
        split = ", as in the paper's split" if len(cuts.ends) == 1 else ""
        out.append(
            f"with {setting.rows:,} rows the first block of a forward repetition takes {100 * cuts.ends[0]:g}% of "
            f"them{split}: it must hold {cuts.reason}."
        )
    return out
