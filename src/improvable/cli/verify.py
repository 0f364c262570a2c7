"""`improvable verify`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from improvable.cli.options import Jobs
from improvable.cli.output import quietly, say, warn_of_code
from improvable.cli.proofs import check_readable, refuse_beside_bundle, show_bundle, show_signature, show_stamps
from improvable.errors import OptionError

if TYPE_CHECKING:
    from improvable.results.storage import Provenance
    from improvable.trust.agreement import Agreement
    from improvable.trust.ledger import Line
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
    run_code: Annotated[
        bool,
        typer.Option("--run-code", help="Run a rule that is its author's Python code, which you have read."),
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="List every number, not only those that differ.")] = False,
    jobs: Jobs = -1,
) -> int:
    """Recompute a result, and say whether each number is the same.

    Exit status 0 where everything is the same, to the byte. Exit status 1 where anything differs or was not agreed:
    another seal than yours, none without --unsealed, a public value that you did not give with --challenge, a ledger
    that says otherwise or whose clock was turned back. Where all numbers are the same and package versions are not,
    the verdict says so; files can then not be compared to the byte, and the exit status is 1. The verdict also says
    how many runs on these data did not reject.

    A rule that is code, module:object, runs only with --run-code, and only if protocol and seal are those you agreed
    to.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --write-protocol care.toml
      improvable seal care.toml --data patients.csv --challenge 9f2c41d07be35a68
      improvable audit care.toml --data patients.csv --out run
      improvable verify run --data patients.csv --seal care.seal
    """
    from improvable.algorithms.rules import own_modules
    from improvable.results.words import seal_words
    from improvable.showing import shown
    from improvable.trust.agreement import agreed, checks
    from improvable.trust.bundle import is_bundle
    from improvable.trust.files import read_protocol
    from improvable.trust.recording import NOT_WRITABLE
    from improvable.trust.seal import seal_path
    from improvable.trust.verification import is_page, protocol_of, read_facts, refuse_code, stated_made
    from improvable.trust.verification import verify as recompute

    declared = None if protocol is None else read_protocol(protocol)
    mine = agreed(seal, protocol, declared, challenge, unsealed)
    if is_bundle(result):
        refuse_beside_bundle({"data": data, "unsealed": unsealed, "ledger": ledger, "root": root, "key": key,
                              "run-code": run_code})  # fmt: skip
        return show_bundle(result, mine)
    if data is None:
        raise OptionError("verifying needs the data.", "Name your copy: --data FILE. Only a bundle needs none.")
    facts = read_facts(result)
    rule = protocol_of(facts, result)["declared"].get("rule", {}).get("name")
    check_readable(root, key, ledger)
    if not run_code:
        refuse_code(rule)
    warn_of_code(facts["protocol"]["declared"])
    if own_modules(str(rule)) and (others := [one for one in checks(mine, facts, None) if one.good is False]):
        for check in others:
            say(shown(f"{_word(False)} {check.words}"))
        say("\nNOT VERIFIED: this is not what you agreed to, so its code was not run.")
        return 1
    found = quietly(lambda: recompute(result, data, n_jobs=jobs, run_code=run_code))
    failed = [] if found.same or found.by_other_versions else [_unlike(found, is_page(result))]
    say(shown(seal_words(facts)))
    for check in checks(mine, facts, found.seal):
        failed += [] if check.good is not False else [check.words]
        say(shown(f"{UNCHECKED if check.good is None else _word(check.good)} {check.words}"))
    say("Numbers and texts of each part, recomputed:")
    _show_numbers(found, every)
    place = _ledger_of(result, data, ledger, facts)
    runs = "no ledger was checked, so nobody knows how many runs did not reject"
    if place is not None:
        good, where, runs = _in_ledger(place, facts, stated_made(result), result)
        failed += [] if good else [f"ledger: {where}"]
        say(shown(f"{_word(good)} ledger: {where}"))
    elif stated_made(result).runs not in (None, NOT_WRITABLE):
        failed.append("the result names a line of a ledger that is not here; name it: --ledger FILE")
        say(f"{_word(False)} ledger: {failed[-1]}")
    else:
        own = "; its command and the name of its data are its own words" if stated_made(result).command else ""
        say(f"{UNCHECKED} ledger: there is none beside the data or the result{own}")
    named = [Path(protocol), seal_path(protocol)] if protocol is not None else []
    failed += [] if show_stamps(named, place, root, facts.get("challenge_source")) else ["a time stamp does not hold"]
    if key is not None and not show_signature(result, key, data, protocol):
        failed.append("a file is not as signed")
    if place is not None:
        _record(place, facts, found.same, found_words(found, facts, mine, failed))
    total, wrong = len(found.checked), len(found.differences)
    without = "it has no seal" if facts.get("seal") is None else "its seal was not compared with one of yours"
    if found.by_other_versions and not failed:
        made = ", ".join(f"{name} {one} and not {here}" for name, (one, here) in found.versions.items())
        what = "ANOTHER VERSION'S PAGE" if is_page(result) else "OTHER VERSIONS"
        unread = "What the page shows a reader was not checked" if is_page(result) else "Bytes were not compared"
        say(
            shown(
                f"\nSAME NUMBERS, {what}: {total:,} numbers and texts are the same, and the result says that it was "
                f"made by {made}. {unread}: install those versions, and verify again; {runs}.", lines=True,
            )
        )  # fmt: skip
        return 1
    if not failed:
        say(f"\nVERIFIED: {total:,} numbers and texts are the same{'' if mine.digest else f'; {without}'}; {runs}.")
        return 0
    differ = f"{wrong:,} of {total:,} numbers and texts differ"
    numbers = differ if wrong else f"all {total:,} numbers and texts are the same, but {failed[0]}"
    say(shown(f"\nNOT VERIFIED: {numbers}; {runs}.", lines=True))
    return 1


def _unlike(found: "Verification", page: bool) -> str:
    """What is not the same, in words."""
    if page and not found.differences:
        return "this is not the report of this result: the page was changed"
    return "a number, text or file differs"


def found_words(found: "Verification", facts: dict[str, Any], mine: "Agreement", failed: Sequence[str]) -> str:
    """What a verification found, as the ledger keeps it: first the numbers, then whether they are as agreed."""
    if found.by_other_versions:
        return "same numbers, other versions" + (", NOT as agreed" if failed else "")
    if not found.same:
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
    for place in _beside(result):
        try:
            if ledger_line(place, facts) is not None:
                return place
        except StorageError:  # of other data, or broken: it does not list this result
            continue
    return None


def _in_ledger(place: Path, facts: dict[str, Any], made: "Provenance", result: str) -> tuple[bool, str, str]:
    """Whether a ledger is intact and lists a result, where, and how many runs it has.

    What the result says of how it was `made` is compared with the line that it names, here or in a ledger beside it.
    """
    from improvable.errors import StorageError
    from improvable.trust.ledger import doubts, line_words, read_ledger, rejections_words, turned_back
    from improvable.trust.order import OUT_OF_ORDER, order_of
    from improvable.trust.verification import ledger_line

    try:
        line, lines = ledger_line(place, facts, made.runs), read_ledger(place)
    except StorageError as error:
        return False, error.message, "the ledger cannot be read, so nobody knows how many runs did not reject"
    runs = rejections_words(lines)
    if line is None:
        return False, f"no line of {place.name} records this result", runs
    named = place, lines[:line]
    if made.runs is not None and lines[line - 1].hash[:16] not in made.runs:
        named = _named_line(made.runs, _beside(result)) or named
    kept = named[1][-1].facts
    recorded = (kept.get("command"), line_words(*named), kept.get("file"))
    for said, there in zip((made.command, made.runs, made.data), recorded, strict=True):
        if said is not None and _without_name(said) != _without_name(there or "nothing"):
            return False, f"the result says '{said}', and the ledger says '{there or 'nothing'}'", runs
    order = [order_of(facts["seal"], lines)] if facts.get("seal") is not None else []
    other = [f"The result names line {named[1][-1].number} of {named[0].name}."] if named[0] != place else []
    told = " ".join([f"line {line} of {place.name}.", *other, *doubts(lines), *order])
    return not turned_back(lines) and not any(OUT_OF_ORDER in words for words in order), told, runs


def _named_line(words: str, places: Sequence[Path]) -> "tuple[Path, list[Line]] | None":
    """The ledger that has the line whose hash is in these words, with its lines up to that one."""
    from improvable.errors import StorageError
    from improvable.trust.ledger import read_ledger

    for place in places:
        try:
            lines = read_ledger(place)
        except StorageError:
            continue
        for line in lines:
            if f"(hash {line.hash[:16]}..." in words:
                return place, lines[: line.number]
    return None


def _beside(result: str) -> list[Path]:
    """Ledgers beside a result."""
    return sorted(Path(result).resolve().parent.glob("*.ledger"))


def _without_name(words: str) -> str:
    """Words about a line without the name of its ledger: a copy of a ledger may have another one."""
    return re.sub(r"^(Line \d+) of [\w.-]{1,100} \(hash ", r"\1 (hash ", words)


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
        word = "version   " if found.by_other_versions else _word(equal == len(found.files))
        say(f"{word} files: {equal} of {len(found.files)} are the same to the byte")
    if found.unchecked:
        say(f"{UNCHECKED} not part of the result: {shown(', '.join(found.unchecked))}")


def _word(same: bool) -> str:
    return "same      " if same else "DIFFERENT "
