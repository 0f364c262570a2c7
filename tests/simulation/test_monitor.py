"""The monitor's level in short, looked at after every row;
`benchmarks/validity/monitor.py` is the long study.
"""

from dataclasses import replace

import numpy as np
import pytest

from improvable.inference.cells import count
from improvable.inference.components import conditions
from validity.hard import evidence_of
from validity.monitor import BETTER, NULLS, Stream, level_found
from validity.study import ALPHA

STREAMS, ROWS, ERRORS = 100, 400, 3.5


def margins(stream: Stream) -> list[float]:
    groups = len(stream.groups)
    truth = np.array([[one.before, 1.0, one.after, 1.0] for one in stream.groups])
    evidence = evidence_of(
        [count(truth, np.arange(groups), groups)], groups, given=True
    )
    return [one.margin for one in conditions(evidence, stream.claim)]


@pytest.mark.parametrize("stream", NULLS, ids=lambda stream: stream.name)
def test_the_monitor_keeps_its_level_with_a_look_after_every_row(
    stream: Stream,
) -> None:
    assert min(margins(stream)) == pytest.approx(0, abs=1e-12)
    short = replace(stream, rows=ROWS)
    shown = np.mean([level_found(short, (1, i))["shown"] for i in range(STREAMS)])
    assert shown <= ALPHA + ERRORS * (ALPHA * (1 - ALPHA) / STREAMS) ** 0.5


@pytest.mark.parametrize("stream", BETTER, ids=lambda stream: stream.name)
def test_the_monitor_shows_what_is_true(stream: Stream) -> None:
    assert min(margins(stream)) > 0
    shown = [
        level_found(replace(stream, rows=6_000), (2, i))["shown"] for i in range(10)
    ]
    assert sum(shown) >= 6
