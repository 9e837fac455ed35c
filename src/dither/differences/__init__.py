"""The calculus of finite differences, and why a privacy system is built on it.

A difference asks what changes when one thing changes:

    forward     Δf(x) = f(x+h) - f(x)            backward   ∇f(x) = f(x) - f(x-h)
    central     ½(f(x+h) - f(x-h))               half-step  δf(x) = f(x+h/2) - f(x-h/2)

Let the thing that changes be one person, and f an answer about everybody: the largest difference is the *sensitivity*
of f, and noise of that size hides the person. The rest of the calculus follows with it.

Differences of any whole order, of functions, lists and arrays:

    >>> from dither.differences import *
    >>> forward(lambda x: x**3, order=2)(5)            # Δ² x³ = 6x + 6
    36
    >>> backward([1, 4, 9, 16])                        # what each step added to a running total: an attack
    [1, 3, 5, 7]

The inverse difference, which is the running total itself:

    >>> inverse([1, 3, 5, 7])
    [1, 4, 9, 16]

Half of an inverse difference, twice: between the halves is where a private running total puts its noise:

    >>> half = backward([1, 0, 0, 0], order="-1/2"); half
    [1, Fraction(1, 2), Fraction(3, 8), Fraction(5, 16)]
    >>> backward(half, order="-1/2") == inverse([1, 0, 0, 0])
    True

Operators as values: E - 1 = Δ:

    >>> SHIFT - 1 == FORWARD, FORWARD * BACKWARD == HALF_STEP**2, FORWARD.accuracy, CENTRAL.accuracy
    (True, True, 1, 2)

Newton's series: a polynomial from a few of its values, Taylor's theorem in steps, and an attack by extrapolation:

    >>> newton_series([0, 1, 4], origin=0)(10), newton_extrapolate([0, 2, 4], [0, 4, 16], 5)
    (100, 25)

Difference equations: iterate or solve:

    >>> DifferenceEquation((1, 1), (0, 1)).iterate(8), arithmetic_progression(2, 3)(100)
    ([0, 1, 1, 2, 3, 5, 8, 13], 302)

Sensitivity: the largest difference in the direction of one person, by looking everywhere:

    >>> sensitivity(sum, neighbouring_pairs(ADD_REMOVE, (-1, 0, 5), size=3)).value
    Fraction(5, 1)

Exact wherever the input is: ints and Fractions in, ints and Fractions out. Read on in `algebra` (operators are
polynomials in the shift E), `operators`, `newton`, `equations`, `sensitivity`; the mathematics is told in
docs/explanation/differences.md.
Relies on: exact rationals; numpy is loaded when data come.
"""

from dither.differences.algebra import BACKWARD, CENTRAL, FORWARD, HALF_STEP, IDENTITY, SHIFT, Operator
from dither.differences.coefficients import binomial, difference_weights, falling_factorial, fractional_coefficients
from dither.differences.derivatives import (
    ErrorRow,
    TaylorPolynomial,
    accuracy,
    derivative,
    error_table,
    remainder_bound,
    taylor_by_differences,
)
from dither.differences.equations import (
    ClosedForm,
    DifferenceEquation,
    Term,
    Twins,
    affine_growth,
    arithmetic_progression,
    exponential_growth,
    geometric_progression,
    linear_growth,
)
from dither.differences.interpolation import (
    NewtonInterpolant,
    divided_differences,
    extrapolation_noise_gain,
    extrapolation_weights,
    interpolate,
    newton_extrapolate,
)
from dither.differences.neighbours import (
    ADD_REMOVE,
    REPLACE,
    NeighbouringRelation,
    datasets,
    neighbouring_pairs,
    pairs_within,
)
from dither.differences.newton import NewtonSeries, difference_table, newton_series
from dither.differences.operators import backward, central, central_half_step, difference, forward, inverse, shift
from dither.differences.sampled import (
    SampledSensitivity,
    gamma_of_rank,
    rank_needed,
    sampled_sensitivity,
    samples_needed,
)
from dither.differences.sensitivity import (
    GroupSensitivity,
    Sensitivity,
    dataset_difference,
    difference_norm,
    group_sensitivity,
    lipschitz_constant,
    mixed_difference,
    sensitivity,
)

__all__ = [
    # operators, of functions and of data
    "forward",
    "backward",
    "central",
    "central_half_step",
    "difference",
    "inverse",
    "shift",
    # the same as values
    "Operator",
    "SHIFT",
    "FORWARD",
    "BACKWARD",
    "CENTRAL",
    "HALF_STEP",
    "IDENTITY",
    # coefficients
    "binomial",
    "difference_weights",
    "falling_factorial",
    "fractional_coefficients",
    # series, interpolation, derivatives
    "NewtonSeries",
    "newton_series",
    "difference_table",
    "NewtonInterpolant",
    "divided_differences",
    "interpolate",
    "newton_extrapolate",
    "extrapolation_weights",
    "extrapolation_noise_gain",
    "derivative",
    "accuracy",
    "ErrorRow",
    "error_table",
    "TaylorPolynomial",
    "taylor_by_differences",
    "remainder_bound",
    # equations
    "DifferenceEquation",
    "ClosedForm",
    "Term",
    "arithmetic_progression",
    "geometric_progression",
    "Twins",
    "linear_growth",
    "exponential_growth",
    "affine_growth",
    # sensitivity
    "ADD_REMOVE",
    "REPLACE",
    "NeighbouringRelation",
    "datasets",
    "neighbouring_pairs",
    "pairs_within",
    "dataset_difference",
    "difference_norm",
    "Sensitivity",
    "sensitivity",
    "GroupSensitivity",
    "group_sensitivity",
    "mixed_difference",
    "lipschitz_constant",
    "SampledSensitivity",
    "sampled_sensitivity",
    "samples_needed",
    "rank_needed",
    "gamma_of_rank",
]
