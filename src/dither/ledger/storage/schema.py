"""The tables of a ledger, and the triggers that make them append-only.

Flow: `opening`, `apart` and `series` make them, once per ledger; every statement names them. One text serves SQLite and
PostgreSQL but for what stands in braces.

`dither_log` is the record: one row per thing that happened, chained by hashes. The other tables repeat parts of it
where a question must find them fast, and `verify` compares them with it. Nothing is ever updated or deleted: a change
of state is a new row. The one exception is `dither_series_state`, whose digests the log holds.
"""

from __future__ import annotations

from collections.abc import Mapping

from dither.errors import LedgerConflict, LedgerError
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.statements import Statement

__all__ = [
    "APART_APPLICATION_ID",
    "APART_LOG_COLUMNS",
    "APPLICATION_ID",
    "LOG_COLUMNS",
    "OPENS",
    "SCHEMA_VERSION",
    "SETTLES",
    "VECTOR_COLUMNS",
    "apart_schema_exists",
    "create_apart_schema",
    "create_schema",
    "create_series_state",
    "has_series_state",
    "schema_exists",
]

SCHEMA_VERSION = 1
APPLICATION_ID = 0x44495448
"""SQLite's application_id of a ledger: "DITH"."""
APART_APPLICATION_ID = 0x44495441
"""Of a ledger of another notion than differential privacy: "DITA"."""

# Written as text, so that SQLite finds the index when a query says the same words.
OPENS = "kind = 'reserved'"
SETTLES = "kind IN ('answered', 'void', 'failed', 'lost')"

_WORDS = {
    # SQLite takes a whole number that is the primary key for its own number of the row only where it is an INTEGER.
    "sqlite": {"integer": "INTEGER", "bytes": "BLOB", "without_rowid": " WITHOUT ROWID"},
    "postgresql": {"integer": "BIGINT", "bytes": "BYTEA", "without_rowid": ""},
}

_IDENTITY = """
CREATE TABLE dither_identity (
    id INTEGER NOT NULL,
    schema_version INTEGER NOT NULL,
    dataset TEXT NOT NULL,
    chain_key VARCHAR(64) NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (id)
)"""

_LOG = """
CREATE TABLE dither_log (
    seq {integer} NOT NULL,
    kind VARCHAR(16) NOT NULL,
    entry VARCHAR(64),
    analyst TEXT,
    request TEXT,
    at TEXT NOT NULL,
    day TEXT NOT NULL,
    body TEXT NOT NULL,
    previous VARCHAR(64) NOT NULL,
    hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (seq)
)"""

_STANDING = """
CREATE TABLE dither_standing (
    level TEXT NOT NULL,
    seq {integer} NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (level, seq),
    FOREIGN KEY (seq) REFERENCES dither_log (seq)
){without_rowid}"""

_VECTOR = """
CREATE TABLE dither_vector (
    entry VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    analyst TEXT NOT NULL,
    identity TEXT NOT NULL,
    release TEXT NOT NULL,
    law TEXT NOT NULL,
    price TEXT NOT NULL,
    payload {bytes} NOT NULL,
    PRIMARY KEY (entry, position)
)"""

_PAYER = """
CREATE TABLE dither_payer (
    entry VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    analyst TEXT NOT NULL,
    PRIMARY KEY (entry, position, analyst),
    FOREIGN KEY (entry, position) REFERENCES dither_vector (entry, position)
){without_rowid}"""
"""Who paid for a vector beside the analyst whose question measured it."""

_SERIES_STATE = """
CREATE TABLE dither_series_state (
    entry VARCHAR(64) NOT NULL,
    seq {integer} NOT NULL,
    state {bytes} NOT NULL,
    reader TEXT,
    PRIMARY KEY (entry)
)"""
"""What each series goes on from, replaced at every advance: `ledger.series` says why older ones may not be kept. A
ledger gets it with its first series, and without the triggers that keep the others append-only.
reader: the session that reads data for the next advance, until it is done: for `recovery`."""

_APART_LOG = """
CREATE TABLE dither_apart_log (
    seq {integer} NOT NULL,
    kind VARCHAR(16) NOT NULL,
    entry VARCHAR(64),
    request TEXT,
    at TEXT NOT NULL,
    body TEXT NOT NULL,
    previous VARCHAR(64) NOT NULL,
    hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (seq)
)"""
"""The whole record of a ledger of metric privacy or random DP (`ledger.apart`). Its name is its own: neither kind of
ledger can be taken for the other, whatever a program tries."""

_TABLES = {
    "dither_identity": _IDENTITY,
    "dither_log": _LOG,
    "dither_standing": _STANDING,
    "dither_vector": _VECTOR,
    "dither_payer": _PAYER,
}
_APART_TABLES = {"dither_apart_log": _APART_LOG}

