"""Confidence intervals of every utility and gap."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from improvable.report.plots.style import ALGORITHM_NAMES, WIDTH, algorithm_scales, chart, styled
from improvable.results.facts import IntervalFacts
from improvable.results.words import round_name

if TYPE_CHECKING:
    import altair as alt

    from improvable.results.result import Result


def intervals(result: "Result") -> "alt.VConcatChart":
    """Confidence intervals of every utility and gap under either algorithm; for an audit, in its first split.

    Parameters
    ----------
    result : Audit or Comparison
    """
    import altair as alt

    facts = result.facts
    split = facts["splits"][0]
    kept = [one for one in split["intervals"] if one["quantity"] in ("status_quo", "candidate")]
    groups = set(facts["groups"])
    panels = []
    for measure in dict.fromkeys(one["measure"] for one in kept):
        for gap in (False, True):
            rows = [one for one in kept if one["measure"] == measure and (one["group"] not in groups) == gap]
            if rows:
                panels.append(_interval_panel(rows, f"{measure}: {'gap' if gap else 'utility'}", gap))
    which = (
        f", {round_name(facts['folds'])} {split['split']} of {len(facts['splits'])}" if facts["kind"] == "audit" else ""
    )
    title = f"{100 * (1 - facts['alpha']):g}% confidence intervals{which}"
    chart: alt.VConcatChart = styled(alt.vconcat(*panels, title=alt.TitleParams(title, anchor="start", fontSize=15)))
    return chart


def _interval_panel(rows: Sequence[IntervalFacts], title: str, gap: bool) -> Any:
    import altair as alt

    values = [{**row, "algorithm": row["quantity"].replace("_", " ")} for row in rows if row["estimate"] is not None]
    names = list(dict.fromkeys(row["group"] for row in rows))
    color, shape = algorithm_scales()
    across = alt.YOffset("algorithm:N", sort=list(ALGORITHM_NAMES))
    x = alt.X("low:Q", title=title, scale=alt.Scale(zero=gap))
    base = chart(values).encode(y=alt.Y("group:N", sort=names, title=None), yOffset=across)
    bars = base.mark_rule(strokeWidth=2.5).encode(x=x, x2="high:Q", color=color)
    points = base.mark_point(filled=True, size=90, opacity=1).encode(x="estimate:Q", color=color, shape=shape)
    return alt.layer(bars, points).properties(width=WIDTH, height=alt.Step(26))
