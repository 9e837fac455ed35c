"""The folder for copies and for what does not fit into memory is nobody else's."""

from __future__ import annotations

import os
import stat
import tempfile
from pathlib import Path

import pytest

from dither.engines.private_folder import private_folder
from dither.errors import EngineUnavailable


def test_a_private_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = private_folder()
    assert stat.S_IMODE(os.stat(made).st_mode) == 0o700
    made.chmod(0o755)
    with pytest.raises(EngineUnavailable, match="can be read by others"):
        private_folder()
