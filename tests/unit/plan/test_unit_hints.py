"""A refusal for want of a unit says what to change, where the question does name units."""

from __future__ import annotations

import pytest

from dither.errors import QueryRefused
from support.worlds import World, catalog_text

PLAIN = '[tables.{name}]\nprivacy_unit = "u"\nmax_rows_per_unit = 2\ncolumns = {{ x = {{ type = "integer" }}{more} }}\n'
BOUNDED = ', u = { type = "integer", bounds = [0, 9] }'


def world(types: tuple[str, str], more: str = "") -> World:
    text = catalog_text("".join(PLAIN.format(name=name, more=more) for name in ("t", "o")))
    return World(text, {name: f"u {type}, x BIGINT" for name, type in zip(("t", "o"), types, strict=True)})


QUESTIONS = (
    "SELECT COUNT(*) FROM t JOIN o ON t.u = o.u",
    "SELECT COUNT(*) FROM t JOIN o USING (u)",
    "SELECT COUNT(*) FROM (SELECT u FROM t) AS a JOIN (SELECT u FROM o) AS b ON a.u = b.u",
    "SELECT COUNT(*) FROM t WHERE u IN (SELECT u FROM o)",
    "SELECT COUNT(*) FROM (SELECT (SELECT COUNT(*) FROM o WHERE o.u = t.u) AS n FROM t) AS q",
)


def refused(place: World, sql: str) -> str:
    with pytest.raises(QueryRefused) as caught:
        place.session.plan(sql)
    assert caught.value.code.startswith("S-")
    return str(caught.value)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_units_of_types_that_do_not_compare_exactly_are_named_by_their_types(sql: str) -> None:
    place = world(("DATE", "TIMESTAMP"))
    assert "DATE and TIMESTAMP" in refused(place, sql) or "TIMESTAMP and DATE" in refused(place, sql)
    place.close()


@pytest.mark.parametrize(
    "sql",
    [
        *QUESTIONS,
        "SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY u) AS n FROM t) AS q",
        "SELECT COUNT(*) FROM (SELECT DISTINCT * FROM t) AS q",
    ],
)
def test_a_unit_with_bounds_is_said_to_be_a_value(sql: str) -> None:
    place = world(("BIGINT", "BIGINT"), BOUNDED)
    assert "bounds or values" in refused(place, sql)
    place.close()


def test_a_join_without_units_is_told_to_name_them() -> None:
    place = world(("BIGINT", "BIGINT"))
    assert "Join on the unit" in refused(place, "SELECT COUNT(*) FROM t JOIN o ON t.x = o.x")
    place.close()
