"""The catalog's tables as the source has them: their columns, and SQL that reads a row's columns and its unit.

Flow: the engine reads the schema when it has connected (`read_schema`) and makes `Tables` of it; what prints SQL asks
these for a FROM clause, columns and unit (`emission.TableSource`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import duckdb

from dither.catalog.model import Catalog, Column, ColumnUnit, ReferenceUnit, RowUnit, Table, fold
from dither.catalog.schema import SchemaColumn, SchemaTable, column_type
from dither.engines.emission import TableSource
from dither.engines.sources import Source, view_name
from dither.errors import EngineMismatch
from dither.plan import nodes
from dither.plan.reads import read_column
from dither.plan.separable import source_names
from dither.sql.expressions import Expr
from dither.sql.printing import quote_name

__all__ = ["Tables", "read_schema", "salt_of"]

_WHOLE = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER")


def read_schema(cursor: duckdb.DuckDBPyConnection, catalog: Catalog, source: Source) -> list[SchemaTable]:
    """Names and types of the tables that the source has of the catalog's; what the engine enforces on their columns."""
    result = []
    for key, table in catalog.tables.items():
        try:
            rows = cursor.execute(f"DESCRIBE {quote_name(view_name(key))}").fetchall()
        except duckdb.Error:
            continue
        enforced = source.enforced(cursor, table)
        columns = [
            SchemaColumn(
                str(row[0]),
                str(row[1]),
                nullable=fold(str(row[0])) not in enforced.required,
                unique=fold(str(row[0])) in enforced.unique,
            )
            for row in rows
        ]
        result.append(SchemaTable(table.source_name or table.name, columns))
    return result


def salt_of(catalog: Catalog, table: str) -> int:
    """What the order of a table's kept rows is mixed with: the same for one catalog, whenever it is opened."""
    digest = hashlib.sha256(f"{catalog.name}\0{table}".encode()).digest()
    return int.from_bytes(digest[:7], "big")


class Tables:
    """How SQL reads the tables of one catalog, by the schema that was found."""

    def __init__(self, catalog: Catalog, schema: Sequence[SchemaTable]) -> None:
        self._catalog = catalog
        self.schema = schema

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

    def source(self, table: str) -> TableSource:
        entry = self._catalog.tables[table]
        from_sql, unit_sql = self._resolved(entry, "t")
        return TableSource(from_sql, unit_sql, lambda name: self._column_sql(table, name), self._whole_unit(entry))

    def declared(self, table: str, column: str) -> Column | None:
        return self._catalog.tables[table].column(column)

    def whole_scan(self, table: str, tau: int) -> tuple[nodes.Scan, dict[str, Expr]]:
        """The scan of a protected table as lowering would make it, and its columns as questions read them."""
        schema = self._schema_of(table)
        assert schema is not None
        entry = self._catalog.tables[table]
        unit = entry.unit.column if isinstance(entry.unit, ColumnUnit) else None
        unique = unit is not None and (stored := schema.column(unit)) is not None and stored.unique
        columns = tuple(nodes.ScanColumn(f"s0_{i}", name) for i, name in enumerate(source_names(entry, schema)))
        read = {}
        for column in columns:
            found = schema.column(column.name)
            assert found is not None
            declared = entry.column(column.name) or Column(column.name, "text")
            read[column.id] = read_column(declared, found.engine_type, column.id)
        truncated = not unique and not isinstance(entry.unit, RowUnit)
        return nodes.Scan(fold(entry.name), columns, "s0_unit", tau, truncated=truncated), read

    def _whole_unit(self, table: Table) -> str | None:
        if not isinstance(table.unit, ColumnUnit):
            return None
        found = self._find(fold(table.name), table.unit.column)
        return fold(found.name) if found is not None and found.engine_type in _WHOLE else None

    def _column_sql(self, table: str, name: str) -> str:
        """A stored column; texts compare by their bytes from here on, or a case-insensitive column would rank, hash
        and group 'a' and 'A' by the order they are stored in."""
        found = self._find(table, name)
        text = found is not None and found.engine_type.startswith("VARCHAR")
        return f"(t.{quote_name(name)} COLLATE C)" if text else f"t.{quote_name(name)}"

    def _resolved(self, table: Table, alias: str) -> tuple[str, str | None]:
        """FROM clause with the reference path joined, and the unit over it (NULL: does not resolve)."""
        view = f"{quote_name(view_name(fold(table.name)))} AS {alias}"
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
        found = self._find(fold(table.name), column)
        assert found is not None
        name = f"{alias}.{quote_name(found.name)}"
        if column_type(found.engine_type) == "text":
            plain = found.engine_type.startswith("VARCHAR")
            return f"({name} COLLATE C)" if plain else f"CAST({name} AS VARCHAR)"
        return name

    def _find(self, table: str, column: str) -> SchemaColumn | None:
        schema = self._schema_of(table)
        return None if schema is None else schema.column(column)

    def _schema_of(self, table: str) -> SchemaTable | None:
        """By the stored table's name: two of the catalog's may be the same."""
        entry = self._catalog.tables[table]
        return next((found for found in self.schema if found.name == (entry.source_name or entry.name)), None)
