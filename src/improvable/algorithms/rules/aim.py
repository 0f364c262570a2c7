"""Aim at the claim itself: learn what selecting a person does to every condition, and
weigh the conditions.

A predictive rule predicts the outcome and never looks at the gap. Here a candidate is
chosen for the claim. Every condition c, the accuracy of each group and the candidate's
gap between each pair of them, has a margin that must exceed zero,

    T_c(d) = const_c + sum_i a_ci d_i,
    a_ci = what selecting row i adds to the condition,

to first order at a given candidate, and exactly where no denominator depends on
decisions (rates by outcome, shares). A candidate that sees only features x can use
m_c(x) = E[a_c | x]. The best it can do, as the smallest margin in standard errors s_c,
is a concave problem whose dual has one number for each condition:

    max over d of min over c of T_c(d) / s_c
        =  min over l of max over d of sum_c l_c T_c(d) / s_c,

with weights l >= 0 that sum to one. The inner maximum selects where sum_c l_c m_c(x) /
s_c is highest, up to the capacity. So the answer is a score of the features. The proof
is in docs/explanation/method.md.

*What is learned.* A row adds to the sums of its own group g, and what it adds is a line
in the outcome y. So m_c needs E[1_g | x] = p_g(x), E[y | x] = q(x) and E[1_g y | x] =
p_g (q + b_g - sum_h p_h b_h), where b_g - b_h, by how much y differs between two groups
at the same x, is taken to be constant (Robinson, 1988): to learn 1_g y for each group
by itself has far more noise. The sum of these over all groups is q, so that equal
weights are plain prediction.

*A bound on selection rates.* Where rates of groups g and h may differ by at most b, the
limit b - (rate of g - rate of h) is a line in decisions too, and E[1_g | x] is learned
already. So it is one more line of the dual, in units of one row: a limit that is broken
by a row is worse than any condition, and one that holds weighs nothing.

*The last step.* Candidates between plain prediction and the weights found are compared
by the actual contributions of out-of-fold rows; the nearest to prediction within
`SLACK` standard errors of the best is taken.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np

from improvable._typing import FloatArray, IntArray
from improvable.algorithms.constraints import SELECTION_GAP
from improvable.algorithms.decisions import Algorithm, decide
from improvable.algorithms.models import Encoder, FittedModel, as_numeric, steady
from improvable.algorithms.rules.base import Family, Selection, SelectionRule, Training
from improvable.algorithms.rules.linear.problem import sums_by
from improvable.algorithms.rules.out_of_sample import keep_twins
from improvable.algorithms.rules.predictive import PredictiveRule, predictive_rule
from improvable.algorithms.thresholds import (
    Threshold,
    ThresholdedScore,
    score_unit,
    settle,
    tied_share,
)
from improvable.data.frame import Rows
from improvable.errors import OptionError, RuleError
from improvable.inference.cells import CANDIDATE, contributions
from improvable.inference.components import conditions
from improvable.inference.evidence import Evidence
from improvable.inference.influence import slopes_by_stratum
from improvable.question.claim import Claim

# share of weight on the mean margin: of candidates with the same smallest one, the more
# accurate is better
MEAN = 0.05
TIGHTENINGS = 5  # of a bound that is missed on out-of-fold rows
ROUNDS = 8  # of starting from the candidate found before
CUTS = 200  # weights tried in one round; a few dozen are usual
CLOSE = 1e-6  # of the best smallest margin, in standard errors: then a round ends
# of the standard error that a condition would have if the two algorithms saw different
# rows
FLOOR = 0.1
PATH = np.linspace(0.0, 1.0, 11)  # from plain prediction to the weights found
SLACK = 0.5  # standard errors
# of the squared error out of fold: with less to gain, no other learner replaces the
# first
HEAD_START = 0.01


@dataclass(frozen=True)
class AimRule:
    """Select those whom selecting helps the claim most, as a predictive rule learns it:
    ``aim:boosting``.
    """

    learner: PredictiveRule
    # tried as well where all that is predicted is 0/1
    others: tuple[PredictiveRule, ...] = ()

    @property
    def name(self) -> str:
        return "aim" if self.others else f"aim:{self.learner.name}"

    @property
    def honors(self) -> frozenset[str]:
        return self.learner.honors | {SELECTION_GAP}

    def select(self, training: Training, status_quo: Algorithm) -> Any:
        if training.numeric_decisions:
            if training.constraints.selection_gap is not None:
                raise RuleError(
                    "a selection gap needs decisions of 0 and 1.",
                    "Leave it out where prices are set.",
                )
            # prices leave nothing to aim with
            return self.learner.select(training, status_quo)
        problem = Problem.of(training, status_quo)
        rows, encoder = (training, None) if self.learner.raw else training.as_numbers()
        learned = learn(problem, rows, self)
        plain = np.zeros_like(learned.score.worth)
        plain[:, 1] = 1.0
        # a prediction selects from one half up, and one of amounts nobody in particular
        if problem.capacity is None:
            plain[:, 0] = -0.5
        decides = problem.capacity is not None or training.binary_target
        bound = training.constraints.selection_gap
        aimed = weigh(problem, learned, plain if decides else None)
        if bound is not None and aimed.difference > bound:
            aimed = weigh_within(bound, problem, learned, plain if decides else None)
        score = replace(learned.score, worth=aimed.worth)
        honest = keep_twins(score.score(rows.rows), learned.scores(aimed.worth), rows)
        score = replace(score, features=training.features, encoder=encoder)
        notes = {
            "aim": {"weights": aimed.weights, "promised": aimed.promised},
            "learner": learned.learner,
        }
        if bound is not None:
            notes["selection_gap"] = {"asked": bound, "on_folds": aimed.difference}
            if aimed.difference > bound:
                return Selection(None, notes)
        if problem.capacity is None:
            return Selection(ThresholdedScore(score, 0.0), notes)
        return Selection(Threshold(score, problem.capacity, lambda: honest), notes)


# The claim on training rows. ----


@dataclass(frozen=True)
class Linear:
    """The conditions at a candidate: their margins, and by how much rows move them.

    Shapes: C conditions, S strata of groups that a row is in one of, M utilities, two
    parts (u, w).
    """

    names: tuple[str, ...]
    margins: FloatArray  # (C,)
    slopes: FloatArray  # (C, S, M, 2): of the candidate's contributions
    errors: FloatArray  # (C,): standard errors of the margins
    limits: FloatArray  # (L,): what is left of each limit, in its unit
    difference: float  # the largest difference of selection rates

    @property
    def value(self) -> float:
        return value_of(self.margins / self.errors, self.limits)


def value_of(margins: FloatArray, limits: FloatArray) -> float:
    """What is maximized: the smallest margin in standard errors, or what is left of a
    limit where that is less; and a little of the margins' mean.
    """
    if not np.isfinite(margins).all():
        return -np.inf
    smallest = min(margins.min(), limits.min(initial=np.inf))
    return float((1 - MEAN) * smallest + MEAN * margins.mean())


@dataclass(frozen=True)
class RateDifferences:
    """Differences of selection rates, one for each ordered pair of groups of an
    attribute; none where they have no bound.
    """

    # (L, S): by how much a selected row of each stratum moves each difference
    slopes: FloatArray
    units: FloatArray  # (L,): by how much one row may move it

    @staticmethod
    def of(training: Training, weights: FloatArray, strata: int) -> "RateDifferences":
        slopes = [np.empty((0, strata))]
        if training.constraints.selection_gap is not None:
            grouping = training.sample.grouping
            sizes = np.bincount(grouping.codes, weights=weights, minlength=strata)
            for attribute in grouping.attributes:
                levels = np.arange(len(attribute.levels))
                inside = (attribute.member == levels[:, None]).astype(np.float64)
                rates = inside / np.einsum("gs,s->g", inside, sizes)[:, None]
                slopes += [rates[[g]] - rates[[h]] for g, h in permutations(levels, 2)]
        every = np.concatenate(slopes)
        return RateDifferences(every, weights.max() * np.abs(every).max(axis=1))

    def at(self, selected: FloatArray) -> FloatArray:
        """The differences where strata have these weights of selected rows, (L,)."""
        return np.asarray(np.einsum("ls,s->l", self.slopes, selected))


@dataclass(frozen=True)
class Problem:
    """The claim as a function of a candidate's decisions about n training rows."""

    evidence: Evidence  # of the status quo compared with itself
    claim: Claim
    # (n, S): whether a row is in a stratum, or with what probability
    members: FloatArray
    # (n, sums): what its contributions are multiplied by in each of the sums that are
    # tested
    factors: FloatArray
    certain: FloatArray  # (S, sums): the same of a row that is in a stratum for certain
    units: IntArray  # (n,): its cluster, or the row itself
    weights: FloatArray  # (n,)
    base: FloatArray  # (n, M, 2): what a row contributes if it is not selected
    gain: FloatArray  # (n, M, 2): what selecting it adds
    now: FloatArray  # (n, M, 2): what it contributes as the status quo decides
    decisions: FloatArray  # (n,): the status quo's
    capacity: float | None
    rates: RateDifferences
    bound: float | None = None  # on every difference of selection rates; None: no limit

    @staticmethod
    def of(training: Training, status_quo: Algorithm) -> "Problem":
        design, sample = training.design, training.sample
        before = decide(status_quo, training.rows, "status quo")
        every = [np.zeros(len(before)), np.ones(len(before)), before]
        out, into, now = np.moveaxis(
            contributions(design.utilities, training.rows, sample.outcomes, every), 2, 0
        )
        weights = (
            np.ones(len(before))
            if sample.relative_weights is None
            else sample.relative_weights
        )
        members, certain = sample.levels()
        factors = members if sample.spread is None else sample.spread.factors
        sums = add_up(now * weights[:, None, None], factors)
        both = np.stack([sums, sums], axis=2)
        evidence = Evidence(
            attributes=sample.attributes,
            measures=design.measures,
            accuracy=design.accuracy,
            fairness=design.fairness,
            sums=both,
            draws=np.empty((0, *both.shape)),
            training=sums,
            units=len(before),
            chosen_here=False,
        )
        return Problem(
            evidence=evidence,
            claim=design.question.claim,
            members=members,
            factors=factors,
            certain=certain,
            units=sample.unit_codes(),
            weights=weights,
            base=out,
            gain=into - out,
            now=now,
            decisions=before,
            capacity=training.constraints.capacity,
            rates=RateDifferences.of(training, weights, members.shape[1]),
        )

    def at(self, decisions: FloatArray) -> Linear:
        """Margins at a candidate's decisions, and what rows move them by (the delta
        method).
        """
        after = self.base + self.gain * decisions[:, None, None]
        sums = self.evidence.sums.copy()
        sums[:, :, CANDIDATE] = add_up(
            after * self.weights[:, None, None], self.factors
        )
        evidence = replace(self.evidence, sums=sums)
        # a group of whom nobody is selected has no mean
        with np.errstate(invalid="ignore", divide="ignore"):
            every = list(conditions(evidence, self.claim))
        slopes = np.stack([slopes_by_stratum(one, evidence) for one in every])
        # By row at last: einsum is ten times as fast along rows.
        moved = np.einsum(
            "csmtp,sn->tcmpn", slopes, np.ascontiguousarray(self.factors.T)
        )
        both = zip(
            (self.now, after),
            np.ascontiguousarray(np.moveaxis(moved, 4, 2)),
            strict=True,
        )
        theirs, mine = (
            np.einsum("nmp,cnmp->cn", part, one) * self.weights for part, one in both
        )
        variance = np.array(
            [(np.bincount(self.units, weights=one) ** 2).sum() for one in mine + theirs]
        )
        least = (
            FLOOR**2 * ((mine**2).sum(axis=1) + (theirs**2).sum(axis=1))
            + np.finfo(np.float64).tiny
        )
        margins, names = (
            np.array([one.margin for one in every]),
            tuple(one.name for one in every),
        )
        mine = np.einsum("ctmp,st->csmp", slopes[:, :, :, CANDIDATE], self.certain)
        errors = np.sqrt(np.maximum(variance, least))
        selected = np.einsum("ns,n->s", self.members, self.weights * decisions)
        differences = self.rates.at(selected)
        limits = np.empty(0)
        if self.bound is not None:
            limits = (self.bound - differences) / self.rates.units
        largest = float(differences.max(initial=0.0))
        return Linear(names, margins, mine, errors, limits, largest)

    def select(self, scores: FloatArray) -> FloatArray:
        """Select the highest scores up to the capacity, of rows that tie a share;
        without one, all above zero.
        """
        if self.capacity is None:
            return (scores > 0).astype(np.float64)
        scores = settle(scores, score_unit(scores))
        # Sums of ones are exact in whatever order tied rows come, and then a faster
        # sort will do.
        order = np.argsort(
            -scores, kind="stable" if (self.weights != 1).any() else None
        )
        reached = np.cumsum(self.weights[order])
        last = int(np.searchsorted(reached, self.capacity * reached[-1]))
        edge = scores[order[min(last, len(order) - 1)]]
        share = tied_share(scores, float(edge), self.capacity, self.weights)
        return np.where(scores == edge, share, scores > edge)


