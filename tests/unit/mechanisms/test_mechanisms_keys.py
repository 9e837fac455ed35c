"""Key selection: no key of one unit alone appears with more than delta, checked over every split of its rows."""

import math
from fractions import Fraction

import numpy as np
import pytest

from dither.errors import InvalidParameter
from dither.mechanisms import gaussian_threshold, laplace_threshold, optimal_selection, selection_event
from dither.mechanisms.keys import selection_table
from dither.noise import DiscreteGaussian, DiscreteLaplace, exp_bounds, insecure_seeded
from dither.noise.gaussian_sums import gaussian_tail_bounds
from dither.secret import Secret

ONE = 1 << 128


def partitions(total, largest):
    """All ways to write `total` as a sum of parts of at most `largest`."""
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        for rest in partitions(total - part, part):
            yield (part, *rest)


def laplace_tail(scale, k):
    """Upper bound of Pr[noise >= k], summed from certified probabilities: another route than the code's."""
    law = DiscreteLaplace(scale)
    inside = sum(law.pmf_bounds(j)[0] for j in range(-(k - 1), k))
    return (1 - inside) / 2


def gaussian_tail(variance, k):
    return gaussian_tail_bounds(Fraction(variance), k - 1, 256)[1] / 2


def worst_split(tail, threshold, max_rows, largest):
    """Largest exact probability that any key of one unit alone appears, over all splits of at most max_rows rows."""
    worst = Fraction(0)
    for rows in range(1, max_rows + 1):
        for split in partitions(rows, largest):
            none = math.prod(1 - tail(threshold - part) for part in split)
            worst = max(worst, 1 - none)
    return worst


@pytest.mark.parametrize("max_rows", [1, 2, 5, 8])
@pytest.mark.parametrize(("scale", "delta"), [("1/2", "1e-2"), ("2", "1e-6"), ("8", "1e-3"), ("8", "0.2")])
def test_a_laplace_threshold_shows_no_lone_key_with_more_than_delta_and_is_the_least_such(max_rows, scale, delta):
    scale, delta = Fraction(scale), Fraction(delta)
    threshold = laplace_threshold(scale, max_rows, delta)
    tails = {k: laplace_tail(scale, k) for k in range(threshold - max_rows - 1, threshold + 1) if k >= 1}
    tail = lambda k: tails.get(k, Fraction(1))  # noqa: E731
    assert worst_split(tail, threshold, max_rows, max_rows) <= delta
    # One lower fails, unless the union bound was the only thing in the way.
    lower = max(tail(threshold - 1 - max_rows), max_rows * tail(threshold - 2))
    assert lower > delta * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("max_rows", [1, 3, 6])
@pytest.mark.parametrize(("variance", "delta"), [("1/4", "1e-4"), ("9", "1e-9"), ("400", "1e-2")])
def test_a_gaussian_threshold_shows_no_lone_key_with_more_than_delta(max_rows, variance, delta):
    variance, delta = Fraction(variance), Fraction(delta)
    threshold = gaussian_threshold(variance, max_rows, delta)
    tail = lambda k: gaussian_tail(variance, k) if k >= 1 else Fraction(1)  # noqa: E731
    assert worst_split(tail, threshold, max_rows, max_rows) <= delta
    assert max(tail(threshold - 1 - max_rows), max_rows * tail(threshold - 2)) > delta


def test_a_split_may_be_worse_than_one_key_and_the_other_way_round():
    # Narrow noise: one key with all rows decides. Wide noise: many keys with one row each.
    narrow, wide = Fraction(1, 2), Fraction(1000)
    assert laplace_threshold(narrow, 20, "1e-6") == 20 + laplace_threshold(narrow, 1, "1e-6") - 1
    assert laplace_threshold(wide, 20, "1e-6") == laplace_threshold(wide, 1, Fraction(1, 20 * 10**6))


@pytest.mark.parametrize("largest", [1, 2, 3])
def test_counts_of_units_or_of_few_rows_per_key_have_a_lower_threshold(largest):
    scale, delta = Fraction(2), Fraction(1, 1000)
    threshold = laplace_threshold(scale, 7, delta, most_per_key=largest)
    assert threshold <= laplace_threshold(scale, 7, delta)
    tail = lambda k: laplace_tail(scale, k)  # noqa: E731
    assert worst_split(tail, threshold, 7, largest) <= delta


