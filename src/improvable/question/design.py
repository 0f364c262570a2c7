"""What was asked: the question of a comparison or an audit, checked once before any row
is read.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from math import inf, isfinite
from typing import Any, Literal

from improvable.errors import OptionError
from improvable.question.catalog import as_accuracy, as_utility
from improvable.question.claim import MEANINGS, Claim, make_claim
from improvable.question.options import (
    as_names,
    as_specs,
    check_choice,
    check_integer,
    check_number,
    check_types,
)
from improvable.question.settings import (
    SETTINGS,
    Assume,
    Groups,
    Method,
    Settings,
    plain_about,
)
from improvable.question.utility import Measure, Selection, Utility

MIN_DRAWS, MAX_DRAWS = 100, 10_000_000
MAX_SEED = (1 << 128) - 1
# what is counted beside a utility whose outcomes are unknown for some
UNKNOWN = ("width", "unit")
Assumed = Assume | Literal["known"] | None

WEIGHTED_RIGHT = (
    "among people with the same probabilities, outcomes and decisions do not depend on "
    "the group"
)
LINEAR_RIGHT = (
    "within a group, outcomes and decisions do not depend on the probabilities"
)
ASSUMED: dict[str, str] = {
    "between": (
        "Every condition has two estimates, weighted by the probabilities and by "
        "regression on them (linear), and both must show it. The first is right if "
        f"{WEIGHTED_RIGHT}, the second if {LINEAR_RIGHT}. The truth lies between them "
        "if what remains of either points the same way, which the data cannot show."
    ),
    "probabilities only": (
        f"Groups are weighted by probability, which is right only if {WEIGHTED_RIGHT}. "
        "Names and places seldom tell all that groups differ in: gaps then look "
        "smaller than they are."
    ),
    "group only": (
        "Groups are estimated by regression on the probabilities, which is right only "
        f"if {LINEAR_RIGHT}. Where they do, gaps can look larger than they are."
    ),
    "known": (
        "The rows whose group is known correct the others, which is right if they are "
        "a random sample; nothing else is assumed."
    ),
}
"""What makes probabilities of groups enough, in words."""


@dataclass(frozen=True)
class Question:
    """What a result remembers of what was asked: columns, measures, claim, level. Plain
    data.
    """

    outcome: str
    group: tuple[str, ...]  # columns: of groups, or of their probabilities
    accuracy: tuple[Measure, ...]
    fairness: tuple[Measure, ...]
    claim: Claim
    draws: int
    alpha: float
    seed: int
    weight: str | None = None  # a column, as the next two
    cluster: str | None = None
    stratum: str | None = None
    # how draws are made; None lets the number of cells decide
    method: Method | None = None
    # the lowest and the highest outcome that there can be
    outcome_range: tuple[float, float] | None = None
    about: dict[str, Any] = field(default_factory=dict)  # what was given of `About`
    # what makes probabilities of groups enough; None without these
    assume: Assumed = None
    # by how much means of unknown outcomes may differ from those of known ones; None
    # where every outcome is known
    unknown_outcomes: float | None = None

    @property
    def selection(self) -> Selection:
        return self.claim.selection

    @property
    def lower_is_better(self) -> bool:
        return self.claim.lower_is_better

    def to_dict(self) -> dict[str, Any]:
        meanings = {name: getattr(self.claim, name) for name in MEANINGS}
        return {**asdict(self), "claim": self.claim.to_dict(), **meanings}

    @staticmethod
    def from_dict(plain: Mapping[str, Any]) -> "Question":
        given = {name: value for name, value in plain.items() if name not in MEANINGS}
        given |= {
            name: tuple(Measure(**one) for one in plain[name])
            for name in ("accuracy", "fairness")
        }
        given["claim"] = Claim(
            **plain["claim"], **{name: plain[name] for name in MEANINGS}
        )
        given["group"] = tuple(plain["group"])
        given["outcome_range"] = (
            None if plain["outcome_range"] is None else tuple(plain["outcome_range"])
        )
        question = Question(**given)
        for part in (question, question.claim, *question.accuracy, *question.fairness):
            check_types(part)
        check_number("alpha", question.alpha, 0, 0.5)
        return question


@dataclass(frozen=True)
class Design:
    """A question with what is needed to answer it from rows."""

    question: Question
    groups: Groups
    # the pairs (u, w) that rows contribute to; the means of formulas are among them
    utilities: tuple[Utility, ...]
    accuracy: tuple[int, ...]  # which of `measures` are asked about
    fairness: tuple[int, ...]
    formulas: tuple[Utility, ...] = ()  # functions of several of `utilities`

    @property
    def measured(self) -> tuple[Utility, ...]:
        """All that has a value: pairs first, then formulas."""
        return (*self.utilities, *self.formulas)

    @property
    def measures(self) -> tuple[Measure, ...]:
        out = []
        for one in self.measured:
            places = (
                [self.utilities.index(part) for part in one.ingredients]
                if one.formula
                else ()
            )
            averages = one.averages_outcome and one.outcome is None
            bounds = self.question.outcome_range if averages else None
            out.append(
                replace(one.measure(self.question.outcome, places), bounds=bounds)
            )
        if self.question.unknown_outcomes is not None:
            out += [
                replace(one, label=f"{one.label}, {words}", words=words)
                for words in UNKNOWN
                for one in out
            ]
        return tuple(out)

    @property
    def pairs(self) -> int:
        """How many sums (u, w) a row adds to: with unknown outcomes, each utility has
        two more (`unknown`).
        """
        return len(self.utilities) * (
            1 if self.question.unknown_outcomes is None else 1 + len(UNKNOWN)
        )

    @property
    def outcome_columns(self) -> list[str]:
        named = [utility.outcome or self.question.outcome for utility in self.utilities]
        return list(dict.fromkeys([self.question.outcome, *named]))

    @property
    def labeled(self) -> tuple[str, ...]:
        """Columns of groups, not of their probabilities."""
        if not self.groups.probabilities:
            return self.question.group
        return () if self.groups.known is None else (self.groups.known,)

    @property
    def label_columns(self) -> list[str]:
        named = (self.question.cluster, self.question.stratum)
        return [*self.question.group, *(name for name in named if name is not None)]


def make_design(settings: Settings) -> Design:
    """Check the question before any row is read."""
    for setting in SETTINGS.values():
        value = getattr(settings, setting.name)
        if setting.choices and value is not None:
            check_choice(setting.name, value, setting.choices)
    outcome, columns, weight = (
        settings.outcome,
        as_names(settings.group),
        settings.weight,
    )
    assumed = _check_probabilities(settings)
    if settings.probabilities:
        columns = tuple(column for _, column in sorted(settings.probabilities.items()))
    if not columns:
        hint = "Name the column that says which group a row belongs to: `group=...`."
        raise OptionError("no group column is named.", hint)
    if outcome in columns:
        raise OptionError(
            f"'{outcome}' is named as outcome and as group.",
            "They must be two columns.",
        )
    if weight is not None and weight in (outcome, *columns, settings.cluster):
        raise OptionError(
            f"'{weight}' is named as weight and as something else.",
            "Name the column of weights.",
        )
    check_integer("min_group", settings.min_group, 0)
    lower = bool(settings.lower_is_better)
    named = [as_accuracy(spec, lower) for spec in as_specs(settings.accuracy)]
    gaps = (
        named
        if settings.fairness is None
        else [as_utility(spec) for spec in as_specs(settings.fairness)]
    )
    accuracies, fairnesses = (
        [one.meant(settings.selection, lower) for one in some] for some in (named, gaps)
    )
    asked = list(dict.fromkeys([*accuracies, *fairnesses]))
    utilities = tuple(dict.fromkeys(part for one in asked for part in one.ingredients))
    formulas = tuple(one for one in asked if one.formula)
    measured = (*utilities, *formulas)
    claim = make_claim(
        **{one.name: getattr(settings, one.name) for one in fields(Claim)}
    )
    check_number("alpha", settings.alpha, 0, 0.5)
    check_integer("draws", settings.draws, MIN_DRAWS, MAX_DRAWS)
    check_integer("seed", settings.seed, 0, MAX_SEED)
    if settings.stratum is not None and settings.cluster is None:
        raise OptionError(
            "`stratum` goes with a cluster.",
            "Name the column of clusters too: `cluster=...`.",
        )
    ends = settings.outcome_range
    if ends is not None and (
        len(ends) != 2 or not all(map(isfinite, ends)) or not ends[0] < ends[1]
    ):
        hint = "Give the lowest and the highest amount: `outcome_range=(0, 50000)`."
        raise OptionError(f"`outcome_range` is {list(ends)!r}.", hint)
    if settings.unknown_outcomes is not None:
        if not 0 <= settings.unknown_outcomes < inf:
            hint = "It is a difference of means: 0, or above, such as 0.1."
            raise OptionError(
                f"`unknown_outcomes` is {settings.unknown_outcomes:g}.", hint
            )
        if formulas:
            hint = "Use 'calibration', the mean outcome among the selected."
            raise OptionError(
                (
                    "the worst case of unknown outcomes is not known for "
                    f"'{formulas[0].label}'."
                ),
                hint,
            )
    question = Question(
        outcome=outcome,
        group=columns,
        accuracy=tuple(utility.measure(outcome) for utility in accuracies),
        fairness=tuple(utility.measure(outcome) for utility in fairnesses),
        claim=claim,
        draws=int(settings.draws),
        alpha=float(settings.alpha),
        seed=int(settings.seed),
        outcome_range=None if ends is None else (float(ends[0]), float(ends[1])),
        about=plain_about(settings),
        unknown_outcomes=None
        if settings.unknown_outcomes is None
        else float(settings.unknown_outcomes),
        assume=assumed,
        **{
            name: getattr(settings, name)
            for name in ("weight", "cluster", "stratum", "method")
        },
    )
    named_so = ("cross", "probabilities", "assume", "known", "rake")
    levels: dict[str, Any] = {name: getattr(settings, name) for name in named_so}
    return Design(
        question=question,
        groups=Groups(
            columns,
            only=settings.groups or (),
            min_group=int(settings.min_group),
            **levels,
        ),
        utilities=utilities,
        accuracy=tuple(measured.index(utility) for utility in accuracies),
        fairness=tuple(measured.index(utility) for utility in fairnesses),
        formulas=formulas,
    )


def _check_probabilities(settings: Settings) -> Assumed:
    """What makes probabilities of groups enough; None where groups are known."""
    given = settings.probabilities
    if not given:
        for name in ("assume", "known", "rake"):
            if getattr(settings, name) is not None:
                hint = (
                    "Name the column of each group's probability: "
                    "`probabilities={'white': 'p_white', ...}`."
                )
                raise OptionError(f"`{name}` goes with probabilities of groups.", hint)
        return None
    if as_names(settings.group):
        raise OptionError(
            "groups are named by a column and by probabilities.",
            "Give one of them; see `known`.",
        )
    if settings.groups or settings.cross:
        hint = "Name in `probabilities` the groups that count, and no others."
        raise OptionError("`groups` and `cross` are for groups that are known.", hint)
    if settings.selection_gap is not None:
        hint = (
            "Leave it out, and ask about the gap instead: `fairness='selection_rate'`."
        )
        raise OptionError(
            "`selection_gap` needs each person's group, and groups are probabilities.",
            hint,
        )
    if len(given) < 2 or len(set(given.values())) < len(given):
        hint = "Name at least two groups, each with a column of its own."
        raise OptionError(
            f"`probabilities` has {', '.join(f'{g}={c}' for g, c in given.items())}.",
            hint,
        )
    if settings.rake is not None:
        shares = [*settings.rake.values()]
        if (
            set(settings.rake) != set(given)
            or min(shares) <= 0
            or sum(shares) > 1 + 1e-9
        ):
            hint = (
                "Give one share above 0 for every group of `probabilities`; they sum "
                "to at most 1."
            )
            raise OptionError(f"`rake` is {dict(settings.rake)}.", hint)
    if settings.known is not None:
        if settings.assume is not None:
            raise OptionError(
                "`assume` and `known` are both given.",
                "Known groups need no assumption; leave it out.",
            )
        return "known"
    if settings.assume in (None, "between") and isinstance(settings.overall, Mapping):
        hint = (
            "Use `overall='population'`, or choose one estimator: "
            "`assume='probabilities only'`."
        )
        raise OptionError(
            "weights of groups in `overall` need one estimate of each group.", hint
        )
    return settings.assume or "between"
