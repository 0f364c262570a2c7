"""Say how results differ from the golden ones, or accept that they do.

    make golden
    make accept KIND=numbers SUBJECT="Tied scores are counted" REASON="..."
    make accept KIND=words SUBJECT="..." REASON="..."

The first lists all differences and writes nothing. Numbers and words are accepted
separately; `KIND="numbers words"` accepts both, where a sentence with a number in it
came or went. What is accepted is written into the stored results, and into `CHANGES.md`
with the subject and the reason. All of it belongs to the commit that moved it.
"""

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from joblib import Parallel, delayed

from golden.changes import Differences, write_entry
from golden.corpus import CORPUS, make_result
from golden.differences import KINDS, NUMBERS, Difference, Kind, compare, merge
from golden.snapshots import Snapshot
from golden.stored import find_path, list_stale, read_stored, write_stored

PAGE = Path(__file__).parent / "CHANGES.md"


def make_all() -> dict[str, Snapshot]:
    """Every result as it is computed now, on all cores."""
    snapshots = Parallel(n_jobs=-1)(delayed(make_result)(name) for name in CORPUS)
    return dict(zip(CORPUS, snapshots, strict=True))


def find_differences(now: Mapping[str, Snapshot]) -> dict[str, list[Difference]]:
    """The differences of every result that is not as it is stored."""
    differing: dict[str, list[Difference]] = {}
    for name, snapshot in now.items():
        differences = compare(read_stored(name), snapshot)
        if differences:
            differing[name] = differences
    return differing


def accept(
    now: Mapping[str, Snapshot],
    kinds: Sequence[Kind],
    subject: str,
    reason: str,
    page: Path = PAGE,
) -> list[str]:
    """Store differences of these kinds, and say why; the results that still differ."""
    changed: dict[str, list[Difference]] = {}
    added: list[str] = []
    for name in find_differences(now):
        stored = read_stored(name)
        merged = merge(stored, now[name], kinds)
        differences = compare(stored, merged)
        if not differences:
            continue
        if find_path(name).exists():
            changed[name] = differences
        else:
            added.append(name)
        write_stored(name, merged)
    removed = remove_stale(now) if NUMBERS in kinds else []
    if changed or added or removed:
        add_entry(page, write_entry(subject, reason, changed, added, removed))
    return list(find_differences(now))


def remove_stale(now: Mapping[str, Snapshot]) -> list[str]:
    """Delete stored results that no entry makes; the names of their files."""
    stale = list_stale(now)
    for path in stale:
        path.unlink()
    return [path.stem for path in stale]


def add_entry(page: Path, entry: str) -> None:
    """Put an entry above the others."""
    head, mark, entries = page.read_text(encoding="utf-8").partition("\n## ")
    page.write_text(f"{head.rstrip()}\n\n{entry}{mark}{entries}", encoding="utf-8")


def print_differences(differing: Differences) -> None:
    for name, differences in differing.items():
        for difference in differences:
            print(f"{name}: {difference}")
    print(f"{len(differing)} of {len(CORPUS)} golden results differ.")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kinds", nargs="*", metavar="KIND", help="numbers, words")
    parser.add_argument("--subject", default=os.environ.get("SUBJECT", "").strip())
    parser.add_argument("--reason", default=os.environ.get("REASON", "").strip())
    options = parser.parse_args()
    for kind in options.kinds:
        if kind not in KINDS:
            parser.error(f"KIND is '{kind}'; it is numbers, words, or both.")
    if options.kinds and not (options.subject and options.reason):
        parser.error("say what changed in SUBJECT, and why that is right in REASON.")
    if re.search(r"(#|\bissue )\d", options.subject, re.IGNORECASE):
        parser.error("SUBJECT says what changed; it is not the number of an issue.")
    return options


def main() -> int:
    options = read_options()
    now = make_all()
    if not options.kinds:
        differing = find_differences(now)
        print_differences(differing)
        return 1 if differing or list_stale(now) else 0
    remaining = accept(now, options.kinds, options.subject, options.reason)
    if remaining:
        print(f"Still differ: {len(remaining)} of {len(CORPUS)}; make golden says how.")
    return 1 if remaining else 0


if __name__ == "__main__":
    sys.exit(main())
