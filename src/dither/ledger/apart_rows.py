"""What the rows of a ledger of a notion apart say: losses as text, entries, and whether a chain of rows holds.

Flow: `apart` appends and reads rows, and asks here what they mean. Relies on `chain` for hashes, `amounts` for exact
numbers as text; nothing here knows a database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any, Generic, Literal, TypeVar, cast

from dither.accounting.metric import MetricLoss
from dither.accounting.random_dp import RandomLoss, one_notion
from dither.errors import DitherError, InvalidParameter, LedgerCorrupt
from dither.exact import decimal_text
from dither.ledger.amounts import DELTA_QUANTUM, amount, amount_text, charge_up
from dither.ledger.chain import GENESIS, Json, row_hash
from dither.ledger.model import Verification

__all__ = [
    "FORMAT",
    "ApartEntry",
    "ApartRow",
    "L",
    "amounts_json",
    "as_charged",
    "as_repeated",
    "check_same",
    "entries_of",
    "fits_within",
    "lesser",
    "loss_text",
    "notion_facts",
    "read_amounts",
    "read_notion",
    "remains",
    "replayed",
]

L = TypeVar("L", MetricLoss, RandomLoss)

FORMAT = 1
_PROBLEM = "Run `verify` on it, and restore a backup as documented."


@dataclass(frozen=True)
class ApartEntry(Generic[L]):
    """One release's life. The reserved entry is the permission to read, once, unless it is `repeated`."""

    id: str
    what: str
    loss: L
    state: Literal["reserved", "answered"]
    """reserved: charged and not answered, by a process that is at it or one that died. Either way it was charged."""
    at: str
    """When it was reserved: UTC, ISO 8601."""
    hash: str
    """Of the reserved row in the chain: note it outside, and `verify` can tell a rollback."""
    key: str | None = None
    digest: str | None = None
    """SHA-256 of what was released; None while nothing was."""
    released: str | None = None
    """What was released, when the caller kept it."""
    repeated: bool = False
    """True when a key found an earlier entry: do not read or release anything anew."""


@dataclass(frozen=True)
class ApartRow:
    """One row of the chain, as stored."""

    seq: int
    kind: str
    entry: str | None
    request: str | None
    at: str
    body: str
    """Canonical JSON: `facts`; `total` and `allowance` as they stand after this row."""
    previous: str
    hash: str

    @property
    def columns(self) -> tuple[str | int | None, ...]:
        """What the hash covers, beside the previous hash."""
        return self.seq, self.kind, self.entry, self.request, self.at, self.body

    @property
    def content(self) -> dict[str, Any]:
        """The body, read. Raises LedgerCorrupt when it is none."""
        try:
            found = json.loads(self.body)
        except ValueError:
            found = None
        if not isinstance(found, dict) or not isinstance(found.get("facts"), dict):
            raise LedgerCorrupt("The ledger holds a row that cannot be read.", hint=_PROBLEM)
        return found

    @property
    def facts(self) -> dict[str, Any]:
        return cast("dict[str, Any]", self.content["facts"])


def check_same(loss: object, zero: MetricLoss | RandomLoss, name: str = "loss") -> None:
    """Raises InvalidParameter unless `loss` is of the notion of `zero`."""
    same = type(loss) is type(zero) and one_notion([loss]) == one_notion([zero])
    if not same:
        raise InvalidParameter(name, expected=f"a loss of {one_notion([zero])}", found=loss)


def loss_text(loss: MetricLoss | RandomLoss) -> str:
    """`epsilon 0.5, gamma 0.01`: amounts but the epsilon are left out where they are zero."""
    amounts = _amounts(loss)
    shown = [f"{name} {decimal_text(value, 30)}" for name, value in amounts.items() if value or name == "epsilon"]
    return ", ".join(shown)


def as_charged(loss: L) -> L:
    """The loss with amounts that a ledger can keep exactly: rounded up where their denominators are large."""
    quanta = {"delta": (DELTA_QUANTUM,)}
    return _with(loss, {name: charge_up(value, *quanta.get(name, ())) for name, value in _amounts(loss).items()})


def fits_within(loss: L, allowance: L | None) -> bool:
    """Whether each amount of `loss` is at most that of the allowance."""
    if allowance is None:
        return True
    limits = _amounts(allowance)
    return all(value <= limits[name] for name, value in _amounts(loss).items())


def remains(total: L, allowance: L | None) -> L | None:
    """What each amount of the allowance leaves, 0 or above."""
    if allowance is None:
        return None
    spent = _amounts(total)
    return _with(
        allowance, {name: max(Fraction(0), value - spent[name]) for name, value in _amounts(allowance).items()}
    )


def lesser(one: L | None, other: L | None) -> L | None:
    """The lesser of two allowances, amount by amount; None is no limit."""
    if one is None or other is None:
        return other if one is None else one
    second = _amounts(other)
    return _with(one, {name: min(value, second[name]) for name, value in _amounts(one).items()})


def amounts_json(loss: L) -> dict[str, Json]:
    return {name: amount_text(value) for name, value in _amounts(loss).items()}


