"""The clinic, for questions of any kind, and an ordinary DuckDB with its rows. A file with data of its own says so."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from support.clinic import clinic
from support.worlds import World


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = clinic()
    yield found
    found.close()


@pytest.fixture(scope="module")
def plain(world: World) -> duckdb.DuckDBPyConnection:
    return world.plain()
