"""Page 1: choose a file."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.errors import ImprovableError
from improvable.web.cases import list_cases, open_case
from improvable.web.site import site_of, to
from improvable.web.uploads import receive


async def show(request: Request) -> Response:
    """List the data files and the audits begun."""
    site = site_of(request)
    error = site.kept(request).get("error", "")
    files = [{"name": path.name, "size": _size(path.stat().st_size)} for path in site.folder.files()]
    begun = [site.standing(case) for case in list_cases(site.folder)[:5]]
    return site.page(request, "files.html", files=files, begun=begun, error=error)


async def choose(request: Request) -> Response:
    """Begin an audit of a file in the folder."""
    site, form = site_of(request), await request.form()
    try:
        case = open_case(site.folder, str(form.get("file", "")))
    except ImprovableError as error:
        return site.again("/", error=str(error))
    return to(case, "columns")


async def upload(request: Request) -> Response:
    """Keep a file that was dropped or chosen, and begin an audit of it."""
    site = site_of(request)
    try:
        case = open_case(site.folder, await receive(request, site.folder))
    except ImprovableError as error:
        return site.again("/", error=str(error))
    return to(case, "columns")


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count / 1e3:,.1f} kB"


ROUTES = [
    Route("/", show),
    Route("/open", choose, methods=["POST"]),
    Route("/upload", upload, methods=["POST"]),
]
