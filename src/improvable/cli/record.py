"""`improvable seal` and `improvable ledger`: what was declared before a run, and what
was run.
"""

from pathlib import Path

from typer import Argument, Option

from improvable._text import shown
from improvable.cli.options import Json, Ledger
from improvable.cli.output import (
    check_outputs,
    in_command,
    put_json,
    say,
    warn,
    warn_of_code,
)
from improvable.data.engines import as_engine
from improvable.data.io.csv import FileFormat, format_of
from improvable.data.keys import fingerprint
from improvable.errors import StorageError
from improvable.question.challenge import parse_source
from improvable.question.design import MIN_DRAWS
from improvable.question.protocol import from_declaration
from improvable.question.settings import as_options
from improvable.report.text import paragraph
from improvable.results.formatting import p_equals, p_text
from improvable.trust import ledger as trust
from improvable.trust.seal import (
    make_seal,
    read_protocol,
    refuse_other_seal,
    seal_facts,
    seal_path,
    write_seal,
)


def seal(
    protocol: str = Argument(metavar="PROTOCOL.toml", help="What was declared."),
    data: str = Option(metavar="FILE", help="The data it will run on."),
    challenge: str = Option(
        "",
        help="A random text from the other side, drawn after the protocol is agreed.",
    ),
    ledger: Ledger = None,
    json: Json = None,
) -> int:
    """Bind a protocol to its data before it runs, and to a challenge.

    Prints digests to exchange, and keeps them beside the protocol (care.seal for
    care.toml). They do not depend on the file format or the order of rows. improvable
    audit then refuses any other protocol or data, and orders the rows by the data and
    the challenge: no choice of seed, draws or level can reshuffle them.

    Agree on the protocol first; the challenge comes afterward, and nobody may be able
    to foresee it. Best is a public value that nobody knows yet, which the protocol
    names: a round of drand, a public source of randomness, or the closing figure of an
    index on a day to come (--challenge-source drand:ROUND or close:INDEX:YYYY-MM-DD
    of improvable init). Seal without a challenge, and give the value to improvable
    audit when it is there. Otherwise the other side draws a random text (such as
    openssl rand -hex 16) and gives it here. A docket number or a date can be foreseen.

    Sealing leaves a line in the ledger beside the data, so that the order can be shown:
    improvable ledger.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable init care.toml --data patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t'
      improvable seal care.toml --data patients.csv --challenge 9f2c41d07be35a68
      improvable audit care.toml --data patients.csv --out care-run
      improvable verify care-run --data patients.csv --seal care.seal
    """  # noqa: E501
    check_outputs(json)
    declared = read_protocol(protocol)
    warn_of_code(declared)
    format_ = format_of(from_declaration(declared))
    rows = as_engine(data, None, 1, format_)
    made = make_seal(declared, rows, challenge)
    if not challenge and not made.challenge_source:
        warn(
            "without a challenge from the other side, whoever holds the data could try "
            "the audit first."
        )
    if "row_id" not in declared.get("columns", {}):
        warn(
            "without a row id, the features that are read also decide the order of the "
            "rows. If the data have a column that differs in every row, declare it: "
            "[columns] row_id."
        )
    place = seal_path(protocol)
    refuse_other_seal(made, place)
    facts = {
        "kind": "seal",
        "protocol": made.protocol,
        "seal": made.digest,
        "challenge": made.challenge,
    }
    facts |= {
        "challenge_source": made.challenge_source,
        "rule_source": made.rule_source,
    }
    runs = trust.open_recorder(rows, data, ledger).seal(
        facts | trust.reading_facts(format_)
    )
    write_seal(made, place)
    if put_json(seal_facts(made), json):
        return 0
    say(f"protocol   {made.protocol}")
    say(
        f"data       {made.data}  ({made.rows:,} rows, {len(made.columns)} columns "
        "read)"
    )
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
    say(
        f"  improvable audit {in_command(protocol)} --data {in_command(data)} --out "
        f"RUN_FOLDER{given}"
    )
    return 0


def ledger(
    file: str = Argument(metavar="DATA|LEDGER", help="A data file, or its ledger."),
    entry: str | None = Option(
        None,
        metavar="HASH",
        help="Check that a line whose hash begins with this exists.",
    ),
    json: Json = None,
) -> int:
    """List the runs on a data file, and check that none was changed.

    improvable audit and compare write a line beside the data before a run tests
    anything, and when it ends; improvable seal, power and verify write one each. For
    every seal the order of events is shown: protocol, seal, challenge, run.
    Lines are chained by hashes. If lines were cut off at the end, or the ledger was
    rewritten, the hash that a run printed shows it: --entry. Exit status 1 where time
    goes backward, or where events are not in order.

    Example:

    \b
      {audit}
      improvable ledger patients.csv
    """
    check_outputs(json)
    named = Path(file)
    path = named if named.suffix == ".ledger" else trust.ledger_path(file)
    lines = trust.read_ledger(path)
    beside = named if named.suffix != ".ledger" else named.with_suffix("")
    if beside.exists():
        reading = (
            FileFormat(**lines[0].facts.get("reading", {})) if lines else FileFormat()
        )
        trust.check_belongs(
            lines, fingerprint(as_engine(beside, None, 1, reading)), path
        )
    if entry is not None and not any(line.hash.startswith(entry) for line in lines):
        raise StorageError(
            (
                f"'{path}' has no line with hash {entry}: one was removed, or the hash "
                "is not as it was printed."
            ),
            "Compare it digit by digit; then ask who kept the ledger.",
        )
    order = trust.orders(lines)
    status = (
        1
        if trust.turned_back(lines)
        or any(trust.OUT_OF_ORDER in words for words in order)
        else 0
    )
    if put_json(
        [{"line": line.number, **line.facts, "hash": line.hash} for line in lines], json
    ):
        return status
    for line in lines:
        say("  ".join(map(shown, _parts(line))))
    say(
        paragraph(
            f"The chain of {len(lines)} lines is intact: {trust.runs_words(lines)}."
        )
    )
    if torn := trust.torn_end(path.read_bytes()):
        say(
            f"The last line is torn after {len(torn):,} bytes: it was not written to "
            "its end. A run repairs it."
        )
    for words in (*trust.doubts(lines), *order):
        say(paragraph(shown(words)))
    return status


def _parts(line: trust.Line) -> list[str]:
    facts, event = line.facts, line.event
    parts = [f"{line.number:>4}", facts["when"], facts.get("kind", ""), event]
    if "verdict" in facts:
        p_value = p_text(facts["p_value"], facts.get("draws", MIN_DRAWS))
        parts.append(f"{p_equals(p_value)}, {facts['verdict']}")
    if event != trust.RESUMED and facts.get(trust.RESUMED):
        parts.append(trust.RESUMED)
    if event == trust.RESUMED:
        parts.append(f"run of line {facts.get('run')}")
    elif event == trust.REFUSED:
        parts[-1] = f"refused: {as_options(str(facts.get('why')))}"
    elif event == trust.VERIFIED:
        parts.append(
            facts.get(
                "found", "everything the same" if facts.get("same") else "NOT the same"
            )
        )
    elif event == trust.REPAIRED:
        parts.append(f"{facts.get('bytes')} bytes were torn")
    if event in (trust.BEGUN, trust.RESUMED, trust.FINISHED, trust.PLANNED):
        parts.append(
            "sealed"
            if facts.get("seal") is not None
            else f"not sealed, seed {facts.get('seed')}"
        )
    if facts.get("protocol"):
        parts.append(f"protocol {facts['protocol'][:12]}...")
    return parts
