"""Streams for rho: what one unit can move, by enumeration; the noise of a whole-table release; restarts; prices."""

import json
import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from dither.accounting import rho_star
from dither.accounting.events import event_from_dict
from dither.accounting.price import price
from dither.errors import InvalidParameter
from dither.mechanisms.running import Arrivals, RunningStream, least_largest_variance, pending_roots
from dither.mechanisms.running import draws as draws_module
from dither.mechanisms.running.levels import root_levels
from dither.mechanisms.running.square_root import SquareRoot, square_root
from dither.noise import DiscreteGaussian, geometric, insecure_seeded
from dither.secret import Secret

SHAPES = [(1, 4096), (7, 4096), (4, 2), (11, 2), (23, 5), (16, 4), (60, 4)]
"""Days and memory: one level, powers, and horizons that end inside a block."""


def opened(days, memory=4096, **terms):
    return RunningStream.open(
        days, **{"rho": "1/2", "neighbours": "add_remove", "memory": memory, "entropy": insecure_seeded(1), **terms}
    )


@pytest.fixture
def no_noise(monkeypatch):
    """Noise of 0, or of what is put into this list, in order of drawing; how many draws there were."""
    planned, drawn = defaultdict(int), [0]

    def draw(law, count, entropy):
        begin, drawn[0] = drawn[0], drawn[0] + count
        return [planned[i] for i in range(begin, begin + count)]

    monkeypatch.setattr(pending_roots, "unbounded_draws", draw)
    return planned, drawn


@pytest.fixture
def coordinates(monkeypatch):
    """Every number that a stream releases, by the length of its level's square root, before totals are made of it."""
    seen = defaultdict(list)
    original = SquareRoot.next_count

    def record(self, noisy, before):
        seen[self].append(noisy)
        return original(self, noisy, before)

    monkeypatch.setattr(SquareRoot, "next_count", record)
    return seen


def noise_rows(planned, drawn, days, memory):
    """(days, draws) float64: how much of each draw each day's total holds."""
    drawn[0] = 0
    stream = opened(days, memory)
    for _ in range(days):
        stream.append()
    columns = []
    for i in range(drawn[0]):
        planned.clear()
        planned[i], drawn[0] = 2**50, 0
        stream = opened(days, memory)
        columns.append([stream.append().total / 2**50 for _ in range(days)])
    return np.array(columns).T


@pytest.mark.parametrize(("days", "memory"), SHAPES)
def test_without_noise_totals_are_the_inverse_difference(no_noise, days, memory):
    counts = np.random.default_rng(days).integers(-9, 99, days)
    stream = opened(days, memory)
    totals = [stream.append(int(count)).total for count in counts]
    assert np.abs(totals - np.cumsum(counts)).max() < 0.01


@pytest.mark.parametrize(("days", "memory"), SHAPES)
def test_stated_variances_are_the_row_norms_of_what_the_noise_does(no_noise, days, memory):
    shape, stream = root_levels(days, memory), opened(days, memory)
    rows = noise_rows(*no_noise, days, memory)
    # A draw belongs to the level whose block was begun: in order of drawing, all levels, then the levels below a close.
    level_of = [level for level in range(shape.levels) for _ in range(shape.positions(level, 0))]
    for closed in range(1, days + 1):
        closing = max(level for level in range(shape.levels) if closed % shape.span(level) == 0)
        level_of += [level for level in range(closing) for _ in range(shape.positions(level, closed))]
    variances = np.array([float(event.variance) for event in stream.price().events])[level_of]
    assert len(level_of) == rows.shape[1]
    for day in range(days):
        assert (rows[day] ** 2 * variances).sum() == pytest.approx(stream.variance(day), rel=1e-6)


def test_up_to_the_memory_a_stream_has_the_noise_of_a_whole_table(no_noise):
    n, design = 40, square_root(40)
    whole = np.array([design.totals((np.arange(n) == i).astype(np.int64)) for i in range(n)]).T
    assert np.allclose(noise_rows(*no_noise, n, 64), whole, rtol=1e-6, atol=1e-9)