def add_up(values: FloatArray, factors: FloatArray) -> FloatArray:
    """Sums over rows with each of their factors, (n, M, 2) -> (sums, M, 2), row after
    row.
    """
    once = np.zeros(len(values), dtype=np.int64)
    return np.concatenate(
        [sums_by(once, 1, values * factor[:, None, None]) for factor in factors.T]
    )


# What is learned from features. ----


@dataclass(frozen=True)
class AimedScore:
    """What selecting a row is worth, expected from its features; it reads no group.

    Shapes: S strata of groups, J outcomes that are predicted.
    """

    features: tuple[str, ...]
    encoder: Encoder | None
    outcomes: tuple[FittedModel, ...]  # (J,): of outcomes
    # (S - 1,): of being in a stratum, all but the first
    strata: tuple[FittedModel, ...]
    # (S, J): how high outcomes are in a stratum beside others, at the same features
    differences: FloatArray
    # (S, 1 + J): of selecting a row of each stratum: a constant, and a slope for each
    # outcome
    worth: FloatArray
    rising: bool = False  # whether a higher first outcome may never lower the score

    def score(self, rows: Rows) -> FloatArray:
        if self.encoder is not None:
            rows = as_numeric(rows, self.encoder)
        outcomes, others = (
            np.column_stack([steady(one).score(rows) for one in models])
            for models in (self.outcomes, self.strata)
        )
        return self.of(outcomes, shares_of(others))

    def of(self, outcomes: FloatArray, shares: FloatArray) -> FloatArray:
        """The same from predictions of shape (n, J) and (n, S)."""
        slopes = np.einsum("ns,sj->nj", shares, self.worth[:, 1:])
        constants = self.worth[:, 0] + (self.worth[:, 1:] * self.differences).sum(
            axis=1
        )
        middle = np.einsum("ns,sj->nj", shares, self.differences)
        constant = np.einsum("ns,s->n", shares, constants) - np.einsum(
            "nj,nj->n", slopes, middle
        )
        if self.rising:
            slopes[:, 0] = np.maximum(slopes[:, 0], 0.0)
        return np.asarray(constant + np.einsum("nj,nj->n", slopes, outcomes))


