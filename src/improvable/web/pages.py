"""Pages that ask: the file, its columns, the question; and what was run on these data
before.
"""

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from improvable.algorithms.rules import own_modules
from improvable.errors import ImprovableError, OptionError
from improvable.question.options import parse_names
from improvable.web import jobs
from improvable.web.answers import (
    FORMAT,
    OTHERS,
    answers_from,
    audit_options,
    check_question,
    form_of,
    hint_of,
    measures,
    roles_of,
)
from improvable.web.files import AUDITS, Case, list_cases, open_case, receive
from improvable.web.sentences import (
    lacking_words,
    other_value,
    selects_words,
    should_words,
    spoken,
    told,
)
from improvable.web.site import Site, address, at, fields_of, site_of, to

SEALED = OptionError("this audit is sealed.", "Begin another to ask something else.")

# Page 1: the file. ----


async def show_files(request: Request) -> Response:
    site = site_of(request)
    files = [
        {"name": path.name, "bytes": path.stat().st_size}
        for path in site.folder.files()
    ]
    begun = [site.standing(case) for case in list_cases(site.folder)[:5]]
    return site.page("files.html", request, files=files, begun=begun)


async def choose_file(request: Request) -> Response:
    """Begin an audit of a file in the folder, or of one that was dropped or chosen,
    which is kept there.
    """
    site = site_of(request)
    try:
        uploads = request.url.path == "/upload"
        name = (
            await receive(request, site.folder)
            if uploads
            else (await fields_of(request)).get("file", "")
        )
        case = open_case(site.folder, name)
    except ImprovableError as error:
        return site.again("/", error=str(error))
    return to(case, "columns")


# Page 2: the columns, and what their values mean. ----


class DirectionError(OptionError):
    """The algorithm in use selects those whom it should not; somebody must say which is
    wrong.
    """

    def __init__(self, means: dict[str, float], choices: dict[str, str]) -> None:
        super().__init__("the algorithm in use selects the others.")
        self.asked = {"means": means, "choices": choices}


async def show_columns(site: Site, case: Case, request: Request) -> Response:
    """The three roles first, then the other columns, with previews, levels and missing
    values.
    """
    found, kept, answers = await preview(case), site.kept(request), case.answers
    columns = found.get("columns", [])
    form = (
        {**form_of({}, {}), **kept["form"]}
        if "form" in kept
        else form_of(answers, found)
    )
    places = {str(place) for place in range(len(columns))}
    form |= {
        role: ""
        for role in ("outcome", "group", "algorithm")
        if form[role] not in places
    }
    words = (
        audit_options(answers)
        if case.answered
        else ["--outcome", "COLUMN", "--group", "COLUMN"]
    )
    return site.page(
        "columns.html",
        request,
        case,
        columns=columns,
        form=form,
        others=OTHERS,
        rows=found.get("rows", 0),
        hints={
            role: [hint_of(column["name"], role) for column in columns]
            for role in ("outcome", "decision")
        },
        alike={
            column["name"]: column["alike"] for column in columns if column["alike"]
        },
        notes=found.get("notes", []),
        said=answers.get("format", {}),
        direction=kept.get("direction"),
        error=kept.get("error") or found.get("error", ""),
        lacking=kept.get("lacking", ""),
        command=["check", answers["file"], *words],
    )


async def save_columns(site: Site, case: Case, request: Request) -> Response:
    """Keep the answers if they make a question that the data can answer."""
    form, found, here = (
        await fields_of(request),
        await preview(case),
        address(case, "columns"),
    )
    answers, counts = case.answers, dict[str, Any]()
    try:
        if case.sealed:
            raise SEALED
        answers |= {"stated": False, **answers_from(_turned(form, found), found)}
        if answers["binary"] != case.answers.get("binary"):
            answers["question"] = {}
        if answers["score"].get("cut") == "least" or answers["reading"]["drop"]:
            counts = await counted(case, answers)
        answers |= {"counts": counts, "stated": form.get("turn") == "stated"}
        if "above" in counts:
            answers["score"]["above"] = repr(counts["above"])
        noticed = await look(case, answers, found)
    except DirectionError as question:
        return site.again(here, form=form, direction=question.asked)
    except ImprovableError as error:
        if "drop_missing" not in str(error):
            return site.again(here, form=form, error=str(error))
        return site.again(
            here, form=form, lacking=lacking_words(await counted(case, answers))
        )
    case.answer(**answers)
    case.write("look.json", noticed)
    return to(case, "question")


