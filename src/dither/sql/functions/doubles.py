"""Functions in doubles: roots, logarithms, powers, trigonometry, gamma. Finite or NULL, never an error.

Where a function is monotone its range comes from its argument's, with room for the errors of mathematical libraries;
otherwise from the function itself. Outside their domain DuckDB's functions give NaN or an infinity, which is NULL here;
`domain` in a row below is for engines that raise instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from dither.sql.expressions import Expr, literal
from dither.sql.functions.casts import as_double, finite, finite_where_needed, need_numbers
from dither.sql.functions.ranges import WHOLE_LINE, ends_of, float_ends, loosened, outward
from dither.sql.functions.registry import BUILDERS, Call, builder, template
from dither.sql.functions.signature import Row, define, number
from dither.sql.types import DOUBLE

SECTION = "Roots, powers and logarithms"
ANGLES = "Angles"


@dataclass(frozen=True)
class Curve:
    """One function of one double."""

    names: tuple[str, ...]
    template: str
    compute: Callable[[float], float] | None
    """The function in Python where it is monotone on its domain, for the ends of its range."""
    example: str
    section: str = SECTION
    domain: tuple[float, float] = WHOLE_LINE
    """Where it has a value; NULL outside."""
    values: tuple[float, float] = WHOLE_LINE
    """All its values lie in here."""
    null_when: str = ""
    valley: tuple[float, float] | None = None
    """(start, least): from `start` on it is not monotone, but falls and then rises, never below `least`."""

    def ends(self, arg: Expr) -> tuple[float, float]:
        if self.compute is None:
            return self.values
        if self.valley is not None:
            start, least = self.valley
            first, last = float_ends(arg)
            return (least, loosened(0.0, max(self._at(first), self._at(last)))[1]) if first >= start else self.values
        lo, hi = (min(max(end, self.domain[0]), self.domain[1]) for end in float_ends(arg))
        low, high = loosened(*sorted((self._at(lo), self._at(hi))))
        return max(low, self.values[0]), min(high, self.values[1])

    def leaves(self, arg: Expr) -> bool:
        """May the argument lie outside the domain?"""
        lo, hi = float_ends(arg)
        return lo < self.domain[0] or hi > self.domain[1]

    def _at(self, x: float) -> float:
        """The function at an end of its domain or inside: an overflow is that side's infinity."""
        assert self.compute is not None
        try:
            return self.compute(x)
        except (OverflowError, ValueError):
            # Every curve here that overflows does so upwards, but the odd ones below zero.
            return self.values[0] if x < 0 and self.valley is None else self.values[1]


_HALF_TURN = math.nextafter(math.pi / 2, math.inf)
_LOG_VALUES = (-1100.0, 1100.0)
_POSITIVE = (5e-324, math.inf)
_INSIDE_ONE = (math.nextafter(-1.0, 0.0), math.nextafter(1.0, 0.0))
LOG10 = Curve(
    ("log10",), "log10({0})", math.log10, "log10(income)", domain=_POSITIVE, values=_LOG_VALUES,
    null_when="the argument is not above 0",
)  # fmt: skip
CURVES = (
    Curve(("sqrt",), "sqrt({0})", math.sqrt, "sqrt(income)", domain=(0.0, math.inf), values=(0.0, math.inf),
          null_when="the argument is below 0"),
    Curve(("cbrt",), "cbrt({0})", math.cbrt, "cbrt(income)"),
    Curve(("ln",), "ln({0})", math.log, "ln(income)", domain=_POSITIVE, values=_LOG_VALUES,
          null_when="the argument is not above 0"),
    LOG10,
    Curve(("log2",), "log2({0})", math.log2, "log2(income)", domain=_POSITIVE, values=_LOG_VALUES,
          null_when="the argument is not above 0"),
    Curve(("exp",), "exp({0})", math.exp, "exp(age / 120)", values=(0.0, math.inf),
          null_when="the result is beyond the doubles"),
    Curve(("gamma",), "gamma({0})", math.gamma, "gamma(age + 1)", valley=(5e-324, 0.8856),
          null_when="the argument is 0 or a negative integer, or the result is beyond the doubles"),
    Curve(("lgamma",), "lgamma({0})", math.lgamma, "lgamma(age + 1)", valley=(5e-324, -0.1215),
          null_when="the argument is 0 or a negative integer"),
    Curve(("sin",), "sin({0})", None, "sin(income)", ANGLES, values=(-1.0, 1.0)),
    Curve(("cos",), "cos({0})", None, "cos(income)", ANGLES, values=(-1.0, 1.0)),
    Curve(("tan",), "tan({0})", None, "tan(income)", ANGLES, null_when="the result is beyond the doubles"),
    Curve(("cot",), "cot({0})", None, "cot(income)", ANGLES, null_when="the argument is 0"),
    Curve(("asin",), "asin({0})", math.asin, "asin(income)", ANGLES, domain=(-1.0, 1.0),
          values=(-_HALF_TURN, _HALF_TURN), null_when="the argument is outside -1 to 1"),
    Curve(("acos",), "acos({0})", math.acos, "acos(income)", ANGLES, domain=(-1.0, 1.0),
          values=(0.0, 2 * _HALF_TURN), null_when="the argument is outside -1 to 1"),
    Curve(("atan",), "atan({0})", math.atan, "atan(income)", ANGLES, values=(-_HALF_TURN, _HALF_TURN)),
    Curve(("sinh",), "sinh({0})", math.sinh, "sinh(age / 120)", ANGLES, null_when="the result is beyond the doubles"),
    Curve(("cosh",), "cosh({0})", math.cosh, "cosh(age / 120)", ANGLES, values=(1.0, math.inf), valley=(-math.inf, 1.0),
          null_when="the result is beyond the doubles"),
    Curve(("tanh",), "tanh({0})", math.tanh, "tanh(income)", ANGLES, values=(-1.0, 1.0)),
    Curve(("asinh",), "asinh({0})", math.asinh, "asinh(income)", ANGLES, values=_LOG_VALUES),
    Curve(("acosh",), "acosh({0})", math.acosh, "acosh(income)", ANGLES, domain=(1.0, math.inf),
          values=(0.0, 1100.0), null_when="the argument is below 1"),
    Curve(("atanh",), "atanh({0})", math.atanh, "atanh(income)", ANGLES, domain=_INSIDE_ONE,
          null_when="the argument is not between -1 and 1"),
    Curve(("degrees",), "degrees({0})", math.degrees, "degrees(income)", ANGLES,
          null_when="the result is beyond the doubles"),
    Curve(("radians",), "radians({0})", math.radians, "radians(age)", ANGLES),
)  # fmt: skip

