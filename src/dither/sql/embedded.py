"""The embedded DuckDB: parses questions, prints checked trees, derives public domains, and finishes noisy tables.

Flow: the only database that ever sees an analyst's syntax. It holds no protected row, is locked down before first
use, and is shared by all sessions of a process: each use takes a cursor of its own.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from decimal import Decimal
from functools import lru_cache
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from dither.errors import QueryRefused, Span

__all__ = [
    "Columns",
    "LONGEST_S",
    "MAX_DEPTH",
    "evaluate",
    "expression",
    "parse_json",
    "print_tree",
    "run",
    "shown",
    "tokens_of",
    "too_deep",
    "typed_column",
    "within_depth",
]

Columns = dict[str, npt.NDArray[Any]]
"""Column name -> values; masked arrays where there are NULLs; object arrays for text."""

MAX_DEPTH = 1000
SURELY_PRINTED = 240
"""Objects and lists inside each other, in a tree that DuckDB turns into SQL; its own limit is 256."""
LONGEST_S = 60
"""Seconds that one statement may take."""
LONGEST_KEPT = 8_000
"""Characters of a text whose conversion is kept; the tree of a question is some forty times as long as it."""

# GLOBAL: without it most settings are those of one connection, and its cursors do not have them.
SETTINGS = (
    f"SET GLOBAL max_expression_depth={MAX_DEPTH}",
    "SET GLOBAL TimeZone='UTC'",
    "SET GLOBAL autoinstall_known_extensions=false",
    "SET GLOBAL autoload_known_extensions=false",
    "SET GLOBAL python_enable_replacements=false",
    "SET GLOBAL memory_limit='2GB'",
    f"SET GLOBAL max_execution_time={LONGEST_S * 1000}",
    "SET GLOBAL enable_external_access=false",
    "SET GLOBAL lock_configuration=true",
)

THREADS: dict[str, str | bool | int | float | list[str]] = {"threads": 1, "async_threads": 0}
"""From the start: threads that are sent away later have taken their memory by then."""

_lock = threading.Lock()
_database: duckdb.DuckDBPyConnection | None = None


def _cursor() -> duckdb.DuckDBPyConnection:
    global _database
    with _lock:
        if _database is None:
            database = duckdb.connect(":memory:", config=THREADS)
            for setting in SETTINGS:
                database.execute(setting)
            _database = database
        return _database.cursor()


def parse_json(text: str) -> dict[str, Any]:
    """DuckDB's own tree of the statements in `text`, or its description of the syntax error."""
    try:
        tree: dict[str, Any] = json.loads(_converted("json_serialize_sql(CAST(? AS VARCHAR))", text))
    except duckdb.Error:
        raise QueryRefused("This text cannot be parsed as SQL.", code="P-100") from None
    return tree


def expression(text: str) -> dict[str, Any]:
    """A tree of one expression of ours as DuckDB writes it, to be put into others: a new one each time."""
    tree: dict[str, Any] = parse_json(f"SELECT {text}")["statements"][0]["node"]["select_list"][0]
    return tree


def tokens_of(text: str) -> list[tuple[int, str]]:
    """Where each token begins, in bytes, and what it is: comment, keyword, identifier, operator, string_const, ...
    Empty where the text cannot be split into tokens (an open quote): the parser says so with its place."""
    try:
        return [(start, str(kind).rpartition(".")[2]) for start, kind in duckdb.tokenize(text)]
    except duckdb.Error:
        return []


def print_tree(tree: Mapping[str, Any]) -> str:
    """SQL text of a tree in `parse_json`'s form, after we rewrote it. Raises QueryRefused for one that is too deep."""
    try:
        return _converted("json_deserialize_sql(CAST(? AS JSON))", json.dumps(tree))
    except duckdb.SerializationException:
        if _levels(tree) > SURELY_PRINTED:
            raise too_deep() from None
        raise


