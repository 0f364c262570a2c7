"""Run the benchmarks one after another and write docs/evidence/benchmarks.md: `make
bench`.

Every number on the page is what a script printed. The picture is drawn from the table
of cost against rows.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from improvable.report.plots.style import (
    OKABE_ITO,
    SHAPES,
    chart,
    field,
    make_figure,
    series,
)

HERE = Path(__file__).parent
DOCS = HERE.parent / "docs"
SCRIPTS = {
    "compare_against_peers.py": "Against arch, SciPy and NumPy",
    "fairness_peers.py": "Against Fairlearn",
    "aim_peers.py": "Aiming, beside Fairlearn and OxonFair",
    "cost_against_size.py": "Cost against rows, draws, repetitions, cells and groups",
    "counting_rows.py": "Counting from Parquet",
    "engine_overhead.py": "Engines against memory",
    "audit_a_million_rows.py": "A million rows",
    "wide.py": "Many columns",
    "resampling_costs.py": "Where resampling by cell and by row break even",
    "forward_cost.py": "Forward repetitions against splits",
    "tournament_overhead.py": "Tournaments",
}
PACKAGES = (
    "improvable",
    "numpy",
    "scipy",
    "polars",
    "pandas",
    "scikit-learn",
    "arch",
    "fairlearn",
    "oxonfair",
    "dask",
    "pyarrow",
)


def printed(script: str) -> str:
    """What a benchmark prints; its progress goes to our own standard error."""
    print(f"running {script}", file=sys.stderr)
    done = subprocess.run(
        [sys.executable, str(HERE / script)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())


def described(script: str) -> str:
    """The first paragraph of a benchmark's docstring."""
    text = (HERE / script).read_text(encoding="utf-8")
    found = re.match(r'"""(.*?)\n\n', text, flags=re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def draw_cost(output: str) -> None:
    """Seconds of an audit against rows, with and without an engine."""
    rows = []
    for title, body in re.findall(
        r"audit, by rows, (.*?)\n(.*?)(?=\n\n\w|\Z)", output, flags=re.DOTALL
    ):
        for n, seconds in re.findall(r"n = ([\d,]+)\s+([\d.]+)", body):
            rows.append(
                {
                    "rows": int(n.replace(",", "")),
                    "seconds": float(seconds),
                    "how": title,
                }
            )
    names = list(dict.fromkeys(row["how"] for row in rows))
    x = field("rows:Q", title="rows (log scale)", scale={"type": "log"})
    y = field("seconds:Q", title="seconds (log scale)", scale={"type": "log"})
    color, shape = series("how", names, OKABE_ITO, SHAPES, title=None)
    base = chart(rows).encode(x=x, y=y, color=color)
    layers = [
        base.mark("line"),
        base.mark("point", filled=True, size=70, opacity=1).encode(shape=shape),
    ]
    subtitle = ["Seven repetitions, linear rule, 10,000 draws each, one worker."]
    title = "An audit's time against its rows"
    make_figure(layers, title, subtitle, 420, 280).save(DOCS / "pictures/cost.svg")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.parse_args()
    made = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    parts = [
        "# Benchmarks",
        (
            "Written by `make bench`. Every benchmark runs in one process, contenders "
            "take turns, and what is printed are medians and ratios. Times are of the "
            "machine named below, and never asserted in a test."
        ),
        (
            f"{os.cpu_count()} cores, {platform.system()}, Python "
            f"{platform.python_version()}; {made}."
        ),
    ]
    for script, title in SCRIPTS.items():
        output = printed(script)
        parts += [f"## {title}", described(script), f"```\n{output}\n```"]
        if script == "cost_against_size.py":
            draw_cost(output)
            parts.append("![An audit's time against its rows](../pictures/cost.svg)")
    (DOCS / "evidence" / "benchmarks.md").write_text(
        "\n\n".join(parts) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
