"""The body of a report, section by section: size, test, what was asked, what was
checked, cautions, limits.
"""

from collections.abc import Mapping, Sequence

from improvable.procedure.cautions import meaning
from improvable.question.claim import every_delta
from improvable.report.blocks import (
    Block,
    FactList,
    Heading,
    Listing,
    Note,
    Sentence,
    Table,
)
from improvable.report.people import look_lines
from improvable.report.tables import paper_block
from improvable.results import wording
from improvable.results.facts import BoundFacts, Facts, by_component
from improvable.results.formatting import percent, value_text
from improvable.results.result import Result

MANY = 4
"""Groups whose bounds share a sentence."""
MAX_ON_A_PAGE = 3
"""Conditions that stand beside each other on a page; more stand below each other."""
FOUR_FIFTHS = {
    "benefit": (
        "a selection rate below 0.8 of the highest is commonly taken as a sign of "
        "adverse impact"
    ),
    "burden": (
        "where being selected is a burden, a rate of which the lowest is less than 0.8 "
        "is taken here as a sign of adverse impact"
    ),
}
NO_GAP = (
    "The interval covers zero: there may be no gap to narrow, and then the test's "
    "error rate is not guaranteed."
)
THREE_STEPS = (
    "A disparate impact case asks three questions. Does a policy burden or benefit one "
    "protected class more than another? Does it serve a legitimate end? Would an "
    "alternative serve that end as well, with less disparity? This test addresses the "
    "third."
)


def bound_words(bounds: Sequence[BoundFacts]) -> list[str]:
    """The bounds in sentences. Groups for which nothing is shown share one, and so do
    many for which something is.
    """
    whole = [bound for bound in bounds if bound["what"] in ("fairness", "accuracy")]
    groups = [bound for bound in bounds if bound not in whole]
    shown, others = (
        [bound for bound in groups if bool(bound["size"]) == yes]
        for yes in (True, False)
    )
    said = [bound["words"] for bound in whole]
    if not any(bound["size"] for bound in bounds):
        return (
            [*said, "Nor is any improvement shown for a group by itself."]
            if groups
            else said
        )
    if len(shown) >= MANY:
        first, size = shown[0], shown[0]["size"]
        start, kept = first["words"].removesuffix(".").rsplit(f" by at least {size}", 1)
        start = start.replace(first["what"], "accuracy of a group by itself", 1)
        pairs = [f"{_whose(bound)} {bound['size']}" for bound in shown]
        said.append(f"{start}{kept} by at least: {', '.join(pairs)}.")
    elif len(others) < 2:
        return [*said, *(bound["words"] for bound in groups)]
    else:
        said += [bound["words"] for bound in shown]
    if len(others) < 2:
        return [*said, *(bound["words"] for bound in others)]
    *most, last = map(_whose, others)
    listed = f"accuracy of {', '.join(most)} or {last}"
    return [*said, others[0]["words"].replace(others[0]["what"], listed, 1)]


def _whose(bound: BoundFacts) -> str:
    return bound["what"].removeprefix("accuracy of ")


def size_section(facts: Facts) -> list[Block]:
    return [
        Heading("How large the improvement is"),
        Listing(tuple(bound_words(facts["bounds"]))),
        Sentence(
            (
                "Bounds rest on the signed gap statistic. Each holds with its "
                "confidence separately, with no loss in the other respects."
            ),
            "note",
        ),
    ]


def table_section(facts: Facts) -> list[Block]:
    notes = [
        words
        for words in (wording.effective_words(facts), wording.corrections_words(facts))
        if words
    ]
    return [
        Heading(
            "The test, repetition by repetition"
            if len(facts["repetitions"]) > 1
            else "The test"
        ),
        Sentence(
            "Every condition must hold for the answer to be yes. "
            "Bold: the condition with the largest p-value of its row, which decides."
            if len(by_component(facts)) > 1
            else "One condition decides."
        ),
        paper_block(facts, MAX_ON_A_PAGE),
        *(Sentence(words, "note") for words in notes),
    ]


