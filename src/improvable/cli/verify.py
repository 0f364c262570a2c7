"""`improvable verify`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import Jobs
from improvable.cli.output import quietly, say, warn_of_code
from improvable.cli.proofs import check_readable, refuse_beside_bundle, show_bundle, show_signature, show_stamps
from improvable.errors import OptionError

if TYPE_CHECKING:
    from improvable.trust.agreement import Agreement
    from improvable.trust.verification import Verification

MOST_SHOWN = 20
UNCHECKED = "unchecked "


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
    seal: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|DIGEST", help="The seal you agreed to.", show_default="that beside the protocol, if any"
        ),
    ] = None,
    challenge: Annotated[
        str | None, typer.Option(help="The public value that the protocol names, as you looked it up yourself.")
    ] = None,
    unsealed: Annotated[
        bool, typer.Option("--unsealed", help="Accept a result that nobody sealed: its seed could be chosen.")
    ] = False,
    ledger: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The ledger that should list the run.",
            show_default="that beside the data, or else beside the result",
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

    Exit status 0 where everything is the same, 1 where anything differs, where the result does not have the seal that
    you agreed to, or where it has none and you did not say --unsealed. With the versions that made the result, its
    files are the same to the byte; otherwise the output says which version differs. The verdict also says how many
    runs on these data did not reject.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --write-protocol care.toml
      improvable seal care.toml --data patients.csv --challenge 9f2c41d07be35a68
      improvable audit care.toml --data patients.csv --out run
      improvable verify run --data patients.csv --seal care.seal
    """
    from improvable.results.words import seal_words
    from improvable.showing import shown
    from improvable.trust.agreement import agreed, checks
    from improvable.trust.bundle import is_bundle
    from improvable.trust.files import read_protocol
    from improvable.trust.seal import seal_path
    from improvable.trust.verification import read_facts, stated_line
    from improvable.trust.verification import verify as recompute

    if is_bundle(result):
        refuse_beside_bundle({"data": data, "protocol": protocol, "seal": seal, "challenge": challenge,
                              "unsealed": unsealed, "ledger": ledger, "root": root, "key": key})  # fmt: skip
        return show_bundle(result)
    if data is None:
        raise OptionError("verifying needs the data.", "Name your copy: --data FILE. Only a bundle needs none.")
    declared = None if protocol is None else read_protocol(protocol)
    mine = agreed(seal, protocol, declared, challenge, unsealed)
    facts = read_facts(result)
    check_readable(root, key, ledger)
    warn_of_code((facts.get("protocol") or {}).get("declared", {}))
    found = quietly(lambda: recompute(result, data, n_jobs=jobs))
    failed = [] if found.same else ["a number, text or file differs"]
    say(shown(seal_words(facts)))
    for check in checks(mine, facts, found.seal):
        failed += [] if check.good is not False else [check.words]
        say(shown(f"{UNCHECKED if check.good is None else _word(check.good)} {check.words}"))
    say("Numbers and texts of each part, recomputed:")
    _show_numbers(found, every)
    place = _ledger_of(result, data, ledger, facts)
    runs = "no ledger was checked, so nobody knows how many runs did not reject"
    if place is not None:
        good, where, runs = _in_ledger(place, facts, stated_line(result))
        failed += [] if good else [f"ledger: {where}"]
        say(shown(f"{_word(good)} ledger: {where}"))
    else:
        say(f"{UNCHECKED} ledger: there is none beside the data or the result")
    named = [Path(protocol), seal_path(protocol)] if protocol is not None else []
    failed += [] if show_stamps(named, place, root, facts.get("challenge_source")) else ["a time stamp does not hold"]
    if key is not None and not show_signature(result, key, data, protocol):
        failed.append("a file is not as signed")
    if place is not None:
        _record(place, facts, found.same, found_words(found.same, facts, mine, failed))
    total, wrong = len(found.checked), len(found.differences)
    without = "it has no seal" if facts.get("seal") is None else "its seal was not compared with one of yours"
    if not failed:
        say(f"\nVERIFIED: {total:,} numbers and texts are the same{'' if mine.digest else f'; {without}'}; {runs}.")
        return 0
    differ = f"{wrong:,} of {total:,} numbers and texts differ"
    numbers = differ if wrong else f"all {total:,} numbers and texts are the same, but {failed[0]}"
    say(shown(f"\nNOT VERIFIED: {numbers}; {runs}.", lines=True))
    return 1


