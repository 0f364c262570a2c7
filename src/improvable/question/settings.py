"""What an audit is asked, as one value; each setting is declared once, here.

The command line, the protocol's sections, its JSON schema, a run's identity and the table of the reference are made
from the fields of `Settings`. The signatures of `audit` and `compare` are written out; a test compares them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal

from improvable.errors import OptionError
from improvable.question.catalog import canonical
from improvable.question.checks import SAME, SAME_SHARE
from improvable.question.claim import Ask, Form, Gap, Overall
from improvable.question.deltas import Delta, GapDelta
from improvable.question.describing import (
    AUDIT,
    EVERYWHERE,
    SEARCHING,
    STATUS_QUO,
    TESTING,
    Setting,
    about,
    described,
    of_claim,
    of_columns,
    of_report,
    of_rule,
    of_test,
)
from improvable.question.kinds import (
    CAPACITY,
    DELTA,
    FLAG,
    GAP_DELTA,
    LABELS,
    NUMBER,
    POSITIVE,
    RANGE,
    SIGNS,
    TEXT,
    TEXTS,
    WEIGHTS,
    WHOLE,
    plain_positive,
)
from improvable.question.utilities import Selection, Utility

Scheme = Literal["forward", "split"]
Small = Literal["refuse", "pool"]
Method = Literal["bootstrap", "delta"]
Ties = Literal["random", "strict"]
Duplicates = Literal["keep", "cluster"]
Capacity = float | Literal["same", "status_quo"] | None
Decimal = Literal[".", ","]
Positive = str | Sequence[str] | Mapping[str, str | float] | None
AsStated = Literal["as stated"]
EngineName = Literal["memory", "arrow", "dask", "spark", "duckdb"]

SPLIT = ("scheme", "split")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The arguments of `audit` that can change its result, as one value; see there.

    `status_quo` may also be in writing, as in a protocol: ``{"score": "risk", "capacity": 0.03}``.
    """

    outcome: str = field(metadata=of_columns(TEXT, "Column of outcomes."))
    lower_is_better: bool = field(
        default=False,
        metadata=of_columns(FLAG, "A lower amount is better: costs, days. Of two values, name one as positive."),
    )
    outcome_range: Sequence[float] | None = field(
        default=None,
        metadata=of_columns(
            RANGE, "Lowest and highest amount that an outcome can have: 0,50000. Draws then know of amounts not seen."
        ),
    )
    direction: AsStated | None = field(
        default=None,
        metadata=of_columns(
            TEXT,
            "'as stated': the status quo does select those with the worse outcomes; test it all the same.",
            unset="refused",
        ),
    )
    group: str | Sequence[str] = field(
        metadata=of_columns(TEXTS, "Column of groups; several as race,sex must all improve.")
    )
    groups: Sequence[str] | None = field(
        default=None, metadata=of_columns(TEXTS, "Keep only these groups: black,white.", unset="all")
    )
    cross: bool = field(default=False, metadata=of_columns(FLAG, "Cross several group columns into intersections."))
    min_group: int = field(default=0, metadata=of_columns(WHOLE, "Groups with fewer rows are small."))
    small: Small = field(default="refuse", metadata=of_columns(TEXT, "Refuse small groups, or pool them into one."))
    weight: str | None = field(default=None, metadata=of_columns(TEXT, "Column of row weights."))
    cluster: str | None = field(
        default=None, metadata=of_columns(TEXT, "Column of clusters; each stays whole in every block and draw.")
    )
    stratum: str | None = field(
        default=None, metadata=of_columns(TEXT, "Column of a survey's strata; clusters are resampled within them.")
    )
    drop_missing: bool = field(
        default=False, metadata=of_columns(FLAG, "Drop rows with missing values in a needed column.")
    )
    positive: Positive = field(
        default=None,
        metadata=of_columns(
            POSITIVE,
            "Of a column with two values: the one that means selected (a decision) or should be selected (an outcome): "
            "approved=yes,default=no.",
            unset="1",
        ),
    )
    na: str | Sequence[str] | None = field(
        default=None,
        metadata=of_columns(
            TEXTS, "Values that mean missing: 9,99 in outcomes, decisions and groups; n/a among a feature's numbers."
        ),
    )
    strip: bool = field(
        default=False,
        metadata=of_columns(FLAG, "Levels that differ only in spaces or capitals (male, Male) are one."),
    )
    separator: str | None = field(
        default=None, metadata=of_columns(TEXT, "What separates values in a text file: ';', tab.", unset="detected")
    )
    encoding: str | None = field(
        default=None, metadata=of_columns(TEXT, "Encoding of a text file: windows-1252.", unset="detected")
    )
    decimal: Decimal | None = field(
        default=None, metadata=of_columns(TEXT, "Decimal mark in a text file.", unset="detected")
    )
    sheet: str | None = field(default=None, metadata=of_columns(TEXT, "Sheet of an Excel file.", unset="the first"))
    status_quo: Any = field(metadata=about(TEXT, "The algorithm in use.", section=STATUS_QUO, commands=()))
    rule: Any = field(
        default="lasso",
        metadata=of_rule(TEXT, "How a candidate is found: the name of a rule, or module:object.", key="name"),
    )
    rule_source: str | None = field(
        default=None,
        metadata=of_rule(
            TEXT,
            "Digest of the code behind a rule module:object; other code is refused.",
            key="source",
            unset="any code",
            commands=(AUDIT,),
        ),
    )
    features: Sequence[str] | None = field(
        default=None,
        metadata=of_rule(
            TEXTS, "Columns a candidate may read: age,visits,lab_*.", unset="all but outcomes, groups, ids"
        ),
    )
    exclude: Sequence[str] = field(default=(), metadata=of_rule(TEXTS, "Columns it may not read."))
    target: str | None = field(default=None, metadata=of_rule(TEXT, "Column the rule predicts.", unset="the outcome"))
    capacity: Capacity = field(
        default=None,
        metadata=of_rule(
            CAPACITY,
            "Share of rows that may be selected; same is the status quo's own share.",
            unset="that of the status quo, if any",
        ),
    )
    monotone: Mapping[str, str | int] | None = field(
        default=None, metadata=of_rule(SIGNS, "Features that may only help (+) or hurt (-): age:+,income:-.")
    )
    selection_gap: float | None = field(
        default=None,
        metadata=of_rule(NUMBER, "Largest difference in selection rates between groups.", flag="--max-selection-gap"),
    )
    group_blind: bool = field(
        default=True,
        metadata=of_rule(
            FLAG,
            "Refuse features that are, or determine, a group.",
            flag="--allow-group",
            flag_help="Let a candidate read the group.",
        ),
    )
    selection: Selection = field(
        default="benefit", metadata=of_claim(TEXT, "What being selected means: it says which group is worse off.")
    )
    ask: Ask = field(default="both", metadata=of_claim(TEXT, "What must improve: accuracy, fairness, or both."))
    accuracy: str | Utility | Sequence[str | Utility] = field(
        default="calibration",
        metadata=of_claim(TEXTS, "Utility for accuracy; NAME:COLUMN reads another outcome; several as A,B."),
    )
    fairness: str | Utility | Sequence[str | Utility] | None = field(
        default=None, metadata=of_claim(TEXTS, "Utility for the gap.", unset="that of accuracy")
    )
    delta_accuracy: Delta = field(
        default=0.0,
        metadata=of_claim(DELTA, "How much more accurate: 0.05, or by group (white:0.02,black:0) or utility."),
    )
    no_worse: float | None = field(
        default=None,
        metadata=of_claim(NUMBER, "Non-inferiority: 0.01 lets no group lose more than 1% of its accuracy."),
    )
    delta_fairness: GapDelta = field(
        default=0.0, metadata=of_claim(GAP_DELTA, "By how much the gap must be smaller: 0.1 is a tenth; or by utility.")
    )
    form: Form = field(default="ratio", metadata=of_claim(TEXT, "Deltas are shares (ratio) or amounts (difference)."))
    gap: Gap = field(
        default="signed", metadata=of_claim(TEXT, "Fairness statistic that decides: signed, or the paper's absolute.")
    )
    protected: str | Sequence[str] | None = field(
        default=None, metadata=of_claim(TEXTS, "The gap counts only where this group is worse off.")
    )
    overall: Overall = field(
        default=None,
        metadata=of_claim(WEIGHTS, "Accuracy of everyone, not of each group: population, or white:0.5,black:0.5."),
    )
    scheme: Scheme = field(
        default="forward",
        metadata=of_test(
            TEXT,
            "How a repetition uses the rows: forward in blocks, each judged by what those before it taught, or the "
            "paper's split.",
            commands=SEARCHING,
        ),
    )
    repetitions: int = field(
        default=7,
        metadata=of_test(WHOLE, "How often the rows are put in a random order and tested.", commands=SEARCHING),
    )
    train_fraction: float = field(
        default=0.5,
        metadata=of_test(
            NUMBER, "With scheme split: share of rows that the rule learns from.", needs=SPLIT, commands=SEARCHING
        ),
    )
    draws: int = field(default=10_000, metadata=of_test(WHOLE, "Bootstrap draws.", commands=TESTING))
    alpha: float = field(default=0.05, metadata=of_test(NUMBER, "Level of the test.", commands=EVERYWHERE))
    ties: Ties = field(
        default="random",
        metadata=of_test(
            TEXT,
            "Rows that tie at a capacity's cutoff: drawn to meet the capacity, or, strictly, not selected.",
            commands=EVERYWHERE,
        ),
    )
    seed: int = field(default=0, metadata=of_test(WHOLE, "Same seed, same data: same result.", commands=EVERYWHERE))
    method: Method | None = field(
        default=None,
        metadata=of_test(
            TEXT,
            "Take p-values from the bootstrap, or from its normal limit (delta).",
            unset="by the number of cells",
            commands=TESTING,
        ),
    )
    engine: EngineName | None = field(
        default=None,
        metadata=about(TEXT, "What reads the rows, in batches.", unset="by the data", identity=False, commands=TESTING),
    )
    train_rows: int = field(
        default=100_000,
        metadata=of_test(WHOLE, "At most this many rows teach the rule of a block and set cutoffs.", commands=(AUDIT,)),
    )
    row_id: str | None = field(
        default=None,
        metadata=of_test(TEXT, "Column that differs in every row; it tells rows apart.", commands=(AUDIT,)),
    )
    duplicates: Duplicates | None = field(
        default=None,
        metadata=of_test(
            TEXT,
            "Rows that are the same in features and outcome: different people, or copies that stay together.",
            unset="a caution where there are many",
            commands=(AUDIT,),
        ),
    )
    challenge_source: str | None = field(
        default=None,
        metadata=of_test(
            TEXT,
            "Public value, not yet known, that will be the challenge: drand:ROUND, or close:INDEX:YYYY-MM-DD.",
            commands=(AUDIT,),
        ),
    )
    organization: str | None = field(default=None, metadata=of_report(TEXT, "Whose algorithm this is."))
    system: str | None = field(default=None, metadata=of_report(TEXT, "What the algorithm in use is called."))
    author: str | None = field(default=None, metadata=of_report(TEXT, "Who ran the audit."))
    date: str | None = field(default=None, metadata=of_report(TEXT, "The date, as the report should print it."))
    labels: Mapping[str, str] | None = field(
        default=None, metadata=of_report(LABELS, "Words for columns: 'gagne_sum_t:active conditions,race:Race'.")
    )
    simulated: bool = field(default=False, metadata=of_report(FLAG, "The data are simulated; the report says so."))
    challenge: str | None = field(
        default=None,
        metadata=about(
            TEXT,
            "Instead of a seed: a text that the other side chose, or the value of the protocol's source; see seal.",
            commands=(AUDIT,),
        ),
    )
    seal: str | None = field(
        default=None, metadata=about(TEXT, "Digest of the seal that was checked before the run.", commands=())
    )

    def __post_init__(self) -> None:
        """Names may be given as whole numbers, as pandas has them, and one name where several are meant.

        What has two names gets the one that results use, so that the same question is the same audit.
        """
        if self.capacity == SAME:
            object.__setattr__(self, "capacity", SAME_SHARE)
        for name in ("accuracy", "fairness"):
            object.__setattr__(self, name, canonical(getattr(self, name)))
        for name in ("outcome", "weight", "cluster", "target", "row_id", "status_quo"):
            value = getattr(self, name)
            if isinstance(value, Integral) and not isinstance(value, bool):
                object.__setattr__(self, name, str(value))
        for name in ("group", "groups", "features", "exclude", "positive", "na"):
            value = getattr(self, name)
            if isinstance(value, Mapping | str) and name == "positive":
                object.__setattr__(self, name, plain_positive(value))
            elif value is not None and not isinstance(value, str | tuple | list):
                object.__setattr__(self, name, named(name, value))
            elif isinstance(value, str) and name in ("features", "exclude", "groups"):
                object.__setattr__(self, name, (value,))


