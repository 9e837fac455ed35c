"""Pairs of laws of known mechanisms: closed forms as certified rationals, shared noise by quadrature.

Flow: `catalogue` and users build a `Pair` here and ask `exact` about it.
Relies on: `exact` (cells), `quadrature` (noisy maximum), `sparse_vectors`, `dither.noise` (exponentials).
Inputs are the true answers on the two databases. A float means its shortest decimal, as everywhere in Dither.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np

from dither.audit.exact import Bounds, Cell, Pair, cell, joint, outcome, product
from dither.audit.quadrature import Law, Values, integrals
from dither.audit.sparse_vectors import patterns, sparse_vector, sparse_vector_with_noisy_answers
from dither.errors import InvalidParameter
from dither.exact import Number, exact, positive
from dither.noise import exp_bounds

__all__ = [
    "discrete_laplace",
    "discrete_laplace_of_base",
    "flipped_bits",
    "laplace",
    "laplace_vector",
    "noisy_argmax",
    "noisy_maximum",
    "snapping",
    "sparse_vector",
    "sparse_vector_with_fresh_answers",
    "sparse_vector_with_noisy_answers",
    "threshold_only",
    "truncated_geometric",
]

Answers = Sequence[float]

_BITS = 96
_HALF = Fraction(1, 2)


def laplace(scale: Number, shift: Number, *, cells: int = 64) -> Pair:
    """x + Laplace(scale) at x = 0 against x = shift. Each tail has one ratio, e^(+-shift/scale), so epsilon is
    exact; more cells between 0 and shift narrow delta and the trade-off curve."""
    b, s = positive(scale, "scale"), positive(shift, "shift")
    near, far = (_HALF, _HALF), _halved(_exp(-s / b))
    middle = [_laplace_slice(b, s, s * step / cells, s * (step + 1) / cells) for step in range(cells)]
    return Pair((cell("x <= 0", near, far, (s / b, s / b)), *middle, cell("x >= shift", far, near, (-s / b, -s / b))))


def laplace_vector(scale: Number, shifts: Sequence[Number], *, cells: int = 1) -> Pair:
    """Independent Laplace noise on every coordinate; coordinates that do not move do not matter."""
    moved = [abs(exact(each, "shift")) for each in shifts if exact(each, "shift") != 0]
    return product(*(laplace(scale, each, cells=cells) for each in moved))


def discrete_laplace(scale: Number, shift: int) -> Pair:
    """k + X at k = 0 against k = shift, P(X = k) proportional to exp(-|k|/scale); probabilities certified to 2^-96."""
    rate = 1 / positive(scale, "scale")
    return _two_sided(shift, lambda power: _exp(-rate * power))


def discrete_laplace_of_base(base: Fraction, shift: int) -> Pair:
    """The same with exp(-1/scale) = base rational: everything about it is rational, so every enclosure is a point."""
    if not 0 < base < 1:
        raise InvalidParameter("base", expected="a rational above 0 and below 1", found=base)
    return _two_sided(shift, lambda power: (base**power, base**power))


def truncated_geometric(bits: int, people: int, first: int, second: int) -> Pair:
    """GeoSample on 0..people: counts `first` against `second`; bits is its k. Exact integers.
    Source: Balcer, Vadhan 2018, Algorithm 4.8."""
    total, one = geometric_sums(bits, people, first)
    _, two = geometric_sums(bits, people, second)
    mass = [[Fraction(high - low, total) for low, high in zip([0, *sums], sums, strict=False)] for sums in (one, two)]
    return Pair(tuple(outcome(f"z = {z}", p, q) for z, (p, q) in enumerate(zip(*mass, strict=True))))


def geometric_sums(bits: int, people: int, count: int) -> tuple[int, list[int]]:
    """The denominator d of GeoSample and the integers F(z), z = 0..people, with P(Z <= z) = F(z) / d."""
    step = 2**bits
    total = (2 * step + 1) * (step + 1) ** (people - 1)
    below = [step ** (count - z) * (step + 1) ** (people - (count - z)) for z in range(count)]
    above = [total - step ** (z - count + 1) * (step + 1) ** (people - 1 - (z - count)) for z in range(count, people)]
    return total, [*below, *above, total]


def flipped_bits(one_if_set: Number, one_if_clear: Number, first: Sequence[int], second: Sequence[int]) -> Pair:
    """Bits reported as 1 with one probability when set and another when clear (RAPPOR's reports). Exact rationals."""
    rates = exact(one_if_clear, "one_if_clear"), exact(one_if_set, "one_if_set")
    moved = [(rates[a], rates[b]) for a, b in zip(first, second, strict=True) if a != b]
    return product(*(Pair((outcome("1", p, q), outcome("0", 1 - p, 1 - q))) for p, q in moved))


def snapping(scale: Number, bound: int, first: int, second: int) -> Pair:
    """Mironov's snapping of x + Laplace(scale) to multiples of the least power of two L >= scale, clamped to +-bound;
    of the ideal law, as the mechanism's theorem is.  Source: Mironov 2012, section 5."""
    b = positive(scale, "scale")
    step = 1
    while step < b:
        step *= 2
    edges = [Fraction(step * (2 * index + 1), 2) for index in range(-(bound // step) - 1, bound // step + 1)]
    borders = [None, *edges, None]
    laws = [
        [_between(b, _moved(low, -x), _moved(high, -x)) for low, high in pairwise(borders)] for x in (first, second)
    ]
    return Pair(tuple(outcome(f"output {index}", p, q) for index, (p, q) in enumerate(zip(*laws, strict=True))))


def noisy_argmax(law: Law, first: Answers, second: Answers) -> Pair:
    """The index of the largest answer + noise: P(i) = integral of f(r) prod_(j != i) F(r + q_i - q_j) dr.
    Source: Ding et al. 2018, Algorithms 5 and 6."""
    laws = [
        [_argmax_at(law, np.asarray(side, dtype=float), index) for index in range(len(side))]
        for side in (first, second)
    ]
    return Pair(tuple(outcome(f"index {index}", p, q) for index, (p, q) in enumerate(zip(*laws, strict=True))))


def noisy_maximum(law: Law, first: Answers, second: Answers, *, laplace_noise: bool, cells: int = 40) -> Pair:
    """The largest answer + noise itself, in cells of its value.
    P(max <= z) = prod F(z - q_i). With Laplace noise every ratio is at most e^(sum |moves| / scale) and the lowest cell
    attains it; with exponential noise nothing bounds it, and the lowest cell is impossible on one side.
    Source: Ding et al. 2018, Algorithms 7 and 8."""
    sides = [np.asarray(side, dtype=float) for side in (first, second)]
    lowest = float(min(side.min() for side in sides)) if laplace_noise else float(max(side.max() for side in sides))
    borders = lowest + law.scale * np.linspace(0, 12, cells)
    totals = [np.prod(law.below(borders[:, None] - side), axis=1) for side in sides]
    p, q = ([_near(low, high) for low, high in pairwise([0.0, *each.tolist(), 1.0])] for each in totals)
    bound = exact(float(np.abs(sides[0] - sides[1]).sum())) / exact(law.scale)
    labels = [f"max <= {borders[0]:g}", *(f"max <= {high:g}" for high in borders[1:]), "above"]
    if laplace_noise:
        return Pair(tuple(cell(label, a, b, bound) for label, a, b in zip(labels, p, q, strict=True)))
    return Pair(tuple(Cell(label, a, b, (Fraction(0), None)) for label, a, b in zip(labels, p, q, strict=True)))


def sparse_vector_with_fresh_answers(
    threshold_law: Law,
    query_law: Law,
    answer_scale: Number,
    *,
    threshold: float,
    stops: int,
    first: Answers,
    second: Answers,
) -> Pair:
    """`sparse_vector`, and each answer that reached the threshold with Laplace noise drawn anew: given the pattern,
    independent of all else.  Source: Wang, Ding, Wang, Kifer, Zhang 2019, NumSVT."""
    scale = positive(answer_scale, "answer_scale")
    moves = [abs(exact(b) - exact(a)) for a, b in zip(first, second, strict=True)]
    cells: list[Cell] = []
    pair = sparse_vector(threshold_law, query_law, threshold=threshold, stops=stops, first=first, second=second)
    for pattern, shown in zip(patterns(len(first), stops), pair.cells, strict=True):
        joined = [shown]
        # An answer that moves down is the mirror image of one that moves up: the same cells.
        for move in (move for move, above in zip(moves, pattern, strict=False) if above and move):
            joined = [joint(one, two) for one in joined for two in laplace(scale, move, cells=2).cells]
        cells += joined
    return Pair(tuple(cells))


def threshold_only(scale: Number, threshold: Number, first: Answers, second: Answers) -> Pair:
    """Which answers reach threshold + Laplace(scale), without noise of their own: one number decides the pattern, and
    answers that change order make a pattern that the other side never shows.  Source: Lyu, Su, Li 2017, Algorithm 5."""
    b, start = positive(scale, "scale"), exact(threshold, "threshold")
    laws: list[dict[str, Bounds]] = []
    for side in (first, second):
        marks = sorted({exact(each) - start for each in side})
        borders = [None, *marks, None]
        law = {}
        for low, high in pairwise(borders):
            # Between two marks the noise is above `low`, so answers of at most that mark are below the threshold.
            pattern = "".join("F" if low is not None and exact(each) - start <= low else "T" for each in side)
            law[pattern] = _between(b, low, high)
        laws.append(law)
    none = (Fraction(0), Fraction(0))
    seen = sorted({*laws[0], *laws[1]})
    return Pair(tuple(outcome(each, laws[0].get(each, none), laws[1].get(each, none)) for each in seen))


def _argmax_at(law: Law, answers: Values, index: int) -> Bounds:
    leads = np.delete(answers[index] - answers, index)
    return integrals(
        law,
        lambda r: np.prod(law.below(r + leads[:, None]), axis=0)[None, :],
        breakpoints=[-each for each in leads.tolist()],
        fastest_scale=law.scale,
        factors=len(leads),
    )[0]


def _two_sided(shift: int, power_of: Callable[[int], Bounds]) -> Pair:
    """k + X at 0 against `shift`, P(X = k) = (1-a)/(1+a) a^|k|, a^n = power_of(n). k <= 0 is one cell and k >= shift
    another, because the ratio is constant there: a finite list without truncation."""
    if shift < 1:
        raise InvalidParameter("shift", expected="an integer >= 1", found=shift)
    base_low, base_high = power_of(1)
    tail = 1 / (1 + base_high), 1 / (1 + base_low)
    peak = (1 - base_high) / (1 + base_high), (1 - base_low) / (1 + base_low)
    powers = [power_of(power) for power in range(shift + 1)]
    far = tail[0] * powers[shift][0], tail[1] * powers[shift][1]

    def at(k: int) -> Bounds:
        return peak[0] * powers[k][0], peak[1] * powers[k][1]

    inside = [outcome(f"k = {k}", at(k), at(shift - k)) for k in range(1, shift)]
    ratios = powers[shift]
    low_cell = Cell("k <= 0", tail, far, (1 / ratios[1], 1 / ratios[0]))
    return Pair((low_cell, *inside, Cell(f"k >= {shift}", far, tail, ratios)))


def _laplace_slice(b: Fraction, shift: Fraction, low: Fraction, high: Fraction) -> Cell:
    """Outcomes between 0 <= low < high <= shift: ln dP/dQ falls from (shift - 2 low)/b to (shift - 2 high)/b."""
    p = _difference(_halved(_exp(-low / b)), _halved(_exp(-high / b)))
    q = _difference(_halved(_exp((high - shift) / b)), _halved(_exp((low - shift) / b)))
    return cell(f"x near {float(low + high) / 2:.3g}", p, q, ((shift - 2 * high) / b, (shift - 2 * low) / b))


def _between(b: Fraction, low: Fraction | None, high: Fraction | None) -> Bounds:
    """P(low < X <= high) for X ~ Laplace(b); None is the infinity on that side."""
    below = (Fraction(0), Fraction(0)) if low is None else _laplace_cdf(b, low)
    return _difference((Fraction(1), Fraction(1)) if high is None else _laplace_cdf(b, high), below)


def _laplace_cdf(b: Fraction, x: Fraction) -> Bounds:
    low, high = _halved(_exp(-abs(x) / b))
    return (low, high) if x < 0 else (1 - high, 1 - low)


def _moved(border: Fraction | None, by: int) -> Fraction | None:
    return None if border is None else border + by


def _difference(one: Bounds, two: Bounds) -> Bounds:
    return max(Fraction(0), one[0] - two[1]), one[1] - two[0]


def _halved(value: Bounds) -> Bounds:
    return value[0] / 2, value[1] / 2


def _exp(x: Fraction) -> Bounds:
    return exp_bounds(x, _BITS)


def _near(low: float, high: float) -> Bounds:
    """high - low of two cumulative probabilities, each right to 1e-13 of itself."""
    slack = 1e-13 * (high + low)
    return Fraction(max(0.0, high - low - slack)), Fraction(min(1.0, high - low + slack))
