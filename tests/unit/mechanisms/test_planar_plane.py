"""The local plane, regions and remapping: what is done before and after the noise."""

import math

import mpmath
import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import planar
from dither.mechanisms.planar.projection import EARTH_RADIUS_M

AMSTERDAM = planar.LocalPlane(52.37, 4.90)
CENTRES = [(52.37, 4.90), (0.0, 0.0), (-33.9, 151.2), (64.1, 179.9), (-54.8, -68.3), (85.0, -180.0)]


def around(plane, count, reach_m, seed=1):
    """(latitude, longitude) of places in the disc about the centre, drawn in the plane."""
    generator = np.random.default_rng(seed)
    angle, radius = generator.uniform(0, 2 * math.pi, count), reach_m * np.sqrt(generator.uniform(0, 0.999, count))
    return plane.degrees(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]))


def sphere_distance(a, b):
    (lat1, lon1), (lat2, lon2) = np.radians(a), np.radians(b)
    chord = np.sin((lat2 - lat1) / 2) ** 2 + np.cos(lat1) * np.cos(lat2) * np.sin((lon2 - lon1) / 2) ** 2
    return 2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(chord))


@pytest.mark.parametrize("centre", CENTRES)
def test_there_and_back_is_the_same_place(centre):
    plane = planar.LocalPlane(*centre)
    latitude, longitude = around(plane, 2000, 500_000)
    assert np.all(np.abs(longitude) <= 180) and np.all(np.abs(latitude) <= 90)
    back = plane.degrees(plane.metres(latitude, longitude))
    assert np.max(sphere_distance((latitude, longitude), back)) < 1e-6


@pytest.mark.parametrize("centre", CENTRES)
def test_distances_in_the_plane_are_those_on_the_sphere_up_to_the_stretch(centre):
    plane = planar.LocalPlane(*centre)
    latitude, longitude = around(plane, 3000, 500_000)
    points = plane.metres(latitude, longitude)
    true = sphere_distance((latitude[:-1], longitude[:-1]), (latitude[1:], longitude[1:]))
    drawn = np.hypot(*(points[1:] - points[:-1]).T)
    assert np.all(drawn >= true - 1e-6) and np.all(drawn <= true * plane.stretch + 1e-6)
    assert plane.stretch < 1.0011
    away = sphere_distance((latitude, longitude), (np.full(3000, centre[0]), np.full(3000, centre[1])))
    assert np.max(np.abs(np.hypot(*points.T) - away)) < 1e-5


def test_coordinates_agree_with_the_formula_in_50_digits():
    # Snyder 1987, 22-4 and 25-2: what is computed is the stated projection to a thousandth of a millimetre.
    mpmath.mp.dps = 50
    latitude, longitude = around(AMSTERDAM, 40, 400_000)
    for (x, y), north, east in zip(AMSTERDAM.metres(latitude, longitude), latitude, longitude, strict=True):
        phi, turned, one = mpmath.radians(mpmath.mpf(float(north))), None, mpmath.radians(mpmath.mpf(52.37))
        turned = mpmath.radians(mpmath.mpf(float(east)) - mpmath.mpf(4.90))
        c = mpmath.acos(mpmath.sin(one) * mpmath.sin(phi) + mpmath.cos(one) * mpmath.cos(phi) * mpmath.cos(turned))
        k = EARTH_RADIUS_M * c / mpmath.sin(c)
        assert abs(k * mpmath.cos(phi) * mpmath.sin(turned) - x) < 1e-6
        assert (
            abs(k * (mpmath.cos(one) * mpmath.sin(phi) - mpmath.sin(one) * mpmath.cos(phi) * mpmath.cos(turned)) - y)
            < 1e-6
        )


def test_the_centre_and_its_neighbours_keep_their_digits():
    assert AMSTERDAM.metres([52.37], [4.90]).tolist() == [[0.0, 0.0]]
    x, y = AMSTERDAM.metres([52.37 + 1e-7], [4.90])[0]
    assert x == 0 and y == pytest.approx(math.radians(1e-7) * EARTH_RADIUS_M, rel=1e-6)


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [([95.0], [5.0]), ([math.nan], [5.0]), ([52.0], [math.nan]), ([52.0], [181.0]), ([-52.37], [-175.1]),
     ([40.0], [4.9]), ([[52.0]], [5.0]), ([52.0, 52.1], [5.0]), (["x"], [5.0])],
)  # fmt: skip
def test_places_that_are_none_or_too_far_are_refused_without_their_values(latitude, longitude):
    with pytest.raises(InvalidParameter) as refused:
        AMSTERDAM.metres(latitude, longitude)
    text = str(refused.value)
    assert "95.0" not in text and "181" not in text and "175.1" not in text and "40.0" not in text and "'x'" not in text


@pytest.mark.parametrize("centre", [(90, 0, 1), (0, 181, 1), (math.nan, 0, 1), (0, 0, 0), (0, 0, 2e6), (True, 0, 1)])
def test_a_plane_needs_a_centre_and_a_reach(centre):
    with pytest.raises(InvalidParameter):
        planar.LocalPlane(*centre)


