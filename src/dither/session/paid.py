"""One private choice, paid for like any question: reserve, read, choose, answer.

Flow: `tune` (rows kept per unit) and `decide` (bounds as well) choose through here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from dither.accounting import Event, Price, price
from dither.ledger.model import ReservationRequest
from dither.secret import Secret

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["Counts", "paid_choice", "price_of_events"]

Counts = Secret[npt.NDArray[np.int64]]
Chosen = TypeVar("Chosen")


def price_of_events(events: Sequence[Event]) -> Price:
    total = Price()
    for event in events:
        total = total + price(event)
    return total


def paid_choice(
    session: Session,
    text: str,
    facts: object,
    events: Sequence[Event],
    read: Callable[[], Counts],
    choose: Callable[[Counts], Chosen],
) -> Chosen:
    """text: what the log says.  facts: what the choice means, for its fingerprint.  events: what it costs, which must
    not depend on the data.  From the first read on the charge stands: whatever fails is booked as a failure."""
    reservation = session.ledger.reserve(
        ReservationRequest(
            analyst=session.analyst,
            text=text,
            fingerprint=hashlib.sha256(repr(facts).encode()).hexdigest(),
            price=price_of_events(events),
            events=tuple(events),
            vectors=(),
            release=session.ledger.current_release,
        )
    )
    session.ledger.begin_reading(reservation)
    try:
        chosen = choose(read())
        session.ledger.answer(reservation, [])
    except BaseException:
        session.ledger.fail(reservation)
        raise
    return chosen
