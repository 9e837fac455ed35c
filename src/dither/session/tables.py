"""The noisy tables that a finish reads: out of fresh and of released vectors, or of zeros for a rehearsal.

Flow: `Session` makes stand-ins before anything is charged, and the real ones once all vectors are there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dither.answer.noisy import NoisyTable
from dither.errors import GuaranteeError
from dither.ledger.model import NewVector, ReleasedVector
from dither.plan import nodes
from dither.plan.decimals import type_of_key
from dither.plan.laws import ChoiceLaw
from dither.plan.phases import empty_array
from dither.plan.price import PricedMeasure, PricedPlan
from dither.session import vectors
from dither.session.needs import Need
from dither.sql.printing import sql_type
from dither.sql.types import Kind

__all__ = ["Fresh", "noisy_tables", "stand_ins"]

Fresh = Mapping[tuple[int, int], NewVector]
"""(measure, position) -> the vector just measured, with its noise."""


def noisy_tables(priced: PricedPlan, needs: Sequence[Need], fresh: Fresh) -> list[NoisyTable]:
    """Of each measure, out of vectors released before and those just measured."""
    tables: list[NoisyTable] = []
    for m, measure in enumerate(priced.measures):
        found = [need.known or fresh[m, need.position] for need in needs if need.measure == m]
        opened = [vectors.unpack(vector.payload) for vector in found]
        domain = measure.measure.domain
        keys = domain.columns if domain is not None else opened[0][0]
        if domain is None and len({vectors.shown_keys(vector.payload) for vector in found}) > 1:
            raise GuaranteeError("Vectors over different private groups were about to be put into one table.")
        laws = tuple(vectors.law_of(vector) for vector in found)
        table = _table(measure, priced.plan, keys, tuple(values for _, values in opened), laws)
        tables.append(replace(table, sources=tuple(_source(m, p, vector) for p, vector in enumerate(found))))
    return _with_aliases(tables, priced.plan)


def stand_ins(priced: PricedPlan, first: int | None) -> list[NoisyTable]:
    """Noisy tables of zeros over the first, or all, public groups, to rehearse the finish before anything is
    charged."""
    tables = []
    for measure in priced.measures:
        domain = measure.measure.domain
        size = 0 if domain is None else len(range(domain.size)[:first])
        keys = (
            {key.id: empty_array(key.expr.type) for key in measure.measure.keys}
            if domain is None
            else {n: c[:first] for n, c in domain.columns.items()}
        )
        zeros = tuple(np.zeros(size * max(1, len(v.quantiles)), dtype=np.int64) for v in measure.measure.vectors)
        tables.append(_table(measure, priced.plan, keys, zeros, tuple(v.law for v in measure.vectors)))
    return _with_aliases(tables, priced.plan)


def _source(measure: int, position: int, vector: NewVector | ReleasedVector) -> str:
    """Names the measurement: the same for a vector that two measures of a question, or two questions, found."""
    if isinstance(vector, ReleasedVector):
        return f"{vector.entry_id} {vector.position}"
    return f"new {measure} {position}"


def _with_aliases(tables: list[NoisyTable], plan: nodes.Plan) -> list[NoisyTable]:
    """Measures that are the same were read once; the finish knows them under each of their names."""
    by_name = {table.name: table for table in tables}
    recipes = dict(plan.aggregates)
    copies = [replace(by_name[first], name=name, recipes=tuple(recipes[name])) for name, first in plan.aliases]
    return [*tables, *copies]


def _table(measure: PricedMeasure, plan: nodes.Plan, keys: Any, values: Any, laws: Any) -> NoisyTable:
    found = measure.measure
    types = {key.id: type_of_key(key.expr) for key in found.keys}
    recipes = tuple(dict(plan.aggregates)[found.name])
    types |= {recipe.id: sql_type(recipe.type) for recipe in recipes if recipe.type.kind is Kind.DATE}
    vectors = tuple(
        # A longer list of quantiles that was released before holds those of this one.
        replace(vector, quantiles=law.quantiles) if isinstance(law, ChoiceLaw) else vector
        for vector, law in zip(found.vectors, laws, strict=True)
    )
    selected = None if found.domain is not None or measure.selecting is None else (measure.selecting, measure.threshold)
    return NoisyTable(found.name, dict(keys), vectors, values, laws, recipes, types, selected_by=selected)
