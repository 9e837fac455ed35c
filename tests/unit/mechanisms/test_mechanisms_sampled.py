"""Opaque statistics: total, the same for every order of rows, on an exact grid, with noise of the sampled size."""

from __future__ import annotations

import itertools
import math
import sys
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from dither.accounting import RandomLoss
from dither.differences import REPLACE, difference_norm, sampled_sensitivity
from dither.errors import InvalidParameter
from dither.mechanisms import Population, Statistic, sampled_noise, sampled_statistic
from dither.mechanisms.sampled.table import in_order, shape_of, table_of
from dither.noise import DiscreteLaplace, insecure_seeded
from dither.secret import Secret

ROWS = {"x": [3.0, 1.0, 2.0]}


def uniform(seed: int = 1) -> Population:
    generator = np.random.default_rng(seed)
    return Population("uniform", lambda count: {"x": generator.uniform(0, 10, count)})


def mean(rows: Any) -> Any:
    return rows["x"].mean()


# The shape of rows ------------------------------------------------------------------------------------------------


def test_rows_come_as_floats_times_and_texts_whatever_they_were() -> None:
    frame = pd.DataFrame(
        {
            "n": [1, 2],
            "b": [True, False],
            "d": pd.to_datetime(["2026-01-01", None]),
            "t": ["a", None],
            "i": pd.array([7, None], dtype="Int64"),
        }
    )
    rows = table_of(frame)
    assert shape_of(rows) == {"n": "number", "b": "number", "d": "time", "t": "text", "i": "number"}
    assert (
        rows["n"].dtype == np.float64 and np.isnat(rows["d"][1]) and rows["t"][1] is None and math.isnan(rows["i"][1])
    )
    masked = table_of({"m": np.ma.array([1, 2], mask=[False, True])})
    assert masked["m"][0] == 1 and math.isnan(masked["m"][1])


@pytest.mark.parametrize(
    "wrong",
    [None, 3, {}, {1: [1]}, {"x": [1, 2], "y": [1]}, {"x": [[1, 2]]}, {"x": ["a", 1]}, {"x": [object()]}, {"x": [1j]}],
)
def test_what_are_no_rows_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        table_of(wrong)


def test_the_order_of_rows_tells_nothing() -> None:
    """Every order of rows that differ only in the last place compared, in a sign of zero, or in a zero character."""
    records = [(0.0, "a"), (-0.0, "a\0"), (0.0, None), (math.nan, "a"), (math.nan, "b")]
    seen = set()
    for order in itertools.permutations(records):
        rows = in_order(table_of({"x": np.array([x for x, _ in order]), "t": [t for _, t in order]}))
        seen.add(repr([(str(x), t) for x, t in zip(rows["x"], rows["t"], strict=True)]))
    assert len(seen) == 1


# The statistic ----------------------------------------------------------------------------------------------------


def fails(rows: Any) -> Any:
    raise ValueError(f"rows are {rows['x']}")


def ends(rows: Any) -> Any:
    sys.exit(3)


class Odd(BaseException):
    """No Exception, as some libraries' cancellations are not."""


def cancels(rows: Any) -> Any:
    raise Odd


def interrupted(rows: Any) -> Any:
    raise KeyboardInterrupt


def test_an_interrupt_is_the_users_own() -> None:
    with pytest.raises(KeyboardInterrupt):
        Statistic.of(interrupted, bounds=(0, 8))(table_of(ROWS))


@pytest.mark.parametrize(
    "f",
    [
        fails, ends, cancels, lambda rows: math.nan, lambda rows: None, lambda rows: "seven", lambda rows: [1.0, 2.0],
        lambda rows: [[1.0]], lambda rows: [1.0], lambda rows: {}, lambda rows: 10**400, lambda rows: rows["y"],
        lambda rows: 1 / 0, lambda rows: 1j,
    ],
)  # fmt: skip
def test_whatever_is_no_answer_is_the_output_chosen_beforehand(f: Any) -> None:
    statistic = Statistic.of(f, bounds=(0, 8), otherwise=3)
    steps, reason = statistic.outcome(table_of(ROWS))
    assert statistic.value(steps) == (3,) and reason


