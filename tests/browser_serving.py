"""A server of the local page in a process of its own, and a browser that visits it."""

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

SECONDS = 180
STILL = """
const still = new CSSStyleSheet();
still.replaceSync("*, ::before { animation: none !important }");
document.adoptedStyleSheets = [still];
"""
"""A wheel that turns while an audit runs is drawn sixty times a second, with the time
that the audit needs.
"""


class Server:
    """`improvable serve` on a folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        words = [
            sys.executable,
            "-m",
            "improvable",
            "serve",
            str(folder),
            "--no-browser",
            *options,
        ]
        self.process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        found = re.search(
            r"http://127\.0\.0\.1:(\d+)/\S*", self.process.stdout.readline()
        )
        assert found, "the server printed no address"
        self.address, self.port = found.group(), int(found.group(1))

    def ask(self, method: str, path: str, **headers: str) -> int:
        """The status of a raw request, with any headers at all."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.putrequest(method, path, skip_host="host" in headers)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders()
        status = connection.getresponse().status
        connection.close()
        return status

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self._end()

    def close(self) -> None:
        self.process.terminate()
        self._end()

    def _end(self) -> None:
        self.process.wait(SECONDS)
        assert self.process.stdout is not None
        self.process.stdout.close()


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[Server]:
    server = Server(folder, *options)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.close()


def find_chromium() -> str:
    """The program; the shell without windows, where there is one, takes a third of the
    time.
    """
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.fail(
            "no Chromium is installed; on Debian: apt-get install "
            "chromium-headless-shell, or chromium"
        )
    return program


@contextmanager
def chromium() -> Iterator[Browser]:
    program = find_chromium()
    with sync_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        browser = playwright.chromium.launch(executable_path=program, args=flags)
        yield browser
        browser.close()


class Visitor:
    """A person at the page: counts clicks, and notes every request and everything the
    browser complains about.
    """

    def __init__(self, browser: Browser, address: str, still: bool = True) -> None:
        self.context = browser.new_context(
            viewport={"width": 1200, "height": 900}, accept_downloads=True
        )
        if still:
            self.context.add_init_script(STILL)
        self.context.set_default_timeout(SECONDS * 1000)
        self.clicks, self.requests, self.complaints = 0, list[str](), list[str]()
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.page = self.tab()
        self.page.goto(address)

    def tab(self) -> Page:
        page = self.context.new_page()
        page.on(
            "console",
            lambda said: (
                self.complaints.append(said.text) if said.type == "error" else None
            ),
        )
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        return page

    def click(self, words: str) -> None:
        self.clicks += 1
        button = self.page.get_by_role("button", name=words, exact=True)
        button.or_(self.page.get_by_role("link", name=words, exact=True)).click()
        self.page.wait_for_load_state()

    @property
    def shows(self) -> str:
        """The folder of the tutorial's pictures, where IMPROVABLE_SCREENSHOTS names
        one.
        """
        return os.environ.get("IMPROVABLE_SCREENSHOTS", "")

    def show(self, name: str) -> None:
        """Keep a picture of the page for the tutorial."""
        if self.shows:
            self.page.screenshot(path=f"{self.shows}/serve-{name}.png", full_page=True)

    def choose(self, role: str, column: str) -> None:
        """Choose the column of a role: "How each person fared"."""
        self.clicks += 1
        self.page.get_by_label(role, exact=True).select_option(label=column)

    def mean(self, role: str, value: str) -> None:
        """Say which value of the outcome, or of the algorithm in use, is meant."""
        self.clicks += 1
        self.page.locator(f"[data-for^='{role}=']:visible").get_by_label(
            value, exact=True
        ).check()

    def select_top(self, percent: str) -> None:
        """Say that the score selects the highest so many percent."""
        self.clicks += 2
        self.page.get_by_label("It selects the highest").check()
        self.page.get_by_label("Share selected, in percent").fill(percent)


def write_lenders_file(folder: Path, rows: int = 900) -> pl.DataFrame:
    """Loans as a bank keeps them, in a semicolon file and in Excel; and the same by
    hand, in zeros and ones.

    Default and approved are yes or no, and mean opposite things; some write m for M;
    some outcomes are unknown.
    """
    rng = np.random.default_rng(4)
    women, late, debt = (
        rng.random(rows) < 0.5,
        rng.poisson(1.0, rows),
        rng.gamma(2.0, 1.0, rows),
    )
    income = rng.normal(3.0 - 1.0 * women, 0.7, rows)
    repaid = rng.random(rows) < 1 / (1 + np.exp(-(2.4 - 1.2 * late - 0.5 * debt)))
    score = income - 0.35 * late + rng.normal(0, 0.4, rows)
    approved, known = score > np.median(score), rng.random(rows) > 0.04
    small = ~women & (rng.random(rows) < 0.1)
    features = {"late": late, "debt": np.round(debt, 3), "income": np.round(income, 3)}
    frame = pl.DataFrame(
        {
            "loan_id": [f"L{row:04d}" for row in range(rows)],
            "sex": np.where(women, "F", np.where(small, "m", "M")),
            "default": pl.Series(np.where(repaid, "no", "yes")).zip_with(
                pl.Series(known), pl.Series([None] * rows, dtype=pl.String)
            ),
            "approved": np.where(approved, "yes", "no"),
            **features,
        }
    )
    frame.write_csv(folder / "loans.csv", separator=";")
    frame.write_excel(folder / "loans.xlsx")
    coded = {
        "sex": np.where(women, "F", "M"),
        "repaid": repaid.astype(int),
        "approved": approved.astype(int),
    }
    by_hand = pl.DataFrame({"loan_id": frame["loan_id"], **coded, **features}).filter(
        pl.Series(known)
    )
    by_hand.write_csv(folder / "by-hand.csv")
    return frame


def write_loans(folder: Path, rows: int = 900, name: str = "loans.csv") -> Path:
    """Loans: the lender's score counts income, which is lower in one group; debts and
    lateness say more.
    """
    rng = np.random.default_rng(4)
    group = rng.random(rows) < 0.5
    late, debt = rng.poisson(1.0, rows), rng.gamma(2.0, 1.0, rows)
    income = rng.normal(3.0 - 1.0 * group, 0.7, rows)
    chance = 1 / (1 + np.exp(-(2.4 - 1.2 * late - 0.5 * debt)))
    frame = pl.DataFrame(
        {
            "sex": np.where(group, "women", "men"),
            "repaid": np.where(rng.random(rows) < chance, "yes", "no"),
            "lender score": np.round(income + rng.normal(0, 0.4, rows), 5),
            "late": late,
            "debt": np.round(debt, 5),
            "income": np.round(income, 5),
        }
    )
    frame.write_csv(folder / name)
    return folder / name
