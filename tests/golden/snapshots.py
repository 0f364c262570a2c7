"""What is kept of a result: facts, arrays, the terminal's text and the report's."""

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import improvable
from golden.facts import Facts, describe_array, flatten, write_value
from golden.page_text import read_page
from golden.room import CommandRun
from improvable.procedure.monitor import Monitoring
from improvable.results.comparison import CENSUS
from improvable.studies.power import PowerPlan

ARRAYS = ("sums", "draws", "training")
LEFT_OUT = (
    *("version", "versions"),  # they differ between releases and machines
)
"""Facts that are not kept, and everything below them."""
CHANGING = {
    r"\bimprovable \d+\.\d+\.\d+": "improvable VERSION",
    r"\bhash [0-9a-f]{16}": "hash OF A LEDGER",  # it holds the version
}
"""What differs between releases in texts."""
FROM_BITS = re.compile(r"\b\d+\.\d{10,}(?:e[-+]?\d+)?|\b\d(?:\.\d+)?e-1\d\b")
"""Numbers with more digits than agree, or as small as rounding errors."""


@dataclass(frozen=True)
class Snapshot:
    """A golden result: plain facts by name, and texts by the surface they are on."""

    facts: Facts
    texts: dict[str, str] = field(default_factory=dict)


def snapshot_result(
    result: improvable.Audit | improvable.Comparison,
    rows: pl.DataFrame | None = None,
    about: improvable.About | None = None,
) -> Snapshot:
    """Everything that an audit or a comparison says.

    With `rows`, also whom the algorithm of `refit` selects of them; with `about`, in
    its words.
    """
    facts = collect_facts(result)
    for repetition in result.repetitions:
        arrays = describe_arrays(repetition)
        facts |= flatten(arrays, f"repetition {repetition.repetition} | arrays")
    if isinstance(result, improvable.Audit):
        census = {name: describe_array(getattr(result.census, name)) for name in CENSUS}
        facts |= flatten(census, "census")
        if rows is not None:
            decisions = np.asarray(result.refit().decide(rows))
            facts |= flatten(describe_array(decisions), "refit | decisions")
    texts = {
        "terminal": result.summary(verbose=True, about=about),
        "report": read_report(result, about),
    }
    return Snapshot(facts, {name: normalize_text(text) for name, text in texts.items()})


def collect_facts(result: improvable.Audit | improvable.Comparison) -> Facts:
    stated = result.to_dict()
    hypotheses = {
        "null_hypothesis": result.null_hypothesis,
        "alternative_hypothesis": result.alternative_hypothesis,
    }
    return name_facts(stated) | hypotheses


def name_facts(stated: dict[str, Any]) -> Facts:
    """Facts of a result's plain data, with each caution under its kind."""
    stated = dict(stated)
    kinds = stated.pop("caution_kinds", [])
    warnings = stated.pop("warnings", [])
    beside = stated.pop("verdict_warnings", [])
    facts = drop_left_out(flatten(stated))
    facts["cautions"] = len(warnings)
    kinds = kinds or [str(number) for number, _ in enumerate(warnings, start=1)]
    for number, (kind, text) in enumerate(zip(kinds, warnings, strict=True), start=1):
        name = f"caution {kind}"
        if f"{name} | text" in facts:
            name = f"caution {kind} ({number})"
        facts[f"{name} | text"] = text
        facts[f"{name} | beside_verdict"] = text in beside
    return facts


def drop_left_out(facts: Facts) -> Facts:
    below = tuple(f"{name} | " for name in LEFT_OUT)
    return {
        name: value
        for name, value in facts.items()
        if name not in LEFT_OUT and not name.startswith(below)
    }


def describe_arrays(repetition: improvable.Comparison) -> dict[str, Facts]:
    arrays = {name: getattr(repetition.evidence, name) for name in ARRAYS}
    arrays |= {name: getattr(repetition.census, name) for name in CENSUS}
    return {name: describe_array(values) for name, values in arrays.items()}


def read_report(
    result: improvable.Audit | improvable.Comparison, about: improvable.About | None
) -> str:
    """The text of the report as a page, written into the current folder."""
    page = Path("report.html")
    result.report(page, about)
    return read_page(page.read_text(encoding="utf-8"))


def normalize_text(text: str) -> str:
    """A text without what differs between releases and processors.

    Numbers have ten digits at most, rounding errors are zero, and lines end without
    spaces.
    """
    for pattern, instead in CHANGING.items():
        text = re.sub(pattern, instead, text)
    text = FROM_BITS.sub(normalize_numeral, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


def normalize_numeral(numeral: re.Match[str]) -> str:
    return write_value(float(numeral[0])).removesuffix(".0")


def snapshot_plan(plan: PowerPlan) -> Snapshot:
    """The power that was asked for, and the rows that suffice by either scheme."""
    facts: dict[str, Any] = {"asked": asdict(plan.asked), "learns": plan.learns}
    for size in plan.sample_sizes:
        facts[f"rows for power, {size.scheme}"] = asdict(size)
    facts |= {"basis": dict(enumerate(plan.basis, start=1))}
    facts |= {"warnings": list(plan.cautions)}
    return Snapshot(name_facts(facts))


def snapshot_monitoring(monitoring: Monitoring) -> Snapshot:
    """What rows that arrived say, and the path of every bet."""
    facts = name_facts(monitoring.to_dict())
    for name, wealth in monitoring.wealths.items():
        facts |= flatten(describe_array(wealth.logs), f"condition {name} | log_wealths")
        facts |= flatten(describe_array(wealth.rows), f"condition {name} | rows")
    return Snapshot(facts)


def snapshot_commands(runs: list[CommandRun], files: tuple[str, ...] = ()) -> Snapshot:
    """Exit statuses and both streams of several commands, and files that they wrote."""
    facts: Facts = {}
    texts: dict[str, str] = {}
    for number, command in enumerate(runs, start=1):
        facts[f"command {number} | line"] = command.line
        facts[f"command {number} | exit_status"] = command.status
        for stream in ("output", "errors"):
            text = normalize_text(getattr(command, stream))
            if text:
                texts[f"{stream} of command {number}"] = text
    for name in filter(os.path.exists, files):  # one that failed wrote none
        text = Path(name).read_text(encoding="utf-8")
        if name.endswith(".json"):
            facts |= add_prefix(name_facts(json.loads(text)), name)
        elif name.endswith(".html"):
            texts[name] = normalize_text(read_page(text))
        else:
            texts[name] = normalize_text(text)
    return Snapshot(facts, texts)


def add_prefix(facts: Facts, name: str) -> Facts:
    return {f"{name} | {fact}": value for fact, value in facts.items()}


def snapshot_refusals(refusals: dict[str, Exception]) -> Snapshot:
    """Errors of Python calls: their kinds and their messages."""
    facts: Facts = {}
    for call, error in refusals.items():
        facts[f"call {call} | kind"] = type(error).__name__
        facts[f"call {call} | text"] = str(error)
    return Snapshot(facts)
