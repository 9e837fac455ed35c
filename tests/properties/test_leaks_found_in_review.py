"""Leaks and wrong answers that a review of rules, ranges and emitted SQL once found; each must never come back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest

from dither.engines import relations
from dither.errors import BudgetExceeded, DitherError, EngineError, InvalidParameter, QueryRefused
from dither.session import measuring
from dither.session.session import Session
from support.exactly import exact_answer, plain_answer
from support.worlds import World, catalog_text

TABLES = """
[tables.t]
privacy_unit = "uid"
max_rows_per_unit = 2
[tables.t.columns]
region = { type = "text", values = ["a", "b"] }
sex = { type = "text", values = ["F", "M", "X"] }
age = { type = "integer", bounds = [0, 50] }
big = { type = "integer" }
d = { type = "date", bounds = [2020-01-01, 2024-12-31] }
note = { type = "text" }
u8 = { type = "integer", bounds = [0, 200] }
[tables.o]
privacy_unit = { column = "uid", references = "t" }
max_rows_per_unit = 2
columns = { amt = { type = "integer", bounds = [0, 5] } }
"""
DDL = {
    "t": "uid BIGINT, region VARCHAR, sex VARCHAR, age INTEGER, big BIGINT, d DATE, note VARCHAR COLLATE NOCASE, "
    "u8 UTINYINT",
    "o": "uid BIGINT, amt BIGINT",
}


def row(uid: int, **changed: Any) -> tuple[Any, ...]:
    plain = {
        "uid": uid,
        "region": "a",
        "sex": "F",
        "age": 10,
        "big": 5,
        "d": dt.date(2020, 1, 1),
        "note": "n",
        "u8": 150,
    }
    return tuple({**plain, **changed}.values())


OTHERS = [row(uid, age=uid % 40) for uid in range(2, 60)]


@pytest.fixture
def world() -> Iterator[World]:
    found = World(catalog_text(TABLES, delta="1e-5"), DDL)
    found.load("t", OTHERS)
    yield found
    found.close()


def assert_priced(world: World, sql: str, before: list[Any], after: list[Any]) -> None:
    (measure,) = world.priced(sql).measures
    read = []
    for rows in (before, after):
        world.load("t", rows)
        read.append(world.vectors(measure.measure))
    for priced, left, right in zip(measure.vectors, *read, strict=True):
        moved = sum(abs(left.get(k, 0) - right.get(k, 0)) for k in left.keys() | right.keys())
        assert moved <= priced.distance, f"moved by {moved}, priced {priced.distance}"


# 1 -------------------------------------------------------------------------------------------------------------------


def test_braces_in_a_text_constant_never_become_sql(world: World) -> None:
    sql = """SELECT COUNT(*) FROM t WHERE CONCAT(' || (SELECT max(age) FROM "table t") || ', '{0}') LIKE '%50%'"""
    assert_priced(world, sql, OTHERS, [*OTHERS, row(1, age=50)])


@pytest.mark.parametrize("text", ["{x}", "{", "{}", "{1}"])
def test_braces_in_a_text_constant_mean_themselves(world: World, text: str) -> None:
    world.load("t", [row(1, note=text)])
    (measure,) = world.session.plan(f"SELECT COUNT(*) FROM t WHERE COALESCE(note, '') = CONCAT('{text}', '')").measures
    assert world.vectors(measure) == [{(0,): 1}]


# 2 -------------------------------------------------------------------------------------------------------------------

WIDE_KEYS = [
    "age + 100000000000000000000",
    "CAST(age AS DECIMAL(38,0)) + CAST(10000000000000000000000 AS DECIMAL(38,0))",
]


@pytest.mark.parametrize("key", WIDE_KEYS)
@pytest.mark.parametrize(("many", "one"), [(49, 3), (3, 49)])
def test_groups_that_agree_in_their_first_53_bits_stay_apart(world: World, key: str, many: int, one: int) -> None:
    crowd = [row(1000 + i, age=many) for i in range(100)]
    try:
        world.session.plan(f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY 1")
    except QueryRefused:
        return  # to refuse such keys is as good
    assert_priced(world, f"SELECT {key} AS k, COUNT(*) FROM t GROUP BY 1", crowd, [*crowd, row(1, age=one)])


# 3 -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("year", ["YEAR(d + 4000000 + 4000000) - 9999", "YEAR(d - 4000000)"])
def test_the_year_of_a_moved_date_stays_in_its_range(world: World, year: str) -> None:
    try:
        world.session.plan(f"SELECT SUM({year}) FROM t")
    except QueryRefused:
        return  # to refuse the move is as good
    assert_priced(world, f"SELECT SUM({year}) FROM t", OTHERS, [*OTHERS, row(1)])


# 4 -------------------------------------------------------------------------------------------------------------------

GIVEN = {
    "one group column twice": "t JOIN (SELECT region AS r1, region AS r2, COUNT(*) AS n FROM t GROUP BY region, sex) q "
    "ON t.region = q.r1 AND t.region = q.r2",
    "one grouping set twice": "t JOIN (SELECT region, COUNT(*) AS n FROM t "
    "GROUP BY GROUPING SETS ((region), (region))) q ON t.region = q.region",
    "a join of noisy tables": "t JOIN (SELECT a.n AS n FROM (SELECT age, COUNT(*) AS n FROM t GROUP BY age) a JOIN "
    "(SELECT age, COUNT(*) AS n FROM t GROUP BY age) b ON a.n < b.n + 100000) q ON t.age < q.n + 100000",
}


@pytest.mark.parametrize("name", GIVEN)
def test_a_row_meets_no_more_rows_of_a_released_table_than_planned(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.load("t", [*OTHERS, row(1), row(1, age=11)])
    found = []
    bound = measuring.bound

    def watch(*args: Any) -> Any:
        part = bound(*args)
        found.append(part.measures[-1].measure)
        return part

    monkeypatch.setattr(measuring, "bound", watch)
    try:
        world.session.ask(f"SELECT COUNT(*) FROM {GIVEN[name]}", epsilon=100)
    except QueryRefused:
        return  # to refuse is as good
    measure = found[-1]
    relation = relations.kept_relation_sql(measure.input, world.engine._emission(), relations.ids_of(measure.input))
    ((most,),) = world.run(f'SELECT max(n) FROM (SELECT count(*) AS n FROM ({relation}) GROUP BY "{measure.unit}")')
    assert most <= measure.tau


# 5 -------------------------------------------------------------------------------------------------------------------


def test_kept_rows_do_not_follow_storage_order(world: World) -> None:
    """Under NOCASE, 'A' and 'a' hash and order alike: which two of four are kept is then up to the disk."""
    (measure,) = world.session.plan("SELECT COUNT(*) FROM t WHERE note = 'a'").measures
    counts = []
    for notes in ("AAaa", "aaAA"):
        world.load("t", [row(1, note=note) for note in notes])
        counts.append(world.vectors(measure))
    assert counts[0] == counts[1]


def test_windows_do_not_follow_storage_order(world: World) -> None:
    numbered = "SELECT note, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY age) AS rn FROM t"
    (measure,) = world.session.plan(f"SELECT COUNT(*) FROM ({numbered}) WHERE rn = 1 AND note = 'a'").measures
    counts = []
    for notes in ("Aa", "aA"):
        world.load("t", [row(1, note=note) for note in notes])
        counts.append(world.vectors(measure))
    assert counts[0] == counts[1]


# 6 -------------------------------------------------------------------------------------------------------------------

NUMBERED = "(SELECT uid, ROW_NUMBER() OVER (PARTITION BY uid ORDER BY d) AS rn FROM t)"
RAISING = {
    f"SELECT SUM(LN(3 - rn)) FROM {NUMBERED}": [row(1, age=i) for i in range(5)],
    f"SELECT SUM(CAST(rn AS DECIMAL(2,0))) FROM {NUMBERED}": [row(1, age=i % 50) for i in range(150)],
    "SELECT AVG(u8) FROM t": [row(1, u8=5)],
    "SELECT COUNT(*) FROM t WHERE big // -1 > 0": [row(1, big=-(2**63))],
    "SELECT COUNT(*) FROM (SELECT uid, NTILE(big) OVER (PARTITION BY uid ORDER BY d) AS q FROM t) WHERE q = 1": [
        row(1, big=0)
    ],
    "SELECT COUNT(*) FROM t WHERE DATE_TRUNC('year', CASE WHEN age = 50 THEN d" + " + 4000000" * 30 + " ELSE d END) > "
    "TIMESTAMP '2000-01-01'": [row(1, age=50)],
}


@pytest.mark.parametrize("sql", RAISING)
def test_nobodys_rows_make_the_engine_raise(world: World, sql: str) -> None:
    try:
        (measure,) = world.session.plan(sql).measures
    except QueryRefused:
        return
    world.load("t", [*OTHERS, *RAISING[sql]])
    try:
        world.vectors(measure)
    except EngineError:
        pytest.fail("one unit's rows decide whether the engine fails")


# 7 -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    [
        "EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid USING SAMPLE 1 ROWS)",
        "uid IN (SELECT uid FROM o USING SAMPLE 10 PERCENT (bernoulli))",
    ],
)
def test_a_sample_inside_a_condition_is_refused(world: World, condition: str) -> None:
    with pytest.raises(QueryRefused):
        world.session.plan(f"SELECT COUNT(*) FROM t WHERE {condition}")


def test_count_of_two_arguments_within_a_unit_is_refused(world: World) -> None:
    with pytest.raises(QueryRefused):
        world.session.plan("SELECT SUM(n) FROM (SELECT uid, COUNT(age, big) AS n FROM t GROUP BY uid)")


# 8 -------------------------------------------------------------------------------------------------------------------


def nested(times: int) -> str:
    text = "big"
    for _ in range(times):
        text = f"CAST({text} * 1000 AS INTEGER)"
    return text


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT COUNT(*) FROM t WHERE {nested(16)} > 0",
        "SELECT COUNT(*) FROM t WHERE ROUND(age / 7, 1) > 2",
        "SELECT COUNT(*) FROM (SELECT uid, LAG(age, note) OVER (PARTITION BY uid ORDER BY d) AS q FROM t) WHERE q = 1",
        "SELECT COUNT(*) FROM t WHERE age > (SELECT to_days(CAST(COUNT(*) AS INTEGER)) FROM t)",
        "SELECT COUNT(*) FROM (SELECT uid, age FROM t UNION ALL SELECT amt, 5 FROM o)",
    ],
)
def test_what_cannot_work_is_refused_before_it_is_charged(world: World, sql: str) -> None:
    before = str(world.session.budget())
    try:
        world.session.ask(sql, epsilon=1)
    except DitherError:
        assert str(world.session.budget()) == before


def test_a_refused_question_charges_no_reuse() -> None:
    analysts = "\n[analysts.a]\nepsilon = 2\n[analysts.b]\nepsilon = 1.05\n"
    world = World(catalog_text(TABLES, delta="1e-5", epsilon="3") + analysts, DDL)
    world.load("t", OTHERS)
    own = world.session
    a, b = (Session(own.catalog, own.engine, own.ledger, analyst=name, taus=own.taus) for name in "ab")
    a.ask("SELECT COUNT(*) FROM t", epsilon=1)
    before = str(b.budget())
    with pytest.raises(BudgetExceeded):
        b.ask("SELECT COUNT(*), SUM(age) FROM t", epsilon=2)
    assert str(b.budget()) == before


# 9 -------------------------------------------------------------------------------------------------------------------


def test_a_cte_used_twice_is_measured_once(world: World) -> None:
    sql = (
        "WITH r AS (SELECT age, COUNT(*) AS n FROM t GROUP BY age) SELECT a.n + b.n FROM r a JOIN r b ON a.age = b.age"
    )
    assert len(world.session.plan(sql).measures) == 1


ROWS_CATALOG = """[dataset]
name = "rows"
{terms}
[source]
url = "m.duckdb"
[unit]
name = "row"
[budget]
epsilon = 1e9
delta = 1e-5
[tables.t]
privacy_unit = "row"
columns = {{ region = {{ type = "text" }} }}
"""


@pytest.mark.parametrize(("terms", "wanted"), [("min_units_per_key = 3", {"a", None}), ('nulls = "drop"', {"a"})])
def test_private_groups_of_rows_that_are_their_own_units(terms: str, wanted: set[Any]) -> None:
    world = World(ROWS_CATALOG.format(terms=terms), {"t": "region VARCHAR"})
    world.load("t", [("a",)] * 1000 + [(None,)] * 1000)
    shown = {key for key, _ in world.session.ask("SELECT region, COUNT(*) FROM t GROUP BY region", epsilon=1).rows()}
    assert shown == wanted


# 10 ------------------------------------------------------------------------------------------------------------------


def test_every_example_of_the_functions_page_runs_on_the_engine() -> None:
    import importlib.util
    import sys
    from pathlib import Path

    import duckdb

    from dither.sql.bind import Binder
    from dither.sql.names import NamedColumn, Scope
    from dither.sql.parse import parse
    from dither.sql.printing import print_expr

    spec = importlib.util.spec_from_file_location("make_functions", Path("tools/make_functions.py"))
    assert spec and spec.loader
    made = importlib.util.module_from_spec(spec)
    sys.modules["make_functions"] = made
    spec.loader.exec_module(made)
    scope = Scope(tuple(NamedColumn("", name, column) for name, column in made.ROW.items()))
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE v (age BIGINT, price DECIMAL(38,2), income DOUBLE, region VARCHAR, smoker BOOLEAN, "
        "born DATE, seen TIMESTAMP)"
    )
    failing = []
    for example in made.examples():
        bound = Binder(scope, now=made.NOW).bind(parse(f"SELECT {example}").children("select_list")[0])
        try:
            connection.execute(f"SELECT {print_expr(bound)} FROM v")
        except duckdb.Error:
            failing.append(example)
    assert not failing


# 11 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "condition",
    ["EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND amt > 3)", "uid IN (SELECT uid FROM o WHERE amt > 3)"],
)
def test_an_alias_in_qualify_leaves_columns_of_a_subquery_alone(world: World, condition: str) -> None:
    """amt is o's column there, not the constant that the outer SELECT list calls so."""
    world.load("o", [(2, 5), (3, 1), (4, 4)])
    counted = "COUNT(*) OVER (PARTITION BY uid) AS n"
    sql = f"SELECT COUNT(*) FROM (SELECT uid, 1 AS amt, {counted} FROM t QUALIFY n > 5 OR {condition}) AS q"
    assert exact_answer(world.session, sql).rows() == plain_answer(world.plain(), sql) == [(2,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT DISTINCT uid FROM t JOIN o ON t.uid = o.uid",
        "SELECT t.region, COUNT(*) + uid FROM t JOIN o ON t.uid = o.uid GROUP BY 1",
        "SELECT t.region AS uid, COUNT(*), uid FROM t JOIN o ON t.uid = o.uid GROUP BY 1",
        "SELECT COUNT(*) FROM (SELECT t.uid, amt AS uid, COUNT(*) OVER (PARTITION BY t.uid) AS n "
        "FROM t JOIN o ON t.uid = o.uid QUALIFY uid > 5) AS q",
    ],
)
def test_a_name_that_two_tables_have_is_refused_wherever_it_stands(world: World, sql: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        world.session.explain(sql, epsilon=1)
    assert refused.value.code == "N-102"


# 12 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("terms", ["", ", bounds = [0, 10]", ", values = [1, 5]"], ids=["bare", "bounds", "values"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(LEAST(GREATEST(x, 0), 10)) FROM t",
        "SELECT COUNT(*) FROM t WHERE x > 3",
        "SELECT COUNT(DISTINCT x) FROM t",
        "SELECT x, COUNT(*) FROM t GROUP BY x",
        "SELECT COUNT(*) FROM (SELECT uid, MAX(x) AS m FROM t GROUP BY uid) AS q WHERE m > 3",
    ],
)
def test_no_unsigned_value_of_128_bits_makes_the_engine_fail(terms: str, sql: str) -> None:
    section = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n'
    columns = f'columns = {{ x = {{ type = "integer"{terms} }} }}'
    world = World(catalog_text(section + columns, delta="1e-5"), {"t": "uid BIGINT, x UHUGEINT"})
    world.load("t", [(uid, 5) for uid in range(40)] + [(99, 2**128 - 1)])
    try:
        world.session.ask(sql, epsilon=20)
    except QueryRefused:
        assert not terms  # planned without a look at any row
    finally:
        world.close()


