"""Tune a table: fix how many rows one unit keeps, and store the rows that count so that questions run faster.

Flow: `Session.tune`. A declared cap costs nothing; a private choice is reserved, read, chosen and answered like any
question, and what it found is kept beside the ledger for every later question.
Proof of the choice: docs/proofs/mechanisms/max-rows.md
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dither.accounting import Price, price
from dither.catalog.model import RowUnit, fold
from dither.errors import CatalogError, EngineError, InvalidParameter
from dither.exact import Number, positive
from dither.ledger.model import ReservationRequest
from dither.mechanisms.max_rows import TunedCap, choose_max_rows, row_levels
from dither.secret import Secret, open_secret

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["LARGEST_CHOICE", "Tuned", "tune"]

LARGEST_CHOICE = 10_000
"""Rows per unit that a private choice looks up to."""


@dataclass(frozen=True)
class Tuned:
    table: str
    max_rows: int
    chosen: bool
    """True: chosen privately just now; False: declared, or chosen before."""
    share_kept: float | None
    """Estimated share of all rows that are kept; None where nothing was spent to know it."""
    charged: Price
    every_row: bool = False
    """True where every row is a unit of its own: nothing was there to choose."""

    def __str__(self) -> str:
        if self.every_row:
            return f"{self.table}: every row counts; they are stored for faster questions."
        how = "chosen privately" if self.chosen else "as declared"
        share = "" if self.share_kept is None else f"; about {100 * self.share_kept:.0f} % of rows are kept"
        return f"{self.table}: at most {self.max_rows} rows per unit, {how}{share}."


def tune(session: Session, table: str, *, epsilon: Number | None, for_epsilon: Number, groups: int) -> Tuned:
    """epsilon: what a private choice may cost.  for_epsilon, groups: what later questions will look like: their offer
    and their number of groups (public), which say how much noise a row of cap is worth."""
    entry = session.catalog.table(table)
    if entry is None or entry.is_public:
        raise InvalidParameter("table", expected="a protected table", found=table)
    key = fold(entry.name)
    if isinstance(entry.unit, RowUnit):
        if epsilon is not None:
            raise InvalidParameter("epsilon", expected="none: every row of the table counts", found=epsilon)
        session.engine.store_kept(key, 1)
        return Tuned(entry.name, 1, False, None, Price(), every_row=True)
    if key in session.taus and epsilon is None:
        session.engine.store_kept(key, session.taus[key])
        return Tuned(entry.name, session.taus[key], False, None, Price())
    if epsilon is None:
        raise CatalogError(
            f"`{entry.name}` declares no max_rows_per_unit, and choosing it costs budget.",
            hint=f"Offer a price: dither tune {entry.name} --epsilon 0.3; or declare max_rows_per_unit.",
        )
    chosen = _choose(session, key, epsilon=epsilon, for_epsilon=for_epsilon, groups=groups)
    session.taus[key] = chosen.max_rows
    _remember(session, key, chosen)
    session.engine.store_kept(key, chosen.max_rows)
    return Tuned(entry.name, chosen.max_rows, True, chosen.share_kept, chosen.price)


def _choose(session: Session, key: str, *, epsilon: Number, for_epsilon: Number, groups: int) -> TunedCap:
    """Reserve, read, choose, answer."""
    levels = row_levels(LARGEST_CHOICE)
    # The price and events do not depend on the data: take them from a choice over nobody.
    price_offered, later = positive(epsilon, "epsilon"), positive(for_epsilon, "for_epsilon")
    neighbours = session.catalog.neighbours
    blank = choose_max_rows(
        np.zeros(len(levels) + 1, dtype=np.int64),
        levels,
        epsilon=price_offered,
        epsilon_query=later,
        groups=groups,
        neighbours=neighbours,
    )
    cost = Price()
    for event in blank.events:
        cost = cost + price(event)
    facts = repr((key, levels, price_offered, later, groups))
    reservation = session.ledger.reserve(
        ReservationRequest(
            analyst=session.analyst,
            text=f"dither tune {key}",
            fingerprint=hashlib.sha256(facts.encode()).hexdigest(),
            price=cost,
            events=blank.events,
            vectors=(),
            release=session.ledger.current_release,
        )
    )
    session.ledger.begin_reading(reservation)
    try:
        above = session.engine.rows_per_unit(key, [0, *levels])
    except EngineError:
        session.ledger.fail(reservation)
        raise
    chosen = choose_max_rows(
        _per_level(above),
        levels,
        epsilon=price_offered,
        epsilon_query=later,
        groups=groups,
        neighbours=neighbours,
        entropy=session._entropy,
    )
    session.ledger.answer(reservation, [])
    return chosen


def _per_level(above: Secret[np.typing.NDArray[np.int64]]) -> Secret[np.typing.NDArray[np.int64]]:
    """Units in (level[i-1], level[i]], and last those above all levels, from units above each level (0 first)."""
    counts = open_secret(above)
    return Secret(np.append(counts[:-1] - counts[1:], counts[-1:]))


def _remember(session: Session, key: str, chosen: TunedCap) -> None:
    """Keep the choice beside the ledger. It is a released number: no more secret than an answer."""
    from dither.session.open import tuned_path

    path = tuned_path(session.ledger_location)
    if path is None:
        return
    stored = {"promise": session.catalog.promise_digest(), "tables": {}}
    if path.exists():
        old = json.loads(path.read_text(encoding="utf-8"))
        if old.get("promise") == stored["promise"]:
            stored = old
    tables = stored["tables"]
    assert isinstance(tables, dict)
    tables[key] = {"max_rows": chosen.max_rows, "share_kept": chosen.share_kept}
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)
