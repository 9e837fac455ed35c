"""The differences by name: of a function, of a list, of an array along an axis.

    forward(f)            Δf(x) = f(x+h) - f(x)                 arrays: where both exist (shorter by n·h)
    backward(f)           ∇f(x) = f(x) - f(x-h)                 arrays: zero history, same length, any real order
    central(f)            ½(f(x+h) - f(x-h))                    arrays: where both exist
    central_half_step(f)  δf(x) = f(x+h/2) - f(x-h/2)           arrays: where the shifts are whole
    difference(f, a, b)   f(x+a) - f(x+b)                       the general one
    inverse(f)            F with ΔF = f (function) or ∇F = f (data): antidifference, running total
    shift(f, a)           f(x+a)                                arrays: zeros move in

A callable in gives a callable out, evaluated lazily and exactly (with Fractions); a list gives a list, exactly; a numpy
array gives an array. `order` is how often, `step` is h.

Flow: the public face of `algebra` (functions) and `sequences` (data).
Relies on: nothing until called; numpy is imported when data arrive.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, overload

from dither.differences.algebra import BACKWARD, CENTRAL, FORWARD, HALF_STEP, Operator
from dither.differences.arithmetic import Function, moved, plain, whole_number, whole_steps
from dither.differences.coefficients import binomial
from dither.errors import InvalidParameter
from dither.exact import Number, exact

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["backward", "central", "central_half_step", "difference", "forward", "inverse", "shift"]


@overload
def difference(f: Function, a: Number, b: Number, *, order: int = 1, axis: int = -1) -> Function: ...
@overload
def difference(f: NDArray[Any], a: Number, b: Number, *, order: int = 1, axis: int = -1) -> NDArray[Any]: ...
@overload
def difference(f: Sequence[Any], a: Number, b: Number, *, order: int = 1, axis: int = -1) -> list[Any]: ...
def difference(f: Any, a: Number, b: Number, *, order: int = 1, axis: int = -1) -> Any:
    """f(x+a) - f(x+b), applied `order` times. For data a and b are whole numbers of positions, and the result holds
    the positions where every value needed exists."""
    weights = {exact(a, "a"): Fraction(1)}
    weights[exact(b, "b")] = weights.get(exact(b, "b"), Fraction(0)) - 1
    return _apply(Operator.of(weights), f, step=1, order=order, axis=axis)


@overload
def forward(f: Function, *, step: Any = 1, order: int = 1, axis: int = -1) -> Function: ...
@overload
def forward(f: NDArray[Any], *, step: Any = 1, order: int = 1, axis: int = -1) -> NDArray[Any]: ...
@overload
def forward(f: Sequence[Any], *, step: Any = 1, order: int = 1, axis: int = -1) -> list[Any]: ...
def forward(f: Any, *, step: Any = 1, order: int = 1, axis: int = -1) -> Any:
    """Δⁿf, Δf(x) = f(x+h) - f(x), n = order >= 0. On data of length N: the N - n·h positions where it exists."""
    return _apply(FORWARD, f, step=step, order=order, axis=axis)


@overload
def backward(f: Function, *, step: Any = 1, order: Number = 1, axis: int = -1) -> Function: ...
@overload
def backward(f: NDArray[Any], *, step: Any = 1, order: Number = 1, axis: int = -1) -> NDArray[Any]: ...
@overload
def backward(f: Sequence[Any], *, step: Any = 1, order: Number = 1, axis: int = -1) -> list[Any]: ...
def backward(f: Any, *, step: Any = 1, order: Number = 1, axis: int = -1) -> Any:
    """∇^a f, ∇f(x) = f(x) - f(x-h), a = order.

    Of a function: a whole, >= 0.  Of data: any real a, values before the first taken as 0, so the length stays and
    ∇^a ∇^b = ∇^{a+b}; a = -1 is the running total, a = -1/2 half of it. Whole orders are exact on integers (int64
    that would overflow raises InvalidParameter). Other orders are exact Fractions on lists, where the work is
    quadratic, and float64 on arrays, by FFT beyond 64 values: within 1e-14 of the largest result for normal data of
    length 2^20 and orders -2.9 to 1.7.
    Proof: docs/proofs/differences/real_orders.md"""
    if callable(f):
        return _apply(BACKWARD, f, step=step, order=order, axis=axis)
    from dither.differences import sequences

    power, positions = exact(order, "order"), whole_number(step, "step", least=1)
    return sequences.apply_zero_history(_data(f), power, positions, axis)


@overload
def central(f: Function, *, step: Any = 1, order: int = 1, axis: int = -1) -> Function: ...
@overload
def central(f: NDArray[Any], *, step: Any = 1, order: int = 1, axis: int = -1) -> NDArray[Any]: ...
@overload
def central(f: Sequence[Any], *, step: Any = 1, order: int = 1, axis: int = -1) -> list[Any]: ...
def central(f: Any, *, step: Any = 1, order: int = 1, axis: int = -1) -> Any:
    """½(f(x+h) - f(x-h)), the mean of Δf and ∇f, applied `order` times. Divided by h it is f' up to O(h²)."""
    return _apply(CENTRAL, f, step=step, order=order, axis=axis)


