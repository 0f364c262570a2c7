"""The local page in a real browser: from a file to a sealed report, and all that can go
wrong on the way.
"""

import contextlib
import http.client
import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from browser_serving import (
    SECONDS,
    Server,
    Visitor,
    chromium,
    serving,
    write_lenders_file,
    write_loans,
)
from improvable.cli import run as command
from improvable.datasets import DIABETES_SCREENING

expect.set_options(timeout=SECONDS * 1000)
CHALLENGE = "closing figure of the index on the day after sealing: 4711.17"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


@pytest.fixture(autouse=True)
def left(browser: Browser) -> Iterator[None]:
    """Whoever visited leaves: a page that stays open asks its server, which has gone,
    again and again.
    """
    yield
    for context in browser.contexts:
        context.close()


def choose_rule(visitor: Visitor, rule: str) -> None:
    visitor.page.locator("summary").first.click()
    visitor.page.get_by_label("Rule", exact=True).select_option(rule)


def to_question(visitor: Visitor, percent: str = "43") -> None:
    visitor.click("Open")
    visitor.mean("outcome", "yes")
    visitor.select_top(percent)
    visitor.click("Check and go on")
    visitor.page.wait_for_url("**/question")


def to_seal(visitor: Visitor, rule: str) -> None:
    """Seal an audit in the paper's split, which fits a rule once a repetition and not
    four times.
    """
    to_question(visitor)
    visitor.page.get_by_label("As in the paper").check()
    choose_rule(visitor, rule)
    visitor.click("Go on")
    visitor.click("Go on to declare")
    visitor.page.fill("#challenge", CHALLENGE)
    visitor.click("Seal")
    expect(visitor.page.get_by_text(CHALLENGE).first).to_be_visible()


