"""Neighbouring data sets over a small finite domain, all of them.

A data set is a tuple with one entry per privacy unit: whatever that unit contributes (a value, a tuple of rows). Two
data sets are neighbours when one unit makes the difference:

    ADD_REMOVE   one has that unit and the other has not
    REPLACE      both have it, with different contents; the number of units is the same and public

and they are at distance <= k when k such changes lead from one to the other.

Flow: feeds `sensitivity`, and any audit that can afford to look at every pair.
Relies on: domains of a few values and data sets of a few units: the number of pairs grows like |domain|^(size + k).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, combinations_with_replacement, product
from typing import Final, Literal, TypeVar

from dither.differences.arithmetic import whole_number
from dither.errors import InvalidParameter

__all__ = ["ADD_REMOVE", "REPLACE", "NeighbouringRelation", "datasets", "neighbouring_pairs", "pairs_within"]

T = TypeVar("T")

NeighbouringRelation = Literal["add_remove", "replace"]
ADD_REMOVE: Final = "add_remove"
REPLACE: Final = "replace"


def datasets(domain: Sequence[T], size: int, *, ordered: bool = False) -> Iterator[tuple[T, ...]]:
    """Every data set of exactly `size` units with contents from `domain`: as multisets (in the domain's order), or as
    sequences when `ordered`, for functions that look at the order."""
    units = whole_number(size, "size", least=0)
    return product(domain, repeat=units) if ordered else combinations_with_replacement(domain, units)


def neighbouring_pairs(
    relation: NeighbouringRelation, domain: Sequence[T], size: int, *, ordered: bool = False
) -> Iterator[tuple[tuple[T, ...], tuple[T, ...]]]:
    """Every pair of neighbours once. ADD_REMOVE: (without, with) the unit, the larger of at most `size` units.
    REPLACE: both of exactly `size` units.  `ordered`: sequences; a unit may enter at any place.
    Raises InvalidParameter for another relation."""
    units = whole_number(size, "size", least=0)
    if not ordered:
        return pairs_within(relation, domain, units, distance=1)
    match relation:
        case "add_remove":
            return (
                ((*data[:i], *data[i + 1 :]), data)
                for n in range(1, units + 1)
                for data in product(domain, repeat=n)
                for i in range(n)
                if i == 0 or data[i] != data[i - 1]  # within a run of equal units it does not matter which one goes
            )
        case "replace":
            return (
                ((*rest[:i], a, *rest[i:]), (*rest[:i], b, *rest[i:]))
                for i in range(units)
                for rest in product(domain, repeat=units - 1)
                for a, b in combinations(domain, 2)
            )
    raise InvalidParameter("relation", expected="ADD_REMOVE or REPLACE", found=relation)


def pairs_within(
    relation: NeighbouringRelation, domain: Sequence[T], size: int, *, distance: int
) -> Iterator[tuple[tuple[T, ...], tuple[T, ...]]]:
    """Every pair of different multisets at most `distance` changes apart, once: the two share what they can, and the
    rest of each comes after the shared units. distance: >= 1.  Sizes and what it raises as in `neighbouring_pairs`."""
    units, changes = whole_number(size, "size", least=0), whole_number(distance, "distance", least=1)
    match relation:
        case "add_remove":
            # (left, right): units only in the first and only in the second data set.
            splits = [(left, n - left) for n in range(1, changes + 1) for left in range(n // 2 + 1)]
            shared_sizes = range(units + 1)
        case "replace":
            splits = [(n, n) for n in range(1, min(changes, units) + 1)]
            shared_sizes = range(units, units + 1)
        case _:
            raise InvalidParameter("relation", expected="ADD_REMOVE or REPLACE", found=relation)
    for left, right in splits:
        for total in shared_sizes:
            if total >= right:
                yield from _pairs_with(domain, shared=total - right, left=left, right=right)


def _pairs_with(
    domain: Sequence[T], *, shared: int, left: int, right: int
) -> Iterator[tuple[tuple[T, ...], tuple[T, ...]]]:
    """Pairs whose common part has `shared` units, with `left` and `right` units of their own, none of them in both."""
    indices = range(len(domain))
    for own_left in combinations_with_replacement(indices, left):
        for own_right in combinations_with_replacement(indices, right):
            # With equal sizes each unordered pair would come twice: once from either side.
            if set(own_left) & set(own_right) or (left == right and own_left > own_right):
                continue
            first, second = tuple(domain[i] for i in own_left), tuple(domain[i] for i in own_right)
            for common in combinations_with_replacement(domain, shared):
                yield (*common, *first), (*common, *second)
