"""The released law, drawn through `Session.ask` and held against the price that was charged.

Flow: two databases of a thousand public groups; in the second, every group has one unit more, with all the rows it may
keep. A group's numbers are then a draw of the release on one of two neighbouring databases, so one question gives a
thousand draws, and `audit.test` gets as many as it wants. Each question differs in an always-true condition: asked
twice, it would be answered with the same numbers.

Where one outcome is two numbers (two columns, two groups, two questions), only one of them depends on the unit: noise
used twice is then seen in their difference, whatever its law.  What a line proves: docs/proofs/audit/pipeline.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.bounds import discrete_gaussian_mu, gdp_epsilon
from dither.audit.pipeline.questions import Offer
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import World
from dither.audit.sampled import test
from dither.catalog.load import loads
from dither.noise import Entropy

__all__ = ["CATALOG", "CROWD", "LAWS", "Law", "noise"]

NOISE = "noise"
GROUPS = 1000
TAU = 2
DELTA = 1e-6
"""For Gaussian noise, whose epsilon depends on it."""

CATALOG = f"""
[dataset]
name = "audit of noise"
[source]
url = "invented.duckdb"
[unit]
name = "person"
[budget]
epsilon = 1e9
delta = 1e-5
[tables.n]
privacy_unit = "uid"
max_rows_per_unit = {TAU}
[tables.n.columns]
k = {{ type = "integer", bounds = [0, {GROUPS - 1}] }}
v = {{ type = "integer", bounds = [0, 10] }}
x = {{ type = "double", bounds = [-1, 1] }}
"""
CROWD = f"SELECT 10000 + i, i % {GROUPS}, 3 + i // {GROUPS}, 0.3 FROM range({3 * GROUPS}) AS r(i)"
"""Three units in every group, with the values 3, 4 and 5: all groups of a database must have one law."""
_ONE_MORE = f"SELECT 1000000 + i % {GROUPS}, i % {GROUPS}, 10, 1.0 FROM range({TAU * GROUPS}) AS r(i)"
"""In every group one unit more, with TAU rows of the largest value; nobody else has that value."""


@dataclass(frozen=True)
class Law:
    """What is asked over and over. Questions hold {always}, which differs each time, and give k and then numbers."""

    name: str
    questions: tuple[str, ...]
    epsilon: Fraction | None = Fraction(1)
    rho: Fraction | None = None
    paired: bool = False
    """One outcome is the difference of two groups, of which the odd one does not hold the unit. Were the noise one for
    all, a single question would be a single draw: the difference alone shows it without a second."""
    slow: bool = False

    @property
    def offer(self) -> Offer:
        return {"epsilon": self.epsilon, "rho": self.rho}


def _law(name: str, *columns: str, where: Sequence[str] = ("{always}",), **more: Any) -> Law:
    texts = tuple(
        f"SELECT k, {', '.join(columns)} FROM n WHERE {condition} AND k IS NOT NULL GROUP BY k" for condition in where
    )
    return Law(name, texts, **more)


LAWS = (
    _law("a count", "COUNT(*)"),
    _law("a count at 1.3", "COUNT(*)", epsilon=Fraction(13, 10)),
    _law("a group of nobody else", "COUNT(*) FILTER (WHERE v = 10)"),
    _law("a count and a sum", "COUNT(*)", "SUM(v)"),
    _law("a sum of doubles", "SUM(x)"),
    _law("a mean", "AVG(v)"),
    _law("different values", "COUNT(DISTINCT v)"),
    Law(
        "sums within units",
        (
            "SELECT k, SUM(s) FROM (SELECT uid, k, SUM(v) AS s FROM n WHERE {always} GROUP BY uid, k) AS q "
            "WHERE k IS NOT NULL GROUP BY k",
        ),
    ),
    _law("Gaussian noise", "COUNT(*)", epsilon=None, rho=Fraction(1, 2)),
    _law("a median", "MEDIAN(v)", slow=True),
    _law("a median of nobody else", "MEDIAN(v) FILTER (WHERE v = 10)", slow=True),
    _law("two columns", "COUNT(*)", "COUNT(*) FILTER (WHERE v < 10)"),
    _law("two questions", "COUNT(*)", where=("{always}", "{always} AND v < 10")),
    _law("two groups", "COUNT(*)", where=("{always} AND (k % 2 = 0 OR v < 10)",), paired=True),
)


def noise(
    *,
    draws: int,
    error: float,
    seed: int,
    entropy: Entropy | None,
    say: Callable[[str], None],
    laws: Sequence[Law] = LAWS,
) -> Iterator[Line]:
    """A line per law. draws: outcomes over both databases.  error: of each line."""
    catalog = loads(CATALOG)
    with World(catalog, entropy=entropy) as without, World(catalog, entropy=entropy) as with_one:
        for world in (without, with_one):
            world.fill("n", CROWD)
        with_one.fill("n", _ONE_MORE)
        sources = [_Draws(without), _Draws(with_one)]
        for law in laws:
            say(f"{NOISE}: {law.name}")
            yield _audited(law, sources, draws // 10 if law.slow else draws, error, seed)


def _audited(law: Law, sources: Sequence[_Draws], draws: int, error: float, seed: int) -> Line:
    sources[0].begin(law)
    claimed, delta = sources[1].begin(law), 0.0
    if law.epsilon is None:
        # What rho buys is discrete Gaussian noise for a count that one unit moves by TAU: its whole curve is known, and
        # is a little below the continuous Gaussian's.
        mu = discrete_gaussian_mu(variance=TAU * TAU / (2 * claimed), shift=TAU)
        claimed, delta = gdp_epsilon(mu, DELTA), DELTA
    finding = test(
        lambda place, size: sources[place].outcomes(size),
        (0, 1),
        claimed=claimed,
        delta=delta,
        gaussian=law.epsilon is None,
        budget_calls=draws,
        confidence=1 - error,
        seed=seed,
    )
    stated = f"epsilon {claimed:.4g}" + (f", delta {delta:g}" if delta else "")
    return Line(
        NOISE,
        f"{law.name}: {law.questions[0]}",
        finding.verdict,
        stated,
        f"epsilon >= {finding.epsilon_lower:.4g}",
        f"event {finding.event}; {finding.hits[0]:,} of {finding.trials[0]:,} against {finding.hits[1]:,} of "
        f"{finding.trials[1]:,}",
        error,
    )


class _Draws:
    """Outcomes of one law on one database, as many as wanted."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.number = 0
        self.left: NDArray[np.float64] = np.empty((0, 1))
        self.law = LAWS[0]

    def begin(self, law: Law) -> float:
        """Ask once, and give what the ledger was charged for one outcome: the claim to be refuted."""
        self.law = law
        before = self.world.ledger.spent()
        self.left = self._ask()
        after = self.world.ledger.spent()
        return float(after.rho - before.rho) if law.epsilon is None else float(after.epsilon - before.epsilon)

    def outcomes(self, size: int) -> NDArray[np.float64]:
        parts = [self.left]
        while sum(len(part) for part in parts) < size:
            parts.append(self._ask())
        rows = np.concatenate(parts)
        self.left = rows[size:]
        return rows[:size]

    def _ask(self) -> NDArray[np.float64]:
        """(GROUPS, numbers) or, paired, (GROUPS / 2, differences), by group."""
        self.number += 1
        parts = []
        for text in self.law.questions:
            answer = self.world.session.ask(text.format(always=f"v >= {-self.number}"), **self.law.offer)
            rows = sorted(answer.rows())
            parts.append(np.array([[np.nan if n is None else n for n in row[1:]] for row in rows], dtype=np.float64))
        found = np.concatenate(parts, axis=1)
        return found[::2] - found[1::2] if self.law.paired else found