def arrivals_of_a_unit(days, rows):
    """All ways in which a unit's rows can come: the day a row comes on, and the day it says it is of."""
    late = [(came, said) for came in range(days) for said in range(came + 1)]
    return [trip for count in range(rows + 1) for trip in combinations_with_replacement(late, count)]


def coordinates_with(seen, terms, days, memory, trip, steps):
    seen.clear()
    rows = Arrivals(opened(days, memory, **terms))
    for day in range(days):
        rows.row("others", day, 1)
        for (came, said), step in zip(trip, steps, strict=False):
            if came == day:
                rows.row("unit", said, step)
        rows.close_day()
    return {design: np.array(numbers, dtype=object) for design, numbers in seen.items()}


@pytest.mark.parametrize(("days", "memory"), [(3, 4096), (4, 2), (5, 3)])
@pytest.mark.parametrize(("tau", "largest"), [(1, 1), (2, 1), (1, 3)])
def test_a_unit_coming_late_with_many_rows_moves_the_stream_by_its_declared_distance_at_most(
    no_noise, coordinates, days, memory, tau, largest
):
    # Rows come up to three at a time, late or not, with steps beyond the limit: of each unit at most tau count.
    terms = {"max_rows_per_unit": tau, "largest_step": largest}
    declared = {}
    shape = root_levels(days, memory)
    for design, event in zip(shape.designs, opened(days, memory, **terms).price().events, strict=True):
        declared.setdefault(design, []).append(event)
    base = coordinates_with(coordinates, terms, days, memory, (), ())
    largest_cost, largest_distance = Fraction(0), defaultdict(int)
    for trip in arrivals_of_a_unit(days, tau + 1):
        for steps in product((-9, 1), repeat=min(len(trip), 2)):
            moved = coordinates_with(coordinates, terms, days, memory, trip, (*steps, 1))
            cost = Fraction(0)
            for design, events in declared.items():
                distance = int(sum((moved[design] - base[design]) ** 2))
                largest_distance[design] = max(largest_distance[design], distance)
                # Designs shared by two levels are told apart by nothing: take the smaller noise.
                cost += Fraction(distance) / (2 * min(event.variance for event in events))
            largest_cost = max(largest_cost, cost)
    if len(declared) == shape.levels:
        assert largest_cost <= Fraction(1, 2)
        assert all(largest_distance[design] == events[0].squared_distance for design, events in declared.items())
    assert largest_cost > Fraction(1, 4)


def test_a_truncation_that_forgets_would_be_seen(no_noise, coordinates, monkeypatch):
    monkeypatch.setattr(Arrivals, "row", lambda self, unit, day, step=1: self.stream.add(step))
    terms = {"max_rows_per_unit": 1}
    trip = ((0, 0), (0, 0))
    base = coordinates_with(coordinates, terms, 3, 4096, (), ())
    moved = coordinates_with(coordinates, terms, 3, 4096, trip, (1, 1))
    # The design that the streams themselves hold: another of the same size may have been made since.
    (event,), (design, *_) = opened(3, 4096, **terms).price().events, root_levels(3, 4096).designs
    assert sum((moved[design] - base[design]) ** 2) > 3.9 * event.squared_distance


@pytest.mark.parametrize(("signed", "times"), [(True, 4), (False, 2)])
def test_a_replaced_unit_costs_more_when_rows_may_be_negative(signed, times):
    one = opened(10).price().events[0].squared_distance
    assert opened(10, neighbours="replace", signed=signed).price().events[0].squared_distance == times * one


def test_unsigned_rows_are_cut_to_zero():
    rows = Arrivals(opened(3, rho=10**12, signed=False, largest_step=5))
    assert rows.row("ana", 0, -4) and rows.row("bo", 0, 9)
    assert abs(rows.close_day().total - 5) < 0.01


def test_what_was_released_does_not_depend_on_what_comes_later():
    one, two = opened(30, 4), opened(30, 4)
    for day in range(30):
        first, second = one.append(1), two.append(1 if day < 12 else 1000)
        assert (first.total == second.total) == (day < 12)


