"""Noisy vectors as the ledger keeps them: bytes of keys and integers, and the law of the noise as plain text.

Flow: the session packs what it measured for `ledger.answer`, and unpacks what it finds there. Public by then.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.accounting import GaussianEvent, LaplaceEvent
from dither.errors import LedgerCorrupt
from dither.ledger.model import NewVector, ReleasedVector
from dither.mechanisms.residual import CellErrors
from dither.mechanisms.residual.design import parts_of
from dither.mechanisms.running import RunningPlan
from dither.mechanisms.running.square_root import square_root_for
from dither.mechanisms.running.tree import choose_tree
from dither.noise import DiscreteGaussian, DiscreteLaplace
from dither.plan.laws import ChoiceLaw, Law, MarginalLaw, RunningLaw
from dither.sql.embedded import Columns

__all__ = ["as_accurate", "law_facts", "law_from_facts", "law_of", "pack", "shown_keys", "unpack"]

Ints = npt.NDArray[np.int64]


def pack(keys: Columns, values: Ints) -> bytes:
    """Keys (private groups only; public lists are derived anew) and int64 values, compressed."""
    header = json.dumps({name: _pack_column(column) for name, column in keys.items()}).encode()
    return zlib.compress(len(header).to_bytes(4, "big") + header + values.astype("<i8").tobytes(), 1)


def unpack(payload: bytes) -> tuple[Columns, Ints]:
    try:
        raw = zlib.decompress(payload)
        size = int.from_bytes(raw[:4], "big")
        header = json.loads(raw[4 : 4 + size])
        values = np.frombuffer(raw[4 + size :], dtype="<i8").astype(np.int64)
        return {name: _unpack_column(column) for name, column in header.items()}, values
    except (zlib.error, ValueError, KeyError, TypeError):
        raise LedgerCorrupt("A released vector in the ledger cannot be read.") from None


def shown_keys(payload: bytes) -> bytes:
    """The private groups a vector is over, as they were packed: vectors with equal ones are over the same groups, in
    the same order. Empty lists of keys, as those of public groups, are all alike."""
    try:
        raw = zlib.decompress(payload)
    except zlib.error:
        raise LedgerCorrupt("A released vector in the ledger cannot be read.") from None
    return raw[4 : 4 + int.from_bytes(raw[:4], "big")]


def law_of(vector: NewVector | ReleasedVector) -> Law:
    """The law of a vector's noise. Groupings share noise where the same entry measured them: plans alike, of other rows
    or another time, have the same name and noise of their own."""
    law = law_from_facts(vector.law)
    if isinstance(law, MarginalLaw) and isinstance(vector, ReleasedVector):
        return replace(law, shared=f"{vector.entry_id} {law.shared}")
    return law


def law_facts(law: Law) -> dict[str, str]:
    if isinstance(law, DiscreteLaplace):
        return {"kind": "laplace", "scale": str(law.scale)}
    if isinstance(law, ChoiceLaw):
        listed = " ".join(map(str, law.quantiles))
        return {"kind": "choice", "epsilon": str(law.epsilon), "quantiles": listed, "levels": str(law.levels)}
    if isinstance(law, MarginalLaw):
        return {
            "kind": "marginal",
            "axes": _numbers(law.axes),
            "sizes": _numbers(law.errors.sizes[axis] for axis in law.axes),
            "keys": ";".join(map(_numbers, law.keys)),
            "variances": " ".join(str(law.errors.laws[part].sigma2) for part in parts_of_law(law)),
            "shared": law.shared,
        }
    if isinstance(law, RunningLaw):
        plan = law.plan
        facts = law_facts(plan.law)
        moved = plan.event.distance if isinstance(plan.event, LaplaceEvent) else plan.event.squared_distance
        return {
            **facts,
            "kind": f"running {facts['kind']}",
            "distance": str(moved),
            "n": str(plan.n),
            "largest_count": str(plan.largest_count),
        }
    return {"kind": "gaussian", "variance": str(law.sigma2)}


def law_from_facts(facts: Mapping[str, Any]) -> Law:
    if facts["kind"] == "laplace":
        return DiscreteLaplace(Fraction(str(facts["scale"])))
    if facts["kind"] == "choice":
        listed = tuple(Fraction(part) for part in str(facts.get("quantiles", "")).split())
        return ChoiceLaw(Fraction(str(facts["epsilon"])), listed, int(facts.get("levels", 1)))
    if facts["kind"] == "marginal":
        return _marginal_law(facts)
    if facts["kind"].startswith("running"):
        return _running_law(facts)
    return DiscreteGaussian(Fraction(str(facts["variance"])))


def _running_law(facts: Mapping[str, Any]) -> RunningLaw:
    n, largest, distance = int(facts["n"]), int(facts["largest_count"]), Fraction(str(facts["distance"]))
    noise = law_from_facts({**facts, "kind": facts["kind"].removeprefix("running ")})
    if isinstance(noise, DiscreteLaplace):
        return RunningLaw(RunningPlan(n, choose_tree(n), noise, LaplaceEvent(noise.scale, int(distance)), largest))
    assert isinstance(noise, DiscreteGaussian)
    design = square_root_for(n, largest)
    return RunningLaw(RunningPlan(n, design, noise, GaussianEvent(noise.sigma2, distance), largest))


def _marginal_law(facts: Mapping[str, Any]) -> MarginalLaw:
    axes, sizes = _read_numbers(facts["axes"]), _read_numbers(facts["sizes"])
    keys = tuple(_read_numbers(own) for own in facts["keys"].split(";")) if axes else ()
    by_axis = dict(zip(axes, sizes, strict=True))
    parts = parts_of([axes], by_axis)
    laws = (DiscreteGaussian(Fraction(text)) for text in facts["variances"].split(" "))
    errors = CellErrors(by_axis, dict(zip(parts, laws, strict=True)))
    return MarginalLaw(errors, axes, keys, str(facts["shared"]))


def parts_of_law(law: MarginalLaw) -> tuple[tuple[int, ...], ...]:
    """The parts of a grouping that was measured with others, in the order in which their variances are kept."""
    return parts_of([law.axes], law.errors.sizes)


def _numbers(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def _read_numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",")) if text else ()


def as_accurate(facts: Mapping[str, Any], law: Law) -> bool:
    """Is the released noise no larger than the one planned? Of quantiles: and are those planned among the released?"""
    released = law_from_facts(facts)
    if isinstance(law, ChoiceLaw) and not (isinstance(released, ChoiceLaw) and _holds(released, law)):
        return False
    return released.variance() <= law.variance() * (1 + 1e-12)


def _holds(released: ChoiceLaw, planned: ChoiceLaw) -> bool:
    return set(planned.quantiles) <= set(released.quantiles)


def _pack_column(column: Any) -> dict[str, Any]:
    mask = np.ma.getmaskarray(column) if isinstance(column, np.ma.MaskedArray) else np.zeros(len(column), dtype=bool)
    data = np.ma.getdata(column)
    if data.dtype.kind == "M":
        plain = data.astype("datetime64[us]").astype(np.int64).tolist()
        kind = "datetime"
    else:
        plain, kind = data.tolist(), data.dtype.kind
    values = [None if hidden or value is None else value for value, hidden in zip(plain, mask.tolist(), strict=True)]
    return {"kind": kind, "values": values}


def _unpack_column(stored: Mapping[str, Any]) -> Any:
    values, kind = stored["values"], stored["kind"]
    mask = np.array([value is None for value in values], dtype=bool)
    if kind == "O":
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array
    filled = [0 if value is None else value for value in values]
    if kind == "datetime":
        data: Any = np.array(filled, dtype=np.int64).astype("datetime64[us]")
    else:
        data = np.array(filled, dtype={"i": np.int64, "u": np.uint64, "f": np.float64, "b": np.bool_}[kind])
    return np.ma.MaskedArray(data, mask) if mask.any() else data
