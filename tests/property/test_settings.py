"""Whatever settings say in names and numbers survives a protocol, and obeys its
schema.
"""

import importlib
import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from docs.generate.settings import protocol_schema
from improvable.question import options as checks
from improvable.question.options import SAME_SHARE, Setting
from improvable.question.protocol import (
    asked_identity,
    declare,
    digest_of,
    from_declaration,
)
from improvable.question.settings import SETTINGS, Settings

SCHEMA = protocol_schema()
NAME = st.text("abc_é", min_size=1, max_size=4)
NUMBER = st.floats(0.01, 0.99)
VALUES: dict[checks.Kind, st.SearchStrategy[Any]] = {
    checks.TEXT: NAME,
    checks.TEXTS: NAME | st.lists(NAME, min_size=1, max_size=3, unique=True),
    checks.POSITIVE: NAME
    | st.lists(NAME, min_size=1, max_size=2, unique=True)
    | st.dictionaries(NAME, NAME, min_size=1),
    checks.NUMBER: NUMBER,
    checks.RANGE: st.tuples(st.floats(-9, -1), st.floats(1, 9)).map(list),
    checks.CAPACITY: NUMBER | st.just(SAME_SHARE),
    checks.WHOLE: st.integers(0, 1_000),
    checks.FLAG: st.booleans(),
    checks.SIGNS: st.dictionaries(NAME, st.sampled_from(["+", "-"]), max_size=2),
    checks.LABELS: st.dictionaries(NAME, NAME, min_size=1, max_size=2),
    checks.COLUMNS_OF: st.dictionaries(NAME, NAME, min_size=1, max_size=2),
    checks.SHARES: st.dictionaries(NAME, NUMBER, min_size=1, max_size=3),
    checks.DELTA: NUMBER | st.dictionaries(NAME, NUMBER, min_size=1, max_size=3),
    checks.WEIGHTS: st.just(checks.POPULATION)
    | st.dictionaries(NAME, NUMBER, min_size=1, max_size=3),
}
ALGORITHM = st.one_of(
    NAME,
    st.fixed_dictionaries({"decision": NAME}),
    st.fixed_dictionaries({"score": NAME, "capacity": NUMBER}),
    st.fixed_dictionaries({"score": NAME, "above": NUMBER}),
)


def values_of(setting: Setting) -> st.SearchStrategy[Any]:
    if setting.name == "status_quo":
        return ALGORITHM
    return st.sampled_from(setting.choices) if setting.choices else VALUES[setting.kind]


DECLARED = {
    name: values_of(setting)
    for name, setting in SETTINGS.items()
    if setting.in_protocol
}
NEEDED = {
    name: values
    for name, values in DECLARED.items()
    if SETTINGS[name].required or name == "group"
}
ASKED = st.fixed_dictionaries(
    NEEDED, optional={name: DECLARED[name] for name in DECLARED if name not in NEEDED}
)


@given(ASKED)
@settings(max_examples=300, deadline=None)
def test_settings_survive_a_protocol_and_obey_its_schema(asked: dict[str, Any]) -> None:
    chosen = Settings(**asked)
    declared = declare(chosen)
    assert declared is not None
    back = from_declaration(declared)
    assert declare(back) == declared
    assert digest_of(json.loads(json.dumps(declared))) == digest_of(declared)
    assert asked_identity(back) == asked_identity(chosen), (
        "the same run, declared or not"
    )
    importlib.import_module("jsonschema").Draft202012Validator(SCHEMA).validate(
        declared
    )
