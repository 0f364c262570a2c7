"""Everything of an audit before its first split: settings checked, columns chosen, rows read, splits seeded."""

import hashlib
import unicodedata
from dataclasses import dataclass, field, replace

from improvable.algorithms.constraints import Constraints, check_features, make_constraints, refuse_unhonoured
from improvable.algorithms.deciding import Algorithm, Threshold, as_algorithm, capacity_of
from improvable.algorithms.rules import RULES, as_rule
from improvable.algorithms.rules.base import SelectionRule
from improvable.data.features import choose_features
from improvable.data.fingerprint import UsedColumns, fingerprint, used_columns
from improvable.data.frames import FrameLike, Rows, read_rows
from improvable.data.sample import Sample, make_sample
from improvable.errors import Caution, OptionError
from improvable.procedure.steps import Plan, check_split_sizes
from improvable.procedure.stopping import Stopping
from improvable.question.checks import check_integer, check_number
from improvable.question.design import Design, make_design
from improvable.question.settings import Settings


@dataclass(frozen=True)
class Prepared:
    """An audit that is ready to run.

    Attributes
    ----------
    settings : Settings
    design : Design
    plan : Plan
    rows : Rows
        As they were read, before any was dropped.
    used : UsedColumns
    sample : Sample
        The rows that are analysed, in canonical order.
    cautions : list of Caution
    """

    settings: Settings
    design: Design
    plan: Plan
    rows: Rows
    used: UsedColumns
    sample: Sample
    cautions: list[Caution] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    """Settings that were checked as far as they can be without rows."""

    settings: Settings
    design: Design
    status_quo: Algorithm | Threshold
    rule: SelectionRule
    constraints: Constraints
    target: str
    stopping: Stopping | None


def check_settings(settings: Settings) -> Checked:
    """Refuse what cannot be asked, before any row is read."""
    design = make_design(settings)
    check_integer("splits", settings.splits, 1)
    check_number("tolerance", settings.tolerance, 0, 0.5)
    check_integer("most_splits", settings.most_splits, 1)
    if settings.combine == "sequential" and settings.most_splits < settings.splits:
        raise OptionError(
            f"most_splits is {settings.most_splits}, and splits, with which it begins, is {settings.splits}.",
            "Allow more, or begin with fewer.",
        )
    check_number("train_fraction", settings.train_fraction, 0, 1)
    if settings.challenge is not None and settings.seed:
        raise OptionError("a sealed audit has no seed of its own.", "Leave the seed, or the challenge, away.")
    if settings.challenge is not None:
        check_challenge(settings.challenge)
    algorithm = as_algorithm(settings.status_quo)
    capacity = capacity_of(algorithm) if settings.capacity is None else settings.capacity
    constraints = make_constraints(capacity, settings.monotone, settings.selection_gap, settings.group_blind)
    rule = as_rule(settings.rule)
    refuse_unhonoured(constraints, rule, RULES)
    sequential = settings.combine == "sequential"
    stopping = Stopping(settings.tolerance, int(settings.most_splits)) if sequential else None
    return Checked(settings, design, algorithm, rule, constraints, settings.target or settings.outcome, stopping)


def prepare_audit(data: FrameLike, settings: Settings) -> Prepared:
    """Check settings and data in memory, and stop before the first split."""
    checked = check_settings(settings)
    for name in ("train_rows", "row_id"):
        if getattr(settings, name) is not None:
            raise OptionError(f"{name} goes with an engine.", "Name one too: engine='memory' (--engine memory).")
    design, algorithm, target = checked.design, checked.status_quo, checked.target
    rows = read_rows(data)
    chosen = choose_features(rows, design, algorithm, target, settings.features, settings.exclude)
    used = used_columns(rows, design, algorithm, [target, *chosen.columns])
    if settings.challenge is not None:
        seed = sealed_seed(fingerprint(rows, used.question), settings.challenge)
        design = replace(design, question=replace(design.question, seed=seed))
    sample, cautions = make_sample(rows, design, [algorithm], [target], settings.drop_missing, used.order)
    check_features(checked.constraints, rows, chosen.columns, sample)
    plan = Plan(
        algorithm,
        checked.rule,
        chosen,
        target,
        checked.constraints,
        int(settings.splits),
        settings.train_fraction,
        checked.stopping,
    )
    check_split_sizes(sample, settings.train_fraction, checked.constraints.capacity)
    return Prepared(settings, design, plan, rows, used, sample, [*cautions, *chosen.cautions])


def check_challenge(challenge: str) -> None:
    """Refuse texts that look like another: each would deal the rows anew."""
    plain = " ".join(unicodedata.normalize("NFKC", challenge).split())
    if challenge != plain or not challenge.isprintable():
        raise OptionError(
            "the challenge has blanks or characters that do not show.", f"Write it plainly, as '{plain}'."
        )


def sealed_seed(question_fingerprint: str, challenge: str) -> int:
    """The seed of a sealed audit: from the data that the question is about and the other side's challenge, no more.

    Rule, features, draws, level and number of splits do not enter. They deal no rows anew that differ in what the
    question reads, as rows with a score do; rows that agree in all of that are told apart by their other columns.
    """
    text = f"improvable seal\n{question_fingerprint}\n{challenge}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
