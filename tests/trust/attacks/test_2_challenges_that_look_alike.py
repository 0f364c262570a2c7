"""Attack 2: invisible marks and look-alike letters make a thousand challenges of one,
each with other repetitions.

Grinding `docket 24-1234` with an invisible mark gave REJECTED after 62 tries.
Challenges are plain ASCII, anything else is refused and shown escaped, and texts that
look alike (O and 0, capitals, punctuation) divide the rows alike.
"""

import sys
import unicodedata

import pytest

from improvable.errors import OptionError
from improvable.question.challenge import check_challenge, sealed_seed, what_decides

AGREED = "docket 24-1234"


def test_no_character_outside_plain_ascii_passes() -> None:
    """Every character there is, among them 263 that do not show and every look-alike of
    other alphabets.
    """
    passed = []
    for code in range(sys.maxunicode + 1):
        try:
            check_challenge(f"{AGREED}{chr(code)}")
        except OptionError:
            continue
        passed.append(chr(code))
    assert passed == [chr(code) for code in range(0x21, 0x7F)]


@pytest.mark.parametrize(
    "alike",
    [
        "docket 24-1234\u200b",
        "docket 24-1234\ufe0f",
        "d\u043ecket 24-1234",
        "docket\u00a024-1234",
        "docket\u20101",
        unicodedata.normalize("NFD", "dôcket"),
        "docket 24-1234 ",
        "docket  24-1234",
        "\u202edocket",
        "docket\t1",
    ],
)
def test_what_looks_alike_is_refused_and_shown_escaped(alike: str) -> None:
    with pytest.raises(OptionError) as refused:
        check_challenge(alike)
    assert str(refused.value).isascii()
    assert ascii(alike) in str(refused.value)


@pytest.mark.parametrize(
    "alike",
    [
        "Docket 24-1234",
        "docket 24-I234",
        "docket 24-l234",
        "d0cket 24 1234",
        "DOCKET 241234",
    ],
)
def test_ascii_texts_that_look_alike_divide_the_rows_alike(alike: str) -> None:
    check_challenge(alike)
    assert what_decides(alike) == what_decides(AGREED)
    assert (
        sealed_seed("data", alike)
        == sealed_seed("data", AGREED)
        != sealed_seed("data", "docket 24-1235")
    )


def test_a_challenge_that_says_nothing_is_refused() -> None:
    with pytest.raises(OptionError, match="no letter and no digit"):
        check_challenge("--- !")
