"""Goodness of fit of every sampler, with fixed seeds, at false-alarm rate 1e-9 a test.

Each law is compared with probabilities computed here, in floats, from its formula. `rejects` shows that the same test
at the same size catches the fault named: a scale 2 % off, a lost zero, a swapped side."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.noise import (
    bernoulli_exp,
    categorical_exp,
    discrete_gaussian,
    discrete_laplace,
    geometric,
    insecure_seeded,
    uniform_below,
)
from dither.noise.gaussian import _Inside as GaussianInside
from dither.noise.gaussian import gaussian_table, split_table
from dither.noise.gaussian_sums import gaussian_tails
from dither.noise.geometric import _Inside as GeometricInside
from dither.noise.geometric import geometric_tails
from dither.noise.lazy import LazyTable
from dither.noise.split import SplitTable

FALSE_ALARM = 1e-9
SIZE = 1_000_000


def laplace_cdf(scale):
    """P(X <= k)."""
    p = np.exp(-1.0 / scale)

    def cdf(k):
        k = np.asarray(k, dtype=float)
        below = np.exp(np.minimum(k, 0.0) / scale) / (1 + p)
        above = 1 - np.exp(-(np.maximum(k, -1.0) + 1) / scale) / (1 + p)
        return np.where(k < 0, below, above)

    return cdf


def geometric_cdf(scale):
    return lambda k: np.where(np.asarray(k) < 0, 0.0, -np.expm1(-(np.maximum(k, 0) + 1.0) / scale))


def gaussian_cdf(sigma):
    """Term by term to sigma 2,000; above, the normal law at k + 1/2: off by less than 1/sigma^2."""
    if sigma > 2000:
        return lambda k: stats.norm.cdf((np.asarray(k) + 0.5) / sigma)
    reach = int(12 * sigma) + 12
    support = np.arange(-reach, reach + 1)
    weights = np.exp(-0.5 * (support / sigma) ** 2)
    table = np.cumsum(weights / weights.sum())
    return lambda k: table[np.clip(np.asarray(k) + reach, 0, 2 * reach)]


def p_value(drawn, cdf, cells=60, centre=None):
    """Chi-square over at most `cells` cells of about equal mass; or over the single outcomes in `centre`."""
    if centre is None:
        edges = np.unique(np.quantile(drawn[:20_000], np.linspace(0, 1, cells + 1)[1:-1]).astype(np.int64))
    else:
        edges = np.arange(centre[0] - 1, centre[1] + 1)
    expected = np.diff(np.concatenate([[0.0], cdf(edges), [1.0]])) * drawn.size
    observed = np.bincount(np.searchsorted(edges, drawn, side="left"), minlength=edges.size + 1)
    keep = expected >= 10
    if not keep.all():  # the rare cells as one
        expected = np.append(expected[keep], expected[~keep].sum())
        observed = np.append(observed[keep], observed[~keep].sum())
    if expected[-1] < 10:
        expected, observed = expected[:-1], observed[:-1]
    statistic = ((observed - expected) ** 2 / expected).sum()
    return stats.chi2.sf(statistic, expected.size - 1)


def fits(drawn, cdf, **cells):
    return p_value(drawn, cdf, **cells) > FALSE_ALARM


def rejects(drawn, cdf, **cells):
    return not fits(drawn, cdf, **cells)


SCALES = [0.5, 1.0, 10 / 3, 10.0, 100.0, 128.0, 129.0, 1000.0, 1e6, float(2**40)]


@pytest.mark.parametrize("scale", SCALES)
def test_laplace_fits_its_law_and_two_percent_more_scale_does_not(scale):
    # n = 1,000,000; false alarm 1e-9; catches a scale wrong by 2 %.
    exact_scale = Fraction(10, 3) if scale == 10 / 3 else scale
    assert fits(discrete_laplace(exact_scale, SIZE, entropy=insecure_seeded(21)), laplace_cdf(scale))
    wrong = Fraction(exact_scale) * Fraction(102, 100)
    assert rejects(discrete_laplace(wrong, SIZE, entropy=insecure_seeded(21)), laplace_cdf(scale))


@pytest.mark.parametrize("sigma", [0.5, 1.0, 5.0, 100.0, 1000.0, 1500.0, 1e6, 1e12])
def test_gaussian_fits_its_law_and_two_percent_more_sigma_does_not(sigma):
    # n = 1,000,000; false alarm 1e-9; catches a sigma wrong by 2 %.
    variance = Fraction(sigma) ** 2
    assert fits(discrete_gaussian(variance, SIZE, entropy=insecure_seeded(22)), gaussian_cdf(sigma))
    wrong = variance * Fraction(102, 100) ** 2
    assert rejects(discrete_gaussian(wrong, SIZE, entropy=insecure_seeded(22)), gaussian_cdf(sigma))


@pytest.mark.parametrize("scale", [0.5, 10.0, 1000.0, 1e6])
def test_geometric_fits_its_law_and_two_percent_more_scale_does_not(scale):
    # n = 1,000,000; false alarm 1e-9; catches a scale wrong by 2 %.
    assert fits(geometric(scale, SIZE, entropy=insecure_seeded(23)), geometric_cdf(scale))
    wrong = Fraction(scale) * Fraction(102, 100)
    assert rejects(geometric(wrong, SIZE, entropy=insecure_seeded(23)), geometric_cdf(scale))


CENTRE = (-120, 120)


def test_single_outcomes_around_zero_of_a_split_laplace_are_right():
    """Scale 300 in blocks of 4; 241 outcomes with about 1,650 draws each. Catches an inside offset by one."""
    drawn = discrete_laplace(300, SIZE, entropy=insecure_seeded(24))
    assert fits(drawn, laplace_cdf(300.0), centre=CENTRE)
    assert rejects(np.where(drawn < 0, drawn + 1, drawn), laplace_cdf(300.0), centre=CENTRE)


def test_single_outcomes_around_zero_of_a_split_gaussian_are_right():
    """Sigma 40 forced into blocks of 8, where one proposal in 12 is refused. Catches refusal left out, and an inside
    that is not mirrored below zero."""
    drawn = split_table(Fraction(1600), 3).draw(SIZE, insecure_seeded(25))
    assert fits(drawn, gaussian_cdf(40.0), centre=CENTRE)

    class Careless(GaussianInside):
        mirrored = False

    blocks = LazyTable(lambda bits: gaussian_tails(Fraction(25), bits, halves=True))
    careless = SplitTable(blocks, 3, Careless(Fraction(1600), 8)).draw(SIZE, insecure_seeded(25))
    assert rejects(careless, gaussian_cdf(40.0), centre=CENTRE)
    refusing_nothing = SplitTable(blocks, 3, GaussianInside(Fraction(10**12), 8)).draw(SIZE, insecure_seeded(25))
    assert rejects(refusing_nothing, gaussian_cdf(40.0), centre=CENTRE)


def test_low_bits_inside_wide_blocks_are_even():
    """Scale 2^40: X mod 256 is uniform to 2^-30; 256 cells, about 3,900 draws each. Catches a stuck or biased bit."""
    drawn = discrete_laplace(2**40, SIZE, entropy=insecure_seeded(26))
    counts = np.bincount(drawn & 255, minlength=256)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    biased = np.bincount((drawn & 255) | (np.arange(SIZE) % 20 == 0), minlength=256)
    assert stats.chisquare(biased).pvalue < FALSE_ALARM


FORCED = {
    "Laplace 10/3": (lambda bits: geometric_tails(Fraction(10, 3), 1, bits, two_sided=True), laplace_cdf(10 / 3)),
    "geometric 5": (lambda bits: geometric_tails(Fraction(5), 1, bits, two_sided=False), geometric_cdf(5.0)),
    "Gaussian 9": (lambda bits: gaussian_tails(Fraction(9), bits), gaussian_cdf(3.0)),
}


@pytest.mark.parametrize("name", FORCED)
@pytest.mark.parametrize("prefix_bits", [2, 6])
def test_forced_refinement_keeps_the_law(name, prefix_bits):
    """Words of 8 bits: over one draw in 20 is settled by integers at 16 or 24 bits, which otherwise is about one
    draw in 2^50. n = 100,000; false alarm 1e-9; catches a refinement that forgets what it read."""
    tails_at, cdf = FORCED[name]
    table = LazyTable(tails_at, prefix_bits=prefix_bits, word_bits=8)
    refined = []
    keep = table._refine
    table._refine = lambda word, entropy: refined.append(word) or keep(word, entropy)
    drawn = table.draw(100_000, insecure_seeded(27))
    assert len(refined) > 5_000
    assert fits(drawn, cdf, centre=(-12, 12))
    table._refine = lambda word, entropy: keep(128, entropy)
    assert rejects(table.draw(100_000, insecure_seeded(27)), cdf, centre=(-12, 12))


def test_the_float_filter_and_the_integers_decide_alike():
    """The same bytes with a filter that never decides (margin 2) give the same 5,000 draws."""
    for table in (
        SplitTable(
            LazyTable(lambda bits: geometric_tails(Fraction(40), 8, bits, two_sided=True)),
            3,
            GeometricInside(Fraction(40), 8),
            margin=2.0,
        ),
        SplitTable(
            LazyTable(lambda bits: gaussian_tails(Fraction(25), bits, halves=True)),
            3,
            GaussianInside(Fraction(1600), 8),
            margin=2.0,
        ),
    ):
        drawn = table.draw(5_000, insecure_seeded(28))
        table._margin = 2.0**-40
        assert np.array_equal(drawn, table.draw(5_000, insecure_seeded(28)))


def test_scalar_draws_from_the_buffer_fit_the_law():
    # n = 60,000; false alarm 1e-9; catches a buffer handed out twice in a row (variance of the counts doubles).
    drawn = np.array([discrete_laplace(10) for _ in range(60_000)])
    assert fits(drawn, laplace_cdf(10.0))
    assert np.unique(drawn[:256]).size < 256
    assert not np.array_equal(drawn[:256], drawn[256:512])


def test_coins_fall_heads_as_often_as_they_should():
    # n = 1,000,000; binomial test at 1e-9; catches an exponent wrong by 2 %.
    for x in ["1/1000", "1/2", "3"]:
        heads = int(bernoulli_exp(x, SIZE, entropy=insecure_seeded(29)).sum())
        assert stats.binomtest(heads, SIZE, np.exp(-float(Fraction(x)))).pvalue > FALSE_ALARM
    assert stats.binomtest(heads, SIZE, np.exp(-3.06)).pvalue < FALSE_ALARM


def test_uniform_integers_are_uniform():
    # n = 1,000,000 over 1,000 values; false alarm 1e-9; catches a modulo bias (1,000 from 10 bits).
    counts = np.bincount(uniform_below(1000, SIZE, entropy=insecure_seeded(30)), minlength=1000)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM
    biased = uniform_below(1024, SIZE, entropy=insecure_seeded(30)) % 1000
    assert stats.chisquare(np.bincount(biased, minlength=1000)).pvalue < FALSE_ALARM


def test_choices_fit_their_weights():
    # n = 20,000; false alarm 1e-9; catches a unit wrong by 10 %, and weights left out.
    steps, weights = np.arange(12), np.array([1, 5, 0, 2, 9, 3, 3, 1, 20, 4, 7, 30])
    entropy = insecure_seeded(31)
    drawn = [categorical_exp(steps, Fraction(1, 4), weights, entropy=entropy) for _ in range(20_000)]
    counts = np.bincount(drawn, minlength=12)
    assert counts[2] == 0

    def fit(unit, weights):
        expected = weights * np.exp(-unit * steps)
        keep = weights > 0
        if counts[~keep].any():
            return 0.0
        return stats.chisquare(counts[keep], expected[keep] / expected.sum() * 20_000).pvalue

    assert fit(0.25, weights) > FALSE_ALARM
    assert fit(0.275, weights) < FALSE_ALARM
    assert fit(0.25, np.where(weights > 0, 1, 0)) < FALSE_ALARM


def test_a_table_and_a_split_of_one_law_agree():
    """Sigma 300 from one table and in blocks of 4: two-sample chi-square over 60 cells, false alarm 1e-9."""
    one = gaussian_table(Fraction(90_000)).draw(SIZE, insecure_seeded(32))
    two = split_table(Fraction(90_000), 2).draw(SIZE, insecure_seeded(33))
    edges = np.quantile(one, np.linspace(0, 1, 61)[1:-1])
    counts = np.array([np.bincount(np.searchsorted(edges, x), minlength=60) for x in (one, two)])
    assert stats.chi2_contingency(counts).pvalue > FALSE_ALARM
