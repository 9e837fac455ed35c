"""Units are told apart by their column as it is stored, whatever its type: joins, groups, windows and sets of them are
separable, move no further than priced, and answer as plain DuckDB does. What is computed from the column is guarded, so
that one person's value at the end of its type changes nothing that can be seen.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dither.catalog.load import loads
from dither.engines import relations
from dither.errors import DitherError, QueryRefused
from dither.plan import nodes
from dither.session.open import open_catalog
from support.exactly import assert_same, exact_answer, noise_off, plain_answer
from support.unit_types import RELATIONS, TAU, TYPES, Row, fill, open_world, plain_rows, random_rows, units_of
from support.worlds import World, catalog_text

QUICK = ("UBIGINT", "HUGEINT", "DOUBLE", "DATE", "BLOB")
"""Asked each time; the others in the long sweep."""
MOST = TAU + 1
"""Rows of a unit in each table: some units are cut."""


def only(tables: dict[str, list[Row]], units: set[str]) -> dict[str, list[Row]]:
    return {name: [row for row in rows if row[0] in units] for name, rows in tables.items()}


def measure_of(world: World, sql: str) -> nodes.Measure:
    (measure,) = world.session.plan(f"SELECT COUNT(*), COUNT(u), COUNT(DISTINCT u), SUM(x) FROM ({sql}) AS q").measures
    return measure


def bag(world: World, sql: str, names: list[str]) -> Counter[tuple[str, ...]]:
    """Rows as texts: NaN equals itself, and an infinite date is one. -0.0 and 0.0 are one unit."""
    listed = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in names)
    rows = world.run(f"SELECT {listed} FROM ({sql}) AS rows")
    return Counter(tuple("0.0" if value == "-0.0" else str(value) for value in row) for row in rows)


def faults(type: str, names: list[str], seeds: range) -> list[str]:
    """Which relations are not the union of the relation on each unit's rows, or move further than priced."""
    world, found = open_world(type), []
    for name in names:
        measure = measure_of(world, RELATIONS[name])
        ids = relations.ids_of(measure.input)
        emission, columns = world.engine._emission(), sorted(ids)
        texts = [show(measure.input, emission, ids) for show in (relations.relation_sql, relations.kept_relation_sql)]
        declared = world.declared(measure)
        for seed in seeds:
            tables = random_rows(type, seed, most=MOST)
            fill(world, tables)
            whole = [bag(world, sql, columns) for sql in texts]
            vectors = world.vectors(measure)
            parts: list[Counter[tuple[str, ...]]] = [Counter() for _ in texts]
            units = units_of([row for rows in tables.values() for row in rows])
            for unit in units:
                fill(world, only(tables, unit))
                own = [bag(world, sql, columns) for sql in texts]
                parts = [part + each for part, each in zip(parts, own, strict=True)]
                if sum(own[1].values()) > measure.tau:
                    found.append(f"{name}: {sum(own[1].values())} rows of {unit}")
                others = set[str]().union(*(each for each in units if each != unit))
                fill(world, only(tables, others))
                moved = [_distance(a, b) for a, b in zip(vectors, world.vectors(measure), strict=True)]
                if any(far > most for far, most in zip(moved, declared, strict=True)):
                    found.append(f"{name}: {unit} moves {moved}, priced are {declared}")
            if whole != parts:
                found.append(f"{name}: {whole} are not {parts}")
    world.close()
    return found


def _distance(before: dict[Any, int], after: dict[Any, int]) -> int:
    return sum(abs(before.get(key, 0) - after.get(key, 0)) for key in before.keys() | after.keys())


@pytest.mark.parametrize("type", QUICK)
def test_joins_groups_and_sets_of_units_are_separable_and_move_no_further_than_priced(type: str) -> None:
    place = QUICK.index(type)
    assert faults(type, list(RELATIONS)[place % 2 :: 2], range(place, place + 1)) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("type", TYPES)
def test_they_are_in_every_type_on_many_databases(type: str) -> None:
    assert faults(type, list(RELATIONS), range(20)) == []


def differences(type: str, names: list[str]) -> list[str]:
    world, found = open_world(type), []
    tables = plain_rows(type)
    fill(world, tables)
    plain = world.plain()
    for name, rows in tables.items():
        type_of_unit = world.ddl[name].partition(" ")[2].rpartition(", ")[0]
        for unit, x in rows:
            plain.execute(f"INSERT INTO {name} SELECT CAST(CAST(? AS VARCHAR) AS {type_of_unit}), ?", [unit, x])
    for name in names:
        sql = f"SELECT COUNT(*) AS n, COUNT(u) AS c, COUNT(DISTINCT u) AS d, SUM(x) AS s FROM ({RELATIONS[name]}) AS q"
        try:
            assert_same(exact_answer(world.session, sql).rows(), plain_answer(plain, sql), sql)
        except (AssertionError, QueryRefused) as fault:
            found.append(f"{name}: {fault}")
    world.close()
    return found


