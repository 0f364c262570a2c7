"""The look at the data, as lines of text: the same for a terminal and for reports."""

from collections.abc import Iterator, Mapping
from typing import Any

from improvable.question.argument_names import as_options
from improvable.results.numbers import value_text
from improvable.showing import shown_all

ROLES = {
    "outcome": "outcome",
    "group": "group",
    "target": "target of the rule",
    "weight": "weight",
    "cluster": "cluster",
    "row_id": "row id",
}


def look_lines(look: Mapping[str, Any]) -> list[str]:
    """What is there: rows, roles, outcomes, groups, and how well the features tell them."""
    rows = look["rows"]
    lines = [f"Rows: {rows['total']:,}, of which {rows['used']:,} are used and {rows['looked_at']:,} were looked at."]
    roles = [f"{words} {_names(look['roles'][role])}" for role, words in ROLES.items() if look["roles"][role]]
    lines.append(f"Columns: {'; '.join(roles)}.")
    lines += [
        f"{one['column']}: {one['values']:,} values from {value_text(one['least'])} to {value_text(one['most'])}, "
        f"mean {value_text(one['mean'])}."
        for one in look["outcomes"]
    ]
    for one in look["groups"]:
        mean = one["mean_outcome_selected"]
        chosen = "" if mean is None else f"; their mean outcome is {value_text(mean)}"
        lines.append(
            f"{one['group']}: {one['rows']:,} rows, mean outcome {value_text(one['mean_outcome'])}; the status quo "
            f"selects {one['selected'] or 0.0:.1%}{chosen}."
        )
    lines += [
        f"All features together tell {group} with an AUC of {value_text(auc)}; 0.5 is chance."
        for group, auc in look["features_tell_group"].items()
    ]
    return lines


def feature_rows(look: Mapping[str, Any]) -> list[list[str]]:
    """Every feature: what becomes of it, missing values, and how well it alone tells each outcome and each group."""
    return [
        [
            name,
            one["treatment"],
            f"{one['missing']:,}",
            *("" if share is None else f"{share:.3f}" for share in one["tells_outcome"].values()),
            *("" if share is None else f"{share:.3f}" for share in one["tells_group"].values()),
        ]
        for name, one in look["features"].items()
    ]


def feature_heads(look: Mapping[str, Any]) -> list[str]:
    """Heads of `feature_rows`."""
    first = next(iter(look["features"].values()))
    told = [*first["tells_outcome"], *first["tells_group"]]
    return ["feature", "read as", "missing", *(f"tells {name}" for name in told)]


def left_out_lines(look: Mapping[str, Any]) -> list[str]:
    """What no candidate reads, by the reason."""
    reasons: dict[str, list[str]] = {}
    for name, reason in look["left_out"].items():
        reasons.setdefault(reason, []).append(name)
    return [f"{', '.join(names)}: {as_options(reason)}." for reason, names in reasons.items()]


def _names(value: Any) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def look_text(look: Mapping[str, Any], width: int) -> str:
    """The whole look for a terminal."""
    return "\n".join(_text(shown_all(look), width))


def _text(look: Mapping[str, Any], width: int) -> Iterator[str]:
    import textwrap

    def wrapped(line: str) -> list[str]:
        return textwrap.wrap(line, width, subsequent_indent="  ", break_on_hyphens=False) or [""]

    for line in look_lines(look):
        yield from wrapped(line)
    table = [feature_heads(look), *feature_rows(look)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    yield ""
    yield f"Features: {len(look['features']):,}. AUC or R squared of each alone, out of sample."
    for name, words, *numbers in table:
        shown = [number.rjust(size) for number, size in zip(numbers, widths[2:], strict=True)]
        yield "  ".join([name.ljust(widths[0]), *shown, words]).rstrip()
    yield ""
    yield f"Left out: {len(look['left_out']):,}."
    for line in left_out_lines(look):
        yield from wrapped(line)
