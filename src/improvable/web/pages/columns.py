"""Page 2: how each person fared, the groups, the algorithm in use; what their values mean; and the other columns."""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from improvable.errors import ImprovableError, OptionError
from improvable.question.checks import parse_names
from improvable.web import commands
from improvable.web.answers import audit_options
from improvable.web.cases import Case
from improvable.web.roles import FORMAT, OTHERS, answers_from, form_of, hint_of, roles_of
from improvable.web.sentences import lacking_words, other_value, selects_words, should_words
from improvable.web.site import site_of, to

NOTHING: dict[str, Any] = {"columns": [], "roles": {}}
SEALED = OptionError("this audit is sealed.", "Begin another to ask something else.")


class DirectionError(OptionError):
    """The algorithm in use selects those whom it should not; somebody must say which is wrong."""

    def __init__(self, means: dict[str, float], choices: dict[str, str]) -> None:
        super().__init__("the algorithm in use selects the others.")
        self.asked = {"means": means, "choices": choices}


async def show(request: Request) -> Response:
    """The three roles first, then the other columns, with previews, levels and missing values."""
    site = site_of(request)
    case = site.case(request)
    found, kept = await preview(case), site.kept(request)
    columns = found.get("columns", [])
    form = form_of(case.answers, found) if "form" not in kept else {**form_of({}, NOTHING), **kept["form"]}
    places = {str(place) for place in range(len(columns))}
    form |= {role: "" for role in ("outcome", "group", "algorithm") if form[role] not in places}
    hints = {role: [hint_of(column["name"], role) for column in columns] for role in ("outcome", "decision")}
    alike = {column["name"]: column["alike"] for column in columns if column["alike"]}
    return site.page(
        request, "columns.html", case=case, columns=columns, form=form, others=OTHERS, hints=hints, alike=alike,
        rows=found.get("rows", 0), notes=found.get("notes", []), said=case.answers.get("format", {}),
        error=kept.get("error", "") or found.get("error", ""), direction=kept.get("direction"),
        lacking=kept.get("lacking", ""), command=["check", case.answers["file"], *_asked(case)],
    )  # fmt: skip


async def save(request: Request) -> Response:
    """Keep the answers if they make a question that the data can answer."""
    site = site_of(request)
    case = site.case(request)
    form, found = {name: str(value) for name, value in (await request.form()).items()}, await preview(case)
    address = f"/audit/{case.name}/columns"
    counts: dict[str, Any] = {}
    answers = case.answers
    try:
        if case.sealed:
            raise SEALED
        answers = {**answers, "stated": False, **answers_from(_turned(form, found), found)}
        if answers["binary"] != case.answers.get("binary"):
            answers["question"] = {}
        if answers["score"].get("cut") == "least" or answers["reading"]["drop"]:
            counts = await counted(case, answers)
        answers |= {"counts": counts, "stated": form.get("turn") == "stated"}
        if "above" in counts:
            answers["score"]["above"] = repr(counts["above"])
        noticed = await look(case, answers, found)
    except DirectionError as question:
        return site.again(address, form=form, direction=question.asked)
    except ImprovableError as error:
        if "drop_missing" not in str(error):
            return site.again(address, form=form, error=str(error))
        return site.again(address, form=form, lacking=lacking_words(await counted(case, answers)))
    case.answer(**answers)
    case.write("look.json", noticed)
    return to(case, "question")


async def read_again(request: Request) -> Response:
    """Read the file as somebody says it is written."""
    site = site_of(request)
    case, form = site.case(request), await request.form()
    if case.sealed:
        return site.again(f"/audit/{case.name}/columns", error=str(SEALED))
    said = {name: str(form.get(name, "")).strip() for name in FORMAT}
    case.answer(format={name: value for name, value in said.items() if value})
    case.forget("columns.json")
    return to(case, "columns")


