"""What makes two questions measure the same thing: digests of measures and vectors.

Flow: the session asks for a vector's identity to find released ones; the receipt carries the plan's fingerprint.
Two vectors are the same when their whole input agrees: scans with their truncation, filters and joins by syntax, keys,
domain, expression, clamp and grid, neighbours, the catalog entries used, public tables' contents, release. Column ids
are renamed by first appearance, structurally, so that no text in a question can imitate one.
Proof: docs/proofs/plan/reuse.md
"""

from __future__ import annotations

import hashlib
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any

from dither.catalog.model import Catalog
from dither.plan import nodes
from dither.sql.expressions import Expr

__all__ = [
    "columns_in_order",
    "expression_digest",
    "measure_digest",
    "plan_fingerprint",
    "rows_digest",
    "vector_identity",
]

_ID_FIELDS = frozenset({"id", "unit", "outputs", "tie_break"})


def vector_identity(
    measure: nodes.Measure,
    position: int,
    catalog: Catalog,
    *,
    release: str,
    public_version: str,
    inputs: str = "[]",
) -> str:
    """Hex digest that names one vector within one release of one data set.
    inputs: the released results of earlier phases that the measure rests on."""
    # Which quantiles were chosen stands with the released values: some of a longer list are found by the same name.
    vector = _encoded(replace(measure.vectors[position], quantiles=()), measure)
    return _digest("vector", measure_digest(measure, catalog), vector, release, public_version, inputs)


def measure_digest(measure: nodes.Measure, catalog: Catalog) -> str:
    """Digest of a measure without its vectors: rows, keys and the list of groups. Kept with the measure."""
    known: tuple[Catalog, str] | None = measure.__dict__.get("_digest")
    if known is not None and known[0] is catalog:
        return known[1]
    digest = _measure_digest(measure, catalog)
    object.__setattr__(measure, "_digest", (catalog, digest))
    return digest


def _measure_digest(measure: nodes.Measure, catalog: Catalog) -> str:
    rows, names = _rows(measure)
    unit = _renamed(measure.unit, names)
    keys = tuple(_encode(key.expr, "", names) for key in measure.keys)
    domain = None if measure.domain is None else hashlib.sha256(measure.domain.source.encode()).hexdigest()
    return _digest(
        "measure",
        rows,
        unit,
        measure.tau,
        keys,
        domain,
        measure.min_units_per_key,
        catalog.promise_digest(),
        catalog.nulls,
    )


def rows_digest(measure: nodes.Measure, catalog: Catalog) -> str:
    """Digest of the rows that a measure aggregates, whatever they are grouped by."""
    rows, names = _rows(measure)
    return _digest("rows", rows, _renamed(measure.unit, names), measure.tau, measure.row_unit, catalog.promise_digest())


def expression_digest(value: Expr | nodes.Vector, measure: nodes.Measure) -> str:
    """Digest of a key or a vector over a measure's rows: equal for equal ones over rows of the same digest."""
    _, names = _rows(measure)
    return _digest(_encode(value, "", names))


def columns_in_order(measure: nodes.Measure) -> list[str]:
    """Ids of the columns of a measure's rows, in the order in which digests name them: measures of the same digest have
    the same columns at the same places."""
    names: dict[str, str] = {}
    _encode(measure.input, "", names)
    return list(names)


def plan_fingerprint(plan: nodes.Plan, catalog: Catalog) -> str:
    """Digest of everything a question means: its measures with all vectors, and its finish."""
    measures = tuple((measure_digest(m, catalog), tuple(_encoded(v, m) for v in m.vectors)) for m in plan.measures)
    phases = tuple((phase.name, plan_fingerprint(phase.plan, catalog)) for phase in plan.phases)
    return _digest("plan", measures, plan.finish_sql, phases)


def _encoded(vector: nodes.Vector, measure: nodes.Measure) -> tuple[Any, ...]:
    _, names = _rows(measure)
    for key in measure.keys:
        _encode(key.expr, "", names)
    return _encode(vector, "", names)  # type: ignore[no-any-return]


def _rows(measure: nodes.Measure) -> tuple[Any, dict[str, str]]:
    """A measure's rows, encoded, and the names of their columns, for what is encoded after them. Kept with the
    measure."""
    known: tuple[Any, dict[str, str]] | None = measure.__dict__.get("_rows")
    if known is None:
        names: dict[str, str] = {}
        known = _encode(measure.input, "", names), names
        object.__setattr__(measure, "_rows", known)
    rows, names = known
    return rows, dict(names)


def _encode(value: Any, field: str, names: dict[str, str]) -> Any:
    """Nested tuples of plain values, with column ids replaced by their order of appearance."""
    match value:
        case str() if field in _ID_FIELDS:
            return ("id", _renamed(value, names))
        case Expr(op="column", payload=payload):
            facts = (_encode(value.type, "", names), value.nullable, repr(value.lo), repr(value.hi))
            return ("column", _renamed(str(payload), names), facts)
        case nodes.UnitAggregate(input, keys, aggregates, having):
            return (
                "UnitAggregate",
                _encode(input, "", names),
                _encode(keys, "", names),
                tuple((("id", _renamed(i, names)), _encode(call, "", names)) for i, call in aggregates),
                _encode(having, "", names),
            )
        case nodes.UnitWindow(input, windows, tie_break):
            return (
                "UnitWindow",
                _encode(input, "", names),
                tuple((("id", _renamed(i, names)), _encode(call, "", names)) for i, call in windows),
                tuple(_renamed(i, names) for i in tie_break),
            )
        case tuple():
            return tuple(_encode(item, field, names) for item in value)
        case _:
            kind = type(value)
            inside = _fields_of(kind)  # type: ignore[arg-type]  # mypy holds that a type has no hash
            if inside is None:
                return (kind.__name__, repr(value))
            return (kind.__name__, *((name, _encode(getattr(value, name), name, names)) for name in inside))


@lru_cache(maxsize=256)
def _fields_of(kind: type) -> tuple[str, ...] | None:
    """Names of a dataclass's fields, in order; None for anything else."""
    return tuple(field.name for field in fields(kind)) if is_dataclass(kind) else None


def _renamed(identifier: str, names: dict[str, str]) -> str:
    return names.setdefault(identifier, f"c{len(names)}")


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()
