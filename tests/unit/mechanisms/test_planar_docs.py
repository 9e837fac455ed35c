"""The examples of the library's docstring and of the page about places run; its shell lines too."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from dither.mechanisms import planar

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "perturb-places.md"


def test_the_ten_lines_of_the_docstring_run():
    outcome = doctest.testmod(planar)
    assert outcome.failed == 0 and 5 <= outcome.attempted <= 10


def test_the_python_of_the_page_runs():
    outcome = doctest.testfile(str(PAGE), module_relative=False)
    assert outcome.failed == 0 and outcome.attempted >= 10


@pytest.fixture
def places(tmp_path):
    with duckdb.connect() as connection:
        rows = "SELECT 52.37 + i / 1e4 AS lat, 4.9 - i / 1e4 AS lon, i % 7 AS phone FROM range(50) r(i)"
        connection.execute(f"COPY ({rows}) TO '{tmp_path / 'points.parquet'}'")
    return tmp_path


def test_the_shell_of_the_page_runs(places):
    script = "\n".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), flags=re.M | re.S))
    assert script.count("dither perturb") == 3
    runner = f'dither() {{ "{sys.executable}" -m dither "$@"; }}\nset -e\n'
    done = subprocess.run(
        ["sh", "-c", runner + script], cwd=places, capture_output=True, text=True, timeout=120, check=True
    )
    assert "metric privacy" in done.stdout and (places / "trips.parquet").exists()
