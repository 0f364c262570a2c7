"""Numbers of the paper beside ours: one row for each, and one table row for each
split.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.formatting import p_text
from replication import published


def not_comparable(differs: str) -> str:
    """Why a verdict is not comparable with the published one, as a sentence; empty
    where it is.
    """
    return f"Not comparable with the published verdict: {differs}." if differs else ""


@dataclass(frozen=True)
class Row:
    """One number of the paper beside ours."""

    quantity: str
    published: str
    ours: str
    difference: str = ""


@dataclass(frozen=True)
class SplitRow:
    """One row of a seven-split table, in the order of `published.COLUMNS`.

    Attributes
    ----------
    split : str
        Its number, or what stands in for it.
    whose : {"published", "ours"}
    values : tuple of float
        None where a group has nobody selected.
    draws : int
        Behind the p-values.
    """

    split: str
    whose: str
    values: tuple[float | None, ...]
    draws: int = 10_000

    def cells(self) -> list[str]:
        """As the paper prints them, but no p-value as zero."""
        return [
            p_text(value, self.draws)
            if column.startswith("p") and value is not None
            else _two(value)
            for column, value in zip(published.COLUMNS, self.values, strict=True)
        ]


def split_rows(result: Audit | Comparison, table: str) -> list[SplitRow]:
    """Every split of a published table beside ours; splits agree in distribution, not
    one by one.
    """
    draws = result.question.draws
    theirs = [
        SplitRow(str(k), "published", row)
        for k, row in enumerate(published.TABLES[table], start=1)
    ]
    if isinstance(result, Comparison):
        return [*theirs, SplitRow("held-out third", "ours", _values(result), draws)]
    ours = [
        SplitRow(str(k), "ours", _values(split), draws)
        for k, split in enumerate(result.repetitions, start=1)
    ]
    out: list[SplitRow] = []
    for place in range(max(len(theirs), len(ours))):
        out += [*theirs[place : place + 1], *ours[place : place + 1]]
    return out


def _values(split: Comparison) -> tuple[float | None, ...]:
    (facts,) = split.to_dict()["repetitions"]
    out: list[float | None] = []
    for name, p in (
        ("black", facts["p_accuracy"]["black"]),
        ("white", facts["p_accuracy"]["white"]),
    ):
        out += [
            facts["accuracy"][name]["status_quo"],
            facts["accuracy"][name]["candidate"],
            p,
        ]
    return (
        *out,
        facts["gap"]["status_quo"],
        facts["gap"]["candidate"],
        facts["p_fairness"],
        facts["p_value"],
    )


def table_rows(result: Audit | Comparison, table: str, differs: str) -> list[Row]:
    """Means over splits of every utility and gap, both median p-values, and the
    verdict.
    """
    splits = [split for split in split_rows(result, table) if split.whose == "ours"]
    rows = []
    for column in published.MEANS:
        name, algorithm = column.split("_", 1)
        place = published.COLUMNS.index(column)
        known = [
            value for split in splits if (value := split.values[place]) is not None
        ]
        theirs, (low, high) = (
            published.published_mean(table, column),
            published.published_range(table, column),
        )
        words = "gap" if name == "gap" else f"accuracy of {name}"
        ours = sum(known) / len(known) if known else None
        rows.append(
            Row(
                f"{words}, {algorithm.replace('_', ' ')}",
                f"{theirs:.2f} ({low:.2f} to {high:.2f})",
                _two(ours),
                "" if ours is None else f"{ours - theirs:+.2f}",
            )
        )
    return [
        *rows,
        *_p_rows(result, published.MEDIAN_P[table]),
        verdict_row("rejected", result, differs),
    ]


def frontier_rows(result: Audit | Comparison, beside_paper: bool) -> list[Row]:
    """Where the edge of Figure 3 crosses the axes; the paper prints it for the forest
    alone.
    """
    frontier = result.frontier()
    rows = []
    for i, (words, theirs) in enumerate(
        [
            (
                "largest cut of the gap at no loss of accuracy",
                published.FRONTIER_FAIRNESS,
            ),
            ("largest gain of accuracy with no wider gap", published.FRONTIER_ACCURACY),
        ]
    ):
        absolute, signed = (
            frontier.bounds(gap)[i].value for gap in ("absolute", "signed")
        )
        shown = f"{theirs:.2f}" if beside_paper else ""
        difference = (
            f"{absolute - theirs:+.2f}" if beside_paper and absolute > 0 else ""
        )
        rows.append(Row(f"{words}, absolute gap", shown, _share(absolute), difference))
        rows.append(Row(f"{words}, signed gap", "", _share(signed)))
    return rows


def cost_rows(result: Audit | Comparison, theirs: str, differs: str) -> list[Row]:
    """The p-values and the verdict with accuracy measured by cost; `theirs` is the
    published verdict, or empty.
    """
    rows = _p_rows(result, "above 0.025" if theirs else "")
    return [*rows, verdict_row(theirs, result, differs)]


def verdict_row(theirs: str, absolute: Audit | Comparison, differs: str) -> Row:
    """The verdict; where the data or the effort are not the paper's, it says so instead
    of comparing.
    """
    signed = absolute.with_claim(gap="signed")
    words = ["rejected" if one.reject else "not rejected" for one in (absolute, signed)]
    ours = words[0] if words[0] == words[1] else f"{words[0]} (signed: {words[1]})"
    if not theirs:
        return Row("verdict at 5%", "", ours)
    same = "same" if words[0] == theirs else "DIFFERENT"
    return Row("verdict at 5%", theirs, ours, "not comparable" if differs else same)


def columns_of(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text as plain columns, the first to the left and the others to the
    right.
    """
    widths = [max(len(row[j]) for row in rows) for j in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(text.rjust(w) for text, w in zip(row[1:], widths[1:], strict=True)),
            ]
        ).rstrip()
        for row in rows
    )


def _p_rows(result: Audit | Comparison, theirs: str) -> list[Row]:
    middle = "median p" if isinstance(result, Audit) else "p"
    signed = result.with_claim(gap="signed")
    shown = [p_text(one.p_value, one.question.draws) for one in (result, signed)]
    return [
        Row(f"{middle}, absolute gap (the paper's)", theirs, shown[0]),
        Row(f"{middle}, signed gap (ours)", "", shown[1]),
    ]


def _two(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _share(value: float) -> str:
    return f"{value:.2f}" if value > 0 else "none shown"
