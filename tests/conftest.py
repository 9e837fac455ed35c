"""Puts `tests/` on the import path, for `from support... import ...`; gives long tests the time they need."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

LONG_TIMEOUT_S = 3600
"""For tests that only run when asked for; the others have the limit of pyproject.toml."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("long") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONG_TIMEOUT_S))
