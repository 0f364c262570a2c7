"""Page 6: run, with progress, and stop and resume."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from improvable.web.cases import Case
from improvable.web.pages.seal import declare
from improvable.web.site import TEMPLATES, Site, site_of, to

REPETITIONS = 7
EVERY = 0.5
"""Seconds between two looks at the run folder."""


async def show(request: Request) -> Response:
    """Where the run stands."""
    site = site_of(request)
    case = site.case(request)
    if not case.asked:
        return to(case, "question")
    return site.page(request, "run.html", case=case, command=words(case), **standing(site, case))


async def start(request: Request) -> Response:
    """Start or resume."""
    site = site_of(request)
    case = site.case(request)
    if case.finished:
        return to(case, "answer")
    await declare(case)
    site.jobs.add(case, "audit", words(case))
    return to(case, "run")


async def stop(request: Request) -> Response:
    """Stop; what is finished stays."""
    site = site_of(request)
    case = site.case(request)
    site.jobs.stop(case, "audit")
    return to(case, "run")


async def events(request: Request) -> Response:
    """Progress as server-sent events, each a piece of the page."""
    site = site_of(request)
    case = site.case(request)

    async def stream() -> AsyncIterator[str]:
        before = ""
        while not site.closing and not await request.is_disconnected():
            facts = standing(site, case)
            piece = TEMPLATES.get_template("progress.html").render(case=case, **facts)
            if piece != before:
                yield "event: progress\n" + "".join(f"data: {line}\n" for line in piece.splitlines()) + "\n"
                before = piece
            if facts["state"] not in ("running", "waiting"):
                yield "event: end\ndata: end\n\n"
                return
            await asyncio.sleep(EVERY)

    return StreamingResponse(stream(), media_type="text/event-stream")


def standing(site: Site, case: Case) -> dict[str, Any]:
    """How far the run is."""
    ended = case.read("audit-exit.json")
    return {
        "state": site.jobs.state(case, "audit"),
        "ahead": site.jobs.ahead(case, "audit"),
        "done": min(case.repetitions_done, REPETITIONS),
        "repetitions": REPETITIONS,
        "said": ended.get("said", ""),
    }


def words(case: Case) -> list[str]:
    """The command that runs the audit as declared."""
    return [
        "audit", case.path("protocol.toml"), "--data", case.answers["file"], "--out", case.path("run"),
        "--report", case.path("report.html"), "--json", case.path("result.json"),
    ]  # fmt: skip


ROUTES = [
    Route("/audit/{name}/run", show),
    Route("/audit/{name}/run", start, methods=["POST"]),
    Route("/audit/{name}/stop", stop, methods=["POST"]),
    Route("/audit/{name}/events", events),
]
