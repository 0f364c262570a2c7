"""Start the local page: on this computer alone, on a free port, behind an address that works once."""

import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn

from improvable.errors import OptionError
from improvable.web.app import make_app
from improvable.web.folder import Folder
from improvable.web.guard import Guard
from improvable.web.site import Site

HOST = "127.0.0.1"


def serve(folder: Path, *, say: Callable[[str], None], port: int = 0, browser: bool = True) -> None:
    """Serve a folder until interrupted.

    Parameters
    ----------
    folder : Path
        Whose files may be audited; audits are kept in it.
    say : callable
        Gets the address to print.
    port : int
        0 for any that is free.
    browser : bool
        Whether to open it.
    """
    if not folder.is_dir():
        raise OptionError(f"there is no folder '{folder}'.", "Name the folder that has your data files.")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError:
        raise OptionError(f"port {port} is taken.", "Omit --port for one that is free.") from None
    own, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://{HOST}:{own}/?token={token}"
    say(address)
    opening = _open(address, folder) if browser else None
    app = make_app(Folder(folder))
    config = uvicorn.Config(
        Guard(app, own, token), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
    )  # fmt: skip
    try:
        Server(config, app.state.site).run(sockets=[listening])
    finally:
        if opening is not None:
            opening.unlink(missing_ok=True)


def _open(address: str, folder: Path) -> Path:
    """Open the browser at a file of our own that leads to the address: a command line is there for all to read."""
    audits = Folder(folder).audits
    audits.mkdir(mode=0o700, exist_ok=True)
    descriptor, name = tempfile.mkstemp(".html", "open-", audits)  # which only its owner can read
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(f'<!DOCTYPE html><title>improvable</title><meta http-equiv="refresh" content="0;url={address}">\n')
    webbrowser.open(Path(name).as_uri())
    return Path(name)


class Server(uvicorn.Server):
    """A server that tells its pages when it is about to end, so that none of them keeps it waiting."""

    def __init__(self, config: uvicorn.Config, site: Site) -> None:
        super().__init__(config)
        self.site = site

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.site.closing = True
        super().handle_exit(sig, frame)
