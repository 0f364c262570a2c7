"""`improvable seal`."""

from typer import Argument, Option

from improvable._text import shown
from improvable.cli.options import Json, Ledger, check_writable
from improvable.cli.output import in_command, put_json, say, warn, warn_of_code
from improvable.data.engines import as_engine
from improvable.data.io.csv import format_of
from improvable.question.challenge import parse_source
from improvable.question.protocol import from_declaration
from improvable.trust.ledger import open_recorder, reading_facts
from improvable.trust.seal import make_seal, read_protocol, refuse_other_seal, seal_facts, seal_path, write_seal


def seal(
    protocol: str = Argument(metavar="PROTOCOL.toml", help="What was declared."),
    data: str = Option(metavar="FILE", help="The data it will run on."),
    challenge: str = Option("", help="A random text from the other side, drawn after the protocol is agreed."),
    ledger: Ledger = None,
    json: Json = None,
) -> int:
    """Bind a protocol to its data before it runs, and to a challenge.

    Prints digests to exchange, and keeps them beside the protocol (care.seal for care.toml). They do not depend on the
    file format or the order of rows. improvable audit then refuses any other protocol or data, and orders the
    rows by the data and the challenge: no choice of seed, draws or level can reshuffle them.

    Agree on the protocol first; the challenge comes afterward, and nobody may be able to foresee it. Best is a public
    value that nobody knows yet, which the protocol names: a round of drand, a public source of randomness, or the
    closing figure of an index on a day to come (--challenge-source drand:ROUND or close:INDEX:YYYY-MM-DD, beside
    --write-protocol). Seal without a challenge, and give the value to improvable audit when it is there. Otherwise the
    other side draws a random text (such as openssl rand -hex 16) and gives it here. A docket number or a date can be
    foreseen.

    Sealing leaves a line in the ledger beside the data, so that the order can be shown: improvable ledger.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t' --write-protocol care.toml
      improvable seal care.toml --data patients.csv --challenge 9f2c41d07be35a68
      improvable audit care.toml --data patients.csv --out care-run
      improvable verify care-run --data patients.csv --seal care.seal
    """
    check_writable(json)
    declared = read_protocol(protocol)
    warn_of_code(declared)
    format_ = format_of(from_declaration(declared))
    rows = as_engine(data, None, 1, format_)
    made = make_seal(declared, rows, challenge)
    if not challenge and not made.challenge_source:
        warn("without a challenge from the other side, whoever holds the data could try the audit first.")
    if "row_id" not in declared.get("columns", {}):
        warn(
            "without a row id, the features that are read also decide the order of the rows. If the data have "
            "a column that differs in every row, declare it: [columns] row_id."
        )
    place = seal_path(protocol)
    refuse_other_seal(made, place)
    facts = {"kind": "seal", "protocol": made.protocol, "seal": made.digest, "challenge": made.challenge}
    facts |= {"challenge_source": made.challenge_source, "rule_source": made.rule_source}
    runs = open_recorder(rows, data, ledger).seal(facts | reading_facts(format_))
    write_seal(made, place)
    if put_json(seal_facts(made), json):
        return 0
    say(f"protocol   {made.protocol}")
    say(f"data       {made.data}  ({made.rows:,} rows, {len(made.columns)} columns read)")
    if made.rule_source:
        say(f"rule code  {made.rule_source}")
    if made.challenge_source:
        source = parse_source(made.challenge_source)
        say(f"challenge  {source.words}\n           from {source.where}")
    else:
        say(f"challenge  {shown(made.challenge) or '(none)'}")
    say(f"seal       {made.digest}")
    say(f"\nKept in {place}. {runs}")
    say("Send the seal to the other side before you run:")
    given = " --challenge VALUE" if made.challenge_source else ""
    say(f"  improvable audit {in_command(protocol)} --data {in_command(data)} --out RUN_FOLDER{given}")
    return 0
