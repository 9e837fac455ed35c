"""A5, reconstruction: every patient's bit from sums over random subsets, by linear programming.

With error well below sqrt(n) per sum, a few times n sums give nearly all of n bits back. The program minimises
sum |Q c - a| over c in [0, 1]^n; bits are c rounded. Where the error has a limit that everybody knows, as rounding has,
the limit goes into the program. One budget over all sums makes each too noisy; the same noise per sum without a ledger
does not.
Source: Dinur, Nissim 2003 (the limits); Dwork, McSherry, Talwar 2007 (the L1 program).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.lab.engines import Desk, Exact, Noisy, Rounding, dither
from dither.lab.games import Bits, Scene, play
from dither.lab.result import Options, Result
from dither.lab.worlds.table import Table

__all__ = ["Reconstruction", "a5", "solve"]

PATIENTS, SUMS, PER_QUESTION = 100, 400, 50
_PRIME = 101

Floats = NDArray[np.float64]


def solve(subsets: Floats, answers: Floats, *, within: int | None = None) -> Floats:
    """c in [0, 1]^n that minimises sum |Q c - a|.  subsets: (m, n) of 0 and 1;  answers: (m,).
    within: the largest error an answer can have, where it is known; every term then stays at or below it."""
    from scipy.optimize import linprog

    m, n = subsets.shape
    cost = np.concatenate([np.zeros(n), np.ones(2 * m)])
    equations = np.hstack([subsets, np.eye(m), -np.eye(m)])
    limits = [(0, 1)] * n + [(0, within)] * (2 * m)
    return np.asarray(linprog(cost, A_eq=equations, b_eq=answers, bounds=limits, method="highs").x[:n])


class Reconstruction:
    """Several hospitals of 100 patients; 400 sums over subsets chosen by arithmetic on the patient's number."""

    key = "A5"

    def __init__(self, *, shared: bool = True, within: int | None = None) -> None:
        self.shared = shared
        """Whether all sums share the epsilon; otherwise each costs it anew."""
        self.within = within
        """The largest error of an answer, where the defence is known to have one."""

    def scene(self, generator: np.random.Generator, trials: int) -> Scene:
        bits = generator.integers(0, 2, trials)
        columns = {"trial": np.arange(trials) // PATIENTS, "id": np.arange(trials) % PATIENTS, "diabetes": bits}
        bounds = {"trial": (0, trials // PATIENTS - 1), "id": (0, PATIENTS - 1), "diabetes": (0, 1)}
        pairs = generator.permutation((_PRIME - 1) * _PRIME)[:SUMS]
        return Scene(Table(columns, bounds), bits == 1, {"a": pairs // _PRIME + 1, "b": pairs % _PRIME})

    def guess(self, engine: Desk, known: Mapping[str, Any], trials: int, epsilon: Fraction) -> Bits:
        hospitals = trials // PATIENTS
        price = epsilon * PER_QUESTION / SUMS if self.shared else epsilon
        answers = []
        for start in range(0, SUMS, PER_QUESTION):
            sums = ", ".join(
                f"SUM(diabetes) FILTER (WHERE (id * id * {a} + id * {b}) % {_PRIME} % 2 = 0)"
                for a, b in zip(known["a"][start : start + PER_QUESTION], known["b"][start:], strict=False)
            )
            reply = engine.ask(f"SELECT trial, {sums} FROM data GROUP BY trial", price)
            answers += [reply.column(hospitals, 1 + i) for i in range(PER_QUESTION)]
        ids = np.arange(PATIENTS)
        subsets = ((ids * ids * known["a"][:, None] + ids * known["b"][:, None]) % _PRIME % 2 == 0).astype(float)
        return (
            np.concatenate([solve(subsets, np.array(answers)[:, h], within=self.within) for h in range(hospitals)])
            > 0.5
        )


def a5(options: Options) -> Result:
    seed = options.seed
    trials = PATIENTS * max(2, options.times(10))
    few = PATIENTS * max(2, options.times(5))
    shared, anew = Reconstruction(), Reconstruction(shared=False)
    rounded = Reconstruction(within=Rounding.base // 2)
    lines = [
        play(shared, Exact, Fraction(1), seed=seed, blocks=1, trials=few),
        play(rounded, Rounding, Fraction(1), seed=seed, blocks=1, trials=few, oracle=1.0,
             note="rounding moves a sum by 2 at most, and the program is told"),
        play(anew, Noisy, Fraction(1), seed=seed, blocks=1, trials=few, oracle=1.0,
             note="epsilon 1 for each of 400 sums, 50 to a question"),
    ]  # fmt: skip
    lines += [
        play(shared, dither(), e, seed=seed, blocks=1, trials=trials, oracle=1.0, note="one budget for all 400 sums")
        for e in options.epsilons
    ]
    return Result("A5", tuple(lines))
