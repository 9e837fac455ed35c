"""Which private choices later questions rest on, of whoever asks them."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import duckdb
import pytest

import dither
from dither.errors import InvalidParameter
from dither.mechanisms.max_rows import MARGIN
from dither.plan.offer import Offer
from dither.session.decide import REMEMBERED_GROUPS, _epsilon, rows_share

CATALOG = """
[dataset]
name = "visits"
ledger = "l.ledger"
[source]
url = "visits.duckdb"
[unit]
name = "patient"
[budget]
epsilon = 1000
[analysts.a]
epsilon = 100
[analysts.b]
epsilon = 100
[tables.t]
privacy_unit = "id"
[tables.t.columns]
few = { type = "integer", bounds = [1, 9] }
many = { type = "integer", bounds = [1, 100000] }
x = { type = "double" }
"""


@pytest.mark.parametrize(("key", "kept"), [("few", True), ("many", False)])
def test_what_was_chosen_for_many_groups_cuts_nobody_elses_rows(tmp_path, key, kept):
    # One question by a hundred thousand groups chose one row per patient, and everybody's counts were of 1 row in 20.
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, few INTEGER, many INTEGER, x DOUBLE)")
        connection.execute("INSERT INTO t SELECT i // 20, i % 9 + 1, i % 1000 + 1, i % 100 FROM range(40000) AS r(i)")
    (tmp_path / "dither.toml").write_text(CATALOG)
    with dither.open(tmp_path / "dither.toml", analyst="a") as session:
        session.ask(f"SELECT {key}, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY {key}", epsilon=2)
        assert bool(session.taus) == kept == bool(session.bounds)
    with dither.open(tmp_path / "dither.toml", analyst="b") as session:
        assert bool(session.taus) == kept
        answer = session.ask("SELECT COUNT(*) AS n FROM t", epsilon=2)
        assert 30_000 < answer.scalar() < 42_000


def _visits(folder):
    """20 rows of each of 2,000 patients."""
    with duckdb.connect(str(folder / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE t (id INTEGER, few INTEGER, many INTEGER, x DOUBLE)")
        connection.execute("INSERT INTO t SELECT i // 20, i % 9 + 1, i % 1000 + 1, i % 100 FROM range(40000) AS r(i)")
    (folder / "dither.toml").write_text(CATALOG)


def test_what_an_analyst_tunes_cuts_nobody_elses_rows(tmp_path):
    # tune(groups=10**6) by one analyst kept 1 row in 20 in everybody's counts from then on.
    _visits(tmp_path)
    with dither.open(tmp_path / "dither.toml", analyst="a") as session:
        tuned = session.tune("t", epsilon=1, groups=10**6)
        assert tuned.own and "your questions alone" in str(tuned) and session.taus["t"] == tuned.max_rows < 5
        again = session.tune("t")
        assert again.own and again.charged.epsilon == 0
    assert not (tmp_path / "l.kept.duckdb").exists()
    with dither.open(tmp_path / "dither.toml", analyst="b") as session:
        assert not session.taus
        assert 30_000 < session.ask("SELECT COUNT(*) AS n FROM t", epsilon=2).scalar() < 42_000
    with dither.open(tmp_path / "dither.toml", analyst="a") as session:
        assert session.taus["t"] == tuned.max_rows
        assert session.ask("SELECT COUNT(*) AS n FROM t", epsilon=2).scalar() < 12_000
    with dither.open(tmp_path / "dither.toml", analyst="b") as session:
        assert session.taus["t"] > 10


def test_what_the_owner_tunes_holds_for_every_analyst_who_has_not_tuned(tmp_path):
    _visits(tmp_path)
    declared = CATALOG.replace("[analysts.a]\nepsilon = 100\n[analysts.b]\nepsilon = 100\n", "")
    (tmp_path / "owner.toml").write_text(declared)
    with dither.open(tmp_path / "dither.toml", analyst="a") as session:
        own = session.tune("t", epsilon=1, groups=10**6).max_rows
    with dither.open(tmp_path / "owner.toml") as session:
        tuned = session.tune("t", epsilon=1)
        assert not tuned.own and tuned.max_rows != own
    for analyst, rows in (("a", own), ("b", tuned.max_rows)):
        with dither.open(tmp_path / "dither.toml", analyst=analyst) as session:
            assert session.taus["t"] == rows


def test_declared_rows_are_not_chosen_anew(tmp_path):
    # They were, for the rest of the session, and stored for everybody.
    _visits(tmp_path)
    (tmp_path / "dither.toml").write_text(CATALOG.replace('= "id"', '= "id"\nmax_rows_per_unit = 3'))
    with dither.open(tmp_path / "dither.toml", analyst="a") as session:
        with pytest.raises(InvalidParameter, match="declares 3 rows"):
            session.tune("t", epsilon=1)
        assert session.taus["t"] == 3 and session.tune("t").max_rows == 3 and session.budget().spent.epsilon == 0


def test_choices_and_question_together_cost_no_more_than_the_offer(tmp_path):
    # Each price was rounded up to 1e-18 by itself.
    with duckdb.connect(str(tmp_path / "visits.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS id, 2 AS few, 3 AS many, 4.5::DOUBLE AS x")
    (tmp_path / "dither.toml").write_text(CATALOG)
    offer = Fraction(10**18 + 7, 10**19)
    with dither.open(tmp_path / "dither.toml", analyst="a") as session:
        explained = session.explain("SELECT COUNT(*) AS n, SUM(x) AS s FROM t", epsilon=offer)
        assert 0 <= offer - explained.price.epsilon < Fraction(1, 10**15)


@pytest.mark.parametrize("vectors", [1, 2, 5, 20])
@pytest.mark.parametrize("rho", [False, True])
def test_so_few_groups_leave_a_choice_where_its_own_noise_has_it(vectors, rho):
    offer = Offer.create(rho=1) if rho else Offer.create(epsilon=1)
    for_rows = rows_share(vectors)
    left = (1 - for_rows) / vectors
    later = 2 * sqrt(left) if rho else float(left)
    assert REMEMBERED_GROUPS * sqrt(2) / later <= MARGIN / float(_epsilon(offer, Fraction(for_rows)))
