"""Who may ask: this computer's own browser, once it has shown the token of the printed address.

A page on another site may make this browser send requests here, under a name that leads to 127.0.0.1 (rebinding) or
across sites. So the Host must be ours, a request that changes something must come from our own page, and the cookie
goes nowhere else. No page may load or send anything elsewhere.
"""

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'"
REPORT_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "frame-ancestors 'self'; base-uri 'none'; form-action 'none'; sandbox allow-scripts"
)
"""A report's own scripts are inline. It runs in a sandbox: without our cookie, and without any network."""
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
SAFE = ("GET", "HEAD")
ASK_AGAIN = (
    "Open the address that improvable serve has printed. Each address works once; start it again for a new one.\n"
)


class Guard:
    """Checks every request before the app sees it, and sets every answer's headers.

    The port is a part of the only Hosts that are ours. The token, which the printed address carries, is traded for a
    cookie once.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self.app, self.token = app, token
        self.hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self.cookie, self.secret = f"improvable-{port}", secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = self._refusal(scope) or self._entrance(scope)
        await (answer or self.app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in self.hosts:
            return PlainTextResponse("This page answers only to its own address.\n", 403)
        if scope["method"] not in SAFE and headers.get("origin") != f"http://{host}":
            return PlainTextResponse("This request did not come from our own page.\n", 403)
        return None

    def _entrance(self, scope: Scope) -> Response | None:
        try:
            cookie = SimpleCookie(Headers(scope=scope).get("cookie", "")).get(self.cookie)
        except CookieError:
            cookie = None
        if cookie is not None and hmac.compare_digest(cookie.value.encode(), self.secret.encode()):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        given = asked.pop("token", [""])[0]
        known = bool(self.token) and hmac.compare_digest(given.encode(), self.token.encode())
        if scope["method"] != "GET" or not known:  # a HEAD, as link checkers send, must not use the address up
            return PlainTextResponse(ASK_AGAIN, 403)
        self.token = ""
        rest = urlencode(asked, doseq=True)
        answer = RedirectResponse(f"/{scope['path'].lstrip('/')}{'?' if rest else ''}{rest}", 303)
        answer.set_cookie(self.cookie, self.secret, httponly=True, samesite="strict", path="/")
        return answer


def _with_headers(send: Send) -> Any:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Content-Security-Policy", PAGE_POLICY)
        await send(message)

    return sending
