"""What ran, as data: one frozen event per mechanism, exact, and the same after a round trip through JSON.

Flow: a mechanism returns the event it was; `price` turns events into costs; the ledger keeps events and costs.
Relies on: exact rationals throughout. An event says nothing of the data: its distances and
scales come from the catalog and the question.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.errors import InvalidParameter

__all__ = [
    "ComposedEvent",
    "Event",
    "ExponentialEvent",
    "GaussianEvent",
    "LaplaceEvent",
    "PureEvent",
    "SelectionEvent",
    "event_from_dict",
]


@dataclass(frozen=True)
class LaplaceEvent:
    """Discrete Laplace noise on an integer vector."""

    scale: Fraction
    """b, in grid steps, > 0."""
    distance: int
    """L1 distance between the vectors of neighbours, in grid steps, >= 0."""

    def __post_init__(self) -> None:
        _check_positive("scale", self.scale)
        _check_distance("distance", self.distance)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "laplace", "scale": str(self.scale), "distance": str(self.distance)}


@dataclass(frozen=True)
class GaussianEvent:
    """Discrete Gaussian noise on an integer vector."""

    variance: Fraction
    """The parameter sigma squared, in squared grid steps, > 0."""
    squared_distance: Fraction | int
    """Square of the L2 distance between the vectors of neighbours, >= 0."""

    def __post_init__(self) -> None:
        _check_positive("variance", self.variance)
        _check_share("squared_distance", self.squared_distance)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": "gaussian",
            "variance": str(self.variance),
            "squared_distance": str(Fraction(self.squared_distance)),
        }


@dataclass(frozen=True)
class ExponentialEvent:
    """A choice by the exponential mechanism: epsilon-bounded range, hence epsilon-DP."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_share("epsilon", self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "exponential", "epsilon": str(self.epsilon)}


@dataclass(frozen=True)
class PureEvent:
    """Any epsilon-DP mechanism of which nothing better is known."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_share("epsilon", self.epsilon)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "pure", "epsilon": str(self.epsilon)}


@dataclass(frozen=True)
class SelectionEvent:
    """Which keys appear: (epsilon, delta)-DP. A threshold on counts already paid for has epsilon 0."""

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        _check_share("epsilon", self.epsilon)
        _check_share("delta", self.delta)
        if self.delta >= 1:
            raise InvalidParameter("delta", expected="below 1", found=self.delta)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "selection", "epsilon": str(self.epsilon), "delta": str(self.delta)}


@dataclass(frozen=True)
class ComposedEvent:
    """Several events on the same data, each possibly chosen after seeing the last."""

    events: tuple[Event, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "composed", "events": [event.to_dict() for event in self.events]}


Event = LaplaceEvent | GaussianEvent | ExponentialEvent | PureEvent | SelectionEvent | ComposedEvent


def event_from_dict(stored: Mapping[str, Any]) -> Event:
    """The event that `to_dict` wrote. Raises InvalidParameter for anything else."""
    try:
        match stored["kind"]:
            case "laplace":
                return LaplaceEvent(_stored(stored["scale"]), _whole(stored["distance"]))
            case "gaussian":
                return GaussianEvent(_stored(stored["variance"]), _stored(stored["squared_distance"]))
            case "exponential":
                return ExponentialEvent(_stored(stored["epsilon"]))
            case "pure":
                return PureEvent(_stored(stored["epsilon"]))
            case "selection":
                return SelectionEvent(_stored(stored["epsilon"]), _stored(stored["delta"]))
            case "composed":
                return ComposedEvent(tuple(event_from_dict(part) for part in stored["events"]))
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise InvalidParameter("event", expected="a stored event", found=dict(stored)) from error
    raise InvalidParameter("event", expected="a known kind of event", found=stored["kind"])


def _stored(text: object) -> Fraction:
    """The rational that str() of a Fraction wrote, of any length; nothing else, so that no stored price is guessed."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]+(/[0-9]+)?", text):
        raise ValueError(text)
    return Fraction(text)


def _whole(text: object) -> int:
    number = _stored(text)
    if number.denominator != 1:
        raise ValueError(text)
    return number.numerator


def _check_positive(name: str, value: object) -> None:
    if not isinstance(value, Fraction | int) or isinstance(value, bool) or value <= 0:
        raise InvalidParameter(name, expected="an exact number above 0", found=value)


def _check_share(name: str, value: object) -> None:
    if not isinstance(value, Fraction | int) or isinstance(value, bool) or value < 0:
        raise InvalidParameter(name, expected="an exact number, 0 or above", found=value)


def _check_distance(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InvalidParameter(name, expected="a whole number, 0 or above", found=value)
