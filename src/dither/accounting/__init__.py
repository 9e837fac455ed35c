"""What questions cost and whether they may still be asked: events, prices, conversions, admission.

Exact rationals in, outward rounding out: costs up, what remains down. Nothing here knows SQL, files or users.
"""

from dither.accounting.admission import (
    Budget,
    Notion,
    Remaining,
    Spent,
    admits,
    allowance_budget,
    how_many_left,
    remaining,
    worst_case,
)
from dither.accounting.calibrate import laplace_scale_for_rho
from dither.accounting.compose import Bound, Composition, compose
from dither.accounting.convert import delta_of, epsilon_of, rho_star
from dither.accounting.events import (
    ComposedEvent,
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    SelectionEvent,
    event_from_dict,
)
from dither.accounting.price import Price, price, rho_of_laplace, rho_of_pure

__all__ = [
    "LaplaceEvent",
    "GaussianEvent",
    "ExponentialEvent",
    "PureEvent",
    "SelectionEvent",
    "ComposedEvent",
    "Event",
    "event_from_dict",
    "Price",
    "price",
    "rho_of_laplace",
    "rho_of_pure",
    "Notion",
    "Budget",
    "Spent",
    "Remaining",
    "admits",
    "remaining",
    "how_many_left",
    "allowance_budget",
    "worst_case",
    "delta_of",
    "epsilon_of",
    "rho_star",
    "laplace_scale_for_rho",
    "compose",
    "Composition",
    "Bound",
]
