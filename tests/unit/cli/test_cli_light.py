"""Starting costs little: what `import dither` and `dither --help` must not load."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys

import pytest

HEAVY = ("numpy", "duckdb", "sqlite3", "rich", "scipy", "pandas", "polars", "pyarrow", "sympy")


def _loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport json, sys\nsys.stderr.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    return set(json.loads(done.stderr))


@pytest.mark.parametrize(
    "code",
    [
        "import dither",
        "from dither.cli import main; main(['--help'])",
        "from dither.cli import main; main(['ask', '--help'])",
        "from dither.cli import main; main(['budget', 'grant', '--help'])",
        "from dither.cli import main; main(['--version'])",
    ],
)
def test_nothing_heavy_is_loaded_before_it_is_needed(code: str) -> None:
    assert not _loaded_after(code) & set(HEAVY)


def test_help_is_shown_at_once() -> None:
    # Byte-compiled it takes 0.13 s. In seconds of the processor, which others do not lengthen; the bound leaves
    # room for a slow one, and still catches an import of NumPy and DuckDB together.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-m", "dither", "--help"]
    fastest = 60.0
    for _ in range(5):
        start = _seconds_of_children()
        subprocess.run(command, capture_output=True, timeout=60, check=True, env=environment)
        fastest = min(fastest, _seconds_of_children() - start)
    assert fastest < 0.6


def _seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
