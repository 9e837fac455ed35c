"""Statements that run for every question: written in SQLAlchemy Core, compiled once, run on the driver's cursor.

Flow: `journal` and `vectors` define them and run them on either database. Relies on SQLAlchemy's compiler for the text
and the order of parameters, and on its connection for the transaction. Core's own execution path takes four times as
long as SQLite does (90 against 20 microseconds a statement), and all writers wait for each other meanwhile.
Only for statements without expanding IN lists and without types that need conversion.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Insert, Select, exc
from sqlalchemy.sql.selectable import CompoundSelect

__all__ = ["Prepared"]

Parameters = Mapping[str, object]


@dataclass(frozen=True)
class _Compiled:
    text: str
    order: tuple[str, ...] | None
    """Names in order of their places; None where the driver takes them by name."""
    fixed: Parameters
    """Parameters the statement holds itself, such as a LIMIT."""

    def bind(self, values: Parameters) -> Any:
        bound = {**self.fixed, **values}
        return bound if self.order is None else tuple(bound[name] for name in self.order)


class Prepared:
    def __init__(self, statement: Select[Any] | CompoundSelect[Any] | Insert) -> None:
        self._statement = statement
        self._compiled: dict[str, _Compiled] = {}
        self._row: Callable[..., Any] | None = None

    def rows(self, connection: Connection, values: Parameters | None = None) -> list[Any]:
        """What a query finds, as named tuples."""
        compiled = self._for(connection)
        with _cursor(connection, compiled.text) as cursor:
            cursor.execute(compiled.text, compiled.bind(values or {}))
            if self._row is None:
                self._row = namedtuple("Row", [column[0] for column in cursor.description])  # type: ignore[misc]
            return [self._row(*found) for found in cursor.fetchall()]

    def insert(self, connection: Connection, rows: Sequence[Parameters]) -> None:
        """Add these rows, one or more."""
        compiled = self._for(connection)
        with _cursor(connection, compiled.text) as cursor:
            if len(rows) == 1:
                cursor.execute(compiled.text, compiled.bind(rows[0]))
            else:
                cursor.executemany(compiled.text, [compiled.bind(row) for row in rows])

    def _for(self, connection: Connection) -> _Compiled:
        name = connection.dialect.name
        if name not in self._compiled:
            compiled: Any = self._statement.compile(dialect=connection.dialect)
            order = tuple(compiled.positiontup) if compiled.positional else None
            fixed = {key: value for key, value in compiled.params.items() if value is not None}
            self._compiled[name] = _Compiled(str(compiled), order, fixed)
        return self._compiled[name]


@contextmanager
def _cursor(connection: Connection, text: str) -> Iterator[Any]:
    """A cursor inside the connection's transaction. The driver's errors become SQLAlchemy's, without parameters."""
    driver: Any = connection.dialect.loaded_dbapi
    cursor = connection.connection.cursor()
    try:
        yield cursor
    except driver.Error as error:
        raise exc.DBAPIError(text, None, error, hide_parameters=True) from error
    finally:
        cursor.close()
