"""The lab's own test: engines with a planted fault, each under the attack that must find it. Every line here is to end
in ABOVE BOUND; one that does not says that the lab has gone blind.
"""

from __future__ import annotations

from fractions import Fraction

from dither.lab.attacks.averaging import Averaging
from dither.lab.attacks.differencing import PrefixDifference, SingleCount
from dither.lab.attacks.keys import KeyExistence
from dither.lab.games import play
from dither.lab.planted import PLANTED
from dither.lab.result import Options, Result

__all__ = ["BeyondBounds", "SingleSum", "planted"]


class SingleSum(SingleCount):
    """One sum of values up to 10; the target's is 10."""

    what = "SUM(visits)"
    each = 10


class BeyondBounds(SingleSum):
    """The same, where the target's value is ten times what the catalog allows. Who clamps counts it as 10."""

    holds = 100


def planted(options: Options) -> Result:
    one = Fraction(1)
    cases = (
        ("half the noise", SingleCount(), "twice the epsilon that is booked", 2),
        ("wrong sensitivity", SingleSum(), "a sum moves by 10, noise for 1", 2),
        ("no clamp", BeyondBounds(), "a value of 100 where 10 is the bound", 2),
        ("ledger forgets", Averaging(8, one), "8 spellings, each on a new ledger", 1),
        ("one noise for all", PrefixDifference(), "both sums carry the same noise", 2),
        ("noise by text", Averaging(8, one), "8 spellings, one of them booked", 2),
        ("bare keys", KeyExistence(), "the list of groups carries no noise", 2),
    )
    lines = [
        play(attack, PLANTED[name], one, seed=options.seed, blocks=blocks, oracle=1.0, note=note)
        for name, attack, note, blocks in cases
    ]
    return Result("planted", tuple(lines))
