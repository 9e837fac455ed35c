"""Each setting holds where questions run: on cursors, and whatever time zone the machine is in.

Most of DuckDB's settings belong to one connection unless they are set GLOBAL, and a cursor is a connection of its own.
"""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys

import duckdb
import pytest

from dither.engines import duckdb as engine
from dither.sql import embedded
from support.worlds import World, catalog_text

TABLES = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\ncolumns = { seen = { type = "timestamp" } }'


def wanted(line: str) -> tuple[str, str]:
    name, _, value = line.removeprefix("SET ").removeprefix("GLOBAL ").partition("=")
    return name, value.strip("'")


def in_force(cursor: duckdb.DuckDBPyConnection, name: str) -> str:
    row = cursor.execute(f"SELECT CAST(current_setting('{name}') AS VARCHAR)").fetchone()
    assert row is not None
    return str(row[0])


@pytest.mark.parametrize("line", embedded.SETTINGS)
def test_settings_of_the_finish(line: str) -> None:
    name, value = wanted(line)
    if name == "memory_limit":
        assert in_force(embedded._cursor(), name) == "1.8 GiB"
    else:
        assert in_force(embedded._cursor(), name) == value


@pytest.mark.parametrize(("name", "value"), embedded.THREADS.items())
def test_threads_of_the_finish(name: str, value: object) -> None:
    assert in_force(embedded._cursor(), name) == str(value)


@pytest.mark.parametrize("line", engine.SETTINGS)
def test_settings_of_the_engine(line: str) -> None:
    world = World(catalog_text(TABLES), {"t": "uid BIGINT, seen TIMESTAMPTZ"})
    name, value = wanted(line)
    assert in_force(world.engine._cursor(), name) == value
    world.close()


def test_days_are_utc_wherever_the_machine_is() -> None:
    """The same moment is the 1st in UTC and the 31st in Honolulu; asked in a process that lives there."""
    program = """
from support.exactly import exact_answer
from support.worlds import World, catalog_text
from unit.engines.test_settings_reach_cursors import LATE, TABLES
world = World(catalog_text(TABLES), {"t": "uid BIGINT, seen TIMESTAMPTZ"})
world.load("t", [(1, LATE)])
print(exact_answer(world.session, "SELECT SUM(EXTRACT(DAY FROM seen)) AS n FROM t").rows())
"""
    tests = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    path = os.pathsep.join([tests, *filter(None, [os.environ.get("PYTHONPATH")])])
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TZ": "Pacific/Honolulu", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == "[(1,)]"


LATE = dt.datetime(2026, 2, 1, 3, tzinfo=dt.UTC)
