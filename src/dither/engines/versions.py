"""Whether files are still those that were opened, by what the file system says of them.

Flow: a source's version is kept with what was stored of it, and compared before and after a question is read.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

__all__ = ["identity_of", "version_of"]


def identity_of(path: Path) -> tuple[int, ...]:
    """Differs where the file is another one, was written to, or is gone."""
    try:
        stat = os.stat(path)
    except OSError:
        return ()
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def version_of(paths: Sequence[Path]) -> str:
    """Changes whenever one of the files may have."""
    facts: list[tuple[str, tuple[int, ...] | None]] = []
    for path in paths:
        try:
            stat = os.stat(path)
        except FileNotFoundError:
            facts.append((str(path), None))
            continue
        # The time of the last change of status, too: what has the size and the date of the old file is another file.
        facts.append((str(path), (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)))
    return repr(facts)
