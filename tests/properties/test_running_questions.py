"""Running totals of questions: without noise they are DuckDB's own; one unit moves them by at most what is paid for."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dither.accounting import LaplaceEvent
from dither.answer.complete import complete
from dither.plan.laws import RunningLaw
from dither.plan.offer import Offer
from dither.plan.price import PricedPlan, PricedVector, price_plan
from dither.plan.running import axis_of
from dither.secret import open_secret
from support.cases import TAU, UNITS, open_world, random_rows, without
from support.exactly import assert_same, noise_off
from support.worlds import World

Rows = Sequence[tuple[Any, ...]]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = open_world()
    yield found
    found.close()


# Each with how many of its first columns are the groups.
QUESTIONS = {
    "SELECT d, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d": 1,
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d DESC) FROM t GROUP BY d": 1,
    "SELECT d, SUM(COUNT(k)) OVER (ORDER BY d NULLS FIRST) FROM t GROUP BY d": 1,
    "SELECT k, SUM(COUNT(*)) OVER (ORDER BY k DESC NULLS FIRST) FROM t GROUP BY k": 1,
    "SELECT k, d, region, SUM(SUM(k)) OVER (PARTITION BY d, region ORDER BY k) FROM t GROUP BY k, d, region": 3,
    "SELECT region, d, COUNT(*), SUM(SUM(x)) OVER (PARTITION BY region ORDER BY d) FROM t GROUP BY region, d": 2,
    "SELECT d, SUM(COUNT(DISTINCT uid)) OVER (ORDER BY d) FROM t GROUP BY d": 1,
    "SELECT d, SUM(SUM(k)) OVER (ORDER BY d), SUM(COUNT(*) FILTER (WHERE flag)) OVER (ORDER BY d) FROM t GROUP BY d": 1,
    "SELECT d, n, SUM(n) OVER (ORDER BY d) FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d)": 1,
    "SELECT YEAR(d) AS y, k, SUM(COUNT(*)) OVER (PARTITION BY YEAR(d) ORDER BY k) FROM t GROUP BY y, k": 2,
}


def within_bounds(rows: Rows) -> Rows:
    """At most TAU rows of each unit, moved within the catalog's bounds, on the totals' coarser grid."""
    days = (dt.date(2020, 1, 1), dt.date(2020, 1, 3))
    return [
        (
            u,
            None if region is None else "ab"[len(region) % 2],
            0.5,
            k and min(max(k, -2), 7),
            0,
            flag,
            d and min(max(d, days[0]), days[1]),
        )
        for unit in UNITS
        for u, region, _, k, _, flag, d in [row for row in rows if row[0] == unit][:TAU]
    ]


@pytest.mark.parametrize("offer", [{"epsilon": 1000}, {"rho": 10}], ids=["epsilon", "rho"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_without_noise_totals_are_duckdbs_own(world: World, question: str, offer: dict[str, int]) -> None:
    keys = QUESTIONS[question]
    for seed in range(4):
        t, o = random_rows(seed)
        world.load("t", within_bounds(t))
        world.load("o", o)
        world.session.ledger.open_release(f"{question[:60]} {offer} {seed}")
        with noise_off():
            ours = world.session.ask(question, **offer).rows()
        plain = world.plain().execute(question).fetchall()
        # Groups without rows have no row in DuckDB's answer; in ours they carry the total on.
        groups = {tuple(map(str, row[:keys])) for row in plain}
        assert_same([row for row in ours if tuple(map(str, row[:keys])) in groups], plain, question)


@pytest.mark.parametrize("dataset", ["", 'neighbours = "replace"'], ids=["add or remove", "replace"])
@pytest.mark.parametrize("offer", [Offer.create(epsilon=1), Offer.create(rho=1)], ids=["epsilon", "rho"])
def test_one_unit_moves_what_is_measured_by_at_most_the_distance_paid_for(dataset: str, offer: Offer) -> None:
    world = open_world(dataset=dataset)
    reached = False
    for question in QUESTIONS:
        plan = world.session.plan(question)
        priced = price_plan(plan, offer, world.catalog, delta_per_question=0)
        for seed in range(6):
            t, o = random_rows(seed)
            whole = _measured(world, priced, t, o)
            for unit in UNITS:
                if dataset:
                    other = [row for row in t if row[0] != unit] + [(unit, *row[1:]) for row in random_rows(99)[0][:3]]
                    changed = _measured(world, priced, other, o)
                else:
                    changed = _measured(world, priced, without(t, unit), without(o, unit))
                for (vector, ours), (_, theirs) in zip(whole, changed, strict=True):
                    moved, limit = _distance(vector, ours - theirs)
                    assert moved <= limit, f"{question}: {moved} > {limit}"
                    reached = reached or moved == limit
    world.close()
    assert reached or dataset or offer.rho is not None, "the distance is never reached: is it too large?"


def _measured(world: World, priced: PricedPlan, t: Rows, o: Rows) -> list[tuple[PricedVector, npt.NDArray[Any]]]:
    """What noise is added to, for each running vector: all lines' coordinates as Python integers."""
    world.load("t", t)
    world.load("o", o)
    found = []
    for part in priced.measures:
        (table,) = open_secret(world.engine.measure([part.measure]))
        for vector, values in zip(part.vectors, complete(table, part.measure.domain), strict=True):
            if isinstance(vector.law, RunningLaw):
                axis = axis_of(vector.vector.running, part.measure.domain.columns)
                lines = np.zeros((axis.lines, axis.n), dtype=np.int64)
                lines[axis.line, axis.place] = values
                design, largest = vector.law.plan.design, vector.law.plan.largest_count
                found.append((vector, np.concatenate([design.measure(line, largest) for line in lines]).astype(object)))
    assert found, "no running totals were planned"
    return found


def _distance(vector: PricedVector, difference: npt.NDArray[Any]) -> tuple[int, int]:
    if isinstance(vector.event, LaplaceEvent):
        return int(np.abs(difference).sum()), vector.event.distance
    return int((difference * difference).sum()), int(vector.event.squared_distance)  # type: ignore[union-attr]
