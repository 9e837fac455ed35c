"""What is measured for the aggregates of one SELECT: what several need is measured once, and recipes know where."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import pytest

from dither.errors import QueryRefused
from dither.plan.recipes import Recipe
from support.worlds import World, catalog_text


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    found = World(
        catalog_text(
            """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
columns = { x = { type = "double", bounds = [10, 20] }, y = { type = "double", bounds = [0, 4] }, \
wide = { type = "double", bounds = [-1e31, 1e31] } }
"""
        ),
        {"t": "uid BIGINT, x DOUBLE, y DOUBLE, wide DOUBLE"},
    )
    yield found
    found.close()


def compiled(world: World, selected: str) -> tuple[list[str], tuple[Recipe, ...]]:
    """The kinds of the vectors, and the recipes in the order of the question."""
    plan = world.session.plan(f"SELECT {selected} FROM t")
    (measure,), ((_, recipes),) = plan.measures, plan.aggregates
    return [vector.kind for vector in measure.vectors], recipes


@pytest.mark.parametrize("selected", ["SUM(x), AVG(x)", "AVG(x), SUM(x)", "SUM(x), VARIANCE(x) - AVG(x)"])
def test_a_sum_beside_a_mean_is_made_of_its_two_vectors_in_whatever_order(world: World, selected: str) -> None:
    _, recipes = compiled(world, selected)
    (total,) = (recipe for recipe in recipes if recipe.kind == "sum_from_mean")
    (average,) = (recipe for recipe in recipes if recipe.kind == "mean")
    assert total.vectors == average.vectors
    assert total.center == average.center == 15


def test_a_sum_alone_is_one_vector(world: World) -> None:
    kinds, (recipe,) = compiled(world, "SUM(x)")
    assert kinds == ["sum"]
    assert (recipe.kind, recipe.vectors, recipe.center) == ("sum", (0,), 0)


def test_powers_of_one_expression_are_measured_once(world: World) -> None:
    # n, x - c, (x - c)^2, and the third and fourth power.
    kinds, recipes = compiled(world, "AVG(x), VAR_POP(x), STDDEV(x), SKEWNESS(x), KURTOSIS(x)")
    assert kinds == ["rows", *["sum"] * 4]
    assert [len(recipe.vectors) for recipe in recipes] == [2, 3, 3, 4, 5]
    assert recipes[-1].vectors[:4] == recipes[-2].vectors


def test_regressions_of_one_pair_share_their_rows_sums_and_products(world: World) -> None:
    # n, y, x, yx, yy and xx: each once, whoever asks.
    kinds, recipes = compiled(world, "REGR_COUNT(y, x), REGR_AVGX(y, x), COVAR_POP(y, x), REGR_SLOPE(y, x), CORR(y, x)")
    assert kinds == ["rows", *["sum"] * 5]
    counted, average, covariance, slope, correlation = (set(recipe.vectors) for recipe in recipes)
    assert counted < average < covariance < slope < correlation


def test_the_squares_that_a_regression_needs_are_those_of_its_own_side(world: World) -> None:
    _, recipes = compiled(world, "REGR_SXX(y, x), REGR_SYY(y, x), REGR_R2(y, x), REGR_SLOPE(y, x)")
    (*_, of_x), (*_, of_y), (*_, first, second), (*_, of_slope) = (recipe.vectors for recipe in recipes)
    assert (first, second, of_slope) == (of_y, of_x, of_x)
    assert of_x != of_y


def test_quantiles_of_one_expression_are_one_vector(world: World) -> None:
    plan = world.session.plan("SELECT MEDIAN(x), QUANTILE_CONT(x, 0.9), MIN(x), MEDIAN(y) FROM t")
    (measure,) = plan.measures
    assert [vector.quantiles for vector in measure.vectors] == [
        (Fraction(0), Fraction(1, 2), Fraction(9, 10)),
        (Fraction(1, 2),),
    ]


@pytest.mark.parametrize(
    ("selected", "code"),
    [
        ("SUM(x, y)", "F-110"),
        ("CORR(x)", "F-110"),
        ("BOOL_AND(x)", "F-120"),
        ("SUM(DISTINCT x), SKEWNESS(DISTINCT x)", "A-104"),
        ("SUM(x ORDER BY y)", "A-103"),
        ("KURTOSIS(wide)", "B-111"),
        ("GEOMEAN(y)", "B-112"),
    ],
)
def test_what_cannot_be_measured_is_refused(world: World, selected: str, code: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        compiled(world, selected)
    assert refused.value.code == code
