"""The appendix: every component, interval and feature, versions, how to recompute."""

from improvable.report.blocks import (
    Appendix,
    Block,
    FactList,
    Heading,
    Listing,
    Sentence,
    Table,
)
from improvable.report.people import feature_table, left_out_lines
from improvable.report.tables import component_cells
from improvable.results.facts import Facts, by_component
from improvable.results.formatting import (
    arrow,
    capital,
    confidence,
    ends_text,
    value_text,
)
from improvable.results.storage import versions
from improvable.results.wording import component_name, other_statistic, seal_words


def appendix_block(facts: Facts, command: str | None, runs: str | None) -> Appendix:
    blocks: list[Block] = [
        Heading("Every condition in every repetition", 3),
        components_table(facts),
        Heading("Utilities and shares by group", 3),
        groups_table(facts),
        Heading("Are enough people selected? (Assumption 2)", 3),
        tabulate_selected(facts),
        Heading("How close to zero is the candidate's gap? (Theorem 2)", 3),
        tabulate_candidate_gaps(facts),
    ]
    if "look" in facts:
        look = facts["look"]
        blocks += [
            Heading(f"All {len(look['features']):,} features, and what is left out", 3),
            features_table(facts),
            Listing(tuple(left_out_lines(look))),
        ]
    blocks += [
        Heading("Where this comes from, and how to recompute it", 3),
        FactList(tuple(provenance(facts, command, runs))),
        Sentence(_recompute(facts, command)),
    ]
    return Appendix("Appendix", tuple(blocks))


def provenance(
    facts: Facts, command: str | None = None, runs: str | None = None
) -> list[tuple[str, str]]:
    """Where a result comes from: names and words, in the order they are printed."""
    made_with = facts.get("versions") or versions()
    protocol = facts.get("protocol")
    named = {
        "Seal": seal_words(facts),
        "Digest of the seal": facts["seal"],
        "Fingerprint of the data": facts["data_fingerprint"],
        "Digest of the protocol": protocol["digest"] if protocol else None,
        "Digest of the rule's code": facts.get("rule_source"),
        "Ledger": runs,
        "Versions": ", ".join(f"{name} {number}" for name, number in made_with.items()),
        "Command": command,
    }
    return [(name, str(words)) for name, words in named.items() if words]


def _recompute(facts: Facts, command: str | None) -> str:
    how = "run the command above" if command else "repeat the call that made it"
    said = [
        f"To recompute every number: {how}, on the same data. The fingerprint says "
        "whether they are the same."
    ]
    if facts.get("protocol"):
        said.append("improvable verify compares a rerun with this result.")
    if facts["kind"] == "audit":
        said.append(
            "With --export-rows an audit writes, for every row, its block in every "
            "repetition and both decisions, so that any tool can recompute the "
            "estimates."
        )
    return " ".join(said)


def components_table(facts: Facts) -> Table:
    audit = facts["kind"] == "audit"
    rows = [
        (
            capital(component_name(one, facts)),
            str(repetition["repetition"]) if audit else "held-out rows",
            *component_cells(one, facts["draws"]),
            *[""] * (one["p_other"] is None),
        )
        for component in by_component(facts)
        for one, repetition in zip(component, facts["repetitions"], strict=True)
    ]
    heads = (
        "Condition",
        "Repetition",
        "status quo",
        "candidate",
        "p",
        f"p, {other_statistic(facts)} gap statistic",
    )
    return Table("components-table", heads, tuple(rows))


def groups_table(facts: Facts) -> Table:
    """Every utility of every group with its interval, and the shares selected."""
    shares, level = facts["selected_shares"] or {}, confidence(facts["alpha"])
    rows = []
    for one in facts["estimates"]:
        group = f"gap by {one['group']}" if one["kind"] == "gap" else one["group"]
        selected = arrow(shares[group]).split(" → ") if group in shares else ["", ""]
        cells = [
            cell
            for spread in (one["status_quo"], one["candidate"])
            for cell in (
                value_text(spread["estimate"]),
                ends_text(spread["low"], spread["high"]),
            )
        ]
        rows.append((f"{capital(one['utility'])}, {group}", *cells, *selected))
    interval = f"{level} interval"
    heads = (
        "",
        "status quo",
        interval,
        "candidate",
        interval,
        "status quo selects",
        "candidate selects",
    )
    note = (
        (
            "Means over the repetitions. An interval holds what most repetitions do "
            "not exclude, at a confidence that allows for it. That is proven for a "
            "value common to all repetitions, as those of the status quo are; each "
            "repetition has a candidate of its own, and that intervals cover the mean "
            "of these is simulated."
        )
        if len(facts["repetitions"]) > 1
        else ""
    )
    if len(facts["groups"]) > 2:
        note += (
            " That of a gap allows for every pair of groups, and is wider than that of "
            "one pair."
        )
    return Table("groups-table", heads, tuple(rows), note=note.strip())


def features_table(facts: Facts) -> Table:
    note = (
        "How well each feature alone tells the outcome or the group, on rows that "
        "played no part in learning it: an AUC (0.5 is chance, 1 is exact), or an R "
        "squared for outcomes with more than two values."
    )
    heads, *rows = map(tuple, feature_table(facts["look"]))
    return Table("look-table", heads, tuple(rows), note=note)


def tabulate_selected(facts: Facts) -> Table:
    """Whom either algorithm selects in each group, at its fewest."""
    rows = []
    for group in facts["groups"]:
        counts = [repetition["selected"][group] for repetition in facts["repetitions"]]
        before = min(count["status_quo"] for count in counts)
        after = min(count["candidate"] for count in counts)
        rows.append((group, f"{before:,}", f"{after:,}"))
    heads = ("Group, fewest in any repetition", "status quo", "candidate")
    note = (
        "A mean over the selected is stable only if many are selected; below 30, do "
        "not rely on the bootstrap."
    )
    return Table("selected-table", heads, tuple(rows), note=note)


def tabulate_candidate_gaps(facts: Facts) -> Table:
    """How far the candidate's gap lies from zero, repetition by repetition."""
    is_audit = facts["kind"] == "audit"
    rows = []
    for gap in facts["diagnostics"]["candidate_gaps"]:
        errors = gap["standard_errors"]
        rows.append(
            (
                str(gap["repetition"]) if is_audit else "held out",
                gap["utility"],
                f"{gap['higher']} minus {gap['lower']}",
                value_text(gap["gap"]),
                "undefined" if errors is None else f"{errors:.1f}",
            )
        )
    heads = (
        "Repetition" if is_audit else "Rows",
        "Utility",
        "Between",
        "Candidate's gap",
        "Standard errors from zero",
    )
    note = (
        "The paper's absolute statistic has a kink where the candidate's gap is zero. "
        "Within about two standard errors of it, that statistic may claim too large a "
        f"cut. {_near_zero(facts)}"
    )
    return Table("candidate-gaps-table", heads, tuple(rows), note=note)


def _near_zero(facts: Facts) -> str:
    if not any(gap["near_zero"] for gap in facts["diagnostics"]["candidate_gaps"]):
        return "No row of this table is that close."
    if facts["gap_statistic"] == "signed":
        return (
            "Some rows of this table are that close. The signed statistic decides "
            "here, and has no kink."
        )
    return (
        "Some rows of this table are that close, and the absolute statistic decides "
        "here: rely on the signed one beside it."
    )
