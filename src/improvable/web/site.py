"""What all pages share: the folder, the queue, the steps, and the one way to draw a
page.
"""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from improvable.results.formatting import capital
from improvable.web.answers import roles_of
from improvable.web.files import Case, Folder, find_case
from improvable.web.jobs import Jobs, shown
from improvable.web.sentences import sentence, spoken

STEPS: dict[str, tuple[str, Callable[[Case], bool], Callable[[Case], bool]]] = {
    "columns": ("Columns", lambda case: True, lambda case: case.answered),
    "question": ("Question", lambda case: case.answered, lambda case: case.asked),
    "power": (
        "Enough rows?",
        lambda case: case.asked,
        lambda case: case.has("power.json"),
    ),
    "seal": ("Declare and seal", lambda case: case.asked, lambda case: case.sealed),
    "run": ("Run", lambda case: case.has("protocol.toml"), lambda case: case.finished),
    "answer": ("Answer", lambda case: case.finished, lambda case: False),
}
"""The steps of an audit after its file: the title of each, whether it can be opened,
and whether it is done.
"""
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {"spoken": spoken, "sentence": sentence, "capital": capital}
MAX_KEPT = 100


@dataclass
class Site:
    """The served folder and what runs in it."""

    folder: Folder
    jobs: Jobs = field(default_factory=Jobs)
    is_closing: Callable[[], bool] = lambda: False
    _kept: dict[str, dict[str, Any]] = field(default_factory=dict)

    def again(self, address: str, **facts: Any) -> Response:
        """Go to a page that shows what came of a form, so that Back and reload never
        send the form again.
        """
        key = secrets.token_urlsafe(8)
        self._kept[key] = facts
        for old in list(self._kept)[:-MAX_KEPT]:
            del self._kept[old]
        return RedirectResponse(f"{address}?again={key}", 303)

    def kept(self, request: Request) -> dict[str, Any]:
        """What a form before this page left for it."""
        return self._kept.get(request.query_params.get("again", ""), {})

    def standing(self, case: Case) -> dict[str, Any]:
        """How an audit stands, and the step at which to go on."""
        state = self.jobs.state(case, "audit")
        begun = "seal" if case.asked else "question" if case.answered else "columns"
        step = {"finished": "answer", "new": begun}.get(state, "run")
        return {
            "case": case,
            "state": "begun" if state == "new" else state,
            "step": step,
        }

    def page(
        self,
        template: str,
        request: Request,
        case: Case | None = None,
        *,
        command: list[str] | None = None,
        status: int = 200,
        **facts: Any,
    ) -> Response:
        steps = [
            {
                "key": key,
                "title": title,
                "address": address(case, key) if case and is_open(case) else "",
                "done": case is not None and is_done(case),
            }
            for key, (title, is_open, is_done) in STEPS.items()
        ]
        common = {
            "error": self.kept(request).get("error", ""),
            "case": case,
            "here": template.removesuffix(".html"),
            "steps": steps,
            "command": shown(command) if command else "",
            "folder": str(self.folder.root),
            "subtitle": _subtitle(case),
        }
        return HTMLResponse(
            TEMPLATES.get_template(template).render(common | facts), status
        )


def _subtitle(case: Case | None) -> str:
    """File, rows and roles in one line."""
    if case is None:
        return ""
    roles, rows = roles_of(case.answers), case.read("columns.json").get("rows")
    parts = [case.answers["file"], f"{rows:,} rows" if rows else ""]
    if roles.one("outcome"):
        parts += [
            f"outcome: {roles.one('outcome')}",
            f"groups: {', '.join(roles.named_groups)}",
        ]
    return " · ".join(part for part in parts if part)


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def at(
    step: str,
    page: Callable[[Site, Case, Request], Awaitable[Response]],
    method: str = "GET",
) -> Route:
    """The route to a step of an audit; its page gets the site and the audit that the
    address names.
    """

    async def answer(request: Request) -> Response:
        site = site_of(request)
        return await page(
            site, find_case(site.folder, request.path_params["name"]), request
        )

    return Route(f"/audit/{{name}}/{step}", answer, methods=[method])


async def fields_of(request: Request) -> dict[str, str]:
    """What a form holds."""
    return {name: str(value) for name, value in (await request.form()).items()}


def address(case: Case, step: str) -> str:
    return f"/audit/{case.name}/{step}"


def to(case: Case, step: str) -> Response:
    """Go to a step of an audit."""
    return RedirectResponse(address(case, step), 303)
