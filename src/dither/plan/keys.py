"""Which groups an answer lists: the public list where one can be derived without the data, else private selection.

Flow: `grouped` asks `KeyLists.domain` for each measure, which `listing` derives; the session completes the engine's
vectors over that list, so that every listed group gets noise, present or not. None means that the groups themselves are
private.
Proof: docs/proofs/plan/keys.md
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from dither.catalog.model import Catalog
from dither.errors import QueryRefused, Span
from dither.plan import nodes
from dither.plan.listing import LARGEST_DOMAIN, Listing, PublicTables
from dither.plan.separable import Relation
from dither.sql import embedded

__all__ = ["LARGEST_DOMAIN", "Domain", "KeyLists"]

MOST_LISTS = 64
"""Lists that a session remembers, oldest forgotten first: every question may filter by something else."""
MOST_LISTED = 4 * LARGEST_DOMAIN
"""Groups in all of them together."""


@dataclass(frozen=True, eq=False)
class Domain:
    """All groups, as columns of equal length named by key id; in a fixed order that owes nothing to the data."""

    columns: embedded.Columns
    size: int
    source: str
    """The SQL and the values it was derived from, for fingerprints."""


@dataclass(frozen=True)
class KeyLists:
    catalog: Catalog
    public: PublicTables
    has_delta: Callable[[], bool]
    """Does the ledger's budget have a delta to select private groups with?"""
    cache: dict[str, Domain] = field(default_factory=dict, compare=False)
    """Lists by what they were derived from."""

    turn: threading.Lock = field(default_factory=threading.Lock, compare=False)

    def remember(self, domain: Domain) -> None:
        with self.turn:
            listed = domain.size + sum(known.size for known in self.cache.values())
            while self.cache and (len(self.cache) >= MOST_LISTS or listed > MOST_LISTED):
                listed -= self.cache.pop(next(iter(self.cache))).size
            self.cache[domain.source] = domain

    def domain(self, relation: Relation, keys: tuple[nodes.Key, ...], span: Span | None) -> Domain | None:
        """The list of all groups of these keys; None where it is private and the budget has a delta to select with."""
        if not keys:
            return Domain({}, 1, "no keys")
        listing = Listing(self.catalog, self.public, relation)
        # Named by their order here: the list of one grouping of several is that of a question about it alone.
        names = [f"k{number}" for number in range(len(keys))]
        for name, key in zip(names, keys, strict=True):
            if not listing.add(name, key.expr):
                self._need_delta(key, span)
                return None
        select = listing.select(drop_nulls=self.catalog.nulls == "drop")
        if isinstance(select, int):
            self._need_delta_for_size(select, span)
            return None
        known = self._run(select, listing)
        return replace(known, columns={key.id: known.columns[name] for name, key in zip(names, keys, strict=True)})

    def _run(self, sql: str, listing: Listing) -> Domain:
        listed = {name: [np.ma.asarray(v).tolist() for v in table.values()] for name, table in listing.tables.items()}
        source = repr((sql, sorted(listed.items())))
        known = self.cache.get(source)
        if known is None:
            columns, _ = embedded.run(sql, listing.tables)
            known = Domain(columns, len(next(iter(columns.values()))), source)
            self.remember(known)
        return known

    def _need_delta(self, key: nodes.Key, span: Span | None) -> None:
        if self.has_delta():
            return
        raise QueryRefused(
            f"The groups of `{key.name}` are known only from the data; this budget has no delta to select them with.",
            code="K-101",
            span=span,
            hint="Group by a column with declared values, bounds, or a CASE with constant results.",
            owner_hint=f'Declare `values = ["...", "..."]` for `{key.name}`, or give the budget a delta: in [budget] '
            "before the ledger begins, by `dither budget grant --delta` after it has.",
        )

    def _need_delta_for_size(self, size: int, span: Span | None) -> None:
        if self.has_delta():
            return
        raise QueryRefused(
            f"This has {size:,} possible groups; at most {LARGEST_DOMAIN:,} are listed.",
            code="K-102",
            span=span,
            hint="Group by something coarser, as FLOOR(x / 10) or EXTRACT(YEAR FROM d).",
        )
