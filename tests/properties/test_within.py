"""For any wish: the offer solved for keeps it, as `explain` says, and a slightly smaller offer does not."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.plan.price import PricedPlan
from dither.session.expected import expected_columns
from dither.session.session import Session
from support.clinic import CATALOG, clinic
from support.worlds import World

QUESTIONS = (
    "SELECT region, COUNT(*) AS n FROM t GROUP BY region",
    "SELECT SUM(income) AS n FROM t",
    "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(age) AS m FROM t",
    "SELECT kind, COUNT(*) AS n FROM o WHERE amt > (SELECT AVG(amt) FROM o) GROUP BY kind",
    "SELECT region, SUM(COUNT(*)) OVER (ORDER BY region) AS n FROM t GROUP BY region",
)


@pytest.fixture(scope="module", params=["epsilon", "rho"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    found = clinic(CATALOG if request.param == "epsilon" else CATALOG.replace("epsilon = ", "gaussian = true\nrho = "))
    yield found
    found.close()


def half_width(world: World, priced: PricedPlan) -> float:
    found = next(column for column in expected_columns(priced, world.catalog) if column.name == "n").half_width
    assert found is not None
    return found


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sql=st.sampled_from(QUESTIONS), within=st.integers(2, 10**6).map(lambda n: Fraction(n, 2)))
def test_a_solved_offer_is_the_least(world: World, sql: str, within: Fraction) -> None:
    db: Session = world.session
    offer = db.explain(sql, within={"n": within}).solved
    assert offer is not None
    plan = db.plan(sql)
    assert half_width(world, db.price_of(plan, offer)) <= within
    meter = "epsilon" if offer.rho is None else "rho"
    terms = db.catalog.budget
    least = terms.minimum_price if offer.rho is None else terms.minimum_rho
    if offer.total > least:
        smaller = type(offer).create(**{meter: offer.total * Fraction(999_999, 10**6)})  # type: ignore[arg-type]
        assert half_width(world, db.price_of(plan, smaller)) > within
