"""Plans of an audit: how likely it is to reject, from a pilot or from assumptions, and
the rows that suffice, by forward repetitions and by the paper's split.
"""

import inspect
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from improvable.data.frame import FrameLike, build_frame
from improvable.errors import OptionError
from improvable.question.claim import Claim, check_claim, make_claim
from improvable.question.options import check_integer, check_number
from improvable.question.settings import OBJECTS, SETTINGS, Scheme, where_to_say
from improvable.report.text import paragraph
from improvable.studies.power import simulate
from improvable.studies.power.assumptions import AssumedGroup, Outlook, assume
from improvable.studies.power.learning import MIN_FITS, learn
from improvable.studies.power.simulate import PLAN_ROWS, PowerPoint, SampleSize, Setting

if TYPE_CHECKING:
    from improvable.report.plots import Chart

MULTIPLES = (0.25, 0.5, 0.75, 1.25, 1.5, 2.0)  # of the rows that reach the wanted power
NOT_EVIDENCE = (
    "Power at an estimated or assumed effect is not evidence that the effect exists."
)
OTHER_ROWS = (
    "Plan on rows other than those to be audited: a train fraction or a rule chosen "
    "because it does well on some rows cannot be tested at the stated level on those "
    "rows."
)


@dataclass(frozen=True)
class PowerPlan:
    """The result of `power_from_pilot` and `power_from_assumptions`.

    Attributes
    ----------
    asked : PowerPoint
        The power in the setting asked for.
    points : tuple of PowerPoint
        Power against rows, by forward repetitions and then by the paper's split.
    sample_sizes : tuple of SampleSize
        The rows that suffice by forward repetitions, and by the paper's split.
    learns : bool
        Whether the candidate depends on training rows.
    basis, cautions : tuple of str
        What the plan rests on, and what to beware of.
    """

    asked: PowerPoint
    points: tuple[PowerPoint, ...]
    sample_sizes: tuple[SampleSize, SampleSize]
    wanted: float
    setting: Setting
    groups: tuple[str, ...]
    learns: bool
    basis: tuple[str, ...]
    cautions: tuple[str, ...]
    backend: Any = field(default="polars", repr=False)

    @property
    def hopeless(self) -> bool:
        """Whether no number of rows that was tried reaches the wanted power, by either
        scheme.
        """
        return all(size.rows is None for size in self.sample_sizes)

    @property
    def notes(self) -> list[str]:
        """What no plan shows."""
        return [NOT_EVIDENCE, OTHER_ROWS] if self.learns else [NOT_EVIDENCE]

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings, ready for JSON."""
        import improvable

        asked = self.asked
        claim = self.setting.claim.to_dict()
        for name, value in claim.items():
            claim[name] = list(value) if isinstance(value, tuple) else value
        return {
            "kind": "power",
            "power": asked.power,
            "error": asked.error,
            "range": None if asked.low is None else [asked.low, asked.high],
            "rows": asked.rows,
            "scheme": asked.scheme,
            "train_fraction": asked.train_fraction,
            "repetitions": self.setting.repetitions,
            "wanted": self.wanted,
            "sample_sizes": [asdict(size) for size in self.sample_sizes],
            "alpha": self.setting.alpha,
            **claim,
            "groups": list(self.groups),
            "points": [asdict(point) for point in self.points],
            "simulations": self.setting.simulations,
            "seed": self.setting.seed,
            "basis": list(self.basis),
            "words": describe_plan(self),
            "warnings": [*self.cautions, *self.notes],
            "version": improvable.__version__,
        }

    def table(self) -> Any:
        """All points as a data frame of the pilot's own kind."""
        return tabulate_points(self.points, self.backend)

    def csv(self) -> str:
        """All points, in CSV."""
        return str(tabulate_points(self.points, "polars").write_csv())

    def summary(self) -> str:
        """The plan in words, with the curves as tables."""
        findings = map(paragraph, describe_plan(self))
        cautions = [paragraph(f"Caution: {text}") for text in self.cautions]
        if self.hopeless:
            return "\n".join([*findings, *cautions])
        basis = map(paragraph, self.basis)
        notes = map(paragraph, self.notes)
        tables = []
        for size in self.sample_sizes:
            curve = [point for point in self.points if point.scheme == size.scheme]
            tables += print_curve(curve)
        lines = [*findings, "", *basis, "", *tables, "", *notes, *cautions]
        return "\n".join(lines)

    def plot(self) -> "Chart":
        """Power against rows, by forward repetitions and by the paper's split."""
        from improvable.report.plots import power_curves

        rows = [
            {
                "x": point.rows,
                "series": name_scheme(point),
                "power": point.power,
                "error": point.error,
            }
            for point in self.points
        ]
        widest = max(point.rows for point in self.points)
        enough = [size.rows for size in self.sample_sizes if size.rows is not None]
        marks = [count for count in enough if count <= widest]
        subtitle = [
            f"{self.setting.simulations:,} simulated audits per point; repetitions in "
            f"each: {self.setting.repetitions}."
        ]
        if marks:
            subtitle.append(f"Dotted: rows that reach a power of {self.wanted:g}.")
        return power_curves(
            rows,
            x_title="rows",
            title="Probability that the audit rejects",
            subtitle=subtitle,
            level=self.setting.alpha,
            marks=marks,
        )


