"""An audit that can be recomputed without a row: protocol, cells, seed, identities and
digests.

Every p-value is a function of draws, draws are a function of cells and a seed, and
cells are distinct contributions with how often each occurs. A bundle holds these, so
anyone can draw again and must find the same p-values bit for bit. What is asked of the
cells (level, draws, deltas, how many repetitions) is in the protocol and nowhere else,
so whoever knows the protocol's digest knows the question.

It proves that the p-values, the verdict and the estimates follow from these cells and
this seed; not that the cells come from the data, the seed from data and challenge, or
candidates from the rule. For that the run itself is verified with the data, and the
bundle's digests say which run it is.

A cell that few people share says something about them, so cells of fewer than
`smallest` rows are refused. They are never merged: variation inside a merged cell is
lost, and p-values would be too small.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from improvable._text import json_text
from improvable.data.groups import Attribute
from improvable.data.io.safe import ReceivedError, parse_json, read_bytes, write_whole
from improvable.errors import OptionError, StorageError
from improvable.inference.corrections import MARGIN, TWO_VALUES
from improvable.inference.moments import Moments
from improvable.inference.tally import (
    Counted,
    drawable_of,
    evidence_without_draws,
    with_draws,
)
from improvable.inference.test import assess, lower_median, threshold_for
from improvable.procedure.split import DRAWING, seed_of
from improvable.question.design import Design, Question, make_design
from improvable.question.options import check_types, conforms
from improvable.question.protocol import digest_of, from_declaration
from improvable.results.audit import load
from improvable.results.collect import component_facts
from improvable.results.comparison import Comparison, check_attributes
from improvable.results.facts import wrong_types
from improvable.results.storage import MALFORMED, counts_from, plain_counts, versions
from improvable.trust.seal import other_versions
from improvable.trust.verification import differences, leaves

FAMILY = "improvable bundle "
BUNDLE = f"{FAMILY}2"
SMALLEST = 10
# corrections that look at rows, not at what a cluster adds up to
BY_ROW = (TWO_VALUES, MARGIN)
MAX_LEVELS = 1_000
# numbers that the draws of one repetition may have, all on the reader's machine
MAX_DRAWN = 1 << 25
IDENTITY = (
    "rule_source",
    "rows",
    "seal",
    "challenge",
    "challenge_source",
    "data_fingerprint",
    "seed",
    "versions",
)
"""What a bundle repeats of the result that it is of."""
KEYS = {
    "format",
    "protocol",
    "identity",
    "files",
    "smallest",
    "repetitions",
    "of_the_run",
}
REPETITION_KEYS = {"repetition", "attributes", "training", "counts"}


@dataclass(frozen=True)
class Recomputed:
    """What recomputing a bundle found."""

    checked: int  # how many numbers were compared, to the bit
    differences: list[str]  # places of those that are not the same
    facts: dict[str, Any]  # what the bundle says it is of
    stated: dict[str, Any]  # the p-values, as the bundle states them
    question: Question  # what the protocol asks
    # for each package whose version differs, (stated, here)
    versions: dict[str, tuple[str, str]]

    @property
    def same(self) -> bool:
        return not self.differences


def write_bundle(
    run: str | Path, path: str | Path | None = None, smallest: int = SMALLEST
) -> Path:
    """Write the bundle of a run folder: the same bytes for whoever has the run.

    Parameters
    ----------
    run : str or path
        A folder of ``improvable audit --out``, or of `save`.
    path : str or path, optional
        By default ``RUN.bundle.json``, beside the run.
    smallest : int
        The fewest rows that a cell may have.

    Returns
    -------
    path
        Where it is.
    """
    result = load(run)
    facts = result.to_dict()
    if facts.get("protocol") is None:
        hint = (
            "Only audits whose rule, utilities and status quo are named, not Python "
            "objects, have a bundle."
        )
        raise OptionError(
            f"'{run}' has no protocol, so a bundle could not say what was asked.", hint
        )
    repetitions = []
    for repetition in result.repetitions:
        assert isinstance(repetition, Comparison)
        counted = _releasable(repetition, smallest)
        attributes = repetition.evidence.attributes
        levels = [
            {"name": a.name, "levels": list(a.levels), "member": a.member.tolist()}
            for a in attributes
        ]
        training = (
            repetition.evidence.training.tolist()
            if facts["scheme"] == "split"
            else None
        )
        one = {
            "repetition": repetition.repetition,
            "attributes": levels,
            "training": training,
        }
        repetitions.append(one | {"counts": plain_counts(counted)})
    files = [
        one
        for one in sorted(Path(run).iterdir())
        if one.name == "result.json" or one.match("repetition-*.npz")
    ]
    stated = [
        {name: one[name] for name in ("repetition", "p_value", "components")}
        for one in facts["repetitions"]
    ]
    plain: dict[str, Any] = {
        "format": BUNDLE,
        "protocol": facts["protocol"],
        "identity": {name: facts.get(name) for name in IDENTITY},
        "files": {
            one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in files
        },
        "smallest": smallest,
        "repetitions": repetitions,
        "of_the_run": {name: facts[name] for name in ("p_value", "threshold", "reject")}
        | {"repetitions": stated},
    }
    try:
        again = _recomputed(json.loads(json.dumps(plain)))
    except ReceivedError as error:
        raise OptionError(
            f"the bundle of '{run}' {error}.",
            "Use fewer draws, or run the audit again.",
        ) from error
    if again != plain["of_the_run"]:
        hint = "It was written by other versions; run the audit again."
        raise StorageError(f"the cells in '{run}' do not give its p-values.", hint)
    place = (
        Path(path) if path is not None else Path(f"{str(run).rstrip('/')}.bundle.json")
    )
    write_whole(place, (json_text(plain, indent=None) + "\n").encode())
    return place


def is_bundle(path: str | Path) -> bool:
    """Whether a file begins as a bundle does, of whatever version."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        return f'"format": "{FAMILY}'.encode() in file.read(200)


