"""`improvable sign`."""

from typing import Annotated

import typer

from improvable.cli.output import say


def sign(
    result: Annotated[
        str, typer.Argument(metavar="RUN", help="A run folder, a file of audit --json, or an HTML report.")
    ],
    key: Annotated[str, typer.Option(metavar="FILE", help="Your Ed25519 private key, in PEM.")],
    data: Annotated[str | None, typer.Option(metavar="FILE", help="The data, to vouch for their file too.")] = None,
    protocol: Annotated[
        str | None, typer.Option(metavar="FILE", help="The protocol, to vouch for its file and its seal too.")
    ] = None,
) -> int:
    """Sign one statement about a result: SHA-256 digests of its files, of what was declared, of the rule's code.

    The statement is in in-toto's format, in a DSSE envelope, RUN.dsse.json. improvable verify --key PUBLIC_KEY checks
    it. Whoever checks needs your public key, and must get it by another route than the result.

    Needs the package cryptography: pip install 'improvable[sign]'.

    Example, after that of improvable seal --help:

    \b
      openssl genpkey -algorithm ed25519 -out key.pem
      openssl pkey -in key.pem -pubout -out key.pub
      improvable sign care-run --key key.pem --data patients.csv --protocol care.toml
      improvable verify care-run --data patients.csv --protocol care.toml --key key.pub
    """
    from improvable.trust.signing import sign as sign_result

    place = sign_result(result, key, data, protocol)
    say(f"Signed. Kept in {place}.")
    if data is None:
        say("warning: the data are named by their fingerprint only; --data vouches for the file.", err=True)
    return 0
