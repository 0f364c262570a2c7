"""Page 3: the question, as one sentence with choices in it."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from improvable.errors import ImprovableError, OptionError
from improvable.question.catalog import UTILITIES
from improvable.web.answers import (
    ACCURACIES,
    FAIRNESS,
    PROCEDURES,
    RULES,
    asked_of,
    check_question,
    options,
    roles_of,
    row_id_options,
)  # fmt: skip
from improvable.web.commands import shown
from improvable.web.pages.columns import look
from improvable.web.site import site_of, to


async def show(request: Request, error: str = "", given: dict[str, str] | None = None) -> Response:
    """The sentence."""
    site = site_of(request)
    case = site.case(request)
    if "roles" not in case.answers:
        return to(case, "columns")
    answers = case.answers if given is None else {**case.answers, "question": given}
    roles, noticed = roles_of(answers), case.read("look.json")
    binary = not any(one["values"] > 2 for one in noticed.get("outcomes", []))
    fits = {name: one.words for name, one in UTILITIES.items() if binary or not one.binary_outcome}
    return site.page(
        request, "question.html", case=case, roles=roles, asked=asked_of(answers), procedures=PROCEDURES, rules=RULES,
        accuracies={name: fits[name] for name in ACCURACIES if name in fits},
        fairness={name: fits[name] for name in FAIRNESS if name in fits},
        noticed=noticed, error=error, command=["audit", case.answers["file"], *_safe_options(answers)],
        status=400 if error else 200,
    )  # fmt: skip


async def save(request: Request) -> Response:
    """Keep the question if the data can answer it."""
    site = site_of(request)
    case = site.case(request)
    given = {name: str(value) for name, value in (await request.form()).items()}
    try:
        if case.sealed:
            raise OptionError("this audit is sealed.", "Begin another to ask something else.")
        case.answer(question=check_question(given, roles_of(case.answers)))
        await look(case)
    except ImprovableError as error:
        return await show(request, str(error), given)
    return to(case, "power")


async def command(request: Request) -> Response:
    """The command that the choices amount to, while they are made."""
    case = site_of(request).case(request)
    given = {name: str(value) for name, value in (await request.form()).items()}
    try:
        asked = check_question(given, roles_of(case.answers))
    except ImprovableError as error:
        return PlainTextResponse(str(error))
    answers = {**case.answers, "question": asked}
    return PlainTextResponse(shown(["audit", answers["file"], *options(answers), *row_id_options(answers)]))


def _safe_options(answers: dict[str, object]) -> list[str]:
    """The options of the kept answers, where the given ones are wrong."""
    try:
        return [*options(answers), *row_id_options(answers)]
    except ValueError:
        return []


ROUTES = [
    Route("/audit/{name}/question", show),
    Route("/audit/{name}/question", save, methods=["POST"]),
    Route("/audit/{name}/command", command, methods=["POST"]),
]
