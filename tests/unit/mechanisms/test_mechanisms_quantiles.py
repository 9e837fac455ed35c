"""Several quantiles together: draws against the law place by place; that law over all small neighbouring databases."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dither.errors import InvalidParameter
from dither.mechanisms import (
    Histograms,
    choose_end,
    choose_end_of_each,
    choose_quantile,
    choose_quantile_of_each,
    choose_quantiles,
    quantiles,
)
from dither.mechanisms.quantile import rank_sensitivity
from dither.mechanisms.quantile_ends import ranks_aside
from dither.mechanisms.quantiles import levels_of
from dither.noise import insecure_seeded
from support.quantile_laws import joint_law, single_law

QUARTILES = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
LISTS = [[Fraction(1, 2)], QUARTILES, [Fraction(0), Fraction(1, 3), Fraction(1)], [Fraction(1, 2), Fraction(1)]]


def histograms(groups, *, lo, hi):
    cells = [np.array(sorted(rows), dtype=np.int64) for rows in groups]
    counts = [np.array([rows[cell] for cell in sorted(rows)], dtype=np.int64) for rows in groups]
    starts = np.concatenate([[0], np.cumsum([len(c) for c in cells])]).astype(np.int64)
    empty = [np.empty(0, dtype=np.int64)]
    return Histograms(np.concatenate(cells + empty), np.concatenate(counts + empty), starts, lo, hi)


def chosen(rows, asked, *, lo, hi, epsilon=Fraction(1000), seed=1, **terms):
    places = choose_quantiles(
        histograms([rows], lo=lo, hi=hi), asked, epsilon=epsilon, entropy=insecure_seeded(seed),
        **{"max_rows": 1, **terms},
    )  # fmt: skip
    return (lo + places[:, 0] // quantiles.PARTS).tolist()


@pytest.mark.parametrize("asked", LISTS)
@pytest.mark.parametrize("rows", [{}, {1: 1}, {0: 2, 3: 5}, {0: 1, 1: 30, 4: 1}, {2: 400}])
def test_draws_follow_the_law_place_by_place(monkeypatch, asked, rows):
    # 10,000 draws a case, false alarm < 1e-9 each; catches an epsilon 25 % off, a target one rank off, ties left out.
    monkeypatch.setattr(quantiles, "PARTS", 2)
    draws = 10_000
    shifted = {cell - 2: count for cell, count in rows.items()}
    found = choose_quantiles(
        histograms([shifted] * draws, lo=-2, hi=2),
        asked,
        epsilon=Fraction(7, 10),
        max_rows=1,
        entropy=insecure_seeded(5),
    )
    law = joint_law(rows, asked, cells=5, parts=2, epsilon=Fraction(7, 10))
    seen = Counter(zip(*found.tolist(), strict=True))
    assert set(seen) <= set(law)
    common = [key for key, p in law.items() if p * draws >= 10]
    observed = [seen[key] for key in common]
    expected = [law[key] * draws for key in common]
    rest = draws - sum(expected)
    if rest > 10:
        observed, expected = [*observed, draws - sum(observed)], [*expected, rest]
    expected = [e * sum(observed) / sum(expected) for e in expected]
    assert len(expected) == 1 or stats.chisquare(observed, expected).pvalue > 1e-9


def databases(cells, most):
    for counts in itertools.product(range(most + 1), repeat=cells):
        if sum(counts) <= most:
            yield {cell: count for cell, count in enumerate(counts) if count}


def farthest(one, other):
    return max(abs(math.log(one[key] / other[key])) for key in one)


def renyi_2(one, other):
    return math.log(sum(p * p / other[key] for key, p in one.items()))


@pytest.mark.parametrize("asked", LISTS)
def test_no_row_that_comes_or_goes_moves_the_law_by_more_than_was_paid(asked):
    # Every database of up to 4 rows in 3 cells, one row added anywhere: pure epsilon, and rho at order 2.
    epsilon = Fraction(9, 10)
    laws = {tuple(rows.items()): joint_law(rows, asked, cells=3, parts=2, epsilon=epsilon) for rows in databases(3, 4)}
    levels = levels_of(len(asked))
    worst = 0.0
    for key, law in laws.items():
        for cell in range(3):
            rows = dict(key)
            rows[cell] = rows.get(cell, 0) + 1
            other = laws.get(tuple(sorted(rows.items())))
            if other is not None:
                worst = max(worst, farthest(law, other))
                assert farthest(law, other) <= float(levels * epsilon) + 1e-9
                for a, b in ((law, other), (other, law)):
                    assert renyi_2(a, b) <= 2 * levels * float(epsilon) ** 2 / 8 + 1e-9
    # The bound is of use: something comes near a half of it.
    assert worst > float(levels * epsilon) * 0.3


def test_a_row_that_changes_sides_is_paid_for_twice_under_replace():
    epsilon = Fraction(9, 10)
    asked = QUARTILES
    laws = {
        tuple(rows.items()): joint_law(rows, asked, cells=3, parts=2, epsilon=epsilon, factor=2)
        for rows in databases(3, 4)
    }
    plain = {key: joint_law(dict(key), asked, cells=3, parts=2, epsilon=epsilon) for key in laws}
    worst = worst_plain = 0.0
    for key in laws:
        for cell, to in itertools.permutations(range(3), 2):
            rows = dict(key)
            if cell not in rows:
                continue
            rows[cell] -= 1
            rows[to] = rows.get(to, 0) + 1
            other = tuple(sorted((c, n) for c, n in rows.items() if n))
            worst = max(worst, farthest(laws[key], laws[other]))
            worst_plain = max(worst_plain, farthest(plain[key], plain[other]))
    assert worst <= float(2 * epsilon) + 1e-9
    assert worst_plain > worst


def test_a_unit_of_several_rows_in_several_groups_moves_all_together_by_no_more():
    epsilon, tau = Fraction(9, 10), 3
    asked = QUARTILES
    for rows in databases(2, 2):
        for extra in databases(2, 3):
            for elsewhere in databases(2, 3):
                if 0 < sum(extra.values()) + sum(elsewhere.values()) <= tau:
                    moved = 0.0
                    for more in (extra, elsewhere):
                        both = {c: rows.get(c, 0) + more.get(c, 0) for c in {*rows, *more}}
                        laws = [
                            joint_law(r, asked, cells=2, parts=2, epsilon=epsilon, max_rows=tau) for r in (rows, both)
                        ]
                        moved += farthest(*laws)
                    assert moved <= float(2 * epsilon) + 1e-9


DECILES = [Fraction(i, 10) for i in range(11)]


def test_heavy_ties_one_value_one_row_and_no_row_have_quantiles():
    assert chosen({5: 10_000_000}, DECILES, lo=0, hi=100) == [5] * 11
    assert chosen({7: 1}, DECILES, lo=0, hi=100) == [7] * 11
    assert chosen({5: 3}, DECILES, lo=5, hi=5) == [5] * 11
    empty = chosen({}, DECILES, lo=0, hi=100)
    assert empty == sorted(empty) and empty[0] >= 0 and empty[-1] <= 100
    assert chosen({1: 400, 5: 600}, QUARTILES, lo=0, hi=9, epsilon=Fraction(2)) == [1, 5, 5]
    assert chosen(dict.fromkeys(range(101), 1), DECILES, lo=0, hi=100) == list(range(0, 101, 10))


def test_counts_beyond_64_bits_of_parts_are_still_told_apart():
    asked = [Fraction(1, 1_000_000), Fraction(1, 2)]
    assert chosen({0: 2**40, 9: 2**40}, asked, lo=0, hi=9)[0] == 0
    assert chosen({3: 2**44}, QUARTILES, lo=0, hi=9) == [3, 3, 3]


def test_quantiles_of_every_group_never_fall():
    generator = np.random.default_rng(3)
    groups = [dict(Counter(generator.integers(0, 50, n).tolist())) for n in (0, 1, 2, 5, 100, 3)]
    places = choose_quantiles(
        histograms(groups, lo=0, hi=49), DECILES, epsilon=Fraction(1, 10), max_rows=2, entropy=insecure_seeded(9)
    )
    assert places.shape == (11, 6) and (np.diff(places, axis=0) >= 0).all()
    assert places.min() >= 0 and places.max() < 50 * quantiles.PARTS


@pytest.mark.parametrize(
    "asked", [[], [Fraction(1, 2), Fraction(1, 4)], [Fraction(1, 2)] * 2, [Fraction(3, 2)], [Fraction(1, 1_234_567)]]
)
def test_lists_that_are_no_ascending_shares_are_refused(asked):
    with pytest.raises(InvalidParameter):
        chosen({1: 1}, asked, lo=0, hi=9)


@pytest.mark.parametrize("level", [Fraction(0), Fraction(1)])
@pytest.mark.parametrize("rows", [{}, {3: 1}, {3: 5, 4: 90}])
def test_an_extreme_of_much_epsilon_is_the_extreme_and_never_the_bound(rows, level):
    # Ranks are met at halves: aiming at rank n itself, every empty cell up to the bound would do as well.
    cells, counts = (np.array(part, dtype=np.int64) for part in (list(rows), list(rows.values())))
    for seed in range(20):
        found = choose_quantile(
            cells, counts, lo=0, hi=70, quantile=level, epsilon=Fraction(1000), max_rows=1,
            entropy=insecure_seeded(seed),
        )  # fmt: skip
        if rows:
            assert found == (min(rows) if level == 0 else max(rows))


MANY = [{}, {0: 3}, {1: 2, 3: 1}, {0: 1, 1: 30, 4: 1}, {2: 400}, {0: 2, 1: 1, 2: 1, 3: 1, 4: 3}]
"""Groups of every kind: none occupied, one cell, gaps, no gap, ties."""


def follows(found, law, draws):
    """Is what was found so often drawn from the law? False alarm < 1e-9."""
    seen = Counter(found)
    assert set(seen) <= set(law)
    common = [key for key, p in law.items() if p * draws >= 5]
    observed, share = [seen[key] for key in common], sum(law[key] for key in common)
    assert sum(observed) >= draws * share - 6 * math.sqrt(draws)
    expected = [law[key] / share * sum(observed) for key in common]
    return len(common) == 1 or stats.chisquare(observed, expected).pvalue > 1e-9


@pytest.mark.parametrize("quantile", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_many_groups_at_once_have_the_law_of_each_alone(quantile):
    # 5,000 groups of each of six kinds in turn; catches another group's ranks, aims or gaps, a common denominator left
    # out, and an epsilon 25 % off.
    each, epsilon = 5_000, Fraction(7, 10)
    groups = histograms([{cell - 2: n for cell, n in rows.items()} for rows in MANY] * each, lo=-2, hi=2)
    cells = choose_quantile_of_each(groups, quantile=quantile, epsilon=epsilon, max_rows=1, entropy=insecure_seeded(5))
    assert cells.shape == (len(MANY) * each,) and -2 <= cells.min() <= cells.max() <= 2
    per_rank = epsilon / rank_sensitivity(quantile, "add_remove")
    for kind, rows in enumerate(MANY):
        total = Fraction(sum(rows.values()))
        aim = quantile * total
        if quantile in (0, 1):
            inside = Fraction(max(1, round(4 * math.log(5) / float(per_rank))), 2)
            at = min(inside, max(total - Fraction(1, 2), Fraction(1, 2)))
            aim = at if quantile == 0 else total - at
        law = single_law(rows, aim, cells=5, per_rank=per_rank)
        assert follows((cells[kind :: len(MANY)] + 2).tolist(), law, each)


@pytest.mark.parametrize("side", [-1, 1])
def test_the_ends_of_many_groups_at_once_have_the_law_of_each_alone(side):
    each, epsilon, quantile = 5_000, Fraction(3, 2), Fraction(1, 3)
    groups = histograms([{cell - 2: n for cell, n in rows.items()} for rows in MANY] * each, lo=-2, hi=2)
    cells, known = choose_end_of_each(
        groups, quantile=quantile, side=side, epsilon=epsilon, max_rows=1, entropy=insecure_seeded(6)
    )
    assert np.all(cells[~known] == 2 * side)
    per_rank = epsilon / rank_sensitivity(quantile, "add_remove")
    for kind, rows in enumerate(MANY):
        total = Fraction(sum(rows.values()))
        aim = quantile * total + side * ranks_aside(5, per_rank)
        beyond = max(aim, Fraction(0)) if side < 0 else max(total - aim, Fraction(0))
        law = single_law(rows, aim, cells=5, per_rank=per_rank, beyond=beyond)
        own = slice(kind, None, len(MANY))
        found = [
            cell + 2 if sure else None for cell, sure in zip(cells[own].tolist(), known[own].tolist(), strict=True)
        ]
        assert follows(found, law, each)


def test_one_group_alone_is_the_case_of_one():
    rows = {1: 2, 3: 1}
    cells, counts = (np.array(part, dtype=np.int64) for part in (list(rows), list(rows.values())))
    terms = {"quantile": Fraction(1, 2), "epsilon": Fraction(1), "max_rows": 2}
    one = choose_quantile(cells, counts, lo=0, hi=9, entropy=insecure_seeded(3), **terms)
    each = choose_quantile_of_each(histograms([rows], lo=0, hi=9), entropy=insecure_seeded(3), **terms)
    assert each.tolist() == [one]
    assert choose_quantile_of_each(histograms([], lo=0, hi=9), **terms).tolist() == []


# Ends of intervals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("quantile", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_an_end_is_beyond_the_quantile_in_39_of_40_cases_whatever_the_data(side, quantile):
    # The exact law, over every database of up to 6 rows in 5 cells and some large ones.
    epsilon = Fraction(1)
    sensitivity = rank_sensitivity(quantile, "add_remove")
    aside = ranks_aside(5, epsilon / sensitivity)
    large = [{2: 40}, {0: 40}, {4: 40}, {0: 20, 4: 20}, dict.fromkeys(range(5), 30), {1: 19, 3: 21}, {1: 21, 3: 19}]
    for rows in [*databases(5, 6), *large]:
        total = sum(rows.values())
        aim = quantile * total + side * aside
        beyond = max(aim, Fraction(0)) if side < 0 else max(total - aim, Fraction(0))
        law = single_law(rows, aim, cells=5, per_rank=epsilon / sensitivity, beyond=beyond)
        values = sorted(cell for cell, count in rows.items() for _ in range(count))
        if values:
            true = [float(np.quantile(values, float(quantile), method=m)) for m in ("linear", "lower", "higher")]
            wrong = sum(
                p for cell, p in law.items()
                if cell is not None and any(cell > t if side < 0 else cell < t for t in true)
            )  # fmt: skip
            assert wrong <= 1 / 40


@pytest.mark.parametrize("side", [-1, 1])
def test_draws_of_an_end_follow_its_law(side):
    # 8,000 draws, false alarm < 1e-9; catches a missing candidate beyond, and an aim on the wrong side.
    rows, epsilon, draws = {1: 2, 3: 1}, Fraction(3, 2), 8_000
    cells, counts = np.array([1, 3]), np.array([2, 1])
    source = insecure_seeded(8)
    seen = Counter(
        choose_end(
            cells, counts, lo=0, hi=4, quantile=Fraction(1, 2), side=side, epsilon=epsilon, max_rows=1, entropy=source
        )
        for _ in range(draws)
    )
    aim = Fraction(3, 2) + side * Fraction(ranks_aside(5, epsilon * 2))
    beyond = max(aim, Fraction(0)) if side < 0 else max(3 - aim, Fraction(0))
    law = single_law(rows, aim, cells=5, per_rank=epsilon * 2, beyond=beyond)
    expected = np.array([law[key] for key in law]) * draws
    assert stats.chisquare([seen[key] for key in law], expected).pvalue > 1e-9


@pytest.mark.parametrize("factor", [1, 2])
def test_no_row_moves_the_law_of_an_end_by_more_than_was_paid(factor):
    epsilon = Fraction(9, 10)
    for quantile, side in itertools.product([Fraction(0), Fraction(1, 3), Fraction(1, 2)], (-1, 1)):
        sensitivity = rank_sensitivity(quantile, "replace" if factor == 2 else "add_remove")
        per_rank = epsilon / sensitivity

        def law(rows, quantile=quantile, side=side, per_rank=per_rank):
            total = sum(rows.values())
            aim = quantile * total + side * Fraction(3)
            beyond = max(aim, Fraction(0)) if side < 0 else max(total - aim, Fraction(0))
            return single_law(rows, aim, cells=3, per_rank=per_rank, beyond=beyond)

        for rows in databases(3, 5):
            for cell in range(3):
                more = {**rows, cell: rows.get(cell, 0) + 1}
                assert farthest(law(rows), law(more)) <= float(epsilon / factor) + 1e-9


@pytest.mark.parametrize("quantile", [Fraction("0.333333333333333333"), Fraction(1, 10**6 + 1)])
def test_a_quantile_of_too_many_digits_is_refused_whoever_chooses(quantile):
    # Its denominator times the ranks wrapped around 64 bits: distances were no longer those of neighbours.
    cells = counts = np.array([1, 2], dtype=np.int64)
    known = {"lo": 0, "hi": 9, "quantile": quantile, "epsilon": Fraction(1), "max_rows": 1}
    with pytest.raises(InvalidParameter, match="six digits"):
        choose_quantile(cells, counts, **known)
    with pytest.raises(InvalidParameter, match="six digits"):
        choose_end(cells, counts, side=1, **known)


@pytest.mark.parametrize("side", [-1, 1])
def test_an_end_for_next_to_nothing_is_the_bound_and_no_error(side):
    # It aimed further aside than 64 bits reach, and failed after the question was charged.
    cells, counts = np.array([1, 2], dtype=np.int64), np.array([10, 2**40], dtype=np.int64)
    known = {"lo": 0, "hi": 2**20, "quantile": Fraction(333_333, 10**6), "max_rows": 10_000}
    found = [choose_end(cells, counts, side=side, epsilon=Fraction(1, 10**18), **known) for _ in range(40)]
    assert found.count(None) >= 35


def test_extremes_beside_others_for_next_to_nothing_are_still_chosen():
    rows = Histograms(*(np.array(v, dtype=np.int64) for v in ([3, 5], [2**40, 7], [0, 2])), 0, 2**20)
    asked = [Fraction(0), Fraction(1, 2), Fraction(1)]
    places = choose_quantiles(rows, asked, epsilon=Fraction(1, 10**18), max_rows=10_000)
    assert (np.diff(places[:, 0]) >= 0).all() and 0 <= places.min() <= places.max() < (2**20 + 1) * quantiles.PARTS


@pytest.mark.parametrize("rows", [{}, {0: 5}, {0: 10**6}])
def test_more_quantiles_than_places_are_still_chosen(monkeypatch, rows):
    """Where an interval has no place left in any group, there is nothing to draw: it once failed, by what was drawn."""
    monkeypatch.setattr(quantiles, "PARTS", 2)
    for seed in range(20):
        found = chosen(rows, [Fraction(i, 40) for i in range(1, 40)], lo=0, hi=0, seed=seed)
        assert found == [0] * 39