@pytest.mark.parametrize(("days", "memory"), [(9, 4096), (13, 3)])
def test_no_pending_number_is_a_bare_count_and_all_have_noise_of_their_own(monkeypatch, days, memory):
    drawn, unit = [0], 10**60

    def draw(law, count, entropy):
        drawn[0] += count
        return [unit * (2 * i + 1) for i in range(drawn[0] - count, drawn[0])]

    monkeypatch.setattr(pending_roots, "unbounded_draws", draw)
    monkeypatch.setattr(SquareRoot, "next_count", lambda self, noisy, before: 0.0)
    stream = opened(days, memory)
    for _ in range(days):
        stream.add(7)
        numbers = [number for level in stream.to_state()["owner"]["pending"] for number in level]
        noises = [round(Fraction(number, unit)) for number in numbers]
        assert len(set(noises)) == len(noises) and all(noise % 2 for noise in noises)
        stream.append()


def test_memory_stays_bounded_whatever_the_horizon():
    stream = opened(500_000, 1024)
    for _ in range(50):
        stream.append(1)
    state = stream.to_state()
    assert sum(map(len, state["owner"]["pending"])) + sum(map(len, state["released"]["estimates"])) <= 2 * 1024


@pytest.mark.parametrize(
    ("days", "memory"), [(1, 2), (4096, 4096), (4097, 4096), (10**5, 4096), (10**6, 2), (2**22, 4096)]
)
def test_as_few_levels_as_memory_allows(days, memory):
    shape = root_levels(days, memory)
    assert max(shape.lengths) <= memory
    assert shape.levels == 1 or memory ** (shape.levels - 1) < days


def again(stream, entropy):
    return type(stream).from_state(json.loads(json.dumps(stream.to_state())), entropy=entropy)


@pytest.mark.parametrize("memory", [3, 4096])
def test_a_restart_at_any_moment_goes_on_with_the_same_totals(memory):
    counts = np.random.default_rng(3).integers(0, 9, 40)
    through, broken = insecure_seeded(4), insecure_seeded(4)
    terms = {"rho": "1/8", "neighbours": "replace", "max_rows_per_unit": 2}
    whole, parts = opened(40, memory, entropy=through, **terms), opened(40, memory, entropy=broken, **terms)
    for count in counts:
        half = int(count) // 2
        parts.add(half)
        parts = again(parts, broken)  # in the middle of a day, too
        expected, found = whole.append(Secret(count)), parts.append(int(count) - half)
        assert (found, parts.price(), parts.day) == (expected, whole.price(), whole.day)
        parts = again(parts, broken)
        assert parts.last == expected


def test_with_one_level_two_continuations_of_a_state_agree_for_ever():
    stream = opened(30)
    stream.append(3)
    one, two = again(stream, insecure_seeded(6)), again(stream, insecure_seeded(7))
    assert [one.append(1).total for _ in range(29)] == [two.append(1).total for _ in range(29)]


def test_steps_are_the_differences_of_totals_to_the_last_bit():
    stream, before, steps = opened(50, 5, rho="1/50"), 0.0, []
    for day in range(150):
        if stream.days_left == 0:
            stream.extend()
        found = stream.append(10**6 + day)
        assert found.total == before + found.step
        before = found.total
        steps.append(found.step)
    assert math.fsum(steps) == sum(steps) == before


def test_a_day_unpacks_into_its_total_and_half_width():
    total, half_width = (day := opened(30).append(5))
    assert total == day.total and half_width == day.half_width() > 1.9 * day.variance**0.5
    assert day.half_width("0.5") < half_width


@pytest.mark.parametrize(
    ("bits", "memory", "most"), [(10, 4096, 9.5), (16, 4096, 30), (20, 4096, 44), (10, 2, 110), (16, 64, 66)]
)
def test_the_largest_variance_lies_between_what_is_possible_and_the_binary_tree(bits, memory, most):
    n = 1 << bits
    stream, shape = opened(n, memory), root_levels(n, memory)
    # Digits are free of each other: the worst day has the worst place on every level.
    worst = sum(
        float(design.gains.max()) * float(event.variance)
        for design, event in zip(shape.designs, stream.price().events, strict=True)
    )
    assert least_largest_variance(n) <= worst <= most
    assert stream.variance(n - 1) <= worst


