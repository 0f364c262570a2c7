"""Plans of an audit: how likely it is to reject, from a pilot or from assumptions, and the rows that suffice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from improvable.data.frame import FrameLike
from improvable.errors import OptionError
from improvable.question.claim import Claim, check_claim, make_claim
from improvable.question.options import check_integer, check_number
from improvable.question.settings import Scheme
from improvable.studies.power.assumptions import AssumedGroup, Outlook, assume
from improvable.studies.power.plan import PowerPlan
from improvable.studies.power.simulate import (
    PLAN_ROWS,
    PowerPoint,
    SampleSize,
    Setting,
    mixture_moments,
    power_point,
    range_of_outlooks,
    rounded,
    sample_size,
)

TRAIN_FRACTIONS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
REPETITIONS = (1, 3, 7, 15)
MULTIPLES = (0.25, 0.5, 0.75, 1.25, 1.5, 2.0)  # of the rows that reach the wanted power
SHARES = {"delta_accuracy": (0.0, 0.02, 0.05, 0.1), "delta_fairness": (0.0, 0.1, 0.25, 0.5)}
CLAIM: dict[str, Any] = {
    "delta_accuracy": 0.0, "delta_fairness": 0.0, "form": "ratio", "gap": "signed", "protected": None, "overall": None,
}  # fmt: skip
"""What is claimed where nothing is said."""


@dataclass(frozen=True)
class Tried:
    """What is varied, one thing at a time; an empty field has its own default."""

    rows: tuple[int, ...] = ()
    train_fractions: tuple[float, ...] = ()
    repetitions: tuple[int, ...] = ()
    deltas_accuracy: tuple[float, ...] = ()
    deltas_fairness: tuple[float, ...] = ()


def power_from_pilot(
    data: FrameLike,
    *,
    rows: int | None = None,
    scheme: Scheme = "forward",
    repetitions: int = 7,
    train_fraction: float = 0.5,
    alpha: float = 0.05,
    wanted: float = 0.8,
    tried: Tried | None = None,
    simulations: int = 2_000,
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
    scheme : {"forward", "split"}
        Which one is asked for; both are planned for, side by side.
    repetitions, alpha
        As in `audit`.
    train_fraction : float
        Of the paper's split.
    wanted : float
        The power to look for a sample size for.
    tried : Tried, optional
        Other values of what is varied.
    simulations : int
        Simulated audits behind each number.
    sizes, fits : int
        At how many numbers of training rows the rule is studied, and with how many fits at each.
    seed : int
        Same seed, same pilot: same result.
    **question
        Every other argument of `audit` but draws and run_folder: outcome, group, status_quo, rule, features, deltas.

    Examples
    --------
    >>> import improvable
    >>> from improvable.studies.power import power_from_pilot
    >>> plan = power_from_pilot(
    ...     improvable.datasets.care_management(4_000, seed=1), rows=8_000, simulations=200, fits=5, sizes=3,
    ...     outcome="gagne_sum_t", group="race", rule="linear", features=["gagne_sum_tm1", "dem_female"],
    ...     status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    ... )
    >>> plan.asked.rows
    8000
    """
    from improvable.studies.power.pilot import learn  # which needs what audits need

    check_integer("sizes", sizes, 2)
    check_integer("fits", fits, 3)
    for name in {"draws", "run_folder"} & question.keys():
        raise OptionError(f"a plan does not take {name}.", "Omit it: a plan draws nothing and keeps no repetitions.")
    _check(wanted, simulations, seed)
    setting = Setting(PLAN_ROWS if rows is None else rows, repetitions, Claim(), alpha, scheme, train_fraction)
    question |= {"scheme": scheme, "repetitions": repetitions}
    outlook, study, learned = learn(data, rows, sizes, fits, question, seed)
    total = int(study.setting["rows"]) if rows is None else rows
    setting = replace(setting, rows=total, claim=study.question.claim, teaching=outlook.teaching)
    cautions = [caution.text for caution in study.cautions if caution.kind in ("dropped", "groups")]
    plan = _plan(outlook, setting, wanted, tried or Tried(), simulations, seed, cautions, study.backend)
    return replace(plan, learned=learned)


