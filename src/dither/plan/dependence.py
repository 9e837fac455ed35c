"""How a number of a finish depends on noise, and so which interval can be honest for it.

Flow: `noisy_expressions` and `noisy_columns` work these out over the tree of a finish when somebody looks at
intervals; `answer.spread` chooses by them. From the mildest to the worst: no noise; a weighted sum of noises
(replicates spread as the number does); a function that only rises or only falls, of one such sum (percentiles go
through it); a ratio or another smooth function; one that picks or counts by noisy numbers. The last has replicates that
mislead, but where it only rises or only falls with all noisy numbers, it lies between its values at their ends.
Proof: docs/proofs/answer/intervals.md
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, IntEnum

__all__ = [
    "PUBLIC",
    "WHOLE",
    "Dependence",
    "Shape",
    "Why",
    "added",
    "bent",
    "flipped",
    "folded",
    "merged",
    "scaled",
    "there",
]


class Shape(IntEnum):
    PUBLIC = 0
    LINEAR = 1
    BENT = 2
    SMOOTH = 3
    FOLDED = 4


class Why(Enum):
    """Why a number has no interval."""

    GROUPS = "groups"
    ROWS = "rows"
    ORDER = "order"
    FOLDS = "folds"
    CHOSEN = "chosen"
    HIDDEN = "hidden"
    LEANS = "leans"
    UNMATCHED = "unmatched"
    LARGE = "large"
    FAILS = "fails"
    ALONE = "alone"


@dataclass(frozen=True)
class Dependence:
    shape: Shape = Shape.PUBLIC
    rises: int | None = 0
    """1: it never falls when a noisy number rises; -1: it never rises; 0: no noise; None: neither is known."""
    why: Why | None = None
    """Of what is folded in no known direction."""
    nullable: bool = False
    """May noise make it NULL?"""
    partial: bool = False
    """Does a condition on noisy numbers decide whether there is a number at all?"""
    curved: bool = False
    """Is it a product of noisy numbers? Noise moves a sum of many of these to one side."""
    whole: bool = False
    """Is it a whole number whatever the noise is?"""
    zero: bool = False
    """Is it a count, 0 where no row is there?"""
    hidden: bool = False
    """Does it add up or count groups that were selected by their noisy counts, as far as they are shown?"""

    @property
    def is_public(self) -> bool:
        return self.shape is Shape.PUBLIC

    @property
    def is_known(self) -> bool:
        """Can there be an interval?"""
        return self.shape is not Shape.FOLDED or self.rises is not None


PUBLIC = Dependence()
WHOLE = Dependence(whole=True)


def folded(one: Dependence, why: Why, *, rises: int | None = None) -> Dependence:
    """It picks or counts by noise: only the direction may still tell."""
    return replace(one, shape=Shape.FOLDED, rises=rises, why=one.why or (why if rises is None else None))


def merged(parts: Iterable[Dependence]) -> Dependence:
    """What depends on all of these in no better way than each of them is depended on."""
    found = list(parts)
    directions = {part.rises for part in found} - {0}
    rises = 0 if not directions else directions.pop() if len(directions) == 1 else None
    whole = Dependence(
        shape=max((part.shape for part in found), default=Shape.PUBLIC),
        rises=rises,
        why=next((part.why for part in found if part.why is not None), None),
        nullable=any(part.nullable for part in found),
        partial=any(part.partial for part in found),
        curved=any(part.curved for part in found),
        whole=all(part.whole for part in found),
        hidden=any(part.hidden for part in found),
    )
    return whole if whole.is_known else folded(whole, Why.FOLDS)


def flipped(one: Dependence) -> Dependence:
    """Of -x, or of NOT x."""
    return replace(one, rises=None if one.rises is None else -one.rises)


def added(left: Dependence, right: Dependence) -> Dependence:
    """Of a sum of two."""
    both = merged((left, right))
    noisy = [part for part in (left, right) if not part.is_public]
    # Two bends are no longer one: each alone may stand at its edge.
    if len(noisy) == 2 and both.shape is Shape.BENT:
        return folded(both, Why.FOLDS, rises=both.rises)
    return both


def scaled(one: Dependence, other: Dependence, sign: int | None) -> Dependence:
    """Of x times a public number of this sign; None where its sign is not known. other: of that number."""
    both = replace(merged((one, other)), rises=one.rises)
    if sign is None:
        both = replace(both, rises=None if one.rises else 0)
        return both if both.is_known else folded(both, Why.FOLDS)
    return both if sign > 0 else flipped(both)


def bent(one: Dependence) -> Dependence:
    """Of a function of x that never falls."""
    shape = Shape.BENT if one.shape is Shape.LINEAR else one.shape
    return replace(one, shape=shape, whole=False, zero=False)


def there(rows: Dependence, condition: Dependence) -> Dependence:
    """Of whether a row is there that a condition must keep as well."""
    if condition.is_public:
        return rows
    both = merged((rows, condition))
    return folded(both, Why.ROWS, rises=both.rises)
