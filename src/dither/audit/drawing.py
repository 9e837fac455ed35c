"""One way to call every mechanism: f(data), f(data, n) or f(data, n, rng) becomes batches of rows of floats.

Flow: first step of `sampled`. Relies on nothing of ours: a mechanism is any callable, which is the seam by which a
query path, a server or another library's sampler is audited.

An outcome is a row (n, k) of float64 that loses nothing: integers beyond 2^53 become two columns, and NaN and the
infinities become finite numbers of their own, because a NaN that depends on the data is an outcome like any other.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import InvalidParameter

__all__ = ["Mechanism", "Rows", "Source", "rows_of"]

Rows = NDArray[np.float64]
"""(n, k) float64, finite: one row an outcome."""
Mechanism = Callable[..., Any]
"""f(data) -> one outcome; f(data, n) -> n outcomes along the first axis; f(data, n, rng) -> the same, from rng."""

_BATCH_NUMBERS = 4_000_000
_NAN, _BELOW, _ABOVE = -1.2e300, -1.1e300, 1.1e300
_EXACT_INTEGERS = 1 << 53


@dataclass(frozen=True)
class Source:
    """A mechanism, how it is called, and its own generator."""

    mechanism: Mechanism
    arguments: int
    rng: np.random.Generator

    @classmethod
    def of(cls, mechanism: Mechanism, rng: np.random.Generator) -> Source:
        return cls(mechanism, _arguments(mechanism), rng)

    def batches(self, data: Any, size: int) -> Iterator[Rows]:
        """`size` outcomes on `data`, a few million numbers at a time."""
        left, batch = size, min(size, 1024)
        while left > 0:
            rows = self._draw(data, min(batch, left))
            yield rows
            left -= len(rows)
            batch = max(1024, _BATCH_NUMBERS // rows.shape[1])

    def draw(self, data: Any, size: int) -> Rows:
        """All `size` outcomes at once."""
        return np.concatenate(list(self.batches(data, size)))

    def _draw(self, data: Any, size: int) -> Rows:
        match self.arguments:
            case 1:
                raw = np.asarray([self.mechanism(data) for _ in range(size)])
            case 2:
                raw = np.asarray(self.mechanism(data, size))
            case _:
                raw = np.asarray(self.mechanism(data, size, self.rng))
        if raw.shape[:1] != (size,):
            raise InvalidParameter("mechanism", expected=f"a callable giving {size} outcomes", found=raw.shape)
        return rows_of(raw)


def rows_of(raw: NDArray[Any]) -> Rows:
    """Outcomes of any shape and numeric type as rows; equal outcomes give equal rows, different ones different rows
    (but all NaNs are one)."""
    flat = raw.reshape(len(raw), -1)
    if flat.dtype.kind in "iu" and flat.size and _beyond(flat):
        return np.concatenate([flat >> 32, flat & 0xFFFFFFFF], axis=1).astype(np.float64)
    if flat.dtype.kind not in "biuf":
        raise InvalidParameter("mechanism", expected="a callable giving numbers", found=str(flat.dtype))
    rows = flat.astype(np.float64)
    if np.isfinite(rows).all():
        return rows
    return np.nan_to_num(rows, nan=_NAN, posinf=_ABOVE, neginf=_BELOW)


def _beyond(integers: NDArray[Any]) -> bool:
    return int(integers.max()) > _EXACT_INTEGERS or int(integers.min()) < -_EXACT_INTEGERS


def _arguments(mechanism: Mechanism) -> int:
    """How many positional arguments to give: those without default, at least one and at most three."""
    if not callable(mechanism):
        raise InvalidParameter("mechanism", expected="a callable", found=mechanism)
    try:
        parameters = inspect.signature(mechanism).parameters.values()
    except ValueError:  # built-in callables without a signature
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [one for one in parameters if one.kind in kinds and one.default is inspect.Parameter.empty]
    if not 1 <= len(needed) <= 3:
        raise InvalidParameter("mechanism", expected="f(data), f(data, n) or f(data, n, rng)", found=len(needed))
    return len(needed)
