"""A replication as one Markdown document with its pictures, and as JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import improvable
from improvable.data.io.safe import write_whole
from improvable.report import plots
from improvable.results.audit import Audit
from improvable.results.comparison import Comparison
from improvable.results.storage import FORMAT, as_json
from replication.appendix_e import MEAN_GAP, SIZES, GapRejections, curve_rows
from replication.mean_utilities import mean_utilities
from replication.study import (
    COST,
    HELD_OUT,
    HELD_OUT_COST,
    HELD_OUT_TARGETED,
    MAIN,
    TARGETED,
    Effort,
    Section,
)
from replication.surface import draw_surface
from replication.tables import Row, SplitRow, columns_of, not_comparable

HEADS = ("", "published", "ours", "difference")
SPLIT_HEADS = (
    "split",
    "",
    "Black, status quo",
    "candidate",
    "p",
    "White, status quo",
    "candidate",
    "p",
    "gap, status quo",
    "candidate",
    "p",
    "p of the split",
)
ACCURACY, FAIRNESS = np.linspace(-1, 1, 81), np.linspace(0, 1, 51)
"""The window of the paper's figures."""


@dataclass(frozen=True)
class Replication:
    """Everything that was run.

    Attributes
    ----------
    words : str
        What the rows are.
    effort : Effort
    sections : sequence of Section
    manipulation : sequence of Row
        Section 5.
    power : sequence of Row
        Appendix E.
    curves : sequence of GapRejections
    """

    words: str
    effort: Effort
    sections: Sequence[Section]
    manipulation: Sequence[Row]
    power: Sequence[Row]
    curves: Sequence[GapRejections]


def write_documents(folder: Path, found: Replication) -> list[Path]:
    """Write replication.md, replication.json and the pictures; the files written."""
    pictures = _pictures(found)
    for name, (chart, _) in pictures.items():
        chart.save(folder / f"{name}.svg")
    captions = {name: caption for name, (_, caption) in pictures.items()}
    write_whole(folder / "replication.md", _markdown(found, captions).encode())
    plain = {
        "format": FORMAT,
        "version": improvable.__version__,
        "data": found.words,
        "effort": asdict(found.effort),
        "sections": [
            {
                "name": one.name,
                "title": one.title,
                "comparable": not one.differs,
                "not_comparable_because": one.differs or None,
                "rows": [asdict(row) for row in one.rows],
                "splits": [asdict(row) for row in one.splits],
            }
            for one in found.sections
        ],
        "section_5": [asdict(row) for row in found.manipulation],
        "appendix_e": {
            "rows": [asdict(row) for row in found.power],
            "curves": [asdict(one) for one in found.curves],
        },
    }
    write_whole(folder / "replication.json", as_json(plain))
    return [
        folder / "replication.md",
        folder / "replication.json",
        *(folder / f"{name}.svg" for name in pictures),
    ]


def section_text(section: Section) -> str:
    """One section as plain text."""
    from improvable.report.text import paragraph

    note = [paragraph(not_comparable(section.differs))] if section.differs else []
    return "\n".join([paragraph(section.title), rows_table(section.rows), *note])


def rows_table(rows: Sequence[Row]) -> str:
    """Rows as plain text in columns."""
    return columns_of(
        [
            HEADS,
            *((row.quantity, row.published, row.ours, row.difference) for row in rows),
        ]
    )


def _pictures(found: Replication) -> dict[str, tuple[plots.Chart, str]]:
    """Every picture with its caption."""
    by_name = {one.name: one.result for one in found.sections}
    pictures: dict[str, tuple[plots.Chart, str]] = {}
    for name, period, caption in (
        (
            "figure-2",
            "next_year",
            "Figure 2: mean utilities of both groups, conditions of the following year",
        ),
        (
            "figure-same-year",
            "same_year",
            "Appendix H.2's figure: the same for conditions of the same year",
        ),
    ):
        rules = (f"{period}/{rule}" for rule in ("linear", "lasso", "forest"))
        audits = {
            rule.split("/")[1]: by_name[rule] for rule in rules if rule in by_name
        }
        if audits:
            pictures[name] = mean_utilities(audits), caption
    whose = (
        "forest"
        if MAIN in by_name
        else "a LASSO score on the held-out third; the paper's is a forest"
    )
    window = "on the paper's window, [-1, 1] x [0, 1]"
    for name, several, words in (
        (
            "figure-3",
            (MAIN, HELD_OUT),
            "Figure 3: p-values of every size of improvement",
        ),
        (
            "figure-cost",
            (COST, HELD_OUT_COST),
            "Appendix H.3's figure: the same with accuracy measured by cost",
        ),
        (
            "figure-cost-rule",
            (TARGETED, HELD_OUT_TARGETED),
            "The same with a rule trained on cost, which the paper does not run",
        ),
    ):
        for section in several:
            if section in by_name:
                told = f"{words}, {window}" + (
                    "" if section == TARGETED else f" ({whose})"
                )
                pictures[name] = (
                    draw_surface(by_name[section].frontier(), ACCURACY, FAIRNESS),
                    told,
                )
    for size in SIZES:
        pictures[f"appendix-e-{size}"] = (
            _power_picture([one for one in found.curves if one.size == size], size),
            f"Appendix E's figure: {size} test rows",
        )
    return pictures


