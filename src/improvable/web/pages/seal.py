"""Page 5: declare and seal."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.errors import OptionError
from improvable.web import commands
from improvable.web.answers import audit_options
from improvable.web.cases import Case
from improvable.web.pages.columns import preview
from improvable.web.sentences import declared
from improvable.web.site import site_of, to

EMPTY = "The text that the other side chooses is empty. Ask them for one, or run without a seal."


async def show(request: Request) -> Response:
    """The audit in sentences, the protocol, the challenge, and the files to hand over."""
    site = site_of(request)
    case = site.case(request)
    if not case.asked:
        return to(case, "question")
    await declare(case)
    kept, noticed = site.kept(request), case.read("look.json")
    challenge = kept.get("challenge", "")
    protocol = (case.home / "protocol.toml").read_text(encoding="utf-8")
    seal = case.read("seal.json")
    return site.page(
        request, "seal.html", case=case, protocol=protocol, seal=seal, error=kept.get("error", ""),
        challenge=challenge, declared=declared(case.answers, await preview(case), noticed),
        command=seal_words(case, seal.get("challenge") or challenge or "what the other side chooses"),
        noticed=noticed,
    )  # fmt: skip


async def save(request: Request) -> Response:
    """Seal the protocol with what the other side chose."""
    site = site_of(request)
    case = site.case(request)
    challenge = str((await request.form()).get("challenge", "")).strip()
    if not challenge:
        return site.again(f"/audit/{case.name}/seal", error=EMPTY)
    await declare(case)
    sealed = await commands.run([*seal_words(case, challenge), "--json", case.path("seal.json")], case.folder.root)
    if sealed.code:
        return site.again(f"/audit/{case.name}/seal", error=sealed.refusal, challenge=challenge)
    return to(case, "seal")


async def declare(case: Case) -> None:
    """Write the protocol, unless it is written."""
    if case.has("protocol.toml"):
        return
    words = [
        "audit",
        case.answers["file"],
        *audit_options(case.answers),
        "--write-protocol",
        case.path("protocol.toml"),
    ]
    written = await commands.run(words, case.folder.root)
    if written.code:
        raise OptionError(written.refusal or "the protocol could not be written.")


def seal_words(case: Case, challenge: str) -> list[str]:
    """The command that seals."""
    return ["seal", case.path("protocol.toml"), "--data", case.answers["file"], "--challenge", challenge]


ROUTES = [Route("/audit/{name}/seal", show), Route("/audit/{name}/seal", save, methods=["POST"])]
