"""The ledger of one data set: charge first, never refund, never forget.

Flow: `session.ask` reserves (the price is durable before anything is read), reads, then answers; or it voids instead of
reading, or reports an engine failure. Relies on `journal` for transactions, `limits` for admission, `vectors`.

    reserve ──▶ reserved ──answer──▶ answered        charged, vectors kept
                        ──void────▶ void            only before reading: the one state that costs nothing
                        ──fail────▶ failed          the engine failed: charged
                        ──(death)─▶ lost            found at the next opening: charged

Statements: docs/proofs/ledger/charge-first.md, docs/proofs/ledger/one-writer.md
"""

from __future__ import annotations

import datetime as dt
import json
import secrets
from collections.abc import Mapping, Sequence

from dither.accounting.price import Price
from dither.catalog.model import Analyst, BudgetTerms
from dither.errors import GuaranteeError, InvalidParameter, LedgerConflict, PolicyRefused
from dither.ledger import recovery, vectors
from dither.ledger.amounts import price_from_json, price_json
from dither.ledger.chain import Json, receipt_digest
from dither.ledger.effects import levels_of
from dither.ledger.export import Exports
from dither.ledger.journal import EntryRow, Journal, Page, latest_standings, rows_of_entry
from dither.ledger.limits import allowance_of, check_analysts, daily_of, exceeded, fits, terms_of_analyst
from dither.ledger.model import (
    Clock,
    LogRow,
    NewVector,
    Receipt,
    ReleasedVector,
    Reservation,
    ReservationRequest,
    Verification,
)
from dither.ledger.opening import check_promise, open_or_create
from dither.ledger.outside import OutsideSpends
from dither.ledger.owner import OwnerCommands
from dither.ledger.refusals import Refusals
from dither.ledger.reports import Reports
from dither.ledger.standing import DATASET, Standing, analyst_level, day_level
from dither.ledger.storage.store import open_store
from dither.ledger.verify import verify_ledger

__all__ = ["Ledger"]


