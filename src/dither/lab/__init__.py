"""The attack lab: textbook attacks on data one can hold, each beside what the ledger's spend guarantees.

    from dither import lab
    results = lab.run("A2", epsilons=["0.1", 1, 10])
    for line in results[0].lines:
        print(line.engine, line.setting, line.value, line.bound, line.verdict)

bounds     the most any attack can reach, by epsilon and delta
games      the protocol: worlds, questions, guesses, counts, verdicts
engines    what is attacked; `planted` engines with a fault
worlds     invented people
attacks    one file for each idea
report     a terminal table; `page` an HTML page with figures
"""

from __future__ import annotations

from collections.abc import Iterable

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.lab.attacks import ATTACKS, attack
from dither.lab.engines import system_noise
from dither.lab.games import Line
from dither.lab.result import Figure, Options, Result, Series

__all__ = ["ATTACKS", "Figure", "Line", "Options", "Result", "Series", "chosen", "run"]


def run(
    name: str | None = None,
    *,
    epsilons: Iterable[Number] = ("0.1", 1, 10),
    seed: int = 1,
    scale: Number = 1,
    real_noise: bool = False,
) -> list[Result]:
    """Run one attack, or all.
    name: a key (A1) or a word (differencing); None for all.  epsilons: what each attack may spend in all, in nats.
    scale: of the number of trials.  real_noise: noise from the operating system instead of the seed; figures then
    differ from run to run.
    Raises InvalidParameter."""
    _needs_scipy()
    keys = chosen(name)
    spends = tuple(positive(e, "epsilon") for e in epsilons)
    if not spends:
        raise InvalidParameter("epsilons", expected="at least one number above 0", found="none")
    options = Options(spends, seed, positive(scale, "scale"))
    with system_noise(real_noise):
        return [attack(key)(options) for key in keys]


def chosen(name: str | None) -> list[str]:
    """The keys that a name stands for."""
    if name is None or name.lower() == "all":
        return list(ATTACKS)
    wanted = name.lower().replace("-", "_")
    keys = [key for key, module in ATTACKS.items() if wanted in (key.lower(), module)]
    if not keys:
        words = ", ".join([*ATTACKS, *dict.fromkeys(ATTACKS.values())])
        raise InvalidParameter("name", expected=f"one of {words}", found=name)
    return keys


def _needs_scipy() -> None:
    from importlib.util import find_spec

    if find_spec("scipy") is None:
        raise InvalidParameter(
            "dither lab", expected="SciPy, for intervals and linear programs", found="no SciPy",
            hint="Install it with: pip install 'dither[science]'",
        )  # fmt: skip
