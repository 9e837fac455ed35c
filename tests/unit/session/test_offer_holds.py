"""An asker is charged at most what was offered, whoever has paid for what meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

import dither
from dither.errors import BudgetError

CATALOG = """
[dataset]
name = "x"
[source]
url = "d.parquet"
[unit]
name = "person"
[budget]
epsilon = 40
[analysts.ada]
epsilon = 15
[analysts.bob]
epsilon = 15
[tables.d]
privacy_unit = "u"
max_rows_per_unit = 1
[tables.d.columns]
g = { type = "integer", bounds = [0, 1] }
h = { type = "integer", bounds = [0, 2] }
"""


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[dither.Session, dither.Session]]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    duckdb.sql(f"COPY (SELECT i AS u, i % 2 AS g, i % 3 AS h FROM range(50) AS r(i)) TO '{tmp_path}/d.parquet'")
    (tmp_path / "dither.toml").write_text(CATALOG, encoding="utf-8")
    with (
        dither.open(tmp_path / "dither.toml", analyst="ada") as ada,
        dither.open(tmp_path / "dither.toml", analyst="bob") as bob,
    ):
        yield ada, bob


def paid(session: dither.Session) -> Fraction:
    return session.ledger.spent(session.analyst).epsilon


@pytest.mark.parametrize(
    "question",
    [
        "SELECT SUM(g), SUM(h) FROM d",
        "SELECT SUM(g), SUM(h), COUNT(*) FROM d",
        "SELECT SUM(h) FROM d WHERE g >= (SELECT SUM(g) FROM d)",
    ],
)
def test_vectors_that_others_paid_for_do_not_add_up_beyond_the_offer(pair, question) -> None:
    # Each was held against the whole offer alone: two of price 1 were charged as 2 under an offer of 1.
    ada, bob = pair
    for column in ("SUM(g)", "SUM(h)", "COUNT(*)"):
        ada.ask(f"SELECT {column} FROM d", epsilon=1)
    bob.ask(question, epsilon=1)
    assert 0 < paid(bob) <= 1


def test_one_dear_vector_is_used_where_the_offer_pays_for_it(pair) -> None:
    ada, bob = pair
    ada.ask("SELECT SUM(g) FROM d", epsilon=1)
    data_set = ada.ledger.spent().epsilon
    bob.ask("SELECT SUM(g) FROM d", epsilon=1)
    assert paid(bob) == 1 and bob.ledger.spent().epsilon == data_set


def test_what_others_release_between_price_and_charge_cannot_pass_at_most(pair, monkeypatch) -> None:
    ada, bob = pair
    question, rehearse = "SELECT SUM(g), SUM(h) FROM d", bob.rehearse
    cost = bob.explain(question, within=20).price.epsilon
    assert cost is not None
    # Half of it is paid for already: at_most is what the rest costs.
    bob.ask("SELECT SUM(h) FROM d", epsilon=cost / 2)
    rest = bob.explain(question, within=20).price.epsilon
    assert rest == cost / 2

    def slow(*arguments: object) -> None:
        rehearse(*arguments)
        # Fits the offer alone, and is dearer than measuring anew.
        ada.ask("SELECT SUM(g) FROM d", epsilon=(cost + rest) / 2)

    monkeypatch.setattr(bob, "rehearse", slow)
    before = paid(bob)
    with pytest.raises(BudgetError) as refused:
        bob.ask(question, within=20, at_most=rest)
    assert refused.value.code == "M-122"
    assert paid(bob) == before and bob.ledger.verify().holds
