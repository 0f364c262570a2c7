"""What `verify` prints about time stamps, signatures and bundles."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from improvable.cli.output import say
from improvable.data.files import nearest_file
from improvable.errors import OptionError

if TYPE_CHECKING:
    from improvable.trust.agreement import Agreement


def refuse_beside_bundle(given: Mapping[str, str | bool | None]) -> None:
    """Refuse options that would not be looked at, so that nobody takes them for checked."""
    for name, value in given.items():
        if value:
            raise OptionError(
                f"--{name} is given beside a bundle, which is checked by itself.",
                "Leave it out; --protocol, --seal and --challenge are compared. Or verify the run with its data.",
            )


def check_readable(root: str | None, key: str | None, ledger: str | None) -> None:
    """Refuse a certificate, a key or a ledger that is not there before anything is recomputed."""
    from improvable.trust.signing import public_key
    from improvable.trust.timestamps import read_roots

    if root is not None:
        read_roots(root)
    if key is not None:
        public_key(key)
    if ledger is not None and not Path(ledger).exists():
        raise OptionError(f"there is no ledger '{ledger}'.", nearest_file(Path(ledger), ".ledger", "Check the path."))


def show_stamps(agreed: Sequence[Path], ledger: Path | None, root: str | None, source: str | None = None) -> bool:
    """Check the tokens beside what was agreed and beside the ledger; whether all hold, and in that order.

    Where the challenge comes from a public value, what was agreed must be stamped before anyone could know it.
    """
    from improvable.question.challenge import parse_source
    from improvable.showing import shown
    from improvable.trust.timestamps import check_stamps, tokens_of

    files = [path for path in (*agreed, ledger) if path is not None and path.exists()]
    if root is None:
        tokens = [token.name for path in files for _, token in tokens_of(path)]
        if tokens:
            say(
                f"unchecked  time stamps: {shown(', '.join(tokens))}; name the authority's root certificate with --root"
            )
        return True
    due = None if source is None else parse_source(source).due
    found = check_stamps(files, root, due, len([path for path in agreed if path.exists()]))
    for one in found:
        if one.problem:
            say(shown(f"DIFFERENT  time stamp of {one.name} ({one.token}): {one.problem}"))
        elif one.time is not None:
            say(shown(f"same       time stamp: {one.name} existed at {one.time:%Y-%m-%d %H:%M:%S} UTC"))
    if not found:
        say("unchecked  time stamps: there are none beside the protocol, the seal or the ledger")
    return not any(one.problem for one in found)


def show_signature(result: str, key: str, data: str, protocol: str | None) -> bool:
    """Check the signed statement beside a result; whether all that it vouches for is the same."""
    from improvable.showing import shown
    from improvable.trust.signing import check_signature

    found = check_signature(result, key, data, protocol)
    wrong = [one.name for one in found if one.same is False and one.name != "data"]
    same = sum(one.same is True for one in found)
    say(f"{'DIFFERENT ' if wrong else 'same      '} signed statement: {same} of {len(found)} files are as signed")
    for name in wrong:
        say(shown(f"           {name} is not as signed"))
    for one in found:
        if one.same is None:
            say(shown(f"unchecked  signed statement: {one.name}, which is not here"))
        elif one.name == "data" and not one.same:
            say("unchecked  signed statement: your data file has other bytes; its rows are compared above")
    return not wrong


def show_bundle(path: str, mine: "Agreement") -> int:
    """Recompute a bundle, and compare its protocol and seal with those that were agreed; the exit status."""
    from improvable.results.numbers import p_equals, p_text
    from improvable.showing import shown
    from improvable.trust.agreement import checks
    from improvable.trust.bundle import verify_bundle

    found = verify_bundle(path)
    facts, stated, asked = found.facts, found.stated, found.question
    for name in ("data_fingerprint", "seal", "challenge"):
        say(shown(f"{name.replace('_', ' ')}: {facts.get(name) or 'none'}"))
    say(f"protocol: {facts['protocol']['digest']}")
    what = {"both": "more accurate and less uneven"}.get(asked.claim.ask, f"better in {asked.claim.ask} alone")
    repetitions = f"{len(stated['repetitions'])} repetitions of {asked.draws:,} draws"
    say(f"it asks: {what}, at level {asked.alpha:g}, in {repetitions}")
    # A bundle is for those who were not there, so it needs no seal; what they hold is compared.
    wrong = [one.words for one in checks(replace(mine, unsealed=mine.digest is None), facts, None) if one.good is False]
    for words in wrong:
        say(shown(f"DIFFERENT  {words}"))
    for name, (there, here) in found.versions.items():
        say(shown(f"version    {name} {there} made the result; this is {here}"))
    for where in found.differences[:20]:
        say(shown(f"DIFFERENT  {where}"))
    if found.merged:
        say(
            f"merged     {found.merged} small cells were merged with others: the p-value below is that of the merged "
            f"cells and tends to be too small; the run states {p_equals(p_text(found.of_the_run, asked.draws))}"
        )
    if not found.same:
        say(f"\nNOT VERIFIED: {len(found.differences)} of {found.checked} numbers do not follow from the cells.")
        return 1
    verdict = "rejected" if stated["reject"] else "not rejected"
    p_value = p_equals(p_text(stated["p_value"], asked.draws))
    if wrong:
        say(shown(f"\nNOT VERIFIED: {found.checked} numbers follow from the cells, but {wrong[0]}.", lines=True))
        return 1
    say(f"\nVERIFIED: {found.checked} numbers follow from the cells, to the bit ({p_value}, {verdict}).")
    if mine.digest is None and mine.protocol is None:
        say("Is this the protocol that you agreed to? Compare its digest, or give yours: --protocol FILE.")
    say(
        "Not shown here: that the cells come from the data, and the candidates from the rule. Verify the run for that; "
        "the bundle has the digests of its files."
    )
    return 0
