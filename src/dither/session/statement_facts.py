"""What a privacy statement rests on: the catalog and the ledger, gathered. Nothing comes from protected rows.

Flow: `statement` puts these into sentences. How often the engine failed is left out: it can depend on the rows, and a
statement is for handing on. So are the texts of questions, which are their askers'.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dither.accounting import Budget, ComposedEvent, Event, RandomLoss, Spent
from dither.catalog.model import Catalog
from dither.exact import decimal_text
from dither.ledger.apart_places import found_beside
from dither.ledger.apart_rows import loss_text
from dither.session.remembered import recall

if TYPE_CHECKING:
    from dither.ledger.ledger import Ledger

__all__ = ["Apart", "Asker", "Command", "Facts", "gather"]


@dataclass(frozen=True)
class Command:
    """One owner's command in the ledger's log: a grant, a release, an adopted promise, an import."""

    at: str
    """Day, UTC."""
    kind: str
    reason: str
    amount: str
    analyst: str | None


@dataclass(frozen=True)
class Asker:
    name: str
    allowance: Fraction | None
    """On the budget's meter; None without one."""
    daily_epsilon: Fraction | None
    spent: Fraction


@dataclass(frozen=True)
class Apart:
    """A ledger of another notion beside the data set's own, and what was released on it."""

    notion: str
    """In words: "random DP over ...", "metric privacy in ..."."""
    kind: str
    """`random` or `metric`."""
    total: str
    """Everything charged, exactly."""
    released: tuple[tuple[str, str, str], ...]
    """(day, what, its loss), oldest first; what was charged and perhaps not answered too."""
    head: str | None


@dataclass(frozen=True)
class Facts:
    catalog: Catalog
    budget: Budget
    """In force: the catalog's before a ledger begins, the ledger's after."""
    promised: Budget
    """Over the ledger's whole life, grants included."""
    has_ledger: bool
    spent: Spent
    release: str | None
    releases: int
    questions: int
    """That were charged, whatever became of them."""
    reuses: int
    mechanisms: Mapping[str, int]
    """Class of event -> how many were charged."""
    askers: tuple[Asker, ...]
    commands: tuple[Command, ...]
    agrees: bool
    """Does the catalog promise what the ledger was made for?"""
    head: str | None
    """Of the ledger's chain: whoever holds a later state can show that it contains this one."""
    taus: Mapping[str, int]
    """Folded table -> rows kept per unit, declared or tuned."""
    series: bool = False
    """Was a series ever opened, whose price rests on rows being added only?"""
    apart: tuple[Apart, ...] = ()
    """Ledgers of notions that are not differential privacy."""

    @property
    def grants(self) -> tuple[Command, ...]:
        """Of the data set's own budget."""
        return tuple(each for each in self.commands if each.kind == "granted" and each.analyst is None)


def gather(catalog: Catalog, ledger: Ledger | None, *, where: str = "") -> Facts:
    """ledger: as its owner sees it; None where none has begun.  where: its place, for what `tune` has stored."""
    terms = catalog.budget
    declared = Budget.create(epsilon=terms.epsilon, delta=terms.delta, rho=terms.rho)
    taus = {key: t.max_rows_per_unit for key, t in catalog.tables.items() if t.max_rows_per_unit is not None}
    taus = {**recall(catalog, where).taus, **taus}
    if ledger is None:
        askers = tuple(_asker(catalog, name, None) for name in catalog.analysts)
        return Facts(catalog, declared, declared, False, Spent(), None, 0, 0, 0, {}, askers, (), True, None, taus)
    log = ledger.log()
    entries = [entry for entry in ledger.entries() if entry.state != "void"]
    asked = [entry for entry in entries if entry.kind == "question"]
    events = Counter(name for entry in asked for event in entry.events for name in _names(event))
    promises = [json.loads(row.body)["facts"] for row in log if row.kind in ("created", "promise")]
    releases = ledger.releases()
    names = dict.fromkeys([*catalog.analysts, *(entry.analyst for entry in entries)])
    return Facts(
        catalog=catalog,
        budget=ledger.budget,
        promised=ledger.promised,
        has_ledger=True,
        spent=ledger.spent(),
        release=ledger.current_release,
        releases=len(releases),
        questions=len(asked),
        reuses=len(entries) - len(asked),
        mechanisms=dict(events),
        askers=tuple(_asker(catalog, name, ledger) for name in names),
        commands=tuple(_command(row) for row in log if row.entry is None and row.kind != "refused"),
        agrees=bool(promises) and promises[-1].get("promise") == catalog.promise_digest(),
        head=log[-1].hash if log else None,
        taus=taus,
        series=any(row.kind == "reserved" and "series" in json.loads(row.body)["facts"] for row in log),
        apart=_apart(where),
    )


def _apart(where: str) -> tuple[Apart, ...]:
    """What the files beside the ledger say. Raises what opening them raises: a statement must not leave one out."""
    from dither.ledger.apart import ApartLedger

    found = []
    for place in found_beside(where):
        ledger = ApartLedger.look(place)
        try:
            log = ledger.log()
            released = tuple((entry.at[:10], entry.what, loss_text(entry.loss)) for entry in log)
            kind = "random" if isinstance(ledger.total(), RandomLoss) else "metric"
            found.append(Apart(ledger.notion, kind, loss_text(ledger.total()), released, log[-1].hash if log else None))
        finally:
            ledger.close()
    return tuple(found)


def _asker(catalog: Catalog, name: str, ledger: Ledger | None) -> Asker:
    meter = "epsilon" if catalog.budget.epsilon is not None else "rho"
    spent = Spent() if ledger is None else ledger.spent(name)
    used: Fraction = getattr(spent, meter)
    analyst = catalog.analyst(name)
    if analyst is None:
        return Asker(name, None, None, used)
    allowance: Fraction | None = getattr(analyst, meter)
    left = None if ledger is None else ledger.remaining(name)
    if left is not None and getattr(left, meter) is not None:
        # As the ledger has it, grants included.
        allowance = used + getattr(left, meter)
    return Asker(analyst.name, allowance, analyst.daily_epsilon, used)


def _names(event: Event) -> list[str]:
    if isinstance(event, ComposedEvent):
        return [name for part in event.events for name in _names(part)]
    return [type(event).__name__]


def _command(row: Any) -> Command:
    facts = json.loads(row.body)["facts"]
    step = facts.get("step")
    raised = [] if step is None else zip(("epsilon", "delta", "rho"), step, strict=True)
    stated = [(meter, Fraction(value)) for meter, value in raised if value is not None]
    amount = ", ".join(f"{meter} {decimal_text(value, 30)}" for meter, value in stated if value)
    detail = facts.get("release") if row.kind == "release" else None
    reason = facts.get("reason") or ""
    return Command(row.at[:10], row.kind, str(reason), str(detail or amount), row.analyst)
