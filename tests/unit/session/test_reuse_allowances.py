"""What an analyst's own allowance is charged for measurements that others paid for."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from dither.noise import insecure_seeded
from dither.session.session import Session
from support.worlds import World, catalog_text

TABLES = """[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 1
[tables.t.columns]
g = { type = "integer", bounds = [0, 2] }
h = { type = "integer", bounds = [0, 1] }
town = { type = "text" }
"""
CUBE = "SELECT g, h, COUNT(*) AS n FROM t GROUP BY CUBE (g, h)"
ALL = "SELECT COUNT(*) AS n FROM t"
BY_G = "SELECT g, COUNT(*) AS n FROM t GROUP BY g"
BY_BOTH = "SELECT g, h, COUNT(*) AS n FROM t GROUP BY g, h"
OFFER = Fraction(1, 4)
OTHERS = ", ".join(f"COUNT(*) FILTER (WHERE g > {i}) AS n{i}" for i in range(8))


@pytest.fixture
def world() -> Iterator[World]:
    analysts = "[analysts.a]\nepsilon = 40\n[analysts.b]\nepsilon = 40\n"
    made = World(
        catalog_text(analysts + TABLES, delta="1e-6", epsilon="40"),
        {"t": "uid BIGINT, g INTEGER NOT NULL, h INTEGER NOT NULL, town TEXT"},
        entropy=insecure_seeded(5),
    )
    made.fill("t", "SELECT range, range % 3, range % 2, 'town ' || range % 4 FROM range(8000)")
    yield made


def as_analyst(world: World, name: str) -> Session:
    return Session(
        world.catalog, world.engine, world.ledger, analyst=name, taus=world.session.taus, entropy=insecure_seeded(7)
    )


def rho_of(world: World, name: str | None) -> Fraction:
    return world.ledger.spent(name).rho


def buy(session: Session, keys: str, offer: Fraction) -> None:
    """Have it pay for a count that was measured in a cube: beside others it has paid for, for a part of the offer."""
    session.ask(f"SELECT {keys}, {OTHERS} FROM t GROUP BY {keys}", rho=2)
    session.ask(f"SELECT {keys}, COUNT(*) AS n, {OTHERS} FROM t GROUP BY {keys}", rho=offer)


@pytest.mark.parametrize("whole", [True, False])
def test_who_has_paid_for_a_finer_grouping_has_the_coarser_ones(world: World, whole: bool) -> None:
    # They were free as part of the cube, and cost their whole price when they were asked alone.
    a, b = as_analyst(world, "a"), as_analyst(world, "b")
    cube = a.ask(CUBE, rho=OFFER)
    if whole:
        b.ask(CUBE, rho=OFFER)
    else:
        buy(b, "g, h", OFFER)
    paid, dataset = rho_of(world, "b"), rho_of(world, None)
    assert paid == (OFFER if whole else 2 + OFFER)
    shown = {row[:2]: row[2] for row in cube.rows()}
    assert all(shown[g, None] == n for g, n in b.ask(BY_G, rho=OFFER / 100).rows())
    assert b.ask(ALL, rho=OFFER / 100).scalar() == shown[None, None]
    assert rho_of(world, "b") == paid and rho_of(world, None) == dataset
    assert sorted(map(str, b.ask(CUBE, rho=OFFER).rows())) == sorted(map(str, cube.rows()))
    assert rho_of(world, "b") == paid and rho_of(world, None) == dataset
    assert world.ledger.verify().holds


def test_who_has_paid_for_a_coarser_grouping_has_not_the_finer_one(world: World) -> None:
    a, b = as_analyst(world, "a"), as_analyst(world, "b")
    a.ask(CUBE, rho=OFFER)
    buy(b, "g", OFFER)
    paid = rho_of(world, "b")
    assert 2 < paid < 2 + OFFER
    b.ask(BY_BOTH, rho=OFFER / 100)
    assert rho_of(world, "b") > paid


def test_a_grouping_of_another_aggregate_or_measurement_is_not_paid_for(world: World) -> None:
    a, b = as_analyst(world, "a"), as_analyst(world, "b")
    a.ask("SELECT g, h, COUNT(*) AS n, SUM(h) AS s FROM t GROUP BY CUBE (g, h)", rho=OFFER)
    buy(b, "g, h", OFFER)
    paid = rho_of(world, "b")
    assert b.ask(BY_G, rho=OFFER / 100).charged.rho == 0 and rho_of(world, "b") == paid
    b.ask("SELECT g, SUM(h) AS s FROM t GROUP BY g", rho=OFFER / 100)
    assert rho_of(world, "b") > paid


TOWNS = "SELECT town, COUNT(*) AS n FROM t GROUP BY town"


def test_who_uses_private_groups_again_is_charged_their_selection_once(world: World) -> None:
    # The noise was charged, and the delta of the selection was not: the groups seemed to be free.
    a, b = as_analyst(world, "a"), as_analyst(world, "b")
    first = a.ask(TOWNS, epsilon=1)
    assert first.charged.delta > 0 and world.ledger.spent("a").delta == first.charged.delta
    dataset = world.ledger.spent()
    assert b.ask(TOWNS + " ORDER BY town DESC", epsilon=1).charged.epsilon == 0
    assert b.ask(TOWNS + " HAVING COUNT(*) > 5", epsilon=1).charged.epsilon == 0
    assert world.ledger.spent("b") == world.ledger.spent("a") and world.ledger.spent() == dataset
    assert world.ledger.verify().holds


def test_vectors_of_one_selection_are_charged_its_delta_once(world: World) -> None:
    a, b = as_analyst(world, "a"), as_analyst(world, "b")
    both = "SELECT town, COUNT(*) AS n, SUM(g) AS s FROM t GROUP BY town"
    delta = a.ask(both, epsilon=1).charged.delta
    b.ask(both, epsilon=1)
    assert world.ledger.spent("b").delta == delta
    b.ask(TOWNS, epsilon="0.1")
    assert world.ledger.spent("b").delta == delta


def test_a_selection_that_costs_more_delta_than_was_allowed_is_made_anew(world: World) -> None:
    a, b = as_analyst(world, "a"), as_analyst(world, "b")
    a.ask(TOWNS, epsilon=1)
    limited = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, delta = 1e-12) town, COUNT(*) AS n FROM t GROUP BY town"
    )
    assert b.ask(limited).charged.delta == Fraction(1, 10**12) == world.ledger.spent("b").delta
    assert a.ask(limited).charged.epsilon == 0
