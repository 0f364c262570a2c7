"""The sentences of every output: claim, hypotheses, verdict, what it does not say, and
what the theory assumes.
"""

import math
from collections.abc import Mapping
from typing import Any

from improvable.inference.diagnostics import NEAR_ZERO
from improvable.inference.evidence import ALGORITHMS, EVERYONE
from improvable.question.claim import every_delta
from improvable.results.facts import (
    ComponentFacts,
    DisparityFacts,
    Facts,
    RerunFacts,
    ShortfallFacts,
    UtilityFacts,
)
from improvable.results.formatting import (
    arrow,
    bound_text,
    capital,
    confidence,
    p_equals,
    p_text,
    value_text,
)

SELDOM = 0.01
COUNTED = {
    3: "three",
    4: "four",
    5: "five",
    6: "six",
    7: "seven",
    8: "eight",
    9: "nine",
    10: "ten",
}
CORRECTED = {
    "two values": "an outcome of which the sample may show one value only",
    "long tail": "tails that the sample may show in part only",
    "margin": "rates near 0 or 1 beside a margin",
    "weights": "unequal weights",
    "clusters": "clusters, which may be unequal",
}
"""What draws are corrected for, by the reason that a result states."""


CONDITION = {
    "between": "the truth lies between the two estimates of each probable group",
    "probabilities only": "given the probabilities, nothing depends on the group",
    "group only": "given the group, nothing depends on the probabilities",
    "known": "the rows whose group is known are a random sample",
}
"""What makes probabilities of groups enough, in a few words."""


def rows_words(facts: Facts) -> str:
    return f"{facts['rows']:,} rows" + (
        f" in {facts['clusters']:,} clusters" if facts["clusters"] else ""
    )


def measure_words(measure: UtilityFacts) -> str:
    """What a utility measures, with the column it reads."""
    return (
        f"{measure['words']} ({measure['outcome']})"
        if measure["outcome"]
        else measure["words"]
    )


def utilities_words(measures: list[UtilityFacts]) -> str:
    return ", and ".join(map(measure_words, measures))


def gaps_words(measures: list[UtilityFacts]) -> str:
    """What the gaps of several utilities are; a ratio says of which to which."""
    plain = [measure for measure in measures if measure["between"] != "ratio"]
    ratios = [
        measure_words(measure) for measure in measures if measure["between"] == "ratio"
    ]
    out = (
        [f"the difference between groups in {utilities_words(plain)}"] if plain else []
    )
    return ", and ".join(
        out
        + [
            f"one minus the ratio of the lower to the higher of {words}"
            for words in ratios
        ]
    )


def component_name(component: ComponentFacts | ShortfallFacts, facts: Facts) -> str:
    """A condition of the test: "accuracy of black", "gap"; with its utility or group
    column if there are several.
    """
    if component["kind"] == "accuracy":
        name, measures = (
            f"accuracy of {component['group']}",
            facts["accuracy_utilities"],
        )
    else:
        columns = {
            one["group"]
            for one in facts["repetitions"][0]["components"]
            if one["kind"] == "fairness"
        }
        name, measures = "gap", facts["fairness_utilities"]
        name += f" by {component['group']}" if len(columns) > 1 else ""
    return name + (f", {component['utility']}" if len(measures) > 1 else "")


def candidate_words(facts: Facts) -> str:
    """What an audit tests, exactly: forward it is a mixture, which is an algorithm like
    any other.
    """
    *earlier, last = map(_share, facts["blocks"]["cuts"])
    if not earlier:
        return f"The candidate is what the rule found on {last} of the rows."
    return (
        f"The candidate is the mixture of what the rule found on {', '.join(earlier)} "
        f"and {last} of the rows, each with the share of rows that it decided for."
    )


