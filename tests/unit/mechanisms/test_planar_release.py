"""Planar noise on raw places: the guarantee by enumeration, rounding, words that stay true, what is refused."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from dither.accounting.metric import MetricLoss
from dither.accounting.price import Price
from dither.errors import InvalidParameter
from dither.mechanisms import planar
from dither.noise import exp_bounds, insecure_seeded, sqrt_bounds
from dither.secret import Secret

BITS = 96
REACH = 60


def weights(rate):
    """Enclosures of exp(-rate ||z||), |x|, |y| <= REACH, and a bound of all that is farther."""
    cache, table = {}, {}
    for x, y in product(range(REACH + 1), repeat=2):
        squared = x * x + y * y
        if squared not in cache:
            near, far = sqrt_bounds(Fraction(squared), BITS)
            cache[squared] = exp_bounds(-rate * far, BITS)[0], exp_bounds(-rate * near, BITS)[1]
        table[x, y] = cache[squared]
    c = rate * Fraction(7, 10)  # exp(-rate ||z||) <= exp(-c (|x| + |y|))
    p = exp_bounds(-c, BITS)[1]
    side = (1 + p) / (1 - p)
    return table, 4 * p ** (REACH + 1) / (1 - p) * side


def law_on_a_box(centre, box, table, tail):
    """(low, high) of the unnormalised probability of each point of a 5 x 5 box, when what falls outside is moved to
    the nearest of its points: the released mechanism, on a lattice point."""
    low = dict.fromkeys(product(box, repeat=2), Fraction(0))
    high = dict.fromkeys(product(box, repeat=2), tail)
    for x, y in product(range(-REACH, REACH + 1), repeat=2):
        place = tuple(min(max(at + step, box[0]), box[-1]) for at, step in zip(centre, (x, y), strict=True))
        least, most = table[abs(x), abs(y)]
        low[place] += least
        high[place] += most
    return low, high


def test_the_guarantee_holds_for_every_pair_of_raw_places_and_every_point_of_a_small_lattice():
    """epsilon (d + sqrt(2) step), by certified sums; and epsilon d alone does not hold, so the slack is needed."""
    step, epsilon = Fraction(1, 4), Fraction(4)
    lattice, box = planar.Lattice(step), range(-2, 3)
    table, tail = weights(epsilon * step)
    raw = [(i * step / 3, j * step / 3) for i, j in product(range(-1, 5), repeat=2)]
    rounded = [tuple(map(int, lattice.nearest(np.array([[float(x), float(y)]]))[0])) for x, y in raw]
    laws = {at: law_on_a_box(at, box, table, tail) for at in set(rounded)}
    broken_without_slack = 0
    for (one, at), (other, there) in product(zip(raw, rounded, strict=True), repeat=2):
        squared = (one[0] - other[0]) ** 2 + (one[1] - other[1]) ** 2
        near, far = sqrt_bounds(squared, BITS)
        allowed = exp_bounds(epsilon * (near + lattice.slack - Fraction(1, 2**60)), BITS)[0]
        alone = exp_bounds(epsilon * far, BITS)[1]
        (low, high), (other_low, other_high) = laws[at], laws[there]
        assert all(high[z] <= allowed * other_low[z] for z in high)
        broken_without_slack += any(low[z] > alone * other_high[z] for z in low)
    assert broken_without_slack > 0


def test_points_are_rounded_to_the_nearest_lattice_point_exactly():
    lattice = planar.Lattice(Fraction(1, 8))
    points = np.random.default_rng(3).uniform(-1e6, 1e6, size=(2000, 2))
    for (x, y), (i, j) in zip(points.tolist(), lattice.nearest(points).tolist(), strict=True):
        assert abs(Fraction(x) - i * lattice.step) <= lattice.step / 2
        assert abs(Fraction(y) - j * lattice.step) <= lattice.step / 2
    assert lattice.slack**2 >= 2 * lattice.step**2


@pytest.mark.parametrize(("radius", "factor"), [(200, 4), ("0.5", 2), (50_000, "1.1"), (Fraction(1, 3), 1000)])
def test_the_words_within_the_radius_stay_true_with_the_rounding(radius, factor):
    noise = planar.PlanarNoise.within(radius, factor=factor)
    ceiling = exp_bounds(noise.exponent(radius), BITS)[1]
    assert ceiling <= Fraction(str(factor)) * (1 + Fraction(1, 10**15))
    # And nothing is given away: rounding takes a thousandth at most.
    assert float(noise.epsilon) * float(Fraction(radius)) >= 0.999 * math.log(float(Fraction(str(factor))))


def test_the_default_step_is_a_power_of_two_that_costs_a_thousandth():
    assert planar.choose_step(200) == Fraction(1, 8)
    for radius in (Fraction(1, 3), 1, 200, 12_345, 10**6):
        step = planar.choose_step(radius)
        assert planar.Lattice(step).slack <= Fraction(radius) / 1000 < 2 * planar.Lattice(step).slack


def test_k_points_of_a_person_cost_k_times_as_much_in_the_same_metric():
    places = np.zeros((6, 2))
    one = planar.perturb(places, radius=200, factor=4)
    three = planar.perturb(places, radius=200, factor=4, points_per_person=3)
    assert three.loss == one.loss * 3 == MetricLoss(3 * one.noise.epsilon, planar.METRIC)
    assert one.noise.exponent(100, points=3) == 3 * one.noise.exponent(100)


def test_a_loss_in_metres_is_no_price_and_adds_to_none():
    loss = planar.perturb(np.zeros((1, 2)), radius=200, factor=4).loss
    with pytest.raises(InvalidParameter):
        loss + Price(epsilon=Fraction(1))


def test_released_points_are_lattice_points_whatever_the_raw_ones():
    release = planar.perturb(np.array([[0.3, 1 / 3], [math.pi, -1e-9]]), radius=10, factor=2)
    steps = release.points / float(release.noise.lattice.step)
    assert np.array_equal(steps, np.rint(steps))


def test_a_secret_is_opened_only_inside_and_parts_are_done_in_order():
    places = np.random.default_rng(1).normal(size=(300_000, 2)) * 1000
    told = []
    noise = planar.PlanarNoise.within(20, factor=3)
    noisy = noise.add_to(Secret(places), entropy=insecure_seeded(1), progress=told.append)
    assert sum(told) == 300_000 and len(told) > 1
    assert planar.measured(noisy, places).mean_m == pytest.approx(noise.expected().mean_m, rel=0.01)


@pytest.mark.parametrize(
    "points",
    [np.array([[math.nan, 0.0]]), np.array([[math.inf, 0.0]]), np.array([1.0, 2.0]), np.zeros((3, 3)), [["a", "b"]],
     np.array([[1e300, 0.0]])],
)  # fmt: skip
def test_bad_points_are_refused_without_their_values(points):
    with pytest.raises(InvalidParameter) as refused:
        planar.perturb(points, radius=200, factor=4)
    assert "e+300" not in str(refused.value) and "'a'" not in str(refused.value)


@pytest.mark.parametrize(
    "wrong",
    [{"radius": 0}, {"radius": -1}, {"factor": 1}, {"factor": "0.5"}, {"step": "0.3"}, {"step": 0}, {"step": 2**21},
     {"points_per_person": 0}, {"points_per_person": True}, {"radius": 10**6, "step": "1/1048576"}],
)  # fmt: skip
def test_arguments_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidParameter):
        planar.perturb(np.zeros((1, 2)), **{"radius": 200, "factor": 4} | wrong)
