"""Plans of an audit: how likely it is to reject, from a pilot or from assumptions."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

from improvable.data.frames import FrameLike
from improvable.errors import OptionError
from improvable.question.checks import check_choice, check_integer, check_number
from improvable.question.claim import Ask, Delta, GapDelta, Overall, check_claim, make_claim
from improvable.question.settings import Scheme
from improvable.studies.power.assumptions import AssumedGroup, assume
from improvable.studies.power.curves import FEWEST_ROWS, Tried, plan_for
from improvable.studies.power.plan import PowerPlan
from improvable.studies.power.simulation import Setting

NOT_FOR_PLANS = ("draws", "run_folder")


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

    Returns
    -------
    PowerPlan

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
    from improvable.studies.power.pilot import learn

    check_integer("sizes", sizes, 2)
    check_integer("fits", fits, 3)
    for name in NOT_FOR_PLANS:
        if name in question:
            raise OptionError(
                f"a plan does not take {name}.", "Omit it: a plan draws nothing and keeps no repetitions."
            )
    _check(rows, scheme, repetitions, train_fraction, alpha, wanted, simulations, seed)
    how = {"scheme": scheme, "repetitions": repetitions}
    outlook, study, learned = learn(data, rows, sizes, fits, question | how, seed)
    total = int(study.setting["rows"]) if rows is None else rows
    setting = Setting(total, repetitions, study.question.claim, alpha, scheme, train_fraction, outlook.teaching)
    cautions = [caution.text for caution in study.cautions if caution.kind in ("dropped", "groups")]
    plan = plan_for(outlook, setting, wanted, tried or Tried(), simulations, seed, cautions, study.backend)
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
    scheme: Scheme = "forward",
    repetitions: int = 7,
    train_fraction: float = 0.5,
    alpha: float = 0.05,
    wanted: float = 0.8,
    tried: Tried | None = None,
    simulations: int = 2_000,
    seed: int = 0,
) -> PowerPlan:
    """Plan an audit from assumed utilities and selection rates, for the mean outcome among the selected (calibration).

    The candidate is taken as fixed: it does not get better with training rows.

    Parameters
    ----------
    groups : sequence of AssumedGroup
    rows : int
        Rows that the audit will have.
    delta_accuracy, delta_fairness, form, gap, protected, overall, ask, no_worse, repetitions, alpha
        As in `audit`.
    scheme, train_fraction, wanted, tried, simulations, seed
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
    ...     rows=80_000, simulations=200,
    ... )
    >>> plan.asked.power > 0.9
    True
    """
    _check(rows, scheme, repetitions, train_fraction, alpha, wanted, simulations, seed)
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
    setting = Setting(rows, repetitions, claim, alpha, scheme, train_fraction, outlook.teaching)
    return plan_for(outlook, setting, wanted, tried or Tried(), simulations, seed, [], "polars")


def _check(
    rows: int | None,
    scheme: str,
    repetitions: int,
    train_fraction: float,
    alpha: float,
    wanted: float,
    simulations: int,
    seed: int,
) -> None:
    if rows is not None:
        check_integer("rows", rows, FEWEST_ROWS)
    check_choice("scheme", scheme, get_args(Scheme))
    check_integer("repetitions", repetitions, 1)
    check_number("train_fraction", train_fraction, 0, 1)
    check_number("alpha", alpha, 0, 0.5)
    check_number("the wanted power", wanted, 0, 1)
    check_integer("simulations", simulations, 100)
    check_integer("seed", seed, 0)
