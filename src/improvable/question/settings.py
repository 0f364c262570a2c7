"""What an audit is asked, as one value; each setting is one field, here or in `Claim`.

The value objects of the public functions are bases of `Settings`. The command line, the
protocol's sections, its JSON schema, a run's identity and the table of the reference
are made from the fields.
"""

import ast
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from numbers import Integral, Real
from typing import Any, ClassVar, Literal

from improvable.errors import OptionError, nearest
from improvable.question import options as o
from improvable.question.catalog import canonical
from improvable.question.claim import Claim
from improvable.question.options import (
    SAME,
    SAME_SHARE,
    STATUS_QUO,
    Setting,
    as_names,
    check_choice,
    plain_positive,
)
from improvable.question.utility import Utility

Scheme = Literal["forward", "split"]
Assume = Literal["between", "group only", "probabilities only"]
Method = Literal["bootstrap", "delta"]
Ties = Literal["random", "strict"]
Capacity = float | Literal["same", "status_quo"] | None
Decimal = Literal[".", ","]
AsStated = Literal["as stated"]
EngineName = Literal["memory", "arrow", "dask", "spark", "duckdb"]
Measured = str | Utility | Sequence[str | Utility]


@dataclass(frozen=True, kw_only=True)
class _Levels:
    cross: bool = o.of_groups("Cross several group columns into intersections.", False)
    min_group: int = o.of_groups("Groups with fewer rows are refused.", 0)
    probabilities: Mapping[str, str] | None = o.of_groups(
        (
            "Instead of a group column: a column with the probability of each group, "
            "white=p_white,black=p_black."
        ),
        None,
        kind=o.COLUMNS_OF,
        flag="--group-probabilities",
    )
    assume: Assume | None = o.of_groups(
        (
            "With probabilities: what else tells the outcome, given the probabilities "
            "or given the group; or either."
        ),
        None,
        unset="between, with probabilities",
        commands=o.TESTING,
    )
    known: str | None = o.of_groups(
        (
            "With probabilities: column of the groups that are known, for a random "
            "sample of the rows."
        ),
        None,
        flag="--known-groups",
    )
    rake: Mapping[str, float] | None = o.of_groups(
        (
            "With probabilities: known shares of the groups, to which these are raked: "
            "white:0.6,black:0.4."
        ),
        None,
        kind=o.SHARES,
        flag="--group-shares",
    )


