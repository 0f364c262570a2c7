"""Page 8: what was run on these data, and a check of a run that someone sent."""

import json

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.algorithms.rules import own_modules
from improvable.errors import ImprovableError, OptionError
from improvable.web import commands
from improvable.web.cases import list_cases
from improvable.web.site import Site, site_of


async def show(request: Request, error: str = "", checked: commands.Finished | None = None) -> Response:
    """Audits, ledgers, and the form to verify a run."""
    site = site_of(request)
    rows = [
        {"case": case, "state": site.jobs.state(case, "audit"), "result": case.read("result.json")}
        for case in list_cases(site.folder)
    ]
    ledgers = [path.name for path in site.folder.files() if path.with_name(f"{path.name}.ledger").exists()]
    chosen = request.query_params.get("ledger", "")
    book = await commands.run(["ledger", chosen], site.folder.root) if chosen in ledgers else None
    return site.page(
        request, "history.html", rows=rows, ledgers=ledgers, chosen=chosen, book=book, checked=checked,
        runs=site.folder.runs(), files=[path.name for path in site.folder.files()], error=error,
        command=["ledger", chosen] if book else ["verify", "RUN", "--data", "FILE", "--seal", "SEAL"],
        status=400 if error else 200,
    )  # fmt: skip


async def verify(request: Request) -> Response:
    """Recompute a run that is in the folder."""
    site, form = site_of(request), await request.form()
    try:
        seal = str(form.get("seal", "")).strip()
        words = _verify_words(site, str(form.get("run", "")), str(form.get("data", "")), seal)
    except ImprovableError as error:
        return await show(request, str(error))
    return await show(request, checked=await commands.run(words, site.folder.root))


def _verify_words(site: Site, run: str, data: str, seal: str) -> list[str]:
    if run not in site.folder.runs():
        raise OptionError("there is no such run in this folder.", "Choose one from the list.")
    declared = json.loads((site.folder.root / run / "run.json").read_text(encoding="utf-8"))
    rule = declared.get("audit", {}).get("rule", "") if isinstance(declared, dict) else ""
    if not isinstance(rule, str) or own_modules(rule):
        raise OptionError(
            "this run's rule is Python code by its author, which the page never runs.",
            "Read the code first; then use improvable verify on the command line.",
        )
    agreed = ["--seal", seal] if seal else ["--unsealed"]
    return ["verify", run, "--data", site.folder.data(data).name, *agreed]


ROUTES = [Route("/history", show), Route("/verify", verify, methods=["POST"])]
