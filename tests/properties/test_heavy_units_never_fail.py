"""No call within one unit fails on the rows of a unit that has far too many of them, at the ends of a column.

Results are cut to the range of tau rows, but computed of all rows of the unit: a sum that leaves its type on the way, a
square that is not finite, would fail after the charge, and tell that the unit is there.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dither.errors import QueryRefused
from dither.secret import open_secret
from support.worlds import World, catalog_text

ROWS = 20_000
# Type of the column, its declaration, and a value at its ends.
COLUMNS = {
    "narrow": ("BIGINT", "integer", "bounds = [-1000000000000000, 1000000000000000]", "1000000000000000"),
    "wide": ("BIGINT", "integer", "bounds = [-4611686018427387904, 4611686018427387904]", "4611686018427387904"),
    "undeclared": ("BIGINT", "integer", "", "9223372036854775807"),
    "unsigned": ("UBIGINT", "integer", "bounds = [0, 9223372036854775807]", "18446744073709551615"),
    "huge": ("HUGEINT", "integer", "", "170141183460469231731687303715884105727"),
    "double": ("DOUBLE", "double", "bounds = [-1e150, 1e150]", "1e150"),
    "any double": ("DOUBLE", "double", "", "1.7e308"),
    "decimal": ("DECIMAL(38, 5)", "decimal", "bounds = [-99999999999, 99999999999]", "1e20"),
}
EXPRESSIONS = ("k", "k * k", "k * f", "-k", "k + k", "CAST(k AS DOUBLE)", "k / 3", "ABS(k)")
AGGREGATES = (
    "COUNT(*)", "COUNT({0})", "COUNT(DISTINCT {0})", "SUM({0})", "SUM(DISTINCT {0})", "AVG({0})", "MIN({0})",
    "MAX({0})", "VAR_POP({0})", "VAR_SAMP({0})", "STDDEV_SAMP({0})", "MEDIAN({0})", "QUANTILE_CONT({0}, 0.3)",
    "ANY_VALUE({0})", "ARG_MAX({0}, f)", "FIRST({0} ORDER BY f)", "COUNT_IF({0} > 3)",
)  # fmt: skip
OVER = "OVER (PARTITION BY uid ORDER BY f)"
WINDOWS = (
    *(f"{name}({{0}}) OVER (PARTITION BY uid)" for name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "MEDIAN")),
    f"SUM({{0}}) {OVER}", f"AVG({{0}}) {OVER}", f"LAG({{0}}) {OVER}", f"FIRST_VALUE({{0}}) {OVER}",
    f"NTH_VALUE({{0}}, 2) {OVER}", f"ROW_NUMBER() {OVER}", "RANK() OVER (PARTITION BY uid ORDER BY {0})",
    "SUM({0}) OVER (PARTITION BY uid ORDER BY f ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)",
)  # fmt: skip


@pytest.fixture(scope="module")
def worlds() -> Iterator[dict[str, World]]:
    found = {}
    for name, (stored, declared, bounds, most) in COLUMNS.items():
        k = f'k = {{ type = "{declared}"{", " if bounds else ""}{bounds} }}'
        text = f'[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n[tables.t.columns]\n{k}\n'
        f = 'f = { type = "integer", bounds = [0, 3] }'
        world = World(catalog_text(text + f, delta="1e-5"), {"t": f"uid BIGINT, k {stored}, f INTEGER"})
        world.fill("t", f"SELECT 1, CAST('{most}' AS {stored}), 3 FROM range({ROWS})")
        if stored != "UBIGINT":
            world.fill("t", f"SELECT 1, CAST('-{most}' AS {stored}), range % 4 FROM range(9)")
        world.fill("t", "SELECT 2 + range, NULL, NULL FROM range(5)")
        found[name] = world
    yield found
    for world in found.values():
        world.close()


def measured(world: World, expression: str) -> int:
    """Questions that are accepted; each must be answered by the engine."""
    forms = [(call, "(SELECT uid, {} AS s FROM t GROUP BY uid)") for call in AGGREGATES]
    forms += [(call, "(SELECT f, {} AS s FROM t)") for call in WINDOWS]
    count = 0
    for call, source in forms:
        question = f"SELECT COUNT(*) FROM {source.format(call.format(expression))} AS q WHERE s > 3"
        try:
            plan = world.session.plan(question)
        except QueryRefused:
            continue
        open_secret(world.engine.measure(plan.measures))
        count += 1
    return count


@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_accepted_of_a_column_at_its_ends_is_measured(worlds: dict[str, World], column: str) -> None:
    assert measured(worlds[column], "k") > 15


@pytest.mark.long
@pytest.mark.parametrize("expression", EXPRESSIONS)
@pytest.mark.parametrize("column", COLUMNS)
def test_what_is_accepted_of_an_expression_at_its_ends_is_measured(
    worlds: dict[str, World], column: str, expression: str
) -> None:
    assert measured(worlds[column], expression) > 2
