"""Events survive JSON and refuse what cannot have happened."""

import json
from fractions import Fraction

import pytest

from dither.accounting import (
    ComposedEvent,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
    event_from_dict,
)
from dither.errors import InvalidParameter

THIRD = Fraction(1, 3)
EVENTS = [
    LaplaceEvent(Fraction(20, 3), 10**25),
    GaussianEvent(Fraction(7, 2), 400),
    ExponentialEvent(THIRD),
    PureEvent(THIRD),
    PureEvent(Fraction(1, 10**400 + 1)),
    SelectionEvent(Fraction(0), Fraction(1, 10**30)),
    ComposedEvent((PureEvent(THIRD), ComposedEvent((GaussianEvent(THIRD, Fraction(1, 7)),)))),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_the_same_after_a_round_trip_through_json(event):
    assert event_from_dict(json.loads(json.dumps(event.to_dict()))) == event


@pytest.mark.parametrize(
    "make",
    [
        lambda: LaplaceEvent(Fraction(0), 1),
        lambda: LaplaceEvent(Fraction(1), -1),
        lambda: LaplaceEvent(0.5, 1),  # a float has no exact price
        lambda: LaplaceEvent(Fraction(1), True),
        lambda: GaussianEvent(Fraction(-1), 1),
        lambda: PureEvent(Fraction(-1, 10)),
        lambda: SelectionEvent(Fraction(0), Fraction(1)),
    ],
)
def test_an_impossible_event_is_refused(make):
    with pytest.raises(InvalidParameter):
        make()


@pytest.mark.parametrize(
    "stored",
    [
        {},
        {"kind": "laplace", "scale": "1"},
        {"kind": "free"},
        {"kind": "pure", "epsilon": "x"},
        {"kind": "pure", "epsilon": 0.5},
        {"kind": "laplace", "scale": "1", "distance": 1.5},
        {"kind": "laplace", "scale": "1/0", "distance": "1"},
    ],
)
def test_a_stored_event_that_is_not_one_is_refused(stored):
    with pytest.raises(InvalidParameter):
        event_from_dict(stored)
