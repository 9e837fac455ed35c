"""Tables of cuts: certified for every prefix, and driven through each of their paths by hand-written bytes."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dither.errors import GuaranteeError
from dither.noise import ByteTape, insecure_seeded
from dither.noise.bounds import exp_neg
from dither.noise.gaussian import gaussian_table, split_table
from dither.noise.gaussian_sums import gaussian_tails
from dither.noise.geometric import geometric_table, geometric_tails
from dither.noise.lazy import LazyTable, Tails, lazily_below
from dither.noise.split import SplitTable

mpmath.mp.prec = 300


def mp(x: Fraction):
    return mpmath.mpf(x.numerator) / x.denominator


def laplace_pmf(scale):
    p = mpmath.exp(-1 / mp(Fraction(scale)))
    return lambda k: (1 - p) / (1 + p) * p ** abs(k)


def geometric_pmf(scale):
    p = mpmath.exp(-1 / mp(Fraction(scale)))
    return lambda k: (1 - p) * p**k if k >= 0 else mpmath.mpf(0)


def gaussian_pmf(variance):
    half = 1 / (2 * mp(Fraction(variance)))
    total = 1 + 2 * mpmath.nsum(lambda k: mpmath.exp(-k * k * half), [1, mpmath.inf], method="d") if half > 20 else None
    reach = int(20 * mpmath.sqrt(mp(Fraction(variance)))) + 20
    total = total or 1 + 2 * sum(mpmath.exp(-k * k * half) for k in range(1, reach))
    return lambda k: mpmath.exp(-k * k * half) / total


def block_pmf(scale, block):
    """Two-sided geometric, summed over blocks of `block` outcomes."""
    one = laplace_pmf(scale)
    return lambda q: sum(one(k) for k in range(q * block, (q + 1) * block))


LAWS = {
    "Laplace 1/2": (lambda: geometric_table(Fraction(1, 2), two_sided=True), laplace_pmf("1/2")),
    "Laplace 10/3": (lambda: geometric_table(Fraction(10, 3), two_sided=True), laplace_pmf("10/3")),
    "Laplace 100": (lambda: geometric_table(Fraction(100), two_sided=True), laplace_pmf(100)),
    "geometric 7/3": (lambda: geometric_table(Fraction(7, 3), two_sided=False), geometric_pmf("7/3")),
    "geometric 128": (lambda: geometric_table(Fraction(128), two_sided=False), geometric_pmf(128)),
    "Gaussian 1/3": (lambda: gaussian_table(Fraction(1, 3)), gaussian_pmf("1/3")),
    "Gaussian 25": (lambda: gaussian_table(Fraction(25)), gaussian_pmf(25)),
    "Gaussian 10^4": (lambda: gaussian_table(Fraction(10**4)), gaussian_pmf(10**4)),
    "blocks of 8, Laplace 20": (
        lambda: LazyTable(lambda bits: geometric_tails(Fraction(20), 8, bits, two_sided=True)),
        block_pmf(20, 8),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_every_prefix_is_certified(name):
    """For every outcome: mass of prefixes that name it <= P(outcome) <= that + mass of doubtful prefixes that may
    still become it. All 65,536 prefixes are looked at; the probabilities are mpmath's. A table whose scale is off by
    2^-16 fails (the test below)."""
    make, pmf = LAWS[name]
    assert_certified(make(), pmf)


@pytest.mark.parametrize("scale", [Fraction(10, 3) * (1 + Fraction(1, 2**12)), Fraction(34, 10)])
def test_the_certificate_notices_a_wrong_scale(scale):
    with pytest.raises(AssertionError):
        assert_certified(geometric_table(scale, two_sided=True), laplace_pmf("10/3"))


def assert_certified(table: LazyTable, pmf) -> None:
    guide = table.guide.astype(np.int64)
    named = guide[guide != table.unknown]
    resolved = dict(zip(*np.unique(named, return_counts=True), strict=True))
    # A doubtful prefix may become any outcome from its left neighbour's to its right neighbour's.
    reach = guide.copy()
    doubtful = np.flatnonzero(guide == table.unknown)
    known = np.flatnonzero(guide != table.unknown)
    left = np.searchsorted(known, doubtful) - 1
    floor = np.where(left >= 0, reach[known[np.maximum(left, 0)]], -(10**9))
    right = np.minimum(left + 1, known.size - 1)
    ceiling = np.where(left + 1 < known.size, reach[known[right]], 10**9)
    for k in range(int(named.min()) - 1, int(named.max()) + 2):
        mass = int(resolved.get(k, 0))
        open_mass = int(np.count_nonzero((floor <= k) & (k <= ceiling)))
        assert mass <= pmf(k) * 65_536 <= mass + open_mass, k
    assert doubtful.size < 0.2 * 65_536
    assert np.all(np.diff(named) >= 0)


@pytest.mark.parametrize("bits", [8, 64, 200])
def test_tails_enclose_the_masses_of_both_sides(bits):
    """Against sums of mpmath; narrow to 2 units, and every side ends with a low of 0."""
    with mpmath.workdps(120):
        check_tails(bits)


def check_tails(bits):
    cases = [
        (geometric_tails(Fraction(5), 1, bits, two_sided=True), laplace_pmf(5)),
        (geometric_tails(Fraction(5), 4, bits, two_sided=True), block_pmf(5, 4)),
        (gaussian_tails(Fraction(10), bits), gaussian_pmf(10)),
    ]
    for tails, pmf in cases:
        mass = {k: pmf(k) * 2**bits for k in range(-900, 900)}
        right = [mpmath.fsum(mass[k] for k in range(j + 1, 900)) for j in range(12)]
        left = [mpmath.fsum(mass[k] for k in range(-900, -j)) for j in range(12)]
        for j in range(min(12, len(tails.right_low))):
            assert tails.right_low[j] <= right[j] + 1e-9 and right[j] <= tails.right_high[j] <= tails.right_low[j] + 2
        for j in range(min(12, len(tails.left_low))):
            assert tails.left_low[j] <= left[j] + 1e-9 and left[j] <= tails.left_high[j] <= tails.left_low[j] + 2
        assert tails.left_low[-1] == tails.right_low[-1] == 0


def half(bits: int) -> Tails:
    """A fair coin: one cut, exactly at 1/2."""
    return Tails(bits, [], [], [1 << (bits - 1)], [1 << (bits - 1)])


def third_coin(bits: int) -> Tails:
    """P(X > 0) = 1/3: the cut 2/3 = .101010..., never settled by a prefix that equals its digits."""
    low = (1 << bits) // 3
    return Tails(bits, [], [], [low], [low + 1])


def words(*values: int, size_bytes: int) -> bytes:
    return b"".join(value.to_bytes(size_bytes, "little") for value in values)


def test_a_dyadic_cut_is_settled_by_the_prefix():
    tape = ByteTape(words(0x7FFF, 0x8000, 0, 0xFFFF, size_bytes=2))
    assert LazyTable(half).draw(4, tape).tolist() == [0, 1, 0, 1]


def test_a_doubtful_prefix_reads_the_rest_of_the_word():
    # 0xAAAA is the start of 2/3: the next 48 bits are compared; the low 16 of the second read are not used.
    for rest, outcome in [(0xAAAA_AAAA_AAAB << 16, 1), (0xAAAA_AAAA_AAA9 << 16, 0)]:
        tape = ByteTape(words(0xAAAA, size_bytes=2) + words(rest, size_bytes=8))
        assert LazyTable(third_coin).draw(1, tape).tolist() == [outcome]
        assert tape.position == 10


def test_a_word_equal_to_the_cut_reads_on_until_they_differ():
    same = words(0xAAAA, size_bytes=2) + words(0xAAAA_AAAA_AAAA << 16, size_bytes=8)
    alike = words(0xAAAA_AAAA_AAAA_AAAA, size_bytes=8)
    for last, outcome in [(0xAAAA_AAAA_AAAA_AAAB, 1), (0xAAAA_AAAA_AAAA_AAA9, 0)]:
        tape = ByteTape(same + alike + alike + words(last, size_bytes=8))
        assert LazyTable(third_coin).draw(1, tape).tolist() == [outcome]
        assert tape.position == 34


def test_the_ends_of_the_unit_interval_are_never_settled_by_64_bits():
    """The word of all zeros (or ones) may be any outcome beyond the table: more bits are read."""
    table = geometric_table(Fraction(3), two_sided=True)
    for byte, sign in [(0, -1), (255, 1)]:
        tape = ByteTape(bytes([byte]) * 10 + bytes([128]) * 8)
        (outcome,) = table.draw(1, tape)
        # P(|X| > 133) is about 2^-64 at scale 3; the 128-bit word names an outcome near there.
        assert 125 <= sign * outcome <= 140
        assert tape.position == 18


def test_lazily_below_reads_on_only_while_in_doubt():
    def two_thirds(bits: int) -> tuple[int, int]:
        return (2 << bits) // 3, (2 << bits) // 3 + 1

    cut = 0xAAAA_AAAA_AAAA_AAAA
    assert lazily_below(cut - 1, 64, two_thirds, ByteTape(b"")) is True
    assert lazily_below(cut + 1, 64, two_thirds, ByteTape(b"")) is False
    for word, below in [(cut - 1, True), (cut + 1, False)]:
        tape = ByteTape(words(cut, word, size_bytes=8))
        assert lazily_below(cut, 64, two_thirds, tape) is below
        assert tape.position == 16


def test_cuts_out_of_order_are_a_broken_guarantee():
    with pytest.raises(GuaranteeError):
        LazyTable(lambda bits: Tails(bits, [], [], [1 << 10, 1 << 20], [1 << 11, 1 << 21]))


def test_chunks_do_not_change_the_law():
    """200,000 draws pass several chunks: mean within 6 standard errors, and no outcome repeats a whole chunk."""
    drawn = geometric_table(Fraction(100), two_sided=True).draw(200_000, insecure_seeded(5))
    assert abs(drawn.mean()) < 6 * 141.4 / 200_000**0.5
    assert not np.array_equal(drawn[:1000], drawn[65_536:66_536])


SPLITS = {
    "Laplace": (geometric_table(Fraction(1000, 3), two_sided=True), lambda x: abs(x) / Fraction(1000, 3), 4),
    "Gaussian": (split_table(Fraction(12_345, 2), 3), lambda x: Fraction(x * x) / 12_345, 8),
}


@pytest.mark.parametrize("name", SPLITS)
def test_a_block_and_its_inside_multiply_to_the_law(name):
    """Exponent of the block + exponent inside it = exponent of the law, as rationals, for 2,000 outcomes on both
    sides of 0; up to the constant that the Laplace law has between its sides (P(X < 0) starts at p)."""
    table, exponent, block = SPLITS[name]
    assert isinstance(table, SplitTable)
    inside = table._inside
    for x in range(-1000, 1000):
        q, offset = divmod(x if x >= 0 else -1 - x, block)
        r = offset + 1 if inside.mirrored and x < 0 else offset
        start = exponent(block * q) if inside.mirrored or x >= 0 else exponent(block * q + 1)
        gamma = inside.exactly(q, r)
        assert start + gamma == exponent(x)
        assert 0 <= gamma <= inside.cap(q)
        approximate = Fraction(float(inside.approximately(np.array([q]), np.array([r]))[0]))
        assert abs(approximate - gamma) <= gamma / 2**48


@pytest.mark.parametrize("name", SPLITS)
@pytest.mark.parametrize("furthest", [0, 3, 200])
def test_no_prefix_that_could_be_refused_is_waved_through(name, furthest):
    """All 65,536 prefixes: one that is not suspected starts above 1 - exp(-gamma) for the largest gamma there is."""
    table, _, block = SPLITS[name]
    suspects = table._suspects(np.arange(65_536, dtype=np.uint16), furthest)
    refusal = -mpmath.expm1(-mp(table._inside.exactly(furthest, block))) * 65_536
    assert suspects.tolist() == list(range(len(suspects)))
    assert refusal <= len(suspects) <= refusal * 1.4 + 2


def test_the_float_filter_is_right_to_2_to_the_minus_45():
    from dither.noise.split import _one_minus_exp_neg

    for gamma in [0.0, 1e-300, 1e-9, 1 / 3 / 2, 0.2, 0.25]:
        truth = -mpmath.expm1(-mpmath.mpf(gamma))
        assert abs(float(_one_minus_exp_neg(np.array([gamma]))[0]) - truth) < mpmath.mpf(2) ** -45


def test_refinement_agrees_with_the_table_it_refines():
    """Every cut of the 128-bit table starts with the cut of the 64-bit table."""
    coarse, fine = (geometric_tails(Fraction(7), 1, bits, two_sided=True) for bits in (64, 128))
    for j in range(len(coarse.right_low)):
        assert coarse.right_low[j] <= fine.right_high[j] >> 64
        assert fine.right_low[j] >> 64 <= coarse.right_high[j]
    low, high = exp_neg(Fraction(1, 7), 128)
    assert low < high
