"""What an audit is asked, as one value; each setting is one field, here or in `Claim`.

The value objects of the public functions are bases of `Settings`. The command line, the protocol's sections, its JSON
schema, a run's identity and the table of the reference are made from the fields.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from improvable.errors import OptionError, nearest
from improvable.question import options as o
from improvable.question.catalog import canonical
from improvable.question.claim import Claim
from improvable.question.options import SAME, SAME_SHARE, STATUS_QUO, Setting, as_names, check_choice, plain_positive
from improvable.question.utility import Utility

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
Measured = str | Utility | Sequence[str | Utility]


@dataclass(frozen=True, kw_only=True)
class _Levels:
    cross: bool = o.of_groups("Cross several group columns into intersections.", False)
    min_group: int = o.of_groups("Groups with fewer rows are small.", 0)
    small: Small = o.of_groups("Refuse small groups, or pool them into one.", "refuse")


@dataclass(frozen=True)
class Groups(_Levels):
    """How group columns are read; `audit` and `compare` accept it as `group`.

    Attributes
    ----------
    columns : str or sequence of str
    only : sequence of str
        Levels to keep; all where empty.
    cross : bool
        Whether several columns make one attribute of intersections, or one attribute each.
    min_group : int
        Levels with fewer rows are small.
    small : {"refuse", "pool"}
        What happens to small levels.
    """

    columns: str | Sequence[str]
    _: KW_ONLY
    only: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("columns", "only"):
            value = getattr(self, name)
            listed = value if value is None or isinstance(value, str | list | tuple) else _named(name, value)
            object.__setattr__(self, name, as_names(listed))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a question names: columns, algorithms, utilities."""

    outcome: str = o.of_columns("Column of outcomes.")
    group: str | Sequence[str] = o.of_columns("Column of groups; several as race,sex must all improve.")
    weight: str | None = o.of_columns("Column of row weights.", None)
    cluster: str | None = o.of_columns("Column of clusters; each stays whole in every block and draw.", None)
    stratum: str | None = o.of_columns("Column of a survey's strata; clusters are resampled within them.", None)
    row_id: str | None = o.of_columns(
        "Column that differs in every row; it tells rows apart.", None, commands=(o.AUDIT,)
    )
    groups: Sequence[str] | None = o.of_groups("Keep only these groups: black,white.", None, unset="all", key="only")
    status_quo: Any = o.option("The algorithm in use.", section=STATUS_QUO, commands=())
    rule: Any = o.of_rule("How a candidate is found: the name of a rule, or module:object.", "lasso", key="name")
    rule_source: str | None = o.of_rule(
        "Digest of the code behind a rule module:object; other code is refused.", None, key="source",
        unset="any code", commands=(o.AUDIT,),
    )  # fmt: skip
    features: Sequence[str] | None = o.of_rule(
        "Columns a candidate may read: age,visits,lab_*.", None, unset="all but outcomes, groups, ids"
    )
    exclude: Sequence[str] = o.of_rule("Columns it may not read.", ())
    target: str | None = o.of_rule("Column the rule predicts.", None, unset="the outcome")
    capacity: Capacity = o.of_rule(
        "Share of rows that may be selected; same is the status quo's own share.", None,
        unset="that of the status quo, if any", kind=o.CAPACITY,
    )  # fmt: skip
    accuracy: Measured = o.of_claim(
        "Utility for accuracy; NAME:COLUMN reads another outcome; several as A,B.", "calibration"
    )
    fairness: Measured | None = o.of_claim("Utility for the gap.", None, unset="that of accuracy")


