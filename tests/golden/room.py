"""Where golden results are made: an order of rows, workers, a clock that stands."""

import contextlib
import io
import os
import shlex
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import polars as pl

from improvable.cli import run
from improvable.results import storage
from improvable.trust import ledger, seal

NOON = datetime(2026, 11, 2, 12, tzinfo=UTC)
WIDTH = "100"


def keep_frame(frame: pl.DataFrame) -> pl.DataFrame:
    return frame


@dataclass(frozen=True)
class Room:
    """How a result is made, none of which may change it."""

    order: int | None = None
    """Seed of the order of rows; None leaves them as they are."""
    workers: int = 1
    convert: Callable[[pl.DataFrame], Any] = keep_frame
    """Rows in another library or file, or on an engine."""

    def arrange(self, frame: pl.DataFrame) -> Any:
        if self.order is not None:
            frame = frame.sample(fraction=1.0, shuffle=True, seed=self.order)
        return self.convert(frame)


@contextlib.contextmanager
def steady_surroundings() -> Iterator[None]:
    """An empty folder, a clock that stands still, and versions that never change."""
    installed = dict.fromkeys(storage.versions(), "1.0")
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mock.patch.dict(os.environ, {"COLUMNS": WIDTH}),
        mock.patch.object(ledger, "now", return_value=NOON),
        mock.patch.object(seal, "now", return_value=NOON),
        mock.patch.object(storage, "_installed", return_value=installed),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


@dataclass(frozen=True)
class CommandRun:
    """What a command came to."""

    line: str
    status: int
    output: str
    errors: str


def run_command(line: str) -> CommandRun:
    """Run a line of the command line in this process and in the current folder."""
    words = shlex.split(line)
    output = io.StringIO()
    errors = io.StringIO()
    with (
        mock.patch.object(sys, "argv", words),  # the ledger keeps it
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        status = run(words[1:])
    return CommandRun(line, status, output.getvalue(), errors.getvalue())
