"""Pairs of laws of sparse vector and its variants: which answers reach a noisy threshold, and what is shown of them.

Flow: `families` lends these their names; `catalogue` builds its rows of sparse vector here.
Relies on: `quadrature` for the threshold noise that all comparisons share, `exact` (cells).
An answer i of P is first[i], of Q second[i]; it reaches the threshold when answer + noise >= threshold + shared noise.
Proof: docs/proofs/audit/exact.md
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from itertools import product as tuples

import numpy as np

from dither.audit.exact import Bounds, Pair, cell, outcome
from dither.audit.quadrature import Law, Values, integrals, laplace_law
from dither.exact import exact

__all__ = ["patterns", "sparse_vector", "sparse_vector_with_noisy_answers"]

Answers = Sequence[float]
Pattern = tuple[int, ...]
"""1 for an answer that reached the threshold, 0 for one that did not, as far as the mechanism went."""

_NARROW = 256
"""The narrow cell beside a centre is this part of a scale wide: it loses the square of that, 1e-5, of the ratio."""


def sparse_vector(
    threshold_law: Law, query_law: Law, *, threshold: float, stops: int | None, first: Answers, second: Answers
) -> Pair:
    """Which answers reach the threshold, and nothing else; it ends after `stops` of them, or never (None).
    Source: Lyu, Su, Li 2017, Figure 1."""
    listed = patterns(len(first), stops)
    laws = [_pattern_laws(threshold_law, query_law, threshold, listed, side) for side in (first, second)]
    return Pair(tuple(outcome(_text(at), p, q) for at, p, q in zip(listed, *laws, strict=True)))


def sparse_vector_with_noisy_answers(
    threshold_scale: float, query_scale: float, *, threshold: float, stops: int, first: Answers, second: Answers
) -> Pair:
    """And each noisy answer that reached it, the very one that was compared: it bounds the noisy threshold from above.
    Cells are boxes of these values; a narrow one beside each centre holds the largest ratio. Laplace noise.
    Source: Lyu, Su, Li 2017, Algorithm 3."""
    boxes = _Boxes(exact(threshold), exact(query_scale), [exact(a) for a in first], [exact(b) for b in second])
    listed = [box for pattern in patterns(len(first), stops) for box in boxes.of(pattern)]
    laws = [_box_laws(laplace_law(threshold_scale), query_scale, threshold, listed, side) for side in (first, second)]
    return Pair(tuple(cell(box.label, p, q, boxes.log_ratio(box)) for box, p, q in zip(listed, *laws, strict=True)))


@dataclass(frozen=True)
class _Box:
    pattern: Pattern
    ranges: tuple[tuple[Fraction | None, Fraction | None], ...]
    """(low, high] of each value shown, in order; None: without end."""

    @property
    def label(self) -> str:
        ends = (f"({_end(low, '-')}, {_end(high, '')}]" for low, high in self.ranges)
        return " ".join([_text(self.pattern), *ends])


@dataclass(frozen=True)
class _Boxes:
    threshold: Fraction
    scale: Fraction
    first: Sequence[Fraction]
    second: Sequence[Fraction]

    def of(self, pattern: Pattern) -> Iterator[_Box]:
        """The values of a pattern, cut at the centres, at the least answer of all, just above the higher centre."""
        cuts = []
        for at in (place for place, above in enumerate(pattern) if above):
            ends = self.first[at], self.second[at]
            marks = {min(*self.first, *self.second), *ends, max(ends) + self.scale / _NARROW}
            cuts.append(list(pairwise([None, *sorted(marks), None])))
        for ranges in tuples(*cuts):
            yield _Box(pattern, ranges)

    def log_ratio(self, box: _Box) -> Bounds:
        """Ends of ln dP/dQ over the box. Given the noisy threshold every factor's ratio lies between its ends there, so
        the integrals' ratio does too."""
        values = iter(box.ranges)
        highs = [high for _, high in box.ranges if high is not None]
        top = min(highs) - self.threshold if highs else None
        ends = [
            self._shown(at, *next(values)) if above else self._hidden(at, top) for at, above in enumerate(box.pattern)
        ]
        return sum((low for low, _ in ends), Fraction(0)), sum((high for _, high in ends), Fraction(0))

    def _shown(self, at: int, low: Fraction | None, high: Fraction | None) -> Bounds:
        """(|v - second| - |v - first|) / scale is monotone in v."""
        move = self.second[at] - self.first[at]
        left, right = (
            end if v is None else abs(v - self.second[at]) - abs(v - self.first[at])
            for v, end in ((low, move), (high, -move))
        )
        return min(left, right) / self.scale, max(left, right) / self.scale

    def _hidden(self, at: int, top: Fraction | None) -> Bounds:
        """ln F(x - first) / F(x - second), at x = threshold + noise: move / scale left of both centres, from there on
        nearing 0. top: the largest noise that the values shown allow."""
        move = (self.second[at] - self.first[at]) / self.scale
        flat = top is not None and self.threshold + top <= min(self.first[at], self.second[at])
        near = move if flat else Fraction(0)
        return min(move, near), max(move, near)