def scheme_words(facts: Facts) -> str:
    """How a repetition uses the rows; and, where data are small, what the first block
    grew for.
    """
    cuts, grown = facts["blocks"]["cuts"], facts["blocks"]["grown_for"]
    if facts["scheme"] == "split":
        return (
            f"Split: a rule learns from {_share(cuts[0])} of the rows and is tested on "
            "the others."
        )
    if len(cuts) == 1:
        return (
            f"Forward, with too few rows for blocks (the first must hold {grown}): "
            "half of the rows teach and the others are tested, as in the paper's split."
        )
    blocks = (
        f"Forward: the first {_share(cuts[0])} of the rows, in random order, only "
        f"teach; each of {len(cuts)} later blocks is tested by what the rows before it "
        "taught."
    )
    return (
        blocks
        if grown is None
        else f"{blocks} The first block grew so that it holds {grown}."
    )


def _share(share: float) -> str:
    return f"{100 * share:g}%"


def seal_words(facts: Mapping[str, Any]) -> str:
    """Whether the order of the rows, or the question, could have been chosen after
    looking.
    """
    if facts.get("asked_again"):
        return (
            "Asked of a finished run: this question is not the one that was declared."
        )
    challenge, seal = facts.get("challenge"), facts.get("seal")
    if challenge is None:
        return f"Seed {facts['seed']}, chosen by the analyst: this run is not sealed."
    chosen = f"the challenge {challenge!a}" if challenge else "an empty challenge"
    follows = f"the order of the rows follows from the data and {chosen}"
    if seal is None:
        return f"{capital(follows)}, given by whoever ran this: this run is not sealed."
    return f"Sealed ({seal[:16]}...): {follows}; nobody chose a seed."


def claim_words(facts: Facts) -> str:
    """The claim after "an algorithm": what it is, or what holds with it."""
    conditions = claim_conditions(facts)
    joined = ", and " if any("," in one for one in conditions) else " and "
    return (
        f"that {joined.join(one.removeprefix('it ') for one in conditions)} than the "
        "status quo"
    )


def claim_conditions(facts: Facts) -> list[str]:
    """The conditions asked for, each as a clause about the candidate."""
    clauses = {"accuracy": _accuracy_clause, "fairness": _gap_clause}
    return [
        clause(facts)
        for kind, clause in clauses.items()
        if facts["ask"] in ("both", kind)
    ]


def _accuracy_clause(facts: Facts) -> str:
    """What the candidate is to be."""
    form, overall = facts["form"], facts["overall"]

    def size(delta: float) -> str:
        if delta == 0:
            return "more accurate"
        amount = _amount(delta, form)
        if delta > 0:
            return f"more accurate by over {amount}"
        return f"no worse by more than {amount} of accuracy"

    delta = facts["delta_accuracy"]
    if isinstance(delta, Mapping) and len(set(delta.values())) > 1:
        by_group = [f"{size(number)} for {group}" for group, number in delta.items()]
        return f"it is {' and '.join(by_group)}"
    whose = "for every group"
    if overall is not None:
        is_population = overall == "population"
        whose = "overall" if is_population else "in the weighted mean of the groups"
    return f"it is {size(every_delta(delta)[0])} {whose}"


def _gap_clause(facts: Facts) -> str:
    """What is claimed of the gap: "it has a smaller gap between groups"."""
    delta = facts["delta_fairness"]
    where = "between groups"
    if facts["protected"]:
        where = f"to the disadvantage of {' and '.join(facts['protected'])}"
    if delta == 0:
        return f"it has a smaller gap {where}"
    way = "smaller by over" if delta > 0 else "wider by no more than"
    return f"it has a gap {where} {way} {_amount(delta, facts['form'])}"


def _amount(delta: float, form: str) -> str:
    return (
        f"{abs(delta):.4g}"
        if form == "difference"
        else f"{abs(delta):.4%}".rstrip("0%").rstrip(".") + "%"
    )


def null_hypothesis(facts: Facts) -> str:
    if facts["kind"] == "comparison":
        conditions = claim_conditions(facts)
        fails = (
            "at least one of these conditions"
            if len(conditions) > 1
            else "this condition"
        )
        return (
            f"Compared with the status quo, the candidate fails {fails}: "
            f"{'; '.join(conditions)}."
        )
    claim = claim_words(facts).removeprefix("that ")
    return f"No algorithm that the rule '{facts['rule']}' can find {claim}."


