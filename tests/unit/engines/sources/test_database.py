"""A database file that another takes the place of, while it is open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.errors import EngineMismatch
from dither.session.open import open_catalog
from support.visits import CATALOG, ROWS


@pytest.mark.parametrize("how", ["renamed", "written over", "removed"])
def test_a_database_that_was_replaced_is_not_answered_from_the_old_file(tmp_path: Path, how: str) -> None:
    """It was, for as long as the session lived; where it was written over, perhaps from parts of both."""
    path, other = tmp_path / "visits.duckdb", tmp_path / "other.duckdb"
    for place, more in ((path, ""), (other, " WHERE i < 50")):
        with duckdb.connect(str(place)) as connection:
            connection.execute(f"CREATE TABLE visits AS {ROWS}{more}")
    with open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="") as session:
        assert session.ask("SELECT COUNT(*) FROM visits", epsilon=9000).scalar() == 100
        if how == "renamed":
            os.replace(other, path)
        elif how == "removed":
            path.unlink()
        else:
            shutil.copyfile(other, path)
        with pytest.raises(EngineMismatch, match="replaced"):
            session.ask("SELECT COUNT(x) FROM visits", epsilon=9000)
    if how != "removed":
        with open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="") as session:
            assert session.ask("SELECT COUNT(*) FROM visits", epsilon=9000).scalar() == 50
