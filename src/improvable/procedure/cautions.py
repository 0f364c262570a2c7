"""Cautions: what a reader of a result must know, and what each kind means."""

import inspect
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from improvable._text import shown
from improvable._typing import IntArray
from improvable.algorithms.rules import keeps_state, runs_foreign_code
from improvable.data.engines import Engine
from improvable.errors import (
    CAPACITY,
    CODE,
    LEVER,
    SHARES,
    Caution,
    DataError,
    ImprovableWarning,
)
from improvable.inference.evidence import ALGORITHMS, Evidence
from improvable.inference.intervals import Disparity
from improvable.inference.test import Assessment
from improvable.procedure.plan import Plan
from improvable.question.claim import every_delta
from improvable.question.design import Question

MIN_SELECTED, CAPACITY_MARGIN, CHANCE = 30, 0.05, 3.0
MIN_SHARE = 0.1  # of the rows, to learn from and to test on
MAX_GAP_CUT, MAX_GAIN, MAX_ALPHA, MAX_LOSS = 0.75, 0.5, 0.2, 0.5
PACKAGE = str(Path(__file__).parents[1])


def component_cautions(
    evidence: Evidence, assessment: Assessment, occupied: Mapping[str, IntArray]
) -> list[Caution]:
    """What a reader must know of each component; `occupied` has each group's rows under
    either algorithm.
    """
    out: dict[str, str] = {}
    for group, counts in occupied.items():
        for rows, whose in zip(counts, ("status quo", "candidate"), strict=True):
            if rows == 0:
                out[f"nobody {group}"] = (
                    f"the candidate selects nobody of group '{group}', so it cannot be "
                    "shown to improve: p is 1."
                )
            elif rows < MIN_SELECTED:
                out[f"few {group} {whose}"] = (
                    f"the {whose}'s mean for group '{group}' rests on {rows} rows "
                    f"(fewer than {MIN_SELECTED}); the bootstrap is unreliable with so "
                    "few."
                )
    for component in assessment.components:
        if component.tail.degenerate:
            of = (f" for '{component.group}'", f"accuracy of '{component.group}'")
            alike, name = of if component.kind == "accuracy" else ("", "fairness")
            out[f"degenerate {name} {component.measure}"] = (
                f"both algorithms decide alike{alike}, so that no draw moves the "
                f"{component.kind} statistic; its p-value is set to 1."
            )
    if assessment.undefined and all(min(counts) > 0 for counts in occupied.values()):
        out["undefined"] = (
            f"{assessment.undefined:,} of {len(evidence.draws):,} draws had nobody to "
            "average over; they count against rejection."
        )
    return [Caution(kind, text) for kind, text in out.items()]


def gap_cautions(
    disparities: Sequence[Disparity], alpha: float, constant: Mapping[str, float]
) -> list[Caution]:
    """Assumption 1: the status quo must have a gap. Refuse where it is exactly 0, warn
    where it may be.
    """
    out = []
    for gap in disparities:
        if gap.estimate == 0 and constant:
            name, value = next(iter(constant.items()))
            message = (
                f"outcome '{name}' is {value:g} in every row, so nobody can do better "
                "or worse."
            )
            raise DataError(message, "Name an outcome that varies.")
        if gap.estimate == 0 or (gap.one_sided and gap.estimate < 0):
            message = (
                f"the status quo has no gap at all in '{gap.measure}' between groups "
                f"of '{gap.attribute}'"
            )
            hint = "Choose the fairness utility in which the disparity shows"
            if gap.one_sided:
                message = (
                    f"the protected group '{gap.worse_off}' is not worse off under the "
                    f"status quo in '{gap.measure}'"
                )
                hint += (
                    ", or say what being selected means (`selection='benefit'` or "
                    "`selection='burden'`)"
                )
            raise DataError(
                f"{message}, so no candidate can have a smaller gap.", f"{hint}."
            )
        if gap.low <= 0 <= gap.high:
            text = (
                f"the status quo's gap in '{gap.measure}' between groups of "
                f"'{gap.attribute}' may be zero: {gap.estimate:.3g}, with a "
                f"{100 * (1 - alpha):g}% interval from {gap.low:.3g} to "
                f"{gap.high:.3g}. The test assumes a gap (Assumption 1)."
            )
            out.append(Caution(f"gap {gap.attribute} {gap.measure}", text))
    return out


def capacity_cautions(
    capacities: Sequence[float | None], shares: Sequence[float], errors: Sequence[float]
) -> list[Caution]:
    """An algorithm whose share of the test rows is not its capacity: (status quo,
    candidate).

    A difference counts beyond 5% of the capacity and beyond chance, which is `CHANCE`
    of its standard errors.
    """
    out = []
    for name, capacity, share, error in zip(
        ALGORITHMS, capacities, shares, errors, strict=True
    ):
        if capacity is not None and abs(share - capacity) > max(
            CAPACITY_MARGIN * capacity, CHANCE * error
        ):
            whose, over = (
                name.replace("_", " "),
                "more" if share > capacity else "fewer",
            )
            selects = f"the {whose} selects {share:.2%} of the rows it is judged on"
            out.append(
                Caution(
                    f"{CAPACITY} {name}",
                    f"{selects}, {over} than its capacity of {capacity:.2%}.",
                )
            )
    return out