class Ledger(OwnerCommands, OutsideSpends, Refusals, Reports, Exports):
    """Safe to share among threads, and to open in many processes at once."""

    @classmethod
    def open(
        cls,
        url: str,
        *,
        dataset: str | None,
        promise_digest: str | None,
        budget: BudgetTerms | None,
        analysts: Mapping[str, Analyst],
        clock: Clock | None = None,
        wait_s: float = 10.0,
    ) -> Ledger:
        """Open the ledger at `url` ('' in memory, a path, or postgresql://…); create it if it is not there.
        dataset: None for an owner who looks at whichever data set's ledger is there.
        promise_digest: `Catalog.promise_digest()`; None for an owner who looks or adopts, and may not ask.
        budget: as declared; it counts when the ledger is created, later only `budget_note` compares it.
        wait_s: how long to wait for other writers.
        Raises LedgerConflict when the ledger belongs to another data set or promise, LedgerError when unusable."""
        journal = Journal(open_store(url, wait_s=wait_s), clock or _now)
        try:
            identity = open_or_create(journal, dataset=dataset, promise_digest=promise_digest, budget=budget)
            ledger = cls(journal, identity, promise_digest=promise_digest, declared=budget, analysts=analysts)
            check_analysts(ledger.budget, ledger._analysts.values())
            recovery.recover(journal)
        except BaseException:
            journal.store.close()
            raise
        return ledger

    def close(self) -> None:
        """End this session. Questions it leaves unanswered count as lost at the next opening."""
        self._journal.store.close()

    def reserve(self, request: ReservationRequest) -> Reservation:
        """Charge a question's price to the data set, the analyst, and the analyst's day; durable on return.
        Raises BudgetExceeded (of the caller's own level only), PolicyRefused when frozen or unknown, LedgerConflict
        when promise or release are no longer those the question was planned under. A refusal charges nothing."""
        analyst = self._analyst(request.analyst)
        _check_request(request)
        facts = self._facts(request, analyst)
        with self._journal.writing() as page:
            if request.idempotency_key is not None:
                earlier = page.entry_of_request(analyst.name, request.idempotency_key)
                if earlier is not None:
                    return _repeated(rows_of_entry(page.connection, earlier), request)
            levels = levels_of("reserved", facts, analyst=analyst.name, day=page.day)
            before = page.standings(*levels)
            self._check_current(before[DATASET], request.release)
            self._check_frozen(before[DATASET], before.get(analyst_level(analyst.name)))
            self._admit(analyst, before, page.day, request.price)
            row = page.append(
                "reserved",
                facts=facts,
                entry=secrets.token_hex(8),
                analyst=analyst.name,
                request=request.idempotency_key,
                before=before,
            )
        return _reservation(row, "reserved")

    def check_room(self, analyst: str, price: Price) -> None:
        """Raise what `reserve` would raise at this price; writes nothing. For questions that reserve in steps."""
        who = self._analyst(analyst)
        with self._journal.reading() as connection:
            day = self._journal.today(connection)
            before = latest_standings(connection, *levels_of("reserved", {}, analyst=who.name, day=day))
        self._check_frozen(before[DATASET], before.get(analyst_level(who.name)))
        self._admit(who, before, day, price)

    def begin_reading(self, reservation: Reservation) -> None:
        """Say that data is about to be read: from here on this reservation cannot be voided."""
        _check_first(reservation)
        self._reading.add(reservation.entry_id)

    def answer(self, reservation: Reservation, measured: Sequence[NewVector]) -> Receipt:
        """Keep the noisy vectors and mark the entry answered, in one durable step; only then show the answer.
        Raises LedgerConflict when the entry was settled meanwhile, GuaranteeError when a vector was not reserved."""
        _check_first(reservation)
        _check_measured(reservation, measured)
        with self._journal.writing() as page:
            _check_unsettled(page, reservation)
            row = page.append(
                "answered",
                facts={"vectors": vectors.vector_facts(measured)},
                entry=reservation.entry_id,
                analyst=reservation.analyst,
            )
            vectors.store_vectors(
                page.connection,
                entry=reservation.entry_id,
                release=reservation.release,
                analyst=reservation.analyst,
                vectors=measured,
            )
        self._reading.discard(reservation.entry_id)
        return self._receipt(row)

    def void(self, reservation: Reservation, reason: str) -> None:
        """Give the question up *instead of* reading, and take its charge back.
        Raises GuaranteeError once `begin_reading` was said."""
        _check_first(reservation)
        if reservation.entry_id in self._reading:
            raise GuaranteeError("A question that may have read data was about to be voided.")
        with self._journal.writing() as page:
            reserved = _check_unsettled(page, reservation)
            facts: dict[str, Json] = {
                "reason": reason,
                "price": price_json(reservation.price),
                "day": reserved.day,
            }
            page.append("void", facts=facts, entry=reservation.entry_id, analyst=reservation.analyst)

    def fail(self, reservation: Reservation) -> None:
        """The engine failed on this question: the charge stands, and the failure counts towards the freeze."""
        _check_first(reservation)
        with self._journal.writing() as page:
            _check_unsettled(page, reservation)
            page.append("failed", facts={}, entry=reservation.entry_id, analyst=reservation.analyst)
        self._reading.discard(reservation.entry_id)

    def released(self, identity: str, release: str) -> list[ReleasedVector]:
        """The kept measurements of this vector in this release. What an analyst may see of them is their payer's
        matter: `paid_by` says who has paid, `record_reuse` charges others."""
        return self.all_released([identity], release)[0]

    def all_released(self, identities: Sequence[str], release: str) -> list[list[ReleasedVector]]:
        """The same of several vectors, in their order, as they stand at one moment."""
        with self._journal.reading() as connection:
            return [vectors.released_vectors(connection, identity, release) for identity in identities]

    def vectors_of(self, reservation: Reservation) -> list[ReleasedVector]:
        """What an answered entry measured: for a request repeated under its idempotency key."""
        return self.vectors_in(reservation.entry_id)

    def vectors_in(self, entry_id: str) -> list[ReleasedVector]:
        """What an entry measured; nothing where it was not answered, or is none."""
        with self._journal.reading() as connection:
            return vectors.vectors_of_entry(connection, entry_id)

    def record_reuse(self, analyst: str, vector: ReleasedVector, price: Price) -> Receipt | None:
        """Charge `analyst` for a vector that others paid for, once; the data set pays nothing. None: already paid.
        Raises BudgetExceeded when the allowance or daily limit does not admit the price, LedgerConflict when the
        vector is of an earlier release."""
        who = self._analyst(analyst)
        with self._journal.writing() as page:
            if vectors.has_paid(page.connection, vector, who.name):
                return None
            dataset = page.dataset()
            self._check_current(dataset, vector.release)
            levels = levels_of("reused", {}, analyst=who.name, day=page.day)
            before = page.standings(*levels)
            self._admit_own(who, {**before, DATASET: dataset}, page.day, price)
            row = page.append(
                "reused",
                facts={
                    "price": price_json(price),
                    "source": vector.entry_id,
                    "position": vector.position,
                    "release": vector.release,
                    "recorded": terms_of_analyst(who).to_json(),
                },
                entry=secrets.token_hex(8),
                analyst=who.name,
                before=before,
            )
            vectors.add_payer(page.connection, vector, who.name)
        return self._receipt(row)

    def verify(self, receipt: Receipt | None = None) -> Verification:
        """Check the whole chain, every total, every vector, and whether the entry of `receipt` is in it."""
        with self._journal.reading() as connection:
            return verify_ledger(connection, self._key, receipt)

    def _facts(self, request: ReservationRequest, analyst: Analyst) -> dict[str, Json]:
        """What a reserved row says, all of it known before the ledger is looked at."""
        return {
            "text": request.text,
            "fingerprint": request.fingerprint,
            "price": price_json(request.price),
            "events": [event.to_dict() for event in request.events],
            "vectors": request.vectors,
            "release": request.release,
            "holder": self._journal.store.session(),
            "recorded": terms_of_analyst(analyst).to_json(),
        }

    def _admit(self, analyst: Analyst, before: Mapping[str, Standing], day: str, price: Price) -> None:
        self._admit_own(analyst, before, day, price)
        if not fits(self._budget(before[DATASET]), before[DATASET], price):
            raise exceeded("data set", None, before[DATASET], price)

    def _admit_own(self, analyst: Analyst, before: Mapping[str, Standing], day: str, price: Price) -> None:
        """Allowance and daily limit. They come first, so that a refusal by them tells nothing of the data set."""
        dataset = self._budget(before[DATASET])
        own = before.get(analyst_level(analyst.name), Standing(recorded=terms_of_analyst(analyst)))
        today = before.get(day_level(analyst.name, day), Standing())
        for level, budget, standing in (
            ("allowance", allowance_of(dataset, analyst, own), own),
            ("daily limit", daily_of(dataset, analyst), today),
        ):
            if not fits(budget, standing, price):
                raise exceeded(level, budget, standing, price)

    def _check_current(self, dataset: Standing, release: str) -> None:
        if self.promise_digest is None:
            raise LedgerConflict("The ledger was opened to look, not to ask.", hint="Open it with a catalog.")
        check_promise(dataset, self.promise_digest)
        if dataset.closed:
            raise LedgerConflict(
                "The owner closed this ledger: another one took over what it had spent.",
                code="L-260",
                hint="Ask under the catalog of the other ledger.",
            )
        if dataset.release != release:
            raise LedgerConflict(
                "A new release was opened while the question was planned.", code="L-230", hint="Ask again."
            )

    def _check_frozen(self, dataset: Standing, own: Standing | None) -> None:
        own_failures = 0 if own is None else own.failures
        if own_failures >= self.ANALYST_FAILURES or dataset.failures >= self.DATASET_FAILURES:
            # One text for both: which of the two it is would tell of other analysts.
            raise PolicyRefused(
                "Asking is paused after repeated engine failures.",
                code="C-320",
                hint="The owner must look at them first, then lift the pause.",
            )

    def _receipt(self, row: LogRow) -> Receipt:
        entry = str(row.entry)
        return Receipt(entry, row.hash, receipt_digest(self._key, entry, row.hash))


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _check_request(request: ReservationRequest) -> None:
    key = request.idempotency_key
    if key is not None and not (0 < len(key) <= 200 and key.isprintable()):
        raise InvalidParameter("idempotency_key", expected="1 to 200 printable characters", found=key)
    price = request.price
    # A loss of another notion has an epsilon too, and means something else by it.
    if not isinstance(price, Price):
        raise InvalidParameter("price", expected="a Price of differential privacy", found=price)
    amounts = (price.epsilon or 0, price.rho, price.delta)
    if min(amounts) < 0 or (price.epsilon is not None and not any(amounts)):
        raise InvalidParameter(
            "price", expected="above 0; what costs nothing needs no reservation", found=price, code="I-170"
        )


