"""What the verifier agreed to, beside what a result says: seal, protocol, challenge, seed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from improvable.errors import OptionError
from improvable.question.challenge import parse_source
from improvable.question.declaration import Declaration, digest_of, from_declaration
from improvable.trust.seal import Seal, of_packages, read_seal, seal_path

UNSEALED = "say --unsealed to accept that whoever ran it chose the order of the rows"


@dataclass(frozen=True)
class Check:
    """One thing that was agreed, and whether the result keeps to it; None where the verifier did not say."""

    good: bool | None
    words: str


@dataclass(frozen=True)
class Agreement:
    """What the verifier holds.

    Attributes
    ----------
    seal : Seal or None
        The verifier's own, where there is a file of it.
    digest : str or None
        Of the seal.
    protocol : Declaration or None
    challenge : str or None
        The value of the protocol's source, as the verifier looked it up.
    unsealed : bool
        Whether a result that nobody sealed is accepted.
    """

    seal: Seal | None = None
    digest: str | None = None
    protocol: Declaration | None = None
    challenge: str | None = None
    unsealed: bool = False


def agreed(
    seal: str | None, protocol: str | Path | None, declared: Declaration | None, challenge: str | None, unsealed: bool
) -> Agreement:
    """What the verifier's options amount to; a seal is a file or a digest, by default the file beside the protocol."""
    if seal is not None and unsealed:
        raise OptionError("--seal and --unsealed are both given.", "Either the result must have your seal, or none.")
    if seal is None and protocol is not None and seal_path(protocol).exists() and not unsealed:
        seal = str(seal_path(protocol))
    if seal is None:
        return Agreement(protocol=declared, challenge=challenge, unsealed=unsealed)
    if re.fullmatch(r"[0-9a-fA-F]{64}", seal):
        return Agreement(None, seal.lower(), declared, challenge)
    if not Path(seal).exists():
        raise OptionError(f"there is no seal '{seal}'.", "Name the .seal file, or give its whole digest, 64 digits.")
    mine = read_seal(seal)
    return Agreement(mine, mine.digest, declared, challenge)


def checks(mine: Agreement, facts: Mapping[str, Any], made: Seal | None) -> list[Check]:
    """Compare what was agreed with what a result says, and with the seal that follows from the data.

    Parameters
    ----------
    mine : Agreement
    facts : mapping
        What the result says.
    made : Seal or None
        From the verifier's data, the result's protocol and the rule's code; None before anything is run.
    """
    return [*_seal(mine, facts, made), *_protocol(mine, facts), *_challenge(mine, facts)]


def _seal(mine: Agreement, facts: Mapping[str, Any], made: Seal | None) -> list[Check]:
    stated = facts.get("seal")
    if mine.digest is None:
        if stated is None:
            return [Check(mine.unsealed, f"seal: the result has none{'' if mine.unsealed else f'; {UNSEALED}'}")]
        return [Check(None, f"seal {stated}: is this the one you agreed to? Give yours: --seal FILE|DIGEST")]
    if stated != mine.digest:
        return [Check(False, f"seal: you agreed to {mine.digest}, and the result has {stated or 'none'}")]
    if mine.seal is not None and (other := _not_as_sealed(mine.seal, facts)):
        return [Check(False, f"seal {mine.digest}: it does not have the result's {other}")]
    out = [Check(True, f"seal {mine.digest}, as you agreed")]
    if made is not None and made.digest != mine.digest:
        parts = [] if mine.seal is None else [n for n in vars(made) if getattr(made, n) != getattr(mine.seal, n)]
        which = f" (different: {', '.join(parts)})" if parts else ""
        out.append(Check(False, f"seal: your data and this protocol have another one, {made.digest}{which}"))
    return out


def _not_as_sealed(seal: Seal, facts: Mapping[str, Any]) -> str | None:
    """What a result that names a seal says otherwise; found without running anything."""
    said = {
        "protocol": digest_of(facts["protocol"]["declared"]),
        "data": facts.get("data_fingerprint"),
        "challenge_source": facts.get("challenge_source") or "",
        "challenge": "" if seal.challenge_source else facts.get("challenge") or "",
        "rule_source": facts.get("rule_source") or "",
        "versions": of_packages(facts.get("versions") or {}),
    }
    return next((name.replace("_", " ") for name, value in said.items() if getattr(seal, name) != value), None)


def _protocol(mine: Agreement, facts: Mapping[str, Any]) -> list[Check]:
    if mine.protocol is None:
        return []
    out = [Check(digest_of(mine.protocol) == facts["protocol"]["digest"], "protocol, as agreed")]
    if facts.get("challenge") is None:
        seed = from_declaration(mine.protocol).seed
        out.append(Check(facts.get("seed") == seed, f"seed {seed}, as agreed"))
    return out


def _challenge(mine: Agreement, facts: Mapping[str, Any]) -> list[Check]:
    named = facts.get("challenge_source")
    if mine.challenge is not None:
        same = mine.challenge == facts.get("challenge")
        return [Check(same, f"challenge {mine.challenge}" + ("" if same else f"; the result has {_shown(facts)}"))]
    if named is None:
        return []
    source = parse_source(named)
    where = f"look it up at {source.where} and give it: --challenge VALUE"
    # The best of 25 values that somebody made up is a number like any other.
    return [Check(False, f"challenge {_shown(facts)}: nobody checked that it is {source.words}; {where}")]


def _shown(facts: Mapping[str, Any]) -> str:
    return ascii(str(facts.get("challenge"))).strip("'")
