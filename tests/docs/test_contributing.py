"""The walk of an audit in CONTRIBUTING.md is what a run does."""

import re
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import improvable

HOME = Path(improvable.__file__).parent
PAGE = (Path(__file__).parents[2] / "CONTRIBUTING.md").read_text(encoding="utf-8")


def traced() -> list[str]:
    """The modules that an audit and its summary call, in the order of their first
    call.
    """
    people = improvable.datasets.care_management(2_000, seed=0)
    seen: dict[str, None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if (
            event == "call"
            and path.startswith(str(HOME))
            and frame.f_code.co_name != "<module>"
        ):
            name = Path(path).relative_to(HOME).with_suffix("")
            seen.setdefault(str(name.parent if name.name == "__init__" else name))

    sys.setprofile(look)
    try:
        improvable.audit(
            people,
            outcome="gagne_sum_t",
            group="race",
            rule="linear",
            features=["gagne_sum_tm1", "dem_*"],
            status_quo=improvable.threshold("risk_score_t", capacity=0.1),
            n_jobs=1,
            test=improvable.Test(repetitions=1, draws=100),
        ).summary()
    finally:
        sys.setprofile(None)
    return [*seen]


def test_the_walk_is_that_of_a_run() -> None:
    drawn = re.search(
        r"## The walk of an audit.*?```text\n(.*?)```", PAGE, flags=re.DOTALL
    )
    assert drawn is not None
    names = re.findall(r"[a-z_]+/[a-z_]+", drawn[1])
    found = traced()
    assert [name for name in names if name not in found] == []
    assert sorted(names, key=found.index) == names


def test_every_package_stands_in_the_tree() -> None:
    tree = re.search(r"src/improvable/\n(.*?)```", PAGE, flags=re.DOTALL)
    assert tree is not None
    stated = re.findall(r"^  ([a-z]+)/ ", tree[1], flags=re.MULTILINE)
    assert sorted(stated) == sorted(
        path.parent.name for path in HOME.glob("*/__init__.py")
    )
