"""A time stamp authority on this machine, made with OpenSSL; and a run to attack, made once."""

import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import polars as pl
import pytest

import improvable
from improvable.cli import run
from protocol_room import OPTIONS
from time_authority import Authority, make_authority, openssl


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    folder = tmp_path_factory.mktemp("authority")
    make_authority(folder)

    class Answering(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            (folder / "request.tsq").write_bytes(self.rfile.read(int(self.headers["Content-Length"])))
            openssl(folder, "ts", "-reply", "-config", "tsa.cnf", "-queryfile", "request.tsq", "-out", "answer.tsr")
            self.send_response(200)
            self.end_headers()
            self.wfile.write((folder / "answer.tsr").read_bytes())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Authority(f"http://127.0.0.1:{server.server_port}", folder / "root.pem")
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def sealed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a protocol, its seal, a run and its results."""
    place = tmp_path_factory.mktemp("sealed")
    people = improvable.datasets.care_management(3_000, seed=4).with_columns(
        gagne_sum_t=(pl.col("gagne_sum_t") > 2).cast(int)
    )
    people.select("gagne_sum_t", "race", "risk_score_t", "gagne_sum_tm1", "dem_female").write_csv(place / "people.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        assert run(["audit", "people.csv", *OPTIONS, "--write-protocol", "care.toml"]) == 0
        assert run(["seal", "care.toml", "--data", "people.csv", "--challenge", "docket 1"]) == 0
        assert run(["audit", "care.toml", "--data", "people.csv", "--out", "run", "--json", "result.json"]) == 0
    return place


@pytest.fixture
def sealed(sealed_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to be attacked."""
    place = Path(shutil.copytree(sealed_run, tmp_path / "sealed"))
    monkeypatch.chdir(place)
    return place
