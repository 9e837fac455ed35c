"""How noise grows into totals: the squared row norms of B = A diag(v) R, for all rows at once.

Flow: `square_root` asks once per length, for intervals. A is the running total, v the inverse column weights, R the
Toeplitz inverse of the kernel, so row t of B is B[t, k] = sum over k <= j <= t of v_j r_{j-k}.
Relies on: v constant on few pieces except at the end, which `square_root` sees to: then rows need one transform a
piece, and the end a small recurrence. Row by row it would take n transforms.
Proof: docs/proofs/mechanisms/running-square-root.md, part 4
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms.running.toeplitz import fast_length

__all__ = ["row_norms_squared"]

Floats = NDArray[np.float64]


def row_norms_squared(v: Floats, r: Floats, free_from: int) -> Floats:
    """(n,) float64: the sum over k of B[t, k]^2, t = 0..n-1. v may change anywhere from index `free_from` on, and
    before it only on few pieces. Accurate to about 1e-9 of the value."""
    pieces, last_row = _rows_of_pieces(v, r, free_from)
    return np.concatenate([pieces, _rows_at_the_end(v, r, last_row, pieces[-1] if free_from else 0.0)])


def _rows_of_pieces(v: Floats, r: Floats, stop: int) -> tuple[Floats, Floats]:
    """The norms of rows 0..stop-1, and row stop-1 itself.

    Let c = A r. While v is constant, B[t, k] = v c_{t-k}. Each change of v at a by d adds d (c_{t-k} - c_{a-1-k}):
    B[t, k] = v_t c_{t-k} - h_k, h fixed between changes, with squared norm v_t^2 sum c^2 - 2 v_t (c * h)_t + |h|^2.
    """
    if stop == 0:
        return np.zeros(0), np.zeros(0)
    c = np.cumsum(r[:stop])
    squares = np.cumsum(c * c)
    norms, h = np.empty(stop), np.zeros(stop)
    # Indices past the length wrap onto rows before the piece, which are not read: no padding to twice the length.
    size = fast_length(stop)
    spectrum = np.fft.rfft(c, size)
    changes = [0, *(np.flatnonzero(np.diff(v[:stop])) + 1).tolist()]
    for start, end in zip(changes, [*changes[1:], stop], strict=True):
        level = v[start]
        norms[start:end] = level * level * squares[start:end]
        if start:
            h[:start] += (level - v[start - 1]) * c[start - 1 :: -1]
            cross = np.fft.irfft(np.fft.rfft(h[:start], size) * spectrum, size)[start:end]
            norms[start:end] += float(np.dot(h, h)) - 2.0 * level * cross
    return norms, v[stop - 1] * c[::-1] - h


def _rows_at_the_end(v: Floats, r: Floats, last_row: Floats, norm: float) -> Floats:
    """The norms of the rows after `last_row`, by the change from each to the next.

    B[t, k] = B[t-1, k] + v_t r_{t-k}, so the norm grows by v_t^2 G_tt + 2 v_t sum over j < t of v_j G_jt, with
    G_jt = sum over k <= j of r_{j-k} r_{t-k}, and G_{j+1, t+1} = G_{j, t} + r_{j+1} r_{t+1}."""
    start, n = len(last_row), len(r)
    size = fast_length(n)
    kernel = np.fft.rfft(r, size)
    overlap = np.fft.irfft(np.fft.rfft(last_row, size) * kernel, size)[start:n] if start else np.zeros(n)
    g = np.fft.irfft(np.conj(np.fft.rfft(r[: start + 1], size)) * kernel, size)[: n - start]
    norms = np.empty(n - start)
    for i in range(n - start):
        norm += v[start + i] ** 2 * g[0] + 2.0 * v[start + i] * overlap[i]
        norms[i] = norm
        overlap[i + 1 :] += v[start + i] * g[1:]
        g = g[:-1] + r[min(start + i + 1, n - 1)] * r[start + i + 1 :]
    return norms
