"""A result as one HTML file that needs no network: verdict, legal steps, table, pictures, sliders, diagnostics."""

import base64
import hashlib
import json
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from improvable.data.arrays import FloatArray
from improvable.inference.cells import STATUS_QUO, U, W
from improvable.inference.combining import counted
from improvable.inference.critical import p_values
from improvable.inference.evidence import ALGORITHMS, Evidence
from improvable.report import plots
from improvable.report.markdown import paper_table
from improvable.report.provenance import provenance
from improvable.results.comparison import Comparison
from improvable.results.words import (
    alternative_hypothesis,
    draws_text,
    limits,
    null_hypothesis,
    p_text,
    seal_words,
    training_text,
    value_text,
    verdict,
)

if TYPE_CHECKING:
    from improvable.results.audit import Audit

FOUR_FIFTHS = 0.8
NEAR = 2.0
"""Standard errors within which a candidate's gap is near zero."""
EXPLAINED = {
    "nobody": "A mean over nobody does not exist. The split counts against rejection.",
    "few": "The test relies on large samples (Assumption 2). With few people in a mean its error rate is not assured.",
    "degenerate": "The test needs some variation (Assumption 3). Where the algorithms decide alike there is none.",
    "undefined": "In such a draw a group had nobody selected. It counts against rejection, so the test stays careful.",
    "gap": "Without a gap under the status quo there is nothing to make smaller, and the test's error rate is not "
    "assured (Assumption 1).",
    "ties": "Many rows share the score at the threshold, so the algorithm selects fewer than it may. The comparison is "
    "of the algorithms as they decide here.",
    "shares": "An algorithm that selects others by selecting more or fewer is compared as it decides here.",
    "dropped": "The result holds for the rows that remain. If rows are missing for a reason, it may not hold for all.",
    "group note": "The groups were read in this way.",
    "groups": "The result holds for the groups that were kept.",
    "spanning": "Whole clusters are resampled, so that rows that belong together are never taken for independent.",
    "useless": "Such columns cannot help to predict.",
    "ids": "A column that tells rows apart would be learned by heart, and is no use on new rows.",
    "no candidate": "The split counts against rejection.",
    "not reproducible": "The p-value is valid all the same; another choice of splits may decide otherwise.",
}


def html_page(result: "Audit | Comparison", command: str | None = None, runs: str | None = None) -> str:
    """The report as a text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    room = Environment(
        loader=PackageLoader("improvable.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    room.filters |= {"value": value_text, "script_hash": _script_hash}
    facts = result.to_dict()
    pictures = [draw(result) for draw in (plots.utilities, plots.surface, plots.p_values, plots.intervals)]
    return room.get_template("report.html.j2").render(
        facts=facts,
        details=details(result, command, runs),
        verdict=verdict(facts),
        sealed=seal_words(facts),
        null=null_hypothesis(facts),
        alternative=alternative_hypothesis(facts),
        table=paper_table(facts),
        limits=_limits(facts),
        draws=draws_text(facts),
        training=training_text(facts) if "train_rows" in facts else "",
        level=f"{100 * (1 - facts['alpha']):g}%",
        pictures=[Markup(plots.chart_svg(picture)) for picture in pictures],  # Vega escapes what it draws
        curves=Markup(script_json(slider_curves(result))),
    )


def notebook_html(facts: dict[str, Any]) -> str:
    """The verdict and the paper's table, for a notebook's cell."""
    table = paper_table(facts)
    titles = "".join(f'<th colspan="{len(heads)}">{escape(title)}</th>' for title, heads in table.blocks)
    heads = "".join(f"<th>{escape(head)}</th>" for _, block in table.blocks for head in block)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    said = "".join(f"<p>{escape(text)}</p>" for text in (verdict(facts), limits(facts), *facts["warnings"]))
    head = f"<tr><th></th>{titles}</tr><tr><th></th>{heads}{f'<th>{table.last}</th>' if table.last else ''}</tr>"
    return f"<div>{said}<table><thead>{head}</thead><tbody>{rows}</tbody></table></div>"


def details(result: "Audit | Comparison", command: str | None = None, runs: str | None = None) -> dict[str, Any]:
    """What a report says beyond the facts: bounds, selection rates, welfare, diagnostics, provenance. Plain data."""
    comparisons = _comparisons(result)
    counts = group_counts(result)
    return {
        "bounds": [bound.words for bound in result.bounds()],
        "selection": selection_rates(counts),
        "welfare": welfare(comparisons, {g: one["weight"] for g, one in counts.items()}),
        "eigenvalues": [dict(zip(("covariance", "correlation"), smallest_eigenvalues(one), strict=True))
                        for one in comparisons],
        "selected": fewest_selected(result.to_dict()),
        "candidate_gaps": [gap for one in comparisons for gap in candidate_gaps(one)],
        "warnings": [{"text": caution.text, "meaning": _meaning(caution.kind)} for caution in result.cautions],
        "provenance": provenance(result.to_dict(), command, runs),
    }  # fmt: skip


def _comparisons(result: "Audit | Comparison") -> Sequence[Comparison]:
    return (result,) if isinstance(result, Comparison) else result.splits


def fewest_selected(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The fewest that either algorithm selects of each group in any split."""
    splits = facts["splits"]
    return [
        {"group": group, **{name: min(split["selected"][group][name] for split in splits) for name in ALGORITHMS}}
        for group in facts["groups"]
    ]


