"""A quantile of plain numbers: near the true one in ranks, total for odd inputs, at the price of its epsilon."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dither.accounting import ExponentialEvent
from dither.errors import InvalidParameter
from dither.mechanisms import private_quantile
from dither.noise import insecure_seeded
from dither.secret import Secret


def test_the_median_is_near_in_ranks() -> None:
    """200 medians of 1,000 lognormal values at epsilon 1: the mean rank error is below 6 (about 1.5 expected, standard
    error 0.1); catches a score of half the sensitivity, a wrong cell width, a quantile taken from the other end."""
    values = np.random.default_rng(1).lognormal(10.5, 0.8, 1000)
    entropy = insecure_seeded(2)
    ranks = [
        np.sum(values < private_quantile(values, quantile="0.25", bounds=(0, 10**6), epsilon=1, entropy=entropy).value)
        for _ in range(200)
    ]
    assert np.abs(np.array(ranks) - 250).mean() < 6


@pytest.mark.parametrize(
    "values",
    [[], [math.nan] * 3, [5.0], [7.0] * 100, [math.inf, -math.inf], [1e308, -1e308], Secret(np.array([1.0, 2.0]))],
)
def test_odd_inputs_give_a_number_within_the_bounds(values: Any) -> None:
    for quantile in (0, "0.5", 1):
        released = private_quantile(
            values if isinstance(values, Secret) else np.array(values),
            quantile=quantile, bounds=(0, 10), epsilon=1, cells=7, entropy=insecure_seeded(3),
        )  # fmt: skip
        assert 0 <= released.value <= 10 and 0 <= released.cell < 7


def test_it_costs_its_epsilon_as_a_bounded_range() -> None:
    released = private_quantile(np.arange(10.0), quantile="0.5", bounds=(0, 10), epsilon="0.5")
    assert released.event == ExponentialEvent(Fraction(1, 2))
    assert released.price.rho == Fraction(1, 32) and released.width == 10 / 2**20


def test_values_at_the_bounds_are_in_the_outer_cells() -> None:
    for value, cell in ((0.0, 0), (10.0, 4), (11.0, 4), (-1.0, 0), (9.99, 4), (2.0, 1)):
        found = private_quantile(
            np.full(1000, value), quantile="0.5", bounds=(0, 10), epsilon=5, cells=5, entropy=insecure_seeded(4)
        )
        assert found.cell == cell and found.value == 2 * cell + 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"quantile": 1.1}, {"quantile": -0.1}, {"bounds": (1, 1)}, {"epsilon": 0}, {"cells": 1}, {"cells": 2**33},
        {"cells": True}, {"max_rows_per_unit": 0},
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(wrong: Any) -> None:
    given = {"quantile": "0.5", "bounds": (0, 10), "epsilon": 1, **wrong}
    with pytest.raises(InvalidParameter):
        private_quantile(np.array([1.0]), **given)
