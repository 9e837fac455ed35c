"""Engines with a fault planted on purpose: the lab is right only if each of them turns a line red.

half the noise               charges epsilon, draws noise for twice as much
wrong sensitivity            one person moves a sum by 10, noise is made for 1
no clamp                     noise is made for values up to their bound, and values beyond it are summed as they are
ledger forgets               every question opens its budget anew
one noise for all            the same draws for every question, as from a clock's second used as a seed
noise by text                the draws of a text are kept and free; another spelling counts as the same question
bare keys                    counts carry noise, the list of groups does not
"""

from __future__ import annotations

import hashlib
from fractions import Fraction

from dither.lab.engines import Dither, Engine, Maker, Noisy, Reply, Spend
from dither.lab.worlds.table import Table
from dither.noise import Entropy, insecure_seeded

__all__ = [
    "PLANTED",
    "BareKeys",
    "ForgetfulLedger",
    "HalfNoise",
    "NoClamp",
    "NoiseByText",
    "OneNoise",
    "WrongSensitivity",
]


class HalfNoise(Dither):
    """The real engine, offered twice what its ledger books."""

    name = "half the noise"

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        super().__init__(table, 2 * budget, seed)
        self.budget = budget

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        return super()._answer(sql, 2 * (epsilon or self.budget))

    def spend(self) -> Spend:
        return Spend(super().spend().epsilon / 2)


class Booked(Noisy):
    """A noisy engine with a ledger that adds up every question's epsilon and refuses beyond the budget."""

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        super().__init__(table, budget, seed)
        self._booked = Fraction(0)

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        price = epsilon or self.budget
        if self._booked + price > self.budget:
            return Reply(refusal="the budget is spent")
        self._booked += price
        return super()._answer(sql, price)

    def spend(self) -> Spend:
        return Spend(self._booked)


class WrongSensitivity(Booked):
    """Right for counts; a sum of values from 0 to 10 needs ten times the noise."""

    name = "wrong sensitivity"


class NoClamp(Booked):
    """Right for sums of values from 0 to 10, as the catalog says they are; nobody makes sure of it."""

    name = "no clamp"
    sensitivity = 10


class OneNoise(Booked):
    """Every question draws from the same start."""

    name = "one noise for all"

    def _source(self, sql: str) -> Entropy | None:
        return insecure_seeded(self.seed)


class NoiseByText(Booked):
    """Noise is a function of the text; the ledger books the first text of a table only."""

    name = "noise by text"

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        if self._booked:
            return Noisy._answer(self, sql, epsilon)
        return super()._answer(sql, epsilon)

    def _source(self, sql: str) -> Entropy | None:
        digest = hashlib.sha256(f"{self.seed} {sql}".encode()).digest()
        return insecure_seeded(int.from_bytes(digest[:8], "big"))


class ForgetfulLedger(Engine):
    """The real engine, restarted before every question with a ledger that was not kept."""

    name = "ledger forgets"

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        super().__init__(table, budget, seed)
        self._last = Spend()

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        with Dither(self.table, self.budget, self.seed * 7919 + self.questions) as engine:
            reply = engine.ask(sql, epsilon)
            self._last = engine.spend()
        return reply

    def spend(self) -> Spend:
        return self._last


class BareKeys(Booked):
    """SELECT key, COUNT(*) shows exactly the keys that exist."""

    name = "bare keys"


PLANTED: dict[str, Maker] = {
    engine.name: engine
    for engine in (HalfNoise, WrongSensitivity, NoClamp, ForgetfulLedger, OneNoise, NoiseByText, BareKeys)
}
