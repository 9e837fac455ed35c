"""Every notion a textbook chapter on finite differences (差分) names, and the function here that answers to it.

The left column is the notion in Chinese and English; the check beside it is its defining equation in numbers, so a row
fails when the function is missing, and when it means something else.
"""

import doctest
import math
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction

import pytest

import dither.differences as differences
from dither.differences import (
    ADD_REMOVE,
    FORWARD,
    DifferenceEquation,
    accuracy,
    arithmetic_progression,
    backward,
    binomial,
    central,
    central_half_step,
    dataset_difference,
    derivative,
    difference,
    divided_differences,
    exponential_growth,
    falling_factorial,
    forward,
    fractional_coefficients,
    geometric_progression,
    interpolate,
    inverse,
    neighbouring_pairs,
    newton_series,
    remainder_bound,
    sensitivity,
    shift,
    taylor_by_differences,
)


def f(x: Fraction) -> Fraction:
    return x**4 - 3 * x**2 + 5


X, H = Fraction(7, 5), Fraction(1, 3)

NOTIONS: list[tuple[str, str, Callable[[], bool]]] = [
    ("差分", "difference f(x+a) - f(x+b)", lambda: difference(f, 2, H)(X) == f(X + 2) - f(X + H)),
    ("前向差分", "forward difference", lambda: forward(f, step=H)(X) == f(X + H) - f(X)),
    ("后向差分", "backward difference", lambda: backward(f, step=H)(X) == f(X) - f(X - H)),
    ("中心差分", "central difference", lambda: central(f, step=H)(X) == (f(X + H) - f(X - H)) / 2),
    ("半步中心差分", "half-step", lambda: central_half_step(f, step=H)(X) == f(X + H / 2) - f(X - H / 2)),
    ("移位", "shift E", lambda: shift(f, H)(X) == f(X + H)),
    ("步长", "step h", lambda: forward(f, step=1)(X) != forward(f, step=H)(X)),
    ("阶", "order n", lambda: forward(f, order=3)(X) == forward(forward(forward(f)))(X)),
    ("二阶差分", "second", lambda: central_half_step(f, order=2)(X) == f(X + 1) - 2 * f(X) + f(X - 1)),
    ("分数阶差分", "fractional order", lambda: fractional_coefficients("1/2", 3, exact=True)[2] == Fraction(-1, 8)),
    ("逆差分", "inverse difference", lambda: inverse([3, 1, 4]) == [3, 4, 8]),
    ("不定和", "indefinite sum", lambda: forward(inverse(f))(5) == f(5)),
    ("降阶", "a difference lowers the degree", lambda: newton_series(forward(f), 4).degree == 3),
    ("线性", "linearity", lambda: forward(lambda x: 2 * f(x) + x)(X) == 2 * forward(f)(X) + 1),
    ("等差数列", "arithmetic progression", lambda: [arithmetic_progression(2, 3)(t) for t in (0, 1, 9)] == [2, 5, 29]),
    ("等比数列", "geometric progression", lambda: geometric_progression(2, 3)(4) == 162),
    ("差分方程", "difference equation", lambda: DifferenceEquation((1, 1), (1, 1)).iterate(6) == [1, 1, 2, 3, 5, 8]),
    ("微分方程", "its twin", lambda: math.isclose(exponential_growth(0.5, start=1).continuous(2), math.e)),
    ("牛顿级数", "Newton's series", lambda: newton_series(f, 4, origin=1, step=H)(X) == f(X)),
    ("下降阶乘", "falling factorial", lambda: forward(lambda x: falling_factorial(x, 3))(9) == 3 * 9 * 8),
    ("二项式系数", "binomial", lambda: forward(lambda x: binomial(x, 3))(X) == binomial(X, 2)),
    ("均差", "divided difference", lambda: divided_differences([1, 4], [f(1), f(4)])[1] == (f(4) - f(1)) / 3),
    ("插值", "interpolation", lambda: interpolate([0, 1, 2, 5, 7], [f(x) for x in (0, 1, 2, 5, 7)])(X) == f(X)),
    ("泰勒", "Taylor", lambda: taylor_by_differences(f, 4, step=H).coefficients == (5, 0, -3, 0, 1)),
    ("余项", "remainder", lambda: remainder_bound(3, degree=1, step=0, derivative_bound=2) == 9),
    ("导数", "derivative", lambda: abs(derivative(math.sin, 0.0, step=1e-3) - 1) < 1e-6),
    ("精度阶", "order of accuracy", lambda: (accuracy("forward"), accuracy("central")) == (1, 2)),
    ("算子", "operator", lambda: (FORWARD**2)(f)(X) == forward(f, order=2)(X)),
    ("数据集之差", "difference over data sets", lambda: dataset_difference(sum, (1, 2), (1,)) == 2),
    ("灵敏度", "sensitivity", lambda: sensitivity(len, neighbouring_pairs(ADD_REMOVE, (0, 1), 2)).value == 1),
]


@pytest.mark.parametrize(("chinese", "english", "holds"), NOTIONS, ids=[row[1] for row in NOTIONS])
def test_a_notion_of_the_calculus_of_differences_has_its_function(
    chinese: str, english: str, holds: Callable[[], bool]
) -> None:
    assert holds(), f"{chinese} ({english})"


def test_the_explanation_tells_every_notion(request: pytest.FixtureRequest) -> None:
    text = (request.config.rootpath / "docs/explanation/differences.md").read_text("utf-8")
    assert [chinese for chinese, _, _ in NOTIONS if chinese not in text] == []


def test_every_public_name_exists_and_is_documented() -> None:
    for name in differences.__all__:
        public = getattr(differences, name)
        assert not callable(public) or not isinstance(public, type | type(f)) or public.__doc__, name


def test_the_examples_in_the_docstring_and_in_the_explanation_are_true(request: pytest.FixtureRequest) -> None:
    explanation = str(request.config.rootpath / "docs/explanation/differences.md")
    for result in (
        doctest.testmod(differences),
        doctest.testfile(explanation, module_relative=False, encoding="utf-8"),
    ):
        assert result.failed == 0 < result.attempted


def test_importing_the_package_loads_no_numpy() -> None:
    code = "import sys, dither.differences; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