def test_the_output_chosen_beforehand_is_the_middle_unless_said() -> None:
    assert Statistic.of(fails, bounds=(-2, 8)).value(Statistic.of(fails, bounds=(-2, 8))(table_of(ROWS))) == (3,)
    vector = Statistic.of(fails, bounds=[(0, 1), (0, 4)], otherwise=[1, 0])
    assert vector.value(vector(table_of(ROWS))) == (1, 0)


@pytest.mark.parametrize(
    ("answer", "expected"), [(math.inf, 8), (-math.inf, 0), (1e300, 8), (-5, 0), (Fraction(5, 2), 2.5), (True, 1)]
)
def test_answers_are_moved_into_their_bounds(answer: Any, expected: float) -> None:
    statistic = Statistic.of(lambda rows: answer, bounds=(0, 8))
    assert statistic.value(statistic(table_of(ROWS))) == (expected,)


def test_the_grid_is_fixed_by_the_bounds_and_finer_than_a_billionth_of_them() -> None:
    for low, high in [(0, 1), ("0.1", "0.3"), (-(10**9), 10**9), (10**15, 10**15 + 1)]:
        statistic = Statistic.of(mean, bounds=(low, high))
        (step,) = statistic.steps
        width = statistic.highs[0] - statistic.lows[0]
        assert 2**30 < width / step <= 2**31 and math.log2(step).is_integer()
        for part in (0, Fraction(1, 3), 1):
            value = statistic.lows[0] + part * width
            found = Statistic.of(lambda rows, v=value: float(v), bounds=(low, high))
            moved = min(max(Fraction(float(value)), found.lows[0]), found.highs[0])
            assert abs(found.value(found(table_of(ROWS)))[0] - moved) <= step / 2


def test_what_it_prints_or_warns_of_is_not_seen(capsys: Any) -> None:
    def loud(rows: Any) -> Any:
        print(rows)
        print(rows, file=sys.stderr)
        warnings.warn(str(rows["x"][0]), stacklevel=1)
        return np.log(rows["x"] - rows["x"])[0]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Statistic.of(loud, bounds=(0, 1))(table_of(ROWS))[0] == 0
    assert capsys.readouterr() == ("", "")


def test_it_may_change_what_it_is_given() -> None:
    def destroys(rows: Any) -> Any:
        rows["x"].sort()
        rows["x"] *= 0
        return 0

    rows = table_of(ROWS)
    Statistic.of(destroys, bounds=(0, 1))(rows)
    assert rows["x"].tolist() == [3, 1, 2]


@pytest.mark.parametrize(
    "wrong",
    [
        {"bounds": (1, 1)}, {"bounds": (2, 1)}, {"bounds": (0, math.inf)}, {"bounds": []}, {"bounds": [(0, 1)] * 1025},
        {"bounds": (0, 1), "otherwise": 2}, {"bounds": [(0, 1)], "otherwise": 0}, {"bounds": (0, 1, 2)},
        {"bounds": (0, 1), "f": 3},
    ],
)  # fmt: skip
def test_wrong_statistics_are_refused(wrong: Any) -> None:
    with pytest.raises(InvalidParameter):
        Statistic.of(wrong.pop("f", mean), **wrong)


# The population ---------------------------------------------------------------------------------------------------


def test_a_public_table_is_drawn_from_with_replacement() -> None:
    """2,000 draws of 4 rows: each comes 400 to 600 times (false alarm < 1e-6); catches a draw that leaves one out."""
    rows = Population.of_table("four", {"x": [0, 1, 2, 3], "t": list("abcd")}, seed=5).rows(2000)
    assert all(400 <= (rows["x"] == value).sum() <= 600 for value in range(4))
    assert {(x, t) for x, t in zip(rows["x"], rows["t"], strict=True)} == {(0, "a"), (1, "b"), (2, "c"), (3, "d")}


def test_wrong_populations_are_refused() -> None:
    for name in ("", "a\nb", "x" * 201, None):
        with pytest.raises(InvalidParameter):
            Population(name, lambda count: ROWS)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        Population("p", ROWS)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="at least one row"):
        Population.of_table("p", {"x": []})
    with pytest.raises(InvalidParameter, match="5 rows when asked for 5"):
        Population("p", lambda count: {"x": [1.0]}).rows(5)


