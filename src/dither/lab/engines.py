"""What is attacked: Dither itself, and the defences people use instead. An adversary sees what an analyst sees.

    exact               plain DuckDB
    rounding            exact, each number rounded to a multiple of 5
    suppression         exact, counts below k or above n - k withheld
    overlap control     exact, no two questions may differ by one row
    noise, no ledger    fresh Laplace noise per question, nothing added up
    Dither              a session of `dither.open`, pure or with a delta

Flow: games open one per world by a `Maker`, and hand adversaries a `Desk`, which takes questions. `planted` holds
engines with a fault on purpose.
Relies on: `dither.open` and `Session.ask`, nothing below them. Noise comes from the printed seed, so that figures can
be checked; `system_noise` takes the operating system's bytes instead.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dither.errors import DitherError
from dither.lab.worlds.table import Table
from dither.noise import Entropy, discrete_laplace, insecure_seeded
from dither.plan.explain import price_text

if TYPE_CHECKING:
    from dither.session.session import Session

__all__ = [
    "Desk",
    "Dither",
    "Engine",
    "Exact",
    "Maker",
    "Noisy",
    "OverlapControl",
    "Reply",
    "Rounding",
    "Spend",
    "Suppression",
    "dither",
    "noise_source",
    "system_noise",
    "world_generator",
]

Row = tuple[Any, ...]
Maker = Callable[[Table, Fraction, int], "Engine"]
"""(table, budget epsilon, seed) -> an engine with a fresh ledger."""

_from_system: ContextVar[bool] = ContextVar("noise from the operating system", default=False)


@contextmanager
def system_noise(wanted: bool) -> Iterator[None]:
    """Within the body, engines take noise from the operating system (True) or from their seeds (False)."""
    token = _from_system.set(wanted)
    try:
        yield
    finally:
        _from_system.reset(token)


def noise_source(seed: int) -> Entropy | None:
    """What engines draw from: bytes of the seed, or None, which is the process's own generator."""
    return None if _from_system.get() else insecure_seeded(seed)


def world_generator(*seed: int) -> np.random.Generator:
    """For noise that is not Dither's own: of the seed, or of the operating system where that is wanted."""
    return np.random.default_rng(None if _from_system.get() else list(seed))


@dataclass(frozen=True)
class Reply:
    """Everything one question shows its asker."""

    rows: tuple[Row, ...] = ()
    refusal: str = ""
    """Code and full text of a refusal or an error; '' for an answer."""
    price: str = ""
    remaining: str = ""
    seconds: float = 0.0

    @property
    def answered(self) -> bool:
        return not self.refusal

    def scalar(self) -> Any:
        return self.rows[0][0] if self.rows else None

    def column(self, groups: int, position: int = 1) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(groups,) float64: the numbers of one column by group 0, 1, ...; 0 for a group that is not shown."""
        found = np.zeros(groups)
        for row in self.rows:
            if row[0] is not None and row[position] is not None:
                found[int(row[0])] = float(row[position])
        return found


@dataclass(frozen=True)
class Spend:
    """What a ledger says was spent."""

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    """Of everything, where Gaussian noise was bought; None otherwise."""
    has_ledger: bool = True

    def most(self, other: Spend) -> Spend:
        """The larger of two spends, part by part."""
        rho = None if self.rho is None and other.rho is None else max(self.rho or Fraction(0), other.rho or Fraction(0))
        return Spend(
            max(self.epsilon, other.epsilon),
            max(self.delta, other.delta),
            rho,
            self.has_ledger and other.has_ledger,
        )

    def at_most(self, epsilon: Fraction) -> Spend:
        """What a budget of epsilon, or of epsilon²/2 in rho, lets be spent of it."""
        rho = None if self.rho is None else min(self.rho, epsilon * epsilon / 2)
        return replace(self, epsilon=min(self.epsilon, epsilon), rho=rho)

    def __str__(self) -> str:
        if not self.has_ledger:
            return "no ledger"
        if self.rho is not None:
            return f"rho {float(self.rho):.4g}"
        return f"epsilon {float(self.epsilon):.4g}" + (f", delta {float(self.delta):.1g}" if self.delta else "")


class Engine:
    """Answers questions about one table `data`. Subclasses say how in `_answer`."""

    name = ""

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        self.table = table
        self.budget = budget
        self.seed = seed
        self.questions = self.refusals = 0

    def ask(self, sql: str, epsilon: Fraction | None = None) -> Reply:
        """A reply, whatever happens. epsilon: what the question may cost, where the engine has prices."""
        started = time.perf_counter()
        try:
            reply = self._answer(sql, epsilon)
        except DitherError as refused:
            reply = Reply(refusal=str(refused), remaining=self._remaining())
        self.questions += 1
        self.refusals += not reply.answered
        return replace(reply, seconds=time.perf_counter() - started)

    def spend(self) -> Spend:
        """As the engine's ledger says."""
        return Spend(has_ledger=False)

    def change(self, table: Table) -> None:
        """The owner exchanges the rows while the engine goes on: same catalog, same ledger."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of the data."""

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        raise NotImplementedError

    def _remaining(self) -> str:
        return ""

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Desk:
    """What an adversary is handed: questions go in, replies come out. Rows, seed and ledger stay behind it."""

    def __init__(self, engine: Engine) -> None:
        self._ask = engine.ask

    def ask(self, sql: str, epsilon: Fraction | None = None) -> Reply:
        return self._ask(sql, epsilon)


