"""Spends that this ledger did not admit but must count: releases made elsewhere, and other ledgers of the same people.

Flow: `dither budget import`, `merge` and `split` call these. Relies on `journal`, `overdraft`.
What happened is booked whether or not the budget has room: a ledger that left it out would promise what is not so.
Once more was spent than the budget, nothing is admitted until a grant covers it. Every booking is written once: a
release by its name, a ledger by its id.  Statement: docs/proofs/ledger/spent-elsewhere.md
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from typing import Any

from dither.accounting.price import Price
from dither.errors import InvalidParameter, LedgerConflict, LedgerCorrupt
from dither.ledger.amounts import LARGEST, price_from_json, price_json
from dither.ledger.base import LONGEST_REASON, LedgerBase, check_reason
from dither.ledger.chain import Json
from dither.ledger.journal import Page, facts_of_kind, latest_standings
from dither.ledger.limits import terms_of_analyst
from dither.ledger.model import MergedLedger, OutsideRelease
from dither.ledger.standing import DATASET, Standing
from dither.ledger.verify import verify_ledger

__all__ = ["OutsideSpends", "check_release"]

_LONGEST = {"name": 200, "who": 200, "when": 100, "reason": LONGEST_REASON, "analyst": 200}
"""Characters of what the owner writes."""


class OutsideSpends(LedgerBase):
    def import_releases(self, releases: Sequence[OutsideRelease]) -> tuple[bool, ...]:
        """Charge releases made elsewhere, all in one step; True for each that was booked now, False for each that was
        there already. Never refused for want of budget.
        Raises LedgerConflict when a name was booked with another content, InvalidParameter for a release that says too
        little or an analyst without a name in the catalog."""
        for release in releases:
            check_release(release)
            if release.analyst is not None:
                self._analyst(release.analyst)
        with self._journal.writing() as page:
            _check_open(page.dataset())
            known = {facts["name"]: facts for facts in facts_of_kind(page.connection, "imported")}
            booked = []
            for release in releases:
                facts = self._release_facts(release)
                earlier = known.setdefault(release.name, facts)
                if earlier is facts:
                    page.append("imported", facts=facts, analyst=release.analyst)
                elif _told(earlier) != _told(facts):
                    raise LedgerConflict(
                        f"A release named {release.name!r} is booked already, and says something else.",
                        code="L-270",
                        hint="Nothing was booked. Correct the file, or give another release a name of its own.",
                    )
                booked.append(earlier is facts)
        return tuple(booked)

    def merge(self, other: OutsideSpends, *, reason: str, another_promise: bool = False) -> MergedLedger:
        """Charge all that `other` ever spent, and close it: from then on the people of both are protected by this
        budget alone. In the worst case one person is in every answer of both, so each meter takes the sum.
        another_promise: the owner asserts that both protect the same units under the same neighbours although their
        promises differ (another source or other tables); it is logged.
        Raises LedgerConflict when the promises differ, or when the other was closed for somebody else."""
        check_reason(reason)
        before = self._merged_before(other)
        if before is not None and before.closed:
            if other._now().closed:
                return before
            raise LedgerConflict(
                "The other ledger was merged before and is open again: it was put back from an older copy.",
                code="L-280",
                hint="Remove it. If it was asked since, charge what it may have answered: `dither budget restored`.",
            )
        if before is not None:
            raise LedgerConflict(
                "This ledger began with the spend of the other one, so a merge would count that twice.",
                code="L-280",
                hint="Keep both: what a person gives away is at most what the two promise together.",
            )
        self._check_mergeable(other, another_promise)
        with _both(self, other) as (ours, theirs):
            self._check_still(ours, other, theirs, another_promise)
            found = other._close(theirs, into=self.dataset, ledger=self.id, reason=reason)
            self._book(ours, found, reason, another_promise)
        return found

    def inherit(self, other: OutsideSpends, *, reason: str, another_promise: bool = False) -> MergedLedger:
        """Charge all that `other` has spent so far, and leave it open: for a data set split in two, whose parts each
        carry what was told of both. From then on what a person in both gives away is what the two promise together."""
        check_reason(reason)
        before = self._merged_before(other)
        if before is not None:
            return before
        self._check_mergeable(other, another_promise)
        with _both(self, other) as (ours, theirs):
            _check_open(theirs.dataset())
            self._check_still(ours, other, theirs, another_promise)
            found = other._whole_spend(theirs, closed=False)
            self._book(ours, found, reason, another_promise)
        return found

    def check_split(self, promise: str, *, another_promise: bool = False) -> None:
        """Raises what `inherit` would, for a part of this promise whose ledger is not there yet: were it begun first
        and then refused, it would stand there without the spend it should carry."""
        _check_open(self._now())
        self._check_passing_on(promise, another_promise)

    def merged(self) -> tuple[MergedLedger, ...]:
        """The ledgers whose spend this one carries, oldest first."""
        with self._journal.reading() as connection:
            return tuple(_merged(facts) for facts in facts_of_kind(connection, "merged"))

    def _check_still(self, ours: Page, other: OutsideSpends, theirs: Page, another_promise: bool) -> None:
        """What was checked before both were held: another process may have been first."""
        _check_open(ours.dataset())
        if any(earlier["ledger"] == other.id for earlier in facts_of_kind(ours.connection, "merged")):
            raise LedgerConflict(
                "Another process has just booked this ledger.", code="L-210", hint="Nothing was booked twice."
            )
        if not another_promise:
            _check_same_promise(theirs.dataset().promise, ours.dataset().promise)

    def _book(self, page: Page, found: MergedLedger, reason: str, another_promise: bool) -> None:
        facts: dict[str, Json] = {
            "ledger": found.ledger,
            "dataset": found.dataset,
            "head": found.head,
            "closed": found.closed,
            "price": price_json(found.price),
            "another_promise": another_promise,
            "reason": reason,
        }
        page.append("merged", facts=facts)

    def _close(self, page: Page, *, into: str, ledger: str, reason: str) -> MergedLedger:
        """End this ledger in favour of another one; again for the same one, in case its booking was interrupted."""
        for facts in facts_of_kind(page.connection, "closed"):
            if facts["ledger"] != ledger:
                raise LedgerConflict(
                    f"The other ledger was merged before, into that of {facts['into']!r}.",
                    code="L-280",
                    hint="Its spend is counted there: merge that one instead.",
                )
            return self._whole_spend(page, closed=True)
        page.append("closed", facts={"into": into, "ledger": ledger, "reason": reason})
        return self._whole_spend(page, closed=True)

    def _whole_spend(self, page: Page, *, closed: bool) -> MergedLedger:
        spent = page.dataset().spent
        price = Price(None if spent.gaussian else spent.epsilon, spent.rho, spent.delta)
        return MergedLedger(self.id, self.dataset, price, page.head, closed)

    def _check_mergeable(self, other: OutsideSpends, another_promise: bool) -> None:
        if other.id == self.id:
            raise LedgerConflict("This is the same ledger, or a copy of it.", code="L-280", hint="Name the other one.")
        ours = self._now()
        _check_open(ours)
        other._check_passing_on(ours.promise, another_promise)

    def _check_passing_on(self, promise: str, another_promise: bool) -> None:
        """Whether a ledger of this promise may take over what this one spent, and whether what it says holds."""
        with self._journal.reading() as connection:
            if not (found := verify_ledger(connection, self._key, None)).holds:
                raise LedgerCorrupt(
                    f"The other ledger does not hold: {found.problem}",
                    hint="Restore a backup of it first: docs/how-to/back-up-a-ledger.md.",
                )
        if not another_promise:
            _check_same_promise(self._now().promise, promise)

    def _merged_before(self, other: OutsideSpends) -> MergedLedger | None:
        for found in self.merged():
            if found.ledger == other.id:
                return MergedLedger(found.ledger, found.dataset, found.price, found.head, found.closed, repeated=True)
        return None

    def _now(self) -> Standing:
        with self._journal.reading() as connection:
            return latest_standings(connection, DATASET)[DATASET]

    def _release_facts(self, release: OutsideRelease) -> dict[str, Json]:
        facts: dict[str, Json] = {
            "name": release.name,
            "who": release.who,
            "when": release.when,
            "reason": release.reason,
            "price": price_json(release.price),
            "analyst": release.analyst,
        }
        if release.analyst is not None:
            facts["recorded"] = terms_of_analyst(self._analyst(release.analyst)).to_json()
        return facts


def check_release(release: OutsideRelease) -> None:
    """Raises InvalidParameter for a release whose texts or price say nothing that could be booked."""
    for field, longest in _LONGEST.items():
        text = getattr(release, field)
        if text is None and field == "analyst":
            continue
        if not (isinstance(text, str) and 0 < len(text) <= longest and text.isprintable()):
            raise InvalidParameter(field, expected=f"1 to {longest} printable characters", found=text)
    try:
        dt.datetime.fromisoformat(release.when)
    except (TypeError, ValueError):
        raise InvalidParameter("when", expected="a date or time, such as 2026-03-01", found=release.when) from None
    price = release.price
    if not isinstance(price, Price):
        raise InvalidParameter("price", expected="a Price of differential privacy", found=price)
    amounts = (price.epsilon or Fraction(0), price.rho, price.delta)
    if min(amounts) < 0 or not any(amounts) or max(amounts) > LARGEST:
        raise InvalidParameter(
            "price", expected="above 0 on a meter, below it on none, and at most a billion", found=price
        )


def _check_open(dataset: Standing) -> None:
    """What is booked on a closed ledger would be counted nowhere: its total was taken over before."""
    if dataset.closed:
        raise LedgerConflict(
            "This ledger was closed: another one took over what it had spent.", code="L-260", hint="Use that one."
        )


def _check_same_promise(one: str, other: str) -> None:
    if one != other:
        raise LedgerConflict(
            "The two ledgers promise different things: their units, neighbours, tables or sources differ.",
            code="L-290",
            hint="Spends of different units do not add. If both protect the same people under the same neighbours, "
            "and only sources or tables differ, say so with --another-promise, which is logged.",
        )


@contextmanager
def _both(ours: OutsideSpends, other: OutsideSpends) -> Iterator[tuple[Page, Page]]:
    """Write to two ledgers at once. The other one's rows are durable first: should we die in between, it is closed and
    the next merge books its total; the other way round it would go on spending what was booked as ended.
    Both are held in the order of their ids, whoever merges which: two merges that cross would else wait for each other,
    and two that held one at a time once closed both ledgers and booked neither."""
    with ExitStack() as committed_last, ExitStack() as committed_first:
        pages = {}
        for ledger, stack in sorted(((ours, committed_last), (other, committed_first)), key=lambda pair: pair[0].id):
            pages[ledger.id] = stack.enter_context(ledger._journal.writing())
        yield pages[ours.id], pages[other.id]


def _told(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What the owner's file said of a release: an allowance first seen with it is the catalog's."""
    return {key: value for key, value in facts.items() if key != "recorded"}


def _merged(facts: Mapping[str, Any]) -> MergedLedger:
    price = price_from_json(facts["price"])
    return MergedLedger(facts["ledger"], facts["dataset"], price, facts["head"], facts["closed"])
