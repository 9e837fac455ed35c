"""Our events as dp_accounting's, for those who want a second opinion from that library.

Flow: only on request; dp_accounting is not a dependency and is imported here, inside the function.
Two faults of dp_accounting 0.6 are kept out of the way: its PLD accountant ignores the count of a randomised response
(so pure events are exported as discrete Laplace noise of the same two losses), and its RDP accountant ignores the
neighbouring relation for additive noise (our distances already are those of the data set's relation, so the export
always means the default one).
Relies on: dp_accounting >= 0.6.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

from dither.accounting.events import (
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
)
from dither.accounting.price import price
from dither.errors import InvalidParameter

__all__ = ["to_dp_accounting"]


def to_dp_accounting(event: Event, *, continuous: bool = False) -> Any:
    """A DpEvent that costs what this event costs.

    continuous=False: discrete Laplace events and, for Gaussian noise, ZCDpEvent, which are exact or above; the PLD
    accountant takes the former, the RDP accountant the latter. continuous=True: LaplaceDpEvent and GaussianDpEvent,
    which both accountants take and which are approximations of discrete noise (slightly below it).
    Key selection has no event there, and a choice of bounded range becomes a pure event, which costs more.
    Raises InvalidParameter where dp_accounting is missing, or has no such event."""
    try:
        dp_event: Any = import_module("dp_accounting.dp_event")
    except ImportError as error:
        raise InvalidParameter(
            "dp_accounting", expected="installed", found=None, hint="pip install dp-accounting"
        ) from error
    match event:
        case ComposedEvent(events):
            return dp_event.ComposedDpEvent([to_dp_accounting(part, continuous=continuous) for part in events])
        case LaplaceEvent(_, 0) | GaussianEvent(_, 0):
            return dp_event.NoOpDpEvent()
        case LaplaceEvent(scale, distance):
            if continuous:
                return dp_event.LaplaceDpEvent(float(scale / distance))
            return dp_event.DiscreteLaplaceDpEvent(float(1 / scale), distance)
        case GaussianEvent(variance, squared_distance):
            if continuous:
                return dp_event.GaussianDpEvent(math.sqrt(float(variance / squared_distance)))
            return dp_event.ZCDpEvent(float(price(event).rho))
        case PureEvent(epsilon) | ExponentialEvent(epsilon):
            if epsilon == 0:
                return dp_event.NoOpDpEvent()
            # Discrete Laplace noise at distance 1 has the two losses of a randomised response, and none of its faults.
            return dp_event.DiscreteLaplaceDpEvent(float(epsilon), 1)
        case SelectionEvent(_, 0):
            return to_dp_accounting(PureEvent(event.epsilon), continuous=continuous)
    raise InvalidParameter("event", expected="an event that dp_accounting 0.6 has", found=event)
