"""The tables of a ledger, and the triggers that make them append-only.

Flow: `store` runs statements on them; `create_schema` runs once per ledger. Relies on SQLAlchemy Core only, so that the
same tables exist on SQLite and PostgreSQL.

`log` is the record: one row per thing that happened, chained by hashes. The other tables repeat parts of it where a
question must find them fast, and `verify` compares them with it. Nothing is ever updated or deleted: a change of state
is a new row. The one exception is `series_state`, whose digests the log holds.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    text,
)

from dither.errors import LedgerConflict, LedgerError

__all__ = [
    "APART_APPLICATION_ID",
    "APPLICATION_ID",
    "OPENS",
    "SCHEMA_VERSION",
    "SETTLES",
    "apart_log",
    "apart_schema_exists",
    "create_apart_schema",
    "create_schema",
    "identity",
    "log",
    "payer",
    "schema_exists",
    "series_state",
    "standing",
    "vector",
]

SCHEMA_VERSION = 1
APPLICATION_ID = 0x44495448
"""SQLite's application_id of a ledger: "DITH"."""
APART_APPLICATION_ID = 0x44495441
"""Of a ledger of another notion than differential privacy: "DITA"."""

_metadata = MetaData()
_Sequence = BigInteger().with_variant(Integer, "sqlite")

identity = Table(
    "dither_identity",
    _metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("schema_version", Integer, nullable=False),
    Column("dataset", Text, nullable=False),
    Column("chain_key", String(64), nullable=False),
    Column("created_at", Text, nullable=False),
)

log = Table(
    "dither_log",
    _metadata,
    Column("seq", _Sequence, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("entry", String(64)),
    Column("analyst", Text),
    Column("request", Text),
    Column("at", Text, nullable=False),
    Column("day", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)

# Written as text, so that SQLite finds the index when a query says the same words.
OPENS = "kind = 'reserved'"
SETTLES = "kind IN ('answered', 'void', 'failed', 'lost')"


_PARTIAL: dict[str, list[str]] = {}
"""Table -> statements that make its partial indexes. As text, which both databases read alike: an Index with a
condition for PostgreSQL loads all that SQLAlchemy knows of PostgreSQL, for a ledger in a file too."""


def _partial_unique(name: str, *columns: Column[Any], where: str) -> None:
    table = columns[0].table.name
    listed = ", ".join(column.name for column in columns)
    _PARTIAL.setdefault(table, []).append(f"CREATE UNIQUE INDEX {name} ON {table} ({listed}) WHERE {where}")


_partial_unique("dither_log_opened_once", log.c.entry, where=OPENS)
_partial_unique("dither_log_settled_once", log.c.entry, where=SETTLES)
_partial_unique("dither_log_request", log.c.analyst, log.c.request, where="request IS NOT NULL")
Index("dither_log_entry", log.c.entry)

standing = Table(
    "dither_standing",
    _metadata,
    Column("level", Text, primary_key=True),
    Column("seq", _Sequence, ForeignKey("dither_log.seq"), primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    sqlite_with_rowid=False,
)

vector = Table(
    "dither_vector",
    _metadata,
    Column("entry", String(64), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("analyst", Text, nullable=False),
    Column("identity", Text, nullable=False),
    Column("release", Text, nullable=False),
    Column("law", Text, nullable=False),
    Column("price", Text, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Index("dither_vector_identity", "identity", "release"),
)

payer = Table(
    "dither_payer",
    _metadata,
    Column("entry", String(64), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("analyst", Text, primary_key=True),
    ForeignKeyConstraint(["entry", "position"], ["dither_vector.entry", "dither_vector.position"]),
    sqlite_with_rowid=False,
)
"""Who paid for a vector beside the analyst whose question measured it."""


series_state = Table(
    "dither_series_state",
    # Of its own: a ledger gets it with its first series, and without the triggers that keep the others append-only.
    MetaData(),
    Column("entry", String(64), primary_key=True),
    Column("seq", _Sequence, nullable=False, autoincrement=False),
    Column("state", LargeBinary, nullable=False),
    # The session that reads data for the next advance, until it is done: for `recovery`.
    Column("reader", Text),
)
"""What each series goes on from, replaced at every advance: `ledger.series` says why older ones may not be kept."""


_apart = MetaData()
"""Of its own, with names of its own: neither kind of ledger can be taken for the other, whatever a program tries."""

apart_log = Table(
    "dither_apart_log",
    _apart,
    Column("seq", _Sequence, primary_key=True, autoincrement=False),
    Column("kind", String(16), nullable=False),
    Column("entry", String(64)),
    Column("request", Text),
    Column("at", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("previous", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
)
"""The whole record of a ledger of metric privacy or random DP (`ledger.apart`)."""

_partial_unique("dither_apart_opened_once", apart_log.c.entry, where=OPENS)
_partial_unique("dither_apart_answered_once", apart_log.c.entry, where="kind = 'answered'")
_partial_unique("dither_apart_request", apart_log.c.request, where="request IS NOT NULL")
Index("dither_apart_entry", apart_log.c.entry)


def schema_exists(connection: Connection) -> bool:
    """Whether the ledger's tables are there. Raises LedgerError when the place holds something else."""
    return _holds(connection, identity.name, apart_log.name, "metric privacy or random DP")


def apart_schema_exists(connection: Connection) -> bool:
    """The same for a ledger of a notion apart."""
    return _holds(connection, apart_log.name, identity.name, "differential privacy")


def _holds(connection: Connection, wanted: str, other: str, notion: str) -> bool:
    inspector = inspect(connection)
    if inspector.has_table(wanted):
        return True
    if inspector.has_table(other):
        raise LedgerConflict(
            f"The file is a ledger of {notion}, another notion.",
            code="L-500",
            hint="Give each notion a file of its own: what is spent under one does not add to the other.",
        )
    # A server's database may hold tables of other programs; a file is ours or theirs.
    if connection.dialect.name == "sqlite" and inspector.get_table_names():
        raise LedgerError(
            "The file is a database of another program, not a ledger.",
            code="L-160",
            hint="Give `ledger` under [dataset] a path of its own.",
        )
    return False


def create_schema(connection: Connection) -> None:
    """Create tables and append-only triggers, inside the caller's transaction."""
    _create(connection, _metadata, APPLICATION_ID)


def create_apart_schema(connection: Connection) -> None:
    """The same for a ledger of a notion apart."""
    _create(connection, _apart, APART_APPLICATION_ID)


def _create(connection: Connection, tables: MetaData, application_id: int) -> None:
    if connection.dialect.name == "sqlite":
        connection.execute(text(f"PRAGMA application_id = {application_id}"))
    tables.create_all(connection, checkfirst=False)
    names = [table.name for table in tables.sorted_tables]
    for statement in (index for name in names for index in _PARTIAL.get(name, ())):
        connection.execute(text(statement))
    for statement in _trigger_statements(connection.dialect.name, names):
        connection.execute(text(statement))


def _trigger_statements(dialect: str, names: list[str]) -> list[str]:
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
            f"BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
            for name in names
            for verb in ("UPDATE", "DELETE")
        ]
    refuse = (
        "CREATE OR REPLACE FUNCTION dither_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$"
    )
    return [refuse] + [
        f"CREATE TRIGGER {name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION dither_append_only()"
        for name in names
    ]