def verify_bundle(path: str | Path) -> Recomputed:
    """Draw again from the cells of a bundle, and compare every p-value and estimate, to
    the bit.
    """
    try:
        plain = parse_json(read_bytes(Path(path)))
        if plain["format"] != BUNDLE:
            raise ReceivedError(
                f"has format {plain['format']!r}; this version reads {BUNDLE!r}"
            )
        if set(plain) != KEYS or set(plain["identity"]) != set(IDENTITY):
            raise ReceivedError("says what a bundle does not say, or less")
        question, again = _design(plain).question, _recomputed(plain)
        stated, identity = plain["of_the_run"], dict(plain["identity"])
        wrong = [one.where for one in differences(stated, again)]
        if wrong_types(identity, IDENTITY):
            raise TypeError("a value of another type")
        changed = other_versions(identity["versions"], versions())
    except ReceivedError as error:
        raise StorageError(f"'{path}' {error}.", "Ask for the bundle again.") from error
    except OptionError as error:
        what = f"'{path}' carries no protocol that can be run: {error.message}"
        raise StorageError(what, "Ask for it again.") from error
    except (OSError, *MALFORMED) as error:
        raise StorageError(
            f"'{path}' is not a bundle that can be recomputed.", "Ask for it again."
        ) from error
    facts, checked = (
        identity | {"protocol": plain["protocol"]},
        len(dict(leaves(again))),
    )
    return Recomputed(checked, wrong, facts, stated, question, changed)


def _releasable(repetition: Comparison, smallest: int) -> Counted:
    """What was counted, if no cell is too small."""
    counted = repetition.counted
    if counted is None:
        raise OptionError(
            "the run keeps no cells: its contributions are nearly all different.",
            "A bundle needs outcomes that are 0 or 1, or counts.",
        )
    strata = counted.strata
    if isinstance(strata, Moments):
        return counted
    if counted.clusters is not None and any(
        one["why"] in BY_ROW for one in repetition.counts["corrections"]
    ):
        what = (
            "the draws of this run know which rows of a cluster the algorithms differ "
            "in, and a bundle does not."
        )
        raise OptionError(what, "Let the other side recompute the run from its rows.")
    small = sum(
        int((cells.counts < smallest).sum()) + (0 < cells.silent < smallest)
        for cells in strata
    )
    if small:
        share = (
            f"fewer than {smallest} "
            f"{'rows' if counted.clusters is None else 'clusters'} share"
        )
        hint = (
            "Allow smaller cells, if the law lets you: --smallest 1. Or let the other "
            "side recompute from the rows."
        )
        raise OptionError(
            (
                f"{small} cells of repetition {repetition.repetition} are "
                f"contributions that {share}."
            ),
            hint,
        )
    return counted


