"""Statements in plain SQL that SQLite and PostgreSQL read alike, with parameters by name.

Flow: `journal`, `vectors` and the other parts of a ledger define them once and run them on either database. Relies on
the drivers to bind the values: no value is ever part of a text. Written are `:name` and nothing else that begins with a
colon but `::` for a type.
"""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dither.ledger.storage.connection import Connection

__all__ = ["Statement", "insertion"]

Values = Mapping[str, object]

_PARAMETER = re.compile(r"(?<!:):([a-z_]+[0-9]*)")
_NONE: Values = {}


class Statement:
    def __init__(self, text: str) -> None:
        self._texts = {
            "sqlite": text,
            # psycopg's way of writing the same.
            "postgresql": _PARAMETER.sub(r"%(\1)s", text.replace("%", "%%")),
        }
        self._row: Callable[..., Any] | None = None

    def each(self, connection: Connection, values: Values = _NONE) -> Iterator[Any]:
        """What a query finds, as named tuples, one after another: for what may be long."""
        with _cursor(connection) as cursor:
            cursor.execute(self._texts[connection.dialect], values)
            if self._row is None:
                self._row = namedtuple("Row", [column[0] for column in cursor.description])  # type: ignore[misc]
            for found in cursor:
                yield self._row(*found)

    def rows(self, connection: Connection, values: Values = _NONE) -> list[Any]:
        return list(self.each(connection, values))

    def first(self, connection: Connection, values: Values = _NONE) -> Any:
        """The first row that a query finds; None when there is none."""
        return next(iter(self.rows(connection, values)), None)

    def execute(self, connection: Connection, values: Values = _NONE) -> None:
        """Run what finds nothing."""
        with _cursor(connection) as cursor:
            cursor.execute(self._texts[connection.dialect], values)

    def insert(self, connection: Connection, rows: Sequence[Values]) -> None:
        """Add these rows, one or more."""
        with _cursor(connection) as cursor:
            if len(rows) == 1:
                cursor.execute(self._texts[connection.dialect], rows[0])
            else:
                cursor.executemany(self._texts[connection.dialect], rows)


def insertion(table: str, columns: str) -> Statement:
    """Adds rows to a table.  columns: their names as SQL lists them; the values are taken by the same names."""
    places = ", ".join(f":{name}" for name in columns.split(", "))
    return Statement(f"INSERT INTO {table} ({columns}) VALUES ({places})")


@contextmanager
def _cursor(connection: Connection) -> Iterator[Any]:
    """A cursor inside the connection's transaction."""
    cursor = connection.driver.cursor()
    try:
        yield cursor
    finally:
        cursor.close()