def power_from_pilot(
    data: FrameLike,
    *,
    rows: int | None = None,
    scheme: Scheme = "forward",
    repetitions: int = 7,
    train_fraction: float = 0.5,
    alpha: float = 0.05,
    wanted: float = 0.8,
    simulations: int = 2_000,
    sizes: int = 6,
    fits: int = 30,
    seed: int = 0,
    **question: Any,
) -> PowerPlan:
    """Plan an audit from a pilot: rows like those to come, which the audit itself will
    not use.

    The rule is fitted on parts of the pilot of several sizes and judged on the rest.
    From the moments of what the rows contribute, the whole procedure is simulated by
    its sums, for any number of rows.

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
    simulations : int
        Simulated audits behind each number.
    sizes, fits : int
        At how many numbers of training rows the rule is studied, and with how many fits
        at each.
    seed : int
        Same seed, same pilot: same result.
    **question
        Every other argument of `audit` but draws and run_folder: outcome, group,
        status_quo, rule, features, deltas.

    Examples
    --------
    >>> import improvable
    >>> from improvable.studies.power import power_from_pilot
    >>> plan = power_from_pilot(
    ...     improvable.datasets.care_management(4_000, seed=1),
    ...     rows=8_000,
    ...     simulations=200,
    ...     fits=5,
    ...     sizes=3,
    ...     outcome="gagne_sum_t",
    ...     group="race",
    ...     rule="linear",
    ...     features=["gagne_sum_tm1", "dem_female"],
    ...     status_quo=improvable.threshold("risk_score_t", capacity=0.1),
    ... )
    >>> plan.asked.rows
    8000
    """
    check_integer("sizes", sizes, 2)
    check_integer("fits", fits, MIN_FITS)
    for name in {"draws", "run_folder"} & question.keys():
        raise OptionError(
            f"a plan does not take {name}.",
            "Omit it: a plan draws nothing and keeps no repetitions.",
        )
    known = {*SETTINGS, *OBJECTS, "n_jobs"}
    for name, value in question.items():
        if name not in known:
            own = inspect.signature(power_from_pilot).parameters
            raise TypeError(where_to_say(name, value, [*own, *sorted(known)]))
    check_number("the wanted power", wanted, 0, 1)
    least = PLAN_ROWS if rows is None else rows
    setting = Setting(
        least,
        repetitions,
        Claim(),
        alpha,
        scheme,
        train_fraction,
        simulations=simulations,
        seed=seed,
    )
    question |= {"scheme": scheme, "repetitions": repetitions}
    outlook, study = learn(data, rows, sizes, fits, question, seed)
    total = int(study.setting["rows"]) if rows is None else rows
    setting = replace(
        setting, rows=total, claim=study.question.claim, teaching=outlook.teaching
    )
    cautions = [
        caution.text
        for caution in study.cautions
        if caution.kind in ("dropped", "groups")
    ]
    plan = make_plan(outlook, setting, wanted, cautions)
    return replace(plan, backend=study.backend)


