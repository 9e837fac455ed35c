"""One way to call every mechanism: f(data), f(data, n) or f(data, n, rng) becomes batches of rows of floats.

Flow: first step of `sampled`. Relies on nothing of ours: a mechanism is any callable, which is the seam by which a
query path, a server or another library's sampler is audited.

An outcome is a row (n, k) of float64 that loses nothing: integers beyond 2^53 become two columns, and NaN and the
infinities become finite numbers of their own, because a NaN that depends on the data is an outcome like any other.
How a row is made of an outcome is settled by the first draws and the same for all: a row that depended on the others of
its batch would make outcomes dependent.
"""

from __future__ import annotations

import inspect
import math
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


@dataclass
class Source:
    """A mechanism, how it is called, and its own generator."""

    mechanism: Mechanism
    arguments: int
    rng: np.random.Generator
    wide: bool = False
    """Are integers written as two columns?"""
    columns: int | None = None
    """Of every row; None before the first draw."""

    @classmethod
    def of(cls, mechanism: Mechanism, rng: np.random.Generator) -> Source:
        return cls(mechanism, _arguments(mechanism), rng)

    def training(self, pair: tuple[Any, Any], size: int) -> tuple[Rows, Rows]:
        """The first draws, `size` on each input: they settle how outcomes become rows."""
        # Copied, because a mechanism may give the same array, filled anew, every time.
        first, second = ([raw.copy() for raw in self._raw_batches(data, size)] for data in pair)
        self.wide = any(_beyond(raw) for raw in [*first, *second])
        return np.concatenate([self._rows(raw) for raw in first]), np.concatenate([self._rows(raw) for raw in second])

    def batches(self, data: Any, size: int) -> Iterator[Rows]:
        """`size` outcomes on `data`, a few million numbers at a time."""
        return map(self._rows, self._raw_batches(data, size))

    def _raw_batches(self, data: Any, size: int) -> Iterator[NDArray[Any]]:
        left, batch = size, min(size, 1024)
        while left > 0:
            raw = self._draw(data, min(batch, left))
            yield raw
            left -= len(raw)
            batch = max(1024, _BATCH_NUMBERS // max(1, math.prod(raw.shape[1:])))

    def _draw(self, data: Any, size: int) -> NDArray[Any]:
        match self.arguments:
            case 1:
                raw = _array([self.mechanism(data) for _ in range(size)])
            case 2:
                raw = _array(self.mechanism(data, size))
            case _:
                raw = _array(self.mechanism(data, size, self.rng))
        if raw.shape[:1] != (size,):
            raise InvalidParameter("mechanism", expected=f"a callable giving {size} outcomes", found=raw.shape)
        return raw

    def _rows(self, raw: NDArray[Any]) -> Rows:
        rows = rows_of(raw, wide=self.wide)
        if self.columns is None:
            self.columns = rows.shape[1]
        if rows.shape[1] != self.columns:
            raise InvalidParameter(
                "mechanism", expected="outcomes that are all of one kind and size", found=f"{raw.dtype} {raw.shape}"
            )
        return rows


def rows_of(raw: NDArray[Any], *, wide: bool) -> Rows:
    """Outcomes of any shape and numeric type as rows; equal outcomes give equal rows.
    wide: integers become two columns, so that different ones always give different rows; else those beyond 2^53 may be
    merged with their neighbours, which costs power. (All NaNs are one.)"""
    flat = raw.reshape(len(raw), -1)
    if wide and flat.dtype.kind in "iu":
        return np.concatenate([flat >> 32, flat & 0xFFFFFFFF], axis=1).astype(np.float64)
    if flat.dtype.kind not in "biuf":
        raise InvalidParameter("mechanism", expected="a callable giving numbers", found=str(flat.dtype))
    rows = flat.astype(np.float64)
    if np.isfinite(rows).all():
        return rows
    return np.nan_to_num(rows, nan=_NAN, posinf=_ABOVE, neginf=_BELOW)


def _array(outcomes: Any) -> NDArray[Any]:
    try:
        return np.asarray(outcomes)
    except ValueError:
        raise InvalidParameter("mechanism", expected="outcomes of one size", found="of several") from None


def _beyond(raw: NDArray[Any]) -> bool:
    """Are there integers that a float64 cannot tell apart?"""
    if raw.dtype.kind not in "iu" or not raw.size:
        return False
    return int(raw.max()) > _EXACT_INTEGERS or int(raw.min()) < -_EXACT_INTEGERS


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
