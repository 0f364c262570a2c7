"""Draw the pictures of the README and the documentation again: `make pictures`."""

import contextlib
import re
import runpy
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

import improvable
from improvable.cli import run
from improvable.datasets import DIABETES_SCREENING, diabetes_screening
from improvable.inference.evidence import ALGORITHMS
from improvable.report.plots.style import (
    ALGORITHM_NAMES,
    OKABE_ITO,
    SHAPES,
    chart,
    field,
    make_chart,
    series,
)

HERE = Path(__file__).resolve().parent


def main() -> None:
    """All pictures, or only those of one case: ``python docs/pictures/draw.py
    screening``.
    """
    if sys.argv[1:] in ([], ["screening"]):
        screening()
    if sys.argv[1:] == []:
        monitored()
        runpy.run_path(str(HERE / "figure_1.py"), run_name="__main__")
        runpy.run_path(str(HERE / "why_not_folds.py"), run_name="__main__")


def monitored() -> None:
    """The wealth on the page about the monitor, as the page's own blocks draw it."""
    section = (
        (HERE.parent / "how-to" / "monitor.md")
        .read_text()
        .split("\n## Monitor a candidate\n")[1]
    )
    blocks = re.findall(r"^```(py|sh)\n(.*?)^```$", section, re.M | re.S)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for kind, text in blocks:
            if kind == "py":
                exec(compile(text, "page", "exec"), {"__name__": "page"})
            elif run(shlex.split(text.replace("\\\n", " "))[1:]) != 0:
                raise SystemExit(f"the page's own command fails: {text}")
        shutil.copy("wealth.svg", HERE)


def screening() -> None:
    """The real case: both audits side by side, and every group in the first."""
    everybody = diabetes_screening()
    unknown = everybody.filter(pl.col("diagnosed") == 0)
    audits = [
        improvable.audit(people, **DIABETES_SCREENING)
        for people in (everybody, unknown)
    ]
    detection(*audits).save(HERE / "screening.svg")
    audits[0].plot("dumbbells").save(HERE / "screening_dumbbells.svg")


def detection(everybody: improvable.Audit, undiagnosed: improvable.Audit) -> Any:
    """Which share of each group's people with diabetes is screened, under both
    algorithms: one panel per audit.
    """
    titles = (
        "Everybody with diabetes: shown",
        "Not yet diagnosed, fewer cases: not shown",
    )
    assert (everybody.reject, undiagnosed.reject) == (True, False), "the titles say so"
    panels = []
    for result, title in zip((everybody, undiagnosed), titles, strict=True):
        facts = result.facts
        rows = [
            {
                "group": group,
                "algorithm": name,
                "share": sum(
                    s["accuracy"][group][one] or 0.0 for s in facts["repetitions"]
                )
                / len(facts["repetitions"]),
            }
            for group in facts["groups"]
            for name, one in zip(ALGORITHM_NAMES, ALGORITHMS, strict=True)
        ]
        color, shape = series(
            "algorithm", ALGORITHM_NAMES, OKABE_ITO, SHAPES, title=None
        )
        scale = {"domain": [0.5, 1]}
        x = field(
            "share:Q",
            title="share of people with diabetes who are screened",
            scale=scale,
        )
        y = field("group:N", title=None)
        line = (
            chart(rows).mark("line", color="#888888").encode(x=x, y=y, detail="group:N")
        )
        points = chart(rows).mark(
            "point", filled=True, size=130, opacity=1, stroke="black"
        )
        layers = [line, points.encode(x=x, y=y, color=color, shape=shape)]
        head = {"text": title, "anchor": "start", "fontSize": 13}
        panels.append({"layer": layers, "title": head, "width": 300, "height": 150})
    words = [
        "Status quo: the guideline. Candidate: a score that screens the same share of "
        "people."
    ]
    look = {"anchor": "start", "fontSize": 15, "subtitleFontSize": 12, "offset": 10}
    return make_chart(
        {
            "hconcat": panels,
            "title": {
                "text": "Who is screened for diabetes",
                "subtitle": words,
                **look,
            },
        }
    )


if __name__ == "__main__":
    main()
