"""How large an improvement the data support: p-values of every delta, the exact edge,
bounds in words (Figure 3).
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
from numpy.typing import ArrayLike

from improvable._typing import FloatArray
from improvable.errors import OptionError
from improvable.inference.critical import (
    Conditions,
    CriticalDeltas,
    critical_deltas,
    largest_delta,
    p_values,
)
from improvable.inference.evidence import EVERYONE, Evidence
from improvable.inference.test import lower_median, threshold_for
from improvable.inference.upper import parts_of, upper_bound
from improvable.question.claim import Ask, Claim, Form, Gap, every_delta
from improvable.question.options import check_choice
from improvable.results.formatting import confidence, number_or_null

if TYPE_CHECKING:
    from improvable.results.result import Result

NO_LOSS = {"fairness": " with no loss of accuracy", "accuracy": " with no wider gap"}


@dataclass(frozen=True)
class Bound:
    """The largest improvement that is supported, or not ruled out, in one respect, with
    no loss in the others.

    Attributes
    ----------
    what : str
        "fairness", "accuracy", or "accuracy of GROUP".
    value : float
        The supremum of the deltas that are rejected; minus infinity where none is. Of
        `Frontier.at_most`, what no larger delta can be: 0 where nothing improves,
        infinite where nothing is ruled out.
    words : str
    size : str
        The value in words, rounded down, or up in `at_most`; empty where nothing is
        shown, or ruled out.
    """

    what: str
    value: float
    words: str
    size: str = ""


@dataclass(frozen=True)
class Frontier:
    """The deltas that the data support, from kept draws: nothing is refitted or
    resampled.

    Attributes
    ----------
    repetitions : tuple of CriticalDeltas
    alpha : float
    form : {"ratio", "difference"}
    gap : {"signed", "absolute"}
        The statistic that decides; bounds always rest on the signed one.
    groups : tuple of str
        Whose accuracy is asked for.
    simultaneous : bool
        Whether all bounds and corners hold at once with confidence 1 - alpha. Otherwise
        each does separately: of the bounds of one comparison some bound is wrong more
        often.
    ask : {"both", "accuracy", "fairness"}
        Which conditions must hold; the deltas of the others change nothing.
    lower_is_better : bool
        Whether more accurate means a lower value.
    evidence, claim, tested
        What upper bounds are computed from: sums and draws of every repetition, the
        claim with the deltas that were asked for, and whose improvement it is, in
        words.
    """

    repetitions: tuple[CriticalDeltas, ...]
    alpha: float
    form: Form
    gap: Gap
    groups: tuple[str, ...]
    simultaneous: bool = False
    ask: Ask = "both"
    lower_is_better: bool = False
    evidence: tuple[Evidence, ...] = field(default=(), repr=False, compare=False)
    claim: Claim = field(default_factory=Claim)
    tested: str = "the candidate"

    @property
    def components(self) -> int:
        """How many conditions there are, each of which may be wrongly rejected: gains
        of groups, and gaps.
        """
        return sum(map(len, self.repetitions[0].accuracy.values())) + len(
            self.repetitions[0].absolute
        )

    @property
    def level(self) -> float:
        """What a p-value must be strictly below; for simultaneous bounds, alpha is
        shared among the components.
        """
        alpha = self.alpha / self.components if self.simultaneous else self.alpha
        return threshold_for(alpha, len(self.repetitions))

    def surface(
        self, accuracy: ArrayLike, fairness: ArrayLike, gap: Gap | None = None
    ) -> FloatArray:
        """p-values on a grid, shape (accuracy deltas, fairness deltas).

        The claim at a point asks the same delta of every group, as Figure 3 does. Any
        finite delta is allowed.
        """
        # Any real delta, as in the paper: at -1 a share of accuracy asks for more than
        # nothing.
        a, f = (np.asarray(deltas, dtype=np.float64) for deltas in (accuracy, fairness))
        for name, grid in (("accuracy", a), ("fairness", f)):
            if grid.ndim != 1 or len(grid) == 0 or not np.isfinite(grid).all():
                wrong = f"the grid of {name} deltas is not a list of numbers."
                raise OptionError(wrong, "Any finite delta is allowed.")
        both = [
            (p_values(self.of_accuracy(one), a), p_values(self.of_gap(one, gap), f))
            for one in self.repetitions
        ]
        return lower_median(
            [np.maximum.outer(p_accuracy, p_gap) for p_accuracy, p_gap in both]
        )

    def p_value(
        self, accuracy: float = 0.0, fairness: float = 0.0, gap: Gap | None = None
    ) -> float:
        """The p-value of one claim."""
        return float(self.surface([accuracy], [fairness], gap)[0, 0])

    def edge(
        self, gap: Gap | None = None, *, simultaneous: bool = False
    ) -> list[tuple[float, float]]:
        """Corners of the region that is rejected, as (accuracy, fairness) deltas: below
        and left of a corner, rejected.

        Each repetition rejects a rectangle; the region where enough of them do is a
        staircase. Where `simultaneous`, the whole staircase holds at once; otherwise
        each corner does.
        Where only accuracy or only fairness is asked for, the other delta of a corner
        is infinite.
        """
        if simultaneous and not self.simultaneous:
            return replace(self, simultaneous=True).edge(gap)
        conditions = [
            (self.of_accuracy(one), self.of_gap(one, gap)) for one in self.repetitions
        ]
        corners = [
            (largest_delta(a, self.level), largest_delta(f, self.level))
            for a, f in conditions
        ]
        staircase: list[tuple[float, float]] = []
        for a in sorted({corner[0] for corner in corners}, reverse=True):
            f = self._combined([f if other >= a else -np.inf for other, f in corners])
            if f > -np.inf and (not staircase or f > staircase[-1][1]):
                staircase.append((a, f))
        return staircase

    def bounds(self, gap: Gap = "signed", *, simultaneous: bool = False) -> list[Bound]:
        """What is supported with confidence 1 - alpha, in each respect asked for, with
        no loss in the others.

        Each bound holds separately; where `simultaneous`, all of them do at once.
        """
        if simultaneous and not self.simultaneous:
            return replace(self, simultaneous=True).bounds(gap)
        asked = [
            what for what in ("fairness", "accuracy") if self.ask in ("both", what)
        ]
        out = [Bound(what, *self._bound(what, None, gap)) for what in asked]
        if len(self.groups) > 1 and "accuracy" in asked:
            out += [
                Bound(f"accuracy of {g}", *self._bound("accuracy", g, gap))
                for g in self.groups
            ]
        return out

    def _bound(self, what: str, group: str | None, gap: Gap) -> tuple[float, str, str]:
        edges = []
        for one in self.repetitions:
            asked = [
                g for g in one.accuracy if what == "accuracy" and group in (None, g)
            ]
            others = self.of_accuracy(one, [g for g in one.accuracy if g not in asked])
            if what == "fairness":
                own = self.of_gap(one, gap)
            else:
                own, others = (
                    self.of_accuracy(one, asked),
                    others + self.of_gap(one, gap),
                )
            holds = float(p_values(others, np.array([0.0]))[0]) < self.level
            edges.append(largest_delta(own, self.level) if holds else -np.inf)
        value = self._combined(edges)
        size = _rounded(value, self.form) if np.isfinite(value) and value > 0 else ""
        return value, self._words(what, group, size), size

    def _combined(self, edges: Sequence[float]) -> float:
        """The edge that enough repetitions reach: as many as make their lower median
        reject.
        """
        return sorted(edges, reverse=True)[(len(edges) - 1) // 2]

    def _words(self, what: str, group: str | None, size: str) -> str:
        kept = NO_LOSS[what] if self.ask == "both" else ""
        # then there are several, and only accuracy is asked for
        if not kept and group is not None:
            kept = " with no loss to another group"
        whose = "" if self.groups == (EVERYONE,) else f" of {group or 'every group'}"
        rise = "improve" if self.lower_is_better else "rise"
        change = (
            "the gap can be cut"
            if what == "fairness"
            else f"the accuracy{whose} can {rise}"
        )
        if not size:
            return f"The data do not show that {change}{kept}."
        sure = (
            f"With {confidence(self.alpha)} "
            f"confidence{' in all bounds at once' if self.simultaneous else ''}"
        )
        return f"{sure}, {change} by at least {size}{kept}."

    def at_most(self) -> list[Bound]:
        """What is ruled out with confidence 1 - alpha, in each respect asked for, each
        separately.

        The others have the deltas that the claim asks for: no loss, unless it says
        otherwise. What is bounded is what was tested; another rule may find more. By
        the signed statistic.
        """
        out, level = [], threshold_for(self.alpha, len(self.repetitions))
        for what in (
            what for what in ("fairness", "accuracy") if self.ask in ("both", what)
        ):
            found = [
                upper_bound(parts_of(one, self.claim, what, self.form), level)
                for one in self.evidence
            ]
            value = sorted(found)[(len(found) - 1) // 2]
            size = _rounded(value, self.form, up=True) if np.isfinite(value) else ""
            out.append(Bound(what, value, self._words_at_most(what, value, size), size))
        return out

    def _words_at_most(self, what: str, value: float, size: str) -> str:
        whose = "" if self.groups == (EVERYONE,) else " of every group"
        raises = "improve" if self.lower_is_better else "raise"
        does, change = (
            ("cut", "the gap")
            if what == "fairness"
            else (raises, f"the accuracy{whose}")
        )
        deltas = [self.claim.delta_fairness]
        if what == "fairness":
            deltas = every_delta(self.claim.delta_accuracy)
        kept = NO_LOSS[what] if self.ask == "both" else ""
        if kept and any(deltas):
            kept = (
                f" with the {'accuracy' if what == 'fairness' else 'gap'} that the "
                "claim asks for"
            )
        without = kept.replace(" with no ", " without a ")
        if not size:
            return (
                f"Too few rows to tell how far {self.tested} can {does} "
                f"{change}{kept}: nothing is ruled out."
            )
        sure = f"With {confidence(self.alpha)} confidence, {self.tested}"
        found = (
            f"{does}s {change} by at most {size}{kept}"
            if value > 0
            else f"does not {does} {change}{without}"
        )
        return f"{sure} {found}."

    def of_accuracy(
        self, repetition: CriticalDeltas, groups: Sequence[str] | None = None
    ) -> Conditions:
        """The conditions on the accuracy of some groups, by default of all; none where
        it is not asked for.
        """
        if self.ask == "fairness":
            return ()
        return tuple(
            one
            for g in (repetition.accuracy if groups is None else groups)
            for one in repetition.accuracy[g]
        )

    def of_gap(self, repetition: CriticalDeltas, gap: Gap | None = None) -> Conditions:
        """The conditions on the gap by a statistic, by default the one that decides;
        none where it is not asked for.
        """
        if self.ask == "accuracy":
            return ()
        return (
            repetition.signed if (gap or self.gap) == "signed" else repetition.absolute
        )

    def bound_facts(self, at_most: bool = False) -> list[dict[str, Any]]:
        found = self.at_most() if at_most else self.bounds()
        return [
            asdict(bound) | {"value": number_or_null(bound.value)} for bound in found
        ]

    def to_dict(self) -> dict[str, Any]:
        return {
            "alpha": self.alpha,
            "form": self.form,
            "bounds": self.bound_facts(),
            "edge": {
                gap: [list(map(number_or_null, corner)) for corner in self.edge(gap)]
                for gap in get_args(Gap)
            },
        }


def _rounded(amount: float, form: Form, up: bool = False) -> str:
    """To a tenth of a percent, or to three digits: a lower bound is never rounded up,
    nor an upper one down.
    """
    if form == "ratio":
        tenths = np.ceil(amount * 1000 - 1e-9) if up else np.floor(amount * 1000 + 1e-9)
        return f"{abs(float(tenths)) / 10:g}%"
    step = Decimal(1).scaleb(Decimal(amount).adjusted() - 2)
    return f"{Decimal(amount).quantize(step, ROUND_CEILING if up else ROUND_FLOOR) if amount else Decimal(0):f}"  # noqa: E501


def make_frontier(result: "Result", form: str) -> Frontier:
    check_choice("form", form, get_args(Form))
    question, asked = result.question, result.question.claim
    claim = Claim(
        form=cast(Form, form),
        gap=asked.gap,
        protected=asked.protected,
        overall=asked.overall,
    )
    critical = tuple(
        critical_deltas(repetition.evidence, claim) for repetition in result.repetitions
    )
    groups, lower = tuple(critical[0].accuracy), question.lower_is_better
    return Frontier(
        critical,
        question.alpha,
        claim.form,
        claim.gap,
        groups,
        ask=asked.ask,
        lower_is_better=lower,
        evidence=tuple(one.evidence for one in result.repetitions),
        claim=asked,
        tested=result.tested,
    )
