"""How numbers look beside their noise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.answer.numbers import NULL_SIGN, measured, plain


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (1837, 1717.0, 1957.0, "1,837 ± 120"),
        (1837, 1836.0, 1838.0, "1,837 ± 1"),
        (-4, -94.0, 86.0, "-4 ± 90"),
        (3.14159, 2.92159, 3.36159, "3.14 ± 0.22"),
        (3.0, 3.0, 3.0, "3 ± 0"),
        (20186.4, 18_686.4, 21_686.4, "20,186 ± 1,500"),
        (36.17, 36.031, 36.279, "36.17 [36.03, 36.28]"),
        (-0.0001, -0.5001, 0.4999, "0.00 ± 0.50"),
        (2.0, -math.inf, 3.0, "2 ± ?"),
        (2.0, 1.0, math.nan, "2 ± ?"),
        (None, 1.0, 2.0, NULL_SIGN),
        (True, 1.0, 1.0, "true"),
        (4e17, 3e17, 5e17, "4e+17 ± 1e+17"),
    ],
)
def test_a_noisy_number_shows_the_digits_its_noise_leaves(value: object, low: float, high: float, shown: str) -> None:
    assert str(measured(value, low, high)) == shown


@given(st.floats(-1e9, 1e9), st.floats(1e-6, 1e6))
def test_a_shown_half_width_is_never_smaller_than_the_true_one(value: float, half: float) -> None:
    cell = measured(value, value - half, value + half)
    if cell.interval.startswith("± "):
        shown = float(cell.interval[2:].replace(",", ""))
        assert shown >= half * (1 - 1e-6) - 1e-6 * abs(value)
        assert shown <= 1.2 * half + 1e-6 * abs(value) + 1e-9


@given(st.floats(0.1, 10), st.floats(0.1, 10))
def test_shown_ends_hold_the_true_ends(below: float, above: float) -> None:
    cell = measured(50.0, 50 - below, 50 + above)
    if cell.interval.startswith("["):
        low, high = (float(end) for end in cell.interval[1:-1].split(", "))
        assert low <= 50 - below + 1e-6 and high >= 50 + above - 1e-6


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "∅"),
        (True, "true"),
        (1234567, "1,234,567"),
        (0.1 + 0.2, "0.3"),
        (math.nan, "∅"),
        (1e-9, "1e-09"),
        ("a\x1b[31mb\nc", "a\ufffd[31mb\ufffdc"),
    ],
)
def test_a_plain_value_is_short_and_cannot_drive_a_terminal(value: object, shown: str) -> None:
    assert str(plain(value)) == shown
