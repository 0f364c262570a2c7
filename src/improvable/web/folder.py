"""The folder that is served: which of its files are data, and no path outside it."""

from dataclasses import dataclass
from pathlib import Path

from improvable.errors import DataError

SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".dta", ".sav", ".sas7bdat", ".gz", ".zip")
AUDITS = "improvable-audits"
"""The folder within it that keeps what the page writes."""


@dataclass(frozen=True)
class Folder:
    """A folder whose files the page may read."""

    root: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "root", self.root.resolve())

    @property
    def audits(self) -> Path:
        """Where audits are kept."""
        return self.root / AUDITS

    def files(self) -> list[Path]:
        """The data files, by name; links that lead outside, and names that would be options, are left out."""
        named = (path for path in sorted(self.root.iterdir()) if not path.name.startswith("-"))
        every = (path for path in named if path.suffix.lower() in SUFFIXES)
        return [path for path in every if path.is_file() and self._holds(path)]

    def data(self, name: str) -> Path:
        """A data file by its name, and nothing else: no folder, no link to elsewhere."""
        for path in self.files():
            if path.name == name:
                return path
        raise DataError(f"there is no data file '{name}' in this folder.", "Choose one of the list.")

    def runs(self) -> list[str]:
        """Run folders within it, those of other people included, as paths from it."""
        found = (path.parent for path in self.root.glob("**/run.json") if self._holds(path))
        return sorted(path.relative_to(self.root).as_posix() for path in found)

    def new_name(self, wanted: str) -> str:
        """A name for a file that arrives: the last part of what it was called, and never one that is taken."""
        last = wanted.replace("\\", "/").rpartition("/")[2].strip().lstrip(".-")
        kept = "".join(letter for letter in last if letter.isprintable()) or "data.csv"
        stem, dot, suffix = kept.rpartition(".")
        if f"{dot}{suffix}".lower() not in SUFFIXES:
            raise DataError(
                f"'{kept}' is not a kind of file we read.", f"Choose one that ends in {', '.join(SUFFIXES)}."
            )
        number, name = 1, kept
        while (self.root / name).exists():
            number += 1
            name = f"{stem}-{number}.{suffix}"
        return name

    def _holds(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)