def test_a_population_whose_columns_change_is_refused() -> None:
    columns = iter(["x", "y"])
    fickle = Population("p", lambda count: {next(columns): np.zeros(count)})
    with pytest.raises(InvalidParameter, match="same columns"):
        sampled_noise(Statistic.of(len, bounds=(0, 9)), fickle, rows=3, gamma="0.1", epsilon=1)


# The noise --------------------------------------------------------------------------------------------------------


def test_the_sensitivity_is_what_the_calculus_of_differences_samples() -> None:
    """The same draws through `differences.sampled_sensitivity`, unit by unit."""
    statistic = Statistic.of(mean, bounds=(0, 10))
    noise = sampled_noise(statistic, uniform(7), rows=5, gamma="0.1", epsilon=1, samples=29)
    generator = np.random.default_rng(7)
    stream = iter(x for _ in range(29) for x in generator.uniform(0, 10, 6).tolist())

    def on_units(units: Any) -> Any:
        return statistic(table_of({"x": np.array(units)}))

    found = sampled_sensitivity(
        on_units, lambda: next(stream), size=5, samples=29, relation=REPLACE, rank=noise.rank
    )  # fmt: skip
    assert (noise.distance, noise.rank, noise.loss.gamma) == (found.value, found.rank, found.gamma)
    assert noise.rank == 27 and noise.loss.gamma == Fraction(1, 10)


@pytest.mark.parametrize(
    ("gamma", "samples", "m", "k", "charged"),
    [("0.01", None, 99, 99, "1/100"), ("0.2", None, 4, 4, "1/5"), ("0.2", 9, 9, 8, "1/5"), ("0.15", 9, 9, 9, "1/10")],
)
def test_samples_and_rank_follow_from_gamma(gamma: str, samples: Any, m: int, k: int, charged: str) -> None:
    noise = sampled_noise(
        Statistic.of(mean, bounds=(0, 10)), uniform(), rows=3, gamma=gamma, epsilon="0.5", samples=samples
    )
    assert (noise.samples, noise.rank) == (m, k)
    assert noise.loss == RandomLoss(Fraction(1, 2), Fraction(0), Fraction(charged), "uniform")


def test_a_statistic_that_never_moves_still_gets_a_step_of_noise() -> None:
    noise = sampled_noise(Statistic.of(lambda rows: 4, bounds=(0, 8)), uniform(), rows=3, gamma="0.1", epsilon=1)
    assert noise.distance == 1 and noise.half_widths[0] > 0


def test_errors_count_as_differences() -> None:
    """A statistic that fails on rows with a large value moves from its answer to the fixed output: that is measured."""

    def picky(rows: Any) -> Any:
        if rows["x"].max() > 9:
            raise ValueError
        return 0.0

    noise = sampled_noise(Statistic.of(picky, bounds=(0, 8)), uniform(), rows=3, gamma="0.02", epsilon=1)
    assert noise.distance == 2**30 and 0 < noise.failures < 98


def test_a_statistic_that_fails_on_all_public_rows_is_refused_with_its_error() -> None:
    with pytest.raises(InvalidParameter, match="KeyError: 'salary'"):
        sampled_noise(
            Statistic.of(lambda rows: rows["salary"][0], bounds=(0, 1)), uniform(), rows=3, gamma="0.1", epsilon=1
        )


def test_norm_two_measures_squares_and_needs_a_delta() -> None:
    statistic = Statistic.of(lambda rows: [rows["x"].mean(), rows["x"].max()], bounds=[(0, 8), (0, 16)])
    one = sampled_noise(statistic, uniform(3), rows=4, gamma="0.1", epsilon=1)
    two = sampled_noise(statistic, uniform(3), rows=4, gamma="0.1", epsilon=1, norm=2, delta="1e-6")
    assert one.distance**2 / 2 <= two.distance <= one.distance**2
    assert two.loss.delta == Fraction(1, 10**6) and two.half_widths[1] == 2 * two.half_widths[0]
    generator = np.random.default_rng(3)
    squares = []
    for _ in range(9):
        drawn = generator.uniform(0, 10, 5)
        pair = [statistic(table_of({"x": np.delete(drawn, place)})) for place in (4, 3)]
        apart = {place: Fraction(int(step)) for place, step in enumerate(pair[0] - pair[1])}
        squares.append(difference_norm(apart, 2) ** 2)
    assert abs(max(squares) - two.distance) < 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"gamma": 0}, {"gamma": 1}, {"epsilon": 0}, {"rows": 0}, {"rows": True}, {"rows": 2.0}, {"norm": 3},
        {"norm": 2}, {"norm": 2, "delta": 1}, {"delta": "1e-6"}, {"samples": 8}, {"samples": 0},
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(wrong: Any) -> None:
    given = {"gamma": "0.1", "epsilon": 1, "rows": 3, **wrong}
    with pytest.raises(InvalidParameter):
        sampled_noise(Statistic.of(mean, bounds=(0, 10)), uniform(), **given)


