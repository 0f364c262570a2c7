"""Messages on the page name controls that the page has, and never an option of the
command line.
"""

import re
from pathlib import Path

import pytest

from improvable.question.settings import KNOWN, SETTINGS
from improvable.web import answers
from improvable.web.sentences import CONTROLS, OFFERED_VALUES, sentence, spoken

HOME = Path(answers.__file__).parent
ON_THE_PAGES = " ".join(
    path.read_text() for path in (*HOME.glob("templates/*.html"), HOME / "pages.py")
) + " ".join(
    [*answers.OTHERS.values(), *(words[0] for words in answers.PROCEDURES.values())]
)


@pytest.mark.parametrize(
    "name",
    [
        *CONTROLS,
        *(
            f"{name}={value}"
            for name in OFFERED_VALUES
            for value in OFFERED_VALUES[name]
        ),
    ],
)
def test_every_control_is_on_a_page(name: str) -> None:
    setting, _, value = name.partition("=")
    assert (
        OFFERED_VALUES[setting][value] if value else CONTROLS[setting]
    ) in ON_THE_PAGES
    assert setting in KNOWN


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "Drop those rows: `drop_missing=True`.",
            "Drop those rows: “Leave out rows that lack a value”.",
        ),
        ("Read them as one: `strip=True`.", "Read them as one: “They are one value”."),
        (
            "Read it as missing: `na=['n/a']`.",
            "Read it as missing: “Values that mean missing”: n/a.",
        ),
        ("Use `scheme='split'`.", "Use “As in the paper”."),
        (
            "If they are copies, `duplicates='cluster'`.",
            "If they are copies, “copies”.",
        ),
        ("Say `positive={'default': 'no'}`.", "Say default = no."),
        (
            "Is each known? If not: `exclude=['late', 'paid']`.",
            "Is each known? If not: “leave it out” for late, paid.",
        ),
        ("To change it: --separator.", "To change it: “Separator”."),
        (
            "Raise `train_rows=5`.",
            "Raise train rows, which only the command line offers.",
        ),
        (
            "Is this yours? Give it: --seal FILE|DIGEST",
            "Is this yours? Give it: “The seal that you agreed to”",
        ),
        (
            "Say --unsealed to accept it",
            "Say “unsealed” on the command line to accept it",
        ),
        ("a well-known case -- so it seems", "a well-known case -- so it seems"),
    ],
)
def test_a_message_names_a_control(text: str, said: str) -> None:
    assert spoken(text) == said


def test_no_setting_is_named_as_an_option() -> None:
    for name, setting in SETTINGS.items():
        for text in (
            f"Say `{name}`.",
            f"Say `{name}=...`.",
            f"Say {setting.flag}.",
            f"Say {setting.flag} x.",
        ):
            assert not re.search(r"--[a-z]|`|_", spoken(text)), text


def test_a_message_is_a_sentence() -> None:
    assert sentence("`strip` is vain.") == "“They are one value” is vain."
    assert (
        sentence("no column has the groups. `strip=True`")
        == "No column has the groups. “They are one value”"
    )
