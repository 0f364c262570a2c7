"""Who may ask: only our own host, our own pages, and whoever has shown the token."""

import asyncio
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from improvable.web.app import PAGE_POLICY, Guard

HOST = "127.0.0.1:8123"


class Asker:
    """Asks a guarded app, and remembers whether the app was reached."""

    def __init__(self) -> None:
        self.reached = 0
        self.guard = Guard(self._app, 8123, "the-token")

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.reached += 1
        await PlainTextResponse("inside")(scope, receive, send)

    def ask(
        self, path: str = "/", query: str = "", method: str = "GET", **headers: str
    ) -> tuple[int, dict[str, str]]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        named = {"host": HOST, **headers}
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": [
                (name.encode(), value.encode()) for name, value in named.items()
            ],
        }
        asyncio.run(self.guard(scope, receive, send))
        return sent[0]["status"], {
            name.decode(): value.decode() for name, value in sent[0]["headers"]
        }

    def enter(self) -> str:
        status, headers = self.ask("/", "token=the-token")
        assert status == 303
        return headers["set-cookie"].partition(";")[0]


def test_the_token_becomes_a_strict_cookie_once() -> None:
    asker = Asker()
    status, headers = asker.ask("/history", "token=the-token&ledger=a.csv")
    assert (status, headers["location"], asker.reached) == (
        303,
        "/history?ledger=a.csv",
        0,
    )
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert asker.ask("/", "token=the-token")[0] == 403, "an address works once"
    assert asker.ask("/", cookie=cookie.partition(";")[0])[0] == 200


def test_a_head_request_does_not_use_the_address_up() -> None:
    asker = Asker()
    assert asker.ask("/", "token=the-token", method="HEAD")[0] == 403
    assert asker.ask("/", "token=the-token")[0] == 303


@pytest.mark.parametrize("query", ["", "token=", "token=another", "token=the-tokens"])
def test_without_the_token_nothing_is_shown(query: str) -> None:
    asker = Asker()
    assert asker.ask("/", query)[0] == 403
    assert not asker.reached


def test_a_forged_cookie_is_refused() -> None:
    asker = Asker()
    name = asker.enter().partition("=")[0]
    assert asker.ask("/", cookie=f"{name}=guess")[0] == 403
    assert asker.ask("/", cookie="\x00;;=")[0] == 403


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8123",
        "127.0.0.1",
        "127.0.0.1:80",
        "[::1]:8123",
        "",
    ],
)
def test_another_host_is_refused_even_with_the_cookie(host: str) -> None:
    asker = Asker()
    cookie = asker.enter()
    assert asker.ask("/", cookie=cookie, host=host)[0] == 403
    assert not asker.reached


@pytest.mark.parametrize(
    "origin",
    [
        None,
        "null",
        "http://evil.example",
        "https://127.0.0.1:8123",
        "http://127.0.0.1:1",
    ],
)
def test_another_origin_may_change_nothing(origin: str | None) -> None:
    asker = Asker()
    headers = {"cookie": asker.enter()} | ({} if origin is None else {"origin": origin})
    assert asker.ask("/open", method="POST", **headers)[0] == 403
    assert not asker.reached
    assert (
        asker.ask("/open", method="POST", **headers | {"origin": f"http://{HOST}"})[0]
        == 200
    )


def test_every_answer_has_the_headers() -> None:
    asker = Asker()
    for _, headers in (
        asker.ask("/"),
        asker.ask("/", host="evil.example"),
        asker.ask("/", cookie=asker.enter()),
    ):
        assert headers["content-security-policy"] == PAGE_POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
