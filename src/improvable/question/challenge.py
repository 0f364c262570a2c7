"""Challenges: the string that decides the order of rows in a sealed audit, and where it
comes from.

Two challenges that look alike must divide the rows alike, or whoever types one can try
a thousand until the result suits. So a challenge is printable ASCII without stray
spaces, and only its letters and digits decide, in one case, with those that look alike
(O and 0; I, l and 1) taken as the same. A protocol may name a public value that nobody
knows yet as its source, a round of drand or the closing figure of an index: it is
sealed before, and gets the value when it runs.
"""

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from improvable.errors import OptionError
from improvable.question.settings import Settings

ALIKE = str.maketrans({"o": "0", "i": "1", "l": "1"})
DRAND, CLOSE = "drand", "close"
# The chain 'quicknet' of drand's main network (docs.drand.love), its first round, and
# how far apart rounds are.
CHAIN = "52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971"
GENESIS, PERIOD = datetime.fromtimestamp(1_692_803_367, UTC), timedelta(seconds=3)
LAST_ROUND = 10**10
SATURDAY = 5
EXAMPLES = (
    "Write drand:ROUND, a round of drand's chain quicknet, or close:INDEX:YYYY-MM-DD, "
    "a closing figure."
)


def check_challenge(challenge: str) -> None:
    """Refuse a string that looks like another one, or says nothing."""
    plain = " ".join(challenge.split())
    if challenge != plain or not all(
        " " <= character <= "~" for character in challenge
    ):
        raise OptionError(
            (
                f"the challenge {challenge!a} has spaces or characters that do not "
                "show, or that look like others."
            ),
            (
                "Write it in plain ASCII letters, digits and punctuation, with single "
                "spaces."
            ),
        )
    if challenge and not what_decides(challenge):
        raise OptionError(
            f"the challenge '{challenge}' has no letter and no digit.",
            "Nothing would follow from it.",
        )


def what_decides(challenge: str) -> str:
    """The part of a challenge that decides the order of rows, the same for all strings
    that look alike.
    """
    return re.sub(r"[^a-z0-9]", "", challenge.lower()).translate(ALIKE)


@dataclass(frozen=True)
class Source:
    """A public value that a protocol names before anyone knows it."""

    kind: str  # "drand" or "close"
    name: str  # the round, or the index
    # before this moment nobody can know it: when the round is due, or when the day
    # begins (UTC)
    due: datetime

    @property
    def words(self) -> str:
        if self.kind == DRAND:
            due = f"{self.due:%Y-%m-%d %H:%M:%S} UTC"
            return (
                f"the randomness of drand's round {int(self.name):,} (quicknet), due "
                f"{due}"
            )
        return f"the closing figure of {self.name} on {self.due:%Y-%m-%d}"

    @property
    def where(self) -> str:
        """Where anyone can look it up."""
        if self.kind == DRAND:
            return f"https://api.drand.sh/{CHAIN}/public/{self.name} (its 'randomness')"
        return "the exchange that publishes it"

    def check(self, value: str) -> None:
        """Refuse a value that is not written in the only way in which it can be."""
        if self.kind == DRAND and not re.fullmatch(r"[0-9a-f]{64}", value):
            raise OptionError(
                f"the challenge '{value}' is not the randomness of a round of drand.",
                f"It has 64 digits 0-9 and a-f; see {self.where}.",
            )
        if self.kind == CLOSE and (plain := plain_figure(value)) != value:
            right = f"'{plain}'" if plain else "digits and a decimal point"
            raise OptionError(
                (
                    f"the challenge '{value}' is not a closing figure as it must be "
                    "written."
                ),
                f"Write it as {right}: no thousands separator, no trailing zero.",
            )


def plain_figure(text: str) -> str | None:
    """A figure in the only way in which it is written; None where it is not one.

    >>> plain_figure("6,812.30")
    '6812.3'
    """
    try:
        number = Decimal(text.replace(",", ""))
    except InvalidOperation:
        return None
    if not number.is_finite() or number <= 0 or abs(number.adjusted()) > 20:
        return None
    plain = f"{number:f}"
    return plain.rstrip("0").rstrip(".") if "." in plain else plain


def parse_source(text: str) -> Source:
    """The source that a protocol names.

    >>> parse_source("drand:27946612").due.isoformat()
    '2026-04-20T00:00:00+00:00'
    >>> parse_source("close:S&P 500:2026-12-01").words
    'the closing figure of S&P 500 on 2026-12-01'
    >>> parse_source("close:S&P 500:2026-12-05")
    Traceback (most recent call last):
    improvable.errors.OptionError: 2026-12-05 is a Saturday: exchanges are closed. Name a day from Monday to Friday.
    """  # noqa: E501
    check_challenge(text)
    kind, _, rest = text.partition(":")
    if kind == DRAND and re.fullmatch(r"[1-9][0-9]*", rest) and int(rest) < LAST_ROUND:
        return Source(DRAND, rest, GENESIS + (int(rest) - 1) * PERIOD)
    name, _, day = rest.rpartition(":")
    if kind == CLOSE and name.strip() and re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        try:
            due = datetime.fromisoformat(day).replace(tzinfo=UTC)
        except ValueError:
            raise OptionError(
                f"the challenge's source '{text}' does not name a day.", EXAMPLES
            ) from None
        # with no figure of its own, whoever runs it picks Friday's or Monday's
        if due.weekday() >= SATURDAY:
            raise OptionError(
                f"{day} is a {due:%A}: exchanges are closed.",
                "Name a day from Monday to Friday.",
            )
        return Source(CLOSE, name, due)
    raise OptionError(f"the challenge's source '{text}' is unknown.", EXAMPLES)


def check_sealing(settings: Settings) -> None:
    """Refuse a challenge, or a source of one, that cannot be used."""
    source = (
        None
        if settings.challenge_source is None
        else parse_source(settings.challenge_source)
    )
    if (settings.challenge is not None or source is not None) and settings.seed:
        raise OptionError(
            "a sealed audit has no seed of its own.", "Omit the seed, or the challenge."
        )
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
    """The seed of a sealed audit: from the data that the question is about and the
    challenge, no more.

    Rule, features, draws, level and number of repetitions do not enter. With a row id
    none of them can divide the rows differently; without one, rows are told apart by
    all that is read of them, features included.
    """
    text = f"improvable seal\n{question_fingerprint}\n{what_decides(challenge)}"
    return (
        int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
        >> 1
    )
