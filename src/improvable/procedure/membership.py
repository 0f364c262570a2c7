"""Before the first pass: how probable groups are counted, from sums over all rows, the
same for any batches.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from improvable._typing import FloatArray
from improvable.data.columns import Columns
from improvable.data.engines import Engine
from improvable.data.engines.base import run
from improvable.data.frame import Rows, incomplete
from improvable.data.probabilities import ESTIMATORS, ROUNDING, Membership, with_rest
from improvable.errors import DataError, OptionError
from improvable.inference.cells import exact_sum, to_float
from improvable.question.claim import LINEAR
from improvable.question.design import Design

# of a group's variance that probabilities must tell, for a regression on them
MIN_TOLD = 0.01
CLOSE, ROUNDS = 1e-10, 100


@dataclass(frozen=True)
class Sums:
    """Exact sums over rows: of weights; of w p and w p p' with the rest, flat; of the
    weights of known rows.
    """

    weight: int
    first: Any  # arrays of Python's own integers
    second: Any
    fractions: int  # rows that are not in one group, or none, for certain
    known: int
    others: Counter[str]  # known groups that have no probabilities


def _add(one: Sums, other: Sums) -> Sums:
    return Sums(
        *(a + b for a, b in zip(vars(one).values(), vars(other).values(), strict=True))
    )


def _sum(rows: Rows, membership: Membership, design: Design, columns: Columns) -> Sums:
    if bad := incomplete(rows, columns.numeric, columns.labels):
        rows = rows.take(np.flatnonzero(~np.logical_or.reduce(list(bad.values()))))
    weight, shares = design.question.weight, membership.shares(rows)
    weights = np.ones(len(rows)) if weight is None else rows.numbers(weight)
    whole, known, others = with_rest(shares).T, 0, Counter[str]()
    if membership.known is not None:
        given, member = membership.members(rows)
        known = exact_sum(weights[given])
        if (strange := given & ~member.any(axis=1)).any():
            others = Counter(
                map(str, rows.frame[membership.known].to_numpy()[strange][:3])
            )
    return Sums(
        exact_sum(weights),
        np.array([exact_sum(weights * one) for one in whole], dtype=object),
        np.array(
            [exact_sum(weights * one * other) for one in whole for other in whole],
            dtype=object,
        ),
        int(((shares > 0) & (shares < 1)).any(axis=1).sum()),
        known,
        others,
    )


def fit_membership(
    engine: Engine, design: Design, columns: Columns
) -> Membership | None:
    """How rows belong to groups that are known by probability; None where groups are
    known.
    """
    groups, assume = design.groups, design.question.assume
    if not groups.probabilities or assume is None:
        return None
    names = tuple(sorted(groups.probabilities))
    found = Membership(
        names, tuple(groups.probabilities[name] for name in names), known=groups.known
    )

    def sums(membership: Membership) -> Sums:
        work = partial(_sum, membership=membership, design=design, columns=columns)
        return run(engine, work, columns.read, _add)

    seen = sums(found)
    for name, total in zip(names, seen.first, strict=False):
        if not total:
            raise DataError(
                f"group '{name}' has probability 0 in every row.", "Leave it out."
            )
    if groups.rake is not None:
        target = np.array([groups.rake[name] for name in names])
        found, seen = _rake(found, seen, target, sums)
    if not seen.fractions and groups.known is None:
        return found
    estimators = ESTIMATORS[assume]
    if groups.known is not None:
        if not seen.known:
            raise DataError(
                f"'{groups.known}' names no row's group.",
                "Give the groups that are known.",
            )
        if seen.others and not seen.first[-1]:
            listed, one = ", ".join(names), min(seen.others)
            hint = (
                "Spell groups as in `probabilities`, or leave room for others: rows "
                "that sum to less than 1."
            )
            raise DataError(
                f"'{groups.known}' has '{one}', and the groups are {listed}.", hint
            )
        found = replace(found, times=seen.weight / seen.known)
    if LINEAR in estimators:
        found = replace(found, regression=_regression(seen, names))
    return replace(found, estimators=estimators)


def _numbers(seen: Sums) -> tuple[FloatArray, FloatArray]:
    """Sums of w p and of w p p', of the groups and, where any row has some, of the
    rest.
    """
    first, second = (
        np.array([to_float(total) for total in some])
        for some in (seen.first, seen.second)
    )
    there = np.flatnonzero(first > 0)
    return first[there], second.reshape(len(first), -1)[np.ix_(there, there)]


def _regression(seen: Sums, names: tuple[str, ...]) -> FloatArray:
    """(P'WP)^-1 times the sum of each group: what probabilities are multiplied by to
    give linear factors.
    """
    first, gram = _numbers(seen)
    scaled = gram / np.sqrt(np.outer(first, first))
    # 1 where groups are known, 0 where probabilities never vary
    least = float(np.linalg.eigvalsh(scaled)[0])
    if least < MIN_TOLD:
        raise DataError(
            (
                "the probabilities of groups hardly vary: they tell "
                f"{max(least, 0.0):.2%} of who is in a group, and a regression on them "
                f"needs {MIN_TOLD:.0%}."
            ),
            "Bring better probabilities, or known groups for some rows: `known=...`.",
        )
    return np.column_stack(
        [solve(gram, np.eye(len(first))[g]) * first[g] for g in range(len(names))]
    )


def _rake(
    found: Membership,
    seen: Sums,
    target: FloatArray,
    sums: Callable[[Membership], Sums],
) -> tuple[Membership, Sums]:
    """Newton's method on the logarithms of the factors, whose likelihood is concave."""
    total, size = to_float(seen.weight), len(target)
    rest = to_float(seen.first[-1]) / total
    if (rest > 0) != (1 - target.sum() > ROUNDING):
        some = (
            "the probabilities of some rows to less"
            if rest > 0
            else "those of every row to 1"
        )
        hint = (
            "Shares sum to 1 where the probabilities of every row do, and to less "
            "where some belong to no group."
        )
        raise OptionError(f"`rake` sums to {target.sum():g}, and {some}.", hint)
    # factors of all groups mean nothing where there is no rest
    free = size if rest > 0 else size - 1
    logs = np.zeros(size)
    for _ in range(ROUNDS):
        first, second = (
            np.array([to_float(one) for one in some]) / total
            for some in (seen.first, seen.second)
        )
        short = (target - first[:size])[:free]
        if np.abs(short).max() < CLOSE:
            return found, seen
        curve = np.diag(first) - second.reshape(len(first), -1)
        step = np.zeros(size)
        step[:free] = solve(curve[:free, :free], short)
        logs += np.clip(step, -2.0, 2.0)
        found = replace(found, raking=tuple(np.exp(logs).tolist()))
        seen = sums(found)
    raise DataError(
        "the probabilities cannot be raked to these shares.",
        "Check `rake`, and the probabilities.",
    )


def solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """A x = b for a small positive matrix, by elimination: the same bits on any
    machine.
    """
    rows = [
        [*map(float, line), float(b)] for line, b in zip(matrix, right, strict=True)
    ]
    for i, line in enumerate(rows):
        pivot = line[i]
        rows[i] = line = [value / pivot for value in line]
        for j, other in enumerate(rows):
            if j != i:
                rows[j] = [a - other[i] * b for a, b in zip(other, line, strict=True)]
    return np.array([line[-1] for line in rows])
