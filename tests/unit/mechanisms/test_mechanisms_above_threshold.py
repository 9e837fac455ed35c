"""AboveThreshold: the law of its answer is worked out on small neighbouring inputs, and broken variants are caught."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting import PureEvent
from dither.audit.families import sparse_vector
from dither.audit.quadrature import exponential_law
from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms import AboveThreshold, first_at_or_below
from dither.mechanisms.above_threshold import THRESHOLD_SHARE
from dither.noise import insecure_seeded
from dither.secret import Secret

REACH = 240


def reaches(scale, x):
    """Pr[geometric >= x]."""
    return math.exp(-max(x, 0) / scale)


def law(counts, threshold, threshold_scale, noise_scale, *, raised=False):
    """Probabilities of stopping at each index, and of never stopping: count - v <= threshold - r, v and r geometric.
    raised: the threshold's noise is added, as a wrong sign would have it."""
    p = math.exp(-1 / threshold_scale)
    outcome = [0.0] * (len(counts) + 1)
    for r in range(REACH + 1):
        going = (1 - p) * p**r
        for index, count in enumerate(counts):
            stop = reaches(noise_scale, count - threshold + (-r if raised else r))
            outcome[index] += going * stop
            going *= 1 - stop
        outcome[-1] += going
    return outcome


def largest_loss(
    threshold_scale, noise_scale, moves, starts=((0, 0, 0), (4, 2, 1), (9, 1, 9), (6, 6, 0), (30, 3, 3)), **more
):
    """Largest log ratio over neighbours that move the counts by one of `moves`, both directions, every outcome."""
    worst = 0.0
    for start in starts:
        one = law(start, 2, threshold_scale, noise_scale, **more)
        for move in moves:
            other = law([c + m for c, m in zip(start, move, strict=True)], 2, threshold_scale, noise_scale, **more)
            for a, b in zip(one, other, strict=True):
                if min(a, b) > 0:
                    worst = max(worst, abs(math.log(a / b)))
                elif max(a, b) > 0:
                    worst = math.inf
    return worst


MONOTONE = list(itertools.product((0, 1), repeat=3)) + list(itertools.product((0, -1), repeat=3))
ANY = list(itertools.product((-1, 0, 1), repeat=3))
T, Q = float(1 / THRESHOLD_SHARE), float(1 / (1 - THRESHOLD_SHARE))
"""Scales at epsilon 1 of the noise of the threshold and of monotone counts."""


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_answer_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(epsilon):
    assert largest_loss(T / epsilon, Q / epsilon, MONOTONE) <= epsilon + 1e-9
    assert largest_loss(T / epsilon, 2 * Q / epsilon, ANY) <= epsilon + 1e-9


def test_the_bound_is_reached():
    # Small counts are passed only where the threshold is low; they move, and the large one after them does not.
    assert largest_loss(T, Q, [(1, 1, 0)], starts=((-20, -20, 40),)) > 0.99


def test_the_check_catches_the_noise_of_broken_variants():
    # Half the noise on either part; no more noise where counts move both ways; noise that raises the threshold.
    assert largest_loss(T / 2, Q, MONOTONE) > 1
    assert largest_loss(T, Q / 2, MONOTONE) > 1
    assert largest_loss(T, Q, ANY) > 1
    assert largest_loss(T, Q, MONOTONE, raised=True, starts=((2, 2, 2),)) > 1


def test_the_audits_own_integral_agrees_with_the_law():
    # The continuous law, mirrored: -count + v >= -threshold + r. Laws of large scale are nearly those of the integers.
    epsilon = 0.05
    laws = exponential_law(T / epsilon), exponential_law(Q / epsilon)
    counts, fewer = (150.0, 60.0, 20.0, 8.0), (149.0, 59.0, 20.0, 8.0)
    sides = [tuple(-c for c in side) for side in (counts, fewer)]
    pair = sparse_vector(*laws, threshold=-30.0, stops=1, first=sides[0], second=sides[1])
    assert float(pair.epsilon()[0]) <= epsilon
    exact = law(counts, 30, T / epsilon, Q / epsilon)
    stops = {"T": 0, "FT": 1, "FFT": 2, "FFFT": 3, "FFFF": 4}
    for cell in pair.cells:
        assert float(cell.p[0]) == pytest.approx(exact[stops[cell.label]], abs=0.02)


def test_a_scan_costs_epsilon_whatever_its_length():
    scan = AboveThreshold(10, epsilon="0.1", entropy=insecure_seeded(1))
    assert scan.event == PureEvent(scan.event.epsilon) and scan.event.epsilon * 10 == 1


def test_nothing_may_be_asked_after_the_answer():
    scan = AboveThreshold(10, epsilon=100, entropy=insecure_seeded(1))
    assert not scan.at_or_below(Secret(500))
    assert scan.at_or_below(Secret(-500))
    with pytest.raises(GuaranteeError):
        scan.at_or_below(Secret(0))


@pytest.mark.parametrize("monotone", [True, False])
def test_the_noise_drawn_has_the_scales_of_the_proof(monkeypatch, monotone):
    drawn = []
    monkeypatch.setattr(
        "dither.mechanisms.above_threshold.geometric", lambda scale, entropy=None: drawn.append(scale) or 0
    )
    AboveThreshold(0, epsilon="0.1", sensitivity=3, monotone=monotone).at_or_below(1)
    assert drawn == [3 / (Fraction(1, 10) * Fraction(2, 3)), (3 if monotone else 6) / (Fraction(1, 10) / 3)]


def test_the_first_small_count_is_found_when_noise_is_small():
    counts = Secret(np.array([900, 400, 90, 4, 1]))
    assert first_at_or_below(counts, 50, epsilon=50, entropy=insecure_seeded(1)) == 3
    assert first_at_or_below(counts, -50, epsilon=50, entropy=insecure_seeded(1)) is None


def test_a_sensitivity_below_one_is_refused():
    with pytest.raises(InvalidParameter):
        AboveThreshold(1, epsilon=1, sensitivity=0)