def shares_of(others: FloatArray) -> FloatArray:
    """Probabilities of all strata, from those of all but the first."""
    others = np.clip(others, 0.0, 1.0)
    others = others / np.maximum(others.sum(axis=1, keepdims=True), 1.0)
    return np.column_stack([1 - others.sum(axis=1), others])


@dataclass(frozen=True)
class Learned:
    """The models of a score, whose worth is still to be found, and what they predict of
    rows left out.
    """

    score: AimedScore
    # (K, 1 + J): what selecting a row adds to each of K sums, from 1 and its outcomes
    lines: FloatArray
    outcomes: FloatArray  # (n, J)
    shares: FloatArray  # (n, S)
    learner: str = ""

    def expected(self) -> FloatArray:
        """What selecting a row is expected to add to each sum of each stratum: (n, S,
        K).
        """
        middle = np.einsum("ns,sj->nj", self.shares, self.score.differences)
        there = (self.outcomes - middle)[:, None] + self.score.differences
        added = self.lines[:, 0] + np.einsum("nsj,kj->nsk", there, self.lines[:, 1:])
        return np.asarray(self.shares[:, :, None] * added)

    def scores(self, worth: FloatArray) -> FloatArray:
        return replace(self.score, worth=worth).of(self.outcomes, self.shares)


