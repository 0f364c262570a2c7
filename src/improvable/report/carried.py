"""What a page carries so that it can be verified: the result as JSON, in an element
that is never run.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from improvable.data.io.safe import ReceivedError, parse_json

ELEMENT = "improvable-result"
BEGIN, END = f'<script type="application/json" id="{ELEMENT}">', "</script>"


def script_json(plain: Any) -> str:
    """JSON that can stand inside a script element: no string in it can end the element
    or begin another.
    """
    text = json.dumps(plain, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def embedded(
    facts: Mapping[str, Any],
    command: str | None = None,
    runs: str | None = None,
    data: str | None = None,
) -> str:
    """A script element, never run, with what a result says and with what the page says
    of how it was made.
    """
    return (
        f"{BEGIN}"
        f"{script_json({'result': facts, 'command': command, 'runs': runs, 'data': data})}"  # noqa: E501
        f"{END}"
    )


def read_embedded(page: str) -> dict[str, Any]:
    """What `embedded` put into a page: ``result``, ``command``, ``runs`` and ``data``.

    Raises
    ------
    ReceivedError
        Where there is none, or more than one: a reader could then be shown one and
        verify the other.
    """
    if (
        len(re.findall(rf"id\s*=\s*[\"']?{ELEMENT}", page, re.IGNORECASE)) != 1
        or page.count(BEGIN) != 1
    ):
        raise ReceivedError("does not carry one result")
    text = page.split(BEGIN, 1)[1].split(END, 1)[0]
    plain = parse_json(text.encode())
    if not isinstance(plain, dict) or set(plain) != {
        "result",
        "command",
        "runs",
        "data",
    }:
        raise ReceivedError("does not carry a result")
    if not all(
        isinstance(plain[name], str | None) for name in ("command", "runs", "data")
    ):
        raise ReceivedError("does not say in words how it was made")
    return plain