def alternative_hypothesis(facts: Facts) -> str:
    claim = claim_words(facts)
    if facts["kind"] == "audit":
        return f"The rule '{facts['rule']}' can find an algorithm {claim}."
    return f"The candidate {claim.removeprefix('that ')}."


def verdict(facts: Facts) -> str:
    """What was found: in plain words, then as statisticians say it, then how firm it
    is.
    """
    said = (
        plain_verdict,
        at_most_words,
        decision,
        shortfall_words,
        tipping_words,
        rerun_words,
    )
    return " ".join(filter(None, (say(facts) for say in said)))


def tipping_words(facts: Facts) -> str:
    """How far what is not known may be from what is assumed before nothing is shown any
    more; empty if all is known.
    """
    return " ".join(filter(None, (membership_words(facts), unknown_words(facts))))


def membership_words(facts: Facts) -> str:
    """How far memberships may depart from probabilities; empty if nothing is shown, or
    groups are known.
    """
    curve, point, benchmark = (
        facts["tipping_curve"],
        facts["tipping_point"],
        facts["tipping_benchmark"],
    )
    if not facts["reject"] or not curve:
        return ""
    if point is None:
        return (
            "Weighted by probability, even memberships that follow the probabilities "
            "exactly do not show it."
        )
    most, told = "at least " if point == curve[-1]["gamma"] else "", ""
    if benchmark is not None:
        more = "more" if point > benchmark["factor"] else "no more"
        told = (
            f" That is {more} than what {benchmark['what']} tells about the group "
            f"({benchmark['factor']:.2f})."
        )
    return (
        "Weighted by probability, it stays shown in the worst case as long as what is "
        "measured changes the odds of being in a group by no more than a factor of "
        f"{most}{point:g} beyond the probabilities."
    ) + told


def unknown_words(facts: Facts) -> str:
    """Of how many whom the candidate selects nobody has seen the outcome, and how far
    that may be from the model.
    """
    unknown = facts["unknown"]
    if unknown is None:
        return ""
    shares = ", ".join(
        f"{share or 0:.0%} of {group}" for group, share in unknown["selected"].items()
    )
    said = (
        "Of those whom the candidate selects, nobody has seen the outcome of "
        f"{shares}; it counts at its worst."
    )
    if not facts["reject"] or unknown["last_delta"] is None:
        return said
    return (
        f"{said} It stays shown if their mean outcome differs by up to "
        f"{unknown['last_delta']:.2g} from that of people seen with the same features; "
        f"among people who were seen, strata differ by {unknown['benchmark']:.2g}."
    )


def answer_words(facts: Facts) -> str:
    """The answer in a few words: "not shown" says how much is ruled out, or that rows
    are too few to tell.
    """
    if facts["reject"]:
        return "Yes: shown"
    size = facts["at_most"][0]["size"]
    return f"Not shown: {f'at most {size}' if size else 'too few rows to tell'}"


def at_most_words(facts: Facts) -> str:
    """How large an improvement is ruled out, beside a verdict of not shown; empty after
    a rejection.
    """
    return "" if facts["reject"] else facts["at_most"][0]["words"]


def verdict_line(facts: Facts) -> str:
    """What was found, in one sentence with its p-value."""
    return (
        f"{plain_verdict(facts).rstrip('.')} ({p_equals(facts['p_value_text'])}, "
        f"{p_side(facts)})."
    )


def plain_verdict(facts: Facts) -> str:
    claim = alternative_hypothesis(facts)
    return (
        f"{'Shown:' if facts['reject'] else 'It is not shown that'} "
        f"{claim[:1].lower()}{claim[1:]}"
    )


def p_side(facts: Facts) -> str:
    """On which side of what it must be below the p-value is."""
    return f"{'below' if facts['reject'] else 'not below'} {facts['threshold']:g}"


