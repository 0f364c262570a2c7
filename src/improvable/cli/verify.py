"""`improvable verify`, and `improvable bundle`, for others to verify without the
data.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from typer import Argument, Option

from improvable._text import shown
from improvable.algorithms.rules import own_modules
from improvable.cli.options import Jobs
from improvable.cli.output import (
    CHECKED,
    check_outputs,
    in_command,
    quietly,
    say,
    say_checks,
    warn,
    warn_of_code,
)
from improvable.data.io.safe import nearest_file
from improvable.errors import OptionError, StorageError
from improvable.question.options import check_integer
from improvable.results.formatting import p_equals, p_text
from improvable.results.wording import seal_words
from improvable.trust import verification as trust
from improvable.trust.bundle import SMALLEST, is_bundle, verify_bundle, write_bundle
from improvable.trust.ledger import (
    NOT_WRITABLE,
    VERIFIED,
    Recorder,
    check_recorded,
    ledger_of,
    read_ledger,
)

MAX_SHOWN = 20
INDENT = " " * 11


def verify(
    result: str = Argument(
        metavar="RESULT",
        help="A run folder, a file of audit --json, an HTML report, or a bundle.",
    ),
    data: str | None = Option(
        None, metavar="FILE", help="Your copy of the data; only a bundle needs none."
    ),
    protocol: str | None = Option(
        None, metavar="FILE", help="The agreed protocol; it must be the result's own."
    ),
    seal: str | None = Option(
        None,
        metavar="FILE|DIGEST",
        help="The seal you agreed to.",
        show_default="that beside the protocol, if any",
    ),
    challenge: str | None = Option(
        None,
        help="The public value that the protocol names, as you looked it up yourself.",
    ),
    unsealed: bool = Option(
        False,
        "--unsealed",
        help="Accept a result that nobody sealed: its seed could be chosen.",
    ),
    ledger: str | None = Option(
        None,
        metavar="FILE",
        help="The ledger that should list the run.",
        show_default="that beside the data, or else beside the result",
    ),
    run_code: bool = Option(
        False,
        "--run-code",
        help="Run a rule that is its author's Python code, which you have read.",
    ),
    every: bool = Option(
        False, "--all", help="List every number, not only those that differ."
    ),
    jobs: Jobs = -1,
) -> int:
    """Recompute a result, and say whether each number is the same.

    Exit status 0 where everything is the same, to the byte. Exit status 1 where
    anything differs or was not agreed: another seal than yours, none without
    --unsealed, a public value that you did not give with --challenge, a ledger that
    says otherwise or whose clock was turned back. Where all numbers are the same and
    package versions are not, the verdict says so; files can then not be compared to the
    byte, and the exit status is 1. The verdict also says how many runs on these data
    did not reject.

    A rule that is code, module:object, runs only with --run-code, and only if protocol
    and seal are those you agreed to.

    Example, after that of improvable seal --help:

    \b
      improvable verify care-run --data patients.csv --seal care.seal
    """
    mine = trust.agreed(seal, protocol, challenge, unsealed)
    if is_bundle(result):
        given = {
            "data": data,
            "unsealed": unsealed,
            "ledger": ledger,
            "run-code": run_code,
        }
        if unread := [name for name, value in given.items() if value]:
            raise OptionError(
                f"--{unread[0]} is given beside a bundle, which is checked by itself.",
                (
                    "Leave it out; --protocol, --seal and --challenge are compared. Or "
                    "verify the run with its data."
                ),
            )
        return check_bundle(result, mine)
    if data is None:
        raise OptionError(
            "verifying needs the data.",
            "Name your copy: --data FILE. Only a bundle needs none.",
        )
    facts = trust.read_facts(result)
    declared = trust.protocol_of(facts, result)["declared"]
    rule = declared.get("rule", {}).get("name")
    if ledger is not None and not Path(ledger).exists():
        raise OptionError(
            f"there is no ledger '{ledger}'.",
            nearest_file(Path(ledger), ".ledger", "Check the path."),
        )
    if not run_code:
        trust.refuse_code(rule)
    warn_of_code(declared)
    if own_modules(str(rule)) and (
        wrong := [
            check for check in trust.checks(mine, facts, None) if check[0] is False
        ]
    ):
        say_checks(wrong)
        say("\nNOT VERIFIED: this is not what you agreed to, so its code was not run.")
        return 1
    found = quietly(lambda: trust.verify(result, data, n_jobs=jobs, run_code=run_code))
    say(shown(seal_words(facts)))
    failed = say_checks(trust.checks(mine, facts, found.seal))
    say("Numbers and texts of each part, recomputed:")
    _say_numbers(found, every)
    place = Path(ledger) if ledger is not None else ledger_of(result, data, facts)
    made = trust.stated_made(result)
    runs = "no ledger was checked, so nobody knows how many runs did not reject"
    if place is not None:
        good, where, runs = check_recorded(place, facts, made, result)
        listed: trust.Check = good, f"ledger: {where}"
    elif made.runs not in (None, NOT_WRITABLE):
        listed = (
            False,
            (
                "ledger: the result names a line of a ledger that is not here; name "
                "it: --ledger FILE"
            ),
        )
    else:
        own = (
            "; its command and the name of its data are its own words"
            if made.command
            else ""
        )
        listed = None, f"ledger: there is none beside the data or the result{own}"
    failed += say_checks([listed])
    page = trust.is_page(result)
    if not found.same and not found.by_other_versions:
        changed = "this is not the report of this result: the page was changed"
        failed.insert(
            0,
            changed
            if page and not found.differences
            else "a number, text or file differs",
        )
    if place is not None:
        # A line in the ledger that was checked; one that cannot be written to stays as
        # it is, and that is said.
        stated = {
            "protocol": facts["protocol"]["digest"],
            "seed": facts.get("seed"),
            "seal": facts.get("seal"),
        }
        words = found_words(found, facts, mine, failed)
        try:
            recorder = Recorder(place, read_ledger(place)[0].facts["data"])
            recorder.add(
                VERIFIED,
                {"kind": "verify", **stated, "same": found.same, "found": words},
            )
        except (StorageError, IndexError) as error:
            warn(f"this verification is not recorded: {error}")
    return _conclude(found, facts, mine, failed, runs, page)


def _say_numbers(found: trust.Verification, every: bool) -> None:
    """What was recomputed: each part of the result, what differs in it, versions and
    files.
    """
    wrong = {difference.where for difference in found.differences}
    parts: dict[str, list[str]] = {}
    for where in found.checked:
        parts.setdefault(trust.part_of(where), []).append(where)
    for part, places in parts.items():
        bad = sum(where in wrong for where in places)
        say(
            f"{CHECKED[not bad]:<11}{shown(part)}: "
            f"{f'{bad} of ' if bad else ''}{len(places)}"
        )
        for where in places if every else ():
            if where not in wrong:
                say(f"{INDENT}same  {shown(where)} = {found.checked[where]!r}")
    for difference in found.differences[: None if every else MAX_SHOWN]:
        say(
            f"{INDENT}{shown(difference.where)}: stated {difference.stated!r}, found "
            f"{difference.found!r}"
        )
    if len(found.differences) > MAX_SHOWN and not every:
        say(
            f"{INDENT}and {len(found.differences) - MAX_SHOWN:,} more: --all lists them"
        )
    for name, (stated, here) in found.versions.items():
        say(shown(f"version    {name} {stated} made the result; this is {here}"))
    if found.files:
        equal = sum(found.files.values())
        word = (
            "version" if found.by_other_versions else CHECKED[equal == len(found.files)]
        )
        say(f"{word:<11}files: {equal} of {len(found.files)} are the same to the byte")
    if found.unchecked:
        say(
            f"{CHECKED[None]:<11}not part of the result: "
            f"{shown(', '.join(found.unchecked))}"
        )


def found_words(
    found: trust.Verification,
    facts: dict[str, Any],
    mine: trust.Agreement,
    failed: list[str],
) -> str:
    """What a verification found, as the ledger keeps it: first the numbers, then
    whether they are as agreed.
    """
    if found.by_other_versions:
        return "same numbers, other versions" + (", NOT as agreed" if failed else "")
    if not found.same:
        return "NOT the same"
    if facts.get("seal") is None and mine.digest is None:
        others = [words for words in failed if not words.startswith("seal:")]
        return "same numbers, no seal" + (", NOT as agreed" if others else "")
    if failed:
        return "same numbers, NOT as agreed"
    return (
        "everything the same"
        if mine.digest is not None
        else "same numbers, seal not compared"
    )


def _conclude(
    found: trust.Verification,
    facts: dict[str, Any],
    mine: trust.Agreement,
    failed: list[str],
    runs: str,
    page: bool,
) -> int:
    total, wrong = len(found.checked), len(found.differences)
    if failed:
        same = f"all {total:,} numbers and texts are the same, but {failed[0]}"
        say(
            "\nNOT VERIFIED: "
            f"{f'{wrong:,} of {total:,} numbers and texts differ' if wrong else same}; "
            f"{runs}."
        )
        return 1
    if found.by_other_versions:
        made = ", ".join(
            f"{name} {one} and not {here}"
            for name, (one, here) in found.versions.items()
        )
        what = "ANOTHER VERSION'S PAGE" if page else "OTHER VERSIONS"
        unread = (
            "What the page shows a reader was not checked"
            if page
            else "Bytes were not compared"
        )
        say(
            f"\nSAME NUMBERS, {what}: {total:,} numbers and texts are the same, and "
            f"the result says that it was made by {made}. {unread}: install those "
            f"versions, and verify again; {runs}."
        )
        return 1
    without = (
        "; it has no seal"
        if facts.get("seal") is None
        else "; its seal was not compared with one of yours"
    )
    say(
        f"\nVERIFIED: {total:,} numbers and texts are the "
        f"same{'' if mine.digest else without}; {runs}."
    )
    return 0


def bundle(
    run: str = Argument(metavar="RUN", help="A run folder of audit --out."),
    out: str | None = Option(
        None, metavar="FILE", help="Where to write it.", show_default="RUN.bundle.json"
    ),
    smallest: int = Option(SMALLEST, help="Refuse cells of fewer rows than this."),
) -> int:
    """Write what others need to recompute p-values without any row.

    A bundle has the protocol, the cells (distinct contributions of test rows to the
    utilities, and how many rows share each), the seed, and digests of the data and the
    run. improvable verify BUNDLE asks of the cells what the protocol asks, draws again
    and compares to the bit. That shows that the p-values follow from the cells. Only
    someone with the data can check that the cells follow from the data.

    Example:

    \b
      {run}
      improvable bundle run --smallest 5
      improvable verify run.bundle.json
    """
    check_outputs(out)
    check_integer("--smallest", smallest, 1)
    place = write_bundle(run, out, smallest)
    say(
        f"Wrote {place}: {place.stat().st_size:,} bytes, no row. Check it: improvable "
        f"verify {in_command(place)}"
    )
    return 0


def check_bundle(path: str, mine: trust.Agreement) -> int:
    """Recompute a bundle, and compare its protocol and seal with those that were
    agreed; the exit status.
    """
    found = verify_bundle(path)
    facts, stated, asked = found.facts, found.stated, found.question
    for name in ("data_fingerprint", "seal", "challenge"):
        say(shown(f"{name.replace('_', ' ')}: {facts.get(name) or 'none'}"))
    say(f"protocol: {facts['protocol']['digest']}")
    what = {"both": "more accurate and less uneven"}.get(
        asked.claim.ask, f"better in {asked.claim.ask} alone"
    )
    repetitions = f"{len(stated['repetitions'])} repetitions of {asked.draws:,} draws"
    say(f"it asks: {what}, at level {asked.alpha:g}, in {repetitions}")
    # A bundle is for those who were not there, so it needs no seal; what they hold is
    # compared.
    others = trust.checks(replace(mine, unsealed=mine.digest is None), facts, None)
    failed = say_checks(check for check in others if check[0] is False)
    for name, (made, here) in found.versions.items():
        say(shown(f"version    {name} {made} made the result; this is {here}"))
    for where in found.differences[:MAX_SHOWN]:
        say(shown(f"DIFFERENT  {where}"))
    if not found.same:
        say(
            f"\nNOT VERIFIED: {len(found.differences)} of {found.checked} numbers do "
            "not follow from the cells."
        )
        return 1
    if failed:
        say(
            f"\nNOT VERIFIED: {found.checked} numbers follow from the cells, but "
            f"{failed[0]}."
        )
        return 1
    verdict = "rejected" if stated["reject"] else "not rejected"
    p_value = p_equals(p_text(stated["p_value"], asked.draws))
    say(
        f"\nVERIFIED: {found.checked} numbers follow from the cells, to the bit "
        f"({p_value}, {verdict})."
    )
    if mine.digest is None and mine.protocol is None:
        say(
            "Is this the protocol that you agreed to? Compare its digest, or give "
            "yours: --protocol FILE."
        )
    say(
        "Not shown here: that the cells come from the data, and the candidates from "
        "the rule. Verify the run for that; the bundle has the digests of its files."
    )
    return 0
