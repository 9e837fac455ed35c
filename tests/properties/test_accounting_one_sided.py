"""Whatever epsilon is reported, the exact hockey-stick distance at it is at most delta: random compositions of discrete
mechanisms, every outcome enumerated.

The laws come from their definitions (probability mass functions along the integers), and their losses are summed by
enumeration. Floats here err by less than 1e-12 of delta."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dither.accounting import (
    Event,
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PureEvent,
    RenyiCurve,
    compose,
    privacy_loss,
    renyi_curve,
)

Law = list[tuple[float, float]]
"""(loss, mass under P) of every outcome."""


def laplace_law(scale: Fraction, shifts: tuple[int, ...]) -> Law:
    """Discrete Laplace noise on a vector: outcomes of each coordinate along the integers, gathered by their loss."""
    b = float(scale)
    p = math.exp(-1 / b)
    law: Law = [(0.0, 1.0)]
    for d in shifts:
        gathered: dict[int, list[float]] = {}
        for k in range(-math.ceil(40 * b) - d, math.ceil(40 * b) + 2 * d):
            gathered.setdefault(abs(k - d) - abs(k), []).append((1 - p) / (1 + p) * p ** abs(k))
        one = [(steps / b, math.fsum(masses)) for steps, masses in gathered.items()]
        law = [(x + y, m * n) for x, m in law for y, n in one]
    return law


def gaussian_law(variance: Fraction) -> Law:
    v = float(variance)
    reach = math.ceil(12 * math.sqrt(v)) + 2
    weights = [(k, math.exp(-k * k / (2 * v))) for k in range(-reach, reach + 1)]
    total = math.fsum(weight for _, weight in weights)
    return [(((k - 1) ** 2 - k * k) / (2 * v), weight / total) for k, weight in weights]


def two_point(epsilon: float, low: float) -> Law:
    """Two outcomes with losses epsilon + low and low - of the pair that has total mass 1 under both laws."""
    high = epsilon + low
    mass = (1 - math.exp(-low)) / (math.exp(-high) - math.exp(-low))
    return [(high, mass), (low, 1 - mass)]


def mechanism(draw) -> tuple[Event, Law]:
    kind = draw(st.sampled_from(["laplace", "vector", "gaussian", "response", "choice"]))
    if kind == "laplace":
        scale, d = draw(st.sampled_from(["1/2", "1", "3", "8", "20"])), draw(st.integers(1, 4))
        return LaplaceEvent(Fraction(scale), d), laplace_law(Fraction(scale), (d,))
    if kind == "vector":
        scale = draw(st.sampled_from(["2", "6", "15"]))
        shifts = draw(st.sampled_from([(1, 1), (2, 1), (1, 1, 1), (3, 1)]))
        return LaplaceEvent(Fraction(scale), sum(shifts)), laplace_law(Fraction(scale), shifts)
    if kind == "gaussian":
        variance = draw(st.sampled_from(["1/4", "1", "3"]))
        return GaussianEvent(Fraction(variance), 1), gaussian_law(Fraction(variance))
    epsilon = draw(st.sampled_from(["1/20", "1/3", "1", "5/2"]))
    e = float(Fraction(epsilon))
    if kind == "response":
        return PureEvent(Fraction(epsilon)), two_point(2 * e, -e)
    # Bounded range: any two outcomes whose losses are epsilon apart.
    where = draw(st.floats(0.05, 0.95))
    return ExponentialEvent(Fraction(epsilon)), two_point(e, -where * e)


@st.composite
def compositions(draw) -> tuple[list[Event], Law]:
    total: Law = [(0.0, 1.0)]
    events = []
    while len(events) < 6:
        event, law = mechanism(draw)
        if len(total) * len(law) > 60_000:
            break
        events.append(event)
        total = combined(total, law)
    return events, total


def combined(one: Law, other: Law) -> Law:
    losses = np.add.outer(*(np.array([loss for loss, _ in law]) for law in (one, other))).ravel()
    masses = np.multiply.outer(*(np.array([mass for _, mass in law]) for law in (one, other))).ravel()
    return list(zip(losses.tolist(), masses.tolist(), strict=True))


def exact_delta(law: Law, epsilon: float) -> float:
    return math.fsum(mass * -math.expm1(epsilon - loss) for loss, mass in law if loss > epsilon)


def exact_epsilon(law: Law, delta: float) -> float:
    low, high = 0.0, max(loss for loss, _ in law)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if exact_delta(law, middle) <= delta else (middle, high)
    return high


@settings(max_examples=40, deadline=None)
@given(composition=compositions(), delta=st.sampled_from(["1e-10", "1e-6", "1e-3", "0.1"]))
def test_no_reported_epsilon_is_below_the_exact_one(composition, delta):
    events, law = composition
    target = float(delta)
    for bound in compose(events).bounds(delta):
        if bound.epsilon is not None:
            assert exact_delta(law, float(bound.epsilon)) <= target * (1 + 1e-12), bound.because
    curve = renyi_curve(events)
    loss = privacy_loss(events, delta=delta)
    for epsilon in (float(curve.epsilon(delta)), float(loss.epsilon())):
        assert exact_delta(law, epsilon) <= target * (1 + 1e-12)
    # And delta(epsilon) around the answer, not only at it.
    for factor in (0.7, 0.95, 1.0, 1.1):
        epsilon = factor * float(loss.epsilon())
        assert exact_delta(law, epsilon) <= float(loss.delta_at(Fraction(epsilon))) * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(composition=compositions(), delta=st.sampled_from(["1e-9", "1e-6", "1e-3"]))
def test_the_distribution_is_within_a_twentieth_of_a_percent_where_the_pair_is_exact(composition, delta):
    events, law = composition
    sharp = [e for e in events if not isinstance(e, ExponentialEvent)]
    if len(sharp) < len(events) or any(isinstance(e, LaplaceEvent) and e.distance > 1 for e in events):
        return  # there the law above is milder than the worst pair that is charged
    truth, found = exact_epsilon(law, float(delta)), float(privacy_loss(events, delta=delta).epsilon())
    assert truth * (1 - 1e-9) <= found <= truth * 1.0005 + 1e-6


@pytest.mark.parametrize("scale", ["2", "5", "20"])
@pytest.mark.parametrize("shifts", [(1, 1), (2, 1), (1, 1, 1, 1), (5, 3), (7, 1, 1)])
def test_one_coordinate_is_the_worst_vector_of_its_length_at_every_epsilon(scale, shifts):
    one, vector = laplace_law(Fraction(scale), (sum(shifts),)), laplace_law(Fraction(scale), shifts)
    top = sum(shifts) / float(scale)
    for k in range(-60, 61):
        epsilon = top * k / 60
        assert exact_delta(vector, epsilon) <= exact_delta(one, epsilon) + 1e-15


def test_the_enumeration_would_notice_a_distribution_that_rounds_to_the_nearest_grid_point(monkeypatch):
    # The mutant drops the connection of the dots: every loss goes to the grid point below it.
    def nearest(index, masses, upper, beyond):
        return connect(index, masses, np.zeros_like(upper), beyond)

    from dither.accounting import losses

    connect = losses._connect
    monkeypatch.setattr("dither.accounting.losses._connect", nearest)
    monkeypatch.setattr("dither.accounting.loss_grid._LEAST_BITS", 6)
    event, law = GaussianEvent(Fraction(3), 1), gaussian_law(Fraction(3))
    total = law
    for _ in range(2):
        total = [(x, m) for x, m in combined(total, law) if m > 1e-30]
    epsilon = float(privacy_loss([event] * 3, delta="1e-6").epsilon())
    assert exact_delta(total, epsilon) > 1.01e-6


def test_the_enumeration_would_notice_a_curve_of_half_its_height():
    curve = renyi_curve([GaussianEvent(Fraction(100), 1)])
    mutant = RenyiCurve(curve.orders, curve.divergences / 2)
    assert exact_delta(gaussian_law(Fraction(100)), float(mutant.epsilon("1e-6"))) > 1e-6
