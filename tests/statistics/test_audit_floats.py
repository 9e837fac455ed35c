"""Floating-point noise gives itself away; ours does not. Fixed seeds; inputs 0 and 1, where the doubles change most."""

import numpy as np
import pytest

from dither import audit
from dither.mechanisms import laplace_sum
from dither.noise import discrete_gaussian, discrete_laplace, insecure_seeded


def numpy_laplace(data, n, rng):
    return data + rng.laplace(0.0, 1.0, n)


def four_uniforms_laplace(data, n, rng):
    """The construction of diffprivlib 0.6: ln(1 - U1) cos(pi U2) + ln(1 - U3) cos(pi U4) has a Laplace law."""
    u = rng.random((4, n))
    return data - (np.log(1 - u[0]) * np.cos(np.pi * u[1]) + np.log(1 - u[2]) * np.cos(np.pi * u[3]))


def textbook_laplace(data, n, rng):
    return data - np.sign(rng.random(n) - 0.5) * np.log(1 - rng.random(n))


@pytest.mark.parametrize("mechanism", [numpy_laplace, four_uniforms_laplace, textbook_laplace])
def test_floating_point_laplace_is_flagged_by_its_low_bits(mechanism):
    # 100,000 calls: the ideal law has epsilon 1, the low bits prove more than 4.
    finding = audit.test(mechanism, (0.0, 1.0), claimed=1.0, budget_calls=100_000, seed=1)
    assert finding.verdict == "violated"
    assert finding.epsilon_lower >= 4.0
    assert "bit" in finding.event.scorer.name


def our_laplace(data, n, rng):
    """Discrete Laplace on multiples of 2^-20 of scale 1, as a float."""
    return data + discrete_laplace(2**20, n, entropy=insecure_seeded(int(rng.integers(2**62)))) * 2.0**-20


def our_sum(data, n, rng):
    """`laplace_sum`, the one mechanism of ours that takes and returns floats."""
    entropy = insecure_seeded(int(rng.integers(2**62)))
    values = np.array([data])
    return np.array([laplace_sum(values, bounds=(0.0, 1.0), epsilon=1.0, entropy=entropy).value for _ in range(n)])


@pytest.mark.parametrize(("mechanism", "calls"), [(our_laplace, 1_000_000), (our_sum, 5_000)])
def test_our_floats_give_nothing_away_beyond_the_claim(mechanism, calls):
    # False alarm below 1e-9: the verdict is asked at confidence 1 - 1e-9. Catches floating-point noise at this size.
    finding = audit.test(mechanism, (0.0, 1.0), claimed=1.0, budget_calls=calls, seed=1, confidence=1 - 1e-9)
    assert finding.verdict == "not_refuted"
    same = audit.test(numpy_laplace, (0.0, 1.0), claimed=1.0, budget_calls=calls, seed=1, confidence=1 - 1e-9)
    assert same.verdict == "violated"


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3, 2.0**-40])
def test_every_float_we_release_is_a_multiple_of_one_public_step(value):
    """The low-bit test: the support is the grid, whatever the data."""
    entropy = insecure_seeded(3)
    for _ in range(200):
        estimate = laplace_sum(np.array([value]), bounds=(0.0, 1.0), epsilon=1.0, entropy=entropy)
        assert (estimate.value / float(estimate.grid.step)).is_integer()
    again = laplace_sum(np.array([1.0 - value]), bounds=(0.0, 1.0), epsilon=1.0, entropy=entropy)
    assert again.grid == estimate.grid


def test_our_gaussian_in_steps_has_no_bits_below_its_step():
    draws = discrete_gaussian(2**40, 100_000, entropy=insecure_seeded(4)) * 2.0**-20
    for at in (0.0, 1.0):
        assert (((at + draws) * 2**20) % 1 == 0).all()