def named(name: str, value: Any) -> tuple[str, ...]:
    """Names, however they are given."""
    if isinstance(value, Integral | Real):
        return (f"{value:g}" if isinstance(value, float) else str(value),)
    try:
        return tuple(str(one) for one in value)
    except TypeError:
        raise OptionError(f"{name} is a {type(value).__name__}.", "Give names, as a list of texts.") from None


SETTINGS = {one.name: described(one.name, one.type, one.default, one.metadata) for one in fields(Settings)}
"""Every setting by its name."""

STATUS_QUO_KEYS = {
    name: described(name, str | None, None, about(kind, words, section=STATUS_QUO, commands=commands))
    for name, kind, words, commands in (
        ("score", TEXT, "Column with the status quo's score.", SEARCHING),
        ("capacity", NUMBER, "With a score: the status quo selects this share of rows, the highest.", ()),
        ("above", NUMBER, "With a score: the status quo selects scores above this.", SEARCHING),
        ("decision", TEXT, "Column with the status quo's decisions, instead of a score.", SEARCHING),
    )
}
"""The status quo in writing. On the command line its capacity is the candidate's too, and is one option."""


def section_keys(section: str) -> dict[str, Setting]:
    """The keys of a section of a protocol.

    Examples
    --------
    >>> list(section_keys("status_quo"))
    ['score', 'capacity', 'above', 'decision']
    """
    if section == STATUS_QUO:
        return STATUS_QUO_KEYS
    return {setting.key: setting for setting in SETTINGS.values() if setting.section == section}


def asked(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Of a function's arguments, those that are settings: ``Settings(**asked(locals()))``."""
    return {name: arguments[name] for name in SETTINGS if name in arguments}
