"""Which windows are running totals, and where groups stand along their key."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from dither.plan import nodes
from dither.plan.running import axis_of
from support.worlds import World, catalog_text


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World(
        catalog_text(
            """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
columns = { d = { type = "date", bounds = [2024-01-01, 2024-01-09] }, x = { type = "double", bounds = [0, 10] }, \
r = { type = "text", values = ["a", "b"] }, k = { type = "integer", bounds = [0, 4] } }
"""
        ),
        {"t": "uid BIGINT, d DATE, x DOUBLE, r VARCHAR, k INTEGER"},
    )
    yield found
    found.close()


def marked(world: World, question: str) -> list[nodes.Running | None]:
    (measure,) = world.session.plan(question).measures
    return [vector.running for vector in measure.vectors]


UP = nodes.Running("k0")
TOTALS = {
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d": UP,
    "SELECT d, COUNT(*), SUM(COUNT(*)) OVER (ORDER BY d ROWS UNBOUNDED PRECEDING) AS total FROM t GROUP BY d": UP,
    "SELECT SUM(SUM(x)) OVER (ORDER BY d DESC) FROM t GROUP BY d": nodes.Running("k0", descending=True),
    "SELECT SUM(COUNT(k)) OVER (ORDER BY d NULLS FIRST) FROM t GROUP BY d": nodes.Running("k0", nulls_first=True),
    "SELECT SUM(COUNT(DISTINCT uid)) OVER (PARTITION BY r ORDER BY d) FROM t GROUP BY d, r": UP,
    "SELECT r, d FROM t GROUP BY d, r QUALIFY SUM(COUNT(*)) OVER (PARTITION BY r ORDER BY d) > 3": UP,
    "SELECT d, SUM(n) OVER (ORDER BY d) FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d)": UP,
    "WITH c AS (SELECT d AS y, COUNT(*) AS n FROM t GROUP BY d) SELECT y, SUM(c.n) OVER (ORDER BY c.y) FROM c": UP,
}


@pytest.mark.parametrize("question", TOTALS)
def test_sums_from_the_first_group_on_are_running_totals(world: World, question: str) -> None:
    assert marked(world, question) == [TOTALS[question]]


OTHERS = [
    "SELECT d, COUNT(*) FROM t GROUP BY d",
    "SELECT d, AVG(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d",
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t GROUP BY d",
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d ROWS BETWEEN UNBOUNDED PRECEDING AND 1 FOLLOWING) FROM t GROUP BY d",
    "SELECT d, SUM(COUNT(*)) OVER () FROM t GROUP BY d",
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY COUNT(*)) FROM t GROUP BY d",
    "SELECT d, SUM(COUNT(*)) FILTER (WHERE d > DATE '2024-01-02') OVER (ORDER BY d) FROM t GROUP BY d",
    "SELECT d, r, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d, r",
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d HAVING COUNT(*) > 2",
    "SELECT d, SUM(n) OVER (ORDER BY d) FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d LIMIT 3)",
    "SELECT d, SUM(n) OVER (ORDER BY d) FROM (SELECT d, COUNT(*) AS n FROM t GROUP BY d) WHERE n > 1",
    "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY ROLLUP (d)",
]


@pytest.mark.parametrize("question", OTHERS)
def test_other_windows_add_up_independent_noise(world: World, question: str) -> None:
    for measure in world.session.plan(question).measures:
        assert all(vector.running is None for vector in measure.vectors)


def test_a_position_is_a_value_of_the_key_in_any_line() -> None:
    keys = {"k0": np.array([5, 7, 5, 9]), "k1": np.array(["a", "a", "b", "b"], dtype=object)}
    axis = axis_of(nodes.Running("k0"), keys)
    assert (axis.lines, axis.n) == (2, 3)
    assert axis.line.tolist() == [0, 0, 1, 1] and axis.place.tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        (nodes.Running("k"), [0, 2, 1]),
        (nodes.Running("k", descending=True), [1, 2, 0]),
        (nodes.Running("k", nulls_first=True), [1, 0, 2]),
        (nodes.Running("k", descending=True, nulls_first=True), [2, 0, 1]),
    ],
)
def test_null_stands_at_its_end(way: nodes.Running, expected: list[int]) -> None:
    column = np.ma.MaskedArray(np.array([1, 0, 2]), [False, True, False])
    assert axis_of(way, {"k": column}).place.tolist() == expected


def test_explain_says_which_mechanism_and_why(world: World) -> None:
    question = "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) FROM t GROUP BY d"
    pure, rho = str(world.session.explain(question, epsilon=1)), str(world.session.explain(question, rho="0.5"))
    assert "An offer of epsilon buys" in pure or "One noisy count per position" in pure
    assert "normalised square root" in rho and "Running totals of COUNT(*): each within ±" in rho