# The release ------------------------------------------------------------------------------------------------------


def test_a_release_is_the_answer_of_n_rows_with_noise_of_the_stated_law() -> None:
    """2,000 releases: the standardised mean error is below 5 (false alarm < 1e-6), 95 % +- 3 % lie within ± (5 standard
    errors); catches noise of half or twice the scale, and a missing noise."""
    noise = sampled_noise(Statistic.of(mean, bounds=(0, 10)), uniform(), rows=4, gamma="0.1", epsilon=1)
    rows = table_of({"x": [1.0, 2.0, 3.0, 4.0]})
    entropy = insecure_seeded(11)
    found = np.array([noise.release(rows, entropy=entropy).value for _ in range(2000)])
    law = noise.law
    assert isinstance(law, DiscreteLaplace) and law.scale == noise.distance
    step = float(noise.statistic.steps[0])
    assert abs((found - 2.5).mean()) < 5 * math.sqrt(2) * float(law.scale) * step / math.sqrt(2000)
    assert abs((np.abs(found - 2.5) <= noise.half_widths[0]).mean() - 0.95) < 0.03


def test_of_more_rows_n_are_chosen_at_random_and_fewer_give_the_fixed_output() -> None:
    """500 releases of 2 of 4 rows, noise far below their distance: each pair comes 40 to 130 times (mean 83, false
    alarm < 1e-5); catches a choice of the first rows."""
    population = Population("tight", lambda count: {"x": np.zeros(count)})
    statistic = Statistic.of(lambda rows: rows["x"].sum(), bounds=(0, 100), otherwise=77)
    noise = sampled_noise(statistic, population, rows=2, gamma="0.1", epsilon=1)
    rows = table_of({"x": [1.0, 10.0, 20.0, 40.0]})
    entropy = insecure_seeded(12)
    sums = [round(noise.release(rows, entropy=entropy).value) for _ in range(500)]
    assert set(sums) == {11, 21, 41, 30, 50, 60}
    assert all(40 <= sums.count(value) <= 130 for value in set(sums))
    assert round(noise.release(table_of({"x": [1.0]}), entropy=entropy).value) == 77


def test_columns_must_be_those_of_the_population() -> None:
    noise = sampled_noise(Statistic.of(mean, bounds=(0, 10)), uniform(), rows=1, gamma="0.1", epsilon=1)
    for wrong in ({"y": [1.0]}, {"x": ["a"]}, {"x": [1.0], "y": [1.0]}):
        with pytest.raises(InvalidParameter, match="columns"):
            noise.release(table_of(wrong))
    assert noise.release(Secret(table_of({"x": [1.0]}))).values


def test_in_one_call_from_plain_arrays() -> None:
    released = sampled_statistic(
        mean, {"x": [1.0, 2.0, 3.0]}, population=uniform(), bounds=(0, 10), rows=3, gamma="0.05",
        epsilon=2, entropy=insecure_seeded(1),
    )  # fmt: skip
    assert released.loss == RandomLoss(Fraction(2), Fraction(0), Fraction(1, 20), "uniform")
    assert abs(released.value - 2) < 10 * released.half_widths[0]
    vector = sampled_statistic(
        lambda rows: [1, 2], ROWS, population=uniform(), bounds=[(0, 4), (0, 4)], rows=3, gamma="0.5", epsilon=1
    )
    with pytest.raises(InvalidParameter, match="one number"):
        _ = vector.value
