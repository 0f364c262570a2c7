"""What all pages share: the folder, the queue, the steps, and the one way to draw a page."""

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from improvable.web.cases import Case, find_case
from improvable.web.commands import shown
from improvable.web.controls import sentence, spoken
from improvable.web.folder import Folder
from improvable.web.jobs import Jobs
from improvable.web.roles import roles_of

STEPS = (
    ("columns", "Columns"),
    ("question", "Question"),
    ("power", "Enough rows?"),
    ("seal", "Declare and seal"),
    ("run", "Run"),
    ("answer", "Answer"),
)
TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TEMPLATES.filters |= {"spoken": spoken, "sentence": sentence}
MOST_KEPT = 100


@dataclass
class Site:
    """The served folder and what runs in it."""

    folder: Folder
    jobs: Jobs = field(default_factory=Jobs)
    closing: bool = False
    _kept: dict[str, dict[str, Any]] = field(default_factory=dict)

    def again(self, address: str, **facts: Any) -> Response:
        """Go to a page that shows what came of a form: so that Back and reload never send the form again."""
        key = secrets.token_urlsafe(8)
        self._kept[key] = facts
        for old in list(self._kept)[:-MOST_KEPT]:
            del self._kept[old]
        return RedirectResponse(f"{address}?again={key}", 303)

    def kept(self, request: Request) -> dict[str, Any]:
        """What a form before this page left for it."""
        return self._kept.get(request.query_params.get("again", ""), {})

    def case(self, request: Request) -> Case:
        """The audit that an address names."""
        return find_case(self.folder, request.path_params["name"])

    def standing(self, case: Case) -> dict[str, Any]:
        """How an audit stands, and the step at which to go on."""
        state = self.jobs.state(case, "audit")
        begun = "seal" if case.asked else "question" if "roles" in case.answers else "columns"
        step = {"finished": "answer", "new": begun}.get(state, "run")
        return {"case": case, "state": "begun" if state == "new" else state, "step": step}

    def page(self, request: Request, template: str, *, status: int = 200, **facts: Any) -> Response:
        """A page."""
        case: Case | None = facts.get("case")
        words = facts.pop("command", None)
        common = {
            "error": "", "case": case, "here": template.removesuffix(".html"), "steps": self.steps(case),
            "command": shown(words) if words else "", "folder": str(self.folder.root), "subtitle": subtitle(case),
        }  # fmt: skip
        return HTMLResponse(TEMPLATES.get_template(template).render(**(common | facts)), status)

    def steps(self, case: Case | None) -> list[dict[str, str]]:
        """The steps of an audit, those that can be opened with an address."""
        if case is None:
            return [{"key": key, "title": title, "address": "", "done": ""} for key, title in STEPS]
        reached = {
            "columns": True,
            "question": "roles" in case.answers,
            "power": case.asked,
            "seal": case.asked,
            "run": case.has("protocol.toml"),
            "answer": case.finished,
        }
        done = {
            "columns": reached["question"], "question": reached["power"], "power": case.has("power.json"),
            "seal": case.sealed, "run": case.finished, "answer": False,
        }  # fmt: skip
        return [
            {
                "key": key,
                "title": title,
                "address": f"/audit/{case.name}/{key}" if reached[key] else "",
                "done": "yes" if done[key] else "",
            }
            for key, title in STEPS
        ]


def site_of(request: Request) -> Site:
    """The site that a request is for."""
    found: Site = request.app.state.site
    return found


def to(case: Case, step: str) -> Response:
    """Go to a step of an audit."""
    return RedirectResponse(f"/audit/{case.name}/{step}", 303)


def subtitle(case: Case | None) -> str:
    """File, rows and roles in one line."""
    if case is None:
        return ""
    roles, rows = roles_of(case.answers), case.read("columns.json").get("rows")
    parts = [case.answers["file"], f"{rows:,} rows" if rows else "", f"outcome: {roles.one('outcome')}"]
    parts += [f"groups: {', '.join(roles.of('group'))}"]
    return " · ".join(parts if roles.one("outcome") else [part for part in parts[:2] if part])