def note_cautions(engine: Engine) -> list[Caution]:
    """What a reader should know of how the data were read."""
    return [
        Caution(f"reading {place}", note)
        for place, note in enumerate(getattr(engine, "notes", ()))
    ]


def share_cautions(shares: Sequence[float], rows: int, hint: str = "") -> list[Caution]:
    """Algorithms that select different shares may differ for that reason alone: (status
    quo, candidate).

    A difference counts beyond a tenth of the status quo's share and beyond chance.
    `hint` says how to hold the share.
    """
    before, after = shares
    if abs(after - before) <= max(
        0.1 * before, CHANCE * ((before + after) / rows) ** 0.5
    ):
        return []
    text = (
        f"the candidate selects {after:.1%} of the rows and the status quo "
        f"{before:.1%}, which alone can change accuracy and gap. {hint}"
    )
    return [Caution(SHARES, text.rstrip())]


def gather(by_repetition: Sequence[Sequence[Caution]]) -> list[Caution]:
    """One caution per kind, saying in which repetitions it arose; the text is that of
    the first.
    """
    arose: dict[str, dict[int, str]] = {}
    for repetition, cautions in enumerate(by_repetition, start=1):
        for caution in cautions:
            arose.setdefault(caution.kind, {}).setdefault(repetition, caution.text)
    out = []
    for kind, texts in arose.items():
        (first, text), *more = texts.items()
        which = (
            f"repetitions {', '.join(map(str, texts))} (first shown): "
            if more
            else f"repetition {first}: "
        )
        out.append(Caution(kind, text if len(by_repetition) == 1 else which + text))
    return out


def emit(cautions: Sequence[Caution]) -> None:
    """Raise them as Python warnings too, at the caller's own line, however deep in this
    package they arose.
    """
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        level, frame = level + 1, frame.f_back
    for caution in cautions:
        warnings.warn(shown(caution.text), ImprovableWarning, stacklevel=level)


def plan_cautions(plan: Plan, trained: int) -> list[Caution]:
    """What the plan itself makes hard or easy to show; `trained` is the most rows that
    there are before a block.
    """
    out: dict[str, str] = {}
    if trained > plan.train_rows:
        out["train rows"] = (
            f"a rule, and cutoffs, learn from {plan.train_rows:,} of up to {trained:,} "
            "rows before a block; the test uses all test rows. To let them see more, "
            "raise `train_rows`."
        )
    learned = plan.train_fraction if plan.scheme == "split" else 0.5
    if learned < MIN_SHARE:
        out[f"{LEVER} training"] = (
            f"the rule learns from only {learned:.0%} of the rows, so that it may find "
            "little. Not finding an improvement then says little; half of the rows is "
            "usual."
        )
    if 1 - learned < MIN_SHARE:
        out[f"{LEVER} testing"] = (
            f"candidates are tested on only {1 - learned:.0%} of the rows, so that "
            "little can be shown. Half of the rows is usual."
        )
    claim = plan.design.question.claim
    cut = claim.delta_fairness
    gain = max(every_delta(claim.delta_accuracy), default=0.0)
    hard = "Not showing that does not mean that a smaller improvement is out of reach."
    if claim.form == "ratio" and claim.asks("fairness") and cut > MAX_GAP_CUT:
        out[f"{LEVER} delta fairness"] = (
            f"the claim asks that the gap shrink by {cut:.0%} or more. {hard}"
        )
    if claim.form == "ratio" and claim.asks("accuracy") and gain > MAX_GAIN:
        out[f"{LEVER} delta accuracy"] = (
            f"the claim asks that accuracy rise by {gain:.0%} or more. {hard}"
        )
    cautions = [Caution(kind, text) for kind, text in out.items()] + easy_cautions(
        plan.design.question
    )
    if runs_foreign_code(plan.rule):
        how = (
            (
                "It ran in this process, so that it may have acted on what it saw in "
                "earlier blocks and repetitions: its error rate is then simulated, not "
                "proven. Named as module:object it would be new in every block."
            )
            if keeps_state(plan.rule)
            else (
                "It ran in a new process for every block, from the bytes of its digest."
            )
        )
        cautions.append(
            Caution(
                CODE,
                f"code that is not part of this package chose the candidate. {how}",
            )
        )
    return cautions