def test_a_minimum_of_units_raises_the_threshold_by_one_less():
    assert (
        laplace_threshold(Fraction(3), 4, "1e-6", min_units_per_key=10) == laplace_threshold(Fraction(3), 4, "1e-6") + 9
    )
    assert (
        gaussian_threshold(Fraction(3), 4, "1e-6", min_units_per_key=2)
        == gaussian_threshold(Fraction(3), 4, "1e-6") + 1
    )


def test_thresholds_match_the_law_at_very_small_delta_and_very_wide_noise():
    for scale, delta in [(Fraction(10**6), "1e-30"), (Fraction(10**12, 7), "1e-9")]:
        expected = 1 + float(scale) * math.log(1 / (2 * float(delta)))
        assert laplace_threshold(scale, 1, delta) == pytest.approx(expected, rel=1e-5)
    assert gaussian_threshold(Fraction(10**12), 1, "1e-9") == pytest.approx(1e6 * 5.99781, rel=1e-5)


@pytest.mark.parametrize(
    "arguments", [(Fraction(1), 1, 0), (Fraction(1), 1, "0.5"), (Fraction(1), 0, "0.1"), (0, 1, "0.1")]
)
def test_a_threshold_without_a_meaning_is_refused(arguments):
    for threshold in (laplace_threshold, gaussian_threshold):
        with pytest.raises(InvalidParameter):
            threshold(*arguments)


def closed_form(epsilon, delta, n):
    """Desfontaines et al. 2022, in floats."""
    grow = math.exp(epsilon)
    n1 = 1 + math.floor(math.log((grow + 2 * delta - 1) / ((grow + 1) * delta)) / epsilon)
    rising = lambda n: (math.exp(n * epsilon) - 1) / (grow - 1) * delta  # noqa: E731
    if n <= n1:
        return rising(n)
    fading = math.exp(-(n - n1) * epsilon)
    return min(1.0, (1 - fading) * (1 + delta / (grow - 1)) + fading * rising(n1))


@pytest.mark.parametrize(("epsilon", "delta", "half", "always"), [("1", "1e-5", 12, 23), ("0.1", "1e-6", 109, 218)])
def test_optimal_selection_follows_the_closed_form(epsilon, delta, half, always):
    table = selection_table(Fraction(epsilon), Fraction(delta))
    assert len(table) - 1 == always and table[always] == ONE
    assert next(n for n, weight in enumerate(table) if 2 * weight >= ONE) == half
    for n, weight in enumerate(table):
        assert weight / ONE == pytest.approx(closed_form(float(epsilon), float(delta), n), abs=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-5"), ("0.1", "1e-6"), ("3", "0.01"), ("0.01", "1e-12")])
def test_optimal_selection_is_private_exactly(epsilon, delta):
    # Both outcomes, both directions, with the smaller end of e^epsilon: no rounding on our side.
    ratio = exp_bounds(Fraction(epsilon), 200)[0]
    mass = Fraction(delta)
    table = [Fraction(weight, ONE) for weight in selection_table(Fraction(epsilon), mass)]
    for one_less, n in zip(table, [*table[1:], Fraction(1)], strict=True):
        assert one_less <= n <= ratio * one_less + mass
        assert 1 - one_less <= ratio * (1 - n) + mass
    assert table[0] == 0


def test_selection_never_shows_an_empty_key_nor_hides_a_certain_one():
    counts = np.array([0] * 500 + [23] * 500 + [10**9])
    shown = optimal_selection(Secret(counts), epsilon=1, delta="1e-5", entropy=insecure_seeded(2))
    assert not shown[:500].any() and shown[500:].all()
    later = optimal_selection(counts, epsilon=1, delta="1e-5", min_units_per_key=24, entropy=insecure_seeded(2))
    assert not later[:1000].any() and later[1000]


def test_replacing_a_unit_pays_both_keys_it_touches():
    event = selection_event(1, "1e-6", "replace")
    assert event.epsilon == 2 and event.delta == Fraction(2, 10**6) - Fraction(1, 10**12)
    assert selection_event(1, "1e-6").epsilon == 1


def test_an_epsilon_too_small_for_any_key_to_appear_is_refused():
    with pytest.raises(InvalidParameter):
        selection_table(Fraction(1, 10**7), Fraction(1, 10**9))


def test_variances_are_read_as_parameters_of_the_law():
    assert DiscreteGaussian(Fraction(9)).half_width(1 - Fraction(2, 10**9)) + 2 == gaussian_threshold(
        Fraction(9), 1, "1e-9"
    )
