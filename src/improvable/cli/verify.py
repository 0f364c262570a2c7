"""`improvable verify`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import Jobs
from improvable.cli.output import quietly, say, warn_of_code
from improvable.cli.proofs import show_bundle, show_signature, show_stamps
from improvable.errors import OptionError

if TYPE_CHECKING:
    from improvable.trust.verification import Verification

MOST_SHOWN = 20


def verify(
    result: Annotated[
        str, typer.Argument(metavar="RESULT", help="A run folder, a file of audit --json, an HTML report, or a bundle.")
    ],
    data: Annotated[
        str | None, typer.Option(metavar="FILE", help="Your copy of the data; only a bundle needs none.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(metavar="FILE", help="The agreed protocol; it must be the result's own.")
    ] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The ledger that should list the run.", show_default="that beside the data, if any"
        ),
    ] = None,
    root: Annotated[
        str | None, typer.Option(metavar="FILE", help="The time stamp authority's root certificate, in PEM.")
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="The signer's public key, in PEM.")] = None,
    every: Annotated[bool, typer.Option("--all", help="List every number, not only those that differ.")] = False,
    jobs: Jobs = -1,
) -> int:
    """Recompute a result from the protocol it carries, and say for each number whether it is the same.

    Exit status 0 where everything is the same, 1 where anything differs. With the versions that made the result, its
    files are the same to the byte; otherwise the output says which version differs.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --out run
      improvable verify run --data patients.csv
    """
    from improvable.question.declaration import digest_of
    from improvable.results.words import seal_words
    from improvable.showing import shown
    from improvable.trust.bundle import is_bundle
    from improvable.trust.files import read_protocol
    from improvable.trust.ledger import ledger_path
    from improvable.trust.seal import seal_path
    from improvable.trust.verification import read_facts
    from improvable.trust.verification import verify as recompute

    if is_bundle(result):
        return show_bundle(result)
    if data is None:
        raise OptionError("verifying needs the data.", "Name your copy: --data FILE. Only a bundle needs none.")
    facts = read_facts(result)
    warn_of_code((facts.get("protocol") or {}).get("declared", {}))
    found = quietly(lambda: recompute(result, data, n_jobs=jobs))
    same = found.same
    say(shown(seal_words(facts)))
    if protocol is not None:
        agreed = digest_of(read_protocol(protocol)) == facts["protocol"]["digest"]
        same &= agreed
        say(f"{_word(agreed)} protocol, as agreed in {protocol}")
    say("Numbers and texts of each part, recomputed:")
    _show_numbers(found, every)
    place = Path(ledger) if ledger is not None else ledger_path(data)
    recorded = ledger is not None or place.exists()
    if recorded:
        good, where = _in_ledger(place, facts)
        same &= good
        say(f"{_word(good)} ledger: {where}")
    else:
        say(f"unchecked  ledger: there is no {place.name}, so we do not know how many runs there were")
    same &= show_stamps([Path(protocol), seal_path(protocol)] if protocol is not None else [], place, root)
    if key is not None:
        same &= show_signature(result, key, data, protocol)
    total, wrong = len(found.checked), len(found.differences)
    if same:
        say(f"\nVERIFIED: {total:,} numbers and texts are the same{'' if recorded else '; no ledger was checked'}.")
        return 0
    numbers = (
        f"{wrong:,} of {total:,} numbers and texts differ" if wrong else f"all {total:,} numbers and texts are the same"
    )
    say(f"\nNOT VERIFIED: {numbers}{'' if wrong else ', but a check above failed'}.")
    return 1


def _in_ledger(place: Path, facts: dict[str, Any]) -> tuple[bool, str]:
    """Whether a ledger is intact and lists a result, and where."""
    from improvable.errors import StorageError
    from improvable.trust.verification import ledger_line

    try:
        line = ledger_line(place, facts)
    except StorageError as error:
        return False, error.message
    return line is not None, f"line {line} of {place.name}" if line else f"no line of {place.name} records this result"


def _show_numbers(found: "Verification", every: bool) -> None:
    from improvable.showing import shown
    from improvable.trust.verification import part_of

    wrong = {difference.where for difference in found.differences}
    parts: dict[str, list[str]] = {}
    for where in found.checked:
        parts.setdefault(part_of(where), []).append(where)
    for part, places in parts.items():
        bad = sum(where in wrong for where in places)
        say(f"{_word(not bad)} {shown(part)}: " + (f"{bad} of {len(places)}" if bad else f"{len(places)}"))
        for where in places if every else ():
            if where not in wrong:
                say(f"           same  {shown(where)} = {found.checked[where]!r}")
    for difference in found.differences[: None if every else MOST_SHOWN]:
        say(f"           {shown(difference.where)}: stated {difference.stated!r}, found {difference.found!r}")
    if len(found.differences) > MOST_SHOWN and not every:
        say(f"           and {len(found.differences) - MOST_SHOWN:,} more: --all lists them")
    for name, (stated, here) in found.versions.items():
        say(shown(f"version    {name} {stated} made the result; this is {here}"))
    if found.files:
        equal = sum(found.files.values())
        word = "version   " if found.versions and equal < len(found.files) else _word(equal == len(found.files))
        say(f"{word} files: {equal} of {len(found.files)} are the same to the byte")
    if found.unchecked:
        say(f"unchecked  not part of the result: {shown(', '.join(found.unchecked))}")


def _word(same: bool) -> str:
    return "same      " if same else "DIFFERENT "