def _power_picture(curves: Sequence[GapRejections], size: int) -> plots.Chart:
    return plots.power_curves(
        [row | {"series": str(row["gap"])} for row in curve_rows(curves)],
        x_title=f"mean gap of the candidate (eta); the status quo's is {MEAN_GAP:g}",
        title=f"Appendix E: how often the fairness test rejects, {size} rows",
        subtitle=[
            "Absolute: the paper's statistic. Signed: ours. Left: a fairer candidate."
        ],
        level=0.05,
        marks=[MEAN_GAP],
    )


def _markdown(found: Replication, captions: Mapping[str, str]) -> str:
    parts = [
        "# The paper beside our numbers",
        found.words,
        (
            f"{_effort_words(found)} Its split seeds are not published, so numbers "
            "agree in distribution, not split by split. Published: the mean over "
            "splits, and in parentheses the smallest and the largest."
        ),
        (
            "The tests below split the rows in half, as the paper does, and use its "
            "gap statistic, which folds the gap at zero. The signed statistic beside "
            "it keeps its level near perfect fairness, where the folded one does not."
        ),
        "## Section 5: manipulation",
        _table(found.manipulation),
    ]
    shown = {
        MAIN: ["figure-2", "figure-3"],
        HELD_OUT: ["figure-3"],
        "same_year/forest": ["figure-same-year"],
        COST: ["figure-cost"],
        HELD_OUT_COST: ["figure-cost"],
        TARGETED: ["figure-cost-rule"],
        HELD_OUT_TARGETED: ["figure-cost-rule"],
    }
    for section in found.sections:
        parts += [f"## {section.title}", _table(section.rows)]
        if section.differs:
            parts.append(not_comparable(section.differs))
        if section.name in (TARGETED, HELD_OUT_TARGETED):
            parts.append(
                "The paper expects that rules trained to predict cost might yield "
                "other conclusions, and runs none; this is one."
            )
        if section.splits:
            which = (
                "the held-out third last"
                if section.name == HELD_OUT
                else "ours below the published one"
            )
            parts += [f"Every split, {which}:", _split_table(section.splits)]
        parts += _shown(shown.get(section.name, []), captions)
    parts += ["## Appendix E: power of the fairness test", _table(found.power)]
    parts += _shown([f"appendix-e-{size}" for size in SIZES], captions)
    return "\n\n".join(parts) + "\n"


def _effort_words(found: Replication) -> str:
    effort = found.effort
    if isinstance(main_result(found.sections), Audit):
        return (
            f"{effort.splits} splits, {effort.draws:,} draws, forests of "
            f"{effort.trees} trees; the paper has 7, 10,000 and 300."
        )
    return (
        f"{effort.draws:,} draws; the paper has 10,000. No row is split and no rule is "
        "trained: the scores are given."
    )


def _shown(names: Sequence[str], captions: Mapping[str, str]) -> list[str]:
    return [
        f"![{captions[name]}]({name}.svg)\n\n*{captions[name]}.*"
        for name in names
        if name in captions
    ]


def _table(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|---|---|---|---|"]
    lines += [
        f"| {row.quantity} | {row.published} | {row.ours} | {row.difference} |"
        for row in rows
    ]
    return "\n".join(lines)


def _split_table(rows: Sequence[SplitRow]) -> str:
    lines = ["| " + " | ".join(SPLIT_HEADS) + " |", "|" + "---|" * len(SPLIT_HEADS)]
    lines += [
        "| " + " | ".join([row.split, row.whose, *row.cells()]) + " |" for row in rows
    ]
    return "\n".join(lines)


def main_result(sections: Sequence[Section]) -> Audit | Comparison:
    """What Appendix E calibrates from: the forest's audit, or the held-out third."""
    return next(one.result for one in sections if one.name in (MAIN, HELD_OUT))
