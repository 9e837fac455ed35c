"""The joint law of several quantiles chosen together, place by place and without shortcuts: what the mechanism of
`dither.mechanisms.quantiles` must draw from. Exponents are exact; weights are doubles.

Flow: unit tests compare draws with it, and enumerate it over neighbouring databases.
Relies on nothing of the mechanism but the statement in docs/proofs/mechanisms/quantiles.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

__all__ = ["joint_law", "single_law"]

Rows = Mapping[int, int]


def joint_law(
    rows: Rows,
    quantiles: Sequence[Fraction],
    *,
    cells: int,
    parts: int,
    epsilon: Fraction,
    max_rows: int = 1,
    factor: int = 1,
) -> dict[tuple[int, ...], float]:
    """Places chosen -> probability. rows: cell 0 .. cells - 1 -> count.  factor: 2 for `replace`."""
    mass = [Fraction(rows.get(place // parts, 0), parts) for place in range(cells * parts)]

    def below(begin: int, end: int) -> Fraction:
        return sum(mass[begin:end], Fraction(0))

    def law(
        first: int, last: int, above: Fraction, under: Fraction, begin: int, end: int
    ) -> dict[tuple[int, ...], float]:
        if first == last:
            return {(): 1.0}
        middle = (first + last) // 2
        if last - first == 2 and quantiles[middle] == 1:
            middle -= 1
        share = (quantiles[middle] - above) / (under - above)
        found: dict[tuple[int, ...], float] = {}
        for place, p in choice(begin, end, share, leaf=last - first == 1).items():
            left = law(first, middle, above, quantiles[middle], begin, min(place + 1, end))
            right = law(middle + 1, last, quantiles[middle], under, place + 1, end)
            for one, q in left.items():
                for other, r in right.items():
                    key = (*one, place, *other)
                    found[key] = found.get(key, 0.0) + p * q * r
        return found

    def choice(begin: int, end: int, share: Fraction, *, leaf: bool) -> dict[int, float]:
        if begin >= end:
            return {end - 1: 1.0}
        total = below(begin, end)
        per_rank = epsilon / (factor * max_rows * (max(share, 1 - share)))
        if share in (0, 1):
            width = -(-(end - begin) // parts)
            inside = Fraction(max(1, round(4 * math.log(max(width, 2)) / float(per_rank))), 2)
            at = min(max(inside, Fraction(1, 2)), max(total - Fraction(1, 2), Fraction(1, 2)))
            aim = at if share == 0 else total - at
        else:
            aim = share * total
        weights: dict[int, float] = {}
        if leaf:
            for cell in range(begin // parts, (end - 1) // parts + 1):
                start, stop = max(begin, cell * parts), min(end, (cell + 1) * parts)
                weight = math.exp(-float(per_rank * distance(aim, below(begin, start), below(begin, stop)) / 2))
                # Inside the cell any place will do, kept within the interval.
                for place in range(cell * parts, (cell + 1) * parts):
                    kept = min(max(place, begin), end - 1)
                    weights[kept] = weights.get(kept, 0.0) + weight / parts
        else:
            for place in range(begin, end):
                weights[place] = math.exp(
                    -float(per_rank * distance(aim, below(begin, place), below(begin, place + 1)) / 2)
                )
        norm = sum(weights.values())
        return {place: weight / norm for place, weight in weights.items()}

    return law(0, len(quantiles), Fraction(0), Fraction(1), 0, cells * parts)


def single_law(
    rows: Rows, aim: Fraction, *, cells: int, per_rank: Fraction, beyond: Fraction | None = None
) -> dict[int | None, float]:
    """One cell -> probability; None: the candidate beyond, at that distance."""
    weights: dict[int | None, float] = {}
    below = 0
    for cell in range(cells):
        upto = below + rows.get(cell, 0)
        weights[cell] = math.exp(-float(per_rank * distance(aim, Fraction(below), Fraction(upto)) / 2))
        below = upto
    if beyond is not None:
        weights[None] = math.exp(-float(per_rank * beyond / 2))
    norm = sum(weights.values())
    return {cell: weight / norm for cell, weight in weights.items()}


def distance(aim: Fraction, low: Fraction, high: Fraction) -> Fraction:
    return max(low - aim, aim - high, Fraction(0))
