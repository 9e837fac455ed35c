"""A folder only this user can read, for what an engine spills or copies.

Relies on the system's temporary folder being sticky: others may make a folder of our name first, so it is checked.
"""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

from dither.errors import EngineUnavailable

__all__ = ["private_folder"]


def private_folder() -> Path:
    """The folder, made when it is not there. Raises EngineUnavailable when somebody else owns it or can read it."""
    path = Path(tempfile.gettempdir()) / f"dither-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise EngineUnavailable(
            f"The folder {path} for private copies belongs to somebody else or can be read by others.",
            hint="Remove it, or set TMPDIR to a folder of your own.",
        )
    return path
