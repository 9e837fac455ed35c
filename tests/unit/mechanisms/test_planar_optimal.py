"""The optimal mechanism on few cells: its table keeps the guarantee in whole numbers, and is nearly optimal."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import stats

from dither.errors import GuaranteeError, InvalidParameter
from dither.mechanisms import planar
from dither.mechanisms.planar.optimal import WHOLE
from dither.noise import insecure_seeded

EPSILON = Fraction("0.0069")
CELLS = np.array([(100.0 * i, 130.0 * j) for i in range(4) for j in range(3)])


@pytest.fixture(scope="module")
def made():
    return planar.plan_optimal(CELLS, np.arange(1, 13), epsilon=EPSILON)


def test_every_inequality_holds_on_the_table_itself_in_50_digits(made):
    """k[x, z] <= e^(epsilon d) k[x', z] for all x, x', z, by another route than the code's own check."""
    mpmath.mp.dps = 50
    table = made.table.tolist()
    for x, other in product(range(len(CELLS)), repeat=2):
        apart = mpmath.sqrt(
            sum((mpmath.mpf(a) - mpmath.mpf(b)) ** 2 for a, b in zip(CELLS[x], CELLS[other], strict=True))
        )
        factor = mpmath.exp(mpmath.mpf(EPSILON.numerator) / EPSILON.denominator * apart)
        assert all(mpmath.mpf(a) <= factor * b for a, b in zip(table[x], table[other], strict=True))
    assert all(sum(row) == WHOLE and min(row) > 0 for row in table)


def test_the_check_catches_a_table_that_is_off_by_a_ten_thousandth(made):
    made.certify()
    tight = made.table.tolist()
    # The pair that is closest to its limit, moved over it.
    distances = np.hypot(CELLS[:, None, 0] - CELLS[None, :, 0], CELLS[:, None, 1] - CELLS[None, :, 1])
    ratio = made.table[:, None, :] / made.table[None, :, :] / np.exp(float(EPSILON) * distances)[:, :, None]
    ratio[distances == 0] = 0
    x, _, z = np.unravel_index(ratio.argmax(), ratio.shape)
    more = tight[x][z] // 10**4 + 1
    tight[x][z] += more
    largest = max((cell for cell in range(12) if cell != z), key=tight[x].__getitem__)
    tight[x][largest] -= more
    assert min(tight[x]) > 0 and sum(tight[x]) == WHOLE
    with pytest.raises(GuaranteeError):
        replace(made, table=np.array(tight)).certify()
    short = made.table.copy()
    short[0, 0] -= 1
    with pytest.raises(GuaranteeError):
        replace(made, table=short).certify()


def test_two_cells_give_randomised_response():
    two = planar.plan_optimal([(0, 0), (300, 0)], [1, 1], epsilon=EPSILON)
    odds = math.exp(float(EPSILON) * 300)
    assert two.table[0, 0] / WHOLE == pytest.approx(odds / (1 + odds), rel=1e-4)


def test_it_is_at_least_as_near_as_remapped_planar_noise_and_as_an_exponential_law(made):
    prior = made.prior
    distances = np.hypot(CELLS[:, None, 0] - CELLS[None, :, 0], CELLS[:, None, 1] - CELLS[None, :, 1])
    exponential = np.exp(-float(EPSILON) / 2 * distances)
    exponential /= exponential.sum(axis=1, keepdims=True)
    assert made.expected_distance_m < prior @ (exponential * distances).sum(axis=1)
    noise = planar.PlanarNoise(
        planar.Lattice(Fraction(1, 8)), planar.loss_within(1, factor=2, lattice=planar.Lattice(Fraction(1, 8)))
    )
    noise = replace(noise, point_loss=replace(noise.point_loss, epsilon=EPSILON))
    cells = np.random.default_rng(1).choice(12, size=20_000, p=prior)
    noisy = noise.add_to(CELLS[cells], entropy=insecure_seeded(2))
    guessed = planar.remap(noisy, CELLS, prior, epsilon=EPSILON, loss="distance")
    assert made.expected_distance_m < np.hypot(*(guessed - CELLS[cells]).T).mean()


def test_draws_follow_the_table(made):
    # n = 200,000, false alarm < 1e-9; catches rows that are swapped.
    drawn = np.bincount(made.draw(np.full(200_000, 5), entropy=insecure_seeded(3)), minlength=12)

    def p_value(row):
        return stats.chisquare(drawn, row / row.sum() * 200_000).pvalue

    assert p_value(made.table[5].astype(float)) > 1e-9 > p_value(made.table[6].astype(float))


def test_places_count_as_their_nearest_cell_and_far_ones_are_refused(made):
    shown = made.perturb(CELLS + 10.0, reach_m=20)
    assert {tuple(each) for each in shown} <= {tuple(each) for each in CELLS}
    assert made.loss.metric == planar.METRIC
    with pytest.raises(InvalidParameter, match="others among them"):
        made.perturb([[5000.0, 0.0]], reach_m=100)


@pytest.mark.parametrize("epsilon", ["0.0001", "0.002", "0.05", 1])
def test_strong_and_weak_protection_are_certified_too(epsilon):
    planar.plan_optimal(CELLS[:9], np.ones(9), epsilon=epsilon).certify()


@pytest.mark.parametrize(
    ("cells", "prior"),
    [(np.zeros((51, 2)), np.ones(51)), ([(0, 0)], [1]), ([(0, 0), (0, 0)], [1, 1]), ([(0, 0), (1, math.nan)], [1, 1]),
     ([(0, 0), (1, 1)], [1, -1]), ([(0, 0), (1, 1)], [0, 0]), ([(0, 0), (1, 1)], [1])],
)  # fmt: skip
def test_cells_and_priors_out_of_range_are_refused(cells, prior):
    with pytest.raises(InvalidParameter):
        planar.plan_optimal(cells, prior, epsilon=1)
