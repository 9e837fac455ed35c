"""What one question makes the session do beside reading: pinned by count, for times depend on the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import dither
from dither.ledger.storage.store import FileStore, Store
from dither.sql import embedded

FRAME = pd.DataFrame(
    {"u": range(60), "g": [i % 3 for i in range(60)], "x": [i % 7 for i in range(60)], "t": list("ab") * 30}
)
LISTED = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM data GROUP BY g"


@pytest.fixture
def db(tmp_path: Path) -> Iterator[dither.Session]:
    found = dither.open(
        FRAME,
        privacy_unit="u",
        budget=100,
        delta="1e-6",
        max_rows_per_unit=1,
        bounds={"g": (0, 2), "x": (0, 6)},
        ledger=tmp_path / "one.ledger",
    )
    yield found
    found.close()


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the ledger and the embedded database were used."""
    counts: Counter[str] = Counter()

    def counted(owner: Any, name: str) -> None:
        whole: Callable[..., Any] = getattr(owner, name)

        def call(*args: Any, **named: Any) -> Any:
            counts[name] += 1
            return whole(*args, **named)

        monkeypatch.setattr(owner, name, call)

    assert FileStore.reading is Store.reading and FileStore.writing is Store.writing
    for name in ("reading", "writing"):
        counted(Store, name)
    counted(embedded, "run")
    embedded._kept.cache_clear()
    return counts


def test_a_question_looks_at_the_ledger_twice_and_writes_to_it_twice(db: dither.Session, done: Counter[str]) -> None:
    db.ask(LISTED, epsilon=1)
    # Read: the release, what is known of both vectors. Written: the charge, the answer.
    assert (done["reading"], done["writing"]) == (2, 2)


def test_private_groups_take_the_budget_s_delta_too(db: dither.Session, done: Counter[str]) -> None:
    db.ask("SELECT t, COUNT(*) AS n FROM data GROUP BY t", epsilon=1)
    # Whether there is a delta for private groups at all, and how much of it this question may use.
    assert (done["reading"], done["writing"]) == (4, 2)


def test_a_question_is_parsed_and_printed_once(db: dither.Session, done: Counter[str]) -> None:
    db.ask(LISTED, epsilon=1)
    # The list of the groups; the finish only shows columns.
    assert done["run"] == 1
    first = embedded._kept.cache_info().misses
    db.explain(LISTED, epsilon=2)
    db.ask(LISTED, epsilon=2)
    assert (done["run"], embedded._kept.cache_info().misses) == (1, first)


HEAVY = (
    "pandas", "polars", "pyarrow", "scipy", "sympy", "rich", "psycopg", "numpy.random",
    "dither.audit", "dither.lab", "dither.cli",
)  # fmt: skip


def test_a_question_of_a_file_loads_nothing_that_others_need(tmp_path: Path) -> None:
    file = tmp_path / "visits.parquet"
    duckdb.execute(f"COPY (SELECT i AS u, i % 3 AS g FROM range(30) AS t(i)) TO '{file}' (FORMAT parquet)")
    program = (
        f"import dither; db = dither.open({str(file)!r}, privacy_unit='u', budget=1, max_rows_per_unit=1, "
        f"bounds={{'g': (0, 2)}}, ledger={str(tmp_path / 'l.ledger')!r}); "
        "db.ask('SELECT g, COUNT(*) FROM visits GROUP BY g', epsilon=0.5); "
        "import json, sys; sys.stderr.write(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert not set(json.loads(done.stderr)) & set(HEAVY)