def learn(problem: Problem, training: Training, rule: AimRule) -> Learned:
    """Predict outcomes and groups from features, out of fold, by the learner that errs
    least about the target.
    """
    from sklearn.base import is_classifier

    columns, lines = outcome_lines(
        training.target, problem.gain.reshape(len(problem.gain), -1)
    )
    monotone = training.constraints.monotone
    if len(columns) > 1 and monotone:
        what = (
            "the claim is about several outcomes, and a monotone score would have to "
            "rise with all of them."
        )
        raise RuleError(what, "Use a predictive rule with monotone features.")
    # Only the outcome may move with a monotone feature, so that the score does.
    free = tuple(name for name in training.features if name not in monotone)
    if not free:
        raise RuleError(
            "every feature is monotone, so that none is left to tell groups apart.",
            "Give a feature that is not monotone, or use a rule such as 'lasso'.",
        )
    blind = replace(
        training, features=free, constraints=replace(training.constraints, monotone={})
    )
    members = problem.members
    rest = [replace(training, instead=column) for column in columns[1:]]
    rest += [replace(blind, instead=member) for member in members.T[1:]]
    binary = not monotone and all(
        set(one.target) == {0, 1} for one in (training, *rest)
    )
    tried = [
        (one, one.cross_fit(training))
        for one in (rule.learner, *(rule.others if binary else ()))
    ]
    errors = np.array(
        [
            problem.weights @ (training.target - predicted) ** 2
            for _, (_, predicted) in tried
        ]
    )
    errors[0] *= 1 - HEAD_START
    learner, first = tried[int(np.argmin(errors))]
    # A classifier predicts no probabilities that are given as numbers.
    fractions = not np.isin(members, (0, 1)).all() and is_classifier(
        learner.estimator(False, None)
    )
    of_groups, count, found = (
        predictive_rule("linear") if fractions else learner,
        len(columns),
        [first],
    )
    for one in rest:
        training.report(
            f"learning outcomes and groups, {len(found) + 1} of {len(rest) + 1}"
        )
        found.append((learner if len(found) < count else of_groups).cross_fit(one))
    models, predicted = [one for one, _ in found], [one for _, one in found]
    outcomes, shares = (
        np.column_stack(predicted[:count]),
        shares_of(np.column_stack(predicted[count:])),
    )
    # Robinson's regression of what outcomes leave unexplained on what membership does;
    # shares tell the latter's spread.
    weighted = problem.weights[:, None] * shares
    spread = np.diag(weighted.sum(axis=0)) - np.einsum("ns,nt->st", weighted, shares)
    together = np.einsum(
        "n,ns,nj->sj",
        problem.weights,
        members - shares,
        np.column_stack(columns) - outcomes,
    )
    score = AimedScore(
        features=training.features,
        encoder=None,
        outcomes=tuple(models[:count]),
        strata=tuple(models[count:]),
        worth=np.zeros((members.shape[1], 1 + count)),
        rising=bool(monotone),
        differences=np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ together,
    )
    return Learned(score, lines, outcomes, shares, learner.name)


