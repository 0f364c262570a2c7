"""The local page put together and started: on this computer alone, on a free port, at
an address that works once.

A page on another site can make this browser send requests here, under a name that leads
to 127.0.0.1 (rebinding) or across sites. So the Host must be ours, a request that
changes something must come from our own page, and the cookie goes nowhere else. No page
may load or send anything elsewhere.
"""

import hmac
import os
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from improvable.errors import ImprovableError, OptionError
from improvable.web import pages, pages_run
from improvable.web.files import Folder
from improvable.web.site import Site, site_of

HOST = "127.0.0.1"
PAGE_POLICY = (
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
ASK_AGAIN = (
    "Open the address that improvable serve has printed. Each address works once; "
    "start it again for a new one.\n"
)


def serve(
    folder: Path, *, say: Callable[[str], None], port: int = 0, browser: bool = True
) -> None:
    """Serve a folder until interrupted; `say` gets the address, and port 0 is any that
    is free.
    """
    if not folder.is_dir():
        raise OptionError(
            f"there is no folder '{folder}'.",
            "Name the folder that has your data files.",
        )
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()
    except OSError:
        raise OptionError(
            f"port {port} is taken.", "Omit --port for one that is free."
        ) from None
    own, token = listening.getsockname()[1], secrets.token_urlsafe(24)
    address = f"http://{HOST}:{own}/?token={token}"
    say(address)
    opener = open_browser(address, Folder(folder)) if browser else None
    app = make_app(Folder(folder))
    config = uvicorn.Config(
        Guard(app, own, token),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    server = uvicorn.Server(config)
    # so that no page keeps the server waiting
    app.state.site.is_closing = lambda: server.should_exit
    try:
        server.run(sockets=[listening])
    finally:
        if opener is not None:
            opener.unlink(missing_ok=True)


def open_browser(address: str, folder: Folder) -> Path:
    """Open the browser at a file of our own that leads to the address: everyone can
    read a command line.
    """
    # which only its owner can read
    descriptor, name = tempfile.mkstemp(".html", "open-", folder.make_audits())
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(
            '<!DOCTYPE html><title>improvable</title><meta http-equiv="refresh" '
            f'content="0;url={address}">\n'
        )
    webbrowser.open(Path(name).as_uri())
    return Path(name)


def make_app(folder: Folder) -> Starlette:
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
            Mount("/static", StaticFiles(directory=Path(__file__).parent / "static")),
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
    return site.page("wrong.html", request, error=str(error), status=400)


async def _wrong(request: Request) -> Response:
    site = site_of(request)
    return site.page(
        "wrong.html",
        request,
        error=site.kept(request).get("error", "There is nothing to say."),
    )


def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return site_of(request).page(
        "wrong.html", request, error="There is no such page.", status=status
    )


async def _alive(_: Request) -> Response:
    return Response(status_code=204)  # the page asks whether the server is still there


class Guard:
    """Checks every request before the app sees it, and sets every answer's headers.

    Only the Hosts with our port are ours. The token, which the printed address carries,
    buys a cookie once.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self.app, self.token = app, token
        self.hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self.cookie, self.secret = f"improvable-{port}", secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Content-Security-Policy", PAGE_POLICY)
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
        else:
            await (self._refusal(scope) or self._entrance(scope) or self.app)(
                scope, receive, send_with_headers
            )

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return PlainTextResponse(
                "This page answers only to its own address.\n", 403
            )
        if (
            scope["method"] not in ("GET", "HEAD")
            and headers.get("origin") != f"http://{host}"
        ):
            return PlainTextResponse(
                "This request did not come from our own page.\n", 403
            )
        return None

    def _entrance(self, scope: Scope) -> Response | None:
        try:
            cookie = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(
                self.cookie
            )
        except CookieError:
            cookie = None
        if cookie is not None and hmac.compare_digest(
            cookie.value.encode(), self.secret.encode()
        ):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        given = asked.pop("token", [""])[0]
        known = bool(self.token) and hmac.compare_digest(
            given.encode(), self.token.encode()
        )
        # a HEAD, as link checkers send, must not use the address up
        if scope["method"] != "GET" or not known:
            return PlainTextResponse(ASK_AGAIN, 403)
        self.token = ""
        rest = urlencode(asked, doseq=True)
        answer = RedirectResponse(
            f"/{scope['path'].lstrip('/')}{'?' if rest else ''}{rest}", 303
        )
        answer.set_cookie(
            self.cookie, self.secret, httponly=True, samesite="strict", path="/"
        )
        return answer
