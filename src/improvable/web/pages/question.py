"""Page 3: the question, as one sentence with choices in it."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from improvable.errors import ImprovableError
from improvable.web.answers import PROCEDURES, RULES, asked_of, audit_options, check_question, measures
from improvable.web.commands import shown
from improvable.web.controls import spoken
from improvable.web.pages.columns import SEALED, DirectionError, look, preview
from improvable.web.roles import form_of, roles_of
from improvable.web.sentences import measure_words, other_value, selects_words, should_words
from improvable.web.site import site_of, to


async def show(request: Request) -> Response:
    """The sentence."""
    site = site_of(request)
    case = site.case(request)
    if "roles" not in case.answers:
        return to(case, "columns")
    kept, answers = site.kept(request), case.answers
    asked = {**asked_of(answers), **kept.get("given", {})}
    roles, found = roles_of(answers), await preview(case)
    words = measure_words(answers, other_value(answers, found, roles.one("outcome")))
    accuracies, gaps = measures(answers)
    return site.page(
        request, "question.html", case=case, roles=roles, asked=asked, procedures=PROCEDURES, rules=RULES,
        accuracies={name: words[name] for name in accuracies}, fairness={name: words[name] for name in gaps},
        selects=selects_words(roles), should=should_words(roles), noticed=case.read("look.json"),
        error=kept.get("error", ""), command=["audit", answers["file"], *audit_options(answers)],
    )  # fmt: skip


async def save(request: Request) -> Response:
    """Keep the question if the data can answer it."""
    site = site_of(request)
    case = site.case(request)
    given = {name: str(value) for name, value in (await request.form()).items()}
    found = await preview(case)
    try:
        if case.sealed:
            raise SEALED
        question = check_question(given, case.answers)
        noticed = await look(case, {**case.answers, "question": question}, found)
    except DirectionError as asked:
        return site.again(
            f"/audit/{case.name}/columns", form=form_of(case.answers, found), direction=asked.asked
        )  # fmt: skip
    except ImprovableError as error:
        return site.again(f"/audit/{case.name}/question", given=given, error=str(error))
    case.answer(question=question)
    case.write("look.json", noticed)
    return to(case, "power")


async def command(request: Request) -> Response:
    """The command that the choices amount to, while they are made."""
    case = site_of(request).case(request)
    given = {name: str(value) for name, value in (await request.form()).items()}
    try:
        answers = {**case.answers, "question": check_question(given, case.answers)}
    except ImprovableError as error:
        return PlainTextResponse(spoken(str(error)))
    return PlainTextResponse(shown(["audit", answers["file"], *audit_options(answers)]))


ROUTES = [
    Route("/audit/{name}/question", show),
    Route("/audit/{name}/question", save, methods=["POST"]),
    Route("/audit/{name}/command", command, methods=["POST"]),
]
