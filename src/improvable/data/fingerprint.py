"""Fingerprints of data wherever they live: the same for any engine, file kind, frame library and order of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from improvable.data.engines import Engine, as_engine
from improvable.data.engines.batches import run
from improvable.data.frames import FrameLike, Rows
from improvable.data.keys import fingerprint_of, row_digests


@dataclass(frozen=True)
class Fingerprint:
    """The fingerprint of some columns of data, computed when it is first asked for: it costs a pass."""

    engine: Engine
    columns: tuple[str, ...]

    @cached_property
    def digest(self) -> str:
        return fingerprint_of(run(self.engine, _Digesting(self.columns), self.columns, _merge_digests), self.columns)


@dataclass(frozen=True)
class _Digesting:
    columns: Sequence[str]

    def __call__(self, rows: Rows) -> NDArray[np.uint8]:
        return row_digests(rows, self.columns)


def _merge_digests(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.concatenate([one, other])


def fingerprint(data: FrameLike, columns: Sequence[str] | None = None) -> str:
    """The fingerprint of the named columns, by default all."""
    engine = as_engine(data, None, workers=1)
    return Fingerprint(engine, tuple(engine.columns if columns is None else columns)).digest
