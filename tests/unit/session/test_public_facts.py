"""Row counts declared as public: used where accuracy is foreseen, never compared with the data, shown where used."""

from __future__ import annotations

import re
from typing import Any

import pytest

from dither.catalog.load import loads
from dither.errors import CatalogError, InvalidParameter
from dither.noise import insecure_seeded
from support.worlds import World, catalog_text

FACTS = ("rows = 9000\n", ", rows = [6000, 3000]")


def section(facts: tuple[str, str]) -> str:
    return (
        f'[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n{facts[0]}[tables.t.columns]\n'
        f'g = {{ type = "text", values = ["a", "b"]{facts[1]} }}\nx = {{ type = "integer", bounds = [10, 50] }}\n'
        'h = { type = "text", values = ["a", "b"] }'
    )


def made(facts: tuple[str, str] = FACTS, rows: int = 9000) -> World:
    world = World(catalog_text(section(facts)), {"t": "uid BIGINT, g VARCHAR, x BIGINT, h VARCHAR"})
    world.session.entropy = insecure_seeded(1)
    world.fill("t", f"SELECT i, CASE WHEN i % 3 < 2 THEN 'a' ELSE 'b' END, 10 + i % 41, 'a' FROM range({rows}) AS r(i)")
    return world


def half_of(explained: Any, column: str) -> float | None:
    return dict(explained.columns)[column]


def test_the_half_width_of_a_mean_is_foreseen_and_is_about_the_answers() -> None:
    world = made()
    for sql, group in (("SELECT AVG(x) AS m FROM t", None), ("SELECT g, AVG(x) AS m FROM t GROUP BY g", "b")):
        foreseen = half_of(world.session.explain(sql, epsilon=1), "m")
        assert foreseen is not None
        answer = world.session.ask(sql, epsilon=1)
        low, high = answer.intervals[0 if group is None else 1]
        place = 0 if group is None else [row[0] for row in answer.rows()].index(group)
        own = (high[place] - low[place]) / 2
        # Foreseen for the worst place of the mean; this one is in the middle.
        assert 0.65 * foreseen <= own <= 1.05 * foreseen
    world.close()


def test_within_may_wish_for_a_mean_and_the_answer_keeps_it() -> None:
    world = made()
    answer = world.session.ask("SELECT g, AVG(x) AS m, COUNT(*) AS n FROM t GROUP BY g", within={"m": "0.4"})
    low, high = answer.intervals[1]
    for place, row in enumerate(answer.rows()):
        if row[0] is not None:
            assert (high[place] - low[place]) / 2 <= 0.42
    world.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT AVG(x) AS m FROM t WHERE x > 20",
        "SELECT AVG(x) FILTER (WHERE x > 20) AS m FROM t",
        "SELECT h, AVG(x) AS m FROM t GROUP BY h",
        "SELECT g, h, AVG(x) AS m FROM t GROUP BY g, h",
        "SELECT AVG(a.x) AS m FROM t a JOIN t b ON a.uid = b.uid",
        "SELECT AVG(DISTINCT x) AS m FROM t",
        "SELECT AVG(s) AS m FROM (SELECT uid, LEAST(SUM(x), 50) AS s FROM t GROUP BY uid) AS q",
        "SELECT VAR_POP(x) AS m FROM t",
        "SELECT MEDIAN(x) AS m FROM t",
    ],
)
def test_of_rows_that_only_the_data_can_count_nothing_is_foreseen(sql: str) -> None:
    world = made()
    explained = world.session.explain(sql, epsilon=1)
    assert half_of(explained, "m") is None and "Declared as public" not in str(explained)
    with pytest.raises(InvalidParameter) as refused:
        world.session.explain(sql, within={"m": 1})
    assert refused.value.code == "M-120"
    world.close()


def test_nothing_is_foreseen_where_nothing_is_declared() -> None:
    world = made(("", ""))
    for sql in ("SELECT AVG(x) AS m FROM t", "SELECT g, AVG(x) AS m FROM t GROUP BY g"):
        assert half_of(world.session.explain(sql, epsilon=1), "m") is None
    world.close()


def test_a_wrong_count_changes_no_answer_no_price_and_no_refusal() -> None:
    # Ten rows where nine thousand are declared; the same noise.
    worlds = made(rows=10), made(("", ""), rows=10)
    for sql in ("SELECT AVG(x), COUNT(*), SUM(x) FROM t", "SELECT g, AVG(x) FROM t GROUP BY g"):
        one, other = (world.session.ask(sql, epsilon=1) for world in worlds)
        assert one.rows() == other.rows() and one.charged == other.charged
        assert [interval.tolist() for interval in one.intervals[1 if "GROUP" in sql else 0]] == [
            interval.tolist() for interval in other.intervals[1 if "GROUP" in sql else 0]
        ]
    for world in worlds:
        world.close()


def test_another_count_finds_what_was_released_before() -> None:
    one = made()
    one.session.ask("SELECT g, AVG(x) FROM t GROUP BY g", epsilon=1)
    one.session.catalog = loads(catalog_text(section(("rows = 8000\n", ", rows = [5000, 3000]"))))
    again = one.session.explain("SELECT g, AVG(x) FROM t GROUP BY g", epsilon=1)
    assert again.price.epsilon in (None, 0)
    assert one.session.catalog.promise_digest() == one.catalog.promise_digest()
    one.close()


def test_explain_says_what_an_expectation_rests_on() -> None:
    world = made()
    said = str(world.session.explain("SELECT AVG(x) AS m, COUNT(*) AS n FROM t", epsilon=1))
    assert "never checked: t has 9,000 rows" in said and re.search(r"Expected, at 95 %: m ± 0\.\d+, n ± 9", said)
    said = str(world.session.explain("SELECT g, AVG(x) AS m FROM t GROUP BY g", epsilon=1))
    assert "t.g have 3,000 rows and more" in said
    world.close()


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        (("rows = 0\n", ""), "rows"),
        (("rows = -5\n", ""), "rows"),
        (("rows = 1.5\n", ""), "rows"),
        (('rows = "9000"\n', ""), "rows"),
        (("rows = true\n", ""), "rows"),
        (("", ", rows = [6000]"), "columns.g.rows"),
        (("", ", rows = 6000"), "columns.g.rows"),
        (("", ", rows = [6000, 0]"), "columns.g.rows"),
        (("", ', rows = [6000, "3000"]'), "columns.g.rows"),
        (("rows = 8999\n", ", rows = [6000, 3000]"), "columns.g.rows"),
    ],
)
def test_counts_without_a_meaning_are_refused(facts: tuple[str, str], key: str) -> None:
    with pytest.raises(CatalogError) as refused:
        loads(catalog_text(section(facts)))
    assert key in str(refused.value.key)


def test_counts_belong_to_listed_values() -> None:
    text = section(("", "")).replace("bounds = [10, 50]", "bounds = [10, 50], rows = [1, 2]")
    with pytest.raises(CatalogError) as refused:
        loads(catalog_text(text))
    assert "values" in str(refused.value)
