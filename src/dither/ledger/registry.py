"""Notes of which ledgers protect a source, so that a second one is noticed: each would spend as if it were alone.

Flow: `session.same_source` leaves a note when a session opens and reads what other sessions left. No rows are read, and
a note names places, ledgers and data sets only. Nothing rests on a note: where none can be written or read, the rest
works as before.  Choice: docs/decisions/0014-a-note-beside-the-source.md

A note is a file `.dither-ledgers.json` in the folder of the source; where that cannot be written, or the source is on a
server, it lies in the user's state folder, named by a digest of the place. Relies on the file system alone.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import json
import os
import stat
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from dither.catalog.locations import without_password

__all__ = ["NOTE", "OtherLedger", "other_ledgers", "remember"]

NOTE = ".dither-ledgers.json"
_FORMAT = "dither ledgers 1"
_LARGEST_BYTES = 1 << 20
_WHOLE = "."


@dataclass(frozen=True)
class _Known:
    """One line of a note."""

    source: str
    """A file's name in the folder; `.` for the whole folder, or for a source on a server."""
    ledger: str
    """Where the ledger was: an absolute path, or a URL without a password."""
    id: str
    dataset: str


@dataclass(frozen=True)
class OtherLedger:
    """Another ledger that protects, or once protected, the same source."""

    location: str
    dataset: str
    kind: Literal["other", "copy", "gone"]
    """copy: of this very ledger, and still there. gone: no file is there any more, but what it spent was spent."""
    id: str

    @property
    def sentence(self) -> str:
        match self.kind:
            case "copy":
                return f"a copy of this ledger is at {self.location}: neither knows what is spent from the other"
            case "gone":
                return (
                    f"the source was protected by another ledger, of data set {self.dataset!r} at {self.location}, "
                    "which is no longer there: what it spent counts beside this budget"
                )
            case _:
                return (
                    f"the source is protected by another ledger too, of data set {self.dataset!r} at {self.location}: "
                    "budgets add, so one person gives away up to what both promise together"
                )

    @property
    def way_forward(self) -> str:
        match self.kind:
            case "copy":
                return "Keep one of them; if questions were asked of both, `dither budget restored` charges the worst."
            case "gone":
                return "Put it back and merge it, or book what it answered: `dither budget import`."
            case _:
                return "`dither budget merge` books what it spent on this one and closes it."


def other_ledgers(source: str, *, ledger: str, identity: str | None) -> tuple[OtherLedger, ...]:
    """What notes say of other ledgers of this source.  ledger, identity: ours; None while it does not exist yet."""
    ours = _ledger_place(ledger)
    found: dict[tuple[str, str], OtherLedger] = {}
    for known in _known(source):
        here = _still_there(known.ledger)
        if known.id == identity and (known.ledger == ours or here is not True):
            continue
        # The file at our own place is ours, whatever was there before it.
        gone = here is False or known.ledger == ours
        kind: Literal["other", "copy", "gone"] = "copy" if known.id == identity else "gone" if gone else "other"
        found[known.ledger, known.id] = OtherLedger(_shown(known.ledger), _shown(known.dataset), kind, known.id)
    return tuple(found[key] for key in sorted(found))


def remember(source: str, *, ledger: str, identity: str, dataset: str) -> bool:
    """Leave a note that this ledger protects this source; False when none could be left. Never raises."""
    place = _place(source)
    if place is None or not ledger:
        return False
    ours = _Known(place.part, _ledger_place(ledger), identity, dataset)
    for note in place.notes:
        known = _read(note)
        if known is None:
            continue
        # A ledger that moved is at its new place now; a copy still at the old one is another line.
        kept = [one for one in known if not _replaces(ours, one)]
        if ours in kept or _write(note, [*kept, ours]):
            return True
    return False


def _replaces(ours: _Known, one: _Known) -> bool:
    moved = one.id == ours.id and one.source == ours.source and one.ledger != ours.ledger
    return moved and _still_there(one.ledger) is False


