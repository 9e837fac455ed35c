"""Eight processes spend as fast as they can, on SQLite and on a real PostgreSQL: every total is exact, and nobody waits
long. Figures of speed are for benchmarks/ledger.py; what is printed here is for whoever runs it with -s.
"""

from __future__ import annotations

import os
import time
from fractions import Fraction

import pytest

from dither.accounting.events import LaplaceEvent
from dither.accounting.price import price
from dither.catalog.model import BudgetTerms
from dither.ledger import NewVector, ReservationRequest
from dither.ledger.ledger import Ledger
from support.forked import forked_at_once

PROCESSES = 8
EVENT = LaplaceEvent(Fraction(1000), 1)
COST = price(EVENT)


def open_ledger(place: str) -> Ledger:
    terms = BudgetTerms(epsilon=Fraction(10**9))
    return Ledger.open(place, dataset="d", promise_digest="a" * 64, budget=terms, analysts={}, wait_s=60)


@pytest.mark.parametrize(
    ("spends", "longest_s"), [(40, 10), pytest.param(1000, 1, marks=[pytest.mark.long, pytest.mark.timeout(1800)])]
)
def test_eight_processes_spend_and_every_total_is_exact(place: str, spends: int, longest_s: float) -> None:
    """A spend is a reservation and its answer. longest_s: one second is the bar; the short run shares its machine with
    whatever else is tested, and is there for the totals."""
    open_ledger(place).close()
    begin = time.monotonic() + 1

    def spend(number: int, writer: int) -> None:
        ledger, longest = open_ledger(place), 0.0
        time.sleep(max(0.0, begin - time.monotonic()))
        for count in range(spends):
            started = time.monotonic()
            request = ReservationRequest(
                f"analyst {number}", "SELECT 1", "f" * 64, COST, (EVENT,), ("v" * 64,), "1", f"{number}/{count}"
            )
            reservation = ledger.reserve(request)
            reserved = time.monotonic()
            ledger.answer(reservation, [NewVector("v" * 64, {"kind": "laplace"}, COST, b"%d" % count)])
            longest = max(longest, reserved - started, time.monotonic() - reserved)
        os.write(writer, f"{longest} {time.monotonic() - begin}".encode())

    said = [line for lines in forked_at_once(spend, PROCESSES) for line in lines]
    waits, times = zip(*(map(float, line.split()) for line in said), strict=True)
    print(f"\n{PROCESSES * spends / max(times):.0f} spends/s, longest wait {max(waits) * 1e3:.0f} ms")
    ledger = open_ledger(place)
    whole = PROCESSES * spends
    assert ledger.spent().epsilon == whole * COST.epsilon and ledger.spent().rho == whole * COST.rho
    for number in range(PROCESSES):
        assert ledger.spent(f"analyst {number}").epsilon == spends * COST.epsilon
    entries = ledger.entries()
    assert len(entries) == whole and {entry.state for entry in entries} == {"answered"}
    assert len(ledger.released("v" * 64, "1")) == whole
    assert ledger.verify().rows == 1 + 2 * whole and ledger.verify().holds
    ledger.close()
    assert max(waits) <= longest_s