def easy_cautions(question: Question) -> list[Caution]:
    """A level at which chance alone rejects, a margin that allows any loss, a claim
    that grants what it denies.
    """
    claim = question.claim
    out: dict[str, str] = {}
    if question.alpha > MAX_ALPHA:
        out["level"] = (
            f"the level is {question.alpha:g}: chance alone shows an improvement that "
            "often. 0.05 is usual."
        )
    margin = claim.margin
    if margin > MAX_LOSS:
        whose = "every" if isinstance(claim.delta_accuracy, float) else "a"
        loss = f"{margin:g} of accuracy"
        if claim.form == "ratio":
            loss = f"{margin:.0%} of its accuracy"
        out["margin"] = f"the margin lets {whose} group lose {loss}."
    elif margin > 0:
        out["accuracy"] = (
            "a delta of accuracy is negative: what is shown allows a loss of accuracy."
        )
    if claim.asks("fairness") and claim.delta_fairness < 0:
        out["fairness"] = (
            "a delta of fairness is negative: what is shown allows a wider gap."
        )
    return [Caution(f"{LEVER} easy {what}", text) for what, text in out.items()]


MEANINGS = {
    "nobody": (
        "Nobody is selected, so there is no mean. The repetition counts against "
        "rejection."
    ),
    "few": (
        "The test relies on large samples (Assumption 2). With few people in a mean, "
        "its error rate is not guaranteed."
    ),
    "weights": "Few rows carry most of the weight, so that a mean rests on few people.",
    "rare": (
        "A value that was hardly seen among these rows may be more frequent in truth."
    ),
    "differing": (
        "The whole comparison rests on these rows. Chance decides what so few of them "
        "show."
    ),
    "skewed": (
        "A few large outcomes can decide such a mean, and a sample that misses them "
        "looks better than the truth."
    ),
    "code": (
        "A rule of this package cannot act on its own results; code can try to. See "
        "what is guaranteed."
    ),
    "copies": (
        "Noise looks like an improvement where a candidate has seen the people on whom "
        "it is tested."
    ),
    "alike": (
        "Rows that look the same may be one person twice, whom a candidate learned "
        "from and is tested on."
    ),
    "near twins": "A candidate may be tested on people that it learned from.",
    "asked later": "Cautions are looked for in what is asked when the draws are made.",
    "margin": "A test near 0 or 1 needs the variance that its own null has.",
    "lever easy": "The settings themselves make it easy to show an improvement.",
    "lever": "The settings themselves make it unlikely to show an improvement.",
    "degenerate": (
        "The test needs some variation (Assumption 3). If both algorithms make the "
        "same decisions, there is none."
    ),
    "undefined": (
        "In such a draw nobody in some group was selected. It counts against "
        "rejection, which keeps the test cautious."
    ),
    "gap": (
        "If the status quo has no gap, there is nothing to narrow, and the test's "
        "error rate is not guaranteed (Assumption 1)."
    ),
    "capacity": (
        "The algorithm does not select the share it was given, so an improvement may "
        "come from that alone. The test compares the algorithms as they decide here."
    ),
    "shares": (
        "The algorithms select different shares of rows. The test compares them as "
        "they decide here."
    ),
    "dropped": (
        "The result holds for the rows that remain. If rows are missing for a reason, "
        "it may not hold for all."
    ),
    "group note": "This is how the groups were read.",
    "groups": "The result holds for the groups that were kept.",
    "unknown": (
        "Nobody has seen these outcomes. What is shown holds if they are what was "
        "assumed, in the worst case."
    ),
    "probabilities": (
        "Nobody knows who is in which group. Counts of people in a group are sums of "
        "probabilities."
    ),
    "spanning": (
        "Whole clusters are resampled, so rows that belong together are never treated "
        "as independent."
    ),
    "useless": "These columns cannot help to predict anything.",
    "ids": (
        "A rule would memorize a column that identifies rows, and it says nothing "
        "about new rows."
    ),
    "nested": "A candidate cannot read columns of lists or records.",
    "reading": (
        "This is how the data were read. If the file means something else, so do the "
        "numbers."
    ),
    "train rows": (
        "A rule that sees fewer rows may find less; the test itself uses every row."
    ),
    "near outcome": (
        "A feature that is recorded after the decision, or made from the outcome, "
        "tells a candidate the answer. No result rests on such a candidate."
    ),
    "near group": "Such a feature is a proxy of the group.",
    "together": "Features that together tell the group are a proxy of it.",
    "direction": (
        "If the outcomes point the other way, every comparison here is the wrong way "
        "around."
    ),
    "perfect": "Real outcomes are hardly ever this predictable.",
    "repeats": (
        "Rows of one person are not independent; treated as if they were, p-values are "
        "too small."
    ),
    "codes": "Averages over a code for missing mean nothing.",
    "levels": "The same level, spelled in two ways, is read as two.",
    "text numbers": "Read as text, numbers lose their order.",
    "stray text": "Read as text, numbers lose their order.",
    "no candidate for a block": (
        "The block's rows count as they are, which is no improvement."
    ),
    "no candidate": "The repetition counts against rejection.",
}
"""Every kind of caution, and what it means for the reader. A kind may name what it is
about after these words.
"""


def meaning(kind: str) -> str:
    """What a kind of caution means."""
    return next(
        (text for name, text in MEANINGS.items() if f"{kind} ".startswith(f"{name} ")),
        "",
    )
