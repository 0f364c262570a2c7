"""Page 5: declare and seal."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.errors import OptionError
from improvable.web import commands
from improvable.web.answers import options, row_id_options
from improvable.web.cases import Case
from improvable.web.site import site_of, to


async def show(request: Request, error: str = "", challenge: str = "") -> Response:
    """The protocol, the challenge, and the files to hand over."""
    site = site_of(request)
    case = site.case(request)
    if "question" not in case.answers:
        return to(case, "question")
    await declare(case)
    protocol = (case.home / "protocol.toml").read_text(encoding="utf-8")
    seal = case.read("seal.json")
    return site.page(
        request, "seal.html", case=case, protocol=protocol, seal=seal, error=error, challenge=challenge,
        command=seal_words(case, seal.get("challenge") or challenge or "what the other side chooses"),
        noticed=case.read("look.json"), status=400 if error else 200,
    )  # fmt: skip


async def save(request: Request) -> Response:
    """Seal the protocol with what the other side chose."""
    site = site_of(request)
    case = site.case(request)
    challenge = str((await request.form()).get("challenge", "")).strip()
    if not challenge:
        return await show(request, "The challenge is empty. Ask the other side for a text, or run without a seal.")
    await declare(case)
    sealed = await commands.run([*seal_words(case, challenge), "--json", case.path("seal.json")], case.folder.root)
    if sealed.code:
        return await show(request, sealed.refusal, challenge)
    return to(case, "seal")


async def declare(case: Case) -> None:
    """Write the protocol, unless it is written."""
    if case.has("protocol.toml"):
        return
    asked = [*options(case.answers), *row_id_options(case.answers)]
    words = ["audit", case.answers["file"], *asked, "--write-protocol", case.path("protocol.toml")]
    written = await commands.run(words, case.folder.root)
    if written.code:
        raise OptionError(written.refusal or "the protocol could not be written.")


def seal_words(case: Case, challenge: str) -> list[str]:
    """The command that seals."""
    return ["seal", case.path("protocol.toml"), "--data", case.answers["file"], "--challenge", challenge]


ROUTES = [Route("/audit/{name}/seal", show), Route("/audit/{name}/seal", save, methods=["POST"])]
