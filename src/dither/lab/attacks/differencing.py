"""A1 and A2: two sums one row apart; the best use of one count; and ways round 'no two questions may differ by a row'.

A prefix sum P_i and its backward difference P_i - P_(i-1) = x_i: the seed of the matter. Under a ledger both sums share
one budget, so the difference of their noises is what is left of the secret. A2 shows what the same budget buys when it
is spent on the one question that tells most.
Source of A2's optimum: Ghosh, Roughgarden, Sundararajan 2009 (the law), Neyman, Pearson (the guess).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from dither.differences import newton_series
from dither.lab import bounds
from dither.lab.engines import Desk, Exact, Noisy, OverlapControl, Rounding, dither
from dither.lab.games import Bits, Line, Scene, play
from dither.lab.result import Figure, Options, Result, bound_curve, curve
from dither.lab.worlds import hospital
from dither.lab.worlds.table import Table

__all__ = ["LastDifference", "NewtonExtrapolation", "PrefixDifference", "SingleCount", "ThreePairs", "a1", "a2"]

_SUM = "SELECT trial, SUM(diabetes) FROM data WHERE {} GROUP BY trial"


class _Ward:
    """Hospitals of some rows each; the secret is the diabetes bit of row 5. A row with 0 adds nothing to a sum, so for
    questions about sums of the bit, 1 or 0 is the row being in or out."""

    key = "A1"
    rows = 5

    def scene(self, generator: np.random.Generator, trials: int) -> Scene:
        table, truth = hospital.ward(generator, trials, rows=self.rows, coin=True)
        return Scene(table, truth)


class PrefixDifference(_Ward):
    """Q5 - Q4: the sum over rows 1 to 5 less the sum over rows 1 to 4, half the budget each."""

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        four = engine.ask(_SUM.format("row_number <= 4"), epsilon / 2).column(trials)
        five = engine.ask(_SUM.format("row_number <= 5"), epsilon / 2).column(trials)
        return five - four > 0.5


class ThreePairs(_Ward):
    """Row 5 from sums over three pairs of rows: (x5+x6 + x5+x7 - (x6+x7)) / 2. Any two pairs differ by two rows."""

    rows = 7

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        pairs = [
            engine.ask(_SUM.format(f"row_number IN ({a}, {b})"), epsilon / 3).column(trials)
            for a, b in ((5, 6), (5, 7), (6, 7))
        ]
        return np.asarray((pairs[0] + pairs[1] - pairs[2]) / 2 > 0.5)


class LastDifference(_Ward):
    """Windows of three rows, each two rows away from the next: their differences are x(i+3) - x(i), an inverse
    difference of step 3 from the known x2 gives x5."""

    def scene(self, generator: np.random.Generator, trials: int) -> Scene:
        scene = super().scene(generator, trials)
        return Scene(scene.table, scene.truth, {"x2": scene.table.columns["diabetes"].reshape(trials, self.rows)[:, 1]})

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        first = engine.ask(_SUM.format("row_number BETWEEN 2 AND 4"), epsilon / 2).column(trials)
        second = engine.ask(_SUM.format("row_number BETWEEN 3 AND 5"), epsilon / 2).column(trials)
        return np.asarray(known["x2"] + second - first > 0.5)


class NewtonExtrapolation(_Ward):
    """All rows are in every question, with row 5 weighted t = 2, 3: a polynomial in t of degree 1. Newton's series at
    t = 0 is the total without row 5 that would be refused, and at t = 1 the total."""

    _weighted = (
        "SELECT trial, SUM(CASE WHEN row_number = 5 THEN {} * diabetes ELSE diabetes END) FROM data GROUP BY trial"
    )

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        two, three = (engine.ask(self._weighted.format(t), epsilon / 2).column(trials) for t in (2, 3))
        found = [newton_series([a, b], origin=2) for a, b in zip(two, three, strict=True)]
        return np.array([series(1) - series(0) > 0.5 for series in found])


class SingleCount:
    """One count of a group of which all others are known: guess `in` when it is above what they make."""

    key = "A2"
    others = 4
    what = "COUNT(*)"
    each = 1
    """What one person adds to `what`."""
    holds = 10
    """The visits of the one who is in or out; the others have 10, the largest number that is declared."""

    def scene(self, generator: np.random.Generator, trials: int) -> Scene:
        present = generator.integers(0, 2, trials) == 1
        trial = np.concatenate([np.repeat(np.arange(trials), self.others), np.flatnonzero(present)])
        visits = np.full(len(trial), 10)
        visits[trials * self.others :] = self.holds
        table = Table({"trial": trial, "visits": visits}, {"trial": (0, trials - 1), "visits": (0, 10)})
        return Scene(table, present)

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        found = engine.ask(f"SELECT trial, {self.what} FROM data GROUP BY trial", epsilon).column(trials)
        return found - self.each * self.others > self.each / 2


def a1(options: Options) -> Result:
    """Prefix differencing on four engines, then the ways round overlap control."""
    blocks, seed = options.times(20), options.seed
    few = options.times(3)
    attack = PrefixDifference()
    lines = [
        play(attack, Exact, Fraction(1), seed=seed, blocks=few, at=None, note="Q5 - Q4 is the secret itself"),
        play(attack, Rounding, Fraction(1), seed=seed, blocks=few, note="rounded apart or together, by luck"),
        play(attack, OverlapControl, Fraction(1), seed=seed, blocks=few, note="the second sum is refused"),
    ]
    for attempt, words in (
        (ThreePairs(), "three pairs of rows, no two one row apart"),
        (LastDifference(), "windows of three rows, with row 2 known"),
        (NewtonExtrapolation(), "all rows each time, row 5 weighted: Newton's series at 0"),
    ):
        lines.append(play(attempt, OverlapControl, Fraction(1), seed=seed, blocks=few, note=words))
    runs = [
        _with_own_bound(play(attack, dither(), e, seed=seed, blocks=blocks, oracle=1.0), e) for e in options.epsilons
    ]
    pairs = [
        play(ThreePairs(), dither(), e, seed=seed, blocks=few, oracle=1.0, note="three pairs") for e in options.epsilons
    ]
    figure = Figure("epsilon", (curve("Q5 - Q4 on Dither", runs), bound_curve("the ledger's bound", runs)), True)
    return Result("A1", (*lines, *runs, *pairs), figure)


def a2(options: Options) -> Result:
    """The best attack on a budget: at the bound, and not above it."""
    blocks, seed = options.times(20), options.seed
    attack = SingleCount()
    lines = [play(attack, Exact, Fraction(1), seed=seed, blocks=options.times(3))]
    runs = [play(attack, dither(), e, seed=seed, blocks=blocks, oracle=1.0, note=_TIGHT) for e in options.epsilons]
    fresh = play(
        attack, dither(), Fraction(1), seed=seed + 1, blocks=options.times(200), trials=20, oracle=1.0,
        note="small tables, a fresh ledger each: the same law",
    )  # fmt: skip
    gaussian = [
        play(attack, dither(gaussian=True), e, seed=seed, blocks=options.times(5), oracle=1.0,
             note="bound by rho alone, for any noise of that price")
        for e in options.epsilons if e <= 1
    ]  # fmt: skip
    one = [play(attack, Noisy, e, seed=seed, blocks=options.times(5), oracle=1.0, note="one question: as promised")
           for e in options.epsilons if e == 1]  # fmt: skip
    figure = Figure("epsilon", (curve("one count on Dither", runs), bound_curve("the ledger's bound", runs)), True)
    return Result("A2", (*lines, *runs, fresh, *gaussian, *one), figure)


_TIGHT = "the best attack there is: at the bound, so its interval holds it"


def _with_own_bound(line: Line, epsilon: Fraction) -> Line:
    from dataclasses import replace

    own = bounds.accuracy(epsilon / 2)
    return replace(line, note=f"Chandler's own bound is {own:.3f}: the sum over rows 1 to 4 does not hold him")
