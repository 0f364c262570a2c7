"""A result as plain text, the answer first: the verdict, the table, who changes, how firm that is, the cautions."""

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from improvable.inference.diagnostics import KINDS
from improvable.inference.evidence import ALGORITHMS
from improvable.report.details import details, row_name
from improvable.report.labels import labeled, utility_words
from improvable.report.layout import paragraph, table
from improvable.report.opening import mean_shares
from improvable.report.people import NAMES, PEOPLE, people_by_group
from improvable.report.spread import Spread, gap_by, spreads
from improvable.results.facts import ComponentFacts, Facts, by_component, mean_of
from improvable.results.numbers import p_equals, p_text, percent, value_text
from improvable.results.words import (
    component_name,
    decision,
    differing_words,
    limits,
    rates_words,
    rerun_words,
    rows_words,
    seal_words,
    shortfall_words,
    utilities_words,
    verdict_line,
)
from improvable.showing import shown_all

if TYPE_CHECKING:
    from improvable.results.result import Result


def summary(
    result: "Result", *, verbose: bool = False, cautions: bool = True, spell: Callable[[str], str] = str
) -> str:
    """A result in a terminal.

    Parameters
    ----------
    result : Audit or Comparison
    verbose : bool
        Whether to add definitions, every repetition and the theory's conditions.
    cautions : bool
        Whether to repeat the cautions, which a command prints by itself.
    spell : callable
        How arguments in messages are spelled.
    """
    raw = labeled(result.facts)
    facts = shown_all(raw)
    beside = [f"But: {spell(text)}" for text in facts["verdict_warnings"]]
    parts = ["\n".join(map(paragraph, (verdict_line(facts), *beside)))]
    parts += [estimates(result, raw, facts), gap_notes(facts), who_changes(facts)]
    parts.append(
        paragraph(
            " ".join(
                filter(None, (decision(facts), shortfall_words(facts), rerun_words(facts), differing_words(facts)))
            )
        )
    )
    parts.append(paragraph(limits(facts)))
    parts += details(facts) if verbose else []
    parts.append(paragraph(seal_words(facts)))
    if cautions:
        others = [text for text in facts["warnings"] if text not in facts["verdict_warnings"]]
        parts.append("\n".join(paragraph(f"Caution: {spell(text)}") for text in others))
    return "\n\n".join(part for part in parts if part)


def estimates(result: "Result", raw: Facts, facts: Facts) -> str:
    """Every condition under both algorithms with its interval, and its p-value in the repetition that decides."""
    found, several = spreads(result), len(facts["repetitions"]) > 1
    own, labels = result.facts, result.facts["about"].get("labels", {})
    words = {
        one["name"]: utility_words(one, labels) for one in (*own["accuracy_utilities"], *own["fairness_utilities"])
    }
    place, rows = _deciding(facts), []
    for named, one in zip(by_component(raw), by_component(facts), strict=True):
        whose = named[0]["group"] if named[0]["kind"] == "accuracy" else gap_by(named[0]["group"])
        pair = [found[words[named[0]["utility"]], whose, algorithm] for algorithm in ALGORITHMS]
        means = [value_text(mean_of(one, algorithm)) for algorithm in ALGORITHMS]
        ends = [_ends(mean, spread) for mean, spread in zip(means, pair, strict=True)]
        rows.append([row_name(one[0], facts), *ends, p_text(one[place]["p_value"], facts["draws"])])
    over = f"Means of {len(facts['repetitions'])} repetitions" if several else "Estimates"
    units = rows_words(facts)
    which = f"; p of repetition {facts['repetitions'][place]['repetition']}, which decides" if several else ""
    accuracy = "" if facts["ask"] == "fairness" else f"Accuracy is {utilities_words(facts['accuracy_utilities'])}. "
    lower = "Lower is better: accuracy rises where that value falls. " if facts["lower_is_better"] else ""
    caption = f"{accuracy}{lower}{over} from {units}, with {percent(1 - facts['alpha'])} intervals{which}."
    return f"{paragraph(caption)}\n\n{table(['', 'status quo', 'candidate', 'p'], rows)}"


