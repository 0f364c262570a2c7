"""Files larger than memory, streamed in batches through pyarrow datasets; and anything
else that streams Arrow.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import narwhals as nw

from improvable.data.engines.base import (
    ROWS_PER_BATCH,
    Merge,
    Opener,
    T,
    Work,
    arrow_rows,
    fold_in_threads,
)
from improvable.data.frame import read_rows, refuse_format
from improvable.data.io.csv import LOOKED_AT, UNSAID, FileFormat, header_of
from improvable.data.io.read import (
    MISSING_MARKS,
    plain_text,
    refuse_duplicates,
    separator_notes,
)
from improvable.data.io.safe import nearest_file
from improvable.errors import DataError, one_line, require_extra


@dataclass(frozen=True)
class Arrow:
    """A pyarrow dataset."""

    dataset: Any
    workers: int
    notes: tuple[str, ...] = ()
    separator: str | None = None  # of a separated file
    backend: nw.Implementation = nw.Implementation.POLARS

    @property
    def columns(self) -> list[str]:
        return list(self.dataset.schema.names)

    def fold(self, work: Work[T], columns: Sequence[str], merge: Merge[T]) -> T | None:
        return fold_in_threads(
            arrow_rows(self._tables(list(columns)), columns), work, merge, self.workers
        )

    def refuse_damaged(self, columns: Sequence[str]) -> None:
        """Read every file, and raise for the first that cannot be read."""
        for _ in self._tables(list(columns)):
            pass

    def _tables(self, columns: list[str]) -> Iterator[Any]:
        """Piece after piece: a scanner of the whole would read ahead as fast as it can,
        up to a gigabyte.
        """
        import pyarrow as pa

        for fragment in self.dataset.get_fragments():
            try:
                if hasattr(fragment, "split_by_row_group"):
                    for piece in fragment.split_by_row_group():
                        yield piece.to_table(
                            schema=self.dataset.schema, columns=columns
                        )
                else:
                    yield from fragment.to_batches(
                        schema=self.dataset.schema,
                        columns=columns,
                        batch_size=ROWS_PER_BATCH,
                        batch_readahead=1,
                    )
            except (pa.ArrowException, OSError) as error:
                raise _bad_file(getattr(fragment, "path", "the data"), error) from error


def open_arrow(data: Any, workers: int, format_: FileFormat = UNSAID) -> Arrow:
    """A dataset, a table, a file, or a folder of Parquet files; what cannot be read in
    pieces is read as a whole.
    """
    require_extra("this engine", "pyarrow", "arrow")
    import pyarrow as pa
    import pyarrow.dataset as ds

    files = open_files(data, workers, format_)
    if files is not None:
        return files
    if isinstance(data, ds.Dataset | pa.Table):
        refuse_format(format_)
        refuse_duplicates(
            data.schema.names,
            "the data" if isinstance(data, ds.Dataset) else "the data frame",
        )
        return Arrow(
            data if isinstance(data, ds.Dataset) else ds.dataset(data), workers
        )
    rows = read_rows(data, format_)
    return Arrow(ds.dataset(rows.frame.to_arrow()), workers, rows.notes)


def open_files(data: Any, workers: int, format_: FileFormat) -> Arrow | None:
    """A path to Parquet files, or to a text that pyarrow reads as we do; None for
    anything else.

    Packed files, other encodings, decimal commas, Excel and statistical files must be
    read as a whole.
    """
    if not isinstance(data, str | Path):
        return None
    path = Path(data)
    plain = plain_text(path, format_) if path.is_file() else None
    if plain is not None:
        notes = separator_notes(path, plain[0], format_)
        return Arrow(_open_csv(path, *plain), workers, notes, separator=plain[0])
    if path.is_dir() or not path.exists() or path.suffix.lower() in (".parquet", ".pq"):
        refuse_format(format_)
        return Arrow(_open_parquet(path), workers)
    return None


def _open_parquet(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.dataset as ds

    if not path.exists():
        raise DataError(f"there is no file or folder '{path}'.", nearest_file(path))
    files = [str(path)]
    if path.is_dir():
        files = sorted(
            str(p) for p in path.rglob("*.parquet") if not p.name.startswith((".", "_"))
        )
        if not files:
            raise DataError(
                f"there is no Parquet file in the folder '{path}'.",
                "Its files must end in .parquet.",
            )
    try:
        dataset = ds.dataset(files, format="parquet", schema=_common_schema(files))
    except pa.ArrowException as error:
        raise _bad_file(path, error) from error
    refuse_duplicates(dataset.schema.names, "the data")
    return dataset


def _open_csv(path: Path, separator: str, schema: Mapping[str, Any]) -> Any:
    """A CSV file; types come from all of it, because pyarrow would take them from its
    beginning.
    """
    import pyarrow as pa
    import pyarrow.csv as csv
    import pyarrow.dataset as ds

    with path.open("rb") as file:
        refuse_duplicates(header_of(file.read(LOOKED_AT), separator), f"'{path}'")
    types = {name: _arrow_type(dtype) for name, dtype in schema.items()}
    format_ = ds.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=separator),
        convert_options=csv.ConvertOptions(
            column_types=types, null_values=MISSING_MARKS, strings_can_be_null=True
        ),
    )
    return ds.dataset(str(path), format=format_, schema=pa.schema(types.items()))


def _arrow_type(dtype: Any) -> Any:
    import pyarrow as pa

    if dtype.is_integer():
        return pa.int64()
    if dtype.is_numeric():
        return pa.float64()
    return pa.bool_() if str(dtype) == "Boolean" else pa.string()


def _common_schema(files: Sequence[str]) -> Any:
    """One schema for all files: numbers may be of any width, but a number is no
    text.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    first: dict[str, Any] = {}
    for path in files:
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError) as error:
            raise _bad_file(path, error) from error
        for name in list(first) or schema.names:
            if name not in schema.names:
                raise DataError(
                    f"'{path}' has no column '{name}', which '{files[0]}' has.",
                    "All files must have the same columns.",
                )
            mine, theirs = schema.field(name).type, first.get(name)
            if (
                theirs is not None
                and _kind(mine) != _kind(theirs)
                and "null" not in (_kind(mine), _kind(theirs))
            ):
                raise DataError(
                    (
                        f"column '{name}' is {mine} in '{path}' and {theirs} in "
                        f"'{files[0]}'."
                    ),
                    "A column must be of one kind in all files.",
                )
            first[name] = mine if theirs is None else _wider(mine, theirs)
    return pa.schema(list(first.items()))


