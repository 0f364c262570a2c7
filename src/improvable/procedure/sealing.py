"""An order of rows that nobody chose: the seed of a sealed audit follows from the data and from the challenge."""

import hashlib

from improvable.errors import OptionError
from improvable.question.challenge import check_challenge, parse_source, what_decides
from improvable.question.settings import Settings


def check_sealing(settings: Settings) -> None:
    """Refuse a challenge, or a source of one, that cannot be used."""
    source = None if settings.challenge_source is None else parse_source(settings.challenge_source)
    if (settings.challenge is not None or source is not None) and settings.seed:
        raise OptionError("a sealed audit has no seed of its own.", "Omit the seed, or the challenge.")
    if settings.challenge is not None:
        check_challenge(settings.challenge)
        if source is not None and settings.challenge:
            source.check(settings.challenge)


def refuse_without_value(settings: Settings) -> None:
    """Refuse to run where the value that the protocol names was not given."""
    if settings.challenge_source is not None and not settings.challenge:
        source = parse_source(settings.challenge_source)
        raise OptionError(
            f"the order of the rows follows from {source.words}, which was not given.",
            f"Give it when you run, `challenge=...`, from {source.where}.",
        )


def sealed_seed(question_fingerprint: str, challenge: str) -> int:
    """The seed of a sealed audit: from the data that the question is about and the challenge, no more.

    Rule, features, draws, level and number of repetitions do not enter. With a row id none of them can divide the rows
    differently; without one, rows are told apart by all that is read of them, features included.
    """
    text = f"improvable seal\n{question_fingerprint}\n{what_decides(challenge)}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