@dataclass(frozen=True)
class Groups(_Levels):
    """How group columns are read; `audit` and `compare` accept it as `group`.

    Attributes
    ----------
    columns : str or sequence of str
    only : sequence of str
        Levels to keep; all where empty.
    cross : bool
        Whether several columns make one attribute of intersections, or one attribute
        each.
    min_group : int
        Levels with fewer rows are refused.
    probabilities : mapping from group to column, optional
        Instead of `columns`, where groups are not known: ``{"white": "p_white",
        "black": "p_black"}``. In a row they sum to at most 1; the rest belongs to no
        group.
    assume : {"between", "group only", "probabilities only"}, optional
        What makes them enough. "probabilities only": among people with the same
        probabilities, outcomes and decisions do not depend on the group (weighted
        means). "group only": within a group they do not depend on the probabilities
        (regression). "between", the default: the truth lies between the two, so both
        must show it.
    known : str, optional
        Column of the groups that are known, empty elsewhere, for a random sample of the
        rows: it corrects the others, and nothing is assumed.
    rake : mapping from group to share, optional
        Known shares of the groups among the rows; odds are multiplied until the
        probabilities have them as means.
    """

    columns: str | Sequence[str] = ()
    _: KW_ONLY
    only: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("columns", "only"):
            object.__setattr__(self, name, as_names(_named(name, getattr(self, name))))


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What a question names: columns, algorithms, utilities."""

    outcome: str = o.of_columns("Column of outcomes.")
    group: str | Sequence[str] = o.of_columns(
        "Column of groups; several as race,sex must all improve.", ()
    )
    weight: str | None = o.of_columns("Column of row weights.", None)
    cluster: str | None = o.of_columns(
        "Column of clusters; each stays whole in every block and draw.", None
    )
    stratum: str | None = o.of_columns(
        "Column of a survey's strata; clusters are resampled within them.", None
    )
    row_id: str | None = o.of_columns(
        "Column that differs in every row; it tells rows apart.",
        None,
        commands=(o.AUDIT,),
    )
    groups: Sequence[str] | None = o.of_groups(
        "Keep only these groups: black,white.", None, unset="all", key="only"
    )
    status_quo: Any = o.option("The algorithm in use.", section=STATUS_QUO, commands=())
    rule: Any = o.of_rule(
        "How a candidate is found: the name of a rule, or module:object.",
        "aim",
        key="name",
    )
    rule_source: str | None = o.of_rule(
        "Digest of the code behind a rule module:object; other code is refused.",
        None,
        key="source",
        unset="any code",
        commands=(o.AUDIT,),
    )
    features: Sequence[str] | None = o.of_rule(
        "Columns a candidate may read: age,visits,lab_*.",
        None,
        unset="all but outcomes, groups, ids",
    )
    exclude: Sequence[str] = o.of_rule("Columns it may not read.", ())
    target: str | None = o.of_rule(
        "Column the rule predicts.", None, unset="the outcome"
    )
    capacity: Capacity = o.of_rule(
        "Share of rows that may be selected; same is the status quo's own share.",
        None,
        unset="that of the status quo, if any",
        kind=o.CAPACITY,
    )
    accuracy: Measured = o.of_claim(
        "Utility for accuracy; NAME:COLUMN reads another outcome; several as A,B.",
        "calibration",
    )
    fairness: Measured | None = o.of_claim(
        "Utility for the gap.", None, unset="that of accuracy"
    )


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
    max_unknown : float, optional
        Of those selected, at most this share is not selected by the status quo, whose
        decision the candidate sees. With 0, all outcomes of those selected are known.
    """

    monotone: Mapping[str, str | int] | None = o.of_constraints(
        "Features that may only help (+) or hurt (-): age:+,income:-.",
        None,
        kind=o.SIGNS,
    )
    selection_gap: float | None = o.of_constraints(
        "Largest difference in selection rates between groups.",
        None,
        flag="--max-selection-gap",
    )
    group_blind: bool = o.of_constraints(
        "Refuse features that are, or determine, a group.",
        True,
        flag="--allow-group",
        flag_help="Let a candidate read the group.",
    )
    max_unknown: float | None = o.of_constraints(
        "Of those selected, the largest share that the status quo does not select.",
        None,
    )


