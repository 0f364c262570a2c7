"""`improvable timestamp`."""

from typing import Annotated

import typer

from improvable.cli.output import say


def timestamp(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A protocol, a seal, a ledger, or any file.")],
    authority: Annotated[str, typer.Option(metavar="URL", help="A time stamp authority (RFC 3161).")],
    root: Annotated[
        str | None, typer.Option(metavar="FILE", help="The authority's root certificate, to check its answer at once.")
    ] = None,
) -> int:
    """Let a third party sign that a file existed now, and keep its token beside the file.

    Only a SHA-256 digest is sent. The token is kept as FILE.tsr. Of a ledger the last line is stamped, and the token is
    DATA.ledger.LINE.tsr. improvable verify --root CERTIFICATE checks all of them offline, and that the protocol is
    older than the seal, and the seal older than the ledger's lines.

    Needs the package rfc3161-client: pip install 'improvable[timestamp]'.

    Example, after that of improvable seal --help:

    \b
      improvable timestamp care.toml --authority https://freetsa.org/tsr
      improvable timestamp care.seal --authority https://freetsa.org/tsr
      improvable timestamp patients.csv.ledger --authority https://freetsa.org/tsr
      improvable verify care-run --data patients.csv --protocol care.toml --root freetsa-root.pem
    """
    from improvable.trust.timestamps import stamp

    token, time = stamp(file, authority, root)
    checked = "" if root is not None else " Check it with the authority's root certificate: improvable verify --root."
    say(f"{file} existed at {time:%Y-%m-%d %H:%M:%S} UTC, says {authority}. Kept in {token}.{checked}")
    return 0