@overload
def central_half_step(f: Function, *, step: Any = 1, order: int = 1, axis: int = -1) -> Function: ...
@overload
def central_half_step(f: NDArray[Any], *, step: Any = 1, order: int = 1, axis: int = -1) -> NDArray[Any]: ...
@overload
def central_half_step(f: Sequence[Any], *, step: Any = 1, order: int = 1, axis: int = -1) -> list[Any]: ...
def central_half_step(f: Any, *, step: Any = 1, order: int = 1, axis: int = -1) -> Any:
    """δⁿf, δf(x) = f(x+h/2) - f(x-h/2). δ² = Δ∇ is the second difference f(x+h) - 2f(x) + f(x-h). On data order
    times step must be even, since there are no values at half positions."""
    return _apply(HALF_STEP, f, step=step, order=order, axis=axis)


@overload
def shift(f: Function, a: Any = 1, *, axis: int = -1) -> Function: ...
@overload
def shift(f: NDArray[Any], a: Any = 1, *, axis: int = -1) -> NDArray[Any]: ...
@overload
def shift(f: Sequence[Any], a: Any = 1, *, axis: int = -1) -> list[Any]: ...
def shift(f: Any, a: Any = 1, *, axis: int = -1) -> Any:
    """E^a f, the function x ↦ f(x+a). On data a is whole (another raises InvalidParameter) and zeros move in: E⁻¹
    delays, and ∇ = 1 - E⁻¹."""
    if callable(f):
        return lambda x: f(moved(x, a))
    from dither.differences import sequences

    if isinstance(a, bool) or not isinstance(a, int):
        raise InvalidParameter("a", expected="a whole number of positions", found=a)
    return sequences.shifted(_data(f), a, axis)


@overload
def inverse(
    f: Function, *, order: Number = 1, start: Any = 0, step: Any = 1, origin: Any = 0, axis: int = -1
) -> Function: ...
@overload
def inverse(
    f: NDArray[Any], *, order: Number = 1, start: Any = 0, step: Any = 1, origin: Any = 0, axis: int = -1
) -> NDArray[Any]: ...
@overload
def inverse(
    f: Sequence[Any], *, order: Number = 1, start: Any = 0, step: Any = 1, origin: Any = 0, axis: int = -1
) -> list[Any]: ...
def inverse(f: Any, *, order: Number = 1, start: Any = 0, step: Any = 1, origin: Any = 0, axis: int = -1) -> Any:
    """The inverse difference (antidifference, indefinite sum); `start` is its constant of summation.

    Of data: ∇^{-order} + start; order 1 is the running total start + x_0 + ... + x_t, exact on integers, and with
    start = 0 it undoes `backward` from both sides.
    Of a function: F with Δⁿ F = f and F(origin) = start (and Δ F, ..., Δ^{n-1} F zero there), n = order >= 1, at whole
    numbers of steps from `origin`, on either side; elsewhere F is not determined and x raises InvalidParameter.
    The sum of f over origin, origin+h, ..., x-h is F(x) - F(origin): the twin of the integral."""
    if callable(f):
        return _antidifference(f, whole_number(exact(order, "order"), "order", least=1), start, step, origin)
    from dither.differences import sequences

    totals = backward(f, step=step, order=-exact(order, "order"), axis=axis)
    return sequences.add_constant(totals, start)


def _antidifference(f: Function, n: int, start: Any, step: Any, origin: Any) -> Function:
    def total(x: Any) -> Any:
        k = whole_steps(x, origin=origin, step=step)
        # Δⁿ undone in one sum: Σ_{0<=j<k} C(k-1-j, n-1) f(j). To the left of the origin the sum runs over k <= j < 0
        # with the opposite sign, and the binomials have negative upper entries.
        inside = range(k) if k >= 0 else range(k, 0)
        sign = 1 if k >= 0 else -1
        return plain(start + sign * sum(binomial(k - 1 - j, n - 1) * f(moved(origin, j * step)) for j in inside))

    return total


def _apply(operator: Operator, f: Any, *, step: Any, order: Any, axis: int) -> Any:
    power = operator ** whole_number(exact(order, "order"), "order", least=0)
    if callable(f):
        return power(f, step)
    from dither.differences import sequences

    return sequences.apply_valid(power.stretched(whole_number(step, "step", least=1)), _data(f), axis)


def _data(f: Any) -> Any:
    """A list, a tuple or an array as it is; other columns (pandas, Polars, Arrow) as the array they offer."""
    if isinstance(f, list | tuple):
        return f
    if hasattr(f, "__array__"):
        import numpy as np

        return np.asarray(f)
    raise InvalidParameter("f", expected="a function, a list or an array", found=type(f).__name__)
