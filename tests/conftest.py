"""Puts `tests/` on the import path, so that every test may `from support... import ...`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
