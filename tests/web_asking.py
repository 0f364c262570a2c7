"""Ask the local page without a server or a browser: one request after another,
redirects followed.

Short commands run in this process: what they print is the same, and most of the time of
a new one is imports. That they are processes of their own is tested with the browser
and in `tests/web/test_folder.py`.
"""

import asyncio
import contextlib
import html
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import Message

from improvable.algorithms.rules.own_code import REFUSED
from improvable.cli import run
from improvable.web import jobs, preview
from improvable.web.app import make_app
from improvable.web.files import Case, Folder, find_case


class Page:
    """What was answered."""

    def __init__(self, status: int, address: str, body: str) -> None:
        self.status, self.address, self.body = status, address, body

    @property
    def text(self) -> str:
        """What a person reads in the main part, without the command at its end."""
        main = self.body.partition('<main id="main">')[2].partition(
            '<section class="command"'
        )[0]
        without = re.sub(
            r"<(pre|select)\b.*?</\1>|<p[^>]* hidden>.*?</p>", " ", main, flags=re.S
        )
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", without)).split())

    @property
    def alert(self) -> str:
        """What it says in red."""
        found = re.findall(
            r'<(p|fieldset) class="wrong" role="alert">(.*?)</\1>',
            self.body,
            flags=re.S,
        )
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", one)) for _, one in found)

    @property
    def title(self) -> str:
        return self.body.partition("<title>")[2].partition("</title>")[0]


async def in_this_process(
    words: Sequence[str], folder: Path, module: str = jobs.COMMAND
) -> jobs.Finished:
    """What `jobs.run` finds, without a new process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as here,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        here.chdir(folder)
        for name, value in {"IMPROVABLE_SPELLING": "python", REFUSED: "1"}.items():
            here.setenv(name, value)
        code = (
            preview.main(words[0], json.loads(words[1]))
            if module == jobs.PREVIEW
            else run(list(words))
        )
    return jobs.Finished(code or 0, out.getvalue(), err.getvalue())


class Asker:
    """A page of a folder, and somebody who asks it."""

    def __init__(self, folder: Path) -> None:
        self.folder = Folder(folder)
        self.app = make_app(self.folder)
        self.runner = asyncio.Runner()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(jobs, "run", in_this_process)

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self.runner.run(self.app.state.site.jobs.close())
        self.runner.close()
        self.patch.undo()

    def get(self, path: str) -> Page:
        return self._ask("GET", path, b"")

    def post(self, path: str, **form: str) -> Page:
        return self._ask("POST", path, urlencode(form).encode())

    def case(self, name: str) -> Case:
        return find_case(self.folder, name)

    def columns(self, case: str, **by_name: str) -> dict[str, str]:
        """A form of the columns' page: outcome, group and algorithm by name, the rest
        as it is given.
        """
        names = [one["name"] for one in self.case(case).read("columns.json")["columns"]]
        form = {}
        for field, value in by_name.items():
            role, _, column = field.partition("__")
            if role in ("outcome", "group", "algorithm") and not column:
                form[role] = str(names.index(value))
            else:
                form[f"{role}-{names.index(column)}" if column else role] = value
        return form

    def _ask(self, method: str, path: str, body: bytes) -> Page:
        status, headers, answered = self.runner.run(self._request(method, path, body))
        place = headers.get("location", "")
        if status == 303:
            return self.get(place)
        return Page(status, path, answered.decode())

    async def _request(
        self, method: str, path: str, body: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        place, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http",
            "method": method,
            "path": place,
            "raw_path": place.encode(),
            "query_string": query.encode(),
            "headers": [
                (b"host", b"127.0.0.1"),
                (b"content-type", b"application/x-www-form-urlencoded"),
            ],
            "app": self.app,
            "server": ("127.0.0.1", 80),
            "scheme": "http",
            "http_version": "1.1",
            "root_path": "",
        }
        await self.app(scope, receive, send)
        pieces = b"".join(one.get("body", b"") for one in sent[1:])
        return (
            sent[0]["status"],
            {k.decode(): v.decode() for k, v in sent[0]["headers"]},
            pieces,
        )
