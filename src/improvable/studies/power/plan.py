"""Plans of an audit: how likely it is to reject, from a pilot or from assumptions, and
the rows that suffice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.data.frame import FrameLike
from improvable.errors import OptionError
from improvable.question.claim import Claim, check_claim, make_claim
from improvable.question.options import check_integer, check_number
from improvable.question.settings import Scheme
from improvable.report.text import paragraph
from improvable.studies.power import simulate
from improvable.studies.power.assumptions import AssumedGroup, Outlook, assume
from improvable.studies.power.learning import MIN_FITS, Learning, frame_of, learn
from improvable.studies.power.simulate import PLAN_ROWS, PowerPoint, SampleSize, Setting

if TYPE_CHECKING:
    import altair as alt

TRAIN_FRACTIONS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7)
REPETITIONS = (1, 3, 7, 15)
MULTIPLES = (0.25, 0.5, 0.75, 1.25, 1.5, 2.0)  # of the rows that reach the wanted power
SHARES = {
    "delta_accuracy": (0.0, 0.02, 0.05, 0.1),
    "delta_fairness": (0.0, 0.1, 0.25, 0.5),
}
NOT_EVIDENCE = (
    "Power at an estimated or assumed effect is not evidence that the effect exists."
)
OTHER_ROWS = (
    "Plan on rows other than those to be audited: a train fraction or a rule chosen "
    "because it does well on some rows cannot be tested at the stated level on those "
    "rows."
)


@dataclass(frozen=True)
class Tried:
    """What is varied, one thing at a time; an empty field has its own default."""

    rows: tuple[int, ...] = ()
    train_fractions: tuple[float, ...] = ()
    repetitions: tuple[int, ...] = ()
    deltas_accuracy: tuple[float, ...] = ()
    deltas_fairness: tuple[float, ...] = ()


@dataclass(frozen=True)
class PowerPlan:
    """The result of `power_from_pilot` and `power_from_assumptions`.

    Attributes
    ----------
    asked : PowerPoint
        The power in the setting asked for.
    best : PowerPoint
        The most power of the paper's split among the train fractions tried, all else as
        asked.
    points : tuple of PowerPoint
        All curves.
    sample_sizes : tuple of SampleSize
        Side by side: forward repetitions, and the paper's split with the train fraction
        asked for and the best one.
    learns : bool
        Whether the candidate depends on training rows.
    basis, cautions : tuple of str
        What the plan rests on, and what to beware of.
    learned : Learning or None
        What the rule reached with more training rows; None without a pilot.
    """

    asked: PowerPoint
    best: PowerPoint
    points: tuple[PowerPoint, ...]
    sample_sizes: tuple[SampleSize, ...]
    wanted: float
    setting: Setting
    groups: tuple[str, ...]
    learns: bool
    basis: tuple[str, ...]
    cautions: tuple[str, ...]
    backend: Any = field(default="polars", repr=False)
    learned: Learning | None = field(default=None, repr=False)

    def learning(self) -> Learning:
        """The candidate's utilities and gap against the number of training rows, and
        whether more would help.
        """
        if self.learned is None:
            raise OptionError(
                "an assumed candidate does not learn.",
                "Plan from a pilot to see how the rule learns.",
            )
        return self.learned

    @property
    def best_fractions(self) -> list[float]:
        """The train fractions whose power the simulation cannot tell from the best."""
        tried = [
            (p.train_fraction, p.power)
            for p in self.points
            if p.varied == "train_fraction"
        ]
        return [
            one
            for one, power in tried
            if one is not None and self.best.power - power <= 2 * self.best.error
        ]

    @property
    def hopeless(self) -> bool:
        """Whether no number of rows that was tried reaches the wanted power, by any
        scheme.
        """
        return all(size.rows is None for size in self.sample_sizes)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain numbers and strings, ready for JSON."""
        import improvable

        asked, best, claim = self.asked, self.best, self.setting.claim.to_dict()
        return {
            "kind": "power",
            "power": asked.power,
            "error": asked.error,
            "range": None if asked.low is None else [asked.low, asked.high],
            **{
                name: getattr(asked, name)
                for name in ("rows", "scheme", "train_fraction", "repetitions")
            },
            "wanted": self.wanted,
            "sample_sizes": [asdict(size) for size in self.sample_sizes],
            "best_train_fraction": best.train_fraction,
            "best_power": best.power,
            "as_good_train_fractions": self.best_fractions,
            "alpha": self.setting.alpha,
            **{
                name: list(value) if isinstance(value, tuple) else value
                for name, value in claim.items()
            },
            "groups": list(self.groups),
            "points": [asdict(point) for point in self.points],
            "learning": None if self.learned is None else self.learned.to_dict(),
            "simulations": self.setting.simulations,
            "seed": self.setting.seed,
            "basis": list(self.basis),
            "words": self._findings(),
            "warnings": [*self.cautions, *self._notes()],
            "version": improvable.__version__,
        }

    def table(self) -> Any:
        """All points as a data frame of the pilot's own kind."""
        return frame_of(self.points, self.backend)

    def csv(self) -> str:
        """All points, in CSV."""
        return str(frame_of(self.points, "polars").write_csv())

    def summary(self) -> str:
        """The plan in words, with the curves as tables."""
        findings, last = (
            self._findings(),
            [f"Caution: {text}" for text in self.cautions],
        )
        if self.hopeless:
            return "\n".join(map(paragraph, [*findings, *last]))
        learned = [] if self.learned is None else [self.learned.summary(), ""]
        parts = [
            *map(paragraph, findings),
            "",
            *map(paragraph, self.basis),
            "",
            *self._tables(),
            "",
            *learned,
        ]
        return "\n".join([*parts, *map(paragraph, [*self._notes(), *last])])

    def plot(self) -> "alt.LayerChart":
        """Power against rows: of forward repetitions, and of the paper's split, as
        asked for and at its best.
        """
        from improvable.report.plots import power_curves

        points = [p for p in self.points if p.varied == "rows"]
        rows = [
            {"x": p.rows, "series": _scheme_name(p), "power": p.power, "error": p.error}
            for p in points
        ]
        widest = max(p.rows for p in points)
        marks = [
            size.rows
            for size in self.sample_sizes
            if size.rows is not None and size.rows <= widest
        ]
        times, repetitions = self.setting.simulations, self.asked.repetitions
        subtitle = [
            f"{times:,} simulated audits per point; repetitions in each: {repetitions}."
        ]
        subtitle += (
            [f"Dotted: rows that reach a power of {self.wanted:g}."] if marks else []
        )
        title = "Probability that the audit rejects"
        return power_curves(
            rows,
            x_title="rows",
            title=title,
            subtitle=subtitle,
            level=self.setting.alpha,
            marks=marks,
        )

    def _findings(self) -> list[str]:
        asked, best = self.asked, self.best
        times = (
            f"{asked.repetitions} "
            f"{'repetition' if asked.repetitions == 1 else 'repetitions'}"
        )
        how = (
            times.replace(" ", " forward ")
            if asked.scheme == "forward"
            else f"{times} of {_scheme_words(asked)}"
        )
        says = (
            f"with {asked.rows:,} rows and {how}, the audit rejects with probability "
            f"{number(asked.power)}"
        )
        low, high = number(asked.low), number(asked.high)
        other = (
            f"Another pilot of this size could have said {low} to {high}, an 80% range "
            "of the audit's power."
        )
        out = [] if asked.low is None else [other]
        says = f"This one says: {says}" if out else f"W{says[1:]}"
        if self.hopeless:
            most = max(size.most_tried for size in self.sample_sizes)
            return [
                *out,
                (
                    f"{says}, and no number of rows up to {most:,} makes that "
                    f"{number(self.wanted)}."
                ),
            ]
        out.append(f"{says} (Monte Carlo error {number(asked.error, 3)}).")
        out += [
            self._size_words(size)
            for size in (self.sample_sizes if self.learns else self.sample_sizes[:2])
        ]
        forward, split = self.sample_sizes[:2]
        one, other = _scheme_words(forward), _scheme_words(split)
        if forward.rows is not None and split.rows is not None:
            text = (
                f"{one} need {forward.rows / split.rows:.0%} of the rows that {other} "
                "needs"
            )
        elif forward.rows is None and split.rows is None:
            text = f"neither {one} nor {other} would reach it"
        else:
            reached, not_reached = (one, other) if split.rows is None else (other, one)
            text = f"{reached} would reach it, and {not_reached} would not"
        out.append(f"Side by side: {text}. Declare the scheme before the audit.")
        same = [
            f"{fraction:g}"
            for fraction in self.best_fractions
            if fraction != best.train_fraction
        ]
        also = f"; within Monte Carlo error of it: {', '.join(same)}" if same else ""
        if not self.learns:
            also += (
                "; but the assumed candidate does not learn, so leave a real rule "
                "enough rows"
            )
        out.append(
            "Best train fraction of the paper's split, of those tried: "
            f"{best.train_fraction:g} (power {number(best.power)}, Monte Carlo error "
            f"{number(best.error, 3)}{also})."
        )
        if any(
            point.varied == "repetitions" and point.repetitions == 1
            for point in self.points
        ):
            levels = "One repetition is tested at alpha and several at alpha / 2"
            out.append(
                f"{levels}, but the verdict of one depends on the random order of the "
                "rows."
            )
        return out

    def _size_words(self, size: SampleSize) -> str:
        start = f"To reach {number(self.wanted)} by {_scheme_words(size)}:"
        if size.rows is None:
            return f"{start} more than {size.most_tried:,} rows, or no number of rows."
        low = f"{size.rows_low:,}" if size.rows_low else "fewer"
        high = f"{size.rows_high:,}" if size.rows_high else "more"
        text = f"{start} {size.rows:,} rows (Monte Carlo error: {low} to {high})"
        if not self.learns:
            return f"{text}."
        never = f"more than {size.most_tried:,}, or never"
        least = never if size.rows_at_low_end is None else f"{size.rows_at_low_end:,}"
        return f"{text}; at the lower end of that range, {least}."

    def _notes(self) -> list[str]:
        return [NOT_EVIDENCE, OTHER_ROWS] if self.learns else [NOT_EVIDENCE]

    def _tables(self) -> list[str]:
        out = []
        for varied in dict.fromkeys(point.varied for point in self.points):
            several = [p for p in self.points if p.varied == varied]
            for how in (
                dict.fromkeys(map(_scheme_name, several))
                if varied == "rows"
                else [None]
            ):
                curve = [p for p in several if how in (None, _scheme_name(p))]
                head = varied.replace("_", " ") + ("" if how is None else f", {how}")
                lines = {
                    head: [
                        f"{x:,}" if isinstance(x, int) else f"{x:g}"
                        for x in (getattr(p, varied) for p in curve)
                    ],
                    "  power": [number(p.power) for p in curve],
                    "  Monte Carlo error": [number(p.error, 3) for p in curve],
                }
                if curve[0].low is not None:
                    lines["  80% low"] = [number(p.low) for p in curve]
                    lines["  80% high"] = [number(p.high) for p in curve]
                width = max(6, *(len(text) for text in lines[head])) + 1
                out += [
                    f"{name:<20}" + "".join(f"{cell:>{width}}" for cell in line)
                    for name, line in lines.items()
                ]
        return out


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
    tried : Tried, optional
        Other values of what is varied.
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
    outlook, study, learned = learn(data, rows, sizes, fits, question, seed)
    total = int(study.setting["rows"]) if rows is None else rows
    setting = replace(
        setting, rows=total, claim=study.question.claim, teaching=outlook.teaching
    )
    cautions = [
        caution.text
        for caution in study.cautions
        if caution.kind in ("dropped", "groups")
    ]
    return replace(
        _plan(outlook, setting, wanted, tried or Tried(), cautions),
        backend=study.backend,
        learned=learned,
    )


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
    """Plan an audit from assumed utilities and selection rates, for the mean outcome
    among the selected (calibration).

    The candidate is taken as fixed: it does not get better with training rows.

    Parameters
    ----------
    groups : sequence of AssumedGroup
    rows : int
        Rows that the audit will have.
    scheme, repetitions, train_fraction, alpha, wanted, tried, simulations, seed
        As in `power_from_pilot`.
    **claim
        delta_accuracy, delta_fairness, form, gap, protected, overall, ask and no_worse,
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
    asked = make_claim(**claim, accuracy=["calibration"], fairness=["calibration"])
    outlook = assume(groups)
    check_claim(
        asked, [attribute.levels for attribute in outlook.attributes], ["calibration"]
    )
    how = scheme, train_fraction, outlook.teaching, simulations, seed
    return _plan(
        outlook,
        Setting(rows, repetitions, asked, alpha, *how),
        wanted,
        tried or Tried(),
    )


def _plan(
    outlook: Outlook,
    setting: Setting,
    wanted: float,
    tried: Tried,
    cautions: Sequence[str] = (),
) -> PowerPlan:
    fractions = sorted(
        {*(tried.train_fractions or TRAIN_FRACTIONS), setting.train_fraction}
    )
    repetitions = sorted({*(tried.repetitions or REPETITIONS), setting.repetitions})
    varied = {
        "train_fraction": [
            replace(setting, scheme="split", train_fraction=fraction)
            for fraction in fractions
        ],
        "repetitions": [replace(setting, repetitions=k) for k in repetitions],
    }
    for name, deltas in (
        ("delta_accuracy", tried.deltas_accuracy),
        ("delta_fairness", tried.deltas_fairness),
    ):
        usual = setting.claim.form == "ratio" and not isinstance(
            getattr(setting.claim, name), Mapping
        )
        deltas = deltas or (SHARES[name] if usual else ())
        for delta in deltas:
            check_number(name, delta, -np.inf, np.inf)
        # which is another word for a delta
        margin = {} if name == "delta_fairness" else {"no_worse": None}
        claims = [
            replace(setting.claim, **{name: float(delta)}, **margin)  # type: ignore[arg-type]
            for delta in deltas
        ]
        varied[name] = [replace(setting, claim=claim) for claim in claims]
    views = [outlook, *simulate.range_of_outlooks(outlook, setting)]

    def curve(name: str, several: Sequence[Setting]) -> list[PowerPoint]:
        return [simulate.power_point(name, one, views) for one in several]

    curves = {name: curve(name, several) for name, several in varied.items()}
    best = max(curves["train_fraction"], key=lambda point: point.power)
    compared = dict.fromkeys([setting.train_fraction, best.train_fraction or 0.0])
    schemes = [replace(setting, scheme="forward")]
    schemes += [
        replace(setting, scheme="split", train_fraction=fraction)
        for fraction in compared
    ]
    sizes = [simulate.sample_size(one, wanted, views) for one in schemes]
    # By default the rows tried are some around those that reach the wanted power.
    enough = [size.rows for size in sizes if size.rows is not None]
    around = [
        max(PLAN_ROWS, simulate.rounded(multiple * (*enough, setting.rows)[0]))
        for multiple in MULTIPLES
    ]
    rows = sorted({*(tried.rows or (*around, *enough)), setting.rows})
    by_rows = [curve("rows", [replace(one, rows=n) for n in rows]) for one in schemes]
    return PowerPlan(
        asked=by_rows[schemes.index(setting)][rows.index(setting.rows)],
        best=best,
        points=tuple(
            point for several in (*by_rows, *curves.values()) for point in several
        ),
        sample_sizes=tuple(sizes),
        wanted=wanted,
        setting=setting,
        groups=tuple(
            level for attribute in outlook.attributes for level in attribute.levels
        ),
        learns=outlook.learns,
        basis=outlook.basis,
        cautions=(*cautions, *_doubts(outlook, setting)),
    )


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


def _scheme_name(one: PowerPoint) -> str:
    return (
        "forward"
        if one.train_fraction is None
        else f"split at {100 * one.train_fraction:g}%"
    )


def _scheme_words(one: PowerPoint | SampleSize) -> str:
    fraction = one.train_fraction
    return (
        "forward repetitions"
        if fraction is None
        else f"the paper's split with {100 * fraction:g}% for training"
    )


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
