"""Page 4: are there enough rows?"""

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from improvable.web.answers import options
from improvable.web.cases import Case
from improvable.web.site import site_of, to

FITS = "10"


async def show(request: Request) -> Response:
    """The plan, or the offer to make one."""
    site = site_of(request)
    case = site.case(request)
    if not case.asked:
        return to(case, "question")
    return site.page(
        request, "power.html", case=case, state=site.jobs.state(case, "power"), plan=case.read("power.json"),
        ended=case.read("power-exit.json"), command=_words(case), noticed=case.read("look.json"),
    )  # fmt: skip


async def start(request: Request) -> Response:
    """Make the plan."""
    site = site_of(request)
    case = site.case(request)
    site.jobs.add(case, "power", [*_words(case), "--json", case.path("power.json")])
    return to(case, "power")


async def picture(request: Request) -> Response:
    """Its picture."""
    return FileResponse(site_of(request).case(request).home / "power.svg", media_type="image/svg+xml")


def _words(case: Case) -> list[str]:
    return ["power", case.answers["file"], *options(case.answers), "--fits", FITS, "--plot", case.path("power.svg")]


ROUTES = [
    Route("/audit/{name}/power", show),
    Route("/audit/{name}/power", start, methods=["POST"]),
    Route("/audit/{name}/power.svg", picture),
]
