"""Groupings measured together, the whole way: right without noise, consistent with it, paid once, found again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from dither.audit.pipeline.questions import DDL, Question, own_catalog
from dither.audit.pipeline.sensitivity import sensitivity
from dither.audit.pipeline.world import World as AuditWorld
from dither.noise import insecure_seeded
from dither.plan.laws import MarginalLaw
from dither.session.session import Session
from support.clinic import clinic
from support.exactly import assert_same, exact_answer, plain_answer
from support.worlds import World

CUBE = "SELECT region, flag, COUNT(*) AS n, SUM(age) AS s FROM t GROUP BY CUBE (region, flag)"
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "questions.sql"


def golden() -> list[str]:
    """Questions of the golden file that have several groupings and are answered."""
    lines = GOLDEN.read_text(encoding="utf-8").splitlines()
    answered = [line for before, line in itertools.pairwise(lines) if before == "-- same"]
    words = ("CUBE", "ROLLUP", "GROUPING SETS")
    return [line.removesuffix(";") for line in answered if any(word in line for word in words)]


@pytest.fixture
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    found = clinic()
    yield found.plain()
    found.close()


def test_there_are_golden_questions_with_several_groupings() -> None:
    assert len(golden()) >= 8


@pytest.mark.parametrize("sql", golden())
def test_without_noise_it_equals_plain_duckdb(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    assert_same(exact_answer(world.session, sql, together=True).rows(), plain_answer(plain, sql), sql)


def test_only_the_finest_groupings_are_read(world: World) -> None:
    read: list[list[str]] = []
    measure = world.session.engine.measure

    def watched(measures):  # type: ignore[no-untyped-def]
        read.append([",".join(key.name for key in each.keys) for each in measures])
        return measure(measures)

    world.session.engine.measure = watched  # type: ignore[method-assign]
    world.session.ask("SELECT region, flag, COUNT(*) AS n FROM t GROUP BY CUBE (region, flag)", rho="0.1")
    world.session.ask("SELECT region, flag, COUNT(DISTINCT uid) AS n FROM t GROUP BY CUBE (region, flag)", rho="0.1")
    assert read[0] == ["region,flag"]
    assert sorted(read[1]) == ["", "flag", "region", "region,flag"]


def test_totals_agree_exactly_in_every_column_and_costs_are_the_offer(world: World) -> None:
    sql = (
        "SELECT GROUPING(region, flag) AS g, region, flag, COUNT(*) AS n, SUM(age) AS s FROM t "
        "GROUP BY CUBE (region, flag)"
    )
    answer = world.session.ask(sql, rho="0.05")
    assert Fraction("0.05") - Fraction(1, 10**15) < answer.charged.rho <= Fraction("0.05")
    by_level: dict[int, list[tuple]] = {}
    for g, region, flag, n, s in answer.rows():
        by_level.setdefault(g, []).append((region, flag, n, s))
    for at in (2, 3):
        assert len({sum(row[at] for row in rows) for rows in by_level.values()}) == 1
        for region in {row[0] for row in by_level[1]}:
            fine = sum(row[at] for row in by_level[0] if row[0] == region)
            assert fine == next(row[at] for row in by_level[1] if row[0] == region)
    assert all(isinstance(law, MarginalLaw) for table in answer.tables for law in table.laws)


def test_it_is_found_again_together_and_one_by_one(world: World) -> None:
    first = world.session.ask(CUBE, rho="0.05")
    again = world.session.ask(CUBE + " ORDER BY n", rho="0.05")
    assert again.charged.rho == 0
    assert sorted(map(str, again.rows())) == sorted(map(str, first.rows()))
    alone = world.session.ask("SELECT flag, COUNT(*) AS n FROM t GROUP BY flag", rho="0.001")
    assert alone.charged.rho == 0
    shown = {row[1]: row[2] for row in first.rows() if row[0] is None}
    assert {flag for flag, n in alone.rows() if n == shown[flag]} >= {True, False} or alone.charged.rho == 0
    finer = world.session.explain(CUBE, rho="0.5")
    assert finer.price.rho > Fraction("0.499999")


def test_a_single_grouping_released_before_is_not_mixed_into_a_cube(world: World) -> None:
    """It would be free, and would not agree with the others."""
    world.session.ask("SELECT flag, COUNT(*) AS n FROM t GROUP BY flag", rho=1)
    answer = world.session.ask("SELECT region, flag, COUNT(*) AS n FROM t GROUP BY CUBE (region, flag)", rho="0.05")
    assert {line.reused for line in answer.receipt.vectors} == {False}


def test_another_analyst_pays_what_a_grouping_is_made_of() -> None:
    catalog = own_catalog(analysts="[analysts.a]\nepsilon = 1e8\n[analysts.b]\nepsilon = 1e8")
    with AuditWorld(catalog, ddl=DDL, entropy=insecure_seeded(3)) as world:
        first = Session(catalog, world.session.engine, world.ledger, analyst="a", taus=world.session.taus)
        second = Session(catalog, world.session.engine, world.ledger, analyst="b", taus=world.session.taus)
        cube = "SELECT region, flag, COUNT(*) FROM t GROUP BY CUBE (region, flag)"
        charged = first.ask(cube, rho=Fraction(1, 3)).charged.rho
        dataset = world.ledger.spent().rho
        second.ask(cube + " ORDER BY 3", rho=Fraction(1, 3))
        assert world.ledger.spent().rho == dataset
        assert world.ledger.spent("b").rho == charged
        # Two finest groupings have the total in common and cost more than the offer: measured anew, for the offer.
        pairs = "SELECT region, flag, COUNT(*) FROM t WHERE k > 0 GROUP BY GROUPING SETS ((region), (flag))"
        first.ask(pairs, rho=Fraction(1, 3))
        second.ask(pairs, rho=Fraction(1, 3))
        assert world.ledger.spent("b").rho <= charged + Fraction(1, 3)


def test_a_price_in_epsilon_measures_one_by_one_and_says_why(world: World) -> None:
    explained = world.session.explain(CUBE, epsilon=1)
    assert {vector.mechanism for vector in explained.vectors} == {"Laplace"}
    assert any("one by one" in note and "rho=" in note for note in explained.notes)
    joint = world.session.explain(CUBE, rho="0.1")
    assert {vector.mechanism for vector in joint.vectors} == {"residuals with Gaussian"}
    assert any("measured together" in note for note in joint.notes)
    assert "residuals" in world.session.ask(CUBE, rho="0.1").about()


def test_no_grouping_is_less_accurate_than_by_itself(world: World) -> None:
    """Statement 2: against what an equal share buys, up to the rounding to whole numbers."""
    sql = "SELECT region, flag, d, COUNT(*) FROM t GROUP BY GROUPING SETS ((region, flag), (flag, d), (d), ())"
    joint = world.session.explain(sql, rho="0.01")
    alone = world.session.explain("SELECT d, COUNT(*) FROM t GROUP BY d", rho="0.0025")
    for vector in joint.vectors:
        assert vector.scale <= alone.vectors[0].scale * 1.001


def test_a_wished_accuracy_is_kept_by_every_grouping(world: World) -> None:
    explained = world.session.explain("SELECT region, COUNT(*) AS n FROM t GROUP BY region", within=50)
    assert explained.vectors[0].half_width <= 50


@pytest.mark.parametrize("replaced", [False, True])
def test_no_part_moves_more_than_was_paid(replaced: bool) -> None:
    questions = [
        Question(sql, epsilon=None, rho=Fraction(1, 3))
        for sql in (
            "SELECT region, flag, COUNT(*), SUM(k) FROM t GROUP BY CUBE (region, flag)",
            "SELECT region, COUNT(*), COUNT(DISTINCT uid), SUM(x) FROM t "
            "GROUP BY GROUPING SETS ((region, flag), (d), ())",
        )
    ]
    lines = list(
        sensitivity(
            own_catalog(replace=replaced),
            questions,
            ddl=DDL,
            seed=7,
            rounds=2,
            entropy=insecure_seeded(7),
            say=lambda doing: None,
        )
    )
    assert len(lines) == 2
    assert not any(line.violated for line in lines), lines
