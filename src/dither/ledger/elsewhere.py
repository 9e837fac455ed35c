"""Read a list of releases made elsewhere: JSON lines or TOML, numbers exact, nothing unknown let through.

Flow: a file to OutsideReleases, which `Ledger.import_releases` books. Relies on `accounting` for prices.
A mechanism that is epsilon-DP is rho-zCDP too, one that is (epsilon, delta)-DP is so outside a failure mass delta: both
meters are charged. One stated in rho alone has no epsilon, as Gaussian noise has none.
Format: docs/reference/releases-elsewhere.md.  Proof: docs/proofs/ledger/spent-elsewhere.md
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dither.accounting.price import Price, rho_of_pure
from dither.catalog.model import fold
from dither.errors import InvalidParameter
from dither.exact import Number, exact
from dither.ledger.amounts import DELTA_QUANTUM, LARGEST, charge_up
from dither.ledger.model import OutsideRelease
from dither.ledger.outside import check_release

__all__ = ["outside_release", "read_releases"]

_TEXTS = ("name", "who", "when", "reason")
_KEYS = (*_TEXTS, "epsilon", "delta", "rho", "analyst")

MOST_CHARACTERS = 10_000_000


def outside_release(
    *,
    name: str,
    who: str,
    when: str,
    reason: str,
    epsilon: Number | None = None,
    delta: Number = 0,
    rho: Number | None = None,
    analyst: str | None = None,
) -> OutsideRelease:
    """A release made elsewhere that was (epsilon, delta)-DP, or rho-zCDP (outside a failure mass delta), for the data
    set's own privacy unit and neighbours. Prices are exact, rounded up beyond 18 decimals (36 for delta).
    Raises InvalidParameter for what cannot be booked."""
    if (epsilon is None) == (rho is None):
        raise InvalidParameter("price", expected="epsilon or rho, and not both", found=(epsilon, rho))
    # Judged as it was written: rounding up would make nothing of a little less than nothing.
    stated = exact(delta, "delta")
    failure = charge_up(stated, DELTA_QUANTUM)
    if stated < 0 or failure >= 1:
        raise InvalidParameter("delta", expected="0 or above, and below 1", found=delta)
    if rho is not None:
        price = Price(None, _meter(rho, "rho"), failure)
    else:
        assert epsilon is not None
        pure = _meter(epsilon, "epsilon")
        price = Price(pure, rho_of_pure(pure), failure)
    charged = None if analyst is None else fold(analyst)
    release = OutsideRelease(name=name, who=who, when=when, reason=reason, price=price, analyst=charged)
    check_release(release)
    return release


def read_releases(text: str, *, toml: bool = False) -> tuple[OutsideRelease, ...]:
    """The releases that a text lists, in its order: one JSON object a line, or `[[release]]` tables of TOML.
    Raises InvalidParameter; its name says which release, and which key of it."""
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter("file", expected=f"at most {MOST_CHARACTERS:,} characters", found=f"{len(text):,}")
    found = list(_from_toml(text) if toml else _from_lines(text))
    if not found:
        raise InvalidParameter("file", expected="at least one release", found="none")
    releases = []
    for place, entry in found:
        try:
            releases.append(_release(entry))
        except InvalidParameter as error:
            raise InvalidParameter(
                f"{place}: {error.name}", expected=error.expected, found=error.found, hint=error.hint
            ) from None
    return tuple(releases)


def _release(entry: Mapping[str, Any]) -> OutsideRelease:
    if unknown := sorted(entry.keys() - set(_KEYS)):
        raise InvalidParameter("key", expected=f"one of {', '.join(_KEYS)}", found=unknown[0])
    for key in _TEXTS:
        if key not in entry:
            raise InvalidParameter(key, expected="given", found="nothing")
    # TOML has dates of its own; a number in place of a name is a mistake.
    texts = {key: value.isoformat() if hasattr(value := entry[key], "isoformat") else value for key in _TEXTS}
    prices = {key: entry[key] for key in ("epsilon", "delta", "rho") if key in entry}
    analyst = entry.get("analyst")
    if analyst is not None and not isinstance(analyst, str):
        raise InvalidParameter("analyst", expected="a name of the catalog", found=analyst)
    return outside_release(**texts, **prices, analyst=analyst)


def _from_lines(text: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            # Numbers stay as written, so that 0.1 is one tenth.
            entry = json.loads(line, parse_float=str, parse_constant=str, object_pairs_hook=_once)
        except (ValueError, RecursionError):
            raise InvalidParameter(f"line {number}", expected="one JSON object", found="something else") from None
        if not isinstance(entry, dict):
            raise InvalidParameter(f"line {number}", expected="one JSON object", found=entry)
        yield f"line {number}", entry


def _from_toml(text: str) -> Iterable[tuple[str, Mapping[str, Any]]]:
    try:
        stored = tomllib.loads(text, parse_float=str)
    except (ValueError, RecursionError):
        raise InvalidParameter("file", expected="valid TOML", found="a mistake in it") from None
    entries = stored.get("release")
    if stored.keys() - {"release"} or not isinstance(entries, list):
        raise InvalidParameter("file", expected="[[release]] tables and nothing else", found=sorted(stored))
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise InvalidParameter(f"release {number}", expected="a table", found=entry)
        yield f"release {number}", entry


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A key written twice would be read by one program so, by another otherwise."""
    entry = dict(pairs)
    if len(entry) != len(pairs):
        raise ValueError("a key is written twice")
    return entry


def _meter(value: Number, name: str) -> Fraction:
    amount = exact(value, name)
    if not 0 <= amount <= LARGEST:
        raise InvalidParameter(name, expected="0 or above, and at most a billion", found=value)
    return charge_up(amount)
