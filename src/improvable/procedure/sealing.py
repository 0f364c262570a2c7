"""Splits that nobody chose: the seed of a sealed audit follows from the data and from the other side's challenge."""

import hashlib
import unicodedata

from improvable.errors import OptionError


def check_challenge(challenge: str) -> None:
    """Refuse texts that look like another: each would divide the rows differently."""
    plain = " ".join(unicodedata.normalize("NFKC", challenge).split())
    if challenge != plain or not challenge.isprintable():
        raise OptionError(
            "the challenge has spaces or characters that do not show.", f"Write it plainly, as '{plain}'."
        )


def sealed_seed(question_fingerprint: str, challenge: str) -> int:
    """The seed of a sealed audit: from the data that the question is about and the other side's challenge, no more.

    Rule, features, draws, level and number of splits do not enter. With a row id none of them can divide the rows
    differently; without one, rows are told apart by all that is read of them, features included.
    """
    text = f"improvable seal\n{question_fingerprint}\n{challenge}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
