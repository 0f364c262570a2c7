"""A result as one HTML file that needs no network: verdict, legal steps, table, pictures, sliders, diagnostics."""

import base64
import hashlib
from typing import Any

import numpy as np

from improvable.inference.critical import p_values
from improvable.report import plots
from improvable.report.bidi import isolated
from improvable.report.embedding import embedded, script_json
from improvable.report.look import look_document
from improvable.report.provenance import provenance
from improvable.report.tables import paper_table
from improvable.results.facts import Facts
from improvable.results.numbers import bound_text, p_text, percent, value_text
from improvable.results.result import Result
from improvable.results.words import (
    alternative_hypothesis,
    delta_text,
    draws_text,
    effective_words,
    harm_words,
    limits,
    limits_of_not_rejecting,
    null_hypothesis,
    rates_words,
    seal_words,
    training_text,
    verdict,
)

EXPLAINED = {
    "nobody": "Nobody is selected, so there is no mean. The split counts against rejection.",
    "few": "The test relies on large samples (Assumption 2). With few people in a mean, its error rate is not "
    "guaranteed.",
    "weights": "Few rows carry most of the weight, so that a mean rests on few people.",
    "rare": "Chance decides whether an outcome that is rare is seen at all among so few rows.",
    "skewed": "A few large outcomes can decide such a mean, and a sample that misses them looks better than the truth.",
    "degenerate": "The test needs some variation (Assumption 3). If both algorithms make the same decisions, there "
    "is none.",
    "undefined": "In such a draw nobody in some group was selected. It counts against rejection, which keeps the test "
    "cautious.",
    "gap": "If the status quo has no gap, there is nothing to narrow, and the test's error rate is not guaranteed "
    "(Assumption 1).",
    "capacity": "The algorithm does not select the share it was given, so an improvement may come from that alone. The "
    "test compares the algorithms as they decide here.",
    "shares": "The algorithms select different shares of rows. The test compares them as they decide here.",
    "dropped": "The result holds for the rows that remain. If rows are missing for a reason, it may not hold for all.",
    "group note": "This is how the groups were read.",
    "groups": "The result holds for the groups that were kept.",
    "spanning": "Whole clusters are resampled, so rows that belong together are never treated as independent.",
    "useless": "These columns cannot help to predict anything.",
    "ids": "A rule would memorize a column that identifies rows, and it says nothing about new rows.",
    "near outcome": "A feature that is recorded after the decision, or made from the outcome, tells a candidate the "
    "answer. No result rests on such a candidate.",
    "near group": "Such a feature is a proxy of the group.",
    "together": "Features that together tell the group are a proxy of it.",
    "direction": "If lower outcomes are better, every comparison here is the wrong way around.",
    "perfect": "Real outcomes are hardly ever this predictable.",
    "repeats": "Rows of one person are not independent; treated as if they were, p-values are too small.",
    "codes": "Averages over a code for missing mean nothing.",
    "levels": "The same level, spelled in two ways, is read as two.",
    "text numbers": "Read as text, numbers lose their order.",
    "stray text": "Read as text, numbers lose their order.",
    "no candidate": "The split counts against rejection.",
    "not reproducible": "The p-value is valid all the same, but other random splits might give another verdict.",
}


