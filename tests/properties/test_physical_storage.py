"""How values are stored decides no answer: one table, stored in many ways, gives what the rules make of its values.

A file's types, encodings, row groups and statistics, and a database's types, constraints and views, are no part of
what a question means. Without noise every answer must be the one that `support.logical` computes in plain Python; or
the file is refused when it is opened, before anything is charged. That one person's row makes a charged question fail
is the worst that can happen, a wrong number the next.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dither.catalog.load import loads
from dither.errors import QueryRefused
from dither.session.open import open_catalog
from support.exactly import difference, exact_answer
from support.logical import KINDS, catalog_of, questions
from support.storage import Way, ways
from support.worlds import World, catalog_text

WAYS = list(ways())


def named(way: Way) -> str:
    return f"{way.kind} {way.name}".replace(" ", "-")


def faults(way: Way, folder: Path, *, thorough: bool) -> list[str]:
    kind, stored = KINDS[way.kind], way.store(folder, way.values)
    frame: Any = None if isinstance(stored, Path) else stored
    catalog = loads(catalog_of(kind, source=str(stored) if frame is None else "frame", scale=way.scale))
    found = []
    with open_catalog(catalog, ledger="", frame=frame) as session:
        for question in questions(kind, way.values, thorough=thorough):
            try:
                rows = exact_answer(session, question.sql).rows()
            except QueryRefused as refusal:
                # A decimal of 38 digits is more than a group can be told by, however it is stored.
                if refusal.code != "K-108":
                    found.append(f"{question.sql}\n{refusal}")
                continue
            wrong = difference(rows, question.rows, tolerance=question.tolerance)
            found += [f"{question.sql}\n{wrong}"] if wrong else []
    return found


@pytest.mark.parametrize("way", [way for way in WAYS if way.quick], ids=named)
def test_answers_follow_from_the_values_alone(way: Way, tmp_path: Path) -> None:
    assert faults(way, tmp_path, thorough=False) == []


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS, ids=named)
def test_answers_follow_from_the_values_alone_in_every_way_and_to_every_question(way: Way, tmp_path: Path) -> None:
    assert faults(way, tmp_path, thorough=True) == []


def test_unsigned_numbers_of_128_bits_less_a_centre_fail_on_no_row() -> None:
    """AVG and MEDIAN take the middle of the bounds off each value. In UHUGEINT 5 - 50 raises, and so the one row that
    is below 50 decides whether the charged question fails."""
    section = 'columns = { x = { type = "integer", bounds = [0, 100] } }'
    text = catalog_text(f'[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n{section}')
    world = World(text, {"t": "uid BIGINT, x UHUGEINT"})
    world.load("t", [(uid, 60) for uid in range(40)])
    assert exact_answer(world.session, "SELECT AVG(x) FROM t").rows() == [(60,)]
    world.load("t", [*((uid, 60) for uid in range(40)), (99, 5)])
    # Without `WHERE` the released vector would be used again.
    assert exact_answer(world.session, "SELECT AVG(x) AS m, COUNT(*) AS n FROM t WHERE x < 101").rows() != []
    world.close()


@pytest.mark.parametrize("type", ["UBIGINT", "HUGEINT", "UHUGEINT"])
@pytest.mark.parametrize("sql", ["SELECT SUM(x) FROM t", "SELECT AVG(x), VAR_POP(x) FROM t", "SELECT MEDIAN(x) FROM t"])
def test_numbers_between_64_bits_and_the_bounds_chosen_for_them_are_summed(type: str, sql: str) -> None:
    """Bounds were chosen of 1.54e19; what lies below them and above 2^63 was cast to 64 bits, which raised."""
    section = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\ncolumns = { x = { type = "integer" } }'
    world = World(catalog_text(section), {"t": f"uid BIGINT, x {type}"})
    world.load("t", [(uid, 2**63 + uid) for uid in range(20)])
    (row,) = exact_answer(world.session, sql).rows()
    if "SUM" in sql:
        assert float(row[0]) == pytest.approx(20 * 2**63, rel=1e-3)
    world.close()
