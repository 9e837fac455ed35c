"""DuckDB over a database file, Parquet files, CSV files or a frame: locked down before the first question.

Flow: `open_engine` builds it from a catalog; the session calls the methods of `engines.base.Engine`.
Only SQL printed by `engines.emit` runs here. Analysts' text never does, and no message of DuckDB leaves this file.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.catalog.model import Catalog, ColumnUnit, ReferenceUnit, RowUnit, Table, fold
from dither.catalog.schema import SchemaColumn, SchemaTable, column_type
from dither.engines import emit, relations, sources
from dither.engines.base import Histogram, MeasuredTable
from dither.engines.private_folder import private_folder
from dither.errors import EngineError, EngineMismatch, EngineUnavailable, GuaranteeError, InvalidParameter
from dither.plan import nodes
from dither.secret import Secret
from dither.sql.embedded import Columns
from dither.sql.printing import quote_name

__all__ = ["DuckDBEngine", "open_engine", "schema_at"]

MOST_PREPARED = 8

FAILED = "The database could not answer. What it said is for the owner only; the charge stands."

SETTINGS = (
    "SET TimeZone='UTC'",
    "SET autoinstall_known_extensions=false",
    "SET autoload_known_extensions=false",
    "SET python_enable_replacements=false",
    # It turns `row_number() <= k` into an arg_min that is three times slower and takes 2.6 times the memory.
    "SET disabled_optimizers='top_n_window_elimination'",
    "SET preserve_insertion_order=false",
)


class DuckDBEngine:
    """One private in-memory DuckDB that reads the catalog's tables through views."""

    def __init__(self, catalog: Catalog, source: sources.Source, *, heavy_path: Path | None) -> None:
        self._catalog = catalog
        self._source = source
        self._heavy_path = heavy_path
        self._lock = threading.Lock()
        self._heavy: dict[str, tuple[int, str]] = {}
        self._public_version: str | None = None
        self._prepared: dict[tuple[str, ...], duckdb.DuckDBPyConnection] = {}
        self._connection = self._connect()
        self._schema = self._read_schema()
        self.check_references()

    # What planning sees ------------------------------------------------------------------------------------------

    def schema(self) -> Sequence[SchemaTable]:
        return self._schema

    def read_public(self, node: nodes.Rows, select: str, suffix: str = "") -> Columns:
        for below in nodes.walk_rows(node):
            if isinstance(below, nodes.Scan) or (
                isinstance(below, nodes.PublicScan) and not self._catalog.tables[below.table].is_public
            ):
                raise GuaranteeError("Planning asked for rows of a protected table.")
        relation = relations.relation_sql(node, self._emission(), relations.ids_of(node))
        try:
            self._public_version = self._public_version or self._source.version()
            return dict(self._cursor().execute(f"{select} FROM ({relation}) AS rows{suffix}").fetchnumpy())
        except duckdb.Error:
            raise EngineError("A public table could not be read.") from None

    # What is charged for ------------------------------------------------------------------------------------------

    def measure(self, measures: Sequence[nodes.Measure]) -> Secret[list[MeasuredTable]]:
        before = self._source.version()
        if self._public_version not in (None, before):
            raise EngineError(FAILED)
        texts = self._texts(measures)
        with self._lock:
            prepared = self._prepared.pop(tuple(texts), None)
        cursor = prepared if prepared is not None else self._cursor()
        statements = [f"EXECUTE question{i}" for i in range(len(texts))] if prepared is not None else texts
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            try:
                results = iter([cursor.execute(statement).fetchnumpy() for statement in statements])
            finally:
                cursor.execute("ROLLBACK")
        except duckdb.Error:
            raise EngineError(FAILED) from None
        if self._source.version() != before:
            raise EngineError(FAILED)
        return Secret([_table(measure, results) for measure in measures])

    def rows_per_unit(self, table: str, levels: Sequence[int]) -> Secret[npt.NDArray[np.int64]]:
        source = self._table_source(table)
        assert source.unit_sql is not None
        present = f"{source.from_sql} WHERE {source.unit_sql} IS NOT NULL"
        counts = f"SELECT count(*) AS n FROM {present} GROUP BY {source.unit_sql}"
        above = ", ".join(f"count(*) FILTER (WHERE n > {int(level)})" for level in levels)
        try:
            row = self._cursor().execute(f"SELECT {above} FROM ({counts}) AS units").fetchone()
        except duckdb.Error:
            raise EngineError(FAILED) from None
        assert row is not None
        return Secret(np.array(row, dtype=np.int64))

    def store_heavy(self, table: str, tau: int) -> None:
        """Rank heavy units' rows once and keep them, with the physical version they were built from."""
        if self._heavy_path is None or isinstance(self._catalog.tables[table].unit, RowUnit):
            return
        schema = next(entry for entry in self._schema if self._key_of(entry) == table)
        scan = _scan_for(self._catalog.tables[table], schema, tau)
        query = relations.heavy_query(scan, self._emission(stored=False))
        self._prepared.clear()
        self._connection.close()
        _write_heavy(self._heavy_path, self._plain_connection, table, query, tau, self._stamp(scan))
        self._connection.close()
        self._connection = self._connect()

    def close(self) -> None:
        self._prepared.clear()
        self._connection.close()
        self._source.close()

    # Inside -------------------------------------------------------------------------------------------------------

    def _connect(self) -> duckdb.DuckDBPyConnection:
        connection = self._plain_connection()
        self._heavy = self._attach_heavy(connection)
        allowed = [*self._source.files(), *([str(self._heavy_path)] if self._heavy else [])]
        connection.execute(f"SET allowed_paths={_path_list(allowed)}")
        connection.execute("SET enable_external_access=false")
        connection.execute("SET lock_configuration=true")
        return connection

    def _plain_connection(self) -> duckdb.DuckDBPyConnection:
        """A connection with the views made and the settings set, not yet locked."""
        connection = duckdb.connect(":memory:")
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

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        with self._lock:
            return self._connection.cursor()

    def _read_schema(self) -> list[SchemaTable]:
        cursor = self._cursor()
        result = []
        for key, table in self._catalog.tables.items():
            view = quote_name(sources.view_name(key))
            try:
                rows = cursor.execute(f"DESCRIBE {view}").fetchall()
            except duckdb.Error:
                continue
            unique = self._source.unique_columns(cursor, table)
            columns = [
                SchemaColumn(str(row[0]), str(row[1]), nullable=True, unique=fold(str(row[0])) in unique)
                for row in rows
            ]
            result.append(SchemaTable(table.source_name or table.name, columns))
        return result

    def check_references(self) -> None:
        """Both ends of a reference must be of one type: the engine would cast, and could fail on one person's row."""
        for table in self._catalog.protected:
            if not isinstance(table.unit, ReferenceUnit):
                continue
            ends = [(fold(table.name), table.unit.column), (fold(table.unit.table), table.unit.key)]
            types = {
                column_type(found.engine_type) for found in (self._find(*end) for end in ends) if found is not None
            }
            if len(types) > 1:
                raise EngineMismatch(
                    f"{table.name}.{table.unit.column} refers to {table.unit.table}.{table.unit.key}, "
                    "but the two are of different types.",
                    hint="Store both as the same type.",
                )

    def prepare(self, measures: Sequence[nodes.Measure]) -> None:
        texts = self._texts(measures)
        cursor = self._cursor()
        try:
            for number, text in enumerate(texts):
                cursor.execute(f"PREPARE question{number} AS {text}")
        except duckdb.Error:
            raise GuaranteeError("The database does not accept the SQL made for this question.") from None
        with self._lock:
            # What was bound here is run by `measure`, when it is asked for the same: planning is paid for once.
            while len(self._prepared) >= MOST_PREPARED:
                self._prepared.pop(next(iter(self._prepared)))
            self._prepared[tuple(texts)] = cursor

    def _texts(self, measures: Sequence[nodes.Measure]) -> list[str]:
        """The SQL of measures: for each its sums, then its histograms."""
        emission = self._emission()
        texts = []
        for measure in measures:
            texts.append(emit.measure_sql(measure, emission))
            texts += [emit.histogram_sql(measure, position, emission) for position in _histograms_of(measure)]
        return texts

    def refresh(self) -> bool:
        if self._public_version in (None, self._source.version()):
            return False
        self._public_version = None
        return True

    def _find(self, table: str, column: str) -> SchemaColumn | None:
        entry = next((entry for entry in self._schema if self._key_of(entry) == table), None)
        return None if entry is None else entry.column(column)

    def _key_of(self, entry: SchemaTable) -> str:
        for key, table in self._catalog.tables.items():
            if (table.source_name or table.name) == entry.name:
                return key
        raise KeyError(entry.name)

    def _emission(self, *, stored: bool = True) -> relations.Emission:
        return relations.Emission(self._table_source, self._stored_heavy if stored else _never_stored, self._salt)

    def _table_source(self, table: str) -> relations.TableSource:
        entry = self._catalog.tables[table]
        from_sql, unit_sql = self._resolved(entry, "t")
        return relations.TableSource(from_sql, unit_sql, lambda name: self._column_sql(table, name))

    def _column_sql(self, table: str, name: str) -> str:
        """A stored column; texts compare by their bytes from here on, or a case-insensitive column would rank, hash
        and group 'a' and 'A' by the order they are stored in."""
        found = self._find(table, name)
        text = found is not None and found.engine_type.startswith("VARCHAR")
        return f"(t.{quote_name(name)} COLLATE C)" if text else f"t.{quote_name(name)}"

    def _resolved(self, table: Table, alias: str) -> tuple[str, str | None]:
        """FROM clause with the reference path joined, and the unit over it (NULL: does not resolve)."""
        view = f"{quote_name(sources.view_name(fold(table.name)))} AS {alias}"
        match table.unit:
            case None:
                return view, None
            case RowUnit():
                # Every row is its own unit: the value only has to be there.
                return view, "TRUE"
            case ColumnUnit(column):
                return view, self._unit_sql(table, column, alias)
            case ReferenceUnit(column, target, key, _):
                referred = self._catalog.tables[fold(target)]
                inner, unit = self._resolved(referred, "t")
                key_sql = self._unit_sql(referred, key, "t")
                # Where the key is the unit itself, several rows of it are one unit: DISTINCT keeps rows from doubling.
                distinct = (
                    "DISTINCT "
                    if isinstance(referred.unit, ColumnUnit) and fold(referred.unit.column) == fold(key)
                    else ""
                )
                resolved = f"(SELECT {distinct}{key_sql} AS key, {unit} AS unit FROM {inner} WHERE {unit} IS NOT NULL)"
                own = self._unit_sql(table, column, alias)
                return f"{view} JOIN {resolved} AS ref ON {own} = ref.key", "ref.unit"

    def _unit_sql(self, table: Table, column: str, alias: str) -> str:
        found = next(
            c
            for e in self._schema
            if self._key_of(e) == fold(table.name)
            for c in e.columns
            if fold(c.name) == fold(column)
        )
        name = f"{alias}.{quote_name(found.name)}"
        if column_type(found.engine_type) == "text":
            plain = found.engine_type.startswith("VARCHAR")
            return f"({name} COLLATE C)" if plain else f"CAST({name} AS VARCHAR)"
        return name

    def _salt(self, table: str) -> int:
        digest = hashlib.sha256(f"{self._catalog.name}\0{table}".encode()).digest()
        return int.from_bytes(digest[:7], "big")

    def _stored_heavy(self, scan: nodes.Scan) -> str | None:
        stored = self._heavy.get(scan.table)
        if stored is None or stored != (scan.tau, self._stamp(scan)):
            return None
        return f"heavy.{quote_name(scan.table)}"

    def _stamp(self, scan: nodes.Scan) -> str:
        """What stored rows depend on: the physical version of the source, the columns, the unit's path, the salt."""
        facts = repr((self._source.version(), scan.table, [c.name for c in scan.columns], self._salt(scan.table)))
        return hashlib.sha256((facts + self._catalog.promise_digest()).encode()).hexdigest()

    def _attach_heavy(self, connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
        if self._heavy_path is None or not self._heavy_path.exists():
            return {}
        try:
            connection.execute(f"ATTACH '{_quoted_path(self._heavy_path)}' AS heavy (READ_ONLY)")
            rows = connection.execute("SELECT name, tau, stamp FROM heavy.stored").fetchall()
        except duckdb.Error:
            # Any doubt about what is stored means ranking inside the question.
            return {}
        return {str(name): (int(tau), str(stamp)) for name, tau, stamp in rows}


def open_engine(catalog: Catalog, location: str, *, heavy_path: Path | None = None, frame: Any = None) -> DuckDBEngine:
    """The engine for a catalog whose source is a file, a folder or a glob at `location`, or a frame."""
    return DuckDBEngine(catalog, sources.open_source(catalog, location, frame=frame), heavy_path=heavy_path)


def schema_at(location: str, frame: Any) -> list[SchemaTable]:
    """Names and types of the tables at a location (or of a frame), before there is a catalog. Reads no row."""
    if frame is not None:
        connection = duckdb.connect(":memory:")
        try:
            connection.register("frame", frame)
            rows = connection.execute("DESCRIBE frame").fetchall()
        except (duckdb.Error, TypeError):
            raise InvalidParameter(
                "source",
                expected="a catalog file, a data file, or a pandas, Polars or Arrow table",
                found=type(frame).__name__,
            ) from None
        finally:
            connection.close()
        return [SchemaTable("data", [SchemaColumn(str(r[0]), str(r[1])) for r in rows])]
    return sources.describe(location)


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


def _scan_for(table: Table, schema: SchemaTable, tau: int) -> nodes.Scan:
    """The scan of a table as lowering would make it: same columns in the same order."""
    from dither.plan.separable import source_names

    columns = tuple(nodes.ScanColumn(f"s0_{i}", name) for i, name in enumerate(source_names(table, schema)))
    return nodes.Scan(fold(table.name), columns, "s0_unit", tau, truncated=True)


def _write_heavy(
    path: Path, connect: Callable[[], duckdb.DuckDBPyConnection], table: str, query: str, tau: int, stamp: str
) -> None:
    """Write one table's ranked rows into the owner's private file, which nobody else can read."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
    connection = connect()
    old = os.umask(0o077)
    try:
        connection.execute(f"ATTACH '{_quoted_path(path)}' AS heavy")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS heavy.stored (name VARCHAR PRIMARY KEY, tau BIGINT, stamp VARCHAR)"
        )
        connection.execute("DELETE FROM heavy.stored WHERE name = ?", [table])
        connection.execute(f"CREATE OR REPLACE TABLE heavy.{quote_name(table)} AS SELECT * FROM ({query}) ORDER BY r")
        # The row comes last: a half-written table has no stamp and is never used.
        connection.execute("INSERT INTO heavy.stored VALUES (?, ?, ?)", [table, tau, stamp])
        connection.execute("DETACH heavy")
    except duckdb.Error:
        raise EngineError("The rows of heavy units could not be stored.") from None
    finally:
        os.umask(old)
        connection.close()


def _never_stored(scan: nodes.Scan) -> str | None:
    return None


def _quoted_path(path: Path | str) -> str:
    return str(path).replace("'", "''")


def _path_list(paths: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{_quoted_path(path)}'" for path in paths) + "]"
