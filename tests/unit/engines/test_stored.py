"""Kept rows of Parquet sources: read while they are what the source would give, and never those of another cut."""

from __future__ import annotations

import stat
from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.engines import emit
from dither.engines.duckdb import DuckDBEngine, open_engine
from dither.ledger.ledger import Ledger
from dither.session.session import Session
from support.exactly import exact_answer

CATALOG = """
[dataset]
name = "d"
ledger = "d.ledger"
[source]
url = "t.parquet"
[unit]
name = "person"
[budget]
epsilon = 1000000
[tables.t]
privacy_unit = "u"
[tables.t.columns]
x = { type = "double", bounds = [0, 10] }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "t.parquet"
    write(path, "SELECT i // 6 AS u, i / 10.0 AS x FROM range(60) AS r(i)")
    return path


def write(path: Path, rows: str) -> None:
    duckdb.execute(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")


def opened(source: Path, tau: int) -> Session:
    catalog = loads(CATALOG)
    engine = open_engine(catalog, str(source), kept_path=source.with_suffix(".kept.duckdb"))
    ledger = Ledger.open(
        "", dataset=catalog.name, promise_digest=catalog.promise_digest(), budget=catalog.budget, analysts={}
    )
    return Session(catalog, engine, ledger, taus={"t": tau})


def reads_what_is_stored(session: Session) -> bool:
    (measure,) = session.plan("SELECT COUNT(*), SUM(x) FROM t").measures
    assert isinstance(session.engine, DuckDBEngine)
    return "kept." in emit.measure_sql(measure, session.engine._emission())


def count(session: Session) -> int:
    return int(exact_answer(session, "SELECT COUNT(*) FROM t").scalar())  # type: ignore[arg-type]


def test_stored_rows_are_read_and_private(source: Path) -> None:
    with opened(source, 3) as session:
        total = exact_answer(session, "SELECT SUM(x) FROM t").scalar()
        assert not reads_what_is_stored(session)
        session.engine.store_kept("t", 3)
        assert reads_what_is_stored(session)
        assert (count(session), exact_answer(session, "SELECT SUM(x) + 0 FROM t").scalar()) == (30, total)
    (stored,) = source.parent.glob("t.kept.*")
    assert stored.suffix == ".parquet" and stat.S_IMODE(stored.stat().st_mode) == 0o600
    with opened(source, 3) as session:
        assert reads_what_is_stored(session) and count(session) == 30


def test_rows_that_another_session_cut_otherwise_are_not_read(source: Path) -> None:
    with opened(source, 3) as session, opened(source, 5) as other:
        session.engine.store_kept("t", 3)
        assert reads_what_is_stored(session)
        other.engine.store_kept("t", 5)
        assert count(other) == 50
        assert not reads_what_is_stored(session) and count(session) == 30


def test_rows_of_a_source_that_has_moved_on_are_not_read(source: Path) -> None:
    with opened(source, 3) as session:
        session.engine.store_kept("t", 3)
    write(source, "SELECT i // 2 AS u, 1.0 AS x FROM range(40) AS r(i)")
    with opened(source, 3) as session:
        assert not reads_what_is_stored(session) and count(session) == 40


@pytest.mark.parametrize("spoil", [lambda b: b"", lambda b: b[: len(b) // 2], lambda b: b"PAR1" + b[::-1]])
def test_a_broken_file_is_done_without(source: Path, spoil: object) -> None:
    with opened(source, 3) as session:
        session.engine.store_kept("t", 3)
    (stored,) = source.parent.glob("t.kept.*")
    stored.write_bytes(spoil(stored.read_bytes()))  # type: ignore[operator]
    with opened(source, 3) as session:
        assert not reads_what_is_stored(session) and count(session) == 30


def test_a_file_without_a_stamp_is_done_without(source: Path) -> None:
    with opened(source, 3) as session:
        session.engine.store_kept("t", 3)
    (stored,) = source.parent.glob("t.kept.*")
    write(stored, "SELECT 1 AS c0, 1.0 AS c1, 1 AS u, 1 AS s1 FROM range(9)")
    with opened(source, 3) as session:
        assert not reads_what_is_stored(session) and count(session) == 30
