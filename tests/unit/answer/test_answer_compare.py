"""Two numbers of an answer against each other, with their own ±."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import dither
from dither.errors import InvalidParameter
from dither.noise import insecure_seeded
from support.clinic import clinic
from support.worlds import World

CUBE = (
    "SELECT region, flag, COUNT(*) AS n, AVG(age) AS m, SUM(age) AS s FROM t "
    "GROUP BY CUBE (region, flag) ORDER BY n DESC"
)


@pytest.fixture
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


def test_groups_by_themselves_are_as_unsure_as_both(world: World) -> None:
    answer = world.session.ask("SELECT region, COUNT(*) AS n FROM t GROUP BY region", rho="0.01")
    apart = answer.compare(0, 1)
    assert apart.difference == answer.rows()[0][1] - answer.rows()[1][1]
    assert apart.half_width == pytest.approx(math.sqrt(2) * 1.96 * answer.tables[0].laws[0].variance() ** 0.5, rel=1e-3)
    assert answer.compare(1, 1).half_width == 0
    assert answer.compare(0, 1, "N") == apart == answer.compare(0, 1, 1)


def test_a_group_and_the_whole_it_is_part_of_share_noise(world: World) -> None:
    answer = world.session.ask(CUBE, rho="0.01")
    rows = answer.rows()
    low, high = answer.intervals[2]
    whole = next(i for i, row in enumerate(rows) if row[0] is None and row[1] is None)
    part = next(i for i, row in enumerate(rows) if row[0] == "R1" and row[1] is None)
    halves = [(high[i] - low[i]) / 2 for i in (whole, part)]
    apart = answer.compare(whole, part, "n")
    assert apart.difference == rows[whole][2] - rows[part][2]
    assert apart.half_width < math.hypot(*halves)
    assert "n: " in str(apart)
    assert answer.compare(whole, part, "s").half_width > 0


def test_what_is_no_count_or_sum_is_refused(world: World) -> None:
    answer = world.session.ask(CUBE, rho="0.1")
    for row, other, column in ((0, 1, "m"), (0, 1, None), (0, 1, "region"), (0, 99, "n"), (-1, 0, "n")):
        with pytest.raises(InvalidParameter):
            answer.compare(row, other, column)
    running = world.session.ask(
        "SELECT d, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY d) AS c FROM t GROUP BY d", rho=1
    )
    with pytest.raises(InvalidParameter):
        running.compare(0, 1, "n")


@pytest.mark.parametrize("offer", [{"rho": 0.02}, {"epsilon": 1.0}])
def test_comparisons_cover(offer: dict[str, float]) -> None:
    """150 asks, ten comparisons each, of groups that share an axis and of a group with its total. Below 91 % with
    probability below 1e-6 where a third of them counts as independent; without covariances some would cover 99 %."""
    generator = np.random.default_rng(4)
    frame = pd.DataFrame(
        {"x": generator.integers(0, 9, 900), "g": generator.integers(0, 3, 900), "h": generator.integers(0, 2, 900)}
    )
    inside: list[bool] = []
    with dither.open(
        frame,
        privacy_unit="row",
        budget=10**6,
        delta=1e-6,
        bounds={"x": (0, 8), "g": (0, 2), "h": (0, 1)},
        entropy=insecure_seeded(8),
    ) as session:
        for ask in range(150):
            answer = session.ask(
                f"SELECT g, h, COUNT(*) AS n FROM data WHERE x >= {-ask - 1} GROUP BY CUBE (g, h)", **offer
            )
            place = {row[:2]: i for i, row in enumerate(answer.rows()) if row[0] is not None and row[1] is not None}
            for (g, h), i in place.items():
                other = (g, 1 - h)
                apart = answer.compare(i, place[other])
                truth = int(((frame.g == g) & (frame.h == h)).sum() - ((frame.g == g) & (frame.h == 1 - h)).sum())
                inside.append(apart.low <= truth <= apart.high)
    assert 0.91 < np.mean(inside) < 0.985
