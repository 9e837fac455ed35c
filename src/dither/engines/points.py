"""Places of a Parquet or CSV file: read once into a private DuckDB, written back with other coordinates.

Flow: `session.places` reads coordinates as a Secret, and has the noisy ones written with the columns it named.
Relies on: one copy made at the start, so that what was checked is what is released. Texts of errors are fixed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.catalog.model import fold
from dither.engines.csv_copy import header_of, strict_reader
from dither.engines.private_folder import private_folder
from dither.engines.reading import fresh_connection, parquet_reader
from dither.engines.stopping import stoppable
from dither.errors import EngineError, EngineMismatch, EngineUnavailable
from dither.secret import Secret
from dither.sql.printing import quote_name, quote_text

__all__ = ["PARQUET", "PointFile", "SUFFIXES"]

PARQUET = (".parquet", ".pq")
SUFFIXES = (*PARQUET, ".csv")

_NUMBERS = frozenset({
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT",
    "DOUBLE", "DECIMAL", "VARCHAR",
})  # fmt: skip
"""Types a coordinate may have; texts are cast, and one that is no number becomes NaN, which is refused later."""


class PointFile:
    """The rows of one file, or those columns of it that were asked for."""

    def __init__(self, path: Path, *, numbers: Sequence[str], other: Sequence[str] = ()) -> None:
        """numbers: columns read as doubles.  other: columns kept as they are.
        Raises EngineUnavailable for a file that cannot be read, EngineMismatch for a column that is not there or no
        number."""
        self._shown = path.name
        self._connection = _connect()
        try:
            source = _reader(path)
            found = self._columns(source)
            self.numbers = [self._column(found, name, number=True) for name in numbers]
            self.other = [self._column(found, name) for name in other]
            # In two steps: DuckDB pushes a cast into its CSV reader, where a text that is no number raises.
            names = {*self.numbers, *self.other}
            read = ", ".join(map(quote_name, sorted(names)))
            self._run(f'CREATE TABLE texts AS SELECT row_number() OVER () - 1 AS "row of points", {read} FROM {source}')
            selected = [f"TRY_CAST({quote_name(name)} AS DOUBLE) AS n{i}" for i, name in enumerate(self.numbers)]
            selected += [f"{quote_name(name)} AS o{i}" for i, name in enumerate(self.other)]
            self._run(f'CREATE TABLE points AS SELECT "row of points" AS i, {", ".join(selected)} FROM texts')
            self._run("DROP TABLE texts")
            self.size = int(self._run("SELECT count(*) FROM points").fetchall()[0][0])
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> PointFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def values(self, position: int) -> Secret[npt.NDArray[np.float64]]:
        """The number column at this position, in the order of rows; NaN where there is no number."""
        text = f"SELECT COALESCE(n{position}, 'nan'::DOUBLE) AS v FROM points ORDER BY i"
        return Secret(np.ascontiguousarray(self._run(text).fetchnumpy()["v"], dtype=np.float64))

    def codes(self, position: int) -> Secret[npt.NDArray[np.int64]]:
        """Of the other column at this position: equal numbers for equal values, -1 for NULL, in the order of rows."""
        column = f"o{position}"
        text = (
            f"SELECT CAST(CASE WHEN {column} IS NULL THEN -1 ELSE dense_rank() OVER (ORDER BY {column}) END AS BIGINT)"
            " AS v FROM points ORDER BY i"
        )
        return Secret(np.asarray(self._run(text).fetchnumpy()["v"], dtype=np.int64))

    def write(self, path: Path, *, rows: npt.NDArray[np.int64], numbers: Sequence[npt.NDArray[Any]], keep: int) -> Path:
        """Write the first `keep` other columns of these rows, and `numbers` in place of the number columns, in the
        order of `rows`, into a hidden file beside `path`: whoever calls moves it there once it may be shown."""
        arrays = {"i": rows, "o": np.arange(len(rows))}
        arrays |= {f"v{i}": np.ascontiguousarray(each) for i, each in enumerate(numbers)}
        chosen = [f"p.o{i} AS {quote_name(name)}" for i, name in enumerate(self.other[:keep])]
        chosen += [f"n.v{i} AS {quote_name(self.numbers[i])}" for i in range(len(numbers))]
        written = "(FORMAT parquet, COMPRESSION zstd)" if path.suffix.lower() in PARQUET else "(FORMAT csv, HEADER)"
        hidden = path.with_name(f".{path.name}.{os.getpid()}.new")
        try:
            self._connection.register("noisy", arrays)
            text = f"SELECT {', '.join(chosen)} FROM noisy n JOIN points p ON p.i = n.i ORDER BY n.o"
            self._run(f"COPY ({text}) TO {quote_text(str(hidden))} {written}", writes=True)
        except BaseException:
            hidden.unlink(missing_ok=True)
            raise
        finally:
            self._connection.unregister("noisy")
        return hidden

    def _columns(self, source: str) -> dict[str, tuple[str, str]]:
        """Of the file: name and type by folded name."""
        rows = self._run(f"DESCRIBE SELECT * FROM {source}").fetchall()
        return {fold(str(row[0])): (str(row[0]), str(row[1])) for row in rows}

    def _column(self, found: dict[str, tuple[str, str]], name: str, *, number: bool = False) -> str:
        if fold(name) not in found:
            raise EngineMismatch(
                f"`{self._shown}` has no column `{name}`.",
                hint=f"Its columns are {', '.join(each for each, _ in list(found.values())[:20])}.",
            )
        shown, kind = found[fold(name)]
        if number and kind.partition("(")[0] not in _NUMBERS:
            raise EngineMismatch(f"Column `{shown}` of `{self._shown}` is of type {kind}, which holds no coordinate.")
        return shown

    def _run(self, text: str, *, writes: bool = False) -> duckdb.DuckDBPyConnection:
        try:
            return stoppable(self._connection, lambda: self._connection.execute(text))
        except duckdb.Error:
            if writes:
                raise EngineError(_NOT_WRITTEN) from None
            raise EngineUnavailable(
                f"`{self._shown}` cannot be read as it is named: .parquet, or .csv with a header, commas and quotes.",
                hint="A CSV file must have as many fields in every line as in its header.",
            ) from None


_NOT_WRITTEN = "The noisy places could not be written. The charge stands."


def _connect() -> duckdb.DuckDBPyConnection:
    connection = fresh_connection()
    connection.execute(f"SET temp_directory={quote_text(str(private_folder()))}")
    return connection


def _reader(path: Path) -> str:
    suffix = path.suffix.lower()
    # A name with these characters would be read as a pattern for many files.
    if suffix not in SUFFIXES or not path.is_file() or set("*?[") & set(str(path)):
        raise EngineUnavailable(
            f"`{path}` is no file of places that can be read.", hint="Give a file that ends in .parquet, .pq or .csv."
        )
    if suffix in PARQUET:
        return parquet_reader([str(path)])
    header = header_of(path, {})
    if not header or len({fold(name) for name in header}) < len(header):
        raise EngineUnavailable(f"`{path.name}` does not begin with a line of different column names, in UTF-8.")
    return strict_reader(path, header, {})