async def read_again(site: Site, case: Case, request: Request) -> Response:
    """Read the file as somebody says it is written."""
    form = await fields_of(request)
    if case.sealed:
        return site.again(address(case, "columns"), error=str(SEALED))
    case.answer(
        format={
            name: form[name].strip() for name in FORMAT if form.get(name, "").strip()
        }
    )
    case.forget("columns.json")
    return to(case, "columns")


async def preview(case: Case) -> dict[str, Any]:
    """What is in the file, read once."""
    if not case.has("columns.json"):
        try:
            found = await _read_file(
                case,
                {"format": case.answers.get("format", {})},
                "the file could not be read.",
            )
        except OptionError as error:
            return {"error": str(error)}
        case.write("columns.json", found)
    return case.read("columns.json")


async def counted(case: Case, answers: dict[str, Any]) -> dict[str, Any]:
    """Counts of the whole file, read as it was answered."""
    roles, reading = roles_of(answers), answers["reading"]
    asked = {
        "format": answers.get("format", {}),
        "positive": dict(roles.positive),
        "na": parse_names(reading["na"]),
        "strip": reading["spelling"] == "one",
        "group": roles.groups,
        "numeric": roles.of("outcome", "decision", "score", "weight"),
        "recoded": roles.of("outcome", "decision"),
        "labels": roles.of("group", "probability", "cluster", "stratum"),
        "score": roles.one("score"),
        "least": float(roles.score["least"])
        if roles.score.get("cut") == "least"
        else None,
    }
    return await _read_file(case, asked, "the rows could not be counted.")


async def _read_file(
    case: Case, asked: dict[str, Any], otherwise: str
) -> dict[str, Any]:
    words = [case.answers["file"], json.dumps(asked)]
    return dict(
        json.loads(await jobs.output(words, case.folder.root, otherwise, jobs.PREVIEW))
    )


async def look(
    case: Case, answers: dict[str, Any], found: dict[str, Any]
) -> dict[str, Any]:
    """The look of `improvable check`; where it doubts the direction, a question."""
    words = ["check", answers["file"], *audit_options(answers), "--json", "-"]
    told = "the data could not be checked."
    try:
        return dict(json.loads(await jobs.output(words, case.folder.root, told)))
    except OptionError as error:
        if "direction='as stated'" not in str(error):
            raise
    seen = await jobs.output(
        [*words, "--direction", "as stated"], case.folder.root, told
    )
    roles = roles_of(answers)
    outcome, decision = roles.one("outcome"), roles.one("decision")
    turned = f"a {'lower' if roles.better == 'higher' else 'higher'} {outcome}"
    if answers["binary"]:
        turned = f"those whose {outcome} is {other_value(answers, found, outcome)}"
    ways = {
        "outcome": (
            f"The outcome is the wrong way round: the algorithm should select {turned}."
        )
    }
    if decision:
        other = other_value(answers, found, decision)
        ways["decision"] = (
            "The decisions are the wrong way round: selected are those whose "
            f"{decision} is {other}."
        )
    selects, should = selects_words(roles), should_words(roles)
    ways["stated"] = (
        f"It is as stated: the algorithm selects {selects}, and should select {should}."
    )
    raise DirectionError(json.loads(seen)["direction"], ways)


def _turned(form: dict[str, str], found: dict[str, Any]) -> dict[str, str]:
    """The form with what somebody turns around."""
    turn = form.get("turn")
    if turn not in ("outcome", "decision"):
        return form
    answers = answers_from(form, found)
    if turn == "outcome" and not answers["binary"]:
        return form | {"better": "lower" if form["better"] == "higher" else "higher"}
    place = form["outcome" if turn == "outcome" else "algorithm"]
    return form | {
        f"{turn}-{place}": other_value(answers, found, roles_of(answers).one(turn))
    }


# Page 3: the question, as one sentence with choices in it. ----


async def show_question(site: Site, case: Case, request: Request) -> Response:
    if not case.answered:
        return to(case, "columns")
    answers = case.answers
    facts, (accuracies, gaps) = told(answers, await preview(case)), measures(answers)
    facts["asked"] |= site.kept(request).get("given", {})
    return site.page(
        "question.html",
        request,
        case,
        accuracies=[(name, facts["words"][name]) for name in accuracies],
        gaps=[(name, facts["words"][name]) for name in gaps],
        noticed=case.read("look.json"),
        command=["audit", answers["file"], *audit_options(answers)],
        **facts,
    )


