"""Read dither.toml into a Catalog, or say in one sentence, with the line, what is wrong with it.

Flow: text to plain values (tomllib, numbers exact) to a Catalog (sections); whatever is Unfit there becomes a
CatalogError here, with file and line. Reads no data and opens no database.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from dither.catalog.locations import resolve_ledger, resolve_source
from dither.catalog.model import Catalog
from dither.catalog.places import line_of
from dither.catalog.reading import Key, NotANumber, Unfit
from dither.catalog.sections import read_catalog
from dither.errors import CatalogError, InvalidParameter
from dither.exact import exact

__all__ = ["TODO", "load", "loads", "parse", "read_file", "resolve_ledger", "resolve_source"]

TODO = "TODO"
"""What `dither init` writes where only the owner can decide."""

_DEEPEST = 5
"""Parts of the longest key a catalog has; a dotted key in a broken file may have thousands."""

_TOML_HINTS = (
    ("overwrite", "The same key is written twice, or a line is missing its own section above it."),
    ("twice", "The same section is written twice: put its keys together."),
    ("invalid value", "Texts stand in quotes; numbers, dates, true and false do not."),
    ("after a statement", "One key per line; several keys in one line stand in { }, with commas between."),
    ("after a key", "A key with other than letters, digits, - and _ stands in quotes; then = and the value."),
)


def load(path: str | Path) -> Catalog:
    """The catalog in the file at `path`. Raises CatalogError; its `file`, `line` and `key` say where."""
    file = Path(path)
    written = read_file(file).removeprefix("\ufeff")
    return replace(loads(written, file=str(path)), path=file)


def loads(written: str, file: str = "dither.toml") -> Catalog:
    """The catalog that a text declares; `file` is its name in errors and gives the default ledger its stem.
    Raises CatalogError. Relative paths in the result are relative to the working directory: it has no `path`."""
    values = parse(written, file)
    _refuse_unfinished(written, file, values)
    try:
        return read_catalog(values, Path(file).stem)
    except Unfit as unfit:
        message = f"expected {unfit.expected}; found {unfit.found}."
        key, line = _dotted(unfit.key), line_of(written, unfit.key) or 1
        raise CatalogError(message, file=file, line=line, key=key, code=unfit.code, hint=unfit.hint) from None


def read_file(file: Path) -> str:
    """The text of a catalog file as it stands, line ends and all. Raises CatalogError."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        hint = "Draft one with `dither init SOURCE`, or give the path of the one you have."
        raise CatalogError("there is no such file.", file=str(file), code="C-102", hint=hint) from None
    except IsADirectoryError:
        hint = f"Name the file itself, such as {file / 'dither.toml'}."
        raise CatalogError(
            "this is a folder; expected a catalog file.", file=str(file), code="C-102", hint=hint
        ) from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        hint = "Save the file as UTF-8."
        raise CatalogError(
            "expected text in UTF-8; found other bytes.", file=str(file), line=line, code="C-101", hint=hint
        ) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a usable path"
        raise CatalogError(f"the file cannot be read: {reason}.", file=str(file), code="C-102") from None


def parse(written: str, file: str) -> dict[str, object]:
    """The plain values of a text, finished or not; numbers exact. Raises CatalogError where it is not TOML."""
    try:
        return tomllib.loads(written, parse_float=_exact_number)
    except tomllib.TOMLDecodeError as error:
        message, line, column = _broken(str(error), written)
    except RecursionError:
        message, line, column = "brackets are nested too deep", None, None
    except ValueError:
        # Python refuses to read integers beyond 4300 digits.
        message, line, column = "a number has too many digits", None, None
    hint = next((hint for words, hint in _TOML_HINTS if words in message), None)
    where = f" at column {column}" if column else ""
    raise CatalogError(
        f"expected valid TOML; found a mistake{where}: {message}.", file=file, line=line, code="C-101", hint=hint
    ) from None


def _exact_number(written: str) -> Fraction | NotANumber:
    """A TOML float as the rational it spells; inf, nan and absurd exponents are kept for the reader to refuse."""
    try:
        return exact(written.replace("_", ""))
    except InvalidParameter:
        return NotANumber(written)


def _broken(message: str, written: str) -> tuple[str, int | None, int | None]:
    """tomllib's words, its line and its column."""
    placed = re.fullmatch(r"(.*) \(at (?:line (\d+), column (\d+)|end of document)\)", message, re.DOTALL)
    if placed is None:
        return message, None, None
    words = placed[1].rstrip(".")
    words = words[:1].lower() + words[1:]
    if placed[2] is None:
        return f"{words} at the end of the file", written.rstrip("\n").count("\n") + 1, None
    return words, int(placed[2]), int(placed[3])


def _refuse_unfinished(written: str, file: str, values: Mapping[str, object]) -> None:
    """A draft is no catalog: while it says TODO anywhere, list every place that does."""
    left = list(_unfinished(values, ()))
    if not left:
        return
    lines = [line_of(written, key) or 1 for key in left]
    shown = ", ".join(f"`{_dotted(key)}` (line {line})" for key, line in zip(left[:20], lines, strict=False))
    more = f" and {len(left) - 20} more" if len(left) > 20 else ""
    raise CatalogError(
        f"expected a finished catalog; found {len(left)} TODO{'s' if len(left) > 1 else ''} left: {shown}{more}.",
        file=file,
        line=lines[0],
        key=_dotted(left[0]),
        code="C-170",
        hint='Replace each "TODO" by your decision; the comments beside them say what is asked.',
    )


def _unfinished(value: object, key: Key) -> Iterator[Key]:
    if value == TODO:
        yield key
    elif isinstance(value, Mapping) and len(key) < _DEEPEST:
        for name, item in value.items():
            yield from _unfinished(item, (*key, name))


def _dotted(key: Key) -> str:
    """`tables.visits.columns.age.bounds[0]`, parts quoted as TOML would."""
    shown = ""
    for part in key:
        if isinstance(part, int):
            shown += f"[{part}]"
        else:
            bare = re.fullmatch(r"[A-Za-z0-9_-]+", part)
            shown += ("." if shown else "") + (part if bare else f'"{part[:80]}"')
    return shown
