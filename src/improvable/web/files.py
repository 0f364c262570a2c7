"""The served folder: its data files, files that arrive, and the audits that the page
keeps in it.

No path outside the folder is read or written. Nothing is kept in memory alone, so that
nothing is lost when a page is closed or the server is killed.
"""

import asyncio
import contextlib
import json
import re
import shutil
import tempfile
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from improvable.data.io.safe import write_whole
from improvable.datasets import DIABETES_SCREENING, diabetes_screening
from improvable.errors import DataError

SUFFIXES = (
    ".csv",
    ".tsv",
    ".txt",
    ".parquet",
    ".xlsx",
    ".dta",
    ".sav",
    ".sas7bdat",
    ".gz",
    ".zip",
)
AUDITS = "improvable-audits"  # the folder within it that keeps what the page writes
MAX_BYTES = 4 << 30
PAGE = 2  # what the answers mean: one value of each column since 2
NAME = re.compile(r"[\w-]{1,80}")
EXAMPLE = "example-screening.csv"
EXAMPLE_ROLES = ("outcome", "group", "status_quo", "weight", "cluster", "stratum")


@dataclass(frozen=True)
class Folder:
    """A folder whose files the page may read."""

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.resolve())

    @property
    def audits(self) -> Path:
        return self.root / AUDITS

    def make_audits(self) -> Path:
        """Make the folder of audits for its owner alone: it shows people's data."""
        self.audits.mkdir(mode=0o700, exist_ok=True)
        return self.audits

    def files(self) -> list[Path]:
        """The data files, by name, without links that lead outside and names that would
        be options.
        """
        every = (
            path
            for path in sorted(self.root.iterdir())
            if path.suffix.lower() in SUFFIXES
        )
        return [
            path
            for path in every
            if path.is_file() and self._holds(path) and not path.name.startswith("-")
        ]

    def data(self, name: str) -> Path:
        """A data file by its name, and nothing else: no folder, no link to
        elsewhere.
        """
        for path in self.files():
            if path.name == name:
                return path
        raise DataError(
            f"there is no data file '{name}' in this folder.", "Choose one of the list."
        )

    def runs(self) -> list[str]:
        """Run folders within it, including other people's, as paths from it."""
        found = (
            path.parent for path in self.root.glob("**/run.json") if self._holds(path)
        )
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def new_name(self, wanted: str) -> str:
        """A free name for a file that arrives: the last part of what it was called."""
        last = wanted.replace("\\", "/").rpartition("/")[2].strip().lstrip(".-")
        kept = "".join(letter for letter in last if letter.isprintable()) or "data.csv"
        stem, dot, suffix = kept.rpartition(".")
        if f"{dot}{suffix}".lower() not in SUFFIXES:
            raise DataError(
                f"'{kept}' is not a kind of file we read.",
                f"Choose one that ends in {', '.join(SUFFIXES)}.",
            )
        others = (f"{stem}-{number}.{suffix}" for number in count(2))
        return (
            kept
            if not (self.root / kept).exists()
            else next(n for n in others if not (self.root / n).exists())
        )

    def _holds(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)


# Files that arrive. ----


async def receive(request: Request, folder: Folder) -> str:
    """Keep the file of a form in the folder, streamed to disk and bounded; its name
    there.
    """
    # the server reads no more than it says
    if int(request.headers.get("content-length", MAX_BYTES + 1)) > MAX_BYTES:
        raise DataError(
            f"the file is larger than {MAX_BYTES >> 20:,} MB.",
            "Put it into the folder yourself instead.",
        )
    try:
        async with request.form(max_files=1, max_fields=10) as form:
            upload = form.get("upload")
            if not isinstance(upload, UploadFile) or not upload.filename:
                raise DataError(
                    "no file was chosen.", "Choose one, or drop it onto the page."
                )
            return await asyncio.to_thread(keep, upload, upload.filename, folder)
    except HTTPException as error:
        raise DataError(
            f"the file did not arrive: {error.detail}", "Choose it again."
        ) from None