def found_words(same: bool, facts: dict[str, Any], mine: "Agreement", failed: Sequence[str]) -> str:
    """What a verification found, as the ledger keeps it: first the numbers, then whether they are as agreed."""
    if not same:
        return "NOT the same"
    if facts.get("seal") is None and mine.digest is None:
        others = [words for words in failed if not words.startswith("seal:")]
        return "same numbers, no seal" + (", NOT as agreed" if others else "")
    if failed:
        return "same numbers, NOT as agreed"
    return "everything the same" if mine.digest is not None else "same numbers, seal not compared"


def _ledger_of(result: str, data: str, ledger: str | None, facts: dict[str, Any]) -> Path | None:
    """The ledger that was named, that beside the data, or one beside the result that lists it."""
    from improvable.errors import StorageError
    from improvable.trust.ledger import ledger_path
    from improvable.trust.verification import ledger_line

    if ledger is not None:
        return Path(ledger)
    if ledger_path(data).exists():
        return ledger_path(data)
    for place in sorted(Path(result).resolve().parent.glob("*.ledger")):
        try:
            if ledger_line(place, facts) is not None:
                return place
        except StorageError:  # of other data, or broken: it does not list this result
            continue
    return None


def _in_ledger(place: Path, facts: dict[str, Any], stated: str | None) -> tuple[bool, str, str]:
    """Whether a ledger is intact and lists a result as it is `stated`, where, and how many runs it has."""
    from improvable.errors import StorageError
    from improvable.trust.ledger import doubts, line_words, read_ledger, rejections_words
    from improvable.trust.order import OUT_OF_ORDER, order_of
    from improvable.trust.verification import ledger_line

    try:
        line, lines = ledger_line(place, facts, stated), read_ledger(place)
    except StorageError as error:
        return False, error.message, "the ledger cannot be read, so nobody knows how many runs did not reject"
    if line is None:
        return False, f"no line of {place.name} records this result", rejections_words(lines)
    here, elsewhere = line_words(place, lines[:line]), []
    if stated is not None and stated.partition("(hash")[2] != here.partition("(hash")[2]:  # a copy has another name
        if any(one.hash[:16] in stated for one in lines):
            return False, f"the result says '{stated}', and the ledger says '{here}'", rejections_words(lines)
        elsewhere = [f"The result names a line of another ledger, which was not checked: '{stated}'"]
    order = [order_of(facts["seal"], lines)] if facts.get("seal") is not None else []
    said = " ".join([f"line {line} of {place.name}.", *elsewhere, *doubts(lines), *order])
    return not any(OUT_OF_ORDER in words for words in order), said, rejections_words(lines)


def _record(place: Path, facts: dict[str, Any], same: bool, found: str) -> None:
    """Leave a line in the ledger that was checked; one that cannot be written to stays as it is, and that is said."""
    from improvable.errors import StorageError
    from improvable.trust.ledger import read_ledger
    from improvable.trust.recording import Recorder

    stated = {"protocol": facts["protocol"]["digest"], "seed": facts.get("seed"), "seal": facts.get("seal")}
    try:
        lines = read_ledger(place)
        Recorder(place, lines[0].facts["data"]).verify({"kind": "verify", **stated, "same": same, "found": found})
    except (StorageError, IndexError) as error:
        say(f"warning: this verification is not recorded: {error}", err=True)


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
        say(f"{UNCHECKED} not part of the result: {shown(', '.join(found.unchecked))}")


def _word(same: bool) -> str:
    return "same      " if same else "DIFFERENT "