def _design(plain: Mapping[str, Any]) -> Design:
    """What the protocol asks, and nothing that is said beside it; only the seed of a
    sealed audit is the data's.
    """
    protocol, identity = plain["protocol"], plain["identity"]
    if (
        set(protocol) != {"declared", "digest"}
        or digest_of(protocol["declared"]) != protocol["digest"]
    ):
        raise ReceivedError("does not have the protocol whose digest it states")
    settings = from_declaration(protocol["declared"], identity["challenge"])
    design = make_design(settings)
    if settings.challenge is None:
        if identity["seed"] != settings.seed:
            raise ReceivedError("has another seed than its protocol")
        return design
    return replace(design, question=replace(design.question, seed=identity["seed"]))


def _recomputed(plain: Mapping[str, Any]) -> dict[str, Any]:
    """P-values and estimates again, from the protocol and the cells of a bundle."""
    design, declared = _design(plain), from_declaration(plain["protocol"]["declared"])
    numbers = [one["repetition"] for one in plain["repetitions"]]
    if numbers != list(range(1, declared.repetitions + 1)):
        raise ReceivedError(
            f"does not have the repetitions 1 to {declared.repetitions:,} of its "
            "protocol, in order"
        )
    repetitions = [
        _repetition_again(one, design, declared.scheme == "split")
        for one in plain["repetitions"]
    ]
    p_value = float(lower_median([repetition["p_value"] for repetition in repetitions]))
    threshold = threshold_for(design.question.alpha, len(repetitions))
    return {
        "p_value": p_value,
        "threshold": threshold,
        "reject": bool(p_value < threshold),
        "repetitions": repetitions,
    }


def _repetition_again(
    plain: Mapping[str, Any], design: Design, split: bool
) -> dict[str, Any]:
    question, counted, number = (
        design.question,
        counts_from(plain["counts"]),
        plain["repetition"],
    )
    if counted is None or set(plain) != REPETITION_KEYS or not conforms(number, int):
        raise ValueError("cells")
    attributes = tuple(
        Attribute(
            one["name"], tuple(one["levels"]), np.array(one["member"], dtype=np.int64)
        )
        for one in plain["attributes"]
    )
    # A stratum of one estimator is in no group of the other.
    check_attributes(attributes, least=0 if question.assume is None else -1)
    strata = attributes[0].member.size
    levels = max(strata, *(len(attribute.levels) for attribute in attributes))
    if levels > MAX_LEVELS or question.draws * strata * design.pairs * 4 > MAX_DRAWN:
        raise ReceivedError(
            f"asks for {question.draws:,} draws of {levels:,} groups, too many to draw "
            "again here"
        )
    shape = (strata, design.pairs, 2)
    # In the paper's split the training rows choose the reference pair of groups;
    # forward, the tested rows do.
    training = (
        np.array(plain["training"], dtype=np.float64).reshape(shape) if split else None
    )
    evidence = evidence_without_draws(design, attributes, counted, training)
    check_types(evidence)
    if question.method not in (None, evidence.method):
        raise ReceivedError(
            f"has draws of method {evidence.method}, and its protocol asks for "
            f"{question.method}"
        )
    seed = seed_of(question.seed, number, DRAWING)
    drawable = drawable_of(evidence, counted, question.claim)
    found = assess(
        with_draws(evidence, counted, drawable, question.draws, seed, workers=1),
        question.claim,
    )
    components = [dict(component_facts(one)) for one in found.components]
    return {"repetition": number, "p_value": found.p_value, "components": components}