def asked_section(facts: Facts) -> list[Block]:
    groups = f"{', '.join(facts['groups'])} (column {', '.join(facts['group'])})"
    if facts["protected"]:
        groups += (
            "; only being worse off than others counts, and only for "
            f"{', '.join(facts['protected'])}"
        )
    repetitions = len(facts["repetitions"])
    pairs = [
        ("Null hypothesis", wording.null_hypothesis(facts)),
        ("Alternative", wording.alternative_hypothesis(facts)),
        ("Decision", wording.decision(facts)),
    ]
    if facts["kind"] == "audit":
        pairs.append(("Status quo", facts["status_quo"]))
    if facts["ask"] != "both":
        pairs.append(
            (
                "Asked for",
                (
                    f"only {'accuracy' if facts['ask'] == 'accuracy' else 'the gap'} "
                    "must improve"
                ),
            )
        )
    accuracy = wording.utilities_words(facts["accuracy_utilities"])
    gap = wording.gaps_words(facts["fairness_utilities"])
    pairs += [
        ("Being selected", f"is a {facts['selection']}"),
        ("Accuracy", accuracy + "; lower is better" * facts["lower_is_better"]),
        ("Gap", f"{gap}; the {facts['gap_statistic']} statistic decides"),
        ("Groups", groups),
        ("Size asked for", _size_asked(facts)),
    ]
    if facts["kind"] == "audit":
        columns = f"{len(facts['features']):,} columns, listed in the appendix"
        pairs.append(
            ("Rule", f"'{facts['rule']}' predicts {facts['target']} from {columns}")
        )
        words = (
            f"{repetitions}, of {facts['rows']:,} rows. {wording.scheme_words(facts)}"
        )
        pairs.append(
            (
                "Repetitions",
                f"{words} {wording.training_text(facts)}"
                if "train_rows" in facts
                else words,
            )
        )
    else:
        pairs.append(("Held-out rows", f"{facts['rows']:,}"))
    named = (
        ("Row weights", facts["weight"]),
        ("Clusters", facts["cluster"]),
        ("Strata", facts["stratum"]),
    )
    pairs += [(name, f"column {column}") for name, column in named if column]
    combined = (
        "lower median p-value of the repetitions" if repetitions > 1 else "p-value"
    )
    pairs += [
        (
            "Draws",
            wording.draws_text(facts) + (" per repetition" if repetitions > 1 else ""),
        ),
        (
            "Level",
            (
                f"{facts['alpha']:g}: yes where the {combined} is below "
                f"{facts['threshold']:g}"
            ),
        ),
        ("Seal", wording.seal_words(facts)),
    ]
    return [
        Heading("Declared in advance" if facts["seal"] else "What was asked"),
        FactList(tuple(pairs)),
    ]


def _size_asked(facts: Facts) -> str:
    def size(delta: float | Mapping[str, float]) -> str:
        if isinstance(delta, Mapping):
            return ", ".join(
                f"{group} {size(number)}" for group, number in delta.items()
            )
        return percent(delta) if facts["form"] == "ratio" else f"{delta:.4g}"

    delta = facts["delta_accuracy"]
    higher = f"higher by more than {size(delta)}"
    if isinstance(delta, float) and delta < 0:
        higher = f"no worse by more than {size(-delta)}"
    parts = {
        "accuracy": f"accuracy {higher}",
        "fairness": f"gap smaller by more than {size(facts['delta_fairness'])}",
    }
    return "; ".join(
        part for kind, part in parts.items() if facts["ask"] in ("both", kind)
    )