@dataclass(frozen=True, kw_only=True)
class Constraints:
    """What a candidate must respect, beside the capacity.

    Attributes
    ----------
    monotone : mapping from feature to "+" or "-", optional
        A higher value of the feature may only help ("+"), or only hurt ("-").
    selection_gap : float, optional
        Bound on the difference of selection rates between groups (independence).
    group_blind : bool
        Refuse features that are, or exactly determine, a group.
    """

    monotone: Mapping[str, str | int] | None = o.of_constraints(
        "Features that may only help (+) or hurt (-): age:+,income:-.", None, kind=o.SIGNS
    )
    selection_gap: float | None = o.of_constraints(
        "Largest difference in selection rates between groups.", None, flag="--max-selection-gap"
    )
    group_blind: bool = o.of_constraints(
        "Refuse features that are, or determine, a group.", True, flag="--allow-group",
        flag_help="Let a candidate read the group.",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Read:
    """How the data are read, and what their values mean.

    Attributes
    ----------
    positive : dict, str or sequence of str, optional
        Of columns with two values, which one is meant: ``{"default": "no", "approved": "yes"}``. For a decision it is
        the value that means selected, for an outcome the value that *should be* selected: repaid, for a loan; has
        diabetes, for a screening; arrested again, for a risk label. A bare value serves where one column holds it.
    outcome_range : pair of float, optional
        The lowest and the highest amount that an outcome can have, such as a cost that is capped. Where few of either
        half were seen among an algorithm's own picks, draws assume one of either end.
    direction : {"as stated"}, optional
        An audit is refused where those whom the status quo selects have the worse outcomes, by more than chance: values
        are then probably read the wrong way round. This says that they are not.
    na : str or sequence of str, optional
        Values of outcomes, targets, decisions and groups that mean missing: '9'. Texts that do so among the numbers of
        a feature: 'n/a'.
    strip : bool
        Read levels that differ only in spaces or capitals as one, in the same columns: 'male' and 'Male '.
    drop_missing : bool
        Drop rows with missing values in a needed column, and say how many.
    separator : str, optional
        What separates values in a text file: ';' or 'tab'. Found out, and said, where it is not given.
    encoding : str, optional
        Of a text file: 'windows-1252'. By default UTF-8, or UTF-16 where the file has its mark.
    decimal : {".", ","}, optional
        Decimal mark of a text file; the other one separates thousands. Found out, and said, where it is not given.
    sheet : str, optional
        Sheet of an Excel file, by default the first.
    engine : {"memory", "arrow", "dask", "spark", "duckdb"}, optional
        What reads the rows, in batches. By default frames and single files are read into memory, and other data have
        their own engine. The result is the same bytes in all of them.
    duplicates : {"keep", "cluster"}, optional
        What rows are that have the same features and outcome: different people ("keep"), or copies, which stay
        together in every block and draw ("cluster"). Where they are more than 1% of the rows, a caution says so.
    """

    positive: Positive = o.of_read(
        "Of a column with two values: the one that means selected (a decision) or should be selected (an outcome): "
        "approved=yes,default=no.", None, unset="1", kind=o.POSITIVE,
    )  # fmt: skip
    outcome_range: Sequence[float] | None = o.of_read(
        "Lowest and highest amount that an outcome can have: 0,50000. Draws then know of amounts not seen.", None,
        kind=o.RANGE,
    )  # fmt: skip
    direction: AsStated | None = o.of_read(
        "'as stated': the status quo does select those with the worse outcomes; test it all the same.", None,
        unset="refused",
    )  # fmt: skip
    na: str | Sequence[str] | None = o.of_read(
        "Values that mean missing: 9,99 in outcomes, decisions and groups; n/a among a feature's numbers.", None
    )
    strip: bool = o.of_read("Levels that differ only in spaces or capitals (male, Male) are one.", False)
    drop_missing: bool = o.of_read("Drop rows with missing values in a needed column.", False)
    separator: str | None = o.of_read("What separates values in a text file: ';', tab.", None, unset="detected")
    encoding: str | None = o.of_read("Encoding of a text file: windows-1252.", None, unset="UTF-8")
    decimal: Decimal | None = o.of_read("Decimal mark in a text file.", None, unset="detected")
    sheet: str | None = o.of_read("Sheet of an Excel file.", None, unset="the first")
    engine: EngineName | None = o.of_read(
        "What reads the rows, in batches.", None, unset="by the data", identity=False, in_protocol=False,
        commands=o.TESTING,
    )  # fmt: skip
    duplicates: Duplicates | None = o.of_read(
        "Rows that are the same in features and outcome: different people, or copies that stay together.", None,
        unset="a caution where there are many", commands=(o.AUDIT,),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Test:
    """How a claim is tested.

    Attributes
    ----------
    scheme : {"forward", "split"}
        How a repetition uses the rows. Forward: they are cut at 10, 20, 40 and 70%; the first block only teaches, and
        each later one is tested by a candidate that learned from all rows before it. Where data are small, the first
        block grows, up to half of the rows, and the result says so. Split, as in the paper: one part teaches, and the
        other is tested.
    repetitions : int
        K. The p-value of one repetition must be below alpha, the median of several below alpha / 2. Forward, a rule
        that is code of your own needs at least 7.
    train_fraction : float
        With ``scheme="split"``: share of rows that the rule learns from.
    draws : int
        Bootstrap draws per repetition.
    alpha : float
        Level of the test.
    ties : {"random", "strict"}
        What happens to rows that tie at a capacity's cutoff: some are selected, by a hash of the row, so that the
        capacity is met in expectation; or none, the paper's letter.
    method : {"bootstrap", "delta"}, optional
        How p-values are drawn: by the bootstrap, or from its normal limit (Appendix B). By default the bootstrap,
        unless a repetition has more than a million distinct contributions.
    train_rows : int
        From how many of the rows before a block a rule, and cutoffs, learn at most. The test is valid for any number; a
        caution says where it binds.
    """

    __test__: ClassVar[bool] = False  # pytest takes a class of this name for one of its own

    scheme: Scheme = o.of_test(
        "How a repetition uses the rows: forward in blocks, each judged by what those before it taught, or the "
        "paper's split.", "forward", commands=o.SEARCHING,
    )  # fmt: skip
    repetitions: int = o.of_test("How often the rows are put in a random order and tested.", 7, commands=o.SEARCHING)
    train_fraction: float = o.of_test(
        "With scheme split: share of rows that the rule learns from.", 0.5, needs=("scheme", "split"),
        commands=o.SEARCHING,
    )  # fmt: skip
    draws: int = o.of_test("Bootstrap draws.", 10_000, commands=o.TESTING)
    alpha: float = o.of_test("Level of the test.", 0.05)
    ties: Ties = o.of_test(
        "Rows that tie at a capacity's cutoff: drawn to meet the capacity, or, strictly, not selected.", "random"
    )
    method: Method | None = o.of_test(
        "Take p-values from the bootstrap, or from its normal limit (delta).", None, unset="by the number of cells",
        commands=o.TESTING,
    )  # fmt: skip
    train_rows: int = o.of_test(
        "At most this many rows teach the rule of a block and set cutoffs.", 100_000, commands=(o.AUDIT,)
    )


@dataclass(frozen=True, kw_only=True)
class About:
    """Whose audit it is, and in what words a report speaks. Nothing here changes a number.

    Attributes
    ----------
    organization, system, author, date : str, optional
        Whose algorithm it is, what it is called, who ran the audit and when: for the head of a report.
    labels : mapping from column to words, optional
        What tables, pictures and sentences call a column.
    simulated : bool
        Whether the data are simulated; a report then says so in large type.
    """

    organization: str | None = o.of_report("Whose algorithm this is.", None)
    system: str | None = o.of_report("What the algorithm in use is called.", None)
    author: str | None = o.of_report("Who ran the audit.", None)
    date: str | None = o.of_report("The date, as the report should print it.", None)
    labels: Mapping[str, str] | None = o.of_report(
        "Words for columns: 'gagne_sum_t:active conditions,race:Race'.", None, kind=o.LABELS
    )
    simulated: bool = o.of_report("The data are simulated; the report says so.", False)


# The fields of the last base come first: a protocol begins with its columns.
@dataclass(frozen=True, kw_only=True)
class Settings(About, Read, Test, Claim, Constraints, _Levels, _Asked):
    """All settings of an audit as one value: what `audit` is given, flat, and what only a protocol has.

    `status_quo` may also be in writing, as in a protocol: ``{"score": "risk", "capacity": 0.03}``.
    """

    seed: int = o.of_test("Same seed, same data: same result.", 0)
    challenge_source: str | None = o.of_test(
        "Public value, not yet known, that will be the challenge: drand:ROUND, or close:INDEX:YYYY-MM-DD.", None,
        commands=(o.AUDIT,),
    )  # fmt: skip
    challenge: str | None = o.of_test(
        "Instead of a seed: a text that the other side chose, or the value of the protocol's source; see seal.", None,
        in_protocol=False, commands=(o.AUDIT,),
    )  # fmt: skip
    seal: str | None = o.of_test(
        "Digest of the seal that was checked before the run.", None, in_protocol=False, commands=()
    )

    def __post_init__(self) -> None:
        """Names may be given as whole numbers, as pandas has them, and one name where several are meant.

        What has two names gets the one that results use, so that the same question is the same audit.
        """
        super().__post_init__()
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
                object.__setattr__(self, name, _named(name, value))
            elif isinstance(value, str) and name in ("features", "exclude", "groups"):
                object.__setattr__(self, name, (value,))


def _named(name: str, value: Any) -> tuple[str, ...]:
    """Names, however they are given."""
    if isinstance(value, Integral | Real):
        return (f"{value:g}" if isinstance(value, float) else str(value),)
    try:
        return tuple(str(one) for one in value)
    except TypeError:
        raise OptionError(f"{name} is a {type(value).__name__}.", "Give names, as a list of texts.") from None


SETTINGS = o.settings_of(Settings)
"""Every setting by its name."""


def plain_about(about: About | Mapping[str, Any]) -> dict[str, Any]:
    """What is said about an audit, checked, as plain data."""
    if isinstance(about, Mapping):
        for name in about:
            check_choice("a key of about", name, [one.name for one in fields(About)])
        about = About(**about)
    out = {}
    for one in fields(About):
        kind, value = SETTINGS[one.name].kind, getattr(about, one.name)
        if value:
            if not kind.accepts(value):
                raise OptionError(f"`{one.name}` is {value!r}.", f"It must be {kind.words}.")
            out[one.name] = kind.plain(value)
    return out


STATUS_QUO_KEYS = {
    name: o.make_setting(name, kind=kind, help=words, section=STATUS_QUO, commands=commands)
    for name, kind, words, commands in (
        ("score", o.TEXT, "Column with the status quo's score.", o.SEARCHING),
        ("capacity", o.NUMBER, "With a score: the status quo selects this share of rows, the highest.", ()),
        ("above", o.NUMBER, "With a score: the status quo selects scores above this.", o.SEARCHING),
        ("decision", o.TEXT, "Column with the status quo's decisions, instead of a score.", o.SEARCHING),
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
    return {one.key: one for one in SETTINGS.values() if one.section == section and one.in_protocol}


OBJECTS: dict[str, type] = {"group": Groups, "claim": Claim, "test": Test, "constraints": Constraints, "read": Read}
"""Arguments of `audit` that hold several settings."""
ELSEWHERE = {"columns": "group", "only": "groups"}
"""Fields of `Groups` that are settings by another name."""
HELD = {
    ELSEWHERE.get(one.name, one.name): (argument, one.name)
    for argument, kind in OBJECTS.items()
    for one in fields(kind)
}
"""The object and the field of every setting that is in an object."""


def asked(arguments: Mapping[str, Any], command: str = o.AUDIT) -> dict[str, Any]:
    """Of a function's arguments, those that are settings, alone or in an object: ``Settings(**asked(locals()))``."""
    out = {name: arguments[name] for name in SETTINGS if name in arguments}
    for argument, kind in OBJECTS.items():
        given = arguments.get(argument)
        if given is not None and argument != "group" and not isinstance(given, kind):
            raise OptionError(f"`{argument}` is a {type(given).__name__}.", f"Give improvable.{kind.__name__}(...).")
    for name, (argument, field) in HELD.items():
        given, setting = arguments.get(argument), SETTINGS[name]
        if isinstance(given, OBJECTS[argument]):
            value = getattr(given, field)
            out[name] = setting.default if value == () else value
            if out[name] != setting.default and command not in setting.commands:
                whole = type(given).__name__
                raise OptionError(f"{whole} has `{field}`, which `{command}` does not take.", "Leave it out.")
    return out


def in_object(name: str, value: str) -> str:
    """A setting as an argument of `audit`: ``test=Test(draws=500)``."""
    argument, field = HELD[name]
    return f"{argument}={OBJECTS[argument].__name__}({'..., ' if argument == 'group' else ''}{field}={value})"


def where_to_say(name: str, value: Any, arguments: Iterable[str]) -> str:
    """Where a setting goes that is not an argument of a function.

    Examples
    --------
    >>> where_to_say("draws", 500, ["test"])
    '`draws` is part of `test`: test=Test(draws=500).'
    """
    if name in HELD and HELD[name][0] in arguments:
        return f"`{name}` is part of `{HELD[name][0]}`: {in_object(name, repr(value))}."
    if name in {one.name for one in fields(About)}:
        return f"`{name}` is part of a report: result.report(path, about=About({name}={value!r}))."
    if name in SETTINGS and o.AUDIT in SETTINGS[name].commands:
        return f"`{name}` belongs to a protocol or to the command line: {SETTINGS[name].flag}."
    return f"there is no argument `{name}`. {nearest(name, dict.fromkeys([*arguments, *SETTINGS]))}"
