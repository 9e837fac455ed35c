"""DuckDB over a database file, Parquet files, CSV files or a frame: locked down before the first question.

Flow: `open_engine` builds it from a catalog; the session calls the methods of `engines.base.Engine`. How SQL reads the
catalog's tables is in `tables`, what `dither tune` stored of them in `stored`.
Only SQL printed by `engines.emit` runs here. Analysts' text never does, and no message of DuckDB leaves this file.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.catalog.model import Catalog, fold
from dither.catalog.schema import SchemaTable
from dither.engines import emit, levels
from dither.engines.base import Histogram, MeasuredTable
from dither.engines.emission import Emission, Extent
from dither.engines.private_folder import private_folder
from dither.engines.reading import NAN_ANYWHERE
from dither.engines.relations import ids_of, kept_relation_sql, relation_sql
from dither.engines.sources import Source, open_source
from dither.engines.stopping import stoppable
from dither.engines.stored import StoredTables, kept_query
from dither.engines.tables import Tables, read_schema, salt_of
from dither.errors import EngineError, EngineUnavailable, GuaranteeError
from dither.mechanisms.value_bounds import LEVELS
from dither.plan import nodes
from dither.secret import Secret
from dither.sql.embedded import Columns
from dither.sql.expressions import columns_of
from dither.sql.printing import print_expr, quote_name
from dither.sql.types import Kind

__all__ = ["DuckDBEngine", "open_engine"]

MOST_PREPARED = 8
_UNREADABLE = (duckdb.IOException, duckdb.InvalidInputException, duckdb.PermissionException)

FAILED = "The database could not answer. What it said is for the owner only; the charge stands."

# They read files ahead, which the system does for a local disk. From the start: each has taken its memory by the time
# it could be sent away, 7 MB in all.
NO_READERS: dict[str, str | bool | int | float | list[str]] = {"async_threads": 0}

# GLOBAL: without it most settings are those of one connection, and its cursors do not have them.
SETTINGS = (
    "SET GLOBAL TimeZone='UTC'",
    "SET GLOBAL autoinstall_known_extensions=false",
    "SET GLOBAL autoload_known_extensions=false",
    "SET GLOBAL python_enable_replacements=false",
    NAN_ANYWHERE,
    # It turns `row_number() <= k` into an arg_min that is three times slower and takes 2.6 times the memory.
    # And group columns that are narrowed first cost a cast a row, where a plain array of groups needs none.
    "SET GLOBAL disabled_optimizers='compressed_materialization,top_n_window_elimination'",
    "SET GLOBAL preserve_insertion_order=false",
    # Files are on a local disk, which the system reads ahead: reading whole row groups first takes 14 MB for nothing.
    "SET GLOBAL disable_parquet_prefetching=true",
    # Histograms of a million cells count in a plain array, where the cells' range is known: four times as fast.
    "SET GLOBAL perfect_ht_threshold=21",
)


class DuckDBEngine:
    """One private in-memory DuckDB that reads the catalog's tables through views."""

    def __init__(self, catalog: Catalog, source: Source, *, kept_path: Path | None) -> None:
        self._catalog = catalog
        self._source = source
        self._stored = None if kept_path is None else StoredTables(catalog, source, kept_path)
        self._lock = threading.Lock()
        self._extents: dict[str, tuple[str, Extent | None]] = {}
        self._public_version: str | None = None
        self._prepared: dict[tuple[str, ...], duckdb.DuckDBPyConnection] = {}
        self._connection = self._connect()
        self._tables = Tables(catalog, read_schema(self._cursor(), catalog, source))
        self._tables.check_references()

    # What planning sees ------------------------------------------------------------------------------------------

    def schema(self) -> Sequence[SchemaTable]:
        return self._tables.schema

    def read_public(self, node: nodes.Rows, select: str, suffix: str = "") -> Columns:
        for below in nodes.walk_rows(node):
            if isinstance(below, nodes.Scan) or (
                isinstance(below, nodes.PublicScan) and not self._catalog.tables[below.table].is_public
            ):
                raise GuaranteeError("Planning asked for rows of a protected table.")
        relation = relation_sql(node, self._emission(), ids_of(node))
        try:
            self._public_version = self._public_version or self._source.version()
            return self._fetched(f"{select} FROM ({relation}) AS rows{suffix}")
        except duckdb.Error:
            raise EngineError("A public table could not be read.") from None

    def refresh(self) -> bool:
        if self._public_version in (None, self._source.version()):
            return False
        self._public_version = None
        return True

    def prepare(self, measures: Sequence[nodes.Measure]) -> None:
        # Raises where what is there now cannot be read: before it is charged.
        before = self._source.version()
        texts = self._texts(measures)
        cursor = self._cursor()
        try:
            for number, text in enumerate(texts):
                cursor.execute(f"PREPARE question{number} AS {text}")
        except duckdb.Error as error:
            # A file that is gone counts as a pattern, which looks in folders that are closed to it.
            if isinstance(error, _UNREADABLE) or self._source.version() != before:
                raise EngineUnavailable(
                    f"The source `{self._source.shown}` cannot be read now.",
                    hint="A file may be missing, or not be whole.",
                ) from None
            raise GuaranteeError("The database does not accept the SQL made for this question.") from None
        with self._lock:
            # What was bound here is run by `measure`, when it is asked for the same: planning is paid for once.
            while len(self._prepared) >= MOST_PREPARED:
                self._prepared.pop(next(iter(self._prepared)))
            self._prepared[tuple(texts)] = cursor

    # What is charged for ------------------------------------------------------------------------------------------

    def measure(self, measures: Sequence[nodes.Measure]) -> Secret[list[MeasuredTable]]:
        with self._one_state():
            texts = self._texts(measures)
            with self._lock:
                prepared = self._prepared.pop(tuple(texts), None)
            cursor = prepared if prepared is not None else self._cursor()
            statements = [f"EXECUTE question{i}" for i in range(len(texts))] if prepared is not None else texts
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            try:
                read = stoppable(cursor, lambda: [cursor.execute(each).fetchnumpy() for each in statements])
            finally:
                cursor.execute("ROLLBACK")
        results = iter(read)
        return Secret([_table(measure, results) for measure in measures])

    def rows_per_unit(self, table: str, levels: Sequence[int]) -> Secret[npt.NDArray[np.int64]]:
        source = self._tables.source(table)
        assert source.unit_sql is not None
        present = f"{source.from_sql} WHERE {source.unit_sql} IS NOT NULL"
        counts = f"SELECT count(*) AS n FROM {present} GROUP BY {source.unit_sql}"
        above = ", ".join(f"count(*) FILTER (WHERE n > {int(level)}) AS n{level}" for level in levels)
        with self._one_state():
            found = self._fetched(f"SELECT {above} FROM ({counts}) AS units")
        return Secret(np.concatenate([_integers(found[f"n{level}"]) for level in levels]))

    def values_per_level(self, table: str, column: str, tau: int) -> Secret[npt.NDArray[np.int64]]:
        scan, columns = self._tables.whole_scan(table, tau)
        found = next(entry for entry in scan.columns if fold(entry.name) == column)
        # Other numbers are levelled as they are stored; on a decimal of too many digits the engine would fail.
        decimal = columns[found.id].type.kind is Kind.DECIMAL
        number = print_expr(columns[found.id]) if decimal else quote_name(found.id)
        with self._one_state():
            rows = kept_relation_sql(scan, self._emission(), frozenset({found.id}))
            read = self._fetched(levels.levels_sql(rows, number))
        counts = np.zeros(2 * LEVELS + 1, dtype=np.int64)
        counts[_integers(read["level"]) + LEVELS] = _integers(read["n"])
        return Secret(counts)

    def one_row_each(self, table: str, columns: Sequence[str]) -> Secret[Columns]:
        scan, read = self._tables.whole_scan(table, 1)
        declared = self._catalog.tables[table].columns
        wanted = {fold(entry.name): read[entry.id] for entry in scan.columns if fold(entry.name) in columns}
        selected = [f"{print_expr(wanted[name])} AS {quote_name(declared[name].name)}" for name in columns]
        with self._one_state():
            rows = kept_relation_sql(scan, self._emission(), columns_of(*wanted.values()))
            # In an order of their own: which of them a seed draws must not follow from how threads finished.
            ordered = f"SELECT {', '.join(selected)} FROM ({rows}) AS q ORDER BY ALL"
            found = self._fetched(ordered)
        return Secret(found)

    # What the owner stores ----------------------------------------------------------------------------------------

    def store_kept(self, table: str, tau: int) -> None:
        if self._stored is None:
            return
        scan, columns = self._tables.whole_scan(table, tau)
        query = kept_query(scan, columns, self._emission(use_stored=False))
        self._prepared.clear()
        self._connection.close()
        try:
            self._stored.write(self._plain_connection, scan, query)
        finally:
            self._connection = self._connect()

    def close(self) -> None:
        self._prepared.clear()
        self._connection.close()
        self._source.close()

    # Inside -------------------------------------------------------------------------------------------------------

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = self._plain_connection()
        if self._stored is not None:
            self._stored.attach(connection)
        allowed = [*self._source.files(), *(self._stored.files() if self._stored is not None else [])]
        connection.execute(f"SET allowed_paths={_path_list(allowed)}")
        connection.execute("SET enable_external_access=false")
        connection.execute("SET lock_configuration=true")
        return connection

    def _plain_connection(self) -> duckdb.DuckDBPyConnection:
        """A connection with the views made and the settings set, not yet locked."""
        connection = duckdb.connect(":memory:", config=NO_READERS)
        for setting in SETTINGS:
            connection.execute(setting)
        connection.execute(f"SET temp_directory='{_quoted_path(private_folder())}'")
        try:
            self._source.mount(connection, self._catalog.tables)
        except duckdb.Error:
            raise EngineUnavailable(
                f"The source `{self._source.shown}` cannot be opened now.",
                hint="Another program may be writing to it, a file may be missing, or it is no database of this kind.",
            ) from None
        return connection

    @contextmanager
    def _one_state(self) -> Iterator[None]:
        """Reads one version of everything, that which planning read of public tables, or fails as any reading does."""
        before = self._state()
        if self._public_version not in (None, before[0]):
            raise EngineError(FAILED)
        try:
            yield
        except duckdb.Error:
            raise EngineError(FAILED) from None
        if self._state() != before:
            raise EngineError(FAILED)

    def _state(self) -> tuple[str, str]:
        """The versions of all that questions read."""
        return self._source.version(), "" if self._stored is None else self._stored.version()

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            return self._connection.cursor()

    def _fetched(self, sql: str) -> Columns:
        cursor = self._cursor()
        return dict(stoppable(cursor, lambda: cursor.execute(sql).fetchnumpy()))

    def _texts(self, measures: Sequence[nodes.Measure]) -> list[str]:
        """The SQL of measures: for each its sums, then its histograms."""
        emission = self._emission()
        texts = []
        for measure in measures:
            texts.append(emit.measure_sql(measure, emission))
            texts += [emit.histogram_sql(measure, position, emission) for position in _histograms_of(measure)]
        return texts

    def _emission(self, *, use_stored: bool = True) -> Emission:
        return Emission(
            self._tables.source,
            self._stored.find if use_stored and self._stored is not None else _nothing_stored,
            partial(salt_of, self._catalog),
            self._tables.declared,
            self._extent,
        )

    def _extent(self, table: str) -> Extent | None:
        version = self._source.version()
        if table not in self._extents or self._extents[table][0] != version:
            try:
                found = self._source.extent(self._cursor(), table, self._catalog.tables[table])
            except duckdb.Error:
                found = None
            self._extents[table] = (version, found)
        return self._extents[table][1]


