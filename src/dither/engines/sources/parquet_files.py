"""What several Parquet files must have in common to be read as one table, and what of one cannot be read at all.

Flow: `files` looks at the files when it mounts them, and again when they changed. Without this DuckDB takes the
first file's columns for those of all and finds out row by row: a value that does not fit the first file's type, or a
moment outside its range, makes a charged question fail, and so one person's row would decide whether it does.
Nothing is converted here: what differs is said to the owner, by file and column, never by value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb

from dither.catalog.model import fold
from dither.engines.reading import one_file, parquet_reader
from dither.errors import EngineMismatch, EngineUnavailable
from dither.sql.printing import quote_name, quote_text

__all__ = ["FileColumn", "check_ranges", "columns_of"]

_FITS: dict[str, frozenset[str]] = {
    "SMALLINT": frozenset({"TINYINT", "UTINYINT"}),
    "INTEGER": frozenset({"TINYINT", "SMALLINT", "UTINYINT", "USMALLINT"}),
    "BIGINT": frozenset({"TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER"}),
    "DOUBLE": frozenset({"FLOAT"}),
}
"""Type of the first file -> types all of whose values it holds exactly."""


@dataclass(frozen=True)
class FileColumn:
    """A column of one file."""

    name: str
    type: str
    """As DuckDB reads it."""
    narrow: bool
    """Stored in some file as moments that reach further than `type` (or with such moments nested in it): one raises,
    be it in a row, or in the statistics that DuckDB looks at for columns no question reads too."""
    read: bool
    """May questions read it?"""


def columns_of(
    connection: duckdb.DuckDBPyConnection, paths: Sequence[str], wanted: Collection[str] | None
) -> tuple[FileColumn, ...]:
    """The columns of the first file; all files have those that are read.
    wanted: folded names of the columns that questions read; None: all there are.
    Raises EngineMismatch where files differ in them or a name is there twice; duckdb.Error for what is no Parquet
    file."""
    files = _columns_of(connection, paths)
    for path, columns in files.items():
        _named_once(Path(path).name, columns)
    result = {
        fold(column.name): replace(column, read=wanted is None or fold(column.name) in wanted)
        for column in files[paths[0]]
    }
    for path in paths[1:]:
        found = {fold(column.name): column for column in files[path]}
        for name, column in result.items():
            if column.read:
                _same(Path(path).name, found.get(name), Path(paths[0]).name, column)
            if name in found and found[name].narrow:
                result[name] = replace(column, narrow=True)
    return tuple(result.values())


def check_ranges(
    connection: duckdb.DuckDBPyConnection, shown: str, paths: Sequence[str], columns: Sequence[FileColumn]
) -> None:
    """Raise EngineUnavailable for a column that holds a moment out of range. shown: the table, for messages."""
    for column in columns:
        if not (column.narrow and column.read):
            continue
        name = quote_name(column.name)
        try:
            # The ends come from the files' statistics where they have them: then no row is read.
            connection.execute(f"SELECT min({name}), max({name}) FROM {parquet_reader(paths)}").fetchall()
        except duckdb.Error:
            raise EngineUnavailable(
                f"Column `{column.name}` of `{shown}` cannot be read: some moment in it is out of range.",
                hint="Moments reach from 290000 BC to 290000 AD. Write NULL where a larger number stands for none.",
            ) from None


def _columns_of(connection: duckdb.DuckDBPyConnection, paths: Sequence[str]) -> dict[str, list[FileColumn]]:
    """The columns of each file, without what is nested in them."""
    listed = ", ".join(quote_text(one_file(path)) for path in paths)
    rows = connection.execute(
        "SELECT file_name, column_id, name, num_children, duckdb_type, type, converted_type, logical_type "
        f"FROM parquet_schema([{listed}]) ORDER BY file_name, column_id"
    ).fetchall()
    files: dict[str, list[FileColumn]] = {path: [] for path in paths}
    inside = 0
    # Depth first: what stands directly below a file's root is a column, what stands below a column is not.
    for file, place, name, children, type, physical, converted, logical in rows:
        in_ms = converted == "TIMESTAMP_MILLIS" or "unit=TimeUnit(MILLIS=M" in (logical or "")
        narrow = in_ms or physical == "INT96"
        if place == 0:
            inside = 0
        elif inside:
            inside += (children or 0) - 1
            if narrow:
                files[file][-1] = replace(files[file][-1], narrow=True)
        else:
            inside = children or 0
            files[file].append(FileColumn(str(name), str(type), narrow, read=True))
    return files


def _named_once(file: str, columns: Sequence[FileColumn]) -> None:
    """DuckDB renames the second of `Age` and `age`, and would answer for the one by the other."""
    twice = [name for name, n in Counter(fold(column.name) for column in columns).items() if n > 1]
    if twice:
        shown = ", ".join(f"`{column.name[:60]}`" for column in columns if fold(column.name) == twice[0])
        raise EngineMismatch(
            f"`{file}` has several columns that differ at most in upper and lower case: {shown}.",
            hint="Write the file again, with one name for each.",
        )


def _same(file: str, found: FileColumn | None, first: str, column: FileColumn) -> None:
    if found is None:
        raise EngineMismatch(
            f"`{file}` has no column `{column.name}`; `{first}`, of the same table, has.",
            hint="All files of a table have the columns that the catalog names; a missing one may hold NULL.",
        )
    if found.type != column.type and found.type not in _FITS.get(column.type, frozenset()):
        raise EngineMismatch(
            f"`{column.name}` is {found.type[:60]} in `{file}` and {column.type[:60]} in `{first}`, of the same table.",
            hint="Write all files of a table with the same types.",
        )
