"""The report in a real browser: silent, alone, without scripts, and text from data only
ever text.

Chromium is driven through its own pipe, with the standard library alone.
"""

import itertools
import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import improvable
from browser_serving import find_chromium
from improvable.report import plots

EVIL = "<script>alert(1)</script>"
COLUMN = f"{EVIL}<img src=x onerror=alert(2)>"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
]


class Browser:
    """Chromium behind a pipe: JSON messages that end with a zero byte."""

    def __init__(self, profile: Path) -> None:
        program = find_chromium()
        theirs_in, self.to = os.pipe()
        self.back, theirs_out = os.pipe()
        # Chromium reads its orders from descriptor 3 and answers on 4.
        wrapped = [
            "bash",
            "-c",
            f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}',
            "bash",
            program,
            *FLAGS,
        ]
        self.process = subprocess.Popen(
            [*wrapped, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        os.set_blocking(self.back, False)
        self.events: list[dict[str, Any]] = []
        self.number, self.rest, self.session = 0, b"", ""

    def messages(self, seconds: float = 30.0) -> Iterator[dict[str, Any]]:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                chunk = os.read(self.back, 1 << 20)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            if not chunk:
                pytest.fail("Chromium ended before it answered")
            *whole, self.rest = (self.rest + chunk).split(b"\0")
            yield from map(json.loads, whole)

    def order(self, method: str, **parameters: Any) -> Any:
        self.number += 1
        plain = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            plain["sessionId"] = self.session
        os.write(self.to, json.dumps(plain).encode() + b"\0")
        found = None
        for message in self.messages():
            if message.get("id") == self.number:
                assert "error" not in message, message
                found = message["result"]
                break
            self.events.append(message)
        assert found is not None, f"no answer to {method}"
        return found

    def open(self, url: str) -> "Browser":
        """Open a page and wait until it is there."""
        self.session = ""
        target = self.order("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.order(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]
        for room in ("Runtime", "Log", "Network", "Page"):
            self.order(f"{room}.enable")
        self.events.clear()
        self.order("Page.navigate", url=url)
        deadline = time.monotonic() + 30
        while self.value("document.readyState") != "complete":
            assert time.monotonic() < deadline, "the page does not load"
            time.sleep(0.05)
        return self

    def value(self, expression: str) -> Any:
        answer = self.order(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def complaints(self) -> list[str]:
        """Everything on the console, and every dialog."""
        said = (
            "Runtime.consoleAPICalled",
            "Runtime.exceptionThrown",
            "Log.entryAdded",
            "Page.javascriptDialogOpening",
        )
        return [
            json.dumps(event) for event in self.events if event.get("method") in said
        ]

    def requests(self) -> list[str]:
        """Addresses asked for, whether or not they were answered."""
        asked = [
            event["params"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [
            one["request"]["url"]
            for one in asked
            if not one["request"]["url"].startswith("data:")
        ]

    def close(self) -> None:
        os.close(self.to)
        os.close(self.back)
        self.process.terminate()
        self.process.wait(timeout=20)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    one = Browser(tmp_path_factory.mktemp("profile"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def audit() -> improvable.Audit:
    """An audit in which the group's name, a level and a feature try to be a script."""
    people = pl.DataFrame(improvable.datasets.care_management(4_000, seed=1)).rename(
        {"race": COLUMN, "gagne_sum_tm1": "</script><b>feature"}
    )
    people = people.with_columns(pl.col(COLUMN).replace({"black": EVIL}))
    return improvable.audit(
        people,
        outcome="gagne_sum_t",
        group=COLUMN,
        rule="linear",
        features=["</script><b>feature", "dem_female"],
        status_quo=improvable.threshold("risk_score_t", capacity=0.1),
        test=improvable.Test(repetitions=3, draws=500),
        seed=1,
    )


@pytest.fixture(scope="module")
def report(audit: improvable.Audit, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "audit.html"
    audit.report(path, command=f"improvable audit x.csv --group '{COLUMN}'")
    return path.as_uri()


def test_the_page_is_silent_and_asks_for_nothing(browser: Browser, report: str) -> None:
    browser.open(report)
    time.sleep(0.3)
    assert browser.value("document.querySelectorAll('figure svg').length") >= 4
    assert browser.complaints() == []
    assert browser.requests() == [report]


def test_text_from_data_stays_text(browser: Browser, report: str) -> None:
    browser.open(report)
    assert browser.value("document.scripts.length") == 1
    assert browser.value("document.scripts[0].type") == "application/json"
    assert browser.value("document.querySelectorAll('img, :not(td) > b').length") == 0
    text = browser.value("document.body.innerText")
    assert EVIL in text
    assert COLUMN in text
    assert "</script><b>feature" in text
    drawn = browser.value(
        "[...document.querySelectorAll('figure svg')].map(one => "
        "one.textContent).join(' ')"
    )
    assert f"Accuracy of {EVIL}" in drawn
    assert browser.complaints() == []


def test_a_phone_needs_no_sideways_scrolling(browser: Browser, report: str) -> None:
    browser.open(report)
    browser.order(
        "Emulation.setDeviceMetricsOverride",
        width=390,
        height=844,
        deviceScaleFactor=1,
        mobile=True,
    )
    assert browser.value("document.documentElement.scrollWidth") == 390
    assert (
        browser.value(
            "getComputedStyle(document.querySelector('.tiles'))"
            ".gridTemplateColumns.split(' ').length"
        )
        == 1
    )
    shown = (
        "[...document.querySelectorAll('figure svg')].filter(one => "
        "one.getBoundingClientRect().width > 0)"
    )
    assert set(browser.value(f"{shown}.map(one => one.getAttribute('class'))")) == {
        "narrow"
    }
    scale = "one.getBoundingClientRect().width / one.viewBox.baseVal.width"
    smallest = (
        f"Math.min(...[...document.querySelectorAll('svg.narrow')].map(one => {scale}))"
    )
    assert browser.value(smallest) > 0.85, "text in pictures keeps its size"
    browser.order("Emulation.clearDeviceMetricsOverride")


def test_a_dark_screen_gets_dark_colors_in_pictures_too(
    browser: Browser, report: str
) -> None:
    browser.open(report)
    ink = "getComputedStyle(document.querySelector('svg.wide text')).fill"
    found = []
    for scheme in ("light", "dark"):
        browser.order(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        found.append(
            (
                browser.value("getComputedStyle(document.body).backgroundColor"),
                browser.value(ink),
            )
        )
    assert found[0][0] == "rgb(255, 255, 255)"
    assert found[0][0] != found[1][0]
    assert found[0][1] != found[1][1]
    browser.order("Emulation.setEmulatedMedia", features=[])


def test_a_screen_reader_finds_names_heads_and_an_order(
    browser: Browser, report: str
) -> None:
    browser.open(report)
    levels = browser.value(
        "[...document.querySelectorAll('h1, h2, h3')].map(one => "
        "Number(one.tagName[1]))"
    )
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))
    assert browser.value(
        "[...document.querySelectorAll('svg')].every(s => "
        "s.getAttribute('aria-label').length > 20)"
    )
    assert browser.value(
        "[...document.querySelectorAll('table')].every(t => "
        "t.querySelector('th[scope=col], th[scope=colgroup]'))"
    )
    assert browser.value("document.querySelectorAll('input, button').length") == 0
    assert (
        browser.value("document.querySelectorAll('.scroll:not([tabindex])').length")
        == 0
    )


def test_a_chart_as_html_needs_no_network(
    browser: Browser, audit: improvable.Audit, tmp_path: Path
) -> None:
    path = tmp_path / "chart.html"
    plots.p_values(audit).save(path)
    browser.open(path.as_uri())
    deadline = time.monotonic() + 20
    while not browser.value(
        "document.querySelectorAll('#chart canvas, #chart svg').length"
    ):
        assert time.monotonic() < deadline, "the chart is not drawn"
        time.sleep(0.1)
    assert browser.complaints() == []
    assert browser.requests() == [path.as_uri()]
