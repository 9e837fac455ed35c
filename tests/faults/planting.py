"""How a fault is planted: one function of the production path replaced by a wrong one, while the audit runs.

Flow: the files `of_*` list faults with `@plant`; `test_planted_faults` plants each alone.
A fault is written as what it makes of the function at `at`; its docstring is its description. `audit` runs the least of
the audit that sees it. The checks "noise" and "keys" are statistical: seeds are fixed, and with other seeds a right
pipeline would be called violated with probability below 1e-6 a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any
from unittest import mock

from dither.audit.pipeline import Line, Question, run
from dither.audit.pipeline.keys import keys
from dither.audit.pipeline.noise import LAWS, noise
from dither.audit.pipeline.questions import DDL, own_catalog
from dither.audit.pipeline.sensitivity import sensitivity
from dither.noise import insecure_seeded

__all__ = [
    "COUNT",
    "CUBE",
    "LISTED",
    "NESTED",
    "RUNNING",
    "SEED",
    "SUM",
    "Fault",
    "asked",
    "groups",
    "law",
    "moved",
    "of",
    "plant",
]

Audit = Callable[[], Iterable[Line]]
SEED = 7
COUNT = "SELECT COUNT(*) FROM t"
SUM = "SELECT SUM(k) FROM t"
CUBE = "SELECT region, flag, COUNT(*) FROM t GROUP BY CUBE (region, flag)"
RUNNING = "SELECT d, SUM(COUNT(*)) OVER (ORDER BY d) AS running FROM t GROUP BY d"
NESTED = "SELECT COUNT(*) FROM t WHERE x > (SELECT AVG(x) FROM t)"


@dataclass(frozen=True)
class Fault:
    name: str
    words: str
    at: tuple[str, ...]
    """Dotted names of what is replaced."""
    check: str
    audit: Audit
    make: Callable[..., Any]

    @contextmanager
    def planted(self) -> Iterator[None]:
        originals = [_found(name) for name in self.at]
        made = self.make(*originals)
        with ExitStack() as stack:
            for name, changed in zip(self.at, made if len(self.at) > 1 else [made], strict=True):
                stack.enter_context(mock.patch(name, changed))
            yield

    def lines(self) -> list[Line]:
        return [line for line in self.audit() if line.check == self.check]


LISTED: list[Fault] = []


def plant(*at: str, check: str, audit: Audit) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """List the decorated function as a fault: given the originals at `at`, it gives what stands in their places."""

    def listed(make: Callable[..., Any]) -> Callable[..., Any]:
        words = " ".join((make.__doc__ or "").split())
        LISTED.append(Fault(make.__name__.replace("_", " "), words, at, check, audit, make))
        return make

    return listed


# Cached, so that faults that are seen by the same audit share one run of it without a fault.
@cache
def asked(check: str, *texts: str, epsilon: Fraction = Fraction(1), rho: Fraction | None = None) -> Audit:
    """A check over these questions alone. rho: in place of epsilon."""
    questions = tuple(Question(text, epsilon=None if rho else epsilon, rho=rho) for text in texts)
    return lambda: run(checks=[check], questions=questions, seed=SEED).lines


@cache
def moved(
    *asked: str | Question,
    epsilon: Fraction = Fraction(1),
    rho: Fraction | None = None,
    replaced: bool = False,
    stored: bool = False,
) -> Audit:
    """The search for sensitivity, over these questions and one of its kinds of neighbours. rho: in place of epsilon."""
    priced: dict[str, Any] = {"epsilon": epsilon} if rho is None else {"epsilon": None, "rho": rho}
    questions = tuple(Question(each, **priced) if isinstance(each, str) else each for each in asked)
    return lambda: sensitivity(
        own_catalog(replace=replaced),
        questions,
        ddl=DDL,
        seed=SEED,
        rounds=0 if stored else 4,
        entropy=insecure_seeded(SEED),
        say=lambda doing: None,
        stored=stored,
    )


@cache
def of(check: str) -> Audit:
    """A check that has lines of its own, besides those of questions."""
    return asked(check, COUNT)


@cache
def law(name: str, draws: int = 20_000, *, seeded: bool = True) -> Audit:
    """The noise of one law."""
    chosen = [found for found in LAWS if found.name == name]
    return lambda: noise(
        draws=draws,
        error=1e-6,
        seed=SEED,
        entropy=insecure_seeded(SEED) if seeded else None,
        say=lambda doing: None,
        laws=chosen,
    )


def groups() -> Iterator[Line]:
    """Private groups: 40,000 units a shape."""
    return keys(units=20_000, rounds=2, error=1e-6, entropy=insecure_seeded(SEED), say=lambda doing: None)


def _found(name: str) -> Any:
    """The object of a dotted name: of a module, or of a class in one; a property as itself."""
    owner, _, last = name.rpartition(".")
    try:
        return getattr(import_module(owner), last)
    except ModuleNotFoundError:
        module, _, cls = owner.rpartition(".")
        return vars(getattr(import_module(module), cls))[last]
