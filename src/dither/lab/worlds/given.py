"""Text files that a user hands to the lab: read line by line, refused with the line's number and never with its text.

Flow: `adult` and `movielens` read their formats through this; `dither lab A9 --data FILE`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dither.errors import InvalidParameter

__all__ = ["lines_of", "wrong"]


def lines_of(path: Path, expected: str) -> Iterator[tuple[int, str]]:
    """(number, text) of each line that is not empty. Raises InvalidParameter when the file is not there or no text."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line.rstrip("\r\n")
    except OSError as error:
        raise wrong(path, expected, f": {error.strerror}") from None
    except UnicodeDecodeError:
        raise wrong(path, expected, ", which is no text in UTF-8") from None


def wrong(path: Path, expected: str, found: str = "", *, line: int | None = None) -> InvalidParameter:
    """The error for a file that is not what it should be. found: said after its name."""
    # What is found is cut short where it is long, so the line comes first and the folders go.
    place = f"line {line} of {path.name}, in another form" if line is not None else f"{path.name or path}{found}"
    return InvalidParameter("--data", expected=expected, found=place, hint=_HINT)


_HINT = "Formats, and where the files come from: docs/explanation/attacks.md, `On data you have`."