L_SHAPE = planar.Region(np.array([[0, 0], [10, 0], [10, 4], [4, 4], [4, 10], [0, 10]], dtype=float))


def test_a_region_keeps_what_it_holds_and_moves_the_rest_to_its_nearest_point():
    points = np.array([[1, 1], [9, 3], [12, 2], [-3, 5], [5, 6], [6, 5], [20, 20], [-1, -1]], dtype=float)
    expected = [[1, 1], [9, 3], [10, 2], [0, 5], [4, 6], [6, 4], [10, 4], [0, 0]]
    assert L_SHAPE.nearest(points)[:6].tolist() == expected[:6]
    assert L_SHAPE.nearest(points)[6].tolist() in ([10, 4], [4, 10])
    assert L_SHAPE.nearest(points)[7].tolist() == expected[7]


def test_the_nearest_point_is_nearer_than_any_point_of_a_fine_grid():
    points = np.random.default_rng(2).uniform(-10, 20, size=(200, 2))
    grid = np.array([[x, y] for x in np.linspace(0, 10, 101) for y in np.linspace(0, 10, 101) if x <= 4 or y <= 4])
    moved = L_SHAPE.nearest(points)
    best = np.sqrt(((points[:, None] - grid[None]) ** 2).sum(axis=2)).min(axis=1)
    found = np.hypot(*(points - moved).T)
    assert np.all(found <= best + 1e-9) and np.all(found >= best - 0.1)
    assert np.all(L_SHAPE.nearest(moved) == pytest.approx(moved))


@pytest.mark.parametrize(
    "corners", [[[0, 0], [1, 1]], [[0, 0], [1, 1], [2, 2]], [[0, 0], [1, 0], [math.nan, 1]], [0, 1]]
)
def test_a_region_without_an_inside_is_refused(corners):
    with pytest.raises(InvalidParameter):
        planar.Region(np.array(corners, dtype=float))


def posterior(z, places, prior, rate):
    odds = prior * np.exp(-rate * np.hypot(*(places - z).T))
    return odds / odds.sum()


def test_remapping_is_the_posterior_mean_or_a_point_of_least_expected_distance():
    generator = np.random.default_rng(4)
    places, prior = generator.normal(size=(30, 2)) * 500 + 10_000, generator.uniform(0, 1, 30)
    noisy = generator.normal(size=(20, 2)) * 700 + 10_000
    means = planar.remap(noisy, places, prior, epsilon="0.01")
    medians = planar.remap(noisy, places, prior, epsilon="0.01", loss="distance")
    for z, mean, median in zip(noisy, means, medians, strict=True):
        share = posterior(z, places, prior, 0.01)
        assert mean == pytest.approx(share @ places, abs=1e-6)

        def cost(y, share=share):
            return share @ np.hypot(*(places - y).T)

        around_it = [median + 3 * np.array([math.cos(t), math.sin(t)]) for t in np.linspace(0, 6.2, 24)]
        assert cost(median) <= min(map(cost, [*around_it, mean, *places])) + 0.05


def test_remapping_lowers_the_expected_error_under_its_prior():
    # n = 20,000: the gain is tens of metres, the standard error below 2.
    generator = np.random.default_rng(6)
    places, prior = generator.normal(size=(40, 2)) * 600, generator.dirichlet(np.ones(40))
    true = places[generator.choice(40, size=20_000, p=prior)]
    noise = planar.PlanarNoise.within(200, factor=4)
    noisy = noise.add_to(true)
    guessed = planar.remap(noisy, places, prior, epsilon=noise.epsilon)
    before, after = ((each - true) ** 2 for each in (noisy, guessed))
    assert after.sum() < 0.8 * before.sum()
    nearest = planar.remap(noisy, places, prior, epsilon=noise.epsilon, loss="distance")
    assert np.hypot(*(nearest - true).T).mean() < np.hypot(*(guessed - true).T).mean()


def test_far_away_points_and_single_places_give_no_nan():
    far = planar.remap([[1e7, 0.0]], [[0, 0], [1, 1]], [1, 0], epsilon=1)
    assert far.tolist() == [[0.0, 0.0]]
    assert planar.remap([[3.0, 4.0]], [[5, 6]], [2], epsilon=1, loss="distance") == pytest.approx(np.array([[5, 6]]))


@pytest.mark.parametrize(
    ("places", "weights"),
    [
        ([[0, 0]], [0]),
        ([[0, 0]], [-1]),
        ([[0, math.nan]], [1]),
        ([[0, 0]], [1, 2]),
        (np.zeros((20_001, 2)), np.ones(20_001)),
    ],
)
def test_a_prior_that_is_none_is_refused(places, weights):
    with pytest.raises(InvalidParameter):
        planar.remap([[0.0, 0.0]], places, weights, epsilon=1)
