"""The paper's table, and that of what was aimed at, built once: every format only
writes them down.
"""

from collections.abc import Mapping

from improvable.inference.evidence import EVERYONE
from improvable.report.blocks import Block, Heading, Sentence, Table
from improvable.results.facts import (
    AimFacts,
    ComponentFacts,
    Facts,
    by_component,
    deciding,
    estimate_of,
)
from improvable.results.formatting import (
    arrow,
    capital,
    p_text,
    value_text,
    whole_percents,
)
from improvable.results.wording import (
    candidate_words,
    component_name,
    draws_text,
    other_statistic,
)

MAX_BLOCKS = 4
MAX_AIMS = 4  # that a sentence names
STATUS_QUO, CANDIDATE = "status quo", "candidate"


def paper_block(facts: Facts, most: int = MAX_BLOCKS) -> Table:
    """The table of Section 6: for each condition the status quo, the candidate and p;
    last the repetition's p.

    The conditions that decide are marked; the last rows sum up, with the shares
    selected. Up to `most` conditions stand beside each other. More become rows: means
    over the repetitions, and p in every repetition.
    """
    return (
        _by_repetition(facts)
        if len(by_component(facts)) <= most
        else _by_component(facts)
    )


def _by_repetition(facts: Facts) -> Table:
    components, draws, shares = (
        by_component(facts),
        facts["draws"],
        facts["selected_shares"],
    )
    names = [_heads(one[0], facts) for one in components]
    rows, marked = [], set()
    for k, repetition in enumerate(facts["repetitions"]):
        name = (
            f"Repetition {repetition['repetition']}"
            if facts["kind"] == "audit"
            else "Held-out rows"
        )
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
            row += (
                [*_pair(shares[group]), *[""] * (len(heads) - 2)]
                if group in shares
                else [""] * len(heads)
            )
        rows += [["Selected", *row, ""]] if any(row) else []
        rows.append(
            ["Selected, everyone", *_pair(shares[EVERYONE]), *[""] * (width - 1)]
        )
    return Table(
        name="paper-table",
        heads=("", *(head for heads in names for head in heads), "p"),
        rows=tuple(map(tuple, rows)),
        spans=(
            *(
                (_title(one[0], facts), len(heads))
                for one, heads in zip(components, names, strict=True)
            ),
            ("", 1),
        ),
        closing=len(rows) - body,
        marked=frozenset(marked),
        note=(
            f"{_note(facts)} The last p is the largest of its row. "
            f"{_decides(facts, 'beside')}"
        ),
    )


