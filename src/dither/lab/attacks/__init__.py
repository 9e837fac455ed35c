"""The attacks, one file for each idea. Each is a function from Options to a Result.

A1, A2   differencing     two sums one row apart; one count
A3       tracker          small counts out of large ones
A4       averaging        one question in many spellings
A5       reconstruction   all bits by linear programming
A6       census           whole people out of small tables, by SAT
A7, A8   membership       in averages; in places by hour
A9       linkage          names by ZIP, birth date and sex
A10      scoreboard       a viewer among ratings
A11      unicity          a few points of a trace
A12      singling_out     a condition one person meets
A13      search           a machine looks for the questions that tell most
A14      keys             which groups exist
A15      channels         errors, refusals, prices, time
running  running          Q5 - Q4 when all totals come at once
planted                   engines with a fault: the lab's own test
"""

from __future__ import annotations

from importlib import import_module

from dither.lab.result import Attack, Options, Result

__all__ = ["ATTACKS", "attack"]

ATTACKS = {
    "A1": "differencing", "A2": "differencing", "A3": "tracker", "A4": "averaging", "A5": "reconstruction",
    "A6": "census", "A7": "membership", "A8": "membership", "A9": "linkage", "A10": "scoreboard", "A11": "unicity",
    "A12": "singling_out", "A13": "search", "A14": "keys", "A15": "channels", "running": "running",
    "planted": "planted",
}  # fmt: skip
"""Key -> module, in the order of a full run."""


def attack(key: str) -> Attack:
    """The function of an attack, loaded when it is wanted."""

    def run(options: Options) -> Result:
        found: Result = getattr(import_module(f"dither.lab.attacks.{ATTACKS[key]}"), key.lower())(options)
        return found

    return run
