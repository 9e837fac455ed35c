"""Decimals as whole numbers of their last digit: the ranges of what is read, and how columns are handed over."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dither.catalog.model import Column
from dither.plan.choices import with_bounds
from dither.plan.decimals import Digits, chosen_digits, is_one_value, sum_digits, type_of_key, whole_steps
from dither.plan.grids import cells_of, grid_of
from dither.plan.reads import read_column
from dither.sql import embedded
from dither.sql.expressions import Expr
from dither.sql.printing import print_expr
from dither.sql.types import DOUBLE, INTEGER, decimal

LARGEST = 2**63 - 1


def price(lo: str = "0", hi: str = "500", *, engine: str = "DECIMAL(10,2)") -> Expr:
    return read_column(Column("price", "decimal", bounds=(Fraction(lo), Fraction(hi))), engine, "s0_0")


def handed(digits: Digits, number: int) -> str:
    """The text of the decimal that a number of its units is handed over as."""
    found = embedded.evaluate(f"CAST({digits.sql().format('CAST(? AS BIGINT)')} AS VARCHAR)", str(number))
    assert found is not None
    return str(found[0])


def test_the_range_of_a_decimal_holds_what_its_read_prints() -> None:
    """Bounds chosen privately are powers of two: printed with two digits after the point, 1/128 is 0.01."""
    undeclared = read_column(Column("price", "decimal"), "DECIMAL(10,2)", "s0_0")
    chosen = with_bounds(undeclared, (-(2.0**-7), 2.0**-7))
    assert (chosen.lo, chosen.hi) == (Fraction(-1, 100), Fraction(1, 100))
    assert "0.01" in print_expr(chosen)
    between = price("0.004", "0.015")
    assert (between.lo, between.hi) == (0, Fraction(2, 100))


def test_steps_are_last_digits_while_they_fit_and_odd_numbers_of_them_beyond() -> None:
    assert grid_of(price(), centered=False).step == Fraction(1, 100)
    assert (grid_of(price(), centered=False).lo, grid_of(price(), centered=False).hi) == (0, 50_000)
    centred = grid_of(price(), centered=True)
    assert (centred.center, centred.lo, centred.hi) == (25_000, -25_000, 25_000)
    for hi in ("123456789.12", "99999999.99", "0.01"):
        for most in (2**10, 2**12, 2**31):
            grid = grid_of(price("0", hi, engine="DECIMAL(38,2)"), centered=False, most=most)
            times = grid.step * 100
            assert times.denominator == 1 and times % 2 == 1
            # No wider than it must be: twice as fine, and made odd, would be too many steps.
            assert grid.hi <= most + 1 and (times == 1 or Fraction(hi) / grid.step > most / 3)


def test_cells_of_a_decimal_are_its_values_while_they_fit() -> None:
    few, many = cells_of(price()), cells_of(price("0", "99999999.99"))
    assert few.step == Fraction(1, 100) and few.hi - few.lo == 50_000
    assert is_one_value(decimal(2), few.step) and not is_one_value(decimal(2), many.step)
    assert many.hi - many.lo <= 2**20 + 1
    assert is_one_value(INTEGER, Fraction(1)) and not is_one_value(DOUBLE, Fraction(1))


@pytest.mark.parametrize("scale", range(39))
def test_no_number_of_steps_overflows_the_decimal_it_is_handed_over_as(scale: int) -> None:
    unit = Fraction(1, 10**scale)
    largest = 10**38 // 2**63 // 2 * 2 - 1
    for times in (1, 3, 12_345, largest):
        digits = sum_digits(Expr("column", decimal(scale), payload="x"), times * unit)
        assert digits is not None
        for number in (0, 1, -1, 7, LARGEST, -LARGEST - 1):
            text = handed(digits, number)
            assert Fraction(text) == number * times * unit
            assert len(text.partition(".")[2]) == scale
    assert sum_digits(Expr("column", decimal(scale), payload="x"), (largest + 4) * unit) is None


def test_quantiles_and_groups_have_the_digits_of_the_stored_column() -> None:
    assert chosen_digits(price()) == Digits(Fraction(1, 100), 2, 10)
    assert type_of_key(price()) == "DECIMAL(10, 2)"
    # The bounds are declared, whatever the column can hold: what is chosen lies within the bounds.
    assert chosen_digits(price("0", "123456789.12", engine="DECIMAL(4,2)")) == Digits(Fraction(1, 100), 2, 11)
    assert chosen_digits(price(engine="DECIMAL(10,1)")) == Digits(Fraction(1, 10), 1, 10)
    assert chosen_digits(price("0", "99999999999999999999", engine="DECIMAL(38,2)")) is None
    assert type_of_key(Expr("column", INTEGER, payload="x", lo=0, hi=9)) == "BIGINT"


def test_a_decimal_that_no_bound_holds_is_unbounded_however_many_digits_follow_the_point() -> None:
    """DECIMAL(38, 20) holds no number of 10^18 and more: that is no bound that anybody declared."""
    from dither.errors import QueryRefused
    from support.worlds import World, catalog_text

    table = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\ncolumns = { v = { type = "decimal" } }'
    world = World(catalog_text(table), {"t": "uid BIGINT, v DECIMAL(38, 20)"})
    with pytest.raises(QueryRefused) as refusal:
        world.session.plan("SELECT SUM(v) FROM t")
    assert refusal.value.code == "B-104"
    world.close()


def test_a_step_is_never_finer_than_doubles_tell_apart() -> None:
    far = price("99999999999999999999999999999999.98", "99999999999999999999999999999999.99", engine="DECIMAL(38,2)")
    step, _, lo, hi = whole_steps(far, Fraction(1, 100))
    assert hi / step < 2**41 and lo <= hi
