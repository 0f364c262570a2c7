"""A replication as one Markdown document with its pictures, and as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import improvable
from improvable.data.files import write_whole
from improvable.report import plots
from improvable.results.audit import Audit
from improvable.results.storage import FORMAT, as_json
from improvable.studies.power.appendix_e import GapRejections, curve_rows
from improvable.studies.replication.study import COST, HELD_OUT, MAIN, Effort, Row, Section

HEADS = ("", "published", "ours", "difference")


def write_documents(
    folder: Path, words: str, effort: Effort, sections: Sequence[Section], curves: Sequence[GapRejections],
    curve_table: Sequence[Row],
) -> list[Path]:  # fmt: skip
    """Write replication.md, replication.json and the pictures; the files written."""
    pictures = _pictures(sections, curves)
    for name, chart in pictures.items():
        plots.save_chart(chart, folder / f"{name}.svg")
    write_whole(folder / "replication.md", _markdown(words, effort, sections, curve_table, list(pictures)).encode())
    plain = {
        "format": FORMAT,
        "version": improvable.__version__,
        "data": words,
        "effort": asdict(effort),
        "sections": [
            {"name": one.name, "title": one.title, "rows": [asdict(row) for row in one.rows]} for one in sections
        ],
        "appendix_e": {"rows": [asdict(row) for row in curve_table], "curves": [asdict(one) for one in curves]},
    }
    write_whole(folder / "replication.json", as_json(plain))
    return [folder / "replication.md", folder / "replication.json", *(folder / f"{name}.svg" for name in pictures)]


def rows_table(rows: Sequence[Row]) -> str:
    """Rows as plain text in columns."""
    lines = [HEADS, *((row.quantity, row.published, row.ours, row.difference) for row in rows)]
    widths = [max(len(line[j]) for line in lines) for j in range(len(HEADS))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(text.rjust(w) for text, w in zip(line[1:], widths[1:], strict=True))]
        ).rstrip()
        for line in lines
    )


def _pictures(sections: Sequence[Section], curves: Sequence[GapRejections]) -> dict[str, plots.Chart]:
    by_name = {one.name: one.result for one in sections}
    pictures: dict[str, plots.Chart] = {}
    audits = {name.split("/")[1]: r for name, r in by_name.items() if name.startswith("next_year/") and name != COST}
    if all(isinstance(result, Audit) for result in audits.values()):
        pictures["figure-2"] = plots.mean_utilities(audits)
    main = by_name.get(MAIN) or by_name[HELD_OUT]
    pictures["figure-3"] = plots.surface(main)
    pictures["figure-cost"] = plots.surface(by_name[COST])
    pictures["appendix-e"] = plots.power_curves(
        [row | {"series": f"n = {row['size']}", "variant": row["gap"]} for row in curve_rows(curves)],
        x_title="mean gap of the candidate (eta); the status quo's is 1.52",
        title="Appendix E: how often the fairness test rejects",
        subtitle=["Absolute: the paper's statistic. Signed: ours. Left: a fairer candidate."],
        level=0.05,
        marks=[1.52],
    )
    return pictures


def _markdown(
    words: str, effort: Effort, sections: Sequence[Section], curve_table: Sequence[Row], pictures: Sequence[str]
) -> str:
    parts = [
        "# The paper beside our numbers",
        words,
        f"{effort.splits} splits, {effort.draws:,} draws, forests of {effort.trees} trees; the paper has 7, 10,000 and "
        "300. Its split seeds are not published, so numbers agree in distribution, not split by split. Published: the "
        "mean over splits, and in parentheses the smallest and the largest.",
        "The test below uses the paper's gap statistic, which folds the gap at zero. The signed statistic beside it "
        "keeps its level near perfect fairness, where the folded one does not.",
    ]
    shown = {MAIN: ["figure-2", "figure-3"], HELD_OUT: ["figure-3"], COST: ["figure-cost"]}
    for section in sections:
        parts += [f"## {section.title}", _table(section.rows)]
        parts += [f"![{name}]({name}.svg)" for name in shown.get(section.name, []) if name in pictures]
    parts += ["## Appendix E: power of the fairness test", _table(curve_table), "![appendix-e](appendix-e.svg)"]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Row]) -> str:
    lines = ["| " + " | ".join(HEADS) + " |", "|---|---|---|---|"]
    lines += [f"| {row.quantity} | {row.published} | {row.ours} | {row.difference} |" for row in rows]
    return "\n".join(lines)