def power_from_assumptions(
    groups: Sequence[AssumedGroup],
    *,
    rows: int,
    scheme: Scheme = "forward",
    repetitions: int = 7,
    train_fraction: float = 0.5,
    alpha: float = 0.05,
    wanted: float = 0.8,
    simulations: int = 2_000,
    seed: int = 0,
    **claim: Any,
) -> PowerPlan:
    """Plan an audit from assumed utilities and selection rates, for the mean outcome
    among the selected (calibration).

    The candidate is taken as fixed: it does not get better with training rows.

    Parameters
    ----------
    groups : sequence of AssumedGroup
    rows : int
        Rows that the audit will have.
    scheme, repetitions, train_fraction, alpha, wanted, simulations, seed
        As in `power_from_pilot`.
    **claim
        delta_accuracy, delta_fairness, form, gap, protected, overall and ask,
        as in `audit`.

    Examples
    --------
    >>> from improvable.studies.power import AssumedGroup, power_from_assumptions
    >>> plan = power_from_assumptions(
    ...     [
    ...         AssumedGroup(
    ...             "black",
    ...             0.12,
    ...             rates=(0.05, 0.07),
    ...             means=(6.5, 7.4),
    ...             spread=3.5,
    ...             overlap=0.4,
    ...         ),
    ...         AssumedGroup(
    ...             "white",
    ...             0.88,
    ...             rates=(0.027, 0.024),
    ...             means=(5.1, 7.3),
    ...             spread=3.5,
    ...             overlap=0.3,
    ...         ),
    ...     ],
    ...     rows=80_000,
    ...     simulations=200,
    ... )
    >>> plan.asked.power > 0.9
    True
    """
    check_number("the wanted power", wanted, 0, 1)
    asked = make_claim(**claim)
    outlook = assume(groups)
    check_claim(asked, [attribute.levels for attribute in outlook.attributes])
    setting = Setting(
        rows,
        repetitions,
        asked,
        alpha,
        scheme,
        train_fraction,
        outlook.teaching,
        simulations,
        seed,
    )
    return make_plan(outlook, setting, wanted)


def make_plan(
    outlook: Outlook, setting: Setting, wanted: float, cautions: Sequence[str] = ()
) -> PowerPlan:
    """Simulate audits by both schemes, with numbers of rows around those that
    suffice.
    """
    views = [outlook, *simulate.range_of_outlooks(outlook, setting)]
    forward = replace(setting, scheme="forward")
    split = replace(setting, scheme="split")
    sizes = (
        simulate.sample_size(forward, wanted, views),
        simulate.sample_size(split, wanted, views),
    )
    counts = choose_rows(setting.rows, sizes)
    points = {
        (scheme, count): simulate.power_point(replace(scheme, rows=count), views)
        for scheme, count in product((forward, split), counts)
    }
    levels = [level for attribute in outlook.attributes for level in attribute.levels]
    return PowerPlan(
        asked=points[setting, setting.rows],
        points=tuple(points.values()),
        sample_sizes=sizes,
        wanted=wanted,
        setting=setting,
        groups=tuple(levels),
        learns=outlook.learns,
        basis=outlook.basis,
        cautions=(*cautions, *_doubts(outlook, setting)),
    )


def choose_rows(planned: int, sizes: Sequence[SampleSize]) -> list[int]:
    """The numbers of rows on a curve: those planned for, those that suffice, and some
    around the first of the latter.
    """
    enough = [size.rows for size in sizes if size.rows is not None]
    center = enough[0] if enough else planned
    around = [max(PLAN_ROWS, simulate.rounded(m * center)) for m in MULTIPLES]
    return sorted({planned, *enough, *around})


def _doubts(outlook: Outlook, setting: Setting) -> list[str]:
    """What a reader must know about a plan."""
    mean, _ = simulate.mixture_moments(outlook, setting)
    counted = mean.reshape(len(outlook.attributes[0].member), -1, 2, 2)[..., 1]
    out = []
    for attribute in outlook.attributes:
        for g, level in enumerate(attribute.levels):
            rows = (
                float(counted[attribute.member == g].sum(axis=0).min())
                * setting.test_rows
            )
            if rows < 30:
                about = (
                    f"with {setting.rows:,} rows about {rows:.0f} test rows of group "
                    f"'{level}' count"
                )
                out.append(
                    f"{about}; with fewer than 30 both the test and this plan are "
                    "unreliable."
                )
    training, cuts = setting.training_rows, setting.cuts
    reach = outlook.reach(training)
    if reach == "below":
        out.append(
            f"the rule was not studied with as few as {training[0]:,} training rows: "
            "that part is extrapolated."
        )
    if reach == "beyond":
        out.append(
            f"the rule was not studied with as many as {training[-1]:,} training rows."
        )
    if cuts.reason is not None:
        split = ", as in the paper's split" if len(cuts.ends) == 1 else ""
        first = (
            f"with {setting.rows:,} rows the first block of a forward repetition takes"
        )
        out.append(
            f"{first} {100 * cuts.ends[0]:g}% of them{split}: it must hold "
            f"{cuts.reason}."
        )
    return out


# Words and tables. ----


