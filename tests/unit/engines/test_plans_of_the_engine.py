"""How DuckDB goes about what is asked of it: a slower plan gives the same answer, so only its plan can tell."""

from __future__ import annotations

import pytest

from support.exactly import exact_answer
from support.worlds import World, catalog_text

TABLES = (
    '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 2\n'
    'columns = { x = { type = "double", bounds = [0, 100] }, i = { type = "integer", bounds = [0, 90000] } }'
)


@pytest.mark.parametrize("rows", ["0", "CASE i % 100 WHEN 0 THEN 'nan'::DOUBLE WHEN 1 THEN 1e300 END"])
@pytest.mark.parametrize("column", ["x", "i"])
def test_a_histogram_is_counted_in_a_plain_array(rows: str, column: str) -> None:
    world = World(catalog_text(TABLES), {"t": "uid BIGINT, x DOUBLE, i INTEGER"})
    world.fill("t", f"SELECT i // 3, coalesce({rows}, i / 1000.0), i - 5 FROM range(100000) AS r(i)")
    texts: list[str] = []
    made = world.engine._texts

    def watched(measures: object) -> list[str]:
        texts.extend(made(measures))  # type: ignore[arg-type]
        return texts

    world.engine._texts = watched  # type: ignore[method-assign]
    exact_answer(world.session, f"SELECT MEDIAN({column}) FROM t")
    plan = world.run(f"EXPLAIN {texts[-1]}")[0][1].lower()
    assert "perfect hash group by" in plan.replace("_", " ")
    # The cell is computed once, not once more in a filter below.
    assert plan.count("abs(") <= 2 * (column == "x")
    world.close()
