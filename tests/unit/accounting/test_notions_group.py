"""Group privacy: events as k people see them, and the rules for bare figures."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
    group_approximate,
    group_gaussian,
    group_renyi,
    group_zcdp,
    grouped,
    price,
    renyi_curve,
)
from dither.errors import InvalidParameter


def test_distances_grow_with_the_group_and_noise_stays():
    events = (
        LaplaceEvent(Fraction(10), 2),
        GaussianEvent(Fraction(50), 3),
        ExponentialEvent(Fraction(1, 2)),
        PureEvent(Fraction(1, 3)),
        SelectionEvent(Fraction(0), Fraction(1, 10**9)),
    )
    assert grouped(ComposedEvent(events), 3) == ComposedEvent(
        (
            LaplaceEvent(Fraction(10), 6),
            GaussianEvent(Fraction(50), 27),
            ExponentialEvent(Fraction(3, 2)),
            PureEvent(Fraction(1)),
            SelectionEvent(Fraction(0), Fraction(3, 10**9)),
        )
    )
    assert grouped(ComposedEvent(events), 1) == ComposedEvent(events)


def test_a_known_event_is_never_dearer_than_the_rule_for_its_price():
    for event in (LaplaceEvent(Fraction(10), 2), GaussianEvent(Fraction(50), 3), ExponentialEvent(Fraction(1, 2))):
        for size in (2, 5):
            assert price(grouped(event, size)).rho <= group_zcdp(price(event).rho, size) + Fraction(1, 10**17)


@pytest.mark.parametrize(("epsilon", "delta", "size"), [("1", "1e-6", 3), ("0.1", "1e-9", 10), ("2", "1e-3", 2)])
def test_the_approximate_rule_has_its_closed_form(epsilon, delta, size):
    e, d = float(epsilon), float(delta)
    total, failure = group_approximate(epsilon, delta, size)
    assert total == size * Fraction(epsilon)
    truth = d * math.expm1(size * e) / math.expm1(e)
    assert truth * (1 - 1e-12) <= float(failure) <= truth * (1 + 1e-12)


def test_the_approximate_rule_is_tight_for_a_chain_of_worst_mechanisms():
    # (0, delta) for one is (0, k delta) for k: the law moves by delta of its mass each time. And never above 1.
    assert group_approximate(0, "0.01", 7) == (0, Fraction(7, 100))
    assert group_approximate(5, "0.01", 9)[1] == 1
    assert group_approximate(5, 0, 9) == (45, 0)


def test_gaussian_groups_multiply_mu():
    assert group_gaussian(0.5, 4) == pytest.approx(2.0) and group_gaussian(0.5, 4) >= 2.0


def test_the_renyi_rule_holds_for_noise_whose_group_curve_is_known():
    event, orders = LaplaceEvent(Fraction(5), 1), np.array([4.0, 8.0, 32.0, 100.0])
    two = group_renyi(renyi_curve([event], orders), 2)
    truth = renyi_curve([grouped(event, 2)], two.orders)
    assert list(two.orders) == [2.0, 4.0, 16.0, 50.0]
    assert np.all(truth.divergences <= two.divergences)
    assert list(group_renyi(renyi_curve([event], orders), 4).orders) == [2.0, 8.0, 25.0]


@pytest.mark.parametrize("size", [0, -1, True, 2.0])
def test_a_group_of_no_size_is_refused(size):
    with pytest.raises(InvalidParameter):
        grouped(PureEvent(Fraction(1)), size)


def test_the_renyi_rule_wants_a_power_of_two_and_no_failure_mass():
    with pytest.raises(InvalidParameter):
        group_renyi(renyi_curve([]), 3)
    with pytest.raises(InvalidParameter):
        group_renyi(renyi_curve([SelectionEvent(Fraction(1), Fraction(1, 10))]), 2)
