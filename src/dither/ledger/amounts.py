"""Exact amounts as text: how prices and budgets are written into a ledger and read back.

Flow: standings and entries use it on the way to and from the database. Relies on `exact` and `accounting.Price`.
An amount is stored as a rational ("1/3", "12"), never as a float or a machine integer: a budget of 1e15 in steps of
1e-18 needs 110 bits. Charges stay exact while their denominator is at most 1e18 (1e36 for delta, which starts near
1e-13), and are rounded up beyond it, so that totals neither drift below what was spent nor grow without end.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dither.accounting.price import Price
from dither.errors import LedgerCorrupt
from dither.exact import QUANTUM, decimal_text, round_up

__all__ = [
    "DELTA_QUANTUM",
    "LARGEST",
    "amount",
    "amount_text",
    "charge_up",
    "price_from_json",
    "price_json",
    "price_text",
]

DELTA_QUANTUM = QUANTUM * QUANTUM

LARGEST = Fraction(10**9)
"""Of what an owner books or grants on any meter: beyond any that means something, and small enough to keep exactly."""


def charge_up(value: Fraction, quantum: Fraction = QUANTUM) -> Fraction:
    """`value` itself when its denominator is small enough to keep, else the next multiple of `quantum` above it."""
    return value if value.denominator <= quantum.denominator else round_up(value, quantum)


def amount_text(value: Fraction) -> str:
    return str(value)


def amount(text: object) -> Fraction:
    """The rational that `amount_text` wrote. Raises LedgerCorrupt for anything else."""
    if isinstance(text, str) and len(text) <= 400:
        numerator, _, denominator = text.partition("/")
        try:
            return Fraction(int(numerator), int(denominator or "1"))
        except (ValueError, ZeroDivisionError):
            pass
    raise LedgerCorrupt("The ledger holds an amount that is not a number.", hint="Run `dither budget verify`.")


def price_json(price: Price) -> dict[str, str | None]:
    epsilon = None if price.epsilon is None else amount_text(price.epsilon)
    return {"epsilon": epsilon, "rho": amount_text(price.rho), "delta": amount_text(price.delta)}


def price_from_json(stored: Mapping[str, object]) -> Price:
    """The price that `price_json` wrote."""
    epsilon = stored.get("epsilon")
    return Price(None if epsilon is None else amount(epsilon), amount(stored.get("rho")), amount(stored.get("delta")))


def price_text(price: Price) -> str:
    """`epsilon 0.5` or `rho 0.02, delta 0.000001`: the meters a person thinks in, cut after 18 digits."""
    first = f"rho {decimal_text(price.rho)}" if price.epsilon is None else f"epsilon {decimal_text(price.epsilon)}"
    return f"{first}, delta {decimal_text(price.delta, 30)}" if price.delta else first
