"""Exact audit: two laws as cells with certified probabilities, and everything differential privacy asks of them.

Flow: `families` makes a Pair from a mechanism and two inputs; this answers with epsilon, delta(epsilon), the trade-off
curve, the Renyi divergence and the worst event. No sampling, no error rate.
Relies on: `dither.noise` for certified logarithms. Every number is an enclosure (low, high) that contains the truth;
where the probabilities are rational and single outcomes are listed, the two ends are equal.
Proof: docs/proofs/audit/exact.md

A cell is a set of outcomes with enclosures of P(cell) and Q(cell), and of the ratio dP/dQ inside it. A single outcome
needs no separate ratio. Merging outcomes into a cell can only hide differences, so lower ends stay true; upper ends
use the ratio.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

from dither.errors import GuaranteeError, InvalidParameter
from dither.noise import exp_bounds, log_bounds

__all__ = ["Bounds", "Cell", "Pair", "cell", "joint", "outcome", "product"]

Bounds = tuple[Fraction, Fraction]
"""low <= truth <= high."""

_BITS = 64
_ONE = Fraction(1)


@dataclass(frozen=True)
class Cell:
    """A set of outcomes."""

    label: str
    p: Bounds
    q: Bounds
    ratio: tuple[Fraction, Fraction | None]
    """Bounds of dP/dQ over the cell; None: not bounded, or infinite."""

    def swapped(self) -> Cell:
        """The same cell with P and Q exchanged."""
        low, high = self.ratio
        return Cell(
            self.label, self.q, self.p, (Fraction(0) if high is None else _inverse(high), _inverse_or_none(low))
        )


def outcome(label: str, p: Bounds | Fraction, q: Bounds | Fraction) -> Cell:
    """One outcome: its ratio is that of its probabilities."""
    p, q = _bounds(p), _bounds(q)
    return Cell(label, p, q, (p[0] / q[1] if q[1] else Fraction(0), p[1] / q[0] if q[0] else None))


def cell(label: str, p: Bounds, q: Bounds, log_ratio: Fraction | Bounds) -> Cell:
    """Several outcomes, with ln dP/dQ inside [-log_ratio, log_ratio], or inside the two given ends."""
    low, high = log_ratio if isinstance(log_ratio, tuple) else (-log_ratio, log_ratio)
    return Cell(label, p, q, (exp_bounds(low, 2 * _BITS)[0], exp_bounds(high, 2 * _BITS)[1]))


@dataclass(frozen=True)
class Pair:
    """The laws P and Q of a mechanism on two neighbouring inputs, as the same list of disjoint cells covering all."""

    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        for side in ("p", "q"):
            low, high = (sum(getattr(each, side)[end] for each in self.cells) for end in (0, 1))
            if not low <= 1 <= high:
                raise GuaranteeError(f"The cells' {side} add up to between {float(low)} and {float(high)}, not to 1.")

    def swapped(self) -> Pair:
        return Pair(tuple(each.swapped() for each in self.cells))

    def epsilon(self) -> tuple[float, float]:
        """The least epsilon with P <= e^epsilon Q and Q <= e^epsilon P for every event: between the two; maybe inf."""
        both = [*self.cells, *self.swapped().cells]
        # The logarithm rises, so that of the largest ratio is the largest: one certified logarithm, not one a cell.
        low, high = max(map(_ratio_low, both)), max(map(_ratio_high, both))
        return _log(low, _float_down, 0), _log(high, _float_up, 1)

    def delta(self, exp_epsilon: Fraction) -> Bounds:
        """The least delta at epsilon = ln(exp_epsilon): the larger hockey-stick divergence of the two directions."""
        ends = [_hockey_stick(each.cells, exp_epsilon) for each in (self, self.swapped())]
        return max(low for low, _ in ends), max(high for _, high in ends)

    def epsilon_at(self, delta: Fraction) -> tuple[float, float]:
        """The least epsilon >= 0 at which `delta` suffices: between the two."""
        return self._solve(delta, end=0), self._solve(delta, end=1)

    def trade_off(self) -> tuple[tuple[float, float], ...]:
        """(false positive rate, false negative rate) of the tests that guess P on the likeliest cells: achievable
        (rates rounded up), from (0, 1) on, convex up to rounding."""
        order = sorted(self.cells, key=_steepness, reverse=True)
        positives = accumulate((each.q[1] for each in order), initial=Fraction(0))
        found = accumulate((each.p[0] for each in order), initial=Fraction(0))
        return tuple((min(1.0, float(a)), max(0.0, float(1 - b))) for a, b in zip(positives, found, strict=True))

    def renyi(self, alpha: int) -> tuple[float, float]:
        """D_alpha(P || Q) = ln(sum of p^alpha q^(1-alpha)) / (alpha - 1), for an integer alpha >= 2."""
        if alpha < 2:
            raise InvalidParameter("alpha", expected="an integer >= 2", found=alpha)
        if any(each.p[0] and not each.q[1] for each in self.cells):
            return math.inf, math.inf
        low = sum((each.p[0] ** alpha / each.q[1] ** (alpha - 1) for each in self.cells if each.q[1]), Fraction(0))
        lower = _float_down(log_bounds(max(low, _ONE), _BITS)[0] / (alpha - 1))
        if any(each.ratio[1] is None and each.p[1] for each in self.cells):
            return lower, math.inf
        high = sum((each.p[1] * (each.ratio[1] or 0) ** (alpha - 1) for each in self.cells), Fraction(0))
        return lower, _float_up(log_bounds(max(high, _ONE), _BITS)[1] / (alpha - 1))

    def worst_event(self, exp_epsilon: Fraction | None = None) -> tuple[tuple[str, ...], Bounds, Bounds]:
        """Labels, P and Q of the event that needs most delta at `exp_epsilon`, P the larger; by default of the single
        cell with the largest ratio."""
        sides = (self, self.swapped())
        if exp_epsilon is None:
            worst = max((each for side in sides for each in side.cells), key=_ratio_low)
            return (worst.label,), worst.p, worst.q
        side = max(sides, key=lambda each: _hockey_stick(each.cells, exp_epsilon)[0])
        chosen = [each for each in side.cells if each.p[0] > exp_epsilon * each.q[1]]
        return (
            tuple(each.label for each in chosen),
            _total(each.p for each in chosen),
            _total(each.q for each in chosen),
        )

    def _solve(self, delta: Fraction, end: int) -> float:
        """Bisection on epsilon of one end of delta(epsilon); falls on the safe side by 1e-9."""
        limit = self.epsilon()[end]
        low, high = 0.0, min(limit, 200.0)
        # At the high end of `end` = 1 the bound must hold: e^epsilon is rounded down; for a lower end, up.
        if self.delta(_ONE)[end] <= delta:
            return 0.0
        if math.isinf(limit) and self.delta(_exp(high, end))[end] > delta:
            return math.inf
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(_exp(middle, end))[end] > delta else (low, middle)
        return high if end else low


def product(*pairs: Pair) -> Pair:
    """The laws of independent outputs side by side; cells of one ratio, in themselves and at their ends, are merged,
    which loses nothing."""
    cells: tuple[Cell, ...] = (Cell("", (_ONE, _ONE), (_ONE, _ONE), (_ONE, _ONE)),)
    for pair in pairs:
        merged: dict[object, Cell] = {}
        for one in cells:
            for two in pair.cells:
                both = joint(one, two)
                key = both.ratio, _ratio_low(both), _ratio_low(both.swapped())
                known = merged.get(key)
                merged[key] = both if known is None else _union(known, both)
        cells = tuple(merged.values())
    return Pair(cells)


def joint(one: Cell, two: Cell) -> Cell:
    """Both at once, of independent outputs."""
    high = None if one.ratio[1] is None or two.ratio[1] is None else one.ratio[1] * two.ratio[1]
    label = f"{one.label}, {two.label}" if one.label else two.label
    return Cell(label, _times(one.p, two.p), _times(one.q, two.q), (one.ratio[0] * two.ratio[0], high))


def _union(one: Cell, two: Cell) -> Cell:
    label = one.label if one.label.endswith(" ...") else f"{one.label} ..."
    return Cell(label, _total([one.p, two.p]), _total([one.q, two.q]), one.ratio)


def _hockey_stick(cells: Iterable[Cell], factor: Fraction) -> Bounds:
    """Enclosure of the sum of max(0, p - factor q). Inside a cell p - factor q = p (1 - factor dQ/dP)."""
    low = high = Fraction(0)
    for each in cells:
        low += max(Fraction(0), each.p[0] - factor * each.q[1])
        most = each.ratio[1]
        spare = _ONE if most is None else max(Fraction(0), 1 - factor / most) if most else Fraction(0)
        high += each.p[1] * spare
    return low, min(high, _ONE)


def _ratio_low(each: Cell) -> Fraction | float:
    """At most the largest P/Q of an event inside the cell, or 1; maybe inf."""
    if not each.p[0]:
        return _ONE
    return each.p[0] / each.q[1] if each.q[1] else math.inf


def _ratio_high(each: Cell) -> Fraction | float:
    """At least dP/dQ in the cell, or 1; maybe inf."""
    if not each.p[1] or each.ratio[1] == 0:
        return _ONE
    return math.inf if each.ratio[1] is None else each.ratio[1]


def _log(ratio: Fraction | float, rounded: Callable[[Fraction], float], end: int) -> float:
    return rounded(log_bounds(ratio, _BITS)[end]) if isinstance(ratio, Fraction) else ratio


def _steepness(each: Cell) -> float:
    return math.inf if not each.q[1] else float((each.p[0] + each.p[1]) / (each.q[0] + each.q[1]))


def _exp(epsilon: float, end: int) -> Fraction:
    return exp_bounds(Fraction(epsilon), _BITS)[1 - end]


def _bounds(value: Bounds | Fraction) -> Bounds:
    return value if isinstance(value, tuple) else (value, value)


def _times(one: Bounds, two: Bounds) -> Bounds:
    return one[0] * two[0], one[1] * two[1]


def _total(parts: Iterable[Bounds]) -> Bounds:
    listed: Sequence[Bounds] = list(parts)
    return sum((low for low, _ in listed), Fraction(0)), sum((high for _, high in listed), Fraction(0))


def _inverse(value: Fraction) -> Fraction:
    return 1 / value if value else Fraction(0)


def _inverse_or_none(value: Fraction) -> Fraction | None:
    return 1 / value if value else None


def _float_down(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) <= value else math.nextafter(nearest, -math.inf)


def _float_up(value: Fraction) -> float:
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)
