"""Streams: the same noise as a whole-table release, restartable anywhere, frozen days, epochs, rows by arrival."""

import json
from fractions import Fraction

import numpy as np
import pytest

from dither.accounting.events import ComposedEvent
from dither.accounting.price import price
from dither.errors import InvalidParameter
from dither.mechanisms.running import Arrivals, RunningStream, draws, pending_tree
from dither.mechanisms.running.draws import unbounded_draw
from dither.mechanisms.running.pending_tree import PendingTree
from dither.mechanisms.running.tree import BalancedTree, choose_tree
from dither.noise import DiscreteLaplace, insecure_seeded
from dither.secret import Secret

BASE = 10_000
"""Draw number i is BASE^(i+1) below: digits of a total then show which draws it holds, and how often."""


@pytest.fixture
def telltale(monkeypatch):
    """Noise that says which draw it is; the list of all draws made."""
    drawn = []

    def draw(law, entropy):
        drawn.append(BASE ** (len(drawn) + 1))
        return drawn[-1]

    monkeypatch.setattr(pending_tree, "unbounded_draw", draw)
    return drawn


def weights(total, draws):
    """The weight of each draw in a telltale total, and the counts that are left."""
    found, rest = [], total
    for value in reversed(draws):
        weight = (2 * rest + value) // (2 * value)
        found.append(weight)
        rest -= weight * value
    return found[::-1], rest


def walk(tree, counts):
    totals = PendingTree.begin(tree, DiscreteLaplace(1), None)
    released = []
    for count in counts:
        totals.add(count)
        released.append(totals.close_day(None))
    return released


@pytest.mark.parametrize(
    "tree", [BalancedTree(4, 3, 2), BalancedTree(40, 3, 4), choose_tree(9), choose_tree(300)], ids=repr
)
def test_a_stream_holds_the_same_noise_as_the_release_of_a_whole_table(telltale, tree):
    released = walk(tree, [1] * tree.n)
    rows = [weights(total, telltale) for total in released]
    assert [rest for _, rest in rows] == list(range(1, tree.n + 1))
    stream = np.array([row for row, _ in rows])
    assert set(np.unique(stream)) <= {-1, 0, 1}
    width = sum(tree.nodes(level) for level in range(tree.levels))
    batch = np.array([tree.totals((np.arange(width) == i).astype(np.int64)) for i in range(width)], dtype=int).T
    # The same nodes, each with one draw, in another order; nodes that no total uses need no draw.
    used = lambda matrix: sorted(tuple(column) for column in matrix.T.tolist() if any(column))  # noqa: E731
    assert used(stream) == used(batch)


def test_state_holds_no_count_and_after_the_first_row_no_noise_by_itself(telltale):
    tree = BalancedTree(40, 3, 4)
    totals = PendingTree.begin(tree, DiscreteLaplace(1), None)
    for day in range(40):
        totals.add(7)
        totals.close_day(None)
        for waiting in (value for level in totals.levels for value in level):
            found, rest = weights(waiting, telltale)
            assert any(found) and rest == 7 * (day + 1)


def test_memory_stays_a_few_numbers_a_level():
    stream = RunningStream.open(100_000, epsilon=1, neighbours="add_remove", entropy=insecure_seeded(1))
    tree, most = choose_tree(100_000), 0
    for _ in range(2000):
        stream.append(1)
        most = max(most, sum(len(level) for level in stream.to_state()["owner"]["pending"]))
    assert most <= tree.k * tree.levels < 150


def again(stream, entropy):
    return type(stream).from_state(json.loads(json.dumps(stream.to_state())), entropy=entropy)


