"""The command line: a thin layer over the library.

Exit status: 0 it ran, whatever the verdict (with --exit-code, 1 for a rejection; with
--against, 1 for a change); 2 bad input or usage, with one line on standard error.
"""

import sys
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from improvable._text import shown
from improvable.cli.options import add_command
from improvable.cli.output import say, spelled
from improvable.errors import ImprovableError, OptionError

COMMANDS = {
    "demo": "start",
    "check": "audit",
    "audit": "audit",
    "compare": "compare",
    "frontier": "finished",
    "report": "finished",
    "monitor": "finished",
    "power": "power",
    "init": "init",
    "seal": "record",
    "verify": "verify",
    "ledger": "record",
    "bundle": "verify",
    "game": "game",
    "serve": "start",
}
"""Each is the function of that name in a module, in the order that --help lists
them.
"""
INTERRUPTED = 130

app = typer.Typer(
    name="improvable",
    help="Can this algorithm be made fairer without making it less accurate?",
    epilog=(
        "Start with: improvable demo. Every command shows a worked example with --help."
    ),
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for name, module in COMMANDS.items():
    add_command(app, getattr(import_module(f"improvable.cli.{module}"), name))


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        say(f"improvable {version('improvable')}")
        raise typer.Exit()


@app.callback()
def program(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version.",
    ),
) -> None:
    pass


def _usage(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """What is wrong with the usage, in one line."""
    option = str(getattr(error, "option_name", ""))
    message = shown(" ".join(error.format_message().split()))
    for name in arguments:
        if (
            name.startswith("-")
            and option
            and name.startswith(option)
            and Path(name).exists()
        ):
            return (
                f"{message.rstrip('.')}. To name the file '{shown(name)}', write "
                f"'./{shown(name)}'."
            )
    return f"{message}{'' if message.endswith(('.', '?')) else '.'} Try --help."


@cache
def built() -> Callable[..., Any]:
    """The program, made once from the signatures of all commands, which takes longer
    than many a command.
    """
    return typer.main.get_command(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; what goes wrong is one line on standard error and exit
    status 2.
    """
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command; its exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        for word in words:
            # Bytes that are not UTF-8 arrive as half characters, which no text file can
            # hold.
            if any("\ud800" <= character <= "\udfff" for character in word):
                raise OptionError(
                    f"the argument '{word}' is not UTF-8 text.",
                    "Rename the file or the column.",
                )
        status = int(built()(args=arguments, standalone_mode=False) or 0)
        if status == INTERRUPTED:  # which is what typer makes of Ctrl-C
            raise KeyboardInterrupt
        return status
    except ImprovableError as error:
        message = spelled(error)
    except typer.TyperException as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            say(error.format_message())
            return 2
        message = _usage(error, words)
    except OSError as error:
        message = f"cannot write: {shown(str(error))}"
    except RecursionError:
        message = "a file is nested too deeply to be one of ours."
    except MemoryError:
        message = (
            "not enough memory. Use fewer draws or rows, or an engine: --engine arrow."
        )
    except (KeyboardInterrupt, typer.Abort):
        kept = " Nothing was kept; --out FOLDER keeps finished repetitions."
        if "--out" in words:
            kept = (
                " Finished repetitions are kept; run the same command again to resume."
            )
        say(f"improvable: interrupted.{kept if 'audit' in words[:1] else ''}", err=True)
        return INTERRUPTED
    say(f"improvable: {message}", err=True)
    return 2