def read_amounts(stored: object, zero: L) -> L:
    """The loss that `amounts_json` wrote, of the notion of `zero`. Raises LedgerCorrupt for anything else."""
    names = _amounts(zero)
    if not isinstance(stored, Mapping) or stored.keys() != names.keys():
        raise LedgerCorrupt("The ledger holds a loss that cannot be read.", hint=_PROBLEM)
    return _with(zero, {name: amount(stored[name]) for name in names})


def notion_facts(loss: MetricLoss | RandomLoss) -> dict[str, Json]:
    """Names a notion on the first row."""
    return {"metric": loss.metric} if isinstance(loss, MetricLoss) else {"population": loss.population}


def read_notion(first: ApartRow) -> MetricLoss | RandomLoss:
    """A loss of zero of the notion that `notion_facts` named."""
    match first.kind, first.facts.get("format"), first.facts.get("notion"):
        case "created", int(), {"metric": str(name)}:
            return MetricLoss(Fraction(0), name)
        case "created", int(), {"population": str(name)}:
            return RandomLoss(Fraction(0), Fraction(0), Fraction(0), name)
        case _:
            raise LedgerCorrupt("The ledger lacks its first row.", hint="Restore a backup as documented.")


def entries_of(rows: Iterable[ApartRow], zero: L) -> list[ApartEntry[L]]:
    """The entries that these rows tell of, oldest first."""
    found: dict[str, ApartEntry[L]] = {}
    for row in rows:
        if row.kind == "reserved":
            facts, name = row.facts, str(row.entry)
            loss = read_amounts(facts.get("loss"), zero)
            found[name] = ApartEntry(name, str(facts.get("what")), loss, "reserved", row.at, row.hash, row.request)
        elif row.kind == "answered" and str(row.entry) in found:
            facts = row.facts
            found[str(row.entry)] = replace(
                found[str(row.entry)],
                state="answered",
                digest=facts.get("digest"),
                released=facts.get("released"),
            )
    return list(found.values())


def as_repeated(entry: ApartEntry[L]) -> ApartEntry[L]:
    """The entry as a key found it again."""
    return replace(entry, repeated=True)


class _Broken(Exception):
    """A row does not hold; the text says why."""


def replayed(rows: Sequence[ApartRow], zero: L, head: str | None) -> Verification:
    """Check every row in order: hashes, the life of each entry, totals and allowance. Then whether `head` is there."""
    seq, last, total, allowance = 0, GENESIS, zero, cast("L | None", None)
    opened: dict[str, ApartRow] = {}
    answered: set[str] = set()
    for row in rows:
        try:
            if row.seq != seq + 1 or (row.kind == "created") != (row.seq == 1):
                raise _Broken(f"Row {seq + 1} is missing.")
            if row.previous != last or row.hash != row_hash(last, row.columns):
                raise _Broken("The row does not hash to what the chain says: it was changed, or a row before it was.")
            content = row.content
            total, allowance = _after(row, content["facts"], total, allowance)
            _check_life(row, opened, answered)
            limit = None if content["allowance"] is None else read_amounts(content["allowance"], zero)
            if read_amounts(content["total"], zero) != total or limit != allowance:
                raise _Broken("The row's totals do not follow from the totals before it.")
        except _Broken as broken:
            return Verification(seq, last, str(broken), row.seq)
        except (DitherError, LookupError, TypeError, ValueError):
            return Verification(seq, last, "The row's content cannot be read.", row.seq)
        seq, last = row.seq, row.hash
    if seq == 0:
        return Verification(0, GENESIS, "The ledger lacks its first row.")
    if head is not None and all(row.hash != head for row in rows):
        return Verification(seq, last, "The ledger lacks a row it once had: it was put back, or cut short.")
    return Verification(seq, last)


def _after(row: ApartRow, facts: dict[str, Any], total: L, allowance: L | None) -> tuple[L, L | None]:
    """What the ledger stands at after a row, from its facts alone."""
    match row.kind:
        case "created":
            limit = facts["allowance"]
            return total, None if limit is None else read_amounts(limit, total)
        case "reserved":
            loss = read_amounts(facts["loss"], total)
            if min(_amounts(loss).values()) < 0:
                raise _Broken("The row charges less than nothing.")
            return as_charged(total + loss), allowance
        case "allowance":
            return total, read_amounts(facts["allowance"], total)
        case "answered":
            return total, allowance
        case _:
            raise _Broken("The row is of an unknown kind.")


def _check_life(row: ApartRow, opened: dict[str, ApartRow], answered: set[str]) -> None:
    """An entry is reserved once and answered at most once, after it."""
    name = str(row.entry)
    if row.kind == "reserved":
        if name in opened:
            raise _Broken("The entry was reserved before.")
        opened[name] = row
    elif row.kind == "answered":
        if name not in opened or name in answered:
            raise _Broken("The row answers no open entry.")
        answered.add(name)


def _amounts(loss: MetricLoss | RandomLoss) -> dict[str, Fraction]:
    """The amounts of a loss by name; the rest of it names the notion."""
    found = {field.name: getattr(loss, field.name) for field in fields(loss)}
    return {name: Fraction(value) for name, value in found.items() if not isinstance(value, str)}


def _with(loss: L, amounts: Mapping[str, Fraction]) -> L:
    return replace(loss, **amounts)  # type: ignore[arg-type]  # the names are the loss's own