def test_a_restart_after_any_day_goes_on_with_the_same_totals():
    counts = np.random.default_rng(3).integers(0, 9, 60)
    through, broken = insecure_seeded(4), insecure_seeded(4)
    whole = RunningStream.open(60, epsilon="1/2", neighbours="replace", max_rows_per_unit=2, entropy=through)
    parts = RunningStream.open(60, epsilon="1/2", neighbours="replace", max_rows_per_unit=2, entropy=broken)
    for count in counts:
        half = int(count) // 2
        parts.add(half)
        parts = again(parts, broken)  # in the middle of a day, too
        expected, found = whole.append(Secret(count)), parts.append(int(count) - half)
        assert (found, parts.price(), parts.day) == (expected, whole.price(), whole.day)
        parts = again(parts, broken)


def test_a_restart_draws_nothing_anew_for_noise_that_is_pending():
    entropy = insecure_seeded(5)
    stream = RunningStream.open(100, epsilon=1, neighbours="add_remove", entropy=entropy)
    stream.append(3)
    half = (choose_tree(100).k - 1) // 2
    # The lowest level's remaining digits are settled: two continuations with different entropy agree on them.
    one, two = again(stream, insecure_seeded(6)), again(stream, insecure_seeded(7))
    left = [one.append(1).total for _ in range(half)], [two.append(1).total for _ in range(half)]
    assert left[0][: half - 1] == left[1][: half - 1]


def test_stated_variances_are_those_of_the_whole_table():
    stream = RunningStream.open(300, epsilon=1, neighbours="add_remove", entropy=insecure_seeded(8))
    tree, previous = choose_tree(300), 0
    for day in range(300):
        total = stream.append(1)
        ((law, draws),) = total.noise
        assert draws == tree.gains[day] and total.day == day and total.total - previous == total.step
        assert total.variance == draws * law.variance() and total.half_width() > 0
        previous = total.total
    assert law.scale == tree.levels


def test_the_horizon_is_paid_for_at_once_and_ends():
    stream = RunningStream.open(3, epsilon="1/2", neighbours="add_remove", entropy=insecure_seeded(1))
    assert price(stream.price()).epsilon == Fraction(1, 2)
    for _ in range(3):
        stream.append(1)
    assert price(stream.price()).epsilon == Fraction(1, 2) and stream.days_left == 0
    with pytest.raises(InvalidParameter, match="extend"):
        stream.append(1)


def test_doubling_shows_its_growing_price_and_keeps_what_was_released():
    stream = RunningStream.open(4, epsilon="1/2", neighbours="add_remove", entropy=insecure_seeded(2))
    assert [(last, total.epsilon) for last, total in stream.growth(3)] == [(11, 1), (27, Fraction(3, 2)), (59, 2)]
    with pytest.raises(InvalidParameter, match="days left"):
        stream.extend()
    before = [stream.append(10) for _ in range(4)]
    event = stream.extend()
    assert event == ComposedEvent(stream.price().events[1:]) and price(stream.price()).epsilon == 1
    after = [stream.append(10) for _ in range(8)]
    assert [day.day for day in before + after] == list(range(12))
    # The new epoch starts from the frozen total: its noise is in every later one.
    assert after[0].noise[0] == before[-1].noise[0] and len(after[-1].noise) == 2
    assert after[0].total - before[-1].total == after[0].step
    assert abs(after[-1].total - 120) < 6 * after[-1].variance ** 0.5
    assert stream.extend(3).events[0].distance == choose_tree(3).levels and stream.days_left == 3


def test_rows_beyond_a_units_limit_and_rows_of_released_days_are_dropped(telltale):
    rows = Arrivals(RunningStream.open(8, epsilon=1, neighbours="add_remove", max_rows_per_unit=2, largest_step=5))
    assert rows.row("ana", 0) and rows.row("bo", 0, 99) and rows.row("ana", 0, -2)
    assert not rows.row("ana", 0)
    first = rows.close_day()
    assert not rows.row("cy", 0) and not rows.row("bo", 0)
    assert not rows.row("ana", 1) and rows.row("bo", 1) and not rows.row("bo", 1)
    with pytest.raises(InvalidParameter):
        rows.row("cy", 2)
    second = rows.close_day()
    counted = [weights(day.total, telltale)[1] for day in (first, second)]
    assert counted == [1 + 5 - 2, 1 + 5 - 2 + 1]


