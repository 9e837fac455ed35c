"""The engine is locked down, and answers from one state of its source or not at all."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.errors import EngineError
from dither.session.open import open_catalog
from support.visits import CATALOG, ROWS


def test_a_source_that_changes_between_planning_and_reading_is_a_failure_that_stays_charged(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    duckdb.execute(f"COPY ({ROWS}) TO '{path}' (FORMAT parquet)")
    session = open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="")
    engine = session.engine
    version, measure = engine._source.version, engine.measure  # type: ignore[attr-defined]
    seen = iter(["before", "after"])

    def measure_while_it_changes(measures: object) -> object:
        engine._source.version = lambda: next(seen, version())  # type: ignore[attr-defined]
        return measure(measures)  # type: ignore[arg-type]

    engine.measure = measure_while_it_changes  # type: ignore[method-assign,assignment]
    with pytest.raises(EngineError, match="could not answer"):
        session.ask("SELECT COUNT(*) FROM visits", epsilon=0.5)
    assert float(session.ledger.spent().epsilon) == 0.5


def test_the_engine_is_locked(tmp_path: Path) -> None:
    path = tmp_path / "visits.parquet"
    duckdb.execute(f"COPY ({ROWS}) TO '{path}' (FORMAT parquet)")
    session = open_catalog(loads(CATALOG.format(url=path, table="visits")), ledger="")
    cursor = session.engine._cursor()  # type: ignore[attr-defined]
    for forbidden in (
        f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
        "SELECT * FROM read_text('/etc/hostname')",
        f"ATTACH '{tmp_path}/other.duckdb'",
        "SET threads = 1",
        "INSTALL httpfs",
    ):
        with pytest.raises(duckdb.Error):
            cursor.execute(forbidden)