# 13 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", ["LIMIT -1", "LIMIT 99999999999999999999", "LIMIT 1 OFFSET -1"])
def test_a_limit_that_cannot_be_is_refused_before_it_is_charged(world: World, limit: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        world.session.ask(f"SELECT COUNT(*) FROM t {limit}", epsilon=1)
    assert refused.value.code == "F-171"
    assert world.ledger.spent().epsilon == 0


def test_no_offer_buys_a_look_at_the_data_for_next_to_nothing(world: World) -> None:
    """What an offer buys beside its answer (time, whether the engine failed) is rationed by the least price."""
    with pytest.raises(DitherError) as refused:
        world.session.ask("SELECT COUNT(*) FROM t", rho="1e-30")
    assert refused.value.code == "M-102"


@pytest.mark.parametrize("offer", [{"epsilon": "1e400"}, {"rho": "1e400"}])
def test_an_offer_beyond_all_floats_is_one_error(world: World, offer: dict[str, str]) -> None:
    world.session.ask("SELECT COUNT(*) FROM t", epsilon=1)
    before = len(world.ledger.entries())
    with pytest.raises(InvalidParameter, match="at most"):
        world.session.ask("SELECT COUNT(*) FROM t /* again */", **offer)
    assert len(world.ledger.entries()) == before


def test_running_totals_over_no_listed_group_are_an_empty_answer(world: World) -> None:
    sql = "SELECT age, SUM(COUNT(*)) OVER (ORDER BY age) FROM t WHERE age > 100 GROUP BY age"
    assert exact_answer(world.session, sql).rows() == []


# 14 ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "stored"), [("double", "DOUBLE"), ("integer", "BIGINT"), ("integer", "UBIGINT")])
def test_listed_values_with_bounds_are_null_outside_the_list_in_sums_too(kind: str, stored: str) -> None:
    section = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n'
    columns = f'columns = {{ x = {{ type = "{kind}", bounds = [0, 10], values = [1, 5] }} }}'
    world = World(catalog_text(section + columns), {"t": f"uid BIGINT, x {stored}"})
    world.load("t", [(1, 5), (2, 3), (3, 1)])
    sql = "SELECT SUM(x), COUNT(x), AVG(x), SUM(x + 1) FROM t"
    assert exact_answer(world.session, sql).rows() == [(6, 2, 3, 8)]
    world.close()


def test_a_listed_value_beyond_the_bounds_moves_no_sum_by_more_than_is_priced() -> None:
    section = '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n'
    columns = 'columns = { x = { type = "integer", bounds = [0, 10], values = [1, 500] } }'
    try:
        world = World(catalog_text(section + columns), {"t": "uid BIGINT, x BIGINT"})
    except DitherError:
        return  # to refuse such a catalog is as good
    for sql in ("SELECT SUM(x) FROM t", "SELECT SUM(x + 1) FROM t"):
        assert_priced(world, sql, [(1, 1)], [(1, 1), (2, 500)])
    world.close()


@pytest.mark.parametrize(
    ("key", "counted"),
    [("age", "uid"), ("region", "uid"), ("age", "sex"), ("d", "uid"), ("region", "age"), ("GREATEST(age, 0)", "uid")],
)
def test_what_several_stored_keys_have_in_one_group_is_counted_once(world: World, key: str, counted: str) -> None:
    """Groups are made of stored values first, which bounds and lists then bring together: sums add up over them, but
    each of them counted the unit once more."""
    outside = {"age": [99, 77, 60], "region": ["x", "y", "z"], "d": [dt.date(2030, 1, 1), dt.date(2031, 1, 1)]}
    columns = list(outside) if key in outside else ["age"]
    changed = [{column: values[i % len(values)] for column, values in outside.items() if column in columns}
               for i in range(2)]  # fmt: skip
    world.load("t", [row(1, **one) for one in changed] + [row(2, **changed[0])])
    found = exact_answer(world.session, f"SELECT {key} AS k, COUNT(DISTINCT {counted}) AS n FROM t GROUP BY k").rows()
    assert max(n for _, n in found) == (2 if counted == "uid" else 1)