def decision(facts: Facts) -> str:
    """The decision as statisticians say it, with the p-value and what it must be
    below.
    """
    repetitions, p = len(facts["repetitions"]), p_equals(facts["p_value_text"])
    p = f"lower median {p} of {repetitions} repetitions" if repetitions > 1 else p
    half = " = alpha / 2" if facts["threshold"] < facts["alpha"] else ""
    return (
        f"{'' if facts['reject'] else 'NOT '}REJECTED at level {facts['alpha']:.4g} "
        f"({p}, {p_side(facts)}{half})."
    )


def rerun_words(facts: Facts) -> str:
    """Whether the repetitions agree, and the range of how often another seed would
    decide otherwise.
    """
    rerun = facts["rerun"]
    # A run that was given a challenge has no seed of its own.
    source = "another seed" if facts.get("challenge") is None else "another challenge"
    if rerun is None:
        single = (
            f"One repetition cannot tell whether {source} would decide otherwise. Make "
            "several."
        )
        return single if facts["kind"] == "audit" else ""
    count, chance = rerun["repetitions"], rerun_range(rerun)
    every = "Both" if count == 2 else f"All {COUNTED.get(count, count)}"
    agree = (
        f"{every} repetitions agree; {source}"
        if rerun["rejecting"] in (0, count)
        else source.capitalize()
    )
    if rerun["otherwise_range"][1] < SELDOM:
        return f"{agree} would hardly decide otherwise ({chance})."
    return f"{agree} would decide otherwise with probability {chance}."


def rerun_range(rerun: RerunFacts) -> str:
    """The 90% interval of the probability that a rerun decides otherwise, in whole
    percent, rounded outward.
    """
    low, high = (round(100 * end, 4) for end in rerun["otherwise_range"])
    if high < 100 * SELDOM:
        return f"under {100 * SELDOM:g}%"
    least, most = math.floor(low), math.ceil(high)
    return f"between {least}% and {most}%" if least else f"at most {most}%"


def shortfall_words(facts: Facts) -> str:
    """Which condition failed, by how much, and about how many rows would be needed;
    empty after a rejection.
    """
    lack = facts["shortfall"]
    if lack is None:
        return ""
    name, errors, reach = (
        component_name(lack, facts),
        lack["standard_errors"],
        lack["detectable"],
    )
    where = (
        f"In the deciding repetition ({lack['repetition']}) the"
        if len(facts["repetitions"]) > 1
        else "The"
    )
    if errors is None or lack["candidate"] is None or lack["needed"] is None:
        return f"{where} {name} could not be tested, so its p-value is 1."
    side, least = ("above", "at least") if lack["above"] else ("below", "at most")
    needed = value_text(lack["needed"])
    if errors > 0:
        far = f"only {errors:.1f} standard errors {side} {needed}"
        rows = (
            "more rows than anyone has"
            if lack["rows"] is None
            else f"about {lack['rows']:,} rows"
        )
        then = f"{rows} would show it with probability 0.8"
    else:
        far = (
            f"{abs(errors):.1f} standard errors on the wrong side of the {needed} that "
            f"it had to be {side}"
        )
        then = "more rows would not show it"
    # The smallest improvement that these rows would have shown says what "not shown" is
    # worth.
    worth = (
        f"With these rows {_test(facts)} could have shown, with probability 0.8, a "
        f"candidate whose {name} is {least} {value_text(reach)}."
    )
    if lack["kind"] == "fairness" and reach is not None and reach <= 0:
        worth = (
            "With these rows, not even a gap of zero would have been shown with "
            "probability 0.8."
        )
    value = value_text(lack["candidate"])
    return (
        f"{where} {name} fell short: it is {value}, {far}; if that estimate is right, "
        f"{then}. {worth}"
    )


def _test(facts: Facts) -> str:
    return "this audit" if facts["kind"] == "audit" else "this test"


def limits(facts: Facts) -> str:
    """What the verdict does not say; part of every output."""
    yes = (
        f"{error_words(facts)} Yes does not say that the status quo is unlawful, or "
        "what should replace it."
    )
    return yes if facts["reject"] else limits_of_not_rejecting(facts)


