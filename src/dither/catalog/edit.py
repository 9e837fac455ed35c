"""Change a few keys of one section of a catalog's text, and nothing else.

Flow: `dither choose` writes a budget. Lines of the text are replaced or added; then old and new text are both read, and
what differs must be exactly what was to change, else nothing is written. So a section written in a way that is not
foreseen here (an inline table, dotted keys) is refused, never mangled.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from dither.catalog.load import TODO, parse, read_file
from dither.errors import CatalogError
from dither.exact import decimal_text

__all__ = ["toml_number", "with_keys", "write_text"]

WHY = "# why: "
BEFORE = "# before: "
_HEADER = re.compile(r"\s*\[")


def with_keys(written: str, section: str, entries: Mapping[str, str | None], why: Sequence[str], file: str) -> str:
    """The text with these keys of [section] set. entries: key -> its value as TOML writes it; None takes the key out.
    why: sentences that stand above them as comments, in place of those of an earlier change.
    Raises CatalogError where the text cannot be changed without touching more."""
    # Only at line feeds: what else ends a line for Python may stand inside a TOML text.
    lines = written.split("\n")
    ending = "\r" if "\r\n" in written else ""
    start = next((i for i, line in enumerate(lines) if _is_header(line, section)), None)
    comments = [f"{WHY}{sentence}{ending}" for sentence in why]
    set_lines = {key: f"{key} = {value}{ending}" for key, value in entries.items() if value is not None}
    if start is None:
        above = lines[:-1] if lines[-1] == "" else [*lines[:-1], f"{lines[-1]}{ending}"]
        changed = [*above, ending, f"[{section}]{ending}", *comments, *set_lines.values(), ""]
    else:
        end = next((i for i in range(start + 1, len(lines)) if _HEADER.match(lines[i])), len(lines))
        inside = _section(lines[start + 1 : end], entries, set_lines, ending)
        changed = [*lines[: start + 1], *comments, *inside, *lines[end:]]
    text = "\n".join(changed)
    _check(written, text, section, entries, file)
    return text


def _section(
    lines: Sequence[str], entries: Mapping[str, str | None], set_lines: Mapping[str, str], ending: str
) -> list[str]:
    """The section's lines with the keys set; those not there yet come behind the others, or first."""
    left, kept, last = dict(set_lines), [], 0
    for line in lines:
        key = re.match(r"\s*[\"']?(\w+)[\"']?\s*=", line)
        if key is None or key[1] not in entries:
            if not line.startswith(WHY):
                kept.append(line)
            continue
        if "#" in line and TODO not in line:
            # What somebody wrote beside the old value is about the old value.
            kept.append(f"{BEFORE}{line.strip()}{ending}")
        if key[1] in left:
            kept.append(left.pop(key[1]))
            last = len(kept)
    return [*kept[:last], *left.values(), *kept[last:]]


def toml_number(value: Fraction) -> str:
    """As TOML reads it back exactly; powers of ten below one as 1e-9."""
    digits = str(value.denominator)
    if value.numerator == 1 and len(digits) > 4 and digits == "1" + "0" * (len(digits) - 1):
        return f"1e-{len(digits) - 1}"
    return decimal_text(value, 40)


def write_text(path: Path, before: str, text: str) -> None:
    """Replace the file's text in one step, if it is still `before`; its mode and place stay."""
    place = path.resolve()
    if read_file(path) != before:
        raise CatalogError("the file was changed meanwhile; nothing was written.", file=str(path), code="C-180")
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, place.stat().st_mode & 0o7777)
        os.replace(name, place)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        reason = error.strerror or "no permission"
        raise CatalogError(f"the file cannot be written: {reason}.", file=str(path), code="C-181") from None


def _is_header(line: str, section: str) -> bool:
    return re.fullmatch(rf"\s*\[\s*[\"']?{re.escape(section)}[\"']?\s*\]\s*(#.*)?", line) is not None


def _check(before: str, after: str, section: str, entries: Mapping[str, str | None], file: str) -> None:
    """What the two texts say must differ in these keys alone."""
    old = parse(before, file)
    hint = f"Write it yourself: [{section}], " + ", ".join(f"{k} = {v}" for k, v in entries.items() if v is not None)
    refusal = CatalogError(
        f"[{section}] is written in a way that cannot be changed without touching more.",
        file=file,
        key=section,
        code="C-182",
        hint=hint,
    )
    try:
        new = parse(after, file)
    except CatalogError:
        raise refusal from None
    told = new.pop(section, {})
    kept = old.pop(section, {})
    if not isinstance(told, dict) or not isinstance(kept, dict):
        raise refusal
    wanted = {key: value for key, value in kept.items() if key not in entries}
    stated = "\n".join(f"{key} = {value}" for key, value in entries.items() if value is not None)
    if new != old or told != wanted | parse(stated, file):
        raise refusal