@pytest.mark.parametrize("days", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("memory", [2, 3, 4096])
def test_no_horizon_goes_below_the_lower_bound(days, memory):
    stream = opened(days, memory)
    assert max(stream.variance(day) for day in range(days)) >= least_largest_variance(days) * (1 - 1e-9)


@pytest.mark.parametrize("memory", [4, 4096])
def test_prices_are_exactly_what_was_offered_and_survive_a_ledger(memory):
    stream = opened(50, memory, rho="1/3", max_rows_per_unit=4, largest_step=7)
    cost = price(stream.price())
    assert cost.rho == Fraction(1, 3) and cost.gaussian
    assert event_from_dict(json.loads(json.dumps(stream.price().to_dict()))) == stream.price()


def test_an_offer_of_epsilon_and_delta_buys_the_rho_it_allows():
    stream = opened(50, rho=None, epsilon=1, delta="1e-6")
    assert 0 <= rho_star(1, "1e-6") - price(stream.price()).rho < Fraction(1, 10**15)


def test_doubling_shows_its_growing_price_and_keeps_what_was_released():
    stream = opened(4, 3, rho="1/2")
    assert [(last, total.rho) for last, total in stream.growth(2)] == [(11, 1), (27, Fraction(3, 2))]
    before = [stream.append(10) for _ in range(4)]
    event = stream.extend()
    assert stream.last == again(stream, insecure_seeded(2)).last == before[-1] and opened(3).last is None
    assert event.events == stream.price().events[-len(event.events) :] and price(stream.price()).rho == 1
    after = [stream.append(10) for _ in range(8)]
    assert [day.day for day in before + after] == list(range(12))
    # The new epoch starts from the frozen total: its noise is in every later one.
    assert after[0].noise[: len(before[-1].noise)] == before[-1].noise
    assert after[0].total - before[-1].total == after[0].step
    assert abs(after[-1].total - 120) < 6 * after[-1].variance ** 0.5
    assert after[3].variance == pytest.approx(stream.variance(7))


def test_counts_of_any_size_are_exact_before_the_noise(no_noise):
    stream = opened(6, 2)
    assert stream.append(2**90).total == 2**90
    huge = opened(2)
    huge.add(10**400)
    assert math.isfinite(huge.append(0).total)


@pytest.mark.parametrize("count", [1.5, "3", [1, 2], None, np.array([True])])
def test_only_one_whole_number_is_a_count(count):
    with pytest.raises(InvalidParameter) as refused:
        opened(3).append(count)
    assert "1.5" not in str(refused.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.update(kind="running stream 1"),
        lambda s: s["owner"]["pending"].pop(),
        lambda s: s["owner"]["pending"][0].append(3),
        lambda s: s["owner"]["pending"][0].__setitem__(0, 2.5),
        lambda s: s["owner"].update(closed=8),
        lambda s: s["released"]["estimates"][0].append(1.0),
        lambda s: s["released"]["estimates"][0].__setitem__(0, float("nan")),
        lambda s: s["released"].pop("estimates"),
        lambda s: s["released"].update(last_total=float("inf")),
        lambda s: s["terms"].update(rho="1/4"),
        lambda s: s["terms"].update(epsilon="1"),
        lambda s: s["terms"].update(memory=5),
        lambda s: s["terms"].update(signed="no"),
        lambda s: s["epochs"][0]["events"].pop(),
        lambda s: s["epochs"][0]["events"][0].update(variance="7"),
    ],
)
def test_a_damaged_state_is_refused(damage):
    stream = opened(20, 3)
    for _ in range(7):
        stream.append(1)
    stored = json.loads(json.dumps(stream.to_state()))
    damage(stored)
    with pytest.raises(InvalidParameter):
        RunningStream.from_state(stored)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rho": None}, {"rho": 0}, {"epsilon": 1}, {"delta": "1e-6"}, {"epsilon": 1, "delta": "1e-6"}, {"memory": 1},
        {"memory": True}, {"memory": 2**20}, {"signed": 1}, {"days": 2**22 + 1},
    ],
)  # fmt: skip
def test_a_stream_without_a_meaning_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        opened(**{"days": 5, **wrong})


