"""How SQL reads the tables of a catalog: references lead from a table of one type to one of the same."""

from __future__ import annotations

import pytest

from dither.errors import EngineMismatch
from support.exactly import exact_answer
from support.worlds import World, catalog_text

TABLES = """
[tables.people]
privacy_unit = "uid"
max_rows_per_unit = 2
[tables.orders]
privacy_unit = { column = "uid", references = "people" }
max_rows_per_unit = 2
"""


def test_ends_of_a_reference_of_different_types_are_refused_when_opened() -> None:
    with pytest.raises(EngineMismatch, match=r"orders\.uid refers to people\.uid"):
        World(catalog_text(TABLES), {"people": "uid BIGINT", "orders": "uid VARCHAR"})


def test_a_person_of_several_rows_has_each_order_once_and_an_order_of_nobody_is_none() -> None:
    world = World(catalog_text(TABLES), {"people": "uid BIGINT", "orders": "uid BIGINT"})
    world.load("people", [(1,), (1,), (2,), (None,)])
    world.load("orders", [(1,), (2,), (2,), (3,), (None,)])
    assert exact_answer(world.session, "SELECT COUNT(*) FROM orders").scalar() == 3
    world.close()
