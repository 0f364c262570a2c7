"""`improvable serve`."""

from pathlib import Path

from typer import Argument, Option

from improvable.cli.output import say
from improvable.errors import OptionError


def serve(
    folder: str = Argument(".", metavar="[FOLDER]", help="The folder that has your data files."),
    demo: bool = Option(False, "--demo", help="Put example data into the folder first, so that you can try it."),
    port: int = Option(0, help="Port on this computer.", show_default="any that is free"),
    browser: bool = Option(True, "--browser/--no-browser", help="Open the page in your browser."),
) -> int:
    """Open a page in your browser that needs no programming.

    It leads from a data file to a report. Everything stays on this computer: the page answers only to its own browser,
    and sends nothing anywhere. Audits are kept in FOLDER/improvable-audits. Close the page or stop the server whenever
    you like; a run resumes.

    Example:

    \b
      improvable serve --demo
    """
    try:
        from improvable.web.app import serve as run
    except ModuleNotFoundError as error:
        raise OptionError(
            f"'{error.name}' is missing.", "pip install 'improvable[web]' installs what the page needs."
        ) from None
    place = Path(folder)
    if demo:
        from improvable.web.files import put_example

        say(f"The example data are in {put_example(place)}.", err=True)
    try:
        run(place, say=lambda address: say(f"Open {address}\nStop with Ctrl-C."), port=port, browser=browser)
    except KeyboardInterrupt:
        say("Stopped. What is finished is kept, and a run resumes.", err=True)
    return 0
