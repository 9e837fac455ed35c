"""Text: case, parts, joining, places. Lengths are added up so that no text can grow beyond 1,000,000 characters.

What a text is searched for, replaced by or trimmed of is constant wherever the result's length depends on it.
"""

from __future__ import annotations

from functools import partial

from dither.sql.expressions import Expr, literal
from dither.sql.functions.ranges import ends_of
from dither.sql.functions.registry import Call, builder, finish_text, template
from dither.sql.functions.signature import Row, constant_integer, constant_text, define, integer, text
from dither.sql.types import BOOLEAN, INTEGER, TEXT, Kind, magnitude

SECTION = "Text"
texts = partial(builder, section=SECTION)

JOIN = template("concat", "({0} || {1})")
CONCAT = template("concat_skipping_nulls", "concat({*})")
CONCAT_WS = template("concat_ws", "concat_ws({*})")
SUBSTRING = template("substring", "substring({0}, {1}, {2})")
TRIM = {side: template(side, f"{side}({{0}})") for side in ("trim", "ltrim", "rtrim")}
TRIM_OF = {side: template(f"{side}_of", f"{side}({{0}}, {{1}})") for side in ("trim", "ltrim", "rtrim")}
LONGEST_TEXT = 2**31
FARTHEST = 4_000_000_000
"""Places and lengths up to which SUBSTRING never raises."""
LAST_CODE = 0x10FFFF
PLACE = (0, LONGEST_TEXT)


def _same(arg: Expr, *_: Expr) -> int:
    return arg.length


def _counted(duckdb: str) -> str:
    """A count that is within PLACE whatever is stored: of longer texts it is the largest."""
    return f"CASE WHEN {duckdb} > {LONGEST_TEXT} THEN CAST({LONGEST_TEXT} AS BIGINT) ELSE {duckdb} END"


def _two_texts(duckdb: str, example: str) -> Row:
    return Row((text, text), BOOLEAN, duckdb, example, SECTION)


define("contains", row=_two_texts("contains({0}, {1})", "contains(region, 'th')"))
define("starts_with", "prefix", "^@", row=_two_texts("starts_with({0}, {1})", "starts_with(region, 'No')"))
define("ends_with", "suffix", row=_two_texts("suffix({0}, {1})", "ends_with(region, 'th')"))

# A letter in the other case may need more characters, as in full case mappings.
define("lower", "lcase", row=Row((text,), TEXT, "lower({0})", "lower(region)", SECTION, length=lambda a: 3 * a.length))
define("upper", "ucase", row=Row((text,), TEXT, "upper({0})", "upper(region)", SECTION, length=lambda a: 3 * a.length))
define("reverse", row=Row((text,), TEXT, "reverse({0})", "reverse(region)", SECTION, length=_same))
define(
    "length", "len", "char_length", "character_length",
    row=Row((text,), INTEGER, _counted("length({0})"), "length(region)", SECTION, range=lambda arg: PLACE),
)  # fmt: skip
define("strlen", row=Row((text,), INTEGER, _counted("strlen({0})"), "strlen(region)", SECTION, range=lambda arg: PLACE))
define(
    "bit_length",
    row=Row((text,), INTEGER, _counted("bit_length({0})"), "bit_length(region)", SECTION, range=lambda arg: PLACE),
)
define(
    "strpos", "position", "instr",
    row=Row((text, text), INTEGER, _counted("strpos({0}, {1})"), "strpos(region, 'th')", SECTION,
            range=lambda *args: PLACE),
)  # fmt: skip
define(
    "ascii",
    row=Row((text,), INTEGER, "CAST(ascii({0}) AS BIGINT)", "ascii(region)", SECTION, range=lambda a: (0, LAST_CODE)),
)
define(
    "unicode", "ord",
    row=Row((text,), INTEGER, "CAST(unicode({0}) AS BIGINT)", "unicode(region)", SECTION,
            range=lambda arg: (-1, LAST_CODE)),
)  # fmt: skip
define(
    "strip_accents",
    row=Row((text,), TEXT, "strip_accents({0})", "strip_accents(region)", SECTION, length=lambda a: 4 * a.length),
)
define(
    "left",
    row=Row((text, constant_integer(-1_000_000, 1_000_000)), TEXT, "left({0}, {1})", "left(region, 2)", SECTION,
            length=lambda arg, size: min(arg.length, int(size.lo)) if size.lo >= 0 else arg.length),
)  # fmt: skip
define(
    "right",
    row=Row((text, constant_integer(-1_000_000, 1_000_000)), TEXT, "right({0}, {1})", "right(region, 2)", SECTION,
            length=lambda arg, size: min(arg.length, int(size.lo)) if size.lo >= 0 else arg.length),
)  # fmt: skip
define(
    "split_part",
    row=Row((text, constant_text(100), constant_integer(-1_000_000, 1_000_000)), TEXT, "split_part({0}, {1}, {2})",
            "split_part(region, ' ', 1)", SECTION, length=_same),
)  # fmt: skip
define(
    "translate",
    row=Row((text, constant_text(100), constant_text(100)), TEXT, "translate({0}, {1}, {2})",
            "translate(region, 'abc', 'xyz')", SECTION, length=_same),
)  # fmt: skip


