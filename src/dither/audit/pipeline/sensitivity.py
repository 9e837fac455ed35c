"""The worst-case search: what a question measures on neighbouring databases, against what was paid for the difference.

Flow: each question is asked once, whole, through `Session.ask`; what it read (phases with their released results) is
read again on both databases of every Pair, without noise, and compared with the noise the ledger holds and its price.
Reading the same measures on both sides is what the proof of phases asks for: given the released results so far.

For groupings measured together, the integers of their residuals are compared, part by part.
For Laplace noise of scale b a movement of L1 size m costs m / b; for Gaussian noise of variance s2, m2 / (2 s2) with
m2 the squared L2 size; a quantile's histogram may move by the rows one unit keeps. Rationals: no tolerance is needed.
What a line proves: docs/proofs/audit/pipeline.md
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting import Price
from dither.audit.pipeline.databases import Pair, pairs
from dither.audit.pipeline.questions import MUST_BE_REFUSED, Question, public_rows
from dither.audit.pipeline.result import Line
from dither.audit.pipeline.world import Cells, World
from dither.catalog.model import Catalog
from dither.errors import DitherError, QueryRefused
from dither.mechanisms.residual.integers import residual_of
from dither.noise import Entropy
from dither.plan import nodes
from dither.plan.cubes import cell_places
from dither.plan.laws import MarginalLaw, RunningLaw
from dither.plan.running import Axis, axis_of
from dither.session.vectors import law_from_facts

__all__ = ["ask_whole", "refusals", "sensitivity", "truncation"]

UNBOUNDED = Fraction(10**9)
"""Stands for a movement that nothing was paid for."""
SENSITIVITY, REFUSALS, TRUNCATION = "sensitivity", "refusals", "truncation"


Readings = list[list[list[Cells]]]
"""By reading, measure and vector."""


@dataclass(frozen=True)
class _Vector:
    """One released vector: where it is among what was read, the law of its noise, and its price."""

    reading: int
    measure: int
    position: int
    kind: str
    law: Mapping[str, Any]
    price: Price
    tau: int
    axis: Axis | None = None
    """Where its groups stand, when its noise is placed for running totals."""
    cells: npt.NDArray[np.int64] | None = None
    """Where they stand in the table of a grouping that is measured with others."""

    def cost(self, before: Cells, after: Cells, replaced: bool) -> tuple[Fraction, Fraction]:
        """(what the movement costs, what was paid); the two meters in one, as the law has either."""
        moved = [abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys()]
        if self.law["kind"] == "choice":
            return Fraction(sum(moved), self.tau * (2 if replaced else 1)), Fraction(1)
        if self.cells is not None:
            return self._cost_of_parts(before, after, self.cells), self.price.rho
        if self.axis is not None:
            moved = self._moved_along(before, after, self.axis)
        if self.law["kind"].endswith("laplace"):
            return sum(moved) / Fraction(str(self.law["scale"])), self.price.epsilon or Fraction(0)
        return Fraction(sum(m * m for m in moved)) / (2 * Fraction(str(self.law["variance"]))), self.price.rho

    def _cost_of_parts(self, before: Cells, after: Cells, cells: npt.NDArray[np.int64]) -> Fraction:
        """What the movement of every part of a grouping costs, its integers as they are measured."""
        law = law_from_facts(self.law)
        assert isinstance(law, MarginalLaw)
        table = np.zeros([law.errors.sizes[axis] for axis in law.axes], dtype=np.int64)
        for key in before.keys() | after.keys():
            table[tuple(cells[key[-1]])] = after.get(key, 0) - before.get(key, 0)
        moved = {part: residual_of(table, law.axes, part) for part in law.errors.laws}
        return sum((int((m**2).sum()) / (2 * law.errors.laws[part].sigma2) for part, m in moved.items()), Fraction(0))

    def _moved_along(self, before: Cells, after: Cells, axis: Axis) -> list[int]:
        """How far the coordinates move that noise is added to: the design of the totals applied to the difference."""
        law = law_from_facts(self.law)
        assert isinstance(law, RunningLaw)
        lines = np.zeros((axis.lines, axis.n), dtype=np.int64)
        for key in before.keys() | after.keys():
            # A listed group's cell ends in its place in the list.
            lines[axis.line[key[-1]], axis.place[key[-1]]] = after.get(key, 0) - before.get(key, 0)
        coordinates = [law.plan.design.measure(line, law.plan.largest_count) for line in lines]
        return [abs(int(coordinate)) for coordinate in np.concatenate(coordinates)]


@dataclass
class _Asked:
    """A question, what it read, and the most that any pair of databases was seen to cost."""

    question: Question
    readings: list[list[nodes.Measure]]
    vectors: list[_Vector]
    charged: Price
    worst: Fraction = Fraction(0)
    """Of the cost of a movement over its price, vector by vector; above 1 is a violation."""
    where: str = ""

    def read(self, world: World) -> Readings:
        return [world.read(measures) for measures in self.readings]

    def compare(self, pair: Pair, before: Readings, after: Readings, replaced: bool) -> None:
        for vector in self.vectors:
            left, right = (side[vector.reading][vector.measure][vector.position] for side in (before, after))
            cost, paid = vector.cost(left, right, replaced)
            moved_for_nothing = cost > 0 and (pair.free or not paid)
            share = UNBOUNDED if moved_for_nothing else cost / (paid or 1)
            if share > self.worst:
                self.worst = share
                self.where = f"{pair.name}; a {vector.kind} vector"


def sensitivity(
    catalog: Catalog,
    questions: Sequence[Question],
    *,
    ddl: Mapping[str, str],
    seed: int,
    rounds: int,
    entropy: Entropy | None,
    say: Callable[[str], None],
    stored: bool = False,
) -> Iterator[Line]:
    """A line per question: the largest share of its price that one unit was seen to use up.
    stored: rows of heavy units are kept beside each database, as `dither tune` does, and used from there."""
    public = public_rows(catalog)
    replaced = catalog.neighbours == "replace"
    prefix = "replaced units: " if replaced else "stored rows: " if stored else ""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "kept.duckdb" if stored else None
        world = stack.enter_context(World(catalog, ddl=ddl, entropy=entropy, stored=path))
        world.load(public)
        first = next(iter(pairs(catalog, seed=seed, rounds=0, public=public)))
        world.load(first.before)
        asked: list[_Asked] = []
        for question in questions:
            try:
                asked.append(ask_whole(world, question))
            except DitherError as refused:
                said = refused.headline()
                yield Line.judged(SENSITIVITY, prefix + question.sql, right=True, found="refused", detail=said)
        tried = pairs(catalog, seed=seed, rounds=rounds, public={})
        for number, pair in enumerate(each for each in tried if not stored or _is_heavy(each)):
            say(f"{SENSITIVITY}: {pair.name}")
            world.load(pair.before)
            before = [_or_failure(each, world) for each in asked]
            world.load(pair.after, store=number % 2 > 0)
            for each, left in zip(asked, before, strict=True):
                right = _or_failure(each, world)
                if left is None or right is None:
                    each.worst, each.where = UNBOUNDED, f"{pair.name}; the database failed"
                else:
                    each.compare(pair, left, right, replaced)
    for each in asked:
        found = "moved unpaid" if each.worst == UNBOUNDED else f"{float(each.worst):.4g} of the price"
        yield Line.judged(
            SENSITIVITY,
            prefix + each.question.sql,
            right=each.worst <= 1,
            claimed="at most 1",
            found=found,
            detail=each.where,
        )


def refusals(catalog: Catalog, *, ddl: Mapping[str, str], texts: Iterable[str] = MUST_BE_REFUSED) -> Iterator[Line]:
    """Questions that mix people must be refused, and cost nothing."""
    with World(catalog, ddl=ddl) as world:
        world.load(public_rows(catalog))
        for text in texts:
            before = world.ledger.spent()
            try:
                world.session.ask(text, epsilon=1)
                found = "answered"
            except QueryRefused:
                found = "refused" if world.ledger.spent() == before else "refused, and charged"
            except DitherError as other:
                found = other.headline()
            yield Line.judged(REFUSALS, text, right=found == "refused", claimed="refused", found=found)


def truncation(catalog: Catalog, *, ddl: Mapping[str, str]) -> Iterator[Line]:
    """Which rows of a heavy unit are kept must not follow their values: else every mean of heavy units is wrong.
    400 units hold the values 0 to 7, and 3 of each are kept: their mean is 3.5 within 7 standard errors."""
    units, values, kept = 400, 8, 3
    with World(catalog, ddl=ddl) as world:
        world.load(public_rows(catalog))
        world.fill(
            "t",
            f"SELECT u, 'a', 'n', 0.0, v, TRUE, DATE '2020-01-01' FROM range({units}) AS a(u), range({values}) AS b(v)",
        )
        found = ask_whole(world, Question("SELECT COUNT(*), SUM(k) FROM t"))
        ((counts, sums),) = found.read(world)[0]
        # Bounds are [-2, 7], so every value is inside.
        mean = sum(sums.values()) / max(1, sum(counts.values()))
    variance = (values**2 - 1) / 12 * (values - kept) / (values - 1) / (units * kept)
    off = abs(mean - (values - 1) / 2) / sqrt(variance)
    yield Line.judged(
        TRUNCATION,
        "kept rows of 400 heavy units",
        right=off <= 7 and sum(counts.values()) == units * kept,
        claimed="mean 3.5 of 1,200 rows",
        found=f"mean {mean:.3f} of {sum(counts.values()):,} rows",
        error=3e-12,
    )


def ask_whole(world: World, question: Question) -> _Asked:
    """Ask it whole, and find in the ledger what it released."""
    entries = len(world.ledger.entries())
    world.watched.asked.clear()
    answer = world.session.ask(question.sql, **question.offer)
    readings = list(world.watched.asked)
    vectors = []
    if question.rho is not None and answer.plan.cubes:
        readings[-1] = _with_sums(readings[-1], answer.plan)
    # A choice made first has an entry of its own, and no vectors.
    measured = [entry for entry in world.ledger.entries()[entries:] if entry.vectors]
    for reading, entry in enumerate(measured):
        places = [(m, p) for m, measure in enumerate(readings[reading]) for p in range(len(measure.vectors))]
        for identity, (m, p) in zip(entry.vectors, places, strict=True):
            kept = next(v for v in world.ledger.released(identity, entry.release) if v.entry_id == entry.id)
            measure = readings[reading][m]
            running = measure.vectors[p].running
            axis = None if running is None else axis_of(running, measure.domain.columns)
            cells = _cells_of(kept.law, measure)
            kind = measure.vectors[p].kind
            vectors.append(_Vector(reading, m, p, kind, kept.law, kept.price, measure.tau, axis, cells))
    return _Asked(question, readings, vectors, answer.charged)


def _with_sums(read: Sequence[nodes.Measure], plan: nodes.Plan) -> list[nodes.Measure]:
    """What a question measured: as it was read, and the groupings that were summed from what was read."""
    together = {grouping.place[0] for cube in plan.cubes for grouping in cube.groupings}
    by_name = {measure.name: measure for measure in read}
    return [m if place in together else by_name[m.name] for place, m in enumerate(plan.measures)]


def _cells_of(law: Mapping[str, Any], measure: nodes.Measure) -> npt.NDArray[np.int64] | None:
    found = law_from_facts(law)
    if not isinstance(found, MarginalLaw):
        return None
    columns = [[measure.domain.columns[measure.keys[key].id] for key in keys] for keys in found.keys]
    return cell_places(columns, measure.domain.size)[0]


def _is_heavy(pair: Pair) -> bool:
    """Is there something to store, or may there be?"""
    return any(word in pair.name for word in ("heavy", "one row more", "random"))


def _or_failure(asked: _Asked, world: World) -> Readings | None:
    """None where the database fails on these rows, which it must on none."""
    try:
        return asked.read(world)
    except DitherError:
        return None
