"""`improvable bundle`, and `improvable verify` of a bundle."""

from dataclasses import replace

from typer import Argument, Option

from improvable._text import shown
from improvable.cli.options import check_writable
from improvable.cli.output import in_command, say, say_checks, warn
from improvable.question.options import check_integer
from improvable.results.formatting import p_equals, p_text
from improvable.trust.bundle import SMALLEST, verify_bundle, write_bundle
from improvable.trust.verification import Agreement, checks

MAX_SHOWN = 20


def bundle(
    run: str = Argument(metavar="RUN", help="A run folder of audit --out."),
    out: str | None = Option(None, metavar="FILE", help="Where to write it.", show_default="RUN.bundle.json"),
    smallest: int = Option(SMALLEST, help="Refuse cells of fewer rows than this."),
    merge: bool = Option(False, "--merge", help="Merge smaller cells; the p-values then change."),
) -> int:
    """Write what others need to recompute p-values without any row.

    A bundle has the protocol, the cells (distinct contributions of test rows to the utilities, and how many rows share
    each), the seed, and digests of the data and the run. improvable verify BUNDLE asks of the cells what the protocol
    asks, draws again and compares to the bit. That shows that the p-values follow from the cells. Only someone with the
    data can check that the cells follow from the data.

    Example:

    \b
      {run}
      improvable bundle run --merge
      improvable verify run.bundle.json
    """
    check_writable(out)
    check_integer("--smallest", smallest, 1)
    place, merged = write_bundle(run, out, smallest, merge)
    say(f"Wrote {place}: {place.stat().st_size:,} bytes, no row. Check it: improvable verify {in_command(place)}")
    if merged:
        warn(
            f"{merged} cells of fewer than {smallest} rows were merged with others. Estimates stay; p-values "
            "are those of the merged cells, and tend to be too small. The run's own stand beside them."
        )
    return 0


def check_bundle(path: str, mine: Agreement) -> int:
    """Recompute a bundle, and compare its protocol and seal with those that were agreed; the exit status."""
    found = verify_bundle(path)
    facts, stated, asked = found.facts, found.stated, found.question
    for name in ("data_fingerprint", "seal", "challenge"):
        say(shown(f"{name.replace('_', ' ')}: {facts.get(name) or 'none'}"))
    say(f"protocol: {facts['protocol']['digest']}")
    what = {"both": "more accurate and less uneven"}.get(asked.claim.ask, f"better in {asked.claim.ask} alone")
    repetitions = f"{len(stated['repetitions'])} repetitions of {asked.draws:,} draws"
    say(f"it asks: {what}, at level {asked.alpha:g}, in {repetitions}")
    # A bundle is for those who were not there, so it needs no seal; what they hold is compared.
    others = checks(replace(mine, unsealed=mine.digest is None), facts, None)
    failed = say_checks(check for check in others if check[0] is False)
    for name, (made, here) in found.versions.items():
        say(shown(f"version    {name} {made} made the result; this is {here}"))
    for where in found.differences[:MAX_SHOWN]:
        say(shown(f"DIFFERENT  {where}"))
    if found.merged:
        say(
            f"merged     {found.merged} small cells were merged with others: the p-value below is that of the merged "
            f"cells and tends to be too small; the run states {p_equals(p_text(found.of_the_run, asked.draws))}"
        )
    if not found.same:
        say(f"\nNOT VERIFIED: {len(found.differences)} of {found.checked} numbers do not follow from the cells.")
        return 1
    if failed:
        say(shown(f"\nNOT VERIFIED: {found.checked} numbers follow from the cells, but {failed[0]}.", lines=True))
        return 1
    verdict = "rejected" if stated["reject"] else "not rejected"
    p_value = p_equals(p_text(stated["p_value"], asked.draws))
    say(f"\nVERIFIED: {found.checked} numbers follow from the cells, to the bit ({p_value}, {verdict}).")
    if mine.digest is None and mine.protocol is None:
        say("Is this the protocol that you agreed to? Compare its digest, or give yours: --protocol FILE.")
    say(
        "Not shown here: that the cells come from the data, and the candidates from the rule. Verify the run for that; "
        "the bundle has the digests of its files."
    )
    return 0
