"""The local page put together: its parts, and what it says when something is wrong."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from improvable.errors import ImprovableError
from improvable.web.folder import Folder
from improvable.web.pages import ROUTES
from improvable.web.site import Site

STATIC = Path(__file__).parent / "static"


def make_app(folder: Folder) -> Starlette:
    """The app that serves a folder."""
    site = Site(folder)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await site.jobs.close()

    app = Starlette(
        routes=[
            *ROUTES,
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
    if request.method == "POST":
        return _site(request).again("/wrong", error=str(error))
    return _site(request).page(request, "wrong.html", error=str(error), status=400)


async def _wrong(request: Request) -> Response:
    site = _site(request)
    return site.page(request, "wrong.html", error=site.kept(request).get("error", "There is nothing to say."))


async def _alive(_: Request) -> Response:
    """Tell the page that the server is there."""
    return Response(status_code=204)


def _missing(request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 404
    return _site(request).page(request, "wrong.html", error="There is no such page.", status=status)


def _site(request: Request) -> Site:
    found: Site = request.app.state.site
    return found
