"""What an asker is ready to pay for a question: epsilon, or rho.

Flow: the session reads it from arguments and text (`session.offers`); `price` splits it over a plan's vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from dither.errors import InvalidParameter
from dither.exact import Number, decimal_text, positive

__all__ = ["Offer", "check_amount", "root_down"]

LARGEST_OFFER = 10**18
"""No budget is as large, and shares of an offer are floats in places; a number of 400 digits is none."""


def check_amount(amount: Fraction, name: str) -> None:
    """Raises InvalidParameter for an offer above LARGEST_OFFER."""
    if amount > LARGEST_OFFER:
        raise InvalidParameter(name, expected=f"at most {LARGEST_OFFER:.0e}", found=decimal_text(amount))


@dataclass(frozen=True)
class Offer:
    """What the asker is ready to pay for one question: epsilon (pure events only) or rho (zCDP)."""

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction | None = None
    """The most that choosing private groups may cost in all, where the asker said so."""

    @classmethod
    def create(cls, *, epsilon: Number | None = None, rho: Number | None = None) -> Offer:
        if (epsilon is None) == (rho is None):
            raise InvalidParameter(
                "offer",
                expected="epsilon=... or rho=...",
                found="neither" if epsilon is None else "both",
                code="M-101",
                hint="Say what the question may cost, as in epsilon=0.5. Nothing is charged without a stated offer.",
            )
        offer = cls(
            None if epsilon is None else positive(epsilon, "epsilon"), None if rho is None else positive(rho, "rho")
        )
        check_amount(offer.total, "epsilon" if rho is None else "rho")
        return offer

    @property
    def total(self) -> Fraction:
        found = self.epsilon if self.epsilon is not None else self.rho
        assert found is not None
        return found


def root_down(value: Fraction) -> Fraction:
    """A rational just below the square root: an epsilon whose epsilon² / 8 stays within a rho."""
    scale = 10**12
    return Fraction(math.isqrt(int(value * scale * scale)), scale)
