"""The page that explains the notions: its examples run."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "notions.md"


def test_every_example_of_the_page_runs():
    outcome = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL
    )
    assert outcome.failed == 0 and outcome.attempted >= 20
