"""Draft a catalog for `dither init` from names and types alone.

Flow: a schema in, TOML text out; load refuses it until the owner has replaced every "TODO". A draft guesses in
comments only: a wrong unit column would protect nobody, and only the owner knows which one is a person.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import overload

from dither.catalog.domains import COLUMN_TYPES, INT64, LARGEST_DOUBLE, largest_decimal
from dither.catalog.load import TODO
from dither.catalog.locations import without_password
from dither.catalog.model import ColumnType, fold
from dither.catalog.schema import SchemaColumn, SchemaTable, column_type, decimal_scale
from dither.errors import InvalidParameter
from dither.exact import Number, decimal_text, exact

__all__ = ["Proposals", "SchemaColumn", "SchemaTable", "coarse_bounds", "column_type", "draft", "likely_unit"]

Bound = Number | dt.date
Proposals = Mapping[tuple[str, str], tuple[Bound, Bound]]
"""By (table, column): the least and greatest value that `--look` saw."""

_PERSON = re.compile(
    r"(patient|person|user|customer|client|member|subject|participant|employee|student|citizen|resident|household"
    r"|account|owner|device|driver|rider|passenger|player|author|respondent|insured)(?P<id>_?(id|no|nr|key|number))?"
)
_IDENTIFYING = re.compile(
    r"(^|_)(e_?mail|phone|telephone|mobile|fax|ssn|nhs|passport|iban|address|street|password|token|"
    r"(first|last|full|given|family|middle|sur|user|maiden)_?name|name)(_|$)|身份证|姓名|电话|手机|地址"
)


def draft(schema: Sequence[SchemaTable], *, source: str, name: str, proposals: Proposals | None = None) -> str:
    """TOML text declaring every table of `schema`, with "TODO" where the owner must decide.
    source: path or URL; a password in it is left out.  proposals: bounds seen by looking at the data, rounded here."""
    return "\n".join(_lines(schema, source, name, proposals)) + "\n"


def likely_unit(table: SchemaTable) -> str | None:
    """The column whose name looks most like a person's identifier; a guess for the owner to judge."""
    names = {fold(column.name): column.name for column in table.columns}
    persons = [match for match in map(_PERSON.fullmatch, names) if match]
    ranked = [match.string for match in sorted(persons, key=lambda match: match["id"] is None)]
    return next((names[guess] for guess in (*ranked, "uid", "pid", "id") if guess in names), None)


@overload
def coarse_bounds(low: dt.date, high: dt.date) -> tuple[dt.date, dt.date]: ...
@overload
def coarse_bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]: ...
def coarse_bounds(low: Bound, high: Bound) -> tuple[Bound, Bound]:
    """Bounds around [low, high], rounded outward: numbers to 1, 2 or 5 times a power of ten, dates to decades.
    So a catalog, which analysts may read, does not tell the oldest patient's age."""
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        return _decade(low, end=False), _decade(high, end=True)
    if isinstance(low, dt.date) or isinstance(high, dt.date):
        raise InvalidParameter("high", expected="of the same kind as low, both dates or both numbers", found=high)
    return -_step(-exact(low, "low")), _step(exact(high, "high"))


def _step(value: Fraction) -> Fraction:
    """The least of 0, ±1, ±2, ±5 times a power of ten that is >= value."""
    if value == 0:
        return value
    digits = len(str(abs(value.numerator))) - len(str(value.denominator))
    tens = [Fraction(10) ** power for power in range(digits - 2, digits + 3)]
    steps = [step * ten for ten in tens for step in (1, 2, 5)]
    return min(s for s in steps if s >= value) if value > 0 else -max(s for s in steps if s <= -value)


