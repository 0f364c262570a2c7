"""Page 7: the answer, and what to take away."""

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from improvable.errors import OptionError
from improvable.web import commands
from improvable.web.guard import REPORT_POLICY
from improvable.web.pages.run import words
from improvable.web.site import site_of, to

DOWNLOADS = {
    "report.html": ("Report", "text/html"),
    "report.pdf": ("Report, PDF", "application/pdf"),
    "report.docx": ("Report, Word", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    "result.json": ("Numbers, JSON", "application/json"),
    "protocol.toml": ("Protocol", "application/toml"),
    "protocol.seal": ("Seal", "application/json"),
}


MADE = ("report.pdf", "report.docx")
"""Made from the run when first asked for."""


async def show(request: Request) -> Response:
    """The report and its downloads."""
    site = site_of(request)
    case = site.case(request)
    if not case.finished:
        return to(case, "run")
    files = [(name, title) for name, (title, _) in DOWNLOADS.items() if case.has(name) or name in MADE]
    return site.page(
        request, "answer.html", case=case, files=files, result=case.read("result.json"), command=words(case)
    )  # fmt: skip


async def report(request: Request) -> Response:
    """The report itself, in its sandbox."""
    case = site_of(request).case(request)
    if not case.finished:
        raise HTTPException(404)
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return FileResponse(case.home / "report.html", media_type="text/html", headers=headers)


async def download(request: Request) -> Response:
    """A file to keep."""
    case, name = site_of(request).case(request), request.path_params["file"]
    if name in MADE and case.finished and not case.has(name):
        made = await commands.run(["report", case.path("run"), "--to", case.path(name)], case.folder.root)
        if made.code:
            raise OptionError(made.refusal or "the report could not be written.")
    if name not in DOWNLOADS or not case.has(name):
        raise HTTPException(404)
    return FileResponse(case.home / name, media_type=DOWNLOADS[name][1], filename=f"{case.name}-{name}")


ROUTES = [
    Route("/audit/{name}/answer", show),
    Route("/audit/{name}/report", report),
    Route("/audit/{name}/files/{file}", download),
]