class Exact(Engine):
    """Plain DuckDB over the table."""

    name = "exact"

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        super().__init__(table, budget, seed)
        import duckdb

        self._duckdb = duckdb
        self._connection = duckdb.connect(config={"threads": 1})
        self.change(table)

    def change(self, table: Table) -> None:
        self.table = table
        self._connection.register("frame", dict(table.columns))
        self._connection.execute("CREATE OR REPLACE TABLE data AS SELECT * FROM frame")

    def _rows(self, sql: str) -> list[Row]:
        return self._connection.execute(sql).fetchall()

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        try:
            return Reply(tuple(self._shown(self._rows(sql), sql)))
        except self._duckdb.Error as error:
            # A plain database hands its error text on: that is a channel, see attack A15.
            return Reply(refusal=str(error))

    def _shown(self, rows: list[Row], sql: str) -> Sequence[Row]:
        return rows

    def close(self) -> None:
        self._connection.close()


class Rounding(Exact):
    """Numbers rounded to a multiple of `base`; the keys of a GROUP BY stay."""

    name = "rounding to 5"
    base: ClassVar[int] = 5

    def _shown(self, rows: list[Row], sql: str) -> Sequence[Row]:
        return [_numbers(row, sql, lambda x: self.base * round(x / self.base)) for row in rows]


class Suppression(Exact):
    """Counts below k, or above n - k, are withheld."""

    name = "suppression, k = 10"
    k: ClassVar[int] = 10

    def _shown(self, rows: list[Row], sql: str) -> Sequence[Row]:
        most = len(self.table) - self.k
        return [_numbers(row, sql, lambda x: x if self.k <= x <= most else None) for row in rows]


class OverlapControl(Exact):
    """Refuses a question whose rows differ from an earlier question's by one row: the natural fix of differencing."""

    name = "overlap control"

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        super().__init__(table, budget, seed)
        self._seen: list[frozenset[int]] = []

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        condition = sql.partition(" WHERE ")[2].partition(" GROUP BY ")[0] or "true"
        # Of one group; all groups are asked alike.
        found = self._rows(f"SELECT DISTINCT row_number FROM data WHERE {condition}")
        rows = frozenset(int(row[0]) for row in found)
        if any(len(rows ^ earlier) == 1 for earlier in self._seen):
            return Reply(refusal="refused: this question and an earlier one differ by one row")
        self._seen.append(rows)
        return super()._answer(sql, epsilon)


