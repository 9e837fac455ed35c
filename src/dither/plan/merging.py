"""Measure once what a question, or several asked together, want of the same rows and groups.

Flow: `lower` merges the measures of each plan, `session.many` those of several questions' plans. Measures over the same
rows by the same keys become one, with every vector that any of them wants; recipes are told where theirs stand.
Decision: docs/decisions/0025-many-questions-are-one-plan.md
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from dither.catalog.model import Catalog
from dither.plan.fingerprint import columns_in_order, expression_digest, measure_digest
from dither.plan.nodes import Measure, Vector
from dither.plan.recipes import Recipe
from dither.sql.expressions import Expr

__all__ = ["Merged", "merge", "moved"]


@dataclass(frozen=True)
class Merged:
    measures: tuple[Measure, ...]
    aliases: tuple[tuple[str, str], ...]
    """(name, name of the measure it is read from), of those that were merged into another."""
    places: Mapping[str, tuple[int, ...]]
    """Name of each -> where its vectors stand in the measure it is read from."""
    weights: tuple[tuple[Fraction, ...], ...]
    """As `Plan.weights`: of what several want, the largest."""


def merge(measures: Sequence[Measure], catalog: Catalog, weights: Mapping[str, Fraction] | None = None) -> Merged:
    """weights: of each measure by name; 1 by default."""
    if len(measures) == 1:
        (measure,) = measures
        own = Fraction(1) if weights is None else weights[measure.name]
        places = {measure.name: tuple(range(len(measure.vectors)))}
        return Merged((measure,), (), places, ((own,) * (len(measure.vectors) + 1),))
    kept: dict[object, _Gathered] = {}
    aliases = []
    places = {}
    for measure in measures:
        own = Fraction(1) if weights is None else weights[measure.name]
        same = (measure_digest(measure, catalog), tuple(key.id for key in measure.keys))
        first = kept.setdefault(same, _Gathered(measure))
        if first.measure is not measure:
            aliases.append((measure.name, first.measure.name))
        places[measure.name] = first.take(measure, own)
    return Merged(
        tuple(replace(each.measure, vectors=tuple(each.vectors)) for each in kept.values()),
        tuple(aliases),
        places,
        tuple((*each.weights, each.most) for each in kept.values()),
    )


def moved(recipes: Iterable[Recipe], places: Sequence[int]) -> tuple[Recipe, ...]:
    """The recipes over the vectors that stand at these places now."""
    return tuple(replace(recipe, vectors=tuple(places[position] for position in recipe.vectors)) for recipe in recipes)


class _Gathered:
    """One measure, with what others want of the same rows and groups."""

    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.vectors: list[Vector] = []
        self.weights: list[Fraction] = []
        self.most = Fraction(0)
        self._known: dict[str, int] = {}

    def take(self, measure: Measure, weight: Fraction) -> tuple[int, ...]:
        """Where the measure's vectors stand, those that were missing added."""
        self.most = max(self.most, weight)
        found = []
        for vector in measure.vectors:
            digest = expression_digest(vector, measure)
            place = self._known.setdefault(digest, len(self.vectors))
            if place == len(self.vectors):
                self.vectors.append(vector if measure is self.measure else self._over_own_rows(vector, measure))
                self.weights.append(weight)
            self.weights[place] = max(self.weights[place], weight)
            found.append(place)
        return tuple(found)

    def _over_own_rows(self, vector: Vector, measure: Measure) -> Vector:
        """The vector over this measure's rows, which are the other's by other names of columns."""
        names = dict(zip(columns_in_order(measure), columns_in_order(self.measure), strict=True))
        return replace(vector, expr=_renamed(vector.expr, names), filter=_renamed(vector.filter, names))


def _renamed(expr: Expr | None, names: Mapping[str, str]) -> Expr | None:
    if expr is None:
        return None
    if expr.is_column:
        return replace(expr, payload=names[str(expr.payload)])
    return replace(expr, args=tuple(arg for arg in (_renamed(arg, names) for arg in expr.args) if arg is not None))