async def look(case: Case, answers: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """The look of `improvable check`; where it doubts the direction, a question."""
    noticed = await _check(case, answers)
    if "refused" not in noticed:
        return noticed
    if "direction='as stated'" not in noticed["refused"]:
        raise OptionError(noticed["refused"])
    seen = await _check(case, {**answers, "stated": True})
    raise DirectionError(seen["direction"], _ways(answers, found))


async def counted(case: Case, answers: dict[str, Any]) -> dict[str, Any]:
    """Counts of the whole file, read as it was answered."""
    roles, reading = roles_of(answers), answers["reading"]
    numeric = [name for role in ("outcome", "decision", "score", "weight") for name in roles.of(role)]
    asked = {
        "format": answers.get("format", {}), "positive": dict(roles.positive), "na": parse_names(reading["na"]),
        "strip": reading["spelling"] == "one", "numeric": numeric, "group": roles.of("group"),
        "recoded": [*roles.of("outcome"), *roles.of("decision")],
        "labels": [*roles.of("group"), *roles.of("cluster"), *roles.of("stratum")], "score": roles.one("score"),
        "least": float(answers["score"]["least"]) if answers["score"].get("cut") == "least" else None,
    }  # fmt: skip
    words = [case.answers["file"], json.dumps(asked)]
    done = await commands.run(words, case.folder.root, how=commands.WHOLE_FILE)
    if done.code:
        raise OptionError(done.refusal or "the rows could not be counted.")
    return dict(json.loads(done.out))


async def preview(case: Case) -> dict[str, Any]:
    """What is in the file, read once."""
    if case.has("columns.json"):
        return case.read("columns.json")
    words = [case.answers["file"], json.dumps(case.answers.get("format", {}))]
    read = await commands.run(words, case.folder.root, how=commands.PREVIEW)
    if read.code:
        return {"error": read.refusal or "the file could not be read."}
    found: dict[str, Any] = json.loads(read.out)
    case.write("columns.json", found)
    return found


async def _check(case: Case, answers: dict[str, Any]) -> dict[str, Any]:
    words = ["check", case.answers["file"], *audit_options(answers), "--json", "-"]
    checked = await commands.run(words, case.folder.root)
    if checked.code:
        return {"refused": checked.refusal or "the data could not be checked."}
    return dict(json.loads(checked.out))


def _ways(answers: dict[str, Any], found: dict[str, Any]) -> dict[str, str]:
    """How the direction can be settled: turn the outcome, turn the decisions, or confirm both."""
    roles = roles_of(answers)
    outcome, decision = roles.one("outcome"), roles.one("decision")
    turned = f"a {'lower' if roles.better == 'higher' else 'higher'} {outcome}"
    if answers["binary"]:
        turned = f"those whose {outcome} is {other_value(answers, found, outcome)}"
    ways = {"outcome": f"The outcome is the wrong way round: the algorithm should select {turned}."}
    if decision:
        other = other_value(answers, found, decision)
        ways["decision"] = f"The decisions are the wrong way round: selected are those whose {decision} is {other}."
    ways["stated"] = (
        f"It is as stated: the algorithm selects {selects_words(roles)}, and should select {should_words(roles)}."
    )
    return ways


def _turned(form: dict[str, str], found: dict[str, Any]) -> dict[str, str]:
    """The form with what somebody turns around."""
    turn = form.get("turn")
    if turn not in ("outcome", "decision"):
        return form
    answers = answers_from(form, found)
    if turn == "outcome" and not answers["binary"]:
        form["better"] = "lower" if form["better"] == "higher" else "higher"
        return form
    name = roles_of(answers).one(turn)
    place = form["outcome" if turn == "outcome" else "algorithm"]
    form[f"{turn}-{place}"] = other_value(answers, found, name)
    return form


def _asked(case: Case) -> list[str]:
    return audit_options(case.answers) if "roles" in case.answers else ["--outcome", "COLUMN", "--group", "COLUMN"]


ROUTES = [
    Route("/audit/{name}/columns", show),
    Route("/audit/{name}/columns", save, methods=["POST"]),
    Route("/audit/{name}/reading", read_again, methods=["POST"]),
]