@pytest.mark.parametrize("type", QUICK)
def test_questions_about_units_are_answered_as_plain_duckdb_answers_them(type: str) -> None:
    assert differences(type, list(RELATIONS)) == []


@pytest.mark.long
# Units are told apart by their bytes, and plain DuckDB goes by the collation.
@pytest.mark.parametrize("type", [type for type in TYPES if "COLLATE" not in type])
def test_they_are_answered_so_in_every_type(type: str) -> None:
    assert differences(type, list(RELATIONS)) == []


# What is computed from a unit --------------------------------------------------------------------------------------

VALUES = {
    "integer": ("u + u", "-u", "u * u", "ABS(u)", "u // 7", "u % 7", "u - 5", "CAST(u AS INTEGER)", "LEAST(u, 3)"),
    "double": ("u + u", "-u", "u * u", "SIN(u)", "CAST(u AS INTEGER)", "FLOOR(u)", "ROUND(u, 2)", "u % 7"),
    "decimal": ("-u", "ABS(u)", "ROUND(u)", "CAST(u AS BIGINT)", "CAST(u AS DOUBLE)"),
    "moment": ("YEAR(u)", "DATE_DIFF('day', u, DATE '2020-01-01')", "EXTRACT(EPOCH FROM u)", "DAYOFYEAR(u)"),
    "text": ("LENGTH(u)", "ASCII(u)", "CAST(u AS BIGINT)", "STRPOS(u, 'a')"),
}
KIND_OF = {
    "HUGEINT": "integer", "UHUGEINT": "integer", "UBIGINT": "integer", "TINYINT": "integer", "BIGINT": "integer",
    "DOUBLE": "double", "FLOAT": "double", "DATE": "moment", "TIMESTAMP": "moment", "TIMESTAMPTZ": "moment",
    "TIMESTAMP_S": "moment", "TIMESTAMP_MS": "moment", "TIMESTAMP_NS": "moment", "DECIMAL(20, 3)": "decimal",
    "DECIMAL(38, 0)": "decimal", "VARCHAR": "text", "UUID": "text", "ENUM ('a', 'b', 'c')": "text", "BLOB": "text",
}  # fmt: skip


def computed(type: str) -> list[str]:
    """Questions that compute with a unit's column, in every place where a value can stand."""
    found = []
    for value in VALUES[KIND_OF[type]]:
        found += [
            f"SELECT COUNT(*) FROM t WHERE {value} > 5",
            f"SELECT SUM(CASE WHEN {value} > 5 THEN 1 ELSE 2 END) FROM t",
            f"SELECT COUNT(*) FROM (SELECT u, MIN({value}) AS m, MAX(u) AS b FROM t GROUP BY u) AS q WHERE m > 5",
            f"SELECT COUNT(*) FROM (SELECT LAG(u) OVER (PARTITION BY u ORDER BY {value}, x) AS u FROM t) AS q "
            f"WHERE {value} > 5",
            f"SELECT COUNT(*) FROM (SELECT {value} AS v FROM t UNION ALL SELECT {value} AS v FROM o) AS q WHERE v > 5",
        ]
    return [*found, "SELECT COUNT(DISTINCT u), COUNT(*) FROM t WHERE u IS NOT NULL"]


def seen(type: str, sql: str, tables: dict[str, list[Row]]) -> Any:
    world = open_world(type)
    fill(world, tables)
    try:
        with noise_off():
            answer = world.session.ask(sql, epsilon=1)
            answer.rows()
        return answer.columns, answer.charged
    except DitherError as error:
        return type_name(error), str(error)
    finally:
        world.close()


def type_name(error: DitherError) -> str:
    return type(error).__name__


def oracles(type: str, questions: list[str]) -> list[str]:
    """Questions to which one person's unit makes a difference beyond the numbers, or that fail."""
    first, *rest = TYPES[type]
    plain: dict[str, list[Row]] = {"t": [(first, 1), (first, 2)], "o": [(first, 1)]}
    found = []
    for sql in questions:
        before = seen(type, sql, plain)
        extreme = {name: [*rows, *((unit, 2) for unit in rest for _ in range(2))] for name, rows in plain.items()}
        after = seen(type, sql, extreme)
        if before != after or before[0] in ("EngineError", "GuaranteeError"):
            found.append(f"{sql}: {before}, then {after}")
    return found


