"""Read declared values: what was expected, what was found, and at which key, without knowing where they come from.

Flow: used by load (TOML) and arguments (Python); every function here takes plain values and raises Unfit, whose key
grows on the way up through `at`; the top turns it into a CatalogError with a line, or into an InvalidParameter.
"""

from __future__ import annotations

import datetime as dt
import difflib
import math
import numbers
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from dither.catalog.model import fold
from dither.errors import InvalidParameter
from dither.exact import exact

__all__ = [
    "Key",
    "NotANumber",
    "Unfit",
    "at",
    "choice",
    "describe",
    "did_you_mean",
    "distinct_names",
    "flag",
    "number",
    "only",
    "positive",
    "table",
    "text",
    "whole",
]

Key = tuple[str | int, ...]


class Unfit(Exception):
    """A declared value does not fit. `key` is where it stands, relative to who catches it."""

    def __init__(
        self,
        expected: str,
        value: object = None,
        *,
        found: str | None = None,
        key: Key = (),
        code: str = "C-120",
        hint: str | None = None,
    ) -> None:
        self.expected, self.value, self.key, self.code, self.hint = expected, value, key, code, hint
        self.found = describe(value) if found is None else found
        super().__init__(f"expected {expected}; found {self.found}.")


@dataclass(frozen=True)
class NotANumber:
    """What stood in the file where a finite number of sensible size belongs: inf, nan, 1e999999."""

    text: str


@contextmanager
def at(*key: str | int) -> Iterator[None]:
    """Whatever is unfit inside stands under `key`."""
    try:
        yield
    except Unfit as unfit:
        unfit.key = key + unfit.key
        raise


def only(entries: Mapping[str, object], known: Sequence[str]) -> None:
    """Refuse keys that are not `known`, with the nearest known one as a hint."""
    for key, value in entries.items():
        if key not in known:
            hint = did_you_mean(key, known)
            if hint is None and isinstance(value, Mapping):
                hint = 'A name with a dot in it must be quoted, as in [tables."main.visits"].'
            raise Unfit(_one_of(known), key=(key,), found=f"the unknown key `{key}`", code="C-110", hint=hint)


def table(entries: Mapping[str, object], key: str, example: str) -> Mapping[str, object]:
    """The table under `key`; an empty one when the key is absent. Errors show the example."""
    value = entries.get(key, {})
    if not isinstance(value, Mapping):
        raise Unfit("a table", value, key=(key,), hint=f"Write {example}.")
    return value


def text(entries: Mapping[str, object], key: str) -> str | None:
    """The text under `key`, not blank; None when absent."""
    value = entries.get(key)
    if value is None or (isinstance(value, str) and value.strip()):
        return value
    hint = None if isinstance(value, str) else f'Put it in quotes: {key} = "...".'
    raise Unfit("a text in quotes, not blank", value, key=(key,), hint=hint)


def choice(entries: Mapping[str, object], key: str, options: Sequence[str]) -> str | None:
    """One of the options; None when absent."""
    value = entries.get(key)
    if value is None or (isinstance(value, str) and value in options):
        return value
    hint = did_you_mean(value, options) if isinstance(value, str) else None
    raise Unfit(_one_of(options, '"'), value, key=(key,), hint=hint)


def flag(entries: Mapping[str, object], key: str) -> bool:
    """true or false; False when absent."""
    value = entries.get(key, False)
    if not isinstance(value, bool):
        raise Unfit("true or false", value, key=(key,), hint="Write it without quotes, in lower case.")
    return value


def whole(entries: Mapping[str, object], key: str, least: int, most: int) -> int | None:
    """A whole number from `least` to `most`; None when absent."""
    value = entries.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or not least <= int(value) <= most:
        raise Unfit(f"a whole number from {least} to {most}", value, key=(key,), hint=_unquote(value))
    return int(value)


def positive(entries: Mapping[str, object], key: str) -> Fraction | None:
    """A number above 0, exact; None when absent."""
    value = entries.get(key)
    if value is None:
        return None
    with at(key):
        amount = number(value, "a number above 0")
        if amount <= 0:
            raise Unfit("a number above 0", value)
        return amount


def number(value: object, expected: str) -> Fraction:
    """The exact rational a number means; a float means its shortest decimal."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return Fraction(int(value))
    if isinstance(value, (Fraction, Decimal)) or (isinstance(value, float) and math.isfinite(value)):
        try:
            return exact(value)
        except InvalidParameter:
            pass
    raise Unfit(expected, value, hint=_unquote(value))


def distinct_names(names: Iterable[str]) -> None:
    """Refuse blank or unprintable names, and two that SQL cannot tell apart."""
    seen: dict[str, str] = {}
    for name in names:
        if not name.strip() or not name.isprintable() or len(name) > 200:
            raise Unfit("a name of 1 to 200 printable characters", name, key=(name,))
        other = seen.setdefault(fold(name), name)
        if other != name:
            raise Unfit(
                "names that differ in more than upper and lower case", key=(name,), found=f"`{other}` and `{name}`"
            )


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A hint naming the nearest of `known`, or None when none is near."""
    by_fold = {fold(candidate): candidate for candidate in known}
    wanted = fold(name[:200])
    longer = [candidate for candidate in by_fold if len(wanted) >= 3 and candidate.startswith(wanted)]
    near = longer or difflib.get_close_matches(wanted, list(by_fold), n=1, cutoff=0.6)
    return f"Did you mean `{by_fold[near[0]]}`?" if near else None


def describe(value: object) -> str:
    """What an error says it found: short, and with the kind when the kind may be the mistake."""
    match value:
        case None:
            return "nothing"
        case NotANumber(written):
            return _short(written)
        case bool():
            return "true" if value else "false"
        case int():
            # str() of an int beyond 4300 digits raises.
            return str(value) if value.bit_length() <= 256 else f"a number of {value.bit_length()} bits"
        case Fraction():
            return _decimal(value)
        case str():
            return f'the text "{_short(value)}"'
        case dt.datetime():
            return f"the timestamp {value.isoformat(' ')}"
        case dt.date():
            return f"the date {value.isoformat()}"
        case dt.time():
            return f"the time {value.isoformat()}"
        case Mapping():
            return f"a table of {', '.join(f'`{_short(str(key))}`' for key in list(value)[:4])}" if value else "{}"
        case list() | tuple():
            shown = [describe(item).removeprefix("the text ") for item in value[:4]]
            return f"[{', '.join(shown)}{', ...' if len(value) > 4 else ''}]"
        case _:
            return _short(repr(value))


def _decimal(value: Fraction) -> str:
    try:
        shown = float(value)
    except OverflowError:
        return f"a number of about {len(str(abs(int(value))))} digits"
    return repr(shown) if shown or not value else "a number very near 0"


def _one_of(options: Sequence[str], quote: str = "`") -> str:
    shown = [f"{quote}{option}{quote}" for option in options]
    if len(shown) <= 2:
        return " or ".join(shown)
    return f"one of {', '.join(shown[:-1])} or {shown[-1]}"


def _unquote(value: object) -> str | None:
    return "Write the number without quotes." if isinstance(value, str) else None


def _short(shown: str) -> str:
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in shown[:61])
    return shown if len(shown) <= 60 else shown[:57] + "..."