@dataclass(frozen=True, kw_only=True)
class Read:
    """How the data are read, and what their values mean.

    Attributes
    ----------
    positive : dict, str or sequence of str, optional
        Which value of a two-valued column is meant: ``{"default": "no", "approved":
        "yes"}``. For a decision, the one that means selected; for an outcome, the one
        that *should be* selected: repaid, for a loan; has diabetes, for a screening;
        arrested again, for a risk label. A bare value serves where only one column
        holds it.
    outcome_range : pair of float, optional
        The lowest and the highest amount that an outcome can have, such as a capped
        cost. Where few of either half were seen among an algorithm's own picks, draws
        assume one more at each end.
    unknown_outcomes : float, optional
        Outcomes may be missing for people whom the status quo does not select. By how
        much, at most, the mean outcome of those not seen differs from that of those
        seen with the same features: 0 if not at all; from the outcome's range up (1 of
        a 0/1 outcome) nothing is assumed, and no model is needed.
    direction : {"as stated"}, optional
        An audit is refused where those whom the status quo selects have worse outcomes,
        by more than chance: the values are probably read the wrong way round. This
        confirms that they are not.
    na : str or sequence of str, optional
        Values that mean missing: '9' in outcomes, targets, decisions and groups; 'n/a'
        among the numbers of a feature.
    strip : bool
        In the same columns, read levels that differ only in spaces or capitals as one:
        'male' and 'Male '.
    drop_missing : bool
        Drop rows with missing values in a needed column, and report how many.
    separator : str, optional
        What separates values in a text file: ';' or 'tab'. Detected, and reported, by
        default.
    encoding : str, optional
        Of a text file: 'windows-1252'. By default UTF-8, or UTF-16 where the file has
        its mark.
    decimal : {".", ","}, optional
        Decimal mark of a text file; the other one separates thousands. Detected, and
        reported, by default.
    sheet : str, optional
        Sheet of an Excel file, by default the first.
    engine : {"memory", "arrow", "dask", "spark", "duckdb"}, optional
        What reads the rows, in batches; the result is the same. By default frames and
        single files are read into memory, and other data have their own engine.
    duplicates : {"keep", "cluster"}, optional
        What rows with the same features and outcome are: different people ("keep"), or
        copies, which stay together in every block and draw ("cluster"). A caution says
        where they are more than 1% of the rows.
    """

    positive: str | Sequence[str] | Mapping[str, str | float] | None = o.of_read(
        (
            "Of a column with two values: the one that means selected (a decision) or "
            "should be selected (an outcome): approved=yes,default=no."
        ),
        None,
        unset="1",
        kind=o.POSITIVE,
    )
    outcome_range: Sequence[float] | None = o.of_read(
        (
            "Lowest and highest amount that an outcome can have: 0,50000. Draws then "
            "know of amounts not seen."
        ),
        None,
        kind=o.RANGE,
    )
    unknown_outcomes: float | None = o.of_read(
        (
            "Outcomes may be missing for those not selected: by how much, at most, "
            "their mean differs from that of others with the same features; 0, or up "
            "to the outcome's range for the worst case."
        ),
        None,
        unset="refused",
        commands=(*o.TESTING, o.POWER),
    )
    direction: AsStated | None = o.of_read(
        (
            "'as stated': the status quo does select those with the worse outcomes; "
            "test it all the same."
        ),
        None,
        unset="refused",
    )
    na: str | Sequence[str] | None = o.of_read(
        (
            "Values that mean missing: 9,99 in outcomes, decisions and groups; n/a "
            "among a feature's numbers."
        ),
        None,
    )
    strip: bool = o.of_read(
        "Levels that differ only in spaces or capitals (male, Male) are one.", False
    )
    drop_missing: bool = o.of_read(
        "Drop rows with missing values in a needed column.", False
    )
    separator: str | None = o.of_read(
        "What separates values in a text file: ';', tab.", None, unset="detected"
    )
    encoding: str | None = o.of_read(
        "Encoding of a text file: windows-1252.", None, unset="UTF-8"
    )
    decimal: Decimal | None = o.of_read(
        "Decimal mark in a text file.", None, unset="detected"
    )
    sheet: str | None = o.of_read("Sheet of an Excel file.", None, unset="the first")
    engine: EngineName | None = o.of_read(
        "What reads the rows, in batches.",
        None,
        unset="by the data",
        identity=False,
        in_protocol=False,
        commands=o.TESTING,
    )
    duplicates: Literal["keep", "cluster"] | None = o.of_read(
        (
            "Rows that are the same in features and outcome: different people, or "
            "copies that stay together."
        ),
        None,
        unset="a caution where there are many",
        commands=(o.AUDIT,),
    )