@pytest.mark.parametrize("end", [1, 3])
def test_noise_beyond_the_samplers_end_is_the_gaussians_own(monkeypatch, end):
    """A sampler that ends at 1 or 3 stands for the real one; variance 6; 6,000 draws. chi-square at a false-alarm rate
    of 1e-9; catches a tail that goes on geometrically, which is what the Laplace law does."""
    from scipy import stats

    class Ending(DiscreteGaussian):
        def sample(self, size=None, *, entropy=None):
            return np.clip(super().sample(size, entropy=entropy), -end, end)

    monkeypatch.setattr(draws_module, "_END", end)
    monkeypatch.setattr(draws_module, "geometric", lambda scale, entropy: min(geometric(scale, entropy=entropy), end))
    law, entropy = DiscreteGaussian(6), insecure_seeded(8)
    found = np.array(draws_module.unbounded_draws(Ending(6), 6_000, entropy))
    cells = np.arange(-7, 8)
    expected = np.array([float(law.pmf_bounds(int(k))[0]) for k in cells]) * len(found)
    observed = np.array([(found == k).sum() for k in cells])
    rest = len(found) - expected.sum()
    statistic = ((observed - expected) ** 2 / expected).sum() + (len(found) - observed.sum() - rest) ** 2 / rest
    assert stats.chi2.sf(statistic, len(cells)) > 1e-9


@pytest.mark.parametrize(("days", "memory"), [(3, 4096), (4, 2)])
@pytest.mark.parametrize("signed", [True, False])
def test_a_replaced_unit_moves_the_stream_by_its_declared_distance_at_most(no_noise, coordinates, days, memory, signed):
    terms = {"neighbours": "replace", "signed": signed, "largest_step": 2}
    declared = dict(zip(root_levels(days, memory).designs, opened(days, memory, **terms).price().events, strict=True))
    found = [
        coordinates_with(coordinates, terms, days, memory, trip, (step,))
        for trip in arrivals_of_a_unit(days, 2)
        for step in (-9, 9)
    ]
    costs = [
        sum(
            Fraction(int(sum((one[design] - two[design]) ** 2))) / (2 * event.variance)
            for design, event in declared.items()
        )
        for one, two in combinations(found, 2)
    ]
    # Signed, the whole price can be spent: rows of opposite sign on one day. Unsigned, days far apart come near it.
    assert max(costs) <= Fraction(1, 2) and (max(costs) > Fraction(49, 100) if signed else max(costs) > Fraction(1, 4))


@pytest.mark.parametrize(("days", "memory"), SHAPES)
def test_the_variance_of_a_range_is_that_of_the_difference_of_its_totals(no_noise, days, memory):
    shape, stream = root_levels(days, memory), opened(days, memory)
    held_by_day = noise_rows(*no_noise, days, memory)
    rows = np.vstack([np.zeros_like(held_by_day[:1]), held_by_day])
    level_of = [level for level in range(shape.levels) for _ in range(shape.positions(level, 0))]
    for closed in range(1, days + 1):
        closing = max(level for level in range(shape.levels) if closed % shape.span(level) == 0)
        level_of += [level for level in range(closing) for _ in range(shape.positions(level, closed))]
    laws = [float(event.variance) for event in stream.price().events]
    variances = np.array(laws)[level_of]
    for first, last in combinations_with_replacement(range(days), 2):
        held = ((rows[last + 1] - rows[first]) ** 2 * variances).sum()
        assert np.dot(shape.gains_between(first, last), laws) == pytest.approx(held, rel=1e-6, abs=1e-9)