def html_page(result: Result, command: str | None = None, runs: str | None = None) -> str:
    """The report as a text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    room = Environment(
        loader=PackageLoader("improvable.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, finalize=isolated,
    )  # fmt: skip
    room.filters |= {"value": value_text, "bound": bound_text, "delta": delta_text, "percent": percent}
    room.filters |= {"script_hash": _script_hash}
    facts = result.facts
    pictures = [draw(result) for draw in (plots.utilities, plots.surface, plots.p_values, plots.intervals)]
    return room.get_template("report.html.j2").render(
        facts=facts,
        details=details(result, command, runs),
        verdict=verdict(facts),
        sealed=seal_words(facts),
        null=null_hypothesis(facts),
        alternative=alternative_hypothesis(facts),
        table=paper_table(facts),
        harms=[harm_words(gap, facts) for gap in facts["disparities"]],
        rates_say=rates_words(facts),
        effective=effective_words(facts),
        limits=_limits(facts),
        draws=draws_text(facts),
        look=look_document(facts["look"]) if "look" in facts else None,
        training=training_text(facts) if "train_rows" in facts else "",
        level=f"{100 * (1 - facts['alpha']):g}%",
        pictures=[Markup(plots.chart_svg(picture)) for picture in pictures],  # Vega escapes what it draws
        curves=Markup(script_json(slider_curves(result))),
        embedded=Markup(embedded(facts, command, runs)),
    )


def notebook_html(facts: Facts) -> str:
    """The verdict and the paper's table, for a notebook's cell."""
    table = paper_table(facts)
    titles = "".join(f'<th colspan="{len(block.heads)}">{isolated(block.title)}</th>' for block in table.blocks)
    heads = "".join(f"<th>{isolated(head)}</th>" for head in table.heads)
    rows = "".join("<tr>" + "".join(f"<td>{isolated(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    spoken = [verdict(facts), *(harm_words(gap, facts) for gap in facts["disparities"]), limits(facts)]
    said = "".join(f"<p>{isolated(text)}</p>" for text in (*spoken, *facts["warnings"]))
    head = f"<tr><th></th>{titles}</tr><tr><th></th>{heads}</tr>"
    return f"<div>{said}<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"


def details(result: Result, command: str | None = None, runs: str | None = None) -> dict[str, Any]:
    """What a report says beyond the facts: bounds, fewest selected, what warnings mean, provenance. Plain data."""
    return {
        "bounds": [bound.words for bound in result.bounds()],
        "selected": fewest_selected(result.facts),
        "warnings": [{"text": caution.text, "meaning": _meaning(caution.kind)} for caution in result.cautions],
        "provenance": provenance(result.facts, command, runs),
    }


def fewest_selected(facts: Facts) -> list[dict[str, Any]]:
    """The fewest that either algorithm selects of each group in any split."""
    out = []
    for group in facts["groups"]:
        counts = [split["selected"][group] for split in facts["splits"]]
        status_quo, candidate = (min(c["status_quo"] for c in counts), min(c["candidate"] for c in counts))
        out.append({"group": group, "status_quo": status_quo, "candidate": candidate})
    return out


def slider_curves(result: Result) -> dict[str, Any]:
    """p-values of every split at every step of both sliders, so that a page computes what the library would.

    The p-value of a claim is the lower median, over the splits, of max(p_accuracy, p_fairness). Distinct p-values
    are listed once, sorted; curves hold places in that list, of which the largest and the medians are those of the
    p-values.
    """
    frontier, claim = result.frontier(), result.question.claim
    grids = list(plots.default_grids(result, (101, 101)))
    declared = (claim.delta_accuracy, claim.delta_fairness)
    for i, asked in enumerate(declared):
        if isinstance(asked, float):
            grids[i] = np.unique([*grids[i], asked])
    by_split = [
        (p_values(frontier.of_accuracy(split), grids[0]), p_values(frontier.of_gap(split), grids[1]))
        for split in frontier.splits
    ]
    distinct = np.unique(np.concatenate([curve for pair in by_split for curve in pair]))
    codes = [[np.searchsorted(distinct, curve).tolist() for curve in pair] for pair in by_split]
    starts = [
        int(np.abs(grid - (d if isinstance(d, float) else 0.0)).argmin())
        for grid, d in zip(grids, declared, strict=True)
    ]
    return {
        "accuracy": grids[0].tolist(),
        "fairness": grids[1].tolist(),
        "start": starts,
        "p": distinct.tolist(),
        "text": [p_text(float(p), result.question.draws) for p in distinct],
        "splits": codes,
        "level": frontier.level,
        "share": frontier.form == "ratio",
    }


def _limits(facts: Facts) -> list[str]:
    otherwise = (
        limits_of_not_rejecting(facts)
        if facts["reject"]
        else "Had the test rejected, it would say, with the stated error rate in large samples, that an improvement of "
        "the declared size can be found; it would not say that the status quo is unlawful."
    )
    return [
        limits(facts),
        otherwise,
        "The p-value is about the sizes asked for above. Sizes chosen after looking at the pictures or the sliders are "
        "exploration; each of the bounds above carries its confidence on its own.",
        "Accuracy and the gap mean what the utilities above measure, on rows like these. Nothing here is legal advice.",
    ]


def _meaning(kind: str) -> str:
    """What a kind of warning means for the reader; kinds begin with the words of `EXPLAINED`."""
    return next((text for name, text in EXPLAINED.items() if f"{kind} ".startswith(f"{name} ")), "")


def _script_hash(script: str) -> str:
    """What a content security policy calls this script: no other one may run in the page."""
    return f"sha256-{base64.b64encode(hashlib.sha256(str(script).encode()).digest()).decode()}"