@dataclass(frozen=True, kw_only=True)
class Test:
    """How a claim is tested.

    Attributes
    ----------
    scheme : {"forward", "split"}
        How a repetition uses the rows. Forward: they are cut at 10, 20, 40 and 70%; the
        first block only teaches, and each later one tests a candidate that learned from
        all rows before it. With few rows the first block grows, up to half of them, and
        the result says so. Split, as in the paper: one part teaches, and the other
        tests.
    repetitions : int
        K. The p-value of one repetition must be below alpha, the median of several
        below alpha / 2. Forward, a rule that is code of your own needs at least 7.
    train_fraction : float
        With ``scheme="split"``: share of rows that the rule learns from.
    draws : int
        Bootstrap draws per repetition.
    alpha : float
        Level of the test.
    ties : {"random", "strict"}
        Of rows that tie at a capacity's cutoff, select some, by a hash of the row, so
        that the capacity is met in expectation; or none, the paper's letter.
    method : {"bootstrap", "delta"}, optional
        Draw p-values by the bootstrap, or from its normal limit (Appendix B), the
        default where a repetition has more than a million distinct contributions.
    train_rows : int
        At most this many rows before a block teach the rule and set cutoffs. The test
        is valid for any number; a caution says where it binds.
    """

    # pytest takes a class of this name for one of its own
    __test__: ClassVar[bool] = False

    scheme: Scheme = o.of_test(
        (
            "How a repetition uses the rows: forward in blocks, each judged by what "
            "those before it taught, or the paper's split."
        ),
        "forward",
        commands=o.SEARCHING,
    )
    repetitions: int = o.of_test(
        "How often the rows are put in a random order and tested.",
        7,
        commands=o.SEARCHING,
    )
    train_fraction: float = o.of_test(
        "With scheme split: share of rows that the rule learns from.",
        0.5,
        needs=("scheme", "split"),
        commands=o.SEARCHING,
    )
    draws: int = o.of_test("Bootstrap draws.", 10_000, commands=o.TESTING)
    alpha: float = o.of_test("Level of the test.", 0.05)
    ties: Ties = o.of_test(
        (
            "Rows that tie at a capacity's cutoff: drawn to meet the capacity, or, "
            "strictly, not selected."
        ),
        "random",
    )
    method: Method | None = o.of_test(
        "Take p-values from the bootstrap, or from its normal limit (delta).",
        None,
        unset="by the number of cells",
        commands=o.TESTING,
    )
    train_rows: int = o.of_test(
        "At most this many rows teach the rule of a block and set cutoffs.",
        100_000,
        commands=(o.AUDIT,),
    )


