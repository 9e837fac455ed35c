"""Charge for what a question measures, then read it: reserve, read, add noise, keep. In that order, whatever fails.

Flow: `Session.ask` and `session.many` price a plan; here its stages are reserved all together, and measured one by one.
Relies on the ledger for admission and for what it keeps, on the engine for exact integers, on `answer.joint` for noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dither.answer.finishing import finish, rows_of
from dither.answer.joint import release_all, to_read
from dither.answer.noisy import NoisyTable
from dither.engines.base import MeasuredTable
from dither.errors import DitherError, LedgerConflict
from dither.ledger.model import NewVector, Receipt, Reservation, ReservationRequest
from dither.plan import nodes
from dither.plan.phases import bind_measure
from dither.plan.price import PricedMeasure, PricedPlan
from dither.secret import Secret, open_secret
from dither.session import vectors
from dither.session.needs import Need, events_of
from dither.session.offers import Offered, check_charge
from dither.session.stages import Stage, bound, charged, parts_of, prepare
from dither.session.tables import Fresh, noisy_tables

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = ["measure", "prepared", "reserve"]


def reserve(
    session: Session, priced: PricedPlan, stated: Offered, epoch: str, fingerprint: str, request: str | None
) -> list[Stage]:
    """All stages, each with what it must measure reserved; where one is not admitted, the earlier are given up."""
    stages: list[Stage] = []
    try:
        for name, part in parts_of(priced):
            stage = prepared(session, name, part, stages, epoch)
            stages.append(stage)
            check_charge(session, priced.offer, stated, charged(stages, allowance=session.own_level is not None))
            if stage.wanted:
                key = f"{request}/{name}" if request is not None and name else request
                stage.reservation = _fresh(_reserve(session, stage, epoch, fingerprint, key))
        for stage in stages:
            _pay_for_reuse(session, stage.needs)
    except DitherError:
        _give_up(session, stages)
        raise
    return stages


def prepared(session: Session, name: str, part: PricedPlan, before: list[Stage], epoch: str) -> Stage:
    """A stage with what it needs, and what of that the release `epoch` has already."""
    return prepare(
        name,
        part,
        before,
        catalog=session.catalog,
        analyst=session.analyst,
        release=epoch,
        version_of=session.facts.version_of,
        released=lambda identities: session.ledger.all_released(identities, epoch),
        beside=session.ledger.vectors_in,
    )


def measure(session: Session, stages: list[Stage]) -> tuple[list[NoisyTable], Receipt | None]:
    """The noisy tables of the last stage, each stage read with the results of those before it written in."""
    tables: list[NoisyTable] = []
    signed = None
    for number, stage in enumerate(stages):
        try:
            part = bound(stage, stages[:number], bind_measure) if number else stage.priced
            fresh: Fresh = {}
            if stage.reservation is not None:
                fresh, signed = _measure(session, stage.reservation, part, stage.wanted)
            tables = noisy_tables(part, stage.needs, fresh)
            stage.result = rows_of(finish(part.plan, tables)) if stage.name else []
        except BaseException:
            _give_up(session, stages[number + 1 :])
            raise
    return tables, signed


def _reserve(session: Session, stage: Stage, epoch: str, fingerprint: str, request: str | None) -> Reservation:
    return session.ledger.reserve(
        ReservationRequest(
            analyst=session.analyst,
            text=stage.priced.plan.text,
            fingerprint=fingerprint,
            price=stage.cost,
            events=events_of(stage.priced, stage.wanted),
            vectors=tuple(need.identity for need in stage.wanted),
            release=epoch,
            idempotency_key=request,
        )
    )


def _fresh(reservation: Reservation) -> Reservation:
    """The reservation, when it is ours to read with: a request key that was used before finds the earlier entry."""
    if reservation.repeated:
        raise LedgerConflict(
            f"A question with this request key was charged before; its entry {reservation.entry_id} is "
            f"{reservation.state}.",
            hint="What it measured is found without a key; to measure anew, use another key.",
        )
    return reservation


def _pay_for_reuse(session: Session, needs: Sequence[Need]) -> None:
    for need in needs:
        if need.known is not None and not need.paid:
            session.ledger.record_reuse(session.analyst, need.known, need.known.price)


def _give_up(session: Session, stages: Sequence[Stage]) -> None:
    """Take back the reservations of stages that have not been read."""
    for stage in stages:
        if stage.reservation is not None:
            session.ledger.void(stage.reservation, "another part of the question could not be answered")


def _measure(
    session: Session, reservation: Reservation, priced: PricedPlan, wanted: Sequence[Need]
) -> tuple[Fresh, Receipt]:
    """Read, add noise, and have the ledger keep the result, in that order. From the first read on the charge stands:
    whatever fails is booked as a failure."""
    session.ledger.begin_reading(reservation)
    try:
        reading = to_read(priced, _places(wanted))
        measured = session.engine.measure([_only(priced.measures[m], places) for m, places in reading])
        fresh = _add_noise(session, priced, wanted, measured)
        return fresh, session.ledger.answer(reservation, [fresh[n.measure, n.position] for n in wanted])
    except BaseException:
        session.ledger.fail(reservation)
        raise


def _add_noise(
    session: Session, priced: PricedPlan, wanted: Sequence[Need], measured: Secret[list[MeasuredTable]]
) -> Fresh:
    """Every wanted vector over all its groups, with noise of its law; private groups cut at their threshold."""
    tables = open_secret(measured)
    noisy = release_all(priced, _places(wanted), tables, session.catalog.neighbours, session.fresh_entropy())
    fresh = {}
    for need in wanted:
        keys, values = noisy[need.measure, need.position]
        payload = vectors.pack(keys, values)
        facts = vectors.law_facts(need.priced.law)
        cost = priced.measures[need.measure].price_at(need.position)
        fresh[need.measure, need.position] = NewVector(need.identity, facts, cost, payload)
    return fresh


def _places(wanted: Sequence[Need]) -> list[tuple[int, int]]:
    return [(need.measure, need.position) for need in wanted]


def _only(priced: PricedMeasure, places: list[int]) -> nodes.Measure:
    """The measure with its wanted vectors alone; private keys are chosen by all of them together."""
    return replace(priced.measure, vectors=tuple(priced.measure.vectors[p] for p in places))
