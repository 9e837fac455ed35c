"""A catalog whose [budget] was edited after its ledger began: what is said and refused goes by the ledger's."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import dither
from dither.errors import DitherError, QueryRefused
from dither.session.series import foresee_series

CATALOG = """
[dataset]
name = "x"
[source]
url = "t.duckdb"
[unit]
name = "person"
[budget]
epsilon = 100
{delta}
[tables.t]
privacy_unit = "id"
max_rows_per_unit = 1
[tables.t.columns]
town = {{ type = "text" }}
day = {{ type = "date", bounds = [2024-01-01, 2024-01-31] }}
"""
BY_TOWN, ALL = "SELECT town, COUNT(*) AS n FROM t GROUP BY town", "SELECT COUNT(*) AS n FROM t"


def opened(folder: Path, began: str, now: str) -> dither.Session:
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i AS id, 'a' AS town, DATE '2024-01-02' AS day FROM range(900) AS r(i)"
        )
    for delta in (began, now):
        (folder / "dither.toml").write_text(CATALOG.format(delta=delta))
        session = dither.open(folder / "dither.toml")
        if delta == began:
            session.close()
    return session


def said(session: dither.Session) -> str:
    day = "SELECT day, COUNT(*) AS n FROM t GROUP BY day"
    planned = session.plan_budget([ALL], rho="0.01")
    series = foresee_series(session, day, name="s", first="2024-01-01", days=7, rho="0.01")
    return f"{session.explain(ALL, rho='0.01')}\n{planned}\n{series}\n{session.explain_many([ALL], rho='0.01')}"


def test_a_delta_that_only_the_ledger_has_is_one(tmp_path: Path) -> None:
    # Gaussian noise was said to be refused, and was charged; private groups were refused.
    with opened(tmp_path, "delta = 1e-6", "") as session:
        assert "closes the epsilon meter" in said(session) and "is refused" not in said(session)
        assert session.ask(ALL, rho="0.01").charged.rho > 0
        assert session.ask(BY_TOWN, rho="0.01").charged.delta > 0


def test_a_delta_that_only_the_catalog_has_is_none(tmp_path: Path) -> None:
    # Gaussian noise was said to close a meter, and was refused; private groups ended in an error about a delta of 0.
    with opened(tmp_path, "", "delta = 1e-6") as session:
        assert "is refused" in said(session) and "closes the epsilon meter" not in said(session)
        with pytest.raises(DitherError):
            session.ask(ALL, rho="0.01")
        with pytest.raises(QueryRefused) as refused:
            session.ask(BY_TOWN, epsilon=1)
        assert refused.value.code == "K-101" and "budget grant --delta" in str(refused.value.owner_hint)
        session.ledger.grant(delta="1e-6", reason="private groups")
        assert session.ask(BY_TOWN, epsilon=1).charged.delta > 0