@pytest.fixture(scope="module")
def made(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two audits that are sealed and not run: of a slow rule, and of a
    quick one.
    """
    folder = tmp_path_factory.mktemp("made")
    write_loans(folder)
    with serving(folder) as server:
        visitor = Visitor(browser, server.address)
        for rule in ("forest", "linear"):
            visitor.page.goto(f"http://127.0.0.1:{server.port}/")
            to_seal(visitor, rule)
    return folder


@pytest.fixture
def sealed(made: Path, tmp_path: Path) -> Path:
    """A copy of it: whatever a server knows of an audit is in its folder."""
    return Path(shutil.copytree(made, tmp_path, dirs_exist_ok=True))


def to_run(visitor: Visitor, server: Server, case: str = "loans-1") -> None:
    visitor.page.goto(f"http://127.0.0.1:{server.port}/audit/{case}/seal")
    visitor.click("Run the sealed audit")


def finish(visitor: Visitor) -> None:
    visitor.click("See the answer")
    visitor.page.wait_for_url("**/answer")


def result_bytes(folder: Path, case: str = "loans-1") -> bytes:
    return (folder / "improvable-audits" / case / "result.json").read_bytes()


def serious(visitor: Visitor) -> list[str]:
    found = Axe().run(visitor.page).response["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


def test_from_a_file_to_a_sealed_report(browser: Browser, tmp_path: Path) -> None:
    """At most 13 clicks; nothing leaves this computer; every page is usable by all, on
    a phone too.
    """
    write_loans(tmp_path)
    with serving(tmp_path) as server:
        visitor = Visitor(browser, server.address)
        assert "token" not in visitor.page.url
        wrong = serious(visitor)
        visitor.show("1-file")
        visitor.click("Open")
        wrong += serious(visitor)
        visitor.mean("outcome", "yes")
        visitor.select_top("43")
        visitor.show("2-columns")
        visitor.click("Check and go on")
        visitor.page.wait_for_url("**/question")
        wrong += serious(visitor)
        visitor.show("3-question")
        visitor.page.get_by_label("How accurate it must be").select_option("no_worse")
        visitor.page.locator("#command", has_text="--delta-accuracy -0.01").wait_for()
        visitor.page.get_by_label("How accurate it must be").select_option("more")
        # the tutorial's pictures are of the rule that nobody chooses, which takes
        # longer
        if not visitor.shows:
            choose_rule(visitor, "linear")
        visitor.click("Go on")
        wrong += serious(visitor)
        visitor.click("Go on to declare")
        wrong += serious(visitor)
        visitor.page.fill("#challenge", CHALLENGE)
        visitor.click("Seal")
        expect(visitor.page.get_by_text(CHALLENGE).first).to_be_visible()
        visitor.show("5-seal")
        visitor.click("Run the sealed audit")
        wrong += serious(visitor)
        finish(visitor)
        assert visitor.clicks <= 13
        wrong += serious(visitor)
        expect(visitor.page.locator("h1")).to_have_text(
            re.compile("Yes: shown|Not shown")
        )
        expect(visitor.page.frame_locator("iframe").locator("h1").first).to_be_visible()
        visitor.show("7-answer")
        with visitor.page.expect_download() as taken:
            visitor.click("Numbers, JSON")
        assert json.loads(Path(taken.value.path()).read_bytes())["seal"]
        for words, begins in (("Report, PDF", b"%PDF"), ("Report, Word", b"PK")):
            with visitor.page.expect_download() as taken:
                visitor.page.get_by_role("link", name=words, exact=True).click()
            assert Path(taken.value.path()).read_bytes().startswith(begins)
        visitor.page.goto(f"http://127.0.0.1:{server.port}/history")
        wrong += serious(visitor)
        assert not wrong
        assert {url.split("/")[2] for url in visitor.requests} == {
            f"127.0.0.1:{server.port}"
        }
        assert not visitor.complaints
        visitor.page.set_viewport_size({"width": 390, "height": 800})
        steps = [
            f"audit/loans-1/{step}"
            for step in ("columns", "question", "power", "seal", "run", "answer")
        ]
        for place in (*steps, "", "history?ledger=loans.csv"):
            visitor.page.goto(f"http://127.0.0.1:{server.port}/{place}")
            assert fits(visitor), place
        visitor.page.goto(f"http://127.0.0.1:{server.port}/history")
        visitor.click("Verify")
        # its own seal is known
        expect(visitor.page.get_by_role("status").first).to_contain_text(
            "as you agreed"
        )
        expect(visitor.page.locator("main")).not_to_contain_text("unsealed")
        assert fits(visitor)
        visitor.page.get_by_role("textbox").fill("0" * 64)
        visitor.click("Verify")
        expect(visitor.page.get_by_role("status").first).to_contain_text("NOT VERIFIED")
        expect(visitor.page.get_by_role("status").first).to_contain_text(
            "you agreed to 0000"
        )


def fits(visitor: Visitor) -> bool:
    """Whether a page is no wider than a phone, and no number is broken."""
    broken = (
        "[...document.querySelectorAll('.value')].filter((one) => "
        "one.getClientRects().length > 1).length"
    )
    return bool(
        visitor.page.evaluate(
            f"document.documentElement.scrollWidth <= 390 && {broken} === 0"
        )
    )


@pytest.fixture(scope="module")
def lender(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Path, dict[str, dict[str, Any]]]:
    """A folder with a lender's file in two formats and by hand, and what was found in
    each.
    """
    folder = tmp_path_factory.mktemp("lender")
    write_lenders_file(folder)
    return folder, {}


@pytest.mark.parametrize("file", ["loans.csv", "loans.xlsx"])
def test_a_lenders_file_gives_the_numbers_of_one_in_zeros_and_ones(
    browser: Browser,
    lender: tuple[Path, dict[str, dict[str, Any]]],
    tmp_path: Path,
    file: str,
) -> None:
    """From upload to sealed report; no answer is proposed, and one that is the wrong
    way round is questioned.
    """
    folder, found = lender
    with serving(tmp_path) as server:
        visitor = Visitor(browser, server.address)
        page = visitor.page
        page.set_input_files("#upload", folder / file)
        visitor.click("Copy and open")
        visitor.choose("How each person fared", "default")
        visitor.choose("The groups to compare", "sex")
        visitor.choose("The algorithm in use", "approved")
        page.get_by_label("They are one value").check()
        turned = file == "loans.csv"
        visitor.mean("outcome", "yes" if turned else "no")
        visitor.mean("algorithm", "yes")
        visitor.click("Check and go on")
        page.get_by_role("alert").get_by_label(
            "Leave out rows that lack a value"
        ).check()
        visitor.click("Check and go on")
        if turned:
            page.get_by_role("alert").get_by_label(
                "The outcome is the wrong way round"
            ).check()
            visitor.click("Check and go on")
        page.wait_for_url("**/question")
        expect(
            page.get_by_text("It should select those whose default is no")
        ).to_be_visible()
        choose_rule(visitor, "linear")
        visitor.click("Go on")
        visitor.click("Go on to declare")
        expect(
            page.get_by_text("It selects those whose approved is yes.")
        ).to_be_visible()
        page.fill("#challenge", CHALLENGE)
        visitor.click("Seal")
        visitor.click("Run the sealed audit")
        finish(visitor)
        assert not visitor.complaints
    on_the_page = json.loads(result_bytes(tmp_path))
    assert on_the_page["seal"]
    found[file] = on_the_page
    if "by hand" not in found:
        words = [
            "audit",
            "by-hand.csv",
            "--outcome",
            "repaid",
            "--group",
            "sex",
            "--decision",
            "approved",
            "--capacity",
            "same",
            "--rule",
            "linear",
            "--row-id",
            "loan_id",
            "--accuracy",
            "positive_predictive_value",
            "--seed",
            str(on_the_page["seed"]),
            "--json",
            "by-hand.json",
        ]
        with contextlib.chdir(folder):
            assert command(words) == 0
        found["by hand"] = json.loads((folder / "by-hand.json").read_text())
    for number in ("p_value", "reject", "repetitions", "groups", "seed", "disparities"):
        if number in found["by hand"]:
            assert on_the_page[number] == found["by hand"][number], number
    assert len(on_the_page["repetitions"]) == 7
    assert on_the_page["repetitions"][0]["accuracy"]


def test_the_page_says_that_it_works_goes_back_and_says_that_the_server_has_gone(
    browser: Browser, tmp_path: Path
) -> None:
    write_loans(tmp_path)
    with serving(tmp_path) as server:
        visitor = Visitor(browser, server.address, still=False)
        page = visitor.page
        visitor.click("Open")
        # to look at what is said
        page.evaluate("addEventListener('submit', (event) => event.preventDefault())")
        visitor.click("Check and go on")
        page.get_by_text(
            "Reading the columns and looking for what could go wrong …"
        ).wait_for()
        assert (
            page.locator("#works").evaluate(
                "(one) => getComputedStyle(one, '::before').animationName"
            )
            == "turn"
        )
        page.reload()
        visitor.click("Check and go on")
        page.get_by_role("alert").get_by_text(
            "Whom should the algorithm select"
        ).wait_for()
        page.reload()
        # a reload sends nothing again
        expect(page.get_by_role("alert")).to_be_visible()
        page.go_back()
        page.wait_for_url("**/columns")
        expect(page.get_by_role("alert")).to_be_hidden()
        server.kill()
        page.get_by_text("The server has stopped.").wait_for()


def test_a_run_that_is_stopped_reloaded_and_killed_has_the_same_bytes(
    browser: Browser, sealed: Path
) -> None:
    with serving(sealed) as server:
        visitor = Visitor(browser, server.address)
        to_run(visitor, server)
        visitor.page.reload()
        visitor.page.locator("button:has-text('Stop')").click()
        visitor.page.get_by_text("The run was stopped").wait_for()
        visitor.click("Resume")
        _wait_for_a_repetition(sealed)
        server.kill()
    assert not (sealed / "improvable-audits" / "loans-1" / "result.json").exists()
    with serving(sealed) as server:
        visitor = Visitor(browser, server.address)
        visitor.page.goto(f"http://127.0.0.1:{server.port}/audit/loans-1/run")
        visitor.click("Resume")
        finish(visitor)
    again = sealed / "again.json"
    words = [
        "audit",
        "improvable-audits/loans-1/protocol.toml",
        "--data",
        "loans.csv",
        "--json",
        str(again),
    ]
    with contextlib.chdir(sealed):
        assert command(words) == 0
    assert again.read_bytes() == result_bytes(sealed)


def _wait_for_a_repetition(folder: Path) -> None:
    until = time.monotonic() + SECONDS
    run = folder / "improvable-audits" / "loans-1" / "run"
    while not list(run.glob("repetition-*.npz")) and time.monotonic() < until:
        time.sleep(0.02)


def test_two_tabs_and_two_audits(browser: Browser, sealed: Path) -> None:
    """Two tabs show one run; a second audit waits for the first."""
    with serving(sealed) as server:
        visitor = Visitor(browser, server.address)
        to_run(visitor, server)
        first = visitor.page
        visitor.page = visitor.tab()
        visitor.page.goto(f"http://127.0.0.1:{server.port}/audit/loans-1/run")
        expect(visitor.page.locator("h1")).to_have_text(
            re.compile("Running|Waiting|Done")
        )
        to_run(visitor, server, "loans-2")
        expect(
            visitor.page.get_by_text("before this one")
            .or_(visitor.page.get_by_text("finished"))
            .first
        ).to_be_visible()
        finish(visitor)
        visitor.page = first
        finish(visitor)
    assert result_bytes(sealed) != result_bytes(sealed, "loans-2")


def test_what_is_wrong_is_said_on_the_page(browser: Browser, tmp_path: Path) -> None:
    write_loans(tmp_path)
    (tmp_path / "a-broken.csv").write_bytes(b"\x00\x01\x02\xff\xfe" * 50)
    with serving(tmp_path) as server:
        visitor = Visitor(browser, server.address)
        visitor.click("Open")
        expect(visitor.page.get_by_role("alert")).to_be_visible()
        visitor.click("Choose another file")
        visitor.page.get_by_label("loans.csv").check()
        visitor.click("Open")
        visitor.choose("How each person fared", "choose a column")
        visitor.click("Check and go on")
        expect(visitor.page.get_by_role("alert")).to_contain_text(
            "how each person fared"
        )
        visitor.choose("How each person fared", "sex")
        visitor.click("Check and go on")
        expect(visitor.page.get_by_role("alert")).to_contain_text("chosen twice")
    one = tmp_path / "one"
    one.mkdir()
    path = write_loans(one)
    path.write_text(path.read_text().replace("women", "men"))
    with serving(one) as server:
        visitor = Visitor(browser, server.address)
        visitor.click("Open")
        visitor.choose("The groups to compare", "sex")
        visitor.mean("outcome", "yes")
        visitor.select_top("43")
        visitor.click("Check and go on")
        expect(visitor.page.get_by_role("alert")).to_contain_text(
            re.compile("sex.*group|group.*sex")
        )


def test_the_keyboard_is_enough(browser: Browser, tmp_path: Path) -> None:
    write_loans(tmp_path)
    with serving(tmp_path) as server:
        visitor = Visitor(browser, server.address)
        keyboard = visitor.page.keyboard
        for words, address in (
            ("Open", "**/columns"),
            ("Check and go on", "**/question"),
        ):
            for _ in range(60):
                keyboard.press("Tab")
                here = (
                    "document.activeElement.name || "
                    "document.activeElement.textContent.trim()"
                )
                name = visitor.page.evaluate(here)
                if name == words:
                    break
                if name.startswith("outcome-"):
                    keyboard.press("ArrowRight")  # from no to yes
                elif name == "cut":
                    keyboard.press("Space")
                elif name == "top":
                    keyboard.type("43")
            keyboard.press("Enter")
            visitor.page.wait_for_url(address)


def test_strangers_are_refused(tmp_path: Path) -> None:
    write_loans(tmp_path)
    with serving(tmp_path) as server:
        own = f"127.0.0.1:{server.port}"
        assert server.ask("GET", "/") == 403
        cookie = _enter(server)
        assert server.ask("GET", "/", cookie=cookie) == 200
        assert server.ask("GET", server.address.partition(own)[2]) == 403, (
            "the address has been used"
        )
        assert server.ask("GET", "/", cookie=cookie, host="rebound.example") == 403
        assert (
            server.ask("POST", "/open", cookie=cookie, origin="http://evil.example")
            == 403
        )
        assert server.ask("POST", "/open", cookie=cookie) == 403
        outside = (
            "/audit/../columns",
            "/audit/..%2f..%2fetc/columns",
            "/static/../app.py",
            "/static/%2e%2e/guard.py",
        )
        for path in (
            *outside,
            "/audit/loans-1/files/answers.json",
            "/audit/loans-1/files/..%2f..%2floans.csv",
        ):
            assert server.ask("GET", path, cookie=cookie) in (400, 404), path


def _enter(server: Server) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    connection.request("GET", "/" + server.address.rpartition("/")[2])
    answer = connection.getresponse()
    assert answer.status == 303
    cookie = str(answer.getheader("set-cookie")).partition(";")[0]
    connection.close()
    return cookie


def test_a_large_file_arrives_in_bounded_memory(tmp_path: Path) -> None:
    """200 MB are streamed to disk; the server's own memory grows by less than 60 MB."""
    with serving(tmp_path) as server:
        cookie, before = _enter(server), _peak(server)
        line = b"women,yes,1.25,0,1.5,2.75\n"
        lines = (200 << 20) // len(line)
        head = (
            b'--edge\r\nContent-Disposition: form-data; name="upload"; '
            b'filename="big.csv"\r\n\r\n'
        )
        header, tail = b"sex,repaid,score,late,debt,income\n", b"\r\n--edge--\r\n"
        connection = http.client.HTTPConnection(
            "127.0.0.1", server.port, timeout=SECONDS
        )
        connection.putrequest("POST", "/upload")
        for name, value in {
            "cookie": cookie,
            "origin": f"http://127.0.0.1:{server.port}",
            "content-type": "multipart/form-data; boundary=edge",
            "content-length": str(
                len(head) + len(header) + lines * len(line) + len(tail)
            ),
        }.items():
            connection.putheader(name, value)
        connection.endheaders()
        connection.send(head + header)
        chunk = line * 4096
        for _ in range(lines // 4096):
            connection.send(chunk)
        connection.send(line * (lines % 4096) + tail)
        assert connection.getresponse().status == 303
        connection.close()
        assert (tmp_path / "big.csv").stat().st_size == len(header) + lines * len(line)
        assert _peak(server) - before < 60 << 10
        assert not list(tmp_path.glob(".arriving-*"))


def _peak(server: Server) -> int:
    """Kilobytes at the most so far."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def test_code_in_a_run_that_someone_sent_is_not_run(
    browser: Browser, tmp_path: Path
) -> None:
    write_loans(tmp_path)
    sent = tmp_path / "sent"
    sent.mkdir()
    (sent / "run.json").write_text(
        json.dumps({"format": 4, "audit": {"rule": "os:system"}})
    )
    with serving(tmp_path) as server:
        visitor = Visitor(browser, server.address)
        visitor.page.goto(f"http://127.0.0.1:{server.port}/history")
        visitor.click("Verify")
        expect(visitor.page.get_by_role("alert")).to_contain_text("never runs")


def run_example(browser: Browser, server: Server) -> Visitor:
    """Someone who has run the example with nothing changed."""
    visitor = Visitor(browser, server.address)
    visitor.click("Open")
    visitor.mean("outcome", "1")
    visitor.mean("algorithm", "1")
    visitor.click("Check and go on")
    visitor.click("Go on")
    visitor.click("Go on to declare")
    visitor.click("Run without a seal")
    assert visitor.clicks == 7, "two meanings and five clicks lead to the first verdict"
    finish(visitor)
    return visitor


def test_the_page_and_the_command_line_give_the_same_numbers(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same question about a fifth of the example, and no word about how to test it.
    The page verifies it too.

    That `init` and Python give them as well is tested without a browser:
    `tests/test_surfaces.py`.
    """
    monkeypatch.chdir(tmp_path)
    data = str(tmp_path / "example-screening.csv")
    with serving(tmp_path, "--demo") as server:
        people = pl.read_csv(data, infer_schema=False)
        strata = people["stratum"].unique().sort()[::5]
        people.filter(pl.col("stratum").is_in(strata.implode())).write_csv(data)
        visitor = run_example(browser, server)
        visitor.page.goto(f"http://127.0.0.1:{server.port}/history")
        visitor.click("Verify")
        expect(visitor.page.get_by_role("status").first).to_contain_text("VERIFIED")
        expect(visitor.page.get_by_role("status").first).not_to_contain_text(
            "NOT VERIFIED"
        )
    told = {
        name: DIABETES_SCREENING[name]
        for name in ("outcome", "group", "accuracy", "weight", "cluster", "stratum")
    }
    options = [word for name, value in told.items() for word in (f"--{name}", value)]
    asked = [
        *options,
        "--decision",
        DIABETES_SCREENING["status_quo"],
        "--capacity",
        "same",
        "--row-id",
        "id",
    ]
    assert command(["audit", data, *asked, "--json", "audit.json"]) == 0
    on_the_page = json.loads(result_bytes(tmp_path, "example-screening-1"))
    by_command = json.loads(Path("audit.json").read_text())
    for facts in (on_the_page, by_command):
        del facts["protocol"]  # which options were written out is all that differs
    assert on_the_page["scheme"] == "forward"
    assert len(on_the_page["repetitions"]) == 7
    assert on_the_page == by_command


def planned(browser: Browser, server: Server, percent: str = "43") -> Visitor:
    """Someone who asks whether there are enough rows."""
    visitor = Visitor(browser, server.address)
    to_question(visitor, percent)
    if not visitor.shows:
        choose_rule(visitor, "linear")
    visitor.click("Go on")
    visitor.click("Estimate")
    return visitor


def test_a_plan_is_shown(browser: Browser, tmp_path: Path) -> None:
    write_loans(tmp_path, rows=4_000)
    with serving(tmp_path) as server:
        visitor = planned(browser, server)
        visitor.page.get_by_alt_text("Power against the number of rows").wait_for()
        expect(
            visitor.page.get_by_text("the audit rejects with probability")
        ).to_be_visible()
        assert not serious(visitor)
        visitor.show("4-power")


def test_a_pilot_that_is_too_small_is_refused_in_words(
    browser: Browser, tmp_path: Path
) -> None:
    write_loans(tmp_path, rows=1_200)
    with serving(tmp_path) as server:
        visitor = planned(browser, server, "10")
        expect(visitor.page.get_by_role("alert")).to_contain_text(
            "The pilot is too small"
        )
        expect(visitor.page.get_by_role("button", name="Estimate")).to_be_visible()