def _ends(mean: str, spread: Spread) -> str:
    return mean if spread.estimate is None else f"{mean} ({spread.ends})"


def gap_notes(facts: Facts) -> str:
    """Who is above whom in each gap, with both gaps where the candidate changes that; p by the other statistic."""
    place, lines = _deciding(facts), []
    for one in by_component(facts):
        first = one[0]
        if first["kind"] != "fairness":
            continue
        name = component_name(first, facts)
        (before, often), (after, then) = (_sides(first, algorithm, facts) for algorithm in ALGORITHMS)
        if before == after:
            told = f"{name[:1].upper()}{name[1:]}: {before} under both algorithms."
        else:
            values = [value_text(mean_of(one, algorithm)) for algorithm in ALGORITHMS]
            told = f"{name[:1].upper()}{name[1:]}: {values[0]}, {before}{often} → {values[1]}, {after}{then}."
        gap = next(d for d in facts["disparities"] if (d["utility"], d["group"]) == (first["utility"], first["group"]))
        told += f" Worse off under the status quo: {gap['worse_off']}."
        other = one[place]["p_other"]
        if other is not None:
            used, unused = ("signed", "absolute") if facts["gap_statistic"] == "signed" else ("absolute", "signed")
            told += f" The {used} statistic decides; the {unused} one has {p_equals(p_text(other, facts['draws']))}."
        lines.append(told)
    lines += [words for words in (rates_words(facts),) if words]
    return "\n".join(map(paragraph, lines))


def _sides(component: ComponentFacts, algorithm: str, facts: Facts) -> tuple[str, str]:
    """Which group is above which in a gap under an algorithm, in most repetitions; in how many, if not in all."""
    measure = next(one for one in facts["fairness_utilities"] if one["name"] == component["utility"])
    rates = facts["diagnostics"]["selection_rates"]
    levels = [rate["group"] for rate in rates if rate["attribute"] == component["group"]]
    found: Counter[tuple[str, str]] = Counter()
    for repetition in facts["repetitions"]:
        values = {
            one["group"]: one["estimate"]
            for one in repetition["intervals"]
            if one["quantity"] == algorithm and one["measure"] == component["utility"] and one["estimate"] is not None
        }
        ranked = sorted((level for level in levels if level in values), key=lambda level: values[level])
        if len(ranked) < 2:
            continue
        ends = ranked[-1], ranked[0]
        for level in set(facts["protected"]) & set(levels):  # whose gap is to the best off of the others
            other = next(one for one in (ranked[::-1] if measure["worse_off"] == "lower" else ranked) if one != level)
            ends = (level, other) if ranked.index(level) > ranked.index(other) else (other, level)
        found[ends] += 1
    if not found:
        return "not defined", ""
    (above, below), times = found.most_common(1)[0]
    often = "" if times == found.total() else f" (in {times} of {found.total()} repetitions)"
    return f"{above} above {below}", often


def _deciding(facts: Facts) -> int:
    """The place of the repetition whose p-value is the combined one."""
    return next(k for k, one in enumerate(facts["repetitions"]) if one["p_value"] == facts["p_value"])


def who_changes(facts: Facts) -> str:
    """Of 1,000 people in each group, by whom they are selected; nothing of prices."""
    people, shares = people_by_group(facts), mean_shares(facts)
    if not people or shares is None:
        return ""
    before, after = (f"{share:.1%}" for share in next(iter(shares.values())))
    caption = f"Who changes, of {PEOPLE:,} people in each group. Of all test rows, {before} → {after} are selected."
    heads = ["selected by", *(NAMES[kind] for kind in KINDS)]
    rows = [[group, *(kinds[kind].count for kind in KINDS)] for group, kinds in people.items()]
    return f"{paragraph(caption)}\n\n{table(heads, rows)}"
