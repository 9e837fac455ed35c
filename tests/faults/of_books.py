"""Faults of the ledger and of reuse."""

from __future__ import annotations

from typing import Any
from unittest import mock

from dither.accounting import SelectionEvent
from faults.planting import NESTED, asked, of, plant


@plant("dither.ledger.standing.Standing.charge", check="ledger", audit=of("ledger"))
def forgetful_ledger(original: Any) -> Any:
    """Charges are admitted and not added up."""
    return lambda self, price: self


@plant("dither.ledger.ledger.fits", check="ledger", audit=of("ledger"))
def budget_without_an_end(original: Any) -> Any:
    """Every price fits."""
    return lambda budget, standing, price: True


@plant(
    "dither.plan.price.SelectionEvent",
    check="ledger",
    audit=asked("ledger", "SELECT note, COUNT(*) FROM t GROUP BY note"),
)
def epsilon_and_delta_swapped(original: Any) -> Any:
    """The failure mass of private groups is booked as epsilon."""
    return lambda epsilon, delta: SelectionEvent(delta, epsilon)


@plant("dither.session.measuring._reserve", check="ledger", audit=asked("ledger", NESTED))
def phase_without_a_charge(original: Any) -> Any:
    """The question inside a question is reserved, and not charged."""

    def reserve(session: Any, stage: Any, *rest: Any) -> Any:
        if not stage.name:
            return original(session, stage, *rest)
        with mock.patch("dither.ledger.standing.Standing.charge", lambda standing, price: standing):
            return original(session, stage, *rest)

    return reserve


@plant("dither.ledger.ledger.Ledger.fail", check="ledger", audit=of("ledger"))
def refund_after_reading(original: Any) -> Any:
    """A question whose database failed is given back its price."""

    def fail(self: Any, reservation: Any) -> None:
        self._reading.discard(reservation.entry_id)
        self.void(reservation, "the database failed")

    return fail


@plant("dither.session.measuring.reserve", check="ledger", audit=of("ledger"))
def read_before_charged(original: Any) -> Any:
    """Rows are read first, and the price is reserved when they are there."""

    def reserve(session: Any, priced: Any, *rest: Any) -> Any:
        if not priced.phases:
            session.engine.measure([measure.measure for measure in priced.measures])
        return original(session, priced, *rest)

    return reserve


@plant("dither.session.measuring.prepared", check="reuse", audit=of("reuse"))
def reuse_across_releases(original: Any) -> Any:
    """Vectors of the first release serve for ever."""

    def prepared(session: Any, name: str, part: Any, before: Any, epoch: str) -> Any:
        return original(session, name, part, before, session.ledger.releases()[0].name)

    return prepared


@plant("dither.session.needs._usable", check="reuse", audit=of("reuse"))
def nothing_is_found_again(original: Any) -> Any:
    """A question asked again is measured and charged again."""
    return lambda *terms: []


@plant("dither.session.measuring._pay_for_reuse", check="reuse", audit=of("reuse"))
def reuse_without_paying(original: Any) -> Any:
    """What one analyst paid for is free for all."""
    return lambda session, needs: None