def _decade(day: dt.date, *, end: bool) -> dt.date:
    first = max(1, day.year // 10 * 10)
    if isinstance(day, dt.datetime):
        return dt.datetime(first // 10 * 10 + 9, 12, 31, 23, 59, 59, 999_999) if end else dt.datetime(first, 1, 1)
    return dt.date(first // 10 * 10 + 9, 12, 31) if end else dt.date(first, 1, 1)


def _lines(schema: Sequence[SchemaTable], source: str, name: str, proposals: Proposals | None) -> Iterator[str]:
    looked = "Bounds marked `looked` come from looking at the data." if proposals is not None else "No row was read."
    yield f"# Drafted by `dither init` from names and types. {looked}"
    yield f'# Replace every "{TODO}", review the rest; what is not named here is not visible. Then run `dither check`.'
    yield from ("", "[dataset]", f"name = {_quoted(name)}")
    yield from ("", "[source]", f"url = {_quoted(without_password(source))}")
    if without_password(source) != source:
        yield "# The password was left out: give it in the environment (PGPASSWORD for PostgreSQL, or ~/.pgpass)."
    yield from ("", "[unit]", f'name = "{TODO}"  # TODO: the word for whom the answers protect, such as "patient"')
    yield from ("", "[budget]")
    yield f'epsilon = "{TODO}"  # TODO: what all answers together may reveal about one of them, such as 1.0'
    yield "# delta = 1e-9  # needed for groups that are not listed under `values`; at most 1/n² for n of them"
    for table in schema:
        yield from ("", *_table(table, schema, proposals or {}))


def _table(table: SchemaTable, schema: Sequence[SchemaTable], proposals: Proposals) -> Iterator[str]:
    yield f"[tables.{_key(table.name)}]"
    yield f'privacy_unit = "{TODO}"  # TODO: the column that says whose row this is, "row", or a path to another table'
    yield f"# TODO: {_guess(table, schema)}"
    yield "# public = true  # instead of privacy_unit, for a table about nobody, such as a list of codes"
    yield "# max_rows_per_unit = 20  # or choose it privately with `dither tune`"
    yield ""
    yield f"[tables.{_key(table.name)}.columns]"
    seen: set[str] = set()
    for column in table.columns:
        yield _column(table, column, proposals, seen)
        seen.add(fold(column.name))


def _guess(table: SchemaTable, schema: Sequence[SchemaTable]) -> str:
    unit = likely_unit(table)
    if unit is not None and fold(unit) not in ("id", "pid"):
        return f"by its name, perhaps {_quoted(unit)}; confirm that it is one person, and the same everywhere"
    for column in table.columns:
        for other in schema:
            held = likely_unit(other)
            if other is not table and other.column(column.name) and held and fold(held) != fold(column.name):
                path = f"{{ column = {_quoted(column.name)}, references = {_quoted(f'{other.name}.{column.name}')} }}"
                return f"by its names, perhaps {path}; confirm that no two rows there share it"
    if unit is not None:
        return f"by its name, perhaps {_quoted(unit)}; confirm that it is a person and not just a row"
    return 'no column looks like a person\'s identifier; "row" only if nobody can have two rows'


def _column(table: SchemaTable, column: SchemaColumn, proposals: Proposals, seen: set[str]) -> str:
    key, kind = _key(column.name), column_type(column.engine_type)
    if fold(column.name) in seen:
        return f"# {key}: differs from a column above only in upper and lower case, so it is not visible"
    if kind is None:
        return f"# {key}: type {_plain(column.engine_type)} is not one that questions can see"
    scale = decimal_scale(column.engine_type) if kind == "decimal" else None
    parts = [f'type = "{kind}"'] + ([] if scale is None else [f"scale = {scale}"])
    if _IDENTIFYING.search(fold(column.name)) or column.name == likely_unit(table):
        reason = "identifies people by its name; uncomment only if questions need it"
        return f"# {key} = {{ {', '.join(parts)} }}  # {reason}"
    seen_bounds = proposals.get((table.name, column.name))
    if seen_bounds is not None and kind not in ("text", "boolean"):
        parts += [f"bounds = {_bounds(kind, scale, *seen_bounds)}", "looked = true"]
        return f"{key} = {{ {', '.join(parts)} }}  # TODO: confirm from what you know, then delete `looked`"
    return f"{key} = {{ {', '.join(parts)} }}{_advice(kind, table.typed)}"


def _advice(kind: ColumnType, typed: bool) -> str:
    if not typed:
        return f"  # TODO: in a text file all is text until you declare one of {', '.join(COLUMN_TYPES)}"
    match kind:
        case "text":
            return "  # TODO: values = [...] if the groups are public; without it they are selected with noise"
        case "boolean":
            return ""
        case _:
            return "  # TODO: bounds = [low, high], from what you know and not from the data"


def _bounds(kind: ColumnType, scale: int | None, low: Bound, high: Bound) -> str:
    if isinstance(low, dt.date) and isinstance(high, dt.date):
        return f"[{', '.join(day.isoformat() for day in coarse_bounds(low, high))}]"
    if isinstance(low, dt.date) or isinstance(high, dt.date):
        raise InvalidParameter("high", expected="of the same kind as low, both dates or both numbers", found=high)
    if kind == "integer":
        least, most = Fraction(INT64[0]), Fraction(INT64[1])
    else:
        most = LARGEST_DOUBLE if kind == "double" else largest_decimal(scale or 0)
        least = -most
    capped = [min(max(bound, least), most) for bound in coarse_bounds(low, high)]
    return f"[{', '.join(_number(bound) for bound in capped)}]"


def _number(value: Fraction) -> str:
    """A TOML number that reads back as `value`; the shortest one when a float spells it exactly."""
    if value.denominator == 1 and abs(value) < 10**15:
        return str(value)
    shown = repr(float(value))
    return shown if exact(shown) == value else decimal_text(value, 38)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's, but for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _plain(text: str) -> str:
    """Fit for a comment: one short line."""
    return "".join(c if c.isprintable() else " " for c in text[:80])
