"""How likely the procedure is to reject, against rows, train fraction, splits and deltas; and what would suffice."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from improvable.data.frames import FrameLike
from improvable.errors import OptionError
from improvable.question.checks import check_integer, check_number
from improvable.question.claim import Ask, Claim, Overall, check_claim, make_claim
from improvable.question.deltas import Delta, GapDelta
from improvable.studies.power.assumptions import AssumedGroup, assume
from improvable.studies.power.outlook import Outlook, root
from improvable.studies.power.plan import PowerPlan, PowerPoint, SampleSize
from improvable.studies.power.simulation import Rejections, Setting, simulate

TRAIN_FRACTIONS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
SPLITS = (1, 3, 7, 15)
FOLDS = 2  # beside the paper's split, where no others are asked for
MULTIPLES = (0.25, 0.5, 0.75, 1.25, 1.5, 2.0)  # of the rows that reach the wanted power
SHARES_OF_ACCURACY, SHARES_OF_GAP = (0.0, 0.02, 0.05, 0.1), (0.0, 0.1, 0.25, 0.5)
FEWEST_ROWS = 40
MOST_ROWS = 100  # times the rows asked for: how far a sample size is looked for
STEP = 1.02  # between the sample sizes tried
RANGE = 0.8  # of the pilot's uncertainty
SHIFTS, SHIFT_REPETITIONS = 200, 200
NOT_FOR_PLANS = ("draws", "run_folder")


@dataclass(frozen=True)
class Tried:
    """What is varied, one thing at a time; an empty field has its own default.

    Attributes
    ----------
    rows, train_fractions, splits, deltas_accuracy, deltas_fairness : tuple
    """

    rows: tuple[int, ...] = ()
    train_fractions: tuple[float, ...] = ()
    splits: tuple[int, ...] = ()
    deltas_accuracy: tuple[float, ...] = ()
    deltas_fairness: tuple[float, ...] = ()


def power_from_pilot(
    data: FrameLike,
    *,
    rows: int | None = None,
    splits: int = 7,
    train_fraction: float = 0.5,
    folds: int | None = None,
    alpha: float = 0.05,
    wanted: float = 0.8,
    tried: Tried | None = None,
    repetitions: int = 2_000,
    sizes: int = 6,
    fits: int = 30,
    seed: int = 0,
    **question: Any,
) -> PowerPlan:
    """Plan an audit from a pilot: rows like those to come, which the audit itself will not use.

    The rule is fitted on parts of the pilot of several sizes and judged on the rest. From the moments of what the rows
    contribute, the whole procedure is simulated by its sums, for any number of rows.

    Parameters
    ----------
    data : data frame or path
        The pilot.
    rows : int, optional
        Rows that the audit will have; as many as the pilot by default.
    splits, train_fraction, folds, alpha
        As in `audit`. Both procedures are planned for, the paper's split and folds; this says which one is asked for.
    wanted : float
        The power to look for a sample size for.
    tried : Tried, optional
        Other values of what is varied.
    repetitions : int
        Simulated audits behind each number.
    sizes, fits : int
        At how many numbers of training rows the rule is studied, and with how many fits at each.
    seed : int
        Same seed, same pilot: same result.
    **question
        Every other argument of `audit` but draws and run_folder: outcome, group, status_quo, rule, features, deltas.

    Returns
    -------
    PowerPlan

    Examples
    --------
    >>> import improvable
    >>> from improvable.studies.power import power_from_pilot
    >>> plan = power_from_pilot(
    ...     improvable.datasets.care_management(4_000, seed=1), rows=8_000, repetitions=200, fits=5, sizes=3,
    ...     outcome="gagne_sum_t", group="race", rule="linear", features=["gagne_sum_tm1", "dem_female"],
    ...     status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    ... )
    >>> plan.asked.rows
    8000
    """
    from improvable.studies.power.pilot import learn

    check_integer("sizes", sizes, 2)
    check_integer("fits", fits, 3)
    for name in NOT_FOR_PLANS:
        if name in question:
            raise OptionError(f"a plan does not take {name}.", "Omit it: a plan draws nothing and keeps no splits.")
    _check(rows, splits, train_fraction, folds, alpha, wanted, repetitions, seed)
    outlook, study, learned = learn(data, sizes, fits, question, seed)
    total = int(study.setting["rows"]) if rows is None else rows
    setting = Setting(total, train_fraction, splits, study.question.claim, alpha, folds)
    cautions = [caution.text for caution in study.cautions if caution.kind in ("dropped", "groups")]
    plan = _plan(outlook, setting, wanted, tried or Tried(), repetitions, seed, cautions, study.backend)
    return replace(plan, learned=learned)


def power_from_assumptions(
    groups: Sequence[AssumedGroup],
    *,
    rows: int,
    delta_accuracy: Delta = 0.0,
    delta_fairness: GapDelta = 0.0,
    form: str = "ratio",
    gap: str = "signed",
    protected: str | Sequence[str] | None = None,
    overall: Overall = None,
    ask: Ask = "both",
    no_worse: float | None = None,
    splits: int = 7,
    train_fraction: float = 0.5,
    folds: int | None = None,
    alpha: float = 0.05,
    wanted: float = 0.8,
    tried: Tried | None = None,
    repetitions: int = 2_000,
    seed: int = 0,
) -> PowerPlan:
    """Plan an audit from assumed utilities and selection rates, for the mean outcome among the selected (calibration).

    The candidate is taken as fixed: it does not get better with training rows.

    Parameters
    ----------
    groups : sequence of AssumedGroup
    rows : int
        Rows that the audit will have.
    delta_accuracy, delta_fairness, form, gap, protected, overall, ask, no_worse, splits, train_fraction, folds, alpha
        As in `audit`.
    wanted, tried, repetitions, seed
        As in `power_from_pilot`.

    Returns
    -------
    PowerPlan

    Examples
    --------
    >>> from improvable.studies.power import AssumedGroup, power_from_assumptions
    >>> plan = power_from_assumptions(
    ...     [
    ...         AssumedGroup("black", 0.12, rates=(0.05, 0.07), means=(6.5, 7.4), spread=3.5, overlap=0.4),
    ...         AssumedGroup("white", 0.88, rates=(0.027, 0.024), means=(5.1, 7.3), spread=3.5, overlap=0.3),
    ...     ],
    ...     rows=80_000, repetitions=200,
    ... )
    >>> plan.asked.power > 0.9
    True
    """
    _check(rows, splits, train_fraction, folds, alpha, wanted, repetitions, seed)
    claim = make_claim(
        delta_accuracy=delta_accuracy,
        delta_fairness=delta_fairness,
        form=form,
        gap=gap,
        protected=protected,
        overall=overall,
        ask=ask,
        no_worse=no_worse,
        accuracy=["calibration"],
        fairness=["calibration"],
    )
    outlook = assume(groups)
    check_claim(claim, [attribute.levels for attribute in outlook.attributes], ["calibration"])
    setting = Setting(rows, train_fraction, splits, claim, alpha, folds)
    return _plan(outlook, setting, wanted, tried or Tried(), repetitions, seed, [], "polars")


def _check(
    rows: int | None,
    splits: int,
    train_fraction: float,
    folds: int | None,
    alpha: float,
    wanted: float,
    repetitions: int,
    seed: int,
) -> None:
    if rows is not None:
        check_integer("rows", rows, FEWEST_ROWS)
    check_integer("splits", splits, 1)
    check_number("train_fraction", train_fraction, 0, 1)
    if folds is not None:
        check_integer("folds", folds, 2)
    check_number("alpha", alpha, 0, 0.5)
    check_number("the wanted power", wanted, 0, 1)
    check_integer("repetitions", repetitions, 100)
    check_integer("seed", seed, 0)


Power = Callable[[Setting], Rejections]


def _plan(
    outlook: Outlook,
    setting: Setting,
    wanted: float,
    tried: Tried,
    repetitions: int,
    seed: int,
    cautions: Sequence[str],
    backend: Any,
) -> PowerPlan:
    settings = _settings(setting, tried)

    def power_under(view: Outlook) -> Power:
        return lambda asked: simulate(view, asked, repetitions, seed)

    powers = [power_under(outlook), *map(power_under, _range_of_outlooks(outlook, setting, seed))]
    curves = {name: [_point(name, one, powers, outlook) for one in several] for name, several in settings.items()}
    best = max(curves["train_fraction"], key=lambda point: point.power)
    procedures = [
        replace(setting, train_fraction=fraction, folds=None)
        for fraction in dict.fromkeys([setting.train_fraction, best.train_fraction])
    ]
    procedures.append(replace(setting, folds=setting.folds or FOLDS))
    sizes = [_sample_size(one, wanted, powers) for one in procedures]
    rows = _rows_tried(setting, tried, sizes)
    by_rows = [[_point("rows", replace(one, rows=n), powers, outlook) for n in rows] for one in procedures]
    points = tuple(point for curve in (*curves.values(), *by_rows) for point in curve)
    asked = next(p for p in by_rows[0 if setting.folds is None else -1] if p.rows == setting.rows)
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
        repetitions=repetitions,
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
    """What is varied besides rows, each value with everything else as asked.

    Train fraction and number of splits are the paper's: repetitions in folds hardly differ.
    """
    ratio = setting.claim.form == "ratio"
    several, gaps = (isinstance(one, Mapping) for one in (setting.claim.delta_accuracy, setting.claim.delta_fairness))
    claims = {
        "delta_accuracy": tried.deltas_accuracy or (SHARES_OF_ACCURACY if ratio and not several else ()),
        "delta_fairness": tried.deltas_fairness or (SHARES_OF_GAP if ratio and not gaps else ()),
    }
    for fraction in tried.train_fractions:
        check_number("train_fraction", fraction, 0, 1)
    for splits in tried.splits:
        check_integer("splits", splits, 1)
    out = {
        "train_fraction": [
            replace(setting, train_fraction=fraction, folds=None)
            for fraction in sorted({*(tried.train_fractions or TRAIN_FRACTIONS), setting.train_fraction})
        ],
        "splits": [replace(setting, splits=k, folds=None) for k in sorted({*(tried.splits or SPLITS), setting.splits})],
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
    if min(setting.training_rows, setting.test_rows) < 1:
        raise OptionError(
            f"a train fraction of {setting.train_fraction:g} of {setting.rows:,} rows leaves a part empty.",
            "Give another fraction, or more rows.",
        )
    results = [power(setting) for power in powers]
    delta, gap = setting.claim.delta_accuracy, setting.claim.delta_fairness
    return PowerPoint(
        varied=varied,
        rows=setting.rows,
        train_fraction=setting.train_fraction if setting.folds is None else 1 - 1 / setting.folds,
        splits=setting.splits,
        folds=setting.folds,
        delta_accuracy=None if isinstance(delta, Mapping) else delta,
        delta_fairness=None if isinstance(gap, Mapping) else gap,
        power=results[0].power,
        error=results[0].error,
        low=min(result.power for result in results) if len(results) > 1 else None,
        high=max(result.power for result in results) if len(results) > 1 else None,
        training_rows=setting.training_rows,
        reach=outlook.reach(setting.training_rows),
    )


def _range_of_outlooks(outlook: Outlook, setting: Setting, seed: int) -> list[Outlook]:
    """The pilot might have shown another mean: the two that bound the middle `RANGE` of what it could show.

    They are ranked by how far the weakest component of the deciding split stands from its null, on average.
    """
    if not outlook.uncertainty.any():
        return []
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(3,)))
    shifts = rng.standard_normal((SHIFTS, outlook.width)) @ root(outlook.uncertainty).T
    views = [outlook.shifted(shift) for shift in shifts]
    views.sort(key=lambda view: simulate(view, setting, SHIFT_REPETITIONS, seed).margin)
    tail = round((1 - RANGE) / 2 * SHIFTS)
    return [views[tail], views[-tail - 1]]


def _sample_size(setting: Setting, wanted: float, powers: Sequence[Power]) -> SampleSize:
    """The fewest rows that reach the wanted power, by bisection on a fixed ladder of sizes."""
    steps = round(float(np.log(MOST_ROWS * setting.rows / FEWEST_ROWS) / np.log(STEP)))
    ladder = [_rounded(FEWEST_ROWS * STEP**i) for i in range(steps + 1)]

    def fewest(power: Power, goal: float) -> int | None:
        @cache
        def reaches(place: int) -> bool:
            one = replace(setting, rows=ladder[place])
            return min(one.training_rows, one.test_rows) > 0 and power(one).power >= goal

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
        train_fraction=setting.train_fraction if setting.folds is None else 1 - 1 / setting.folds,
        folds=setting.folds,
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
    mean, _ = outlook.at(max(setting.training_rows, 1))
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
    reach = outlook.reach(setting.training_rows)
    if reach == "below":
        out.append(
            f"{setting.training_rows:,} training rows are fewer than the rule was studied with; this overstates power."
        )
    if reach == "beyond":
        out.append(f"{setting.training_rows:,} training rows are more than the rule was studied with.")
    return out
