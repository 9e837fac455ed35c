"""Epsilon in plain words: how far an answer can move anybody's guess about one person.

Somebody guesses that a patient has a trait with odds o; after an epsilon-DP answer the odds are at most e^epsilon o,
and at least e^-epsilon o, whatever else he knows. "A guess about one patient can go from 1 % to at most 2.7 %" is
epsilon 1.
Flow: explanations, receipts, the budget page, the odometer.
Relies on: certified exp; shares are rounded outward, words too.
Proof: docs/proofs/accounting/odds.md
"""

from __future__ import annotations

import math
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, decimal_text, exact, round_down, round_up
from dither.noise.bounds import exp_bounds

__all__ = ["guess_after", "in_words", "percent_text", "right_at_most"]

_BITS = 96
_LARGEST = 500
"""Above this epsilon the words are "to anything": exp is not worked out."""


def guess_after(prior: Number, epsilon: Number) -> tuple[Fraction, Fraction]:
    """The least and the most that a guess of probability `prior` can be after an epsilon-DP answer, rounded outward.
    Two answers about the unit being in the data or not; for `replace`, about its being one way or another."""
    p, e = _share(prior, "prior"), _at_least_zero(epsilon)
    if p in (0, 1):
        return p, p
    if e > _LARGEST:
        return Fraction(0), Fraction(1)
    growth = exp_bounds(e, _BITS)[1]
    most = p * growth / (1 - p + p * growth)
    least = p / (p + (1 - p) * growth)
    return round_down(least), round_up(most)


def right_at_most(epsilon: Number, delta: Number = 0) -> Fraction:
    """How often the best guess between two equally likely data sets is right, rounded up: (1 + (e^epsilon - 1 + 2
    delta)/ (e^epsilon + 1))/2 = (e^epsilon + delta)/(e^epsilon + 1)."""
    e, d = _at_least_zero(epsilon), _share(delta, "delta")
    if e > _LARGEST:
        return Fraction(1)
    # For delta <= 1 it grows with e^epsilon.
    growth = exp_bounds(e, _BITS)[1]
    return round_up((growth + d) / (growth + 1))


def in_words(epsilon: Number, delta: Number = 0, *, prior: Number = "0.01", unit: str = "patient") -> str:
    """One sentence about (epsilon, delta)-DP, rounded so that it stays true: "A guess about one patient can go from 1 %
    to at most 2.7 %"."""
    p, d = _share(prior, "prior"), _share(delta, "delta")
    _, most = guess_after(p, epsilon)
    sentence = f"A guess about one {unit} can go from {percent_text(p, 4)} to at most {percent_text(most, 2)}"
    if d:
        sentence += f", apart from a failure that has a chance of at most 1 in {1 / d.limit_denominator(10**18) // 1:,}"
    return sentence + "."


def percent_text(share: Fraction, digits: int) -> str:
    """`share` in per cent, rounded up to so many significant digits of the smaller of itself and what is missing to
    100 %: 2.7 %, 99.96 %."""
    percent = share * 100
    smaller = min(percent, 100 - percent)
    if smaller == 0:
        return f"{int(percent)} %"
    places = max(0, digits - 1 - math.floor(math.log10(smaller)))
    return f"{decimal_text(round_up(percent, Fraction(1, 10**places)), places)} %"


def _share(value: Number, name: str) -> Fraction:
    number = exact(value, name)
    if not 0 <= number <= 1:
        raise InvalidParameter(name, expected="from 0 to 1", found=value)
    return number


def _at_least_zero(epsilon: Number) -> Fraction:
    number = exact(epsilon, "epsilon")
    if number < 0:
        raise InvalidParameter("epsilon", expected="0 or above", found=epsilon)
    return number