class Noisy(Exact):
    """Integer Laplace noise of scale sensitivity/epsilon on every number, drawn afresh for every question. Every answer
    is epsilon-private, and nothing adds the epsilons up: the seller promises the epsilon of one question."""

    name = "noise, no ledger"
    sensitivity: ClassVar[int] = 1

    def __init__(self, table: Table, budget: Fraction, seed: int) -> None:
        super().__init__(table, budget, seed)
        self._entropy = noise_source(seed)
        self._promised = Fraction(0)

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        price = epsilon or self.budget
        self._promised = max(self._promised, price)
        rows = self._rows(sql)
        width = len(rows[0]) - _keys(sql) if rows else 0
        draws = discrete_laplace(self.sensitivity / price, max(1, len(rows) * width), entropy=self._source(sql))
        left = iter(draws.tolist())
        return Reply(tuple(_numbers(row, sql, lambda x: int(x) + next(left)) for row in rows), price=str(price))

    def _source(self, sql: str) -> Entropy | None:
        return self._entropy

    def spend(self) -> Spend:
        return Spend(self._promised)


class Dither(Engine):
    """A session as an analyst has it, on a ledger in memory, or in a file where the rows are to change under it."""

    name = "Dither"

    def __init__(
        self, table: Table, budget: Fraction, seed: int, *, terms: Mapping[str, Any] | None = None, rho: bool = False,
        ledger: Path | None = None,
    ) -> None:  # fmt: skip
        super().__init__(table, budget, seed)
        self._by_rho = rho
        self._budget = {"rho": budget * budget / 2} if rho else {"epsilon": budget}
        self._budget.update(terms or {})
        self._ledger = ledger
        self._session = self._opened(table, seed)

    def change(self, table: Table) -> None:
        if self._ledger is None:
            raise NotImplementedError
        self._session.close()
        # Other draws than before: the same ones twice would be a fault of the lab's.
        self.table, self._session = table, self._opened(table, self.seed + 1_000_003)

    def _opened(self, table: Table, seed: int) -> Session:
        import dither

        return dither.open(
            dict(table.columns),
            privacy_unit=table.unit,
            budget=self._budget,
            bounds=dict(table.bounds),
            values=dict(table.values),
            max_rows_per_unit=table.max_rows_per_unit,
            ledger=self._ledger,
            entropy=noise_source(seed),
        )

    def _answer(self, sql: str, epsilon: Fraction | None) -> Reply:
        price = epsilon or self.budget
        # An epsilon-private answer has a zCDP price of epsilon²/2 at most: offers of the same order.
        by_rho = self._by_rho
        answer = self._session.ask(sql, epsilon=None if by_rho else price, rho=price * price / 2 if by_rho else None)
        return Reply(tuple(answer.rows()), price=price_text(answer.charged), remaining=self._remaining())

    def _remaining(self) -> str:
        return str(self._session.budget())

    def spend(self) -> Spend:
        spent = self._session.budget().spent
        return Spend(spent.epsilon, spent.delta, spent.rho if spent.gaussian else None)

    def close(self) -> None:
        self._session.close()


def dither(*, delta: str | None = None, gaussian: bool = False) -> Maker:
    """A maker of Dither: pure; with a delta for private groups; or with Gaussian noise on a budget in rho."""
    terms: dict[str, Any] = ({"delta": delta} if delta else {}) | ({"gaussian": True} if gaussian else {})

    def make(table: Table, budget: Fraction, seed: int) -> Engine:
        engine = Dither(table, budget, seed, terms=terms, rho=gaussian)
        if terms:
            engine.name = "Dither, Gaussian" if gaussian else f"Dither, delta {delta}"
        return engine

    return make


def _keys(sql: str) -> int:
    """How many of a question's columns are keys: as many as GROUP BY names, and they come first."""
    keys = sql.partition(" GROUP BY ")[2]
    return keys.count(",") + 1 if keys else 0


def _numbers(row: Row, sql: str, change: Callable[[Any], Any]) -> Row:
    """The row with its numbers changed; the keys of a GROUP BY stay."""
    keys = _keys(sql)
    return (*row[:keys], *(None if value is None else change(value) for value in row[keys:]))