@dataclass(frozen=True)
class _Place:
    part: str
    notes: tuple[Path, ...]
    """Where a note may be, the best place first."""


def _place(source: str) -> _Place | None:
    """Where notes of a source are; None for one in memory, or a path that means nothing here."""
    if not source:
        return None
    if "://" in source:
        return _Place(_WHOLE, _state_notes(_server(source)))
    try:
        path = Path(source)
        if glob.has_magic(source) and not path.exists():
            first = next(number for number, part in enumerate(path.parts) if glob.has_magic(part))
            path = Path(*path.parts[:first])
        path = path.resolve()
        folder, part = (path, _WHOLE) if path.is_dir() else (path.parent, path.name)
    except (OSError, ValueError, RuntimeError):
        return None
    return _Place(part, (folder / NOTE, *_state_notes(str(folder))))


def _server(url: str) -> str:
    """A database's own name: who connects, and with which options, does not matter."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port in (None, 5432) else f":{parts.port}"
        scheme = "postgresql" if parts.scheme == "postgres" else parts.scheme
        return f"{scheme}://{parts.hostname or ''}{port}{parts.path}"
    except ValueError:
        return without_password(url)


def _state_notes(place: str) -> tuple[Path, ...]:
    """At most one path: none where the user has no home."""
    given = os.environ.get("XDG_STATE_HOME") or os.environ.get("LOCALAPPDATA")
    try:
        base = Path(given) if given else Path.home() / ".local" / "state"
    except RuntimeError:
        return ()
    name = hashlib.sha256(place.encode()).hexdigest()[:32]
    return (base / "dither" / "sources" / f"{name}.json",)


def _known(source: str) -> list[_Known]:
    """Every line about a source that shares rows with this one: the same file, or the folder it is in."""
    place = _place(source)
    if place is None:
        return []
    lines = [one for note in place.notes for one in _read(note) or []]
    return [one for one in lines if place.part in (one.source, _WHOLE) or one.source == _WHOLE]


def _read(note: Path) -> list[_Known] | None:
    """The lines of a note; [] where there is none; None where something else is, which is left alone."""
    try:
        # Whoever may write beside the source may put anything there: a link is not followed, a pipe not waited for.
        descriptor = os.open(note, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return []
    except (OSError, ValueError):
        return None
    try:
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(file.fileno())
            if not stat.S_ISREG(facts.st_mode) or facts.st_size > _LARGEST_BYTES:
                return None
            stored = json.loads(file.read(_LARGEST_BYTES))
        if stored["format"] != _FORMAT:
            return None
        return [_Known(**{key: str(line[key]) for key in _Known.__annotations__}) for line in stored["ledgers"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _write(note: Path, lines: list[_Known]) -> bool:
    """Put a whole new note in the old one's place. Two at once: one line is lost, and written at the next opening."""
    text = json.dumps({"format": _FORMAT, "ledgers": [asdict(line) for line in lines]}, indent=1) + "\n"
    temporary = None
    try:
        if note.name != NOTE:
            note.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=note.parent, prefix=f"{note.name}.", suffix=".new")
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # Others who use this source from their own account are whom the note is for.
        os.chmod(temporary, 0o644)
        os.replace(temporary, note)
    except (OSError, ValueError):
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        return False
    return True


def _shown(text: str) -> str:
    """Anybody may have written a note: it must not steer the terminal that shows it."""
    return "".join(character if character.isprintable() else "?" for character in text[:500])


def _ledger_place(ledger: str) -> str:
    if not ledger or "://" in ledger:
        return without_password(ledger)
    try:
        return str(Path(ledger).resolve())
    except (OSError, ValueError, RuntimeError):
        return ledger


def _still_there(location: str) -> bool | None:
    """Whether a ledger's file is there; None where that cannot be told (a server, a folder closed to us)."""
    if "://" in location:
        return None
    try:
        os.stat(location)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return None
    return True
