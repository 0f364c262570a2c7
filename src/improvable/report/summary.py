"""The first screen: whose audit, the answer in words, and the few numbers that everybody asks for."""

from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.question.settings import as_options
from improvable.report.blocks import Answer, Tile, Tiles, Title
from improvable.results.facts import ComponentFacts, Facts, by_component, deciding, estimate_of
from improvable.results.formatting import arrow, capital, confidence, ends_text, p_equals, value_text
from improvable.results.wording import (
    alternative_hypothesis,
    component_name,
    covers_zero,
    differing_words,
    error_words,
    measure_words,
    p_side,
    plain_verdict,
    rerun_range,
    rerun_words,
    rows_words,
    shortfall_words,
)

ASKED = {
    "both": "be made less uneven without making it less accurate",
    "accuracy": "be made more accurate",
    "fairness": "be made less uneven",
}
SHOWN, NOT_SHOWN = "Yes: shown", "Not shown"


def title_block(facts: Facts, data: str | None = None) -> Title:
    about = facts["about"]
    named = [(name.capitalize(), about[name]) for name in ("organization", "system") if name in about]
    rows = rows_words(facts)
    where = f"{data}, {rows}" if data else rows
    named.append(("Data", where))
    if facts["data_fingerprint"]:
        named.append(("Fingerprint", f"{facts['data_fingerprint'][:16]}..."))
    named += [(name.capitalize(), about[name]) for name in ("date", "author") if name in about]
    system = about.get("system", "the status quo")
    kind = "Audit report" if facts["kind"] == "audit" else "Comparison report"
    return Title(kind, f"Can {system} {ASKED[facts['ask']]}?", tuple(named), bool(about.get("simulated")))


def answer_block(facts: Facts) -> Answer:
    said = [p_words(facts), rerun_words(facts), shortfall_words(facts), differing_words(facts)]
    said += [error_words(facts)] if facts["reject"] else []
    return Answer(
        shown=facts["reject"],
        word=SHOWN if facts["reject"] else NOT_SHOWN,
        claim=alternative_hypothesis(facts) if facts["reject"] else plain_verdict(facts),
        firmness=tuple(words for words in said if words),
        beside=tuple(map(as_options, facts["verdict_warnings"])),
    )


def p_words(facts: Facts) -> str:
    """The p-value, what it combines, and what it must be below."""
    p, repetitions = p_equals(facts["p_value_text"]), len(facts["repetitions"])
    of = f", the lower median of {repetitions} repetitions" if repetitions > 1 else ""
    half = f", half of the level of {facts['alpha']:g}" if facts["threshold"] < facts["alpha"] else ""
    return f"{p}{of}; it is {p_side(facts)}{half}."


def tiles_block(facts: Facts) -> Tiles:
    """Accuracy of groups, the gap, shares, who is worse off, how firm."""
    components = by_component(facts)
    accuracy = [one for one in components if one[0]["kind"] == "accuracy"]
    gaps = [one for one in components if one[0]["kind"] == "fairness"]
    tiles = [_change_tile(one, facts) for one in (*_chosen(accuracy, facts), *gaps[:1])]
    shares = facts["selected_shares"]
    if shares is not None:
        by_group = "; ".join(f"{group} {arrow(shares[group])}" for group in facts["groups"][:4])
        more = f"; {len(facts['groups']) - 4} more groups below" if len(facts["groups"]) > 4 else ""
        before, after = arrow(shares[EVERYONE]).split(" → ")
        tiles.append(Tile("Selected, of all test rows", before, after, f"{by_group}{more}"))
    return Tiles((*tiles, _worse_off_tile(facts), _firmness_tile(facts)))


def _chosen(accuracy: list[tuple[ComponentFacts, ...]], facts: Facts) -> list[tuple[ComponentFacts, ...]]:
    """At most two: both groups; of more, the one that is worse off and the one that decides, or has the largest p."""
    if len(accuracy) <= 2:
        return accuracy
    worse = facts["disparity"]["worse_off"]
    first = next((one for one in accuracy if one[0]["group"] == worse), accuracy[0])
    last = max(deciding(facts)["components"], key=lambda one: one["p_value"])
    matching = [one for one in accuracy if (one[0]["utility"], one[0]["group"]) == (last["utility"], last["group"])]
    others = [one for one in accuracy if one is not first]
    hardest = max(others, key=lambda one: sum(repetition["p_value"] for repetition in one))
    return [first, matching[0] if matching and matching[0] is not first else hardest]


def _change_tile(one: tuple[ComponentFacts, ...], facts: Facts) -> Tile:
    name, found = one[0]["utility"], estimate_of(facts, one[0])
    widest = ""
    if one[0]["kind"] == "accuracy":
        title = capital(component_name(one[0], facts))
        title += "" if len(facts["accuracy_utilities"]) > 1 else f": {name}"
    else:
        title = f"Gap between groups: {name}"
        widest = "; between the two groups farthest apart" if len(facts["groups"]) > 2 else ""
    before, after = (ends_text(found[algorithm]["low"], found[algorithm]["high"]) for algorithm in ALGORITHMS)
    return Tile(
        title=title,
        before=value_text(found["status_quo"]["estimate"]),
        after=value_text(found["candidate"]["estimate"]),
        words=f"{confidence(facts['alpha'])} intervals {before} → {after}{widest}",
    )


def _worse_off_tile(facts: Facts) -> Tile:
    gap = facts["disparity"]
    measure = next(one for one in facts["fairness_utilities"] if one["name"] == gap["utility"])
    sense = f": {measure['sense']}" if measure["sense"] else ""
    doubt = "; chance alone could make that difference" if covers_zero(gap) else ""
    rows = ", on all rows" if len(facts["repetitions"]) > 1 else ""
    return Tile(
        title="Worse off under the status quo",
        before="",
        after=gap["worse_off"],
        words=f"{measure_words(measure)} is {measure['worse_off']} by {value_text(gap['gap'])} than for "
        f"{gap['better_off']}{rows}{sense}{doubt}",
    )


def _firmness_tile(facts: Facts) -> Tile:
    rerun = facts["rerun"]
    if rerun is None:
        return Tile("p-value", "", facts["p_value_text"], p_side(facts))
    below = f"{rerun['rejecting']} of {rerun['repetitions']} repetitions have a p below {facts['threshold']:g}"
    return Tile(
        title="How firm: chance that a rerun decides otherwise",
        before="",
        after=rerun_range(rerun),
        words=f"a 90% interval; {below}",
    )
