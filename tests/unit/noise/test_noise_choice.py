"""Uniform integers, coins and choices: exact bounds, the bytes they read, and what they refuse."""

import contextlib
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dither.errors import GuaranteeError, InvalidParameter
from dither.noise import ByteTape, bernoulli_exp, categorical_exp, insecure_seeded, uniform_below
from dither.noise.categorical import _checked, _Ratio, _upper_bounds

mpmath.mp.prec = 500


def test_a_number_not_below_n_is_thrown_away():
    # n = 5 has 3 bits: the top 3 of each byte. 7 and 5 are refused, then 2.
    tape = ByteTape(bytes([7 << 5, 5 << 5, 2 << 5]))
    assert uniform_below(5, entropy=tape) == 2


def test_every_number_below_n_comes_from_equally_many_bytes():
    counts = np.zeros(5, dtype=int)
    for byte in range(256):
        with contextlib.suppress(InvalidParameter):  # refused: the tape is at its end
            counts[uniform_below(5, entropy=ByteTape(bytes([byte])))] += 1
    assert counts.tolist() == [32] * 5


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 2**32, 2**62 + 1, 2**63])
def test_arrays_stay_below_n_and_reach_both_ends_of_it(n):
    drawn = uniform_below(n, 5000, entropy=insecure_seeded(1))
    assert drawn.dtype == np.int64 and drawn.shape == (5000,)
    assert 0 <= drawn.min() <= n // 100
    assert n - 1 - n // 100 <= drawn.max() < n


def test_scalars_may_be_larger_than_any_machine_word():
    drawn = [uniform_below(10**40, entropy=insecure_seeded(seed)) for seed in range(50)]
    assert max(drawn) > 9 * 10**39
    assert uniform_below(1) == 0


@pytest.mark.parametrize(("n", "size"), [(0, None), (-3, None), (2.0, None), (True, None), (2**63 + 1, 3), (5, -1)])
def test_uniform_refuses_what_it_cannot_draw(n, size):
    with pytest.raises(InvalidParameter):
        uniform_below(n, size)


def test_coins_of_exponent_zero_always_fall_heads_and_of_a_million_never():
    assert bernoulli_exp(0, 1000, entropy=insecure_seeded(1)).all()
    assert not bernoulli_exp(10**6, 1000, entropy=insecure_seeded(1)).any()
    assert bernoulli_exp(0) is True
    assert bernoulli_exp("1e9") is False
    with pytest.raises(InvalidParameter):
        bernoulli_exp(-1)


def test_a_coin_falls_heads_above_one_minus_exp_neg():
    # 1 - exp(-1) = .632120...; in 16 bits 41,426.6: prefix 41,426 is in doubt, its neighbours are not.
    tape = ByteTape(b"".join(value.to_bytes(2, "little") for value in (41_425, 41_427)))
    assert bernoulli_exp(1, 2, entropy=tape).tolist() == [False, True]
    for rest, heads in [(0, False), (2**64 - 1, True)]:
        tape = ByteTape((41_426).to_bytes(2, "little") + rest.to_bytes(8, "little"))
        assert bernoulli_exp(1, entropy=tape) is heads


CHOICES = [
    ([0, 1, 2, 3], Fraction(1, 3), [1, 2, 0, 4]),
    ([1000, 0, 70_000, 2**40, 2**62], Fraction(1, 999), None),
    ([5, 5, 5], Fraction(0), [2**53, 1, 7]),
    (list(range(-500, 500)), Fraction(7, 300), None),
    ([-(2**62), 2**62], Fraction(1, 2**60), [3, 2**50]),
]


@pytest.mark.parametrize(("steps", "unit", "weights"), CHOICES)
def test_bounds_are_above_the_true_weights_and_close(steps, unit, weights):
    """2^e w exp(-(step - least) unit) <= c <= that (1 + 2^-39) + 1, by mpmath, and c = 0 exactly where w = 0."""
    given = None if weights is None else np.array(weights)
    excess, checked = _checked(np.array(steps), given)
    bounds, exponent = _upper_bounds(excess, unit, checked)
    least = min(s for i, s in enumerate(steps) if weights is None or weights[i])
    for i, step in enumerate(steps):
        weight = 1 if weights is None else weights[i]
        x = mpmath.mpf((step - least) * unit.numerator) / unit.denominator
        truth = mpmath.mpf(2) ** exponent * weight * mpmath.exp(-x)
        if weight == 0:
            assert bounds[i] == 0
        else:
            assert truth <= bounds[i] <= truth * (1 + mpmath.mpf(2) ** -39) + 1
    assert bounds.sum() < 2**62


def test_only_differences_of_steps_matter():
    for seed in range(200):
        shifted = [
            categorical_exp(np.array([3, 1, 2]) + by, Fraction(1, 2), entropy=insecure_seeded(seed))
            for by in (0, 10**12, -(10**12))
        ]
        assert len(set(shifted)) == 1


def test_a_candidate_without_weight_is_never_chosen_even_if_it_scores_best():
    steps, weights = np.array([0, 50, 51]), np.array([0, 1, 1])
    drawn = {categorical_exp(steps, 1, weights, entropy=insecure_seeded(seed)) for seed in range(100)}
    assert drawn == {1, 2}


def test_the_point_zero_belongs_to_the_first_candidate_with_a_weight():
    """All-zero bytes: the point 0 below the sum, then a coin that keeps. The running sums start 0, c, 2c."""
    tape = ByteTape(bytes(16))
    assert categorical_exp(np.array([0, 50, 50]), 1, np.array([0, 1, 1]), entropy=tape) == 1


def test_a_bound_below_the_weight_is_a_broken_guarantee():
    with pytest.raises(GuaranteeError):
        _Ratio(Fraction(11, 10), Fraction(0))(64)


@pytest.mark.parametrize(
    ("steps", "unit", "weights"),
    [
        ([], 1, None),
        ([[1, 2]], 1, None),
        ([0.5], 1, None),
        ([1, 2], -1, None),
        ([1, 2], 1, [1]),
        ([1, 2], 1, [0, 0]),
        ([1, 2], 1, [-1, 3]),
        ([1, 2], 1, [2**54, 3]),
        ([1, 2], 1, [0.5, 3.0]),
    ],
)
def test_choices_that_are_no_law_are_refused(steps, unit, weights):
    with pytest.raises(InvalidParameter):
        categorical_exp(np.array(steps), unit, None if weights is None else np.array(weights))
