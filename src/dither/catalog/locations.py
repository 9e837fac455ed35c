"""Where the data and the ledger live: paths beside the catalog, or URLs without passwords.

Flow: load checks the written text with `check_location`; sessions ask `resolve_source` and `resolve_ledger`. A catalog
is copied, mailed and put under version control, so a password in it is refused, and never repeated in the message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import parse_qsl

from dither.catalog.model import Catalog
from dither.catalog.reading import Unfit

__all__ = [
    "LEDGER_SCHEMES",
    "SOURCE_SCHEMES",
    "check_location",
    "resolve_ledger",
    "resolve_place",
    "resolve_source",
    "without_password",
]

SOURCE_SCHEMES = ("postgresql", "postgres", "spark", "sc")
LEDGER_SCHEMES = ("postgresql", "postgres")

_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://(.*)$", re.DOTALL)
_SECRET_OPTIONS = {"password", "pwd", "sslpassword", "token", "secret"}


def check_location(location: str, schemes: Sequence[str]) -> str:
    """`location` when it is a path or a URL of one of the schemes, holding no password; else Unfit."""
    if without_password(location) != location:
        remedy = (
            "Remove it and give it in the environment (PGPASSWORD for PostgreSQL, or ~/.pgpass); "
            "change it too, if this file was ever shared."
        )
        raise Unfit("a URL without a password", found="one with a password in it", code="C-160", hint=remedy)
    url = _URL.match(location)
    if url and url[1].lower() not in schemes:
        expected = f"a path, or a URL that starts with {', '.join(f'{scheme}://' for scheme in schemes)}"
        hint = "Write a file as its path, without file:// or sqlite://." if url[1] in ("file", "sqlite") else None
        raise Unfit(expected, location, hint=hint)
    if any(ord(character) < 32 for character in location):
        raise Unfit("a path or URL without control characters", location)
    return location


def without_password(location: str) -> str:
    """`location` with any password, in a URL's authority or options, left out."""
    url = _URL.match(location)
    if url is None:
        return location
    scheme, rest = url.groups()
    cut = _authority_end(rest)
    user, at_sign, host = rest[:cut].rpartition("@")
    name, colon, password = user.partition(":")
    authority = f"{name}@{host}" if colon and password else f"{user}{at_sign}{host}"
    return f"{scheme}://{authority}{_without_secret_options(rest[cut:])}"


def resolve_source(catalog: Catalog) -> str:
    """The source as an engine opens it: relative paths from the catalog's folder; URLs and '' as they are."""
    return _resolve(catalog.source, catalog)


def resolve_ledger(catalog: Catalog) -> str:
    """The ledger's path or URL, relative paths from the catalog's folder; '' means in memory."""
    return _resolve(catalog.ledger, catalog)


def resolve_place(location: str, catalog_path: Path | None) -> str:
    """A path or URL of the catalog at `catalog_path`; relative paths start at its folder."""
    if not location or _URL.match(location):
        return location
    path = Path(location).expanduser()
    return str(path if catalog_path is None else catalog_path.parent / path)


def _resolve(location: str, catalog: Catalog) -> str:
    return resolve_place(location, catalog.path)


def _authority_end(rest: str) -> int:
    """Where user, password, host and port end in what follows `scheme://`."""
    end = re.search(r"[/?#]|$", rest)
    cut = end.start() if end else len(rest)
    # A raw slash in a password ends the authority early; then its colon is followed by more than a port, and the
    # at-sign comes later.
    if "@" in rest[:cut] or rest.startswith("[") or not re.search(r":(?![0-9]*$)", rest[:cut]):
        return cut
    last = rest.rfind("@")
    end = re.search(r"[/?#]|$", rest[last:])
    return cut if last < 0 or end is None else last + end.start()


def _without_secret_options(tail: str) -> str:
    """Path, query and fragment without the options that hold secrets (`?password=`, Spark's `;token=`)."""
    parts = re.split(r"([?&;])", tail)
    kept, lost_mark = str(parts[0]), ""
    for mark, option in zip(parts[1::2], parts[2::2], strict=True):
        named = parse_qsl(option, keep_blank_values=True)
        if named and named[0][0].strip().lower() in _SECRET_OPTIONS:
            lost_mark = lost_mark or mark
        else:
            kept, lost_mark = kept + (lost_mark or mark) + option, ""
    return kept
