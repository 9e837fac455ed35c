"""What a ledger takes and gives back: requests, reservations, vectors, entries, receipts. Plain frozen data.

Flow: `session.ask` builds a ReservationRequest, holds the Reservation while it reads, brings NewVectors back, and puts
the Receipt on the answer. Owners read Entries and LogRows. Relies on `accounting` for prices and events.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from dither.accounting.admission import Budget, Spent
from dither.accounting.events import Event
from dither.accounting.price import Price
from dither.ledger.chain import Json

__all__ = [
    "Clock",
    "Entry",
    "EntryState",
    "Grant",
    "LogRow",
    "MergedLedger",
    "NewVector",
    "OutsideRelease",
    "Reading",
    "Receipt",
    "ReleaseRecord",
    "ReleasedVector",
    "Reservation",
    "ReservationRequest",
    "Verification",
]

Clock = Callable[[], dt.datetime]
"""Gives the time, with a zone."""

EntryState = Literal["reserved", "answered", "void", "failed", "lost", "reused"]
"""reserved: charged, no answer yet. answered. void: given up *instead of* reading, the only state that costs nothing.
failed: the engine failed on it, the charge stands. lost: its process died, the charge stands.
reused: a stored vector, charged to an analyst's allowance alone."""


@dataclass(frozen=True)
class ReservationRequest:
    analyst: str
    text: str
    """The question as asked."""
    fingerprint: str
    """Digest of the plan."""
    price: Price
    events: tuple[Event, ...]
    vectors: tuple[str, ...]
    """Identities of the vectors that will be measured."""
    release: str
    """The release the question was planned in; refused when it is no longer the current one."""
    idempotency_key: str | None = None
    """Chosen by the client: the same key again finds the same entry and charges nothing."""


@dataclass(frozen=True)
class Reservation:
    """Permission to read, once, what `vectors` names. Durable when you hold it."""

    entry_id: str
    analyst: str
    release: str
    price: Price
    vectors: tuple[str, ...]
    hash: str
    """Of the entry's row in the chain."""
    state: EntryState = "reserved"
    repeated: bool = False
    """True when an idempotency key found an earlier entry: do not read, look up its vectors or wait for them."""


@dataclass(frozen=True)
class NewVector:
    """A noisy vector just measured."""

    identity: str
    law: Mapping[str, Json]
    """The noise: kind, scale and whatever the accuracy comparison needs; text and integers only."""
    price: Price
    """Its own share: what another analyst's allowance is charged for it."""
    payload: bytes
    """Opaque here: serialised keys and integers."""


@dataclass(frozen=True)
class ReleasedVector:
    """A noisy vector that the ledger keeps; public within its release for those who paid for it."""

    identity: str
    release: str
    entry_id: str
    position: int
    """Its place among the entry's vectors, from 0."""
    law: Mapping[str, Json]
    price: Price
    payload: bytes
    paid_by: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Receipt:
    """What the ledger signs: an entry, its hash in the chain, and a digest only this ledger's key can make."""

    entry_id: str
    hash: str
    digest: str

    def to_dict(self) -> dict[str, str]:
        return {"entry": self.entry_id, "hash": self.hash, "digest": self.digest}

    @classmethod
    def from_dict(cls, stored: Mapping[str, str]) -> Receipt:
        return cls(stored["entry"], stored["hash"], stored["digest"])


@dataclass(frozen=True)
class Entry:
    """One question's life, gathered from its rows."""

    id: str
    kind: Literal["question", "reuse"]
    analyst: str
    state: EntryState
    price: Price
    events: tuple[Event, ...]
    text: str
    fingerprint: str
    release: str
    vectors: tuple[str, ...]
    reserved_at: str
    """UTC, ISO 8601."""
    settled_at: str | None
    """When it was answered, voided, or found failed or lost."""
    reason: str | None
    previous_hash: str
    hash: str
    settled_hash: str | None
    idempotency_key: str | None


@dataclass(frozen=True)
class LogRow:
    """One row of the chain, as stored."""

    seq: int
    kind: str
    entry: str | None
    analyst: str | None
    request: str | None
    at: str
    day: str
    body: str
    """Canonical JSON: `facts`, and under `standings` what each level stands at after this row."""
    previous: str
    hash: str


@dataclass(frozen=True)
class ReleaseRecord:
    name: str
    opened_at: str
    reason: str | None = None


@dataclass(frozen=True)
class Reading:
    """What the data set's meters stood at after something was charged, taken back or granted."""

    at: str
    """UTC, ISO 8601."""
    what: str
    """Kind of the row."""
    spent: Spent
    budget: Budget
    """In force then."""


@dataclass(frozen=True)
class Grant:
    """The effect of an owner's grant."""

    level: str
    sentence: str
    """For people: the limit now, and the worst case promised."""
    epsilon: Fraction | None
    """The largest epsilon promised after all grants; None under a zCDP budget."""
    rho: Fraction | None
    delta: Fraction
    """The deltas of all levels added."""


@dataclass(frozen=True)
class OutsideRelease:
    """Something released from the same data by other means than this ledger: it is booked, for it happened."""

    name: str
    """Chosen by the owner; one name is booked once."""
    who: str
    """Who made it."""
    when: str
    """When, as a date or a time in ISO 8601; kept, never judged."""
    reason: str
    """What it was for, or where it is written down."""
    price: Price
    analyst: str | None = None
    """Whose allowance it is charged to, beside the data set's budget; None: nobody's."""


@dataclass(frozen=True)
class MergedLedger:
    """Another ledger's whole spend, booked on this one."""

    ledger: str
    """The other ledger's id."""
    dataset: str
    price: Price
    head: str
    """Hash of the other ledger's last row when it was booked."""
    closed: bool
    """Whether the other ledger was closed; else it goes on spending by itself."""
    repeated: bool = False
    """True when it was booked before: nothing more was charged."""


@dataclass(frozen=True)
class Verification:
    """What `verify` found. `problem` is None when everything holds."""

    rows: int
    head: str
    problem: str | None = None
    first_broken: int | None = None
    """Sequence number of the first row that does not hold, when the problem sits at a row."""

    @property
    def holds(self) -> bool:
        return self.problem is None
