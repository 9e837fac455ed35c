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
report     a terminal table; `page` an HTML page with figures; `chinese` what both say in Chinese
classroom  a folder for each student of a class, and their guesses beside the bound
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import InvalidParameter
from dither.exact import Number, positive
from dither.lab.attacks import ATTACKS, attack
from dither.lab.engines import system_noise
from dither.lab.games import Line
from dither.lab.optional import MissingLibrary, needs
from dither.lab.result import Figure, Options, Result, Series

if TYPE_CHECKING:
    from dither.lab.worlds.adult import Adult
    from dither.lab.worlds.ratings import Ratings

__all__ = ["ATTACKS", "Figure", "Line", "Options", "Result", "Series", "chosen", "each", "run"]

MOST_EPSILON = 1000
"""Of one attack's budget: there every bound is 1, and far above it e^epsilon is no float."""


def run(
    name: str | None = None,
    *,
    epsilons: Iterable[Number] = ("0.1", 1, 10),
    seed: int = 1,
    scale: Number = 1,
    real_noise: bool = False,
    data: str | Path | None = None,
) -> list[Result]:
    """Run one attack, or all.
    name: a key (A1) or a word (differencing); None for all.  epsilons: what each attack may spend in all, in nats.
    scale: of the number of trials.  real_noise: noise from the operating system instead of the seed; figures then
    differ from run to run.  data: a file of real people for A9 (Adult) or A10 (MovieLens), named alone.
    An attack that needs a library which is not installed raises InvalidParameter when asked for by name; among others
    it is left out, and its result says why.
    Raises InvalidParameter."""
    return list(each(name, epsilons=epsilons, seed=seed, scale=scale, real_noise=real_noise, data=data))


def each(
    name: str | None = None,
    *,
    epsilons: Iterable[Number] = ("0.1", 1, 10),
    seed: int = 1,
    scale: Number = 1,
    real_noise: bool = False,
    data: str | Path | None = None,
) -> Iterator[Result]:
    """As `run`, one result after the other. Arguments are checked before the first is asked for."""
    needs("scipy", "SciPy", "for intervals and linear programs", extra="science")
    keys = chosen(name)
    spends = tuple(positive(e, "epsilon") for e in epsilons)
    if not spends:
        raise InvalidParameter("epsilons", expected="at least one number above 0", found="none")
    if max(spends) > MOST_EPSILON:
        raise InvalidParameter("epsilon", expected=f"at most {MOST_EPSILON:,}", found=max(spends))
    options = Options(spends, seed, positive(scale, "scale"), _given(keys, data))
    return (_played(key, options, real_noise, alone=len(keys) == 1) for key in keys)


def _played(key: str, options: Options, real_noise: bool, *, alone: bool) -> Result:
    try:
        with system_noise(real_noise):
            return attack(key)(options)
    except MissingLibrary as missing:
        if alone:
            raise
        return Result(key, (), left_out=missing.hint or missing.message)


def _given(keys: list[str], path: str | Path | None) -> Adult | Ratings | None:
    """Records of real people, for the one attack that reads such a file."""
    if path is None:
        return None
    from dither.lab.worlds import adult, movielens

    match keys:
        case ["A9"]:
            return adult.read(Path(path))
        case ["A10"]:
            return movielens.read(Path(path))
    raise InvalidParameter(
        "--data", expected="A9 or A10 named beside it", found="all attacks" if len(keys) > 1 else keys[0],
        hint="A9 reads adult.data of UCI; A10 reads ratings of MovieLens.",
    )  # fmt: skip


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
