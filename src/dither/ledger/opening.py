"""Create a ledger, or find out whether the one that is there is ours.

Flow: `Ledger.open` calls `open_or_create`. Relies on `schema`, `journal`.
A ledger belongs to one data set and one promise. The promise's digest covers units, paths, assertions, neighbours,
public flags and source: with another one, spent budget would be counted against the wrong thing.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import Any

from dither.catalog.model import BudgetTerms
from dither.errors import LedgerConflict, LedgerCorrupt, LedgerError
from dither.ledger.chain import Json, ledger_id
from dither.ledger.journal import Journal, Page, latest_standings
from dither.ledger.limits import budget_of, terms_of_budget
from dither.ledger.standing import DATASET, Standing
from dither.ledger.storage import schema
from dither.ledger.storage.connection import Connection
from dither.ledger.storage.formats import check_format
from dither.ledger.storage.statements import Statement, insertion

__all__ = ["FIRST_RELEASE", "Identity", "check_promise", "identity_problem", "open_or_create", "stored_identity"]

FIRST_RELEASE = "1"

_COLUMNS = "id, schema_version, dataset, chain_key, created_at"
_IDENTITY = Statement(f"SELECT {_COLUMNS} FROM dither_identity")
_ADD_IDENTITY = insertion("dither_identity", _COLUMNS)
_FIRST = Statement("SELECT at, body, hash FROM dither_log WHERE seq = 1")


@dataclass(frozen=True)
class Identity:
    dataset: str
    ledger: str
    """Its id: every ledger has its own, and every copy of it the same."""
    key: bytes
    """Of the keyed digests on receipts. Whoever reads the ledger reads it; it only keeps others from inventing them."""


def open_or_create(
    journal: Journal, *, dataset: str | None, promise_digest: str | None, budget: BudgetTerms | None
) -> Identity:
    """The ledger's identity. Creates the ledger when there is none, given a data set, a budget and a promise.
    dataset: None for an owner who takes the ledger of whichever data set is there."""
    with journal.reading() as connection:
        if schema.schema_exists(connection):
            return _checked(connection, dataset, promise_digest)
    if budget is None or promise_digest is None or dataset is None:
        raise LedgerError("There is no ledger here yet.", code="L-170", hint="Ask a first question, or check the path.")
    with journal.store.writing() as connection:
        # Another process may have come first.
        if not schema.schema_exists(connection):
            schema.create_schema(connection)
            _write_first_row(journal.page(connection), dataset, promise_digest, budget)
        return _checked(connection, dataset, promise_digest)


def _write_first_row(page: Page, dataset: str, promise_digest: str, budget: BudgetTerms) -> None:
    terms = terms_of_budget(budget)
    # Refuses a budget that cannot be, before it is on record for good.
    budget_of(terms)
    identity = {
        "id": 1,
        "schema_version": schema.SCHEMA_VERSION,
        "dataset": dataset,
        "chain_key": secrets.token_hex(32),
        "created_at": page.at,
    }
    _ADD_IDENTITY.insert(page.connection, [identity])
    facts: dict[str, Json] = {
        "promise": promise_digest,
        "release": FIRST_RELEASE,
        "recorded": terms.to_json(),
        "dataset": dataset,
    }
    page.append("created", facts=facts)


def _checked(connection: Connection, dataset: str | None, promise_digest: str | None) -> Identity:
    row, first = stored_identity(connection), _FIRST.first(connection)
    if row is not None:
        check_format(row.schema_version)
    standing = latest_standings(connection, DATASET).get(DATASET)
    if row is None or standing is None or first is None:
        raise LedgerCorrupt("The ledger lacks its first row.", hint="Restore a backup as documented.")
    if problem := _differs(row, first):
        raise LedgerCorrupt(problem, hint="Restore a backup as documented.")
    if dataset is not None and row.dataset != dataset:
        raise LedgerConflict(
            f"The ledger is of data set {row.dataset!r}, the catalog of {dataset!r}.",
            code="L-220",
            hint="Give each data set a ledger of its own.",
        )
    check_promise(standing, promise_digest)
    key = bytes.fromhex(row.chain_key)
    return Identity(row.dataset, ledger_id(key, first.hash), key)


def stored_identity(connection: Connection) -> Any:
    """The row of the ledger's identity; None where there is none. Raises LedgerCorrupt where there are two: nothing
    would say which of their keys is the ledger's."""
    rows = _IDENTITY.rows(connection)
    if len(rows) > 1:
        raise LedgerCorrupt("The ledger has more than one identity.", hint="Restore a backup as documented.")
    return rows[0] if rows else None


def identity_problem(connection: Connection) -> str | None:
    """How the ledger's identity differs from its first row, which the chain covers; None when it does not."""
    row, first = stored_identity(connection), _FIRST.first(connection)
    return "The ledger lacks its first row." if row is None or first is None else _differs(row, first)


def _differs(row: Any, first: Any) -> str | None:
    # A ledger begun before the first row named the data set is held to the time alone.
    named = json.loads(first.body)["facts"].get("dataset", row.dataset)
    if (named, first.at) == (row.dataset, row.created_at):
        return None
    return "The ledger's name or time of creation is not the one its first row says."


def check_promise(standing: Standing, promise_digest: str | None) -> None:
    """Raises LedgerConflict when the catalog promises something else than the ledger. None: an owner only looks."""
    if promise_digest is not None and standing.promise != promise_digest:
        raise LedgerConflict(
            "The catalog changed what is promised (units, paths, neighbours, public tables or source) "
            f"since the ledger began: {promise_digest[:12]} now, {standing.promise[:12]} in the ledger.",
            hint="Undo the change, or adopt the new promise by the owner's command, which is logged.",
        )
