"""`improvable serve` ends when it is told to, with one line."""

import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest


@pytest.mark.parametrize("signals", [1, 2])
def test_interrupting_the_server_is_one_line(signals: int, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "improvable", "serve", str(tmp_path), "--no-browser"]
    server = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    found = re.match(r"Open http://127\.0\.0\.1:(\d+)/", server.stdout.readline())
    assert found
    server.stdout.readline()
    with socket.create_connection(("127.0.0.1", int(found[1])), timeout=60) as asking:
        asking.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert asking.recv(12) == b"HTTP/1.1 403", "it has started"
    _, first = _interrupt(server, signals)
    assert first == "Stopped. What is finished is kept, and a run resumes.\n"
    assert server.returncode == 0


def _interrupt(server: "subprocess.Popen[str]", times: int) -> tuple[str, str]:
    for _ in range(times):
        server.send_signal(signal.SIGINT)
    return server.communicate(timeout=60)


def test_the_extra_brings_what_the_page_offers() -> None:
    """It reads Excel, and hands out the report as PDF and Word."""
    declared = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text()
    )["project"]
    assert "improvable[excel,pdf,word]" in declared["optional-dependencies"]["web"]