def error_words(facts: Facts) -> str:
    """What yes is worth: how often it would be said where it is not so."""
    given = [CONDITION[facts["assume"]]] if facts["assume"] in CONDITION else []
    if facts["unknown"] is not None and facts["unknown"]["curve"]:
        given.append("unknown outcomes are within what was assumed of them")
    if_so = f", if {', and '.join(given)}" if given else ""
    return (
        f"If there were no such improvement, {_test(facts)} would say yes at most "
        f"{100 * facts['alpha']:g}% of the time{if_so}: proven for large samples, "
        "simulated for small ones."
    )


def limits_of_not_rejecting(facts: Facts) -> str:
    unknown = (
        "nothing better exists: another rule, other features, or more rows may find an "
        "improvement"
    )
    if facts["kind"] == "comparison":
        unknown = "the candidate is no better: there may be too few rows to show it"
    return f"Not rejecting is no proof that {unknown}."


def harm_words(gap: DisparityFacts, facts: Facts) -> str:
    """Which group is worse off under the status quo, and in which sense."""
    measure = next(
        one for one in facts["fairness_utilities"] if one["name"] == gap["utility"]
    )
    sense = f", {measure['sense']}" if measure["sense"] else ""
    return (
        f"Under the status quo {gap['worse_off']} is worse off than "
        f"{gap['better_off']}: {measure_words(measure)} is {measure['worse_off']} for "
        f"{gap['worse_off']}{sense} (selection is a {facts['selection']})."
    )


def gap_interval(gap: DisparityFacts, facts: Facts) -> str:
    """The interval of the status quo's gap, and what it allows for where there were
    more than two groups.
    """
    groups = [
        rate
        for rate in facts["diagnostics"]["selection_rates"]
        if rate["attribute"] == gap["group"]
    ]
    chosen = ", which allows for how these two were chosen" if len(groups) > 2 else ""
    low, high = map(bound_text, gap["interval"])
    return f"{confidence(facts['alpha'])} interval {low} to {high}{chosen}"


def covers_zero(gap: DisparityFacts) -> bool:
    low, high = gap["interval"]
    return low is None or high is None or low <= 0 <= high


def other_statistic(facts: Facts) -> str:
    """The gap statistic that does not decide."""
    return "absolute" if facts["gap_statistic"] == "signed" else "signed"


def rates_words(facts: Facts) -> str:
    """That selection rates point to another group than the gap does, where they do;
    else nothing.

    Of a group column's groups the rates point to the one farthest from the best off, if
    it is below four fifths.
    """
    rates = facts["diagnostics"]["selection_rates"]
    for attribute in dict.fromkeys(rate["attribute"] for rate in rates):
        mine = [rate for rate in rates if rate["attribute"] == attribute]
        worse = sorted(
            {
                gap["worse_off"]
                for gap in facts["disparities"]
                if gap["group"] == attribute
            }
        )
        flagged = [
            (rate["ratio"], rate["group"]) for rate in mine if rate["below_four_fifths"]
        ]
        farthest = [group for ratio, group in flagged if ratio == min(flagged)[0]]
        if not farthest or {*worse} & {*farthest}:
            continue
        how = {"benefit": ("less", "least"), "burden": ("more", "most")}[
            facts["selection"]
        ][len(mine) > 2]
        are, also = ("is" if len(names) == 1 else "are" for names in (farthest, worse))
        return (
            "Selection rates and the gap point to different groups: "
            f"{' and '.join(farthest)} {are} selected {how} often, but by what the gap "
            f"measures {' and '.join(worse)} {also} worse off. Rates do not look at "
            "the outcome."
        )
    return ""


def shares_words(facts: Facts) -> str:
    """Whom either algorithm selects of the test rows, overall and by group, as means
    over repetitions; "" of prices.
    """
    shares = facts["selected_shares"]
    if shares is None:
        return ""
    before, after = arrow(shares[EVERYONE]).split(" → ")
    by_group = ", ".join(
        f"{group} {arrow(shares[group]).replace('→', '->')}"
        for group in facts["groups"]
    )
    return (
        f"Selected: status quo {before}, candidate {after} of test rows ({by_group})."
    )


