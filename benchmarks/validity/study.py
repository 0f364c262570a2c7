"""Simulated samples, and what was found in each, kept: a study can be stopped,
continued, and given more samples.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from improvable._typing import BoolArray, FloatArray
from improvable.errors import ImprovableWarning

ALPHA = 0.05
DRAWS = 400
SAVES = 20.0
"""Seconds after which what was found is written."""


@dataclass(frozen=True)
class Rate:
    """A share of rejections with its Monte Carlo error, one standard deviation."""

    share: float
    error: float
    samples: int

    def exceeds(self, level: float, errors: float) -> bool:
        """Whether it is above a level by more than so many Monte Carlo errors."""
        error = self.error or (level * (1 - level) / self.samples) ** 0.5
        return self.share > level + errors * error


def rate_of(hits: Sequence[float] | FloatArray | BoolArray) -> Rate:
    """From the samples: rejected or not, or which share of the repetitions of an audit
    did.
    """
    values = np.asarray(hits, dtype=np.float64)
    return Rate(
        float(values.mean()), float(values.std() / len(values) ** 0.5), len(values)
    )


@contextmanager
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        yield


@dataclass(frozen=True)
class Unit:
    """One process under one truth.

    Attributes
    ----------
    name : str
        Unique; also the file in which its samples are kept.
    once : callable
        From the number of a sample to what is found: p-values, or 1 where something
        happened.
    samples : int
        How many the full study makes.
    """

    name: str
    once: Callable[[int], Mapping[str, float]]
    samples: int


@dataclass(frozen=True)
class Found:
    """What the samples of a unit hold.

    Attributes
    ----------
    samples : int
    seconds : float
        How long they took.
    values : mapping from str to list of float
        By name, one for each sample; 0 where a sample did not name it.
    """

    samples: int
    seconds: float
    values: Mapping[str, list[float]]

    def of(self, name: str) -> FloatArray:
        return np.array(self.values.get(name, [0.0] * self.samples))

    def below(self, name: str, level: float) -> Rate:
        """How often a p-value is strictly below a level."""
        return rate_of(self.of(name) < level)

    def share(self, name: str) -> Rate:
        """How often something happened, or the mean share of it."""
        return rate_of(self.of(name))

    def kinds(self, start: str) -> dict[str, float]:
        """Shares of everything whose name begins so, by the rest of the name."""
        return {
            name.removeprefix(start): float(np.mean(self.of(name)))
            for name in self.values
            if name.startswith(start)
        }


NOTHING = Found(0, 0.0, {})


def path_of(folder: Path, unit: Unit) -> Path:
    return folder / f"{unit.name.replace('/', ' ')}.json"


def found_of(folder: Path, unit: Unit) -> Found:
    """What is kept of a unit."""
    path = path_of(folder, unit)
    return Found(**json.loads(path.read_text())) if path.exists() else NOTHING


def run(folder: Path, units: Sequence[Unit], share: float, jobs: int = 1) -> None:
    """Make what is missing of a share of all samples, so many units at a time; each
    continues where it stopped.
    """
    folder.mkdir(parents=True, exist_ok=True)
    Parallel(n_jobs=jobs)(
        delayed(_complete)(folder, unit, max(2, round(share * unit.samples)))
        for unit in units
    )


def _complete(folder: Path, unit: Unit, wanted: int) -> None:
    found = found_of(folder, unit)
    while found.samples < wanted:
        found = _more(unit, found, wanted)
        path_of(folder, unit).write_text(json.dumps(found.__dict__))
    print(
        f"{unit.name}: {found.samples:,} samples, {found.seconds:.0f} s",
        file=sys.stderr,
        flush=True,
    )


def _more(unit: Unit, found: Found, wanted: int) -> Found:
    start, values, i = (
        time.perf_counter(),
        {name: [*some] for name, some in found.values.items()},
        found.samples,
    )
    with quiet():
        while i < wanted and time.perf_counter() - start < SAVES:
            one = unit.once(i)
            for name in {*one, *values}:
                values.setdefault(name, [0.0] * i).append(float(one.get(name, 0.0)))
            i += 1
    return Found(i, found.seconds + time.perf_counter() - start, values)


def repeat(once: Callable[[int], Mapping[str, float]], samples: int) -> Found:
    """So many samples, kept nowhere."""
    found, unit = NOTHING, Unit("", once, samples)
    while found.samples < samples:
        found = _more(unit, found, samples)
    return found
