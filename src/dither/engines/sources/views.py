"""Views of a database that compute: evaluated once, when the database is opened, in place of once per question.

Flow: `database` asks `is_plain` of each view it mounts, and has it evaluated where it is not.
Why: a view may fail on one row (a text cast to a number). Inside a question that failure would come after the charge,
and tell of one person's row; and the optimiser may evaluate such a cast on rows that the view's own WHERE leaves out.
Here the owner is told when the database is opened, and what is evaluated holds for the whole session, random() too.
Decision: docs/decisions/0029-views-are-evaluated-once.md
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

import duckdb

from dither.catalog.model import fold
from dither.engines.private_folder import private_folder
from dither.engines.reading import fresh_connection
from dither.engines.stopping import stoppable
from dither.errors import EngineUnavailable, QueryRefused
from dither.sql.parse import Tree, parse
from dither.sql.printing import quote_name, quote_text

__all__ = ["attach_evaluated", "is_plain"]


def is_plain(connection: duckdb.DuckDBPyConnection, schema: str, view: str) -> bool:
    """Does the view only choose and rename columns of one stored table? Then no row of it can fail.
    The database is attached as `source`."""
    views = {
        (fold(str(row[0])), fold(str(row[1]))): str(row[2])
        for row in connection.execute(
            "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE database_name = 'source' AND NOT internal"
        ).fetchall()
    }
    rows = connection.execute("SELECT table_name FROM duckdb_tables() WHERE database_name = 'source'").fetchall()
    tables = {fold(str(row[0])) for row in rows}
    names = {name for _, name in views}
    base = _only_table(views[fold(schema), fold(view)])
    return base is not None and fold(base) in tables - names


def attach_evaluated(
    connection: duckdb.DuckDBPyConnection, source: Path, view: str, columns: Collection[str], *, shown: str, name: str
) -> None:
    """Evaluate these columns of a view of the database file, and attach the result as `name`, table `rows`.
    view: as SQL names it, in the database `source`.  shown: the view, for messages.
    Raises EngineUnavailable where it fails on some row: which, and why, is not said."""
    path = private_folder() / f"view-{uuid.uuid4().hex}.duckdb"
    old = os.umask(0o077)
    try:
        _evaluate(source, view, list(columns), path, shown)
        connection.execute(f"ATTACH {quote_text(str(path))} AS {quote_name(name)} (READ_ONLY)")
    finally:
        os.umask(old)
        # Attached, it is read through its open file: nothing is left behind, whatever happens to this process.
        for made in (path, Path(f"{path}.wal")):
            made.unlink(missing_ok=True)


def _evaluate(source: Path, view: str, columns: Sequence[str], path: Path, shown: str) -> None:
    with fresh_connection() as connection:
        connection.execute(f"SET temp_directory={quote_text(str(private_folder()))}")
        connection.execute(f"ATTACH {quote_text(str(source))} AS source (READ_ONLY)")
        connection.execute(f"ATTACH {quote_text(str(path))} AS evaluated")
        # What the engine keeps questions from, a view is kept from: reading other files, or writing any.
        files = [str(source), f"{source}.wal", str(path), f"{path}.wal"]
        connection.execute(f"SET allowed_paths=[{', '.join(map(quote_text, files))}]")
        connection.execute("SET enable_external_access=false")
        try:
            selected = ", ".join(map(quote_name, columns)) or "1 AS one"
            text = f"CREATE TABLE evaluated.rows AS SELECT {selected} FROM {view}"
            stoppable(connection, lambda: connection.execute(text))
        except duckdb.Error:
            raise EngineUnavailable(
                f"The view `{shown}` fails{_failing(connection, view, columns)}, perhaps on one row alone.",
                hint="Write TRY_CAST for CAST, and divide by NULLIF(x, 0); or make a table of the view.",
            ) from None
        connection.execute("DETACH evaluated")


def _failing(connection: duckdb.DuckDBPyConnection, view: str, columns: Sequence[str]) -> str:
    """Which column fails, where one by itself does."""
    for column in columns:
        try:
            connection.execute(f"CREATE OR REPLACE TABLE evaluated.rows AS SELECT {quote_name(column)} FROM {view}")
        except duckdb.Error:
            return f" in its column `{column[:60]}`"
    return ""


def _only_table(sql: str) -> str | None:
    """The one table whose columns this CREATE VIEW chooses; None for whatever else it is."""
    parts = sql.split(" AS ")
    # A name may hold " AS " too: what parses is the SELECT.
    for start in range(1, len(parts)):
        try:
            tree = parse(" AS ".join(parts[start:]).rstrip(";"))
        except QueryRefused:
            continue
        try:
            return _chosen_from(tree)
        except QueryRefused:
            return None
    return None


def _chosen_from(tree: Tree) -> str | None:
    """The table below a SELECT of columns and constants. Raises QueryRefused for a field nobody reads here."""
    if tree.kind != "SELECT_NODE":
        return None
    items, table = tree.children("select_list"), tree.child("from_table")
    if table is None or table.kind != "BASE_TABLE":
        return None
    base = str(table.take("table_name"))
    table.take("schema_name")
    table.take("catalog_name")
    for item in items:
        if item.kind not in ("COLUMN_REF", "STAR", "CONSTANT"):
            return None
        if item.kind == "CONSTANT":
            continue
        for field in ("column_names", "relation_name", "exclude_list", "qualified_exclude_list"):
            item.take(field)
        item.done()
    table.done()
    tree.done()
    return base
