"""`improvable ledger`."""

import json as json_module
from pathlib import Path
from typing import Annotated

import typer

from improvable.cli.options import Json, check_writable
from improvable.cli.output import say


def ledger(
    file: Annotated[str, typer.Argument(metavar="DATA|LEDGER", help="A data file, or its ledger.")],
    entry: Annotated[
        str | None,
        typer.Option(metavar="HASH", help="Check that a line whose hash begins with this exists."),
    ] = None,
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
    from improvable.data.engines import as_engine
    from improvable.data.files import write_whole
    from improvable.data.fingerprint import fingerprint
    from improvable.data.formats import FileFormat
    from improvable.errors import StorageError
    from improvable.question.argument_names import as_options
    from improvable.question.design import FEWEST_DRAWS
    from improvable.report.layout import paragraph
    from improvable.results.numbers import p_equals, p_text
    from improvable.showing import shown
    from improvable.trust.ledger import (
        BEGUN,
        FINISHED,
        PLANNED,
        REFUSED,
        REPAIRED,
        RESUMED,
        VERIFIED,
        check_belongs,
        doubts,
        ledger_path,
        read_ledger,
        runs_words,
        torn_end,
        turned_back,
    )
    from improvable.trust.order import OUT_OF_ORDER, orders

    check_writable(json)
    named = Path(file)
    path = named if named.suffix == ".ledger" else ledger_path(file)
    lines = read_ledger(path)
    beside = named if named.suffix != ".ledger" else named.with_suffix("")
    if beside.exists():
        reading = FileFormat(**lines[0].facts.get("reading", {})) if lines else FileFormat()
        check_belongs(lines, fingerprint(as_engine(beside, None, 1, reading)), path)
    if entry is not None and not any(line.hash.startswith(entry) for line in lines):
        raise StorageError(
            f"'{path}' has no line with hash {entry}: one was removed, or the hash is not as it was printed.",
            "Compare it digit by digit; then ask who kept the ledger.",
        )
    order = orders(lines)
    status = 1 if turned_back(lines) or any(OUT_OF_ORDER in words for words in order) else 0
    facts = [{"line": line.number, **line.facts, "hash": line.hash} for line in lines]
    if json is not None and json != "-":
        write_whole(Path(json), f"{json_module.dumps(facts, indent=2)}\n".encode())
    if json == "-":
        say(json_module.dumps(facts, indent=2))
        return status
    for line in lines:
        told = [f"{line.number:>4}", str(line.facts["when"]), str(line.facts.get("kind", "")), line.event]
        if "verdict" in line.facts:
            p_value = p_text(line.facts["p_value"], line.facts.get("draws", FEWEST_DRAWS))
            told.append(f"{p_equals(p_value)}, {line.facts['verdict']}")
        if line.event != RESUMED and line.facts.get(RESUMED):
            told.append(RESUMED)
        if line.event == RESUMED:
            told.append(f"run of line {line.facts.get('run')}")
        if line.event == REFUSED:
            told[-1] = f"refused: {as_options(str(line.facts.get('why')))}"
        if line.event == VERIFIED:
            earlier = "everything the same" if line.facts.get("same") else "NOT the same"
            told.append(str(line.facts.get("found", earlier)))
        if line.event == REPAIRED:
            told.append(f"{line.facts.get('bytes')} bytes were torn")
        if line.event in (BEGUN, RESUMED, FINISHED, PLANNED):
            sealed = line.facts.get("seal") is not None
            told.append("sealed" if sealed else f"not sealed, seed {line.facts.get('seed')}")
        if line.facts.get("protocol"):
            told.append(f"protocol {str(line.facts['protocol'])[:12]}...")
        say("  ".join(map(shown, told)))
    say(paragraph(f"The chain of {len(lines)} lines is intact: {runs_words(lines)}."))
    torn = torn_end(path.read_bytes())
    if torn:
        say(f"The last line is torn after {len(torn):,} bytes: it was not written to its end. A run repairs it.")
    for words in (*doubts(lines), *order):
        say(paragraph(shown(words)))
    return status
