"""The worst fault is to accept a question and answer another: without noise, every accepted question equals plain
DuckDB.

Questions are drawn from the supported grammar by hypothesis; hand-written ones are in tests/golden. The data holds
every public group, no value leaves its bounds, and no unit has more rows than are kept: then nothing may differ but
groups without rows, which are public and appear with zeros.
"""

from __future__ import annotations

from unittest import mock

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dither.errors import QueryRefused
from support.exactly import assert_same, exact_answer, plain_answer
from support.worlds import World, catalog_text

SETTINGS = settings(
    max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LONG = settings(SETTINGS, max_examples=1500, derandomize=False)


# Scalar expressions ----------------------------------------------------------------------------------------------

small = st.integers(-3, 40)


def one_of(*texts: str) -> st.SearchStrategy[str]:
    return st.sampled_from(texts)


whole_numbers = st.one_of(
    one_of(
        "age", "LENGTH(note)", "STRPOS(note, '1')", "ASCII(note)", "STRLEN(region)", "EXTRACT(ISODOW FROM ts)",
        "YEARWEEK(d)", "DATE_SUB('month', d, ts)", "DATE_DIFF('hour', d, ts)", "DAYS_IN_MONTH(d)", "EPOCH_MS(ts)",
        "DATE_DIFF('week', '2020-02-02', d)", "MD5_NUMBER_LOWER(note) % 7", "BIT_COUNT(age)", "~age",
        "CAST(SUBSTRING(note, 2) AS INTEGER)", "CAST(ROUND(income / 10) AS INTEGER)", "LAST_DAY(d) - d",
        "TRY_CAST(region AS BIGINT)", "EXTRACT(MILLISECOND FROM ts)", "CAST(flag AS INTEGER)",
    ),
    small.map(str),
)  # fmt: skip
numbers = st.deferred(
    lambda: st.one_of(
        one_of(
            "age", "income", "price", "EXTRACT(DAY FROM d)", "LENGTH(note)", "DATE_DIFF('day', d, DATE '2020-06-01')"
        ),
        small.map(str),
        st.builds("({} {} {})".format, numbers, one_of("+", "-", "*"), numbers),
        st.builds("({} / {})".format, numbers, st.integers(1, 9)),
        st.builds("{}({})".format, one_of("ABS", "FLOOR", "CEIL", "SIGN", "TRUNC"), numbers),
        st.builds("COALESCE({}, {})".format, numbers, numbers),
        st.builds("GREATEST({}, {})".format, numbers, numbers),
        st.builds("LEAST({}, {})".format, numbers, numbers),
        st.builds("NULLIF({}, {})".format, numbers, small),
        st.builds("CASE WHEN {} THEN {} ELSE {} END".format, conditions, numbers, numbers),
        st.builds("CAST({} AS DOUBLE)".format, numbers),
        st.builds(
            "{}({})".format,
            one_of("SIN", "COS", "ATAN", "CBRT", "TANH", "ASINH", "RADIANS", "EVEN", "ROUND", "DEGREES"),
            numbers,
        ),
        st.builds("ROUND({}, {})".format, numbers, st.integers(-2, 3)),
        st.builds("TRUNC({}, {})".format, numbers, st.integers(-2, 3)),
        st.builds("{}({}, {})".format, one_of("GCD", "LCM", "XOR"), whole_numbers, whole_numbers),
        st.builds("({} {} {})".format, whole_numbers, one_of("&", "|"), whole_numbers),
        st.builds("(age {} {})".format, one_of("<<", ">>"), st.integers(0, 7)),
        whole_numbers,
    )
)
texts = st.one_of(
    one_of(
        "region",
        "note",
        "UPPER(note)",
        "region || note",
        "SUBSTRING(note, 2, 1)",
        "COALESCE(region, 'none')",
        "TRIM(note)",
    ),
    one_of(
        "LEFT(note, 2)",
        "RIGHT(note, 1)",
        "REVERSE(note)",
        "REPLACE(note, 'n', 'mm')",
        "TRANSLATE(note, 'n1', 'R')",
        "SPLIT_PART(note, '1', 1)",
        "CONCAT_WS('-', region, note)",
        "REGEXP_EXTRACT(note, '[0-9]')",
        "MD5(note)",
        "REGEXP_REPLACE(note, '[0-9]', '#', 'g')",
        "DAYNAME(d)",
        "MONTHNAME(ts)",
        "STRFTIME(d, '%Y-%m')",
        "CHR(age + 60)",
        "LTRIM(note, 'n')",
        "RTRIM(note, '12')",
        "GREATEST(note, region)",
        "STRIP_ACCENTS(note)",
        "IF(flag, note, 'n1')",
    ),
    one_of("'R1'", "'n1'", "'R'", "'it''s'", "CAST(age AS VARCHAR)", "CAST(d AS VARCHAR)", "concat(region, note)"),
)
moments = one_of(
    "d + INTERVAL '1 month'",
    "ts - INTERVAL (age) DAY",
    "ts + INTERVAL '90 minutes'",
    "LAST_DAY(ts)",
    "TIME_BUCKET(INTERVAL '2 weeks', d)",
    "MAKE_DATE(2020, age % 12 + 1, 1)",
    "DATE_ADD(d, INTERVAL '3 days')",
    "COALESCE(d, '2020-01-01')",
    "CAST(CAST(d AS VARCHAR) AS DATE)",
    "GREATEST(d, '2020-03-03')",
    "d + (ts - d)",
    "d",
    "ts",
    "d + 7",
    "DATE_TRUNC('month', d)",
    "DATE_TRUNC('hour', ts)",
    "DATE '2020-03-01'",
    "CAST(ts AS DATE)",
)
comparisons = one_of("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
conditions = st.deferred(
    lambda: st.one_of(
        one_of(
            "ts - d > INTERVAL '2 days'",
            "REGEXP_MATCHES(note, '^n[0-4]')",
            "note GLOB 'n*[135]'",
            "note SIMILAR TO 'n.'",
            "note NOT LIKE 'n$_' ESCAPE '$'",
            "CASE d WHEN '2020-03-01' THEN flag ELSE age > 20 END",
            "d IN ('2020-01-31', '2020-02-29')",
            "ENDS_WITH(note, '3')",
            "CAST(age AS BOOLEAN)",
            "flag",
            "flag IS NULL",
            "flag IS NOT TRUE",
            "age IS NOT NULL",
            "region IN ('R0', 'R2')",
            "age NOT IN (20, 21)",
        ),
        one_of(
            "note LIKE 'n1%'", "note NOT LIKE '%3'", "note ILIKE 'N_'", "CONTAINS(note, '4')", "age BETWEEN 20 AND 25"
        ),
        one_of("region NOT IN ('R1', NULL)", "ts BETWEEN '2020-02-01' AND '2020-04-01 12:30:00'", "d > '2020-05-05'"),
        st.builds("{} {} {}".format, numbers, comparisons, numbers),
        st.builds("{} {} {}".format, texts, comparisons, texts),
        st.builds("{} {} {}".format, moments, comparisons, moments),
        st.builds("({} {} {})".format, conditions, one_of("AND", "OR"), conditions),
        st.builds("NOT ({})".format, conditions),
        st.builds("({}) IS NULL".format, conditions),
    )
)
wheres = st.one_of(st.just(""), conditions.map(lambda c: f" WHERE {c}"))

# Rows: each gives uid, region, flag, age, income, d -----------------------------------------------------------------

COLUMNS = "uid, region, flag, age, income, d"
T_COLUMNS = ", ".join(f"t.{name}" for name in COLUMNS.split(", "))
rows = st.one_of(
    st.just("t"),
    st.builds("(SELECT * FROM t{}) AS q".format, wheres),
    st.builds(
        "(SELECT {} FROM t JOIN o ON t.uid = o.uid AND ({})) AS q".format,
        st.just(T_COLUMNS),
        one_of("TRUE", "amt > age"),
    ),
    st.builds(
        "(SELECT {} FROM t {} JOIN o USING (uid)) AS q".format,
        st.just(COLUMNS),
        one_of("", "LEFT", "RIGHT", "SEMI", "ANTI"),
    ),
    st.builds("(SELECT {} FROM t, o WHERE o.uid = t.uid AND kind = 'a') AS q".format, st.just(T_COLUMNS)),
    st.builds(
        "(SELECT {} FROM t {} JOIN dim ON t.region = dim.region) AS q".format, st.just(T_COLUMNS), one_of("", "LEFT")
    ),
    st.builds("(SELECT DISTINCT {} FROM t{}) AS q".format, st.just(COLUMNS), wheres),
    st.builds(
        "(SELECT {0} FROM t UNION {1} SELECT {0} FROM t{2}) AS q".format, st.just(COLUMNS), one_of("", "ALL"), wheres
    ),
    st.builds(
        "(SELECT {0} FROM t {1} SELECT {0} FROM t{2}) AS q".format,
        st.just(COLUMNS),
        one_of("EXCEPT", "INTERSECT"),
        wheres,
    ),
    st.builds(
        "(SELECT * FROM t WHERE uid {}IN (SELECT uid FROM o WHERE amt > {})) AS q".format, one_of("", "NOT "), small
    ),
    st.builds(
        "(SELECT * FROM t WHERE {}EXISTS (SELECT 1 FROM o WHERE o.uid = t.uid AND amt {} age)) AS q".format,
        one_of("", "NOT "),
        comparisons,
    ),
    st.builds(
        "(SELECT * FROM t WHERE region {}IN (SELECT region FROM dim WHERE n > 2)) AS q".format, one_of("", "NOT ")
    ),
    st.builds(
        "(SELECT * FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY uid ORDER BY ts) <= {}) AS q".format,
        st.integers(1, 4),
    ),
    st.builds(
        "(SELECT uid, region, flag, {} OVER (PARTITION BY uid ORDER BY ts) AS age, income, d FROM t) AS q".format,
        one_of("LAG(age)", "SUM(age)", "COUNT(*)", "RANK()", "MAX(age)", "NTILE(3)"),
    ),
    st.builds(
        "(SELECT uid, MIN(region) AS region, {} AS flag, {} AS age, {} AS income, MAX(d) AS d FROM t{} "
        "GROUP BY uid) AS q".format,
        one_of("BOOL_OR(flag)", "BOOL_AND(flag)"),
        one_of("COUNT(*)", "MAX(age)", "SUM(age)", "COUNT(DISTINCT note)"),
        one_of("SUM(income)", "AVG(income)", "MIN(income)", "AVG(age)"),
        wheres,
    ),
    st.just(
        "(SELECT uid, region, flag, MAX(age) AS age, SUM(income) AS income, MIN(d) AS d FROM t GROUP BY "
        "uid, region, flag "
        "HAVING COUNT(*) > 1) AS q"
    ),
)

# Groups, aggregates, finish ----------------------------------------------------------------------------------------

keys = one_of(
    "region", "flag", "age", "FLOOR(age / 10)", "EXTRACT(MONTH FROM d)", "age % 3", "age > 25",
    "COALESCE(region, 'none')",
    "CASE WHEN age < 22 THEN 'young' WHEN age < 27 THEN 'middle' END", "DATE_TRUNC('month', d)", "d", "flag IS NULL",
    "region = 'R1'", "NOT flag", "CAST(flag AS INTEGER)", "UPPER(region)", "MONTHNAME(d)", "DAYNAME(d)", "age & 3",
    "LAST_DAY(d)", "ROUND(age, -1)", "STRFTIME(d, '%m')", "TIME_BUCKET(INTERVAL '1 month', d)", "LEFT(region, 1)",
    "d + INTERVAL '1 month'", "MD5_NUMBER_LOWER(region) % 2", "QUARTER(d)", "age >> 1", "GREATEST(region, 'R1')",
)  # fmt: skip
aggregates = one_of(
    "COUNT(*)", "COUNT(age)", "COUNT(flag)", "SUM(age)", "SUM(income)", "AVG(age)", "AVG(income)", "SUM(age * 2 - 1)",
    "COUNT(*) FILTER (WHERE age > 22)", "SUM(income) FILTER (WHERE flag)", "AVG(age) FILTER (WHERE NOT flag)",
    "VAR_POP(age)", "VAR_SAMP(income)", "STDDEV(age)", "STDDEV_POP(income)", "CORR(age, income)",
    "COVAR_POP(age, income)",
    "COVAR_SAMP(income, age)", "COUNT_IF(flag)", "SUM(CASE WHEN flag THEN 1 ELSE 0 END)", "COUNT(DISTINCT age)",
    "SUM(age) / COUNT(age)", "COUNT(*) * 100.0 / 7", "SUM(age) // 7", "-COUNT(*)", "COUNT(age) > 100",
    # Off the ties, where the last bit of a mean decides.
    "ROUND(AVG(income) + 0.0123456789, 1)",
    "COALESCE(AVG(age), 0)", "CASE WHEN COUNT(*) > 50 THEN 'many' ELSE 'few' END", "SUM(age) % 5",
)  # fmt: skip


@st.composite
def alone(draw: st.DrawFn) -> str:
    chosen = draw(st.lists(aggregates, min_size=1, max_size=3))
    items = ", ".join(f"{aggregate} AS c{i}" for i, aggregate in enumerate(chosen))
    return f"SELECT {items}, COUNT(*) AS n FROM {draw(rows)}{draw(wheres_on_rows)}"


row_conditions = one_of(
    "age > 22", "flag", "region = 'R1' OR age < 20", "income * 2 > 700", "region IS NOT NULL", "d < '2020-07-01'"
)
wheres_on_rows = st.one_of(st.just(""), row_conditions.map(lambda c: f" WHERE {c}"))


@st.composite
def grouped(draw: st.DrawFn) -> str:
    """One to three keys by expression, alias, ordinal or ALL; groups without rows are dropped by HAVING, so that what
    is done with the groups means the same here and there."""
    chosen = draw(st.lists(keys, min_size=1, max_size=3, unique=True))
    items = [f"{key} AS g{i}" for i, key in enumerate(chosen)]
    items += [f"{a} AS c{i}" for i, a in enumerate(draw(st.lists(aggregates, min_size=1, max_size=2)))]
    by = draw(one_of("expressions", "aliases", "ordinals", "all"))
    grouping = {
        "expressions": ", ".join(chosen),
        "aliases": ", ".join(f"g{i}" for i in range(len(chosen))),
        "ordinals": ", ".join(str(i + 1) for i in range(len(chosen))),
        "all": "ALL",
    }[by]
    names = [f"g{i}" for i in range(len(chosen))]
    finish = draw(
        one_of(
            "",
            f" ORDER BY {', '.join(names)}",
            f" ORDER BY COUNT(*) DESC, {', '.join(names)} LIMIT 3",
            f" ORDER BY {', '.join(f'{name} DESC NULLS FIRST' for name in names)} LIMIT 4 OFFSET 1",
            f" QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*), {', '.join(names)}) <= 2",
        )
    )
    window = draw(
        one_of(
            "",
            f", SUM(COUNT(*)) OVER (ORDER BY {', '.join(names)}) AS w",
            ", COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS w",
        )
    )
    having = draw(one_of("", " AND COUNT(*) > 20", " AND g0 IS NOT NULL", " AND AVG(age) > 20"))
    return (
        f"SELECT {', '.join(items)}, COUNT(*) AS n{window} FROM {draw(rows)}{draw(wheres_on_rows)} GROUP BY {grouping} "
        f"HAVING COUNT(*) > 0{having}{finish}"
    )


@st.composite
def grouping_sets(draw: st.DrawFn) -> str:
    a, b = draw(st.lists(keys, min_size=2, max_size=2, unique=True))
    sets = draw(
        one_of(f"ROLLUP ({a}, {b})", f"CUBE ({a}, {b})", f"GROUPING SETS (({a}), ({b}), ())", f"{a}, ROLLUP ({b})")
    )
    return (
        f"SELECT {a} AS g0, {b} AS g1, GROUPING({a}) AS h, {draw(aggregates)} AS c, COUNT(*) AS n "
        f"FROM {draw(rows)}{draw(wheres_on_rows)} GROUP BY {sets} HAVING COUNT(*) > 0"
    )


@st.composite
def over_noisy(draw: st.DrawFn) -> str:
    """Aggregated tables in subqueries, CTEs, joins and set operations."""
    key, inner = draw(keys), draw(rows)
    table = f"SELECT {key} AS g, COUNT(*) AS n, SUM(age) AS s FROM {inner} GROUP BY 1 HAVING COUNT(*) > 0"
    other = f"SELECT {key} AS g, AVG(income) AS m FROM t GROUP BY g HAVING COUNT(*) > 0"
    return draw(
        one_of(
            f"SELECT AVG(n) AS a, MAX(s) AS b, COUNT(*) AS c FROM ({table}) AS x",
            f"WITH x AS ({table}) SELECT g, n, n - LAG(n) OVER (ORDER BY g) AS step FROM x WHERE n > 3",
            f"WITH x AS ({table}), y AS ({other}) SELECT x.g, n, m FROM x JOIN y ON x.g = y.g",
            f"WITH x AS ({table}), y AS ({other}) SELECT COUNT(*) AS n, SUM(m) AS m FROM x LEFT JOIN y USING (g)",
            f"SELECT n FROM ({table}) AS x UNION ALL SELECT COUNT(*) FROM t",
            f"SELECT g FROM ({table}) AS x EXCEPT SELECT g FROM ({table}) AS y WHERE n > 100",
            f"SELECT n % 2 AS odd, COUNT(*) AS n FROM ({table}) AS x GROUP BY odd ORDER BY odd",
        )
    )


def check(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    try:
        wanted = plain_answer(plain, sql)
    except duckdb.Error:
        # What plain DuckDB cannot answer on these rows has nothing to compare with.
        return
    assert_same(exact_answer(world.session, sql).rows(), wanted, sql)


questions = st.one_of(alone(), grouped(), grouping_sets(), over_noisy())


@SETTINGS
@given(sql=conditions.map(lambda c: f"SELECT COUNT(*) AS n, SUM(age) AS s FROM t WHERE {c}"))
def test_conditions_mean_what_they_mean_in_plain_duckdb(
    world: World, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    check(world, plain, sql)


@SETTINGS
@given(sql=alone())
def test_aggregates_over_any_rows_equal_plain_duckdb(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    check(world, plain, sql)


@SETTINGS
@given(sql=grouped())
def test_grouped_questions_equal_plain_duckdb(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    check(world, plain, sql)


@settings(SETTINGS, max_examples=20)
@given(sql=grouping_sets())
def test_grouping_sets_equal_plain_duckdb(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    check(world, plain, sql)


@settings(SETTINGS, max_examples=20)
@given(sql=over_noisy())
def test_sql_over_noisy_tables_equals_plain_duckdb(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    check(world, plain, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t JOIN (SELECT age, COUNT(*) AS n FROM t GROUP BY age) AS x ON t.age = x.age",
        "SELECT COUNT(*) FROM t WHERE age IN (SELECT age FROM t GROUP BY age HAVING COUNT(*) > 0)",
    ],
)
def test_a_large_noisy_table_below_rows_is_whole_or_refused(
    world: World, plain: duckdb.DuckDBPyConnection, sql: str
) -> None:
    with mock.patch("dither.plan.phases.LARGEST_GIVEN", 3):
        try:
            rows = exact_answer(world.session, sql).rows()
        except QueryRefused:
            return
    assert_same(rows, plain_answer(plain, sql), sql)


EDGES = (
    "CAST(x / 4 AS TINYINT) = 127",
    "CAST(-x / 4 - 1 AS TINYINT) = -128",
    "CAST(x / 4 + 0.4 AS TINYINT) = 127",
    "CAST(p + 27.9 AS TINYINT) = 127",
    "CAST(k * 327.67 AS SMALLINT) = 32767",
    "CAST(p AS DECIMAL(3, 1)) = 99.5",
    "CAST(x * 64.5 + 1 AS SMALLINT) = 32767",
    "CAST(p AS DECIMAL(4, 2)) = 99.5",
    "CAST(k * 107374182.35 AS INTEGER) = 2147483647",
)


@pytest.mark.parametrize("condition", EDGES)
def test_values_at_the_edge_of_a_type_are_cast_as_plain_duckdb_does(condition: str) -> None:
    edge = World(
        catalog_text(
            '[tables.t]\nprivacy_unit = "uid"\nmax_rows_per_unit = 1\n[tables.t.columns]\n'
            'k = { type = "integer", bounds = [0, 1000] }\nx = { type = "double", bounds = [0, 1000] }\n'
            'p = { type = "decimal", scale = 2, bounds = [0, 1000] }\n'
        ),
        {"t": "uid BIGINT, k INTEGER, x DOUBLE, p DECIMAL(10, 2)"},
    )
    edge.load("t", [(1, 20, 508.0, "99.5")])
    sql = f"SELECT COUNT(*) FROM t WHERE {condition}"
    assert_same(exact_answer(edge.session, sql).rows(), plain_answer(edge.plain(), sql), sql)
    edge.close()


@pytest.mark.long
@LONG
@given(sql=questions)
def test_many_more_questions_equal_plain_duckdb(world: World, plain: duckdb.DuckDBPyConnection, sql: str) -> None:
    check(world, plain, sql)