def _check_first(reservation: Reservation) -> None:
    if reservation.repeated:
        raise GuaranteeError("A repeated request was about to be measured or settled a second time.")


def _check_measured(reservation: Reservation, measured: Sequence[NewVector]) -> None:
    """Check twice what matters: the price before the run, and each vector's own price again before it is kept."""
    for vector in measured:
        if vector.identity not in reservation.vectors:
            raise GuaranteeError("A vector was measured that was not reserved.")
        if not vector.price <= reservation.price:
            raise GuaranteeError("A vector was measured that costs more than was reserved.")


def _check_unsettled(page: Page, reservation: Reservation) -> EntryRow:
    """The reserved row, when it is the entry's only one."""
    rows = page.states(reservation.entry_id)
    if not rows or rows[0].hash != reservation.hash:
        raise LedgerConflict("The ledger does not know this reservation.", code="L-240", hint="Ask again.")
    if len(rows) > 1:
        raise LedgerConflict(f"This question is already {rows[-1].kind}.", code="L-250", hint="Ask again.")
    return rows[0]


def _reservation(row: LogRow, state: str, *, repeated: bool = False) -> Reservation:
    facts = json.loads(row.body)["facts"]
    return Reservation(
        entry_id=str(row.entry),
        analyst=str(row.analyst),
        release=facts["release"],
        price=price_from_json(facts["price"]),
        vectors=tuple(facts["vectors"]),
        hash=row.hash,
        state=state,  # type: ignore[arg-type]
        repeated=repeated,
    )


def _repeated(rows: Sequence[LogRow], request: ReservationRequest) -> Reservation:
    if json.loads(rows[0].body)["facts"]["fingerprint"] != request.fingerprint:
        raise InvalidParameter(
            "idempotency_key", expected="a new key for a new question", found=request.idempotency_key, code="I-180"
        )
    return _reservation(rows[0], rows[-1].kind, repeated=True)