def checked_section(facts: Facts) -> list[Block]:
    """The status quo's own gap, selection rates, the look at the data, how close to
    zero the candidate's gap is.
    """
    blocks: list[Block] = [
        Heading("What was checked"),
        Heading("The disparity itself", 3),
    ]
    blocks += [
        Sentence(
            f"The status quo's gap by {gap['group']} in {gap['utility']} is "
            f"{value_text(gap['gap'])}: {gap['higher']} stands above {gap['lower']} "
            f"({wording.gap_interval(gap, facts)}, {facts['rows']:,} rows). "
            f"{wording.harm_words(gap, facts)} "
            f"{NO_GAP if wording.covers_zero(gap) else 'The interval excludes zero.'}"
        )
        for gap in facts["disparities"]
    ]
    if wording.rates_words(facts):
        blocks.append(Sentence(wording.rates_words(facts)))
    blocks += [rates_table(facts), *_legal(facts)]
    if "look" in facts:
        blocks += [
            Heading("The data, before they were divided", 3),
            Listing(tuple(look_lines(facts["look"]))),
        ]
    distance = wording.describe_gap_distance(facts)
    if distance:
        blocks += [Heading("How close to zero the gap is", 3), Sentence(distance)]
    return blocks


def rates_table(facts: Facts) -> Table:
    """Selection rates of the status quo, with the four-fifths rule."""
    ratio = (
        "Ratio to the highest"
        if facts["selection"] == "benefit"
        else "Ratio of the lowest to it"
    )
    heads = (
        "Group",
        "Rows",
        "Selected by the status quo",
        "Selection rate",
        ratio,
        "Difference, standard deviations",
    )
    rows = tuple(
        (
            one["group"],
            f"{one['rows']:,}",
            f"{one['selected']:,}",
            percent(one["rate"]),
            value_text(one["ratio"]) + ", below four fifths" * one["below_four_fifths"],
            "best off" if one["best_off"] else f"{one['standard_deviations']:.1f}",
        )
        for one in facts["diagnostics"]["selection_rates"]
    )
    note = (
        f"The four-fifths rule: {FOUR_FIFTHS[facts['selection']]}. Standard "
        "deviations: how far the rate lies from that of the best-off group, in units "
        "of chance variation if selection did not depend on the group and rows were "
        "independent; courts have named two or three."
    )
    return Table("rates-table", heads, rows, note=note)


def _legal(facts: Facts) -> list[Block]:
    objective = "; ".join(
        one["words"] + (f" (column {one['outcome']})" * bool(one["outcome"]))
        for one in facts["accuracy_utilities"]
    )
    if facts["ask"] == "fairness":
        serves = "Nothing was asked of it: only the gap must be smaller."
    else:
        has_margin = min(every_delta(facts["delta_accuracy"])) < 0
        higher = "no lower, up to the margin," if has_margin else "higher"
        where = "in every group" if facts["overall"] is None else "overall"
        serves = (
            f"An alternative counts as serving it only if accuracy is {higher} "
            f"{where}, by the size asked for."
        )
    return [
        Heading("In a disparate impact case", 3),
        Sentence(THREE_STEPS),
        Sentence(
            f"The end that accuracy stands for here is {objective}. {serves} Whether "
            "that end is legitimate, and whether this column measures it, is for the "
            "reader to judge: the test takes both as given."
        ),
    ]


def cautions_section(result: Result) -> list[Block]:
    notes: list[Block] = [Note(one.text, meaning(one.kind)) for one in result.cautions]
    return [Heading("Cautions"), *(notes or [Sentence("None.")])]


def limits_section(facts: Facts) -> list[Block]:
    otherwise = (
        wording.limits_of_not_rejecting(facts)
        if facts["reject"]
        else (
            "Had the test rejected, it would say, with the stated error rate, that an "
            "improvement of the declared size can be found; it would not say that the "
            "status quo is unlawful."
        )
    )
    said = (
        wording.limits(facts),
        otherwise,
        (
            "The p-value is about the size asked for above. Sizes chosen after looking "
            "at the result are exploration; each of the bounds above carries its "
            "confidence separately."
        ),
        (
            "Accuracy and the gap mean what the utilities above measure, on rows like "
            "these. Nothing here is legal advice."
        ),
    )
    return [Heading("What this does not say"), Listing(said)]
