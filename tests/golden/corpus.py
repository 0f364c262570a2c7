"""The corpus of golden results: every entry by its name, and how one is made."""

from golden.audits import AUDITS, MakeSnapshot
from golden.commands import COMMANDS
from golden.comparisons import COMPARISONS
from golden.room import Room, steady_surroundings
from golden.snapshots import Snapshot
from golden.studies import STUDIES

CORPUS: dict[str, MakeSnapshot] = {**AUDITS, **COMPARISONS, **STUDIES, **COMMANDS}


def make_result(name: str, room: Room | None = None) -> Snapshot:
    """An entry's result as it is found now."""
    with steady_surroundings():
        try:
            return CORPUS[name](room or Room())
        except Exception as error:
            error.add_note(f"This is golden result '{name}'.")
            raise
