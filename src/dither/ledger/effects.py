"""What each kind of row does to the standings: the ledger's arithmetic, in one place.

Flow: `journal` computes the standings of a new row with it; `verify` computes them again from the facts and compares.
Relies on `standing`. Pure: facts and old standings in, new standings out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dither.errors import LedgerCorrupt
from dither.ledger.amounts import price_from_json
from dither.ledger.standing import DATASET, Standing, Terms, analyst_level, day_level, refusals_level

__all__ = ["Facts", "levels_of", "standings_after"]

Facts = Mapping[str, Any]
"""A row's facts as read from JSON; what each kind holds is said in `_effect`."""


def levels_of(kind: str, facts: Facts, *, analyst: str | None, day: str) -> tuple[str, ...]:
    """The levels whose standing a row of this kind changes, on this UTC day."""
    match kind, analyst:
        case "answered" | "advanced", str():
            return ()
        case "reserved", str():
            return DATASET, analyst_level(analyst), day_level(analyst, day)
        case "void", str():
            # The refund goes to the day that was charged, which may be over.
            return DATASET, analyst_level(analyst), day_level(analyst, facts["day"])
        case "failed" | "lost" | "stalled", str():
            return DATASET, analyst_level(analyst)
        case "reused", str():
            # The data set paid for this vector when it was measured.
            return analyst_level(analyst), day_level(analyst, day)
        case "refused", str():
            # Not their day's: an older Dither leaves out of a standing what it does not know.
            return (refusals_level(analyst, day),)
        case "granted" | "unfrozen", str():
            return (analyst_level(analyst),)
        case "imported", str():
            # Not their day: it was made some other day, and elsewhere.
            return DATASET, analyst_level(analyst)
        case (
            "created" | "granted" | "unfrozen" | "promise" | "release" | "restored" | "imported" | "merged" | "closed",
            None,
        ):
            return (DATASET,)
        case _:
            raise LedgerCorrupt(f"The ledger holds a row of an unknown kind, {kind!r}.", hint="Is Dither up to date?")


def standings_after(
    kind: str, facts: Facts, before: Mapping[str, Standing], *, analyst: str | None, day: str
) -> dict[str, Standing]:
    """The standings a row leaves behind. `before` holds those of its levels that exist already."""
    changed = {}
    for level in levels_of(kind, facts, analyst=analyst, day=day):
        standing = before.get(level)
        if standing is None:
            # Only an analyst's own level has a limit to record; a day's is read from the catalog each time.
            limited = "recorded" in facts and not level.startswith("day:")
            standing = Standing(recorded=Terms.from_json(facts["recorded"])) if limited else Standing()
        changed[level] = _effect(kind, facts, standing)
    return changed


def _effect(kind: str, facts: Facts, standing: Standing) -> Standing:
    match kind:
        case "reserved" | "reused" | "restored" | "imported" | "merged":
            return standing.charge(price_from_json(facts["price"]))
        case "void":
            return standing.refund(price_from_json(facts["price"]))
        case "failed" | "lost" | "stalled":
            return standing.failed()
        case "refused":
            return replace(standing, refusals=standing.refusals + 1)
        case "granted":
            return replace(standing, grants=(*standing.grants, Terms.from_json(facts["step"])))
        case "unfrozen":
            return replace(standing, failures=0)
        case "created":
            return replace(standing, promise=facts["promise"], release=facts["release"])
        case "promise":
            return replace(standing, promise=facts["promise"])
        case "release":
            return replace(standing, release=facts["release"])
        case "closed":
            return replace(standing, closed=facts["into"])
        case _:
            raise LedgerCorrupt(f"The ledger holds a row of an unknown kind, {kind!r}.", hint="Is Dither up to date?")