def _by_component(facts: Facts) -> Table:
    repetitions, draws = facts["repetitions"], facts["draws"]
    many, blanks = len(repetitions) > 1, [""] * len(repetitions)
    rows: list[list[str]] = []
    places = []
    for one in by_component(facts):
        places.append(len(rows))
        name = _title(one[0], facts)
        rows.append(
            [
                name,
                *_means(one[0], facts),
                *(p_text(repetition["p_value"], draws) for repetition in one),
            ]
        )
        others = [
            repetition["p_other"]
            for repetition in one
            if repetition["p_other"] is not None
        ]
        if others:
            rows.append(
                [
                    f"{name}, {other_statistic(facts)} statistic",
                    "",
                    "",
                    *(p_text(p, draws) for p in others),
                ]
            )
    body = len(rows)
    rows.append(
        [
            "All conditions",
            "",
            "",
            *(repetition["p_value_text"] for repetition in repetitions),
        ]
    )
    if many:
        rows.append(["Lower median", "", "", facts["p_value_text"], *blanks[1:]])
    rows += [
        [f"Selected, {group}", *_pair(pair), *blanks]
        for group, pair in (facts["selected_shares"] or {}).items()
    ]
    heads = (
        [str(repetition["repetition"]) for repetition in repetitions]
        if many
        else ["held out"]
    )
    return Table(
        name="paper-table",
        heads=("", STATUS_QUO, CANDIDATE, *heads),
        rows=tuple(map(tuple, rows)),
        spans=(
            ("Mean over repetitions" if many else "Estimate", 2),
            ("p, repetition" if many else "p", len(heads)),
        ),
        closing=len(rows) - body,
        marked=frozenset(
            (places[_hardest(facts, k)], 3 + k) for k in range(len(repetitions))
        ),
        note=(
            f"{_note(facts)} All conditions: the largest p of those that decide. "
            f"{_decides(facts, 'below')}"
        ),
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
    return (
        STATUS_QUO,
        CANDIDATE,
        f"{facts['gap_statistic']} p",
        f"{other_statistic(facts)} p",
    )


def component_cells(component: ComponentFacts, draws: int) -> list[str]:
    """Values under both algorithms, p, and, of a gap, p by the other statistic."""
    p_values = [
        p for p in (component["p_value"], component["p_other"]) if p is not None
    ]
    values = [value_text(component["status_quo"]), value_text(component["candidate"])]
    return [*values, *(p_text(p, draws) for p in p_values)]


def _means(component: ComponentFacts, facts: Facts) -> list[str]:
    found = estimate_of(facts, component)
    return [
        value_text(found["status_quo"]["estimate"]),
        value_text(found["candidate"]["estimate"]),
    ]


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


def _aims(facts: Facts) -> list[tuple[int, str, AimFacts]]:
    """What candidates of the rule `aim` give weight to in the deciding repetition, in
    percents and in words.
    """
    aim, gap = (
        deciding(facts)["aim"],
        "the gap by {}" if len(facts["group"]) > 1 else "the gap",
    )
    words = {
        "accuracy": "the accuracy of {}",
        "fairness": gap,
        "prediction": "prediction",
    }
    percents = whole_percents([one["weight"] for one in aim])
    return [
        (percent, words[one["kind"]].format(one["group"]), one)
        for percent, one in zip(percents, aim, strict=True)
    ]


def aim_words(facts: Facts) -> str:
    """What decides whom the candidates select; "" of other rules than `aim`."""
    shares = sorted(
        ((percent, name) for percent, name, _ in _aims(facts) if percent),
        key=lambda one: -one[0],
    )
    if not shares or shares[0] == (100, "prediction"):
        return (
            "Plain prediction did as well, so nothing was aimed at." if shares else ""
        )
    said, others = (
        [f"{percent}% to {name}" for percent, name in shares[:MAX_AIMS]],
        shares[MAX_AIMS:],
    )
    said += [f"{sum(percent for percent, _ in others)}% to others"] if others else []
    several = len(facts["repetitions"]) > 1
    where = (
        f"In the deciding repetition ({deciding(facts)['repetition']}) the"
        if several
        else "The"
    )
    who, its = (
        ("candidates give", "their")
        if len(facts["blocks"]["cuts"]) > 1
        else ("candidate gives", "its")
    )
    return (
        f"{where} {who} {', '.join(said).replace('% to', f'% of {its} weight to', 1)}."
    )


def aim_section(facts: Facts) -> list[Block]:
    """What candidates were aimed at, and for every condition what training rows
    promised beside what test rows gave.
    """
    rows = tuple(
        (
            capital(name.removeprefix("the ")),
            f"{percent}%",
            value_text(one["promised"]),
            value_text(one["tested"]),
        )
        for percent, name, one in _aims(facts)
        if one["kind"] != "prediction"
    )
    note = (
        "Margin: how much higher accuracy is, or smaller the gap, than it had to be, "
        "in units of the utility; below zero the condition does not hold. Training "
        "rows: those left out of fitting, a mean over the blocks."
    )
    table = Table(
        "aim-table",
        (
            "Condition",
            "Weight",
            "Margin promised by training rows",
            "Margin of test rows",
        ),
        rows,
        note=note,
    )
    return (
        [Heading("What the candidate aims at", 3), Sentence(aim_words(facts)), table]
        if rows
        else []
    )
