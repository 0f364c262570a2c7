"""Results to standard output or files, warnings to standard error."""

import json
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from improvable import Audit, Comparison

Result = TypeVar("Result")


def quietly(work: Callable[[], Result]) -> Result:
    """Run without Python's own display of our warnings: `show` prints them once, as plain lines."""
    from improvable.errors import ImprovableWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ImprovableWarning)
        return work()


def show(result: "Audit | Comparison", json_path: str | None, exit_code: bool) -> int:
    """Print or write a result; the exit status."""
    facts = result.to_dict()
    for text in facts["warnings"]:
        typer.echo(f"warning: {text}", err=True)
    if json_path is not None:
        document = json.dumps(facts, indent=2, ensure_ascii=False)
        if json_path == "-":
            typer.echo(document)
        else:
            write_whole(Path(json_path), document + "\n")
    if json_path != "-":
        from improvable.report.text import summary

        typer.echo(summary(facts | {"warnings": []}))
    sys.stdout.flush()
    return 1 if exit_code and result.reject else 0


def write_whole(path: Path, text: str) -> None:
    """Write a file in one step, so that nobody ever sees half of it."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