def keep(upload: UploadFile, wanted: str, folder: Folder) -> str:
    """Write a file under its name only when it is whole."""
    folder.new_name(wanted)  # refused before anything is written
    with tempfile.NamedTemporaryFile(
        dir=folder.root, prefix=".arriving-", delete=False
    ) as part:
        try:
            shutil.copyfileobj(upload.file, part, 1 << 20)
            part.flush()
            while True:
                place = folder.root / folder.new_name(wanted)
                with contextlib.suppress(FileExistsError):
                    # taken in one step: of two uploads of one name, neither is lost
                    place.open("xb").close()
                    break
            Path(part.name).replace(place)
            return place.name
        except BaseException:
            Path(part.name).unlink(missing_ok=True)
            raise


def put_example(folder: Path) -> Path:
    """Write the example into a folder, unless it is there: the columns of the audit,
    and rows that lack none.
    """
    place = folder / EXAMPLE
    if not place.exists():
        columns = [
            "id",
            *(str(DIABETES_SCREENING[role]) for role in EXAMPLE_ROLES),
            *DIABETES_SCREENING["features"],
        ]
        write_whole(
            place,
            diabetes_screening().select(columns).drop_nulls().write_csv().encode(),
        )
    return place


# Audits. ----


@dataclass(frozen=True)
class Case:
    """One audit of the page: what was answered, declared, sealed and found, in a folder
    of its own ("loans-1").
    """

    folder: Folder
    name: str

    @property
    def home(self) -> Path:
        return self.folder.audits / self.name

    def path(self, file: str) -> str:
        """One of its files as commands see it: all run in the served folder."""
        return f"{AUDITS}/{self.name}/{file}"

    def has(self, file: str) -> bool:
        return (self.home / file).exists()

    def read(self, file: str) -> dict[str, Any]:
        """One of its JSON files; empty where there is none."""
        return (
            dict(json.loads((self.home / file).read_text(encoding="utf-8")))
            if self.has(file)
            else {}
        )

    def write(self, file: str, facts: dict[str, Any]) -> None:
        """Write one of its JSON files, whole or not at all."""
        write_whole(
            self.home / file,
            f"{json.dumps(facts, indent=1, ensure_ascii=False)}\n".encode(),
        )

    def forget(self, *files: str) -> None:
        """Remove files that another answer has made wrong."""
        for file in files:
            (self.home / file).unlink(missing_ok=True)

    @property
    def answers(self) -> dict[str, Any]:
        """What was answered so far; of an audit that an earlier version began, only its
        file.
        """
        kept = self.read("answers.json")
        return (
            kept if kept.get("page") == PAGE else {"file": kept["file"], "page": PAGE}
        )

    def answer(self, **given: Any) -> None:
        """Keep answers, and drop what rested on others."""
        self.write("answers.json", {**self.answers, **given})
        self.forget(
            "look.json", "protocol.toml", "power.json", "power.svg", "power-exit.json"
        )

    @property
    def answered(self) -> bool:  # what each column is
        return "roles" in self.answers

    @property
    def asked(self) -> bool:
        return bool(self.answers.get("question"))

    @property
    def sealed(self) -> bool:  # then no answer may change
        return self.has("protocol.seal")

    @property
    def finished(self) -> bool:
        return self.has("result.json") and self.has("report.html")


def open_case(folder: Folder, file: str) -> Case:
    """Begin an audit of a data file."""
    stem = (
        re.sub(r"[^\w-]+", "-", Path(folder.data(file).name).stem).strip("-")[:60]
        or "audit"
    )
    folder.make_audits()
    for number in count(1):
        case = Case(folder, f"{stem}-{number}")
        with contextlib.suppress(FileExistsError):
            case.home.mkdir(mode=0o700)
            break
    case.write("answers.json", {"file": file, "page": PAGE})
    return case


def find_case(folder: Folder, name: str) -> Case:
    case = Case(folder, name)
    if not NAME.fullmatch(name) or not case.has("answers.json"):
        raise DataError(
            f"there is no audit '{name}' in this folder.",
            "Choose one from the history.",
        )
    return case


def list_cases(folder: Folder) -> list[Case]:
    """All audits, the newest first."""
    answered = sorted(
        folder.audits.glob("*/answers.json"),
        key=lambda file: file.stat().st_mtime,
        reverse=True,
    )
    return [
        Case(folder, file.parent.name)
        for file in answered
        if NAME.fullmatch(file.parent.name)
    ]