def power_from_assumptions(
    groups: Sequence[AssumedGroup],
    *,
    rows: int,
    scheme: Scheme = "forward",
    repetitions: int = 7,
    train_fraction: float = 0.5,
    alpha: float = 0.05,
    wanted: float = 0.8,
    tried: Tried | None = None,
    simulations: int = 2_000,
    seed: int = 0,
    **claim: Any,
) -> PowerPlan:
    """Plan an audit from assumed utilities and selection rates, for the mean outcome among the selected (calibration).

    The candidate is taken as fixed: it does not get better with training rows.

    Parameters
    ----------
    groups : sequence of AssumedGroup
    rows : int
        Rows that the audit will have.
    scheme, repetitions, train_fraction, alpha, wanted, tried, simulations, seed
        As in `power_from_pilot`.
    **claim
        delta_accuracy, delta_fairness, form, gap, protected, overall, ask and no_worse, as in `audit`.

    Examples
    --------
    >>> from improvable.studies.power import AssumedGroup, power_from_assumptions
    >>> plan = power_from_assumptions(
    ...     [
    ...         AssumedGroup("black", 0.12, rates=(0.05, 0.07), means=(6.5, 7.4), spread=3.5, overlap=0.4),
    ...         AssumedGroup("white", 0.88, rates=(0.027, 0.024), means=(5.1, 7.3), spread=3.5, overlap=0.3),
    ...     ],
    ...     rows=80_000, simulations=200,
    ... )
    >>> plan.asked.power > 0.9
    True
    """
    _check(wanted, simulations, seed)
    asked = make_claim(**(CLAIM | claim), accuracy=["calibration"], fairness=["calibration"])
    outlook = assume(groups)
    check_claim(asked, [attribute.levels for attribute in outlook.attributes], ["calibration"])
    setting = Setting(rows, repetitions, asked, alpha, scheme, train_fraction, outlook.teaching)
    return _plan(outlook, setting, wanted, tried or Tried(), simulations, seed)


def _check(wanted: float, simulations: int, seed: int) -> None:
    check_number("the wanted power", wanted, 0, 1)
    check_integer("simulations", simulations, 100)
    check_integer("seed", seed, 0)


def _plan(
    outlook: Outlook,
    setting: Setting,
    wanted: float,
    tried: Tried,
    simulations: int,
    seed: int,
    cautions: Sequence[str] = (),
    backend: Any = "polars",
) -> PowerPlan:
    """Power as asked and as each thing is varied in turn, and the fewest rows that reach the wanted power."""
    settings = _settings(setting, tried)
    views = [outlook, *range_of_outlooks(outlook, setting, seed)]

    def curve(name: str, several: Sequence[Setting]) -> list[PowerPoint]:
        return [power_point(name, one, views, simulations, seed) for one in several]

    curves = {name: curve(name, several) for name, several in settings.items()}
    best = max(curves["train_fraction"], key=lambda point: point.power)
    fractions = dict.fromkeys([setting.train_fraction, best.train_fraction or 0.0])
    schemes = [replace(setting, scheme="forward")]
    schemes += [replace(setting, scheme="split", train_fraction=fraction) for fraction in fractions]
    sizes = [sample_size(one, wanted, views, simulations, seed) for one in schemes]
    rows = _rows_tried(setting, tried, sizes)
    by_rows = [curve("rows", [replace(one, rows=n) for n in rows]) for one in schemes]
    return PowerPlan(
        asked=by_rows[schemes.index(setting)][rows.index(setting.rows)],
        best=best,
        points=tuple(point for several in (*by_rows, *curves.values()) for point in several),
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
    found = [size.rows for size in sizes if size.rows is not None]
    middle = found[0] if found else setting.rows
    around = [max(PLAN_ROWS, rounded(multiple * middle)) for multiple in MULTIPLES]
    return sorted({*(tried.rows or (*around, *found)), setting.rows})


def _settings(setting: Setting, tried: Tried) -> dict[str, list[Setting]]:
    """What is varied besides rows, each value with all else as asked; a train fraction goes with the paper's split."""
    fractions = sorted({*(tried.train_fractions or TRAIN_FRACTIONS), setting.train_fraction})
    repetitions = sorted({*(tried.repetitions or REPETITIONS), setting.repetitions})
    out = {
        "train_fraction": [replace(setting, scheme="split", train_fraction=fraction) for fraction in fractions],
        "repetitions": [replace(setting, repetitions=k) for k in repetitions],
    }
    for name, deltas in (("delta_accuracy", tried.deltas_accuracy), ("delta_fairness", tried.deltas_fairness)):
        usual = setting.claim.form == "ratio" and not isinstance(getattr(setting.claim, name), Mapping)
        out[name] = []
        for delta in deltas or (SHARES[name] if usual else ()):
            check_number(name, delta, -np.inf, np.inf)
            margin = {} if name == "delta_fairness" else {"no_worse": None}  # which is another word for a delta
            claim = replace(setting.claim, **{name: float(delta)}, **margin)  # type: ignore[arg-type]
            out[name].append(replace(setting, claim=claim))
    return out


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
