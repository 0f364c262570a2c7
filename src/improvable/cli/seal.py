"""`improvable seal`."""

from typing import Annotated

import typer

from improvable.cli.options import Json, check_writable
from improvable.cli.output import say, warn_of_code


def seal(
    protocol: Annotated[str, typer.Argument(metavar="PROTOCOL.toml", help="What was declared.")],
    data: Annotated[str, typer.Option(metavar="FILE", help="The data it will run on.")],
    challenge: Annotated[
        str,
        typer.Option(help="A text from the other side, chosen after the protocol is agreed and hard to foresee."),
    ] = "",
    json: Json = None,
) -> int:
    """Bind a protocol to its data before it runs, and its splits to a challenge from the other side.

    Prints digests to exchange, and keeps them beside the protocol (care.seal for care.toml). They do not depend on the
    file format or the order of rows. improvable audit then refuses any other protocol or data, and takes the
    splits from the data and the challenge: no choice of seed, draws or level can reshuffle the rows.

    Agree on the protocol first and ask for the challenge afterwards.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --write-protocol care.toml
      improvable seal care.toml --data patients.csv --challenge 'docket 24-1234'
      improvable audit care.toml --data patients.csv --out care-run
      improvable verify care-run --data patients.csv
    """
    from pathlib import Path

    from improvable.data.files import write_whole
    from improvable.showing import json_text, shown
    from improvable.trust.files import read_protocol
    from improvable.trust.seal import make_seal, seal_facts, seal_path, write_seal

    check_writable(json)
    declared = read_protocol(protocol)
    warn_of_code(declared)
    made = make_seal(declared, data, challenge)
    if not challenge:
        say(
            "warning: without a challenge from the other side, whoever holds the data could try the splits first.",
            err=True,
        )
    if "row_id" not in declared.get("test", {}):
        say(
            "warning: without a row id, the features that are read also decide how rows are divided. If the data have "
            "a column that differs in every row, declare it: [test] row_id.",
            err=True,
        )
    place = seal_path(protocol)
    write_seal(made, place)
    document = json_text(seal_facts(made))
    if json is not None and json != "-":
        write_whole(Path(json), f"{document}\n".encode())
    if json == "-":
        say(document)
        return 0
    say(f"protocol   {made.protocol}")
    say(f"data       {made.data}  ({made.rows:,} rows, {len(made.columns)} columns read)")
    say(f"challenge  {shown(made.challenge) or '(none)'}")
    say(f"seal       {made.digest}")
    say(f"\nKept in {place}. Send the seal to the other side before you run:")
    say(f"  improvable audit {protocol} --data {data} --out RUN_FOLDER")
    return 0
