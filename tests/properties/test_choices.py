"""Rows per unit and bounds that nobody declared: chosen privately out of the question's own offer, once."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dither
from dither.errors import BudgetExceeded, QueryRefused
from dither.mechanisms.value_bounds import LEVELS, level
from dither.noise import insecure_seeded
from dither.plan.choices import Choices
from dither.plan.offer import Offer
from dither.secret import open_secret
from dither.session.session import Session
from support.worlds import World, catalog_text

TAU = 2
NASTY = [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 5e-324, 1.7e308, -1e-3, 42.5]


def nasty_world() -> World:
    sections = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 2\ncolumns = { x = { type = "double" } }'
    return World(catalog_text(sections), {"t": "uid BIGINT, x DOUBLE"})


def counts_of(world: World, rows: list[tuple[Any, ...]]) -> np.ndarray:  # type: ignore[type-arg]
    world.load("t", rows)
    return open_secret(world.engine.values_per_level("t", "x", TAU))


def test_every_number_is_in_one_level_and_null_and_nan_in_none() -> None:
    world = nasty_world()
    for value in NASTY:
        counts = counts_of(world, [(1, value)])
        places = np.flatnonzero(counts)
        if value is None or math.isnan(value):
            assert len(places) == 0
            continue
        assert counts.sum() == 1
        place = int(places[0]) - LEVELS
        assert np.sign(place) == np.sign(value)
        if 1e-4 < abs(value) < 1e18:
            # Rounded to three digits when shown; the engine's own end is within a thousandth of it.
            assert level(abs(place) - 1) * 0.99 < abs(value) <= level(abs(place)) * 1.01
    world.close()


def test_taking_a_unit_out_moves_the_counts_by_at_most_its_kept_rows() -> None:
    world = nasty_world()
    generator = np.random.default_rng(4)
    reached = 0
    for _ in range(20):
        rows = [
            (int(u), NASTY[i]) for u, i in zip(generator.integers(1, 5, 12), generator.integers(0, 12, 12), strict=True)
        ]
        whole = counts_of(world, rows)
        for unit in range(1, 5):
            moved = np.abs(whole - counts_of(world, [row for row in rows if row[0] != unit])).sum()
            assert moved <= TAU
            reached = max(reached, int(moved))
    assert reached == TAU
    world.close()


def frame(n: int = 4000) -> pd.DataFrame:
    generator = np.random.default_rng(2)
    return pd.DataFrame(
        {
            "uid": generator.integers(0, 800, n),
            "x": generator.gamma(2, 30, n),
            "k": generator.integers(-50, 400, n),
            "g": generator.integers(0, 3, n),
        }
    )


def opened(where: Path | None = None, **more: Any) -> Session:
    terms = {"budget": 10, "bounds": {"g": (0, 2)}, "ledger": None if where is None else where / "one.ledger"} | more
    return dither.open(frame(), privacy_unit="uid", entropy=insecure_seeded(3), **terms)  # type: ignore[arg-type]


QUESTION = "SELECT g, COUNT(*), SUM(x), AVG(k), MEDIAN(x) FROM data GROUP BY g"


@pytest.mark.parametrize("offer", [{"epsilon": 4}, {"rho": "0.5"}], ids=["epsilon", "rho"])
def test_the_whole_question_costs_what_explain_said_and_no_more_than_the_offer(offer: dict[str, Any]) -> None:
    with opened(budget=50, delta="1e-6") as db:
        foreseen = db.explain(QUESTION, **offer)
        assert "chooses it first" in str(foreseen) and "Bounds of data.x" in str(foreseen)
        answer = db.ask(QUESTION, **offer)
        assert answer.charged.epsilon == foreseen.price.epsilon
        spent = db.ledger.spent()
        assert spent.rho == answer.charged.rho
        if "epsilon" in offer:
            assert spent.epsilon == answer.charged.epsilon == Fraction(offer["epsilon"])
        else:
            assert Fraction("0.4") < spent.rho <= foreseen.price.rho <= Fraction("0.5")
        assert any("at most" in note for note in answer.notes) and any("kept within" in note for note in answer.notes)


def test_answers_over_chosen_bounds_are_near_the_truth() -> None:
    with opened() as db:
        answer = db.ask(QUESTION, epsilon=8)
        truth = frame().groupby("g").agg(n=("x", "size"), x=("x", "sum"), k=("k", "mean"), m=("x", "median"))
        for g, count, total, mean, median in answer.rows():
            if g is not None:
                row = truth.loc[g]
                assert abs(count - row.n) < 0.1 * row.n and abs(total - row.x) < 0.25 * row.x
                assert abs(mean - row.k) < 0.2 * row.k and abs(median - row.m) < 0.3 * row.m


def test_what_was_chosen_is_used_again_for_nothing(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.ask(QUESTION, epsilon=4)
        chosen = (dict(db.taus), dict(db.bounds))
        assert "chosen privately" in str(db.tune("data")) and db.tune("data").charged.epsilon == 0
        again = db.explain("SELECT SUM(x) FROM data", epsilon=1)
        assert "chooses" not in str(again) and again.price.epsilon == 1
    with opened(tmp_path) as db:
        assert (dict(db.taus), dict(db.bounds)) == chosen
        assert "chooses" not in str(db.explain(QUESTION, epsilon=4))


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("SELECT SUM(x * 2) FROM data", "B-104"),
        ("SELECT SUM(x) FROM data GROUP BY nothing", "N-101"),
        ("SELECT CAST(SUM(x) AS DATE) FROM data", "F-171"),
    ],
)
def test_a_question_that_is_refused_chooses_and_charges_nothing(question: str, code: str) -> None:
    with opened() as db:
        with pytest.raises(QueryRefused) as refusal:
            db.ask(question, epsilon=1)
        assert refusal.value.code == code
        assert db.ledger.spent().epsilon == 0 and not db.taus and not db.bounds
        assert db.ledger.entries() == ()


def test_where_no_rows_are_seen_the_question_is_refused_and_the_look_is_paid() -> None:
    with opened() as db:
        with pytest.raises(QueryRefused) as refusal:
            db.ask("SELECT SUM(x) FROM data", epsilon="0.01")
        assert refusal.value.code == "B-120" and not db.bounds
        # 18.75 % for the rows per unit, a quarter of the rest for the bounds.
        assert db.ledger.spent().epsilon == Fraction(1875, 1_000_000) + Fraction(8125, 4_000_000)


@pytest.mark.parametrize(("columns", "vectors"), [("COUNT(*)", 1), ("SUM(k), AVG(k)", 2), ("AVG(k), VAR_POP(k)", 3)])
def test_rows_per_unit_are_chosen_with_the_less_the_more_vectors_share_the_rest(columns: str, vectors: int) -> None:
    sections = '[tables.t]\nprivacy_unit = "uid"\ncolumns = { k = { type = "integer", bounds = [0, 9] } }'
    world = World(catalog_text(sections), {"t": "uid BIGINT, k BIGINT NOT NULL"}, entropy=insecure_seeded(1))
    world.load("t", [(i % 90, i % 10) for i in range(900)])
    world.session.ask(f"SELECT {columns} FROM t", epsilon=2)
    chosen, asked = world.ledger.entries()
    assert chosen.price.epsilon == 2 * Fraction(3, 8) / (vectors + 1)
    assert len(asked.vectors) == vectors and chosen.price.epsilon + asked.price.epsilon == 2
    world.close()


def test_a_choice_draws_from_entropy_with_new_bytes_mixed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    session_of = Session.fresh_entropy
    monkeypatch.setattr(Session, "fresh_entropy", lambda self: asked.append(1) or session_of(self))
    with opened() as db:
        db.ask("SELECT SUM(x) FROM data", epsilon=4)
    # Rows per unit, bounds, and the question itself.
    assert len(asked) == 3


def test_without_room_for_all_of_it_nothing_is_chosen() -> None:
    with opened(budget=1) as db:
        with pytest.raises(BudgetExceeded):
            db.ask(QUESTION, epsilon=2)
        assert db.ledger.entries() == () and not db.taus


def test_what_next_to_nothing_chose_serves_its_own_question_alone(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        db.ask("SELECT COUNT(*) FROM data", epsilon="0.2")
        assert not db.taus and "chooses it first" in str(db.explain("SELECT COUNT(*) FROM data", epsilon=1))
        db.ask("SELECT COUNT(*) FROM data", epsilon="0.3")
        assert db.taus


def test_bounds_are_chosen_where_the_engine_enforces_one_row_per_unit() -> None:
    sections = '[tables.t]\nprivacy_unit = "uid"\ncolumns = { x = { type = "double" } }'
    world = World(catalog_text(sections), {"t": "uid BIGINT UNIQUE, x DOUBLE"}, entropy=insecure_seeded(1))
    world.load("t", [(i, float(i % 50)) for i in range(3000)])
    answer = world.session.ask("SELECT SUM(x) FROM t", epsilon=2)
    assert abs(answer.scalar() - 73_500) < 2000 and world.session.bounds["t", "x"][1] < 200
    world.close()


def test_bounds_of_a_public_table_are_not_chosen() -> None:
    sections = (
        '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 2\n'
        'columns = { r = { type = "text", values = ["a", "b"] } }\n[tables.p]\npublic = true'
    )
    world = World(catalog_text(sections), {"t": "uid BIGINT, r VARCHAR", "p": "r VARCHAR, price DOUBLE"})
    world.load("p", [("a", 1.0), ("b", 2.0)])
    with pytest.raises(QueryRefused) as refusal:
        world.session.ask("SELECT SUM(p.price) FROM t JOIN p ON t.r = p.r", epsilon=1)
    assert refusal.value.code == "B-104"
    world.close()


UNDECIDED = """[tables.t]
privacy_unit = "uid"
[tables.t.columns]
x = { type = "double" }
k = { type = "integer" }
s = { type = "integer" }
n = { type = "decimal" }
g = { type = "text", values = ["a", "b"] }
d = { type = "date", bounds = [2020-01-01, 2020-01-05] }
[tables.o]
privacy_unit = "uid"
columns = { amt = { type = "integer" } }
"""
UNDECIDED_DDL = {
    "t": "uid BIGINT, x DOUBLE, k BIGINT, s SMALLINT, n DECIMAL(10, 2), g VARCHAR, d DATE",
    "o": "uid BIGINT, amt BIGINT",
}
ON_UNDECIDED = (
    "SELECT g, SUM(x), AVG(k), VAR_POP(s), MEDIAN(n) FROM t GROUP BY g",
    "SELECT CORR(x, k), COVAR_POP(k, n), STDDEV_SAMP(n) FROM t",
    "SELECT d, SUM(SUM(k)) OVER (ORDER BY d) AS total FROM t GROUP BY d",
    "SELECT SUM(DISTINCT k), AVG(DISTINCT x), MIN(s), MAX(n) FROM t",
    "SELECT SUM(a.k), AVG(b.x), VAR_POP(a.k) FROM t a JOIN t b ON a.uid = b.uid",
    "SELECT SUM(t.k), SUM(o.amt), COUNT(*) FROM t JOIN o ON t.uid = o.uid",
    "SELECT COUNT(*) FROM t WHERE k > (SELECT AVG(k) FROM t)",
    "SELECT g, CASE WHEN AVG(k) > 3 THEN 'much' END, CAST(SUM(x) AS BIGINT) % 7, ROUND(AVG(n), 1) FROM t GROUP BY g",
)
ENDS = (0.0, level(1), 1.0, 2.0**16, 2.0**31, 2.0**31 * 1.01, 1e12, level(LEVELS))


@pytest.mark.parametrize("replace", [False, True], ids=["add_remove", "replace"])
@pytest.mark.parametrize("offer", [{"epsilon": "0.01"}, {"rho": "0.01"}], ids=["epsilon", "rho"])
def test_what_can_be_planned_with_stand_ins_can_be_with_whatever_is_chosen(
    offer: dict[str, Any], replace: bool
) -> None:
    # Else a question would be paid for in part, and refused: over self-joins of whole numbers it once was.
    text = catalog_text(UNDECIDED)
    world = World(text.replace("[source]", 'neighbours = "replace"\n[source]', 1) if replace else text, UNDECIDED_DDL)
    world.load("t", [(1, 2.5, 7, 3, 1, "a", None)])
    world.load("o", [(1, 5)])
    protected = frozenset(world.catalog.tables)
    generator = np.random.default_rng(5)
    for question in ON_UNDECIDED:
        choices = Choices({}, protected, {}, open=True)
        world.session.rehearse(world.session.price_of(world.session.plan(question, choices), Offer.create(**offer)))
        assert choices.pending
        widest = [{place: (-level(LEVELS), level(LEVELS)) for place in choices.columns}]
        fullest = [dict.fromkeys(choices.columns, (-(2.0**31), 2.0**31))]
        for bounds in widest + fullest + [_some(choices, generator) for _ in range(2)]:
            for tau in (1, 10_000):
                chosen = Choices(dict.fromkeys(choices.tables, tau), bounds=bounds)
                priced = world.session.price_of(world.session.plan(question, chosen), Offer.create(**offer))
                world.session.rehearse(priced)
    world.close()


def _some(choices: Choices, generator: np.random.Generator) -> dict[tuple[str, str], tuple[float, float]]:
    ends = {place: sorted(generator.choice(len(ENDS), 2, replace=False)) for place in choices.columns}
    return {
        place: (-ENDS[int(generator.choice(pair))], ENDS[int(pair[1])])
        if generator.random() < 0.5
        else (0.0, ENDS[pair[1]])
        for place, pair in ends.items()
    }


def test_a_self_join_of_whole_numbers_is_answered_with_what_it_chose() -> None:
    world = World(catalog_text(UNDECIDED), UNDECIDED_DDL, entropy=insecure_seeded(1))
    world.fill("t", "SELECT i % 3000, 0.5, 10000000000 + i, 0, 0, 'a', NULL FROM range(9000) AS r(i)")
    answer = world.session.ask("SELECT SUM(a.k) FROM t a JOIN t b ON a.uid = b.uid", epsilon=4)
    truth = 27_000 * 10_000_004_500
    assert world.session.bounds["t", "k"][1] > 10**10 and abs(answer.scalar() - truth) < 0.05 * truth
    world.close()
