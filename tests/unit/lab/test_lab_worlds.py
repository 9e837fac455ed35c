"""Worlds: the first five rows, the published shapes, and the attacks that need rows, against hand-made cases."""

from __future__ import annotations

import numpy as np
import pytest

from dither.lab.attacks.linkage import link, unique_share
from dither.lab.attacks.membership import area_under
from dither.lab.attacks.reconstruction import solve
from dither.lab.attacks.scoreboard import identify
from dither.lab.attacks.unicity import unicity
from dither.lab.worlds import hospital
from dither.lab.worlds.hospital import Town
from dither.lab.worlds.mobility import Traces, traces
from dither.lab.worlds.ratings import ratings


def test_the_first_hospital_is_the_one_everybody_knows() -> None:
    table, truth = hospital.ward(np.random.default_rng(1), 3)
    assert hospital.FIRST_FIVE == (("Ross", 1), ("Monica", 1), ("Joey", 0), ("Phoebe", 0), ("Chandler", 1))
    assert table.columns["diabetes"][:5].tolist() == [1, 1, 0, 0, 1]
    assert truth[0]
    # In a game Chandler's bit is a coin in that hospital too.
    drawn = {bool(hospital.ward(np.random.default_rng(seed), 2, coin=True)[1][0]) for seed in range(9)}
    assert drawn == {True, False}
    assert truth.tolist() == (table.columns["diabetes"].reshape(3, 5)[:, 4] == 1).tolist()


def test_worlds_follow_from_their_seed() -> None:
    for make in (
        lambda g: hospital.town(g, 500).zip_code,
        lambda g: ratings(g, 50, 80).stars,
        lambda g: traces(g, 30).hour,
    ):
        one, same, other = (make(np.random.default_rng(seed)) for seed in (1, 1, 2))
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)


def test_the_expected_share_of_unique_people_is_the_mean_over_small_towns() -> None:
    # 40 towns of 2,000: the mean's standard error is below 0.001.
    towns = [hospital.town(np.random.default_rng(seed), 2000) for seed in range(40)]
    found = np.mean([unique_share(town.quasi_identifier()) for town in towns])
    assert found == pytest.approx(np.mean([town.unique_share_expected() for town in towns]), abs=0.002)


def test_linkage_counts_wrong_names_too() -> None:
    # Combination 1: voter and patient are one person. 2: the voter's twin is the patient. 3: two voters, so no name.
    born = np.array([1, 2, 2, 3, 3, 3])
    yes, no = True, False
    town = Town(
        np.zeros(6, dtype=np.int64), born, np.zeros(6, dtype=np.int64),
        np.array([yes, yes, no, yes, yes, no]), np.array([yes, no, yes, no, no, yes]), np.zeros(6, dtype=bool),
    )  # fmt: skip
    assert link(town, "date") == (1, 2, 3)


def test_ratings_are_between_one_and_five_and_popular_films_are_rated_more() -> None:
    world = ratings(np.random.default_rng(1), 300, 400)
    assert set(np.unique(world.stars)) <= set(range(6))
    rated = (world.stars > 0).sum(axis=0)
    assert rated[:40].mean() > 3 * rated[-40:].mean()
    assert (world.stars > 0).sum(axis=1).min() >= 20


def test_the_scoreboard_names_nobody_when_two_records_are_alike() -> None:
    world = ratings(np.random.default_rng(1), 200, 300)
    films = np.flatnonzero(world.stars[7])[:6]
    stars, days = world.stars[7, films].astype(np.int64), world.day[7, films].astype(np.int64)
    assert identify(world, films, stars, days) == (7, True)
    world.stars[8], world.day[8] = world.stars[7], world.day[7]
    best, leads = identify(world, films, stars, days)
    assert best in (7, 8) and not leads


def test_a_film_with_one_viewer_does_not_weigh_infinitely() -> None:
    world = ratings(np.random.default_rng(1), 50, 60)
    world.stars[:, 5] = 0
    world.stars[3, 5] = 4
    assert identify(world, np.array([5]), np.array([4]), np.array([int(world.day[3, 5])])) == (3, True)


def test_unicity_by_hand() -> None:
    # Person 0 has a and b, person 1 has a, person 2 has a and b too, person 3 has c alone.
    person, antenna = np.array([0, 0, 1, 2, 2, 3]), np.array([0, 1, 0, 0, 1, 2])
    world = Traces(person, antenna, np.zeros(6, dtype=np.int64), np.zeros(300), np.zeros(300), 4)
    generator = np.random.default_rng(1)
    assert unicity(world, world.points(), np.array([0, 1, 2]), [1, 2], generator) == [0, 0]
    assert unicity(world, world.points(), np.array([3]), [1, 4], generator) == [1, 1]


def test_a_coarser_map_never_makes_more_points() -> None:
    world = traces(np.random.default_rng(1), 50)
    sizes = [
        len(np.unique(world.points(grid=g, hours=h))) for g, h in ((None, 1), (None, 12), (8, 12), (3, 12), (3, 24))
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert 100 < len(world.person) / 50 < 130


def test_the_linear_program_solves_exact_sums() -> None:
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 2, 30)
    subsets = generator.integers(0, 2, (90, 30)).astype(float)
    assert np.array_equal(solve(subsets, subsets @ bits) > 0.5, bits == 1)


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order() -> None:
    scores, truth = np.array([3.0, 1.0, 2.0, 2.0]), np.array([True, False, True, False])
    # Pairs (in, out): (3,1) (3,2) (2,1) in order, (2,2) half.
    assert area_under(scores, truth) == 3.5 / 4
