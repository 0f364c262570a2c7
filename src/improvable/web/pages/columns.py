"""Page 2: what each column is."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.errors import ImprovableError, OptionError
from improvable.web import commands
from improvable.web.answers import ROLES, check_roles, options, row_id_options
from improvable.web.cases import Case
from improvable.web.site import site_of, to


async def show(request: Request, error: str = "", given: dict[str, str] | None = None) -> Response:
    """List the columns with guesses, previews, levels and missing values."""
    site = site_of(request)
    case = site.case(request)
    found = await _preview(case)
    kept = case.answers
    roles = given if given is not None else kept.get("roles", found.get("roles", {}))
    return site.page(
        request, "columns.html", case=case, columns=found.get("columns", []), roles=roles, choices=ROLES,
        positive=kept.get("positive", ""), error=error or found.get("error", ""), rows=found.get("rows", 0),
        readable=bool(found.get("columns")), command=["check", case.answers["file"], *_asked(case)],
        status=400 if error or found.get("error") else 200,
    )  # fmt: skip


async def save(request: Request) -> Response:
    """Keep the roles if they make a question that the data can answer."""
    site = site_of(request)
    case = site.case(request)
    form, found = await request.form(), await _preview(case)
    names = [str(column["name"]) for column in found.get("columns", [])]
    given = {name: str(form.get(f"role-{place}", "feature")) for place, name in enumerate(names)}
    outcome = next((place for place, name in enumerate(names) if given[name] == "outcome"), 0)
    try:
        if case.sealed:
            raise OptionError("this audit is sealed.", "Begin another to ask something else.")
        roles = check_roles(given, str(form.get(f"good-{outcome}", "")))
        binary = found["columns"][outcome]["values"] == 2
        case.answer(roles=dict(roles.by_name), positive=roles.positive, binary=binary)
        await look(case)
    except ImprovableError as error:
        return await show(request, str(error), given)
    return to(case, "question")


async def look(case: Case) -> None:
    """Take the look of `improvable check`, and keep what it noticed."""
    words = ["check", case.answers["file"], *options(case.answers), *row_id_options(case.answers), "--json", "-"]
    checked = await commands.run(words, case.folder.root)
    if checked.code:
        raise OptionError(checked.refusal or "the data could not be checked.")
    case.write("look.json", json.loads(checked.out))


async def _preview(case: Case) -> dict[str, Any]:
    """What is in the file, read once."""
    if case.has("preview.json"):
        return case.read("preview.json")
    read = await commands.run([case.answers["file"]], case.folder.root, how=commands.PREVIEW)
    if read.code:
        return {"error": read.refusal or "the file could not be read."}
    found: dict[str, Any] = json.loads(read.out)
    case.write("preview.json", found)
    return found


def _asked(case: Case) -> list[str]:
    return options(case.answers) if "roles" in case.answers else ["--outcome", "COLUMN", "--group", "COLUMN"]


ROUTES = [Route("/audit/{name}/columns", show), Route("/audit/{name}/columns", save, methods=["POST"])]
