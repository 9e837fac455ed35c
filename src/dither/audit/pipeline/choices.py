"""Choices inside a question: what nobody declared is chosen privately first, out of the offer, and that is paid for.

Flow: a catalog without rows per unit and without bounds; questions over it are asked as always, and the books, the
order of charging and reading, and what one unit moves under the terms chosen are looked at. The laws of the choices
are put to the test by themselves, in tests/statistics: through a ledger, a draw would take a hundredth of a second.
Proofs: docs/proofs/mechanisms/max-rows.md, docs/proofs/mechanisms/value-bounds.md
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dither.accounting import Price, price
from dither.audit.pipeline.books import reserved_when_read
from dither.audit.pipeline.databases import Pair
from dither.audit.pipeline.questions import Question
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.sensitivity import ask_whole
from dither.audit.pipeline.world import World
from dither.catalog.load import loads
from dither.engines.sources import view_name
from dither.noise import Entropy
from dither.session.session import Session
from dither.session.tune import choose_rows
from dither.sql.printing import quote_name

__all__ = ["choices"]

CHOICES = "choices"
_CATALOG = """
[dataset]
name = "audit of choices"
[source]
url = "invented.duckdb"
[unit]
name = "person"
[budget]
epsilon = 1e9
delta = 1e-5
[tables.c]
privacy_unit = "uid"
columns = { k = { type = "integer" } }
"""
_CROWD = "SELECT i % 2000, i % 7 FROM range(6000) AS r(i)"
_HEAVY = "SELECT 999999, 60 FROM range(500) AS r(i)"
"""One unit with far more rows than others, of a larger value."""
_QUESTION = "SELECT COUNT(*), SUM(k) FROM c"
_SLACK = Fraction(1, 10**15)
"""The ledger rounds each charge up to 1e-18."""


class _Stopped(Exception):
    """What befalls a choice of the audit's in the middle of reading."""


def choices(*, entropy: Entropy | None) -> Iterator[Line]:
    """A line for each way in which a choice could be wrong."""
    yield _line("the books hold the choices and the question", _booked(entropy))
    yield _line("a choice is charged what its mechanism says", _as_drawn(entropy))
    yield _line("each is charged in the file before it is read", _durable(entropy))
    yield _line("a choice whose database fails: the charge stays", _failing(entropy))
    yield _moved(entropy)


def _booked(entropy: Entropy | None) -> str:
    """What is wrong with the books after one question; '' when nothing is."""
    with _world(entropy) as world:
        explained = world.session.explain(_QUESTION, epsilon=1).price
        answer = world.session.ask(_QUESTION, epsilon=1)
        booked, entries = world.ledger.spent(), world.ledger.entries()
        made = [entry for entry in entries if not entry.vectors]
        if len(made) != 2 or len(entries) != 3:
            return f"{len(made)} choices in the books, 2 were made"
        events = Price()
        for entry in entries:
            own = Price()
            for event in entry.events:
                own = own + price(event)
            if not (own.epsilon or own.rho):
                return "an entry without a price"
            events = events + own
        if booked.epsilon + _SLACK < (events.epsilon or 0) or booked.rho + _SLACK < events.rho:
            return "booked less than the price of the events"
        if booked.epsilon > 1 or (explained.epsilon or 0) + _SLACK < booked.epsilon:
            return "booked more than was offered or explained"
        # The ledger rounds every charge up, so what is booked may be a little above.
        told = answer.charged.epsilon or Fraction(0)
        return "" if abs(told - booked.epsilon) <= _SLACK else "told another price than is booked"


def _as_drawn(entropy: Entropy | None) -> str:
    with _world(entropy) as world:
        cap = choose_rows(world.session, "c", epsilon=1, for_epsilon=1, groups=1)
        (entry,) = world.ledger.entries()
        return "" if tuple(entry.events) == tuple(cap.events) else "booked as other noise than was drawn"


def _durable(entropy: Entropy | None) -> str:
    def ask(session: Session) -> None:
        session.ask(_QUESTION, epsilon=1)

    seen = reserved_when_read(lambda file: _world(entropy, ledger=file), ask)
    return "" if seen == [1, 2, 3] else f"reserved when read: {seen}, not 1, 2, 3"


def _failing(entropy: Entropy | None) -> str:
    with _world(entropy) as world:

        def fail() -> None:
            raise _Stopped

        world.watched.before_reading = fail
        try:
            world.session.ask(_QUESTION, epsilon=1)
            return "answered without its database"
        except _Stopped:
            pass
        (entry,) = world.ledger.entries()
        return "" if world.ledger.spent().epsilon > 0 and entry.state == "failed" else f"booked as {entry.state}"


def _moved(entropy: Entropy | None) -> Line:
    """What a heavy unit moves under the terms that were chosen, against what was paid for the vectors."""
    with _world(entropy) as world:
        asked = ask_whole(world, Question(_QUESTION))
        with_unit = asked.read(world)
        world.source.run(f"DELETE FROM {quote_name(view_name('c'))} WHERE uid = 999999")
        without = asked.read(world)
    asked.compare(Pair("a unit with 500 rows", {}, {}), with_unit, without, False)
    return Line.judged(
        CHOICES,
        f"under chosen terms: {_QUESTION}",
        right=asked.worst <= 1,
        claimed="at most 1",
        found=f"{float(asked.worst):.4g} of the price",
        detail=asked.where,
    )


def _world(entropy: Entropy | None, *, ledger: str = "") -> World:
    world = World(loads(_CATALOG), entropy=entropy, ledger=ledger, choosing=True)
    world.fill("c", _CROWD)
    world.fill("c", _HEAVY)
    return world


def _line(subject: str, wrong: str) -> Line:
    return Line.judged(CHOICES, subject, right=not wrong, found=wrong)
