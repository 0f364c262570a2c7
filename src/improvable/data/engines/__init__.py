"""Engines: where rows live. A new one is a file here with an `ENGINE`, and its name in
`EngineName`.
"""

from importlib import import_module
from os import PathLike
from typing import get_args

from improvable.data.engines.base import Engine, Opener
from improvable.data.frame import FrameLike
from improvable.data.io.csv import UNSAID, FileFormat
from improvable.errors import OptionError, nearest
from improvable.question.settings import EngineName

ENGINES: dict[str, Opener] = {
    name: import_module(f"{__name__}.{name}").ENGINE for name in get_args(EngineName)
}

__all__ = ["ENGINES", "Engine", "as_engine"]


def as_engine(
    data: FrameLike, engine: str | None, workers: int, format_: FileFormat = UNSAID
) -> Engine:
    """The engine asked for, or the one that the data need: frames and single files are
    rows in memory.

    Data that can `fold` are an engine themselves.
    """
    if hasattr(data, "fold") and hasattr(data, "backend"):
        own: Engine = data
        return own
    home = next((name for name, opener in ENGINES.items() if opener.owns(data)), None)
    name = engine or home or "memory"
    if name not in ENGINES:
        raise OptionError(f"there is no engine '{name}'.", nearest(name, ENGINES))
    a_folder = isinstance(data, str | PathLike) and home is not None
    if home not in (None, name) and not (a_folder and ENGINES[name].reads_folders):
        raise OptionError(
            f"engine '{name}' cannot read these data, which are for '{home}'.",
            f"Use `engine={home!r}`.",
        )
    return ENGINES[name].open(
        str(data) if isinstance(data, PathLike) else data, workers, format_
    )