def patterns(queries: int, stops: int | None) -> list[Pattern]:
    """Every pattern that can be released; it ends with the last allowed 1."""
    if stops is None:
        return list(tuples((0, 1), repeat=queries))
    found = []
    for count in range(stops + 1):
        for places in combinations(range(queries), count):
            length = places[-1] + 1 if count == stops else queries
            found.append(tuple(int(at in places) for at in range(length)))
    return found


def _pattern_laws(shared: Law, own: Law, threshold: float, listed: list[Pattern], answers: Answers) -> list[Bounds]:
    gaps = threshold - np.asarray(answers, dtype=float)

    def integrand(r: Values) -> Values:
        factors = own.below(r + gaps[:, None]), own.above(r + gaps[:, None])
        result = np.ones((len(listed), len(r)))
        for row, pattern in enumerate(listed):
            for at, bit in enumerate(pattern):
                result[row] *= factors[bit][at]
        return result

    return integrals(
        shared,
        integrand,
        breakpoints=[-each for each in gaps.tolist()],
        fastest_scale=own.scale,
        factors=len(answers),
    )


def _box_laws(shared: Law, scale: float, threshold: float, boxes: list[_Box], answers: Answers) -> list[Bounds]:
    own = laplace_law(scale)
    marks = {float(end) for box in boxes for ends in box.ranges for end in ends if end is not None}

    def integrand(r: Values) -> Values:
        hidden = [own.below(r + threshold - answer) for answer in answers]
        # Few values and many boxes: each factor is made once.
        shown: dict[tuple[int, Fraction | None, Fraction | None], Values] = {}
        result = np.ones((len(boxes), len(r)))
        for row, box in enumerate(boxes):
            values = iter(box.ranges)
            for at, above in enumerate(box.pattern):
                if not above:
                    result[row] *= hidden[at]
                    continue
                low, high = next(values)
                if (at, low, high) not in shown:
                    least = r + threshold if low is None else np.maximum(r + threshold, float(low))
                    most = np.inf if high is None else float(high)
                    shown[at, low, high] = _mass(scale, least - answers[at], most - answers[at])
                result[row] *= shown[at, low, high]
        return result

    size = max(map(abs, [*marks, *answers, threshold]))
    narrowest = min(high - low for low, high in pairwise(sorted(marks)))
    rate = 1 / shared.scale + len(answers) / scale
    return integrals(
        shared,
        integrand,
        breakpoints=[mark - threshold for mark in {*marks, *answers}],
        fastest_scale=scale,
        factors=len(answers),
        # A box's width is a difference of sizes.
        loose=64 * (1 + size / narrowest + size * rate),
    )


def _mass(scale: float, low: Values, high: float) -> Values:
    """P(low < X <= high) for X ~ Laplace(scale), 0 where low >= high; a product or a sum of positives, so without
    cancellation."""
    width = -np.expm1(-np.maximum(high - low, 0.0) / scale)
    outer = np.exp(-np.where(low >= 0, low, max(-high, 0.0)) / scale) / 2 * width
    if high <= 0:
        return outer
    around = -(np.expm1(np.minimum(low, 0.0) / scale) + np.expm1(-high / scale)) / 2
    return np.where(low >= 0, outer, around)


def _text(pattern: Pattern) -> str:
    return "".join("FT"[bit] for bit in pattern)


def _end(value: Fraction | None, sign: str) -> str:
    return f"{sign}inf" if value is None else f"{float(value):g}"
