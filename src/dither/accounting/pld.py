"""Privacy-loss distributions: the tightest epsilon known for many different events, always from above.

The total loss of events fixed in advance is a sum of independent losses. Each is put on one grid (`losses`), the laws
are convolved by multiplying their Fourier transforms, and delta(epsilon) = E[max(0, 1 - exp(epsilon - L))] is read off.
Two things keep the answer an upper bound where epsilon is decided, far out in the tail:

* laws are tilted by exp(t L) before the transform and back after it, so that float error is relative to a Chernoff
  bound of delta instead of to 1;
* what the window of the grid cannot hold is added: mass above it by its Chernoff bound, mass below it wraps upward.

The float budget is added to delta: 1e-13, and 2^-44 (count + 64) of the Chernoff bound. Below delta 1e-10 it is
refused.
Flow: `privacy_loss(events, delta=...)` -> `.epsilon()`, `.plus(event)`; `compose` takes it beside the other theorems.
Relies on: numpy, `losses`, `renyi` for the tilt. Proof: docs/proofs/accounting/loss-distributions.md
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.accounting.events import Event
from dither.accounting.loss_grid import Grid, law_of, merged, plan, tilted
from dither.accounting.losses import LossLaw
from dither.accounting.renyi import ORDERS, failure_of, flatten, log_moments
from dither.errors import InvalidParameter
from dither.exact import Number, exact, round_up

__all__ = ["LEAST_DELTA", "PrivacyLoss", "privacy_loss"]

Floats = NDArray[np.float64]

LEAST_DELTA = Fraction(1, 10**10)
_FLOAT_DELTA = 1e-13
_FLOAT_SHARE = 2.0**-44


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The law of the total loss of events, from above, prepared for one delta."""

    events: Mapping[Event, int]
    delta: Fraction
    """Where `epsilon` is sharpest: the tilt and the grid were chosen for it."""
    failure: Fraction
    """Failure masses of key selection; a part of every delta below."""
    _grid: Grid
    _transform: NDArray[np.complex128]
    """Of the tilted law, on the circle of `points` grid points."""
    _log_moment: float
    """log E[exp(tilt L)]."""
    _middle: float
    _variance: float
    """Mean and variance of the tilted law, nats."""
    _lowest: int
    _highest: int
    """Grid points between which all kept losses lie."""
    _beyond: float
    """Mass of infinite loss."""
    _reach: float
    """Sum of the largest absolute losses: what float rounding of losses is relative to."""
    _count: int

    def plus(self, event: Event, count: int = 1) -> PrivacyLoss:
        """With `count` more of this event: one transform, or a new grid once the old one has become too small."""
        if count < 1:
            raise InvalidParameter("count", expected="1 or above", found=count)
        events = Counter(self.events)
        after = self
        for part in flatten([event]):
            events[part] += count
            failure = after.failure + failure_of(part) * count
            after = replace(after._add(law_of(part), count), failure=failure)
        after = replace(after, events=events)
        return after if after._fits() else privacy_loss(_repeat(events), delta=self.delta)

    def epsilon(self, delta: Number | None = None) -> Fraction:
        """An epsilon >= 0 at which these events are (epsilon, delta)-DP, rounded up."""
        wanted = self.delta if delta is None else _checked(delta)
        target = float(wanted) * (1 - 1e-15)
        window, start = self._window(), self._start()
        low, high = max(start, 0) - 1, start + self._grid.points - 1
        if self._delta_on_grid(window, high) > target:
            low, high = high, self._highest  # float error has filled the window, as for an epsilon of 10,000
        if self._delta_on_grid(window, high) > target:
            raise InvalidParameter("delta", expected=f"above the failure mass {float(self.failure)}", found=delta)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._delta_on_grid(window, middle) <= target else (middle, high)
        bound = high * self._grid.step
        if high > max(start, 0):
            # Between grid points delta is linear in exp(epsilon).
            above, below = self._delta_on_grid(window, high - 1), self._delta_on_grid(window, high)
            share = (above - target) / (above - below)
            bound = (high - 1) * self._grid.step + math.log1p(share * math.expm1(self._grid.step))
        # Each loss is right to a few units in its last place; discrete Gaussian noise is a rounding up to 1e-20.
        return round_up(Fraction(max(0.0, bound) * (1 + 1e-14) + 2.0**-48 * self._reach + 1e-19 * self._count))

    def delta_at(self, epsilon: Number) -> Fraction:
        """A delta at which these events are (epsilon, delta)-DP, rounded up; sharp near `self.epsilon()`."""
        wanted = exact(epsilon, "epsilon")
        if wanted < 0:
            raise InvalidParameter("epsilon", expected="0 or above", found=epsilon)
        start, step = self._start(), self._grid.step
        shifted = float(wanted) * (1 - 1e-15) - 2.0**-48 * self._reach - 1e-19 * self._count
        index = math.floor(shifted / step)
        if index < start:
            return Fraction(1)  # below the window nothing is known
        window = self._window()
        index = min(index, start + self._grid.points - 1)
        above, below = self._delta_on_grid(window, index), self._delta_on_grid(window, index + 1)
        share = min(1.0, max(0.0, math.expm1(shifted - index * step) / math.expm1(step)))
        return round_up(Fraction(above + share * (below - above)))

    def _add(self, law: LossLaw, count: int) -> PrivacyLoss:
        grid = self._grid
        loss = law.on_grid(grid.step, grid.tilt)
        weights, log_moment = tilted(loss, grid)
        index = loss.first + np.arange(len(weights))
        circle = np.bincount(index % grid.points, weights, grid.points)
        losses = index * grid.step
        middle = float(np.sum(weights * losses))
        last = loss.first + len(weights) - 1
        return replace(
            self,
            _transform=self._transform * _power(np.fft.rfft(circle), count),
            _log_moment=self._log_moment + count * log_moment,
            _middle=self._middle + count * middle,
            _variance=self._variance + count * float(np.sum(weights * (losses - middle) ** 2)),
            _lowest=self._lowest + count * loss.first,
            _highest=self._highest + count * last,
            _beyond=self._beyond + count * loss.beyond,
            _reach=self._reach + count * max(abs(float(losses[0])), abs(float(losses[-1]))),
            _count=self._count + count,
        )

    def _start(self) -> int:
        """The grid point where the window begins: around the tilted middle, or at the lowest loss."""
        points = self._grid.points
        if self._highest - self._lowest < points:
            return self._lowest
        start = round(self._middle / self._grid.step) - points // 2
        return min(max(start, self._lowest), self._highest + 1 - points)

    def _window(self) -> tuple[Floats, Floats]:
        """The tilted law in the window, ascending in loss, and what a tilted mass x above epsilon adds to delta, for x
        = step, 2 step, ...: exp(-tilt x)(1 - exp(-x)). Float noise below 0 is raised to 0."""
        grid = self._grid
        circle = np.fft.irfft(self._transform, grid.points)
        x = grid.step * np.arange(1, grid.points)
        weights = np.exp(-grid.tilt * x) * -np.expm1(-x)
        return np.maximum(np.roll(circle, -(self._start() % grid.points)), 0.0), weights

    def _delta_on_grid(self, window: tuple[Floats, Floats], index: int) -> float:
        """delta at the epsilon of a grid point in the window or above, with everything added that could be missing."""
        certain = self._beyond + float(self.failure) * (1 + 1e-15) + 1e-19 * self._count
        if index >= self._highest:
            return min(1.0, certain)
        grid = self._grid
        epsilon = index * grid.step
        law, weights = window
        tail = law[index - self._start() + 1 :]
        scale = math.exp(min(self._log_moment - grid.tilt * epsilon, 700.0))
        # Not `@`: the library behind it wakes threads for a sum of this length, which costs more than the sum.
        seen = scale * float(np.sum(tail * weights[: len(tail)]))
        return min(1.0, seen + self._missing(epsilon, scale) + certain)

    def _missing(self, epsilon: float, scale: float) -> float:
        """Float budget, and the Chernoff bound of losses above the window."""
        grid = self._grid
        share = _FLOAT_SHARE * (self._count + 64) + 2.0**-47 * (abs(self._log_moment) + abs(grid.tilt * epsilon))
        rounding = share * scale * _largest_weight(grid.tilt)
        top = self._start() + grid.points - 1
        lost = 0.0 if top >= self._highest else math.exp(min(self._log_moment - grid.tilt * top * grid.step, 0.0))
        return rounding + lost + _FLOAT_DELTA

    def _below_window(self) -> bool:
        """True when the window begins above the epsilon looked for (which is then overstated)."""
        start = self._start()
        return start > max(self._lowest, 0) and self._delta_on_grid(self._window(), start) <= float(self.delta)

    def _fits(self) -> bool:
        """True while the window still holds the tilted law, and what is missing is small beside delta."""
        grid = self._grid
        width = grid.points * grid.step
        if self._highest - self._lowest >= grid.points and 256 * self._variance > width * width:
            return False
        if grid.tilt**2 * self._variance > 144:  # the tilt has become too large: epsilon leaves the window downward
            return False
        near = max(self._middle, 0.0)
        scale = math.exp(min(self._log_moment - grid.tilt * near, 700.0))
        return self._missing(near, scale) <= 0.01 * float(self.delta)