for _curve in CURVES:
    define(
        *_curve.names,
        row=Row(
            (number,),
            DOUBLE,
            _curve.template,
            _curve.example,
            _curve.section,
            range=_curve.ends,
            leaves=_curve.leaves,
            null_when=_curve.null_when,
        ),
    )

define(
    "atan2",
    row=Row(
        (number, number),
        DOUBLE,
        "atan2({0}, {1})",
        "atan2(income, age)",
        ANGLES,
        range=lambda y, x: (-2 * _HALF_TURN, 2 * _HALF_TURN),
    ),
)

LOG_OF_BASE = template("log_of_base", "log({0}, {1})")
POWER = template("power", "power({0}, {1})")


@builder("pi", example="pi()", section=ANGLES)
def pi(call: Call) -> Expr:
    call.need_count(0)
    return literal(math.pi)


@builder("log", example="log(2, income)", null_when="the argument is not above 0", section=SECTION)
def log(call: Call) -> Expr:
    """To base 10, or to the base given first."""
    call.need_count(1, 2)
    if len(call.args) == 1:
        return BUILDERS["log10"](call)
    need_numbers(call)
    base, value = (as_double(arg) for arg in call.args)
    least_base, _ = float_ends(base)
    least_value, _ = float_ends(value)
    lo, hi = WHOLE_LINE
    if least_base > 1:
        # The engine divides two logarithms to base 10.
        largest = max(map(abs, LOG10.ends(value))) / math.log10(least_base)
        lo, hi = loosened(-largest, largest)
    result = Expr(LOG_OF_BASE, DOUBLE, (base, value), nullable=base.nullable or value.nullable, lo=lo, hi=hi)
    return finite(result) if least_value <= 0 else finite_where_needed(result)


@builder("power", "pow", "^", "**", example="power(age, 2)", section=SECTION,
         null_when="the result is undefined or beyond the doubles")  # fmt: skip
def power(call: Call) -> Expr:
    """In doubles; NULL where not finite (a negative number to a fraction, zero to a negative, overflow)."""
    call.need_count(2)
    need_numbers(call)
    base, exponent = (as_double(arg) for arg in call.args)
    lo, hi = WHOLE_LINE
    constant = call.args[1].payload
    if isinstance(constant, int) and 0 <= constant <= 64:
        ends = [_power(float(end), constant) for end in ends_of(base)]
        spans_zero = ends_of(base)[0] <= 0 <= ends_of(base)[1]
        low, high = (min(*ends, 0.0), max(*ends, 0.0)) if spans_zero else (min(ends), max(ends))
        # x^0 is 1 everywhere, also at zero.
        low, high = (1.0, 1.0) if constant == 0 else (low, high)
        lo, hi = loosened(*outward((low, high)))
    return finite_where_needed(
        Expr(POWER, DOUBLE, (base, exponent), nullable=base.nullable or exponent.nullable, lo=lo, hi=hi)
    )


def _power(base: float, exponent: int) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf
