"""Views of a database: plain ones are read in place, those that compute are evaluated once, when it is opened."""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb
import pytest

from dither.catalog.load import loads
from dither.engines.sources.views import is_plain
from dither.errors import EngineUnavailable
from dither.session.open import open_catalog
from dither.session.session import Session
from support.exactly import exact_answer

CATALOG = """
[dataset]
name = "views"
[source]
url = "{url}"
[unit]
name = "person"
[budget]
epsilon = 1e9
[tables.v]
privacy_unit = "u"
max_rows_per_unit = 2
[tables.v.columns]
x = {{ type = "integer", bounds = [0, 100] }}
k = {{ type = "text", values = ["p", "q"] }}
"""
BASE = (
    "CREATE TABLE base (u BIGINT, k VARCHAR, t VARCHAR)",
    "INSERT INTO base VALUES (1, 'p', '5'), (2, 'q', '7'), (3, 'p', NULL), (4, 'q', 'oops')",
)


@pytest.fixture(autouse=True)
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private folder of the test's own, to see what is left in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def database(folder: Path, *statements: str) -> Path:
    path = folder / "views.duckdb"
    with duckdb.connect(str(path)) as connection:
        for statement in (*BASE, *statements):
            connection.execute(statement)
    return path


def opened(path: Path) -> Session:
    return open_catalog(loads(CATALOG.format(url=path)), ledger="")


def test_a_view_that_fails_on_one_row_is_said_when_opened(private: Path) -> None:
    """It failed after the charge: whether this row was there decided."""
    path = database(private, "CREATE VIEW v AS SELECT u, CAST(t AS INTEGER) AS x, k FROM base")
    with pytest.raises(EngineUnavailable, match="view `v` fails in its column `x`") as refused:
        opened(path)
    assert "oops" not in str(refused.value) and "TRY_CAST" in str(refused.value)


def test_a_view_that_does_not_fail_answers(private: Path) -> None:
    path = database(private, "CREATE VIEW v AS SELECT u, TRY_CAST(t AS INTEGER) AS x, k FROM base")
    with opened(path) as session:
        assert exact_answer(session, "SELECT COUNT(*), SUM(x), COUNT(x) FROM v").rows() == [(4, 12, 2)]


def test_a_column_that_no_question_reads_may_fail(private: Path) -> None:
    path = database(private, "CREATE VIEW v AS SELECT u, 1 AS x, k, CAST(t AS INTEGER) AS other FROM base WHERE u > 0")
    with opened(path) as session:
        assert exact_answer(session, "SELECT COUNT(*), SUM(x) FROM v").rows() == [(4, 4)]


def test_a_row_that_a_view_leaves_out_is_never_computed_with(private: Path) -> None:
    """The optimiser may take a question's condition before the view's own."""
    path = database(private, "CREATE VIEW v AS SELECT u, CAST(t AS INTEGER) AS x, k FROM base WHERE t <> 'oops'")
    with opened(path) as session:
        assert exact_answer(session, "SELECT COUNT(*) FROM v WHERE x > 5").rows() == [(1,)]


def test_what_is_random_in_a_view_is_so_once(private: Path) -> None:
    path = database(private, "CREATE VIEW v AS SELECT u, CAST(floor(random() * 100) AS INTEGER) AS x, k FROM base")
    with opened(path) as session:
        first = exact_answer(session, "SELECT SUM(x) FROM v WHERE u > 0").rows()
        assert exact_answer(session, "SELECT SUM(x) FROM v WHERE u > -1").rows() == first


def test_nothing_is_left_behind(private: Path) -> None:
    path = database(private, "CREATE VIEW v AS SELECT u, TRY_CAST(t AS INTEGER) AS x, k FROM base")
    with opened(path) as session:
        exact_answer(session, "SELECT SUM(x) FROM v")
        assert list(private.glob("dither-*/view-*")) == []
    with opened(path) as one, opened(path) as other:
        assert exact_answer(one, "SELECT SUM(x) FROM v").rows() == exact_answer(other, "SELECT SUM(x) FROM v").rows()


def test_a_view_reads_no_other_file(private: Path) -> None:
    other = private / "other.csv"
    other.write_text("x\n5\n", encoding="utf-8")
    path = database(private, f"CREATE VIEW v AS SELECT base.u, o.x, k FROM base, read_csv('{other}') AS o")
    with pytest.raises(EngineUnavailable):
        opened(path)


def test_a_tuned_view_is_read_from_what_was_stored(private: Path) -> None:
    path = database(private, "CREATE VIEW v AS SELECT u // 3 AS u, TRY_CAST(t AS INTEGER) AS x, k FROM base")
    with open_catalog(loads(CATALOG.format(url=path)), ledger=str(private / "l")) as session:
        session.engine.store_kept("v", 2)
        assert exact_answer(session, "SELECT COUNT(*), SUM(x) FROM v").rows() == [(4, 12)]


@pytest.mark.parametrize(
    ("view", "plain"),
    [
        ("SELECT * FROM base", True),
        ("SELECT u, base.k AS kind, 3 AS three, NULL AS nothing FROM main.base", True),
        ("SELECT * EXCLUDE (t) FROM base", True),
        ("FROM base", True),
        ('SELECT u AS "x AS SELECT 1" FROM base', True),
        ("SELECT * REPLACE (CAST(t AS INTEGER) AS t) FROM base", False),
        ("SELECT CAST(t AS INTEGER) AS t FROM base", False),
        ("SELECT u FROM base WHERE t = 5", False),
        ("SELECT u FROM base ORDER BY CAST(t AS INTEGER)", False),
        ("SELECT u FROM base LIMIT 3", False),
        ("SELECT DISTINCT u FROM base", False),
        ("SELECT u FROM base TABLESAMPLE 10%", False),
        ("SELECT u FROM base QUALIFY row_number() OVER () = 1", False),
        ("SELECT u FROM base GROUP BY u", False),
        ("SELECT base.u FROM base, base AS other", False),
        ("SELECT u FROM base UNION ALL SELECT u FROM base", False),
        ("SELECT u FROM (SELECT CAST(t AS INTEGER) AS u FROM base)", False),
        ("WITH w AS (SELECT CAST(t AS INTEGER) AS u FROM base) SELECT u FROM w", False),
        ("WITH base AS (SELECT CAST(t AS INTEGER) AS u FROM main.base) SELECT u FROM base", False),
        ("SELECT u FROM inner_view", False),
        ("SELECT COLUMNS('u') FROM base", False),
        ("VALUES (1)", False),
    ],
)
def test_a_view_is_plain_when_it_only_chooses_columns_of_one_table(private: Path, view: str, plain: bool) -> None:
    inner = "CREATE VIEW inner_view AS SELECT CAST(t AS INTEGER) AS u FROM base"
    path = database(private, inner, f'CREATE VIEW "a AS v" AS {view}')
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{path}' AS source (READ_ONLY)")
        assert is_plain(connection, "main", "a AS v") is plain