@pytest.mark.parametrize("type", ["HUGEINT", "DOUBLE", "DATE", "DECIMAL(38, 0)"])
def test_a_unit_at_the_end_of_its_type_changes_nothing_that_is_seen(type: str) -> None:
    assert oracles(type, computed(type)[::3]) == []


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("type", KIND_OF)
def test_no_unit_of_any_type_does(type: str) -> None:
    assert oracles(type, computed(type)) == []


# Tables whose units have different types ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("type", "other"),
    [
        ("BIGINT", "HUGEINT"),
        ("TINYINT", "BIGINT"),
        ("UBIGINT", "BIGINT"),
        ("FLOAT", "DOUBLE"),
        ("DECIMAL(10, 2)", "DECIMAL(12, 5)"),
        ("UUID", "VARCHAR"),
        ("TIMESTAMP", "TIMESTAMPTZ"),
    ],
)
def test_units_of_two_types_meet_where_the_engine_compares_them_exactly(type: str, other: str) -> None:
    world = open_world(type, other)
    unit = {"UUID": "00000000-0000-0000-0000-000000000001", "TIMESTAMP": "2020-01-01"}.get(type, "1")
    fill(world, {"t": [(unit, 1), (unit, 2)], "o": [(unit, 2)]})
    for sql, counted in (
        ("SELECT COUNT(*) FROM t JOIN o ON t.u = o.u", 2),
        ("SELECT COUNT(*) FROM t WHERE u NOT IN (SELECT u FROM o)", 0),
        ("SELECT COUNT(*) FROM (SELECT u, x FROM t UNION SELECT u, x FROM o) AS q", 2),
        ("SELECT COUNT(*) FROM (SELECT u FROM t FULL JOIN o USING (u) GROUP BY u) AS q", 1),
    ):
        assert exact_answer(world.session, sql).rows() == [(counted,)], sql
    world.close()


@pytest.mark.parametrize(
    ("type", "other"), [("DATE", "TIMESTAMP"), ("BIGINT", "UHUGEINT"), ("TIMESTAMP", "TIMESTAMP_NS")]
)
def test_units_whose_comparison_could_fail_on_one_row_are_refused_by_their_types(type: str, other: str) -> None:
    world = open_world(type, other)
    for sql in (
        "SELECT COUNT(*) FROM t JOIN o ON t.u = o.u",
        "SELECT COUNT(*) FROM t WHERE u IN (SELECT u FROM o)",
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM o WHERE o.u = t.u)",
    ):
        with pytest.raises(QueryRefused) as refused:
            world.session.plan(sql)
        assert refused.value.code in ("S-110", "S-121")
        assert type in str(refused.value) and other in str(refused.value), str(refused.value)
    world.close()


def test_a_unit_that_may_be_missing_meets_no_other_that_is() -> None:
    """IS NOT DISTINCT FROM is true of two NULLs: of two people's rows that found no partner."""
    world = open_world("DOUBLE")
    with pytest.raises(QueryRefused, match="S-110"):
        world.session.plan(
            "SELECT COUNT(*) FROM (SELECT o.u FROM t LEFT JOIN o ON t.u = o.u) AS a JOIN "
            "(SELECT o.u FROM t LEFT JOIN o ON t.u = o.u) AS b ON a.u IS NOT DISTINCT FROM b.u"
        )
    world.close()


def test_identifiers_without_a_sign_stay_apart_in_tuned_tables_of_files(tmp_path: Path) -> None:
    """Whole numbers of 128 bits become doubles in a Parquet file, in which 2^64 - 1 and 2^64 - 2 are one."""
    import duckdb

    connection = duckdb.connect()
    rows = f"(VALUES ({2**64 - 1}, 1), ({2**64 - 2}, 1), (7, 1), (7, 2), (7, 3)) AS t(u, x)"
    file = tmp_path / "t.parquet"
    connection.execute(f"COPY (SELECT CAST(u AS UBIGINT) AS u, x FROM {rows}) TO '{file}' (FORMAT parquet)")
    section = '[tables.t]\nprivacy_unit = "u"\nmax_rows_per_unit = 2\ncolumns = { x = { type = "integer" } }'
    text = catalog_text(section).replace('url = "memory.duckdb"', f'url = "{tmp_path}"')
    with open_catalog(loads(text), ledger=str(tmp_path / "one.ledger")) as session:
        session.tune("t")
        assert exact_answer(session, "SELECT COUNT(DISTINCT u), COUNT(*) FROM t").rows() == [(3, 4)]
