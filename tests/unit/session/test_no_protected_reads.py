"""Planning, prices, explanations and refusals read no protected row: they run on an engine that fails when asked for
one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from dither.catalog.check import check
from dither.catalog.schema import SchemaTable
from dither.errors import BudgetExceeded, InvalidParameter, PolicyRefused, QueryRefused
from dither.plan import nodes
from dither.session.session import Session
from dither.sql.embedded import Columns
from support.clinic import clinic
from support.worlds import World, new_ledger


class Untouchable(AssertionError):
    """Protected rows were about to be read."""


class GuardedEngine:
    """An engine that gives out schemas and public tables only."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def schema(self) -> Sequence[SchemaTable]:
        return self.inner.schema()

    def read_public(self, node: nodes.Rows, select: str, suffix: str = "") -> Columns:
        return self.inner.read_public(node, select, suffix)

    def refresh(self) -> bool:
        return self.inner.refresh()

    def prepare(self, measures: Sequence[nodes.Measure]) -> None:
        """Binding looks at schemas; the text is never run."""
        self.inner.prepare(measures)

    def __getattr__(self, name: str) -> Any:
        raise Untouchable(name)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@pytest.fixture
def guarded(world: World) -> Session:
    # A ledger of its own: each question that fails here counts towards a freeze.
    engine: Any = GuardedEngine(world.engine)
    return Session(world.catalog, engine, new_ledger(world.catalog), taus=world.session.taus)


ACCEPTED = (
    "SELECT COUNT(*) FROM t",
    "SELECT region, AVG(age), STDDEV(income) FROM t WHERE age > 20 GROUP BY region HAVING COUNT(*) > 5 "
    "ORDER BY 2 LIMIT 3",
    "SELECT note, COUNT(*) FROM t GROUP BY note",
    "SELECT kind, COUNT(*) FROM t JOIN o ON t.uid = o.uid GROUP BY kind",
    "SELECT label, COUNT(*) FROM t JOIN dim ON t.region = dim.region GROUP BY label",
    "SELECT COUNT(*) FROM t WHERE region IN (SELECT region FROM dim)",
    "SELECT COUNT(*) FROM t WHERE uid NOT IN (SELECT uid FROM o)",
    "SELECT region, flag, COUNT(*) FROM t GROUP BY CUBE (region, flag)",
    "SELECT AVG(n) FROM (SELECT uid, COUNT(*) AS n FROM t GROUP BY uid) AS x",
    "SELECT COUNT(DISTINCT note) FROM t",
)
REFUSED = (
    "SELECT * FROM t",
    "SELECT uid, COUNT(*) FROM t GROUP BY uid",
    "SELECT COUNT(*) FROM t a CROSS JOIN t b",
    "SELECT COUNT(*) FROM t WHERE RANDOM() > 0",
    "SELECT COUNT(*) FROM t WHERE note = 1",
    "SELECT COUNT(*) FROM nowhere",
    "SELECT SUM(nothing) FROM t",
    "SELECT COUNT(*) FROM t WHERE",
    "DELETE FROM t",
    "SELECT CAST('x' AS INTEGER) + COUNT(*) FROM t",
)


@pytest.mark.parametrize("sql", ACCEPTED)
@pytest.mark.parametrize("offer", [{"epsilon": 1}, {"rho": 1}], ids=["epsilon", "rho"])
def test_explaining_reads_no_protected_row(guarded: Session, sql: str, offer: dict[str, int]) -> None:
    explanation = guarded.explain(sql, **offer)
    assert str(explanation)
    assert explanation.price.rho > 0


@pytest.mark.parametrize("sql", ACCEPTED)
def test_an_accepted_question_reads_only_after_its_charge(guarded: Session, sql: str) -> None:
    before = guarded.budget().spent.epsilon
    with pytest.raises(Untouchable):
        guarded.ask(sql, epsilon=1)
    assert guarded.budget().spent.epsilon - before == 1


@pytest.mark.parametrize("sql", REFUSED)
def test_refusing_reads_no_protected_row_and_costs_nothing(guarded: Session, sql: str) -> None:
    before = guarded.budget().spent
    for act in (guarded.explain, guarded.ask):
        with pytest.raises(QueryRefused):
            act(sql, epsilon=1)
    assert guarded.budget().spent == before


def test_refusing_an_offer_reads_no_protected_row(guarded: Session) -> None:
    for offer, error in (
        ({}, InvalidParameter),
        ({"epsilon": "0.0001"}, PolicyRefused),
        ({"epsilon": "1e12"}, BudgetExceeded),
    ):
        with pytest.raises(error):
            guarded.ask("SELECT COUNT(*) FROM t", **offer)


def test_checking_a_catalog_and_looking_at_the_budget_read_no_protected_row(guarded: Session) -> None:
    assert check(guarded.catalog, list(guarded.engine.schema())).errors == ()
    assert "left epsilon" in str(guarded.budget())
