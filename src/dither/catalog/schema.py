"""What a database says of its tables: names and types, never a row.

Flow: engines fill it; draft, check and arguments read it. `column_type` says which of our types a DuckDB, PostgreSQL
or Spark type is read as; a type it does not know is not visible to questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from dither.catalog.model import ColumnType, fold

__all__ = ["SchemaColumn", "SchemaTable", "column_type", "comparable", "decimal_scale", "identifier_type"]


@dataclass(frozen=True)
class SchemaColumn:
    name: str
    engine_type: str
    """As the engine prints it: BIGINT, DECIMAL(10,2), timestamp without time zone."""
    nullable: bool = True
    unique: bool = False
    """True only when the engine itself enforces that no two rows share a value of this column alone."""


@dataclass(frozen=True)
class SchemaTable:
    name: str
    """As the catalog names it: a table, or the file or glob in the source."""
    columns: Sequence[SchemaColumn]
    typed: bool = True
    """False for text files (CSV): every column is text until the catalog declares a type for a guarded cast."""
    in_paths: frozenset[str] = frozenset()
    """Folded names that folders of its files give a value, as in `year=2024/part.parquet`: no columns of ours."""

    def hint_for(self, name: str) -> str | None:
        """What to say of a column that is not there, where a folder has its name."""
        if fold(name) not in self.in_paths:
            return None
        return (
            f"Folders of the source are named `{name}=...`, which is not read as a column: only what is in the files "
            f"is, so that no folder's name can replace a column's values. Write `{name}` into the files, as by COPY "
            "(SELECT * FROM read_parquet('...', hive_partitioning = true)) TO 'whole.parquet' in DuckDB."
        )

    def column(self, name: str) -> SchemaColumn | None:
        """The column of that name; an exact match first, as PostgreSQL may hold both Age and age."""
        same = [column for column in self.columns if fold(column.name) == fold(name)]
        return next((column for column in same if column.name == name), same[0] if same else None)


_TYPES: tuple[tuple[ColumnType, str], ...] = (
    (
        "integer",
        r"u?(tiny|small|big|huge)?int|u?integer|u?int(1|2|4|8|16|32|64|128)|short|long|byte|(small|big)?serial",
    ),
    ("double", r"float[48]?|double( precision)?|real"),
    ("decimal", r"decimal|numeric|dec"),
    ("text", r"varchar|text|string|(bp)?char|character( varying)?|uuid|enum|name|citext"),
    ("boolean", r"bool(ean)?|logical"),
    ("date", r"date"),
    ("timestamp", r"timestamp(tz|_s|_ms|_us|_ns|_ntz|_ltz|( with(out)? time zone))?|datetime"),
)


def column_type(engine_type: str) -> ColumnType | None:
    """The type a column of `engine_type` is read as; None when it is of a kind that questions cannot see."""
    name = engine_type.strip().lower()
    # Lists, arrays and structs wrap a known type: integer[], array<string>, map(varchar, bigint).
    if name.endswith("]") or re.match(r"(array|list|map|struct|row|union|tuple)\b", name):
        return None
    # PostgreSQL prints a precision inside the name: timestamp(3) without time zone.
    plain = re.sub(r"\s*\(.*\)\s*", " ", name, flags=re.DOTALL)
    words = " ".join(plain.split())
    return next((kind for kind, pattern in _TYPES if re.fullmatch(pattern, words)), None)


def decimal_scale(engine_type: str) -> int | None:
    """Digits after the point that a decimal type declares; None when it declares none."""
    declared = re.fullmatch(r"(?:decimal|numeric|dec)\s*\(\s*\d+\s*(?:,\s*(\d+)\s*)?\)", engine_type.strip().lower())
    return None if declared is None else int(declared[1] or 0)


def comparable(left: str, right: str) -> bool:
    """Are two columns of these engine types equal where their values are, and does no value make the engine fail?
    It compares in a type that is to hold both, and none may: it then raises on one value (a decimal of too many digits,
    a moment too far for nanoseconds), or compares doubles, by which two people's identifiers can be the same."""
    one, other = _plain(left), _plain(right)
    kind = column_type(left)
    if kind != column_type(right):
        return False
    match kind:
        case None:
            return one == other
        case "integer":
            unsigned = one.startswith("U"), other.startswith("U")
            return "UHUGEINT" not in (one, other) or all(unsigned)
        case "decimal":
            whole, scales = zip(*(_digits(type) for type in (one, other)), strict=True)
            return one == other or max(whole) + max(scales) <= _MOST_DIGITS
        case "timestamp":
            return one == other or {one, other} <= _MICROSECONDS
    return True


def identifier_type(types: Iterable[str]) -> str | None:
    """The type in which the engine compares identifiers of all these types; None where they are not `comparable`, or no
    such type is known. Types as DuckDB prints them."""
    found = sorted({_plain(type) for type in types})
    if len(found) < 2:
        return found[0] if found else None
    if not all(comparable(one, other) for one, other in combinations(found, 2)):
        return None
    match column_type(found[0]):
        case "integer":
            return _integers_of(found)
        case "decimal":
            whole, scales = zip(*(_digits(type) for type in found), strict=True)
            return f"DECIMAL({max(whole) + max(scales)},{max(scales)})"
        case "double":
            return "DOUBLE"
        case "timestamp":
            return "TIMESTAMP WITH TIME ZONE" if any("Z" in type for type in found) else "TIMESTAMP"
        case "text":
            return "VARCHAR"
    return None


def _integers_of(types: Sequence[str]) -> str | None:
    """Without a sign where all are; else the signed type that holds the largest of each."""
    sizes = {type: _INTEGERS.index(type.removeprefix("U")) for type in types if type.removeprefix("U") in _INTEGERS}
    if len(sizes) < len(types):
        return None
    unsigned = [type for type in types if type.startswith("U")]
    if len(unsigned) == len(types):
        return max(types, key=sizes.__getitem__)
    return _INTEGERS[max(size + (type in unsigned) for type, size in sizes.items())]


def _plain(engine_type: str) -> str:
    return " ".join(engine_type.strip().upper().split())


_INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
_MOST_DIGITS = 38
_MICROSECONDS = {"TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITHOUT TIME ZONE", "TIMESTAMPTZ", "DATETIME"}


def _digits(engine_type: str) -> tuple[int, int]:
    """Digits before and after the point; where the type tells none, more than any type has."""
    declared = re.search(r"\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)", engine_type)
    if declared is None:
        return _MOST_DIGITS + 1, 0
    scale = int(declared[2] or 0)
    return int(declared[1]) - scale, scale
