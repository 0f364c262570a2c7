"""Entries of `CHANGES.md`: what an accepted change moved, in Markdown.

Every verdict is listed, and p-values of results and repetitions, counts of cautions and
exit statuses are as long as they are few. Other numbers are counted by what they are,
and words are listed once for all results that have them; the diff of the stored files
shows each.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from golden.differences import KINDS, NUMBERS, Difference, Kind, shorten
from golden.facts import SEPARATOR, find_family

VERDICT = "reject"
HEADLINES = (VERDICT, "p_value", "cautions", "exit_status")
MOST_NAMES = 6  # results that a line names
MOST_LINES = 40  # headlines, and as many families; verdicts are never cut

Differences = Mapping[str, Sequence[Difference]]
"""The differences of each result, by its name."""
Family = list[tuple[str, Difference]]
"""Differences that are counted together, each with the name of its result."""


def put_headlines_first(differences: Sequence[Difference]) -> list[Difference]:
    return sorted(differences, key=lambda difference: not is_headline(difference))


def write_entry(
    subject: str,
    reason: str,
    changed: Differences,
    added: Sequence[str] = (),
    removed: Sequence[str] = (),
) -> str:
    """What a reviewer reads first: the subject, the reason, and what moved."""
    lines = [f"## {subject}", "", reason, ""]
    if added:
        lines += [f"New results ({len(added)}): {join_names(added)}.", ""]
    if removed:
        lines += [f"Removed results ({len(removed)}): {join_names(removed)}.", ""]
    for kind in KINDS:
        moved = list_differences(kind, changed)
        if moved:
            lines += [f"{kind.capitalize()} that moved:", "", *moved, ""]
    return "\n".join(lines)


def list_differences(kind: Kind, changed: Differences) -> list[str]:
    """Lines about all differences of a kind: verdicts, headlines, then families."""
    verdicts: list[str] = []
    headlines: list[str] = []
    families: dict[str, Family] = defaultdict(list)
    for name, differences in changed.items():
        for difference in differences:
            if difference.kind != kind:
                continue
            if not is_headline(difference):
                families[find_title(difference)].append((name, difference))
            elif difference.name.endswith(VERDICT):
                verdicts.append(f"- {name}: {difference}")
            else:
                headlines.append(f"- {name}: {difference}")
    counts = [write_family(title, family) for title, family in families.items()]
    return [*verdicts, *cut(headlines), *cut(counts)]


def cut(lines: list[str]) -> list[str]:
    """The first lines of a long list, and how many follow."""
    hidden = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], f"- and {hidden} more"] if hidden > 0 else lines


def is_headline(difference: Difference) -> bool:
    """Whether it is listed by itself: it is about a whole result or repetition."""
    *things, last = difference.name.split(SEPARATOR)
    return last in HEADLINES and len(things) <= 1


def find_title(difference: Difference) -> str:
    """Under what it is counted: a number by what it is, words by themselves."""
    if difference.kind == NUMBERS:
        return find_family(difference.name)
    return shorten(difference.bare or difference.change)


def write_family(title: str, family: Family) -> str:
    """How often something differs and where, with the first as an example."""
    results = list(dict.fromkeys(name for name, _ in family))
    places = dict.fromkeys(find_family(difference.name) for _, difference in family)
    example = family[0][1]
    plural = "s" if len(results) > 1 else ""
    where = f"{len(results)} result{plural} ({join_names(results)})"
    if example.kind == NUMBERS:
        return f"- {title}: {len(family)} in {where}, such as {example.change}"
    return f"- {title}: {', '.join(places)} of {where}, such as {example.change}"


def join_names(names: Sequence[str]) -> str:
    listed = "; ".join(names[:MOST_NAMES])
    hidden = len(names) - MOST_NAMES
    return f"{listed}; and {hidden} more" if hidden > 0 else listed
