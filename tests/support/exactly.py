"""Answers without noise, plain DuckDB's answers, and what it means that they agree.

Flow: `exact_answer` runs the whole path of `ask` with noise replaced by nothing and thresholds by 1; `plain_answer`
asks an ordinary DuckDB the same text; `assert_same` compares them as bags of rows.
The one difference that is allowed: public groups without rows appear in ours, with zero counts and sums.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import Any
from unittest import mock

import duckdb

from dither.answer.answer import Answer
from dither.mechanisms.release import saturate
from dither.plan.price import PricedPlan, price_plan
from dither.session.session import Session

__all__ = ["assert_same", "difference", "exact_answer", "noise_off", "plain_answer"]

Row = tuple[Any, ...]


@contextmanager
def noise_off() -> Iterator[None]:
    """Every draw is zero, and a private group appears as soon as it has one row. Quantiles are still chosen, at
    whatever the offer buys."""

    def at_once(priced: PricedPlan) -> PricedPlan:
        measures = tuple(replace(m, threshold=1) for m in priced.measures)
        return replace(priced, measures=measures, phases=tuple(map(at_once, priced.phases)))

    with (
        mock.patch("dither.answer.release.add_noise", lambda values, law, entropy: saturate(values)),
        mock.patch("dither.mechanisms.running.totals.add_noise", lambda values, law, entropy: saturate(values)),
        mock.patch("dither.mechanisms.residual.release.add_noise", lambda values, law, entropy: saturate(values)),
        mock.patch("dither.session.session.price_plan", lambda *args, **terms: at_once(price_plan(*args, **terms))),
    ):
        yield


def exact_answer(session: Session, sql: str, *, together: bool = False) -> Answer:
    """together: for a price in rho, for which groupings are measured together."""
    with noise_off():
        return session.ask(sql, rho=1000) if together else session.ask(sql, epsilon=1000)


def plain_answer(connection: duckdb.DuckDBPyConnection, sql: str) -> list[Row]:
    return connection.execute(sql).fetchall()


def assert_same(ours: Sequence[Row], plain: Sequence[Row], sql: str, *, tolerance: float = 1e-6) -> None:
    found = difference(ours, plain, tolerance=tolerance)
    assert found is None, f"{sql}\n{found}"


def difference(ours: Sequence[Row], plain: Sequence[Row], *, tolerance: float = 1e-6) -> str | None:
    """None where the bags agree; else what is in one and not in the other."""
    left = [tuple(map(_value, row)) for row in ours]
    right = [tuple(map(_value, row)) for row in plain]
    if left and right and len(left[0]) != len(right[0]):
        return f"{len(left[0])} columns, not {len(right[0])}"
    # Rows that may be alike agree in all but numbers and NULLs: look for a partner among those only.
    places: dict[Row, list[Row]] = {}
    for row in left:
        places.setdefault(_texts(row), []).append(row)
    # First rows that agree as they are; then those that agree when the sum of nothing may be zero.
    unmatched = _unmatched(_unmatched(right, places, tolerance, nothing=None), places, tolerance, nothing=0)
    extra = [row for rows in places.values() for row in rows if not _empty_group(row)]
    if unmatched or extra:
        return f"only ours: {extra[:5]} ({len(extra)})\nonly plain: {unmatched[:5]} ({len(unmatched)})"
    return None


def _unmatched(
    rows: Sequence[Row], places: dict[Row, list[Row]], tolerance: float, *, nothing: int | None
) -> list[Row]:
    """Plain rows without a partner; partners are taken out of `places`."""
    left = []
    for row in rows:
        candidates = places.get(_texts(row), [])
        place = next((i for i, other in enumerate(candidates) if _alike(other, row, tolerance, nothing)), None)
        if place is None:
            left.append(row)
        else:
            candidates.pop(place)
    return left


def _texts(row: Row) -> Row:
    return tuple(value if isinstance(value, str | bool) else None for value in row)


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(sep=" ")
    if isinstance(value, dt.date):
        return value.isoformat()
    return value


def _alike(ours: Row, plain: Row, tolerance: float, nothing: int | None) -> bool:
    return all(_one_alike(a, b, tolerance, nothing) for a, b in zip(ours, plain, strict=True))


def _one_alike(a: Any, b: Any, tolerance: float, nothing: int | None) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, int | float) and isinstance(b, int | float):
        return abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
    # SUM over no rows is NULL in SQL, and the sum of nothing, zero, here.
    if b is None and isinstance(a, int | float):
        return a == nothing
    return bool(a == b)


def _empty_group(row: Row) -> bool:
    """May this be a public group without rows? Its numbers are then zero or NULL; callers put counts into the row."""
    return 0 in [value for value in row if isinstance(value, int) and not isinstance(value, bool)]