def outcome_lines(
    target: FloatArray, gains: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """The outcomes that gains, (n, K), are lines in, the target first; and the lines,
    (K, 1 + J).
    """
    columns, found = [target], list[tuple[int, float, float]]()
    for gain in gains.T:
        fits = ((j, _line(column, gain)) for j, column in enumerate(columns))
        place, line = next(
            ((j, line) for j, line in fits if line is not None),
            (len(columns), (0.0, 1.0)),
        )
        if place == len(columns):
            columns.append(gain)
        found.append((place, *line))
    lines = np.zeros((len(found), 1 + len(columns)))
    for k, (j, constant, slope) in enumerate(found):
        lines[k, 0], lines[k, 1 + j] = constant, slope
    return columns, lines


def _line(column: FloatArray, values: FloatArray) -> tuple[float, float] | None:
    """Constant and slope of values that are a line in a column; None where they are
    not.
    """
    apart = column - column.mean()
    slope = float(values @ apart / (apart @ apart)) if apart.any() else 0.0
    constant = float(values.mean() - slope * column.mean())
    close = np.abs(values - constant - slope * column).max() <= 1e-9 * max(
        1.0, float(np.abs(values).max())
    )
    return (constant, slope) if close else None


# Weights of the conditions. ----


@dataclass(frozen=True)
class Aimed:
    """What was found, and what training rows promise."""

    worth: FloatArray  # (S, 1 + J)
    # of plain prediction and of each condition in what decides, summing to one
    weights: dict[str, float]
    # the margin of each condition on out-of-fold rows; None where undefined
    promised: dict[str, float | None]
    difference: float  # the largest of selection rates on out-of-fold rows


def weigh(problem: Problem, learned: Learned, plain: FloatArray | None) -> Aimed:
    """Weigh the conditions so that the smallest margin in standard errors is largest.

    `plain` is the worth, (S, 1 + J), at which a score is the prediction itself; None
    where that decides nothing.
    """
    names, worth = find_worth(problem, learned)
    parts = {
        name: worth[np.array(names) == name].sum(axis=0)
        for name in dict.fromkeys(names)
    }
    aimed = _standard(learned, np.sum([*parts.values()], axis=0))
    if plain is None:
        steps, path = PATH[-1:], [aimed]
    else:
        start = _standard(learned, plain)
        steps, path = PATH, [(1 - step) * start + step * aimed for step in PATH]
    reached = [problem.at(problem.select(learned.scores(point))) for point in path]
    values = np.array([point.value for point in reached])
    place = int(np.argmax(values >= values.max() - SLACK))
    return Aimed(
        worth=path[place],
        weights=name_weights(learned, parts, float(steps[place])),
        promised=name_margins(reached[place]),
        difference=reached[place].difference,
    )


def weigh_within(
    bound: float, problem: Problem, learned: Learned, plain: FloatArray | None
) -> Aimed:
    """Weigh the conditions where selection rates may differ by at most a bound.

    What rows are expected to do is not what they do, so a bound that is missed on
    out-of-fold rows is drawn tighter by what was missed.
    """
    tighter = bound
    for _ in range(TIGHTENINGS):
        aimed = weigh(replace(problem, bound=tighter), learned, plain)
        if aimed.difference <= bound:
            break
        tighter -= 1.5 * (aimed.difference - bound)
    return aimed


def find_worth(
    problem: Problem, learned: Learned
) -> tuple[tuple[str, ...], FloatArray]:
    """Each condition and limit, weighted: their names, and the worth of selecting a row
    by each, (C + L, S, 1 + J).
    """
    expected = learned.expected().reshape(len(problem.weights), -1)
    worth_of_limits = limit_worth(problem, learned.lines.shape[1])
    of_limits = np.einsum("ns,ls->nl", learned.shares, worth_of_limits[:, :, 0])
    decided, here = problem.decisions, problem.at(problem.decisions)
    highest, best = -np.inf, np.empty(0)
    for attempt in range(ROUNDS):
        # In standard errors, T_c(d) = constant_c + sum_i weight_i gains_ci d_i: actual
        # at `decided`, expected beyond.
        scaled = here.slopes / here.errors[:, None, None, None]
        of_conditions = np.einsum(
            "nk,ck->nc", expected, scaled.reshape(len(scaled), -1)
        )
        gains = np.column_stack([of_conditions, of_limits])
        actual = np.append(here.margins / here.errors, here.limits)
        constants = actual - np.einsum("nc,n->c", gains, problem.weights * decided)
        weights, _ = balance(
            gains,
            np.nan_to_num(constants),
            problem.weights,
            problem.select,
            limits=len(here.limits),
        )
        worth = np.concatenate(
            [
                np.einsum(
                    "csk,kj->csj", scaled.reshape(*scaled.shape[:2], -1), learned.lines
                ),
                worth_of_limits,
            ]
        )
        found = problem.select(learned.scores(np.einsum("c,csj->sj", weights, worth)))
        if attempt > 0 and np.array_equal(found, decided):
            break
        decided, here = found, problem.at(found)
        if attempt == 0 or here.value > highest:
            highest, best = here.value, weights[:, None, None] * worth
    return here.names + (SELECTION_GAP,) * len(here.limits), best


def limit_worth(problem: Problem, columns: int) -> FloatArray:
    """What selecting a row is worth to each limit: a constant of its stratum,
    (L, S, 1 + J).
    """
    rates = problem.rates
    limits = 0 if problem.bound is None else len(rates.units)
    worth = np.zeros((limits, rates.slopes.shape[1], columns))
    worth[:, :, 0] = -rates.slopes[:limits] / rates.units[:limits, None]
    return worth


def name_weights(
    learned: Learned, parts: dict[str, FloatArray], step: float
) -> dict[str, float]:
    """The weight of plain prediction and of each condition in what decides.

    Two directions of one gap may cancel, so that a condition's weight is how far it
    moves scores apart.
    """
    sizes = {name: float(learned.scores(part).std()) for name, part in parts.items()}
    whole = sum(sizes.values()) or 1.0
    weights = {name: step * size / whole for name, size in sizes.items()}
    return {"prediction": 1 - step} | weights


def name_margins(reached: Linear) -> dict[str, float | None]:
    """The smallest margin of each condition; None where one is undefined."""
    margins: dict[str, float | None] = {}
    for name in reached.names:
        smallest = reached.margins[np.array(reached.names) == name].min()
        margins[name] = float(smallest) if np.isfinite(smallest) else None
    return margins


def _standard(learned: Learned, worth: FloatArray) -> FloatArray:
    """The same worth, in units in which scores have a standard deviation of one."""
    return np.asarray(worth / (float(learned.scores(worth).std()) or 1.0))


def balance(
    gains: FloatArray,
    constants: FloatArray,
    weights: FloatArray,
    select: Callable[[FloatArray], FloatArray],
    limits: int = 0,
) -> tuple[FloatArray, float]:
    """The weights l at which the best decision's sum of l_c T_c is smallest, and that
    sum: the dual, by cutting planes.

    Every decision d bounds the dual function from below by the line sum_c l_c T_c(d),
    which touches it where d is best. So the upper envelope of the lines known so far
    says where to look next (Kelley, 1960). Each weight is at least `MEAN` over their
    number, which puts as much on the mean of all margins; the last `limits` of them are
    no part of that mean. Where rows tie, the best is a mixture of decisions; so the
    weights returned are those among all tried whose own decision has the largest value.
    """
    from highspy import Highs

    count, claimed = len(constants), len(constants) - limits
    least = np.append(np.full(claimed, MEAN / claimed), np.zeros(limits))
    here = np.append(np.full(claimed, 1 / claimed), np.zeros(limits))
    lines = list[FloatArray]()
    best, highest, value = here, -np.inf, np.inf
    # The envelope as a program over weights and its own height, which keeps what it
    # knows from line to line.
    envelope = Highs()  # type: ignore[no-untyped-call]
    envelope.silent()
    envelope.setOptionValue("presolve", "off")
    for low, cost in [*((low, 0.0) for low in least), (-np.inf, 1.0)]:
        envelope.addCol(cost, low, np.inf, 0, np.empty(0, dtype=np.int32), np.empty(0))
    envelope.addRow(1.0, 1.0, count, np.arange(count), np.ones(count))
    for _ in range(CUTS):
        chosen = select(np.einsum("nc,c->n", gains, here))
        lines.append(constants + np.einsum("n,nc->c", weights * chosen, gains))
        value = min(value, float(here @ lines[-1]))
        if (own := value_of(lines[-1][:claimed], lines[-1][claimed:])) > highest:
            best, highest = here, own
        envelope.addRow(
            -np.inf, 0.0, count + 1, np.arange(count + 1), np.append(lines[-1], -1.0)
        )
        envelope.run()
        found, height = (
            envelope.getSolution().col_value,
            envelope.getInfo().objective_function_value,
        )
        if len(found) == 0 or value - height <= CLOSE * max(1.0, abs(height)):
            break
        here = np.maximum(found[:-1], least)
        here /= here.sum()
    return best, value


def aim_rule(_: str, learner: SelectionRule | None = None) -> AimRule:
    """With a predictive rule as its learner; by default the LASSO, or for 0/1 logistic
    regression if that is better.
    """
    if learner is None:
        return AimRule(predictive_rule("lasso"), (predictive_rule("logistic"),))
    if not isinstance(learner, PredictiveRule):
        how = "Write aim:lasso, aim:logistic, aim:boosting or another predictive rule."
        raise OptionError(
            f"rule '{learner.name}' predicts nothing that 'aim' could use.", how
        )
    return AimRule(learner)


FAMILIES = (
    Family(
        "aim",
        "aims at every condition of the claim",
        aim_rule,
        "boosting",
        split=lambda setting: ("", [setting] if setting else []),
    ),
)
