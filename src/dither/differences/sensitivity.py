"""Sensitivity: the largest finite difference of a function in the direction of one privacy unit.

    dataset_difference(f, D, D')          f(D) - f(D'), whatever shape f has
    sensitivity(f, pairs, norm=1)         max over the pairs of its norm, with a pair that attains it
    group_sensitivity(...)                the same at distance k, with what first differences promise of it
    mixed_difference(f, D, units)         the k-th difference: how units act together
    lipschitz_constant(f, points)         largest divided difference: what metric privacy calls sensitivity

Over all neighbours of a finite domain (`neighbours`) the maximum *is* the sensitivity there; over a sample it is a
lower bound, and what a sample can promise is in `sampled`.

Flow: the top of the package; audits and tests compare what a rule claims with what is found here.
Relies on: f deterministic. Every value is exact: a float counts as the binary fraction it is, and a square root is
rounded up, so that a reported sensitivity is never below the true one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from numbers import Integral, Rational, Real
from typing import Any, Literal, TypeVar

from dither.differences.neighbours import NeighbouringRelation, datasets, neighbouring_pairs, pairs_within
from dither.errors import InvalidParameter
from dither.exact import QUANTUM

__all__ = [
    "GroupSensitivity",
    "Norm",
    "Sensitivity",
    "dataset_difference",
    "difference_norm",
    "group_sensitivity",
    "lipschitz_constant",
    "mixed_difference",
    "sensitivity",
]

T = TypeVar("T")
Norm = Literal[1, 2, "inf"]
Dataset = tuple[T, ...]

Components = dict[Hashable, Fraction]
"""An answer as a vector: position or group key → value; a key that is missing counts as 0."""


@dataclass(frozen=True)
class Sensitivity:
    """A largest difference and where it occurs."""

    value: Fraction
    """In units of the answer. Exact for norms 1 and inf; for norm 2 exact when rational, else rounded up to 1e-18."""
    norm: Norm
    witness: tuple[Any, Any] | None
    """A pair of inputs that attains it; None when nothing was compared."""
    pairs: int
    """How many pairs were compared."""


@dataclass(frozen=True)
class GroupSensitivity:
    """How far `group` units together move an answer."""

    value: Fraction
    """Largest norm of the difference over data sets at distance <= group."""
    witness: tuple[Any, Any] | None
    group: int
    one_unit: Fraction
    """The sensitivity at distance 1."""
    interactions: tuple[Fraction, ...]
    """Largest norm of the mixed difference of order 2, ..., group. All 0: units act independently (sums, counts,
    histograms), and what k of them do is the sum of what each does."""

    @property
    def bound(self) -> Fraction:
        """group · one_unit, which value never exceeds: a path of single changes leads from one to the other."""
        return self.group * self.one_unit


def dataset_difference(f: Callable[[Dataset[T]], Any], data: Dataset[T], other: Dataset[T]) -> Any:
    """f(data) - f(other): a Fraction for a number, a list for a sequence or array (flattened), a dict for a mapping
    (a group missing on one side counts as 0 there)."""
    answer = f(data)
    difference = _difference(answer, f(other))
    if isinstance(answer, Mapping):
        return difference
    return list(difference.values()) if _is_sequence(answer) else difference[0]


def sensitivity(
    f: Callable[[Dataset[T]], Any], pairs: Iterable[tuple[Dataset[T], Dataset[T]]], *, norm: Norm = 1
) -> Sensitivity:
    """max ‖f(D) - f(D')‖ over the given pairs; over `neighbouring_pairs` it is the sensitivity on that domain.

    f: answers a number, a sequence or array of numbers of fixed length, or a mapping from group to number.
    Raises InvalidParameter for answers that are not finite numbers.
    Proof: docs/proofs/differences/sensitivity.md"""
    return _largest(((_difference(f(a), f(b)), (a, b)) for a, b in pairs), norm)


def group_sensitivity(
    f: Callable[[Dataset[T]], Any],
    relation: NeighbouringRelation,
    domain: Sequence[T],
    size: int,
    *,
    group: int,
    norm: Norm = 1,
) -> GroupSensitivity:
    """How far `group` units together can move f, by looking at every pair of data sets that far apart (multisets of
    at most `size` units, or exactly `size` under REPLACE), beside what single units and their interactions do.
    Proof: docs/proofs/differences/sensitivity.md"""
    together = sensitivity(f, pairs_within(relation, domain, size, distance=group), norm=norm)
    alone = sensitivity(f, neighbouring_pairs(relation, domain, size), norm=norm)
    interactions = tuple(_interaction(f, domain, size, k, norm) for k in range(2, group + 1))
    return GroupSensitivity(together.value, together.witness, group, alone.value, interactions)


def mixed_difference(f: Callable[[Dataset[T]], Any], data: Dataset[T], units: Sequence[T]) -> Components:
    """The difference of order k = len(units), once in the direction of each: Σ_{S ⊆ units} (-1)^{k-|S|} f(data + S),
    per component of the answer. Newton: f(data + units) = Σ_{S ⊆ units} mixed_difference(f, data, S)."""
    total: Components = {}
    for count in range(len(units) + 1):
        for chosen in combinations(units, count):
            sign = (-1) ** (len(units) - count)
            for key, value in _components(f((*data, *chosen))).items():
                total[key] = total.get(key, Fraction(0)) + sign * value
    return total


def lipschitz_constant(
    f: Callable[[Any], Any],
    points: Sequence[Any],
    *,
    distance: Callable[[Any, Any], Any] | None = None,
    norm: Norm = 1,
) -> Sensitivity:
    """max ‖f(x) - f(x')‖ / d(x, x') over all pairs of points: the K with which a mechanism that is
    (epsilon·‖·‖)-private on values becomes (K·epsilon·d)-private on points. `distance` is |x - x'| unless given;
    points at distance 0 must have equal values.
    Proof: docs/proofs/differences/lipschitz.md"""
    measure = distance or (lambda a, b: abs(a - b))
    answers = [(x, f(x)) for x in points]
    return _largest(_divided(answers, measure), norm)


def difference_norm(difference: Components, norm: Norm) -> Fraction:
    """L1, L2 (rounded up to 1e-18 unless rational) or maximum norm of an exact vector; raises InvalidParameter for
    another norm."""
    sizes = [abs(value) for value in difference.values()]
    match norm:
        case 1:
            return sum(sizes, Fraction(0))
        case 2:
            return _root_up(sum((size * size for size in sizes), Fraction(0)))
        case "inf":
            return max(sizes, default=Fraction(0))
    raise InvalidParameter("norm", expected='1, 2 or "inf"', found=norm)


def _largest(differences: Iterable[tuple[Components, tuple[Any, Any]]], norm: Norm) -> Sensitivity:
    best, witness, count = Fraction(0), None, 0
    for difference, pair in differences:
        count += 1
        size = difference_norm(difference, norm)
        if witness is None or size > best:
            best, witness = size, pair
    return Sensitivity(best, norm, witness, count)


def _divided(
    answers: Sequence[tuple[Any, Any]], measure: Callable[[Any, Any], Any]
) -> Iterator[tuple[Components, tuple[Any, Any]]]:
    for (a, f_a), (b, f_b) in combinations(answers, 2):
        apart, difference = _number(measure(a, b)), _difference(f_a, f_b)
        if apart > 0:
            yield {key: value / apart for key, value in difference.items()}, (a, b)
        elif apart < 0 or any(difference.values()):
            raise InvalidParameter("distance", expected="above 0 between points of different value", found=apart)


def _interaction(f: Callable[[Dataset[T]], Any], domain: Sequence[T], size: int, k: int, norm: Norm) -> Fraction:
    """Largest norm of the k-th mixed difference over data sets of at most size - k units."""
    return max(
        (
            difference_norm(mixed_difference(f, data, units), norm)
            for n in range(size - k + 1)
            for data in datasets(domain, n)
            for units in datasets(domain, k)
        ),
        default=Fraction(0),
    )


def _components(answer: Any) -> Components:
    if isinstance(answer, Mapping):
        return {key: _number(value) for key, value in answer.items()}
    if hasattr(answer, "ravel"):
        answer = answer.ravel().tolist()
    if _is_sequence(answer):
        return {i: _number(value) for i, value in enumerate(answer)}
    return {0: _number(answer)}


def _is_sequence(answer: Any) -> bool:
    return isinstance(answer, Sequence) or getattr(answer, "ndim", 0) > 0


def _difference(answer: Any, other: Any) -> Components:
    a, b = _components(answer), _components(other)
    grouped = isinstance(answer, Mapping) and isinstance(other, Mapping)
    if not grouped and a.keys() != b.keys():
        raise InvalidParameter("f", expected="answers of one length (or mappings)", found="answers of different shape")
    return {key: a.get(key, Fraction(0)) - b.get(key, Fraction(0)) for key in (a | b)}


def _number(value: Any) -> Fraction:
    """An answer as a rational: the very number a float holds, not the decimal it prints as."""
    match value:
        case Fraction():
            return value
        case Integral():
            return Fraction(int(value))
        case Rational():
            return Fraction(int(value.numerator), int(value.denominator))
        case Real() if math.isfinite(value):
            return Fraction(float(value))
        case Decimal() if value.is_finite():
            return Fraction(value)
    raise InvalidParameter("f", expected="finite numbers as answers", found=type(value).__name__)


def _root_up(square: Fraction) -> Fraction:
    """sqrt(square), exact when rational, else the least multiple of 1e-18 above it."""
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top * top == square.numerator and bottom * bottom == square.denominator:
        return Fraction(top, bottom)
    # k >= sqrt(square)/q if and only if k² >= square/q², and k² is whole: the ceiling may be taken inside.
    return (math.isqrt(math.ceil(square / QUANTUM**2) - 1) + 1) * QUANTUM
