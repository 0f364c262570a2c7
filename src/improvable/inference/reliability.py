"""Where a p-value is not to be trusted although nothing is wrong with the data: few effective rows, and why.

Each function looks at what was counted, not at the verdict, and returns cautions that name the reason and what to do.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from improvable.data.arrays import BoolArray, FloatArray, IntArray
from improvable.data.groups import Attribute
from improvable.errors import Caution
from improvable.inference.cells import CANDIDATE, STATUS_QUO, Cells, U, W
from improvable.inference.components import gains, gaps
from improvable.inference.drawing import UNEVEN, loads_of, sums_of_loads
from improvable.inference.evidence import Evidence
from improvable.inference.influence import Influence, Shape
from improvable.inference.normal_limit import Moments, loads_of_moments
from improvable.inference.rare import by_utility, only, zero_one
from improvable.question.claim import Claim

FEWEST_CLUSTERS = 30
FEWEST_EFFECTIVE = 30
FEWEST_RARE = 5
MOST_LEAN = 0.06
"""Tails against a claim that are longer than this raise a level of 5% by about one point (`influence`)."""
FAR = 4.0
"""A statistic so many standard errors from its null is not in doubt, whatever its tails."""
WHOSE = ("status quo", "candidate")


def reliability_cautions(
    evidence: Evidence, claim: Claim, strata: Sequence[Cells], clusters: int | None = None
) -> list[Caution]:
    """All that is to be said of few effective rows.

    Parameters
    ----------
    evidence : Evidence
    claim : Claim
    strata : sequence of Cells
        What was counted, by stratum of the design; a sample without strata is one.
    clusters : int, optional
        How many clusters there are, where rows were drawn in clusters.
    """
    out = [] if clusters is None else few_clusters(clusters, len(strata))
    if clusters is None:
        out += heavy_weights(evidence, strata)
        out += rare_outcomes(evidence, strata)
    return out + skewed_statistics(evidence, claim, strata)


def few_clusters(clusters: int, strata: int = 1) -> list[Caution]:
    """Clusters minus strata are the degrees of freedom of every standard error."""
    freedom = clusters - strata
    if freedom + 1 >= FEWEST_CLUSTERS:
        return []
    within = f" in {strata} strata" if strata > 1 else ""
    text = (
        f"only {clusters} clusters{within} (fewer than {FEWEST_CLUSTERS}). p-values use Student's t with {freedom} "
        "degrees of freedom, which is right where clusters are alike; where one or two differ from all others, "
        "it still rejects too often. Look at the results without each of them."
    )
    return [Caution("few clusters", text)]


def effective_rows(attributes: Sequence[Attribute], counted: Cells | Moments) -> dict[str, tuple[float, float]]:
    """What the rows of each group that count are worth in rows of equal weight (Kish), for either algorithm.

    (sum of w)^2 / (sum of w^2), of several utilities in the one in which it is least. Without weights it is how many
    rows count. Clusters are not considered.

    Parameters
    ----------
    attributes : sequence of Attribute
    counted : Cells or Moments
        Of rows, one block per stratum of groups.
    """
    first, second = loads_of_moments(counted) if isinstance(counted, Moments) else sums_of_loads(counted)
    out = {}
    for attribute in attributes:
        for g, group in enumerate(attribute.levels):
            one, two = (x[attribute.member == g].sum(axis=0) for x in (first, second))
            least = np.divide(one**2, two, out=np.zeros_like(two), where=two > 0).min(axis=0)
            out[group] = float(least[0]), float(least[1])
    return out


def heavy_weights(evidence: Evidence, strata: Sequence[Cells]) -> list[Caution]:
    """Groups in which uneven weights leave few effective rows."""
    out = []
    for group, rows, effective in _loads(evidence, strata):
        for t, whose in enumerate(WHOSE):
            m = int(np.argmin(effective[:, t]))
            if 0 < effective[m, t] < min(FEWEST_EFFECTIVE, (1 - UNEVEN) * rows[m, t]):
                text = (
                    f"the {rows[m, t]:,.0f} weighted rows of group '{group}' that count for the {whose} are worth "
                    f"{effective[m, t]:.1f} rows of equal weight (Kish's effective number; fewer than "
                    f"{FEWEST_EFFECTIVE}), so p-values are unreliable. Trim the largest weights, or bring more rows."
                )
                out.append(Caution(f"weights {group} {whose}", text))
    return out


def _loads(evidence: Evidence, strata: Sequence[Cells]) -> Iterator[tuple[str, FloatArray, FloatArray]]:
    """Of every group: its name, rows that count and their effective number, both of shape (utilities, 2)."""
    for attribute in evidence.attributes:
        for g, group in enumerate(attribute.levels):
            members = [_pooled(cells, attribute.member == g) for cells in strata]
            rows, effective = loads_of(members)
            yield group, rows[0], effective[0]


def _pooled(cells: Cells, chosen: BoolArray) -> Cells:
    """The cells of some blocks, as one block."""
    kept = chosen[cells.block]
    return Cells(cells.values[kept], np.zeros(int(kept.sum()), dtype=np.int64), cells.counts[kept], 0, 1)


def rare_outcomes(evidence: Evidence, strata: Sequence[Cells]) -> list[Caution]:
    """Groups in which the algorithms differ in few rows, and a 0/1 outcome is rare."""
    out = []
    vectors = np.concatenate([by_utility(cells) for cells in strata])
    counts = np.concatenate([cells.counts for cells in strata])
    block = np.concatenate([cells.block for cells in strata])
    for m in np.flatnonzero(zero_one(vectors)):
        label = evidence.measures[m].label
        differs = only(vectors, STATUS_QUO)[:, m] | only(vectors, CANDIDATE)[:, m]
        u, w = vectors[:, m, :, U].max(axis=1), vectors[:, m, :, W].max(axis=1)
        for attribute in evidence.attributes:
            for g, group in enumerate(attribute.levels):
                rare = _rare(u, w, np.where(attribute.member[block] == g, counts, 0), differs)
                if rare is not None and rare.expected < FEWEST_RARE:
                    text = (
                        f"in '{label}' the two algorithms differ in {rare.differing:,} rows of group '{group}', where "
                        f"outcomes of {rare.outcome} are rare ({rare.share:.1%}): {rare.expected:.1f} are expected "
                        f"among them (fewer than {FEWEST_RARE}). Its p-values are corrected for outcomes not seen, and "
                        "are rough. Bring more rows in which the algorithms differ."
                    )
                    out.append(Caution(f"rare {label} {group}", text))
    return out


@dataclass(frozen=True)
class _Rare:
    differing: int
    outcome: int
    share: float

    @property
    def expected(self) -> float:
        return self.differing * self.share


def _rare(u: FloatArray, w: FloatArray, counts: IntArray, differs: BoolArray) -> _Rare | None:
    """Of one group; `u` and `w` are those of an algorithm for which a row counts. None where the algorithms agree."""
    differing = int(counts[differs].sum())
    total = float((counts * w).sum())
    if differing == 0 or total == 0:
        return None
    ones = float((counts * u).sum()) / total
    return _Rare(differing, int(ones < 0.5), min(ones, 1 - ones))


def skewed_statistics(evidence: Evidence, claim: Claim, strata: Sequence[Cells]) -> list[Caution]:
    """Statistics with a long tail against the claim, which the sample may not show in full."""
    influence = Influence(strata, evidence.sums, evidence.measures)
    binary = zero_one(np.concatenate([by_utility(cells) for cells in strata])) if influence.by_rows else None
    unit = "row" if influence.by_rows else "cluster"
    out: dict[str, tuple[float, Caution]] = {}
    for name, measure, margin, shape in _shapes(evidence, claim, influence):
        corrected = binary is not None and not evidence.measures[measure].formula and binary[measure]
        if corrected or shape.spread == 0 or margin >= FAR * shape.spread:
            continue
        if shape.lean <= max(MOST_LEAN, shape.chance):
            continue
        label = evidence.measures[measure].label
        kind = f"skewed {label} {name}"
        text = (
            f"'{label}' is skewed: the statistic of {name} has a long tail against the claim (index {shape.lean:.2f}, "
            f"above {MOST_LEAN}); one {unit} has {shape.largest:.0%} of its variance. A sample that misses part of the "
            f"tail rejects too often. Bring more {unit}s, or ask about a capped or logged outcome."
        )
        if kind not in out or out[kind][0] < shape.lean:
            out[kind] = shape.lean, Caution(kind, text)
    return [caution for _, caution in out.values()]


def _shapes(evidence: Evidence, claim: Claim, influence: Influence) -> Iterator[tuple[str, int, float, Shape]]:
    """Of every statistic: its name, utility, size and shape, turned so that large values speak for improvement."""
    everyone = np.zeros(len(evidence.sums), dtype=np.int64)
    for gain in gains(evidence, claim):
        delta = claim.delta_of(gain.group, evidence.measures[gain.measure].label)
        share, amount = (1 + gain.better * delta, 0.0) if claim.form == "ratio" else (1.0, delta)
        sides = gain.better * np.array([-share, 1.0])
        if gain.attribute is not None:
            member, levels = gain.attribute.member, gain.attribute.levels
            weights = (np.array(levels) == gain.group).astype(np.float64)
        elif isinstance(claim.overall, str) or claim.overall is None:
            member, weights = everyone, np.ones(1)
        else:
            named = claim.overall
            attribute = next(one for one in evidence.attributes if set(named) <= set(one.levels))
            member = attribute.member
            weights = np.array([named.get(level, 0.0) for level in attribute.levels]) / sum(named.values())
        margin = float(gain.contrast.values @ sides) - amount
        yield (
            f"the accuracy of '{gain.group}'",
            gain.measure,
            margin,
            influence.shape(gain.measure, member, weights[:, None] * sides),
        )
    for gap in gaps(evidence, claim):
        delta = claim.gap_delta(evidence.measures[gap.measure].label)
        share, amount = (1 - delta, 0.0) if claim.form == "ratio" else (1.0, delta)
        direction = evidence.direction(gap.measure, gap.protected)
        r, s = gap.reference
        for (g, h), one in zip(gap.pairs, gap.signed(), strict=True):
            coefficients = np.zeros(gap.values.shape)
            coefficients[[r, s], STATUS_QUO] = share * np.array(gap.slopes((r, s), STATUS_QUO))
            up, down = gap.slopes((g, h), CANDIDATE)
            coefficients[g, CANDIDATE] -= up
            coefficients[h, CANDIDATE] -= down
            margin = share * float(one.values[STATUS_QUO]) - amount - float(one.values[CANDIDATE])
            shape = influence.shape(gap.measure, gap.attribute.member, direction * coefficients)
            yield f"the gap by '{gap.attribute.name}'", gap.measure, margin, shape