def _replaced(arg: Expr, old: Expr, new: Expr) -> int:
    found, put = len(str(old.payload)), len(str(new.payload))
    return arg.length if found == 0 or put <= found else -(-arg.length * put // found)


define(
    "replace",
    row=Row((text, constant_text(), constant_text(100)), TEXT, "replace({0}, {1}, {2})",
            "replace(region, 'North', 'N')", SECTION, length=_replaced),
)  # fmt: skip


define(
    "chr",
    row=Row(
        (integer,),
        TEXT,
        # Between lie the surrogates, which are no characters.
        f"CASE WHEN {{0}} BETWEEN 0 AND 55295 OR {{0}} BETWEEN 57344 AND {LAST_CODE} "
        "THEN chr(CAST({0} AS INTEGER)) END",
        "chr(age)",
        SECTION,
        length=lambda arg: 1,
        null_when="the argument is the code of no character",
    ),
)


@texts("trim", example="trim(region)")
def trim(call: Call) -> Expr:
    return _trimmed(call, "trim")


@texts("ltrim", example="ltrim(region)")
def ltrim(call: Call) -> Expr:
    return _trimmed(call, "ltrim")


@texts("rtrim", example="rtrim(region, '.')")
def rtrim(call: Call) -> Expr:
    return _trimmed(call, "rtrim")


@texts("substring", "substr", example="substring(region, 1, 2)")
def substring(call: Call) -> Expr:
    """From a place, counted from 1 (from the end where negative), a number of characters (backwards where negative)."""
    call.need_count(2, 3)
    whole = call.need_kind(0, Kind.TEXT)
    start, size = _place(call, 1), _place(call, 2) if len(call.args) == 3 else literal(LONGEST_TEXT)
    nullable = any(arg.nullable for arg in (whole, start, size))
    length = min(whole.length, int(magnitude(*ends_of(size))))
    return Expr(SUBSTRING, TEXT, (whole, start, size), nullable=nullable, length=length)


@texts("||", example="region || '!'")
def join(call: Call) -> Expr:
    call.need_count(2)
    left, right = call.need_kind(0, Kind.TEXT), call.need_kind(1, Kind.TEXT)
    result = Expr(JOIN, TEXT, (left, right), nullable=left.nullable or right.nullable)
    return finish_text(call, result, left.length + right.length)


@texts("concat", example="concat(region, ', ', region)")
def concat(call: Call) -> Expr:
    """NULLs are skipped."""
    call.need_count(1, 100)
    args = tuple(call.need_kind(index, Kind.TEXT) for index in range(len(call.args)))
    return finish_text(call, Expr(CONCAT, TEXT, args, nullable=False), sum(arg.length for arg in args))


@texts("concat_ws", example="concat_ws(', ', region, region)")
def concat_ws(call: Call) -> Expr:
    """NULLs are skipped, with their separators."""
    call.need_count(2, 100)
    separator = literal(call.need_constant_text(0))
    parts = tuple(call.need_kind(index, Kind.TEXT) for index in range(1, len(call.args)))
    length = sum(arg.length for arg in parts) + separator.length * len(parts)
    return finish_text(call, Expr(CONCAT_WS, TEXT, (separator, *parts), nullable=False), length)


def _trimmed(call: Call, side: str) -> Expr:
    """Of spaces, or of the characters of a constant."""
    call.need_count(1, 2)
    arg = call.need_kind(0, Kind.TEXT)
    if len(call.args) == 1:
        return Expr(TRIM[side], TEXT, (arg,), nullable=arg.nullable, length=arg.length)
    characters = literal(call.need_constant_text(1, 100))
    return Expr(TRIM_OF[side], TEXT, (arg, characters), nullable=arg.nullable, length=arg.length)


def _place(call: Call, index: int) -> Expr:
    arg = call.need_kind(index, Kind.INTEGER)
    if magnitude(*ends_of(arg)) > FARTHEST:
        raise call.refuse(
            "F-149",
            f"{call.name} raises on places beyond {FARTHEST:,}, which the values allowed here can be.",
            hint="Write a constant, or ask the owner to declare bounds.",
            arg=index,
        )
    return arg