def test_limits_survive_a_restart_and_begin_anew_with_an_epoch():
    rows = Arrivals(RunningStream.open(1, epsilon=1, neighbours="add_remove", entropy=insecure_seeded(1)))
    assert rows.row("ana", 0)
    rows = again(rows, insecure_seeded(2))
    assert not rows.row("ana", 0)
    rows.close_day()
    assert rows.extend(5).events[0].distance == choose_tree(5).levels
    assert rows.row("ana", 1) and not rows.row("ana", 1)


def test_neighbours_move_kept_rows_by_one_unit_only():
    rng = np.random.default_rng(9)
    arrivals = [(str(rng.integers(4)), day) for day in range(6) for _ in range(5)]

    def kept(without):
        rows = Arrivals(RunningStream.open(6, epsilon=1, neighbours="add_remove", max_rows_per_unit=2))
        counts = np.zeros(6, dtype=int)
        for day in range(6):
            for unit, when in arrivals:
                if when == day and unit != without:
                    counts[day] += rows.row(unit, day)
            rows.close_day()
        return counts

    assert all(np.abs(kept(None) - kept(str(unit))).sum() == 2 for unit in range(4))


@pytest.mark.parametrize(
    "damage",
    [
        lambda s: s.pop("owner"),
        lambda s: s.update(kind="something else"),
        lambda s: s["owner"]["pending"].pop(),
        lambda s: s["owner"]["pending"][0].append(3),
        lambda s: s["owner"].update(closed=3),
        lambda s: s["owner"]["pending"][0].__setitem__(0, 1.5),
        lambda s: s["epochs"][0]["events"][0].update(scale="3"),
        lambda s: s["released"].update(days=7),
        lambda s: s["terms"].update(epsilon="0"),
        lambda s: s["terms"].update(neighbours="near"),
        lambda s: s.update(epochs=[]),
        lambda s: s["epochs"][0].update(days=0),
        lambda s: s["released"].update(last_total="much"),
    ],
)
def test_a_damaged_state_is_refused(damage):
    stream = RunningStream.open(9, epsilon=1, neighbours="add_remove", entropy=insecure_seeded(1))
    stream.append(1)
    stored = json.loads(json.dumps(stream.to_state()))
    damage(stored)
    with pytest.raises(InvalidParameter):
        RunningStream.from_state(stored)


@pytest.mark.parametrize(
    "stored", [{}, {"stream": 3, "rows_of_unit": {}}, {"rows_of_unit": {"ana": "2"}}, {"stream": {}}]
)
def test_damaged_arrivals_are_refused(stored):
    good = Arrivals(RunningStream.open(3, epsilon=1, neighbours="add_remove")).to_state()
    with pytest.raises(InvalidParameter):
        Arrivals.from_state({**good, **stored} if stored else {})


@pytest.mark.parametrize("wrong", [{"days": 0}, {"epsilon": 0}, {"max_rows_per_unit": 0}, {"largest_step": True}])
def test_a_stream_without_a_meaning_is_refused(wrong):
    arguments = {"days": 5, "epsilon": 1, "neighbours": "add_remove", **wrong}
    with pytest.raises(InvalidParameter):
        RunningStream.open(arguments.pop("days"), **arguments)


@pytest.mark.parametrize("sign", [1, -1])
def test_noise_goes_on_beyond_the_samplers_end(monkeypatch, sign):
    class AtTheEnd(DiscreteLaplace):
        def sample(self, size=None, *, entropy=None):
            return sign * 2**62

    further = iter([2**62, 17])
    monkeypatch.setattr(draws, "geometric", lambda scale, entropy: next(further))
    assert unbounded_draw(AtTheEnd(5), None) == sign * (2**63 + 17)
    assert unbounded_draw(DiscreteLaplace(1), insecure_seeded(1)) == DiscreteLaplace(1).sample(
        entropy=insecure_seeded(1)
    )
