"""Tune a table: fix how many rows one unit keeps, and store the rows that count so that questions run faster.

Flow: `Session.tune`. A declared cap costs nothing; a private choice is reserved, read, chosen and answered like any
question, and what it found is kept beside the ledger for every later question. An analyst's choice is for their own
questions alone: what they say that questions will look like (`for_epsilon`, `groups`) must cut nobody else's rows.
Proof of the choice: docs/proofs/mechanisms/max-rows.md
Decision: docs/decisions/0030-what-an-analyst-tunes-is-theirs.md
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dither.accounting import Event, Price
from dither.catalog.model import RowUnit, fold
from dither.errors import CatalogError, InvalidParameter
from dither.exact import Number, positive
from dither.mechanisms.max_rows import TunedCap, choose_max_rows, row_levels
from dither.plan.choices import LARGEST_CHOICE
from dither.plan.offer import check_amount
from dither.secret import Secret, open_secret
from dither.session.paid import Counts, paid_choice
from dither.session.remembered import remember_own_rows, remember_rows

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Tuned", "choose_rows", "row_events", "tune"]


@dataclass(frozen=True)
class Tuned:
    table: str
    max_rows: int
    chosen: bool
    """True: chosen privately, now or before; False: declared."""
    share_kept: float | None
    """Estimated share of all rows that are kept; None where nothing was spent to know it."""
    charged: Price
    every_row: bool = False
    """True where every row is a unit of its own: nothing was there to choose."""
    own: bool = False
    """True where it holds for the analyst who chose, and for nobody else."""

    def __str__(self) -> str:
        if self.every_row:
            return f"{self.table}: every row counts; they are stored for faster questions."
        how = "chosen privately" if self.chosen else "as declared"
        how += ", for your questions alone" if self.own else ""
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
    if entry.max_rows_per_unit is not None and epsilon is not None:
        raise InvalidParameter(
            "epsilon",
            expected=f"none: the catalog declares {entry.max_rows_per_unit} rows per unit",
            found=epsilon,
            hint="Take max_rows_per_unit out of the catalog to have it chosen privately.",
        )
    if key in session.taus and epsilon is None:
        own = key in session.own_taus
        if not own:
            session.engine.store_kept(key, session.taus[key])
        return Tuned(entry.name, session.taus[key], entry.max_rows_per_unit is None, None, Price(), own=own)
    if epsilon is None:
        raise CatalogError(
            f"`{entry.name}` declares no max_rows_per_unit, and choosing it costs budget.",
            hint=f"Offer a price: dither tune {entry.name} --epsilon 0.3; or declare max_rows_per_unit.",
        )
    chosen = choose_rows(session, key, epsilon=epsilon, for_epsilon=for_epsilon, groups=groups)
    own = session.own_level is not None
    if own:
        # Rows stored are read by everybody; for their cap they would have to be stored again.
        remember_own_rows(session, key, chosen.max_rows, chosen.share_kept)
    else:
        remember_rows(session, key, chosen.max_rows, chosen.share_kept)
        session.engine.store_kept(key, chosen.max_rows)
    return Tuned(entry.name, chosen.max_rows, True, chosen.share_kept, chosen.price, own=own)


def choose_rows(session: Session, key: str, *, epsilon: Number, for_epsilon: Number, groups: int) -> TunedCap:
    """Choose how many rows of one unit count in a table, privately."""
    for name, amount in (("epsilon", epsilon), ("for_epsilon", for_epsilon)):
        check_amount(positive(amount, name), name)
    levels = row_levels(LARGEST_CHOICE)

    def choose(counts: Counts) -> TunedCap:
        return choose_max_rows(
            counts,
            levels,
            epsilon=epsilon,
            epsilon_query=for_epsilon,
            groups=groups,
            neighbours=session.catalog.neighbours,
            entropy=session.fresh_entropy(),
        )

    return paid_choice(
        session,
        f"dither tune {key}",
        (key, levels, positive(epsilon, "epsilon"), positive(for_epsilon, "for_epsilon"), groups),
        row_events(session, epsilon, for_epsilon, groups),
        lambda: _per_level(session.engine.rows_per_unit(key, [0, *levels])),
        choose,
    )


def row_events(session: Session, epsilon: Number, for_epsilon: Number, groups: int) -> tuple[Event, ...]:
    """What the choice costs. It does not depend on the data: taken from a choice over nobody."""
    levels = row_levels(LARGEST_CHOICE)
    blank = choose_max_rows(
        np.zeros(len(levels) + 1, dtype=np.int64),
        levels,
        epsilon=epsilon,
        epsilon_query=for_epsilon,
        groups=groups,
        neighbours=session.catalog.neighbours,
    )
    return blank.events


def _per_level(above: Secret[np.typing.NDArray[np.int64]]) -> Secret[np.typing.NDArray[np.int64]]:
    """Units in (level[i-1], level[i]], and last those above all levels, from units above each level (0 first)."""
    counts = open_secret(above)
    return Secret(np.append(counts[:-1] - counts[1:], counts[-1:]))
