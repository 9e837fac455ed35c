"""Uniform integers, coins and choices: exact bounds, the bytes they read, and what they refuse."""

import contextlib
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from dither.errors import GuaranteeError, InvalidParameter
from dither.noise import (
    ByteTape,
    bernoulli_exp,
    bernoulli_exp_each,
    categorical_exp,
    categorical_exp_by_group,
    insecure_seeded,
    uniform_below,
    uniform_below_each,
)
from dither.noise.bounds import exp_neg
from dither.noise.categorical import _checked, _coin_words, _Ratio, _surely_kept, _upper_bounds

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


# Many at once -------------------------------------------------------------------------------------------------------


def test_each_of_many_uniforms_is_below_its_own_limit_and_as_likely_as_the_others() -> None:
    # Every pattern of the upper three bits once: 5 to 7 are drawn anew. Where there is no choice no bit is read.
    limits = np.array([5] * 8 + [1, 2**62, 3], dtype=np.int64)
    tape = b"".join((k << 61).to_bytes(8, "little") for k in [*range(8), 1, 2, 4, 3, 0])
    drawn = uniform_below_each(limits, entropy=ByteTape(tape))
    assert drawn.tolist() == [0, 1, 2, 3, 4, 4, 3, 0, 0, 1 << 60, 1]
    many = uniform_below_each(np.array([2, 3, 1000, 2**62] * 20_000), entropy=insecure_seeded(3)).reshape(-1, 4)
    assert many.min() == 0 and np.all(many.max(axis=0) < [2, 3, 1000, 2**62])
    for column, n in enumerate((2, 3, 1000)):
        # False alarm < 1e-9.
        assert stats.chisquare(np.bincount(many[:, column], minlength=n)).pvalue > 1e-9
    with pytest.raises(InvalidParameter):
        uniform_below_each(np.array([1, 0]))


@pytest.mark.parametrize("unit", [Fraction(1, 10**7), Fraction(3, 1000), Fraction(1, 2), Fraction(40), Fraction(10**6)])
def test_words_that_settle_a_coin_settle_it_as_its_enclosures_do(unit: Fraction) -> None:
    steps = np.unique(np.concatenate([np.arange(1, 300), 2 ** np.arange(0, 62)])).astype(np.uint64)
    surely, never = _coin_words(steps, unit)
    for step, least, most in zip(steps.tolist(), surely.tolist(), never.tolist(), strict=True):
        low, high = exp_neg(step * unit, 128)
        assert least << 64 <= low and (most << 64 >= high or most == 2**64 - 1)
        # And few words are left over.
        assert most - least <= 2**28


def test_many_coins_fall_as_often_as_each_should() -> None:
    steps = np.tile(np.array([0, 1, 3, 10, 200, 2**61]), 20_000)
    heads = bernoulli_exp_each(steps, Fraction(1, 4), entropy=insecure_seeded(4)).reshape(-1, 6).mean(axis=0)
    expected = np.exp(-np.array([0, 1, 3, 10, 200, 2**61]) / 4)
    # Six standard errors.
    assert np.all(np.abs(heads - expected) <= 6 * np.sqrt(expected * (1 - expected) / 20_000)), heads


def test_a_candidate_kept_without_an_enclosure_would_have_been_kept_with_one() -> None:
    generator = np.random.default_rng(1)
    for unit in (Fraction(1, 10**6), Fraction(1, 7), Fraction(5, 2)):
        steps = np.concatenate([generator.integers(0, 10**k, 60) for k in range(1, 12)])
        weights = 2 ** generator.integers(0, 53, len(steps))
        excess, positive = _checked(steps, weights)
        bounds, exponent = _upper_bounds(excess, unit, positive)
        kept = _surely_kept(bounds)
        for i in range(len(steps)):
            share = Fraction(int(weights[i])) * Fraction(2) ** exponent / int(bounds[i])
            assert int(kept[i]) <= _Ratio(share, int(excess[i]) * unit)(64)[0]
        assert np.any(kept > 2**63) and np.any(kept == 0)


def test_groups_of_every_kind_draw_their_own_law_and_not_their_neighbours() -> None:
    # Five kinds of groups in turn, 20,000 of each; false alarm < 1e-9 a kind. Catches sums that leave 64 bits, a place
    # off by one, a bound of another group.
    kinds = [
        ([0], [7]),
        ([0, 4], [1, 1]),
        ([9, 3, 5, 3], [1, 2, 1, 50]),
        ([0] * 40, [2**50] * 40),
        ([1, 0, 70], [3, 1, 9]),
    ]
    unit, rounds = Fraction(1, 4), 20_000
    steps = np.tile(np.concatenate([s for s, _ in kinds]), rounds)
    weights = np.tile(np.concatenate([w for _, w in kinds]), rounds)
    starts = np.concatenate([[0], np.cumsum(np.tile([len(s) for s, _ in kinds], rounds))])
    drawn = categorical_exp_by_group(steps, unit, weights, starts, entropy=insecure_seeded(8)) - starts[:-1]
    for k, (own, times) in enumerate(kinds):
        law = np.array(times, dtype=float) * np.exp(-np.array(own) / 4)
        law /= law.sum()
        seen = np.bincount(drawn[k :: len(kinds)], minlength=len(own))
        assert len(seen) == len(own)
        common = law * rounds >= 5
        expected = law[common] / law[common].sum() * seen[common].sum()
        assert seen[~common].sum() <= 20
        assert common.sum() == 1 or stats.chisquare(seen[common], expected).pvalue > 1e-9
    # Neighbours are independent: the second kind and the third, pair by pair.
    pairs = np.zeros((2, 4))
    np.add.at(pairs, (drawn[1 :: len(kinds)], drawn[2 :: len(kinds)]), 1)
    pairs = pairs[:, pairs.sum(axis=0) > 50]
    assert stats.chi2_contingency(pairs).pvalue > 1e-9