async def save_question(site: Site, case: Case, request: Request) -> Response:
    """Keep the question if the data can answer it."""
    given, found = await fields_of(request), await preview(case)
    try:
        if case.sealed:
            raise SEALED
        question = check_question(given, case.answers)
        noticed = await look(case, {**case.answers, "question": question}, found)
    except DirectionError as asked:
        return site.again(
            address(case, "columns"),
            form=form_of(case.answers, found),
            direction=asked.asked,
        )
    except ImprovableError as error:
        return site.again(address(case, "question"), given=given, error=str(error))
    case.answer(question=question)
    case.write("look.json", noticed)
    return to(case, "power")


async def show_command(_: Site, case: Case, request: Request) -> Response:
    """The command that the choices amount to, while they are made."""
    try:
        answers = {
            **case.answers,
            "question": check_question(await fields_of(request), case.answers),
        }
    except ImprovableError as error:
        return PlainTextResponse(spoken(str(error)))
    return PlainTextResponse(
        jobs.shown(["audit", answers["file"], *audit_options(answers)])
    )


# Page 8: what was run on these data, and a check of a run that someone sent. ----


async def show_history(request: Request) -> Response:
    site = site_of(request)
    kept, files = site.kept(request), site.folder.files()
    ledgers = [
        path.name for path in files if path.with_name(f"{path.name}.ledger").exists()
    ]
    chosen = request.query_params.get("ledger", "")
    book = (
        await jobs.run(["ledger", chosen], site.folder.root)
        if chosen in ledgers
        else None
    )
    return site.page(
        "history.html",
        request,
        ledgers=ledgers,
        chosen=chosen,
        book=book,
        checked=kept.get("checked"),
        rows=[
            site.standing(case) | {"result": case.read("result.json")}
            for case in list_cases(site.folder)
        ],
        form=kept.get("form", {}),
        runs=site.folder.runs(),
        files=[path.name for path in files],
        command=["ledger", chosen]
        if book
        else ["verify", "RUN", "--data", "FILE", "--seal", "SEAL"],
    )


async def verify(request: Request) -> Response:
    site = site_of(request)
    form = {name: value.strip() for name, value in (await fields_of(request)).items()}
    try:
        words = verify_words(
            site, form.get("run", ""), form.get("data", ""), form.get("seal", "")
        )
    except ImprovableError as error:
        return site.again("/history", form=form, error=str(error))
    done = await jobs.run(words, site.folder.root)
    if done.code == 2:
        return site.again("/history", form=form, error=done.refusal)
    return site.again(
        "/history",
        form=form,
        checked={"same": done.code == 0, "said": done.out + done.err},
    )


def verify_words(site: Site, run: str, data: str, seal: str) -> list[str]:
    """The command that verifies a run: with the seal that was given or that the page
    made, else as the run says.
    """
    if run not in site.folder.runs():
        raise OptionError(
            "there is no such run in this folder.", "Choose one from the list."
        )
    declared = _read(site, run, "run.json").get("audit", {})
    rule = declared.get("rule", "") if isinstance(declared, dict) else None
    if not isinstance(rule, str) or own_modules(rule):
        raise OptionError(
            "this run's rule is Python code by its author, which the page never runs.",
            "Read the code first; then use improvable verify on the command line.",
        )
    own = f"{run.removesuffix('/run')}/protocol.seal"
    if seal:
        agreed = ["--seal", seal]
    elif run.startswith(f"{AUDITS}/") and (site.folder.root / own).exists():
        agreed = ["--seal", own]
    else:
        # Without the seal that was agreed, a sealed run is recomputed and its seal
        # named; it is not called unsealed.
        agreed = [] if _read(site, run, "result.json").get("seal") else ["--unsealed"]
    return ["verify", run, "--data", site.folder.data(data).name, *agreed]


def _read(site: Site, run: str, file: str) -> dict[str, Any]:
    place = site.folder.root / run / file
    facts = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return facts if isinstance(facts, dict) else {}


ROUTES = [
    Route("/", show_files),
    Route("/open", choose_file, methods=["POST"]),
    Route("/upload", choose_file, methods=["POST"]),
    at("columns", show_columns),
    at("columns", save_columns, "POST"),
    at("reading", read_again, "POST"),
    at("question", show_question),
    at("question", save_question, "POST"),
    at("command", show_command, "POST"),
    Route("/history", show_history),
    Route("/verify", verify, methods=["POST"]),
]
