"""Where a result comes from: seed or seal, data, versions, command."""

from improvable.results.facts import Facts
from improvable.results.versions import versions
from improvable.results.words import seal_words


def provenance(facts: Facts, command: str | None = None, runs: str | None = None) -> list[tuple[str, str]]:
    """Names and words, in the order they are printed."""
    out = [("Seal", seal_words(facts))]
    if facts["seal"] is not None:
        out.append(("Digest of the seal", facts["seal"]))
    if facts["data_fingerprint"] is not None:
        out.append(("Fingerprint of the data", facts["data_fingerprint"]))
    protocol = facts.get("protocol")
    if protocol is not None:
        out.append(("Digest of the protocol", protocol["digest"]))
    if facts.get("rule_source") is not None:
        out.append(("Digest of the rule's code", str(facts["rule_source"])))
    if runs:
        out.append(("Ledger", runs))
    made_with = facts.get("versions") or versions()
    out.append(("Versions", ", ".join(f"{name} {number}" for name, number in made_with.items())))
    return [*out, ("Command", command)] if command else out
