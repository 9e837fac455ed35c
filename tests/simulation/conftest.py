"""A real PostgreSQL for the simulations, and places where no ledger is yet: in a file, and on that server."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts import ledger_postgres as postgres


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    if reason := postgres.missing():
        pytest.skip(reason)
    with postgres.server() as url:
        yield url


@pytest.fixture(params=["file", "postgres"])
def fresh(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Places where no ledger is yet."""
    if request.param == "file":
        numbers = itertools.count()
        return lambda: str(tmp_path / f"{next(numbers)}.ledger")
    address = request.getfixturevalue("server")
    return lambda: postgres.schema_of(address, f"s{secrets.token_hex(8)}")


@pytest.fixture
def place(fresh: Callable[[], str]) -> str:
    """One of them."""
    return fresh()