def group_counts(result: "Audit | Comparison") -> dict[str, dict[str, Any]]:
    """Rows of each group, their weight, and how many the status quo selects."""
    first = _comparisons(result)[0]
    if isinstance(result, Comparison):
        rows, selected = result.sizes, result.selected[:, STATUS_QUO]
        weight = rows.astype(np.float64)
    else:
        rows, weight, selected = result.census.rows, result.census.weight, result.census.selected
    return {
        level: {
            "attribute": attribute.name,
            **{
                name: float(counts[attribute.member == g].sum())
                for name, counts in (("rows", rows), ("selected", selected), ("weight", weight))
            },
        }
        for attribute in first.evidence.attributes
        for g, level in enumerate(attribute.levels)
    }


def selection_rates(counts: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Selection rates under the status quo, each against the highest of its attribute (Section 1.1, first step).

    The ratio is held against four fifths; the difference is given in standard deviations of chance, as if selection
    did not depend on the group.
    """
    out = []
    for group, one in counts.items():
        peers = [other for other in counts.values() if other["attribute"] == one["attribute"]]
        best = max(peers, key=lambda other: float(other["selected"] / other["rows"]))
        rate, highest = one["selected"] / one["rows"], best["selected"] / best["rows"]
        pooled = (one["selected"] + best["selected"]) / (one["rows"] + best["rows"])
        spread = np.sqrt(pooled * (1 - pooled) * (1 / one["rows"] + 1 / best["rows"]))
        ratio = rate / highest if highest else None
        out.append(
            {"group": group, "rows": int(one["rows"]), "selected": int(one["selected"]), "rate": rate, "ratio": ratio,
             "below": ratio is not None and ratio < FOUR_FIFTHS, "is_highest": one is best,
             "deviations": float((rate - highest) / spread) if spread else 0.0}
        )  # fmt: skip
    return out


def welfare(comparisons: Sequence[Comparison], sizes: dict[str, float]) -> list[dict[str, Any]]:
    """Utilitarian and Rawlsian welfare of both algorithms, mean over splits (Remark 3); by the first attribute."""
    out = []
    evidence = comparisons[0].evidence
    levels = evidence.attributes[0].levels
    share = np.array([sizes[level] for level in levels])
    share /= share.sum()
    for measure in evidence.accuracy:
        values = np.array([one.evidence.values[0][:, measure] for one in comparisons])
        criteria = {
            "utilitarian": np.einsum("g,kgt->kt", share, values),
            "Rawlsian": values.min(axis=1),
        }
        for name, by_split in criteria.items():
            mean = by_split.mean(axis=0)
            numbers = {
                algorithm: float(mean[t]) if np.isfinite(mean[t]) else None for t, algorithm in enumerate(ALGORITHMS)
            }
            out.append({"criterion": name, "utility": evidence.measures[measure].label, **numbers})
    return out


def smallest_eigenvalues(comparison: Comparison) -> tuple[float, float]:
    """Assumption 3: the smallest eigenvalue of the covariance of rows' contributions, and of their correlation.

    A row contributes (u - U w) / E[w] to each group's utility under each algorithm. Sums of these over bootstrap draws
    vary as many times more as there are rows (or clusters) than the contributions of one.
    """
    evidence = comparison.evidence
    units = comparison.clusters or comparison.rows
    lowest = []
    for a in range(len(evidence.attributes)):
        moves = _contributions(evidence, a, units)
        if not np.isfinite(moves).all() or not (moves.std(axis=0) > 0).all():
            return 0.0, 0.0
        covariance = np.cov(moves, rowvar=False) / units
        scale = np.sqrt(np.diag(covariance))
        both = [np.linalg.eigvalsh(matrix)[0] for matrix in (covariance, covariance / np.outer(scale, scale))]
        lowest.append([max(0.0, float(value)) for value in both])
    least = np.min(lowest, axis=0)
    return float(least[0]), float(least[1])


def _contributions(evidence: Evidence, a: int, units: int) -> FloatArray:
    """Sums of linearised contributions in every draw, shape (draws, groups * utilities * algorithms)."""
    member, values = evidence.attributes[a].member, evidence.values[a]
    parts = []
    for g in range(len(evidence.attributes[a].levels)):
        drawn = evidence.draws[:, member == g].sum(axis=1)
        mean = evidence.sums[member == g].sum(axis=0)[..., W] / units
        with np.errstate(divide="ignore", invalid="ignore"):
            parts.append((drawn[..., U] - values[g] * drawn[..., W]) / mean)
    return np.stack(parts, axis=1).reshape(len(evidence.draws), -1)


def candidate_gaps(comparison: Comparison) -> list[dict[str, Any]]:
    """Theorem 2: how far the candidate's gap between the reference groups stands from zero, in standard errors."""
    evidence, sheltered, out = comparison.evidence, comparison.question.claim.protected, []
    for measure in evidence.fairness:
        for a, attribute in enumerate(evidence.attributes):
            protected = attribute.place_of(sheltered)
            high, low = evidence.reference(a, measure, protected)
            gap = evidence.values[a][high, measure, 1] - evidence.values[a][low, measure, 1]
            drawn = evidence.drawn[a][:, high, measure, 1] - evidence.drawn[a][:, low, measure, 1]
            spread = float(np.std(drawn))
            errors = abs(float(gap)) / spread if np.isfinite(spread) and spread > 0 else None
            out.append(
                {"split": comparison.split, "utility": evidence.measures[measure].label,
                 "higher": attribute.levels[high], "lower": attribute.levels[low],
                 "gap": float(gap) if np.isfinite(gap) else None, "errors": errors,
                 "near": errors is not None and errors < NEAR}
            )  # fmt: skip
    return out


def slider_curves(result: "Audit | Comparison") -> dict[str, Any]:
    """p-values of every split at every step of both sliders, so that a page computes what the library would.

    The p-value of a claim combines max(p_accuracy, p_fairness) of the splits. Distinct p-values are listed once,
    sorted; curves hold places in that list, of which the largest and the medians are those of the p-values.
    """
    frontier, claim = result.frontier(), result.question.claim
    grids = list(plots.default_grids(result, (101, 101)))
    declared = (claim.delta_accuracy, claim.delta_fairness)
    for i, asked in enumerate(declared):
        if isinstance(asked, float):
            grids[i] = np.unique([*grids[i], asked])
    by_split = []
    for split in frontier.splits:
        fair = split.signed if frontier.gap == "signed" else split.absolute
        accuracy = tuple(one for group in split.accuracy.values() for one in group)
        by_split.append((p_values(accuracy, grids[0]), p_values(fair, grids[1])))
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
        "counted": counted(frontier.splits, frontier.combine),
        "level": frontier.level,
        "share": frontier.form == "ratio",
    }


def script_json(plain: Any) -> str:
    """JSON that can stand inside a script element: no text in it can end the element or begin another."""
    text = json.dumps(plain, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _limits(facts: dict[str, Any]) -> list[str]:
    turned = limits(facts | {"reject": not facts["reject"]})
    return [
        limits(facts),
        turned
        if facts["reject"]
        else "Had the test rejected, it would say that an improvement of the declared size "
        "can be found, with the stated error rate in large samples; not that the status quo is unlawful.",
        "The p-value speaks of the sizes asked for above. Sizes chosen after looking at the pictures or the "
        "sliders are exploration; each of the bounds above carries its confidence on its own.",
        "Accuracy and the gap mean what the utilities above measure, on rows like these. Nothing here is legal advice.",
    ]


def _meaning(kind: str) -> str:
    """What a kind of warning means for the reader; kinds begin with the words of `EXPLAINED`."""
    return next((text for name, text in EXPLAINED.items() if f"{kind} ".startswith(f"{name} ")), "")


def _script_hash(script: str) -> str:
    """What a content security policy calls this script: no other one may run in the page."""
    return f"sha256-{base64.b64encode(hashlib.sha256(str(script).encode()).digest()).decode()}"
