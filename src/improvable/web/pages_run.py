"""Pages that run something: are there enough rows, declare and seal, run, and the
answer.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse

from improvable.errors import OptionError
from improvable.results.wording import answer_words, at_most_words
from improvable.web import jobs
from improvable.web.answers import REPETITIONS, audit_options, options
from improvable.web.files import Case
from improvable.web.pages import preview
from improvable.web.sentences import lacking_words, told
from improvable.web.site import TEMPLATES, Site, address, at, fields_of, to

FITS = "10"
EMPTY = (
    "The text that the other side chooses is empty. Ask them for one, or run without a "
    "seal."
)
EVERY = 0.5  # seconds between two looks at the run folder
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; font-src data:; frame-ancestors 'self'; base-uri 'none'; "
    "form-action 'none'; sandbox"
)
"""A report stands in a sandbox: without scripts, our cookie, and any network."""
DOWNLOADS = {
    "report.html": ("Report", "text/html"),
    "report.pdf": ("Report, PDF", "application/pdf"),
    "report.docx": (
        "Report, Word",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ),
    "result.json": ("Numbers, JSON", "application/json"),
    "protocol.toml": ("Protocol", "application/toml"),
    "protocol.seal": ("Seal", "application/json"),
}
MADE = ("report.pdf", "report.docx")
"""Made from the run when first asked for."""

# Page 4: are there enough rows? ----


async def show_power(site: Site, case: Case, request: Request) -> Response:
    if not case.asked:
        return to(case, "question")
    return site.page(
        "power.html",
        request,
        case,
        state=site.jobs.state(case, "power"),
        plan=case.read("power.json"),
        ended=case.read("power-exit.json"),
        command=_power_words(case),
        noticed=case.read("look.json"),
    )


async def start_power(site: Site, case: Case, _: Request) -> Response:
    site.jobs.add(
        case, "power", [*_power_words(case), "--json", case.path("power.json")]
    )
    return to(case, "power")


async def draw_power(_: Site, case: Case, __: Request) -> Response:
    return FileResponse(case.home / "power.svg", media_type="image/svg+xml")


def _power_words(case: Case) -> list[str]:
    return [
        "power",
        case.answers["file"],
        *options(case.answers),
        "--fits",
        FITS,
        "--plot",
        case.path("power.svg"),
    ]


# Page 5: declare and seal. ----


async def show_seal(site: Site, case: Case, request: Request) -> Response:
    """The audit in sentences, the protocol, the challenge, and the files to hand
    over.
    """
    if not case.asked:
        return to(case, "question")
    await declare(case)
    answers, found, seal = case.answers, await preview(case), case.read("seal.json")
    challenge, counts = (
        site.kept(request).get("challenge", ""),
        answers.get("counts", {}),
    )
    lacks = answers.get("reading", {}).get("drop") and counts.get("left_out")
    return site.page(
        "seal.html",
        request,
        case,
        protocol=(case.home / "protocol.toml").read_text(encoding="utf-8"),
        seal=seal,
        challenge=challenge,
        noticed=case.read("look.json"),
        answers=answers,
        rows=found.get("rows", 0),
        lacking=lacking_words(counts) if lacks else "",
        **told(answers, found),
        command=_seal_words(
            case, seal.get("challenge") or challenge or "what the other side chooses"
        ),
    )


async def save_seal(site: Site, case: Case, request: Request) -> Response:
    """Seal the protocol with what the other side chose."""
    challenge = (await fields_of(request)).get("challenge", "").strip()
    if not challenge:
        return site.again(address(case, "seal"), error=EMPTY)
    await declare(case)
    sealed = await jobs.run(
        [*_seal_words(case, challenge), "--json", case.path("seal.json")],
        case.folder.root,
    )
    if sealed.code:
        return site.again(
            address(case, "seal"), error=sealed.refusal, challenge=challenge
        )
    return to(case, "seal")


async def declare(case: Case) -> None:
    """Write the protocol, unless it is written."""
    if not case.asked:
        raise OptionError("the audit has no question yet.", "Answer the pages before.")
    if not case.has("protocol.toml"):
        words = [
            "init",
            case.path("protocol.toml"),
            "--data",
            case.answers["file"],
            *audit_options(case.answers),
        ]
        told = "the protocol could not be written."
        await jobs.output(words, case.folder.root, told)


def _seal_words(case: Case, challenge: str) -> list[str]:
    return [
        "seal",
        case.path("protocol.toml"),
        "--data",
        case.answers["file"],
        "--challenge",
        challenge,
    ]


# Page 6: run, with progress, and stop and resume. ----


async def show_run(site: Site, case: Case, request: Request) -> Response:
    if not case.asked:
        return to(case, "question")
    return site.page(
        "run.html", request, case, command=_run_words(case), **_progress(site, case)
    )


async def start_run(site: Site, case: Case, _: Request) -> Response:
    if case.finished:
        return to(case, "answer")
    await declare(case)
    site.jobs.add(case, "audit", _run_words(case))
    return to(case, "run")


async def stop_run(site: Site, case: Case, _: Request) -> Response:
    site.jobs.stop(case, "audit")
    return to(case, "run")


async def stream_run(site: Site, case: Case, request: Request) -> Response:
    """Progress as server-sent events, each a piece of the page."""

    async def stream() -> AsyncIterator[str]:
        before = ""
        while not site.is_closing() and not await request.is_disconnected():
            facts = _progress(site, case)
            piece = TEMPLATES.get_template("progress.html").render(case=case, **facts)
            if piece != before:
                yield (
                    "event: progress\n"
                    + "".join(f"data: {line}\n" for line in piece.splitlines())
                    + "\n"
                )
                before = piece
            if facts["state"] not in ("running", "waiting"):
                yield "event: end\ndata: end\n\n"
                return
            await asyncio.sleep(EVERY)

    return StreamingResponse(stream(), media_type="text/event-stream")


def _progress(site: Site, case: Case) -> dict[str, Any]:
    return {
        "state": site.jobs.state(case, "audit"),
        "ahead": site.jobs.ahead(case, "audit"),
        "done": min(
            len(list((case.home / "run").glob("repetition-*.npz"))), REPETITIONS
        ),
        "repetitions": REPETITIONS,
        "said": case.read("audit-exit.json").get("said", ""),
    }


def _run_words(case: Case) -> list[str]:
    return [
        "audit",
        case.path("protocol.toml"),
        "--data",
        case.answers["file"],
        "--out",
        case.path("run"),
        "--report",
        case.path("report.html"),
        "--json",
        case.path("result.json"),
    ]


# Page 7: the answer, and what to take away. ----


async def show_answer(site: Site, case: Case, request: Request) -> Response:
    if not case.finished:
        return to(case, "run")
    files = [
        (name, title)
        for name, (title, _) in DOWNLOADS.items()
        if case.has(name) or name in MADE
    ]
    result: Any = case.read("result.json")
    return site.page(
        "answer.html",
        request,
        case,
        files=files,
        result=result,
        command=_run_words(case),
        word=answer_words(result),
        ruled_out=at_most_words(result),
    )


async def show_report(_: Site, case: Case, __: Request) -> Response:
    """The report itself, in its sandbox."""
    if not case.finished:
        raise HTTPException(404)
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return FileResponse(
        case.home / "report.html", media_type="text/html", headers=headers
    )


async def download(_: Site, case: Case, request: Request) -> Response:
    name = request.path_params["file"]
    if name in MADE and case.finished and not case.has(name):
        words = ["report", case.path("run"), "--to", case.path(name)]
        await jobs.output(words, case.folder.root, "the report could not be written.")
    if name not in DOWNLOADS or not case.has(name):
        raise HTTPException(404)
    return FileResponse(
        case.home / name, media_type=DOWNLOADS[name][1], filename=f"{case.name}-{name}"
    )


ROUTES = [
    at("power", show_power),
    at("power", start_power, "POST"),
    at("power.svg", draw_power),
    at("seal", show_seal),
    at("seal", save_seal, "POST"),
    at("run", show_run),
    at("run", start_run, "POST"),
    at("stop", stop_run, "POST"),
    at("events", stream_run),
    at("answer", show_answer),
    at("report", show_report),
    at("files/{file}", download),
]