def _kind(dtype: Any) -> str:
    import pyarrow.types as kinds

    if kinds.is_integer(dtype) or kinds.is_floating(dtype) or kinds.is_decimal(dtype):
        return "number"
    if kinds.is_dictionary(dtype):
        return _kind(dtype.value_type)
    if (
        kinds.is_string(dtype)
        or kinds.is_large_string(dtype)
        or kinds.is_string_view(dtype)
    ):
        return "text"
    return str(dtype)


def _wider(mine: Any, theirs: Any) -> Any:
    import pyarrow as pa
    import pyarrow.types as kinds

    if mine == theirs or _kind(mine) == "null":
        return theirs
    if _kind(theirs) == "null":
        return mine
    if _kind(mine) == "number":
        return (
            pa.int64()
            if kinds.is_integer(mine) and kinds.is_integer(theirs)
            else pa.float64()
        )
    return pa.string() if _kind(mine) == "text" else theirs


def _bad_file(path: Any, error: Exception) -> DataError:
    return DataError(
        f"'{path}' cannot be read: {one_line(error, 160)}.",
        "It is damaged or not what it seems; mend or remove it.",
    )


def _owns(data: Any) -> bool:
    if isinstance(data, str | PathLike):
        return Path(data).is_dir()
    return type(data).__module__.startswith("pyarrow") and type(data).__name__.endswith(
        "Dataset"
    )


ENGINE = Opener(open_arrow, _owns, reads_folders=True)
