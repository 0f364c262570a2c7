"""Rows that are there twice are found before the first repetition."""

from collections.abc import Sequence

from improvable.data.duplicates import (
    LEAST_BY_CHANCE,
    MOST_SHARE,
    are_copies,
    by_chance,
    count_repeats,
    exact_words,
    hash_of,
    near_twins,
    repeats_of,
    rounded_words,
)
from improvable.data.engines import Engine
from improvable.data.sample import Sample, cluster_columns
from improvable.errors import COPIES, Caution, DataError
from improvable.procedure.planning import Plan
from improvable.procedure.survey import Surveyed
from improvable.question.settings import Settings

MOST_NEAR = 0.05
"""Rows that nearly repeat another up to this share are not worth a warning."""


def twin_cautions(
    engine: Engine, plan: Plan, surveyed: Surveyed, some: Sample, columns: Sequence[str]
) -> list[Caution]:
    """Refuse copies of rows, unless it was said what they are; then, and of near copies, caution.

    Whatever was declared, copies that chance does not explain stand beside the verdict: an id that is new in every row
    is a row id, or a cluster, that tells nothing.

    Parameters
    ----------
    some : Sample
        The rows brought for all rows, by which copies are told from coincidence.
    columns : sequence of str
        Features and outcomes: what copies have in common.
    """
    settings = plan.settings
    if settings.duplicates == "cluster":
        return []  # copies teach together and are tested together
    clusters = [] if settings.cluster is None else cluster_columns(plan.design, ())
    found = count_repeats(engine, surveyed.reading, columns, [*columns_read(surveyed, columns), *clusters], clusters)
    counted = ", counted once in each cluster," if clusters else ""
    another = "a row of another cluster" if clusters else "another row"
    share = f"{found.repeated:.1%} of the rows{counted} repeat the features and outcome of {another}"
    copied = are_copies(found, lambda: exact_words(some.rows, columns))
    if copied and settings.row_id is None and not clusters and settings.duplicates is None:
        raise DataError(
            f"{share}, more than chance makes: a candidate would be tested on people that it learned from.",
            "If they are copies, remove them or keep them together, `duplicates='cluster'`; "
            "if they are different people, name a row id, `row_id=...`, or say `duplicates='keep'`.",
        )
    if copied:
        text = (
            f"{share}, more than chance makes. {_declared(settings)} If they are the same people, a candidate is "
            "tested on people that it learned from."
        )
        return [Caution(COPIES, text)]
    if settings.duplicates == "keep":
        return [Caution("kept", f"{share}, no more than chance makes. {_declared(settings)}")]
    if clusters or found.share > MOST_SHARE:
        return []
    words = rounded_words(some.rows, columns)
    chance = by_chance(words) if repeats_of(hash_of(words)).share > MOST_NEAR else None
    if chance is None or chance >= LEAST_BY_CHANCE:
        return []
    text = (
        f"{near_twins(some.rows, columns):.1%} of the rows have nearly the features and outcome of another row, more "
        "than chance makes. If they are the same people, name what they have in common: `cluster=...`."
    )
    return [Caution("near twins", text)]


def columns_read(surveyed: Surveyed, columns: Sequence[str]) -> list[str]:
    """What a pass must read to find the rows that are analyzed, and to compare them."""
    reading = surveyed.reading
    return list(dict.fromkeys([*columns, *reading.numeric, *reading.labels]))


def _declared(settings: Settings) -> str:
    """What was said of rows that are the same."""
    if settings.duplicates == "keep":
        return "They count as different people, as declared: `duplicates='keep'`."
    if settings.cluster is not None:
        return f"The cluster '{settings.cluster}' tells them apart."
    return f"The row id '{settings.row_id}' tells them apart."
