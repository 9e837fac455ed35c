"""How SQL reads the tables of a catalog: by the unit at the end of a reference, whatever two of them are called."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.errors import EngineMismatch
from dither.session.open import open_catalog
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


def test_two_tables_of_a_catalog_may_be_one_stored_table(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "d.duckdb")).execute("CREATE TABLE visits AS SELECT 1 AS uid, 2 AS age").close()
    section = '[tables.{0}]\nsource = "visits"\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n'
    text = catalog_text(section.format("a") + section.format("b")).replace("memory.duckdb", str(tmp_path / "d.duckdb"))
    with open_catalog(loads(text), ledger=str(tmp_path / "d.ledger")) as session:
        for table in ("a", "b"):
            assert exact_answer(session, f"SELECT COUNT(*) FROM {table}").scalar() == 1
