"""The paper's table, built once: every format only writes it down."""

from collections.abc import Mapping

from improvable.inference.evidence import EVERYONE
from improvable.report.blocks import Table
from improvable.results.facts import ComponentFacts, Facts, by_component, estimate_of
from improvable.results.formatting import arrow, capital, p_text, value_text
from improvable.results.wording import candidate_words, component_name, draws_text, other_statistic

MAX_BLOCKS = 4
STATUS_QUO, CANDIDATE = "status quo", "candidate"


def paper_block(facts: Facts, most: int = MAX_BLOCKS) -> Table:
    """The table of Section 6: for each condition the status quo, the candidate and p; last the repetition's p.

    The conditions that decide are marked; the last rows sum up, with the shares selected. Up to `most` conditions stand
    beside each other. More become rows: means over the repetitions, and p in every repetition.
    """
    return _by_repetition(facts) if len(by_component(facts)) <= most else _by_component(facts)


def _by_repetition(facts: Facts) -> Table:
    components, draws, shares = by_component(facts), facts["draws"], facts["selected_shares"]
    names = [_heads(one[0], facts) for one in components]
    rows, marked = [], set()
    for k, repetition in enumerate(facts["repetitions"]):
        name = f"Repetition {repetition['repetition']}" if facts["kind"] == "audit" else "Held-out rows"
        cells = [cell for one in components for cell in component_cells(one[k], draws)]
        rows.append([name, *cells, p_text(repetition["p_value"], draws)])
        marked.add((k, 3 + sum(map(len, names[: _hardest(facts, k)]))))
    body, width = len(rows), sum(map(len, names))
    if body > 1:
        row = []
        for one, heads in zip(components, names, strict=True):
            row += [*_means(one[0], facts), *[""] * (len(heads) - 2)]
        rows.append(["Mean", *row, ""])
        rows.append(["Lower median", *[""] * width, facts["p_value_text"]])
    if shares is not None:
        row = []
        for one, heads in zip(components, names, strict=True):
            group = one[0]["group"] if one[0]["kind"] == "accuracy" else ""
            row += [*_pair(shares[group]), *[""] * (len(heads) - 2)] if group in shares else [""] * len(heads)
        rows += [["Selected", *row, ""]] if any(row) else []
        rows.append(["Selected, everyone", *_pair(shares[EVERYONE]), *[""] * (width - 1)])
    return Table(
        name="paper-table",
        heads=("", *(head for heads in names for head in heads), "p"),
        rows=tuple(map(tuple, rows)),
        spans=(*((_title(one[0], facts), len(heads)) for one, heads in zip(components, names, strict=True)), ("", 1)),
        closing=len(rows) - body,
        marked=frozenset(marked),
        note=f"{_note(facts)} The last p is the largest of its row. {_decides(facts, 'beside')}",
    )


def _by_component(facts: Facts) -> Table:
    repetitions, draws = facts["repetitions"], facts["draws"]
    many, blanks = len(repetitions) > 1, [""] * len(repetitions)
    rows: list[list[str]] = []
    places = []
    for one in by_component(facts):
        places.append(len(rows))
        name = _title(one[0], facts)
        rows.append([name, *_means(one[0], facts), *(p_text(repetition["p_value"], draws) for repetition in one)])
        others = [repetition["p_other"] for repetition in one if repetition["p_other"] is not None]
        if others:
            rows.append([f"{name}, {other_statistic(facts)} statistic", "", "", *(p_text(p, draws) for p in others)])
    body = len(rows)
    rows.append(["All conditions", "", "", *(repetition["p_value_text"] for repetition in repetitions)])
    if many:
        rows.append(["Lower median", "", "", facts["p_value_text"], *blanks[1:]])
    rows += [[f"Selected, {group}", *_pair(pair), *blanks] for group, pair in (facts["selected_shares"] or {}).items()]
    heads = [str(repetition["repetition"]) for repetition in repetitions] if many else ["held out"]
    return Table(
        name="paper-table",
        heads=("", STATUS_QUO, CANDIDATE, *heads),
        rows=tuple(map(tuple, rows)),
        spans=(("Mean over repetitions" if many else "Estimate", 2), ("p, repetition" if many else "p", len(heads))),
        closing=len(rows) - body,
        marked=frozenset((places[_hardest(facts, k)], 3 + k) for k in range(len(repetitions))),
        note=f"{_note(facts)} All conditions: the largest p of those that decide. {_decides(facts, 'below')}",
    )


def _hardest(facts: Facts, k: int) -> int:
    """Which condition decides in a repetition: the one with the largest p-value."""
    values = [one[k]["p_value"] for one in by_component(facts)]
    return values.index(max(values))


def _title(component: ComponentFacts, facts: Facts) -> str:
    return capital(component_name(component, facts))


def _heads(component: ComponentFacts, facts: Facts) -> tuple[str, ...]:
    if component["kind"] == "accuracy":
        return STATUS_QUO, CANDIDATE, "p"
    return STATUS_QUO, CANDIDATE, f"{facts['gap_statistic']} p", f"{other_statistic(facts)} p"


def component_cells(component: ComponentFacts, draws: int) -> list[str]:
    """Values under both algorithms, p, and, of a gap, p by the other statistic."""
    p_values = [p for p in (component["p_value"], component["p_other"]) if p is not None]
    values = [value_text(component["status_quo"]), value_text(component["candidate"])]
    return [*values, *(p_text(p, draws) for p in p_values)]


def _means(component: ComponentFacts, facts: Facts) -> list[str]:
    found = estimate_of(facts, component)
    return [value_text(found["status_quo"]["estimate"]), value_text(found["candidate"]["estimate"])]


def _pair(shares: Mapping[str, float]) -> list[str]:
    return arrow(shares).split(" → ")


def _decides(facts: Facts, where: str) -> str:
    if facts["ask"] == "accuracy":
        return "Only accuracy is asked for."
    only = "Only the gap is asked for. " if facts["ask"] == "fairness" else ""
    other = f"p of the {other_statistic(facts)} one is {where} it"
    return f"{only}The {facts['gap_statistic']} gap statistic decides; {other}."


def _note(facts: Facts) -> str:
    found = f"{candidate_words(facts)} " if facts["kind"] == "audit" else ""
    return f"{found}p-values come from {draws_text(facts)}."
