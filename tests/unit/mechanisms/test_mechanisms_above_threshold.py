"""AboveThreshold: the law of its answer is worked out on small neighbouring inputs, and broken variants are caught."""

import itertools
import math

import numpy as np
import pytest

from dither.accounting import PureEvent
from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms import AboveThreshold, first_at_or_below
from dither.noise import insecure_seeded
from dither.secret import Secret

REACH = 120


def below(scale, k):
    """Pr[discrete Laplace <= k]."""
    p = math.exp(-1 / scale)
    return 1 - p ** (k + 1) / (1 + p) if k >= 0 else p ** (-k) / (1 + p)


def law(counts, threshold, threshold_scale, noise_scale):
    """Probabilities of stopping at each index, and of never stopping."""
    p = math.exp(-1 / threshold_scale)
    outcome = [0.0] * (len(counts) + 1)
    for r in range(-REACH, REACH + 1):
        going = (1 - p) / (1 + p) * p ** abs(r)
        for index, count in enumerate(counts):
            stop = below(noise_scale, threshold + r - count)
            outcome[index] += going * stop
            going *= 1 - stop
        outcome[-1] += going
    return outcome


def largest_loss(threshold_scale, noise_scale, moves, starts=((0, 0, 0), (4, 2, 1), (9, 1, 9), (6, 6, 0))):
    """Largest log ratio over neighbours that move the counts by one of `moves`, both directions, every outcome."""
    worst = 0.0
    for start in starts:
        one = law(start, 2, threshold_scale, noise_scale)
        for move in moves:
            other = law([c + m for c, m in zip(start, move, strict=True)], 2, threshold_scale, noise_scale)
            worst = max(worst, *(abs(math.log(a / b)) for a, b in zip(one, other, strict=True)))
    return worst


MONOTONE = list(itertools.product((0, 1), repeat=3)) + list(itertools.product((0, -1), repeat=3))
ANY = list(itertools.product((-1, 0, 1), repeat=3))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_answer_is_more_than_e_to_the_epsilon_likelier_on_a_neighbour(epsilon):
    assert largest_loss(2 / epsilon, 2 / epsilon, MONOTONE) <= epsilon
    assert largest_loss(2 / epsilon, 4 / epsilon, ANY) <= epsilon


def test_the_check_catches_the_noise_of_broken_variants():
    # Noise of scale 1 / epsilon on the counts; almost no noise on the threshold.
    assert largest_loss(2, 0.5, MONOTONE) > 1
    assert largest_loss(0.05, 2, MONOTONE, starts=((-9, -9, -9),)) > 1


def test_a_scan_costs_epsilon_whatever_its_length():
    scan = AboveThreshold(10, epsilon="0.1", entropy=insecure_seeded(1))
    assert scan.event == PureEvent(scan.event.epsilon) and scan.event.epsilon * 10 == 1


def test_nothing_may_be_asked_after_the_answer():
    scan = AboveThreshold(10, epsilon=100, entropy=insecure_seeded(1))
    assert not scan.at_or_below(Secret(500))
    assert scan.at_or_below(Secret(-500))
    with pytest.raises(GuaranteeError):
        scan.at_or_below(Secret(0))


def test_the_first_small_count_is_found_when_noise_is_small():
    counts = Secret(np.array([900, 400, 90, 4, 1]))
    assert first_at_or_below(counts, 50, epsilon=50, entropy=insecure_seeded(1)) == 3
    assert first_at_or_below(counts, -50, epsilon=50, entropy=insecure_seeded(1)) is None


def test_a_sensitivity_below_one_is_refused():
    with pytest.raises(InvalidParameter):
        AboveThreshold(1, epsilon=1, sensitivity=0)