@dataclass(frozen=True, kw_only=True)
class About:
    """Whose audit it is, and in what words a report speaks. Nothing here changes a
    number.

    Attributes
    ----------
    organization, system, author, date : str, optional
        Whose algorithm it is, what it is called, who ran the audit and when: for the
        head of a report.
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
        "Words for columns: 'gagne_sum_t:active conditions,race:Race'.",
        None,
        kind=o.LABELS,
    )
    simulated: bool = o.of_report("The data are simulated; the report says so.", False)


# The fields of the last base come first: a protocol begins with its columns.
@dataclass(frozen=True, kw_only=True)
class Settings(About, Read, Test, Claim, Constraints, _Levels, _Asked):
    """All settings of an audit, flat. `status_quo` may be in writing: ``{"score":
    "risk", "capacity": 0.03}``.
    """

    seed: int = o.of_test("Same seed, same data: same result.", 0)
    challenge_source: str | None = o.of_test(
        (
            "Public value, not yet known, that will be the challenge: drand:ROUND, or "
            "close:INDEX:YYYY-MM-DD."
        ),
        None,
        commands=(o.AUDIT,),
    )
    challenge: str | None = o.of_test(
        (
            "Instead of a seed: a text that the other side chose, or the value of the "
            "protocol's source; see seal."
        ),
        None,
        in_protocol=False,
        commands=(o.AUDIT,),
    )
    seal: str | None = o.of_test(
        "Digest of the seal that was checked before the run.",
        None,
        in_protocol=False,
        commands=(),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # What has two names gets the one that results use, so that the same question is
        # the same audit.
        plain = {
            name: canonical(getattr(self, name)) for name in ("accuracy", "fairness")
        }
        plain["capacity"] = SAME_SHARE if self.capacity == SAME else self.capacity
        # Names may be whole numbers, as pandas has them, and one name may stand where
        # several are meant.
        for name in ("outcome", "weight", "cluster", "target", "row_id", "status_quo"):
            value = getattr(self, name)
            plain[name] = (
                str(value)
                if isinstance(value, Integral) and not isinstance(value, bool)
                else value
            )
        for name in ("group", "groups", "features", "exclude", "na"):
            value = _named(name, getattr(self, name))
            several = name in ("groups", "features", "exclude") and isinstance(
                value, str
            )
            plain[name] = (value,) if several else value
        one_or_each = isinstance(self.positive, Mapping | str)
        plain["positive"] = (
            plain_positive(self.positive)
            if one_or_each
            else _named("positive", self.positive)
        )
        for name, value in plain.items():
            object.__setattr__(self, name, value)


def _named(name: str, value: Any) -> Any:
    """Names as they are given, or as strings where they are numbers or an array."""
    if value is None or isinstance(value, str | tuple | list):
        return value
    if isinstance(value, Real):
        return (f"{value:g}" if isinstance(value, float) else str(value),)
    try:
        return tuple(str(one) for one in value)
    except TypeError:
        raise OptionError(
            f"{name} is a {type(value).__name__}.", "Give names, as a list of texts."
        ) from None


SETTINGS = o.settings_of(Settings)


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
                raise OptionError(
                    f"`{one.name}` is {value!r}.", f"It must be {kind.words}."
                )
            out[one.name] = kind.plain(value)
    return out


STATUS_QUO_KEYS = {
    name: o.make_setting(
        name, kind=kind, help=words, section=STATUS_QUO, commands=commands
    )
    for name, kind, words, commands in (
        ("score", o.TEXT, "Column with the status quo's score.", o.SEARCHING),
        (
            "capacity",
            o.NUMBER,
            "With a score: the status quo selects this share of rows, the highest.",
            (),
        ),
        (
            "above",
            o.NUMBER,
            "With a score: the status quo selects scores above this.",
            o.SEARCHING,
        ),
        (
            "decision",
            o.TEXT,
            "Column with the status quo's decisions, instead of a score.",
            o.SEARCHING,
        ),
    )
}
"""The status quo in writing. On the command line its capacity is the candidate's too,
and is one option.
"""


def section_keys(section: str) -> dict[str, Setting]:
    if section == STATUS_QUO:
        return STATUS_QUO_KEYS
    return {
        one.key: one
        for one in SETTINGS.values()
        if one.section == section and one.in_protocol
    }


# Arguments of `audit` that hold several settings, and fields of `Groups` that are
# settings by another name.
OBJECTS: dict[str, type] = {
    "group": Groups,
    "claim": Claim,
    "test": Test,
    "constraints": Constraints,
    "read": Read,
}
ELSEWHERE = {"columns": "group", "only": "groups"}
# The object and the field of every setting that is in an object.
HELD = {
    ELSEWHERE.get(one.name, one.name): (arg, one.name)
    for arg, kind in OBJECTS.items()
    for one in fields(kind)
}


def asked(arguments: Mapping[str, Any], command: str = o.AUDIT) -> dict[str, Any]:
    """Of a function's arguments, those that are settings, alone or in an object:
    ``Settings(**asked(locals()))``.
    """
    out = {name: arguments[name] for name in SETTINGS if name in arguments}
    for argument, kind in OBJECTS.items():
        given = arguments.get(argument)
        if given is not None and argument != "group" and not isinstance(given, kind):
            raise OptionError(
                f"`{argument}` is a {type(given).__name__}.",
                f"Give improvable.{kind.__name__}(...).",
            )
    for name, (argument, field) in HELD.items():
        given, setting = arguments.get(argument), SETTINGS[name]
        if isinstance(given, OBJECTS[argument]):
            value = getattr(given, field)
            out[name] = setting.default if value == () else value
            if out[name] != setting.default and command not in setting.commands:
                refused = (
                    f"{type(given).__name__} has `{field}`, which `{command}` does not "
                    "take."
                )
                raise OptionError(refused, "Leave it out.")
    return out


# How messages name settings: between backticks, as in "Drop those rows:
# `drop_missing=True`." An error in Python adds the object it goes in, the command line
# writes --drop-missing, and a page names its control.


def in_object(name: str, value: str) -> str:
    """A setting as an argument of `audit`: ``test=Test(draws=500)``."""
    argument, field = HELD[name]
    return (
        f"{argument}={OBJECTS[argument].__name__}("
        f"{'..., ' if argument == 'group' else ''}{field}={value})"
    )


def where_to_say(name: str, value: Any, arguments: Iterable[str]) -> str:
    """Where a setting goes that is not an argument of a function."""
    if name in HELD and HELD[name][0] in arguments:
        return f"`{name}` is part of `{HELD[name][0]}`: {in_object(name, repr(value))}."
    if name in {one.name for one in fields(About)}:
        return (
            f"`{name}` is part of a report: result.report(path, "
            f"about=About({name}={value!r}))."
        )
    if name in SETTINGS and o.AUDIT in SETTINGS[name].commands:
        return (
            f"`{name}` belongs to a protocol or to the command line: "
            f"{SETTINGS[name].flag}."
        )
    return (
        f"there is no argument `{name}`. "
        f"{nearest(name, dict.fromkeys([*arguments, *SETTINGS]))}"
    )


NAMED = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")
KNOWN: dict[str, Setting] = {**STATUS_QUO_KEYS, **SETTINGS}
# Arguments of plans and games that are not settings of an audit.
OF_STUDIES = {name: f"--{name}" for name in ("simulations", "fits", "rows", "epsilon")}


def respell(text: str, say: Callable[[str, str | None], str]) -> str:
    """A message in which `say` names every argument, from its name and its value, if
    any.
    """
    return NAMED.sub(
        lambda found: say(found[1], found[2]) if found[1] in KNOWN else found[0], text
    )


def as_arguments(text: str) -> str:
    """A message as Python says it.

    >>> as_arguments(
    ...     "Drop those rows: `drop_missing=True`, or those of `groups=['a']`; `draws` "
    ...     "is 3."
    ... )
    "Drop those rows: `read=Read(drop_missing=True)`, or those of `group=Groups(..., only=['a'])`; `draws` is 3."
    """  # noqa: E501

    def say(name: str, value: str | None) -> str:
        given = (
            name
            if value is None
            else in_object(name, value)
            if name in HELD
            else f"{name}={value}"
        )
        return f"`{given}`"

    return respell(text, say)


def as_options(text: str) -> str:
    """A message as the command line says it.

    >>> as_options(
    ...     "Say which is meant: `positive={'default': 'no', 'approved': 'yes'}`."
    ... )
    'Say which is meant: --positive default=no,approved=yes.'
    >>> as_options(
    ...     "`capacity='status_quo'`, `group_blind=False`, `exclude=['a', 'b c']`, "
    ...     "`row_id`, `row_id=...`"
    ... )
    "--capacity same, --allow-group, --exclude 'a,b c', --row-id, --row-id ..."
    """

    def joined(value: Any) -> str:
        if isinstance(value, Mapping):
            return ",".join(f"{column}={joined(one)}" for column, one in value.items())
        if isinstance(value, list | tuple):
            return ",".join(
                f'"{one}"' if "," in str(one) else str(one) for one in value
            )
        return {Ellipsis: "...", SAME_SHARE: SAME}.get(value, str(value))

    def say(name: str, value: str | None) -> str:
        flag = KNOWN[name].flag
        if value is None or value in ("True", "False"):
            return flag
        try:
            return f"{flag} {shlex.quote(joined(ast.literal_eval(value)))}"
        except (ValueError, SyntaxError):
            return f"{flag} {value}"

    for name, flag in OF_STUDIES.items():
        text = text.replace(f"`{name}`", flag)
    return respell(text, say)
