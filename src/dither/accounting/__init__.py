"""What questions cost and whether they may still be asked: events, prices, conversions, admission, and other notions.

Exact rationals in, outward rounding out: costs up, what remains down. Nothing here knows SQL, files or users.

    >>> from fractions import Fraction
    >>> from dither.accounting import *
    >>> count = LaplaceEvent(scale=Fraction(10), distance=1)      # a count with discrete Laplace noise of scale 10
    >>> price(count).epsilon
    Fraction(1, 10)
    >>> best = compose([count] * 100).epsilon(delta="1e-6")
    >>> round(float(best.epsilon), 3), best.because
    (4.775, 'optimal composition of equal pure events (Kairouz, Oh, Viswanath 2015)')

    events, price, admission            what ran, what it costs on the ledger's meters, whether it may
    compose, odometer, odds             what several events cost by every theorem that applies, and in plain words
    convert, renyi, gdp, pld            zCDP, Rényi curves, Gaussian DP and trade-off curves, privacy-loss distributions
    calibrate, solve                    from a budget back to noise, or to a number of questions
    group, subsampling                  k people at once; secret fresh samples
    metric, random_dp                   notions that refuse to mix with the others
    export                              to dp_accounting's events
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
from dither.accounting.export import to_dp_accounting
from dither.accounting.gdp import (
    GaussianTradeOff,
    TradeOff,
    compose_gaussian,
    delta_of_gaussian,
    epsilon_of_gaussian,
    mu_squared_of,
    mu_star,
)
from dither.accounting.group import group_approximate, group_gaussian, group_renyi, group_zcdp, grouped
from dither.accounting.metric import MetricLoss
from dither.accounting.odds import guess_after, in_words, right_at_most
from dither.accounting.odometer import Odometer, odometer
from dither.accounting.pld import PrivacyLoss, privacy_loss
from dither.accounting.price import Price, price, rho_of_laplace, rho_of_pure
from dither.accounting.random_dp import RandomLoss, SamplePlan, one_notion, sample_plan
from dither.accounting.renyi import RenyiCurve, renyi_curve
from dither.accounting.solve import epsilon_each, least_noise, most_events
from dither.accounting.subsampling import SecretSample, amplified, amplified_renyi

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
    "RenyiCurve",
    "renyi_curve",
    "TradeOff",
    "GaussianTradeOff",
    "compose_gaussian",
    "delta_of_gaussian",
    "epsilon_of_gaussian",
    "mu_squared_of",
    "mu_star",
    "PrivacyLoss",
    "privacy_loss",
    "odometer",
    "Odometer",
    "guess_after",
    "right_at_most",
    "in_words",
    "most_events",
    "epsilon_each",
    "least_noise",
    "grouped",
    "group_approximate",
    "group_zcdp",
    "group_gaussian",
    "group_renyi",
    "SecretSample",
    "amplified",
    "amplified_renyi",
    "MetricLoss",
    "RandomLoss",
    "SamplePlan",
    "sample_plan",
    "one_notion",
    "to_dp_accounting",
]
