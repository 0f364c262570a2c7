"""One audit of the page, on disk: what was answered, declared, sealed and found, in a folder of its own.

Nothing is kept in memory alone: a page that is closed and a server that is killed lose nothing.
"""

import json
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from improvable.data.files import write_whole
from improvable.errors import DataError
from improvable.web.folder import AUDITS, Folder

PAGE = 2
"""What the answers mean: one value of each column since 2."""
NAME = re.compile(r"[\w-]{1,80}")


@dataclass(frozen=True)
class Case:
    """One audit.

    Parameters
    ----------
    folder
        The served folder, in which all commands run.
    name
        The name of its own folder: "loans-1".
    """

    folder: Folder
    name: str

    @property
    def home(self) -> Path:
        """Its own folder."""
        return self.folder.audits / self.name

    def path(self, file: str) -> str:
        """One of its files as the commands see it, from the served folder."""
        return f"{AUDITS}/{self.name}/{file}"

    def has(self, file: str) -> bool:
        """Whether a file is there."""
        return (self.home / file).exists()

    def read(self, file: str) -> dict[str, Any]:
        """One of its JSON files; empty where there is none."""
        place = self.home / file
        return dict(json.loads(place.read_text(encoding="utf-8"))) if place.exists() else {}

    def write(self, file: str, facts: dict[str, Any]) -> None:
        """Write one of its JSON files, whole or not at all."""
        write_whole(self.home / file, f"{json.dumps(facts, indent=1, ensure_ascii=False)}\n".encode())

    def forget(self, *files: str) -> None:
        """Remove files that another answer has made wrong."""
        for file in files:
            (self.home / file).unlink(missing_ok=True)

    @property
    def answers(self) -> dict[str, Any]:
        """What was answered so far; of an audit that an earlier version began, only its file."""
        kept = self.read("answers.json")
        return kept if kept.get("page") == PAGE else {"file": kept["file"], "page": PAGE}

    def answer(self, **given: Any) -> None:
        """Keep answers, and drop what rested on others."""
        self.write("answers.json", {**self.answers, **given})
        self.forget("look.json", "protocol.toml", "power.json", "power.svg", "power-exit.json")

    @property
    def asked(self) -> bool:
        """Whether its question is answered."""
        return bool(self.answers.get("question"))

    @property
    def sealed(self) -> bool:
        """Whether its protocol is sealed; then no answer may change."""
        return self.has("protocol.seal")

    @property
    def finished(self) -> bool:
        """Whether there is an answer."""
        return self.has("result.json") and self.has("report.html")

    @property
    def repetitions_done(self) -> int:
        """How many repetitions are finished."""
        return len(list((self.home / "run").glob("repetition-*.npz")))


def open_case(folder: Folder, file: str) -> Case:
    """Begin an audit of a data file."""
    stem = re.sub(r"[^\w-]+", "-", Path(folder.data(file).name).stem).strip("-")[:60] or "audit"
    folder.audits.mkdir(mode=0o700, exist_ok=True)  # what is in it shows people's data
    for number in count(1):
        case = Case(folder, f"{stem}-{number}")
        try:
            case.home.mkdir(mode=0o700)
            break
        except FileExistsError:
            continue
    case.write("answers.json", {"file": file, "page": PAGE})
    return case


def find_case(folder: Folder, name: str) -> Case:
    """An audit by its name."""
    case = Case(folder, name)
    if not NAME.fullmatch(name) or not case.has("answers.json"):
        raise DataError(f"there is no audit '{name}' in this folder.", "Choose one from the history.")
    return case


def list_cases(folder: Folder) -> list[Case]:
    """All audits, the newest first."""
    if not folder.audits.exists():
        return []
    homes = (home for home in folder.audits.iterdir() if (home / "answers.json").exists())
    newest = sorted(homes, key=lambda home: (home / "answers.json").stat().st_mtime, reverse=True)
    return [Case(folder, home.name) for home in newest if NAME.fullmatch(home.name)]