_INDEXES = (
    "CREATE INDEX dither_log_entry ON dither_log (entry)",
    f"CREATE UNIQUE INDEX dither_log_opened_once ON dither_log (entry) WHERE {OPENS}",
    f"CREATE UNIQUE INDEX dither_log_settled_once ON dither_log (entry) WHERE {SETTLES}",
    "CREATE UNIQUE INDEX dither_log_request ON dither_log (analyst, request) WHERE request IS NOT NULL",
    "CREATE INDEX dither_vector_identity ON dither_vector (identity, release)",
)
_APART_INDEXES = (
    "CREATE INDEX dither_apart_entry ON dither_apart_log (entry)",
    f"CREATE UNIQUE INDEX dither_apart_opened_once ON dither_apart_log (entry) WHERE {OPENS}",
    "CREATE UNIQUE INDEX dither_apart_answered_once ON dither_apart_log (entry) WHERE kind = 'answered'",
    "CREATE UNIQUE INDEX dither_apart_request ON dither_apart_log (request) WHERE request IS NOT NULL",
)

LOG_COLUMNS = "seq, kind, entry, analyst, request, at, day, body, previous, hash"
VECTOR_COLUMNS = "entry, position, analyst, identity, release, law, price, payload"
APART_LOG_COLUMNS = "seq, kind, entry, request, at, body, previous, hash"
"""Named in every statement, so that a later format may add others."""

_FOUND = {
    "sqlite": Statement("SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_'"),
    # Not by to_regclass, which tells of tables whose rows the transaction's snapshot does not hold yet.
    "postgresql": Statement(
        "SELECT relname AS name FROM pg_catalog.pg_class "
        "WHERE relname IN ('dither_identity', 'dither_series_state', 'dither_apart_log') "
        "AND pg_catalog.pg_table_is_visible(oid)"
    ),
}


def schema_exists(connection: Connection) -> bool:
    """Whether the ledger's tables are there. Raises LedgerError when the place holds something else."""
    return _holds(connection, "dither_identity", "dither_apart_log", "metric privacy or random DP")


def apart_schema_exists(connection: Connection) -> bool:
    """The same for a ledger of a notion apart."""
    return _holds(connection, "dither_apart_log", "dither_identity", "differential privacy")


def has_series_state(connection: Connection) -> bool:
    return "dither_series_state" in _tables(connection)


def create_schema(connection: Connection) -> None:
    """Create tables and append-only triggers, inside the caller's transaction."""
    _create(connection, _TABLES, _INDEXES, APPLICATION_ID)


def create_apart_schema(connection: Connection) -> None:
    """The same for a ledger of a notion apart."""
    _create(connection, _APART_TABLES, _APART_INDEXES, APART_APPLICATION_ID)


def create_series_state(connection: Connection) -> None:
    """Create the table of series' states where it is not there. Asked first: a role that may not create tables may
    still go on with a series."""
    if not has_series_state(connection):
        _run(connection, _SERIES_STATE)


def _tables(connection: Connection) -> frozenset[str]:
    """The tables of a file; on a server, whose database may hold those of other programs, ours."""
    return frozenset(row.name for row in _FOUND[connection.dialect].rows(connection))


def _holds(connection: Connection, wanted: str, other: str, notion: str) -> bool:
    found = _tables(connection)
    if wanted in found:
        return True
    if other in found:
        raise LedgerConflict(
            f"The file is a ledger of {notion}, another notion.",
            code="L-500",
            hint="Give each notion a file of its own: what is spent under one does not add to the other.",
        )
    if connection.dialect == "sqlite" and found:
        raise LedgerError(
            "The file is a database of another program, not a ledger.",
            code="L-160",
            hint="Give `ledger` under [dataset] a path of its own.",
        )
    return False


def _create(connection: Connection, tables: Mapping[str, str], indexes: tuple[str, ...], application_id: int) -> None:
    if connection.dialect == "sqlite":
        _run(connection, f"PRAGMA application_id = {application_id}")
    for text in (*tables.values(), *indexes, *_triggers(connection.dialect, tables)):
        _run(connection, text)


def _run(connection: Connection, text: str) -> None:
    Statement(text.format(**_WORDS[connection.dialect])).execute(connection)


def _triggers(dialect: str, tables: Mapping[str, str]) -> list[str]:
    if dialect == "sqlite":
        return [
            f"CREATE TRIGGER {name}_no_{verb.lower()} BEFORE {verb} ON {name} "
            f"BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
            for name in tables
            for verb in ("UPDATE", "DELETE")
        ]
    refuse = (
        "CREATE OR REPLACE FUNCTION dither_append_only() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'a ledger is append-only'; END $$"
    )
    return [refuse] + [
        f"CREATE TRIGGER {name}_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION dither_append_only()"
        for name in tables
    ]
