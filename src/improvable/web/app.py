"""The local page put together and started: on this computer alone, on a free port, at an address that works once."""

import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from improvable.errors import ImprovableError, OptionError
from improvable.web import pages, pages_run
from improvable.web.files import Folder
from improvable.web.guard import Guard
from improvable.web.site import Site, site_of

STATIC = Path(__file__).parent / "static"
HOST = "127.0.0.1"


def serve(folder: Path, *, say: Callable[[str], None], port: int = 0, browser: bool = True) -> None:
    """Serve a folder until interrupted; `say` gets the address, and port 0 is any that is free."""
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
    opener = open_browser(address, Folder(folder)) if browser else None
    app = make_app(Folder(folder))
    config = uvicorn.Config(
        Guard(app, own, token), log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=3
    )
    try:
        Server(config, app.state.site).run(sockets=[listening])
    finally:
        if opener is not None:
            opener.unlink(missing_ok=True)


def open_browser(address: str, folder: Folder) -> Path:
    """Open the browser at a file of our own that leads to the address: a command line is there for all to read."""
    descriptor, name = tempfile.mkstemp(".html", "open-", folder.make_audits())  # which only its owner can read
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


def make_app(folder: Folder) -> Starlette:
    """The app that serves a folder."""
    site = Site(folder)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await site.jobs.close()

    app = Starlette(
        routes=[
            *pages.ROUTES,
            *pages_run.ROUTES,
            Route("/wrong", _wrong),
            Route("/alive", _alive),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        lifespan=lifespan,
        exception_handlers={ImprovableError: _refused, HTTPException: _missing},
    )
    app.state.site = site
    return app


def _refused(request: Request, error: Exception) -> Response:
    site = site_of(request)
    if request.method == "POST":
        return site.again("/wrong", error=str(error))
    return site.page("wrong.html", error=str(error), status=400)


async def _wrong(request: Request) -> Response:
    site = site_of(request)
    return site.page("wrong.html", error=site.kept(request).get("error", "There is nothing to say."))


def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return site_of(request).page("wrong.html", error="There is no such page.", status=status)


async def _alive(_: Request) -> Response:
    return Response(status_code=204)  # the page asks whether the server is still there