def describe_plan(plan: PowerPlan) -> list[str]:
    """The power in the setting asked for, the rows that suffice, and both schemes
    beside each other.
    """
    power = describe_power(plan.asked, plan.setting.repetitions)
    findings = []
    if plan.asked.low is None:
        power = f"With {power}"
    else:
        power = f"This one says: with {power}"
        findings.append(
            f"Another pilot of this size could have said {number(plan.asked.low)} to "
            f"{number(plan.asked.high)}, an 80% range of the audit's power."
        )
    if plan.hopeless:
        most = max(size.most_tried for size in plan.sample_sizes)
        never = f"no number of rows up to {most:,} makes that {number(plan.wanted)}"
        return [*findings, f"{power}, and {never}."]
    error = number(plan.asked.error, 3)
    return [
        *findings,
        f"{power} (Monte Carlo error {error}).",
        *(describe_size(size, plan.wanted, plan.learns) for size in plan.sample_sizes),
        compare_schemes(*plan.sample_sizes),
    ]


def describe_power(point: PowerPoint, repetitions: int) -> str:
    noun = "repetition" if repetitions == 1 else "repetitions"
    how = f"{repetitions} forward {noun}"
    if point.scheme == "split":
        how = f"{repetitions} {noun} of {describe_scheme(point)}"
    return (
        f"{point.rows:,} rows and {how}, the audit rejects with probability "
        f"{number(point.power)}"
    )


def describe_size(size: SampleSize, wanted: float, learns: bool) -> str:
    start = f"To reach {number(wanted)} by {describe_scheme(size)}:"
    if size.rows is None:
        return f"{start} more than {size.most_tried:,} rows, or no number of rows."
    low = f"{size.rows_low:,}" if size.rows_low else "fewer"
    high = f"{size.rows_high:,}" if size.rows_high else "more"
    text = f"{start} {size.rows:,} rows (Monte Carlo error: {low} to {high})"
    if not learns:
        return f"{text}."
    least = f"more than {size.most_tried:,}, or never"
    if size.rows_at_low_end is not None:
        least = f"{size.rows_at_low_end:,}"
    return f"{text}; at the lower end of that range, {least}."


def compare_schemes(forward: SampleSize, split: SampleSize) -> str:
    """Which scheme needs fewer rows; at least one has a number of rows that
    suffices.
    """
    blocks = describe_scheme(forward)
    halves = describe_scheme(split)
    if forward.rows is None:
        text = f"{halves} would reach it, and {blocks} would not"
    elif split.rows is None:
        text = f"{blocks} would reach it, and {halves} would not"
    else:
        share = forward.rows / split.rows
        text = f"{blocks} need {share:.0%} of the rows that {halves} needs"
    return f"Side by side: {text}. Declare the scheme before the audit."


def print_curve(curve: Sequence[PowerPoint]) -> list[str]:
    """Power against rows as a table of text."""
    rows = [f"{point.rows:,}" for point in curve]
    cells = {
        f"rows, {name_scheme(curve[0])}": rows,
        "  power": [number(point.power) for point in curve],
        "  Monte Carlo error": [number(point.error, 3) for point in curve],
    }
    if curve[0].low is not None:
        cells["  80% low"] = [number(point.low) for point in curve]
        cells["  80% high"] = [number(point.high) for point in curve]
    width = max(6, *map(len, rows)) + 1
    lines = []
    for name, line in cells.items():
        padded = [f"{cell:>{width}}" for cell in line]
        lines.append(f"{name:<20}" + "".join(padded))
    return lines


def tabulate_points(points: Sequence[PowerPoint], backend: Any) -> Any:
    """Points as a data frame of the caller's own kind."""
    columns = {
        name: [getattr(point, name) for point in points] for name in vars(points[0])
    }
    return build_frame(columns, backend)


def name_scheme(point: PowerPoint) -> str:
    if point.train_fraction is None:
        return "forward"
    return f"split at {100 * point.train_fraction:g}%"


def describe_scheme(planned: PowerPoint | SampleSize) -> str:
    if planned.train_fraction is None:
        return "forward repetitions"
    return f"the paper's split with {100 * planned.train_fraction:g}% for training"


def number(value: float | None, digits: int = 2) -> str:
    """A share as it is printed: .83, >.99, <.001."""
    if value is None:
        return "-"
    least = 10**-digits
    shown = min(max(value, least), 1 - least)
    return (
        f"{'<' if value < least else '>' if value > 1 - least else ''}"
        f"{f'{shown:.{digits}f}'[1:]}"
    )
