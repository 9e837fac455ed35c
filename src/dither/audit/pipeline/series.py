"""A series: a total by day, paid for once, in which one unit counts no more over all days than was paid for.

Flow: small worlds with a ledger of their own; a series is opened, advanced, restarted and extended. What it measures on
each day is kept and read again without one unit.
Statements: docs/proofs/plan/series.md, docs/proofs/ledger/series.md
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from dither.accounting import Price, price
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import World
from dither.catalog.load import loads
from dither.engines.sources import view_name
from dither.ledger.series import SeriesBook
from dither.noise import Entropy, insecure_seeded
from dither.session.series import Series
from dither.sql.printing import quote_name

__all__ = ["series"]

SERIES = "series"
_TAU, _LARGEST = 2, 5
_CATALOG = f"""
[dataset]
name = "audit of series"
[source]
url = "invented.duckdb"
[unit]
name = "person"
[budget]
epsilon = 1e9
delta = 1e-5
[tables.s]
privacy_unit = "uid"
max_rows_per_unit = {_TAU}
columns = {{ d = {{ type = "date" }}, v = {{ type = "integer", bounds = [0, {_LARGEST}] }} }}
"""
_DAYS = 6
_COUNT = "SELECT d, COUNT(*) AS n FROM s GROUP BY d"
_SUM = "SELECT d, SUM(v) AS total FROM s GROUP BY d"
_CROWD = f"SELECT i, DATE '2026-01-01' + CAST(i % {_DAYS} AS INTEGER), i % 6 FROM range(600) AS r(i)"
_HEAVY = f"SELECT 999999, DATE '2026-01-01' + CAST(i % {_DAYS} AS INTEGER), {_LARGEST} FROM range({3 * _DAYS}) AS r(i)"
"""One unit with three rows of the largest value on every day."""
_SLACK = Fraction(1, 10**15)


def series(*, entropy: Entropy | None) -> Iterator[Line]:
    """A line for each way in which a series could be wrong."""
    yield _line("all its days are charged when it is opened, and nothing is read", _opened(entropy))
    yield _line("a day costs nothing more and stays as it was", _kept(entropy))
    yield _line("a restart goes on, with the noise that was there", _restarted(entropy))
    yield _line("an extension is charged", _extended(entropy))
    for question, largest in ((_COUNT, 1), (_SUM, _LARGEST)):
        yield _moved(question, largest, entropy)


def _opened(entropy: Entropy | None) -> str:
    with _world(entropy) as world:
        _begin(world)
        (entry,) = world.ledger.entries()
        events = Price()
        for event in entry.events:
            events = events + price(event)
        booked = world.ledger.spent()
        if world.watched.asked:
            return "read before any day was due"
        if not events.epsilon or booked.epsilon + _SLACK < events.epsilon:
            return "booked less than the price of its events"
        return "" if abs(booked.epsilon - 1) <= _SLACK else f"booked {float(booked.epsilon):g}, offered 1"


def _kept(entropy: Entropy | None) -> str:
    with _world(entropy) as world:
        opened = _begin(world)
        spent = world.ledger.spent()
        first = [row.total for row in opened.advance("2026-01-03", complete=True)]
        world.fill("s", "SELECT 777, DATE '2026-01-01', 5 FROM range(50)")
        opened.advance("2026-01-04", complete=True)
        again = [row.total for row in _begin(world).totals()]
        if again[:3] != first or len(first) != 3:
            return "a released day changed"
        if opened.advance("2026-01-04", complete=True):
            return "a day was released twice"
        return "" if world.ledger.spent() == spent else "charged for a day that was paid for"


def _restarted(entropy: Entropy | None) -> str:
    """The noise of a day rests on that of earlier days, so a state lost or kept twice shows what was counted."""
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "audit.ledger")
        with _world(entropy, ledger=file) as world:
            before = [row.total for row in _begin(world).advance("2026-01-02", complete=True)]
            state = _state(world)
        with _world(insecure_seeded(1) if entropy else None, ledger=file) as world:
            if _state(world) != state:
                return "another state than was kept"
            spent = world.ledger.spent()
            found = _begin(world)
            after = [row.total for row in found.totals()]
            found.advance("2026-01-03", complete=True)
            if [row.total for row in found.totals()][:2] != before or after != before:
                return "released days changed"
            if _state(world) == state:
                return "the state before a day is kept after it"
            return "" if world.ledger.spent() == spent else "charged again"


def _extended(entropy: Entropy | None) -> str:
    with _world(entropy) as world:
        opened = _begin(world)
        opened.advance(f"2026-01-0{_DAYS}", complete=True)
        once = world.ledger.spent()
        told = opened.extend(_DAYS)
        more = world.ledger.spent().epsilon - once.epsilon
        # The same number of days on the same terms: the same price.
        if abs(more - once.epsilon) > _SLACK:
            return f"booked {float(more):g} for as many days as cost {float(once.epsilon):g}"
        return "" if abs((told.epsilon or 0) - more) <= _SLACK else "told another price than is booked"


def _moved(question: str, largest: int, entropy: Entropy | None) -> Line:
    """What one unit adds to all days together, one advance a day, against the limit the noise was made for."""
    with _world(entropy) as world:
        opened = _begin(world, question)
        for day in range(1, _DAYS + 1):
            opened.advance(f"2026-01-0{day}", complete=True)
        readings = list(world.watched.asked)
        counted = [world.read(measures) for measures in readings]
        world.source.run(f"DELETE FROM {quote_name(view_name('s'))} WHERE uid = 999999")
        without = [world.read(measures) for measures in readings]
        terms = _state(world)["terms"]
    moved = 0
    for left, right in zip(counted, without, strict=True):
        ((before,),), ((after,),) = left, right
        moved += sum(abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys())
    paid = int(terms["max_rows_per_unit"]) * int(terms["largest_step"])
    return Line.judged(
        SERIES,
        f"one unit over all days: {question}",
        right=moved <= paid == _TAU * largest,
        claimed=f"at most {_TAU * largest}, of which {paid} is paid for",
        found=f"moves by {moved}",
        detail="a unit with three rows on every day",
    )


def _state(world: World) -> dict[str, Any]:
    stored = SeriesBook(world.ledger).find(world.session.analyst, "audit")
    if stored is None:
        return {}
    state: dict[str, Any] = json.loads(stored.state)
    return state


def _begin(world: World, question: str = _COUNT) -> Series:
    return world.session.series(question, name="audit", first="2026-01-01", days=_DAYS, epsilon=1)


def _world(entropy: Entropy | None, *, ledger: str = "") -> World:
    world = World(loads(_CATALOG), entropy=entropy, ledger=ledger)
    world.fill("s", _CROWD)
    world.fill("s", _HEAVY)
    return world


def _line(subject: str, wrong: str) -> Line:
    return Line.judged(SERIES, subject, right=not wrong, found=wrong)
