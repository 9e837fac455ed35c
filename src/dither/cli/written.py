"""Files that commands write: looked at before anything is charged, and written so that what fails is one error.

Flow: commands call `check_outputs` before they ask, and `write` afterwards.
An answer is paid for before it is written. So what would keep it from being written has to be known first; and what it
would be written over must be no file the data set rests on: over its ledger, everything spent would be forgotten.
"""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dither.errors import InvalidParameter

if TYPE_CHECKING:
    from dither.catalog.model import Catalog

__all__ = ["check_new", "check_outputs", "files_of", "ledger_files", "write"]


def check_outputs(outputs: Mapping[str, Path | None], *, kept: Iterable[Path] = ()) -> None:
    """Raises InvalidParameter for an option whose file could not be written, is also another option's, or is one of
    `kept`, which need not be there yet: a ledger begins with the first charge."""
    standing = {_real(path) for path in kept}
    taken: dict[str, str] = {}
    for name, place in outputs.items():
        if place is None:
            continue
        if place.is_dir() or not place.absolute().parent.is_dir():
            raise InvalidParameter(name, expected="a file in a folder that exists", found=str(place))
        real = _real(place)
        if real in standing:
            raise InvalidParameter(
                name, expected="a file of its own", found=f"{place}, which is in use",
                hint="Nothing was charged. It is data, a catalog or a ledger: what is written there would replace it.",
            )  # fmt: skip
        if real in taken:
            raise InvalidParameter(f"{taken[real]} and {name}", expected="different files", found=str(place))
        taken[real] = name
        _check_writable(name, place)


def check_new(
    several: Mapping[str, Iterable[Path]], outputs: Mapping[str, Path | None], *, kept: Iterable[Path] = ()
) -> None:
    """Raises InvalidParameter for an option that writes several files, where one of them is another option's or one of
    `kept`. That they could be written at all is for whoever writes them to say."""
    standing = {_real(path): "what is in use" for path in kept}
    standing |= {_real(place): name for name, place in outputs.items() if place is not None}
    for name, places in several.items():
        for place in places:
            if _real(place) in standing:
                found = f"{place}, which is {standing[_real(place)]}"
                raise InvalidParameter(name, expected="files of its own", found=found, hint="Nothing was charged.")


def files_of(catalog: Catalog) -> list[Path]:
    """What a data set rests on: its catalog, its ledger and what is kept beside it, and the files of its source."""
    from dither.catalog.load import resolve_ledger, resolve_source

    found = [] if catalog.path is None else [catalog.path]
    found += ledger_files(resolve_ledger(catalog))
    source = resolve_source(catalog)
    if source and "://" not in source:
        path = Path(source)
        found += [path, *(path.iterdir() if path.is_dir() else map(Path, glob.glob(source)))]
    return found


def ledger_files(ledger: str) -> list[Path]:
    """Of a ledger in a file: the file, those of SQLite and the lock, ledgers of other notions, and what is kept
    under its name with another ending."""
    from dither.ledger.apart_places import found_beside

    place = ledger.removeprefix("sqlite:///")
    if not place or "://" in place or not Path(place).name:
        return []
    own = [Path(f"{place}{ending}") for ending in ("", "-wal", "-shm", ".lock")]
    chosen = [Path(place).with_suffix(ending) for ending in (".kept.duckdb", ".tuned.json")]
    chosen += Path(place).parent.glob(f"{glob.escape(Path(place).stem)}.kept.*.parquet")
    return [*own, *chosen, *map(Path, found_beside(place))]


def write(name: str, place: Path, content: str | bytes) -> None:
    """Write a file. Raises InvalidParameter, naming the option, when it cannot be written after all."""
    try:
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content, encoding="utf-8")
    except OSError as error:
        raise _unwritable(name, place, error) from None


def _check_writable(name: str, place: Path) -> None:
    """By trying, because modes do not tell: a folder may be read-only, or of a kind that holds no files."""
    try:
        if place.is_file():
            with place.open("ab"):
                pass
        elif not place.exists():
            with tempfile.TemporaryFile(dir=place.absolute().parent):
                pass
    except OSError as error:
        raise _unwritable(name, place, error) from None


def _unwritable(name: str, place: Path, error: OSError) -> InvalidParameter:
    reason = error.strerror or "not a usable path"
    return InvalidParameter(name, expected="a file that can be written", found=f"{place}: {reason}")


def _real(place: Path) -> str:
    return os.path.realpath(place)
