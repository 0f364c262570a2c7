"""`improvable ledger`."""

from pathlib import Path

from typer import Argument, Option

from improvable._text import shown
from improvable.cli.options import Json, check_writable
from improvable.cli.output import put_json, say
from improvable.data.engines import as_engine
from improvable.data.io.csv import FileFormat
from improvable.data.keys import fingerprint
from improvable.errors import StorageError
from improvable.question.design import MIN_DRAWS
from improvable.question.settings import as_options
from improvable.report.text import paragraph
from improvable.results.formatting import p_equals, p_text
from improvable.trust import ledger as trust


def ledger(
    file: str = Argument(metavar="DATA|LEDGER", help="A data file, or its ledger."),
    entry: str | None = Option(None, metavar="HASH", help="Check that a line whose hash begins with this exists."),
    json: Json = None,
) -> int:
    """List the runs on a data file, and check that none was changed.

    improvable audit and compare write a line beside the data before a run tests anything, and when it ends;
    improvable seal, power and verify write one each. For every seal the order of events is shown: protocol, seal,
    challenge, run.
    Lines are chained by hashes. If lines were cut off at the end, or the ledger was rewritten, the hash that a run
    printed shows it: --entry. Exit status 1 where time goes backward, or where events are not in order.

    Example:

    \b
      improvable demo --simulated --write patients.csv
      improvable audit patients.csv --outcome gagne_sum_t --group race \\
          --score risk_score_t --capacity 0.03 --rule linear --exclude '*_t'
      improvable ledger patients.csv
    """
    check_writable(json)
    named = Path(file)
    path = named if named.suffix == ".ledger" else trust.ledger_path(file)
    lines = trust.read_ledger(path)
    beside = named if named.suffix != ".ledger" else named.with_suffix("")
    if beside.exists():
        reading = FileFormat(**lines[0].facts.get("reading", {})) if lines else FileFormat()
        trust.check_belongs(lines, fingerprint(as_engine(beside, None, 1, reading)), path)
    if entry is not None and not any(line.hash.startswith(entry) for line in lines):
        raise StorageError(
            f"'{path}' has no line with hash {entry}: one was removed, or the hash is not as it was printed.",
            "Compare it digit by digit; then ask who kept the ledger.",
        )
    order = trust.orders(lines)
    status = 1 if trust.turned_back(lines) or any(trust.OUT_OF_ORDER in words for words in order) else 0
    if put_json([{"line": line.number, **line.facts, "hash": line.hash} for line in lines], json):
        return status
    for line in lines:
        say("  ".join(map(shown, _parts(line))))
    say(paragraph(f"The chain of {len(lines)} lines is intact: {trust.runs_words(lines)}."))
    if torn := trust.torn_end(path.read_bytes()):
        say(f"The last line is torn after {len(torn):,} bytes: it was not written to its end. A run repairs it.")
    for words in (*trust.doubts(lines), *order):
        say(paragraph(shown(words)))
    return status


def _parts(line: trust.Line) -> list[str]:
    """What a line says, in words that stand beside each other."""
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
        parts.append(facts.get("found", "everything the same" if facts.get("same") else "NOT the same"))
    elif event == trust.REPAIRED:
        parts.append(f"{facts.get('bytes')} bytes were torn")
    if event in (trust.BEGUN, trust.RESUMED, trust.FINISHED, trust.PLANNED):
        parts.append("sealed" if facts.get("seal") is not None else f"not sealed, seed {facts.get('seed')}")
    if facts.get("protocol"):
        parts.append(f"protocol {facts['protocol'][:12]}...")
    return parts
