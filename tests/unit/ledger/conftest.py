"""A ledger to test, a clock to set, and questions to ask."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dither.accounting.events import PureEvent
from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.ledger import NewVector, ReservationRequest
from dither.ledger.ledger import Ledger

PROMISE = "a" * 64
IDENTITY = "v" * 64


class Clock:
    def __init__(self) -> None:
        self.now = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)

    def __call__(self) -> dt.datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "hospital.ledger")


@pytest.fixture
def open_ledger(path: str, clock: Clock) -> Iterator[Callable[..., Ledger]]:
    opened: list[Ledger] = []

    def opener(url: str | None = None, **changes: Any) -> Ledger:
        analysts = changes.pop("analysts", {"ada": Analyst("ada"), "bob": Analyst("bob", epsilon=Fraction(1))})
        arguments = {
            "dataset": "hospital",
            "promise_digest": PROMISE,
            "budget": BudgetTerms(epsilon=Fraction(3)),
            "clock": clock,
            **changes,
        }
        ledger = Ledger.open(path if url is None else url, analysts=analysts, **arguments)
        opened.append(ledger)
        return ledger

    yield opener
    for ledger in opened:
        ledger.close()


@pytest.fixture
def ledger(open_ledger: Callable[..., Ledger]) -> Ledger:
    return open_ledger("")


@pytest.fixture
def question() -> Callable[..., ReservationRequest]:
    """A question of this epsilon by this analyst."""

    def make(epsilon: str | None = "0.1", analyst: str = "ada", **changes: Any) -> ReservationRequest:
        cost = None if epsilon is None else Fraction(epsilon)
        arguments: dict[str, Any] = {
            "analyst": analyst,
            "text": "SELECT count(*) FROM visits",
            "fingerprint": "f" * 64,
            "price": Price(cost, rho=(Fraction(1, 10) if cost is None else cost) ** 2 / 2),
            "events": () if cost is None else (PureEvent(cost),),
            "vectors": (IDENTITY,),
            "release": "1",
        }
        return ReservationRequest(**{**arguments, **changes})

    return make


@pytest.fixture
def measured() -> Callable[..., list[NewVector]]:
    """One noisy vector that cost this epsilon."""

    def make(epsilon: str = "0.1", payload: bytes = b"keys and integers", identity: str = IDENTITY) -> list[NewVector]:
        cost = Fraction(epsilon)
        law = {"kind": "laplace", "scale": str(1 / cost)}
        return [NewVector(identity, law, Price(cost, rho=cost * cost / 2), payload)]

    return make
