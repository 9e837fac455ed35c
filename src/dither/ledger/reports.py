"""Read the ledger: what was spent, what remains, who asked what.

Flow: sessions show `remaining` of their own analyst; everything else is for the owner, since balances and entries tell
of other analysts. Relies on `journal` to read one state, `limits` for budgets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby

from dither.accounting.admission import Budget, Remaining, Spent
from dither.accounting.events import event_from_dict
from dither.accounting.odometer import Odometer, odometer
from dither.exact import decimal_text
from dither.ledger import overdraft
from dither.ledger.amounts import price_from_json
from dither.ledger.base import LedgerBase
from dither.ledger.journal import latest_standings, whole_log
from dither.ledger.limits import allowance_of, budget_of, daily_of, terms_of_analyst, terms_of_budget, what_remains
from dither.ledger.model import Entry, LogRow, Reading, ReleaseRecord
from dither.ledger.standing import DATASET, Standing, Terms, analyst_level, day_level

__all__ = ["Reports"]


class Reports(LedgerBase):
    @property
    def budget(self) -> Budget:
        """The data set's budget in force: as first recorded, plus grants."""
        return self._budget(self._standing(DATASET))

    @property
    def promised(self) -> Budget:
        """What is promised over the ledger's whole life: after grants, the deltas of all levels added. A booking that
        went beyond the budget counts as a grant of what it took."""
        with self._journal.reading() as connection:
            dataset = latest_standings(connection, DATASET)[DATASET]
            return overdraft.promised(connection, [budget_of(terms) for terms in dataset.levels])

    @property
    def overdrawn(self) -> bool:
        """Whether more was spent than the budget, by an import, a merge or a worst case: then nothing is admitted."""
        return overdraft.overdrawn(self._standing(DATASET))

    @property
    def closed_into(self) -> str | None:
        """The data set whose ledger took over what this one spent; None while this one is open."""
        return self._standing(DATASET).closed or None

    @property
    def budget_note(self) -> str | None:
        """Where the catalog's numbers differ from those in force, and what to do; None when they agree."""
        notes = []
        recorded = self._standing(DATASET).recorded
        if self._declared is not None and terms_of_budget(self._declared) != recorded:
            notes.append(
                f"The catalog declares a budget of {_terms_text(terms_of_budget(self._declared))}; "
                f"the ledger began with {_terms_text(recorded)}, which stays in force. A grant raises it."
            )
        for name, analyst in self._analysts.items():
            own, declared = self._standing(analyst_level(name)), terms_of_analyst(analyst)
            if own != Standing() and own.recorded != declared:
                notes.append(
                    f"{name} has {_terms_text(declared)} in the catalog and {_terms_text(own.recorded)} in the ledger: "
                    "the lesser is in force. A grant raises it."
                )
        return "\n".join(notes) or None

    @property
    def current_release(self) -> str:
        return self._standing(DATASET).release

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Oldest first."""
        opened = [row for row in self.log() if row.kind in ("created", "release")]
        facts = [json.loads(row.body)["facts"] for row in opened]
        return tuple(
            ReleaseRecord(fact["release"], row.at, fact.get("reason")) for row, fact in zip(opened, facts, strict=True)
        )

    def spent(self, analyst: str | None = None, *, today: bool = False) -> Spent:
        """Charged so far to the data set, to an analyst, or to an analyst today (UTC)."""
        return self._standing(self._level(analyst, today)).spent

    def remaining(self, analyst: str | None = None, *, today: bool = False) -> Remaining | None:
        """What is left of the data set's budget (for the owner), of an analyst's allowance, or of their daily limit.
        None: this analyst has no such limit of their own."""
        standing = self._standing(self._level(analyst, today))
        dataset = self._budget(self._standing(DATASET))
        if analyst is None:
            return what_remains(dataset, standing)
        who = self._analyst(analyst)
        limit = daily_of(dataset, who) if today else allowance_of(dataset, who, standing)
        return what_remains(limit, standing)

    def frozen(self, analyst: str | None = None) -> bool:
        """Whether this analyst's failures, or the data set's, have paused asking."""
        most = self.DATASET_FAILURES if analyst is None else self.ANALYST_FAILURES
        return self._standing(self._level(analyst, False)).failures >= most

    def totals(self) -> dict[str, Spent]:
        """Spent by the data set (under its own name) and by each analyst who ever asked."""
        names = sorted({row.analyst for row in self.log() if row.analyst is not None})
        return {self.dataset: self.spent()} | {name: self.spent(name) for name in names}

    def log(self) -> tuple[LogRow, ...]:
        """Every row of the chain, oldest first."""
        with self._journal.reading() as connection:
            return tuple(whole_log(connection))

    def entries(self, analyst: str | None = None) -> tuple[Entry, ...]:
        """Every question and reuse, or one analyst's, oldest first."""
        # What an advance of a series releases was charged with its epoch: it is no question of its own.
        asked = [row for row in self.log() if row.entry is not None and row.kind not in ("advanced", "stalled")]
        mine = [row for row in asked if analyst in (None, row.analyst)]
        by_entry = groupby(sorted(mine, key=lambda row: (str(row.entry), row.seq)), key=lambda row: row.entry)
        gathered = sorted((list(rows) for _, rows in by_entry), key=lambda rows: rows[0].seq)
        return tuple(_entry(rows) for rows in gathered)

    def history(self) -> tuple[Reading, ...]:
        """The data set's meters over time, oldest first: one reading for each row that moved them or their limit."""
        readings: list[Reading] = []
        for row in self.log():
            stored = json.loads(row.body)["standings"].get(DATASET)
            if stored is None:
                continue
            standing = Standing.from_json(stored)
            reading = Reading(row.at, row.kind, standing.spent, self._budget(standing))
            if not readings or (reading.spent, reading.budget) != (readings[-1].spent, readings[-1].budget):
                readings.append(reading)
        return tuple(readings)

    def odometer(self) -> Odometer | None:
        """The reading of the odometer now. None before the first question, and once something was booked whose events
        are not known here."""
        readings = self.odometers(most=1)
        return readings[-1][1] if readings else None

    def odometers(self, most: int = 40) -> tuple[tuple[str, Odometer], ...]:
        """Readings of the odometer after questions, at `most` moments (UTC) spread evenly over them; the last is the
        reading now. Questions given up are left out from the beginning. None at all where `odometer` has none."""
        if any(row.kind in ("imported", "merged", "restored") for row in self.log()):
            return ()
        asked = [entry for entry in self.entries() if entry.kind == "question" and entry.state != "void"]
        count = min(most, len(asked))
        places = [len(asked) * number // count for number in range(1, count + 1)]
        budget = self.budget
        return tuple(
            (
                asked[place - 1].reserved_at,
                odometer([event for entry in asked[:place] for event in entry.events], budget),
            )
            for place in places
        )

    def _level(self, analyst: str | None, today: bool) -> str:
        if analyst is None:
            return DATASET
        if not today:
            return analyst_level(analyst)
        with self._journal.reading() as connection:
            return day_level(analyst, self._journal.today(connection))

    def _standing(self, level: str) -> Standing:
        with self._journal.reading() as connection:
            return latest_standings(connection, level).get(level, Standing())


def _entry(rows: list[LogRow]) -> Entry:
    """One entry of its rows: the one that opened it, and the one that settled it if any."""
    opened, settled = rows[0], rows[1] if len(rows) > 1 else None
    facts = json.loads(opened.body)["facts"]
    return Entry(
        id=str(opened.entry),
        kind="reuse" if opened.kind == "reused" else "question",
        analyst=str(opened.analyst),
        state=rows[-1].kind,  # type: ignore[arg-type]
        price=price_from_json(facts["price"]),
        events=tuple(event_from_dict(event) for event in facts.get("events", ())),
        text=facts.get("text", ""),
        fingerprint=facts.get("fingerprint", ""),
        release=facts["release"],
        vectors=tuple(facts.get("vectors", ())),
        reserved_at=opened.at,
        settled_at=settled.at if settled else None,
        reason=json.loads(settled.body)["facts"].get("reason") if settled else None,
        previous_hash=opened.previous,
        hash=opened.hash,
        settled_hash=settled.hash if settled else None,
        idempotency_key=opened.request,
    )


def _terms_text(terms: Terms) -> str:
    """`epsilon 3, delta 0.000000001`; `no limit` when neither meter has one."""
    meters: Iterable[tuple[str, object]] = (
        ("epsilon", terms.epsilon),
        ("rho", terms.rho),
        ("delta", terms.delta or None),
    )
    shown = [f"{name} {decimal_text(value, 30)}" for name, value in meters if value is not None]  # type: ignore[arg-type]
    return ", ".join(shown) or "no limit"