def privacy_loss(events: Iterable[Event], *, delta: Number) -> PrivacyLoss:
    """The total loss of events fixed in advance, prepared for this delta: 1e-10 or above.
    Raises InvalidParameter for an event without a known dominating pair (`losses.loss_of`)."""
    counted = Counter(flatten(events))
    wanted = _checked(delta)
    failure = sum((failure_of(event) * count for event, count in counted.items()), Fraction(0))
    if wanted - failure < LEAST_DELTA:
        raise InvalidParameter("delta", expected=f"above the failure mass {failure} by 1e-10", found=delta)
    laws = merged(counted)
    joined = sum(counted.values()) - sum(count for _, count in laws)  # events that stand behind another law or none
    moments = log_moments(counted, ORDERS - 1)
    for octaves in range(4):
        # The bounds behind the plan and the laws differ a little: if epsilon is below the window, half the tilt fits.
        grid = plan(moments, laws, float(wanted - failure), octaves)
        flat = np.ones(grid.points // 2 + 1, np.complex128)
        total = PrivacyLoss(dict(counted), wanted, failure, grid, flat, 0, 0, 0, 0, 0, 0, 0, joined)
        for law, count in laws:
            total = total._add(law, count)
        if not total._below_window():
            break
    return total


def _largest_weight(tilt: float) -> float:
    """The largest exp(-tilt x)(1 - exp(-x)) over all x >= 0."""
    return math.exp(tilt * math.log(tilt / (1 + tilt)) - math.log1p(tilt))


def _power(values: NDArray[np.complex128], count: int) -> NDArray[np.complex128]:
    result = np.ones_like(values)
    while count:
        if count & 1:
            result = result * values
        count >>= 1
        values = values * values if count else values
    return result


def _repeat(events: Mapping[Event, int]) -> Iterable[Event]:
    for event, count in events.items():
        yield from [event] * count


def _checked(delta: Number) -> Fraction:
    wanted = exact(delta, "delta")
    if not LEAST_DELTA <= wanted < 1:
        raise InvalidParameter(
            "delta", expected="1e-10 or above, and below 1", found=delta, hint="zCDP and Rényi bounds hold below 1e-10."
        )
    return wanted
