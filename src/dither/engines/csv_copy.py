"""CSV as Parquet: text files are parsed strictly, once, into a private copy that questions read.

Why not read CSV directly: the reader's guesses (types, quotes, headers) depend on everybody's rows, so one person's
stray quote could change another's row, or make a question fail. Here nothing is guessed: the header names the columns,
all are text, the dialect is the catalog's, and a value that is not of its declared type becomes NULL.
A copy holds people's records, so it goes when its file changed or is gone: whoever makes a copy looks.
"""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import duckdb

from dither.catalog.model import Column, Table, fold
from dither.engines.private_folder import private_folder
from dither.engines.reading import fresh_connection, one_file
from dither.engines.stopping import stoppable
from dither.errors import EngineUnavailable
from dither.sql.printing import quote_name, quote_text

__all__ = ["header_of", "parquet_of", "strict_reader"]

_TYPES = {"integer": "BIGINT", "double": "DOUBLE", "boolean": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP"}

_FORMAT = 3
"""Of the copies: to be raised when texts are read otherwise, lest old copies serve."""

_SOURCE = "source"
"""What a copy calls the path of the file it is of."""


def header_of(path: Path, dialect: Mapping[str, str]) -> list[str]:
    """The column names in the first line. Raises EngineUnavailable where there are none to read."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.reader(file, delimiter=dialect.get("delimiter", ","), quotechar=dialect.get("quote", '"'))
            return next(rows, [])
    # A csv.Error is a field of more than 131,072 characters: an open quote, as a rule.
    except (UnicodeDecodeError, csv.Error, OSError):
        raise EngineUnavailable(
            f"`{path.name}` does not begin with a line of column names, in UTF-8.",
            hint="Save it as CSV in UTF-8, with the names of its columns in the first line.",
        ) from None


def parquet_of(path: Path, table: Table, dialect: Mapping[str, str]) -> str:
    """The Parquet copy of a CSV file, made anew when the file, the dialect or the declared types changed.
    Raises EngineUnavailable, with the place but no value, when the file does not parse strictly."""
    header = header_of(path, dialect)
    types = {fold(name): _type_of(column) for name, column in table.columns.items()}
    stat = path.stat()
    # Size and date can be those of another file that stood here before: its copy would be read for ever.
    version = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    reading = _digest(_FORMAT, str(path.resolve()), sorted(types.items()), sorted(dialect.items()))
    copy = private_folder() / f"{reading}.{_digest(version, header)}.parquet"
    if not copy.exists():
        _convert(path, copy, header, types, dialect)
        _forget(copy, reading)
    return str(copy)


def _digest(*facts: object) -> str:
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _forget(copy: Path, reading: str) -> None:
    """Remove the copies of what the file held before, and of files that are gone."""
    for other in copy.parent.glob(f"{reading}.*.parquet"):
        if other != copy:
            other.unlink(missing_ok=True)
    copies = quote_text(str(copy.parent / ("[0-9a-f]" * 32 + ".*.parquet")))
    sources = f"SELECT file_name, decode(value) FROM parquet_kv_metadata({copies}) WHERE decode(key) = '{_SOURCE}'"
    # A copy that another process is removing is no reason to fail.
    with suppress(duckdb.Error, OSError), fresh_connection() as connection:
        for other, source in connection.execute(sources).fetchall():
            if not os.path.exists(source):
                Path(other).unlink(missing_ok=True)


def strict_reader(path: Path, header: list[str], dialect: Mapping[str, str]) -> str:
    """A FROM item that reads the file without guessing: every column text, every line as long as the header."""
    columns = "{" + ", ".join(f"{quote_text(name)}: 'VARCHAR'" for name in header) + "}"
    options = [
        "auto_detect=false", "hive_partitioning=false", "header=true", "strict_mode=true", "ignore_errors=false",
        f"columns={columns}",
        f"delim={quote_text(dialect.get('delimiter', ','))}", f"quote={quote_text(dialect.get('quote', chr(34)))}",
        f"escape={quote_text(dialect.get('quote', chr(34)))}", f"nullstr={quote_text(dialect.get('null', ''))}",
    ]  # fmt: skip
    return f"read_csv({quote_text(one_file(path))}, {', '.join(options)})"


def _convert(path: Path, copy: Path, header: list[str], types: Mapping[str, str], dialect: Mapping[str, str]) -> None:
    selected = [
        f"{_cast(quote_name(name), types[fold(name)])} AS {quote_name(name)}"
        if fold(name) in types
        else quote_name(name)
        for name in header
    ]
    fresh = copy.with_suffix(f".{os.getpid()}.new")
    reading = f"SELECT * FROM {strict_reader(path, header, dialect)}"
    old = os.umask(0o077)
    try:
        with fresh_connection() as connection:
            # In two steps: DuckDB pushes a cast into its CSV reader, where a value that does not convert raises.
            connection.execute(f"SET temp_directory={quote_text(str(private_folder()))}")
            stoppable(connection, lambda: connection.execute(f"CREATE TABLE texts AS {reading}"))
            casting = f"SELECT {', '.join(selected)} FROM texts"
            options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{{_SOURCE}: {quote_text(str(path.resolve()))}}}"
            text = f"COPY ({casting}) TO {quote_text(str(fresh))} ({options})"
            stoppable(connection, lambda: connection.execute(text))
        fresh.replace(copy)
    except duckdb.Error:
        raise EngineUnavailable(
            f"`{path.name}` does not parse strictly as CSV with the declared dialect.",
            hint="Check delimiter and quote under [source], and that every line has as many fields as the header.",
        ) from None
    finally:
        fresh.unlink(missing_ok=True)
        os.umask(old)


def _cast(text: str, type: str) -> str:
    """SQL of the value in a text, NULL where it is none."""
    if type == "TIMESTAMP":
        # A cast to TIMESTAMP drops `+09:00`. Where a text names no zone it is UTC, which the connection is set to.
        return f"(TRY_CAST({text} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')"
    return f"TRY_CAST({text} AS {type})"


def _type_of(column: Column) -> str:
    if column.type == "decimal":
        return f"DECIMAL(38, {column.scale if column.scale is not None else 2})"
    return _TYPES.get(column.type, "VARCHAR")
