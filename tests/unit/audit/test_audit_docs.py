"""The examples of the pages about audits run as printed."""

import doctest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"
PAGES = ["how-to/audit-your-own-mechanism.md", "how-to/audit-your-own-catalog.md", "explanation/verification.md"]


@pytest.mark.parametrize("name", PAGES)
def test_every_example_on_the_page_runs(name):
    result = doctest.testfile(str(DOCS / name), module_relative=False, encoding="utf-8")
    assert result.attempted > 0
    assert result.failed == 0