def _levels(tree: Any) -> int:
    """How many objects and lists lie inside each other."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        part, level = waiting.pop()
        deepest = max(deepest, level)
        below = part.values() if isinstance(part, Mapping) else part
        waiting += [(each, level + 1) for each in below if isinstance(each, Mapping | list)]
    return deepest


@contextmanager
def within_depth() -> Iterator[None]:
    """Refuses what is nested too deeply for Python to walk through, in whatever part of planning it is noticed."""
    try:
        yield
    except RecursionError:
        raise too_deep() from None


def too_deep(span: Span | None = None) -> QueryRefused:
    return QueryRefused(
        "The question is nested too deeply.",
        code="P-107",
        span=span,
        hint="Some eighty operators, conditions or subqueries inside each other are certain to be read.",
    )


def _converted(expression: str, text: str) -> str:
    """What DuckDB makes of a text. Of short ones it is kept: a question explained, then asked, then asked again of new
    rows is the same text, and a finish that reads the same columns the same tree, whatever the question filters by."""
    return (_kept if len(text) <= LONGEST_KEPT else _kept.__wrapped__)(expression, text)


@lru_cache(maxsize=64)
def _kept(expression: str, text: str) -> str:
    row = _cursor().execute(f"SELECT {expression}", [text]).fetchone()
    assert row is not None
    return str(row[0])


def evaluate(expression: str, *values: str) -> tuple[Any, ...] | None:
    """The values of expressions of ours over constants of the question, given as `?`; None where DuckDB raises."""
    try:
        row = _cursor().execute(f"SELECT {expression}", list(values)).fetchone()
    except duckdb.Error:
        return None
    return None if row is None else tuple(row)


def run(
    sql: str,
    tables: Mapping[str, Columns],
    types: Mapping[str, Mapping[str, str]] | None = None,
    *,
    exact: bool = False,
) -> tuple[Columns, list[str]]:
    """Run one SELECT of ours over the given tables; gives the columns, in order, and their SQL types. Numbers that a
    double does not hold come as objects: integers, and, where `exact`, decimals.
    types: table -> column -> as `typed_column` takes it, where an array does not tell it (dates, empty texts).
    Raises duckdb.Error as it comes: callers know whether what failed is public."""
    cursor = _cursor()
    typed = types or {}
    views = []
    for name, columns in tables.items():
        casts = typed.get(name)
        cursor.register(f"{name} untyped" if casts else name, _registrable(columns))
        if casts:
            listed = ", ".join(typed_column(column, casts) for column in columns)
            views.append(f'"{name}" AS (SELECT {listed} FROM "{name} untyped")')
    if views:
        sql = f"WITH {', '.join(views)} {sql}"
    result = cursor.execute(sql)
    names = [str(column[0]) for column in result.description]
    sql_types = [str(column[1]) for column in result.description]
    # Names may repeat (SELECT a, a): fetch by position.
    data = result.fetchnumpy() if len(set(names)) == len(names) else _by_position(cursor, sql, names)
    for position, (name, sql_type) in enumerate(zip(list(data), sql_types, strict=True)):
        if sql_type == "HUGEINT" and _in_doubles(data[name], 0):
            data[name] = data[name].astype(np.int64)
        elif sql_type == "HUGEINT" or (exact and not _in_doubles(data[name], _scale(sql_type))):
            data[name] = _as_objects(cursor, sql, position)
    return dict(data), sql_types


def shown(values: npt.NDArray[Any], type: str | None) -> tuple[npt.NDArray[Any], str] | None:
    """What `run` gives for a column that is shown as it is, and its SQL type; None where only running it tells.
    type: that column's among the `types` of `run`."""
    data, hidden = np.ma.getdata(values), np.ma.getmaskarray(values)
    nulls = bool(hidden.any())
    if nulls and type is None:
        return None
    match data.dtype.str, type:
        case "<i8", None | "BIGINT":
            sql_type = "BIGINT"
        case "<f8", None | "DOUBLE" if not np.isnan(data).any():
            sql_type = "DOUBLE"
        case "|O", "VARCHAR" if all(isinstance(value, str) for value in data[~hidden]):
            sql_type = "VARCHAR"
        case _:
            return None
    return np.ma.MaskedArray(data.copy(), hidden.copy()) if nulls else data.copy(), sql_type


def _scale(sql_type: str) -> int | None:
    """Digits after the point of a decimal type; None of any other."""
    decimal = re.fullmatch(r"DECIMAL\(\d+, ?(\d+)\)", sql_type)
    return int(decimal[1]) if decimal else None


def _in_doubles(column: npt.NDArray[Any], scale: int | None) -> bool:
    """Do the doubles that NumPy made tell all numbers of so many digits after the point apart? 2^53 is halved a few
    times, for what scaling a double up to its last digit may be off by."""
    return scale is None or bool(np.all(np.abs(np.ma.filled(column, 0)) * 10.0**scale < 2.0**49))


def _as_objects(cursor: duckdb.DuckDBPyConnection, sql: str, position: int) -> npt.NDArray[Any]:
    """A column as the integers or decimals it holds: read again."""
    values: list[int | Decimal | None] = [row[position] for row in cursor.execute(sql).fetchall()]
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def typed_column(column: str, casts: Mapping[str, str]) -> str:
    """A column of the type that `casts` has for it: a SQL type, or an expression in which {} is the column."""
    if column not in casts:
        return f'"{column}"'
    cast = casts[column]
    value = cast.replace("{}", f'"{column}"') if "{}" in cast else f'CAST("{column}" AS {cast})'
    return f'{value} AS "{column}"'


def _by_position(cursor: duckdb.DuckDBPyConnection, sql: str, names: list[str]) -> Columns:
    fresh = ", ".join(f"c{index}" for index in range(len(names)))
    data = cursor.execute(f"SELECT * FROM ({sql}) AS answer({fresh})").fetchnumpy()
    return {f"c{index}": data[f"c{index}"] for index in range(len(names))}


def _registrable(columns: Columns) -> dict[str, Any]:
    """Arrays in a form DuckDB reads with the right types: object arrays with None for NULL in text and booleans."""
    return {name: _plain(values) for name, values in columns.items()}


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        if not np.any(values.mask):
            return np.asarray(values.data)
        if values.dtype.kind in "Mm":
            filled = values.data.copy()
            filled[np.ma.getmaskarray(values)] = np.datetime64("NaT")
            return filled
        out = values.data.astype(object)
        out[np.ma.getmaskarray(values)] = None
        return out
    return values