def open_engine(catalog: Catalog, location: str, *, kept_path: Path | None = None, frame: Any = None) -> DuckDBEngine:
    """The engine for a catalog whose source is a file, a folder or a glob at `location`, or a frame."""
    return DuckDBEngine(catalog, open_source(catalog, location, frame=frame), kept_path=kept_path)


def _table(measure: nodes.Measure, results: Iterator[dict[str, Any]]) -> MeasuredTable:
    """The next results, which are the measure's sums and then its histograms."""
    data = next(results)
    vectors = tuple(_integers(data[f"v{i}"]) for i in range(len(measure.vectors)))
    histograms = {position: _histogram(measure, next(results)) for position in _histograms_of(measure)}
    return MeasuredTable({key.id: data[key.id] for key in measure.keys}, vectors, histograms)


def _histogram(measure: nodes.Measure, data: dict[str, Any]) -> Histogram:
    return Histogram({key.id: data[key.id] for key in measure.keys}, _integers(data["cell"]), _integers(data["v0"]))


def _histograms_of(measure: nodes.Measure) -> list[int]:
    return [position for position, vector in enumerate(measure.vectors) if vector.kind == "histogram"]


def _integers(column: Any) -> npt.NDArray[np.int64]:
    """The column, which must have come as 64-bit integers: anything else would have lost bits."""
    array = np.asarray(column)
    if array.dtype != np.int64:
        raise EngineError(FAILED)
    return array


def _nothing_stored(scan: nodes.Scan) -> str | None:
    return None


def _quoted_path(path: Path | str) -> str:
    return str(path).replace("'", "''")


def _path_list(paths: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{_quoted_path(path)}'" for path in paths) + "]"