def effective_words(facts: Facts) -> str:
    """What weighted rows are worth in rows of equal weight, the least of all
    repetitions; "" without weights.
    """
    if not facts["weight"]:
        return ""
    least = []
    for group in facts["groups"]:
        before, after = (
            min(one["effective_rows"][group][name] for one in facts["repetitions"])
            for name in ALGORITHMS
        )
        least.append(f"{group} {before:.1f} → {after:.1f}")
    fewest = ", the fewest in any repetition" if len(facts["repetitions"]) > 1 else ""
    kish = f"Kish's effective number; status quo → candidate{fewest}"
    return (
        f"What weighted rows are worth in rows of equal weight ({kish}): "
        f"{', '.join(least)}."
    )


def differing_words(facts: Facts) -> str:
    """In how many rows of each group the algorithms differ, the fewest of all
    repetitions; "" where nobody counted.
    """
    found = [repetition["differing_rows"] for repetition in facts["repetitions"]]
    if not all(found):
        return ""
    said, explained = [], ""
    for group in facts["groups"]:
        least = min((one[group] for one in found), key=lambda one: one["effective"])
        worth = ""
        if least["effective"] < 0.995 * least["rows"]:
            worth = f" ({least['effective']:,.0f})"
            alike = (
                "rows of equal weight"
                if facts["cluster"] is None
                else "clusters of equal size"
            )
            explained = f"; in parentheses what these are worth in {alike}"
        said.append(f"{least['rows']:,.0f} of {group}{worth}")
    fewest = ", in the repetition with the fewest" if len(found) > 1 else ""
    return (
        f"The two algorithms differ in these rows{fewest}: "
        f"{', '.join(said)}{explained}."
    )


def corrections_words(facts: Facts) -> str:
    """What draws are corrected for, and the p-value without; "" where they are the
    paper's.
    """
    if facts["p_plain"] is None:
        return ""
    why = dict.fromkeys(
        one["why"]
        for repetition in facts["repetitions"]
        for one in repetition["corrections"]
    )
    plain = p_equals(p_text(facts["p_plain"], facts["draws"]))
    return (
        f"Draws are corrected for {'; for '.join(CORRECTED[one] for one in why)}. "
        f"Without corrections: {plain}."
    )


def describe_gap_distance(facts: Facts) -> str:
    """How far the candidate's gap lies from zero (Theorem 2); "" without a gap."""
    if facts["ask"] == "accuracy":
        return ""
    gaps = facts["diagnostics"]["candidate_gaps"]
    repetitions = len(facts["repetitions"])
    known = [
        gap["standard_errors"] for gap in gaps if gap["standard_errors"] is not None
    ]
    near = len({gap["repetition"] for gap in gaps if gap["near_zero"]})
    if not known:
        return "The candidate's gap has no standard error."
    if not near:
        at_least = "at least " if len(known) > 1 else ""
        return (
            f"The candidate's gap is {at_least}{min(known):.1f} standard errors from "
            "zero (Theorem 2)."
        )
    where = f"In {near} of {repetitions} repetitions the" if repetitions > 1 else "The"
    decides = (
        "the signed one decides here"
        if facts["gap_statistic"] == "signed"
        else "rely on the signed one"
    )
    return (
        f"{where} candidate's gap is within {NEAR_ZERO:g} standard errors of zero, "
        "where the absolute gap statistic may claim too much (Theorem 2); "
        f"{decides}."
    )


def draws_text(facts: Mapping[str, Any]) -> str:
    kinds = {
        "bootstrap": "bootstrap draws",
        "delta": "draws from the normal limit (method 'delta')",
    }
    return (
        f"{facts['draws']:,} "
        f"{kinds.get(facts['method'], 'draws, from the bootstrap or from its normal limit')}"  # noqa: E501
    )


def training_text(facts: Mapping[str, Any]) -> str:
    """What the order of the rows follows from, and how many of them a rule saw."""
    key = facts["cluster"] or facts["row_id"]
    of = f"'{key}'" if key else "their content"
    return (
        f"A hash of {of} orders the rows; a rule, and cutoffs, learn from at most "
        f"{facts['train_rows']:,} of the rows before a block."
    )
