"""Regressions, skewness and kurtosis from sums of powers equal DuckDB's, and are NULL where nothing is spread."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from dither.answer import shapes

X = np.array([1.0, 2.0, 4.0, 8.0, 3.5])
Y = np.array([2.0, 1.0, 9.0, 7.0, 7.5])
CENTERS = (4.0, 3.0)


def plain(expression: str) -> float:
    rows = ", ".join(f"({x}::DOUBLE, {y}::DOUBLE)" for x, y in zip(X, Y, strict=True))
    connection = duckdb.connect()
    row = connection.execute(f"SELECT {expression} FROM (VALUES {rows}) AS v(x, y)").fetchone()
    assert row is not None
    return float(row[0])


def arrays(*values: float) -> list[np.ndarray]:
    return [np.array([value]) for value in values]


@pytest.mark.parametrize("kind", ["slope", "intercept", "r2", "sxx", "syy", "sxy"])
def test_regressions_equal_duckdbs(kind: str) -> None:
    y, x = Y - CENTERS[0], X - CENTERS[1]
    squares = {"r2": (y * y, x * x), "syy": (y * y,), "sxy": ()}.get(kind, (x * x,))
    found = shapes.regression(
        f"regr_{kind}",
        np.array([5.0]),
        arrays(y.sum(), x.sum(), (x * y).sum()),
        arrays(*(square.sum() for square in squares)),
        CENTERS,
    )
    assert float(found[0]) == pytest.approx(plain(f"regr_{kind}(y, x)"))


def test_skewness_and_kurtosis_equal_duckdbs() -> None:
    powers = arrays(*(((X - 3.0) ** power).sum() for power in (1, 2, 3, 4)))
    count = np.array([5.0])
    assert float(shapes.skewness(count, powers[:3])[0]) == pytest.approx(plain("skewness(x)"))
    assert float(shapes.kurtosis(count, powers, sample=True)[0]) == pytest.approx(plain("kurtosis(x)"))
    assert float(shapes.kurtosis(count, powers, sample=False)[0]) == pytest.approx(plain("kurtosis_pop(x)"))


def test_where_noise_leaves_no_spread_or_too_few_rows_the_result_is_null() -> None:
    flat = arrays(2.0, 1.0, 0.0, 0.0)
    for count in (-3.0, 0.0, 2.0, 4.0):
        n = np.array([count])
        assert np.ma.getmaskarray(shapes.skewness(n, flat[:3])).all()
        assert np.ma.getmaskarray(shapes.kurtosis(n, flat, sample=True)).all()
    slope = shapes.regression("regr_slope", np.array([4.0]), arrays(1.0, 2.0, 3.0), arrays(0.5), CENTERS)
    assert np.ma.getmaskarray(slope).all()
