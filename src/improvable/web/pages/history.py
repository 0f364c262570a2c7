"""Page 8: what was run on these data, and a check of a run that someone sent."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.algorithms.rules import own_modules
from improvable.errors import ImprovableError, OptionError
from improvable.web import commands
from improvable.web.cases import list_cases
from improvable.web.folder import AUDITS
from improvable.web.site import Site, site_of


async def show(request: Request) -> Response:
    """Audits, ledgers, and the form to verify a run."""
    site = site_of(request)
    kept = site.kept(request)
    rows = [site.standing(case) | {"result": case.read("result.json")} for case in list_cases(site.folder)]
    ledgers = [path.name for path in site.folder.files() if path.with_name(f"{path.name}.ledger").exists()]
    chosen = request.query_params.get("ledger", "")
    book = await commands.run(["ledger", chosen], site.folder.root) if chosen in ledgers else None
    return site.page(
        request, "history.html", rows=rows, ledgers=ledgers, chosen=chosen, book=book, checked=kept.get("checked"),
        form=kept.get("form", {}), runs=site.folder.runs(), files=[path.name for path in site.folder.files()],
        error=kept.get("error", ""),
        command=["ledger", chosen] if book else ["verify", "RUN", "--data", "FILE", "--seal", "SEAL"],
    )  # fmt: skip


async def verify(request: Request) -> Response:
    """Recompute a run that is in the folder."""
    site = site_of(request)
    form = {name: str(value).strip() for name, value in (await request.form()).items()}
    try:
        words = verify_words(site, form.get("run", ""), form.get("data", ""), form.get("seal", ""))
    except ImprovableError as error:
        return site.again("/history", form=form, error=str(error))
    done = await commands.run(words, site.folder.root)
    if done.code == 2:
        return site.again("/history", form=form, error=done.refusal)
    return site.again("/history", form=form, checked={"same": done.code == 0, "said": done.out + done.err})


def verify_words(site: Site, run: str, data: str, seal: str) -> list[str]:
    """The command that verifies a run: with the seal that was given or that the page made, else as the run says."""
    if run not in site.folder.runs():
        raise OptionError("there is no such run in this folder.", "Choose one from the list.")
    declared = _read(site, run, "run.json").get("audit", {})
    rule = declared.get("rule", "") if isinstance(declared, dict) else None
    if not isinstance(rule, str) or own_modules(rule):
        raise OptionError(
            "this run's rule is Python code by its author, which the page never runs.",
            "Read the code first; then use improvable verify on the command line.",
        )
    own = site.folder.root / run / ".." / "protocol.seal"
    if seal:
        agreed = ["--seal", seal]
    elif run.startswith(f"{AUDITS}/") and own.exists():
        agreed = ["--seal", f"{run.removesuffix('/run')}/protocol.seal"]
    else:
        # Without the seal that was agreed, a sealed run is recomputed and its seal named; it is not called unsealed.
        agreed = [] if _read(site, run, "result.json").get("seal") else ["--unsealed"]
    return ["verify", run, "--data", site.folder.data(data).name, *agreed]


def _read(site: Site, run: str, file: str) -> dict[str, Any]:
    place = site.folder.root / run / file
    facts = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return facts if isinstance(facts, dict) else {}


ROUTES = [Route("/history", show), Route("/verify", verify, methods=["POST"])]
