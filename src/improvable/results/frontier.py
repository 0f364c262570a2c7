"""How large an improvement the data support: p-values of every delta, the exact edge, bounds in words (Figure 3)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from improvable.data.arrays import FloatArray
from improvable.errors import OptionError
from improvable.inference.combining import combine, combined_threshold, counted
from improvable.inference.critical import Conditions, CriticalDeltas, critical_deltas, largest_delta, p_values
from improvable.inference.evidence import Evidence
from improvable.question.checks import check_choice
from improvable.question.claim import Claim, Form, Gap
from improvable.question.design import Question
from improvable.question.settings import Combine

BOTH = ("signed", "absolute")


@dataclass(frozen=True)
class Bound:
    """The largest improvement that is supported in one respect, with no loss in the others.

    Attributes
    ----------
    what : str
        "fairness", "accuracy", or "accuracy of GROUP".
    value : float
        The supremum of the deltas that are rejected; minus infinity where none is.
    words : str
    """

    what: str
    value: float
    words: str


@dataclass(frozen=True)
class Frontier:
    """The deltas that the data support, from kept draws: nothing is refitted or resampled.

    Attributes
    ----------
    splits : tuple of CriticalDeltas
    alpha : float
    form : {"ratio", "difference"}
    gap : {"signed", "absolute"}
        The statistic that decides; bounds always rest on the signed one.
    groups : tuple of str
        Whose accuracy is asked for.
    combine : {"median", "running_median", "sequential"}
        How splits become one p-value.
    folds : int or None
        How many folds a repetition has; None for the paper's split.
    simultaneous : bool
        Whether all bounds and corners hold at once with confidence 1 - alpha. Otherwise each does separately: of the
        bounds of one comparison some bound is wrong more often.
    """

    splits: tuple[CriticalDeltas, ...]
    alpha: float
    form: Form
    gap: Gap
    groups: tuple[str, ...]
    combine: Combine = "median"
    folds: int | None = None
    simultaneous: bool = False

    @property
    def components(self) -> int:
        """How many conditions there are, each of which may be wrongly rejected: gains of groups, and gaps."""
        return sum(map(len, self.splits[0].accuracy.values())) + len(self.splits[0].absolute)

    @property
    def level(self) -> float:
        """What a p-value must be strictly below; for simultaneous bounds, alpha is shared among the components."""
        alpha = self.alpha / self.components if self.simultaneous else self.alpha
        return combined_threshold(alpha, len(self.splits), self.combine, self.folds)

    def surface(self, accuracy: ArrayLike, fairness: ArrayLike, gap: Gap | None = None) -> FloatArray:
        """p-values on a grid, shape (accuracy deltas, fairness deltas).

        The claim at a point asks the same delta of every group, as Figure 3 does.
        """
        a, f = self._checked(accuracy, "accuracy"), self._checked(fairness, "fairness")
        layers = np.empty((len(self.splits), len(a), len(f)))
        for k, split in enumerate(self.splits):
            p_a = p_values(tuple(one for group in split.accuracy.values() for one in group), a)
            layers[k] = np.maximum(p_a[:, None], p_values(self._of_gap(split, gap), f)[None, :])
        return combine(layers, self.combine)

    def p_value(self, accuracy: float = 0.0, fairness: float = 0.0, gap: Gap | None = None) -> float:
        """The p-value of one claim."""
        return float(self.surface([accuracy], [fairness], gap)[0, 0])

    def edge(self, gap: Gap | None = None, *, simultaneous: bool = False) -> list[tuple[float, float]]:
        """Corners of the region that is rejected, as (accuracy, fairness) deltas: below and left of a corner, rejected.

        Each split rejects a rectangle; the region where enough of them do is a staircase. Where `simultaneous`, the
        whole staircase holds at once; otherwise each corner does.
        """
        if simultaneous and not self.simultaneous:
            return replace(self, simultaneous=True).edge(gap)
        corners = [
            (self._accuracy_edge(split, split.accuracy), largest_delta(self._of_gap(split, gap), self.level))
            for split in self.splits
        ]
        staircase: list[tuple[float, float]] = []
        for a in sorted({corner[0] for corner in corners}, reverse=True):
            f = self._combined([f if other >= a else -np.inf for other, f in corners])
            if f > -np.inf and (not staircase or f > staircase[-1][1]):
                staircase.append((a, f))
        return staircase

    def bounds(self, gap: Gap = "signed", *, simultaneous: bool = False) -> list[Bound]:
        """What is supported with confidence 1 - alpha, with no loss in the other respects.

        Each bound holds separately; where `simultaneous`, all of them do at once.
        """
        if simultaneous and not self.simultaneous:
            return replace(self, simultaneous=True).bounds(gap)
        out = [Bound("fairness", *self._bound("fairness", None, gap))]
        out.append(Bound("accuracy", *self._bound("accuracy", None, gap)))
        if len(self.groups) > 1:
            out += [Bound(f"accuracy of {g}", *self._bound("accuracy", g, gap)) for g in self.groups]
        return out

    def _bound(self, what: str, group: str | None, gap: Gap) -> tuple[float, str]:
        zero = np.array([0.0])
        edges = []
        for split in self.splits:
            fair = self._of_gap(split, gap)
            asked = {g: c for g, c in split.accuracy.items() if what == "accuracy" and group in (None, g)}
            others = tuple(one for g, c in split.accuracy.items() if g not in asked for one in c)
            others += () if what == "fairness" else fair
            holds = not others or float(p_values(others, zero)[0]) < self.level
            edge = largest_delta(fair, self.level) if what == "fairness" else self._accuracy_edge(split, asked)
            edges.append(edge if holds else -np.inf)
        value = self._combined(edges)
        return value, self._words(what, group, value)

    def _combined(self, edges: Sequence[float]) -> float:
        """The edge that enough splits reach: as many as make their lower median reject."""
        return max(sorted(edges[:k], reverse=True)[(k - 1) // 2] for k in counted(edges, self.combine))

    def _words(self, what: str, group: str | None, value: float) -> str:
        sure = f"With {100 * (1 - self.alpha):g}% confidence{' in all bounds at once' if self.simultaneous else ''}"
        whose = "accuracy of every group" if group is None else f"accuracy of {group}"
        whose = "accuracy" if self.groups == ("everyone",) else whose
        if not np.isfinite(value) or value <= 0:
            if what == "fairness":
                return "The data do not show that the gap can be cut with no loss of accuracy."
            return f"The data do not show that the {whose} can rise with no wider gap."
        size = f"{100 * _floor(value):g}%" if self.form == "ratio" else _floored(value)
        if what == "fairness":
            return f"{sure}, the gap can be cut by at least {size} with no loss of accuracy."
        return f"{sure}, the {whose} can rise by at least {size} with no wider gap."

    def _accuracy_edge(self, split: CriticalDeltas, groups: dict[str, Conditions]) -> float:
        return largest_delta(tuple(one for group in groups.values() for one in group), self.level)

    def _of_gap(self, split: CriticalDeltas, gap: Gap | None) -> Conditions:
        return split.signed if (gap or self.gap) == "signed" else split.absolute

    def _checked(self, deltas: ArrayLike, name: str) -> FloatArray:
        """Any real delta, as in the paper: at -1 a share of accuracy asks for more than nothing."""
        grid = np.asarray(deltas, dtype=np.float64)
        if grid.ndim != 1 or len(grid) == 0 or not np.isfinite(grid).all():
            raise OptionError(f"the grid of {name} deltas is empty or has a hole.", "Give any finite numbers.")
        return grid

    def to_dict(self) -> dict[str, Any]:
        """Bounds and edges as plain data."""
        return {
            "alpha": self.alpha,
            "form": self.form,
            "bounds": [{"what": b.what, "value": _plain(b.value), "words": b.words} for b in self.bounds()],
            "edge": {gap: [[_plain(a), _plain(f)] for a, f in self.edge(_as_gap(gap))] for gap in BOTH},
        }


def _as_gap(name: str) -> Gap:
    return "signed" if name == "signed" else "absolute"


def _plain(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _floor(share: float) -> float:
    """Down to a tenth of a percent: a bound is never rounded up."""
    return float(np.floor(share * 1000 + 1e-9) / 1000)


def _floored(amount: float) -> str:
    """Down to three digits: a bound is never rounded up."""
    step = Decimal(1).scaleb(Decimal(amount).adjusted() - 2)
    return f"{Decimal(amount).quantize(step, ROUND_FLOOR):f}"


def make_frontier(question: Question, splits: Sequence[Evidence], form: str | None = None) -> Frontier:
    """The frontier of a question and the evidence of its splits, in the question's own form or another."""
    claim, asked = question.claim, form or question.claim.form
    check_choice("form", asked, ("ratio", "difference"))
    turned = Claim(
        form="ratio" if asked == "ratio" else "difference",
        gap=claim.gap,
        protected=claim.protected,
        overall=claim.overall,
    )
    critical = tuple(critical_deltas(evidence, turned) for evidence in splits)
    return Frontier(
        critical, question.alpha, turned.form, claim.gap, tuple(critical[0].accuracy), question.combine, question.folds
    )
